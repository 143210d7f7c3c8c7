//! Compares two runs of the same cases.
//!
//! ```text
//! Results A ─▶ Tally ┐  the same cases  ┌▶ paired bootstrap ──▶ interval, smallest detectable difference
//!                    ├─────────────────▶├▶ randomisation test ─▶ p, and p corrected for all measures
//! Results B ─▶ Tally ┘                  └▶ cases that changed, with findings that appeared and disappeared
//! ```
//!
//! Cases are resampled rather than memories, because the memories of one conversation are not independent. Both runs
//! are resampled with the same cases, so a case that is hard for both does not widen the interval.
//!
//! The interval is the percentile interval of a paired bootstrap over cases (Efron and Tibshirani, *An Introduction to
//! the Bootstrap*, 1993). The test is a paired randomisation test: if the runs do not differ, the contribution of each
//! case to the difference is as likely to have the opposite sign. Where both runs have the same denominator in a case,
//! as for recall, flipping the sign exchanges their results, which is the recommended test for ratios of sums (Noreen,
//! *Computer-Intensive Methods for Testing Hypotheses*, 1989; Yeh, “More accurate tests for the statistical
//! significance of result differences”, COLING 2000; Dror and others, “The Hitchhiker's Guide to Testing Statistical
//! Significance in Natural Language Processing”, ACL 2018). For precision, one run may have a larger denominator
//! because it found more; exchanging results would then also exchange how much was found. The test therefore flips the
//! sign of each case's contribution to the linearised difference (Hemerik, Goeman and Finos, “Robust testing in
//! generalized linear models by sign flipping score contributions”, Journal of the Royal Statistical Society B, 2020).
//! Several measures are tested at once, so each also has a p-value corrected by Holm's method (“A simple sequentially
//! rejective multiple test procedure”, 1979).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::EvalError;
use crate::blocks::{Block, Cell, Detail, Part, Rating, counted, table};
use crate::measure::{Better, Measure, Unit, differ};
use crate::results::{Cost, Finding, Manifest, Ratio, Results, Row, float};
use crate::tally::{CaseTally, DRAWS, Interval, SplitMix, Tally, harmonic_mean, middle_95};
use crate::vocabulary::Kind;

/// Number of random sign flips, used if there are too many cases to try all combinations.
// A p-value of .05 then has a standard error of .003.
const FLIPS: u32 = 5_000;
/// Largest number of cases for which all sign flips are tried.
const EXACT: usize = 12;
/// Fixed seed, so that every comparison of the same files gives the same figures.
const SEED: u64 = 0x5eed_cafe_f00d_0002;
/// Size, in standard errors, of a difference that is detected in 80 of 100 runs at the 5 % level: 1.960 + 0.842.
const POWER: f64 = 2.802;
/// Largest difference at which two values still count as equal.
const SAME: f64 = 1e-12;
/// Number of changed cases that a short report lists.
const CHANGES: usize = 8;
/// Number of findings that a short report lists for each changed case.
const FINDINGS: usize = 6;
/// Relative rounding error of sums whose terms are added in a different order.
const ROUNDING: f64 = 1e-9;

/// A comparison of two runs: how the second differs from the first.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The first run.
    pub(crate) a: Manifest,
    /// The second run.
    pub(crate) b: Manifest,
    /// The suites that both runs contain.
    pub(crate) suites: Vec<SuiteComparison>,
    /// Suites that only one of the runs contains.
    pub(crate) alone: Vec<String>,
}

/// The results of both runs for one suite and kind.
#[derive(Debug, Serialize)]
pub(crate) struct SuiteComparison {
    /// The suite.
    pub(crate) suite: String,
    /// The kind of the suite's cases.
    pub(crate) kind: String,
    /// Number of cases that both runs contain.
    pub(crate) cases: usize,
    /// Cases that are missing from one of the runs.
    pub(crate) left_out: Vec<String>,
    /// Whether the cases were edited between the two runs.
    pub(crate) changed: bool,
    /// The difference in each measure.
    pub(crate) measures: Vec<Difference>,
    /// The cost of the cases in each run.
    pub(crate) cost: [Cost; 2],
    /// Cases that changed in either direction, starting with the cases that got worse.
    pub(crate) changes: Vec<CaseChange>,
}

