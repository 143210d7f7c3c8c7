//! Errors of the store, one variant for each remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Reasons why an operation of the store failed; each variant is a case that callers handle differently.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the file is missing and cannot be created.
    #[error("cannot create the folder {}; choose another place with --db", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error from the operating system.
        source: std::io::Error,
    },
    /// There is a folder where the file should be.
    #[error("{} is a folder; give a file in it with --db", .path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file is missing, and the caller requested read-only access.
    #[error("there are no memories at {} yet; create some with `afterthought run` or `afterthought remember`", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened or written.
    #[error("cannot write {}; check its permissions and the space on the disk, or choose another file with --db", .path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error from the operating system or from SQLite.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The folder for temporary files cannot be written.
    #[error("cannot use a temporary file in {}; free some space there, or choose another folder with TMPDIR", .folder.display())]
    Temporary {
        /// The folder.
        folder: PathBuf,
        /// The error from the operating system.
        source: std::io::Error,
    },
    /// The file is not a database of this program.
    #[error("{} is not a memory database; choose another file with --db, or move it away", .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is encrypted, but this build has no encryption.
    #[error("{} is encrypted, and this build cannot read such files; install one that can with `cargo install --path . --features encryption` in a clone of the repository", .path.display())]
    CannotDecrypt {
        /// The file.
        path: PathBuf,
    },
    /// A key was given for a new file, but this build has no encryption.
    #[error("{place} contains a key for {}, but this build cannot encrypt; install one that can with `cargo install --path . --features encryption` in a clone of the repository, or remove the key", .path.display())]
    CannotEncrypt {
        /// The file that would be created.
        path: PathBuf,
        /// The place where the key was found.
        place: KeyPlace,
    },
    /// The user asked to encrypt a file, but this build has no encryption.
    #[error("this build cannot encrypt {}; install one that can with `cargo install --path . --features encryption` in a clone of the repository", .path.display())]
    CannotConvert {
        /// The file.
        path: PathBuf,
    },
    /// The file is encrypted, or is to be encrypted, but no key was found.
    #[error("no key for {}: set AFTERTHOUGHT_DB_KEY, or set AFTERTHOUGHT_DB_KEY_FILE to the path of a file that contains the key{}", .path.display(), keyring_note(.keyring.as_deref()))]
    NoKey {
        /// The file.
        path: PathBuf,
        /// The reason why the keyring could not be used, if there is one.
        keyring: Option<String>,
    },
    /// The file is encrypted with a different key.
    #[error("{} is encrypted, and the key from {place} does not decrypt it; use the key with which it was encrypted", .path.display())]
    WrongKey {
        /// The file.
        path: PathBuf,
        /// The source of the key.
        place: KeyPlace,
    },
    /// The text given as a key is not a valid key.
    #[error("the key from {place} cannot be used: {why}")]
    BadKey {
        /// The source of the text.
        place: KeyPlace,
        /// The error, described without quoting the key.
        why: String,
    },
    /// A new key was to be created, but a key already exists.
    #[error("there is already a key in {place}; encrypt with that key, or remove it first")]
    KeyGiven {
        /// The place of the existing key.
        place: KeyPlace,
    },
    /// The system returned no random bytes.
    #[error("the system returned no random bytes for a key ({said}); set AFTERTHOUGHT_DB_KEY to 64 random hex digits")]
    Random {
        /// The error message from the system.
        said: String,
    },
    /// The system keyring cannot be used.
    #[error(
        "the system keyring cannot be used ({said}); set AFTERTHOUGHT_DB_KEY, or name a key file with AFTERTHOUGHT_DB_KEY_FILE"
    )]
    Keyring {
        /// The error message from the system.
        said: String,
    },
    /// The operation requires that no other process has the file open.
    #[error("{} is open in another process; stop `watch`, `mcp`, `serve` and agent sessions that use it, and try again", .path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A copy is encrypted and the file that it would replace is not, or vice versa.
    #[error("one of {} and {} is encrypted and the other is not; convert the copy first with `afterthought db encrypt --db COPY` or `decrypt`", .from.display(), .path.display())]
    MixedKeys {
        /// The copy.
        from: PathBuf,
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("{} is damaged; recover the readable part with `afterthought db repair`, or restore a backup", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The error from SQLite.
        source: rusqlite::Error,
    },
    /// Another process has locked the file for longer than the timeout.
    #[error("{} is locked by another process; try again when it has finished", .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The error from SQLite.
        source: rusqlite::Error,
    },
    /// The file was written by a newer version of this program.
    #[error("{} has schema {found}, but this version supports only schemas up to {known}; update afterthought, or choose another file with --db", .path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// Newest known schema version.
        known: i64,
    },
    /// The schema could not be migrated; nothing was changed.
    #[error("cannot migrate {} to the current schema; restore a backup or report this", .path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// The cause of the failure.
        source: rusqlite_migration::Error,
    },
    /// The destination of a copy already exists.
    #[error("{} already exists; choose another name", .path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// There is no backup to restore.
    #[error("there is no backup at {}; create one with `afterthought db backup FILE`", .path.display())]
    NoBackup {
        /// The path where the backup was expected.
        path: PathBuf,
    },
    /// No memory has this id.
    #[error("no memory has an id like {id}; see `afterthought memory list`")]
    UnknownMemory {
        /// The ID as specified by the user.
        id: String,
    },
    /// Several memories have matching IDs.
    #[error("{count} memories have an id like {id}; give more characters of the id")]
    AmbiguousMemory {
        /// The ID as specified by the user.
        id: String,
        /// The number of matches.
        count: usize,
    },
    /// Several tasks have matching IDs.
    #[error("several tasks have an id like {id}; give more characters of the id")]
    AmbiguousTask {
        /// The ID as specified by the user.
        id: String,
    },
    /// The text cannot be part of an ID.
    #[error(
        "{id:?} is not an id; give at least four characters from the start or the end of an id that `afterthought \
         memory list` prints"
    )]
    ShortId {
        /// The text as specified by the user.
        id: String,
    },
    /// A memory with this ID already exists.
    #[error("memory {id} already exists; update it instead")]
    Exists {
        /// The id.
        id: String,
    },
    /// The memory is not in the inbox.
    #[error("memory {id} is not in the inbox; see `afterthought inbox list`")]
    NotWaiting {
        /// The id.
        id: String,
    },
    /// A memory cannot be related to itself.
    #[error("memory {id} cannot be related to itself; name two memories")]
    SelfRelation {
        /// The id.
        id: String,
    },
    /// There is no project with this name.
    #[error("no project is called {name:?}; see `afterthought project list`")]
    UnknownProject {
        /// The name as specified by the user.
        name: String,
    },
    /// Several projects have this name.
    #[error("several projects are called {name:?}: {candidates}; name one of these")]
    AmbiguousProject {
        /// The name as specified by the user.
        name: String,
        /// The identities that distinguish the projects.
        candidates: String,
    },
    /// No run has this id.
    #[error("no run, or more than one, has an id like {id}; copy the id from `afterthought runs list`")]
    UnknownRun {
        /// The ID as specified by the user.
        id: String,
    },
    /// Every run that changed something has already been undone.
    #[error("nothing to undo: every change has already been undone")]
    NothingToUndo,
    /// The run is still in progress.
    #[error("run {id} is still in progress; undo it when it has finished")]
    RunInProgress {
        /// The run.
        id: String,
    },
    /// The run has already been undone.
    #[error("run {id} has already been undone; `afterthought undo {id} --redo` redoes it")]
    RunUndone {
        /// The run.
        id: String,
    },
    /// The run was not undone, so it cannot be redone.
    #[error("run {id} is not undone, so there is nothing to redo; leave out --redo to undo it")]
    RunNotUndone {
        /// The run.
        id: String,
    },
    /// No change of the run can be made again.
    #[error("nothing to redo: the changes of run {id} are in effect, or their memories have changed since")]
    NothingToRedo {
        /// The run.
        id: String,
    },
    /// The merge of two projects cannot be redone.
    #[error("a merge of projects cannot be redone; `afterthought project merge {from} {into}` merges them again")]
    MergeUndone {
        /// The namespace of the project that was merged.
        from: String,
        /// The namespace of the project that it was merged into.
        into: String,
    },
    /// The caller has not claimed the window, or has lost its claim.
    #[error("window {id} is no longer claimed by {owner}; the lease expired and another process claimed the window")]
    NotOwner {
        /// The window.
        id: i64,
        /// The caller whose claim on the window is missing or lost.
        owner: String,
    },
    /// A stored value cannot be read.
    #[error("{what} in the database cannot be read; restore a backup or report this")]
    BadRecord {
        /// The value.
        what: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// Any other SQLite error.
    #[error("SQLite refused the operation")]
    Sqlite(#[from] rusqlite::Error),
}

/// Returns a note with the reason why the keyring could not be used.
fn keyring_note(keyring: Option<&str>) -> String {
    keyring.map_or_else(String::new, |said| format!(" (the system keyring cannot be used: {said})"))
}

/// Returns whether another connection prevented an operation.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl StoreError {
    /// Returns the same error with the path of the file, if SQLite's error code concerns the file.
    pub(super) fn at(self, path: &Path) -> Self {
        let Self::Sqlite(source) = self else { return self };
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, source },
            // "Busy" refers to another connection, "locked" to another statement of this connection; the remedy is the
            // same.
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path, source },
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure,
            ) => Self::Unwritable { path, source: Box::new(source) },
            _ => Self::Sqlite(source),
        }
    }

    /// Returns a function that converts a parse error to an error about the value `what`.
    pub(super) fn bad(what: impl Into<String>) -> impl FnOnce(serde_json::Error) -> Self {
        let what = what.into();
        |source| Self::BadRecord { what, source }
    }
}

/// The place where a key was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// The environment variable `AFTERTHOUGHT_DB_KEY`.
    Environment,
    /// A file.
    File(PathBuf),
    /// The system keyring.
    Keyring,
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("$AFTERTHOUGHT_DB_KEY"),
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Keyring => f.write_str("the system keyring"),
        }
    }
}
