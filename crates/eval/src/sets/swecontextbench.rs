//! `SWE-ContextBench`: earlier sessions of a coding agent that are found for a later issue of the same repository.
//!
//! ```text
//! logs of a repository ─▶ memories and tasks ─▶ search for the text of an issue ─▶ sessions, files of the patch
//!                      └▶ BM25 over the logs ─▶ sessions, as a baseline
//! ```
//!
//! A session is relevant for an issue if it wrote a file of the patch that fixed the issue. Issues without a relevant
//! session are left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::published::{FINAL, TUNE, read_part, unusable};
use crate::EvalError;
use crate::files::{read_text, walk};
use crate::results::{Row, float};
use crate::vocabulary::Kind;

/// Folder of the logs of Claude Code.
pub(super) const LOGS: &str = "cases/SWEContextBench Lite Past Experience";
/// Folder of the issues with their patches.
const ISSUES: &str = "cases/SWEContextBench Lite";
/// Repositories of the final part; the other repositories are for tuning.
const HELD_OUT: [&str; 2] = ["django/django", "matplotlib/matplotlib"];
/// Number of results to search for.
pub const LIMIT: usize = 10;
/// Numbers of leading results in which a relevant session counts.
const PLACES: [usize; 4] = [1, 3, 5, 10];
/// Limits on the texts of tool results that the baseline reads, in characters of an error and in lines of other output.
const ERROR_CHARS: usize = 2_000;
const ERROR_LINES: usize = 20;

/// A repository with the sessions of an agent, and with later issues.
#[derive(Debug, Default)]
pub struct Repository {
    /// Owner and name, such as `django/django`.
    pub name: String,
    /// The sessions, by id.
    sessions: BTreeMap<String, Session>,
    /// Issues with a relevant session.
    pub issues: Vec<Issue>,
    /// The baselines: an index of prompts and answers, and one that also contains files, commands and errors.
    indexes: [TermIndex; 2],
}

#[derive(Debug)]
struct Session {
    log: String,
    /// Files of the repository that the session wrote.
    written: BTreeSet<String>,
    /// The texts that the two baselines index.
    texts: [String; 2],
}

/// An issue, and what is relevant for it.
#[derive(Debug)]
pub struct Issue {
    /// Id of the issue, such as `django__django-11776`.
    pub id: String,
    /// Title and text of the issue.
    pub text: String,
    /// Files of the patch.
    files: BTreeSet<String>,
    /// Ids of the relevant sessions.
    relevant: BTreeSet<String>,
}

