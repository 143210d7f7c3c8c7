//! Counts the uses of memories, and records which memories were shown to a model.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::params;

use crate::memory::MemoryId;
use crate::store::row::time;
use crate::store::{Database, Store, StoreError};

/// Maximum time for which counting waits for another process; counting can delay a read by no more than this. If
/// counting a use takes longer, it is counted with the next one, or when the store is closed.
const PATIENCE: Duration = Duration::from_millis(50);

impl Store {
    /// Counts a use of each of these memories, and returns whether this succeeded. A locked or read-only file must not
    /// cause the read to fail. While the file is locked, the uses wait in memory for the next call.
    ///
    /// A memory is used if a person or an agent opened it by its ID or followed it successfully. A memory that was only
    /// listed is not used; otherwise, a search would rank a memory higher merely because the memory was found before.
    #[must_use = "to ignore the result, use `let _`"]
    pub(crate) fn record_use(&self, memories: &[MemoryId], now: Timestamp) -> bool {
        let mut uses = self.uncounted.take();
        uses.extend(memories.iter().map(|memory| (memory.clone(), now)));
        if uses.is_empty() {
            return true;
        }
        let mut is_locked = false;
        let count = || {
            let counted = self.count_uses(&uses).map_err(|error| error.at(&self.path));
            counted.inspect_err(|error| is_locked = matches!(error, StoreError::Locked { .. }))
        };
        let counted = self.without_waiting(count);
        if is_locked {
            self.uncounted.replace(uses);
        }
        counted
    }

    fn count_uses(&self, uses: &[(MemoryId, Timestamp)]) -> Result<(), StoreError> {
        self.together(|| {
            for (memory, at) in uses {
                let values = params![memory.as_str(), at.as_millisecond()];
                let counted = self.execute(
                    "UPDATE memory_usage SET access_count = access_count + 1,
                         last_accessed_at = max(ifnull(last_accessed_at, ?2), ?2) WHERE memory_id = ?1",
                    values,
                )?;
                // The foreign key of the access log would reject a purged memory, and the other uses would be lost as
                // well.
                if counted > 0 {
                    self.execute("INSERT INTO access_log (memory_id, at, kind) VALUES (?1, ?2, 'read')", values)?;
                }
            }
            Ok(())
        })
    }
}

/// Counts the uses that still wait. Nobody waits for an answer any more, so there is time for other writers.
impl Drop for Store {
    fn drop(&mut self) {
        let uses = self.uncounted.take();
        if !uses.is_empty()
            && let Err(error) = self.count_uses(&uses)
        {
            tracing::warn!(%error, "could not record the last uses of memories");
        }
    }
}

impl Store {
    /// Records that these memories were shown to a model, without counting this as a use. Returns whether this
    /// succeeded, like [`Store::record_use`].
    #[must_use = "to ignore the result, use `let _`"]
    pub(crate) fn log_shown(&self, memories: &[MemoryId], now: Timestamp) -> bool {
        let log = || {
            self.together(|| {
                for memory in memories {
                    self.execute(
                        "INSERT INTO access_log (memory_id, at, kind)
                         SELECT id, ?2, 'prompt' FROM memories WHERE id = ?1",
                        params![memory.as_str(), now.as_millisecond()],
                    )?;
                }
                Ok(())
            })
        };
        memories.is_empty() || self.without_waiting(log)
    }

    /// Makes an optional write, which waits only briefly for other processes.
    fn without_waiting(&self, write: impl FnOnce() -> Result<(), StoreError>) -> bool {
        let written = self.conn.busy_timeout(PATIENCE).map_err(StoreError::from).and_then(|()| {
            let written = write();
            // The timeout is restored before the result is checked; otherwise, later writes would give up just as
            // quickly.
            self.conn.busy_timeout(super::file::schema::BUSY_TIMEOUT)?;
            written
        });
        if let Err(error) = &written {
            // This is not a warning, because a read during a long write is normal, and the count is only a hint.
            tracing::debug!(%error, "could not record a use of memories");
        }
        written.is_ok()
    }
}

impl Database {
    /// Returns the memories that were most recently shown together to a model, in order, with the time; `None` if there
    /// are no such memories or if none of them exists any more.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn last_shown(&self) -> Result<Option<(Timestamp, Vec<MemoryId>)>, StoreError> {
        let sql = "SELECT memory_id, at FROM access_log WHERE kind = 'prompt'
                AND at = (SELECT max(at) FROM access_log WHERE kind = 'prompt') ORDER BY id";
        let rows: Vec<(MemoryId, Timestamp)> = self.query_all(sql, (), |row| Ok((row.get(0)?, time(row, 1)?)))?;
        Ok(rows.first().map(|(_, at)| *at).map(|at| (at, rows.into_iter().map(|(id, _)| id).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{day, insert, memory};

    #[test]
    fn a_use_during_a_write_of_another_process_is_counted_with_the_next_one_or_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memories.db");
        let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "No milk."));
        let store = Store::open(&path).unwrap();
        insert(&store, &tea);
        insert(&store, &milk);
        let busy = rusqlite::Connection::open(&path).unwrap();
        let uses = |id: &MemoryId| Store::open(&path).unwrap().memory(id).unwrap().usage;
        busy.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(!store.record_use(std::slice::from_ref(&tea.id), day(2)));
        busy.execute_batch("COMMIT").unwrap();
        assert!(store.record_use(std::slice::from_ref(&milk.id), day(1)));
        assert_eq!((uses(&tea.id).access_count, uses(&milk.id).access_count), (1, 1));
        assert_eq!(uses(&tea.id).last_accessed_at, Some(day(2)));
        busy.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(!store.record_use(std::slice::from_ref(&tea.id), day(0)));
        busy.execute_batch("COMMIT").unwrap();
        drop(store);
        assert_eq!(uses(&tea.id).access_count, 2);
        assert_eq!(uses(&tea.id).last_accessed_at, Some(day(2)), "an earlier use that is counted late");
    }
}
