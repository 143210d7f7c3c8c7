//! Reasons why machines cannot be synchronised.

use std::path::PathBuf;

use super::log::LogError;
use crate::store::StoreError;

/// Reasons why a synchronisation failed. Nothing was applied, and changes that were not sent wait for the next one.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target cannot be used.
    #[error("{0}")]
    Target(String),
    /// A record cannot be read.
    #[error(
        "a record of the synchronisation cannot be read; run `afterthought db sync remove` and add the target again"
    )]
    BadRecord(#[source] serde_json::Error),
    /// An item of another machine cannot be used.
    #[error(
        "change {seq} of the machine {device} {what}; none of it was applied; run `afterthought db sync now --whole` \
         on that machine"
    )]
    BadItem {
        /// Name of the log.
        device: String,
        /// Number of the item.
        seq: u64,
        /// The fault.
        what: &'static str,
    },
    /// Another machine uses a newer version of the program.
    #[error("the machine {device} uses a newer version of afterthought; update afterthought on this machine")]
    Newer {
        /// Name of the log.
        device: String,
    },
    /// An item of another machine is encrypted, and this machine has no key.
    #[error(
        "the memories of the machine {device} are encrypted, and this machine has no key for them; nothing was sent or \
         applied; copy the key file from that machine, and run `afterthought db sync add` again with `--key FILE`"
    )]
    NoKey {
        /// Name of the log.
        device: String,
    },
    /// An item of another machine is encrypted for a key that this machine does not have.
    #[error(
        "change {seq} of the machine {device} is encrypted with another key; none of it was applied; use the same key \
         file on both machines, or add that key to the file of this machine; if the machine is no longer used, delete \
         its folder in the target"
    )]
    OtherKey {
        /// Name of the log.
        device: String,
        /// Number of the item.
        seq: u64,
    },
    /// An item of another machine is not encrypted, though the target has a key.
    #[error(
        "change {seq} of the machine {device} is not encrypted; none of it was applied; run `afterthought db sync add` \
         with `--key FILE` on that machine; if the machine is no longer used, delete its folder in the target"
    )]
    NotEncrypted {
        /// Name of the log.
        device: String,
        /// Number of the item.
        seq: u64,
    },
    /// There is no key file.
    #[error(
        "there is no key file {}; nothing was sent or applied; copy it from a machine that has it, or create the first key \
         with `afterthought db sync key {}`", .file.display(), .file.display()
    )]
    MissingKey {
        /// The file.
        file: PathBuf,
    },
    /// A key file cannot be used.
    #[error("the key file {} cannot be used: {what}; nothing was sent or applied", .file.display())]
    BadKey {
        /// The file.
        file: PathBuf,
        /// The fault, described without quoting the key.
        what: String,
    },
    /// A new key was to be written to an existing file.
    #[error("{} already exists; choose another file, or add a new key to its keys with `--rotate`", .file.display())]
    KeyExists {
        /// The file.
        file: PathBuf,
    },
    /// An item cannot be encrypted.
    #[error("the changes cannot be encrypted: {0}; nothing was sent")]
    Encrypt(String),
    /// The program was built without a feature.
    #[error(
        "this build cannot {what}; install one that can with `cargo install --path . --features {feature}` in a clone of the repository"
    )]
    Feature {
        /// What is missing.
        what: &'static str,
        /// Name of the feature.
        feature: &'static str,
    },
    /// A pattern is not a valid name of a namespace.
    #[error("{pattern:?} is not a namespace; write it like global, project/shop, or 'project/*' for all projects")]
    BadPattern {
        /// The pattern.
        pattern: String,
    },
    /// The address of a repository contains a password.
    #[error(
        "the address contains a password, which would be stored and shown; remove it, and use a credential helper of git"
    )]
    Password,
    /// Another process is synchronising this database.
    #[error("process {pid} is already synchronising this database; try again when it has finished")]
    Busy {
        /// The process.
        pid: u32,
    },
    /// There is no such target.
    #[error("{address} is not synchronised; see `afterthought db sync status`")]
    Unknown {
        /// The target as the user wrote it.
        address: String,
    },
}

impl From<LogError> for SyncError {
    fn from(error: LogError) -> Self {
        Self::Target(error.to_string())
    }
}
