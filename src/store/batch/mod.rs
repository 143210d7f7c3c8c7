//! Batches of requests at a provider: which requests wait in which, how far each is, and which windows ask.

mod read;
#[cfg(test)]
mod tests;
mod windows;
mod write;

use jiff::Timestamp;
use serde::Serialize;

use crate::guard::Redacted;
use crate::llm::Reply;
use crate::memory::ParseError;

pub use windows::{BatchWindow, KeptPack, WindowPlace};

/// How far a batch is on our side. Each stage is written before what comes after it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Its requests are set aside. The provider may have the file, which costs nothing.
    Planned,
    /// It is being submitted: the provider may have taken it.
    Creating,
    /// The provider has taken it.
    Submitted,
    /// Its answers are kept, or it was given up.
    Ended,
}

impl Stage {
    const ALL: [Self; 4] = [Self::Planned, Self::Creating, Self::Submitted, Self::Ended];

    /// Returns the spelling used in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Creating => "creating",
            Self::Submitted => "submitted",
            Self::Ended => "ended",
        }
    }
}

impl std::str::FromStr for Stage {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "a batch's stage",
            allowed: "planned, creating, submitted or ended",
        })
    }
}

/// A batch that is not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// Our own id, which the provider keeps with it.
    pub id: String,
    /// The run that made it, or that took it over.
    pub owner: String,
    /// Address of the server, without credentials.
    pub endpoint: String,
    /// Name of the model.
    pub model: String,
    /// How far it is.
    pub stage: Stage,
    /// Since when.
    pub stage_at: Timestamp,
    /// The provider's id of its file.
    pub input_file: Option<String>,
    /// The provider's id of it.
    pub remote_id: Option<String>,
    /// What the provider said of it last.
    pub remote_status: Option<String>,
    /// When it was planned.
    pub created_at: Timestamp,
    /// Requests that wait for an answer.
    pub waiting: usize,
}

/// A request that is to wait in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRequest {
    /// Hash of the request.
    pub key: String,
    /// Its length.
    pub prompt_tokens: u64,
}

/// What became of one request of a batch.
#[derive(Debug, Clone)]
pub enum RowOutcome {
    /// It was answered. The text stands in the place of the reply's own.
    Answered(Redacted<String>, Reply),
    /// It was not.
    Failed,
}
