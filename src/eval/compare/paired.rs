//! How sure a difference is.
//!
//! The interval is the percentile interval of a paired bootstrap over cases (Efron and Tibshirani, *An Introduction to the
//! Bootstrap*, 1993). The test is a paired randomisation test, also called approximate randomisation or permutation test:
//! where the runs do not differ, the two results of a case could as well be exchanged. It holds for shares of sums and for
//! F1, which a t-test does not (Noreen, *Computer-Intensive Methods for Testing Hypotheses*, 1989; Yeh, “More accurate
//! tests for the statistical significance of result differences”, COLING 2000; Dror and others, “The Hitchhiker's Guide to
//! Testing Statistical Significance in Natural Language Processing”, ACL 2018). Several measures are tested at once, so
//! each has a second p after Holm (“A simple sequentially rejective multiple test procedure”, 1979).

use serde::Serialize;

use crate::eval::interval::{Interval, SplitMix, middle};
use crate::eval::rows::{Better, Ratio, RowUnit};
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
    let (first, second) = sides.values(|_| false);
    let drawn = sides.drawn();
    let chances = sides.chances();
    let together = holm(&chances);
    let shared = a.measures.iter().enumerate().filter(|(_, measure)| b.measures.contains(measure));
    shared
        .map(|(at, measure)| {
            let difference = first[at].zip(second[at]).map(|(one, other)| other - one);
            let many = (pairs.len() > 1).then(|| drawn[at].clone());
            let least = many.as_deref().and_then(deviation).map(|error| error * POWER).filter(|least| *least > SAME);
            let interval = many.and_then(middle);
            Difference {
                name: measure.name.clone(),
                better: measure.better,
                unit: measure.unit,
                a: first[at],
                b: second[at],
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

/// The two results of each case, in the order of the first run's measures.
struct Sides<'a> {
    tally: &'a Tally,
    cases: Vec<[Vec<Ratio>; 2]>,
}

impl<'a> Sides<'a> {
    fn new(a: &'a Tally, b: &Tally, pairs: &[(&CaseTally, &CaseTally)]) -> Self {
        let place = |name: &str| b.measures.iter().position(|other| other.name == name);
        let places: Vec<Option<usize>> = a.measures.iter().map(|measure| place(&measure.name)).collect();
        let cases = pairs.iter().map(|(one, other)| {
            let second = places.iter().map(|place| place.map_or_else(Ratio::default, |at| other.ratios[at]));
            [one.ratios.clone(), second.collect()]
        });
        Self { tally: a, cases: cases.collect() }
    }

    /// Returns the values of both sides, with the results of the cases exchanged of which `is_exchanged` holds.
    fn values(&self, mut is_exchanged: impl FnMut(usize) -> bool) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
        self.sums((0..self.cases.len()).map(|at| (at, is_exchanged(at))))
    }

    fn sums(&self, cases: impl Iterator<Item = (usize, bool)>) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
        let mut sums =
            [vec![Ratio::default(); self.tally.measures.len()], vec![Ratio::default(); self.tally.measures.len()]];
        for (at, exchanged) in cases {
            for (side, sum) in sums.iter_mut().enumerate() {
                let from = &self.cases[at][if exchanged { 1 - side } else { side }];
                sum.iter_mut().zip(from).for_each(|(sum, ratio)| *sum = sum.plus(*ratio));
            }
        }
        (self.tally.values(&sums[0]), self.tally.values(&sums[1]))
    }

    /// Returns for each measure its difference in every draw.
    fn drawn(&self) -> Vec<Vec<f64>> {
        let mut random = SplitMix::new(SEED);
        let mut found = vec![Vec::with_capacity(DRAWS); self.tally.measures.len()];
        for _ in 0..DRAWS {
            let drawn: Vec<(usize, bool)> =
                (0..self.cases.len()).map(|_| (random.below(self.cases.len()), false)).collect();
            let (one, other) = self.sums(drawn.into_iter());
            for (found, (one, other)) in found.iter_mut().zip(one.into_iter().zip(other)) {
                found.extend(one.zip(other).map(|(one, other)| other - one));
            }
        }
        found
    }

    /// Returns for each measure how probable a difference as large is by chance.
    fn chances(&self) -> Vec<Option<f64>> {
        let (one, other) = self.values(|_| false);
        let seen: Vec<Option<f64>> =
            one.iter().zip(&other).map(|(one, other)| Some(((*other)? - (*one)?).abs())).collect();
        let exact = self.cases.len() <= EXACT;
        let rounds = if exact { 1_u32 << self.cases.len() } else { EXCHANGES };
        let mut random = SplitMix::new(SEED);
        let mut as_large = vec![0_u32; seen.len()];
        for round in 0..rounds {
            let (one, other) = self.values(|at| if exact { round >> at & 1 == 1 } else { random.below(2) == 1 });
            for (count, (seen, (one, other))) in as_large.iter_mut().zip(seen.iter().zip(one.into_iter().zip(other))) {
                let found = one.zip(other).map(|(one, other)| (other - one).abs());
                // An exchange that leaves nothing to measure speaks for neither.
                *count += u32::from(found.is_none_or(|found| seen.is_some_and(|seen| found >= seen - SAME)));
            }
        }
        // A random exchange counts the one that was seen, too, so that no p is zero.
        let extra = u32::from(!exact);
        let share = |count: u32| f64::from(count + extra) / f64::from(rounds + extra);
        seen.into_iter().zip(as_large).map(|(seen, count)| seen.map(|_| share(count))).collect()
    }
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
