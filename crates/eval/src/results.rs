//! The result file of a run: a description of the run, and one row for each case. Finished cases are cached in a file
//! next to it.
//!
//! ```text
//! { "form": "afterthought-eval-results", "version": 1,
//!   "manifest": { … what was run: program, suites, prompts, model, options … },
//!   "measures": [ { "kind", "name", "about", "better", "unit", "harmonic_of" } … ],
//!   "rows":     [ { "suite", "kind", "case", … "measures": { name: { "numerator", "denominator" } }, "cost", "findings" } … ] }
//! ```
//!
//! A measure over many cases is the sum of the numerators divided by the sum of the denominators. Any rows can therefore
//! be combined without the cases, the logs or the program that made them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

use crate::EvalError;
use crate::files::{LineCase, Placed, content_hash, json_text, read_form, suite_name, write_atomically};
use crate::measure::{Measure, Unit};
use crate::vocabulary::Kind;

const FORM: &str = "afterthought-eval-results";
/// Version of the file format; a file of a later version is rejected.
const VERSION: u32 = 1;

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// `afterthought-eval-results`.
    pub(crate) form: String,
    /// Version of the format.
    pub(crate) version: u32,
    /// Description of the run.
    pub manifest: Manifest,
    /// The measures of the rows, in the order in which reports list them.
    pub(crate) measures: Vec<Measure>,
    /// The cases in the order of the suites; each repetition has separate rows.
    pub rows: Vec<Row>,
    /// Costs of requests that served several cases. The cost of a suite is the sum of these and the costs of its rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedCost>,
}

/// A description of a run, so that it can be repeated and is compared only with similar runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the program.
    pub program: String,
    /// Git revision of the working directory, with `+` if files were changed; `None` outside a checkout.
    pub revision: Option<String>,
    /// The suites in the order in which they were given.
    pub suites: Vec<Suite>,
    /// SHA-256 of the prompts.
    pub prompts: String,
    /// Folder of the prompts, unless the built-in prompts were used.
    pub prompt_folder: Option<PathBuf>,
    /// What was measured: `llm`, `rules`, or a control.
    pub extractor: String,
    /// Display name of the extractor: the model, the version of the rules, or the control.
    pub label: String,
    /// The model, if one was asked.
    pub model: Option<String>,
    /// Whether repeating the run yields the same rows, because no model was asked or its replies were recorded.
    pub deterministic: bool,
    /// Seed of all random draws.
    pub seed: u64,
    /// Number of times that each case was run.
    pub repeat: u32,
    /// Options that change the outcome, by name.
    pub options: BTreeMap<String, serde_json::Value>,
    /// Time at which the run started.
    #[schemars(with = "String")]
    pub started: jiff::Timestamp,
    /// Duration of the run in milliseconds.
    pub ms: u64,
    /// Number of cases that were taken from an earlier run.
    pub cache_hits: u64,
}

/// A suite of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name of the suite that rows refer to: the part of its path after `evals/`, or otherwise its last part.
    pub name: String,
    /// Path of the suite.
    pub path: PathBuf,
    /// SHA-256 of the suite's cases and logs; recordings and reports are excluded.
    pub content: String,
    /// Number of cases in the suite.
    pub cases: u64,
}

/// Cost of requests that served several cases of a suite and therefore belong to no row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedCost {
    /// The suite.
    pub suite: String,
    /// Number of the run, from 1.
    pub repeat: u32,
    /// The cost.
    pub cost: Cost,
}

impl Suite {
    /// Describes the suite at `path`, without its number of cases.
    ///
    /// # Errors
    /// [`EvalError::Read`] if the suite cannot be read.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        Ok(Self { name: suite_name(path), path: path.to_owned(), content: content_hash(path)?, cases: 0 })
    }
}

impl Results {
    /// Returns the results of a run, with the measures of the kinds of its rows.
    pub fn new(manifest: Manifest, rows: Vec<Row>) -> Self {
        let mut measures: Vec<Measure> = Vec::new();
        for row in &rows {
            if let Some(kind) =
                row.kind.parse::<Kind>().ok().filter(|_| !measures.iter().any(|one| one.kind == row.kind))
            {
                measures.extend(kind.measures());
            }
        }
        Self { form: FORM.to_owned(), version: VERSION, manifest, measures, rows, shared: Vec::new() }
    }

