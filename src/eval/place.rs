//! Where a case is run: a folder with copies of its logs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use super::EvalError;

/// The folder of one case: kept, or gone when it is dropped.
pub(super) enum Place {
    Kept(PathBuf),
    Passing(tempfile::TempDir),
}

impl Place {
    /// Makes a new folder for `label`, below `keep` if that is given.
    pub(super) fn new(keep: Option<&Path>, label: &str) -> Result<Self, EvalError> {
        let Some(keep) = keep else {
            let folder = tempfile::tempdir().map_err(|source| prepare(&std::env::temp_dir(), source))?;
            return Ok(Self::Passing(folder));
        };
        let folder = keep.join(label);
        if folder.exists() {
            return Err(EvalError::Failed(format!(
                "{} is there already, with the memories of an earlier run; name another folder with --keep",
                folder.display()
            )));
        }
        fs::create_dir_all(&folder).map_err(|source| prepare(&folder, source))?;
        Ok(Self::Kept(folder))
    }

    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::Kept(folder) => folder,
            Self::Passing(folder) => folder.path(),
        }
    }
}

pub(super) fn prepare(path: &Path, source: std::io::Error) -> EvalError {
    EvalError::Prepare { path: path.to_owned(), source }
}

/// Copies a log, so that its name and the time of its last change are the same on every machine.
pub(super) fn copy_log(from: &Path, to: &Path, changed_at: Timestamp) -> Result<(), EvalError> {
    for entry in walkdir::WalkDir::new(from).sort_by_file_name() {
        let entry = entry.map_err(|error| prepare(from, error.into()))?;
        let rest = entry.path().strip_prefix(from).unwrap_or(Path::new(""));
        let copy = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
        let made = if entry.file_type().is_dir() {
            fs::create_dir_all(&copy)
        } else {
            copy_file(entry.path(), &copy, changed_at)
        };
        made.map_err(|source| prepare(&copy, source))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, changed_at: Timestamp) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // Not a copy of the file with its rights: a suite may be read-only.
    fs::write(to, fs::read(from)?)?;
    fs::File::options().write(true).open(to)?.set_modified(SystemTime::from(changed_at))
}
