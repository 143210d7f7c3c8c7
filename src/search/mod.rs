//! Search: candidates from the store, ranked by one documented score.
//!
//! ```text
//! query ─▶ words ─┐
//!       ─▶ other channels ─┴▶ own fit ─▶ + neighbours + conversation + speaker + date = fit ─▶ relevance ─┐
//! memory ─▶ importance, confidence, recency, use ─────────────────────────────────────────────────────────┴▶ score
//! ```

pub mod brief;
mod rank;
#[expect(clippy::module_inception, reason = "the stage has the name of its main file")]
mod search;
mod standing;
mod tasks;
mod vectors;
mod when;

use jiff::Timestamp;
use serde::Serialize;
use transcripts::TimeSource;

use crate::memory::{Memory, Status};
use crate::project::Freshness;
use crate::store::{Database, Filter, StoreError};

pub use rank::{Channel, QueryFit, Weights};
pub(crate) use rank::{
    Parts, RECENCY_HALF_LIFE_DAYS, Score, WEIGHT_CONFIDENCE, WEIGHT_IMPORTANCE, WEIGHT_RECENCY, WEIGHT_RELEVANCE,
    WEIGHT_USE, score,
};
pub use search::Search;
pub(crate) use search::{Direct, Highlight, Related, direct, direct_with, highlight, match_share};
pub(crate) use standing::standing;
pub use tasks::{FoundTask, TaskScore};
pub(crate) use tasks::{search_tasks, tasks_about};
pub(crate) use vectors::by_meaning;
pub use vectors::by_vectors;

/// A memory that is relevant to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// The score of the hit, with its components.
    pub score: Score,
    /// How well the memory matches the query, with its components.
    pub fit: QueryFit,
    /// Words of the query that appear in the memory; none if only its evidence or its neighbours match.
    pub matched: Vec<String>,
    /// The share of the words of the query that occur in the memory or in its evidence, between 0 and 1. Unlike the
    /// score, it does not depend on the other results.
    pub match_share: f64,
    /// The part of the memory's content that shows the match.
    pub highlight: Highlight,
    /// The supporting quote, if words of the query occur in the quote but not in the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Highlight>,
    /// Memories that this memory is linked to, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// The time of the latest evidence; `None` if no evidence has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_at: Option<Timestamp>,
    /// The source of that time; `file` means that the log contains no times, and its file was written at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_source: Option<TimeSource>,
    /// The current state of the paths, symbols and commits that the memory mentions, if they were compared with the
    /// repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freshness: Vec<Freshness>,
}

/// Returns at most `limit` memories that pass `filter` and have not expired at `now`, best first, for a text that
/// mentions no time, such as a path, a command or an error. [`Search`] offers more options, and reads dates.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn search(
    store: &Database,
    query: &str,
    filter: &Filter,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Found>, StoreError> {
    // The patterns of dates take longer to compile than such a search takes.
    let weights = Weights { date: 0.0, ..Weights::default() };
    Search { limit, weights, ..Search::new(query, filter, now) }.run(store)
}

/// Returns the filter with the condition that memories have not expired at `now`, unless the filter selects expired
/// memories or specifies the time at which memories must not have expired.
pub(crate) fn unexpired(filter: &Filter, now: Timestamp) -> Filter {
    // Maintenance marks expired memories later. Until then, their status is still active.
    let selects_expired = filter.statuses.is_empty() || filter.statuses.contains(&Status::Expired);
    let default = (!selects_expired).then_some(now);
    Filter { unexpired_at: filter.unexpired_at.or(default), ..filter.clone() }
}

/// Returns whether `query`, in lower case, contains a part of `name` with at least two letters as a whole word.
fn named(query: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = query.split(|c: char| !c.is_alphanumeric());
    // An initial such as the `J` of `J. Smith` would match unrelated words of a query.
    let parts: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|part| part.chars().nth(1).is_some()).collect();
    words.any(|word| parts.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::testing::{day, insert, memory};

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
            // Titles are indexed, so the three memories must not differ in relevance.
            memory.claim.summary = Some("plain important recent".into());
            insert(&store, memory);
        }
        assert_eq!(titles(&store, "tea", 3), ["important", "recent", "plain"]);
        assert_eq!(titles(&store, "tea", 1), ["important"]);
        assert_eq!(titles(&store, "tea", 0), [""; 0]);
        assert_eq!(titles(&store, "coffee", 3), [""; 0]);
    }

    #[test]
    fn what_fades_fast_comes_after_what_lasts() {
        let store = Store::in_memory().unwrap();
        let mut memories = ["happened", "lasts"].map(|title| memory(title, "The user drinks tea."));
        memories[0].claim.memory_type = crate::memory::MemoryType::Episodic;
        for memory in &mut memories {
            memory.claim.summary = Some("happened lasts".into());
            insert(&store, memory);
        }
        let found = search(&store, "tea", &Filter::default(), 2, day(60)).unwrap();
        let told: Vec<_> = found.iter().map(|hit| (hit.memory.claim.title.as_str(), hit.score.confidence)).collect();
        assert_eq!(told[0].0, "lasts", "{told:?}");
        let kept = memories[0].claim.confidence;
        assert!((told[1].1 - kept / 4.0).abs() < 1e-9, "two half-lives of what happened: {told:?}");
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

#[cfg(test)]
mod finding_tests;
