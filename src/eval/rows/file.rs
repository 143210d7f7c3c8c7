//! Reading and writing the file.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Defined, Manifest, Row, Shared};
use crate::eval::EvalError;

/// What every file begins with.
pub const FORM: &str = "afterthought-eval-results";
/// Version of the form; a file of a later one is not read.
pub const VERSION: u32 = 1;

/// Everything that a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// `afterthought-eval-results`.
    pub form: String,
    /// Version of the form.
    pub version: u32,
    /// What was run.
    pub manifest: Manifest,
    /// What the rows measure, in the order in which it is told.
    pub measures: Vec<Defined>,
    /// The cases, in the order of the suites; each repeat has rows of its own.
    pub rows: Vec<Row>,
    /// What was asked for several cases together; what a suite cost is this and its rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
}

/// What is read first, to tell a file of another kind from a broken one.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    form: String,
    #[serde(default)]
    version: u32,
}

impl Results {
    /// Returns the results of a run.
    #[must_use]
    pub fn new(manifest: Manifest, measures: Vec<Defined>, rows: Vec<Row>) -> Self {
        Self { form: FORM.to_owned(), version: VERSION, manifest, measures, rows, shared: Vec::new() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`EvalError::Read`] if it cannot be read, [`EvalError::Results`] if it is no such file, is of a later version, or
    /// its rows carry measures that it does not define.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let text = fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
        let wrong = |reason: String| EvalError::Results { path: path.to_owned(), reason };
        let head: Head =
            serde_json::from_str(&text).map_err(|error| wrong(format!("it is no file of results ({error})")))?;
        if head.form != FORM {
            return Err(wrong("it is no file of results; `afterthought eval SUITE --out FILE` writes one".to_owned()));
        }
        if head.version > VERSION {
            let version = head.version;
            return Err(wrong(format!(
                "it is of version {version}, and this program knows {VERSION}; update afterthought"
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
        write_whole(path, &self.text())
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("maps have text as keys and numbers are finite") + "\n"
    }

    /// Returns the measures of rows of `kind`, in the order in which they are told.
    pub fn measures_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Defined> {
        self.measures.iter().filter(move |one| one.kind == kind)
    }

    /// Returns what is wrong with what the rows carry.
    fn check(&self) -> Result<(), String> {
        let known: BTreeSet<(&str, &str)> =
            self.measures.iter().map(|one| (one.kind.as_str(), one.name.as_str())).collect();
        for row in &self.rows {
            if let Some(name) = row.measures.keys().find(|name| !known.contains(&(row.kind.as_str(), name.as_str()))) {
                return Err(format!("{} carries the measure {name:?}, which the file does not define", row.case));
            }
        }
        Ok(())
    }
}

/// Writes `text` to a file beside `path` and puts it in its place, so that a reader never sees a half.
///
/// # Errors
/// [`EvalError::Write`] if it cannot be written.
pub(in crate::eval) fn write_whole(path: &Path, text: &str) -> Result<(), EvalError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| {
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        draft.write_all(text.as_bytes())?;
        draft.persist(path).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|source| EvalError::Write { path: path.to_owned(), source })
}
