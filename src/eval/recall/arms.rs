//! The search, whole and without each of its parts.

use super::{Asked, DEPTH, Turns};
use crate::eval::EvalError;
use crate::recall::{Channel, Search, Weights};
use crate::store::Filter;

/// The search with some of its parts switched off.
#[derive(Debug, Clone)]
pub struct Ablation {
    /// What it is called in the table.
    pub name: &'static str,
    /// What is left on.
    pub weights: Weights,
}

/// Returns the whole search, then without each of its parts, then without all of them.
#[must_use]
pub fn ablations() -> Vec<Ablation> {
    let whole = Weights::default();
    let bare = Weights { neighbours: 0.0, speaker: 0.0, date: 0.0, ..whole };
    vec![
        Ablation { name: "search", weights: whole },
        Ablation { name: "without neighbours", weights: Weights { neighbours: 0.0, ..whole } },
        Ablation { name: "without speaker", weights: Weights { speaker: 0.0, ..whole } },
        Ablation { name: "without date", weights: Weights { date: 0.0, ..whole } },
        Ablation { name: "words alone", weights: bare },
    ]
}

/// Asks the search of the store, as `afterthought search` does, and returns the turns behind what it finds.
///
/// # Errors
/// [`EvalError::Store`] if the store cannot be read.
pub fn searched(
    turns: &Turns,
    asked: &Asked,
    weights: Weights,
    channels: &[Channel],
) -> Result<Vec<String>, EvalError> {
    let filter = Filter::exactly(std::slice::from_ref(&asked.namespace));
    let search = Search { limit: DEPTH, weights, channels, ..Search::new(&asked.question, &filter, turns.now) };
    let found = search.run(&turns.store)?;
    Ok(found.iter().filter_map(|found| turns.turn_of(&found.memory.id).cloned()).collect())
}
