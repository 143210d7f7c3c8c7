//! Estimates the cost of a run, and surveys the logs on this machine.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use transcripts::known::{KNOWN, Known, KnownFolder, Machine};

use super::Pipeline;
use super::extract::extract_all;
use super::read::{Stamp, path_key};
use super::summary::{Failure, Files, SelectionCounts, Summary, Tally};
use super::{Event, Extractor, PipelineError};
use crate::llm::{Complete, Cost, Finish, LlmError, Price, Reply, Request};
use crate::store::{Database, SeenTranscript, StoreError};

/// Assumed number of tokens in a reply if the ledger contains too few replies for an average. Reasoning models produce
/// longer replies.
const ASSUMED_COMPLETION_TOKENS: u64 = 1_000;
/// Minimum number of calls in the ledger for which the average is used.
const MIN_CALLS: u64 = 5;

/// Numbers of requests and tokens that a run would send, and the cost of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// The name of the model, or of the rules, which cost nothing.
    pub extractor: String,
    /// Numbers of files by outcome.
    pub files: Files,
    /// Files and conversations that were left out because they were not selected.
    pub filtered: SelectionCounts,
    /// Number of conversations.
    pub transcripts: u64,
    /// Number of messages in these conversations.
    pub messages: u64,
    /// Numbers of windows.
    pub windows: EstimatedWindows,
    /// Calls to the model. The count excludes repeated attempts, and questions about relations between memories.
    pub llm_calls: u64,
    /// Requests whose reply is already stored.
    pub cached_replies: u64,
    /// Tokens that would be sent.
    pub prompt_tokens: u64,
    /// Estimated number of tokens that would be received.
    pub completion_tokens: u64,
    /// Expected number of tokens in a reply.
    pub completion_tokens_per_call: u64,
    /// The basis of the expected number of tokens.
    pub completion_tokens_from: Basis,
    /// Cost in dollars, if the price of the model is known.
    pub cost: Option<f64>,
    /// Whether an interrupt ended the count early.
    pub interrupted: bool,
    /// Files that could not be read, each with the reason.
    pub failures: Vec<Failure>,
}

/// Windows of the conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct EstimatedWindows {
    /// Number of all windows.
    pub total: u64,
    /// Windows that an earlier run has finished.
    pub known: u64,
    /// Windows in which people say too little to justify a call.
    pub no_signal: u64,
    /// Windows that would be read.
    pub new: u64,
}

/// The basis of the expected length of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Basis {
    /// The average of the replies in the ledger.
    Ledger,
    /// An assumed constant.
    Assumed,
}

/// Replaces a model, and counts the requests that it would receive.
#[derive(Debug)]
pub(crate) struct RequestCounter {
    model: String,
}

impl RequestCounter {
    /// Returns a counter of the requests that would be sent to `model`.
    pub(crate) fn new(model: impl Into<String>) -> Self {
        Self { model: model.into() }
    }
}

impl Complete for RequestCounter {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        // The reply is valid but empty, so that no repair round is counted.
        let reply = Reply {
            text: r#"{"memories":[]}"#.to_owned(),
            finish: Finish::Stop,
            prompt_tokens: request.prompt_tokens(),
            completion_tokens: 0,
            model: self.model.clone(),
        };
        Ok((reply, Cost::Call))
    }

    fn model(&self) -> &str {
        &self.model
    }
}

/// Returns an estimate of the requests that [`super::run()`] would send with the same options and `arguments`. Nothing
/// is written or sent.
///
/// # Errors
/// The same errors as [`super::run()`].
pub(crate) async fn estimate(
    pipeline: Pipeline<'_, RequestCounter>,
    price: Option<Price>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Estimate, PipelineError> {
    // Claims and rendered requests are written to a copy, which is dropped.
    let copy = pipeline.store.copy_in_memory()?;
    let mut pipeline = Pipeline { store: &copy, ..pipeline };
    let reader = pipeline.start_reading()?;
    // The estimate continues an interrupted run, as the run itself would, with the same known memories.
    let run = copy.begin_run("run", arguments, Timestamp::now())?;
    pipeline.owner = run.id.as_str().to_owned();
    pipeline.started_at = run.started_at;
    let model = pipeline.model();
    let tally = RefCell::new(Tally::new(Summary::default(), watch));
    extract_all(&pipeline, model.as_ref(), reader, cancel, &tally).await?;
    let asks = matches!(pipeline.extractor, Extractor::Llm(_));
    let label = pipeline.extractor.label();
    // The rules cost nothing, regardless of the price of the configured model.
    let price = if asks { price } else { Some(Price::new(0.0, 0.0)) };
    Estimate::of(tally.into_inner().summary, label, price, &copy)
}

impl Estimate {
    /// Returns the estimate from the counts, with the cost if `price` is known.
    fn of(summary: Summary, extractor: String, price: Option<Price>, ledger: &Database) -> Result<Self, PipelineError> {
        let (known, no_signal) = (summary.windows.known, summary.windows.no_signal);
        // The windows counted here received no reply, so they do not affect the average from the ledger.
        let (calls, tokens) = ledger.completions_of_windows()?;
        let calls = calls.saturating_sub(summary.llm_calls);
        let (per_call, from) = match tokens.checked_div(calls) {
            Some(average) if calls >= MIN_CALLS && average > 0 => (average, Basis::Ledger),
            _ => (ASSUMED_COMPLETION_TOKENS, Basis::Assumed),
        };
        let completion_tokens = summary.llm_calls * per_call;
        let cost = price.map(|price| price.cost(summary.prompt_tokens, completion_tokens));
        Ok(Self {
            extractor,
            files: summary.files,
            filtered: summary.filtered,
            transcripts: summary.transcripts,
            messages: summary.messages,
            windows: EstimatedWindows {
                total: summary.windows.total,
                known,
                no_signal,
                new: summary.windows.total.saturating_sub(known + no_signal),
            },
            llm_calls: summary.llm_calls,
            cached_replies: summary.cached_replies,
            prompt_tokens: summary.prompt_tokens,
            completion_tokens,
            completion_tokens_per_call: per_call,
            completion_tokens_from: from,
            cost,
            interrupted: summary.interrupted,
            failures: summary.failures,
        })
    }
}

/// The logs that one program has on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Survey {
    /// The value of `--from` that selects the program.
    pub source: &'static str,
    /// The program's display name.
    pub about: &'static str,
    /// The totals for all folders of the program.
    #[serde(flatten)]
    pub total: SourceTotals,
    /// The program's folders that contain at least one log.
    pub folders: Vec<SurveyedFolder>,
}

