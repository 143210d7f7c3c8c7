//! Blocks that make up reports.

use std::ops::Range;

/// A part of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A title.
    Heading(String),
    /// A line of text.
    Line(String),
    /// A table; its first row is the header.
    Table(Vec<Vec<Cell>>),
    /// A case with findings: its name, its topic, and one line for each finding.
    Case(String, Cell, Vec<Cell>),
    /// A note about omitted entries.
    Note(String),
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// Assessment of the value.
    pub tone: Rating,
    /// Byte ranges of the text that come from cases and memories; the report generated the rest.
    pub quoted: Vec<Range<usize>>,
}

/// A part of a report's text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    /// Words of the report.
    Words(&'a str),
    /// Text that comes from a case or a memory, numbers, and punctuation.
    Quoted(&'a str),
}

/// Assessment of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    /// Neither good nor bad.
    Plain,
    /// Good.
    Good,
    /// Acceptable.
    Middling,
    /// Bad.
    Bad,
    /// Of less interest.
    Dim,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, tone: Rating) -> Self {
        Self { text: text.into(), tone, quoted: Vec::new() }
    }

    /// Returns a cell whose text consists of `parts`.
    pub(crate) fn of(parts: &[Part<'_>], tone: Rating) -> Self {
        let mut cell = Self::new("", tone);
        for part in parts {
            let (Part::Words(text) | Part::Quoted(text)) = part;
            let from = cell.text.len();
            cell.text.push_str(text);
            cell.quoted.extend(matches!(part, Part::Quoted(_)).then_some(from..cell.text.len()));
        }
        cell
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Rating::Plain)
    }

    pub(crate) fn dim(text: impl Into<String>) -> Self {
        Self::new(text, Rating::Dim)
    }
}

impl Block {
    /// Returns a case with at most `most` of its findings.
    pub(crate) fn case(name: &str, about: Cell, mut lines: Vec<Cell>, most: usize) -> Self {
        if lines.len() > most {
            let more = lines.len() - most;
            lines.truncate(most);
            lines.push(Cell::dim(format!("and {more} more; -v shows all")));
        }
        Self::Case(name.to_owned(), about, lines)
    }

    /// Returns a note about omitted entries, or `None` if none were omitted.
    pub(crate) fn left_out(all: usize, shown: usize, what: &str) -> Option<Self> {
        (all > shown).then(|| Self::Note(format!("{} more {what}; -v shows all", all - shown)))
    }
}

/// Returns a table with a header.
pub(crate) fn table<S: AsRef<str>>(header: &[S], rows: impl IntoIterator<Item = Vec<Cell>>) -> Block {
    let header = header.iter().map(|name| Cell::plain(name.as_ref())).collect();
    Block::Table(std::iter::once(header).chain(rows).collect())
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Amount of detail of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The worst cases and the most important measures.
    Short,
    /// Everything.
    Full,
}

impl Detail {
    /// Returns how many cases to list, and how many findings for each case. `cases` and `findings` are the limits of a
    /// short report; a full report has none.
    pub(crate) const fn limits(self, cases: usize, findings: usize) -> (usize, usize) {
        match self {
            Self::Short => (cases, findings),
            Self::Full => (usize::MAX, usize::MAX),
        }
    }
}
