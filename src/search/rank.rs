//! Ranking: how well a memory matches a query, and the score that orders results. The functions perform no I/O.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::store::Seq;

/// Weight of the words relative to channels, and of each channel relative to the words.
// This weight and the next three come from a study on other data, and were not tuned to our data.
pub(crate) const WEIGHT_WORDS: f64 = 0.5;
/// Fraction of each neighbour's score that is added to the score of a memory in the same conversation.
pub(crate) const WEIGHT_NEIGHBOURS: f64 = 0.3;
/// Weight of the other results from the same conversation.
// This weight was chosen on the LoCoMo conversations `conv-26` and `conv-30`; 0.4 to 0.7 are equally good there.
pub(crate) const WEIGHT_CONVERSATION: f64 = 0.5;
/// Bonus for a memory if the query contains the name of the person who said it.
pub(crate) const WEIGHT_SPEAKER: f64 = 0.1;
/// Bonus for a memory if the query contains its time, or if the query asks for a time and the memory states one.
pub(crate) const WEIGHT_DATE: f64 = 0.2;

/// The results of a search method other than words, such as vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Channel {
    /// The name of the channel in explanations, e.g. `vectors`.
    pub name: String,
    /// The memories found, without duplicates, in any order. Each has a number that increases with relevance, in any
    /// unit. The channel should apply the filter of the search: the search drops excluded memories, but these would
    /// displace others.
    pub scores: Vec<(Seq, f64)>,
}

/// The weight of each component; 0 disables a component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Weight of the words relative to the channels; see `WEIGHT_WORDS`.
    pub words: f64,
    /// Weight of each channel relative to the words.
    pub channels: f64,
    /// See `WEIGHT_NEIGHBOURS`.
    pub neighbours: f64,
    /// See `WEIGHT_CONVERSATION`.
    pub conversation: f64,
    /// See `WEIGHT_SPEAKER`.
    pub speaker: f64,
    /// See `WEIGHT_DATE`.
    pub date: f64,
}

impl Weights {
    /// Returns the weights for a share of the vectors between 0, for words alone, and 1, for vectors alone.
    pub(crate) fn hybrid(vectors: f64) -> Self {
        Self { words: 1.0 - vectors, channels: vectors, ..Self::default() }
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: WEIGHT_WORDS,
            channels: WEIGHT_WORDS,
            neighbours: WEIGHT_NEIGHBOURS,
            conversation: WEIGHT_CONVERSATION,
            speaker: WEIGHT_SPEAKER,
            date: WEIGHT_DATE,
        }
    }
}

/// How well a memory matches a query, with the components. All values except `total`, `neighbours` and `conversation` are
/// between 0 and 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct QueryFit {
    /// The weighted sum; see [`Weights`].
    pub total: f64,
    /// Score of the words: BM25 relative to the best hit, or 0 if no word matches.
    pub words: f64,
    /// Scores of the channels, each scaled to the range from the channel's worst to its best result, or 0 if the
    /// channel did not find the memory.
    pub channels: BTreeMap<String, f64>,
    /// Sum of the scores of the memory's two best neighbours in the conversation. A question counts twice for its reply,
    /// and its score is subtracted from its own neighbours.
    pub neighbours: f64,
    /// Half of the mean score of the two best other results from the same conversation, and half of the score for words
    /// of the query that these results contain and the memory lacks.
    pub conversation: f64,
    /// Whether the query contains the name of the person who said it.
    pub speaker: f64,
    /// How well the memory's time matches.
    pub date: f64,
}

impl QueryFit {
    /// Returns the score of only the words and channels, without neighbours, conversation, speaker and date, between 0
    /// and 1.
    pub(crate) fn own(&self, weights: &Weights) -> f64 {
        // Even a search by vectors alone falls back to words if there are no vectors.
        if self.channels.is_empty() {
            return self.words;
        }
        let channels = self.channels.values().map(|score| (weights.channels, *score));
        let parts: Vec<(f64, f64)> = channels.chain([(weights.words, self.words)]).collect();
        // The sum is divided by the sum of the weights in use, so that the words alone can reach 1 if no channel is
        // configured.
        let whole: f64 = parts.iter().map(|(weight, _)| weight).sum();
        let sum: f64 = parts.iter().map(|(weight, score)| weight * score).sum();
        if whole > 0.0 { sum / whole } else { 0.0 }
    }

