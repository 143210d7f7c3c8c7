//! Compares a run with a stored baseline, and fails if any figure got worse.
//!
//! A baseline contains the figures of each case. A deterministic suite must match it exactly: no measure of any case
//! may be worse. Other suites are compared by means of the 95 % confidence interval across cases.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EvalError;
use crate::compare::{Difference, Verdict, differences, verdict};
use crate::files::{json_text, read_form, write_atomically};
use crate::measure::{Measure, Unit, differ};
use crate::report::{Block, Cell, Detail, Rating};
use crate::results::{Ratio, Results};
use crate::tally::{CaseTally, Tally};

/// How to write a baseline.
const REMEDY: &str = "use `afterthought eval gate --baseline FILE --renew RESULT…` to write a baseline";
const FORM: &str = "afterthought-eval-baseline";
/// Version of the file format.
const VERSION: u32 = 1;

/// The accepted figures of each suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// `afterthought-eval-baseline`.
    form: String,
    /// Version of the format.
    version: u32,
    /// The suites, by name, kind and extractor.
    pub(crate) suites: Vec<BaselineSuite>,
}

/// The accepted figures of one suite and kind, measured with one extractor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BaselineSuite {
    /// The suite.
    pub(crate) suite: String,
    /// The kind of the suite's cases.
    pub(crate) kind: String,
    /// What was measured: `llm`, `rules`, or a control.
    pub(crate) extractor: String,
    /// The model, if one was asked.
    pub(crate) model: Option<String>,
    /// SHA-256 of the cases.
    pub(crate) content: String,
    /// Whether every run yields the same figures.
    pub(crate) exact: bool,
    /// The measures.
    pub(crate) measures: Vec<Measure>,
    /// The figures of each case by measure; those without a denominator are left out.
    pub(crate) cases: BTreeMap<String, BTreeMap<String, Ratio>>,
}

impl Default for Baseline {
    fn default() -> Self {
        Self { form: FORM.to_owned(), version: VERSION, suites: Vec::new() }
    }
}

impl BaselineSuite {
    /// Returns whether the two entries have the same suite, kind, extractor and model.
    fn is_same_suite(&self, other: &Self) -> bool {
        (&self.suite, &self.kind, &self.extractor, &self.model)
            == (&other.suite, &other.kind, &other.extractor, &other.model)
    }

    /// Returns the name of the suite for display.
    fn title(&self) -> String {
        let by = self.model.as_ref().unwrap_or(&self.extractor);
        format!("{} ({}, {by})", self.suite, self.kind)
    }

    /// Returns the figures as a tally.
    fn tally(&self) -> Tally {
        let case = |(case, figures): (&String, &BTreeMap<String, Ratio>)| {
            let ratio = |one: &Measure| figures.get(&one.name).copied().unwrap_or_default();
            CaseTally::new(case, self.measures.iter().map(ratio).collect())
        };
        Tally {
            suite: self.suite.clone(),
            kind: self.kind.clone(),
            measures: self.measures.clone(),
            cases: self.cases.iter().map(case).collect(),
            failed: Vec::new(),
        }
    }
}

/// Returns the figures of each suite of `results`.
fn suites_of(results: &Results) -> Vec<(BaselineSuite, Tally)> {
    let manifest = &results.manifest;
    let line = |tally: Tally| {
        let suite = manifest.suites.iter().find(|suite| suite.name == tally.suite);
        let figures = |case: &CaseTally| -> BTreeMap<String, Ratio> {
            let each = tally.measures.iter().zip(&case.ratios).filter(|(_, ratio)| ratio.denominator > 0.0);
            each.map(|(measure, ratio)| (measure.name.clone(), *ratio)).collect()
        };
        let line = BaselineSuite {
            suite: tally.suite.clone(),
            kind: tally.kind.clone(),
            extractor: manifest.extractor.clone(),
            model: manifest.model.clone(),
            content: suite.map(|suite| suite.content.clone()).unwrap_or_default(),
            exact: manifest.deterministic,
            measures: tally.measures.clone(),
            cases: tally.cases.iter().map(|case| (case.case.clone(), figures(case))).collect(),
        };
        (line, tally)
    };
    Tally::all(results).into_iter().map(line).collect()
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// [`EvalError::Read`] if the file cannot be read, or [`EvalError::Results`] if it is not a baseline.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        read_form(path, (FORM, VERSION), "it is not a baseline", REMEDY)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// [`EvalError::Write`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), EvalError> {
        write_atomically(path, &json_text(self))
    }

    /// Replaces the figures of the suites in `results`, and returns the names of these suites. Other suites remain
    /// unchanged.
    ///
    /// # Errors
    /// [`EvalError::Failed`] if a case could not be run.
    pub fn renew(&mut self, results: &[Results]) -> Result<Vec<String>, EvalError> {
        let mut renewed = Vec::new();
        for (line, tally) in results.iter().flat_map(suites_of) {
            // Without the failed case, the baseline could not show a later deterioration of that case.
            if let Some((case, error)) = tally.failed.first() {
                return Err(EvalError::Failed(format!("{case} could not be run ({error}); fix it and renew again")));
            }
            renewed.push(line.title());
            self.suites.retain(|own| !own.is_same_suite(&line));
            self.suites.push(line);
        }
        let order =
            |line: &BaselineSuite| (line.suite.clone(), line.kind.clone(), line.extractor.clone(), line.model.clone());
        // The suites are sorted, so that renewing one of them changes only its lines in the file.
        self.suites.sort_by_key(order);
        Ok(renewed)
    }
}

