//! Finding cases.

use std::path::{Path, PathBuf};

use super::EvalError;
use super::case::{CASE_FILE, Case, Verdict, verdicts};
use super::inline::Turn;
use super::matcher::Rules;
use super::short;

/// A case that was read, with its patterns compiled.
#[derive(Debug)]
pub struct Loaded {
    /// Its folder.
    pub folder: PathBuf,
    /// Name of its folder.
    pub id: String,
    /// Name of the folder that its folder lies in, such as `dev` or `unseen`.
    pub split: String,
    /// What its file says.
    pub case: Case,
    /// Its patterns.
    pub rules: Rules,
    /// An independent reader's verdicts.
    pub verdicts: Vec<Verdict>,
    /// The conversation, where it stands in the case itself.
    pub transcript: Option<Vec<Turn>>,
}

impl Loaded {
    /// Reads the case in `folder`.
    ///
    /// # Errors
    /// [`EvalError::Read`] or [`EvalError::Form`], naming the file and the place in it.
    pub fn read(folder: &Path) -> Result<Self, EvalError> {
        let file = folder.join(CASE_FILE);
        let case = Case::read(folder)?;
        let rules = Rules::new(&case, &file)?;
        for log in &case.logs {
            if !folder.join(log).exists() {
                let reason = format!("there is no {} beside it", log.display());
                return Err(EvalError::Form { path: file, place: "logs: ".to_owned(), reason });
            }
        }
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = |path: Option<&Path>| path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            folder: folder.to_owned(),
            id: name(Some(&whole)).unwrap_or_default(),
            split: name(whole.parent()).unwrap_or_default(),
            case,
            rules,
            verdicts: verdicts(folder)?,
            transcript: None,
        })
    }

    /// Returns `split/id`, which tells it from cases of the same name in other splits.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}/{}", self.split, self.id)
    }
}

/// A folder with a case in it, or a line of a file with many.
#[derive(Debug)]
pub struct Discovered {
    /// The folder, or the file.
    pub folder: PathBuf,
    /// The case, or why it cannot be read.
    pub loaded: Result<Loaded, EvalError>,
}

/// Whether there is a case in or below `path`.
#[must_use]
pub fn holds_cases(path: &Path) -> bool {
    let entries = walkdir::WalkDir::new(path).into_iter().filter_map(Result::ok);
    entries
        .into_iter()
        .any(|entry| (entry.file_name() == CASE_FILE && entry.file_type().is_file()) || short::is_short(entry.path()))
}

/// Reads every case in or below `paths`, by path. A case that cannot be read is told with its folder.
///
/// # Errors
/// [`EvalError::NoCases`] for a path without one.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<Discovered>, EvalError> {
    let mut places = Vec::new();
    for path in paths {
        let before = places.len();
        if path.file_name().is_some_and(|name| name == CASE_FILE) && path.is_file() {
            places.extend(path.parent().map(Path::to_owned));
        }
        for entry in walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok) {
            if entry.depth() > 0 && entry.file_name() == CASE_FILE && entry.file_type().is_file() {
                places.extend(entry.path().parent().map(Path::to_owned));
            } else if short::is_short(entry.path()) {
                places.push(entry.into_path());
            }
        }
        if places.len() == before {
            return Err(EvalError::NoCases { path: path.clone() });
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    places.retain(|place| seen.insert(place.canonicalize().unwrap_or_else(|_| place.clone())));
    let read = |place: PathBuf| {
        if place.is_file() {
            return short::read(&place);
        }
        vec![Discovered { loaded: Loaded::read(&place), folder: place }]
    };
    Ok(places.into_iter().flat_map(read).collect())
}
