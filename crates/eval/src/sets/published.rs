//! Parts, files and times of data sets, as their authors published them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;

use crate::EvalError;
use crate::files::read_text;

/// Name of the part of a set that may be used for tuning.
pub(super) const TUNE: &str = "tune";
/// Name of the part of a set that is measured, but not used for tuning.
pub(super) const FINAL: &str = "final";

/// Returns the files and folders directly in `folder`, sorted by name; none if the folder cannot be read.
pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path()).collect();
    found.sort();
    found
}

/// Reads a JSON file of a data set that is a folder.
pub(super) fn read_part<T: DeserializeOwned>(path: &Path) -> Result<T, EvalError> {
    serde_json::from_str(&read_text(path)?).map_err(|error| unusable(path, error.to_string()))
}

pub(super) fn unusable(path: &Path, reason: impl Into<String>) -> EvalError {
    EvalError::DataSet { path: path.to_owned(), reason: reason.into() }
}

/// Reads a time without a zone, written in the format `form`.
pub(super) fn time(form: &str, text: &str) -> Option<Timestamp> {
    // The sets give no time zone; UTC preserves the order of times and the intervals between them.
    let civil = strtime::parse(form, text).ok()?.to_datetime().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