/// The difference between the runs in one measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the printed JSON uses this name")]
pub(crate) struct Difference {
    /// Name of the measure.
    pub(crate) name: String,
    /// Whether high or low values are good.
    pub(crate) better: Better,
    /// Meaning of the measure's value.
    pub(crate) unit: Unit,
    /// Value of the measure in the first run.
    pub(crate) a: Option<f64>,
    /// Value of the measure in the second run.
    pub(crate) b: Option<f64>,
    /// The second value minus the first.
    pub(crate) difference: Option<f64>,
    /// 95 % interval of the difference; `None` for fewer than two cases.
    pub(crate) interval: Option<Interval>,
    /// Probability of a difference at least as large in either direction if the runs do not differ.
    pub(crate) p: Option<f64>,
    /// The same probability, corrected for the number of measures.
    pub(crate) p_of_all: Option<f64>,
    /// Smallest difference that would be detected with this number of cases in 80 of 100 runs.
    pub(crate) least: Option<f64>,
    /// The conclusion.
    pub(crate) verdict: Verdict,
}

/// Conclusion drawn from a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The second run is better, the interval excludes zero, and `p` is below 5 %.
    Better,
    /// The second run is worse, the interval excludes zero, and `p` is below 5 %.
    Worse,
    /// The difference may be due to chance.
    Unclear,
    /// There is no difference.
    Same,
}

/// Level of significance.
const LEVEL: f64 = 0.05;

impl Verdict {
    /// Returns the conclusion, or [`Verdict::Unclear`] if chance explains the difference. With few cases, the draws of the
    /// interval are too much alike.
    fn unless_by_chance(self, p: Option<f64>) -> Self {
        match self {
            Self::Better | Self::Worse if p.is_none_or(|p| p >= LEVEL) => Self::Unclear,
            Self::Better | Self::Worse | Self::Unclear | Self::Same => self,
        }
    }
}

/// A case that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CaseChange {
    /// The case.
    pub(crate) case: String,
    /// The direction.
    pub(crate) direction: Direction,
    /// The measures that changed in the case.
    pub(crate) measures: Vec<MeasureChange>,
    /// Findings of the first run that the second does not have.
    pub(crate) fixed: Vec<String>,
    /// Findings of the second run that the first does not have.
    pub(crate) broken: Vec<String>,
}

/// Direction of a change, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// Nothing got better.
    Worse,
    /// Something got better and something else got worse.
    Mixed,
    /// Nothing got worse.
    Better,
}

/// A measure that changed in a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MeasureChange {
    /// Name of the measure.
    pub(crate) name: String,
    /// Value of the measure in the first run.
    pub(crate) a: Option<f64>,
    /// Value of the measure in the second run.
    pub(crate) b: Option<f64>,
    /// Whether the measure got better; `None` if one of the two values is missing.
    pub(crate) is_better: Option<bool>,
}

/// Compares `b` with `a`.
///
/// # Errors
/// [`EvalError::Failed`] if the runs share no cases.
pub fn compare(a: &Results, b: &Results) -> Result<Comparison, EvalError> {
    let (first, second) = (Tally::all(a), Tally::all(b));
    let mut suites = Vec::new();
    for tally in &first {
        if let Some(other) = second.iter().find(|other| tally.is_same_suite(other)) {
            suites.extend(compared(tally, other, [a, b]));
        }
    }
    if suites.is_empty() {
        return Err(EvalError::Failed(
            "the two runs have no cases in common; compare runs of the same suite (see `suites` in both files)"
                .to_owned(),
        ));
    }
    let alone = |ones: &[Tally], others: &[Tally]| -> Vec<String> {
        let lonely = ones.iter().filter(|one| !others.iter().any(|other| one.is_same_suite(other)));
        lonely.map(|one| format!("{} ({})", one.suite, one.kind)).collect()
    };
    let mut lonely = alone(&first, &second);
    lonely.extend(alone(&second, &first));
    Ok(Comparison { a: a.manifest.clone(), b: b.manifest.clone(), suites, alone: lonely })
}

