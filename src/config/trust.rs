//! Checks whether a project's file may be used, and which of its values: it can make settings stricter, but not laxer.
//!
//! The file is part of a repository that somebody else may have written. It is used only if nobody except its user can
//! write it, and only with the text that the user has trusted.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use transcripts::hex;

use crate::private;

use super::{Config, ConfigError, ExtractorChoice, PROJECT_FILE, Partial};

/// Maximum size of a project's file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A project's file that only its user can write.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    /// The path of the file as it was requested.
    pub(crate) path: PathBuf,
    /// The content of the file.
    pub(crate) text: String,
    /// The path of the file without links, which identifies the trusted file.
    place: PathBuf,
}

impl ProjectFile {
    /// Reads the file in exactly this folder. Returns `None` if there is no file.
    ///
    /// # Errors
    /// The reason why the file cannot be used, even if it is trusted.
    pub(crate) fn of(folder: &Path) -> Option<Result<Self, String>> {
        let path = folder.join(PROJECT_FILE);
        let data = fs::symlink_metadata(&path).ok().filter(|data| !data.is_dir())?;
        Some(if data.is_file() {
            Self::read(path).unwrap_or_else(|error| Err(error.to_string()))
        } else {
            // A link in a repository could lead to the file of another project, which the user trusts.
            Err("it is not a regular file".to_owned())
        })
    }

    fn read(path: PathBuf) -> io::Result<Result<Self, String>> {
        let place = path.canonicalize()?;
        let file = private::options().read(true).open(&path)?;
        // The check uses the open file, because another file could have been put at its path.
        if let Some(reason) = writable_by_others(&file.metadata()?, &place)? {
            return Ok(Err(reason.to_owned()));
        }
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            return Ok(Err("it is larger than 1 MiB".to_owned()));
        }
        Ok(Ok(Self { path, text, place }))
    }

    /// Returns the hash of the text that a user trusts.
    pub(crate) fn hash(&self) -> String {
        hex(&Sha256::digest(self.text.as_bytes()))
    }
}

/// Returns the reason why somebody else could have written a file, or `None` if only its user can write it.
#[cfg_attr(not(unix), expect(clippy::unnecessary_wraps, reason = "it can fail on other platforms"))]
fn writable_by_others(file: &fs::Metadata, place: &Path) -> io::Result<Option<&'static str>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Many systems give each user a group with the number of the user, and let it write by default.
        let is_shared =
            |data: &fs::Metadata| data.mode() & 0o002 != 0 || (data.mode() & 0o020 != 0 && data.gid() != data.uid());
        let user = rustix::process::geteuid().as_raw();
        if file.uid() != user {
            return Ok(Some("it belongs to another user"));
        }
        let mut is_open = is_shared(file);
        for folder in folders_of_project(place) {
            let folder = fs::metadata(folder)?;
            // The owner of a folder can replace the file with another file. The administrator can do so anywhere.
            is_open |= is_shared(&folder) || ![user, 0].contains(&folder.uid());
        }
        if is_open {
            return Ok(Some(
                "other users can write to it or to a folder of its project; remove this permission with `chmod go-w`",
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, place);
    Ok(None)
}

/// Returns the folders from the file's folder up to the root of its repository, or only the first if the file is not in
/// a repository.
#[cfg(unix)]
fn folders_of_project(place: &Path) -> impl Iterator<Item = &Path> {
    let root = place.ancestors().skip(1).position(|folder| folder.join(".git").exists());
    place.ancestors().skip(1).take(root.unwrap_or(0) + 1)
}

/// The project files that the user has trusted, each with its text at that time.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustedFiles {
    /// The folder with one record per trusted file, or `None` on a machine without such a folder, where no file is
    /// trusted.
    folder: Option<PathBuf>,
}

impl TrustedFiles {
    /// Returns the trusted files that are recorded in the user's state folder.
    pub(crate) fn in_state(state: &Path) -> Self {
        Self { folder: Some(state.join("trusted")) }
    }

    /// Trusts a file with its current text. Once the text changes, the file is no longer trusted.
    ///
    /// # Errors
    /// An I/O error if the record cannot be written.
    pub(crate) fn add(&self, file: &ProjectFile) -> io::Result<()> {
        let record = self.record(file).ok_or(io::ErrorKind::NotFound)?;
        // The record has the format of `sha256sum`, so that people can check it.
        private::replace(&record, &format!("{}  {}\n", file.hash(), file.place.display()))
    }

