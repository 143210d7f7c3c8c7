//! What was known once and is no longer recalled, and what rests on given words.

use rusqlite::params;

use super::index::near::of_key;
use super::memories::rows;
use super::row::{MEMORY_COLUMNS, MEMORY_TABLES, memory_from_row};
use super::{Database, StoreError};
use crate::memory::{Evidence, Memory, Namespace, Status};
use crate::text::normalise::normalised_hash;

impl Database {
    /// Returns at most `limit` memories that are neither active nor pending and say these words or speak of an
    /// attribute of these spellings, those with the same words first, then the last changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn past(
        &self,
        namespace: &Namespace,
        content: &str,
        keys: &[String],
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.content_hash = ?1 AND m.namespace = ?2
                 AND m.status NOT IN ('active', 'pending') ORDER BY m.updated_at DESC, m.id DESC LIMIT ?3"
            );
            let (namespace, most) = (namespace.to_string(), rows(limit));
            let mut statement = conn.prepare_cached(&sql)?;
            let said = statement.query_map(params![normalised_hash(content), namespace, most], memory_from_row)?;
            let mut past: Vec<Memory> = said.collect::<Result<_, _>>()?;
            let sql = format!(
                "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE {} AND m.namespace = ?2 AND m.status = ?3
                 ORDER BY m.updated_at DESC, m.id DESC LIMIT ?4",
                of_key("?1"),
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let mut of_key: Vec<Memory> = Vec::new();
            for key in keys {
                for status in [Status::Superseded, Status::Forgotten, Status::Expired] {
                    let found = statement.query_map(params![key, namespace, status.as_str(), most], memory_from_row)?;
                    of_key.extend(found.collect::<Result<Vec<_>, _>>()?);
                }
            }
            of_key.sort_by(|a, b| (b.updated_at, &b.id).cmp(&(a.updated_at, &a.id)));
            of_key.retain(|memory| !past.iter().any(|said| said.id == memory.id));
            past.extend(of_key);
            past.truncate(limit);
            Ok(past)
        })
    }

    /// Returns the memories of any status that rest on the quote of this piece of evidence, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn resting_on(&self, namespace: &Namespace, piece: &Evidence) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {MEMORY_COLUMNS} FROM evidence e CROSS JOIN memories m ON m.id = e.memory_id
                 JOIN memory_usage u ON u.memory_id = m.id
                 WHERE m.namespace = ?1 AND e.transcript = ?2 AND e.message = ?3
                 AND substr(e.quote, 1, 40) = substr(?4, 1, 40) AND e.quote = ?4
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
