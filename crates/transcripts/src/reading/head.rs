//! The start of a file, parsed as far as formats need it for detection.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use super::database;
use crate::{Input, json};

/// Number of lines of a JSONL file that detection parses.
const SAMPLED_LINES: usize = 50;

/// The start of a file, parsed as far as possible.
#[derive(Default)]
pub struct Head<'a> {
    /// The decoded text, up to 256 KiB.
    pub text: Cow<'a, str>,
    /// The document, if the file is one JSON value; an element that is cut off at the end of `text` is left out.
    pub document: Option<Value>,
    /// The objects on the first lines, if the file is JSONL.
    pub lines: Vec<Value>,
    /// The names of the tables, if the file is an `SQLite` database.
    pub tables: Vec<String>,
    /// The columns of these tables, each as `table.column`.
    pub columns: Vec<String>,
    /// The file's name in lower case, which is used only if the content is inconclusive.
    pub name: String,
    /// The name of the folder that contains the file, in lower case.
    pub folder: String,
}

impl<'a> Head<'a> {
    /// Examines the start of `input`.
    #[must_use]
    pub fn of(input: &'a Input) -> Self {
        let mut head = Self::new(input.head(), input.head_is_all());
        let lower = |name: Option<&std::ffi::OsStr>| name.unwrap_or_default().to_string_lossy().to_lowercase();
        head.name = lower(input.path.file_name());
        head.folder = lower(input.path.parent().and_then(Path::file_name));
        if head.text.starts_with(database::MAGIC) && !input.is_in_archive() {
            head.tables = database::tables(&input.path);
            head.columns = database::all_columns(&input.path);
        }
        head
    }

    /// Parses `text`, which is the whole file if `is_all` is true.
    #[must_use]
    pub(crate) fn new(text: Cow<'a, str>, is_all: bool) -> Self {
        let starts_json = starts_json(&text);
        let whole = if starts_json && is_all { json::parse(&text).ok().map(|(value, _)| value) } else { None };
        let lines = if whole.is_some() { Vec::new() } else { sample_lines(&text) };
        let document = match whole {
            Some(value) => Some(value),
            // A JSONL file can be parsed as a document up to its first line break, so lines are examined first.
            None if starts_json && lines.is_empty() => json::parse_start(&text),
            None => None,
        };
        Self { text, document, lines, ..Self::default() }
    }

    /// Returns the objects that reveal the format: the document, or the first elements of its array.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        let elements = match &self.document {
            Some(Value::Array(elements)) => elements.as_slice(),
            Some(object) => std::slice::from_ref(object),
            None => &[],
        };
        elements.iter().take(SAMPLED_LINES).filter(|value| value.is_object())
    }

    /// Returns whether at least half of the sampled JSONL lines satisfy `test`.
    pub fn most_lines(&self, test: impl Fn(&Value) -> bool) -> bool {
        let hits = self.lines.iter().filter(|line| test(line)).count();
        hits > 0 && hits * 2 >= self.lines.len()
    }

    /// Returns whether at least half of the sampled JSONL lines satisfy `test`, or the only line does, which is parsed
    /// as a document.
    pub(crate) fn is_log_of(&self, test: impl Fn(&Value) -> bool) -> bool {
        self.most_lines(&test) || self.document.as_ref().is_some_and(test)
    }

    /// Returns whether any of the sampled JSONL lines satisfies `test`.
    pub fn any_line(&self, test: impl Fn(&Value) -> bool) -> bool {
        self.lines.iter().any(test)
    }
}

/// Whether `text` begins like a JSON object, or like an array that is empty or contains objects, arrays or strings. A time
/// in brackets, as in `[01.02.24, 10:00]`, is neither.
fn starts_json(text: &str) -> bool {
    let text = text.trim_start();
    let elements = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || elements.is_some_and(|rest| rest.starts_with(['{', '[', '"', ']']) || rest.is_empty())
}

/// Parses the first lines, if at least half of the lines that are not blank are JSON objects.
fn sample_lines(text: &str) -> Vec<Value> {
    let (mut objects, mut filled) = (Vec::new(), 0_usize);
    for line in text.split('\n').map(str::trim).filter(|line| !line.is_empty()).take(SAMPLED_LINES) {
        filled += 1;
        if line.starts_with('{') {
            objects.extend(json::parse::<Value>(line).ok().map(|(value, _)| value));
        }
    }
    // A JSONL file may begin with other output of a program.
    if objects.len() * 2 >= filled { objects } else { Vec::new() }
}
