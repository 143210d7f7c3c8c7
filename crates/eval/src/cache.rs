//! Keeps finished cases beside the result file, so that an interrupted run continues and nothing runs twice.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::EvalError;
use crate::files::write_atomically;

/// The outcome of one case.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    kept: serde_json::Value,
}

/// Finished cases, one on each line of a file.
#[derive(Debug)]
pub struct Cache {
    path: PathBuf,
    known: RefCell<BTreeMap<String, serde_json::Value>>,
    used: RefCell<BTreeSet<String>>,
    file: RefCell<File>,
    hits: Cell<u64>,
}

impl Cache {
    /// Opens the cache beside `out`, or starts a new one if `fresh`. A line that was cut off with its run is ignored.
    ///
    /// # Errors
    /// [`EvalError::Write`] if it cannot be opened.
    pub fn open_beside(out: &Path, fresh: bool) -> Result<Self, EvalError> {
        let path = path_beside(out, "kept.jsonl");
        // A line may have been cut off within a character.
        let text = if fresh { Vec::new() } else { fs::read(&path).unwrap_or_default() };
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known: BTreeMap<_, _> = lines.map(|line| (line.key, line.kept)).collect();
        // Rewritten, so that what is appended does not continue a line that was cut off.
        write_atomically(&path, &to_text(&known))?;
        let file = File::options().append(true).open(&path);
        let file = file.map_err(|source| EvalError::Write { path: path.clone(), source })?;
        let (known, used) = (RefCell::new(known), RefCell::default());
        Ok(Self { path, known, used, file: RefCell::new(file), hits: Cell::new(0) })
    }

    /// Returns the outcome under `key`, and counts the hit.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let kept = self.known.borrow().get(key).cloned()?;
        let kept = serde_json::from_value(kept).ok()?;
        self.used.borrow_mut().insert(key.to_owned());
        self.hits.set(self.hits.get() + 1);
        Some(kept)
    }

    /// Stores `value` under `key` at once.
    ///
    /// # Errors
    /// [`EvalError::Write`] if it cannot be written.
    pub fn put<T: Serialize>(&self, key: &str, value: &T) -> Result<(), EvalError> {
        let unwritable = |source: std::io::Error| EvalError::Write { path: self.path.clone(), source };
        let kept = serde_json::to_value(value).map_err(|error| unwritable(error.into()))?;
        let line = Line { key: key.to_owned(), kept };
        let text = serde_json::to_string(&line).map_err(|error| unwritable(error.into()))? + "\n";
        self.file.borrow_mut().write_all(text.as_bytes()).map_err(unwritable)?;
        self.used.borrow_mut().insert(line.key.clone());
        self.known.borrow_mut().insert(line.key, line.kept);
        Ok(())
    }

    /// Returns the number of cases that were taken from an earlier run.
    pub const fn hits(&self) -> u64 {
        self.hits.get()
    }

    /// Removes what this run did not use.
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
    let line = |(key, kept): (&String, &serde_json::Value)| serde_json::json!({"key": key, "kept": kept}).to_string();
    known.iter().map(|one| line(one) + "\n").collect()
}

/// Returns the path of a file beside `out`, such as `out.json.kept.jsonl`.
pub fn path_beside(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(".");
    name.push(ending);
    out.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

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
