//! The contract of a log: named, append-only sequences of items, to which one writer at a time adds an item.
//!
//! Synchronisation uses one log per machine, named after the machine, because a folder that another program copies has
//! no order across machines. Storage with such an order can have one log per namespace.

use std::path::PathBuf;

/// An item of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogItem {
    /// Number of the item, from 1.
    pub(crate) seq: u64,
    /// SHA-256 of the bytes, in hexadecimal digits.
    pub(crate) hash: String,
    pub(crate) bytes: Vec<u8>,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Name of the log.
    pub(crate) name: String,
    /// Number of the last item, and its hash.
    pub(crate) seq: u64,
    pub(crate) hash: String,
    /// Number of the snapshot, if there is one.
    pub(crate) snapshot: Option<u64>,
    /// The first number that two different items have, which happens if two machines use one name.
    pub(crate) forked: Option<u64>,
}

/// The outcome of an attempt to add items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AppendOutcome {
    /// The items are in the log; this is the last of them.
    Done(LogItem),
    /// The log did not end with the expected item, so nothing was added.
    Moved,
}

/// Named logs in one place. A log contains at most one snapshot, which replaces all items before it.
///
/// An implementor never changes an item, and never returns an item whose bytes do not have its hash.
pub(crate) trait ChangeLog {
    /// Returns the ends of all logs, sorted by name.
    ///
    /// # Errors
    /// [`LogError`] if the place cannot be read.
    fn heads(&mut self) -> Result<Vec<Head>, LogError>;

    /// Adds items with the numbers after `expected` if the log ends with the number `expected`. Returns the last one.
    ///
    /// # Errors
    /// [`LogError`] if the place cannot be written.
    fn append(&mut self, name: &str, expected: u64, items: &[Vec<u8>]) -> Result<AppendOutcome, LogError>;

    /// Returns the items after the number `seq` that have arrived without a gap.
    ///
    /// # Errors
    /// [`LogError`] if the place cannot be read.
    fn read_since(&mut self, name: &str, seq: u64) -> Result<Vec<LogItem>, LogError>;

    /// Adds a snapshot with the number `seq`, above `expected`, under the condition of [`ChangeLog::append`], and
    /// deletes all items before it.
    ///
    /// # Errors
    /// [`LogError`] if the place cannot be written.
    fn put_snapshot(&mut self, name: &str, expected: u64, seq: u64, bytes: &[u8]) -> Result<AppendOutcome, LogError>;

    /// Returns the snapshot with the highest number.
    ///
    /// # Errors
    /// [`LogError`] if the place cannot be read.
    fn get_snapshot(&mut self, name: &str) -> Result<Option<LogItem>, LogError>;

    /// Returns, once, messages about files that were ignored or are incomplete.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Reasons why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// The place does not exist.
    #[error(
        "{address} has no synchronisation folder; check that the drive or the shared folder is there, or run \
         `afterthought db sync add {address}` to create it"
    )]
    Gone {
        /// The target as the user wrote it.
        address: String,
    },
    /// Other machines wrote at the same time in every attempt.
    #[error("other machines keep writing to the target; nothing was lost, and the next synchronisation tries again")]
    Busy,
    /// The program `git` cannot be started.
    #[error(
        "cannot run git, which is required for a repository as target: {0}; install git, or share memories through a \
         folder"
    )]
    NoGit(std::io::Error),
    /// The repository cannot be used.
    #[error(
        "cannot use the repository {address}: {what}; check the address and your access with `git ls-remote {address}`, \
         and the free space there; nothing was lost, and the next synchronisation tries again"
    )]
    Repository {
        /// The target as the user wrote it.
        address: String,
        /// The fault.
        what: String,
    },
    /// The object storage cannot be used.
    #[cfg(feature = "scale")]
    #[error(
        "cannot use the object storage {address}: {what}; check the address, and the region, endpoint and credentials in \
         the environment, such as AWS_ACCESS_KEY_ID; nothing was lost, and the next synchronisation tries again"
    )]
    Objects {
        /// The target as the user wrote it.
        address: String,
        /// The fault.
        what: String,
    },
    /// The PostgreSQL server cannot be used.
    #[cfg(feature = "scale")]
    #[error("{0}")]
    Postgres(Box<crate::postgresql::PostgresError>),
    /// A file cannot be read or written.
    #[error("cannot use {}: {source}; nothing was lost, and the next synchronisation tries again", .path.display())]
    File { path: PathBuf, source: std::io::Error },
}

#[cfg(test)]
#[path = "log_tests.rs"]
pub(super) mod tests;
