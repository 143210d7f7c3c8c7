//! Tasks of the work ledger, ranked for a text by BM25 on their digests and by other tasks that changed the same files.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use serde::Serialize;

use crate::memory::{Citation, Namespace, Task, TaskFile, TaskOutcome};
use crate::project::{CitedPart, Freshness, References};
use crate::store::{Database, Filter, NamespaceSubtree, StoreError, stored_words, word_number};
use crate::text::code::code_words;

/// The parameter k1 of BM25: how slowly the effect of further occurrences of a word levels off.
// This value and the weights of fields were chosen on logs of nine repositories. In tasks, words of the goal that recur
// in files and symbols are more informative than repeated words in memories, so the effect levels off slowly.
const SATURATION: f64 = 5.0;
const LENGTH_SHARE: f64 = 0.9;
/// Fraction of the best scores among the tasks that edited the same file, added to the score of each of these tasks.
const FILE_SHARE: f64 = 0.2;
const FILE_TASKS: usize = 2;
/// Weight of the words in the first line of a longer text, because the first line usually states the subject.
const TITLE_WEIGHT: f64 = 2.0;
/// Number of tasks, best first, whose files are compared.
const WITH_FILES: usize = 60;
/// Maximum number of words of a query that are searched. Later words are ignored.
const MAX_QUERY_WORDS: usize = 400;
/// Number of matching words for a full match.
// A short question usually asks for a fact, so a memory that answers it should precede a task with the same few words.
const FULL_MATCH: usize = 6;
/// Maximum length of a result's goal and report, in characters, and maximum number of its files.
const SHOWN_GOAL: usize = 200;
const SHOWN_REPORT: usize = 160;
const SHOWN_FILES: usize = 6;
/// Maximum number of identifiers of a result that are compared with the repository.
const SHOWN_SYMBOLS: usize = 3;

/// A task that is relevant to a query, with the displayed fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundTask {
    /// The ID of the task.
    pub task: String,
    /// The key of the log that contains the task.
    pub transcript: String,
    /// The namespace of the task.
    pub namespace: Namespace,
    /// The request, clipped.
    pub goal: String,
    /// How the task ended.
    pub outcome: TaskOutcome,
    /// The reason for assuming this outcome.
    pub reason: String,
    /// The time of the task's last event.
    pub ended_at: Option<Timestamp>,
    /// The first of the files that the task changed.
    pub files: Vec<String>,
    /// The start of the assistant's last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Citation>,
    /// The score of the task.
    pub score: TaskScore,
    /// The current state of the paths, symbols and commits that the task mentions, if they were compared with the
    /// repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freshness: Vec<Freshness>,
    /// The paths, symbols and commits that the task mentions.
    #[serde(skip)]
    pub(crate) cited: CitedPart,
    /// Words of the query that occur in the digest of the task.
    #[serde(skip)]
    pub matched: Vec<String>,
}

/// The score of a task, from 0 to 1, on the same scale as the score of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TaskScore {
    /// The total.
    pub total: f64,
    /// The part of the score that is due to the task's words.
    pub words: f64,
    /// The part of the score that is due to other tasks that changed the same files.
    pub files: f64,
}

/// Returns the tasks that are relevant to `text`, best first. The result is empty if the filter has conditions that
/// apply only to memories.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn search_tasks(
    store: &Database,
    text: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<FoundTask>, StoreError> {
    let (from, before) = (filter.created_from, filter.created_before);
    let plain = Filter { created_from: None, created_before: None, unexpired_at: None, ..filter.clone() };
    if limit == 0 || plain != (Filter { namespaces: filter.namespaces.clone(), ..Filter::default() }) {
        return Ok(Vec::new());
    }
    let query = Query::of(text);
    let mut ranked = rank(store, &query, &filter.namespaces)?;
    ranked.truncate(WITH_FILES.max(limit));
    let rows: Vec<i64> = ranked.iter().map(|hit| hit.row).collect();
    let tasks: Vec<Task> = store.tasks_at(&rows)?;
    let scores = with_files(&ranked, &tasks);
    let best = scores.iter().map(|(words, files)| words + files).fold(f64::MIN_POSITIVE, f64::max);
    // One factor for all tasks keeps their order.
    let first = ranked.iter().zip(&scores).max_by(|(_, a), (_, b)| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    let fit = first.map_or(0.0, |(hit, _)| share(hit.matched.len(), FULL_MATCH));
    let mut found: Vec<FoundTask> = Vec::new();
    for ((hit, task), (words, files)) in ranked.iter().zip(tasks).zip(scores) {
        let is_in_time = from.is_none_or(|from| task.record.ended_at.is_some_and(|at| at >= from))
            && before.is_none_or(|before| task.record.started_at.is_some_and(|at| at < before));
        if is_in_time {
            let part = |value: f64| value / best * fit;
            let score = TaskScore { total: part(words + files), words: part(words), files: part(files) };
            let matched = hit.matched.iter().map(|place| query.words[*place].1.clone()).collect();
            found.push(shown(store.in_session(task)?, score, matched));
        }
    }
    found.sort_by(|a, b| b.score.total.total_cmp(&a.score.total).then_with(|| a.task.cmp(&b.task)));
    // The work of a sub-agent is a part of the task that started the sub-agent.
    let mut seen = HashSet::new();
    found.retain(|one| seen.insert(one.task.clone()));
    found.truncate(limit);
    Ok(found)
}

/// Returns the tasks of these projects that share the most words with `text`, best first.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn tasks_about(
    store: &Database,
    text: &str,
    within: &[NamespaceSubtree],
    limit: usize,
) -> Result<Vec<Task>, StoreError> {
    let ranked = rank(store, &Query::of(text), within)?;
    store.tasks_at(&ranked.iter().take(limit).map(|hit| hit.row).collect::<Vec<_>>())
}