impl Comparison {
    /// Returns the comparison as blocks of a report.
    pub fn blocks(&self, detail: Detail) -> Vec<Block> {
        let runs = [("A", &self.a), ("B", &self.b)];
        let mut blocks: Vec<Block> =
            runs.iter().map(|(name, run)| Block::Line(format!("{name}  {}", run.summary()))).collect();
        blocks.extend(self.suites.iter().flat_map(|suite| suite.blocks(detail)));
        let alone = self.alone.iter().map(|alone| format!("{alone} is in only one of the runs, so it is not compared"));
        blocks.extend(alone.map(Block::Note));
        blocks
    }
}

impl SuiteComparison {
    fn blocks(&self, detail: Detail) -> Vec<Block> {
        let left_out = match self.left_out.len() {
            0 => String::new(),
            count => format!(", {count} not compared because only one run has them"),
        };
        let cases = counted(self.cases, "case");
        let mut blocks = vec![Block::Heading(format!("{} ({}): {cases}{left_out}", self.suite, self.kind))];
        if self.changed {
            blocks.push(Block::Note(format!("the cases of {} changed between the two runs", self.suite)));
        }
        let header = ["measure", "A", "B", "B − A", "95 % interval", "p", "p of all", "shows from", ""];
        blocks.push(table(&header, self.measures.iter().map(Difference::cells)));
        let costs = ["A", "B"].into_iter().zip(&self.cost);
        blocks.extend(costs.map(|(name, cost)| Block::Line(format!("{name} cost {}", cost.summary()))));
        let counts = [Direction::Worse, Direction::Mixed, Direction::Better].map(|way| {
            let count = self.changes.iter().filter(|change| change.direction == way).count();
            format!("{count} {}", way.tone_and_name().1)
        });
        blocks.push(Block::Line(format!("cases that changed: {}", counts.join(", "))));
        let (shown, findings) = detail.limits(CHANGES, FINDINGS);
        for change in self.changes.iter().take(shown) {
            let (tone, word) = change.direction.tone_and_name();
            let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
            let values: Vec<String> =
                change.measures.iter().map(|one| format!(" {} → {}", value(one.a), value(one.b))).collect();
            let mut about = vec![Part::Words(word), Part::Quoted(": ")];
            for (at, (one, values)) in change.measures.iter().zip(&values).enumerate() {
                about.extend((at > 0).then_some(Part::Quoted(", ")));
                about.extend([Part::Words(&one.name), Part::Quoted(values)]);
            }
            let line = |sign, text: &String, tone| {
                let (what, text) = text.split_at(text.find(": ").unwrap_or(text.len()));
                Cell::of(&[Part::Quoted(sign), Part::Words(what), Part::Quoted(text)], tone)
            };
            let lines = change.broken.iter().map(|text| line("- ", text, Rating::Bad));
            let lines = lines.chain(change.fixed.iter().map(|text| line("+ ", text, Rating::Good)));
            blocks.push(Block::case(&change.case, Cell::of(&about, tone), lines.collect(), findings));
        }
        blocks.extend(Block::left_out(self.changes.len(), shown, "cases changed"));
        blocks
    }
}

