//! The JSON values of a log that may be JSONL, an array or a single document, one at a time.

use serde_json::Value;

use crate::{Head, IngestError, Input, Records, Sink};

/// How a file holds its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One on each line.
    Lines,
    /// The elements of one array.
    Elements,
    /// The file is one.
    One,
}

impl Layout {
    /// Returns how the file that begins with `head` holds its records.
    #[must_use]
    pub fn of(head: &Head<'_>) -> Self {
        if !head.lines.is_empty() {
            Self::Lines
        } else if head.text.trim_start().starts_with('[') {
            Self::Elements
        } else {
            Self::One
        }
    }
}

/// One record, and where it stands.
pub struct Object {
    /// 1-based line, or element of the array.
    pub number: usize,
    /// The path, with the number behind it where the file holds several.
    pub origin: String,
    /// What it holds.
    pub value: Value,
}

/// Reads the records of a file in whichever layout it has, holding one at a time.
pub struct Objects {
    /// How the file holds them.
    pub layout: Layout,
    path: String,
    records: Records,
}

impl Objects {
    /// Looks at the start of `input` and reads it from there.
    #[must_use]
    pub fn of(input: Input) -> Self {
        let (path, layout) = (input.path.display().to_string(), Layout::of(&Head::of(&input)));
        let records = if layout == Layout::Lines { Records::lines(input) } else { Records::elements(input) };
        Self { layout, path, records }
    }

    /// Returns the next record; those that are no JSON are reported and passed over.
    ///
    /// # Errors
    /// As [`Records::next`].
    pub fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Object>, IngestError> {
        let next = self.records.next_json::<Value>(sink)?;
        Ok(next.map(|(number, value)| {
            // A first line that is longer than what was looked at is taken for a document until another follows.
            if number > 1 && self.layout == Layout::One {
                self.layout = Layout::Lines;
            }
            let several = self.layout != Layout::One;
            let origin = if several { format!("{}#{number}", self.path) } else { self.path.clone() };
            Object { number, origin, value }
        }))
    }
}