/// One folder of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SurveyedFolder {
    /// The folder, or the single database file.
    pub folder: PathBuf,
    /// The totals for the content of the folder.
    #[serde(flatten)]
    pub holding: SourceTotals,
}

/// The amount of data, and how much of it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SourceTotals {
    /// Number of log files.
    pub files: u64,
    /// Total size of these files.
    pub bytes: u64,
    /// Files that were read completely and have not changed since then.
    pub files_read: u64,
    /// Files that have changed since they were read, or were not read completely.
    pub files_changed: u64,
    /// Files that were never read.
    pub files_new: u64,
    /// Conversations from these files that are in the database.
    pub conversations: u64,
    /// The earliest time of a conversation that was read, or earliest modification time of a file.
    pub from: Option<Timestamp>,
    /// The latest time of a conversation that was read, or latest modification time of a file.
    pub to: Option<Timestamp>,
}

impl SourceTotals {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.files_read += other.files_read;
        self.files_changed += other.files_changed;
        self.files_new += other.files_new;
        self.conversations += other.conversations;
        self.from = self.from.into_iter().chain(other.from).min();
        self.to = self.to.into_iter().chain(other.to).max();
    }

    fn reaches(&mut self, at: Timestamp) {
        self.from = Some(self.from.map_or(at, |from| from.min(at)));
        self.to = Some(self.to.map_or(at, |to| to.max(at)));
    }
}

/// Returns the logs that each known program has on this machine; programs without logs are omitted.
///
/// `below` lists folders of projects, for programs that keep their logs inside projects. No log is opened.
///
/// # Errors
/// [`StoreError`] if the database cannot be read.
pub(crate) fn survey(
    machine: &Machine<'_>,
    below: &[PathBuf],
    database: Option<&Database>,
) -> Result<Vec<Survey>, StoreError> {
    let seen = match database {
        Some(database) => Seen::of(database.transcripts_seen()?, database.stamps_of_files()?),
        None => Seen::of(Vec::new(), HashMap::new()),
    };
    let all = KNOWN.iter().map(|known| survey_one(known, machine, below, &seen));
    Ok(all.filter(|survey| survey.total.files > 0).collect())
}

fn survey_one(known: &Known, machine: &Machine<'_>, below: &[PathBuf], seen: &Seen) -> Survey {
    let folders = known.folders(machine, below).into_iter().map(|folder| survey_folder(folder, seen));
    let folders: Vec<SurveyedFolder> = folders.filter(|folder| folder.holding.files > 0).collect();
    let mut total = SourceTotals::default();
    folders.iter().for_each(|folder| total.add(&folder.holding));
    Survey { source: known.name, about: known.about, total, folders }
}

fn survey_folder(folder: KnownFolder, seen: &Seen) -> SurveyedFolder {
    let mut holding = SourceTotals::default();
    for file in folder.files() {
        holding.add(&look_at(&file.path, seen));
    }
    SurveyedFolder { folder: folder.path, holding }
}

