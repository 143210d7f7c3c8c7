//! The transcripts that were read.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::{Database, Store, StoreError};
use crate::guard::Redacted;
use crate::memory::Namespace;
use crate::store::row::time_or_none;
use transcripts::Transcript;

/// Identity of a transcript in this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TranscriptId(pub(super) i64);

impl Database {
    /// Returns the id of the transcript with this key, if it was ever read.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn transcript_id(&self, key: &str) -> Result<Option<TranscriptId>, StoreError> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT id FROM transcripts WHERE key = ?1")?
                .query_row([key], |row| row.get(0).map(TranscriptId))
                .optional()?)
        })
    }
}

impl Store {
    /// Notes that a transcript was read, as it is now, and returns its id; the same key has the same id for ever.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn transcript_seen(
        &self,
        transcript: &Redacted<Transcript>,
        namespace: &Namespace,
        now: Timestamp,
    ) -> Result<TranscriptId, StoreError> {
        self.read(|conn| {
            let id = conn
                .prepare_cached(
                    "INSERT INTO transcripts (key, source, external_id, origin, title, project, namespace, started_at,
                     ended_at, message_count, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                     ON CONFLICT (key) DO UPDATE SET origin = ?4, title = ?5, project = ?6, namespace = ?7,
                     started_at = ?8, ended_at = ?9, message_count = ?10, updated_at = ?11 RETURNING id",
                )?
                .query_row(
                    params![
                        transcript.key(),
                        transcript.source,
                        transcript.external_id,
                        transcript.origin,
                        transcript.title,
                        transcript.project,
                        namespace.to_string(),
                        transcript.started_at().map(Timestamp::as_millisecond),
                        transcript.ended_at().map(Timestamp::as_millisecond),
                        transcript.messages.len(),
                        now.as_millisecond(),
                    ],
                    |row| row.get(0),
                )?;
            Ok(TranscriptId(id))
        })
    }
}

/// A transcript that was read, as far as it can be told from a file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenTranscript {
    /// Identity within its source.
    pub external_id: String,
    /// Where it was read.
    pub origin: String,
    /// The earliest time known of it.
    pub started_at: Option<Timestamp>,
    /// The latest time known of it.
    pub ended_at: Option<Timestamp>,
}

impl Database {
    /// Returns every transcript that was read, by key.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn transcripts_seen(&self) -> Result<Vec<SeenTranscript>, StoreError> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached("SELECT external_id, origin, started_at, ended_at FROM transcripts ORDER BY key")?;
            let found = statement.query_map((), |row| {
                Ok(SeenTranscript {
                    external_id: row.get(0)?,
                    origin: row.get(1)?,
                    started_at: time_or_none(row, 2)?,
                    ended_at: time_or_none(row, 3)?,
                })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}
