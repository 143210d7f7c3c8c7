//! What was known once and is no longer recalled, and what rests on given words.

use rusqlite::params;

use super::row::{MEMORY_COLUMNS, MEMORY_TABLES, memory_from_row};
use super::{Database, StoreError, normalised_hash};
use crate::memory::{Evidence, Memory, Namespace};

impl Database {
    /// Returns at most `limit` memories that are neither active nor pending and say these words or speak of this
    /// attribute, those with the same words first, then the last changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn past(
        &self,
        namespace: &Namespace,
        content: &str,
        key: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.namespace = ?1
                 AND (m.content_hash = ?2 OR m.key = ?3) AND m.status NOT IN ('active', 'pending')
                 ORDER BY m.content_hash <> ?2, m.updated_at DESC, m.id DESC LIMIT {limit}"
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let values = params![namespace.to_string(), normalised_hash(content), key];
            let found = statement.query_map(values, memory_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the memories of any status that rest on the quote of this piece of evidence, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn resting_on(&self, namespace: &Namespace, piece: &Evidence) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.namespace = ?1 AND m.id IN (
                    SELECT memory_id FROM evidence WHERE transcript = ?2 AND message = ?3 AND quote = ?4)
                 ORDER BY m.id"
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let message = piece.messages.first().map_or("", String::as_str);
            let values = params![namespace.to_string(), piece.transcript, message, piece.quote];
            let found = statement.query_map(values, memory_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}
