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
//!
//! The short form consists of the sign of each component, and one factor for the whole vector:
//!
//! ```text
//! code = 1 / (|v1| + |v2| + …) as f32 (4 bytes), then one sign bit per number, from the lowest bit of each byte
//! q · v ≈ (± q1 ± q2 ± …) / (|v1| + |v2| + …), with the signs of v
//! ```
//!
//! The query keeps its full precision, so the estimate is more accurate than one from two bit vectors. The estimate is
//! computed byte by byte, using a table, so it takes one addition per eight components on any machine.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use crate::guard::CleanText;
use crate::memory::MemoryId;
use crate::store::index::ranking::Seq;
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::row::rows;
use crate::store::{Database, NamespaceSubtree, StoreError, Writer};

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

/// The estimated cosine of a memory, and the memory's row number.
type Promise = (f32, i64);

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
        codes: &[Arc<Codes>],
        query: &[f32],
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<(i64, f64, MemoryId)>, StoreError> {
        let estimator = Estimator::new(query);
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

/// Returns the `count` most promising memories after `last`, best first.
fn most_promising(estimator: &Estimator, codes: &[Arc<Codes>], count: usize, last: Option<Promise>) -> Vec<Promise> {
    let mut best: Vec<Promise> = Vec::new();
    let mut bar: Option<Promise> = None;
    let mut found = |seq: i64, estimate: f32| {
        let promise = (estimate, seq);
        let is_new = last.is_none_or(|last| by_promise(&last, &promise) == Ordering::Less);
        if is_new && bar.is_none_or(|bar| by_promise(&promise, &bar) == Ordering::Less) {
            best.push(promise);
            // Discarding half of the entries from time to time is cheaper than keeping all of them sorted.
            if best.len() >= count.saturating_mul(2) {
                best.select_nth_unstable_by(count - 1, by_promise);
                best.truncate(count);
                bar = best.last().copied();
            }
        }
    };
    for codes in codes {
        estimator.each(codes, &mut found);
    }
    best.sort_by(by_promise);
    best.truncate(count);
    best
}

/// Orders by descending estimate, then by the time when the memories were learnt.
fn by_promise(a: &Promise, b: &Promise) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
}

/// Maximum number of codes in memory; at 384 dimensions, they use 250 MB. When the limit is exceeded, all cached codes
/// are dropped.
const MAX_KEPT: usize = 4_000_000;

/// Cached codes, indexed by namespace, for one model and one revision of the file.
#[derive(Debug, Default)]
pub(in crate::store) struct VectorCache {
    state: Option<(i64, i64)>,
    by_namespace: BTreeMap<String, Arc<Codes>>,
}

impl VectorCache {
    /// Returns the codes of `model_id` in the allowed namespaces, without duplicates; if no namespace is specified, the
    /// codes in all namespaces.
    fn codes(
        &mut self,
        conn: &Connection,
        (model_id, dimension): (i64, usize),
        allowed: &[NamespaceSubtree],
    ) -> Result<Vec<Arc<Codes>>, StoreError> {
        let revision = conn
            .prepare_cached("SELECT revision FROM vector_revision WHERE id = 1")?
            .query_row((), |row| row.get::<_, i64>(0))?;
        let kept: usize = self.by_namespace.values().map(|codes| codes.seqs.len()).sum();
        // Triggers count every change of the table, including changes by other processes, so equal counts mean equal
        // codes.
        if self.state != Some((model_id, revision)) || kept > MAX_KEPT {
            *self = Self { state: Some((model_id, revision)), by_namespace: BTreeMap::new() };
        }
        let mut found = Vec::new();
        for namespace in namespaces(conn, model_id, allowed)? {
            let codes = match self.by_namespace.get(&namespace) {
                Some(codes) => Arc::clone(codes),
                None => Arc::new(read(conn, model_id, dimension, &namespace)?),
            };
            self.by_namespace.insert(namespace, Arc::clone(&codes));
            found.push(codes);
        }
        Ok(found)
    }
}

