//! The two results of each case, and what they come to when some are exchanged.

use crate::eval::rows::{Ratio, RowUnit, harmonic};
use crate::eval::tally::{CaseTally, Tally};

/// The two results of each case, in the order of the first run's measures.
pub(super) struct Sides<'a> {
    tally: &'a Tally,
    cases: Vec<[Vec<Ratio>; 2]>,
}

/// A value of a measure on both sides.
pub(super) type Both = (Option<f64>, Option<f64>);

impl<'a> Sides<'a> {
    pub(super) fn new(a: &'a Tally, b: &Tally, pairs: &[(&CaseTally, &CaseTally)]) -> Self {
        let place = |name: &str| b.measures.iter().position(|other| other.name == name);
        let places: Vec<Option<usize>> = a.measures.iter().map(|measure| place(&measure.name)).collect();
        let cases = pairs.iter().map(|(one, other)| {
            let second = places.iter().map(|place| place.map_or_else(Ratio::default, |at| other.ratios[at]));
            [one.ratios.clone(), second.collect()]
        });
        Self { tally: a, cases: cases.collect() }
    }

    /// Returns how many cases there are.
    pub(super) const fn len(&self) -> usize {
        self.cases.len()
    }

    /// Returns how many measures there are.
    pub(super) const fn measures(&self) -> usize {
        self.tally.measures.len()
    }

    /// Returns each measure over `cases`, each with whether its results are exchanged.
    pub(super) fn values(&self, cases: impl Iterator<Item = (usize, bool)>) -> Vec<Both> {
        let sums = self.sums(cases);
        self.tally.values(&sums[0]).into_iter().zip(self.tally.values(&sums[1])).collect()
    }

    fn sums(&self, cases: impl Iterator<Item = (usize, bool)>) -> [Vec<Ratio>; 2] {
        let none = || vec![Ratio::default(); self.measures()];
        let mut sums = [none(), none()];
        for (at, exchanged) in cases {
            for (side, sum) in sums.iter_mut().enumerate() {
                let from = &self.cases[at][if exchanged { 1 - side } else { side }];
                sum.iter_mut().zip(from).for_each(|(sum, ratio)| *sum = sum.plus(*ratio));
            }
        }
        sums
    }

    /// Returns for each measure how far each case pulls the difference up or down; their sum is the difference, for shares
    /// of one size and counts exactly, else as far as a line can follow it. `None` where a side has nothing to tell.
    ///
    /// A case pulls by what it has beyond its due, which follows from both sides together. So a run that merely finds more,
    /// as well as the other, is not pulled anywhere.
    pub(super) fn pulls(&self) -> Vec<Option<Vec<f64>>> {
        let sums = self.sums((0..self.len()).map(|at| (at, false)));
        let together: Vec<Ratio> = sums[0].iter().zip(&sums[1]).map(|(one, other)| one.plus(*other)).collect();
        let measures = &self.tally.measures;
        let plain = |at: usize| self.plain_pulls(at, [sums[0][at], sums[1][at]], together[at]);
        let place = |name: &String| measures.iter().position(|own| own.name == *name && own.harmonic_of.is_none());
        let value = |at: usize| together[at].value(measures[at].unit);
        let each = measures.iter().enumerate().map(|(at, measure)| {
            let Some(names) = &measure.harmonic_of else { return plain(at) };
            let [one, other] = names.each_ref().map(place);
            let (one, other) = (one?, other?);
            let (a, b) = (value(one)?, value(other)?);
            let mean = harmonic(Some(a), Some(b)).filter(|mean| *mean > 0.0)?;
            // The derivative of 2ab/(a+b) by a is 2b²/(a+b)², that is (mean/a)²/2.
            let (by_one, by_other) = ((mean / a).powi(2) / 2.0, (mean / b).powi(2) / 2.0);
            let both = plain(one)?.into_iter().zip(plain(other)?);
            Some(both.map(|(first, second)| by_one * first + by_other * second).collect())
        });
        each.collect()
    }

    fn plain_pulls(&self, at: usize, sums: [Ratio; 2], together: Ratio) -> Option<Vec<f64>> {
        let [first, second] = sums.map(|sum| sum.denominator);
        if first <= 0.0 || second <= 0.0 {
            return None;
        }
        let pull = |case: &[Vec<Ratio>; 2]| {
            let [one, other] = [case[0][at], case[1][at]];
            match self.tally.measures[at].unit {
                RowUnit::Count => other.numerator - one.numerator,
                RowUnit::Share | RowUnit::Number => {
                    let due = together.numerator / together.denominator;
                    (other.numerator - due * other.denominator) / second
                        - (one.numerator - due * one.denominator) / first
                }
            }
        };
        Some(self.cases.iter().map(pull).collect())
    }
}
