//! Finds the log files that a person's arguments refer to: files, folders, patterns, or `-`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::{Folder, IngestError, detect_folder, open};

/// One log to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// A file, or a folder that is a log as a whole.
    pub path: PathBuf,
    /// Whether the person specified the path; a file that was merely found in a folder may have no known format.
    pub named: bool,
}

/// The logs to read: each log once, sorted by path within each argument.
pub(crate) type Discovered = Vec<Found>;

/// Extensions of files that do not contain conversations in any format; such files in a folder are skipped without
/// opening them.
const NEVER_LOGS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "svg", "ico", "pdf", "mp3", "mp4", "wav", "webm", "exe", "dll", "so", "o",
    "rlib", "rmeta", "wasm", "class", "pyc", "lock", "woff", "woff2", "ttf", "sqlite-wal", "sqlite-shm", "db-wal",
    "db-shm", "vscdb-wal", "vscdb-shm",
];

/// Returns the logs that `arguments` refer to.
///
/// A folder is searched recursively, including hidden files and folders, but excluding folders of version control and
/// dependencies; symbolic links are not followed. A folder that some format reads as a whole is one log. A pattern
/// (`*`, `?`, `[…]`, `**`) is expanded unless a file of that name exists.
///
/// # Errors
/// [`IngestError::Read`] if a specified file does not exist, [`IngestError::NothingThere`] for an empty folder or a
/// pattern without matches, [`IngestError::Pattern`] for an invalid pattern.
pub fn discover(arguments: &[PathBuf]) -> Result<Discovered, IngestError> {
    let mut search = Search::default();
    for argument in arguments {
        if argument == Path::new("-") || argument.is_file() {
            search.add(argument.clone(), true);
            continue;
        }
        let found: Vec<Found> = if argument.is_dir() {
            walk(argument).collect()
        } else if argument.to_string_lossy().contains(['*', '?', '[']) {
            matches(argument)?
        } else {
            // The argument is neither a file nor a folder, so opening it fails.
            open(argument)?;
            Vec::new()
        };
        if found.is_empty() {
            return Err(IngestError::NothingThere { path: argument.clone() });
        }
        found.into_iter().for_each(|one| search.add(one.path, one.named));
    }
    Ok(search.found)
}

#[derive(Default)]
struct Search {
    found: Discovered,
    /// The index of each log in `found` by its canonical path: different spellings of a path refer to one log.
    seen: HashMap<PathBuf, usize>,
}

impl Search {
    fn add(&mut self, path: PathBuf, named: bool) {
        // A file that is reachable by different paths, for example through a link, must not be read twice.
        let place = *self.seen.entry(true_path(&path)).or_insert(self.found.len());
        match self.found.get_mut(place) {
            Some(known) => known.named |= named,
            None => self.found.push(Found { path, named }),
        }
    }
}

/// Returns the files that match `pattern`.
fn matches(pattern: &Path) -> Result<Vec<Found>, IngestError> {
    let text = pattern.to_string_lossy();
    let paths = glob::glob(&text)
        .map_err(|error| IngestError::Pattern { pattern: text.to_string(), reason: error.msg.to_owned() })?;
    let files = paths.filter_map(Result::ok).filter(|path| path.is_file());
    Ok(files.map(|path| Found { path, named: true }).collect())
}

/// Returns the canonical form of `path`, without links and dots; an absolute path if it does not exist.
#[must_use]
pub fn true_path(path: &Path) -> PathBuf {
    // `canonicalize` fails for a path that does not exist, and `absolute` only for an empty path.
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Yields the files in `folder` that may be logs, sorted by path. A folder that some format reads as a whole is one
/// log.
///
/// A folder that cannot be opened is also yielded, so that the caller's attempt to read it reports the reason; the
/// search continues.
pub(crate) fn walk(folder: &Path) -> impl Iterator<Item = Found> + use<> {
    // Links are not followed, because a cycle of links would cause an endless search.
    let mut walk = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    std::iter::from_fn(move || {
        loop {
            let entry = match walk.next()? {
                Ok(entry) => entry,
                Err(error) => match error.path() {
                    Some(path) => return Some(Found { path: path.to_owned(), named: true }),
                    None => continue,
                },
            };
            if entry.file_type().is_dir() {
                if is_without_logs(&entry) {
                    walk.skip_current_dir();
                } else if detect_folder(&Folder::directory(entry.path())).is_some() {
                    walk.skip_current_dir();
                    return Some(Found { path: entry.into_path(), named: true });
                }
            } else if entry.file_type().is_file() && may_hold_a_log(entry.path()) {
                return Some(Found { path: entry.into_path(), named: false });
            }
        }
    })
}

/// Returns whether `entry`, found in a folder that was searched, is a folder of version control or of dependencies.
pub(crate) fn is_without_logs(entry: &walkdir::DirEntry) -> bool {
    let never = [".git", ".hg", ".svn", "node_modules", "target", "__pycache__"];
    entry.depth() > 0 && entry.file_type().is_dir() && never.iter().any(|name| entry.file_name() == *name)
}

fn may_hold_a_log(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    !NEVER_LOGS.contains(&ending.as_str())
}

#[cfg(test)]
mod discover_tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_log_is_there_once_however_it_is_spelled_and_named_if_it_is_named_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "{}").unwrap();
        let found = discover(&[folder.path().to_owned(), folder.path().join("sub/../a.jsonl")]).unwrap();
        assert_eq!(found, [Found { path, named: true }]);
    }

    #[test]
    fn files_folders_and_patterns_are_found_once_and_sorted() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.md", "pic.png", ".hidden.jsonl"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join("node_modules")).unwrap();
        fs::write(folder.path().join("node_modules/c.jsonl"), "x").unwrap();
        let found = discover(&[folder.path().join("b.jsonl"), folder.path().to_owned(), folder.path().join("*.jsonl")])
            .unwrap();
        let names: Vec<_> =
            found.iter().map(|found| found.path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["b.jsonl", ".hidden.jsonl", "a.md"]);
        assert_eq!(found.iter().map(|found| found.named).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn nothing_there_is_said_with_the_path() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(discover(&[folder.path().to_owned()]), Err(IngestError::NothingThere { .. })));
        assert!(matches!(discover(&[folder.path().join("no.jsonl")]), Err(IngestError::Read { .. })));
    }
}
