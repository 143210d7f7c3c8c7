//! Adds up the rows of one suite and kind, and computes intervals by resampling cases.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::Measure;
use crate::results::{Cost, Ratio, Results, Row};

/// Number of bootstrap draws.
// Percentile intervals need at least a thousand draws (Efron and Tibshirani 1993).
pub(crate) const DRAWS: usize = 2_000;
/// Seed of the draws, which makes the intervals the same in every run.
pub const SEED: u64 = 0x5eed_cafe_f00d_0001;

/// Properties by which cases are grouped. A case belongs to the group of each of its phenomena.
pub(crate) const GROUPS: [&str; 4] = ["split", "language", "format", "phenomenon"];

/// The cases of one suite and kind, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// The suite.
    pub suite: String,
    /// The kind of the tally's rows.
    pub kind: String,
    /// The measures in the order in which reports list them.
    pub measures: Vec<Measure>,
    /// The cases that were run.
    pub cases: Vec<CaseTally>,
    /// The cases that could not be run, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// All runs of one case.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CaseTally {
    /// Name of the case.
    pub case: String,
    /// The groups to which the case belongs, for each of [`GROUPS`].
    groups: [Vec<String>; 4],
    /// Ratios of the case in the order of the measures; empty for a measure that is derived from others.
    pub ratios: Vec<Ratio>,
}

impl CaseTally {
    /// Returns a case that does not belong to any group.
    pub(crate) fn new(case: &str, ratios: Vec<Ratio>) -> Self {
        Self { case: case.to_owned(), ratios, ..Self::default() }
    }
}

impl Tally {
    /// Returns a tally for each suite and kind of `results`, in the order of its rows. The repetitions of a case are
    /// added up, so that an interval over cases counts them as one case.
    pub(crate) fn all(results: &Results) -> Vec<Self> {
        let mut tallies: Vec<Self> = Vec::new();
        for row in &results.rows {
            let place = tallies.iter().position(|one| one.suite == row.suite && one.kind == row.kind);
            let at = place.unwrap_or_else(|| {
                let measures = results.measures.iter().filter(|one| one.kind == row.kind).cloned().collect();
                tallies.push(Self { suite: row.suite.clone(), kind: row.kind.clone(), measures, ..Self::default() });
                tallies.len() - 1
            });
            tallies[at].add(row);
        }
        tallies
    }

    pub(crate) fn is_same_suite(&self, other: &Self) -> bool {
        self.suite == other.suite && self.kind == other.kind
    }

    fn add(&mut self, row: &Row) {
        if let Some(error) = &row.error {
            self.failed.push((row.case.clone(), error.clone()));
            return;
        }
        let of = |measure: &Measure| row.measures.get(&measure.name).copied().unwrap_or_default();
        let ratios: Vec<Ratio> = self.measures.iter().map(of).collect();
        // Repetitions show the noise of the model, not the variation between cases. If they were counted as separate
        // cases, they would narrow the interval.
        if let Some(case) = self.cases.iter_mut().find(|case| case.case == row.case) {
            case.ratios.iter_mut().zip(ratios).for_each(|(own, more)| *own = own.plus(more));
            return;
        }
        self.cases.push(CaseTally {
            case: row.case.clone(),
            groups: [
                vec![row.split.clone()],
                row.language.iter().cloned().collect(),
                row.format.iter().cloned().collect(),
                row.phenomena.clone(),
            ],
            ratios,
        });
    }

    /// Returns the value of each measure for `sums`, which are in the order of the measures.
    pub(crate) fn values(&self, sums: &[Ratio]) -> Vec<Option<f64>> {
        let plain = |name: &String| {
            let at = self.measures.iter().position(|one| one.name == *name && one.harmonic_of.is_none())?;
            sums.get(at)?.value(self.measures[at].unit)
        };
        let each = self.measures.iter().zip(sums);
        each.map(|(measure, sum)| match &measure.harmonic_of {
            // F1 is computed from the sums, not from the means of cases, so that it agrees with recall and precision.
            Some([one, other]) => harmonic_mean(plain(one), plain(other)),
            None => sum.value(measure.unit),
        })
        .collect()
    }

    /// Returns the value of each measure across `cases`.
    pub(crate) fn over(&self, cases: &[&CaseTally]) -> Vec<Option<f64>> {
        self.values(&self.sum(cases.iter().map(|case| &case.ratios)))
    }

