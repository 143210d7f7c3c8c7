//! From a transcript to candidates: windows, and an extractor that reads each.

mod answer;
pub mod check;
mod claim;
pub mod llm;
mod message;
pub mod prompt;
mod reply;
pub mod offline;
pub mod schema;
pub mod window;

use serde::{Deserialize, Serialize};
pub use window::WindowBudget;

use crate::memory::{Candidate, Memory};
use transcripts::{Message, Transcript};

/// What an extractor reads at a time: messages `start..end` of a transcript.
///
/// The messages from `context_start` to `start` were read before; they are shown so that words like "that one" can be
/// understood, and no candidate may rest on them alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First message shown.
    pub context_start: usize,
    /// First message to extract from.
    pub start: usize,
    /// One past the last message to extract from.
    pub end: usize,
}

/// Everything an extractor may look at for one window.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The conversation; its texts are redacted.
    pub transcript: &'a Transcript,
    /// The part of it to extract from.
    pub span: Span,
    /// Memories that are known already, the closest first.
    pub known: &'a [Memory],
    /// What the person asked to keep or never to keep, from `--instructions`.
    pub instructions: Option<&'a str>,
    /// Categories that are allowed.
    pub categories: &'a [String],
}

impl<'a> Task<'a> {
    /// Returns the messages to extract from.
    #[must_use]
    pub fn messages(&self) -> &'a [Message] {
        &self.transcript.messages[self.span.start..self.span.end]
    }

    /// Returns the messages shown, context included.
    #[must_use]
    pub fn shown(&self) -> &'a [Message] {
        &self.transcript.messages[self.span.context_start..self.span.end]
    }
}

/// How a window ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Read whole, with candidates.
    Ok,
    /// Read whole; nothing worth keeping.
    OkEmpty,
    /// Some of the reply could not be used; the rest was. Where it was cut for good, the next run asks again.
    Partial,
    /// Nothing of the reply could be used, or there was none; it is tried again by the next run.
    Failed,
}

/// What came of one window.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// How it ended.
    pub outcome: Outcome,
    /// Candidates whose every quote was found in its message.
    pub candidates: Vec<Candidate>,
    /// Proposals that were not taken, with the reason.
    pub dropped: Vec<Dropped>,
    /// What it cost.
    pub spent: Spent,
    /// Why it failed or is partial, for people.
    pub error: Option<String>,
    /// Keys of replies that were of no use: unless they are forgotten, the next run takes them for answers.
    pub useless: Vec<String>,
}

/// A proposal that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Why.
    pub reason: DropReason,
    /// What is wrong with it, in short.
    pub detail: String,
}

/// Why a proposal was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// It does not have the shape that was asked for.
    Invalid,
    /// It cites a message that was not shown, or only such as were read before.
    WrongMessage,
    /// Its quote does not stand in the cited message.
    QuoteNotFound,
    /// It rests on injected text, a boot file, or an assistant alone.
    NotSaid,
    /// It has a number that nobody said.
    NumberNotSaid,
    /// It has a date that nobody said and that does not follow from when something was said.
    DateNotSaid,
    /// It names somebody or something that nobody named.
    NameNotSaid,
    /// It says the opposite of its quote.
    PolarityChanged,
    /// It says of one person what another said of themselves.
    OtherSpeaker,
    /// It says nothing once the secrets are taken out, or holds personal data that the settings drop.
    Secret,
    /// It repeats the instructions that agents get at every start.
    KnownContext,
}

/// What was paid, and what was known from before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Calls made.
    pub calls: u64,
    /// Replies that were known from before.
    pub cached: u64,
    /// Tokens sent in those calls.
    pub prompt_tokens: u64,
    /// Tokens received in those calls.
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.cached += other.cached;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}
