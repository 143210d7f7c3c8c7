//! Search by meaning: the channel of memories whose vectors are near that of the query.

use jiff::Timestamp;

use super::{Channel, unexpired};
use crate::embed::{EmbedError, QueryVectors};
use crate::store::{Database, Filter, StoreError, VectorModel};

/// Name of the channel in explanations.
const NAME: &str = "vectors";
/// Number of memories that the channel returns for each requested memory.
const PER_RESULT: usize = 4;
/// Minimum number of memories that the channel returns, if the store has enough.
const LEAST: usize = 200;

/// Returns the memories nearest to `query` that pass `filter` and have not expired at `now`, with their cosines. The
/// number is sufficient for a search that returns `limit` memories. Memories without a vector of `model` can be found
/// only by other channels.
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

/// Minimum number of compared memories at which any of them can stand out.
// The median of fewer values is not representative.
const MIN_TO_COMPARE: usize = 5;
/// Maximum number of memories that can stand out.
const MAX_STANDING_OUT: usize = 5;
/// A memory stands out if its cosine covers at least this share of the distance from the usual cosine to 1. The usual
/// cosine depends on the model: two unrelated texts may have a cosine of 0.1 with one model and 0.7 with another.
const STANDS_OUT: f64 = 0.3;

/// Returns the channel of the memories that are close to a query in meaning, or `None` if there are no vectors to
/// compare with.
///
/// # Errors
/// [`EmbedError`] if the vector of the query is not available in time, or the file cannot be read.
pub(crate) fn by_meaning(
    vectors: &QueryVectors,
    store: &Database,
    query: &str,
    filter: &Filter,
    limit: usize,
    now: Timestamp,
) -> Result<Option<Channel>, EmbedError> {
    let Some(query) = vectors.vector(store, query)? else { return Ok(None) };
    Ok(Some(by_vectors(store, (&query.model, &query.vector), filter, limit, now)?))
}

/// Returns the entries that are much closer to the query than is usual among `cosines`, closest first.
pub(super) fn standing_out<T: Copy + Ord>(cosines: &[(T, f64)]) -> Vec<T> {
    let mut sorted: Vec<(T, f64)> = cosines.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    // The median is used instead of the mean, so that a few very close memories do not raise their own threshold.
    let Some(usual) = sorted.get(sorted.len() / 2).map(|(_, cosine)| *cosine).filter(|usual| *usual < 1.0) else {
        return Vec::new();
    };
    if sorted.len() < MIN_TO_COMPARE {
        return Vec::new();
    }
    // The cosine is relative to the remaining distance to 1, because the range of cosines differs between models.
    let stands_out = |cosine: f64| (cosine - usual) / (1.0 - usual) >= STANDS_OUT;
    let best = sorted.into_iter().take(MAX_STANDING_OUT).filter(|(_, cosine)| stands_out(*cosine));
    best.map(|(one, _)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_far_from_the_usual_stands_out_whatever_the_model_calls_near() {
        let out = |cosines: &[f64]| {
            let numbered: Vec<_> = cosines.iter().copied().enumerate().collect();
            standing_out(&numbered).into_iter().map(|at| cosines[at]).collect::<Vec<_>>()
        };
        assert_eq!(out(&[0.55, 0.12, 0.1, 0.05, 0.08]), [0.55]);
        assert_eq!(out(&[0.72, 0.9, 0.71, 0.7, 0.69]), [0.9]);
        assert_eq!(out(&[0.3, 0.12, 0.1, 0.05, 0.08]), [0.0; 0], "near, but not by far");
        assert_eq!(out(&[0.9, 0.1, 0.1]), [0.0; 0], "too few to tell what is usual");
        assert_eq!(out(&[1.0; 6]), [0.0; 0]);
        assert_eq!(out(&[]), [0.0; 0]);
        assert_eq!(out(&[[0.9; 8].as_slice(), &[0.1; 9]].concat()).len(), MAX_STANDING_OUT);
    }
    use crate::search::Search;
    use crate::store::testing::{day, insert, memory, write};
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
        assert_eq!(store.vector_of(&memories[1].id).unwrap(), Some(vec![0.0, 1.0]));
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
