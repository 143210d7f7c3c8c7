//! The figures that were agreed on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::eval::EvalError;
use crate::eval::rows::{Defined, Ratio, Results, write_whole};
use crate::eval::tally::{CaseTally, Tally};

/// What every baseline begins with.
const FORM: &str = "afterthought-eval-baseline";
/// Version of the form.
const VERSION: u32 = 1;

/// The figures that were agreed on, suite by suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// `afterthought-eval-baseline`.
    form: String,
    /// Version of the form.
    version: u32,
    /// The suites, by name, kind and extractor.
    pub suites: Vec<Line>,
}

/// What was agreed on for one suite and kind, and one extractor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The suite.
    pub suite: String,
    /// The kind of its cases.
    pub kind: String,
    /// What was measured: `llm`, `rules`, or a control.
    pub extractor: String,
    /// The model, where one was asked.
    pub model: Option<String>,
    /// SHA-256 of the cases.
    pub content: String,
    /// Whether every run gives the same figures.
    pub exact: bool,
    /// What is measured.
    pub measures: Vec<Defined>,
    /// The figures of each case, by measure; those with nothing to tell are left out.
    pub cases: BTreeMap<String, BTreeMap<String, Ratio>>,
}

impl Default for Baseline {
    fn default() -> Self {
        Self { form: FORM.to_owned(), version: VERSION, suites: Vec::new() }
    }
}

impl Line {
    /// Whether both tell of the same suite, measured with the same.
    #[must_use]
    pub fn is_same_suite(&self, other: &Self) -> bool {
        (&self.suite, &self.kind, &self.extractor, &self.model)
            == (&other.suite, &other.kind, &other.extractor, &other.model)
    }

    /// Returns its name for people.
    #[must_use]
    pub fn title(&self) -> String {
        let by = self.model.as_ref().unwrap_or(&self.extractor);
        format!("{} ({}, {by})", self.suite, self.kind)
    }

    /// Returns the figures in the form in which they are compared.
    pub(super) fn tally(&self) -> Tally {
        let case = |(case, figures): (&String, &BTreeMap<String, Ratio>)| CaseTally {
            case: case.clone(),
            ratios: self.measures.iter().map(|one| figures.get(&one.name).copied().unwrap_or_default()).collect(),
            ..CaseTally::default()
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

/// Returns what `results` say of each of their suites, and whether every run says the same.
pub(super) fn lines(results: &Results) -> Vec<(Line, Tally, bool)> {
    let manifest = &results.manifest;
    let line = |tally: Tally| {
        let suite = manifest.suites.iter().find(|suite| suite.name == tally.suite);
        let figures = |case: &CaseTally| -> BTreeMap<String, Ratio> {
            let each = tally.measures.iter().zip(&case.ratios).filter(|(_, ratio)| ratio.denominator > 0.0);
            each.map(|(measure, ratio)| (measure.name.clone(), *ratio)).collect()
        };
        let line = Line {
            suite: tally.suite.clone(),
            kind: tally.kind.clone(),
            extractor: manifest.extractor.clone(),
            model: manifest.model.clone(),
            content: suite.map(|suite| suite.content.clone()).unwrap_or_default(),
            exact: manifest.deterministic,
            measures: tally.measures.clone(),
            cases: tally.cases.iter().map(|case| (case.case.clone(), figures(case))).collect(),
        };
        (line, tally, manifest.deterministic)
    };
    Tally::all(results).into_iter().map(line).collect()
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// [`EvalError::Read`] or [`EvalError::Results`].
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let text = fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
        let wrong = |reason: String| EvalError::Results { path: path.to_owned(), reason };
        let read: Self = serde_json::from_str(&text).map_err(|error| {
            wrong(format!(
                "it is no baseline ({error}); `afterthought eval gate --baseline FILE --renew RESULT…` writes one"
            ))
        })?;
        match (read.form.as_str(), read.version) {
            (FORM, ..=VERSION) => Ok(read),
            (FORM, later) => Err(wrong(format!("it is of version {later}, and this program knows {VERSION}"))),
            _ => Err(wrong("it is no baseline".to_owned())),
        }
    }

    /// Writes the file whole or not at all.
    ///
    /// # Errors
    /// [`EvalError::Write`] if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), EvalError> {
        let text = serde_json::to_string_pretty(self).expect("maps have text as keys and numbers are finite");
        write_whole(path, &(text + "\n"))
    }

    /// Takes the figures of `results` in place of what it says of their suites, and returns their names. Other suites
    /// stay as they are.
    ///
    /// # Errors
    /// [`EvalError::Failed`] if a case could not be run: what is not known cannot be agreed on.
    pub fn renew(&mut self, results: &[Results]) -> Result<Vec<String>, EvalError> {
        let mut renewed = Vec::new();
        for (line, tally, _) in results.iter().flat_map(lines) {
            if let Some((case, error)) = tally.failed.first() {
                return Err(EvalError::Failed(format!("{case} could not be run ({error}); mend it, and renew then")));
            }
            renewed.push(line.title());
            self.suites.retain(|own| !own.is_same_suite(&line));
            self.suites.push(line);
        }
        let order = |line: &Line| (line.suite.clone(), line.kind.clone(), line.extractor.clone(), line.model.clone());
        self.suites.sort_by_key(order);
        Ok(renewed)
    }
}