    /// Reads a result file.
    ///
    /// # Errors
    /// [`EvalError::Read`] if it cannot be read. [`EvalError::Results`] if it is not a result file, has a later
    /// version, or contains rows with undefined measures.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let read: Self = read_form(
            path,
            (FORM, VERSION),
            "it is not a result file",
            "use `afterthought eval SUITE --out FILE` to write one",
        )?;
        // Without a definition, a measure has no direction, so a change could be neither good nor bad.
        read.check().map_err(|reason| EvalError::Results { path: path.to_owned(), reason })?;
        Ok(read)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// [`EvalError::Write`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), EvalError> {
        write_atomically(path, &self.to_json())
    }

    pub(crate) fn to_json(&self) -> String {
        json_text(self)
    }

    /// Returns an error if rows contain measures that the file does not define.
    fn check(&self) -> Result<(), String> {
        let known: BTreeSet<(&str, &str)> =
            self.measures.iter().map(|one| (one.kind.as_str(), one.name.as_str())).collect();
        for row in &self.rows {
            if let Some(name) = row.measures.keys().find(|name| !known.contains(&(row.kind.as_str(), name.as_str()))) {
                return Err(format!("{} has the measure {name:?}, which the file does not define", row.case));
            }
        }
        Ok(())
    }
}

/// A numerator and a denominator, each of which is summed over cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ratio {
    /// The part, such as the required memories that were found.
    #[serde(serialize_with = "plain")]
    pub(crate) numerator: f64,
    /// The whole, such as all required memories; 0 if the case does not contribute to the measure.
    #[serde(serialize_with = "plain")]
    pub(crate) denominator: f64,
}

impl Ratio {
    /// Returns `part` of `whole`.
    #[expect(clippy::cast_precision_loss, reason = "the counts are far below 2^52")]
    pub(crate) const fn of(part: u64, whole: u64) -> Self {
        Self { numerator: part as f64, denominator: whole as f64 }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { numerator: self.numerator + other.numerator, denominator: self.denominator + other.denominator }
    }

    /// Returns the value in `unit`; `None` if nothing was measured.
    pub(crate) fn value(self, unit: Unit) -> Option<f64> {
        (self.denominator > 0.0).then_some(match unit {
            Unit::Share | Unit::Number => self.numerator / self.denominator,
            Unit::Count => self.numerator,
        })
    }
}

/// Writes a whole number without a decimal point, so that files stay short and change only where numbers change.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the value by reference")]
fn plain<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    // Below 2^53 every whole number is exact in a float, so the conversion is lossless.
    #[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
    if number.fract() == 0.0 && number.abs() < 1e15 {
        to.serialize_i64(*number as i64)
    } else {
        to.serialize_f64(*number)
    }
}

/// Outcome of one run of one case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// Name of the suite that the case belongs to.
    pub suite: String,
    /// Kind of case: `extraction`, `pair`, `stream`, `recall` or any other. Rows of a kind have the same measures.
    pub kind: String,
    /// Name of the case, unique among those of its suite and kind.
    pub case: String,
    /// Split of the case, such as `dev`.
    pub split: String,
    /// Language of the case, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Format of the logs, if the case has logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// What the case tests.
    pub phenomena: Vec<String>,
    /// Number of the run of this case, from 1.
    pub repeat: u32,
    /// The reason why the case could not be run, if it failed; such a row has no measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The measures. A measure that does not apply to the case has a denominator of 0 or is missing.
    pub(crate) measures: BTreeMap<String, Ratio>,
    /// Totals that explain the measures to people, such as the number of memories.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// Expected and actual values, for choices with only a few possible values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) confusion: Vec<Confusion>,
    /// Cost of running the case.
    pub cost: Cost,
    /// For people: why the case is difficult, or the question that it asks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Errors that were found, the worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Finding>,
    /// Faults of the case itself that its author should fix, and problems of the run that did not invalidate it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An expected and an actual value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Confusion {
    /// The choice, such as `type` or `decision`.
    pub(crate) of: String,
    /// The expected value.
    pub(crate) expected: String,
    /// The actual value.
    pub(crate) got: String,
    /// Number of times that this combination occurred.
    pub(crate) count: u64,
}

/// Cost of a case or a suite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Answered requests; a recorded reply counts like the original call.
    pub calls: u64,
    /// Failed requests.
    pub failed_calls: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Price in dollars, if known.
    pub money: Option<f64>,
    /// Elapsed time in milliseconds.
    pub ms: u64,
}

