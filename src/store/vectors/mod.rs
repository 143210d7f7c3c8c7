//! What memories say as vectors of one model: kept, found by direction, and made again where they are missing.
//!
//! Vectors are derived. A trigger drops the one of a memory that says something else from now on or is forgotten, and
//! moves it with its memory; what has none waits, see [`Database::without_vector`]. So no crash and no undo leaves one
//! that is wrong, and another model only makes all of them wait again.
//!
//! A search reads the short forms of the namespaces that the filter allows, takes those that promise most, and scores
//! these by their whole vectors, in SQL under the whole filter.

mod cache;
mod code;
mod lease;
mod nearest;
#[cfg(test)]
mod tests;
mod waiting;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Database, StoreError, Writer};
use crate::memory::MemoryId;

pub(super) use cache::VectorCache;
pub use nearest::Near;
pub use waiting::{Coverage, Unembedded};

/// Which model vectors are of; those of two models have nothing to do with each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VectorModel {
    /// Its name, with all that changes what it makes of a text.
    pub name: String,
    /// Numbers of a vector.
    pub dimension: usize,
}

/// The vector of a memory, with the texts that it was made from.
#[derive(Debug, Clone, Copy)]
pub struct NewVector<'a> {
    /// What it was made from.
    pub of: &'a Unembedded,
    /// Its numbers, of any length but 0.
    pub vector: &'a [f32],
}

impl Database {
    /// Returns the number of a model in this file; `None` if it has no vectors of it.
    fn model_id(&self, model: &VectorModel) -> Result<Option<i64>, StoreError> {
        if !self.has_vectors()? {
            return Ok(None);
        }
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached("SELECT id FROM vector_models WHERE name = ?1 AND dimension = ?2")?;
            Ok(statement.query_row(params![model.name, model.dimension], |row| row.get(0)).optional()?)
        })
    }
}

impl Database {
    /// Returns the length of the vectors that the file has of a model of this name; the last one where it changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn vector_dimension(&self, name: &str) -> Result<Option<usize>, StoreError> {
        if !self.has_vectors()? {
            return Ok(None);
        }
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT dimension FROM vector_models m WHERE name = ?1
                 AND EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = m.id) ORDER BY id DESC LIMIT 1",
            )?;
            Ok(statement.query_row([name], |row| row.get(0)).optional()?)
        })
    }

    /// Whether the file can hold vectors: one of an earlier version that is open for reading only has no tables for them.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn has_vectors(&self) -> Result<bool, StoreError> {
        self.read(|conn| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'vector_models')";
            Ok(conn.prepare_cached(sql)?.query_row((), |row| row.get(0))?)
        })
    }
}

impl Writer<'_> {
    /// Keeps vectors in place of those of any model, and returns how many: one is left out whose memory has gone, was
    /// forgotten, or says something else by now.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    ///
    /// # Panics
    /// If a vector is not of the model's dimension: whoever calls has checked that.
    pub fn put_vectors(&self, model: &VectorModel, vectors: &[NewVector<'_>]) -> Result<usize, StoreError> {
        self.read(|conn| {
            let model_id = put_model(conn, model)?;
            let mut put = conn.prepare_cached(
                "INSERT INTO vectors (seq, model_id, namespace, code, vector)
                 SELECT seq, ?4, namespace, ?5, ?6 FROM memories
                 WHERE id = ?1 AND title = ?2 AND content = ?3 AND status <> 'forgotten'
                 ON CONFLICT (seq) DO UPDATE SET model_id = ?4, namespace = excluded.namespace, code = ?5, vector = ?6",
            )?;
            let mut done = conn
                .prepare_cached("DELETE FROM vector_failures WHERE seq = (SELECT seq FROM memories WHERE id = ?1)")?;
            let mut kept = 0;
            for NewVector { of, vector } in vectors {
                assert_eq!(vector.len(), model.dimension, "a vector of {} has another dimension", model.name);
                let Some(unit) = code::unit(vector) else { continue };
                let (code, bytes) = (code::code(&unit), code::to_bytes(&unit));
                kept += put.execute(params![of.id.as_str(), of.title, of.content, model_id, code, bytes])?;
                done.execute([of.id.as_str()])?;
            }
            Ok(kept)
        })
    }

    /// Notes that the model does not take what a memory says.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn note_unembeddable(&self, model: &VectorModel, id: &MemoryId, reason: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            let model_id = put_model(conn, model)?;
            conn.prepare_cached(
                "INSERT INTO vector_failures (seq, model_id, attempts, reason, at)
                 SELECT seq, ?2, 1, ?3, ?4 FROM memories WHERE id = ?1
                 ON CONFLICT (seq) DO UPDATE SET attempts = iif(model_id = ?2, attempts + 1, 1), model_id = ?2,
                    reason = ?3, at = ?4",
            )?
            .execute(params![id.as_str(), model_id, reason, self.now().as_millisecond()])?;
            Ok(())
        })
    }
}

fn put_model(conn: &Connection, model: &VectorModel) -> Result<i64, StoreError> {
    let values = params![model.name, model.dimension];
    conn.prepare_cached("INSERT INTO vector_models (name, dimension) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(values)?;
    let mut id = conn.prepare_cached("SELECT id FROM vector_models WHERE name = ?1 AND dimension = ?2")?;
    Ok(id.query_row(values, |row| row.get(0))?)
}
