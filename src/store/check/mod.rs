//! Whether a file is whole: its pages, its links, its indexes, and its history against its rows.

mod history;
mod indexes;
mod rows;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::{Database, StoreError};

/// Flaws of one kind that are named one by one; the rest is counted.
const NAMED: usize = 3;
/// What SQLite says of an index that does not agree with its table.
const INDEX_FLAWS: [&str; 3] = ["missing from index", "wrong # of entries in index", "non-unique entry in index"];

/// What is amiss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlawKind {
    /// Pages of the file cannot be read, or contradict each other.
    Damaged,
    /// A row hangs on one that is not there.
    Dangling,
    /// A memory has no counts of its uses, so that it is found nowhere.
    Uncounted,
    /// The index of words lacks a memory, holds one that is not there, or says something else of one.
    WordIndex,
    /// The index of near claims lacks a memory or holds one that is not there.
    NearIndex,
    /// A vector is not of its memory.
    Vectors,
    /// A memory or its evidence is not as its history says.
    History,
}

impl FlawKind {
    /// Whether `repair` mends it.
    #[must_use]
    pub const fn is_mended(self) -> bool {
        !matches!(self, Self::Damaged | Self::History)
    }
}

/// Something that is amiss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// What kind of flaw.
    pub kind: FlawKind,
    /// What exactly, with the first places where it is so.
    pub what: String,
    /// How often; 1 where that is not counted.
    pub count: usize,
}

/// What a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Memories that were looked at, of every status.
    pub memories: usize,
    /// Lines of history that were looked at.
    pub history: usize,
    /// What is amiss, in the order of kinds.
    pub flaws: Vec<Flaw>,
}

impl Checked {
    fn add(&mut self, kind: FlawKind, what: impl Into<String>, count: usize) {
        if count > 0 {
            self.flaws.push(Flaw { kind, what: what.into(), count });
        }
    }

    fn add_each(&mut self, kind: FlawKind, what: &str, places: &[String]) {
        let more = if places.len() > NAMED { ", …" } else { "" };
        let named = places.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        self.add(kind, format!("{what}: {named}{more}"), places.len());
    }
}

impl Database {
    /// Looks at everything in the file, as it is at one moment. Reads only.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read at all; damage that can be told is a flaw.
    pub fn check(&self) -> Result<Checked, StoreError> {
        self.at_once(|db| {
            let mut checked = Checked::default();
            db.check_pages(&mut checked)?;
            if checked.flaws.is_empty() {
                db.check_links(&mut checked)?;
                db.check_words(&mut checked)?;
                db.check_near(&mut checked)?;
                db.check_vectors(&mut checked)?;
                db.check_history(&mut checked)?;
            }
            checked.flaws.sort_by_key(|flaw| flaw.kind);
            Ok(checked)
        })
    }

    /// Whether pages cannot be read, or contradict each other in a way that making indexes anew does not mend.
    pub(super) fn pages_are_damaged(&self) -> Result<bool, StoreError> {
        let said = self.said_of_pages("integrity_check");
        let is_of_index = |line: &String| line == "ok" || INDEX_FLAWS.iter().any(|flaw| line.contains(flaw));
        match said {
            Ok(said) => Ok(!said.iter().all(is_of_index)),
            Err(StoreError::Corrupt { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Looks at the pages alone, which is quick: whether they can be read and hang together.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read at all.
    pub fn check_quickly(&self) -> Result<Vec<Flaw>, StoreError> {
        let mut checked = Checked::default();
        self.examine_pages("quick_check", &mut checked)?;
        Ok(checked.flaws)
    }
}
