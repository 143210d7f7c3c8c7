//! The closed loop: tasks for the second of two sessions in a repository, and scores for an agent's work on them.
//!
//! ```text
//! SUITE/repositories/NAME/      the files of a repository when the second session begins
//! SUITE/tasks/ID/task.toml      the task
//!                first.jsonl    the log of the first session, in the format of Claude Code
//!                hidden/        files that are copied into the repository before the test runs
//!                scripted/      three solutions, and the texts that decide which one the scripted agent applies
//! ```

mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::EvalError;
use crate::files::{format_error, read_text, read_toml};
use crate::results::{Cost, Finding, Row, float};
use crate::vocabulary::{Arm, Kind, Solution, TaskKind, Teaching};

pub(crate) use tables::tables;

/// The content of `task.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Name of the task, unique in its suite.
    pub id: String,
    /// Folder of the repository below `repositories`.
    pub repository: String,
    /// Programming language of the repository.
    pub language: String,
    /// Whether the lesson of the first session applies to the second.
    pub kind: TaskKind,
    /// What the first session teaches.
    pub teaches: Teaching,
    /// The prompt of the second session.
    pub prompt: String,
    /// The lesson in one sentence.
    pub hint: String,
    /// A plausible but wrong memory.
    pub wrong: String,
    /// Command that exits with 0 if the task is solved.
    pub test: String,
    /// Time limit of the agent and of each command, in seconds.
    pub time_limit_s: u64,
}

/// The content of `scripted/cues.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cues {
    /// Texts that state the lesson.
    knows: Vec<String>,
    /// Texts that state the wrong memory, or a lesson that no longer applies.
    misled: Vec<String>,
    /// Commands that the scripted agent runs unless it knows the lesson.
    #[serde(default)]
    commands: Vec<String>,
}

/// A task with its files.
#[derive(Debug, Clone)]
pub struct LoadedTask {
    /// The task.
    pub task: Task,
    /// Folder of the task.
    pub folder: PathBuf,
    /// Folder with the files of the repository.
    pub repository: PathBuf,
    cues: Cues,
    first: String,
    failed: BTreeSet<String>,
    patches: BTreeMap<Solution, String>,
}

/// An agent's work on a task.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Whether the hidden tests passed.
    pub is_solved: bool,
    /// Whether the repository contains all lines that only the wrong solution adds; `None` if there are no such lines.
    pub follows_wrong_advice: Option<bool>,
    /// The agent's commands that failed.
    pub failed_commands: Vec<String>,
    /// Texts that the agent was shown in addition to the prompt, such as hook output.
    pub shown: Vec<String>,
    /// Number of steps, if known.
    pub turns: Option<u64>,
    /// Cost of the agent, including its elapsed time.
    pub agent: Cost,
    /// Cost of reading the first session.
    pub extraction: Cost,
    /// The end of the output of the hidden tests.
    pub printed: String,
}

impl Arm {
    /// Whether hooks fire before the first step.
    pub const fn has_preamble(self) -> bool {
        matches!(self, Self::Preamble | Self::Both | Self::Harm | Self::Random | Self::All | Self::Other)
    }

    /// Whether hooks fire when the agent acts.
    pub const fn has_act(self) -> bool {
        matches!(self, Self::Act | Self::Both | Self::Harm | Self::Random | Self::All | Self::Other)
    }
}

impl LoadedTask {
    /// Reads all tasks of a suite, ordered by id.
    ///
    /// # Errors
    /// [`EvalError`] if a file is missing or invalid, or there are no tasks.
    pub fn read_all(suite: &Path) -> Result<Vec<Self>, EvalError> {
        let folder = suite.join("tasks");
        let entries = fs::read_dir(&folder).map_err(|source| EvalError::Read { path: folder.clone(), source })?;
        let mut folders: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        let tasks: Vec<Self> = folders.iter().map(|folder| Self::read(folder, suite)).collect::<Result<_, _>>()?;
        if tasks.is_empty() {
            return Err(EvalError::NoCases { path: folder });
        }
        Ok(tasks)
    }

    fn read(folder: &Path, suite: &Path) -> Result<Self, EvalError> {
        let path = folder.join("task.toml");
        let task: Task = read_toml(&path)?;
        let repository = suite.join("repositories").join(&task.repository);
        if !repository.is_dir() {
            return Err(format_error(&path, "repository: ", format!("there is no folder {}", repository.display())));
        }
        let first = read_text(&folder.join("first.jsonl"))?;
        let scripted = folder.join("scripted");
        let patch = |solution: &Solution| Ok((*solution, read_text(&scripted.join(format!("{solution}.patch")))?));
        Ok(Self {
            cues: read_toml(&scripted.join("cues.toml"))?,
            failed: failed_commands(&first),
            patches: Solution::ALL.iter().map(patch).collect::<Result<_, EvalError>>()?,
            folder: folder.to_owned(),
            repository,
            task,
            first,
        })
    }

