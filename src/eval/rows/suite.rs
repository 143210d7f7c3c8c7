//! Which suite it was, and whether it is still the same.

use std::fs;
use std::path::{Component, Path};

use sha2::{Digest as _, Sha256};

use super::Suite;
use crate::eval::EvalError;
use transcripts::hex;

/// Folder of recorded answers beside or above the cases; it is no part of a suite.
pub const REPLIES: &str = "replies";

impl Suite {
    /// Describes the suite at `path`, without its number of cases.
    ///
    /// # Errors
    /// [`EvalError::Read`] if it cannot be read.
    pub fn of(path: &Path) -> Result<Self, EvalError> {
        Ok(Self { name: name(path), path: path.to_owned(), content: content(path)?, cases: 0 })
    }
}

/// Returns what follows `evals/` in a path, else its last part: the same on every machine.
fn name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parts: Vec<String> = whole
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect();
    match parts.iter().rposition(|part| part == "evals") {
        Some(at) if at + 1 < parts.len() => parts[at + 1..].join("/"),
        Some(_) | None => parts.last().cloned().unwrap_or_default(),
    }
}

/// Returns the SHA-256 of every file in or below `path`, with its place there, in hex. Recorded answers, Markdown and
/// hidden files do not count.
///
/// # Errors
/// [`EvalError::Read`] if one cannot be read.
pub fn content(path: &Path) -> Result<String, EvalError> {
    let mut hasher = Sha256::new();
    let counts = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_markdown = Path::new(&*name).extension().is_some_and(|ending| ending == "md");
        entry.depth() == 0 || !(name.starts_with('.') || name == REPLIES || is_markdown)
    };
    for entry in walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(counts) {
        let unreadable = |source| EvalError::Read { path: path.to_owned(), source };
        let entry = entry.map_err(|error| unreadable(error.into()))?;
        if entry.file_type().is_dir() {
            continue;
        }
        let place = entry.path().strip_prefix(path).unwrap_or(Path::new("")).to_string_lossy().replace('\\', "/");
        let text =
            fs::read(entry.path()).map_err(|source| EvalError::Read { path: entry.path().to_owned(), source })?;
        for part in [place.as_bytes(), &text] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_wherever_the_suites_lie() {
        assert_eq!(name(Path::new("/a/evals/extraction/dev")), "extraction/dev");
        assert_eq!(name(Path::new("/a/evals")), "evals");
        assert_eq!(name(Path::new("/a/own-cases/")), "own-cases");
    }

    #[test]
    fn a_case_that_changes_changes_the_hash_and_a_recording_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            content(folder.path()).unwrap()
        };
        let first = write("a/case.json", "{}");
        assert_eq!(write("replies/1.json", "x"), first);
        assert_eq!(write("README.md", "x"), first);
        assert_eq!(write(".hidden", "x"), first);
        let moved = write("a/log.txt", "hi");
        assert_ne!(moved, first);
        assert_ne!(write("a/log.txt", "ho"), moved);
        assert!(content(&folder.path().join("gone")).is_err());
    }
}
