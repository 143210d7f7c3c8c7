//! What fits a query by itself: for agents, to whom a neighbour that holds no word of it is noise.

use jiff::Timestamp;

use super::vectors::{by_meaning, standing_out};
use super::{Found, Search, Weights};
use crate::embed::{EmbedError, QueryVectors};
use crate::memory::MemoryId;
use crate::store::{Database, Filter, StoreError};
use std::collections::HashSet;

/// What was found, and how.
#[derive(Debug, Default)]
pub struct Direct {
    /// The memories, best first.
    pub found: Vec<Found>,
    /// Those of all memories whose meaning is nearer to that of the query than that of the others by far.
    pub stand_out: HashSet<MemoryId>,
    /// Why the meaning was left out of account though vectors are configured.
    pub without_meaning: Option<EmbedError>,
}

/// Returns at most `limit` memories that pass `filter` and fit `query` by words or, where there are `vectors`, by meaning;
/// best first. The search is one by words where the vector of the query cannot be had in time.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn direct(
    store: &Database,
    query: &str,
    filter: &Filter,
    limit: usize,
    vectors: Option<&QueryVectors>,
    now: Timestamp,
) -> Result<Direct, StoreError> {
    let (channel, without_meaning) = match vectors.map(|by| by_meaning(by, store, query, filter, limit, now)) {
        None => (None, None),
        Some(Ok(channel)) => (channel, None),
        Some(Err(EmbedError::Store(error))) => return Err(error),
        Some(Err(error)) => (None, Some(error)),
    };
    let near = channel.as_ref().map(|channel| standing_out(&channel.scores)).unwrap_or_default();
    let stand_out = store.in_rows(&near)?.into_iter().map(|memory| memory.id).collect();
    let channels: Vec<_> = channel.into_iter().collect();
    let weights = Weights::default();
    let search = Search { limit, channels: &channels, weights, ..Search::new(query, filter, now) };
    let mut found = search.run(store)?;
    // Something is always nearest in meaning.
    found.retain(|hit| hit.fit.own(&weights) > 0.0);
    Ok(Direct { found, stand_out, without_meaning })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Evidence;
    use crate::store::Store;
    use crate::store::samples::{clean, day, memory, quote, write};

    #[test]
    fn what_was_only_said_beside_a_hit_is_left_out() {
        let store = Store::in_memory().unwrap();
        for (place, content) in
            ["The user drinks tea.", "The office moves in May.", "Tea comes from Assam."].iter().enumerate()
        {
            let evidence = Evidence { messages: vec![format!("m{place}")], ..quote(content) };
            write(&store, |w| w.insert(&clean(memory("", content)), &clean(vec![evidence])));
        }
        let filter = Filter::default();
        let contents = |limit| {
            let direct = direct(&store, "tea", &filter, limit, None, day(2)).unwrap();
            let mut contents: Vec<_> = direct.found.into_iter().map(|hit| hit.memory.claim.content).collect();
            contents.sort();
            contents
        };
        assert_eq!(contents(9), ["Tea comes from Assam.", "The user drinks tea."]);
        assert_eq!((contents(1).len(), contents(0).len()), (1, 0));
    }
}
