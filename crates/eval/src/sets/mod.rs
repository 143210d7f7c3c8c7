//! Public data sets: conversations, questions and facts that others have published. No such set is part of this
//! repository.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::EvalError;
use crate::files::{last_part, read_toml, walk};

mod beam;
pub mod halumem;
pub mod locomo;
pub mod longmemeval;
pub mod memorycode;
pub mod precisionmembench;
mod published;
mod realtalk;
pub mod swecontextbench;

/// Number of leading bytes that are read to identify a file; a whole file may be hundreds of megabytes.
const HEAD: u64 = 64 * 1024;

/// A public data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicSet {
    /// Conversations of two people with questions, evidence and observations.
    Locomo,
    /// Questions with many sessions, few of which contain the answer.
    LongMemEval,
    /// Long dialogues with points to remember, to update and to ignore.
    HaluMem,
    /// Dialogues of many sessions in which a mentor gives coding instructions, and replaces some.
    MemoryCode,
    /// Chats of real people with questions and evidence.
    Realtalk,
    /// Long work with an assistant, with questions and evidence.
    Beam,
    /// Beliefs in scopes, and queries with the exact set of beliefs to find.
    PrecisionMemBench,
    /// Sessions of a coding agent, and later issues of the same repositories.
    SweContextBench,
}

impl PublicSet {
    /// Reads the chats of REALTALK or BEAM, in the form of `LoCoMo`'s; `None` for any other set.
    ///
    /// # Errors
    /// [`EvalError`] if a file cannot be read, or is not as the set's authors published it.
    pub fn chats(self, folder: &Path) -> Option<Result<Vec<locomo::Sample>, EvalError>> {
        match self {
            Self::Realtalk => Some(realtalk::read(folder)),
            Self::Beam => Some(beam::read(folder)),
            _ => None,
        }
    }

    /// Returns the set that a file or folder belongs to, judging by the start of the file or the content of the folder.
    pub fn of(path: &Path) -> Option<Self> {
        if path.join(memorycode::TOPICS).is_file() {
            return Some(Self::MemoryCode);
        }
        if path.join(swecontextbench::LOGS).is_dir() {
            return Some(Self::SweContextBench);
        }
        if precisionmembench::is_precisionmembench(path) {
            return Some(Self::PrecisionMemBench);
        }
        if realtalk::is_realtalk(path) {
            return Some(Self::Realtalk);
        }
        if beam::is_beam(path) {
            return Some(Self::Beam);
        }
        if let Some(first) = halumem::files(path).first().filter(|_| path.is_dir()) {
            return Self::of(first).filter(|set| *set == Self::HaluMem);
        }
        let mut head = Vec::new();
        std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head)).ok()?;
        // The limit may fall in the middle of a character.
        let head = String::from_utf8_lossy(&head);
        let has = |name: &str| head.contains(&format!("\"{name}"));
        let ends = |ending: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        if ends("jsonl") && has("uuid\"") && (has("sessions\"") || has("persona_info\"")) {
            Some(Self::HaluMem)
        // This set is checked before LoCoMo, whose test has to parse the whole file.
        } else if has("question_id\"") && has("haystack_") {
            Some(Self::LongMemEval)
        } else {
            (ends("json") && locomo::is_locomo(path)).then_some(Self::Locomo)
        }
    }
}

/// Location of a public data set, as described by a file `external/*.toml`. No such set is part of this repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalSet {
    /// Name of the set.
    pub name: String,
    /// The address at which the set is published.
    pub home: String,
    /// Licence of the set.
    pub licence: String,
    /// Environment variable that contains the path of the file or folder.
    pub variable: String,
    /// Environment variable that contains the path of corrections of the set's labels, if corrections are published.
    #[serde(default)]
    pub corrections: Option<String>,
}

impl ExternalSet {
    /// Returns the files in or below `path` that describe public data sets, sorted by name.
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
    /// [`EvalError::Read`] if the file cannot be read, or [`EvalError::Format`] if it is invalid.
    pub fn read(file: &Path) -> Result<Self, EvalError> {
        read_toml(file)
    }

    /// Returns the paths of the set's data and its corrections, where they exist; `variable` reads an environment
    /// variable.
    pub fn locate(&self, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<(PathBuf, Option<PathBuf>)> {
        // A variable with the path of a missing file counts as unset, and the set is skipped with a note.
        let file = variable(&self.variable).filter(|path| path.exists())?;
        Some((file, self.corrections.as_deref().and_then(variable).filter(|path| path.exists())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_set_that_is_absent_is_not_located() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("external/some.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = "name = \"Some\"\nhome = \"https://example.org\"\nlicence = \"MIT\"\nvariable = \"SOME\"\n";
        std::fs::write(&file, text).unwrap();
        assert_eq!(ExternalSet::files(folder.path()), std::slice::from_ref(&file));
        let set = ExternalSet::read(&file).unwrap();
        assert_eq!((set.name.as_str(), set.locate(|_| None)), ("Some", None));
        assert_eq!(set.locate(|_| Some("gone.json".into())), None);
        let data = folder.path().join("set.json");
        std::fs::write(&data, "[]").unwrap();
        assert_eq!(set.locate(|name| (name == "SOME").then(|| data.clone())), Some((data.clone(), None)));
    }

    #[test]
    fn the_described_public_sets_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/external");
        let names: Vec<String> =
            ExternalSet::files(&folder).iter().map(|file| ExternalSet::read(file).unwrap().name).collect();
        assert_eq!(
            names,
            [
                "BEAM",
                "HaluMem",
                "LoCoMo",
                "LongMemEval",
                "MemoryCode",
                "PrecisionMemBench",
                "REALTALK",
                "SWE-ContextBench"
            ]
        );
    }
}