impl Cost {
    /// Returns the cost on one line, for display.
    pub(crate) fn summary(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        let seconds = self.ms as f64 / 1_000.0;
        if self.calls + self.failed_calls == 0 {
            return format!("no call, {seconds:.1} s in total");
        }
        let money = self.money.map_or_else(String::new, |money| format!(", ${money:.4}"));
        format!(
            "{} {}, {} prompt tokens, {} completion tokens{money}, {seconds:.1} s in total",
            self.calls,
            if self.calls == 1 { "call" } else { "calls" },
            self.prompt_tokens,
            self.completion_tokens
        )
    }

    /// Returns the sum of two costs. The price is known only if both prices are known, or if one of the two includes no
    /// call.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            failed_calls: self.failed_calls + other.failed_calls,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            completion_tokens: self.completion_tokens + other.completion_tokens,
            // An unknown price must not be counted as zero.
            money: match (self.money, other.money) {
                (Some(one), Some(two)) => Some(one + two),
                (one, None) if other.calls == 0 => one,
                (None, two) if self.calls == 0 => two,
                (Some(_) | None, None) | (None, Some(_)) => None,
            },
            ms: self.ms + other.ms,
        }
    }

    /// Returns the sum of all `costs`.
    pub(crate) fn sum(costs: impl IntoIterator<Item = Self>) -> Self {
        // The sum starts at a known price of zero; the first call of unknown price makes it unknown.
        costs.into_iter().fold(Self { money: Some(0.0), ..Self::default() }, Self::plus)
    }
}

/// An error that was found in a case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Finding {
    /// The kind of error: `missed`, `forbidden`, `unlisted`, `wrong decision`.
    pub(crate) what: String,
    /// Identifies the finding within the case in every run: the id of the gold memory, or the text.
    pub(crate) id: String,
    /// The text of the memory, as it is or as it should be.
    pub(crate) text: String,
    /// The reason why the memory is wrong, for human readers.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) why: String,
    /// Whether the finding lowers a measure of the case.
    pub(crate) counts: bool,
    /// The quotes that the memory cites, or should cite.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<Quote>,
}

/// A quote from a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quote {
    /// Id of the message, if known; preceded by the number of its conversation if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The quoted text.
    pub(crate) quote: String,
}

impl Row {
    /// Returns an empty row.
    pub fn new(kind: Kind, case: impl Into<String>) -> Self {
        Self { kind: kind.to_string(), case: case.into(), ..Self::default() }
    }

    /// Returns the row with an error and without measures, for a case that could not be run or must not count.
    #[must_use]
    pub fn failed(self, error: String) -> Self {
        Self { error: Some(error), measures: BTreeMap::new(), ..self }
    }

    pub(crate) fn ratio(&mut self, name: &str, part: u64, whole: u64) {
        self.measures.insert(name.to_owned(), Ratio::of(part, whole));
    }

    /// Counts a check; `None` means that the check was not made.
    pub(crate) fn checked(&mut self, name: &str, is_so: Option<bool>) {
        self.ratio(name, u64::from(is_so == Some(true)), u64::from(is_so.is_some()));
    }

    /// Adds `part` of `whole` to a measure.
    pub(crate) fn add(&mut self, name: &str, part: f64, whole: f64) {
        let ratio = self.measures.entry(name.to_owned()).or_default();
        *ratio = ratio.plus(Ratio { numerator: part, denominator: whole });
    }

    /// Adds the value of one question to a measure.
    pub(crate) fn mean(&mut self, name: &str, value: f64) {
        self.add(name, value, 1.0);
    }

    /// Counts a yes or a no for a measure.
    pub(crate) fn yes(&mut self, name: &str, is_so: bool) {
        self.mean(name, f64::from(u8::from(is_so)));
    }

    /// Adds a finding that lowers a measure.
    pub(crate) fn fault(&mut self, what: &str, id: &str, text: &str, why: &str) {
        let [what, id, text, why] = [what, id, text, why].map(str::to_owned);
        self.findings.push(Finding { what, id, text, why, counts: true, evidence: Vec::new() });
    }

    /// Records the time since `started`.
    #[must_use]
    pub fn timed(mut self, started: Instant) -> Self {
        self.cost.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self
    }
}

#[expect(clippy::cast_precision_loss, reason = "the counts are far below 2^52")]
pub(crate) const fn float(count: usize) -> f64 {
    count as f64
}

