//! Finding memories by direction.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::types::Value;

use super::code::{self, Codes, Estimator};
use super::{Database, StoreError, VectorModel};
use crate::memory::MemoryId;
use crate::store::filter::{Clauses, Filter};
use crate::store::ranking::Seq;

/// Whole vectors that are read for each memory asked for.
const READ_PER_RESULT: usize = 2;
/// Whole vectors that are read at least, where there are so many.
const LEAST_READ: usize = 256;
/// How many more are taken in each further round, where the filter has left too few.
const GROWTH: usize = 4;

/// A memory and how near it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// The memory.
    pub id: MemoryId,
    /// Its row.
    pub seq: Seq,
    /// Cosine between its vector and the query's, -1–1.
    pub cosine: f64,
}

/// A memory by its place in the file, and the estimate of its cosine.
type Promise = (f32, i64);

impl Database {
    /// Returns at most `limit` memories that pass `filter`, the nearest to `query` first; equally near ones in the order
    /// in which they were learnt. Those without a vector of `model` are not found.
    ///
    /// The filter is kept exactly. Of what passes it, only the most promising are scored, `LEAST_READ` at least.
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
        let Some((model_id, query)) = self.ready(model, query)?.filter(|_| limit > 0) else { return Ok(Vec::new()) };
        let codes =
            self.read(|conn| self.vectors.borrow_mut().codes(conn, (model_id, model.dimension), &filter.namespaces))?;
        let estimator = Estimator::new(&query);
        let enough = limit.saturating_mul(READ_PER_RESULT).max(LEAST_READ);
        let (mut taken, mut last, mut scored) = (enough, None, Vec::new());
        loop {
            let promising = most_promising(&estimator, &codes, taken, last);
            last = promising.last().copied();
            scored.extend(self.scored_by_direction(&query, &promising, filter)?);
            if promising.len() < taken || scored.len() >= enough {
                break;
            }
            taken = taken.saturating_mul(GROWTH);
        }
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        scored.truncate(limit);
        Ok(scored.into_iter().map(|(seq, cosine, id)| Near { id, seq: Seq(seq), cosine }).collect())
    }

    /// Returns how near each of `ids` is to `query`, in their order; `None` for one without a vector of `model`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn cosines(
        &self,
        model: &VectorModel,
        query: &[f32],
        ids: &[MemoryId],
    ) -> Result<Vec<Option<f64>>, StoreError> {
        let Some((model_id, query)) = self.ready(model, query)? else { return Ok(vec![None; ids.len()]) };
        self.read(|conn| {
            let listed = json_of(ids.iter().map(MemoryId::as_str));
            let mut statement = conn.prepare_cached(
                "SELECT m.id, v.vector FROM json_each(?1) j CROSS JOIN memories m ON m.id = j.value
                 CROSS JOIN vectors v ON v.seq = m.seq WHERE v.model_id = ?2",
            )?;
            let mut found = HashMap::new();
            let mut rows = statement.query(rusqlite::params![listed, model_id])?;
            while let Some(row) = rows.next()? {
                found.insert(row.get::<_, String>(0)?, product(&query, row, 1)?);
            }
            Ok(ids.iter().map(|id| found.get(id.as_str()).copied()).collect())
        })
    }

    /// Returns the model's number and the query at length 1; `None` where nothing can be near.
    fn ready(&self, model: &VectorModel, query: &[f32]) -> Result<Option<(i64, Vec<f32>)>, StoreError> {
        let unit = code::unit(query).filter(|unit| unit.len() == model.dimension);
        Ok(self.model_id(model)?.zip(unit))
    }

    /// Returns those that pass the filter, with their place in the file and their cosine.
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
        let listed = Value::from(json_of(promising.iter().map(|(_, seq)| *seq)));
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement
                .query_map(rusqlite::params_from_iter(std::iter::once(listed).chain(clauses.values)), |row| {
                    Ok((row.get(0)?, product(query, row, 1)?, MemoryId::from_stored(row.get::<_, String>(2)?)))
                })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

fn product(query: &[f32], row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<f64> {
    Ok(code::dot(query, row.get_ref(index)?.as_blob()?))
}

fn json_of<T: serde::Serialize>(values: impl Iterator<Item = T>) -> String {
    serde_json::to_string(&values.collect::<Vec<_>>()).expect("numbers and texts have a JSON form")
}

/// Returns the `count` memories that promise most after `last`, the best first.
fn most_promising(estimator: &Estimator, codes: &[Arc<Codes>], count: usize, last: Option<Promise>) -> Vec<Promise> {
    let mut best: Vec<Promise> = Vec::new();
    let mut bar: Option<Promise> = None;
    for codes in codes {
        estimator.each(codes, |seq, estimate| {
            let promise = (estimate, seq);
            let is_new = last.is_none_or(|last| by_promise(&last, &promise) == Ordering::Less);
            if is_new && bar.is_none_or(|bar| by_promise(&promise, &bar) == Ordering::Less) {
                best.push(promise);
                // Sorting out now and then is cheaper than to keep an order.
                if best.len() >= count.saturating_mul(2) {
                    best.select_nth_unstable_by(count - 1, by_promise);
                    best.truncate(count);
                    bar = best.last().copied();
                }
            }
        });
    }
    best.sort_by(by_promise);
    best.truncate(count);
    best
}

/// The higher estimate first, then what was learnt first.
fn by_promise(a: &Promise, b: &Promise) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
}
