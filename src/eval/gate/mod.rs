//! Whether anything got worse than what was agreed on.
//!
//! A baseline holds the figures of each case. A suite that comes out the same in every run is held against it exactly:
//! no measure of any case may be worse. Others are held against it by the interval over cases.

mod baseline;

pub use baseline::{Baseline, Line};

use super::compare::{Difference, Sure, differences};
use super::rows::{Better, Defined, Results};
use super::tally::{CaseTally, Tally};

/// How close two values are the same.
const SAME: f64 = 1e-9;

/// What became of one suite of the baseline, or of one that it does not have.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Judged {
    /// The suite with kind and extractor, for people.
    pub suite: String,
    /// What became of it.
    pub ruling: Ruling,
    /// Whether every figure had to be met exactly.
    pub exact: bool,
    /// Sentences: what is wrong or got worse.
    pub worse: Vec<String>,
    /// Sentences: what got better, or changed without a way.
    pub better: Vec<String>,
}

/// What became of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// Nothing got worse.
    Passed,
    /// It was not run.
    Skipped,
    /// Something got worse.
    Worse,
    /// It cannot be compared with the baseline.
    Wrong,
}

/// Holds `results` against `baseline`; suites in the order of the baseline, then those that it does not have.
#[must_use]
pub fn judge(baseline: &Baseline, results: &[Results]) -> Vec<Judged> {
    let run: Vec<(Line, Tally, bool)> = results.iter().flat_map(baseline::lines).collect();
    let mut judged = Vec::new();
    for line in &baseline.suites {
        judged.push(match run.iter().find(|(other, _, _)| other.is_same_suite(line)) {
            Some((other, tally, deterministic)) => against(line, other, tally, *deterministic),
            None => Judged { ruling: Ruling::Skipped, ..empty(line) },
        });
    }
    for (line, _, _) in &run {
        if !baseline.suites.iter().any(|known| known.is_same_suite(line)) {
            let why = "the baseline does not have it; renew the baseline to take it in".to_owned();
            judged.push(Judged { ruling: Ruling::Wrong, worse: vec![why], ..empty(line) });
        }
    }
    judged
}

fn empty(line: &Line) -> Judged {
    let (worse, better) = (Vec::new(), Vec::new());
    Judged { suite: line.title(), ruling: Ruling::Passed, exact: line.exact, worse, better }
}

fn against(line: &Line, other: &Line, tally: &Tally, deterministic: bool) -> Judged {
    let mut judged = Judged { exact: line.exact && deterministic, ..empty(line) };
    judged.worse = wrong(line, other);
    if !judged.worse.is_empty() {
        judged.ruling = Ruling::Wrong;
        return judged;
    }
    for (case, error) in &tally.failed {
        judged.worse.push(format!("{case} could not be run: {error}"));
    }
    let before = line.tally();
    for case in &before.cases {
        let is_gone = !tally.cases.iter().any(|own| own.case == case.case);
        if is_gone && !tally.failed.iter().any(|(failed, _)| *failed == case.case) {
            judged.worse.push(format!("{} was not run", case.case));
        }
    }
    let pairs: Vec<(&CaseTally, &CaseTally)> = before
        .cases
        .iter()
        .filter_map(|one| Some((one, tally.cases.iter().find(|own| own.case == one.case)?)))
        .collect();
    if judged.exact {
        exactly(&before, tally, &pairs, &mut judged);
    } else {
        by_interval(&before, tally, &pairs, &mut judged);
    }
    if !judged.worse.is_empty() {
        judged.ruling = Ruling::Worse;
    }
    judged
}

/// Returns why a suite cannot be compared.
fn wrong(line: &Line, other: &Line) -> Vec<String> {
    let mut found = Vec::new();
    if line.content != other.content {
        found.push(
            "its cases are not those of the baseline; renew the baseline if they were meant to change".to_owned(),
        );
    }
    let names = |ones: &[Defined], others: &[Defined]| -> Vec<String> {
        ones.iter().filter(|one| !others.contains(one)).map(|one| format!("{:?}", one.name)).collect()
    };
    let (missing, unknown) = (names(&line.measures, &other.measures), names(&other.measures, &line.measures));
    if !missing.is_empty() {
        found.push(format!("the results lack {} as the baseline defines it", missing.join(", ")));
    }
    if !unknown.is_empty() {
        found.push(format!("the baseline lacks {} as the results define it; renew the baseline", unknown.join(", ")));
    }
    found
}

/// Any measure of any case counts.
fn exactly(before: &Tally, after: &Tally, pairs: &[(&CaseTally, &CaseTally)], judged: &mut Judged) {
    for (one, other) in pairs {
        let (was, is) = (before.over(&[one]), after.over(&[other]));
        for ((measure, was), is) in before.measures.iter().zip(was).zip(is) {
            if measure.harmonic_of.is_some() {
                continue;
            }
            let told = format!("{}: {} was {}, is {}", one.case, measure.name, number(was), number(is));
            match change(was, is, measure.better) {
                Change::None => {}
                Change::Worse => judged.worse.push(told),
                Change::Better | Change::Other => judged.better.push(told),
            }
        }
    }
}

enum Change {
    None,
    Worse,
    Better,
    /// A measure that has nothing to tell on one side; what made it so shows in another.
    Other,
}

