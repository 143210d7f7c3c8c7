//! A case: a conversation, what should be remembered of it, and what must not be.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EvalError;
use super::consolidation::Moment;
use crate::memory::MemoryType;

/// Name of the file that describes a case, in a folder of its own.
pub const CASE_FILE: &str = "case.json";
/// Name of the file with an independent reader's verdicts, beside it.
pub const VERDICT_FILE: &str = "judged.json";

/// A conversation, what should be remembered of it, and what must not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// One sentence: what is hard about this conversation.
    pub about: String,
    /// Language of the conversation, and so of its memories.
    pub language: Language,
    /// Format of the logs, as `afterthought log formats` names it.
    pub format: String,
    /// What it tests, in words of your own; results are grouped by them.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// Files and folders beside the case, in the order in which they are read.
    pub logs: Vec<PathBuf>,
    /// When the logs were last changed, for those that carry no date of their own. By default the start of 2026.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub changed_at: Option<jiff::Timestamp>,
    /// What a careful person would keep.
    pub memories: Vec<Gold>,
    /// What must not be kept.
    #[serde(default)]
    pub forbidden: Vec<Forbidden>,
}

/// Something that should be remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gold {
    /// Unique within the case, e.g. `m1`.
    pub id: String,
    /// What should be remembered, for people.
    pub text: String,
    /// Every type that is right, the best first.
    #[serde(rename = "type")]
    pub types: Vec<MemoryType>,
    /// How much it matters.
    pub importance: Importance,
    /// Fine to keep and fine to leave out: counts neither for recall nor against precision.
    #[serde(default)]
    pub optional: bool,
    /// Regular expressions, each of which occurs in the memory.
    pub all: Vec<String>,
    /// Regular expressions, none of which occurs; a memory that has one of them is distorted.
    #[serde(default)]
    pub none: Vec<String>,
    /// The day, month or instant that the memory must name or hold from or until, where that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Moment>,
    /// Verbatim pieces of messages; right evidence cites a message that holds one of them.
    pub evidence: Vec<String>,
}

/// How much a memory matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    /// To break it does harm; a lasting preference, decision, hard rule or costly lesson.
    High,
    /// Useful background.
    Medium,
    /// Minor.
    Low,
}

/// Something that must not be remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forbidden {
    /// Unique within the case, e.g. `f1`.
    pub id: String,
    /// Why it must not be kept.
    pub kind: ForbiddenKind,
    /// Regular expressions that all occur in a memory that is forbidden.
    pub all: Vec<String>,
    /// Regular expressions any of which excuses it, such as a negation.
    #[serde(default)]
    pub unless: Vec<String>,
    /// For people.
    #[serde(default)]
    pub why: String,
}

/// Why something must not be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForbiddenKind {
    /// A key, token or password.
    Secret,
    /// An instruction to whoever reads the conversation.
    Injection,
    /// The assistant's claim or guess that nobody confirmed.
    AssistantClaim,
    /// Supposed, not so.
    Hypothetical,
    /// Part of a story or a game.
    Fiction,
    /// Said in mockery.
    Sarcasm,
    /// A fact about one person, kept of another.
    ThirdPartyMisattributed,
    /// Meant for this once, kept as a rule.
    OneOff,
    /// Known to everybody.
    CommonKnowledge,
    /// Was recalled from the memory, not said.
    Recalled,
    /// A wrong absolute date.
    StaleDate,
    /// Data of an example or a test.
    ExampleData,
    /// What a tool printed.
    ToolOutput,
    /// Said by somebody else than the memory says.
    Misattributed,
    /// What was denied.
    Denied,
}

/// Language of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    En,
    /// Chinese.
    Zh,
    /// Spanish.
    Es,
    /// German.
    De,
}

/// An independent reader's verdict on a memory that no gold memory matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Exactly what the memory says.
    pub content: String,
    /// Whether it is worth keeping.
    pub verdict: Ruling,
    /// Why.
    #[serde(default)]
    pub why: String,
}

/// Whether a memory that no gold memory matches is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// True, and worth keeping.
    Kept,
    /// False, or not worth keeping.
    Wrong,
}

/// Spells a value as it stands in a case.
macro_rules! spelled_as_in_a_case {
    ($($name:ty),+) => { $(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(serde_json::to_value(self).ok().as_ref().and_then(serde_json::Value::as_str).unwrap_or_default())
            }
        }
    )+ };
}
spelled_as_in_a_case!(Importance, ForbiddenKind, Language);

impl Case {
    /// Reads the case in `folder`.
    ///
    /// # Errors
    /// [`EvalError::Read`], or [`EvalError::Form`] naming the file and the place in it.
    pub fn read(folder: &Path) -> Result<Self, EvalError> {
        read_json(&folder.join(CASE_FILE))
    }
}

/// Reads the verdicts in `folder`; none if there is no such file.
///
/// # Errors
/// As [`Case::read`].
pub fn verdicts(folder: &Path) -> Result<Vec<Verdict>, EvalError> {
    let path = folder.join(VERDICT_FILE);
    if path.exists() { read_json(&path) } else { Ok(Vec::new()) }
}

/// Returns the JSON Schema of a case.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Case).to_value()
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, EvalError> {
    let text = fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|error| EvalError::Form {
        path: path.to_owned(),
        place: String::new(),
        reason: error.to_string(),
    })
}