    /// Returns the share of the words in [`QueryFit::own`].
    pub(crate) fn share_of_words(&self, weights: &Weights) -> f64 {
        let channels = self.channels.keys().map(|name| (name.clone(), 0.0)).collect();
        Self { words: 1.0, channels, ..Self::default() }.own(weights)
    }

    /// Returns the fit with its total filled in.
    pub(crate) fn summed(self, weights: &Weights) -> Self {
        let total = self.own(weights)
            + weights.neighbours * self.neighbours
            + weights.conversation * self.conversation
            + weights.speaker * self.speaker
            + weights.date * self.date;
        Self { total, ..self }
    }
}

/// Scales `scores` linearly, so that the best is 1 and the worst 0. If all scores are equal, all results are 1.
pub(crate) fn spread(scores: &[f64]) -> Vec<f64> {
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let worst = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let range = best - worst;
    // If all scores are equal, a result of 0 would drop hits that the channel found.
    scores.iter().map(|score| if range > 0.0 { (score - worst) / range } else { 1.0 }).collect()
}

/// Weight of the relevance in the score. The five weights add up to 1.
// The other weights are small, because they must only decide between results of similar relevance: an old memory that
// answers the query is better than a recent one that does not.
pub(crate) const WEIGHT_RELEVANCE: f64 = 0.80;
/// Weight of the memory's importance.
pub(crate) const WEIGHT_IMPORTANCE: f64 = 0.10;
/// Weight of the memory's confidence.
pub(crate) const WEIGHT_CONFIDENCE: f64 = 0.04;
/// Weight of how recently the memory changed.
pub(crate) const WEIGHT_RECENCY: f64 = 0.04;
/// Weight of how often the memory was used.
pub(crate) const WEIGHT_USE: f64 = 0.02;
/// Number of days after which the recency of a memory is halved.
pub(crate) const RECENCY_HALF_LIFE_DAYS: f64 = 30.0;
/// Number of uses at which a memory gets the full score for use.
pub(crate) const FULL_USE: f64 = 50.0;

/// The inputs of a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parts {
    /// Relevance, 0–1; see `relevances`.
    pub relevance: f64,
    /// Importance of the memory, 0–1.
    pub importance: f64,
    /// Confidence of the memory, 0–1; after fading, if known.
    pub confidence: f64,
    /// Time at which the memory last changed.
    pub updated_at: Timestamp,
    /// Number of times that the memory was recalled.
    pub access_count: u32,
}

/// A score and its unweighted components, each between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Score {
    /// The weighted sum.
    pub total: f64,
    /// How well the memory matches, relative to the best result of this search.
    pub relevance: f64,
    /// The importance of the memory.
    pub importance: f64,
    /// The confidence of the memory after fading.
    pub confidence: f64,
    /// How recently the memory changed.
    pub recency: f64,
    /// How often the memory was used.
    pub usage: f64,
}

/// Returns the score of one hit at `now`, between 0 and 1:
///
/// ```text
/// total   = 0.80 relevance + 0.10 importance + 0.04 confidence + 0.04 recency + 0.02 usage
/// recency = 0.5 ^ (days since the last change / 30)
/// usage   = ln(1 + uses) / ln(1 + 50), at most 1
/// ```
pub(crate) fn score(parts: &Parts, now: Timestamp) -> Score {
    // A time in the future is treated as now, because a negative age would yield a recency above 1.
    let days = now.duration_since(parts.updated_at).as_secs_f64().max(0.0) / 86_400.0;
    let recency = 0.5_f64.powf(days / RECENCY_HALF_LIFE_DAYS);
    // The score is logarithmic, because the first uses matter more than the fiftieth, and capped at 1, like every
    // component.
    let usage = (f64::from(parts.access_count).ln_1p() / FULL_USE.ln_1p()).min(1.0);
    let total = WEIGHT_RELEVANCE * parts.relevance
        + WEIGHT_IMPORTANCE * parts.importance
        + WEIGHT_CONFIDENCE * parts.confidence
        + WEIGHT_RECENCY * recency
        + WEIGHT_USE * usage;
    Score {
        total: total.clamp(0.0, 1.0),
        relevance: parts.relevance,
        importance: parts.importance,
        confidence: parts.confidence,
        recency,
        usage,
    }
}

