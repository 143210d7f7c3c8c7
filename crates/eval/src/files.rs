//! Finds, reads, hashes and writes files of cases and results.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::EvalError;

/// Folder of recorded replies beside or above the cases; it is not part of a suite.
pub const REPLIES: &str = "replies";

pub(crate) fn read_text(path: &Path) -> Result<String, EvalError> {
    fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, EvalError> {
    serde_json::from_str(&read_text(path)?).map_err(|error| format_error(path, "", error.to_string()))
}

pub(crate) fn format_error(path: &Path, place: &str, reason: impl Into<String>) -> EvalError {
    EvalError::Format { path: path.to_owned(), place: place.to_owned(), reason: reason.into() }
}

/// Writes `text` to a temporary file beside `path` and renames it, so that a reader never sees half a file.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), EvalError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| {
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        draft.write_all(text.as_bytes())?;
        draft.persist(path).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|source| EvalError::Write { path: path.to_owned(), source })
}

/// A case on a line of a JSON Lines file.
pub trait LineCase: DeserializeOwned {
    /// The end of the names of such files, such as `-pairs.jsonl`; what stands before it is the language.
    const ENDING: &'static str;
    /// Whether files of several languages may use the same ids.
    const IDS_PER_LANGUAGE: bool = false;

    /// Returns the id, unique among the cases of a split.
    fn id(&self) -> &str;

    /// Checks the labels; a case with a wrong label would measure nothing.
    ///
    /// # Errors
    /// The entry or field, and what is wrong with it.
    fn check(&self) -> Result<(), String>;
}

/// A case with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed<T> {
    /// Its file.
    pub file: PathBuf,
    /// Name of the file's folder, such as `dev`.
    pub split: String,
    /// The beginning of the file's name, such as `en`.
    pub language: String,
    /// The case.
    pub case: T,
}

impl<T: LineCase> Placed<T> {
    /// Returns `split/id`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}/{}", self.split, self.case.id())
    }
}

/// Returns whether `path` is a file of such cases.
#[must_use]
pub fn is_file_of<T: LineCase>(path: &Path) -> bool {
    path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(T::ENDING))
}

/// Returns the files of such cases in or below `path`, sorted by name.
#[must_use]
pub fn files_of<T: LineCase>(path: &Path) -> Vec<PathBuf> {
    walk(path).filter(|path| is_file_of::<T>(path)).collect()
}

/// Returns all files in or below `path`, sorted by name.
pub(crate) fn walk(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path)
}

/// Reads the cases of `files`, by file and line. A line that is no valid case becomes an error that names the line.
#[must_use]
pub fn read_cases<T: LineCase>(files: &[PathBuf]) -> (Vec<Placed<T>>, Vec<EvalError>) {
    let (mut cases, mut errors) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for file in files {
        let whole = file.canonicalize().unwrap_or_else(|_| file.clone());
        if !is_file_of::<T>(file) || !seen.insert(whole.clone()) {
            continue;
        }
        let text = match read_text(file) {
            Ok(text) => text,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let language = last_part(&whole).trim_end_matches(T::ENDING).to_owned();
        let split = whole.parent().map(last_part).unwrap_or_default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let parsed = serde_json::from_str::<T>(line).map_err(|error| line_error(&error));
            match parsed.and_then(|case| case.check().map(|()| case)) {
                Ok(case) => {
                    cases.push(Placed { file: file.clone(), split: split.clone(), language: language.clone(), case });
                }
                Err(reason) => errors.push(format_error(file, &format!("line {}: ", index + 1), reason)),
            }
        }
    }
    let mut ids = BTreeSet::new();
    let language = |placed: &Placed<T>| T::IDS_PER_LANGUAGE.then(|| placed.language.clone());
    for placed in cases.iter().filter(|one| !ids.insert((&one.split, language(one), one.case.id()))) {
        let place = format!("{}: ", placed.case.id());
        errors.push(format_error(&placed.file, &place, "two cases have this id; rename one of them"));
    }
    (cases, errors)
}

/// Every line is parsed by itself, so only the column is of use.
fn line_error(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", ", at column").replace(", at column 0", "")
}

pub(crate) fn last_part(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns an error if two of `ids` are equal.
pub(crate) fn check_unique<'a>(what: &str, ids: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match ids.into_iter().find(|id| !seen.insert(*id)) {
        Some(id) => Err(format!("{id}: used twice; rename one {what}")),
        None => Ok(()),
    }
}

/// Returns an error if a given number is not between 0 and 1.
pub(crate) fn check_share(field: &str, share: Option<f64>) -> Result<(), String> {
    match share {
        Some(share) if !(0.0..=1.0).contains(&share) => Err(format!("{field}: not a number from 0 to 1")),
        Some(_) | None => Ok(()),
    }
}

