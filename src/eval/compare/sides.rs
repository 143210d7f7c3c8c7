//! The two results of each case, and what they come to when some are exchanged.

use crate::eval::rows::{Ratio, RowUnit, harmonic};
use crate::eval::tally::{CaseTally, Tally};

/// A difference below this is none.
const NOTHING: f64 = 1e-12;

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

    /// Returns for each measure the size of its difference over the standard error of that, with the results of the cases
    /// exchanged of which `is_exchanged` holds; endless where all cases agree on a difference, 0 where there is none.
    ///
    /// The error is that of the linearised measure: how far each case pulls it on either side.
    pub(super) fn standardised(&self, mut is_exchanged: impl FnMut(usize) -> bool) -> Vec<Option<f64>> {
        let exchanged: Vec<bool> = (0..self.len()).map(&mut is_exchanged).collect();
        let sums = self.sums(exchanged.iter().copied().enumerate());
        let values = sums.each_ref().map(|sums| self.tally.values(sums));
        let mut squares = vec![0.0; self.measures()];
        for (case, exchanged) in self.cases.iter().zip(&exchanged) {
            let (first, second) = if *exchanged { (&case[1], &case[0]) } else { (&case[0], &case[1]) };
            let pulls = [self.pulls(first, &sums[0]), self.pulls(second, &sums[1])];
            for (at, square) in squares.iter_mut().enumerate() {
                *square += (pulls[1][at] - pulls[0][at]).powi(2);
            }
        }
        let each = values[0].iter().zip(&values[1]).zip(squares);
        each.map(|((one, other), square)| {
            let difference = ((*other)? - (*one)?).abs();
            Some(if difference < NOTHING { 0.0 } else { difference / square.sqrt() })
        })
        .collect()
    }

    /// Returns how far a case pulls each measure away from its value over all cases.
    fn pulls(&self, case: &[Ratio], sums: &[Ratio]) -> Vec<f64> {
        let mut pulls: Vec<f64> = self
            .tally
            .measures
            .iter()
            .zip(case.iter().zip(sums))
            .map(|(measure, (own, sum))| match measure.unit {
                RowUnit::Count => own.numerator - sum.numerator / number(self.len()),
                RowUnit::Share | RowUnit::Number if sum.denominator > 0.0 => {
                    (own.numerator - sum.numerator / sum.denominator * own.denominator) / sum.denominator
                }
                RowUnit::Share | RowUnit::Number => 0.0,
            })
            .collect();
        for (at, measure) in self.tally.measures.iter().enumerate() {
            let Some(names) = &measure.harmonic_of else { continue };
            let place = |name: &String| self.tally.measures.iter().position(|own| own.name == *name);
            let [Some(one), Some(other)] = names.each_ref().map(place) else { continue };
            let value = |at: usize| sums[at].value(self.tally.measures[at].unit);
            pulls[at] = match (value(one), value(other), harmonic(value(one), value(other))) {
                // The derivative of 2ab/(a+b) by a is 2b²/(a+b)², that is (mean/a)²/2.
                (Some(a), Some(b), Some(mean)) if mean > 0.0 => {
                    (mean / a).powi(2) / 2.0 * pulls[one] + (mean / b).powi(2) / 2.0 * pulls[other]
                }
                _ => 0.0,
            };
        }
        pulls
    }
}

#[expect(clippy::cast_precision_loss, reason = "cases are far below 2^52")]
fn number(count: usize) -> f64 {
    count as f64
}
