//! What is different from how it was at an earlier time, and which file this is.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{HistoryEntry, entry_from_row};
use super::{Database, StoreError};
use crate::changeset::Entity;
use crate::memory::{Memory, MemoryId};
use rusqlite::params;
use serde_json::Value;

impl Database {
    /// Returns what tells this file from every other; a copy of a file has the same.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn identity(&self) -> Result<String, StoreError> {
        self.read(|conn| Ok(conn.query_row("SELECT id FROM identity", (), |row| row.get(0))?))
    }

    /// Returns the number of the last change in the file, for [`Database::changed_since`].
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn last_change(&self) -> Result<i64, StoreError> {
        self.read(|conn| Ok(conn.query_row("SELECT ifnull(max(id), 0) FROM history", (), |row| row.get(0))?))
    }

    /// Returns the memories that are not as they were after the change with the number `since`: other words, another
    /// status, or other evidence. What was changed and changed back is the same; links do not count.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn changed_since(&self, since: i64) -> Result<BTreeSet<MemoryId>, StoreError> {
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
        self.read(|conn| {
            let sql = format!(
                "SELECT {} FROM history WHERE id > ?1 AND entity IN ('memory', 'evidence') ORDER BY id",
                super::history::COLUMNS
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(params![since], entry_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Whether the memory is another than before the first of these changes.
    fn is_other(&self, id: &MemoryId, entries: &[HistoryEntry]) -> Result<bool, StoreError> {
        let Some(first) = entries.iter().find(|entry| entry.entity == Entity::Memory) else { return Ok(false) };
        let before: Option<Memory> =
            first.before.clone().map(serde_json::from_value).transpose().map_err(StoreError::bad("a memory's past"))?;
        let now = self.find(id)?;
        Ok(match (before, now) {
            (Some(before), Some(now)) => {
                (Memory { usage: before.usage.clone(), updated_at: before.updated_at, ..now }) != before
            }
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        })
    }
}

/// Whether pieces were added that were not taken away again, or the other way round.
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
    use super::super::samples::{clean, day, insert, memory, quote};
    use super::super::{RunStatus, Store};
    use super::*;
    use crate::changeset::Action;
    use crate::memory::Status;

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
