//! What lies in the direction of a query, as a channel of the search.

use jiff::Timestamp;

use super::{Channel, unexpired};
use crate::store::{Database, Filter, StoreError, VectorModel};

/// What the channel is called in explanations.
const NAME: &str = "vectors";
/// Memories that it names for each that is asked for.
const PER_RESULT: usize = 4;
/// Fewest that it names, where there are so many: as many as the words do.
const LEAST: usize = 200;

/// Returns the memories that pass `filter`, and are not over at `now`, nearest to `query`, with their cosines; so many
/// that a search for `limit` can choose among them. Those without a vector of `model` are left to the other channels.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn by_vectors(
    store: &Database,
    (model, query): (&VectorModel, &[f32]),
    filter: &Filter,
    limit: usize,
    now: Timestamp,
) -> Result<Channel, StoreError> {
    let filter = unexpired(filter, now);
    let near = store.nearest(model, query, &filter, limit.saturating_mul(PER_RESULT).max(LEAST))?;
    Ok(Channel { name: NAME.to_owned(), scores: near.into_iter().map(|near| (near.seq, near.cosine)).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::Search;
    use crate::store::samples::{day, insert, memory, write};
    use crate::store::{NewVector, Store};

    #[test]
    fn what_no_word_names_is_found_by_its_direction_unless_it_is_over() {
        let store = Store::in_memory().unwrap();
        let model = VectorModel { name: "m".into(), dimension: 2 };
        let mut over = memory("Mate", "The user drinks mate.");
        over.claim.expires_at = Some(day(1));
        let memories = [memory("Tea", "The user drinks tea."), memory("Rust", "The user writes Rust."), over];
        memories.iter().for_each(|memory| insert(&store, memory));
        for waiting in store.without_vector(&model, None, 9).unwrap() {
            let vector = if waiting.title == "Rust" { [0.0, 1.0] } else { [1.0, 0.1] };
            let vector = [NewVector { of: &waiting, vector: &vector }];
            write(&store, |w| w.put_vectors(&model, &vector));
        }
        let filter = Filter::default();
        let channel = by_vectors(&store, (&model, &[1.0, 0.0]), &filter, 5, day(2)).unwrap();
        let rows: Vec<_> = channel.scores.iter().map(|(row, _)| *row).collect();
        let found: Vec<_> = store.in_rows(&rows).unwrap().into_iter().map(|memory| memory.id).collect();
        assert_eq!(found, [memories[0].id.clone(), memories[1].id.clone()]);
        let channels = [channel];
        let search = Search { channels: &channels, ..Search::new("beverage", &filter, day(2)) };
        let found = search.run(&store).unwrap();
        assert_eq!(found[0].memory.claim.title, "Tea");
        assert!((found[0].fit.channels["vectors"] - 1.0).abs() < 1e-9, "{:?}", found[0].fit);
    }
}
