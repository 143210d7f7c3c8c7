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
/// Short forms whose signs are looked at that are estimated at least: so many for each whole vector that is read, and
/// one of so many of all.
const ESTIMATED_PER_READ: usize = 16;
const ESTIMATED_OF_ALL: usize = 32;
/// How many times as many there must be for that.
const WORTH_IT: usize = 4;

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
    /// The filter is kept exactly. Of what passes it, only the most promising are scored, three quarters of `LEAST_READ`
    /// at least.
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

    /// Returns the most promising of what passes the filter, by its place in the file and with its cosine.
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
        if let Some(places) = like_in_signs(&estimator, codes, taken) {
            let promising = most_promising(&estimator, codes, Some(&places), taken, None);
            let scored = self.scored_by_direction(query, &promising, filter)?;
            if scored.len() >= enough {
                return Ok(scored);
            }
        }
        let (mut last, mut scored) = (None, Vec::new());
        loop {
            let promising = most_promising(&estimator, codes, None, taken, last);
            last = promising.last().copied();
            scored.extend(self.scored_by_direction(query, &promising, filter)?);
            if promising.len() < taken || scored.len() >= enough {
                return Ok(scored);
            }
            taken = taken.saturating_mul(GROWTH);
        }
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
        // In the order in which they lie in the file.
        let mut rows: Vec<i64> = promising.iter().map(|(_, seq)| *seq).collect();
        rows.sort_unstable();
        let listed = Value::from(json_of(rows.into_iter()));
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

/// Returns the places of the codes whose signs are most often those of the query, where there are so many that it pays to
/// look at these first: of each of `codes`, in order.
fn like_in_signs(estimator: &Estimator, codes: &[Arc<Codes>], count: usize) -> Option<Vec<Vec<u32>>> {
    let all: usize = codes.iter().map(|codes| codes.seqs.len()).sum();
    let wanted = count.saturating_mul(ESTIMATED_PER_READ).max(all / ESTIMATED_OF_ALL);
    if all / WORTH_IT < wanted {
        return None;
    }
    let differing: Vec<Vec<u16>> = codes.iter().map(|codes| codes.differing(&estimator.signs).collect()).collect();
    let mut by_difference = vec![0; estimator.signs.len() * 8 + 1];
    differing.iter().flatten().for_each(|bits| by_difference[usize::from(*bits)] += 1);
    let mut seen = 0;
    let most = by_difference.iter().position(|codes| {
        seen += codes;
        seen >= wanted
    })?;
    let places = |differing: &Vec<u16>| {
        (0..).zip(differing).filter(|(_, bits)| usize::from(**bits) <= most).map(|(place, _)| place).collect()
    };
    Some(differing.iter().map(places).collect())
}

/// Returns the `count` memories that promise most after `last`, the best first; of those at `places` where these are told.
fn most_promising(
    estimator: &Estimator,
    codes: &[Arc<Codes>],
    places: Option<&[Vec<u32>]>,
    count: usize,
    last: Option<Promise>,
) -> Vec<Promise> {
    let mut best: Vec<Promise> = Vec::new();
    let mut bar: Option<Promise> = None;
    let mut found = |seq: i64, estimate: f32| {
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
    };
    for (at, codes) in codes.iter().enumerate() {
        match places {
            Some(places) => estimator.each_of(codes, &places[at], &mut found),
            None => estimator.each(codes, &mut found),
        }
    }
    best.sort_by(by_promise);
    best.truncate(count);
    best
}

/// The higher estimate first, then what was learnt first.
fn by_promise(a: &Promise, b: &Promise) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
}
