//! How sure a difference is.
//!
//! The interval is the percentile interval of a paired bootstrap over cases (Efron and Tibshirani, *An Introduction to the
//! Bootstrap*, 1993). The test is a paired randomisation test: where the runs do not differ, what a case adds to the
//! difference could as well be taken from it. Where both runs have as much to tell of a case, as of recall, that is to
//! exchange their results, the test that is recommended for shares of sums (Noreen, *Computer-Intensive Methods for Testing
//! Hypotheses*, 1989; Yeh, “More accurate tests for the statistical significance of result differences”, COLING 2000; Dror
//! and others, “The Hitchhiker's Guide to Testing Statistical Significance in Natural Language Processing”, ACL 2018).
//! Of precision one run may have more to tell, since it finds more; exchanging the results would then change how much there
//! is, and tell of that. So what is turned is the contribution of the case to the linearised difference (Hemerik, Goeman and
//! Finos, “Robust testing in generalized linear models by sign flipping score contributions”, Journal of the Royal
//! Statistical Society B, 2020). Several measures are tested at once, so each has a second p after Holm (“A simple
//! sequentially rejective multiple test procedure”, 1979).

use serde::Serialize;

use super::sides::Sides;
use crate::eval::interval::{Interval, SplitMix, middle};
use crate::eval::rows::{Better, RowUnit};
use crate::eval::tally::{CaseTally, Tally};

/// Times that cases are drawn anew.
const DRAWS: usize = 2_000;
/// Times that cases are turned at random, where there are too many ways to try all.
const EXCHANGES: u32 = 5_000;
/// Cases up to which every way to turn them is tried.
const EXACT: usize = 12;
/// Makes every comparison of the same files the same.
const SEED: u64 = 0x5eed_cafe_f00d_0002;
/// Standard errors of a difference that shows in 80 of 100 runs at 5 %: 1.960 and 0.842.
const POWER: f64 = 2.802;
/// How close two values are the same.
const SAME: f64 = 1e-12;
/// How far sums in another order may lie apart, for one.
const ROUNDING: f64 = 1e-9;

/// A measure in two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Which way it is good.
    pub better: Better,
    /// What its value is.
    pub unit: RowUnit,
    /// Its value in the first.
    pub a: Option<f64>,
    /// Its value in the second.
    pub b: Option<f64>,
    /// How much the second lies above the first.
    pub difference: Option<f64>,
    /// 95 % interval of that; `None` for fewer than two cases.
    pub interval: Option<Interval>,
    /// How probable a difference as large is where the two do not differ, to either side.
    pub p: Option<f64>,
    /// The same, all measures taken together.
    pub p_of_all: Option<f64>,
    /// Least difference that so many cases would show in 80 of 100 runs.
    pub least: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
}

/// What follows from a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The second is better, and the interval does not hold zero.
    Better,
    /// The second is worse, and the interval does not hold zero.
    Worse,
    /// There is a difference, and it may be chance.
    Unclear,
    /// There is none.
    Same,
}

/// Returns the difference of each measure that both tallies have, over `pairs` of the same cases.
#[must_use]
pub fn differences(a: &Tally, b: &Tally, pairs: &[(&CaseTally, &CaseTally)]) -> Vec<Difference> {
    let sides = Sides::new(a, b, pairs);
    let found = sides.values((0..pairs.len()).map(|at| (at, false)));
    let drawn = drawn(&sides);
    let chances = chances(&sides);
    let together = holm(&chances);
    let shared = a.measures.iter().enumerate().filter(|(_, measure)| b.measures.contains(measure));
    shared
        .map(|(at, measure)| {
            let (first, second) = found[at];
            let difference = first.zip(second).map(|(one, other)| other - one);
            let many = (pairs.len() > 1).then(|| drawn[at].clone());
            let least = many.as_deref().and_then(deviation).map(|error| error * POWER).filter(|least| *least > SAME);
            let interval = many.and_then(middle);
            Difference {
                name: measure.name.clone(),
                better: measure.better,
                unit: measure.unit,
                a: first,
                b: second,
                difference,
                interval,
                p: chances[at],
                p_of_all: together[at],
                least,
                verdict: verdict(difference, interval, measure.better),
            }
        })
        .collect()
}

fn verdict(difference: Option<f64>, interval: Option<Interval>, better: Better) -> Verdict {
    let Some(difference) = difference else { return Verdict::Unclear };
    if difference.abs() < SAME {
        return Verdict::Same;
    }
    let sure = interval.is_some_and(|interval| interval.low > SAME || interval.high < -SAME);
    let good = match better {
        Better::Higher => difference > 0.0,
        Better::Lower => difference < 0.0,
    };
    match (sure, good) {
        (false, _) => Verdict::Unclear,
        (true, true) => Verdict::Better,
        (true, false) => Verdict::Worse,
    }
}

/// Returns for each measure its difference in every draw.
fn drawn(sides: &Sides<'_>) -> Vec<Vec<f64>> {
    let mut random = SplitMix::new(SEED);
    let mut found = vec![Vec::with_capacity(DRAWS); sides.measures()];
    for _ in 0..DRAWS {
        let drawn: Vec<usize> = (0..sides.len()).map(|_| random.below(sides.len())).collect();
        for (found, (one, other)) in found.iter_mut().zip(sides.values(drawn.into_iter().map(|at| (at, false)))) {
            found.extend(one.zip(other).map(|(one, other)| other - one));
        }
    }
    found
}

/// Returns for each measure how probable a difference as large is by chance.
fn chances(sides: &Sides<'_>) -> Vec<Option<f64>> {
    sides.pulls().into_iter().map(|pulls| pulls.map(|pulls| chance(&pulls))).collect()
}

/// Returns how often a sum is as large when each of `pulls` goes either way.
fn chance(pulls: &[f64]) -> f64 {
    let seen = pulls.iter().sum::<f64>().abs();
    let size: f64 = pulls.iter().map(|pull| pull.abs()).sum();
    let exact = pulls.len() <= EXACT;
    let rounds = if exact { 1_u32 << pulls.len() } else { EXCHANGES };
    let mut random = SplitMix::new(SEED);
    let mut as_large = 0_u32;
    for round in 0..rounds {
        let mut is_turned = |at: usize| if exact { round >> at & 1 == 1 } else { random.below(2) == 1 };
        let sum: f64 = pulls.iter().enumerate().map(|(at, pull)| if is_turned(at) { -pull } else { *pull }).sum();
        as_large += u32::from(sum.abs() >= seen - size * ROUNDING);
    }
    // Random turns count the one that was seen, too, so that no p is zero.
    let extra = u32::from(!exact);
    f64::from(as_large + extra) / f64::from(rounds + extra)
}

fn deviation(values: &[f64]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "draws are few")]
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
}

/// Returns the p of each test when all are taken together.
fn holm(chances: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = chances.iter().enumerate().filter_map(|(at, p)| Some((at, (*p)?))).collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut found = vec![None; chances.len()];
    let (mut least, mut left) = (0.0_f64, u32::try_from(order.len()).unwrap_or(u32::MAX));
    for (at, p) in order {
        least = least.max((p * f64::from(left)).min(1.0));
        found[at] = Some(least);
        left -= 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_taken_together_are_less_sure() {
        let found = holm(&[Some(0.01), None, Some(0.04), Some(0.03)]);
        let expected = [Some(0.03), None, Some(0.06), Some(0.06)];
        for (found, expected) in found.iter().zip(expected) {
            match (found, expected) {
                (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-12, "{found} {expected}"),
                (found, expected) => assert_eq!(*found, expected),
            }
        }
    }
}
