//! Extraction of candidates from transcripts: windows, and the extractors that read them.

mod answer;
pub mod check;
mod claim;
pub mod llm;
mod message;
pub(crate) mod prompt;
mod reply;
pub mod offline;
pub(crate) mod schema;
mod shown;
pub mod window;
mod withheld;

use serde::{Deserialize, Serialize};
pub use window::WindowBudget;

use crate::llm::{Cost, Reply};
use crate::memory::{Candidate, Memory};
use transcripts::{Message, Transcript};

/// The messages that an extractor reads together: `start..end` of a transcript.
///
/// The messages from `context_start` to `start` were read before. They are shown so that phrases like "that one" can be
/// understood, and no candidate may be based only on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First message shown.
    pub context_start: usize,
    /// First message to extract from.
    pub start: usize,
    /// The index after the last message to extract from.
    pub end: usize,
}

/// Everything an extractor may use for one window.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The conversation, with redacted texts.
    pub transcript: &'a Transcript,
    /// The part of the conversation to extract from.
    pub span: Span,
    /// Already known memories, the closest first.
    pub known: &'a [Memory],
    /// The user's instructions on what to keep or to discard, from `--instructions`.
    pub instructions: Option<&'a str>,
    /// Categories that are allowed.
    pub categories: &'a [String],
}

impl<'a> Task<'a> {
    /// Returns the messages to extract from.
    #[must_use]
    pub(crate) fn messages(&self) -> &'a [Message] {
        &self.transcript.messages[self.span.start..self.span.end]
    }

    /// Returns the messages shown, including the context.
    #[must_use]
    pub(crate) fn shown(&self) -> &'a [Message] {
        &self.transcript.messages[self.span.context_start..self.span.end]
    }
}

/// The state of a window after extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The window was read completely and contains candidates.
    Ok,
    /// The window was read completely and contains nothing worth keeping.
    OkEmpty,
    /// Part of the reply could not be used. If the end of the reply could not be obtained, the next run sends the
    /// request again.
    Partial,
    /// No part of the reply could be used, or there was no reply. The next run tries again.
    Failed,
}

/// The result of extracting one window.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// The outcome of the extraction.
    pub outcome: Outcome,
    /// Candidates that passed every check.
    pub candidates: Vec<Candidate>,
    /// Rejected proposals, with the reason.
    pub dropped: Vec<Dropped>,
    /// Cost of the extraction.
    pub spent: Spent,
    /// The reason for a failure or a partial result, in words for the user.
    pub error: Option<String>,
    /// Keys of stored replies that are useless. Unless these replies are deleted, the next run uses them as answers.
    pub useless: Vec<String>,
}

impl Extraction {
    /// Returns the result of an extraction without calls.
    pub(crate) fn without_calls(candidates: Vec<Candidate>) -> Self {
        let outcome = if candidates.is_empty() { Outcome::OkEmpty } else { Outcome::Ok };
        Self { outcome, candidates, dropped: Vec::new(), spent: Spent::default(), error: None, useless: Vec::new() }
    }
}

/// A rejected proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Reason for the rejection.
    pub reason: DropReason,
    /// A short description of the error.
    pub detail: String,
}

/// Why a proposal was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// The proposal does not have the requested structure.
    Invalid,
    /// The proposal cites a message that was not shown, or only messages that were shown as context.
    WrongMessage,
    /// The quote is not in the cited message.
    QuoteNotFound,
    /// The proposal is based on injected text, on a boot file, or only on an assistant's words.
    NotSaid,
    /// The proposal contains a number that does not appear in the conversation.
    NumberNotSaid,
    /// The proposal contains a date that does not appear in the conversation and cannot be derived from the time of a
    /// message.
    DateNotSaid,
    /// The proposal contains a name that does not appear in the conversation.
    NameNotSaid,
    /// The proposal says the opposite of its quote.
    PolarityChanged,
    /// The proposal attributes to one person what another person said about themselves.
    OtherSpeaker,
    /// The proposal is empty once its secrets are removed, or it contains personal data that the settings exclude.
    Secret,
    /// The proposal repeats the instructions that agents receive at every start.
    KnownContext,
}

/// The cost of extraction: calls, tokens, and replies that were already stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Calls made.
    pub calls: u64,
    /// Replies that were already stored.
    pub cached: u64,
    /// Tokens sent in those calls.
    pub prompt_tokens: u64,
    /// Tokens received in those calls.
    pub completion_tokens: u64,
}

impl Spent {
    /// Returns the cost of a reply.
    pub(crate) fn of(reply: &Reply, cost: Cost) -> Self {
        let Reply { prompt_tokens, completion_tokens, .. } = *reply;
        match cost {
            Cost::Call => Self { calls: 1, prompt_tokens, completion_tokens, ..Self::default() },
            Cost::Cached => Self { cached: 1, ..Self::default() },
        }
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.cached += other.cached;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}