    /// Returns the log of the first session as if it had taken place in `folder`.
    pub fn first_session_in(&self, folder: &str) -> String {
        let cwd = self.first.lines().find_map(|line| {
            let value: Value = serde_json::from_str(line).ok()?;
            value["cwd"].as_str().map(str::to_owned)
        });
        cwd.map_or_else(|| self.first.clone(), |cwd| self.first.replace(&cwd, folder))
    }

    /// Returns a log of a session in `folder` in which nothing worth remembering was said.
    pub fn empty_session_in(&self, folder: &str) -> String {
        let message = serde_json::json!({
            "type": "user", "cwd": folder, "sessionId": "00000000-0000-4000-8000-000000000001",
            "uuid": "00000000-0000-4000-8000-000000000002", "parentUuid": null, "version": "2.0.0",
            "timestamp": "2026-01-05T09:00:00.000Z", "message": {"role": "user", "content": "Hello."},
        });
        format!("{message}\n")
    }

    /// Returns the solution that the scripted agent applies after being shown `shown`.
    pub fn choice_after(&self, shown: &[String]) -> Solution {
        if states_any(shown, &self.cues.knows) {
            Solution::With
        } else if states_any(shown, &self.cues.misled) {
            Solution::Wrong
        } else {
            Solution::Without
        }
    }

    /// Returns a solution as a patch, which may be empty.
    pub fn patch(&self, solution: Solution) -> &str {
        &self.patches[&solution]
    }

    /// Returns the files that a solution changes.
    pub fn files_of(&self, solution: Solution) -> BTreeSet<String> {
        let headers = self.patch(solution).lines().filter_map(|line| line.strip_prefix("+++ b/"));
        headers.map(|path| path.trim_end().to_owned()).collect()
    }

    /// Returns the commands that the scripted agent runs unless it knows the lesson.
    pub fn commands(&self) -> &[String] {
        &self.cues.commands
    }

    /// Returns whether the files of the repository, as returned by `read`, contain all lines that only the wrong
    /// solution adds; `None` if there are no such lines.
    pub fn follows_wrong_advice(&self, read: impl Fn(&str) -> Option<String>) -> Option<bool> {
        let mut wrong = added_lines(self.patch(Solution::Wrong));
        // In a stale task, the solution of an agent that knows the lesson is the wrong one.
        let right = if self.task.kind == TaskKind::Stale { None } else { Some(Solution::With) };
        for other in right.into_iter().chain([Solution::Without]) {
            let lines = added_lines(self.patch(other));
            wrong.retain(|line| !lines.contains(line));
        }
        let is_there = |(file, line): &(String, String)| {
            read(file).is_some_and(|text| text.lines().any(|found| found.trim() == line))
        };
        (!wrong.is_empty()).then(|| wrong.iter().all(is_there))
    }
}

/// Returns the row of a task in an arm. `tokens` counts the tokens of a text.
pub fn score(loaded: &LoadedTask, arm: Arm, outcome: &Outcome, tokens: fn(&str) -> usize) -> Row {
    let mut row = empty_row(loaded, arm);
    row.cost = outcome.agent.plus(outcome.extraction);
    row.cost.ms = outcome.agent.ms;
    row.yes("solved", outcome.is_solved);
    row.checked("wrong advice", outcome.follows_wrong_advice);
    let repeated = outcome.failed_commands.iter().filter(|command| loaded.failed.contains(command.trim())).count();
    row.mean("repeated failures", float(repeated));
    let all = |cost: Cost| cost.prompt_tokens + cost.completion_tokens;
    if let Some(turns) = outcome.turns {
        row.ratio("turns", turns, 1);
    }
    row.ratio("agent tokens", all(outcome.agent), 1);
    let count = |texts: &mut dyn Iterator<Item = &String>| float(texts.map(|text| tokens(text)).sum());
    let is_unneeded = |text: &&String| {
        loaded.task.kind == TaskKind::Stale || !states_any(std::slice::from_ref(*text), &loaded.cues.knows)
    };
    row.mean("shown tokens", count(&mut outcome.shown.iter()));
    row.mean("unneeded tokens", count(&mut outcome.shown.iter().filter(is_unneeded)));
    row.ratio("extraction tokens", all(outcome.extraction), 1);
    row.ratio("seconds", outcome.agent.ms, 1_000);
    if !outcome.is_solved {
        row.fault("not solved", &loaded.task.id, &outcome.printed, "");
    }
    if outcome.follows_wrong_advice == Some(true) {
        row.fault("wrong advice", &loaded.task.id, &loaded.task.wrong, "");
    }
    for text in &outcome.shown {
        row.findings.push(Finding { what: "shown".to_owned(), text: text.clone(), ..Finding::default() });
    }
    row
}

/// Returns a row without measures for a task. In each arm, lesson tasks and stale tasks are separate suites.
pub fn empty_row(loaded: &LoadedTask, arm: Arm) -> Row {
    let task = &loaded.task;
    Row {
        suite: format!("{}: {arm}", task.kind),
        split: task.kind.to_string(),
        language: Some(task.language.clone()),
        phenomena: vec![task.teaches.to_string()],
        about: task.prompt.clone(),
        ..Row::new(Kind::Loop, &task.id)
    }
}

