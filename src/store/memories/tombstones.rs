//! What a person rejected, so that it is not learnt again.

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};

use crate::changeset::{Action, Row, Tombstone};
use crate::guard::CleanText;
use crate::memory::{MemoryId, Namespace};
use crate::store::row::{spelled, time};
use crate::store::{Database, StoreError, Writer};
use crate::text::normalise::normalised_hash;

const COLUMNS: &str = "memory_id, namespace, content_hash, key, value_hash, reason, at";

impl Database {
    /// Returns why a claim is not to be learnt again: same words, or the same value of the same attribute.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn rejected(
        &self,
        namespace: &Namespace,
        content: &str,
        attribute: Option<(&str, &str)>,
    ) -> Result<Option<Tombstone>, StoreError> {
        let (key, value) = attribute.unzip();
        self.read(|conn| {
            let sql = format!(
                "SELECT {COLUMNS} FROM tombstones WHERE namespace = ?1
                 AND (content_hash = ?2 OR (key = ?3 AND value_hash = ?4)) ORDER BY at DESC, memory_id LIMIT 1"
            );
            let values = params![namespace.to_string(), normalised_hash(content), key, value.map(normalised_hash)];
            Ok(conn.prepare_cached(&sql)?.query_row(values, tombstone_from_row).optional()?)
        })
    }

    pub(in crate::store) fn tombstone_of(&self, id: &MemoryId) -> Result<Option<Tombstone>, StoreError> {
        self.read(|conn| {
            let sql = format!("SELECT {COLUMNS} FROM tombstones WHERE memory_id = ?1");
            Ok(conn.prepare_cached(&sql)?.query_row([id.as_str()], tombstone_from_row).optional()?)
        })
    }

    /// Returns every such note of a namespace, by memory.
    pub(in crate::store) fn tombstones_of(&self, namespace: &Namespace) -> Result<Vec<Tombstone>, StoreError> {
        self.read(|conn| {
            let sql = format!("SELECT {COLUMNS} FROM tombstones WHERE namespace = ?1 ORDER BY memory_id");
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map([namespace.to_string()], tombstone_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

impl Writer<'_> {
    /// Notes that what this memory says is not to be learnt again in its namespace.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if it is not there.
    pub fn tombstone(&self, id: &MemoryId, reason: Option<CleanText<'_>>) -> Result<bool, StoreError> {
        let memory = self.memory(id)?;
        let tombstone = Tombstone {
            memory: memory.id,
            content_hash: normalised_hash(&memory.claim.content),
            namespace: memory.namespace,
            key: memory.claim.key,
            value_hash: memory.claim.value.as_deref().map(normalised_hash),
            reason: reason.as_deref().map(str::to_owned),
            at: self.now,
        };
        if self.tombstone_of(id)?.is_some() {
            return Ok(false);
        }
        self.write_one(Action::Reject, Row::Tombstone { before: None, after: Some(tombstone) }, None)?;
        Ok(true)
    }

    /// Takes such a note back, and returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn lift_tombstone(&self, id: &MemoryId) -> Result<bool, StoreError> {
        let Some(tombstone) = self.tombstone_of(id)? else { return Ok(false) };
        self.write_one(Action::Admit, Row::Tombstone { before: Some(tombstone), after: None }, None)?;
        Ok(true)
    }

    /// Moves the notes of rejected values from one namespace to another.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn move_tombstones(&self, from: &Namespace, into: &Namespace) -> Result<usize, StoreError> {
        let notes = self.tombstones_of(from)?;
        for note in &notes {
            let after = Tombstone { namespace: into.clone(), ..note.clone() };
            self.write_one(Action::Move, Row::Tombstone { before: Some(note.clone()), after: Some(after) }, None)?;
        }
        Ok(notes.len())
    }
}

pub(in crate::store) fn insert_row(conn: &Connection, tombstone: &Tombstone) -> Result<bool, StoreError> {
    let inserted = conn
        .prepare_cached(
            "INSERT INTO tombstones (memory_id, namespace, content_hash, key, value_hash, reason, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            tombstone.memory.as_str(),
            tombstone.namespace.to_string(),
            tombstone.content_hash,
            tombstone.key,
            tombstone.value_hash,
            tombstone.reason,
            tombstone.at.as_millisecond(),
        ])?;
    Ok(inserted > 0)
}

pub(in crate::store) fn delete_row(conn: &Connection, id: &MemoryId) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM tombstones WHERE memory_id = ?1")?.execute([id.as_str()])?;
    Ok(())
}

fn tombstone_from_row(row: &SqlRow<'_>) -> rusqlite::Result<Tombstone> {
    Ok(Tombstone {
        memory: MemoryId::from_stored(row.get::<_, String>(0)?),
        namespace: spelled(row, 1)?,
        content_hash: row.get(2)?,
        key: row.get(3)?,
        value_hash: row.get(4)?,
        reason: row.get(5)?,
        at: time(row, 6)?,
    })
}
