//! Counts the uses of memories, and records which memories were shown to a model.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Transaction, TransactionBehavior, params};

use crate::memory::MemoryId;
use crate::store::row::time;
use crate::store::{Database, Store, StoreError};

/// Maximum time for which counting waits for another process; counting can delay a read by no more than this.
const PATIENCE: Duration = Duration::from_millis(50);

impl Store {
    /// Counts a use of each of these memories, and returns whether this succeeded. A locked or read-only file must not
    /// cause the read to fail.
    ///
    /// A memory is used if a person or an agent opened it by its ID or followed it with success. A memory that was only
    /// listed is not used; otherwise, a search would rank a memory higher merely because the memory was found before.
    #[must_use = "to ignore the result, use `let _`"]
    pub(crate) fn record_use(&self, memories: &[MemoryId], now: Timestamp) -> bool {
        memories.is_empty() || self.without_waiting(|| self.count_uses(memories, now))
    }

    fn count_uses(&self, memories: &[MemoryId], now: Timestamp) -> Result<(), StoreError> {
        // The transaction is immediate, because a transaction that began with a read cannot wait for the lock.
        let transaction = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
        for memory in memories {
            let values = params![memory.as_str(), now.as_millisecond()];
            let counted = transaction
                .prepare_cached(
                    "UPDATE memory_usage SET access_count = access_count + 1, last_accessed_at = ?2 WHERE memory_id = ?1",
                )?
                .execute(values)?;
            // The foreign key of the access log would reject a purged memory, and the other uses would be lost as well.
            if counted > 0 {
                transaction
                    .prepare_cached("INSERT INTO access_log (memory_id, at, kind) VALUES (?1, ?2, 'read')")?
                    .execute(params![memory.as_str(), now.as_millisecond()])?;
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Store {
    /// Records that these memories were shown to a model, without counting this as a use. Returns whether this
    /// succeeded, like [`Store::record_use`].
    #[must_use = "to ignore the result, use `let _`"]
    pub(crate) fn log_shown(&self, memories: &[MemoryId], now: Timestamp) -> bool {
        let log = || {
            let transaction = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            for memory in memories {
                transaction
                    .prepare_cached(
                        "INSERT INTO access_log (memory_id, at, kind)
                         SELECT id, ?2, 'prompt' FROM memories WHERE id = ?1",
                    )?
                    .execute(params![memory.as_str(), now.as_millisecond()])?;
            }
            Ok(transaction.commit()?)
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
        self.read(|conn| {
            let sql = "SELECT memory_id, at FROM access_log WHERE kind = 'prompt'
                AND at = (SELECT max(at) FROM access_log WHERE kind = 'prompt') ORDER BY id";
            let mut statement = conn.prepare_cached(sql)?;
            let rows =
                statement.query_map((), |row| Ok((MemoryId::from_stored(row.get::<_, String>(0)?), time(row, 1)?)))?;
            let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
            Ok(rows.first().map(|(_, at)| *at).map(|at| (at, rows.into_iter().map(|(id, _)| id).collect())))
        })
    }
}
