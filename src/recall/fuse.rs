//! Bringing what several ways of looking found into one number. Pure.
//!
//! All weights were fixed before anything was measured and are the same for every store; none is fitted.

use crate::memory::MemoryId;

/// Weight of the words beside channels, and of each channel beside the words.
pub const WEIGHT_WORDS: f64 = 0.5;
/// What a memory gets of each neighbour in its conversation, in parts of that neighbour's own match.
pub const WEIGHT_NEIGHBOURS: f64 = 0.3;
/// What it gets when the query names who said it.
pub const WEIGHT_SPEAKER: f64 = 0.1;
/// What it gets when it is of the time that the query names, or tells a time that the query asks for.
pub const WEIGHT_DATE: f64 = 0.2;

/// What another way of looking than by words found, such as vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Channel {
    /// What it is called in explanations, e.g. `vectors`.
    pub name: String,
    /// The memories it found, each once, with a number that is greater the better it fits; in any unit and order.
    /// Those that the filter leaves out are dropped by the search.
    pub scores: Vec<(MemoryId, f64)>,
}

/// How much each part counts; 0 switches it off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Words beside channels, see [`WEIGHT_WORDS`].
    pub words: f64,
    /// Each channel beside the words.
    pub channels: f64,
    /// See [`WEIGHT_NEIGHBOURS`].
    pub neighbours: f64,
    /// See [`WEIGHT_SPEAKER`].
    pub speaker: f64,
    /// See [`WEIGHT_DATE`].
    pub date: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: WEIGHT_WORDS,
            channels: WEIGHT_WORDS,
            neighbours: WEIGHT_NEIGHBOURS,
            speaker: WEIGHT_SPEAKER,
            date: WEIGHT_DATE,
        }
    }
}

/// Returns `scores` between 0 and 1: the best is 1, the worst 0, the others in proportion. Where all are equal, all are 1.
#[must_use]
pub fn spread(scores: &[f64]) -> Vec<f64> {
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let worst = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let range = best - worst;
    scores.iter().map(|score| if range > 0.0 { (score - worst) / range } else { 1.0 }).collect()
}
