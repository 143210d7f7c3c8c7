//! Finds, reads and hashes case files, and defines the memories and times that all kinds of cases contain.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::{Date, Time, time};
use jiff::tz::Offset;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use crate::EvalError;
use crate::vocabulary::{MemoryType, Scope, Status};

/// Name of a folder with recorded replies, in the folder of a suite or its parent; it is not part of the suite.
pub const REPLIES: &str = "replies";

pub(crate) fn read_text(path: &Path) -> Result<String, EvalError> {
    fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, EvalError> {
    serde_json::from_str(&read_text(path)?).map_err(|error| format_error(path, "", error.to_string()))
}

pub(crate) fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, EvalError> {
    toml::from_str(&read_text(path)?).map_err(|error| format_error(path, "", error.to_string()))
}

/// Fields that distinguish a file of another kind from a damaged file.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    form: String,
    #[serde(default)]
    version: u32,
}

/// Reads a file of the given form, in any version up to `latest`. A file of another form is rejected with `fault`, and
/// with `remedy`, which explains how to write such a file.
pub(crate) fn read_form<T: DeserializeOwned>(
    path: &Path,
    (form, latest): (&str, u32),
    fault: &str,
    remedy: &str,
) -> Result<T, EvalError> {
    let text = read_text(path)?;
    let wrong = |reason: String| EvalError::Results { path: path.to_owned(), reason };
    let head: Head = serde_json::from_str(&text).map_err(|error| wrong(format!("{fault} ({error})")))?;
    if head.form != form {
        return Err(wrong(format!("{fault}; {remedy}")));
    }
    // The version is checked first, because a later version may have fields that are unknown here.
    if head.version > latest {
        let version = head.version;
        return Err(wrong(format!(
            "it has version {version}, but this program supports only versions up to {latest}; update afterthought"
        )));
    }
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// Returns the text of a JSON file.
pub(crate) fn json_text<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("all map keys are text and all numbers are finite") + "\n"
}

pub(crate) fn format_error(path: &Path, place: &str, reason: impl Into<String>) -> EvalError {
    EvalError::Format { path: path.to_owned(), place: place.to_owned(), reason: reason.into() }
}

/// Writes `text` to a temporary file next to `path` and renames it, so that a reader never sees an incomplete file.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), EvalError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| {
        // The draft is in the same folder, because a rename across file systems is not atomic.
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        draft.write_all(text.as_bytes())?;
        draft.persist(path).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|source| EvalError::Write { path: path.to_owned(), source })
}

/// A case on one line of a JSON Lines file.
pub trait LineCase: DeserializeOwned {
    /// The suffix of the names of such files, such as `-pairs.jsonl`; the part before the suffix is the language.
    const ENDING: &'static str;

    /// Returns the id, unique among the cases of a split.
    fn id(&self) -> &str;

    /// Checks the labels, because a wrongly labelled case measures nothing.
    ///
    /// # Errors
    /// A pair of the invalid entry or field and the fault.
    fn check(&self) -> Result<(), String>;
}

/// A case with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed<T> {
    /// File that contains the case.
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
    pub fn label(&self) -> String {
        format!("{}/{}", self.split, self.case.id())
    }
}

/// Returns whether `path` is a file of such cases.
pub(crate) fn is_file_of<T: LineCase>(path: &Path) -> bool {
    path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(T::ENDING))
}

/// Returns whether there is a file of such cases in or below `path`.
pub fn has_files_of<T: LineCase>(path: &Path) -> bool {
    walk(path).any(|path| is_file_of::<T>(&path))
}

/// Returns all files in or below `path`, sorted by name.
pub(crate) fn walk(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path)
}

/// Reads the cases of all files in or below `paths`, ordered by file and line. A line that is not a valid case becomes
/// an error that names the line.
pub fn read_cases<T: LineCase>(paths: &[PathBuf]) -> (Vec<Placed<T>>, Vec<EvalError>) {
    let (mut cases, mut errors) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for file in paths.iter().flat_map(|path| walk(path)).filter(|file| is_file_of::<T>(file)) {
        let whole = file.canonicalize().unwrap_or_else(|_| file.clone());
        // A folder and a file in it may both be given, but no case counts twice.
        if !seen.insert(whole.clone()) {
            continue;
        }
        let text = match read_text(&file) {
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
                Err(reason) => errors.push(format_error(&file, &format!("line {}: ", index + 1), reason)),
            }
        }
    }
    let mut ids = BTreeSet::new();
    // Rows of different runs are matched by these ids, so two cases with the same id would be mixed up.
    for placed in cases.iter().filter(|one| !ids.insert((&one.split, one.case.id()))) {
        let place = format!("{}: ", placed.case.id());
        errors.push(format_error(&placed.file, &place, "two cases have this id; rename one of them"));
    }
    (cases, errors)
}

/// Each line is parsed separately, so only the column in the error is meaningful.
fn line_error(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", ", at column").replace(", at column 0", "")
}

pub(crate) fn last_part(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the part of `path` after `evals/`, or, failing that, its last part, so that the name is the same on every
/// machine.
pub(crate) fn suite_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parts: Vec<String> = whole
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect();
    match parts.iter().rposition(|part| part == "evals") {
        // The last `evals` is used, because a checkout may be in a folder of that name.
        Some(at) if at + 1 < parts.len() => parts[at + 1..].join("/"),
        Some(_) | None => parts.last().cloned().unwrap_or_default(),
    }
}

