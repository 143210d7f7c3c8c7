//! Windows that could not be extracted.

use jiff::Timestamp;
use rusqlite::Row;

use super::work::WindowId;
use super::{Database, Store, StoreError};
use crate::store::row::time_or_none;

/// A window that could not be extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedWindow {
    /// The window.
    pub id: WindowId,
    /// Key of its transcript.
    pub transcript: String,
    /// Where the transcript was read.
    pub origin: String,
    /// Index of the first message.
    pub start: usize,
    /// Number of messages.
    pub len: usize,
    /// What tried.
    pub extractor: String,
    /// How often.
    pub attempts: u32,
    /// Why it failed last.
    pub error: Option<String>,
    /// When it failed last.
    pub finished_at: Option<Timestamp>,
}

impl Database {
    /// Returns the windows that failed and were not done since, the last first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn failed_windows(&self) -> Result<Vec<FailedWindow>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT w.id, t.key, t.origin, w.start, w.len, w.extractor, w.attempts, w.error, w.finished_at
                 FROM windows w JOIN transcripts t ON t.id = w.transcript_id
                 WHERE w.status = 'failed' ORDER BY w.finished_at DESC, w.id DESC",
            )?;
            let found = statement.query_map((), failed_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

impl Store {
    /// Sets the attempts of all failed windows back to none and returns how many windows that were; the next run
    /// over their transcripts tries them again, as it would have anyway.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn reset_failed_windows(&self) -> Result<usize, StoreError> {
        self.read(|conn| Ok(conn.execute("UPDATE windows SET attempts = 0, error = NULL WHERE status = 'failed'", ())?))
    }
}

fn failed_from_row(row: &Row<'_>) -> rusqlite::Result<FailedWindow> {
    Ok(FailedWindow {
        id: WindowId(row.get(0)?),
        transcript: row.get(1)?,
        origin: row.get(2)?,
        start: row.get(3)?,
        len: row.get(4)?,
        extractor: row.get(5)?,
        attempts: row.get(6)?,
        error: row.get(7)?,
        finished_at: time_or_none(row, 8)?,
    })
}