/// Returns the part of `path` behind `evals/`, else its last part: the same name on every machine.
#[must_use]
pub fn suite_name(path: &Path) -> String {
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

/// Returns the SHA-256 of every file in or below `path` together with its place there, in hex. Recorded replies, Markdown
/// and hidden files do not count.
///
/// # Errors
/// [`EvalError::Read`] if a file cannot be read.
pub fn content_hash(path: &Path) -> Result<String, EvalError> {
    let mut hasher = Sha256::new();
    let counts = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_markdown = Path::new(&*name).extension().is_some_and(|ending| ending == "md");
        entry.depth() == 0 || !(name.starts_with('.') || name == REPLIES || is_markdown)
    };
    for entry in walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(counts) {
        let entry = entry.map_err(|error| EvalError::Read { path: path.to_owned(), source: error.into() })?;
        if entry.file_type().is_dir() {
            continue;
        }
        let place = entry.path().strip_prefix(path).unwrap_or(Path::new("")).to_string_lossy().replace('\\', "/");
        let text =
            fs::read(entry.path()).map_err(|source| EvalError::Read { path: entry.path().to_owned(), source })?;
        [place.as_bytes(), &text].into_iter().for_each(|part| hash_part(&mut hasher, part));
    }
    Ok(hex(hasher))
}

/// Returns the SHA-256 of `parts` in hex; the same text in other parts has another hash.
#[must_use]
pub fn hash_of(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hash_part(&mut hasher, part.as_bytes()));
    hex(hasher)
}

fn hash_part(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Location of a public data set, as a file `external/*.toml` describes it. No such set is part of this repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalSet {
    /// Its name.
    pub name: String,
    /// Where it is published.
    pub home: String,
    /// Its licence.
    pub licence: String,
    /// Environment variable that names the file.
    pub variable: String,
    /// Environment variable that names corrections of its labels, where some are published.
    #[serde(default)]
    pub corrections: Option<String>,
}

impl ExternalSet {
    /// Returns the files in or below `path` that describe public data sets, sorted by name.
    #[must_use]
    pub fn files(path: &Path) -> Vec<PathBuf> {
        let describes = |path: &PathBuf| {
            path.extension().is_some_and(|ending| ending == "toml")
                && path.parent().is_some_and(|folder| last_part(folder) == "external")
        };
        walk(path).filter(describes).collect()
    }

    /// Reads a description.
    ///
    /// # Errors
    /// [`EvalError::Read`] or [`EvalError::Format`].
    pub fn read(file: &Path) -> Result<Self, EvalError> {
        toml::from_str(&read_text(file)?).map_err(|error| format_error(file, "", error.message()))
    }

    /// Returns the set's file and its corrections, where they exist; `variable` reads the environment.
    pub fn locate(&self, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<(PathBuf, Option<PathBuf>)> {
        let file = variable(&self.variable).filter(|path| path.is_file())?;
        Some((file, self.corrections.as_deref().and_then(variable).filter(|path| path.exists())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suite_names_do_not_depend_on_the_machine() {
        assert_eq!(suite_name(Path::new("/a/evals/extraction/dev")), "extraction/dev");
        assert_eq!(suite_name(Path::new("/a/evals")), "evals");
        assert_eq!(suite_name(Path::new("/a/own-cases/")), "own-cases");
    }

    #[test]
    fn a_changed_case_changes_the_hash_and_a_recording_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            content_hash(folder.path()).unwrap()
        };
        let first = write("a/case.json", "{}");
        assert_eq!(write("replies/1.json", "x"), first);
        assert_eq!(write("README.md", "x"), first);
        assert_eq!(write(".hidden", "x"), first);
        let moved = write("a/log.txt", "hi");
        assert_ne!(moved, first);
        assert_ne!(write("a/log.txt", "ho"), moved);
        assert!(content_hash(&folder.path().join("gone")).is_err());
    }

    #[test]
    fn hashes_depend_on_where_a_part_ends() {
        assert_ne!(hash_of(&["ab", "c"]), hash_of(&["a", "bc"]));
        assert_eq!(hash_of(&["a"]), hash_of(&["a"]));
    }

    #[test]
    fn a_public_set_that_is_absent_is_not_located() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("external/some.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = "name = \"Some\"\nhome = \"https://example.org\"\nlicence = \"MIT\"\nvariable = \"SOME\"\n";
        fs::write(&file, text).unwrap();
        assert_eq!(ExternalSet::files(folder.path()), std::slice::from_ref(&file));
        let set = ExternalSet::read(&file).unwrap();
        assert_eq!((set.name.as_str(), set.locate(|_| None)), ("Some", None));
        assert_eq!(set.locate(|_| Some("gone.json".into())), None);
        let data = folder.path().join("set.json");
        fs::write(&data, "[]").unwrap();
        assert_eq!(set.locate(|name| (name == "SOME").then(|| data.clone())), Some((data.clone(), None)));
    }

    #[test]
    fn the_described_public_sets_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/external");
        let names: Vec<String> =
            ExternalSet::files(&folder).iter().map(|file| ExternalSet::read(file).unwrap().name).collect();
        assert_eq!(names, ["HaluMem", "LoCoMo", "LongMemEval"]);
    }
}
