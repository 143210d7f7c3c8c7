//! Finding what is known: candidates from the store, ranked by one documented score.

pub mod brief;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::samples::{day, insert, memory};

    fn titles(store: &Store, query: &str, limit: usize) -> Vec<String> {
        let found = search(store, query, &Filter::default(), limit, day(2)).unwrap();
        found.into_iter().map(|found| found.memory.claim.title).collect()
    }

    #[test]
    fn of_equally_relevant_memories_the_important_and_the_recent_come_first() {
        let store = Store::in_memory().unwrap();
        let mut memories = ["plain", "important", "recent"].map(|title| memory(title, "The user drinks tea."));
        memories[1].claim.importance = 1.0;
        memories[2].updated_at = day(1);
        for memory in &mut memories {
            // Titles are indexed, and these three are not to differ in relevance.
            memory.claim.summary = Some("plain important recent".into());
            insert(&store, memory);
        }
        assert_eq!(titles(&store, "tea", 3), ["important", "recent", "plain"]);
        assert_eq!(titles(&store, "tea", 1), ["important"]);
        assert_eq!(titles(&store, "tea", 0), [""; 0]);
        assert_eq!(titles(&store, "coffee", 3), [""; 0]);
    }

    #[test]
    fn what_is_over_is_not_found_even_before_it_is_marked() {
        let store = Store::in_memory().unwrap();
        let mut over = memory("over", "The user drinks tea.");
        over.claim.expires_at = Some(day(1));
        insert(&store, &over);
        assert_eq!(titles(&store, "tea", 3), [""; 0]);
    }

    #[test]
    fn equal_hits_come_in_the_order_of_their_ids() {
        let store = Store::in_memory().unwrap();
        let mut memories = [1, 2, 3].map(|_| memory("Tea", "The user drinks tea."));
        memories.reverse();
        for memory in &memories {
            insert(&store, memory);
        }
        let found = search(&store, "Where is the tea?", &Filter::default(), 9, day(2)).unwrap();
        let ids: Vec<_> = found.iter().map(|found| &found.memory.id).collect();
        assert!(ids.is_sorted() && ids.len() == 3, "{ids:?}");
        assert_eq!(found[0].matched, ["tea"]);
        assert_eq!(found[0].highlight.marks.first(), Some(&(16..19)));
    }
}