/// Returns the allowed namespaces that have vectors, in order.
fn namespaces(conn: &Connection, model_id: i64, allowed: &[NamespaceSubtree]) -> Result<Vec<String>, StoreError> {
    let everywhere = [(String::new(), None)];
    let ranges: Vec<(String, Option<String>)> = allowed.iter().flat_map(ranges).collect();
    let mut found = std::collections::BTreeSet::new();
    // The query takes one step per namespace, because SQLite would read every row to list the distinct namespaces.
    let mut next = conn.prepare_cached(
        "SELECT namespace FROM vectors WHERE model_id = ?1 AND namespace >= ?2 ORDER BY namespace LIMIT 1",
    )?;
    for (first, end) in if allowed.is_empty() { &everywhere[..] } else { &ranges } {
        let mut from = first.clone();
        while let Some(namespace) = next.query_row(params![model_id, from], |row| row.get::<_, String>(0)).optional()? {
            if end.as_ref().is_some_and(|end| namespace >= *end) {
                break;
            }
            // The new text is the smallest text greater than `namespace`.
            from = format!("{namespace}\0");
            found.insert(namespace);
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the ranges of the names of allowed namespaces, each with its start and end.
fn ranges(within: &NamespaceSubtree) -> Vec<(String, Option<String>)> {
    match within {
        NamespaceSubtree::Exactly(namespace) => vec![(namespace.to_string(), Some(format!("{namespace}\0")))],
        NamespaceSubtree::Under(namespace) => vec![
            (namespace.to_string(), Some(format!("{namespace}\0"))),
            // '0' is the character after '/'.
            (format!("{namespace}/"), Some(format!("{namespace}0"))),
        ],
    }
}

fn read(conn: &Connection, model_id: i64, dimension: usize, namespace: &str) -> Result<Codes, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, code FROM vectors INDEXED BY vectors_by_namespace WHERE model_id = ?1 AND namespace = ?2",
    )?;
    let mut codes = Codes::default();
    let mut rows = statement.query(params![model_id, namespace])?;
    while let Some(row) = rows.next()? {
        let code = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        codes.push(row.get(0)?, code, dimension);
    }
    Ok(codes)
}

/// Number of bytes of the factor, which precedes the bits.
const FACTOR_BYTES: usize = 4;
/// Number of values that one byte of a code can have.
const BYTE_VALUES: usize = 256;

/// Returns the bytes of a vector.
pub(super) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns the dot product of `query` and a vector of the same dimension that is stored as bytes.
fn dot(query: &[f32], bytes: &[u8]) -> f64 {
    /// Number of separate sums, which the processor computes in parallel.
    const LANES: usize = 8;
    // The compiler may not reorder additions of floats, so a single sum would remain sequential.
    let mut sums = [0.0_f32; LANES];
    let (wide, narrow) = query.as_chunks::<LANES>();
    let (wide_bytes, narrow_bytes) = bytes.split_at((wide.len() * LANES * 4).min(bytes.len()));
    for (numbers, bytes) in wide.iter().zip(wide_bytes.as_chunks::<{ LANES * 4 }>().0) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let at = lane * 4;
            *sum += numbers[lane] * f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        }
    }
    let rest = narrow.iter().zip(narrow_bytes.as_chunks::<4>().0);
    let rest: f32 = rest.map(|(number, bytes)| number * f32::from_le_bytes(*bytes)).sum();
    f64::from(sums.iter().sum::<f32>() + rest)
}

