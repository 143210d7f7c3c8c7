//! Cases that are finished, kept beside the file of results: a run that was ended goes on where it was, and a run of the
//! same does nothing twice.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::file::write_whole;
use crate::eval::EvalError;
use transcripts::hex;

/// What was kept of one case.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    kept: serde_json::Value,
}

/// The cases that are finished, one line each.
#[derive(Debug)]
pub struct Keep {
    path: PathBuf,
    known: RefCell<BTreeMap<String, serde_json::Value>>,
    used: RefCell<BTreeSet<String>>,
    file: RefCell<File>,
    hits: Cell<u64>,
}

impl Keep {
    /// Opens what is kept beside `out`, or begins anew if `fresh`. A line that was cut off when its run ended is left out.
    ///
    /// # Errors
    /// [`EvalError::Write`] if it cannot be opened.
    pub fn beside(out: &Path, fresh: bool) -> Result<Self, EvalError> {
        let path = with_ending(out, "kept.jsonl");
        // A line may have been cut off within a character.
        let text = if fresh { Vec::new() } else { fs::read(&path).unwrap_or_default() };
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<Line> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let unwritable = |source| EvalError::Write { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(unwritable)?;
        }
        let known: BTreeMap<_, _> = lines.into_iter().map(|line| (line.key, line.kept)).collect();
        // Written anew, so that what is appended does not continue a line that was cut off.
        write_whole(&path, &text_of(&known))?;
        let file = File::options().append(true).open(&path).map_err(unwritable)?;
        let (known, used) = (RefCell::new(known), RefCell::default());
        Ok(Self { path, known, used, file: RefCell::new(file), hits: Cell::new(0) })
    }

    /// Returns what was kept under `key`, and counts it.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let kept = self.known.borrow().get(key).cloned()?;
        let kept = serde_json::from_value(kept).ok()?;
        self.used.borrow_mut().insert(key.to_owned());
        self.hits.set(self.hits.get() + 1);
        Some(kept)
    }

    /// Keeps `value` under `key`, at once.
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

    /// Returns how many cases were taken from an earlier run.
    #[must_use]
    pub const fn hits(&self) -> u64 {
        self.hits.get()
    }

    /// Drops what this run had no use for.
    ///
    /// # Errors
    /// [`EvalError::Write`] if it cannot be written.
    pub fn tidy(&self) -> Result<(), EvalError> {
        let used = self.used.borrow();
        self.known.borrow_mut().retain(|key, _| used.contains(key));
        write_whole(&self.path, &text_of(&self.known.borrow()))
    }
}

fn text_of(known: &BTreeMap<String, serde_json::Value>) -> String {
    let line = |(key, kept): (&String, &serde_json::Value)| serde_json::json!({"key": key, "kept": kept}).to_string();
    known.iter().map(|one| line(one) + "\n").collect()
}

/// Returns the path of what lies beside `out`, such as `out.json.kept.jsonl`.
#[must_use]
pub fn with_ending(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(".");
    name.push(ending);
    out.with_file_name(name)
}

/// Returns a name for what a case comes to: the SHA-256 of all that it depends on, in hex.
#[must_use]
pub fn key_of(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_finished_is_there_after_a_run_was_ended() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.json");
        let keep = Keep::beside(&out, false).unwrap();
        keep.put("a", &1).unwrap();
        keep.put("b", &"äöü").unwrap();
        let path = folder.path().join("out.json.kept.jsonl");
        let mut cut = fs::read(&path).unwrap();
        cut.truncate(cut.len() - "\u{fc}\"}\n".len() + 1);
        fs::write(&path, cut).unwrap();

        let keep = Keep::beside(&out, false).unwrap();
        assert_eq!((keep.get::<u32>("a"), keep.get::<String>("b")), (Some(1), None));
        keep.put("c", &3).unwrap();
        keep.tidy().unwrap();
        assert_eq!(keep.hits(), 1);
        let keep = Keep::beside(&out, false).unwrap();
        assert_eq!((keep.get::<u32>("a"), keep.get::<u32>("c")), (Some(1), Some(3)));

        let keep = Keep::beside(&out, true).unwrap();
        assert_eq!(keep.get::<u32>("a"), None);
    }

    #[test]
    fn keys_tell_where_a_part_ends() {
        assert_ne!(key_of(&["ab", "c"]), key_of(&["a", "bc"]));
        assert_eq!(key_of(&["a"]), key_of(&["a"]));
    }
}