/// The file of an issue.
#[derive(Deserialize)]
struct IssueFile {
    repo: String,
    instance_id: String,
    patch: String,
    problem_statement: String,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// Reads the repositories of the data set in `folder` that have an issue with a relevant session, sorted by name.
///
/// # Errors
/// [`EvalError::Read`] if a file cannot be read, or [`EvalError::DataSet`] with the invalid file.
pub fn read(folder: &Path) -> Result<Vec<Repository>, EvalError> {
    static PATCHED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^diff --git a/(\S+) b/"));
    let mut repositories: BTreeMap<String, Repository> = BTreeMap::new();
    for path in files(folder, LOGS, "jsonl")? {
        let (repository, id, session) = read_session(&path)?;
        repositories.entry(repository).or_default().sessions.insert(id, session);
    }
    for path in files(folder, ISSUES, "json")? {
        let file: IssueFile = read_part(&path)?;
        let Some(repository) = repositories.get_mut(&file.repo) else { continue };
        let files: BTreeSet<String> = PATCHED.captures_iter(&file.patch).map(|parts| parts[1].to_owned()).collect();
        let relevant = repository.sessions.iter().filter(|(_, session)| !session.written.is_disjoint(&files));
        let relevant: BTreeSet<String> = relevant.map(|(id, _)| id.clone()).collect();
        if !relevant.is_empty() {
            let (id, text) = (file.instance_id, file.problem_statement);
            repository.issues.push(Issue { id, text, files, relevant });
        }
    }
    repositories.retain(|_, repository| !repository.issues.is_empty());
    if repositories.is_empty() {
        return Err(unusable(folder, "no session wrote a file of the patch of an issue"));
    }
    for (name, repository) in &mut repositories {
        repository.name.clone_from(name);
        let texts = |at: usize| repository.sessions.iter().map(move |(id, session)| (id, session.texts[at].as_str()));
        repository.indexes = [0, 1].map(|at| TermIndex::of(texts(at)));
    }
    Ok(repositories.into_values().collect())
}

/// Returns the files with this ending in a folder of the data set.
fn files(root: &Path, folder: &str, ending: &str) -> Result<Vec<PathBuf>, EvalError> {
    let folder = root.join(folder);
    let found: Vec<_> = walk(&folder).filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    if found.is_empty() { Err(unusable(&folder, format!("it contains no *.{ending}"))) } else { Ok(found) }
}

/// Reads a log: the repository, and the session with its id.
fn read_session(path: &Path) -> Result<(String, String, Session), EvalError> {
    static REPOSITORY: LazyLock<Regex> = LazyLock::new(|| pattern(r"\brepo: ([\w.-]+/([\w.-]+))"));
    // The agent worked in or beside a clone of the repository in one of many folders.
    static CLONE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:(?:\./|~/desktop/)?swebench_\d+_\d+)(?:/testbed)?"));
    let text = read_text(path)?;
    let named = REPOSITORY.captures(&text).ok_or_else(|| unusable(path, "it names no repository"))?;
    let (name, root) = (named[1].to_owned(), format!("/src/{}", &named[2]));
    let text = CLONE.replace_all(&text, &root);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // A summary is the title of some other session.
    let mut records: Vec<Value> = lines.filter(|one| one.is_object() && one["type"] != "summary").collect();
    let id = records.iter().find_map(|record| record["sessionId"].as_str()).map(str::to_owned);
    let id = id.ok_or_else(|| unusable(path, "it has no record with a sessionId"))?;
    let written = written_files(&records, &root);
    // All sessions belong to one project, as if a person had worked in one clone.
    for folder in records.iter_mut().filter_map(|record| record.get_mut("cwd")) {
        *folder = Value::from(root.as_str());
    }
    let log = records.iter().map(|record| record.to_string() + "\n").collect();
    let texts = [indexed_text(&records, &BTreeSet::new(), false), indexed_text(&records, &written, true)];
    Ok((name, id, Session { log, written, texts }))
}

/// Returns the parts of a message that is more than a text.
fn parts(record: &Value) -> impl Iterator<Item = &Value> {
    record["message"]["content"].as_array().into_iter().flatten()
}

/// Returns the files that a session wrote with tools for editing or with a command, relative to the repository.
fn written_files(records: &[Value], root: &str) -> BTreeSet<String> {
    static ENTERED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?:^|&&|;|\n)\s*cd\s+['"]?([\w./~-]+)"#));
    let (mut written, mut folder) = (BTreeSet::new(), root.to_owned());
    for record in records {
        if let Some(own) = record["cwd"].as_str() {
            own.clone_into(&mut folder);
        }
        for part in parts(record).filter(|part| part["type"] == "tool_use") {
            let (input, mut here) = (&part["input"], folder.clone());
            let paths = match part["name"].as_str().unwrap_or_default() {
                "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => {
                    let path = input["file_path"].as_str().or(input["notebook_path"].as_str());
                    path.map(str::to_owned).into_iter().collect()
                }
                "Bash" => {
                    let command = input["command"].as_str().unwrap_or_default();
                    for entered in ENTERED.captures_iter(command) {
                        here = joined(&here, &entered[1]);
                    }
                    written_by(command)
                }
                _ => Vec::new(),
            };
            for path in paths.iter().filter(|path| !path.is_empty()) {
                if let Some(rest) = joined(&here, path).strip_prefix(&format!("{root}/")) {
                    written.insert(rest.trim_start_matches("testbed/").to_owned());
                }
            }
        }
    }
    written
}