impl Difference {
    fn cells(&self) -> Vec<Cell> {
        let number = |value: Option<f64>| Cell::plain(self.unit.format(value));
        let signed = |value: f64| {
            let sign = if value < 0.0 { '−' } else { '+' };
            format!("{sign}{}", self.unit.format(Some(value.abs())))
        };
        let chance = |p: Option<f64>| match p {
            Some(p) if p < 0.001 => Cell::plain("<.001"),
            p => Cell::plain(Unit::Share.format(p)),
        };
        let (tone, word) = match self.verdict {
            Verdict::Better => (Rating::Good, "better"),
            Verdict::Worse => (Rating::Bad, "worse"),
            Verdict::Unclear => (Rating::Dim, "no clear difference"),
            Verdict::Same => (Rating::Dim, "same"),
        };
        let given = |text: Option<String>| Cell::plain(text.unwrap_or_else(|| "–".to_owned()));
        vec![
            Cell::plain(&self.name),
            number(self.a),
            number(self.b),
            given(self.difference.map(signed)),
            given(self.interval.map(|one| format!("{} to {}", signed(one.low), signed(one.high)))),
            chance(self.p),
            chance(self.p_of_all),
            given(self.least.map(|least| format!("±{}", self.unit.format(Some(least))))),
            Cell::new(word, tone),
        ]
    }
}

impl Direction {
    const fn tone_and_name(self) -> (Rating, &'static str) {
        match self {
            Self::Worse => (Rating::Bad, "worse"),
            Self::Mixed => (Rating::Middling, "mixed"),
            Self::Better => (Rating::Good, "better"),
        }
    }
}

fn compared(a: &Tally, b: &Tally, results: [&Results; 2]) -> Option<SuiteComparison> {
    let pairs = a.pairs(b);
    if pairs.is_empty() {
        return None;
    }
    let both: BTreeSet<&str> = pairs.iter().map(|(one, _)| one.case.as_str()).collect();
    let named = |tally: &Tally| -> Vec<String> {
        let run = tally.cases.iter().map(|case| case.case.clone());
        run.chain(tally.failed.iter().map(|(case, _)| case.clone())).collect()
    };
    let mut left_out: Vec<String> = named(a).into_iter().chain(named(b)).collect();
    // A case that only one run contains would shift every measure even if nothing had changed.
    left_out.retain(|case| !both.contains(case.as_str()));
    left_out.sort();
    left_out.dedup();
    let content = |results: &Results| {
        results.manifest.suites.iter().find(|suite| suite.name == a.suite).map(|suite| suite.content.clone())
    };
    let mut changes: Vec<CaseChange> =
        pairs.iter().filter_map(|(one, other)| case_change(a, b, one, other, results)).collect();
    changes.sort_by_key(|change| change.direction);
    Some(SuiteComparison {
        suite: a.suite.clone(),
        kind: a.kind.clone(),
        cases: pairs.len(),
        left_out,
        changed: content(results[0]) != content(results[1]),
        measures: differences(a, b, &pairs),
        cost: results.map(|results| a.cost(results, a.rows_of(results).filter(|row| both.contains(row.case.as_str())))),
        changes,
    })
}

fn case_change(a: &Tally, b: &Tally, one: &CaseTally, other: &CaseTally, results: [&Results; 2]) -> Option<CaseChange> {
    let (before, after) = (a.over(&[one]), b.over(&[other]));
    let mut measures = Vec::new();
    for (at, measure) in a.measures.iter().enumerate().filter(|(_, measure)| measure.harmonic_of.is_none()) {
        // A measure that only one version of the program defines cannot have changed.
        let Some(place) = b.measures.iter().position(|own| own.name == measure.name) else { continue };
        let (one, other) = (before[at], after[place]);
        if differ(one, other) {
            let is_better = measure.is_better(one, other);
            measures.push(MeasureChange { name: measure.name.clone(), a: one, b: other, is_better });
        }
    }
    let [was, is] = results.map(|results| counted_findings(results, a, &one.case));
    let texts = |ones: &[&Finding], others: &[&Finding]| -> Vec<String> {
        let known: BTreeSet<(&str, &str)> =
            others.iter().map(|found| (found.what.as_str(), found.id.as_str())).collect();
        let new = ones.iter().filter(|found| !known.contains(&(found.what.as_str(), found.id.as_str())));
        new.map(|found| format!("{}: {}", found.what, found.text)).collect()
    };
    let (fixed, broken) = (texts(&was, &is), texts(&is, &was));
    // Findings are compared as well as measures: one finding that was fixed and one that is new can cancel out and
    // leave a measure unchanged.
    let (mut better, mut worse) = (!fixed.is_empty(), !broken.is_empty());
    for change in &measures {
        better |= change.is_better == Some(true);
        worse |= change.is_better == Some(false);
    }
    let direction = match (better, worse) {
        (true, false) => Direction::Better,
        (false, true) => Direction::Worse,
        (true, true) => Direction::Mixed,
        (false, false) => return None,
    };
    Some(CaseChange { case: one.case.clone(), direction, measures, fixed, broken })
}

