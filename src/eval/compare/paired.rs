//! How sure a difference is.
//!
//! The interval is the percentile interval of a paired bootstrap over cases (Efron and Tibshirani, *An Introduction to the
//! Bootstrap*, 1993). The test is a paired randomisation test, also called approximate randomisation or permutation test:
//! where the runs do not differ, the two results of a case could as well be exchanged. It holds for shares of sums and for
//! F1, which a t-test does not (Noreen, *Computer-Intensive Methods for Testing Hypotheses*, 1989; Yeh, “More accurate
//! tests for the statistical significance of result differences”, COLING 2000; Dror and others, “The Hitchhiker's Guide to
//! Testing Statistical Significance in Natural Language Processing”, ACL 2018). What is held against chance is not the
//! difference but the difference over its standard error, since two runs may find differently many memories: exchanging
//! them would change the precision of either although both are equally precise (Janssen, “Studentized permutation tests
//! for non-i.i.d. hypotheses”, 1997; Chung and Romano, “Exact and asymptotically robust permutation tests”, Annals of
//! Statistics, 2013). Several measures are tested at once, so each has a second p after Holm (“A simple sequentially
//! rejective multiple test procedure”, 1979).

use serde::Serialize;

use super::sides::Sides;
use crate::eval::interval::{Interval, SplitMix, middle};
use crate::eval::rows::{Better, RowUnit};
use crate::eval::tally::{CaseTally, Tally};

/// Times that cases are drawn anew.
const DRAWS: usize = 2_000;
/// Times that results are exchanged at random, where there are too many ways to try all.
const EXCHANGES: u32 = 5_000;
/// Cases up to which every way to exchange them is tried.
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

/// Returns for each measure how probable a difference as large, for its standard error, is by chance.
fn chances(sides: &Sides<'_>) -> Vec<Option<f64>> {
    let seen = sides.standardised(|_| false);
    let exact = sides.len() <= EXACT;
    let rounds = if exact { 1_u32 << sides.len() } else { EXCHANGES };
    let mut random = SplitMix::new(SEED);
    let mut as_large = vec![0_u32; seen.len()];
    for round in 0..rounds {
        let found = sides.standardised(|at| if exact { round >> at & 1 == 1 } else { random.below(2) == 1 });
        for (count, (seen, found)) in as_large.iter_mut().zip(seen.iter().zip(found)) {
            // An exchange that leaves nothing to measure speaks for neither.
            let is_as_large = |found: f64| seen.is_some_and(|seen| found >= seen * (1.0 - ROUNDING));
            *count += u32::from(found.is_none_or(is_as_large));
        }
    }
    // A random exchange counts the one that was seen, too, so that no p is zero.
    let extra = u32::from(!exact);
    let share = |count: u32| f64::from(count + extra) / f64::from(rounds + extra);
    seen.into_iter().zip(as_large).map(|(seen, count)| seen.map(|_| share(count))).collect()
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