/// Returns the paths that a shell command writes to, with an editor, a redirection, a patch or `open` of Python.
fn written_by(command: &str) -> Vec<String> {
    static OPENED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"open\(\s*r?['"]([^'"]+)['"]\s*,\s*['"][wa]"#));
    static REDIRECTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?:>>?|\btee(?: -a)?)\s+['"]?([\w./~-]+)"#));
    static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| pattern(r"&&|\|\||;|\n"));
    static EDITOR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bsed\b.*\s-i|\bperl\b.*\s-p?i|\bpatch\b"));
    static PATH: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^['"]?([\w./~-]+\.\w+)['"]?$"#));
    static MOVED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\b(?:mv|cp)\s.*?([\w./~-]+\.\w+)['"]?\s*$"#));
    let by = |regex: &Regex, text: &str| regex.captures_iter(text).map(|parts| parts[1].to_owned()).collect::<Vec<_>>();
    let mut found = [by(&OPENED, command), by(&REDIRECTED, command)].concat();
    for part in SEPARATOR.split(command) {
        if EDITOR.is_match(part) {
            found.extend(part.split_whitespace().flat_map(|word| by(&PATH, word)));
        }
        found.extend(by(&MOVED, part));
    }
    found
}

/// Returns the normal form of `path`, which is relative to `folder` unless it is absolute.
fn joined(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut names = Vec::new();
    for name in whole.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// Returns the text that a baseline indexes: prompts and answers, or also written files, commands and errors.
fn indexed_text(records: &[Value], written: &BTreeSet<String>, is_rich: bool) -> String {
    static FAILED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^.*\b(?:\w+(?:Error|Exception|Warning)\b|FAILED|error:).*$"));
    let mut texts: Vec<String> = written.iter().cloned().collect();
    for record in records.iter().filter(|one| one["type"] == "user" || one["type"] == "assistant") {
        texts.extend(record["message"]["content"].as_str().map(str::to_owned));
        for part in parts(record) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match part["type"].as_str().unwrap_or_default() {
                "text" => texts.push(text(&part["text"])),
                "tool_use" if is_rich && part["name"] == "Bash" => texts.push(text(&part["input"]["command"])),
                "tool_result" if is_rich => {
                    let pieces = part["content"].as_array().into_iter().flatten().map(|piece| text(&piece["text"]));
                    let output = text(&part["content"]) + &pieces.collect::<Vec<_>>().join("\n");
                    if part["is_error"] == true {
                        texts.push(output.chars().take(ERROR_CHARS).collect());
                    } else {
                        let lines = FAILED.find_iter(&output).take(ERROR_LINES);
                        texts.extend(lines.map(|line| line.as_str().to_owned()));
                    }
                }
                _ => {}
            }
        }
    }
    texts.join("\n")
}

impl Repository {
    /// Returns the log of each session with its id.
    pub fn logs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sessions.iter().map(|(id, session)| (id.as_str(), session.log.as_str()))
    }
}

/// BM25 with its usual parameters over whole texts: the baseline that needs no index of tasks.
#[derive(Debug, Default)]
struct TermIndex {
    /// For each text its name, its length, and the number of occurrences of its words.
    texts: Vec<(String, f64, HashMap<String, f64>)>,
}

impl TermIndex {
    fn of<'t>(texts: impl Iterator<Item = (&'t String, &'t str)>) -> Self {
        let counted = texts.map(|(name, text)| {
            let mut counts: HashMap<String, f64> = HashMap::new();
            words(text).into_iter().for_each(|word| *counts.entry(word).or_default() += 1.0);
            (name.clone(), counts.values().sum(), counts)
        });
        Self { texts: counted.collect() }
    }

    /// Returns the names of the texts that contain a word of `query`, best first.
    fn rank(&self, query: &str) -> Vec<&str> {
        const SATURATION: f64 = 1.2;
        const LENGTH_SHARE: f64 = 0.75;
        let all = float(self.texts.len());
        let mean = self.texts.iter().map(|(_, length, _)| length).sum::<f64>() / all.max(1.0);
        let mut scores: BTreeMap<&str, f64> = BTreeMap::new();
        for word in words(query).into_iter().collect::<BTreeSet<_>>() {
            let among = float(self.texts.iter().filter(|(.., counts)| counts.contains_key(&word)).count());
            let rarity = (1.0 + (all - among + 0.5) / (among + 0.5)).ln();
            for (name, length, counts) in &self.texts {
                if let Some(count) = counts.get(&word) {
                    let norm = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * length / mean);
                    *scores.entry(name).or_default() += rarity * count * (SATURATION + 1.0) / (count + norm);
                }
            }
        }
        let mut ranked: Vec<(&str, f64)> = scores.into_iter().collect();
        // The sort is stable, so that equal scores stay in the order of names.
        ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        ranked.into_iter().map(|(name, _)| name).collect()
    }
}