/// Returns the vector normalised to length 1; `None` if it has no direction.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum::<f64>().sqrt();
    // The condition is written so that it rejects NaN as well.
    if !(length.is_finite() && length > 0.0) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "numbers are kept as f32")]
    Some(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

/// Returns the short form of a vector.
pub(super) fn code(vector: &[f32]) -> Vec<u8> {
    let sum: f32 = vector.iter().map(|number| number.abs()).sum();
    let factor = if sum > 0.0 { 1.0 / sum } else { 0.0 };
    factor.to_le_bytes().into_iter().chain(signs(vector)).collect()
}

fn signs(vector: &[f32]) -> impl Iterator<Item = u8> {
    let of_eight = |eight: &[f32]| {
        eight.iter().enumerate().fold(0_u8, |byte, (bit, number)| byte | (u8::from(*number > 0.0) << bit))
    };
    vector.chunks(8).map(of_eight)
}

/// Compressed vectors of one dimension, stored contiguously.
#[derive(Debug, Default, Clone)]
struct Codes {
    /// The memory that each code belongs to.
    seqs: Vec<i64>,
    factors: Vec<f32>,
    bits: Vec<u8>,
}

impl Codes {
    /// Adds a code for `dimension` components; a code of a different length is left out.
    fn push(&mut self, seq: i64, code: &[u8], dimension: usize) {
        if let Some((factor, bits)) = code.split_first_chunk::<FACTOR_BYTES>()
            && bits.len() == dimension.div_ceil(8)
        {
            // A code of a different length would shift all codes that follow it, because codes have no separators.
            self.seqs.push(seq);
            self.factors.push(f32::from_le_bytes(*factor));
            self.bits.extend_from_slice(bits);
        }
    }
}

/// Table of the amounts that each byte of a code adds to the estimate for one query.
#[derive(Debug)]
struct Estimator {
    tables: Vec<[i16; BYTE_VALUES]>,
    scale: f32,
}

impl Estimator {
    /// Returns the estimator for a query of length 1.
    fn new(query: &[f32]) -> Self {
        // A table entry is the sum of at most eight components.
        let most = query.chunks(8).map(|eight| eight.iter().map(|number| number.abs()).sum()).fold(0.0_f32, f32::max);
        // The entries have 16 bits, so that the tables for 384 components use 24 kB and fit in the processor's cache.
        let scale = if most > 0.0 { most / f32::from(i16::MAX) } else { 1.0 };
        let table = |eight: &[f32]| {
            let mut sums = [-eight.iter().sum::<f32>(); BYTE_VALUES];
            for byte in 1..BYTE_VALUES {
                // The entry equals the entry without the lowest bit, except that the component of this bit is added
                // instead of subtracted.
                let number = eight.get(byte.trailing_zeros() as usize).copied().unwrap_or_default();
                sums[byte] = sums[byte & (byte - 1)] + 2.0 * number;
            }
            #[expect(clippy::cast_possible_truncation, reason = "the scale keeps it within 16 bits")]
            sums.map(|sum| (sum / scale).round() as i16)
        };
        Self { tables: query.chunks(8).map(table).collect(), scale }
    }

    /// Calls `found` with each memory and its estimated cosine.
    fn each(&self, codes: &Codes, mut found: impl FnMut(i64, f32)) {
        if !self.tables.is_empty() {
            let rows = codes.bits.chunks_exact(self.tables.len());
            for ((bits, factor), seq) in rows.zip(&codes.factors).zip(&codes.seqs) {
                found(*seq, self.estimate(bits, *factor));
            }
        }
    }

    fn estimate(&self, bits: &[u8], factor: f32) -> f32 {
        let sum: i32 = bits.iter().zip(&self.tables).map(|(byte, table)| i32::from(table[usize::from(*byte)])).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let sum = sum as f32;
        sum * self.scale * factor
    }
}

#[cfg(test)]
mod nearest_tests {
    use super::*;

    /// Returns pseudo-random numbers that are the same in every run.
    fn drawn(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(i16::try_from(state >> 17).unwrap()) / 16_384.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn products_of_bytes_are_those_of_the_numbers() {
        for length in [0, 1, 7, 8, 9, 384, 385] {
            let (a, b) = (drawn(1, length), drawn(2, length));
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            assert!((dot(&a, &to_bytes(&b)) - exact).abs() < 1e-3, "{length}");
        }
    }

    #[test]
    fn units_have_length_one_and_nothing_has_none() {
        let unit_of = unit(&[3.0, 4.0]).unwrap();
        assert_eq!(unit_of, [0.6, 0.8]);
        for none in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert_eq!(unit(none), None, "{none:?}");
        }
    }

    #[test]
    fn a_code_holds_signs_and_how_far_they_are_off() {
        assert_eq!(code(&[0.5, -0.5, 0.0, 1.0]), [&0.5_f32.to_le_bytes()[..], &[0b1001]].concat());
        assert_eq!(code(&[0.0; 9]), [0; 6]);
    }

    #[test]
    fn estimates_are_near_the_cosines() {
        let query = unit(&drawn(7, 384)).unwrap();
        let vectors: Vec<Vec<f32>> = (0_u8..50)
            .map(|seed| {
                let noise = drawn(100 + u32::from(seed), 384);
                let mixed: Vec<f32> =
                    query.iter().zip(noise).map(|(q, n)| q * 4.0 + n * f32::from(seed) / 10.0).collect();
                unit(&mixed).unwrap()
            })
            .collect();
        let mut codes = Codes::default();
        for (seq, vector) in (0..).zip(&vectors) {
            codes.push(seq, &code(vector), 384);
        }
        codes.push(99, &[0; 3], 384);
        let mut seen = 0;
        Estimator::new(&query).each(&codes, |seq, estimate| {
            let exact = dot(&query, &to_bytes(&vectors[usize::try_from(seq).unwrap()]));
            assert!((f64::from(estimate) - exact).abs() < 0.15, "{seq}: {estimate} for {exact}");
            seen += 1;
        });
        assert_eq!(seen, 50);
    }
}

#[cfg(test)]
#[path = "vectors_tests.rs"]
mod tests;
