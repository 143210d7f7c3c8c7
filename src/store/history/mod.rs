//! The log of changesets, read by memory, by run, from the start, or since a change.

pub(super) mod decided;
pub(super) mod plan_ledger;
pub(super) mod redo;
pub(super) mod undo;

use crate::changeset::{Action, Changeset, Entity, Row, RowChange, VERSION};
use crate::memory::{Memory, MemoryId};
use crate::store::RunId;
use crate::store::row::from_row;
use crate::store::{Database, StoreError};
use jiff::Timestamp;
use rusqlite::{Row as SqlRow, ToSql, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// Number of the entry, which increases with every change in the file.
    pub id: i64,
    /// The changeset of the change; `None` if the change was written before changesets had ids.
    #[serde(skip)]
    pub changeset: Option<String>,
    /// The run that made the change; `None` for a person's single edit.
    pub run: Option<RunId>,
    /// The memory that changed.
    pub memory: MemoryId,
    /// The memory at the other end, if the entry is about a link.
    pub other: Option<MemoryId>,
    /// Time of the change.
    pub at: Timestamp,
    /// The action.
    pub action: Action,
    /// The part of the memory that changed.
    pub entity: Entity,
    /// The former state; `None` for a new row, or if the memory has since been purged.
    pub before: Option<Value>,
    /// The new state; `None` for a removed row, or if the memory has since been purged.
    pub after: Option<Value>,
    /// The reason for the change, in a few words.
    pub reason: Option<String>,
    /// Whether an undo reversed the change, or the change is such a reversal.
    pub undone: bool,
}

/// [`entry_from_row`] relies on the order of these columns; change both together.
pub(in crate::store) const COLUMNS: &str = "id, run_id, memory_id, other_id, at, action, entity, before, after, reason, undone, \
    (SELECT c.id FROM changesets c WHERE c.seq = history.changeset)";

impl HistoryEntry {
    /// Returns the change that the entry records.
    ///
    /// # Errors
    /// [`StoreError`] if the entry cannot be read.
    pub(crate) fn change(&self) -> Result<RowChange, StoreError> {
        let row = match self.entity {
            Entity::Memory => self.sides().map(|(before, after)| Row::Memory { before, after }),
            Entity::Evidence => {
                self.sides().map(|(before, after)| Row::Evidence { memory: self.memory.clone(), before, after })
            }
            Entity::Relation => self.sides().map(|(before, after)| Row::Relation { before, after }),
            Entity::Tombstone => self.sides().map(|(before, after)| Row::Tombstone { before, after }),
        };
        Ok(RowChange { action: self.action, row: row?, reason: self.reason.clone() })
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
    /// Returns the changesets after the history entry with the number `since`, in the order in which they were written.
    /// Entries written by an old version of the program form one changeset per run.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn changesets(&self, since: i64) -> Result<Vec<Changeset>, StoreError> {
        let mut found: Vec<Changeset> = Vec::new();
        for entry in self.entries("id > ?1", &[&since])? {
            let run = entry.run.as_ref().map(|run| run.as_str().to_owned());
            // A generated id is the same in every call, so that a program that replays the log recognises the
            // changeset.
            let id = entry.changeset.clone().or_else(|| run.clone()).unwrap_or_else(|| format!("history-{}", entry.id));
            let change = entry.change()?;
            match found.last_mut().filter(|last| last.id == id) {
                Some(last) => last.changes.push(change),
                None => found.push(Changeset { version: VERSION, id, run, at: entry.at, changes: vec![change] }),
            }
        }
        Ok(found)
    }

    /// Returns every change to a memory, oldest first, including links to it from other memories.
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
    pub(crate) fn history_of_run(&self, run: &RunId) -> Result<Vec<HistoryEntry>, StoreError> {
        self.entries("run_id = ?1", &[&run.as_str()])
    }

    pub(super) fn entries(&self, condition: &str, values: &[&dyn ToSql]) -> Result<Vec<HistoryEntry>, StoreError> {
        self.query_all(&format!("SELECT {COLUMNS} FROM history WHERE {condition} ORDER BY id"), values, entry_from_row)
    }
}

pub(in crate::store) fn entry_from_row(row: &SqlRow<'_>) -> rusqlite::Result<HistoryEntry> {
    from_row!(row, 0 => HistoryEntry {
        id, run, memory, other, at, action, entity, before, after, reason, undone, changeset
    })
}