/// Number of improvements that a short report lists for each suite.
const IMPROVEMENTS: usize = 6;

/// Ruling on one suite, which may be missing from the baseline.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SuiteRuling {
    /// The name of the suite with its kind and extractor, for display.
    pub(crate) suite: String,
    /// The ruling.
    pub ruling: Ruling,
    /// Whether every figure had to match exactly.
    pub(crate) exact: bool,
    /// Sentences about faults, and about measures that got worse.
    pub(crate) worse: Vec<String>,
    /// Sentences about measures that got better, or that changed without getting better or worse.
    pub(crate) better: Vec<String>,
}

/// Ruling on a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// Nothing got worse.
    Passed,
    /// The suite was not run.
    Skipped,
    /// Something got worse.
    Worse,
    /// The suite cannot be compared with the baseline.
    Wrong,
}

/// Compares `results` with `baseline`. Suites are in the order of the baseline, followed by suites that the baseline
/// does not contain.
pub fn judge(baseline: &Baseline, results: &[Results]) -> Vec<SuiteRuling> {
    let run: Vec<(BaselineSuite, Tally)> = results.iter().flat_map(suites_of).collect();
    let mut rulings = Vec::new();
    for line in &baseline.suites {
        rulings.push(match run.iter().find(|(other, _)| other.is_same_suite(line)) {
            Some((other, tally)) => compare_suite(line, other, tally),
            // A suite may be missing: some suites need a model or a downloaded data set, and cannot run everywhere.
            None => SuiteRuling { ruling: Ruling::Skipped, ..empty(line) },
        });
    }
    for (line, _) in &run {
        if !baseline.suites.iter().any(|known| known.is_same_suite(line)) {
            let why = "the baseline does not contain it; renew the baseline to include it".to_owned();
            rulings.push(SuiteRuling { ruling: Ruling::Wrong, worse: vec![why], ..empty(line) });
        }
    }
    rulings
}

impl SuiteRuling {
    /// Returns whether renewing the baseline would record an improvement.
    pub fn is_better(&self) -> bool {
        self.ruling == Ruling::Passed && !self.better.is_empty()
    }

    /// Returns the ruling as a block of a report.
    pub fn block(&self, detail: Detail) -> Block {
        let (tone, word) = match self.ruling {
            Ruling::Passed => (Rating::Good, "passed"),
            Ruling::Skipped => (Rating::Dim, "skipped"),
            Ruling::Worse => (Rating::Bad, "worse"),
            Ruling::Wrong => (Rating::Bad, "error"),
        };
        let how = match (self.ruling, self.exact) {
            (Ruling::Skipped, _) => "it was not run",
            (_, true) => "exactly",
            (_, false) => "by interval",
        };
        let (_, improvements) = detail.limits(0, IMPROVEMENTS);
        let lines = self.worse.iter().map(|line| Cell::new(format!("- {line}"), Rating::Bad));
        let better = self.better.iter().map(|line| Cell::new(format!("+ {line}"), Rating::Middling));
        let most = self.worse.len() + improvements.min(self.better.len());
        Block::case(&format!("{word:<8}{}", self.suite), Cell::new(how, tone), lines.chain(better).collect(), most)
    }
}

fn empty(line: &BaselineSuite) -> SuiteRuling {
    let (worse, better) = (Vec::new(), Vec::new());
    SuiteRuling { suite: line.title(), ruling: Ruling::Passed, exact: line.exact, worse, better }
}

fn compare_suite(line: &BaselineSuite, other: &BaselineSuite, tally: &Tally) -> SuiteRuling {
    // The comparison is exact only if both sides are: the figures of a live model vary from run to run.
    let mut ruling = SuiteRuling { exact: line.exact && other.exact, ..empty(line) };
    ruling.worse = wrong(line, other);
    if !ruling.worse.is_empty() {
        ruling.ruling = Ruling::Wrong;
        return ruling;
    }
    for (case, error) in &tally.failed {
        ruling.worse.push(format!("{case} could not be run: {error}"));
    }
    let before = line.tally();
    for case in &before.cases {
        // It must not be possible to pass the gate by omitting a bad case.
        let is_gone = !tally.cases.iter().any(|own| own.case == case.case);
        if is_gone && !tally.failed.iter().any(|(failed, _)| *failed == case.case) {
            ruling.worse.push(format!("{} was not run", case.case));
        }
    }
    let pairs = before.pairs(tally);
    if ruling.exact {
        compare_exactly(&before, tally, &pairs, &mut ruling);
    } else {
        compare_by_interval(&before, tally, &pairs, &mut ruling);
    }
    if !ruling.worse.is_empty() {
        ruling.ruling = Ruling::Worse;
    }
    ruling
}