    /// Returns the sums of `ratios`, which are in the order of the measures.
    pub(crate) fn sum<'r>(&self, ratios: impl Iterator<Item = &'r Vec<Ratio>>) -> Vec<Ratio> {
        let mut sums = vec![Ratio::default(); self.measures.len()];
        for ratios in ratios {
            sums.iter_mut().zip(ratios).for_each(|(sum, ratio)| *sum = sum.plus(*ratio));
        }
        sums
    }

    /// Returns the cases that both tallies contain.
    pub(crate) fn pairs<'t>(&'t self, other: &'t Self) -> Vec<(&'t CaseTally, &'t CaseTally)> {
        let partner = |case: &CaseTally| other.cases.iter().find(|one| one.case == case.case);
        self.cases.iter().filter_map(|case| Some((case, partner(case)?))).collect()
    }

    /// Returns the rows of `results` that this tally adds up.
    pub(crate) fn rows_of<'r>(&self, results: &'r Results) -> impl Iterator<Item = &'r Row> {
        results.rows.iter().filter(|row| row.suite == self.suite && row.kind == self.kind)
    }

    /// Returns the cost of `rows`, plus the cost of requests shared by all cases of the suite.
    pub(crate) fn cost<'r>(&self, results: &Results, rows: impl Iterator<Item = &'r Row>) -> Cost {
        let shared = results.shared.iter().filter(|shared| shared.suite == self.suite);
        Cost::sum(rows.map(|row| row.cost).chain(shared.map(|shared| shared.cost)))
    }

    /// Returns the 95 % interval of each measure across `cases`, drawn with replacement; `None` for fewer than two
    /// cases.
    ///
    /// The same cases in the same order always have the same intervals.
    pub(crate) fn intervals(&self, cases: &[&CaseTally]) -> Vec<Option<Interval>> {
        // If there is only one case, all draws are equal, which would look like certainty.
        if cases.len() < 2 {
            return vec![None; self.measures.len()];
        }
        // Each call uses a new generator, so that intervals do not depend on earlier draws.
        let mut random = SplitMix::new(SEED);
        let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); self.measures.len()];
        for _ in 0..DRAWS {
            // Whole cases are drawn, because the memories of one conversation are not independent.
            let drawn: Vec<&CaseTally> = (0..cases.len()).map(|_| cases[random.below(cases.len())]).collect();
            values.iter_mut().zip(self.over(&drawn)).for_each(|(values, value)| values.extend(value));
        }
        values.into_iter().map(middle_95).collect()
    }

    /// Returns each measure across all cases, with its interval if the measure has a value.
    pub(crate) fn totals(&self) -> Vec<(Option<f64>, Option<Interval>)> {
        let all = self.everything();
        let each = self.over(&all).into_iter().zip(self.intervals(&all));
        each.map(|(value, interval)| (value, interval.filter(|_| value.is_some()))).collect()
    }

    /// Returns the cases, grouped by one of [`GROUPS`] and sorted by name.
    pub(crate) fn groups(&self, by: usize) -> Vec<(String, Vec<&CaseTally>)> {
        let mut groups: BTreeMap<String, Vec<&CaseTally>> = BTreeMap::new();
        for case in &self.cases {
            for name in &case.groups[by] {
                groups.entry(name.clone()).or_default().push(case);
            }
        }
        groups.into_iter().collect()
    }

    pub(crate) fn everything(&self) -> Vec<&CaseTally> {
        self.cases.iter().collect()
    }
}

/// Returns the harmonic mean; `None` if one of the two is missing.
pub(crate) fn harmonic_mean(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    let (one, other) = (one?, other?);
    // If both are zero, the formula would divide by zero; its limit is zero.
    Some(if one + other == 0.0 { 0.0 } else { 2.0 * one * other / (one + other) })
}

/// Bounds that contain a value in 95 of 100 draws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// Returns the bounds of the middle 95 % of `values`.
pub(crate) fn middle_95(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let at = |thousandths: usize| values.get((values.len() * thousandths / 1_000).min(values.len().saturating_sub(1)));
    Some(Interval { low: *at(25)?, high: *at(975)? })
}

/// Returns the 95 % confidence interval of a share of `total` cases, by Wilson's score (E. B. Wilson, 1927).
pub fn wilson(share: f64, total: f64) -> (f64, f64) {
    if total <= 0.0 {
        return (0.0, 1.0);
    }
    let z = 1.959_964_f64;
    let middle = share + z * z / (2.0 * total);
    let reach = z * (share * (1.0 - share) / total + z * z / (4.0 * total * total)).sqrt();
    let scale = 1.0 + z * z / total;
    (((middle - reach) / scale).max(0.0), ((middle + reach) / scale).min(1.0))
}

