//! Reading conversation logs: bytes in, [`Transcript`]s out.
//!
//! Each format is one file and one row of [`INGESTORS`]. A format is recognised by content, never by the file's name
//! alone. Ingestors parse only: they never call a model and never touch the store.

mod assemble;
mod blocks;
mod chatgpt;
mod chatgpt_content;
mod chatgpt_tree;
mod claude_code;
mod codex;
mod detect;
mod discover;
mod identity;
mod injected;
mod input;
mod label;
mod lenient;
mod openai_chat;
mod openai_message;
mod parts;
mod plain;
mod records;
mod speaker;
mod webvtt;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use assemble::Assembler;
pub use detect::{Head, detect};
pub use discover::{Discovered, discover};
pub use input::{Input, open};
pub use records::{Record, Records};

use crate::transcript::Transcript;

/// Longest line or array element that is read, in bytes; a longer one is skipped and reported.
pub const MAX_RECORD_BYTES: usize = 64 << 20;
/// Text that one [`Transcript`] holds before the rest of the conversation goes into its next part, in bytes.
pub const MAX_PART_BYTES: usize = 8 << 20;
/// Longest prose that is kept of one message, in bytes; the middle of a longer one is replaced by a marker.
pub const MAX_PROSE_BYTES: usize = 1 << 20;
/// Longest tool output that is kept of one message, in bytes.
pub const MAX_TOOL_BYTES: usize = 4 << 10;

/// Reads one transcript format.
///
/// An implementor must survive any bytes: a record that it cannot use is passed to [`Sink::skip`] and the rest of the
/// file is read. It yields messages in conversation order, marks what nobody said to anybody (system prompts,
/// reminders, reasoning, summaries) by [`crate::transcript::Kind`] instead of dropping it in silence, and leaves
/// redaction to `guard`.
pub trait Ingestor: Sync {
    /// The spelling used by `--format` and stored with each transcript, e.g. `claude-code`.
    fn name(&self) -> &'static str;
    /// What the format is, in a few words, e.g. `Claude Code session JSONL`.
    fn about(&self) -> &'static str;
    /// How it is recognised, in one line for people.
    fn rule(&self) -> &'static str;
    /// Whether `head`, the start of a file, looks like this format.
    fn sniff(&self, head: &Head<'_>) -> bool;
    /// Reads the whole of `input`, giving each conversation to `sink` as soon as it is complete.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the bytes cannot be read to their end; what was given to `sink` before stays good.
    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError>;
}

/// Every format that can be read, in the order in which a file is tried against them.
pub const INGESTORS: &[&dyn Ingestor] = &[
    // Agents' logs and exports have unmistakable marks; text forms are guessed, so they come last.
    &claude_code::ClaudeCode,
    &codex::Codex,
    &webvtt::WebVtt,
    &chatgpt::ChatGpt,
    &openai_chat::OpenAiChat,
    &plain::Plain,
];

/// Receives what an ingestor reads.
pub struct Sink<'a> {
    accept: &'a mut dyn FnMut(Transcript),
    /// Records that could not be used, in file order.
    pub skipped: Vec<Skipped>,
    /// Records that parsed only after a repair.
    pub repaired: usize,
}

impl<'a> Sink<'a> {
    /// Returns a sink that hands each transcript to `accept`.
    pub fn new(accept: &'a mut dyn FnMut(Transcript)) -> Self {
        Self { accept, skipped: Vec::new(), repaired: 0 }
    }

    /// Hands over a transcript; one without messages is dropped.
    pub fn transcript(&mut self, transcript: Transcript) {
        if !transcript.messages.is_empty() {
            (self.accept)(transcript);
        }
    }

    /// Counts a record that could not be used: the 1-based line or element, and why.
    ///
    /// `reason` must not repeat the record's text, which may hold secrets.
    pub fn skip(&mut self, record: usize, reason: impl Into<String>) {
        self.skipped.push(Skipped { record, reason: reason.into() });
    }
}

/// A record that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// 1-based line, or element of a JSON array.
    pub record: usize,
    /// Why, without the record's text.
    pub reason: String,
}

/// Why a transcript could not be read; one variant for each thing a caller does differently.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The path is not there, not readable, or broke off.
    #[error("cannot read {}; check the path and its permissions", spelled(.path))]
    Read {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No row of [`INGESTORS`] recognises the content.
    #[error("{} is in no format that is known; see `afterthought formats`, or pass --format NAME", spelled(.path))]
    UnknownFormat {
        /// The path as given.
        path: PathBuf,
    },
    /// The name given to `--format` is no row of [`INGESTORS`].
    #[error("no format is called {name:?}; see `afterthought formats`")]
    NoSuchFormat {
        /// The name as given.
        name: String,
    },
    /// A file without content.
    #[error("{} is empty; nothing to read", spelled(.path))]
    Empty {
        /// The path as given.
        path: PathBuf,
    },
    /// A folder or pattern under which there is no file.
    #[error("no files under {}; give a log file, a folder of logs, or a pattern such as 'logs/**/*.jsonl'", .path.display())]
    NothingThere {
        /// The path or pattern as given.
        path: PathBuf,
    },
    /// A pattern that cannot be understood.
    #[error(
        "cannot understand the pattern {pattern:?}: {reason}; write * for any name, ** for any folders, and [[] for a bracket"
    )]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
}

fn spelled(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Returns the ingestor called `name`.
///
/// # Errors
/// [`IngestError::NoSuchFormat`].
pub fn by_name(name: &str) -> Result<&'static dyn Ingestor, IngestError> {
    INGESTORS
        .iter()
        .copied()
        .find(|ingestor| ingestor.name() == name)
        .ok_or_else(|| IngestError::NoSuchFormat { name: name.to_owned() })
}

/// Parses an RFC 3339 time into an instant and its offset from UTC in seconds; `Z` is offset 0.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<(Timestamp, i32)> {
    let pieces = jiff::fmt::temporal::DateTimeParser::new().parse_pieces(text).ok()?;
    let offset = pieces.to_numeric_offset().map_or(0, jiff::tz::Offset::seconds);
    text.parse().ok().map(|at| (at, offset))
}
