//! Errors of the API, one variant for each case that callers handle differently.

use std::path::PathBuf;

use crate::config::{ConfigError, Layer};
use crate::consolidate::ApplyError;
use crate::embed::EmbedError;
use crate::exchange::{MEMORY_FORMATS, PackError};
use crate::llm::{LlmError, PriceError};
use crate::memory::{ParseError, Status};
use crate::pipeline::{NamingError, PipelineError};
use crate::store::StoreError;
use transcripts::IngestError;

/// Reasons why an operation failed; every message names the object and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No adapter is registered for the scheme of the address.
    #[error("there is no storage adapter for {scheme}: addresses; use {known}, or a path")]
    UnknownScheme {
        /// The scheme: the part of the address before the colon.
        scheme: String,
        /// The known schemes.
        known: String,
    },
    /// The operation needs a file, but the address does not name one.
    #[error("a {scheme}: address does not keep memories between commands; specify a file")]
    NoFile {
        /// The scheme: the part of the address before the colon.
        scheme: &'static str,
    },
    /// The folder or archive contains no file of memories.
    #[error("{} contains no memories in a known format; see `afterthought import --help`", .path.display())]
    NoMemories {
        /// The folder or archive.
        path: PathBuf,
    },
    /// The format of a file of memories is unknown.
    #[error("{} contains no memories in a known format; see `afterthought import --help`, or pass --format NAME", .path.display())]
    UnknownMemoryFormat {
        /// The file.
        path: PathBuf,
    },
    /// No format of memories has this name.
    #[error("there is no memory format {name:?}; use one of {}", MEMORY_FORMATS.iter().map(|one| one.name).collect::<Vec<_>>().join(", "))]
    NoSuchMemoryFormat {
        /// The name.
        name: String,
    },
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
    /// A namespace contains a secret.
    #[error("the namespace contains a secret ({name}), which is never kept; choose another name")]
    SecretNamespace {
        /// Name of the rule that found the secret.
        name: &'static str,
    },
    /// A key cannot be stored exactly as it was given.
    #[error("the key {reason}")]
    Key {
        /// The fault in the key, and the remedy.
        reason: &'static str,
    },
    /// Another memory already has the text.
    #[error("memory {id} ({status}) has this text already; update that memory, or forget it first")]
    KnownText {
        /// The short id of the memory.
        id: String,
        /// Its status.
        status: Status,
    },
    /// The new text of a memory was forgotten earlier.
    #[error("the text was {reason}")]
    ForgottenText {
        /// When the text was rejected, and what a person can do.
        reason: String,
    },
    /// The text would act as an instruction to a model that recalls it.
    #[error("the text {reason}, and only a person may store such a memory; state a fact instead of an instruction")]
    Order {
        /// The reason for the rejection.
        reason: &'static str,
    },
    /// An agent may only add memories that a person reviews.
    #[error("agents can only store new memories here, and a person must review these before they are used")]
    Unreviewed,
    /// The category does not exist.
    #[error("{category:?} is not a category; use one of {allowed}")]
    Category {
        /// The given category.
        category: String,
        /// The categories that are allowed.
        allowed: String,
    },
    /// The importance is outside its scale.
    #[error("importance {value} is out of range; use {scale}")]
    Importance {
        /// The given value.
        value: f64,
        /// The accepted values.
        scale: &'static str,
    },
    /// The confidence is outside its scale.
    #[error("confidence {value} is out of range; use 0 to 1")]
    Confidence {
        /// The given value.
        value: f64,
    },
    /// The weight of vectors in a search is outside its scale.
    #[error("the hybrid weight {value} is out of range; use 0 (only words) to 1 (only vectors)")]
    HybridWeight {
        /// The given value.
        value: f64,
    },
    /// More results are requested than fit on a page, or none.
    #[error("the limit {limit} is out of range; use 1 to {most}, and offset for further results")]
    Limit {
        /// The given limit.
        limit: usize,
        /// The maximum.
        most: usize,
    },
    /// The expiry is not valid.
    #[error("the expiry {text:?} {reason}")]
    Expiry {
        /// The given text.
        text: String,
        /// The fault, and the remedy.
        reason: &'static str,
    },
    /// The id that the caller chose cannot be used.
    #[error("the id {id:?} {reason}")]
    Id {
        /// The given id.
        id: String,
        /// The fault.
        reason: &'static str,
    },
    /// A change to a memory does not set any field.
    #[error("nothing would change; give the content or another field")]
    NothingGiven,
    /// The structured part of a memory has an unknown shape.
    #[error("the structured part is wrong: {reason}")]
    Structured {
        /// The fault.
        reason: String,
    },
    /// The given name cannot be turned into a namespace.
    #[error(transparent)]
    Name(#[from] ParseError),
    /// The text is empty.
    #[error("there is no text to remember; give a sentence")]
    Empty,
    /// The subject has no text.
    #[error("the subject is empty; give the topic of the memory in a word, such as auth")]
    NoSubject,
    /// The text is too long for a memory.
    #[error("the text has {chars} characters; a memory is a sentence or a short paragraph of at most {most}")]
    TooLong {
        /// Length of the text, in characters.
        chars: usize,
        /// Maximum length, in characters.
        most: usize,
    },
    /// A field other than the content is too long.
    #[error("the {field} is longer than {most} characters; shorten it")]
    LongField {
        /// The field.
        field: &'static str,
        /// The maximum length.
        most: usize,
    },
    /// There are too many tags.
    #[error("a memory has at most {most} tags; leave some out")]
    ManyTags {
        /// The maximum number.
        most: usize,
    },
    /// A pack cannot be written.
    #[error("cannot write the pack: {0}")]
    Pack(#[from] PackError),
    /// A pack cannot be imported.
    #[error("nothing was imported from the pack {}: {fault}", .path.display())]
    UnusablePack {
        /// The file.
        path: PathBuf,
        /// Why not.
        fault: PackError,
    },
    /// A pack cannot be compared with the stored memories.
    #[error("{} is a pack, which is imported as it is; leave out --consolidate", .path.display())]
    PackNotConsolidated {
        /// The file.
        path: PathBuf,
    },
    /// A pack cannot be signed.
    #[error("cannot sign with {}: {reason}", .key.display())]
    Unsigned {
        /// The file of the key.
        key: PathBuf,
        /// What `ssh-keygen` said.
        reason: String,
    },
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
    /// A memory cannot be promoted to a team.
    #[error("memory {id} cannot be promoted to {team}: {reason}")]
    NotPromoted {
        /// The memory.
        id: String,
        /// The team.
        team: String,
        /// Why not.
        reason: &'static str,
    },
    /// The namespace is not that of a team.
    #[error("{namespace} is not a team; write it like team/shop")]
    NotATeam {
        /// The namespace.
        namespace: String,
    },
    /// Nobody has set up the team, and its name is like that of another.
    #[error(
        "nobody has set up {team}; did you mean {near}? `afterthought project team {name} --maintainer PERSON` sets up a \
         new team"
    )]
    UnknownTeam {
        /// The team.
        team: String,
        /// Its name without `team/`.
        name: String,
        /// The known team.
        near: String,
    },
    /// The name of the person is not known.
    #[error("your name is not known; set it with `git config --global user.name NAME`")]
    Nameless,
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
    /// The arguments do not identify any memories.
    #[error("it is not clear which memories are meant; {remedy}")]
    NothingNamed {
        /// Arguments that the command needs.
        remedy: &'static str,
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
    /// A recording contains the answers of only one model, and no model was specified.
    #[error("a recording requires a specific model; choose one with --model")]
    UnnamedRecording,
    /// A path pattern is invalid.
    #[error("cannot understand {origin} {text:?}: {reason}")]
    Pattern {
        /// The source of the pattern.
        origin: &'static str,
        /// The pattern.
        text: String,
        /// The fault.
        reason: &'static str,
    },
}
