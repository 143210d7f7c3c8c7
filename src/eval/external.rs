//! Public sets that are read from where a person has them, and skipped where they are not.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{EvalError, halumem, locomo, longmemeval};

/// A set that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// Conversations of two people, with questions and facts.
    Locomo,
    /// Questions, each with a haystack of sessions.
    LongMemEval,
    /// Users with sessions, points to remember and questions.
    HaluMem,
}

impl Set {
    /// Returns which set the file at `path` is of, if any, by what stands in it.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        if !path.is_file() {
            None
        } else if halumem::is_halumem(path) {
            Some(Self::HaluMem)
        } else if longmemeval::is_longmemeval(path) {
            Some(Self::LongMemEval)
        } else if locomo::is_locomo(path) {
            Some(Self::Locomo)
        } else {
            None
        }
    }
}

/// Where a set may be, as a file `*.toml` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// Its name.
    pub name: String,
    /// Where it is published.
    pub home: String,
    /// Under which licence; none of these sets is part of this repository.
    pub licence: String,
    /// Variable of the environment that names the file.
    pub variable: String,
    /// Variable that names corrections of its labels, where some are published.
    #[serde(default)]
    pub corrections: Option<String>,
}

/// Where a set was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// It is there, with its corrections if there are some.
    Found(External, PathBuf, Option<PathBuf>),
    /// It is not: it is skipped, and counts for nothing.
    Absent(External),
}

/// Returns the files in or below `path` that tell of sets, by name.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok);
    let is_one = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "toml")
            && path.parent().and_then(Path::file_name).is_some_and(|name| name == "external")
    };
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).filter(is_one).collect()
}

/// Looks for the set that `file` tells of; `variable` returns what the environment names.
///
/// # Errors
/// [`EvalError`] if the file cannot be read or is no such file.
pub fn look(file: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Result<Looked, EvalError> {
    let text = std::fs::read_to_string(file).map_err(|source| EvalError::Read { path: file.to_owned(), source })?;
    let external: External = toml::from_str(&text).map_err(|error| EvalError::Form {
        path: file.to_owned(),
        place: String::new(),
        reason: error.message().to_owned(),
    })?;
    let corrections = external.corrections.as_deref().and_then(&variable).filter(|path| path.exists());
    Ok(match variable(&external.variable).filter(|path| path.is_file()) {
        Some(path) => Looked::Found(external, path, corrections),
        None => Looked::Absent(external),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_is_not_there_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("external/some.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = "name = \"Some\"\nhome = \"https://example.org\"\nlicence = \"MIT\"\nvariable = \"SOME\"\n";
        std::fs::write(&file, text).unwrap();
        assert_eq!(files(folder.path()), std::slice::from_ref(&file));
        assert!(matches!(look(&file, |_| None).unwrap(), Looked::Absent(set) if set.name == "Some"));
        assert!(matches!(look(&file, |_| Some("gone.json".into())).unwrap(), Looked::Absent(_)));
        let set = folder.path().join("set.json");
        std::fs::write(&set, "[]").unwrap();
        let found = look(&file, |name| (name == "SOME").then(|| set.clone())).unwrap();
        assert!(matches!(found, Looked::Found(_, path, None) if path == set));
    }

    #[test]
    fn the_sets_that_are_told_of_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/external");
        let names: Vec<String> = files(&folder)
            .iter()
            .map(|file| match look(file, |_| None).unwrap() {
                Looked::Found(set, ..) | Looked::Absent(set) => set.name,
            })
            .collect();
        assert_eq!(names, ["HaluMem", "LoCoMo", "LongMemEval"]);
    }
}