/// Returns the reasons why a suite cannot be compared.
fn wrong(line: &BaselineSuite, other: &BaselineSuite) -> Vec<String> {
    let mut found = Vec::new();
    // Edited cases produce different figures; comparing them would blame the program for the edit.
    if line.content != other.content {
        found.push("its cases differ from those of the baseline; if this is intended, renew the baseline".to_owned());
    }
    let names = |ones: &[Measure], others: &[Measure]| -> Vec<String> {
        ones.iter()
            .filter(|one| !others.iter().any(|other| other.is_same(one)))
            .map(|one| format!("{:?}", one.name))
            .collect()
    };
    let (missing, unknown) = (names(&line.measures, &other.measures), names(&other.measures, &line.measures));
    if !missing.is_empty() {
        found.push(format!("missing from the results, or defined differently in the baseline: {}", missing.join(", ")));
    }
    if !unknown.is_empty() {
        found.push(format!(
            "missing from the baseline, or defined differently in the results: {}; renew the baseline",
            unknown.join(", ")
        ));
    }
    found
}

/// Compares the figures of each case; a change in any measure of any case counts.
fn compare_exactly(before: &Tally, after: &Tally, pairs: &[(&CaseTally, &CaseTally)], ruling: &mut SuiteRuling) {
    for (one, other) in pairs {
        let (was, is) = (before.over(&[one]), after.over(&[other]));
        for ((measure, was), is) in before.measures.iter().zip(was).zip(is) {
            // This measure is derived from two others, so a change in it would be reported twice.
            if measure.harmonic_of.is_some() || !differ(was, is) {
                continue;
            }
            let text = format!(
                "{}: {} was {}, is {}",
                one.case,
                measure.name,
                Unit::Share.format(was),
                Unit::Share.format(is)
            );
            let to = if measure.is_better(was, is) == Some(false) { &mut ruling.worse } else { &mut ruling.better };
            to.push(text);
        }
    }
}

/// Compares the measures across all cases; only a measure that is certainly worse counts.
fn compare_by_interval(before: &Tally, after: &Tally, pairs: &[(&CaseTally, &CaseTally)], ruling: &mut SuiteRuling) {
    for found in differences(before, after, pairs) {
        let text = || {
            format!(
                "{} was {}, is {}{}",
                found.name,
                Unit::Share.format(found.a),
                Unit::Share.format(found.b),
                bounds(&found)
            )
        };
        match verdict(found.difference, found.interval, found.better) {
            Verdict::Worse => ruling.worse.push(text()),
            Verdict::Better => ruling.better.push(text()),
            Verdict::Unclear | Verdict::Same => {}
        }
    }
}

fn bounds(found: &Difference) -> String {
    found.interval.map_or_else(String::new, |one| format!(" (difference {:+.3} to {:+.3})", one.low, one.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Manifest;
    use crate::tally::tests::results;

    fn of(cases: &[(&str, [u64; 2], [u64; 2], u64)], deterministic: bool) -> Results {
        let mut results = results(cases);
        results.manifest = Manifest { extractor: "rules".into(), deterministic, ..Manifest::default() };
        results
    }

    fn baseline_of(results: &Results) -> Baseline {
        let mut baseline = Baseline::default();
        baseline.renew(std::slice::from_ref(results)).unwrap();
        baseline
    }

    #[test]
    fn one_case_that_got_worse_fails_an_exact_suite_even_if_another_got_better() {
        let before = of(&[("a", [2, 4], [1, 1], 0), ("b", [2, 4], [1, 1], 0)], true);
        let baseline = baseline_of(&before);
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
    fn other_suites_fail_by_what_is_certain() {
        let names: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
        let with = |right: u64| {
            let each: Vec<_> = names.iter().map(|name| (name.as_str(), [right, 10], [1, 1], 0)).collect();
            of(&each, false)
        };
        let baseline = baseline_of(&with(5));
        let fallen = judge(&baseline, &[with(3)]);
        assert_eq!((fallen[0].ruling, fallen[0].exact), (Ruling::Worse, false));
        assert!(fallen[0].worse[0].starts_with("recall was 0.500, is 0.300"), "{fallen:?}");
        // One case out of twenty proves little.
        let mut slip = with(5);
        slip.rows[0].measures.insert("recall".into(), Ratio::of(4, 10));
        assert_eq!(judge(&baseline, &[slip])[0].ruling, Ruling::Passed);
    }

    #[test]
    fn what_is_missing_is_skipped_or_wrong_and_never_good() {
        let before = of(&[("a", [2, 4], [1, 1], 0), ("b", [2, 4], [1, 1], 0)], true);
        let baseline = baseline_of(&before);
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
        let mut baseline = baseline_of(&before);
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
