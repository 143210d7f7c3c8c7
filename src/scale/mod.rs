//! Many workers on one queue: the queue, the logs in object storage, the shards that workers check out, and the replies
//! that they share.
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

mod metrics;
mod objects;
mod queue;
mod replies;
mod shard;

pub(crate) use metrics::{JobResult, WorkerStatistics};
pub(crate) use objects::LogStorage;
pub(crate) use queue::{JobEnd, JobKind, NewJob, Queue, QueueProgress, QueuedJob};
pub(crate) use replies::QueueReplyStore;
pub(crate) use shard::{CommitOutcome, Extent, ShardCache};

use crate::postgresql::PostgresError;
use crate::sync::LogError;

/// Maximum size of the changes of a shard in one item of its log, in bytes.
pub(crate) const MAX_ITEM: usize = 250 << 20;

/// Reasons why a queue or a shard cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScaleError {
    /// The server cannot be used.
    #[error("{0}")]
    Server(String),
    /// The object storage with the logs cannot be used.
    #[error(
        "cannot use the object storage {address}: {what}; check the address, and the region, endpoint and credentials in \
         the environment, such as AWS_ACCESS_KEY_ID"
    )]
    Objects {
        /// The address of the logs.
        address: String,
        /// The fault.
        what: String,
    },
    /// There is no object at an address.
    #[error("no objects at {address}; give the address of a log, or a prefix such as s3://bucket/logs")]
    NoObjects {
        /// The address.
        address: String,
    },
    /// The file of a shard or of a log cannot be used.
    #[error("cannot use the file {}: {source}", .path.display())]
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
    /// There is no shard for this namespace.
    #[error(
        "there are no memories of {shard} here; `afterthought runs queue --queue ADDRESS` shows how far the workers are"
    )]
    UnknownShard {
        /// The namespace.
        shard: String,
    },
    /// The shard is too large for its log.
    #[error("the changes of the shard {shard} are larger than {} MB; divide the namespace", MAX_ITEM >> 20)]
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
