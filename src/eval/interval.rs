//! How far a measure could have come out otherwise, had other cases been drawn.

use serde::Serialize;

use super::counts::Counts;

/// Times that cases are drawn anew.
const DRAWS: usize = 2_000;
/// Makes the draws the same in every run.
const SEED: u64 = 0x5eed_cafe_f00d_0001;

/// Bounds between which a measure lies in 95 of 100 draws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// Returns the 95 % interval of each of `measures` over `cases`, drawn with replacement; `None` for fewer than two cases.
///
/// The same cases in the same order always give the same intervals.
#[must_use]
pub fn intervals(cases: &[&Counts], measures: &[impl Fn(&Counts) -> Option<f64>]) -> Vec<Option<Interval>> {
    drawn(cases, Counts::sum, measures)
}

/// Returns what [`intervals`] does, of counts of any kind that `sum` adds up.
pub(super) fn drawn<'a, T, S>(
    cases: &[&'a T],
    sum: impl Fn(Vec<&'a T>) -> S,
    measures: &[impl Fn(&S) -> Option<f64>],
) -> Vec<Option<Interval>> {
    if cases.len() < 2 {
        return vec![None; measures.len()];
    }
    let mut random = SplitMix(SEED);
    let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); measures.len()];
    for _ in 0..DRAWS {
        let drawn = sum((0..cases.len()).map(|_| cases[random.below(cases.len())]).collect());
        for (values, measure) in values.iter_mut().zip(measures) {
            values.extend(measure(&drawn));
        }
    }
    values.into_iter().map(middle).collect()
}

/// Returns the bounds between which 95 of 100 values lie.
pub(super) fn middle(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let at = |thousandths: usize| values.get((values.len() * thousandths / 1_000).min(values.len().saturating_sub(1)));
    Some(Interval { low: *at(25)?, high: *at(975)? })
}

/// `SplitMix64`: small, and good enough to draw cases.
pub(super) struct SplitMix(u64);

impl SplitMix {
    /// Returns a source of numbers that are the same for the same seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`; the remainder's bias is far below what a draw can show.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(right: u64, unlisted: u64) -> Counts {
        Counts { cases: 1, right, unlisted, ..Counts::default() }
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn precision(counts: &Counts) -> Option<f64> {
        let all = counts.right + counts.unlisted;
        (all > 0).then(|| counts.right as f64 / all as f64)
    }

    fn interval(cases: &[&Counts]) -> Option<Interval> {
        intervals(cases, &[precision])[0]
    }

    #[test]
    fn equal_cases_leave_no_doubt_and_unequal_ones_do() {
        let same = vec![case(3, 1); 10];
        let all: Vec<&Counts> = same.iter().collect();
        assert_eq!(interval(&all), Some(Interval { low: 0.75, high: 0.75 }));
        let mixed: Vec<Counts> = (0..20).map(|at| if at % 2 == 0 { case(4, 0) } else { case(0, 4) }).collect();
        let all: Vec<&Counts> = mixed.iter().collect();
        let found = interval(&all).unwrap();
        assert!((0.2..0.4).contains(&found.low) && (0.6..0.8).contains(&found.high), "{found:?}");
        assert_eq!(interval(&all), Some(found));
        assert_eq!(interval(&all[..1]), None);
    }
}
