//! Vectors of memories: storage, the lease of the process that computes them, and the list of memories without a
//! vector.
//!
//! Vectors are derived data. A trigger drops the vector of a memory when its text changes or when it is forgotten, and
//! moves the vector with its memory. Memories without a vector wait for a vector; see [`Database::without_vector`]. As
//! a result, neither a crash nor an undo leaves a wrong vector, and after a change of model, all memories simply wait
//! again.
//!
//! The search for the nearest vectors estimates every cosine from a short form, and then computes the exact cosines of
//! the most promising memories.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use crate::guard::CleanText;
use crate::memory::MemoryId;
use crate::store::index::codes::{EstimateTable, Promise, ShortForms, code, dot, most_promising, to_bytes, unit};
use crate::store::index::ranking::Seq;
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::row::rows;
use crate::store::{Database, StoreError, Writer};

/// The model of a vector; vectors of different models cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VectorModel {
    /// Name of the model, including every setting that affects its vectors.
    pub name: String,
    /// Number of components of a vector.
    pub dimension: usize,
}

/// The vector of a memory, with the texts that it was computed from.
#[derive(Debug, Clone, Copy)]
pub struct NewVector<'a> {
    /// The memory, with the texts that the vector was computed from.
    pub of: &'a MissingVector,
    /// Components of the vector, which may have any length except 0.
    pub vector: &'a [f32],
}

impl Database {
    /// Returns the number of a model in this file; `None` if the file contains no vectors of the model.
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
    /// Returns the dimension of the file's vectors of a model with this name; the latest dimension if it has changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn vector_dimension(&self, name: &str) -> Result<Option<usize>, StoreError> {
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

    /// Returns the vector of a memory, if there is one.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn vector_of(&self, id: &MemoryId) -> Result<Option<Vec<f32>>, StoreError> {
        if !self.has_vectors()? {
            return Ok(None);
        }
        let sql = "SELECT v.vector FROM vectors v JOIN memories m ON m.seq = v.seq WHERE m.id = ?1";
        let bytes: Option<Vec<u8>> = self.query_one(sql, [id.as_str()], |row| row.get(0))?;
        Ok(bytes.map(|bytes| bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect()))
    }

    /// Returns whether the file can contain vectors. A file of an earlier version that is open for reading only has no
    /// tables for vectors.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn has_vectors(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'vector_models')";
        self.query_only(sql, (), |row| row.get(0))
    }
}

impl Writer<'_> {
    /// Stores vectors, replacing existing vectors of any model, and returns the number of stored vectors. A vector is
    /// left out if its memory was deleted or forgotten, or if its text has changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    ///
    /// # Panics
    /// Panics if a vector does not have the model's dimension, which the caller must have checked.
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
                // A stored vector does not include its dimension, so a wrong dimension would result in wrong cosines.
                assert_eq!(vector.len(), model.dimension, "a vector of {} has the wrong dimension", model.name);
                // A vector without a direction has no cosine with any other; its memory continues to wait.
                let Some(unit) = unit(vector) else { continue };
                let (code, bytes) = (code(&unit), to_bytes(&unit));
                kept += put.execute(params![of.id.as_str(), of.title, of.content, model_id, code, bytes])?;
                done.execute([of.id.as_str()])?;
            }
            Ok(kept)
        })
    }

    /// Records that the model rejected the text of a memory.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn note_unembeddable(
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

/// Duration of the lease for computing vectors, unless it is renewed.
const LEASE: SignedDuration = SignedDuration::from_secs(30);

