//! Many workers on one queue: the queue, the shards that they check out, and the replies that they share.
//!
//! ```text
//! run --queue ─▶ jobs ─▶ worker: claim ─▶ check out the shard ─▶ run ─▶ append what changed ─▶ end the job
//!                                              ▲                                 │
//!                                              └──── log of the shard ◀──────────┘
//! ```
//!
//! A shard is the database file of one namespace, with its ledger of windows, requests and replies. One worker at a
//! time has a lease on a shard. If a lease is lost, the append fails, because the log has changed, and nothing is
//! written twice.

mod queue;
mod replies;
mod shard;

pub(crate) use queue::{JobEnd, JobKind, NewJob, Queue, QueueProgress, QueuedJob};
pub(crate) use replies::QueueReplyStore;
pub(crate) use shard::{CommitOutcome, Extent, ShardCache};

use crate::postgresql::PostgresError;
use crate::sync::LogError;

/// Reasons why a queue or a shard cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScaleError {
    /// The server cannot be used.
    #[error("{0}")]
    Server(String),
    /// The file of a shard cannot be used.
    #[error("cannot use the file of a shard {}: {source}", .path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The fault.
        source: std::io::Error,
    },
    /// The log of a shard is damaged.
    #[error("the log of the shard {shard} is damaged: {what}; restore the PostgreSQL database from a backup")]
    Damaged {
        /// The namespace.
        shard: String,
        /// The fault.
        what: &'static str,
    },
    /// The shard is too large for its log.
    #[error("the changes of the shard {shard} are larger than {} MB; divide the namespace", crate::scale::shard::MAX_ITEM >> 20)]
    TooLarge {
        /// The namespace.
        shard: String,
    },
}

impl From<PostgresError> for ScaleError {
    fn from(error: PostgresError) -> Self {
        Self::Server(error.to_string())
    }
}

impl From<LogError> for ScaleError {
    fn from(error: LogError) -> Self {
        Self::Server(error.to_string())
    }
}
