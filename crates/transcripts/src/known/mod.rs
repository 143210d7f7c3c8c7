//! Where agents and assistants keep their conversations: a table of folders, and what of it is on this machine.
//!
//! Nothing is opened here. Files are told by where they stand and how they end; what is in them is for the ingestors.

mod place;
mod table;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::IngestError;
use super::reading::discover::{Found, walk};
pub use place::{Machine, Platform};
pub use table::KNOWN;

/// A program that keeps conversations on this machine.
#[derive(Debug)]
pub struct Known {
    /// The spelling used by `--from`, e.g. `claude-code`.
    pub name: &'static str,
    /// The program's name for people.
    pub about: &'static str,
    /// Where it keeps them.
    places: &'static [place::Place],
}

/// A folder of a known program that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFolder {
    /// The folder, or the one database.
    pub path: PathBuf,
    /// How the names of logs in it end; empty for any.
    pub endings: &'static [&'static str],
}

impl Known {
    /// Whether its logs stand in the folders of projects, and are only found below folders that a person names.
    #[must_use]
    pub fn is_in_projects(&self) -> bool {
        self.places.iter().any(place::Place::is_in_projects)
    }

    /// Returns its folders that are there, each once; `below` are those that hold projects.
    #[must_use]
    pub fn folders(&self, machine: &Machine<'_>, below: &[PathBuf]) -> Vec<KnownFolder> {
        let (mut folders, mut seen) = (Vec::new(), HashSet::new());
        for place in self.places {
            for path in place.paths(machine, below) {
                // Where letters of either case are the same, one folder has several spellings.
                let Ok(real) = path.canonicalize() else { continue };
                if seen.insert(real) {
                    folders.push(KnownFolder { path, endings: place.endings });
                }
            }
        }
        folders
    }

    /// Returns where it would keep them, for the message that nothing is there.
    #[must_use]
    pub fn expected(&self, machine: &Machine<'_>) -> Vec<PathBuf> {
        self.places.iter().flat_map(|place| place.patterns(machine)).collect()
    }
}

impl KnownFolder {
    /// Returns the logs in it, sorted by path, and the folders that cannot be looked into.
    #[must_use]
    pub fn files(&self) -> Vec<Found> {
        let ends = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            self.endings.is_empty() || self.endings.iter().any(|ending| name.ends_with(ending))
        };
        if self.path.is_file() {
            return vec![Found { path: self.path.clone(), named: false }];
        }
        walk(&self.path).filter(|found| found.path.is_dir() || ends(&found.path)).collect()
    }
}

/// Returns the known program called `name`.
///
/// # Errors
/// [`IngestError::NoSuchSource`], naming those that are known.
pub fn by_name(name: &str) -> Result<&'static Known, IngestError> {
    KNOWN.iter().find(|known| known.name == name).ok_or_else(|| IngestError::NoSuchSource {
        name: name.to_owned(),
        known: KNOWN.iter().map(|known| known.name).collect::<Vec<_>>().join(", "),
    })
}

/// Returns the logs of the programs called `names`, or of every known one for `all`; each file once.
///
/// # Errors
/// [`IngestError::NoSuchSource`] for an unknown name, [`IngestError::NothingOf`] for a program that has nothing on this
/// machine, and for `all` if none has.
pub fn logs_of(names: &[String], machine: &Machine<'_>, below: &[PathBuf]) -> Result<Vec<Found>, IngestError> {
    let mut found: Vec<Found> = Vec::new();
    for name in names {
        let before = found.len();
        let (wanted, expected): (Vec<&Known>, _) = if name == "all" {
            (KNOWN.iter().collect(), "no known folder".to_owned())
        } else {
            let known = by_name(name)?;
            if known.is_in_projects() && below.is_empty() {
                return Err(IngestError::NeedsBelow { name: name.clone() });
            }
            (vec![known], spelled(&known.expected(machine)))
        };
        found.extend(wanted.iter().flat_map(|known| known.folders(machine, below)).flat_map(|folder| folder.files()));
        if found.len() == before {
            return Err(IngestError::NothingOf { name: name.clone(), expected });
        }
    }
    let mut seen = HashSet::new();
    found.retain(|one| seen.insert(one.path.clone()));
    Ok(found)
}

fn spelled(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