impl Writer<'_> {
    /// Acquires or renews for `owner` the lease for computing vectors, and returns whether `owner` now has it. A
    /// process loses the lease half a minute after its last renewal.
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
                // A lease that lasts longer than possible was set by a wrong clock.
                .execute(params![owner, after(LEASE), after(SignedDuration::ZERO), after(LEASE * 2)])?;
            Ok(taken > 0)
        })
    }

    /// Releases the lease.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn release_vectors(&self, owner: &str) -> Result<(), StoreError> {
        self.execute("DELETE FROM vector_lease WHERE owner = ?1", [owner]).map(drop)
    }

    /// Records the tokens used by a call for vectors.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn note_embedding(&self, model: CleanText<'_>, tokens: u64) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO vector_spending (at, model, tokens) VALUES (?1, ?2, ?3)",
            params![self.now().as_millisecond(), &*model, i64::try_from(tokens).unwrap_or(i64::MAX)],
        )
        .map(drop)
    }
}

/// Number of times that a text is sent to a model that rejects it.
// A server may reject a text for a temporary reason, so it is sent again; text that is too long is never accepted.
const MAX_ATTEMPTS: u32 = 3;

/// A memory without a vector, with the texts that the vector is computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVector {
    /// The memory.
    pub id: MemoryId,
    /// The title of the memory.
    pub title: String,
    /// The content of the memory.
    pub content: String,
    /// The row number of the memory, which determines the order of waiting memories.
    seq: i64,
}

/// The numbers of memories with and without a vector of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Coverage {
    /// Memories of any status with a vector.
    pub embedded: usize,
    /// Active and pending memories that still wait for a vector.
    pub waiting: usize,
    /// Memories without a vector whose texts the model rejected in every attempt.
    pub given_up: usize,
}

/// Active and pending memories without a vector of model `?1`. The index includes the namespace, so that SQLite reads
/// only the index.
const WAITING: &str = "m.status IN ('active', 'pending') AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.model_id = ?1 AND v.namespace = m.namespace AND v.seq = m.seq)";
/// SQL condition that the model has rejected a text too often.
const GIVEN_UP: &str = "EXISTS (
    SELECT 1 FROM vector_failures f WHERE f.seq = m.seq AND f.model_id = ?1 AND f.attempts >= ?2)";

impl Database {
    /// Returns at most `limit` active and pending memories that have no vector of `model` and that the model has not
    /// rejected too often. The most recently learnt memories come first, and only memories learnt before `last` are
    /// included.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn without_vector(
        &self,
        model: &VectorModel,
        last: Option<&MissingVector>,
        limit: usize,
    ) -> Result<Vec<MissingVector>, StoreError> {
        let model_id = self.model_id(model)?.unwrap_or_default();
        let sql = format!(
            "SELECT m.id, m.title, m.content, m.seq FROM memories m
                 WHERE m.seq < ?3 AND {WAITING} AND NOT {GIVEN_UP} ORDER BY m.seq DESC LIMIT ?4"
        );
        // Pages are delimited by row number, because memories that receive a vector in the meantime disappear from the
        // list.
        let before = last.map_or(i64::MAX, |one| one.seq);
        self.query_all(&sql, params![model_id, MAX_ATTEMPTS, before, rows(limit)], |row| {
            let id = row.get(0)?;
            Ok(MissingVector { id, title: row.get(1)?, content: row.get(2)?, seq: row.get(3)? })
        })
    }

    /// Returns the numbers of memories with and without a vector of `model`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn vector_coverage(&self, model: &VectorModel) -> Result<Coverage, StoreError> {
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
    /// Allows the texts that models have rejected to be tried again, and returns the number of these texts.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn retry_vectors(&self) -> Result<usize, StoreError> {
        self.read(|conn| Ok(conn.execute("DELETE FROM vector_failures", ())?))
    }
}

/// Number of full vectors that are read for each requested memory.
// Estimates are slightly inaccurate, so the nearest memories may be somewhat further down when ordered by estimate.
const READ_PER_RESULT: usize = 2;
/// Minimum number of full vectors that are read, if the file contains that many.
// Reading this many rows is cheap. With fewer rows, the results for a small limit would depend too much on the
// estimates.
const LEAST_READ: usize = 256;
/// Factor by which the number of candidates grows in each further round, if the filter leaves too few candidates.
const GROWTH: usize = 4;
/// A memory and its similarity to the query.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// The memory.
    pub id: MemoryId,
    /// The row of the memory.
    pub seq: Seq,
    /// Cosine between the memory's vector and the vector of the query, from -1 to 1.
    pub cosine: f64,
}

