//! Which windows were asked about in one request.

use rusqlite::{Transaction, TransactionBehavior, params};

use super::ledger::TranscriptId;
use super::windows::{DoneWindow, WindowId};
use super::{Database, Store, StoreError};
use crate::fault::point;

/// Where a window stood in a pack that was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackPlace {
    /// The pack, by its first window.
    pub pack: i64,
    /// The window's place in it, from 0.
    pub place: usize,
    /// How many of its windows are not done.
    pub open: usize,
}

/// A window that was asked about and is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWindow {
    /// Its place in the transcript.
    pub window: DoneWindow,
    /// Its place in the pack.
    pub place: PackPlace,
}

impl Store {
    /// Notes that `windows`, which `owner` holds, are about to be asked about in one request, in this order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn remember_pack(&self, windows: &[WindowId], owner: &str) -> Result<(), StoreError> {
        let Some(first) = windows.first() else { return Ok(()) };
        self.read(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            for (place, window) in windows.iter().enumerate() {
                transaction
                    .prepare_cached(
                        "UPDATE windows SET pack = ?2, pack_place = ?3
                         WHERE id = ?1 AND owner = ?4 AND status = 'claimed'",
                    )?
                    .execute(params![window.0, first.0, place, owner])?;
            }
            transaction.commit()?;
            point("pack.remembered");
            Ok(())
        })
    }
}

impl Database {
    /// Returns the windows of a transcript that this extractor was asked about and that are not done, by place.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn open_windows(&self, transcript: TranscriptId, extractor: &str) -> Result<Vec<OpenWindow>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT w.start, w.len, w.content_hash, w.pack, w.pack_place,
                 (SELECT count(*) FROM windows o WHERE o.pack = w.pack AND o.status <> 'done')
                 FROM windows w
                 WHERE w.transcript_id = ?1 AND w.extractor = ?2 AND w.status <> 'done' AND w.pack IS NOT NULL
                 ORDER BY w.start, w.id",
            )?;
            let found = statement.query_map(params![transcript.0, extractor], |row| {
                Ok(OpenWindow {
                    window: DoneWindow { start: row.get(0)?, len: row.get(1)?, content_hash: row.get(2)? },
                    place: PackPlace { pack: row.get(3)?, place: row.get(4)?, open: row.get(5)? },
                })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}
