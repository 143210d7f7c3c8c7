//! Errors of the API, one variant for each case that callers handle differently.

use crate::config::{ConfigError, Layer};
use crate::consolidate::ApplyError;
use crate::embed::EmbedError;
use crate::exchange::PackError;
use crate::llm::{LlmError, PriceError};
use crate::memory::{ParseError, Status};
use crate::pipeline::{NamingError, PipelineError};
use crate::store::StoreError;
use transcripts::IngestError;

/// Reasons why an operation failed; every message names the object and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// A value was given that cannot be accepted.
    #[error("{0}")]
    Invalid(String),
    /// An agent may only add memories that a person reviews.
    #[error("agents can only store new memories here, and a person must review these before they are used")]
    Unreviewed,
    /// Somebody who is not a maintainer of a team tried to change its memories.
    #[error(
        "only {maintainers} can change memories of {team}, and you are {person}; `afterthought memory promote` proposes a \
         memory to the team"
    )]
    NotMaintainer {
        /// The team.
        team: String,
        /// The names of its maintainers.
        maintainers: String,
        /// The name of the caller.
        person: String,
    },
    /// Something that is already stored stands in the way.
    #[error("{0}")]
    Conflict(String),
    /// A file, an address or an option cannot be used for the operation.
    #[error("{0}")]
    Unusable(String),
    /// A file cannot be imported.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A project cannot be given a name, or cannot be merged.
    #[error(transparent)]
    Naming(#[from] NamingError),
    /// The database cannot be used, or does not contain what was requested.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Machines cannot be synchronised.
    #[error(transparent)]
    Sync(#[from] crate::sync::SyncError),
    /// The queue or a shard cannot be used.
    #[cfg(feature = "scale")]
    #[error(transparent)]
    Queue(#[from] crate::scale::ScaleError),
    /// An adapter other than `SQLite` failed.
    #[error("the storage adapter failed: {0}")]
    Adapter(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No memories can be extracted with the current settings.
    #[error("the extractor is not ready: {reason}; see `afterthought status --check`")]
    NotReady {
        /// Why not.
        reason: String,
    },
    /// The adapter stores memories but has no ledger.
    #[error("the {adapter} adapter only stores and finds memories; open a sqlite: address to {what}")]
    NoLedger {
        /// Name of the adapter.
        adapter: String,
        /// The requested operation.
        what: &'static str,
    },
    /// The text contains a secret.
    #[error("the text contains a secret ({name}), which is never kept; leave it out")]
    Secret {
        /// Name of the rule that found the secret.
        name: &'static str,
    },
    /// The new text of a memory was forgotten earlier.
    #[error("the text was {reason}")]
    ForgottenText {
        /// When the text was rejected, and what a person can do.
        reason: String,
    },
    /// The given name cannot be turned into a namespace.
    #[error(transparent)]
    Name(#[from] ParseError),
    /// The text is too long for a memory.
    #[error("the text has {chars} characters; a memory is a sentence or a short paragraph of at most {most}")]
    TooLong {
        /// Length of the text, in characters.
        chars: usize,
        /// Maximum length, in characters.
        most: usize,
    },
    /// A pack cannot be written.
    #[error("cannot write the pack: {0}")]
    Pack(#[from] PackError),
    /// An agent tried to change a pinned memory, which only a person may change.
    #[error(
        "memory {id} is pinned, so only a person can change or forget it; `afterthought memory pin --off {id}` unpins it"
    )]
    Pinned {
        /// The memory.
        id: String,
    },
    /// The status of the memory does not allow the operation.
    #[error("memory {id} is {status}; {remedy}")]
    NotNow {
        /// The memory.
        id: String,
        /// Status of the memory.
        status: Status,
        /// The possible remedy.
        remedy: &'static str,
    },
    /// The namespace is not one of those that the caller may access.
    #[error("{asked} cannot be accessed here; only {served} can")]
    OutOfReach {
        /// The requested namespace.
        asked: String,
        /// The accessible namespaces.
        served: String,
    },
    /// Other processes kept changing the same memories, or the plan could not be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A run failed.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// Vectors could not be computed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The prices of the settings cannot be used.
    #[error("cannot use the prices set in {layer}")]
    Price {
        /// The settings layer in which they are set.
        layer: Layer,
        /// The fault.
        source: PriceError,
    },
}

impl ApiError {
    /// Returns the error for arguments that do not identify any memories; `remedy` says which arguments would.
    pub(crate) fn nothing_named(remedy: &str) -> Self {
        Self::Invalid(format!("it is not clear which memories are meant; {remedy}"))
    }
}