/// Returns the relevance of each hit, given how well it matches (greater is better). The best hit has relevance 1, and
/// the others are scaled proportionally. If nothing matches at all, every relevance is 0.
pub(crate) fn relevances(fits: &[f64]) -> Vec<f64> {
    // The relevance is relative to the best hit, not to a fixed maximum, because the sum with neighbours may exceed 1.
    let best = fits.iter().copied().fold(0.0, f64::max);
    fits.iter().map(|fit| if best > 0.0 { (fit / best).max(0.0) } else { 0.0 }).collect()
}

#[cfg(test)]
mod fuse_tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn a_hybrid_weight_moves_the_score_from_words_to_vectors() {
        let channels = BTreeMap::from_iter([("vectors".to_owned(), 0.2)]);
        let fit = QueryFit { words: 1.0, channels, ..QueryFit::default() };
        let own = |weight: f64| fit.own(&Weights::hybrid(weight));
        assert!((own(0.0) - 1.0).abs() < 1e-9 && (own(1.0) - 0.2).abs() < 1e-9, "{} {}", own(0.0), own(1.0));
        assert!((own(0.5) - fit.own(&Weights::default())).abs() < 1e-9);
    }

    #[test]
    fn words_alone_count_in_full_and_half_beside_a_channel() {
        let weights = Weights::default();
        let alone = QueryFit { words: 0.8, ..QueryFit::default() };
        close(alone.own(&weights), 0.8);
        let both = QueryFit { channels: [("vectors".to_owned(), 0.4)].into(), ..alone };
        close(both.own(&weights), 0.6);
        let off = Weights { words: 0.0, channels: 0.0, ..weights };
        close(both.own(&off), 0.0);
    }

    #[test]
    fn the_sum_adds_what_stands_around() {
        let fit =
            QueryFit { words: 0.5, neighbours: 1.0, conversation: 0.4, speaker: 1.0, date: 0.5, ..QueryFit::default() };
        close(fit.summed(&Weights::default()).total, 0.5 + 0.3 + 0.2 + 0.1 + 0.1);
    }

    #[test]
    fn scores_of_any_unit_are_spread_between_0_and_1() {
        assert_eq!(spread(&[-3.0, -2.0, -1.0]), [0.0, 0.5, 1.0]);
        assert_eq!(spread(&[0.7, 0.7]), [1.0, 1.0]);
        assert_eq!(spread(&[]), [0.0; 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn parts() -> Parts {
        Parts { relevance: 0.5, importance: 0.5, confidence: 0.5, updated_at: NOW, access_count: 5 }
    }

    #[test]
    fn weights_add_up_to_one() {
        let sum = WEIGHT_RELEVANCE + WEIGHT_IMPORTANCE + WEIGHT_CONFIDENCE + WEIGHT_RECENCY + WEIGHT_USE;
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn the_best_possible_hit_scores_one_and_the_worst_nearly_zero() {
        let best = Parts { relevance: 1.0, importance: 1.0, confidence: 1.0, updated_at: NOW, access_count: 50 };
        assert!((score(&best, NOW).total - 1.0).abs() < 1e-12);
        let worst = Parts {
            relevance: 0.0,
            importance: 0.0,
            confidence: 0.0,
            updated_at: "1900-01-01T00:00:00Z".parse().unwrap(),
            access_count: 0,
        };
        assert!(score(&worst, NOW).total < 1e-12);
    }

    #[test]
    fn each_part_raises_the_score() {
        let base = score(&parts(), NOW).total;
        let older = Parts { updated_at: "1969-12-02T00:00:00Z".parse().unwrap(), ..parts() };
        assert!((score(&older, NOW).recency - 0.5).abs() < 1e-9, "thirty days are a half-life");
        assert!(score(&older, NOW).total < base);
        for better in [
            Parts { relevance: 0.6, ..parts() },
            Parts { importance: 0.6, ..parts() },
            Parts { confidence: 0.6, ..parts() },
            Parts { access_count: 6, ..parts() },
        ] {
            assert!(score(&better, NOW).total > base, "{better:?}");
        }
    }

    #[test]
    fn a_change_in_the_future_counts_as_now() {
        let ahead = Parts { updated_at: "1970-02-01T00:00:00Z".parse().unwrap(), ..parts() };
        assert_eq!(score(&ahead, NOW), score(&parts(), NOW));
    }

    #[test]
    fn relevance_is_in_proportion_to_the_best_hit() {
        assert_eq!(relevances(&[4.0, 1.0, 0.0]), [1.0, 0.25, 0.0]);
        assert_eq!(relevances(&[0.0, 0.0]), [0.0, 0.0]);
        assert_eq!(relevances(&[]), [0.0; 0]);
    }
}