    /// Whether the file is trusted with its current text.
    pub(crate) fn contains(&self, file: &ProjectFile) -> bool {
        let recorded = self.record(file).and_then(|record| fs::read_to_string(record).ok());
        recorded.is_some_and(|text| text.split_once(' ').is_some_and(|(hash, _)| hash == file.hash()))
    }

    /// Returns the nearest file that may be used, and the reason why a nearer file may not be used.
    ///
    /// If a file may not be used, a file in a folder above it can still be used, so that a stranger cannot hide that
    /// file.
    pub(crate) fn nearest<'a>(&self, folders: impl Iterator<Item = &'a Path>) -> (Option<ProjectFile>, Option<String>) {
        let mut ignored = None;
        for folder in folders {
            let reason = match ProjectFile::of(folder) {
                None => continue,
                Some(Ok(file)) if self.contains(&file) => return (Some(file), ignored),
                Some(Ok(_)) => {
                    "you have not trusted it, or it has changed since; to review and trust it, run `afterthought \
                     project trust` in its folder"
                        .to_owned()
                }
                Some(Err(reason)) => reason,
            };
            ignored.get_or_insert_with(|| format!("ignored {}: {reason}", folder.join(PROJECT_FILE).display()));
        }
        (None, ignored)
    }

    fn record(&self, file: &ProjectFile) -> Option<PathBuf> {
        let name = hex(&Sha256::digest(file.place.as_os_str().as_encoded_bytes())[..16]);
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Whether this process reports the text for the first time. Settings are read several times, and many folders have
/// the same file above them.
pub(crate) fn is_news(text: &str) -> bool {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    REPORTED.lock().is_ok_and(|mut reported| reported.insert(text.to_owned()))
}

/// Settings and tables that a project's file may set. A repository that somebody else wrote must not determine where
/// logs are sent or stored, what this costs, or what is deleted from other projects.
const FOR_PROJECTS: [&str; 9] = [
    "project",
    "extractor",
    "jobs",
    "categories",
    "instructions",
    "guard",
    "memory.enabled",
    "memory.extraction",
    "memory.retrieval",
];

/// Rejects a project's file with a setting that is only allowed in the user's own file, which is at `user`.
pub(super) fn check(file: &ProjectFile, table: &toml::Table, user: &Path) -> Result<(), ConfigError> {
    for (name, value) in table {
        let inner = value.as_table().filter(|_| name == "memory").into_iter().flat_map(toml::Table::keys);
        let mut keys: Vec<String> = inner.map(|inner| format!("memory.{inner}")).collect();
        if name != "memory" {
            keys.push(name.clone());
        }
        if let Some(key) = keys.into_iter().find(|key| !FOR_PROJECTS.contains(&key.as_str())) {
            return Err(ConfigError::NotForProjects { path: file.path.clone(), key, user: user.to_owned() });
        }
    }
    Ok(())
}

/// Returns the values of a project's file that are stricter than the current values. The lists of `[guard]` are joined
/// later.
pub(super) fn stricter(mut partial: Partial, now: &Config) -> Partial {
    partial.extractor = partial.extractor.filter(|choice| *choice == ExtractorChoice::Rules);
    partial.jobs = partial.jobs.filter(|jobs| *jobs <= now.jobs.value);
    partial.categories = fewer(partial.categories, &now.categories.value);
    let (memory, now) = (&mut partial.memory, &now.memory);
    memory.enabled = memory.enabled.filter(|on| !on);
    let extraction = &mut memory.extraction;
    extraction.auto_extract = extraction.auto_extract.filter(|on| !on);
    extraction.extraction_mode =
        extraction.extraction_mode.filter(|mode| *mode == super::ExtractionMode::AfterConversation);
    let fewest = now.extraction.min_messages_for_extraction.value;
    extraction.min_messages_for_extraction = extraction.min_messages_for_extraction.filter(|least| *least >= fewest);
    let (retrieval, now) = (&mut memory.retrieval, &now.retrieval);
    retrieval.max_tokens = retrieval.max_tokens.filter(|most| *most <= now.max_tokens.value);
    // Zero means the built-in limits, which allow at least ten memories in a brief without a query.
    let most_memories = if now.max_memories_in_prompt.value == 0 { 10 } else { now.max_memories_in_prompt.value };
    retrieval.max_memories_in_prompt =
        retrieval.max_memories_in_prompt.filter(|most| (1..=most_memories).contains(most));
    let least = now.min_importance_for_retrieval.value;
    retrieval.min_importance_for_retrieval = retrieval.min_importance_for_retrieval.filter(|share| *share >= least);
    retrieval.included_types = fewer(retrieval.included_types.take(), &now.included_types.value);
    partial
}

/// Returns the items of a list that are also in the current list, or `None` if there are none.
fn fewer<T: PartialEq>(set: Option<Vec<T>>, now: &[T]) -> Option<Vec<T>> {
    let both: Vec<T> = set?.into_iter().filter(|one| now.contains(one)).collect();
    (!both.is_empty()).then_some(both)
}

/// Trusts the file of a folder, which a test has just written.
#[cfg(test)]
pub(crate) fn trust(state: &Path, folder: &Path) {
    TrustedFiles::in_state(state).add(&ProjectFile::of(folder).unwrap().unwrap()).unwrap();
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Folders, Partial};
    use super::*;

    fn jobs(root: &Path, folder: &Path) -> usize {
        let folders = Folders {
            user_file: root.join("user.toml"),
            default_db: root.join("memories.db"),
            state: root.join("state"),
        };
        Config::load(&folders, folder, None, &|_| None, Partial::default()).unwrap().jobs.value
    }

    fn trusted(root: &Path, folder: &str, text: &str) -> PathBuf {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(PROJECT_FILE), text).unwrap();
        trust(&root.join("state"), &folder);
        folder
    }

    #[test]
    fn a_file_counts_once_it_is_trusted_and_until_it_changes() {
        let root = tempfile::tempdir().unwrap();
        let shop = root.path().join("shop");
        fs::create_dir(&shop).unwrap();
        fs::write(shop.join(PROJECT_FILE), "jobs = 2").unwrap();
        assert_eq!(jobs(root.path(), &shop), 4);
        trust(&root.path().join("state"), &shop);
        assert_eq!(jobs(root.path(), &shop), 2);
        fs::write(shop.join(PROJECT_FILE), "jobs = 3").unwrap();
        assert_eq!(jobs(root.path(), &shop), 4);
        // The same text in another folder counts as a different file.
        let copy = trusted(root.path(), "copy", "jobs = 1");
        fs::write(shop.join(PROJECT_FILE), "jobs = 1").unwrap();
        assert_eq!((jobs(root.path(), &copy), jobs(root.path(), &shop)), (1, 4));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_write_does_not_count() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
        let root = tempfile::tempdir().unwrap();
        let shared = trusted(root.path(), "", "jobs = 2").join("shared");
        let below = shared.join("repo");
        trusted(root.path(), "shared", "jobs = 3");
        fs::create_dir_all(&below).unwrap();
        let jobs = || jobs(root.path(), &below);
        let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(jobs(), 3);
        // The file in the folder above is still used, so that a stranger cannot hide it.
        allow(&shared, 0o777);
        assert_eq!(jobs(), 2);
        allow(&shared, 0o755);
        allow(&shared.join(PROJECT_FILE), 0o666);
        assert_eq!(jobs(), 2);
        // A group with the number of the user is the user's own; only an administrator can assign any other.
        let user = fs::metadata(&shared).unwrap().uid();
        for (group, expected) in [(user, 3), (user + 1, 2)] {
            for (path, open, closed) in [(&shared.join(PROJECT_FILE), 0o664, 0o644), (&shared, 0o775, 0o755)] {
                if chown(path, None, Some(group)).is_ok() {
                    allow(path, open);
                    assert_eq!(jobs(), expected, "{group} {}", path.display());
                }
                allow(path, closed);
            }
        }
        // In a repository, every folder up to its root matters.
        fs::create_dir(shared.join(".git")).unwrap();
        trusted(root.path(), "shared/a/b", "jobs = 1");
        let inner = || super::tests::jobs(root.path(), &shared.join("a/b"));
        assert_eq!(inner(), 1);
        allow(&shared.join("a"), 0o777);
        assert_eq!(inner(), 3);
        allow(&shared, 0o777);
        assert_eq!(inner(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_trusted_file_does_not_count() {
        let root = tempfile::tempdir().unwrap();
        let shop = trusted(root.path(), "shop", "jobs = 2");
        let foreign = root.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        std::os::unix::fs::symlink(shop.join(PROJECT_FILE), foreign.join(PROJECT_FILE)).unwrap();
        assert_eq!((jobs(root.path(), &shop), jobs(root.path(), &foreign)), (2, 4));
    }
}
