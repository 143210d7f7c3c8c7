//! The interface of a format: which files it recognises, and how it reads them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::message::words::sections;
use crate::{Folder, Head, IngestError, Input, Sink};

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
