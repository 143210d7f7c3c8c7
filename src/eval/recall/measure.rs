//! Recall, reciprocal rank and tokens of one arm over all questions.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Arm, Asked, Turns};
use crate::eval::EvalError;

/// Rounds of the bootstrap.
const ROUNDS: usize = 2_000;

/// What one arm came to.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The arm.
    pub name: String,
    /// Questions.
    pub questions: usize,
    /// Share of the turns that answer a question among the first 5, on average.
    pub recall_5: f64,
    /// Among the first 10.
    pub recall_10: f64,
    /// Among the first 20.
    pub recall_20: f64,
    /// One divided by the place of the first turn that answers, on average; 0 where none is among the first 50.
    pub mrr: f64,
    /// Share of the questions of which all turns are among the first 10.
    pub all_10: f64,
    /// `o200k_base` tokens of the first 10, on average.
    pub tokens_10: f64,
    /// Characters of the first 10 divided by four, on average: the estimate of tokens in published comparisons.
    pub quarters_10: f64,
    /// Recall at 10 by category.
    pub by_category: BTreeMap<u64, f64>,
    /// How much the recall at 10 lies above the first arm's.
    pub gain: Option<Gain>,
    /// Each question by itself, in their order.
    #[serde(skip)]
    pub each: Vec<Answered>,
}

/// How well one question was answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answered {
    /// Share of its turns among the first 5, 10 and 20.
    pub recall: [f64; 3],
    /// One divided by the place of the first of them; 0 where none was found.
    pub reciprocal: f64,
    /// Tokens of the first 10.
    pub tokens_10: f64,
}

/// A difference, with the interval that holds 95 of 100 resamplings of the questions.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Gain {
    /// The difference.
    pub value: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Asks every arm every question; gains are told against the first arm.
///
/// # Errors
/// [`EvalError`] if an arm fails.
pub fn measure(turns: &Turns, arms: Vec<(String, Arm<'_>)>) -> Result<Vec<Row>, EvalError> {
    let mut rows: Vec<Row> = Vec::new();
    for (name, mut arm) in arms {
        let answers: Vec<Vec<String>> = turns.asked.iter().map(&mut arm).collect::<Result<_, _>>()?;
        let mut row = row(name, turns, &answers);
        row.gain = rows.first().map(|first| gain(&first.at_10(), &row.at_10()));
        rows.push(row);
    }
    Ok(rows)
}

fn row(name: String, turns: &Turns, answers: &[Vec<String>]) -> Row {
    let asked = || turns.asked.iter().zip(answers);
    let recall = |k: usize| mean(asked().map(|(asked, answer)| recall(asked, answer, k)));
    let mut by_category: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (question, answer) in asked() {
        by_category.entry(question.category).or_default().push(self::recall(question, answer, 10));
    }
    let ten = |answer: &[String], size: fn(&Turns, &str) -> usize| {
        number(answer.iter().take(10).map(|turn| size(turns, turn)).sum())
    };
    let first = |size: fn(&Turns, &str) -> usize| mean(answers.iter().map(|answer| ten(answer, size)));
    Row {
        name,
        questions: answers.len(),
        recall_5: recall(5),
        recall_10: recall(10),
        recall_20: recall(20),
        mrr: mean(asked().map(|(asked, answer)| reciprocal(asked, answer))),
        all_10: mean(asked().map(|(asked, answer)| f64::from(u8::from(self::recall(asked, answer, 10) >= 1.0)))),
        tokens_10: first(Turns::tokens_of),
        quarters_10: first(Turns::characters_of) / 4.0,
        by_category: by_category.into_iter().map(|(category, each)| (category, mean(each.into_iter()))).collect(),
        gain: None,
        each: asked()
            .map(|(asked, answer)| Answered {
                recall: [5, 10, 20].map(|k| self::recall(asked, answer, k)),
                reciprocal: reciprocal(asked, answer),
                tokens_10: ten(answer, Turns::tokens_of),
            })
            .collect(),
    }
}

impl Row {
    fn at_10(&self) -> Vec<f64> {
        self.each.iter().map(|one| one.recall[1]).collect()
    }
}

fn recall(asked: &Asked, answer: &[String], k: usize) -> f64 {
    let found = answer.iter().take(k).filter(|turn| asked.gold.contains(*turn)).count();
    number(found) / number(asked.gold.len().max(1))
}

fn reciprocal(asked: &Asked, answer: &[String]) -> f64 {
    answer.iter().position(|turn| asked.gold.contains(turn)).map_or(0.0, |place| 1.0 / number(place + 1))
}

/// Draws questions with replacement, the same for both sides.
fn gain(from: &[f64], to: &[f64]) -> Gain {
    let differences: Vec<f64> = from.iter().zip(to).map(|(from, to)| to - from).collect();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or_default() % below.max(1)
    };
    let count = differences.len();
    let mut means: Vec<f64> = (0..ROUNDS).map(|_| mean((0..count).map(|_| differences[draw(count)]))).collect();
    means.sort_by(f64::total_cmp);
    let value = mean(differences.iter().copied());
    Gain { value, low: means[ROUNDS * 25 / 1000], high: means[ROUNDS * 975 / 1000] }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    if count == 0 { 0.0 } else { values.sum::<f64>() / number(count) }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Namespace;

    fn asked(gold: &[&str]) -> Asked {
        let gold = gold.iter().map(|id| (*id).to_owned()).collect();
        Asked { namespace: Namespace::global(), sample: 0, question: String::new(), category: 4, gold }
    }

    fn answer(turns: &[&str]) -> Vec<String> {
        turns.iter().map(|id| (*id).to_owned()).collect()
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn recall_is_the_share_of_the_gold_among_the_first() {
        let (asked, answer) = (asked(&["a", "b"]), answer(&["x", "b", "y", "a"]));
        close(recall(&asked, &answer, 1), 0.0);
        close(recall(&asked, &answer, 2), 0.5);
        close(recall(&asked, &answer, 10), 1.0);
        close(reciprocal(&asked, &answer), 0.5);
        close(reciprocal(&asked, &[]), 0.0);
    }

    #[test]
    fn a_gain_that_every_question_shares_is_sure() {
        let gain = gain(&[0.0; 40], &[0.25; 40]);
        close(gain.value, 0.25);
        close(gain.low, 0.25);
        close(gain.high, 0.25);
    }
}
