//! What was done to each memory, when, by which run, and what it said before and after.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use rusqlite::{Row, ToSql};
use serde::Serialize;
use serde_json::Value;

use super::row::{json, spelled, time};
use super::runs::RunId;
use super::{Database, StoreError};
use crate::memory::{MemoryId, ParseError};

/// What a line of history is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Entity {
    /// The memory itself.
    Memory,
    /// Words that it rests on.
    Evidence,
    /// A link from it to another.
    Relation,
    /// The note that its value was rejected.
    Tombstone,
}

impl Entity {
    const ALL: [Self; 4] = [Self::Memory, Self::Evidence, Self::Relation, Self::Tombstone];

    /// Returns the spelling used in the database and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Evidence => "evidence",
            Self::Relation => "relation",
            Self::Tombstone => "tombstone",
        }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Entity {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.into_iter().find(|entity| entity.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "an entity",
            allowed: "memory, evidence, relation or tombstone",
        })
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// Grows with every change in the file.
    pub id: i64,
    /// The run that made it; `None` for a person's single edit.
    pub run: Option<RunId>,
    /// The memory that changed.
    pub memory: MemoryId,
    /// For a link: the memory at its other end.
    pub other: Option<MemoryId>,
    /// When.
    pub at: Timestamp,
    /// One word: `add`, `update`, `merge`, `undo` and the like.
    pub action: String,
    /// What of the memory changed.
    pub entity: Entity,
    /// How it was; `None` for what is new, or when the memory was purged since.
    pub before: Option<Value>,
    /// How it became; `None` for what was removed, or when the memory was purged since.
    pub after: Option<Value>,
    /// Why, in a few words.
    pub reason: Option<String>,
    /// Whether it was reversed by an undo, or is such a reversal.
    pub undone: bool,
}

/// Column order is what [`entry_from_row`] reads; change both together.
pub(super) const COLUMNS: &str = "id, run_id, memory_id, other_id, at, action, entity, before, after, reason, undone";

impl Database {
    /// Returns every change of a memory, oldest first, links to it from others included.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn history(&self, id: &MemoryId) -> Result<Vec<HistoryEntry>, StoreError> {
        self.entries("memory_id = ?1 OR other_id = ?1", &[&id.as_str()])
    }

    /// Returns every change that a run made, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn history_of_run(&self, run: &RunId) -> Result<Vec<HistoryEntry>, StoreError> {
        self.entries("run_id = ?1", &[&run.as_str()])
    }

    fn entries(&self, condition: &str, values: &[&dyn ToSql]) -> Result<Vec<HistoryEntry>, StoreError> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM history WHERE {condition} ORDER BY id"))?;
            let found = statement.query_map(values, entry_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

pub(super) fn entry_from_row(row: &Row<'_>) -> rusqlite::Result<HistoryEntry> {
    let value = |index: usize| -> rusqlite::Result<Option<Value>> {
        row.get_ref(index)?.as_str_or_null()?.map(|text| json(text, index)).transpose()
    };
    Ok(HistoryEntry {
        id: row.get(0)?,
        run: row.get::<_, Option<String>>(1)?.map(RunId::from_stored),
        memory: MemoryId::from_stored(row.get::<_, String>(2)?),
        other: row.get::<_, Option<String>>(3)?.map(MemoryId::from_stored),
        at: time(row, 4)?,
        action: row.get(5)?,
        entity: spelled(row, 6)?,
        before: value(7)?,
        after: value(8)?,
        reason: row.get(9)?,
        undone: row.get(10)?,
    })
}
