//! Windows that are asked about in batches, with all that makes their request the same request on another day.
//!
//! A request shows the memories closest to its window. Those change while a batch is away, and another list would make
//! another request, to be paid again. So the first list is kept until the window is finished. Other things that a request
//! shows, such as the title of the conversation, may have changed all the same; then its first request stands in for it.

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

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
    /// The windows that share its requests, itself included, in order.
    members: String,
    /// The memories that its request shows.
    pub known: Vec<Memory>,
    /// The first request that was asked about it, by hash, with the hash of its frame.
    pub first: Option<(String, String)>,
    /// Whether its last request waits in a batch.
    pub is_waiting: bool,
}

/// What is kept of windows that are to be asked about together.
#[derive(Debug, Clone, PartialEq)]
pub enum KeptPack {
    /// They were asked about together, and with no others.
    Same(BatchWindow),
    /// Some of them wait for an answer that is about others, too.
    Parted,
    /// Nothing that is of use.
    Nothing,
}

impl Store {
    /// Keeps what makes the request of windows, in order, each with the messages before it that are shown. What was kept
    /// of the same windows stays; what was kept of them in other company is replaced.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn keep_batch_windows(
        &self,
        keys: &[WindowKey],
        contexts: &[usize],
        known: &[Memory],
    ) -> Result<(), StoreError> {
        let (members, known) = (members(keys), to_json(&known)?);
        self.for_each(keys.iter().zip(contexts), |conn, (key, context)| {
            conn.prepare_cached(
                "INSERT INTO batch_windows (transcript_id, extractor, content_hash, start, len, context, members, known)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE
                 SET members = ?7, known = ?8, first_request = NULL, frame = NULL, request = NULL WHERE members <> ?7",
            )?
            .execute(params![
                key.transcript.0,
                key.extractor,
                key.content_hash,
                key.start,
                key.len,
                context,
                members,
                known
            ])
        })
    }

    /// Notes which request is asked about windows, and of the first one its frame.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn batch_windows_ask(&self, keys: &[WindowKey], request: &str, frame: &str) -> Result<(), StoreError> {
        self.for_each(keys, |conn, key| {
            conn.prepare_cached(
                "UPDATE batch_windows SET request = ?4, frame = iif(first_request IS NULL, ?5, frame),
                    first_request = coalesce(first_request, ?4)
                 WHERE transcript_id = ?1 AND extractor = ?2 AND content_hash = ?3",
            )?
            .execute(params![key.transcript.0, key.extractor, key.content_hash, request, frame])
        })
    }

    /// Forgets what makes the request of windows, now that they are finished.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn drop_batch_windows(&self, keys: &[WindowKey]) -> Result<(), StoreError> {
        self.for_each(keys, |conn, key| {
            conn.prepare_cached(
                "DELETE FROM batch_windows WHERE transcript_id = ?1 AND extractor = ?2 AND content_hash = ?3",
            )?
            .execute(params![key.transcript.0, key.extractor, key.content_hash])
        })
    }

    /// Executes a statement for each of `items`, all or none.
    fn for_each<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        execute: impl Fn(&Transaction<'_>, T) -> rusqlite::Result<usize>,
    ) -> Result<(), StoreError> {
        self.read(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            items.into_iter().try_for_each(|item| execute(&transaction, item).map(|_| ()))?;
            Ok(transaction.commit()?)
        })
    }
}

/// Names windows, in order: by the beginnings of their hashes, since they may move within a conversation.
fn members(keys: &[WindowKey]) -> String {
    let name =
        |key: &WindowKey| format!("{}:{}", key.transcript.0, key.content_hash.get(..16).unwrap_or(&key.content_hash));
    keys.iter().map(name).collect::<Vec<_>>().join(" ")
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
                    "SELECT members, known, first_request, frame, EXISTS (SELECT 1 FROM batch_requests WHERE key = w.request AND state = 'waiting')
                     FROM batch_windows w WHERE transcript_id = ?1 AND extractor = ?2 AND content_hash = ?3",
                )?
                .query_row(params![key.transcript.0, key.extractor, key.content_hash], |row| {
                    let first: Option<String> = row.get(2)?;
                    Ok(BatchWindow {
                        members: row.get(0)?,
                        known: json(row.get_ref(1)?.as_str()?, 1)?,
                        first: first.zip(row.get(3)?),
                        is_waiting: row.get(4)?,
                    })
                })
                .optional()?)
        })
    }

    /// Returns what is kept of windows that are to be asked about together, in this order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn batch_pack(&self, keys: &[WindowKey]) -> Result<KeptPack, StoreError> {
        let kept = keys.iter().map(|key| self.batch_window(key)).collect::<Result<Vec<_>, _>>()?;
        let members = members(keys);
        if kept.iter().all(|one| one.as_ref().is_some_and(|one| one.members == members)) {
            return Ok(kept.into_iter().flatten().next().map_or(KeptPack::Nothing, KeptPack::Same));
        }
        let is_parted = kept.iter().flatten().any(|one| one.is_waiting);
        Ok(if is_parted { KeptPack::Parted } else { KeptPack::Nothing })
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
