//! The record of a task: the request to an agent, its actions, and the outcome. The types in this module contain no
//! logic.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Namespace, string_enum};

string_enum!(
    /// The outcome of a task, as far as its log shows.
    TaskOutcome, "the outcome of a task", {
    /// A commit, a passing test or a closing report shows that the task was finished.
    Done = "done",
    /// The last check of the task failed.
    Failed = "failed",
    /// The task was interrupted, or the log ends in the middle of it.
    Abandoned = "abandoned",
    /// The log does not show how the task ended.
    Unknown = "unknown",
});

/// A task of the work ledger: its record, and its place in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Row of the task in this file.
    #[serde(skip)]
    pub row: i64,
    /// Id of the task, which is the same for the same place in the same log on every machine.
    pub id: String,
    /// The log's key.
    pub transcript: String,
    /// If the log is that of a sub-agent: the key of the session that started the sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Position of the task among the tasks of the log, counted from 0.
    pub place: usize,
    /// The namespace that the task belongs to.
    pub namespace: Namespace,
    /// The recorded data about the task.
    #[serde(flatten)]
    pub record: TaskRecord,
}

/// The actions of an agent from one request for new work to the next. Each fact lists the ids of the messages that show
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The request, truncated.
    pub goal: String,
    /// Outcome of the task.
    pub outcome: TaskOutcome,
    /// The reason for assuming this outcome.
    pub reason: String,
    /// Time of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The time of the task's last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The folder of the project, as the log spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The git branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The assistant's last words, truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Citation>,
    /// The person's messages after the request, except short ones, each truncated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Citation>,
    /// The task's files; changed files come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TaskFile>,
    /// Names that the changes define or mention.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
    /// Numbers of the most frequent words in the assistant's messages and in errors that no other field contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<u32>,
    /// Commands, in the order in which they were first run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<TaskCommand>,
    /// Errors of commands, in the order in which they first occurred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TaskError>,
    /// Test runs; only the last run of each command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestRun>,
    /// Commits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<Citation>,
    /// Addresses of pull requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pull_requests: Vec<Citation>,
    /// The first and the last message.
    pub messages: (String, String),
}

impl TaskRecord {
    /// Returns the ids of the task's commits, as the log shows them.
    pub(crate) fn commit_ids(&self) -> impl Iterator<Item = &str> {
        self.commits.iter().filter_map(|commit| commit.text.split(' ').next())
    }
}

/// A text and the message that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The text.
    pub text: String,
    /// The message.
    pub message: String,
}

/// A file of a task. The path of a file is relative to the folder of the project if the file is inside that folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFile {
    /// The path.
    pub path: String,
    /// Number of times the file was read.
    #[serde(skip_serializing_if = "is_zero")]
    pub read: u32,
    /// Number of times the file was edited.
    #[serde(skip_serializing_if = "is_zero")]
    pub edited: u32,
    /// Whether the task created the file.
    #[serde(skip_serializing_if = "is_false")]
    pub created: bool,
    /// Whether the task deleted the file.
    #[serde(skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// The path to which the task moved the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// The first messages that show the file, with changes before reads.
    pub messages: Vec<String>,
}

impl TaskFile {
    /// Whether the task did more than read the file.
    pub(crate) const fn is_changed(&self) -> bool {
        self.edited > 0 || self.created || self.deleted || self.renamed_to.is_some()
    }
}

/// A command of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCommand {
    /// The command on one line.
    pub command: String,
    /// The signature that identifies the command, such as `cargo test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The folder in which the command ran, if it is not the project's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Number of times the command ran.
    pub runs: u32,
    /// Number of times the command failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// The exit status of the last run, if the log contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The messages of the command's first and last run.
    pub messages: Vec<String>,
}

/// An error with which a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskError {
    /// The line that states the problem, without paths, numbers and hashes.
    pub signature: String,
    /// The original line.
    pub line: String,
    /// The command.
    pub command: String,
    /// Number of times the error occurred.
    pub count: u32,
    /// The first message that shows the error.
    pub message: String,
    /// The remedy that resolved the error, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Remedy>,
}

/// The remedy for an error: the later success of the command, and the actions in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// The command that succeeded.
    pub command: String,
    /// The files that were changed in between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Other commands that ran in between and did more than read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The message that shows the success.
    pub message: String,
}

/// A run of tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    /// The command.
    pub command: String,
    /// Whether all tests passed; `None` if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// The line that summarises the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The message that shows the result.
    pub message: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}
