//! The search, whole and without each of its parts.

use super::{Asked, DEPTH, Turns};
use crate::eval::EvalError;
use crate::search::{Channel, Search, Weights};
use crate::store::Filter;

/// The search with some of its parts switched off.
#[derive(Debug, Clone)]
pub struct Ablation {
    /// What it is called in the table.
    pub name: &'static str,
    /// What is left on.
    pub weights: Weights,
    /// Whether turns come, too, that nothing found but a neighbour.
    pub with_beside: bool,
}

impl Default for Ablation {
    /// The whole search.
    fn default() -> Self {
        Self { name: "search", weights: Weights::default(), with_beside: true }
    }
}

/// Returns the whole search, then without each of its parts, then without all of them.
#[must_use]
pub fn ablations() -> Vec<Ablation> {
    let whole = Ablation::default();
    let with = |name, weights| Ablation { name, weights, ..whole.clone() };
    let weights = whole.weights;
    vec![
        whole.clone(),
        Ablation { name: "without what only a neighbour found", with_beside: false, ..whole.clone() },
        with("without neighbours", Weights { neighbours: 0.0, ..weights }),
        with("without speaker", Weights { speaker: 0.0, ..weights }),
        with("without date", Weights { date: 0.0, ..weights }),
        with("words alone", Weights { neighbours: 0.0, speaker: 0.0, date: 0.0, ..weights }),
    ]
}

/// Asks the search of the store, as `afterthought search` does where nothing is switched off, and returns the turns
/// behind what it finds.
///
/// # Errors
/// [`EvalError::Store`] if the store cannot be read.
pub fn searched(
    turns: &Turns,
    asked: &Asked,
    ablation: &Ablation,
    channels: &[Channel],
) -> Result<Vec<String>, EvalError> {
    let filter = Filter::exactly(std::slice::from_ref(&asked.namespace));
    let search = Search {
        limit: DEPTH,
        weights: ablation.weights,
        channels,
        with_beside: ablation.with_beside,
        ..Search::new(&asked.question, &filter, turns.now)
    };
    let found = search.run(&turns.store)?;
    Ok(found.iter().filter_map(|found| turns.turn_of(&found.memory.id).cloned()).collect())
}
