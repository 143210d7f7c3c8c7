//! The audit log: records who changed, exported or erased which memories, and when, as ids and counts.
//!
//! One line of JSON per action, in an append-only file next to the database. The log contains no text of any memory, so
//! it can be kept when memories are erased. The log is not part of the database, so restoring a backup does not revert
//! the log.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::memory::MemoryId;
use crate::private;

/// Size in bytes at which a new log file is started; at most two files are kept.
// This size is enough for many thousands of lines, but small enough to read both files completely.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of ids in a line; the number of memories includes those whose ids are left out.
const MAX_IDS: usize = 1_000;
/// Maximum length of the user's name, in characters.
const MAX_NAME: usize = 64;

/// The action that was performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AuditAction {
    /// The text of a memory was changed.
    Update,
    /// Memories were forgotten, so that they are no longer recalled.
    Forget,
    /// Memories were made active again.
    Restore,
    /// Memories were passed to a file or another program.
    Export,
    /// Conversations were erased, together with everything based on them.
    Erase,
    /// Memories forgotten long ago were deleted.
    Purge,
    /// A run was undone.
    Undo,
    /// A backup was made.
    Backup,
    /// A backup replaced the whole database.
    RestoreBackup,
    /// The file was encrypted.
    Encrypt,
    /// The file was decrypted.
    Decrypt,
}

/// The channel through which an action was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditChannel {
    /// A command from a person or a script.
    Command,
    /// An agent, over the Model Context Protocol.
    Agent,
    /// A program that uses this library.
    Library,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuditEntry {
    /// Time of the action.
    pub at: Timestamp,
    /// The operating-system user.
    pub who: String,
    /// The ID of the process.
    pub pid: u32,
    /// The channel through which the action was requested.
    pub through: AuditChannel,
    /// The action.
    pub did: AuditAction,
    /// Number of memories affected.
    pub memories: usize,
    /// Ids of the memories, at most a thousand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<MemoryId>,
    /// Number of erased conversations, for an erasure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversations: Option<usize>,
}

/// The log of one database, open for appending.
#[derive(Debug)]
pub(crate) struct AuditLog {
    path: PathBuf,
    file: File,
}

impl AuditLog {
    /// Returns the path of the log of the database at `database`.
    pub(crate) fn path_of(database: &Path) -> PathBuf {
        database.with_extension("audit.jsonl")
    }

    /// Opens the log of the database at `database`, creating it with mode 0600 if it is missing. Callers open the log
    /// before they act, so that no action is performed that cannot be logged.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if the log cannot be opened.
    pub(crate) fn open(database: &Path) -> Result<Self, StoreError> {
        let path = Self::path_of(database);
        if fs::metadata(&path).is_ok_and(|data| data.len() > MAX_BYTES) {
            // An error is ignored, because a log that is too long must not prevent the action.
            fs::rename(&path, former(&path)).ok();
        }
        let file = private::append(&path)
            .map_err(|source| StoreError::Unwritable { path: path.clone(), source: Box::new(source) })?;
        Ok(Self { path, file })
    }

    /// Adds a line about an action on the memories `ids`, and syncs the file so that the line survives a power failure.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if the line cannot be written.
    pub(crate) fn note(
        &mut self,
        through: AuditChannel,
        did: AuditAction,
        ids: &[MemoryId],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.add(&entry(through, did, ids, now))
    }

    /// Adds a line with only the number of affected memories.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if the line cannot be written.
    pub(crate) fn count(&mut self, did: AuditAction, memories: usize, now: Timestamp) -> Result<(), StoreError> {
        self.add(&AuditEntry { memories, ..entry(AuditChannel::Command, did, &[], now) })
    }

    /// Adds a line about erased conversations and the memories `ids` that were erased with them.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if the line cannot be written.
    pub(crate) fn erased(&mut self, conversations: usize, ids: &[MemoryId], now: Timestamp) -> Result<(), StoreError> {
        let conversations = Some(conversations);
        self.add(&AuditEntry { conversations, ..entry(AuditChannel::Command, AuditAction::Erase, ids, now) })
    }