/// Returns the findings that lower a measure, from the first run of a case.
fn counted_findings<'r>(results: &'r Results, tally: &Tally, case: &str) -> Vec<&'r Finding> {
    let row = tally.rows_of(results).find(|row| row.case == case);
    row.into_iter().flat_map(|row| &row.findings).filter(|found| found.counts).collect()
}

/// One of several ways of answering the same questions.
#[derive(Debug, Serialize)]
pub struct Arm {
    name: String,
    /// Value of this arm for each measure.
    measures: BTreeMap<String, Option<f64>>,
    /// Difference in recall at 10 between this arm and the first.
    gain: Option<Difference>,
}

/// Returns each suite of `rows` as one way of answering the same questions, compared with the first suite. The name of
/// each is the part of the suite's name after the colon.
pub fn arms(rows: Vec<Row>) -> Vec<Arm> {
    let tallies = Tally::all(&Results::new(Manifest::default(), rows));
    let arm = |tally: &Tally| {
        let first = tallies.first().filter(|first| first.suite != tally.suite);
        let gain = first.and_then(|first| {
            // All arms answer the same questions in the same order, so their cases are paired by position.
            let pairs: Vec<(&CaseTally, &CaseTally)> = first.cases.iter().zip(&tally.cases).collect();
            differences(first, tally, &pairs).into_iter().find(|difference| difference.name == "r@10")
        });
        let names = tally.measures.iter().map(|measure| measure.name.clone());
        let name = tally.suite.rsplit_once(": ").map_or(tally.suite.as_str(), |(_, name)| name).to_owned();
        Arm { name, measures: names.zip(tally.over(&tally.everything())).collect(), gain }
    };
    tallies.iter().map(arm).collect()
}

/// Returns a table with a row for each of `arms`.
pub fn arm_table(arms: &[Arm]) -> Block {
    let measures = Kind::LocomoSearch.measures();
    let names = measures.iter().map(|measure| measure.name.as_str());
    let header: Vec<&str> = std::iter::once("").chain(names).chain(["r@10 minus first row, 95 %"]).collect();
    let row = |arm: &Arm| {
        let value = |measure: &Measure| arm.measures.get(&measure.name).copied().flatten();
        let values = measures.iter().map(|measure| Cell::plain(measure.unit.format(value(measure))));
        let gain = arm.gain.as_ref().and_then(|gain| Some((gain.difference?, gain.interval?)));
        let gain = gain.map(|(gain, bounds)| format!("{gain:+.3} ({:+.3} to {:+.3})", bounds.low, bounds.high));
        let last = Cell::plain(gain.unwrap_or_default());
        std::iter::once(Cell::plain(&arm.name)).chain(values).chain([last]).collect()
    };
    table(&header, arms.iter().map(row))
}

