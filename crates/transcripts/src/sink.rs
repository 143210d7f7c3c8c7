//! Receives transcripts and reports on unusable records, within limits of size.

use crate::{IngestError, Input, MAX_RECORD_BYTES, Transcript};

/// Size of the text in one [`Transcript`], in bytes, after which the rest of the conversation becomes its next part.
// This bounds the memory use of a run, however long a conversation is.
pub(crate) const MAX_PART_BYTES: usize = 8 << 20;
/// Maximum length of prose in one message, in bytes; the middle of a longer text is replaced by a marker.
pub const MAX_PROSE_BYTES: usize = 1 << 20;
/// Maximum length of tool output in one message, in bytes.
// Models receive only a few dozen tokens of tool output.
pub(crate) const MAX_TOOL_BYTES: usize = 4 << 10;

/// Receives the transcripts that an ingestor reads.
pub struct Sink<'a> {
    accept: &'a mut dyn FnMut(Transcript),
    /// Records that could not be used, in file order.
    pub skipped: Vec<Skipped>,
    /// Number of records that could be parsed only after a repair.
    pub repaired: usize,
    /// Name of the file in the same folder from which the conversation is read instead.
    pub read_from: Option<String>,
}

impl<'a> Sink<'a> {
    /// Returns a sink that passes each transcript to `accept`.
    pub fn new(accept: &'a mut dyn FnMut(Transcript)) -> Self {
        Self { accept, skipped: Vec::new(), repaired: 0, read_from: None }
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

    /// Reports that the conversation is read from the file called `name` in the same folder, which contains more.
    pub(crate) fn leave_to(&mut self, name: &str) {
        self.skip(1, format!("the conversation is read from {name} in the same folder"));
        self.read_from = Some(name.to_owned());
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
