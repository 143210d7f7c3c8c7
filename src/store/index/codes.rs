//! Arithmetic on vectors: their bytes, lengths and products, and their short forms, which serve to estimate cosines.
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

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::{NamespaceSubtree, StoreError};

/// The estimated cosine of a memory, and the memory's row number.
pub(super) type Promise = (f32, i64);

/// Returns the `count` most promising memories after `last`, best first.
pub(super) fn most_promising(
    estimator: &EstimateTable,
    codes: &[Arc<ShortForms>],
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
    by_namespace: BTreeMap<String, Arc<ShortForms>>,
}

impl VectorCache {
    /// Returns the codes of `model_id` in the allowed namespaces, without duplicates; if no namespace is specified, the
    /// codes in all namespaces.
    pub(super) fn codes(
        &mut self,
        conn: &Connection,
        (model_id, dimension): (i64, usize),
        allowed: &[NamespaceSubtree],
    ) -> Result<Vec<Arc<ShortForms>>, StoreError> {
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

fn read(conn: &Connection, model_id: i64, dimension: usize, namespace: &str) -> Result<ShortForms, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, code FROM vectors INDEXED BY vectors_by_namespace WHERE model_id = ?1 AND namespace = ?2",
    )?;
    let mut codes = ShortForms::default();
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
pub(super) fn dot(query: &[f32], bytes: &[u8]) -> f64 {
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
pub(super) struct ShortForms {
    /// The memory that each code belongs to.
    seqs: Vec<i64>,
    factors: Vec<f32>,
    bits: Vec<u8>,
}

impl ShortForms {
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
pub(super) struct EstimateTable {
    tables: Vec<[i16; BYTE_VALUES]>,
    scale: f32,
}

impl EstimateTable {
    /// Returns the estimator for a query of length 1.
    pub(super) fn new(query: &[f32]) -> Self {
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
    fn each(&self, codes: &ShortForms, mut found: impl FnMut(i64, f32)) {
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
        let mut codes = ShortForms::default();
        for (seq, vector) in (0..).zip(&vectors) {
            codes.push(seq, &code(vector), 384);
        }
        codes.push(99, &[0; 3], 384);
        let mut seen = 0;
        EstimateTable::new(&query).each(&codes, |seq, estimate| {
            let exact = dot(&query, &to_bytes(&vectors[usize::try_from(seq).unwrap()]));
            assert!((f64::from(estimate) - exact).abs() < 0.15, "{seq}: {estimate} for {exact}");
            seen += 1;
        });
        assert_eq!(seen, 50);
    }
}