/// Returns the words of a text in lower case, each followed by its parts if it is a compound identifier.
fn words(text: &str) -> Vec<String> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"\w+"));
    // The last capital letter before small letters begins the next part: `HTTP` and `Server` in `HTTPServer`.
    static PART: LazyLock<Regex> = LazyLock::new(|| pattern(r"([A-Z]*)([A-Z][a-z]+)|[a-z]+|[A-Z]+|\d+"));
    let mut found = Vec::new();
    for word in WORD.find_iter(text).map(|word| word.as_str()) {
        found.push(word.to_lowercase());
        let parts = PART.captures_iter(word).flat_map(|parts| match (parts.get(1), parts.get(2)) {
            (Some(capitals), Some(rest)) => vec![capitals.as_str().to_lowercase(), rest.as_str().to_lowercase()],
            _ => vec![parts[0].to_lowercase()],
        });
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        if parts.len() > 1 {
            found.extend(parts);
        }
    }
    found
}

/// Returns whether a text names a file by its path, or by a file name that is not in every package.
fn names_file(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_name = || pattern(&format!(r"\b{{start-half}}{}\b{{end-half}}", regex::escape(name))).is_match(text);
    text.contains(path) || name != "__init__.py" && by_name()
}

/// Scores the results of a search for the text of `issue`, best first: the keys of the conversations from which each
/// result comes, and its text.
pub fn score(
    repository: &Repository,
    issue: &Issue,
    found: &[(Vec<String>, String)],
    tokens: fn(&str) -> usize,
) -> Row {
    let mut row = Row {
        split: if HELD_OUT.contains(&repository.name.as_str()) { FINAL } else { TUNE }.to_owned(),
        phenomena: vec![repository.name.clone()],
        about: issue.text.lines().next().unwrap_or_default().to_owned(),
        ..Row::new(Kind::SweContextBench, &issue.id)
    };
    let found = &found[..found.len().min(LIMIT)];
    let is_relevant = |key: &str| issue.relevant.iter().any(|id| key.ends_with(id.as_str()));
    let by_search: Vec<bool> = found.iter().map(|(keys, _)| keys.iter().any(|key| is_relevant(key))).collect();
    let [plain, rich] =
        [0, 1].map(|at| repository.indexes[at].rank(&issue.text).into_iter().map(is_relevant).collect());
    for (name, ranked) in [("session", &by_search), ("BM25", &plain), ("BM25 all", &rich)] {
        for place in PLACES {
            row.yes(&format!("{name}@{place}"), ranked.iter().take(place).any(|right| *right));
        }
    }
    row.yes("file@10", found.iter().any(|(_, text)| issue.files.iter().any(|path| names_file(text, path))));
    let (mut counted, mut chars) = (0, 0);
    for (_, text) in found {
        counted += tokens(text);
        chars += text.chars().count();
    }
    row.mean("tokens@10", float(counted));
    row.mean("chars/4@10", float(chars / 4));
    if !by_search.contains(&true) {
        let files = issue.files.iter().cloned().collect::<Vec<_>>().join(", ");
        row.fault("missed", &issue.id, &files, "no result comes from a session that wrote a file of the patch");
    }
    row
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::super::PublicSet;
    use super::*;

    fn tool(name: &str, input: &Value) -> Value {
        json!({"type": "tool_use", "name": name, "input": input})
    }

    /// Writes an invented data set: two sessions in one repository, and an issue about a file that the first one wrote.
    fn write(folder: &Path) {
        let log = |id: &str, prompt: &str, parts: &[Value]| {
            let record = |role: &str, content: Value| json!({"type": role, "sessionId": id, "cwd": "./swebench_1_2/testbed", "message": {"role": role, "content": content}});
            let prompt = record("user", json!(format!("repo: kites/kite\n{prompt}")));
            format!("{}\n{prompt}\n{}\nnot json\n", json!({"type": "summary"}), record("assistant", json!(parts)))
        };
        let logs = folder.join(LOGS);
        fs::create_dir_all(&logs).unwrap();
        fs::create_dir_all(folder.join(ISSUES)).unwrap();
        let edit = tool("Edit", &json!({"file_path": "swebench_1_2/testbed/kite/tail.py"}));
        fs::write(logs.join("a.jsonl"), log("s-a", "The tail tangles.", &[edit])).unwrap();
        let command = tool("Bash", &json!({"command": "cd docs && sed -i s/a/b/ 'wind.md'"}));
        fs::write(logs.join("b.jsonl"), log("s-b", "Describe the wind.", &[command])).unwrap();
        let issue = |id: &str, file: &str| {
            let patch = format!("diff --git a/{file} b/{file}\n--- a/{file}\n");
            json!({"repo": "kites/kite", "instance_id": id, "patch": patch, "problem_statement": "Tail is too short\nIt tangles."})
        };
        fs::write(folder.join(ISSUES).join("1.json"), issue("k-1", "kite/tail.py").to_string()).unwrap();
        fs::write(folder.join(ISSUES).join("2.json"), issue("k-2", "kite/line.py").to_string()).unwrap();
    }

    #[test]
    fn sessions_that_wrote_a_file_of_the_patch_count() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        assert_eq!(PublicSet::of(folder.path()), Some(PublicSet::SweContextBench));
        let repositories = read(folder.path()).unwrap();
        let [repository] = &repositories[..] else { panic!("one repository") };
        let written: Vec<_> = repository.sessions.values().flat_map(|session| &session.written).collect();
        assert_eq!(written, ["kite/tail.py", "docs/wind.md"]);
        assert!(repository.logs().all(|(_, log)| log.contains("\"/src/kite\"") && !log.contains("summary")));
        let [issue] = &repository.issues[..] else { panic!("nobody wrote a file of the other patch") };
        let found = [
            (vec!["claude-code:s-b".to_owned()], "wind".to_owned()),
            (vec!["claude-code:s-a".to_owned()], "tail.py".to_owned()),
        ];
        let row = score(repository, issue, &found, str::len);
        let value = |name: &str| row.measures[name].numerator;
        let names = ["session@1", "session@3", "file@10", "tokens@10", "chars/4@10", "BM25@1", "BM25 all@1"];
        assert_eq!(names.map(|name| value(name).to_string()), ["0", "1", "1", "11", "2", "1", "1"]);
        assert_eq!((row.split.as_str(), row.findings.len()), ("tune", 0));
        assert_eq!(score(repository, issue, &[], str::len).findings.len(), 1);
    }

    #[test]
    fn identifiers_are_indexed_whole_and_in_parts() {
        assert_eq!(words("HTTPServer_v2, it"), ["httpserver_v2", "http", "server", "v", "2", "it"]);
        assert!(names_file("see tail.py", "kite/tail.py") && !names_file("see mytail.py", "kite/tail.py"));
        assert!(!names_file("in __init__.py", "kite/__init__.py"));
    }

    #[test]
    fn an_unusable_file_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let error = || read(folder.path()).unwrap_err().to_string();
        fs::write(folder.path().join(ISSUES).join("1.json"), "{\"repo\": ").unwrap();
        assert!(error().contains("1.json: EOF while parsing"), "{}", error());
        fs::write(folder.path().join(LOGS).join("a.jsonl"), "{}\n").unwrap();
        assert!(error().contains("a.jsonl: it names no repository; obtain the data set again"), "{}", error());
        fs::remove_dir_all(folder.path().join(LOGS)).unwrap();
        assert!(error().contains("Past Experience: it contains no *.jsonl"), "{}", error());
    }
}