fn change(was: Option<f64>, is: Option<f64>, better: Better) -> Change {
    match was.zip(is) {
        None if was == is => Change::None,
        None => Change::Other,
        Some((was, is)) if (was - is).abs() < SAME => Change::None,
        Some((was, is)) if (is > was) == (better == Better::Higher) => Change::Better,
        Some(_) => Change::Worse,
    }
}

/// Only what is surely worse over all cases counts.
fn by_interval(before: &Tally, after: &Tally, pairs: &[(&CaseTally, &CaseTally)], judged: &mut Judged) {
    for found in differences(before, after, pairs) {
        let told = || format!("{} was {}, is {}{}", found.name, number(found.a), number(found.b), bounds(&found));
        match found.verdict {
            Sure::Worse => judged.worse.push(told()),
            Sure::Better => judged.better.push(told()),
            Sure::Unclear | Sure::Same => {}
        }
    }
}

fn bounds(found: &Difference) -> String {
    found.interval.map_or_else(String::new, |one| format!(" (difference {:+.3} to {:+.3})", one.low, one.high))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"))
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::results;
    use super::*;
    use crate::eval::rows::Manifest;

    fn of(cases: &[(&str, [u64; 2], [u64; 2], u64)], deterministic: bool) -> Results {
        let mut results = results(cases);
        results.manifest = Manifest { extractor: "rules".into(), deterministic, ..Manifest::default() };
        results
    }

    fn agreed(results: &Results) -> Baseline {
        let mut baseline = Baseline::default();
        baseline.renew(std::slice::from_ref(results)).unwrap();
        baseline
    }

    #[test]
    fn one_case_that_got_worse_fails_an_exact_suite_even_if_another_got_better() {
        let before = of(&[("a", [2, 4], [1, 1], 0), ("b", [2, 4], [1, 1], 0)], true);
        let baseline = agreed(&before);
        let same = judge(&baseline, std::slice::from_ref(&before));
        assert_eq!((same.len(), same[0].ruling, same[0].exact), (1, Ruling::Passed, true));
        let after = of(&[("a", [1, 4], [1, 1], 0), ("b", [4, 4], [1, 1], 0)], true);
        let [judged] = &judge(&baseline, &[after])[..] else { panic!("one suite") };
        assert_eq!(
            (judged.ruling, &judged.worse[..]),
            (Ruling::Worse, &["a: recall was 0.500, is 0.250".to_owned()][..])
        );
        assert_eq!(judged.better, ["b: recall was 0.500, is 1.000"]);
    }

    #[test]
    fn other_suites_fail_by_what_is_sure() {
        let names: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
        let with = |right: u64| {
            let each: Vec<_> = names.iter().map(|name| (name.as_str(), [right, 10], [1, 1], 0)).collect();
            of(&each, false)
        };
        let baseline = agreed(&with(5));
        let fallen = judge(&baseline, &[with(3)]);
        assert_eq!((fallen[0].ruling, fallen[0].exact), (Ruling::Worse, false));
        assert!(fallen[0].worse[0].starts_with("recall was 0.500, is 0.300"), "{fallen:?}");
        // One case of twenty says little.
        let mut slip = with(5);
        slip.rows[0].measures.insert("recall".into(), crate::eval::rows::Ratio::of(4, 10));
        assert_eq!(judge(&baseline, &[slip])[0].ruling, Ruling::Passed);
    }

    #[test]
    fn what_is_missing_is_skipped_or_wrong_and_never_good() {
        let before = of(&[("a", [2, 4], [1, 1], 0), ("b", [2, 4], [1, 1], 0)], true);
        let baseline = agreed(&before);
        assert_eq!(judge(&baseline, &[])[0].ruling, Ruling::Skipped);
        let fewer = of(&[("a", [2, 4], [1, 1], 0)], true);
        assert_eq!(judge(&baseline, &[fewer])[0].worse, ["b was not run"]);
        let mut failed = before.clone();
        failed.rows[1].error = Some("no such log".into());
        assert_eq!(judge(&baseline, &[failed])[0].worse, ["b could not be run: no such log"]);
        let mut other = before.clone();
        other.measures.retain(|measure| measure.name != "recall");
        let judged = judge(&baseline, &[other]);
        assert_eq!((judged[0].ruling, judged[0].worse.len()), (Ruling::Wrong, 1));
        let mut elsewhere = before;
        elsewhere.rows.iter_mut().for_each(|row| row.suite = "other".into());
        let judged = judge(&baseline, &[elsewhere]);
        assert_eq!(judged.iter().map(|one| one.ruling).collect::<Vec<_>>(), [Ruling::Skipped, Ruling::Wrong]);
    }

    #[test]
    fn a_baseline_is_renewed_suite_by_suite_and_not_with_failures() {
        let before = of(&[("a", [2, 4], [1, 1], 0)], true);
        let mut baseline = agreed(&before);
        let mut other = of(&[("a", [1, 4], [1, 1], 0)], true);
        other.rows[0].suite = "second".into();
        assert_eq!(baseline.renew(&[other]).unwrap(), ["second (extraction, rules)"]);
        assert_eq!(baseline.suites.len(), 2);
        let mut failed = before;
        failed.rows[0].error = Some("gone".into());
        assert!(baseline.renew(&[failed]).unwrap_err().to_string().contains("gone"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("baseline.json");
        baseline.write(&path).unwrap();
        assert_eq!(Baseline::read(&path).unwrap(), baseline);
    }
}