/// Whether one of `texts` contains one of `cues`, ignoring case.
fn states_any(texts: &[String], cues: &[String]) -> bool {
    texts.iter().any(|text| {
        let text = text.to_lowercase();
        cues.iter().any(|cue| text.contains(&cue.to_lowercase()))
    })
}

/// Returns the lines that a patch adds, each with its file.
fn added_lines(patch: &str) -> Vec<(String, String)> {
    let (mut file, mut lines) = ("", Vec::new());
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("+++ ") {
            file = path.trim_end().trim_start_matches("b/");
        } else if let Some(added) = line.strip_prefix('+').map(str::trim).filter(|added| !added.is_empty()) {
            lines.push((file.to_owned(), added.to_owned()));
        }
    }
    lines
}

/// Returns the commands that failed in a log of Claude Code.
pub fn failed_commands(log: &str) -> BTreeSet<String> {
    let (mut commands, mut failed) = (BTreeMap::new(), BTreeSet::new());
    for line in log.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        for part in value["message"]["content"].as_array().into_iter().flatten() {
            match (part["type"].as_str(), part["input"]["command"].as_str()) {
                (Some("tool_use"), Some(command)) => {
                    commands.insert(part["id"].to_string(), command.trim().to_owned());
                }
                (Some("tool_result"), _) if part["is_error"] == true => {
                    failed.extend(commands.get(&part["tool_use_id"].to_string()).cloned());
                }
                _ => {}
            }
        }
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITH: &str = "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1,2 @@\n build\n+check --strict\n";
    const WRONG: &str = "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1,3 @@\n build\n+check --loose\n+done\n";

    fn loaded(folder: &Path) -> LoadedTask {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("repositories/tool/run.sh", "build\n");
        write(
            "tasks/a/task.toml",
            "id = 'a'\nrepository = 'tool'\nlanguage = 'shell'\nkind = 'lesson'\nteaches = 'flag'\nprompt = 'Check.'\n\
             hint = 'Use --strict.'\nwrong = 'Use --loose.'\ntest = 'true'\ntime_limit_s = 5\n",
        );
        let call = r#"{"cwd":"/home/dev/tool","message":{"content":[{"type":"tool_use","id":"1","input":{"command":"check /home/dev/tool"}}]}}"#;
        let result = r#"{"message":{"content":[{"type":"tool_result","tool_use_id":"1","is_error":true}]}}"#;
        write("tasks/a/first.jsonl", &format!("{call}\n{result}\n"));
        write("tasks/a/scripted/cues.toml", "knows = ['--strict']\nmisled = ['--loose']\n");
        write("tasks/a/scripted/with.patch", WITH);
        write("tasks/a/scripted/without.patch", "");
        write("tasks/a/scripted/wrong.patch", WRONG);
        LoadedTask::read_all(folder).unwrap().remove(0)
    }

    #[test]
    fn the_scripted_agent_prefers_the_lesson_to_wrong_advice() {
        let folder = tempfile::tempdir().unwrap();
        let loaded = loaded(folder.path());
        let choice =
            |shown: &[&str]| loaded.choice_after(&shown.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
        assert_eq!(choice(&[]), Solution::Without);
        assert_eq!(choice(&["other", "Use --LOOSE."]), Solution::Wrong);
        assert_eq!(choice(&["Use --loose.", "Use --strict."]), Solution::With);
        assert_eq!(loaded.files_of(Solution::With), ["run.sh".to_owned()].into());
        assert!(loaded.first_session_in("/tmp/x").contains("check /tmp/x"));
    }

    #[test]
    fn wrong_advice_counts_only_if_all_its_own_lines_are_adopted() {
        let folder = tempfile::tempdir().unwrap();
        let loaded = loaded(folder.path());
        let follows = |text: &str| loaded.follows_wrong_advice(|_| Some(text.to_owned()));
        assert_eq!(follows("build\n  check --loose\ndone\n"), Some(true));
        assert_eq!(follows("build\ncheck --loose\n"), Some(false));
        assert_eq!(loaded.follows_wrong_advice(|_| None), Some(false));
    }

    #[test]
    fn a_row_counts_repeated_failures_and_unneeded_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let loaded = loaded(folder.path());
        let outcome = Outcome {
            failed_commands: vec!["check /home/dev/tool ".into(), "other".into()],
            shown: vec!["Use --strict.".into(), "The sky is blue.".into()],
            turns: Some(3),
            ..Outcome::default()
        };
        let row = score(&loaded, Arm::Act, &outcome, |text| text.split(' ').count());
        let value = |name: &str| row.measures[name].numerator;
        assert_eq!((row.suite.as_str(), row.case.as_str()), ("lesson: act", "a"));
        assert!(
            [("solved", 0.0), ("repeated failures", 1.0), ("shown tokens", 6.0), ("unneeded tokens", 4.0)]
                .iter()
                .all(|(name, expected)| (value(name) - expected).abs() < 1e-9)
        );
        assert!(row.measures["wrong advice"].denominator < 0.5, "not checked");
    }
}