    fn add(&mut self, entry: &AuditEntry) -> Result<(), StoreError> {
        let line = serde_json::to_string(entry).map_err(StoreError::bad("a line of the audit log"))?;
        // A single call writes the whole line, so that lines from several processes do not interleave.
        let written = self.file.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|source| StoreError::Unwritable { path: self.path.clone(), source: Box::new(source) })
    }

    /// Returns the lines of the log of the database at `database`, oldest first, and the number of lines that cannot be
    /// read.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if one of its files cannot be read.
    pub(crate) fn read(database: &Path) -> Result<(Vec<AuditEntry>, usize), StoreError> {
        let path = Self::path_of(database);
        let (mut entries, mut broken) = (Vec::new(), 0);
        // The former file is read first, because its lines are older.
        for path in [former(&path), path] {
            let mut bytes = Vec::new();
            match File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(StoreError::Unwritable { path, source: Box::new(source) }),
                Ok(_) => {}
            }
            // A power failure can leave half a character; one broken line must not hide the others.
            for line in String::from_utf8_lossy(&bytes).lines() {
                match serde_json::from_str(line) {
                    Ok(entry) => entries.push(entry),
                    Err(_) => broken += 1,
                }
            }
        }
        Ok((entries, broken))
    }
}

fn entry(through: AuditChannel, did: AuditAction, ids: &[MemoryId], now: Timestamp) -> AuditEntry {
    AuditEntry {
        at: now,
        who: who(),
        pid: std::process::id(),
        through,
        did,
        memories: ids.len(),
        ids: ids.iter().take(MAX_IDS).cloned().collect(),
        conversations: None,
    }
}

/// Returns the system user: the user id, and the name from the environment, which anyone can set.
fn who() -> String {
    let name = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    // Control characters could act as terminal escape sequences when a person prints the log.
    let name: String = name.unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect();
    #[cfg(unix)]
    {
        let number = rustix::process::getuid().as_raw();
        if name.is_empty() { number.to_string() } else { format!("{number} ({name})") }
    }
    #[cfg(not(unix))]
    name
}

fn former(path: &Path) -> PathBuf {
    path.with_extension("1.jsonl")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{day, memory};
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written_and_nobody_else_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("memories.db");
        assert_eq!(AuditLog::read(&database).unwrap(), (vec![], 0));
        let ids: Vec<MemoryId> = (0..1_002).map(|_| memory("Tea", "The user drinks tea.").id).collect();
        let mut log = AuditLog::open(&database).unwrap();
        log.note(AuditChannel::Agent, AuditAction::Update, &ids[..1], day(0)).unwrap();
        log.erased(3, &ids, day(1)).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(AuditLog::path_of(&database))
            .unwrap()
            .write_all(b"{half\n")
            .unwrap();
        log.count(AuditAction::Export, 7, day(2)).unwrap();
        let (entries, broken) = AuditLog::read(&database).unwrap();
        assert_eq!(broken, 1);
        let told: Vec<_> = entries
            .iter()
            .map(|one| (one.at, one.through, one.did, one.memories, one.ids.len(), one.conversations))
            .collect();
        assert_eq!(
            told,
            [
                (day(0), AuditChannel::Agent, AuditAction::Update, 1, 1, None),
                (day(1), AuditChannel::Command, AuditAction::Erase, 1_002, MAX_IDS, Some(3)),
                (day(2), AuditChannel::Command, AuditAction::Export, 7, 0, None),
            ]
        );
        assert_eq!(entries[0].ids, ids[..1]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(AuditLog::path_of(&database)).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("memories.db");
        let path = AuditLog::path_of(&database);
        for letter in ["a", "b", "c"] {
            fs::write(&path, format!("{}\n", letter.repeat(usize::try_from(MAX_BYTES).unwrap()))).unwrap();
            AuditLog::open(&database).unwrap().count(AuditAction::Export, 1, day(0)).unwrap();
        }
        let sizes: u64 = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(sizes < 2 * MAX_BYTES, "{sizes}");
        assert_eq!(AuditLog::read(&database).unwrap().0.len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("memories.db");
        std::os::unix::fs::symlink(folder.path().join("other"), AuditLog::path_of(&database)).unwrap();
        assert!(AuditLog::open(&database).is_err() && !folder.path().join("other").exists());
    }

    #[test]
    fn what_cannot_be_noted_is_refused_before() {
        let error = AuditLog::open(Path::new("/none/such/memories.db")).unwrap_err();
        assert!(error.to_string().contains("/none/such/memories.audit.jsonl"), "{error}");
    }
}
