//! The result file of a run: what was run, and one row for each case.
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

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EvalError;
use crate::files::{content_hash, read_text, suite_name, write_atomically};
use crate::row::{Cost, Measure, Row};

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
    /// What was run.
    pub manifest: Manifest,
    /// The measures of the rows, in the order in which reports list them.
    pub measures: Vec<Measure>,
    /// The cases in the order of the suites; each repetition has rows of its own.
    pub rows: Vec<Row>,
    /// Requests for several cases together; a suite costs these and its rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedCost>,
}

/// What was run, so that anyone can repeat it and nobody compares what cannot be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the program.
    pub program: String,
    /// Git revision of the working directory, with `+` if files were changed; `None` outside of a checkout.
    pub revision: Option<String>,
    /// The suites in the order in which they were given.
    pub suites: Vec<Suite>,
    /// SHA-256 of the prompts.
    pub prompts: String,
    /// Folder of the prompts, if they are not those of the program.
    pub prompt_folder: Option<PathBuf>,
    /// What was measured: `llm`, `rules`, or a control.
    pub extractor: String,
    /// Its name for people: the model, the version of the rules, or the control.
    pub label: String,
    /// The model, if one was asked.
    pub model: Option<String>,
    /// Whether the same run yields the same rows: no model was asked except a recorded one.
    pub deterministic: bool,
    /// Seed of all random draws.
    pub seed: u64,
    /// How often each case was run.
    pub repeat: u32,
    /// Options that change the outcome, by name.
    pub options: BTreeMap<String, serde_json::Value>,
    /// When it started.
    #[schemars(with = "String")]
    pub started: jiff::Timestamp,
    /// Its duration in milliseconds.
    pub ms: u64,
    /// Number of cases that were taken from an earlier run.
    pub cache_hits: u64,
}

/// A suite of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name, by which rows refer to it: the part of its path behind `evals/`, else its own name.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// SHA-256 of its cases and logs; recordings and reports do not count.
    pub content: String,
    /// Its number of cases.
    pub cases: u64,
}

/// Requests for several cases of a suite together, which are in no row.
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

/// The fields that distinguish a file of another kind from a damaged one.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    form: String,
    #[serde(default)]
    version: u32,
}

impl Suite {
    /// Describes the suite at `path`, without its number of cases.
    ///
    /// # Errors
    /// [`EvalError::Read`] if it cannot be read.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        Ok(Self { name: suite_name(path), path: path.to_owned(), content: content_hash(path)?, cases: 0 })
    }
}

impl Results {
    /// Returns the results of a run.
    #[must_use]
    pub fn new(manifest: Manifest, measures: Vec<Measure>, rows: Vec<Row>) -> Self {
        Self { form: FORM.to_owned(), version: VERSION, manifest, measures, rows, shared: Vec::new() }
    }

    /// Reads a result file.
    ///
    /// # Errors
    /// [`EvalError::Read`] if it cannot be read. [`EvalError::Results`] if it is no such file, has a later version, or
    /// contains rows with undefined measures.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let text = read_text(path)?;
        let wrong = |reason: String| EvalError::Results { path: path.to_owned(), reason };
        let head: Head =
            serde_json::from_str(&text).map_err(|error| wrong(format!("it is no result file ({error})")))?;
        if head.form != FORM {
            return Err(wrong("it is no result file; `afterthought eval SUITE --out FILE` writes one".to_owned()));
        }
        if head.version > VERSION {
            let version = head.version;
            return Err(wrong(format!(
                "it has version {version}, but this program reads up to {VERSION}; update afterthought"
            )));
        }
        let read: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        read.check().map_err(wrong)?;
        Ok(read)
    }

    /// Writes the file whole or not at all.
    ///
    /// # Errors
    /// [`EvalError::Write`] if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), EvalError> {
        write_atomically(path, &self.to_json())
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("maps have text as keys and numbers are finite") + "\n"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Ratio, measures_of, share};

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
        Results::new(Manifest::default(), measures_of("extraction", &[share("recall", "found")]), vec![row])
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
        assert!(reason("not json").starts_with("it is no result file"));
        assert!(reason("{}").starts_with("it is no result file; `afterthought eval SUITE --out FILE`"));
        let later = results().to_json().replace("\"version\": 1", "\"version\": 99");
        assert_eq!(reason(&later), "it has version 99, but this program reads up to 1; update afterthought");
        let mut undefined = results();
        undefined.rows[0].measures.insert("luck".into(), Ratio::of(1, 1));
        let expected = "smoke/a has the measure \"luck\", which the file does not define";
        assert_eq!(reason(&undefined.to_json()), expected);
    }
}
