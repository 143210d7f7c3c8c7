//! Rows of one suite and kind put together: what every report, comparison and gate counts with.

use std::collections::BTreeMap;

use super::interval::{Interval, drawn};
use super::rows::{Defined, Ratio, Results, Row, harmonic};

/// The cases of one suite and kind, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// The suite.
    pub suite: String,
    /// The kind of its rows.
    pub kind: String,
    /// What is measured, in the order in which it is told.
    pub measures: Vec<Defined>,
    /// The cases that were run.
    pub cases: Vec<CaseTally>,
    /// The cases that could not be run, and why.
    pub failed: Vec<(String, String)>,
}

/// All runs of one case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseTally {
    /// Its name.
    pub case: String,
    /// Its split.
    pub split: String,
    /// Its language.
    pub language: Option<String>,
    /// The format of its logs.
    pub format: Option<String>,
    /// What it tests.
    pub phenomena: Vec<String>,
    /// What was counted, in the order of the measures; nothing for one that follows from others.
    pub ratios: Vec<Ratio>,
}

/// What cases may have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The split.
    Split,
    /// The language.
    Language,
    /// The format of the logs.
    Format,
    /// What they test; a case belongs to several groups then.
    Phenomenon,
}

impl By {
    /// Every way, in the order in which tables are told.
    pub const ALL: [Self; 4] = [Self::Split, Self::Language, Self::Format, Self::Phenomenon];

    /// Returns its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Language => "language",
            Self::Format => "format",
            Self::Phenomenon => "phenomenon",
        }
    }

    fn of(self, case: &CaseTally) -> Vec<String> {
        match self {
            Self::Split => vec![case.split.clone()],
            Self::Language => case.language.iter().cloned().collect(),
            Self::Format => case.format.iter().cloned().collect(),
            Self::Phenomenon => case.phenomena.clone(),
        }
    }
}

impl Tally {
    /// Returns a tally for each suite and kind of `results`, in the order of its rows. Repeats of a case are added up, so
    /// that an interval over cases takes them as the one case that they are.
    #[must_use]
    pub fn all(results: &Results) -> Vec<Self> {
        let mut tallies: Vec<Self> = Vec::new();
        for row in &results.rows {
            let place = tallies.iter().position(|one| one.suite == row.suite && one.kind == row.kind);
            let at = place.unwrap_or_else(|| {
                let measures = results.measures_of(&row.kind).cloned().collect();
                tallies.push(Self { suite: row.suite.clone(), kind: row.kind.clone(), measures, ..Self::default() });
                tallies.len() - 1
            });
            tallies[at].add(row);
        }
        tallies
    }

    fn add(&mut self, row: &Row) {
        if let Some(error) = &row.error {
            self.failed.push((row.case.clone(), error.clone()));
            return;
        }
        let of = |measure: &Defined| row.measures.get(&measure.name).copied().unwrap_or_default();
        let ratios: Vec<Ratio> = self.measures.iter().map(of).collect();
        if let Some(case) = self.cases.iter_mut().find(|case| case.case == row.case) {
            case.ratios.iter_mut().zip(ratios).for_each(|(own, more)| *own = own.plus(more));
            return;
        }
        self.cases.push(CaseTally {
            case: row.case.clone(),
            split: row.split.clone(),
            language: row.language.clone(),
            format: row.format.clone(),
            phenomena: row.phenomena.clone(),
            ratios,
        });
    }

    /// Returns the value of each measure that follows from `sums`, which are in the order of the measures.
    #[must_use]
    pub fn values(&self, sums: &[Ratio]) -> Vec<Option<f64>> {
        let plain = |name: &String| {
            let at = self.measures.iter().position(|one| one.name == *name && one.harmonic_of.is_none())?;
            sums.get(at)?.value(self.measures[at].unit)
        };
        let each = self.measures.iter().zip(sums);
        each.map(|(measure, sum)| match &measure.harmonic_of {
            Some([one, other]) => harmonic(plain(one), plain(other)),
            None => sum.value(measure.unit),
        })
        .collect()
    }

    /// Returns the value of each measure over all of `cases`.
    #[must_use]
    pub fn over(&self, cases: &[&CaseTally]) -> Vec<Option<f64>> {
        self.values(&self.sum(cases))
    }