/// The words of a query, indexed by number, with weights.
struct Query {
    words: Vec<(u32, String, f64)>,
}

impl Query {
    fn of(text: &str) -> Self {
        let mut words: BTreeMap<u32, (String, f64)> = BTreeMap::new();
        let (title, rest) = text.trim().split_once('\n').unwrap_or(("", text));
        for (weight, text) in [(TITLE_WEIGHT, title), (1.0, rest)] {
            code_words(text, |word| {
                if words.len() < MAX_QUERY_WORDS {
                    words.entry(word_number(word)).or_insert_with(|| (word.to_owned(), weight));
                }
            });
        }
        Self { words: words.into_iter().map(|(number, (word, weight))| (number, word, weight)).collect() }
    }
}

/// A task that contains a word of the query.
struct Hit {
    row: i64,
    length: u32,
    /// Positions of the matching words in the query, with weights.
    weights: Vec<(usize, u8)>,
    matched: Vec<usize>,
    score: f64,
}

/// Scores every task that contains a word of the query, best first.
fn rank(store: &Database, query: &Query, within: &[NamespaceSubtree]) -> Result<Vec<Hit>, StoreError> {
    let (mut hits, mut tasks, mut words) = (Vec::new(), 0_u32, 0_u64);
    let mut occurrences = vec![0_u32; query.words.len()];
    store.for_task_words(within, |row, length, stored| {
        tasks += 1;
        words += u64::from(length);
        let mut weights = Vec::new();
        let mut place = 0;
        // Both lists are sorted, so one pass over both finds the common words.
        for (number, weight) in stored_words(stored) {
            while query.words.get(place).is_some_and(|(sought, ..)| *sought < number) {
                place += 1;
            }
            if query.words.get(place).is_some_and(|(sought, ..)| *sought == number) {
                occurrences[place] += 1;
                weights.push((place, weight));
            }
        }
        if !weights.is_empty() {
            hits.push(Hit { row, length, weights, matched: Vec::new(), score: 0.0 });
        }
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a mean length needs no more digits")]
    let mean = (words as f64 / f64::from(tasks.max(1))).max(1.0);
    for hit in &mut hits {
        let norm = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * f64::from(hit.length) / mean);
        for (place, weight) in &hit.weights {
            let (among, weight) = (f64::from(occurrences[*place]), f64::from(*weight));
            let rarity = (1.0 + (f64::from(tasks) - among + 0.5) / (among + 0.5)).ln();
            hit.score += query.words[*place].2 * rarity * weight * (SATURATION + 1.0) / (weight + norm);
        }
        hit.matched = hit.weights.iter().map(|(place, _)| *place).collect();
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    Ok(hits)
}

/// Returns the score of each task's words, and its bonus from the best tasks that edited one of its files.
fn with_files(ranked: &[Hit], tasks: &[Task]) -> Vec<(f64, f64)> {
    let mut by_file: HashMap<&str, Vec<f64>> = HashMap::new();
    for (hit, task) in ranked.iter().zip(tasks).take(WITH_FILES) {
        for path in edited(task) {
            by_file.entry(path).or_default().push(hit.score);
        }
    }
    let scores = ranked.iter().zip(tasks).map(|(hit, task)| {
        let others = |path: &str| by_file.get(path).map_or(0.0, |scores| scores.iter().take(FILE_TASKS).sum::<f64>());
        let best = edited(task).map(others).fold(0.0, f64::max);
        (hit.score, FILE_SHARE * best)
    });
    scores.collect()
}

/// Returns the files that a task edited. A file that a task creates is often a script of that task alone, and tasks that
/// create files of the same name may have nothing in common.
fn edited(task: &Task) -> impl Iterator<Item = &str> {
    let files = task.record.files.iter().filter(|file| file.edited > 0 && !file.created);
    files.map(|file: &TaskFile| file.path.as_str())
}

fn changed(task: &Task) -> impl Iterator<Item = &str> {
    task.record.files.iter().filter(|file| file.is_changed()).map(|file: &TaskFile| file.path.as_str())
}

fn shown(task: Task, score: TaskScore, matched: Vec<String>) -> FoundTask {
    let files: Vec<String> = changed(&task).take(SHOWN_FILES).map(str::to_owned).collect();
    let record = task.record;
    let references = References {
        paths: files.clone(),
        symbols: record.symbols.iter().take(SHOWN_SYMBOLS).cloned().collect(),
        commits: record.commit_ids().map(str::to_owned).collect(),
    };
    FoundTask {
        task: task.id,
        transcript: task.transcript,
        namespace: task.namespace,
        goal: start(&record.goal, SHOWN_GOAL),
        outcome: record.outcome,
        reason: record.reason,
        ended_at: record.ended_at,
        files,
        report: record.report.map(|report| Citation { text: start(&report.text, SHOWN_REPORT), ..report }),
        score,
        freshness: Vec::new(),
        cited: CitedPart { references, at: record.ended_at, is_change: true },
        matched,
    }
}

/// Returns the start of a text on one line.
fn start(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
fn share(part: usize, whole: usize) -> f64 {
    (part as f64 / whole.max(1) as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::TaskRecord;
    use crate::store::Store;
    use crate::store::testing::{put_tasks, task};

    fn found(store: &Store, text: &str) -> Vec<String> {
        search_tasks(store, text, &Filter::default(), 10).unwrap().into_iter().map(|one| one.goal).collect()
    }

    fn store() -> Store {
        let store = Store::in_memory().unwrap();
        let tasks = [
            task("Speed up the nightly export", &["src/export/writer.py"]),
            task("Fix the login of new customers", &["src/auth/session_store.py"]),
            task("Write a page about the release", &["docs/release.md"]),
        ];
        put_tasks(&store, "claude-code:s1", "shop", &tasks);
        store
    }

    #[test]
    fn a_task_is_found_by_its_goal_and_by_the_parts_of_its_files() {
        let store = store();
        assert_eq!(found(&store, "why is login slow")[0], "Fix the login of new customers");
        assert_eq!(found(&store, "SessionStore raises KeyError")[0], "Fix the login of new customers");
        assert_eq!(found(&store, "export/writer.py")[0], "Speed up the nightly export");
        assert_eq!(found(&store, "kubernetes"), [""; 0]);
    }

    #[test]
    fn a_filter_of_memories_finds_no_task_and_one_of_time_those_within() {
        let store = store();
        let tagged = Filter { tags: vec!["x".into()], ..Filter::default() };
        assert_eq!(search_tasks(&store, "login", &tagged, 10).unwrap(), []);
        let late = Filter { created_from: Some(crate::store::testing::day(9)), ..Filter::default() };
        assert_eq!(search_tasks(&store, "login", &late, 10).unwrap(), []);
        assert_eq!(search_tasks(&store, "login", &Filter::default(), 10).unwrap().len(), 1);
    }

    #[test]
    fn tasks_that_edited_the_same_file_lift_each_other_but_not_those_that_created_scripts_of_one_name() {
        let store = Store::in_memory().unwrap();
        let mut tasks = vec![
            task("Repair the retry queue of the mailer", &["src/mail.py"]),
            task("Repair the colour of a button", &["src/button.py"]),
            task("Describe the mailer", &["src/mail.py"]),
        ];
        let found = |tasks: &[TaskRecord]| {
            put_tasks(&store, "claude-code:s1", "shop", tasks);
            search_tasks(&store, "repair the retry queue", &Filter::default(), 10).unwrap()
        };
        let files = |tasks: &[TaskRecord]| found(tasks).iter().map(|one| one.score.files > 0.0).collect::<Vec<_>>();
        assert_eq!(files(&tasks), [true, true], "each task edited a file");
        for task in &mut tasks {
            task.files = vec![TaskFile { path: "test_issue.py".into(), created: true, ..TaskFile::default() }];
        }
        assert_eq!(files(&tasks), [false, false]);
    }

    #[test]
    fn a_task_with_few_matching_words_keeps_its_place() {
        let store = Store::in_memory().unwrap();
        let rare = task("zircon", &["quartz.rs"]);
        let common = task("alpha beta gamma delta epsilon zeta eta", &["a.rs"]);
        let others = ["alpha beta gamma delta", "epsilon zeta eta beta", "alpha zeta gamma eta delta epsilon"];
        let tasks: Vec<_> = [rare, common].into_iter().chain(others.map(|goal| task(goal, &["b.rs"]))).collect();
        put_tasks(&store, "claude-code:s1", "shop", &tasks);
        let query = "zircon\nquartz alpha beta gamma delta epsilon zeta eta";
        let ranked = rank(&store, &Query::of(query), &[]).unwrap();
        let shown = search_tasks(&store, query, &Filter::default(), 10).unwrap();
        assert!(ranked[0].matched.len() < FULL_MATCH);
        assert_eq!(shown[0].goal, "zircon");
    }

    #[test]
    fn the_parts_of_a_score_make_the_whole_and_a_longer_match_scores_more() {
        let store = store();
        let scores: Vec<_> = search_tasks(&store, "login page", &Filter::default(), 10).unwrap();
        for one in &scores {
            assert!((one.score.words + one.score.files - one.score.total).abs() < 1e-9);
            assert!(one.score.total < 0.2, "one word: {one:?}");
        }
        assert_eq!(scores.len(), 2);
    }
}
