//! The log of changesets, read by memory, by run, or from the start.

use jiff::Timestamp;
use rusqlite::{Row as SqlRow, ToSql};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::row::{json, spelled, time};
use super::runs::RunId;
use super::{Database, StoreError};
use crate::changeset::{Action, Changeset, Entity, Row, RowChange, VERSION};
use crate::memory::MemoryId;

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// Grows with every change in the file.
    pub id: i64,
    /// The changeset that it is part of; `None` for what was written before changesets had ids.
    #[serde(skip)]
    pub changeset: Option<String>,
    /// The run that made it; `None` for a person's single edit.
    pub run: Option<RunId>,
    /// The memory that changed.
    pub memory: MemoryId,
    /// For a link: the memory at its other end.
    pub other: Option<MemoryId>,
    /// When.
    pub at: Timestamp,
    /// What was done.
    pub action: Action,
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
pub(super) const COLUMNS: &str = "id, run_id, memory_id, other_id, at, action, entity, before, after, reason, undone, \
    (SELECT c.id FROM changesets c WHERE c.seq = history.changeset)";

impl HistoryEntry {
    /// Returns the change that the line records.
    ///
    /// # Errors
    /// [`StoreError`] if the line cannot be read.
    pub fn change(&self) -> Result<RowChange, StoreError> {
        let row = match self.entity {
            Entity::Memory => {
                let (before, after) = self.sides()?;
                Row::Memory { before, after }
            }
            Entity::Evidence => {
                let (before, after) = self.sides()?;
                Row::Evidence { memory: self.memory.clone(), before, after }
            }
            Entity::Relation => {
                let (before, after) = self.sides()?;
                Row::Relation { before, after }
            }
            Entity::Tombstone => {
                let (before, after) = self.sides()?;
                Row::Tombstone { before, after }
            }
        };
        Ok(RowChange { action: self.action, row, reason: self.reason.clone() })
    }

    fn sides<T: DeserializeOwned>(&self) -> Result<(Option<T>, Option<T>), StoreError> {
        let read = |value: &Option<Value>| {
            let read = value.clone().map(serde_json::from_value).transpose();
            read.map_err(StoreError::bad(format!("history {}", self.id)))
        };
        Ok((read(&self.before)?, read(&self.after)?))
    }
}

impl Database {
    /// Returns the changesets after the line of history with the number `since`, in the order in which they were
    /// written. The lines that an old program wrote count as one changeset a run.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn changesets(&self, since: i64) -> Result<Vec<Changeset>, StoreError> {
        let mut found: Vec<Changeset> = Vec::new();
        for entry in self.entries("id > ?1", &[&since])? {
            let run = entry.run.as_ref().map(|run| run.as_str().to_owned());
            let id = entry.changeset.clone().or_else(|| run.clone()).unwrap_or_else(|| format!("history-{}", entry.id));
            let change = entry.change()?;
            match found.last_mut().filter(|last| last.id == id) {
                Some(last) => last.changes.push(change),
                None => found.push(Changeset { version: VERSION, id, run, at: entry.at, changes: vec![change] }),
            }
        }
        Ok(found)
    }

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

pub(super) fn entry_from_row(row: &SqlRow<'_>) -> rusqlite::Result<HistoryEntry> {
    let value = |index: usize| -> rusqlite::Result<Option<Value>> {
        row.get_ref(index)?.as_str_or_null()?.map(|text| json(text, index)).transpose()
    };
    Ok(HistoryEntry {
        id: row.get(0)?,
        run: row.get::<_, Option<String>>(1)?.map(RunId::from_stored),
        memory: MemoryId::from_stored(row.get::<_, String>(2)?),
        other: row.get::<_, Option<String>>(3)?.map(MemoryId::from_stored),
        at: time(row, 4)?,
        action: spelled(row, 5)?,
        entity: spelled(row, 6)?,
        before: value(7)?,
        after: value(8)?,
        reason: row.get(9)?,
        undone: row.get(10)?,
        changeset: row.get(11)?,
    })
}