    fn sum(&self, cases: &[&CaseTally]) -> Vec<Ratio> {
        let mut sums = vec![Ratio::default(); self.measures.len()];
        for case in cases {
            sums.iter_mut().zip(&case.ratios).for_each(|(sum, ratio)| *sum = sum.plus(*ratio));
        }
        sums
    }

    /// Returns the 95 % interval of each measure over `cases`; `None` for fewer than two.
    #[must_use]
    pub fn intervals(&self, cases: &[&CaseTally]) -> Vec<Option<Interval>> {
        let measures: Vec<_> = (0..self.measures.len())
            .map(|at| move |values: &Vec<Option<f64>>| values.get(at).copied().flatten())
            .collect();
        // Each draw is valued once, and each measure takes its own of the values.
        let ratios: Vec<&CaseTally> = cases.to_vec();
        drawn(&ratios, |drawn: Vec<&CaseTally>| self.over(&drawn), &measures)
    }

    /// Returns each measure over all cases, with its interval where there is a value.
    #[must_use]
    pub fn whole(&self) -> Vec<(Option<f64>, Option<Interval>)> {
        let all = self.everything();
        let each = self.over(&all).into_iter().zip(self.intervals(&all));
        each.map(|(value, interval)| (value, interval.filter(|_| value.is_some()))).collect()
    }

    /// Returns the cases by what they have in common, by name.
    #[must_use]
    pub fn groups(&self, by: By) -> Vec<(String, Vec<&CaseTally>)> {
        let mut groups: BTreeMap<String, Vec<&CaseTally>> = BTreeMap::new();
        for case in &self.cases {
            for name in by.of(case) {
                groups.entry(name).or_default().push(case);
            }
        }
        groups.into_iter().collect()
    }

    /// Returns all cases.
    #[must_use]
    pub fn everything(&self) -> Vec<&CaseTally> {
        self.cases.iter().collect()
    }
}

#[cfg(test)]
pub(in crate::eval) mod tests {
    use super::*;
    use crate::eval::rows::{Better, Manifest, RowUnit};

    /// Returns results with a row for each of `cases`: its name, what is recalled of what is required, what is right of
    /// what is there, and how many are forbidden.
    pub(in crate::eval) fn results(cases: &[(&str, [u64; 2], [u64; 2], u64)]) -> Results {
        let share = |name: &str| Defined::new("extraction", name, "a share", Better::Higher, RowUnit::Share);
        let f1 = Defined { harmonic_of: Some(["recall".into(), "precision".into()]), ..share("F1") };
        let forbidden = Defined::new("extraction", "forbidden", "a count", Better::Lower, RowUnit::Count);
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
        let measures = vec![share("recall"), share("precision"), f1, forbidden];
        Results::new(Manifest::default(), measures, cases.iter().map(row).collect())
    }

    #[test]
    fn values_are_of_the_sums_and_repeats_are_one_case() {
        let mut all = results(&[("a1", [1, 2], [1, 1], 1), ("b1", [3, 4], [3, 6], 2)]);
        let again = all.rows[0].clone();
        all.rows.push(Row { repeat: 2, ..again });
        all.rows.push(Row {
            case: "c1".into(),
            error: Some("gone".into()),
            measures: BTreeMap::new(),
            ..all.rows[0].clone()
        });
        let [tally] = &Tally::all(&all)[..] else { panic!("one suite") };
        assert_eq!((tally.cases.len(), tally.failed.len()), (2, 1));
        let values = tally.over(&tally.everything());
        assert_eq!((values[0], values[1], values[3]), (Some(5.0 / 8.0), Some(5.0 / 8.0), Some(4.0)));
        assert!((values[2].unwrap() - 5.0 / 8.0).abs() < 1e-12);
        let groups: Vec<_> =
            tally.groups(By::Phenomenon).into_iter().map(|(name, cases)| (name, cases.len())).collect();
        assert_eq!(groups, [("a".to_owned(), 1), ("b".to_owned(), 1)]);
    }

    #[test]
    fn intervals_lie_around_the_value() {
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
}
