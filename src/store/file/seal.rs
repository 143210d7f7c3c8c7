//! Rewrites the file, so that no erased text remains in freed parts of it.

use jiff::Timestamp;
use rusqlite::Connection;
use serde::Serialize;

use crate::fault::point;
use crate::store::error::is_busy;
use crate::store::{Database, Store, StoreError};

/// Records that the file still has to be rewritten. The mark is set in the transaction that erases, so that after a
/// crash it shows that freed pages contain the text.
pub(in crate::store) fn mark_unsealed(conn: &Connection, now: Timestamp) -> Result<(), StoreError> {
    conn.execute("INSERT INTO unsealed (at) VALUES (?1)", [now.as_millisecond()])?;
    Ok(())
}

/// Whether the file could be rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RewriteOutcome {
    /// The file was rewritten, and no erased text remains.
    Wholly,
    /// Another process is using the file, so freed parts or the write-ahead log may still contain erased text until
    /// `maintain` rewrites the file.
    Waiting,
}

impl Database {
    /// Returns whether something was erased and the file has not been rewritten since.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn is_unsealed(&self) -> Result<bool, StoreError> {
        self.read(|conn| {
            // A file of an earlier version that was opened for reading has no such table.
            let there = conn.table_exists(None, "unsealed")?;
            Ok(there && conn.prepare_cached("SELECT 1 FROM unsealed")?.exists(())?)
        })
    }
}

impl Store {
    /// Rewrites the file and empties its write-ahead log, which takes as long as copying the file. If the process ends
    /// before this is complete, a mark remains; see [`Database::is_unsealed`].
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written for a reason other than its use by another process.
    pub(crate) fn seal(&self) -> Result<RewriteOutcome, StoreError> {
        match self.write_anew() {
            Ok(true) => Ok(RewriteOutcome::Wholly),
            Ok(false) => Ok(RewriteOutcome::Waiting),
            Err(StoreError::Sqlite(error)) if is_busy(&error) => Ok(RewriteOutcome::Waiting),
            Err(error) => Err(error.at(&self.db.path)),
        }
    }

    fn write_anew(&self) -> Result<bool, StoreError> {
        let conn = &self.conn;
        point("seal.begin");
        // Erased words remain in the segments of the index until the segments are merged.
        conn.execute("INSERT INTO memory_near (memory_near) VALUES ('optimize')", ())?;
        self.forget_samples()?;
        conn.execute_batch("VACUUM")?;
        point("seal.written");
        // The mark is kept, so that maintenance tries again, because the log may still contain erased text.
        if !self.empty_wal()? {
            return Ok(false);
        }
        // The mark is removed last, so that a crash causes the rewrite to be repeated.
        conn.execute("DELETE FROM unsealed", ())?;
        point("seal.done");
        self.empty_wal()
    }

    /// Deletes the samples of SQLite's query planner, which contain copies of index keys.
    pub(in crate::store) fn forget_samples(&self) -> Result<(), StoreError> {
        if self.conn.table_exists(None, "sqlite_stat4")? {
            self.conn.execute("DELETE FROM sqlite_stat4", ())?;
        }
        Ok(())
    }

    fn empty_wal(&self) -> Result<bool, StoreError> {
        // If another process is reading, the pragma reports this in its first column instead of failing.
        let busy: i64 = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
        Ok(busy == 0)
    }
}
