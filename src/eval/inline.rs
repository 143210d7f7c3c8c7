//! A conversation that stands in a case itself, and the log that is made of it.

use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::EvalError;
use super::consolidation::Moment;
use super::place::prepare;

/// The format in which such conversations are written.
pub const FORMAT: &str = "openai-chat";

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Who speaks; a person by default.
    #[serde(default)]
    pub role: Role,
    /// Their name, in a conversation of several people.
    #[serde(default)]
    pub speaker: Option<String>,
    /// When it was said; a minute after the message before by default.
    #[serde(default)]
    pub at: Option<Moment>,
    /// What was said.
    pub text: String,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person.
    #[default]
    User,
    /// The model.
    Assistant,
    /// A tool, of which this is the output.
    Tool,
    /// The program around the conversation.
    System,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
        }
    }
}

/// Writes `transcript` as a log into `folder`, and returns its path.
///
/// # Errors
/// [`EvalError::Prepare`] if it cannot be written.
pub fn write_log(folder: &Path, id: &str, transcript: &[Turn]) -> Result<PathBuf, EvalError> {
    let path = folder.join(log_name(id));
    std::fs::create_dir_all(folder).map_err(|source| prepare(folder, source))?;
    let log = json!({"id": format!("conversation-{id}"), "messages": messages(transcript)});
    std::fs::write(&path, log.to_string()).map_err(|source| prepare(&path, source))?;
    Ok(path)
}

/// Returns the name of the log of the case `id`.
#[must_use]
pub fn log_name(id: &str) -> PathBuf {
    PathBuf::from(format!("{}.json", id.replace(['/', '\\'], "-")))
}

fn messages(transcript: &[Turn]) -> Vec<Value> {
    let mut last: Option<Timestamp> = None;
    let mut made = Vec::with_capacity(transcript.len());
    for (number, said) in (1..).zip(transcript) {
        let next = last.map(|last| last.checked_add(1.minute()).unwrap_or(last));
        last = said.at.map(Moment::said).or(next);
        let mut message = json!({"id": format!("m{number}"), "role": said.role.name(), "content": said.text});
        if let Some(name) = &said.speaker {
            message["name"] = json!(name);
        }
        if let Some(at) = last {
            message["created_at"] = json!(at.to_string());
        }
        made.push(message);
    }
    made
}
