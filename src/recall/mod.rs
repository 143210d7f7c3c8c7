//! Finding what is known: candidates from the store, ranked by one documented score.

mod highlight;
mod rank;

use jiff::Timestamp;
use serde::Serialize;

use crate::memory::Memory;
use crate::store::{Database, Filter, Hit, StoreError};

pub use highlight::{Highlight, highlight};
pub use rank::{
    FULL_USE, RECENCY_HALF_LIFE_DAYS, WEIGHT_CONFIDENCE, WEIGHT_IMPORTANCE, WEIGHT_RECENCY, WEIGHT_RELEVANCE,
    WEIGHT_USE,
};
pub use rank::{Parts, Score, relevances, score};

/// How many candidates are ranked for each memory asked for.
const CANDIDATES_PER_RESULT: usize = 4;
/// Fewest candidates that are ranked.
const MIN_CANDIDATES: usize = 50;

/// A memory that bears on a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// How good a hit it is, with its parts.
    pub score: Score,
    /// Words of the query that stand in it; a hit on its evidence alone has none.
    pub matched: Vec<String>,
    /// The part of its content that shows why.
    pub highlight: Highlight,
}

/// Returns at most `limit` memories that pass `filter` and whose time is not over at `now`, best first; equally good
/// ones by their last change and then by id. Any text is a query.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn search(
    store: &Database,
    query: &str,
    filter: &Filter,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Found>, StoreError> {
    let filter = Filter { unexpired_at: Some(filter.unexpired_at.unwrap_or(now)), ..filter.clone() };
    let candidates = limit.saturating_mul(CANDIDATES_PER_RESULT).max(MIN_CANDIDATES);
    let mut found = ranked(store.search_candidates(query, &filter, candidates)?, now);
    found.truncate(limit);
    Ok(found)
}

/// Returns the hits with their scores, best first. Pure.
#[must_use]
pub fn ranked(hits: Vec<Hit>, now: Timestamp) -> Vec<Found> {
    let bm25: Vec<f64> = hits.iter().map(|hit| hit.bm25).collect();
    let mut found: Vec<Found> =
        hits.into_iter().zip(relevances(&bm25)).map(|(hit, relevance)| scored(hit, relevance, now)).collect();
    found.sort_by(|a, b| {
        let by_score = b.score.total.total_cmp(&a.score.total);
        let by_change = || b.memory.updated_at.cmp(&a.memory.updated_at);
        by_score.then_with(by_change).then_with(|| a.memory.id.cmp(&b.memory.id))
    });
    found
}

fn scored(hit: Hit, relevance: f64, now: Timestamp) -> Found {
    let Hit { memory, matched, .. } = hit;
    let parts = Parts {
        relevance,
        importance: memory.claim.importance,
        confidence: memory.claim.confidence,
        updated_at: memory.updated_at,
        access_count: memory.usage.access_count,
    };
    Found { score: score(&parts, now), highlight: highlight(&memory.claim.content, &matched), matched, memory }
}