/// Returns how many of the first `texts` together fit into `budget` tokens.
pub(crate) fn fitting(texts: &[&str], budget: usize, tokens: fn(&str) -> usize) -> usize {
    let mut left = budget;
    let mut fits = |text: &str| left.checked_sub(tokens(text)).map(|rest| left = rest).is_some();
    // Stops at the first text that does not fit: a context would be cut off there, and no later text takes its place.
    texts.iter().take_while(|text| fits(text)).count()
}

/// Returns the discounted gain of the positions for which `is_right` is true, as a share of the best gain possible with
/// `best` right results. Only the first 10 positions count.
pub(crate) fn ndcg(is_right: impl Iterator<Item = bool>, best: usize) -> f64 {
    // Positions are counted from 0, and the first one has the full gain of 1 / log2(2).
    let gain = |place: usize| 1.0 / float(place + 2).log2();
    let found: f64 = is_right.take(10).enumerate().filter(|(_, right)| *right).map(|(place, _)| gain(place)).sum();
    found / (0..best.min(10)).map(gain).sum::<f64>()
}

/// Returns the reciprocal of the first position for which `is_right` is true; 0 if there is none.
pub(crate) fn reciprocal_rank(mut is_right: impl Iterator<Item = bool>) -> f64 {
    is_right.position(|right| right).map_or(0.0, |place| 1.0 / float(place + 1))
}

/// The outcome of one case.
#[derive(Deserialize)]
struct Line {
    key: String,
    kept: serde_json::Value,
}

/// A cache of finished cases, stored one per line of a file.
#[derive(Debug)]
pub struct Cache {
    path: PathBuf,
    known: RefCell<BTreeMap<String, serde_json::Value>>,
    used: RefCell<BTreeSet<String>>,
    file: RefCell<File>,
    hits: Cell<u64>,
}

impl Cache {
    /// Opens the cache next to `out`, or starts a new cache if `fresh` is true. A line that an interrupted run left
    /// incomplete is ignored.
    ///
    /// # Errors
    /// [`EvalError::Write`] if the cache cannot be opened.
    pub fn open_beside(out: &Path, fresh: bool) -> Result<Self, EvalError> {
        let path = path_beside(out, "kept.jsonl");
        // A line may have been cut off in the middle of a character.
        let text = if fresh { Vec::new() } else { fs::read(&path).unwrap_or_default() };
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known: BTreeMap<_, _> = lines.map(|line| (line.key, line.kept)).collect();
        // The file is rewritten, so that appended text does not continue a line that was cut off.
        write_atomically(&path, &to_text(&known))?;
        let file = File::options().append(true).open(&path);
        let file = file.map_err(|source| EvalError::Write { path: path.clone(), source })?;
        let (known, used) = (RefCell::new(known), RefCell::default());
        Ok(Self { path, known, used, file: RefCell::new(file), hits: Cell::new(0) })
    }

    /// Returns the outcome stored under `key`, and counts the hit.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let kept = self.known.borrow().get(key).cloned()?;
        // An entry written by another version counts as unknown, and the case is run again.
        let kept = serde_json::from_value(kept).ok()?;
        self.used.borrow_mut().insert(key.to_owned());
        self.hits.set(self.hits.get() + 1);
        Some(kept)
    }

    /// Stores `value` under `key` immediately.
    ///
    /// # Errors
    /// [`EvalError::Write`] if the file cannot be written.
    pub fn put<T: Serialize>(&self, key: &str, value: &T) -> Result<(), EvalError> {
        let unwritable = |source: std::io::Error| EvalError::Write { path: self.path.clone(), source };
        let kept = serde_json::to_value(value).map_err(|error| unwritable(error.into()))?;
        // The whole line is written at once, so that an interrupted run can truncate at most the last line.
        self.file.borrow_mut().write_all(line(key, &kept).as_bytes()).map_err(unwritable)?;
        self.used.borrow_mut().insert(key.to_owned());
        self.known.borrow_mut().insert(key.to_owned(), kept);
        Ok(())
    }

    /// Returns the number of cases that were taken from an earlier run.
    pub const fn hits(&self) -> u64 {
        self.hits.get()
    }

    /// Removes the entries that this run did not use.
    ///
    /// # Errors
    /// [`EvalError::Write`] if the file cannot be written.
    pub fn prune(&self) -> Result<(), EvalError> {
        let used = self.used.borrow();
        self.known.borrow_mut().retain(|key, _| used.contains(key));
        write_atomically(&self.path, &to_text(&self.known.borrow()))
    }
}

fn to_text(known: &BTreeMap<String, serde_json::Value>) -> String {
    known.iter().map(|(key, kept)| line(key, kept)).collect()
}