/// Returns the totals for one file without opening it.
fn look_at(path: &Path, seen: &Seen) -> SourceTotals {
    // A folder without a modification time is empty or inaccessible.
    let Some((stamp, changed_at)) = Stamp::of(path).and_then(|stamp| Some((stamp.clone(), stamp.changed_at()?))) else {
        return SourceTotals::default();
    };
    let mut holding = SourceTotals { files: 1, bytes: stamp.bytes(), ..SourceTotals::default() };
    holding.reaches(changed_at);
    for transcript in seen.from(path) {
        holding.conversations += 1;
        transcript.started_at.into_iter().chain(transcript.ended_at).for_each(|at| holding.reaches(at));
    }
    let finished = seen.finished.get(&path_key(path));
    // A known path with a different stamp means that the log has changed since it was finished.
    *match finished.map(|stamps| stamps.get(&stamp.text())) {
        Some(Some(conversations)) => {
            holding.conversations = *conversations;
            &mut holding.files_read
        }
        None if holding.conversations == 0 => &mut holding.files_new,
        Some(None) | None => &mut holding.files_changed,
    } += 1;
    holding
}

/// The conversations in the database, by the path that they were read from and by their ids.
struct Seen {
    transcripts: Vec<SeenTranscript>,
    by_origin: BTreeMap<String, Vec<usize>>,
    by_id: HashMap<String, usize>,
    finished: HashMap<String, HashMap<String, u64>>,
}

/// Length of a UUID; the names of many logs end with a UUID.
const UUID_CHARS: usize = 36;

impl Seen {
    fn of(transcripts: Vec<SeenTranscript>, finished: HashMap<String, HashMap<String, u64>>) -> Self {
        let mut by_origin: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut by_id = HashMap::new();
        for (index, transcript) in transcripts.iter().enumerate() {
            by_origin.entry(transcript.origin.clone()).or_default().push(index);
            by_id.insert(transcript.external_id.clone(), index);
        }
        Self { transcripts, by_origin, by_id, finished }
    }

    /// Returns the conversations that were read from `path`, or otherwise the conversation whose id appears in the file
    /// name.
    fn from(&self, path: &Path) -> Vec<&SeenTranscript> {
        let text = path.to_string_lossy().into_owned();
        // One file may contain many conversations, stored as `file#1` or, in an archive, as `file/name`.
        let inside = |origin: &str| matches!(origin.as_bytes().get(text.len()), None | Some(b'#' | b'/' | b'\\'));
        // In sorted order, all origins that begin with `path` are adjacent.
        let near = self.by_origin.range(text.clone()..).take_while(|(origin, _)| origin.starts_with(&text));
        let read: Vec<_> = near.filter(|(origin, _)| inside(origin)).flat_map(|(_, indices)| indices).collect();
        if !read.is_empty() {
            return read.into_iter().map(|&index| &self.transcripts[index]).collect();
        }
        // The log may have been read under a different path, or under a path relative to a different folder.
        let stem = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default();
        let end = stem.len().checked_sub(UUID_CHARS).and_then(|at| stem.get(at..));
        let index = [Some(stem), end].into_iter().flatten().find_map(|id| self.by_id.get(id));
        index.map(|&index| &self.transcripts[index]).into_iter().collect()
    }
}

#[cfg(test)]
mod survey_tests {
    use super::*;
    use transcripts::known::Platform;

    fn transcript(external_id: &str, origin: &str) -> SeenTranscript {
        SeenTranscript {
            external_id: external_id.to_owned(),
            origin: origin.to_owned(),
            started_at: None,
            ended_at: None,
        }
    }

    #[test]
    fn a_file_is_known_by_its_path_or_by_the_id_in_its_name() {
        let id = "0198c2aa-1111-7222-8333-944455556666";
        let seen = Seen::of(
            vec![
                transcript("a", "/logs/a.jsonl"),
                transcript("b1", "/logs/b.json#1"),
                transcript("b2", "/logs/b.json#2"),
                transcript("c", "/logs/b.json.old"),
                transcript(id, "sessions/x.jsonl"),
            ],
            HashMap::new(),
        );
        let table = [
            ("/logs/a.jsonl", 1),
            ("/logs/b.json", 2),
            ("/logs/b", 0),
            ("/moved/a.jsonl", 1),
            ("/else/rollout-2026-01-02T03-04-05-0198c2aa-1111-7222-8333-944455556666.jsonl.zst", 1),
            ("/else/z.jsonl", 0),
        ];
        for (path, count) in table {
            assert_eq!(seen.from(Path::new(path)).len(), count, "{path}");
        }
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let unset = |_: &str| None;
        let machine = Machine { platform: Platform::Unix, home: Some(home.path().to_owned()), variable: &unset };
        assert_eq!(survey(&machine, &[], None).unwrap(), []);
        let folder = home.path().join(".claude/projects/-home-ana-shop");
        std::fs::create_dir_all(folder.join("memory")).unwrap();
        std::fs::write(folder.join("one.jsonl"), "{}").unwrap();
        std::fs::write(folder.join("memory/MEMORY.md"), "no log").unwrap();
        std::fs::create_dir_all(home.path().join(".codex/sessions")).unwrap();
        let found = survey(&machine, &[], None).unwrap();
        assert_eq!(found.iter().map(|one| one.source).collect::<Vec<_>>(), ["claude-code"]);
        let total = &found[0].total;
        assert_eq!((total.files, total.bytes, total.files_new, total.conversations), (1, 2, 1, 0));
    }
}