/// Returns the difference in each measure that both tallies have, computed from `pairs` of the same cases.
pub(crate) fn differences(a: &Tally, b: &Tally, pairs: &[(&CaseTally, &CaseTally)]) -> Vec<Difference> {
    let pairs = Pairs::new(a, b, pairs);
    let found = pairs.values(&(0..pairs.len()));
    let drawn = drawn(&pairs);
    let chances: Vec<Option<f64>> = pairs.contributions().into_iter().map(|one| Some(chance(&one?))).collect();
    let together = holm(&chances);
    let shared =
        a.measures.iter().enumerate().filter(|(_, measure)| b.measures.iter().any(|other| other.is_same(measure)));
    shared
        .map(|(at, measure)| {
            let (first, second) = found[at];
            let difference = first.zip(second).map(|(one, other)| other - one);
            // If there is only one pair, all draws are equal, which would look like certainty.
            let many = (pairs.len() > 1).then(|| drawn[at].clone());
            // Without any spread between the draws, the smallest detectable difference cannot be estimated.
            let least = many.as_deref().and_then(deviation).map(|error| error * POWER).filter(|least| *least > SAME);
            let interval = many.and_then(middle_95);
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
                verdict: verdict(difference, interval, measure.better).unless_by_chance(chances[at]),
            }
        })
        .collect()
}

/// Returns the conclusion from the interval alone.
pub(crate) fn verdict(difference: Option<f64>, interval: Option<Interval>, better: Better) -> Verdict {
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

/// Returns, for each measure, its difference in every draw.
fn drawn(pairs: &Pairs<'_>) -> Vec<Vec<f64>> {
    let mut random = SplitMix::new(SEED);
    let mut found = vec![Vec::with_capacity(DRAWS); pairs.tally.measures.len()];
    for _ in 0..DRAWS {
        // All measures share one draw of cases; a separate draw for each would multiply the time.
        let drawn: Vec<usize> = (0..pairs.len()).map(|_| random.below(pairs.len())).collect();
        for (found, (one, other)) in found.iter_mut().zip(pairs.values(&drawn.iter().copied())) {
            // A draw in which one run has no value for the measure yields no difference and is left out.
            found.extend(one.zip(other).map(|(one, other)| other - one));
        }
    }
    found
}

/// Returns the share of sign assignments for which the sum of `contributions` is at least as large as observed.
fn chance(contributions: &[f64]) -> f64 {
    let seen = contributions.iter().sum::<f64>().abs();
    let size: f64 = contributions.iter().map(|one| one.abs()).sum();
    // Up to 4,096 sign assignments can all be tried cheaply, which yields a p-value without random error.
    let exact = contributions.len() <= EXACT;
    let rounds = if exact { 1_u32 << contributions.len() } else { FLIPS };
    let mut random = SplitMix::new(SEED);
    let mut as_large = 0_u32;
    for round in 0..rounds {
        let mut is_flipped = |at: usize| if exact { round >> at & 1 == 1 } else { random.below(2) == 1 };
        let sum: f64 = contributions.iter().enumerate().map(|(at, one)| if is_flipped(at) { -one } else { *one }).sum();
        // Sums in a different order differ in the last digits; without the tolerance, equal sums would not be counted.
        as_large += u32::from(sum.abs() >= seen - size * ROUNDING);
    }
    // The observed assignment counts as one of the random assignments, so the p-value is never zero.
    let extra = u32::from(!exact);
    f64::from(as_large + extra) / f64::from(rounds + extra)
}

/// Returns the standard deviation, if there are at least two values.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let count = float(values.len());
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // The divisor is one less than the count, because the mean is estimated from the same values.
    (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
}

/// Returns each p-value, corrected for the number of tests.
pub(crate) fn holm(chances: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = chances.iter().enumerate().filter_map(|(at, p)| Some((at, (*p)?))).collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut found = vec![None; chances.len()];
    let (mut least, mut left) = (0.0_f64, u32::try_from(order.len()).unwrap_or(u32::MAX));
    for (at, p) in order {
        // A corrected p-value is never below the corrected value of a smaller one, as Holm's step-down procedure
        // requires.
        least = least.max((p * f64::from(left)).min(1.0));
        found[at] = Some(least);
        left -= 1;
    }
    found
}

/// The two results of each case, in the order of the first run's measures.
struct Pairs<'a> {
    tally: &'a Tally,
    cases: Vec<[Vec<Ratio>; 2]>,
}