fn line(key: &str, kept: &serde_json::Value) -> String {
    serde_json::json!({"key": key, "kept": kept}).to_string() + "\n"
}

/// Returns the path of a file next to `out`, such as `out.json.kept.jsonl`.
pub fn path_beside(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(".");
    name.push(ending);
    out.with_file_name(name)
}

impl<T: LineCase> Placed<T> {
    /// Returns a row of the case without measures.
    pub fn row(&self, kind: Kind) -> Row {
        let (split, language) = (self.split.clone(), Some(self.language.clone()));
        Row { split, language, ..Row::new(kind, self.label()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::measures_in;

    fn results() -> Results {
        let row = Row {
            suite: "smoke".into(),
            kind: "extraction".into(),
            case: "smoke/a".into(),
            repeat: 1,
            measures: [("recall".to_owned(), Ratio::of(3, 4))].into(),
            cost: Cost { calls: 1, money: Some(0.5), ..Cost::default() },
            ..Row::default()
        };
        let measures = measures_in("[extraction]\nshare recall: found", "extraction");
        Results { measures, ..Results::new(Manifest::default(), vec![row]) }
    }

    #[test]
    fn a_written_file_reads_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/results.json");
        results().write(&file).unwrap();
        assert_eq!(Results::read(&file).unwrap(), results());
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"numerator\": 3,"), "{text}");
    }

    #[test]
    fn other_files_are_distinguished_from_damaged_and_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results.json");
        let reason = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let EvalError::Results { reason, .. } = Results::read(&file).unwrap_err() else { panic!("another error") };
            reason
        };
        assert!(reason("not json").starts_with("it is not a result file"));
        assert!(reason("{}").starts_with("it is not a result file; use `afterthought eval SUITE --out FILE`"));
        let later = results().to_json().replace("\"version\": 1", "\"version\": 99");
        assert_eq!(
            reason(&later),
            "it has version 99, but this program supports only versions up to 1; update afterthought"
        );
        let mut undefined = results();
        undefined.rows[0].measures.insert("luck".into(), Ratio::of(1, 1));
        let expected = "smoke/a has the measure \"luck\", which the file does not define";
        assert_eq!(reason(&undefined.to_json()), expected);
    }

    #[test]
    fn values_follow_their_unit() {
        assert_eq!(Ratio::of(3, 4).plus(Ratio::of(1, 4)).value(Unit::Share), Some(0.5));
        assert_eq!(Ratio::of(3, 4).value(Unit::Count), Some(3.0));
        assert_eq!(Ratio::of(0, 0).value(Unit::Count), None);
    }

    #[test]
    fn unknown_money_stays_unknown() {
        let known = Cost { calls: 1, money: Some(1.0), ..Cost::default() };
        let unknown = Cost { calls: 1, ..Cost::default() };
        assert_eq!(known.plus(known).money, Some(2.0));
        assert_eq!(known.plus(unknown).money, None);
        assert_eq!(known.plus(Cost::default()).money, Some(1.0));
    }

    #[test]
    fn ranks_count_the_less_the_later_they_come() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        close(ndcg([true, false, true].into_iter(), 2), (1.0 + 0.5) / (1.0 + 1.0 / 3f64.log2()));
        close(reciprocal_rank([false, true].into_iter()), 0.5);
        close(reciprocal_rank(std::iter::empty()), 0.0);
    }

    #[test]
    fn finished_cases_survive_a_killed_run() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.json");
        let cache = Cache::open_beside(&out, false).unwrap();
        cache.put("a", &1).unwrap();
        cache.put("b", &"äöü").unwrap();
        let path = folder.path().join("out.json.kept.jsonl");
        let mut cut = fs::read(&path).unwrap();
        cut.truncate(cut.len() - "\u{fc}\"}\n".len() + 1);
        fs::write(&path, cut).unwrap();

        let cache = Cache::open_beside(&out, false).unwrap();
        assert_eq!((cache.get::<u32>("a"), cache.get::<String>("b")), (Some(1), None));
        cache.put("c", &3).unwrap();
        cache.prune().unwrap();
        assert_eq!(cache.hits(), 1);
        let cache = Cache::open_beside(&out, false).unwrap();
        assert_eq!((cache.get::<u32>("a"), cache.get::<u32>("c")), (Some(1), Some(3)));

        let cache = Cache::open_beside(&out, true).unwrap();
        assert_eq!(cache.get::<u32>("a"), None);
    }
}