/// `SplitMix64`: a small random number generator, good enough to draw cases.
#[derive(Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Returns a generator; the same seed yields the same numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`; the modulo bias is too small to affect a draw.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::measures_in;
    use crate::results::Manifest;

    /// Returns results with a row for each of `cases`. A case has a name, the share of required memories that were
    /// found, the share of memories that are correct, and the number of forbidden memories.
    pub(crate) fn results(cases: &[(&str, [u64; 2], [u64; 2], u64)]) -> Results {
        let row = |(case, recall, precision, forbidden): &(&str, [u64; 2], [u64; 2], u64)| Row {
            suite: "smoke".into(),
            kind: "extraction".into(),
            case: (*case).to_owned(),
            phenomena: vec![case.chars().take(1).collect()],
            repeat: 1,
            measures: [
                ("recall".to_owned(), Ratio::of(recall[0], recall[1])),
                ("precision".to_owned(), Ratio::of(precision[0], precision[1])),
                ("forbidden".to_owned(), Ratio::of(*forbidden, 1)),
            ]
            .into(),
            ..Row::default()
        };
        let catalogue =
            "[extraction]\nshare recall: a share\nshare precision: a share\nshare F1: a mean\ncount forbidden: a count";
        let measures = measures_in(catalogue, "extraction");
        Results { measures, ..Results::new(Manifest::default(), cases.iter().map(row).collect()) }
    }

    #[test]
    fn values_are_of_the_sums_and_repetitions_are_one_case() {
        let mut all = results(&[("a1", [1, 2], [1, 1], 1), ("b1", [3, 4], [3, 6], 2)]);
        let again = all.rows[0].clone();
        all.rows.push(Row { repeat: 2, ..again });
        all.rows.push(Row { case: "c1".into(), ..all.rows[0].clone() }.failed("gone".into()));
        let [tally] = &Tally::all(&all)[..] else { panic!("one suite") };
        assert_eq!((tally.cases.len(), tally.failed.len()), (2, 1));
        let values = tally.over(&tally.everything());
        assert_eq!((values[0], values[1], values[3]), (Some(5.0 / 8.0), Some(5.0 / 8.0), Some(4.0)));
        assert!((values[2].unwrap() - 5.0 / 8.0).abs() < 1e-12);
        let groups: Vec<_> = tally.groups(3).into_iter().map(|(name, cases)| (name, cases.len())).collect();
        assert_eq!(groups, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
        assert_eq!((harmonic_mean(Some(0.5), Some(0.5)), harmonic_mean(Some(0.0), Some(0.0))), (Some(0.5), Some(0.0)));
        assert_eq!(harmonic_mean(None, Some(1.0)), None);
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // Values of the worked examples that statistics packages print for 8 of 10 and 0 of 20.
        for (share, total, low, high) in [(0.8, 10.0, 0.490, 0.943), (0.0, 20.0, 0.0, 0.161), (0.0, 0.0, 0.0, 1.0)] {
            let (found_low, found_high) = wilson(share, total);
            assert!((found_low - low).abs() < 5e-4 && (found_high - high).abs() < 5e-4, "{found_low} {found_high}");
        }
    }

    #[test]
    fn intervals_surround_the_value() {
        let cases: Vec<_> = (0..12).map(|n| ("x", [n % 3, 2], [1, 1], 0)).collect();
        let names: Vec<String> = (0..12).map(|n| format!("c{n}")).collect();
        let cases: Vec<_> = cases.iter().zip(&names).map(|(one, name)| (name.as_str(), one.1, one.2, one.3)).collect();
        let all = results(&cases);
        let tally = &Tally::all(&all)[0];
        let found = tally.intervals(&tally.everything());
        let (recall, precision) = (found[0].unwrap(), found[1].unwrap());
        assert!(recall.low > 0.2 && recall.low < 0.5 && recall.high > 0.5 && recall.high < 0.8, "{recall:?}");
        assert!((precision.low - 1.0).abs() < 1e-12, "{precision:?}");
    }

    #[test]
    fn equal_cases_leave_no_doubt_and_unequal_ones_do() {
        let of = |shares: &[[u64; 2]]| {
            let names: Vec<String> = (0..shares.len()).map(|n| format!("c{n}")).collect();
            let cases: Vec<_> = names.iter().zip(shares).map(|(name, one)| (name.as_str(), [0, 0], *one, 0)).collect();
            let all = results(&cases);
            let tally = &Tally::all(&all)[0];
            tally.intervals(&tally.everything())[1]
        };
        assert_eq!(of(&[[3, 4]; 10]), Some(Interval { low: 0.75, high: 0.75 }));
        let mixed: Vec<[u64; 2]> = (0..20).map(|at| if at % 2 == 0 { [4, 4] } else { [0, 4] }).collect();
        let found = of(&mixed).unwrap();
        assert!((0.2..0.4).contains(&found.low) && (0.6..0.8).contains(&found.high), "{found:?}");
        assert_eq!(of(&mixed), Some(found));
        assert_eq!(of(&mixed[..1]), None);
    }
}