/// The value of a measure in each of the two runs.
type Both = (Option<f64>, Option<f64>);

impl<'a> Pairs<'a> {
    fn new(a: &'a Tally, b: &Tally, pairs: &[(&CaseTally, &CaseTally)]) -> Self {
        let place = |name: &str| b.measures.iter().position(|other| other.name == name);
        let places: Vec<Option<usize>> = a.measures.iter().map(|measure| place(&measure.name)).collect();
        let cases = pairs.iter().map(|(one, other)| {
            let second = places.iter().map(|place| place.map_or_else(Ratio::default, |at| other.ratios[at]));
            [one.ratios.clone(), second.collect()]
        });
        Self { tally: a, cases: cases.collect() }
    }

    /// Returns the number of cases.
    const fn len(&self) -> usize {
        self.cases.len()
    }

    /// Returns the value of each measure for `cases` in both runs.
    fn values(&self, cases: &(impl Iterator<Item = usize> + Clone)) -> Vec<Both> {
        let sums = self.sums(cases);
        self.tally.values(&sums[0]).into_iter().zip(self.tally.values(&sums[1])).collect()
    }

    fn sums(&self, cases: &(impl Iterator<Item = usize> + Clone)) -> [Vec<Ratio>; 2] {
        [0, 1].map(|side| self.tally.sum(cases.clone().map(|at| &self.cases[at][side])))
    }

    /// Returns, for each measure, the contribution of each case to the difference, or `None` if one run did not measure
    /// it. The contributions add up to the difference: exactly for counts and for shares with equal denominators,
    /// otherwise to first order.
    ///
    /// A case contributes the amount by which it exceeds its expected value, which is derived from both runs together.
    /// A run that merely finds more at the same quality therefore contributes nothing.
    fn contributions(&self) -> Vec<Option<Vec<f64>>> {
        let sums = self.sums(&(0..self.len()));
        let together: Vec<Ratio> = sums[0].iter().zip(&sums[1]).map(|(one, other)| one.plus(*other)).collect();
        let measures = &self.tally.measures;
        let plain = |at: usize| self.plain_contributions(at, [sums[0][at], sums[1][at]], together[at]);
        let place = |name: &String| measures.iter().position(|own| own.name == *name && own.harmonic_of.is_none());
        let value = |at: usize| together[at].value(measures[at].unit);
        let each = measures.iter().enumerate().map(|(at, measure)| {
            let Some(names) = &measure.harmonic_of else { return plain(at) };
            let [one, other] = names.each_ref().map(place);
            let (one, other) = (one?, other?);
            let (a, b) = (value(one)?, value(other)?);
            let mean = harmonic_mean(Some(a), Some(b)).filter(|mean| *mean > 0.0)?;
            // The derivative of 2ab/(a+b) with respect to a is 2b²/(a+b)², which equals (mean/a)²/2.
            let (by_one, by_other) = ((mean / a).powi(2) / 2.0, (mean / b).powi(2) / 2.0);
            let both = plain(one)?.into_iter().zip(plain(other)?);
            Some(both.map(|(first, second)| by_one * first + by_other * second).collect())
        });
        each.collect()
    }

