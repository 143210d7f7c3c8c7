//! Reasons why machines cannot be synchronised.

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
        "change {seq} of the machine {device} {what}; nothing of it was applied; run `afterthought db sync now --whole` \
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
    /// A pattern names no namespace.
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