impl Database {
    /// Returns at most `limit` memories that pass `filter`, the nearest to `query` first, and equally near memories in
    /// the order in which they were learnt. Memories without a vector of `model` are not found.
    ///
    /// The filter is applied exactly. Among the memories that pass the filter, only the most promising are scored, at
    /// least three quarters of `LEAST_READ`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn nearest(
        &self,
        model: &VectorModel,
        query: &[f32],
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Near>, StoreError> {
        // Both reads use one snapshot; otherwise, a memory that moves between the two reads would be missed.
        self.at_once(|db| {
            let Some((model_id, query)) = db.ready(model, query)?.filter(|_| limit > 0) else { return Ok(Vec::new()) };
            let codes =
                db.read(|conn| db.vectors.borrow_mut().codes(conn, (model_id, model.dimension), &filter.namespaces))?;
            let mut scored = db.nearest_of(&codes, &query, filter, limit)?;
            scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            scored.truncate(limit);
            Ok(scored.into_iter().map(|(seq, cosine, id)| Near { id, seq: Seq(seq), cosine }).collect())
        })
    }

    /// Returns the most promising memories that pass the filter, by row number and with their cosine.
    fn nearest_of(
        &self,
        codes: &[Arc<ShortForms>],
        query: &[f32],
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<(i64, f64, MemoryId)>, StoreError> {
        let estimator = EstimateTable::new(query);
        let mut taken = limit.saturating_mul(READ_PER_RESULT).max(LEAST_READ);
        let enough = limit.max(taken / 4 * 3);
        let (mut last, mut scored) = (None, Vec::new());
        loop {
            let promising = most_promising(&estimator, codes, taken, last);
            last = promising.last().copied();
            scored.extend(self.scored_by_direction(query, &promising, filter)?);
            if promising.len() < taken || scored.len() >= enough {
                return Ok(scored);
            }
            // With a restrictive filter, many rounds would otherwise be needed, each of which scans all codes.
            taken = taken.saturating_mul(GROWTH);
        }
    }

    /// Returns the model's number and the query normalised to length 1; `None` if no memory can have a cosine with the
    /// query.
    fn ready(&self, model: &VectorModel, query: &[f32]) -> Result<Option<(i64, Vec<f32>)>, StoreError> {
        let unit = unit(query).filter(|unit| unit.len() == model.dimension);
        Ok(self.model_id(model)?.zip(unit))
    }

    /// Returns the memories that pass the filter, with their row numbers and cosines.
    fn scored_by_direction(
        &self,
        query: &[f32],
        promising: &[Promise],
        filter: &Filter,
    ) -> Result<Vec<(i64, f64, MemoryId)>, StoreError> {
        let clauses = Clauses::of(filter);
        let sql = format!(
            "SELECT m.seq, v.vector, m.id FROM json_each(?) j CROSS JOIN memories m ON m.seq = j.value
             CROSS JOIN vectors v ON v.seq = m.seq WHERE {}",
            clauses.sql(),
        );
        // The rows are read in the order in which they are stored in the file.
        let mut rows: Vec<i64> = promising.iter().map(|(_, seq)| *seq).collect();
        rows.sort_unstable();
        let listed = Value::from(json_of(rows.into_iter()));
        self.query_all(&sql, rusqlite::params_from_iter(std::iter::once(listed).chain(clauses.values)), |row| {
            Ok((row.get(0)?, product(query, row, 1)?, row.get(2)?))
        })
    }
}

fn product(query: &[f32], row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<f64> {
    Ok(dot(query, row.get_ref(index)?.as_blob()?))
}

fn json_of<T: serde::Serialize>(values: impl Iterator<Item = T>) -> String {
    serde_json::to_string(&values.collect::<Vec<_>>()).expect("numbers and text can be written as JSON")
}

#[cfg(test)]
#[path = "vectors_tests.rs"]
mod tests;