/// Returns, in hexadecimal, the SHA-256 of all files in or below `path` and their relative paths. Recorded replies,
/// Markdown files and hidden files are excluded.
///
/// # Errors
/// [`EvalError::Read`] if a file cannot be read.
pub fn content_hash(path: &Path) -> Result<String, EvalError> {
    let mut hasher = Sha256::new();
    let counts = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_markdown = Path::new(&*name).extension().is_some_and(|ending| ending == "md");
        // Recordings and notes do not affect the results, so they must not invalidate a baseline.
        entry.depth() == 0 || !(name.starts_with('.') || name == REPLIES || is_markdown)
    };
    // The files are sorted, because the hash depends on their order and file systems list entries in arbitrary order.
    for entry in walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(counts) {
        let entry = entry.map_err(|error| EvalError::Read { path: path.to_owned(), source: error.into() })?;
        if entry.file_type().is_dir() {
            continue;
        }
        // The path is relative and uses `/`, so that the hash is the same on every machine.
        let place = entry.path().strip_prefix(path).unwrap_or(Path::new("")).to_string_lossy().replace('\\', "/");
        let text =
            fs::read(entry.path()).map_err(|source| EvalError::Read { path: entry.path().to_owned(), source })?;
        [place.as_bytes(), &text].into_iter().for_each(|part| hash_part(&mut hasher, part));
    }
    Ok(hex(hasher))
}

/// Returns the SHA-256 of `parts` in hexadecimal. The same text split differently has a different hash.
pub fn hash_of(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hash_part(&mut hasher, part.as_bytes()));
    hex(hasher)
}

fn hash_part(hasher: &mut Sha256, part: &[u8]) {
    // Hashing the length as well distinguishes "ab" + "c" from "a" + "bc".
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A memory of a case, either stored beforehand or proposed by an extractor.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CaseMemory {
    /// Id, unique within a case that searches a store; in a stream, the id of the event.
    pub id: String,
    /// One self-contained sentence or short paragraph.
    #[schemars(required)]
    pub content: String,
    /// A few words; the beginning of the content by default.
    pub title: Option<String>,
    /// The type; `semantic` by default.
    #[serde(rename = "type")]
    pub memory_type: Option<MemoryType>,
    /// One of the allowed categories; `fact` by default.
    pub category: Option<String>,
    /// Topic tag.
    pub subject: Option<String>,
    /// Attribute, such as `user.residence`.
    pub key: Option<String>,
    /// Value of the attribute.
    pub value: Option<String>,
    /// Path of the namespace; by default `global` in a store, and `project/case` in a pair or stream.
    #[serde(rename = "in")]
    pub namespace: Option<String>,
    /// The state in a store; `active` by default.
    pub status: Option<Status>,
    /// The intended lifetime; `long_term` by default.
    pub scope: Option<Scope>,
    /// Importance from 0 to 1; 0.5 by default.
    pub importance: Option<f64>,
    /// Confidence from 0 to 1; 0.85 by default.
    pub confidence: Option<f64>,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// Time of the message that the memory comes from; `null` if the log has no times. In a store, the default is in
    /// the month before `now`.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Option<Moment>")]
    pub said: Option<Option<Moment>>,
    /// Time at which the memory expires.
    pub expires: Option<Moment>,
    /// The time from which the memory was true.
    pub from: Option<Moment>,
    /// The time until which the memory was true.
    pub to: Option<Moment>,
    /// The quote; the content by default.
    pub quote: Option<String>,
    /// The speaker, in a conversation of several people.
    pub speaker: Option<String>,
    /// Name of the conversation; by default, each memory has a separate one. Equal quotes in one conversation belong to
    /// one message.
    pub source: Option<String>,
}

/// Distinguishes `null` from a missing field.
#[expect(clippy::option_option, reason = "missing, null, or a time")]
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Moment>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl CaseMemory {
    /// Checks the fields that every case needs; `field` names the memory in the case.
    pub(crate) fn check(&self, field: &str) -> Result<(), String> {
        if self.content.trim().is_empty() {
            return Err(format!("{field}.content: empty; write the text of the memory"));
        }
        for (name, share) in [("importance", self.importance), ("confidence", self.confidence)] {
            if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return Err(format!("{field}.{name}: not a number from 0 to 1"));
            }
        }
        Ok(())
    }
}

/// A day, a month or an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A month in UTC, represented by its first day.
    Month(Date),
    /// A day in UTC.
    Day(Date),
    /// An instant.
    Instant(Timestamp),
}

impl Moment {
    /// Returns noon of the day, or of the first day of the month.
    pub fn noon(self) -> Timestamp {
        self.at(time(12, 0, 0, 0), |month| month)
    }

    /// Returns the first instant of the moment.
    pub fn first(self) -> Timestamp {
        self.at(Time::MIN, |month| month)
    }

    /// Returns the last instant of the moment, in whole seconds.
    pub fn last(self) -> Timestamp {
        self.at(time(23, 59, 59, 0), Date::last_of_month)
    }

    fn at(self, clock: Time, of_month: fn(Date) -> Date) -> Timestamp {
        let day = match self {
            Self::Instant(at) => return at,
            Self::Month(first) => of_month(first),
            Self::Day(day) => day,
        };
        Offset::UTC.to_timestamp(day.to_datetime(clock)).unwrap_or(Timestamp::MAX)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        // The length distinguishes the forms: a date parser would also accept the beginning of a time.
        let parsed = match text.len() {
            7 => format!("{text}-01").parse().map(Self::Month).ok(),
            10 => text.parse().map(Self::Day).ok(),
            _ => text.parse().map(Self::Instant).ok(),
        };
        parsed.ok_or_else(|| {
            serde::de::Error::custom(format!(
                "{text:?} is not a time; write a day such as 2026-03-04, or 2026-03-04T18:30:00Z"
            ))
        })
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A day such as 2026-03-04, a month such as 2026-03, or an instant such as 2026-03-04T18:30:00Z.",
            "pattern": r"^\d{4}-\d{2}(-\d{2}(T.+)?)?$",
        })
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
}