    fn plain_contributions(&self, at: usize, sums: [Ratio; 2], together: Ratio) -> Option<Vec<f64>> {
        let [first, second] = sums.map(|sum| sum.denominator);
        if first <= 0.0 || second <= 0.0 {
            return None;
        }
        let contribution = |case: &[Vec<Ratio>; 2]| {
            let [one, other] = [case[0][at], case[1][at]];
            match self.tally.measures[at].unit {
                Unit::Count => other.numerator - one.numerator,
                Unit::Share | Unit::Number => {
                    let expected = together.numerator / together.denominator;
                    (other.numerator - expected * other.denominator) / second
                        - (one.numerator - expected * one.denominator) / first
                }
            }
        };
        Some(self.cases.iter().map(contribution).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::results;

    #[test]
    fn a_run_that_finds_more_everywhere_is_certainly_better() {
        let names: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
        let with = |right: u64| {
            let cases: Vec<_> = names.iter().map(|name| (name.as_str(), [right, 4], [right, right + 1], 0)).collect();
            results(&cases)
        };
        let (worse, better) = (with(1), with(3));
        let found = compare(&worse, &better).unwrap();
        let [suite] = &found.suites[..] else { panic!("one suite") };
        let recall = &suite.measures[0];
        assert_eq!((recall.a, recall.b, recall.difference), (Some(0.25), Some(0.75), Some(0.5)));
        assert_eq!(recall.verdict, Verdict::Better);
        // Ten cases that all change in the same direction: 2 of the 1,024 assignments are as extreme.
        assert!((recall.p.unwrap() - 2.0 / 1024.0).abs() < 1e-9, "{recall:?}");
        assert!(recall.p_of_all >= recall.p);
        assert_eq!(suite.measures[3].verdict, Verdict::Same);
        assert_eq!(suite.changes.len(), 10);
        let back = compare(&better, &worse).unwrap();
        assert_eq!(back.suites[0].measures[0].verdict, Verdict::Worse);
    }

    #[test]
    fn few_cases_show_no_clear_difference_even_if_all_of_them_changed() {
        let with = |right: u64| results(&["a", "b", "c"].map(|name| (name, [right, 4], [1, 1], 0)));
        let found = compare(&with(3), &with(1)).unwrap();
        let recall = &found.suites[0].measures[0];
        assert_eq!((recall.p, recall.verdict), (Some(0.25), Verdict::Unclear), "{recall:?}");
        assert_eq!(recall.cells().last().unwrap().text, "no clear difference");
    }

    #[test]
    fn more_memories_of_the_same_precision_are_no_difference() {
        let names: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
        // In the first run, one memory of one case is wrong; the second run finds twice as many, all of them right.
        let with = |count: u64, wrong: u64| {
            let one = |(n, name): (u64, &String)| (name.clone(), [count - if n == 0 { wrong } else { 0 }, count]);
            let each: Vec<_> = (0_u64..).zip(&names).map(one).collect();
            let each: Vec<_> = each.iter().map(|(name, precision)| (name.as_str(), [1, 1], *precision, 0)).collect();
            results(&each)
        };
        let found = compare(&with(10, 1), &with(20, 0)).unwrap();
        let precision = &found.suites[0].measures[1];
        assert_eq!((precision.a, precision.b), (Some(0.99), Some(1.0)));
        assert_eq!((precision.p, precision.verdict), (Some(1.0), Verdict::Unclear), "{precision:?}");
    }

    #[test]
    fn a_run_is_the_same_as_itself() {
        let one = results(&[("a", [1, 2], [1, 2], 1), ("b", [2, 2], [2, 3], 0)]);
        let found = compare(&one, &one).unwrap();
        let suite = &found.suites[0];
        assert!(suite.measures.iter().all(|one| one.verdict == Verdict::Same && one.p == Some(1.0)), "{suite:?}");
        assert_eq!((suite.changes.len(), suite.left_out.len(), suite.changed), (0, 0, false));
    }

    #[test]
    fn cases_that_only_one_has_run_are_listed_as_left_out() {
        let (one, other) =
            (results(&[("a", [1, 2], [1, 1], 0), ("b", [0, 2], [0, 1], 0)]), results(&[("b", [2, 2], [1, 1], 0)]));
        let found = compare(&one, &other).unwrap();
        assert_eq!((found.suites[0].cases, &found.suites[0].left_out[..]), (1, &["a".to_owned()][..]));
        assert_eq!(found.suites[0].measures[0].interval, None, "one case has no interval");
        assert!(compare(&one, &results(&[("z", [1, 1], [1, 1], 0)])).is_err());
    }

    #[test]
    fn several_tests_together_are_less_certain() {
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
