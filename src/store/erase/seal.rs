//! Writing the file anew, so that nothing of what was erased is left in its freed parts.

use rusqlite::ErrorCode;
use serde::Serialize;

use crate::fault::point;
use crate::store::{Database, Store, StoreError};

/// How far the file was written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sealed {
    /// It was; nothing is left.
    Wholly,
    /// Another process is at the file, so freed parts or the write-ahead log may hold what was erased until this is done
    /// again: `maintain` does.
    Waiting,
}

impl Database {
    /// Whether something was erased and the file has not been written anew since.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn is_unsealed(&self) -> Result<bool, StoreError> {
        self.read(|conn| {
            let there = conn.table_exists(None, "unsealed")?;
            Ok(there && conn.prepare_cached("SELECT 1 FROM unsealed")?.exists(())?)
        })
    }
}

impl Store {
    /// Writes the file anew and empties its write-ahead log, which takes as long as copying it. An erasure whose process
    /// ended before this came to its end is remembered, see [`Database::is_unsealed`].
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written, for another reason than that others are at it.
    pub fn seal(&self) -> Result<Sealed, StoreError> {
        match self.write_anew() {
            Ok(true) => Ok(Sealed::Wholly),
            Ok(false) => Ok(Sealed::Waiting),
            Err(StoreError::Sqlite(error)) if is_busy(&error) => Ok(Sealed::Waiting),
            Err(error) => Err(error.at(&self.db.path)),
        }
    }

    fn write_anew(&self) -> Result<bool, StoreError> {
        let conn = &self.conn;
        point("seal.begin");
        // The words of what is gone stay in its segments until these are merged.
        conn.execute("INSERT INTO memory_near (memory_near) VALUES ('optimize')", ())?;
        self.forget_samples()?;
        conn.execute_batch("VACUUM")?;
        point("seal.written");
        if !self.empty_wal()? {
            return Ok(false);
        }
        conn.execute("DELETE FROM unsealed", ())?;
        point("seal.done");
        self.empty_wal()
    }

    /// The planner keeps samples of what stands in indexes.
    pub(in crate::store) fn forget_samples(&self) -> Result<(), StoreError> {
        if self.conn.table_exists(None, "sqlite_stat4")? {
            self.conn.execute("DELETE FROM sqlite_stat4", ())?;
        }
        Ok(())
    }

    fn empty_wal(&self) -> Result<bool, StoreError> {
        let busy: i64 = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
        Ok(busy == 0)
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
