//! Standing instructions and preferences, which apply to every request.
//!
//! A question about a deployment shares no words with "always answer in German", so a similarity search would not find
//! these memories. They are retrieved separately, and the query determines only their order.

use std::collections::HashMap;

use jiff::Timestamp;

use super::rank::{Parts, score};
use super::search::forms;
use super::{Found, QueryFit, highlight, unexpired};
use crate::lifecycle::decay::{Certainty, HalfLives};
use crate::memory::{Memory, MemoryId};
use crate::store::{Database, Filter, Order, Seq, StoreError};

/// Categories of memories that apply to every request. Pinned memories also apply to every request.
pub(crate) const STANDING: &[&str] = &["preference", "convention", "profile", "workflow"];
/// Maximum number of memories that are ranked.
const CANDIDATES: usize = 200;

/// Returns at most `limit` memories that pass `filter` and are pinned or in a category of [`STANDING`], best first by
/// the score of a search. Equally good memories are sorted by their last change and then by id. `query` may be empty.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn standing(
    store: &Database,
    query: &str,
    filter: &Filter,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Found>, StoreError> {
    let filter = unexpired(filter, now);
    let asked_for =
        |category: &&str| filter.categories.is_empty() || filter.categories.iter().any(|one| one == category);
    let categories: Vec<String> = STANDING.iter().copied().filter(|one| asked_for(one)).map(str::to_owned).collect();
    store.at_once(|store| {
        // Two lists are read, because one filter cannot express "pinned or in these categories".
        let pinned = Filter { pinned: Some(filter.pinned.unwrap_or(true)), ..filter.clone() };
        let mut memories = store.list(&pinned, Order::Importance, CANDIDATES, 0)?;
        if !categories.is_empty() {
            let of_category = Filter { categories: categories.clone(), ..filter.clone() };
            memories.extend(store.list(&of_category, Order::Importance, CANDIDATES, 0)?);
        }
        // With a filter for unpinned memories, the first list would contain memories of every category.
        memories.retain(|memory| memory.pinned || STANDING.contains(&memory.claim.category.as_str()));
        // A pinned preference is in both lists, and `dedup_by` removes only adjacent duplicates.
        memories.sort_by(|a, b| a.id.cmp(&b.id));
        memories.dedup_by(|a, b| a.id == b.id);
        let words = words(store, query, &filter)?;
        let mut found: Vec<Found> = memories.into_iter().map(|memory| found(query, memory, &words, now)).collect();
        found.sort_by(|a, b| {
            let by_score = b.score.total.total_cmp(&a.score.total);
            by_score
                .then_with(|| b.memory.updated_at.cmp(&a.memory.updated_at))
                .then_with(|| a.memory.id.cmp(&b.memory.id))
        });
        found.truncate(limit);
        Ok(found)
    })
}

/// Returns how well the memories that contain words of the query match it, between 0 and 1.
fn words(store: &Database, query: &str, filter: &Filter) -> Result<HashMap<MemoryId, f64>, StoreError> {
    let hits = if query.trim().is_empty() { Vec::new() } else { store.word_hits(query, filter, CANDIDATES)? };
    let best = hits.iter().map(|hit| hit.score).fold(0.0, f64::max);
    let rows: Vec<Seq> = hits.iter().map(|hit| hit.seq).collect();
    let scores: HashMap<Seq, f64> = hits.into_iter().map(|hit| (hit.seq, hit.score)).collect();
    let share = |seq: Seq| scores.get(&seq).map_or(0.0, |score| if best > 0.0 { score / best } else { 0.0 });
    Ok(store.ranked_rows(&rows, filter)?.into_iter().map(|memory| (memory.id, share(memory.seq))).collect())
}

fn found(query: &str, memory: Memory, words: &HashMap<MemoryId, f64>, now: Timestamp) -> Found {
    let words = words.get(&memory.id).copied().unwrap_or_default();
    let parts = Parts {
        relevance: words,
        importance: memory.claim.importance,
        confidence: Certainty::from(&memory).at(&HalfLives::default(), now),
        updated_at: memory.updated_at,
        access_count: memory.usage.access_count,
    };
    let matched = Database::words_in(query, &memory);
    Found {
        score: score(&parts, now),
        fit: QueryFit { total: words, words, ..QueryFit::default() },
        highlight: highlight(&memory.claim.content, &forms(&matched, &memory.claim.content)),
        said_at: None,
        said_source: None,
        freshness: Vec::new(),
        quote: None,
        match_share: 0.0,
        related: Vec::new(),
        matched,
        memory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::testing::{day, insert, memory};

    #[test]
    fn what_holds_whatever_is_asked_comes_without_any_word_in_common() {
        let store = Store::in_memory().unwrap();
        let mut german = memory("german", "Always answer in German.");
        german.claim.category = "preference".into();
        let mut tabs = memory("tabs", "The project indents with tabs.");
        tabs.claim.category = "convention".into();
        let mut pinned = memory("pinned", "The launch is on 2027-01-01.");
        pinned.pinned = true;
        let mut over = memory("over", "Answers are short this week.");
        over.claim.category = "preference".into();
        over.claim.expires_at = Some(day(1));
        for memory in [&german, &tabs, &pinned, &over, &memory("fact", "The deploy target is Fly.")] {
            insert(&store, memory);
        }
        let titles = |query: &str, filter: &Filter, limit| {
            let found = standing(&store, query, filter, limit, day(2)).unwrap();
            found.into_iter().map(|found| found.memory.claim.title).collect::<Vec<_>>()
        };
        let any = Filter::default();
        assert_eq!(titles("where do we deploy?", &any, 9).len(), 3);
        assert_eq!(titles("do we use tabs?", &any, 1), ["tabs"]);
        let preferences = Filter { categories: vec!["preference".into()], ..Filter::default() };
        assert_eq!(titles("", &preferences, 9), ["german"]);
        assert_eq!(titles("", &any, 0), [""; 0]);
    }
}
