//! Vectors of memories: stored, leased to the process that makes them, and listed where they are missing.
//!
//! Vectors are derived. A trigger drops the one of a memory that says something else from now on or is forgotten, and
//! moves it with its memory; what has none waits, see [`Database::without_vector`]. So no crash and no undo leaves one
//! that is wrong, and another model only makes all of them wait again.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use super::nearest;
use crate::guard::CleanText;
use crate::memory::MemoryId;
use crate::store::row::rows;
use crate::store::{Database, StoreError, Writer};

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
    pub(super) fn model_id(&self, model: &VectorModel) -> Result<Option<i64>, StoreError> {
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
                let Some(unit) = nearest::unit(vector) else { continue };
                let (code, bytes) = (nearest::code(&unit), nearest::to_bytes(&unit));
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
    pub fn note_unembeddable(
        &self,
        model: &VectorModel,
        id: &MemoryId,
        reason: CleanText<'_>,
    ) -> Result<(), StoreError> {
        self.read(|conn| {
            let model_id = put_model(conn, model)?;
            conn.prepare_cached(
                "INSERT INTO vector_failures (seq, model_id, attempts, reason, at)
                 SELECT seq, ?2, 1, ?3, ?4 FROM memories WHERE id = ?1
                 ON CONFLICT (seq) DO UPDATE SET attempts = iif(model_id = ?2, attempts + 1, 1), model_id = ?2,
                    reason = ?3, at = ?4",
            )?
            .execute(params![id.as_str(), model_id, &*reason, self.now().as_millisecond()])?;
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

/// How long the right lasts without a sign of life.
const LEASE: SignedDuration = SignedDuration::from_secs(30);

impl Writer<'_> {
    /// Takes or keeps the right to make vectors for `owner`, and returns whether it has it; another process that has
    /// taken it loses it half a minute after its last sign of life.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn lease_vectors(&self, owner: &str) -> Result<bool, StoreError> {
        let after = |span: SignedDuration| self.now().checked_add(span).unwrap_or(Timestamp::MAX).as_millisecond();
        self.read(|conn| {
            let taken = conn
                .prepare_cached(
                    "INSERT INTO vector_lease (id, owner, until) VALUES (1, ?1, ?2)
                     ON CONFLICT (id) DO UPDATE SET owner = ?1, until = ?2
                     WHERE owner = ?1 OR until <= ?3 OR until > ?4",
                )?
                // What holds for longer than a lease can was given by a clock that was wrong.
                .execute(params![owner, after(LEASE), after(SignedDuration::ZERO), after(LEASE * 2)])?;
            Ok(taken > 0)
        })
    }

    /// Gives the right back.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn release_vectors(&self, owner: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.execute("DELETE FROM vector_lease WHERE owner = ?1", [owner])?;
            Ok(())
        })
    }

    /// Notes what a call for vectors took.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn note_embedding(&self, model: CleanText<'_>, tokens: u64) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached("INSERT INTO vector_spending (at, model, tokens) VALUES (?1, ?2, ?3)")?
                .execute(params![self.now().as_millisecond(), &*model, i64::try_from(tokens).unwrap_or(i64::MAX)])?;
            Ok(())
        })
    }
}

/// Times that a text is given to a model that does not take it.
const MAX_ATTEMPTS: u32 = 3;

/// A memory without a vector, with the texts that one is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// The memory.
    pub id: MemoryId,
    /// Its title.
    pub title: String,
    /// Its content.
    pub content: String,
    /// Its place in the file, in which order the waiting come.
    seq: i64,
}

/// How many memories have a vector of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Memories of any status with a vector.
    pub embedded: usize,
    /// Active and pending ones without, that will be tried.
    pub waiting: usize,
    /// Those without whose text the model did not take, however often it was tried.
    pub given_up: usize,
}

/// Active and pending memories without a vector of model `?1`. The index names the namespace, so that it alone is read.
const WAITING: &str = "m.status IN ('active', 'pending') AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.model_id = ?1 AND v.namespace = m.namespace AND v.seq = m.seq)";
/// Whether the model has refused a text too often.
const GIVEN_UP: &str = "EXISTS (
    SELECT 1 FROM vector_failures f WHERE f.seq = m.seq AND f.model_id = ?1 AND f.attempts >= ?2)";

impl Database {
    /// Returns at most `limit` active and pending memories that have no vector of `model` and that the model has not
    /// refused too often, the last learnt first, those before `last` alone.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn without_vector(
        &self,
        model: &VectorModel,
        last: Option<&Unembedded>,
        limit: usize,
    ) -> Result<Vec<Unembedded>, StoreError> {
        let model_id = self.model_id(model)?.unwrap_or_default();
        self.read(|conn| {
            let sql = format!(
                "SELECT m.id, m.title, m.content, m.seq FROM memories m
                 WHERE m.seq < ?3 AND {WAITING} AND NOT {GIVEN_UP} ORDER BY m.seq DESC LIMIT ?4"
            );
            let before = last.map_or(i64::MAX, |one| one.seq);
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(params![model_id, MAX_ATTEMPTS, before, rows(limit)], |row| {
                let id = MemoryId::from_stored(row.get::<_, String>(0)?);
                Ok(Unembedded { id, title: row.get(1)?, content: row.get(2)?, seq: row.get(3)? })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns how many memories have a vector of `model`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn vector_coverage(&self, model: &VectorModel) -> Result<Coverage, StoreError> {
        if !self.has_vectors()? {
            return Ok(Coverage::default());
        }
        let model_id = self.model_id(model)?.unwrap_or_default();
        self.read(|conn| {
            let count = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Result<usize, StoreError> {
                Ok(conn.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
            };
            let without = format!("SELECT count(*) FROM memories m WHERE {WAITING}");
            let given_up = format!("{without} AND {GIVEN_UP}");
            let given_up = count(&given_up, &[&model_id, &MAX_ATTEMPTS])?;
            Ok(Coverage {
                embedded: count("SELECT count(*) FROM vectors WHERE model_id = ?1", &[&model_id])?,
                waiting: count(&without, &[&model_id])?.saturating_sub(given_up),
                given_up,
            })
        })
    }
}

impl Writer<'_> {
    /// Lets the texts that models have refused be tried again, and returns how many.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn retry_vectors(&self) -> Result<usize, StoreError> {
        self.read(|conn| Ok(conn.execute("DELETE FROM vector_failures", ())?))
    }
}

#[cfg(test)]
#[path = "vectors_tests.rs"]
mod tests;