impl Database {
    /// Returns the identity of this file; copies of a file have the same identity.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn identity(&self) -> Result<String, StoreError> {
        self.read(|conn| Ok(conn.query_row("SELECT id FROM identity", (), |row| row.get(0))?))
    }

    /// Returns the number of the last change in the file, for `changed_since`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn last_change(&self) -> Result<i64, StoreError> {
        self.read(|conn| Ok(conn.query_row("SELECT ifnull(max(id), 0) FROM history", (), |row| row.get(0))?))
    }

    /// Returns the memories that differ from their state after the change with the number `since`, in content, status
    /// or evidence. A memory that was changed and changed back does not differ; links are ignored.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn changed_since(&self, since: i64) -> Result<BTreeSet<MemoryId>, StoreError> {
        let mut by_memory: BTreeMap<MemoryId, Vec<HistoryEntry>> = BTreeMap::new();
        for entry in self.entries_after(since)? {
            by_memory.entry(entry.memory.clone()).or_default().push(entry);
        }
        let mut changed = BTreeSet::new();
        for (memory, entries) in by_memory {
            if has_other_evidence(&entries) || self.is_other(&memory, &entries)? {
                changed.insert(memory);
            }
        }
        Ok(changed)
    }

    fn entries_after(&self, since: i64) -> Result<Vec<HistoryEntry>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM history WHERE id > ?1 AND entity IN ('memory', 'evidence') ORDER BY id");
        self.query_all(&sql, params![since], entry_from_row)
    }

    /// Returns whether the memory differs from its state before the first of these changes.
    fn is_other(&self, id: &MemoryId, entries: &[HistoryEntry]) -> Result<bool, StoreError> {
        let Some(first) = entries.iter().find(|entry| entry.entity == Entity::Memory) else { return Ok(false) };
        let before: Option<Memory> =
            first.before.clone().map(serde_json::from_value).transpose().map_err(StoreError::bad("a memory's past"))?;
        let now = self.find(id)?;
        Ok(match (before, now) {
            // Usage counts change without history entries, and a change that was undone still leaves a later
            // `updated_at`.
            (Some(before), Some(now)) => {
                (Memory { usage: before.usage.clone(), updated_at: before.updated_at, ..now }) != before
            }
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        })
    }
}

/// Returns whether evidence was added and not removed again, or vice versa.
fn has_other_evidence(entries: &[HistoryEntry]) -> bool {
    let mut balance: BTreeMap<String, i64> = BTreeMap::new();
    let mut count = |piece: &Option<Value>, by: i64| {
        if let Some(piece) = piece {
            *balance.entry(piece.to_string()).or_default() += by;
        }
    };
    for entry in entries.iter().filter(|entry| entry.entity == Entity::Evidence) {
        count(&entry.before, -1);
        count(&entry.after, 1);
    }
    balance.values().any(|balance| *balance != 0)
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::changeset::Action;
    use crate::memory::Status;
    use crate::store::testing::{clean, day, insert, memory, quote};
    use crate::store::{RunStatus, Store};

    #[test]
    fn only_what_is_different_in_the_end_counts_as_changed() {
        let store = Store::in_memory().unwrap();
        let (tea, milk, salt) = (memory("Tea", "Tea."), memory("Milk", "Milk."), memory("Salt", "Salt."));
        [&tea, &milk, &salt].into_iter().for_each(|one| insert(&store, one));
        let since = store.last_change().unwrap();
        assert_eq!(store.changed_since(since).unwrap(), BTreeSet::new());
        let run = store.begin_run("run", &serde_json::json!([]), day(1)).unwrap().id;
        store
            .write::<_, StoreError>(Some(&run), day(1), |w| {
                w.set_status(&tea.id, Status::Forgotten, Action::Forget, None)?;
                w.add_evidence(&milk.id, &clean(vec![quote("milk")]))?;
                w.insert(&clean(memory("New", "New.")), &clean(vec![]))
            })
            .unwrap();
        assert_eq!(store.changed_since(since).unwrap().len(), 3);
        store.write::<_, StoreError>(None, day(1), |w| w.set_pinned(&salt.id, true)).unwrap();
        store.finish_run(&run, RunStatus::Finished, &serde_json::json!({}), day(1)).unwrap();
        store.undo_run(&run, day(2)).unwrap();
        assert_eq!(store.changed_since(since).unwrap(), BTreeSet::from([salt.id.clone()]));
        store.write::<_, StoreError>(None, day(3), |w| w.set_pinned(&salt.id, false)).unwrap();
        assert_eq!(store.changed_since(since).unwrap(), BTreeSet::new());
    }

    #[test]
    fn every_file_is_told_apart_and_a_copy_is_the_same() {
        let store = Store::in_memory().unwrap();
        assert_eq!(store.copy_in_memory().unwrap().identity().unwrap(), store.identity().unwrap());
        assert_ne!(Store::in_memory().unwrap().identity().unwrap(), store.identity().unwrap());
    }
}
