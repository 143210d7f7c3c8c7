//! Windows whose candidates wait: taking them in order, marking them as applied, and making them wait again.

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::runs::RunId;
use super::work::WindowId;
use super::{Database, Store, StoreError, Writer};
use crate::memory::{Candidate, Namespace};
use crate::store::row::{json, rows, spelled, time_or_none};

/// A window whose candidates wait to be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingWindow {
    /// The window.
    pub id: WindowId,
    /// Namespace of its transcript.
    pub namespace: Namespace,
    /// Key of its transcript.
    pub transcript: String,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// Index of the first message.
    pub start: usize,
    /// What is proposed; at least one.
    pub candidates: Vec<Candidate>,
}

impl Database {
    /// Returns at most `limit` windows whose candidates wait to be applied: by the start of the conversation (unknown
    /// ones last), its key and the place in it. Namespaces are mixed, since conversations of several projects teach
    /// about one user.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn pending_windows(&self, limit: usize) -> Result<Vec<PendingWindow>, StoreError> {
        let mut windows: Vec<PendingWindow> = self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT w.id, t.namespace, t.key, t.started_at, w.start, w.candidates
                 FROM windows w JOIN transcripts t ON t.id = w.transcript_id
                 WHERE w.status = 'done' AND w.applied_at IS NULL
                 ORDER BY t.started_at IS NULL, t.started_at, t.key, w.start, w.id LIMIT ?1",
            )?;
            let found = statement.query_map([rows(limit)], pending_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })?;
        for window in &mut windows {
            // The project may have been merged into another one since the conversation was read.
            window.namespace = self.merged_into(&window.namespace)?;
        }
        Ok(windows)
    }
}

impl Writer<'_> {
    /// Marks windows as applied by this write, and returns how many were waiting until now. Fewer than were given
    /// means that another process has applied some meanwhile: give the write up and plan again.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn mark_windows_applied(&self, windows: &[WindowId]) -> Result<usize, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "UPDATE windows SET applied_at = ?2, applied_run = ?3
                 WHERE id = ?1 AND status = 'done' AND applied_at IS NULL",
            )?;
            let mut marked = 0;
            for window in windows {
                marked +=
                    statement.execute(params![window.0, self.now.as_millisecond(), self.run.map(RunId::as_str)])?;
            }
            Ok(marked)
        })
    }
}

impl Store {
    /// Makes the candidates that a run applied wait again, and returns in how many windows. This is how to redo a
    /// run after it was undone: the next apply decides about them afresh, and no model is asked.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn reopen_windows(&self, run: &RunId) -> Result<usize, StoreError> {
        self.read(|conn| {
            let reopened = conn.execute(
                "UPDATE windows SET applied_at = NULL, applied_run = NULL
                 WHERE applied_run = ?1 AND status = 'done' AND candidates <> '[]'",
                [run.as_str()],
            )?;
            // Their logs are opened again, since where a conversation belongs may have changed meanwhile.
            conn.execute("DELETE FROM files", ())?;
            Ok(reopened)
        })
    }
}

fn pending_from_row(row: &Row<'_>) -> rusqlite::Result<PendingWindow> {
    Ok(PendingWindow {
        id: WindowId(row.get(0)?),
        namespace: spelled(row, 1)?,
        transcript: row.get(2)?,
        started_at: time_or_none(row, 3)?,
        start: row.get(4)?,
        candidates: json(row.get_ref(5)?.as_str()?, 5)?,
    })
}
