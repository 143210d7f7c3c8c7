//! Windows that are asked about in batches, with all that makes their request the same request on another day.
//!
//! A request shows the memories closest to its window. Those change while a batch is away, and another list would make
//! another request, to be paid again. So the first list is kept until the window is finished. Other things that a request
//! shows, such as the title of the conversation, may have changed all the same; then its first request stands in for it.

use rusqlite::{OptionalExtension, params};

use super::super::ledger::TranscriptId;
use super::super::row::json;
use super::super::windows::{DoneWindow, WindowKey};
use super::super::writer::to_json;
use super::super::{Database, Store, StoreError};
use crate::memory::Memory;

/// Where a window stands that is asked about in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowPlace {
    /// The window.
    pub window: DoneWindow,
    /// Messages before it that are shown as context.
    pub context: usize,
}

/// A window that is asked about in a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchWindow {
    /// The memories that its request shows.
    pub known: Vec<Memory>,
    /// The first request that was asked about it, by hash, with the hash of its frame.
    pub first: Option<(String, String)>,
    /// Whether its last request waits in a batch.
    pub is_waiting: bool,
}

impl Store {
    /// Keeps what makes the request of a window, which was not kept before.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn keep_batch_window(&self, key: &WindowKey, context: usize, known: &[Memory]) -> Result<(), StoreError> {
        let known = to_json(&known)?;
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT INTO batch_windows (transcript_id, extractor, content_hash, start, len, context, known)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                key.transcript.0,
                key.extractor,
                key.content_hash,
                key.start,
                key.len,
                context,
                known
            ])?;
            Ok(())
        })
    }

    /// Notes which request is asked about a window, and of the first one its frame.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn batch_window_asks(&self, key: &WindowKey, request: &str, frame: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "UPDATE batch_windows SET request = ?4, frame = iif(first_request IS NULL, ?5, frame),
                    first_request = coalesce(first_request, ?4)
                 WHERE transcript_id = ?1 AND extractor = ?2 AND content_hash = ?3",
            )?
            .execute(params![key.transcript.0, key.extractor, key.content_hash, request, frame])?;
            Ok(())
        })
    }

    /// Forgets what makes the request of a window, now that the window is finished.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn drop_batch_window(&self, key: &WindowKey) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "DELETE FROM batch_windows WHERE transcript_id = ?1 AND extractor = ?2 AND content_hash = ?3",
            )?
            .execute(params![key.transcript.0, key.extractor, key.content_hash])?;
            Ok(())
        })
    }
}

impl Database {
    /// Returns what is kept of a window.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn batch_window(&self, key: &WindowKey) -> Result<Option<BatchWindow>, StoreError> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT known, first_request, frame, EXISTS (SELECT 1 FROM batch_requests WHERE key = w.request AND state = 'waiting')
                     FROM batch_windows w WHERE transcript_id = ?1 AND extractor = ?2 AND content_hash = ?3",
                )?
                .query_row(params![key.transcript.0, key.extractor, key.content_hash], |row| {
                    let first: Option<String> = row.get(1)?;
                    Ok(BatchWindow {
                        known: json(row.get_ref(0)?.as_str()?, 0)?,
                        first: first.zip(row.get(2)?),
                        is_waiting: row.get(3)?,
                    })
                })
                .optional()?)
        })
    }

    /// Returns the windows of a transcript that are asked about in batches, by place.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn batch_windows(&self, transcript: TranscriptId, extractor: &str) -> Result<Vec<WindowPlace>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT start, len, content_hash, context FROM batch_windows
                 WHERE transcript_id = ?1 AND extractor = ?2 ORDER BY start, content_hash",
            )?;
            let found = statement.query_map(params![transcript.0, extractor], |row| {
                let window = DoneWindow { start: row.get(0)?, len: row.get(1)?, content_hash: row.get(2)? };
                Ok(WindowPlace { window, context: row.get(3)? })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}
