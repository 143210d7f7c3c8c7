//! The interface of a format: which files it recognises, how it reads them, and where its transcripts go.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::message::words::sections;
use crate::{Folder, Head, IngestError, Input, MAX_RECORD_BYTES, Transcript};

/// Size of the text in one [`Transcript`], in bytes, after which the rest of the conversation becomes its next part.
// This bounds the memory use of a run, however long a conversation is.
pub(crate) const MAX_PART_BYTES: usize = 8 << 20;
/// Maximum length of prose in one message, in bytes; the middle of a longer text is replaced by a marker.
pub const MAX_PROSE_BYTES: usize = 1 << 20;
/// Maximum length of tool output in one message, in bytes.
// Models receive only a few dozen tokens of tool output.
pub(crate) const MAX_TOOL_BYTES: usize = 4 << 10;

/// Reads one transcript format.
///
/// An implementation must accept any bytes: it reports an unusable record to [`Sink::skip`] and reads the rest of the
/// file. It yields messages in conversation order, and leaves redaction to `guard`. Text that no participant addressed
/// to another (system prompts, reminders, reasoning, summaries) is not dropped silently but marked by its `Kind`.
pub trait Ingestor: Sync {
    /// The spelling used by `--format` and stored with each transcript, such as `claude-code`.
    fn name(&self) -> &'static str;
    /// A short description of the format, such as `Claude Code session JSONL`.
    fn about(&self) -> &'static str {
        description(self.name())[0]
    }
    /// A one-line description, for users, of how the format is recognised.
    fn rule(&self) -> &'static str {
        description(self.name())[1]
    }
    /// Returns whether `head`, the start of a file, looks like this format.
    fn sniff(&self, head: &Head<'_>) -> bool;
    /// Reads the whole of `input`, and passes each conversation to `sink` as soon as it is complete.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the input cannot be read to its end; transcripts already passed to `sink` remain valid.
    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError>;
    /// Returns whether `folder`, a directory or an archive, is one log of this format as a whole, such as a Slack
    /// export, which has names in one file and messages in others. The files of such a folder are not read
    /// individually.
    fn sniff_folder(&self, _folder: &Folder) -> bool {
        false
    }
    /// Reads a folder that [`Ingestor::sniff_folder`] accepts.
    ///
    /// # Errors
    /// The same errors as [`Ingestor::read`].
    fn read_folder(&self, folder: &Folder, _sink: &mut Sink<'_>) -> Result<(), IngestError> {
        Err(IngestError::UnknownFormat { path: folder.path().to_owned() })
    }
    /// The family of the format: the folder of the module that implements it.
    fn family(&self) -> &'static str {
        std::any::type_name::<Self>().split("::").nth(1).unwrap_or_default()
    }
    /// Returns whether this format is a data set of other people's conversations, for training or evaluating models.
    /// Such a file is read only if the user specifies it, not if it is merely found in a folder.
    fn is_dataset(&self) -> bool {
        self.family() == "datasets"
    }
}

/// Returns the lines about the format `name` in `formats.txt`: its description, and how it is recognised.
fn description(name: &str) -> &'static [&'static str] {
    static DESCRIPTIONS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| sections(include_str!("formats.txt")));
    &DESCRIPTIONS[name]
}

/// Receives the transcripts that an ingestor reads.
pub struct Sink<'a> {
    accept: &'a mut dyn FnMut(Transcript),
    /// Records that could not be used, in file order.
    pub skipped: Vec<Skipped>,
    /// Number of records that could be parsed only after a repair.
    pub repaired: usize,
}

impl<'a> Sink<'a> {
    /// Returns a sink that passes each transcript to `accept`.
    pub fn new(accept: &'a mut dyn FnMut(Transcript)) -> Self {
        Self { accept, skipped: Vec::new(), repaired: 0 }
    }

    /// Returns all text of `input`; text over [`MAX_RECORD_BYTES`] is reported as `noun`.
    ///
    /// # Errors
    /// The same errors as [`Input::into_text`].
    pub(crate) fn whole_text(&mut self, input: Input, noun: &str) -> Result<Option<String>, IngestError> {
        let text = input.into_text(MAX_RECORD_BYTES)?;
        if text.is_none() {
            self.skip(1, format!("{noun} over the limit of {} MiB", MAX_RECORD_BYTES >> 20));
        }
        Ok(text)
    }

    /// Passes a transcript to the receiver; a transcript without messages is dropped.
    pub fn transcript(&mut self, transcript: Transcript) {
        if !transcript.messages.is_empty() {
            (self.accept)(transcript);
        }
    }

    /// Reports an unusable record, with its 1-based line or element number and the reason.
    ///
    /// `reason` must not repeat the record's text, which may contain secrets.
    pub fn skip(&mut self, record: usize, reason: impl Into<String>) {
        self.skipped.push(Skipped { record, reason: reason.into() });
    }
}

/// A record that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// 1-based number of the line, or of the element of a JSON array.
    pub record: usize,
    /// The reason, without the record's text.
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

/// Implements the method of [`Ingestor`] that reads a file, by passing each of its records to a function.
macro_rules! read_each {
    ($read:expr) => {
        fn read(&self, input: crate::Input, sink: &mut crate::Sink<'_>) -> Result<(), crate::IngestError> {
            crate::Objects::each(input, sink, $read)
        }
    };
}

/// Implements the method of [`Ingestor`] that returns the name of a format.
macro_rules! named {
    ($name:expr) => {
        fn name(&self) -> &'static str {
            $name
        }
    };
}
