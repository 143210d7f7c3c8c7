//! Errors of the store, one variant for each remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the store could not do what was requested; one variant for each case that callers handle differently.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the file is missing and cannot be created.
    #[error("cannot create the folder {}; choose another place with --db", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is a folder where the file should be.
    #[error("{} is a folder; name a file in it with --db", .path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file is missing and was to be opened for reading only.
    #[error("there are no memories at {} yet; `afterthought run` or `remember` begins them", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened or written.
    #[error("cannot write {}; check its permissions and the space on the disk, or choose another file with --db", .path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file is not a database of this program.
    #[error("{} is not a memory database; choose another file with --db, or move it away", .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is encrypted, and this build has no encryption.
    #[error("{} is encrypted, and this build cannot read such files; install one that can: `cargo install afterthought --features encryption`", .path.display())]
    CannotDecrypt {
        /// The file.
        path: PathBuf,
    },
    /// A key is given for a new file, and this build has no encryption.
    #[error("{place} holds a key for {}, and this build cannot encrypt; install one that can: `cargo install afterthought --features encryption`, or take the key away", .path.display())]
    CannotEncrypt {
        /// The file that would be created.
        path: PathBuf,
        /// Where the key was found.
        place: KeyPlace,
    },
    /// A file was to be encrypted, and this build has no encryption.
    #[error("this build cannot encrypt {}; install one that can: `cargo install afterthought --features encryption`", .path.display())]
    CannotConvert {
        /// The file.
        path: PathBuf,
    },
    /// The file is or was to be encrypted, and no key was found.
    #[error("no key for {}: set AFTERTHOUGHT_DB_KEY, or name a file that holds it with AFTERTHOUGHT_DB_KEY_FILE{}", .path.display(), keyring_note(.keyring.as_deref()))]
    NoKey {
        /// The file.
        path: PathBuf,
        /// Why the keyring could not be used, if it could not.
        keyring: Option<String>,
    },
    /// The file is encrypted with another key.
    #[error("{} is encrypted, and the key from {place} does not open it; give the key that it was encrypted with", .path.display())]
    WrongKey {
        /// The file.
        path: PathBuf,
        /// Where the key came from.
        place: KeyPlace,
    },
    /// The text given as a key is not a valid key.
    #[error("the key from {place} cannot be used: {why}")]
    BadKey {
        /// Where it came from.
        place: KeyPlace,
        /// What is wrong, without quoting the key.
        why: String,
    },
    /// A new key was to be created, but there is one already.
    #[error("there is a key in {place} already; encrypt with that, or take it away first")]
    KeyGiven {
        /// Where it is.
        place: KeyPlace,
    },
    /// The system returned no random bytes.
    #[error("the system gives no random bytes for a key ({said}); set AFTERTHOUGHT_DB_KEY to 64 random hex digits")]
    Random {
        /// What it said.
        said: String,
    },
    /// The keyring of the system cannot be used.
    #[error(
        "the system keyring cannot be used ({said}); set AFTERTHOUGHT_DB_KEY, or name a key file with AFTERTHOUGHT_DB_KEY_FILE"
    )]
    Keyring {
        /// What it said.
        said: String,
    },
    /// The operation requires that no other process has the file open.
    #[error("{} is open in another process; end `watch`, `mcp`, `serve` and sessions of agents that use it, and try again", .path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A copy is encrypted and the file that it would replace is not, or vice versa.
    #[error("one of {} and {} is encrypted and the other is not; bring the copy to the same form first: `afterthought db encrypt --db COPY`, or `decrypt`", .from.display(), .path.display())]
    MixedKeys {
        /// The copy.
        from: PathBuf,
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("{} is damaged; `afterthought db repair` saves what can be read of it, or restore a backup", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Another process locks the file for longer than the timeout.
    #[error("{} is locked by another process; try again when it has finished", .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file was written by a newer version of this program.
    #[error("{} has schema {found}, and this version knows up to {known}; update afterthought, or choose another file with --db", .path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Schema of the file.
        found: i64,
        /// Newest schema known.
        known: i64,
    },
    /// The schema could not be migrated; nothing was changed.
    #[error("cannot bring {} up to date; restore a backup or report this", .path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: rusqlite_migration::Error,
    },
    /// A copy was to be written to a path where there is already a file.
    #[error("there is a file at {} already; choose another name", .path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// There is no copy to restore.
    #[error("there is no backup at {}; `afterthought db backup FILE` makes one", .path.display())]
    NoBackup {
        /// The path where it was expected.
        path: PathBuf,
    },
    /// No memory has this id.
    #[error("no memory has an id like {id}; see `afterthought memory list`")]
    UnknownMemory {
        /// The text that was given.
        id: String,
    },
    /// Several memories have ids that match.
    #[error("{count} memories have an id like {id}; give more of it")]
    AmbiguousMemory {
        /// The text that was given.
        id: String,
        /// The number of matches.
        count: usize,
    },
    /// What was given is not part of an id.
    #[error(
        "{id:?} is not an id; give at least four characters of one, from its start or its end, as `afterthought memory list` prints it"
    )]
    ShortId {
        /// The text that was given.
        id: String,
    },
    /// There is a memory with this id already.
    #[error("there is a memory {id} already; update it instead")]
    Exists {
        /// The id.
        id: String,
    },
    /// The memory does not wait in the inbox.
    #[error("memory {id} does not wait in the inbox; see `afterthought inbox list`")]
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
    /// No project is known by this name.
    #[error("no project is called {name:?}; see `afterthought project list`")]
    UnknownProject {
        /// The text that was given.
        name: String,
    },
    /// Several projects have this name.
    #[error("several projects are called {name:?}: {candidates}; name one of these")]
    AmbiguousProject {
        /// The text that was given.
        name: String,
        /// How the projects differ.
        candidates: String,
    },
    /// No run has this id.
    #[error("no run has an id like {id}; see `afterthought runs list`")]
    UnknownRun {
        /// The text that was given.
        id: String,
    },
    /// Every run that changed something has already been undone.
    #[error("nothing to undo: nothing was changed that is not undone yet")]
    NothingToUndo,
    /// The run is still in progress.
    #[error("run {id} is still going; undo it when it has ended")]
    RunInProgress {
        /// The run.
        id: String,
    },
    /// The run was undone before.
    #[error("run {id} was undone already; nothing is left to undo")]
    RunUndone {
        /// The run.
        id: String,
    },
    /// The window is not, or no longer, claimed by the caller.
    #[error("window {id} is not held by {owner}; its lease ran out and another process took it")]
    NotOwner {
        /// The window.
        id: i64,
        /// The caller that claimed it.
        owner: String,
    },
    /// A stored value cannot be read.
    #[error("{what} in the database cannot be read; restore a backup or report this")]
    BadRecord {
        /// Which value.
        what: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// Any other failure of SQLite.
    #[error("SQLite refused the operation")]
    Sqlite(#[from] rusqlite::Error),
}

/// Returns the note on why the keyring could not be used.
fn keyring_note(keyring: Option<&str>) -> String {
    keyring.map_or_else(String::new, |said| format!(" (the system keyring cannot be used: {said})"))
}

impl StoreError {
    /// Returns the same error with the name of the file, if SQLite's code says what is wrong with the file.
    pub(super) fn at(self, path: &Path) -> Self {
        let Self::Sqlite(source) = self else { return self };
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, source },
            // "Busy" refers to another connection, "locked" to another statement of this one; the remedy is the same.
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

    /// Returns a function that turns a parse error into an error about the named value.
    pub(super) fn bad(what: impl Into<String>) -> impl FnOnce(serde_json::Error) -> Self {
        let what = what.into();
        |source| Self::BadRecord { what, source }
    }
}

/// Where a key was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// The environment variable `AFTERTHOUGHT_DB_KEY`.
    Environment,
    /// A file.
    File(PathBuf),
    /// The keyring of the system.
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
