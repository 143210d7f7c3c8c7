//! Bringing what several ways of looking found into one number. Pure.
//!
//! All weights were fixed before anything was measured and are the same for every store; none is fitted.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::store::Seq;

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
    /// Looked for with the filter of the search; it drops those that the filter leaves out, but they take the places
    /// of others.
    pub scores: Vec<(Seq, f64)>,
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

/// How well a memory fits a query, with its parts; all but `total` and `neighbours` lie between 0 and 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Fit {
    /// The weighted sum, see [`Weights`].
    pub total: f64,
    /// The words: BM25 in parts of that of the best, 0 for one without any.
    pub words: f64,
    /// The channels, each between its worst and its best; 0 for what it did not find.
    pub channels: BTreeMap<String, f64>,
    /// What the neighbours in its conversation come to together, the two best of them.
    pub neighbours: f64,
    /// Whether the query names who said it.
    pub speaker: f64,
    /// How well its time fits.
    pub date: f64,
}

impl Fit {
    /// Returns what the words and the channels come to without anything around them, between 0 and 1.
    #[must_use]
    pub fn own(&self, weights: &Weights) -> f64 {
        let channels = self.channels.values().map(|score| (weights.channels, *score));
        let parts: Vec<(f64, f64)> = channels.chain([(weights.words, self.words)]).collect();
        let whole: f64 = parts.iter().map(|(weight, _)| weight).sum();
        let sum: f64 = parts.iter().map(|(weight, score)| weight * score).sum();
        if whole > 0.0 { sum / whole } else { 0.0 }
    }

    /// Returns the fit with its sum.
    #[must_use]
    pub fn summed(self, weights: &Weights) -> Self {
        let total = self.own(weights)
            + weights.neighbours * self.neighbours
            + weights.speaker * self.speaker
            + weights.date * self.date;
        Self { total, ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn words_alone_count_in_full_and_half_beside_a_channel() {
        let weights = Weights::default();
        let alone = Fit { words: 0.8, ..Fit::default() };
        close(alone.own(&weights), 0.8);
        let both = Fit { channels: [("vectors".to_owned(), 0.4)].into(), ..alone };
        close(both.own(&weights), 0.6);
        let off = Weights { words: 0.0, channels: 0.0, ..weights };
        close(both.own(&off), 0.0);
    }

    #[test]
    fn the_sum_adds_what_stands_around() {
        let fit = Fit { words: 0.5, neighbours: 1.0, speaker: 1.0, date: 0.5, ..Fit::default() };
        close(fit.summed(&Weights::default()).total, 0.5 + 0.3 + 0.1 + 0.1);
    }

    #[test]
    fn scores_of_any_unit_are_spread_between_0_and_1() {
        assert_eq!(spread(&[-3.0, -2.0, -1.0]), [0.0, 0.5, 1.0]);
        assert_eq!(spread(&[0.7, 0.7]), [1.0, 1.0]);
        assert_eq!(spread(&[]), [0.0; 0]);
    }
}
