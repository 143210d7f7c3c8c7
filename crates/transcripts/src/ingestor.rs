//! The contract of a format: what it recognises, what it reads, and where its transcripts go.

use crate::{Folder, Head, IngestError, Input, Transcript};

/// Longest line or array element that is read, in bytes; a longer one is skipped and reported.
// Tools print whole files, and pictures appear in records as base64, so real records reach tens of megabytes.
pub const MAX_RECORD_BYTES: usize = 64 << 20;
/// Text that one [`Transcript`] contains before the rest of the conversation goes into its next part, in bytes.
// Bounds the memory of a run, however long a conversation is.
pub const MAX_PART_BYTES: usize = 8 << 20;
/// Longest prose that is kept of one message, in bytes; the middle of a longer one is replaced by a marker.
pub const MAX_PROSE_BYTES: usize = 1 << 20;
/// Longest tool output that is kept of one message, in bytes.
// A model is shown a few dozen tokens of it.
pub const MAX_TOOL_BYTES: usize = 4 << 10;

/// Reads one transcript format.
///
/// An implementor must survive any bytes: a record that it cannot use is passed to [`Sink::skip`] and the rest of the
/// file is read. It yields messages in conversation order, marks what nobody said to anybody (system prompts,
/// reminders, reasoning, summaries) by `Kind` instead of dropping it in silence, and leaves
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
    /// Whether `folder`, a directory or an archive, is as a whole one log of this format, such as a Slack export whose
    /// names appear in one file and whose messages in others. Its files are then not read one by one.
    fn sniff_folder(&self, _folder: &Folder) -> bool {
        false
    }
    /// Reads a folder that [`Ingestor::sniff_folder`] accepts.
    ///
    /// # Errors
    /// As [`Ingestor::read`].
    fn read_folder(&self, folder: &Folder, _sink: &mut Sink<'_>) -> Result<(), IngestError> {
        Err(IngestError::UnknownFormat { path: folder.path().to_owned() })
    }
    /// The family that it belongs to: the folder of this module that contains it.
    fn family(&self) -> &'static str {
        std::any::type_name::<Self>().split("::").nth(1).unwrap_or_default()
    }
    /// Whether this format is a dataset of other people's conversations, for training or measuring models. Such a
    /// file is read only if it is named, never because it is in a folder that is read.
    fn is_dataset(&self) -> bool {
        self.family() == "datasets"
    }
}

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
    /// `reason` must not repeat the record's text, which may contain secrets.
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

/// Declares regular expressions that are compiled when they are first used.
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)*) => {$(
        $(#[$doc])*
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("the pattern is constant"));
    )*};
}

/// Implements the three methods of [`Ingestor`] that describe a format: its name, what it is, how it is recognised.
macro_rules! describe {
    ($name:expr, $about:expr, $rule:expr $(,)?) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn about(&self) -> &'static str {
            $about
        }

        fn rule(&self) -> &'static str {
            $rule
        }
    };
}
