//! Which batches are open, and what waits in them.

use rusqlite::{OptionalExtension, Row};

use super::super::row::{spelled, time};
use super::super::{Database, StoreError};
use super::{Batch, BatchRequest};

const SELECT: &str = "
    SELECT id, owner, endpoint, model, stage, stage_at, input_file, remote_id, remote_status, created_at,
        (SELECT count(*) FROM batch_requests WHERE batch = b.id AND state = 'waiting')
    FROM batches b WHERE stage <> 'ended'";

impl Database {
    /// Returns the batches that are not over, the oldest first; none where the file is of a version that had none.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn open_batches(&self) -> Result<Vec<Batch>, StoreError> {
        self.read(|conn| {
            if !has_batches(conn)? {
                return Ok(Vec::new());
            }
            let mut statement = conn.prepare_cached(&format!("{SELECT} ORDER BY created_at, id"))?;
            let found = statement.query_map((), batch_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the batch in which the request with this hash waits.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn batch_of(&self, key: &str) -> Result<Option<Batch>, StoreError> {
        self.read(|conn| {
            let condition = "id = (SELECT batch FROM batch_requests WHERE key = ?1 AND state = 'waiting')";
            let mut statement = conn.prepare_cached(&format!("{SELECT} AND {condition}"))?;
            Ok(statement.query_row([key], batch_from_row).optional()?)
        })
    }

    /// Returns the requests of a batch that wait for an answer, by hash.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn batch_requests(&self, id: &str) -> Result<Vec<BatchRequest>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT key, prompt_tokens FROM batch_requests WHERE batch = ?1 AND state = 'waiting' ORDER BY key",
            )?;
            let found =
                statement.query_map([id], |row| Ok(BatchRequest { key: row.get(0)?, prompt_tokens: row.get(1)? }))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

/// A file that is opened for reading only keeps the schema of the version that wrote it.
fn has_batches(conn: &rusqlite::Connection) -> rusqlite::Result<bool> {
    conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'batches')", (), |row| row.get(0))
}

fn batch_from_row(row: &Row<'_>) -> rusqlite::Result<Batch> {
    Ok(Batch {
        id: row.get(0)?,
        owner: row.get(1)?,
        endpoint: row.get(2)?,
        model: row.get(3)?,
        stage: spelled(row, 4)?,
        stage_at: time(row, 5)?,
        input_file: row.get(6)?,
        remote_id: row.get(7)?,
        remote_status: row.get(8)?,
        created_at: time(row, 9)?,
        waiting: row.get(10)?,
    })
}
