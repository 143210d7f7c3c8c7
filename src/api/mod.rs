//! The only entry point to memories: extract, consolidate, remember, retrieve, review, import and export.
//!
//! ```text
//! address ─▶ AdapterRegistry ─▶ StorageAdapter ─┐
//! Config ───────────────────────────────────────┴▶ Memories ─▶ every command, tool, hook and program
//! ```
//!
//! Memories written through this module are compared with the known ones and recorded in the history, and can be
//! undone. Methods that may call a model are `async`; the others wait only for the file. A [`Memories`] is one
//! connection: it can be sent to another thread, and each thread may have its own.

mod database;
mod difference;
mod draft;
mod error;
mod exchange;
mod extract;
mod forget;
mod freshness;
mod keyed;
mod merge;
mod model;
mod pack;
mod overview;
mod profile;
mod projects;
#[cfg(feature = "scale")]
mod queue;
mod remember;
mod retrieve;
mod review;
mod run;
mod scale;
mod session;
mod storage;
mod sync;
mod team;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, Folders, Partial};
use crate::guard::Guard;
use crate::memory::{Memory, MemoryId, Namespace};
use crate::store::Store;
use storage::SqliteStorage;

pub use crate::changeset::{Action, Entity};
pub use crate::consolidate::{
    AppliedPlan, Author, Change, Decision, Plan, Restored, ReviewedChange, RivalPolicy, SavedPlan, SavedPlanError, pass,
};
pub use crate::embed::QueryVectors;
pub(crate) use crate::embed::{Filled, Progress, QUERY_TIMEOUT};
pub use crate::exchange::{Counts, Exported, MEMORY_FORMATS, ReviewPolicy};
pub(crate) use crate::exchange::{ExportedTask, IdOrigin, Imported, markdown};
pub(crate) use crate::guard::without_secrets;
pub(crate) use crate::lifecycle::NEAR_DAYS;
pub(crate) use crate::lifecycle::decay::{confidence_now, heat};
pub use crate::lifecycle::{Report, Upkeep};
pub use crate::llm::Price;
#[cfg(feature = "otel")]
pub(crate) use crate::llm::use_ring;
pub(crate) use crate::llm::{DEFAULT_BASE_URL, DEFAULT_MODEL, lists_model, logins};
pub(crate) use crate::pipeline::{
    Basis, Fault, LINGER, Scan, SourceTotals, Stamp, Survey, WATCH_LEASE, WORKER_LEASE, WorkerEnd, WorkerOptions,
    WorkerReport, consolidate_imported, is_subagents, lower_priority, named_project, path_key, request_for,
};
pub use crate::pipeline::{
    Event, Failure, Files, FullSummary, RereadPolicy, Selection, SelectionCounts, Sources, Summary,
};
pub(crate) use crate::process::{ENVIRONMENT_MARK, in_own_group, kill_group, on_path, start_detached};
pub use crate::project::{Freshness, FreshnessState};
pub(crate) use crate::project::{commit_of_line, spelled_states};
#[cfg(feature = "scale")]
pub(crate) use crate::scale::{JobKind, QueueProgress, ScaleError, WorkerStatistics};
pub use crate::search::{Found, FoundTask, TaskScore, Weights, brief};
pub(crate) use crate::search::{
    Highlight, WEIGHT_CONFIDENCE, WEIGHT_IMPORTANCE, WEIGHT_RECENCY, WEIGHT_RELEVANCE, WEIGHT_USE,
};
pub(crate) use crate::store::{
    AGES, AuditEntry, Conversion, Coverage, FailedWindow, HookFiring, KeyHome, LastChange, LaterChanges, Loss, Project,
    USES,
};
pub use crate::store::{
    AdviceOutcome, AuditChannel, Erased, Filter, Flaw, FlawKind, Health, HistoryEntry, Job, JobRequest, JobStatus,
    LeaseOutcome, NamespaceSubtree, Order, RewriteOutcome, Run, RunId, Scope as ErasureScope, StoreError, UndoReport,
    Waiting,
};
#[cfg(feature = "scale")]
pub(crate) use crate::sync::Head;
pub(crate) use crate::sync::SyncPolicy;
pub use crate::sync::SyncReport;
pub(crate) use crate::text::markup::without_marks;
pub(crate) use crate::text::visible::{EscapeMode, escaped, on_one_line};
pub use crate::work::{FileUsage, KnownError, KnownRemedy, RecordedRemedy, Usage};
pub(crate) use database::{DaySpending, Encryption, survey};
pub(crate) use difference::differences;
pub use draft::{MemoryChange, MemoryDraft};
pub(crate) use draft::{reads_like_an_order, refuse_secret_namespace};
pub use error::ApiError;
pub(crate) use exchange::{ConsolidatedImport, ImportOutcome, arrival};
pub use exchange::{FileImport, ImportChanges, ImportEvent, ImportOptions, ImportReport};
pub(crate) use extract::incoming;
pub use extract::{ConsolidationOptions, ConsolidationResult, Extracted, ExtractionContext};
pub use forget::Erasure;
pub(crate) use model::{
    AGENT_WAIT, EmbedEvent, VectorStatus, budget, embedder, lists_embedding_model, model_settings, prices,
    query_vectors, vector_status,
};
pub use pack::PackImport;
pub(crate) use pack::PackOptions;
pub use profile::{Profile, ProfileValue};
pub use projects::NamespaceSet;
pub(crate) use projects::{is_in_repository, is_part_of_repository};
#[cfg(feature = "scale")]
pub(crate) use queue::{JobOutcome, QueueWorker, ShardFiles, WorkQueue};
pub use remember::Remembered;
pub use retrieve::{RetrievalOptions, SearchRequest, SearchResults};
pub use review::{Judgement, Maintenance, MemoryDetails, Statistics, Verdict};
pub(crate) use run::{
    Model, ModelOptions, PlanOutcome, RunEstimate, RunRequest, denied_paths, path_patterns, source_of,
};
pub(crate) use scale::{
    PAST, expiry, importance_of_tenths, period, structured, unit_confidence, unit_importance, wrong_expiry,
};
pub(crate) use session::Session;
pub(crate) use storage::database_path;
pub use storage::{
    Adapter, AdapterRegistry, Capabilities, NewMemory, Opened, Query, SearchOptions, SearchResult, StorageAdapter,
};
pub(crate) use sync::SyncStatus;
pub(crate) use team::{Promotion, QuotePolicy};
pub(crate) use worker::{EMBEDDED_ASIDE, NAMED_FILES, Worker, WorkerEvent};

/// Memories and every operation on them.
pub struct Memories {
    storage: Opened,
    config: Config,
    guard: Guard,
    vectors: Option<Arc<QueryVectors>>,
    namespaces: Option<NamespaceSet>,
    folder: Option<PathBuf>,
    through: AuditChannel,
    /// Whether programs act for the owner of the memories, who decides about those of a team as a person does.
    is_owner: bool,
    /// Whether memories that agents store wait for review by a person.
    reviews_agents: bool,
}

/// Options for opening memories.
pub struct Builder {
    path: Option<PathBuf>,
    config: Option<Config>,
    adapters: AdapterRegistry,
    storage: Option<Opened>,
    #[expect(clippy::option_option, reason = "an unset value differs from none")]
    vectors: Option<Option<Arc<QueryVectors>>>,
    query_timeout: Duration,
    namespaces: Option<NamespaceSet>,
    folder: Option<PathBuf>,
    through: AuditChannel,
    is_owner: bool,
    reviews_agents: bool,
    access: Access,
}

/// The mode in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The file is opened for writing if possible, and otherwise for reading.
    Any,
    ReadOnly,
    Writable,
}

impl Builder {
    /// Uses this path or address instead of the one in the settings.
    #[must_use]
    pub fn path(self, path: impl AsRef<Path>) -> Self {
        Self { path: Some(path.as_ref().to_owned()), ..self }
    }

    /// Uses these settings instead of the user's.
    #[must_use]
    pub fn config(self, config: Config) -> Self {
        Self { config: Some(config), ..self }
    }

    /// Uses these adapters to open addresses.
    #[must_use]
    pub fn adapters(self, adapters: AdapterRegistry) -> Self {
        Self { adapters, ..self }
    }

    /// Uses storage that the caller has opened. If the storage is not a database, memories can only be stored and
    /// found.
    #[must_use]
    pub fn storage(self, storage: Opened) -> Self {
        Self { storage: Some(storage), ..self }
    }

    /// Uses a shared source of query vectors; if there is none, searches use words alone.
    pub(crate) fn vectors(self, vectors: Option<Arc<QueryVectors>>) -> Self {
        Self { vectors: Some(vectors), ..self }
    }

    /// Sets how long a search waits for the vector of its query before it uses words alone.
    #[must_use]
    pub fn query_timeout(self, query_timeout: Duration) -> Self {
        Self { query_timeout, ..self }
    }

    /// Limits all operations to `namespaces`; other memories are treated as if they did not exist.
    #[must_use]
    pub fn namespaces(self, namespaces: NamespaceSet) -> Self {
        Self { namespaces: Some(namespaces), ..self }
    }

    /// Compares results with the repository of this folder.
    pub(crate) fn folder(self, folder: Option<PathBuf>) -> Self {
        Self { folder, ..self }
    }

    /// Sets the channel that the audit log records for changes.
    #[must_use]
    pub fn through(self, through: AuditChannel) -> Self {
        Self { through, ..self }
    }

    /// Lets programs change the memories of teams that the person at this machine may change.
    pub(crate) fn for_owner(self, is_owner: bool) -> Self {
        Self { is_owner, ..self }
    }

    /// Makes all memories that agents store wait for review by a person. Agents cannot change other memories then.
    pub(crate) fn reviewing_agents(self, reviews_agents: bool) -> Self {
        Self { reviews_agents, ..self }
    }

    /// Opens the file for reading only.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { access: Access::ReadOnly, ..self }
    }

    /// Makes opening fail if the file cannot be written, instead of opening it for reading.
    #[must_use]
    pub fn writable(self) -> Self {
        Self { access: Access::Writable, ..self }
    }

    /// Opens the memories.
    ///
    /// # Errors
    /// [`ApiError::Unusable`], or the error of opening the address.
    pub fn open(self) -> Result<Memories, ApiError> {
        let config = match self.config {
            Some(config) => config,
            None => user_config(self.path.as_deref())?,
        };
        let limited = self.namespaces.iter().flat_map(NamespaceSet::as_slice);
        config.namespace().iter().chain(limited).try_for_each(refuse_secret_namespace)?;
        let address = self.path.unwrap_or_else(|| config.db.value.clone());
        let timeout = self.query_timeout;
        let from_config = || query_vectors(&config, timeout);
        let vectors = self.vectors.unwrap_or_else(from_config);
        let storage = match self.storage {
            Some(storage) => storage,
            None if self.access == Access::ReadOnly => {
                let store = Store::open_read_only(database_path(&address)?)?;
                Box::new(SqliteStorage { store, vectors: vectors.clone() })
            }
            None if self.access == Access::Writable && database_path(&address).is_ok() => {
                let store = Store::open(database_path(&address)?)?;
                Box::new(SqliteStorage { store, vectors: vectors.clone() })
            }
            None => self.adapters.open(&address.to_string_lossy(), vectors.clone())?,
        };
        let guard = Guard::from(&config.guard);
        // The store redacts with its own guard, which must follow the settings.
        if let Some(store) = storage.as_store() {
            store.set_guard(guard.clone());
        }
        let Self { namespaces, folder, through, is_owner, reviews_agents, .. } = self;
        Ok(Memories { storage, config, guard, vectors, namespaces, folder, through, is_owner, reviews_agents })
    }
}

/// Returns the value of an environment variable; a value that is not valid Unicode counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the user's settings, with `path` as the path of the database.
fn user_config(path: Option<&Path>) -> Result<Config, ApiError> {
    let flags = Partial { db: path.map(Path::to_owned), ..Partial::default() };
    // The folder may have been deleted in the meantime; the user's own settings still apply.
    let directory = std::env::current_dir().unwrap_or_default();
    Ok(Config::load(&Folders::of_platform()?, &directory, None, &variable, flags)?)
}

impl Memories {
    /// Opens the database at `path`, which may also be an address, with the user's settings.
    ///
    /// # Errors
    /// As for [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ApiError> {
        Self::builder().path(path).open()
    }

    /// Returns options for opening memories; they start with the user's settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            path: None,
            config: None,
            adapters: AdapterRegistry::default(),
            storage: None,
            vectors: None,
            query_timeout: AGENT_WAIT,
            namespaces: None,
            folder: None,
            through: AuditChannel::Library,
            is_owner: false,
            reviews_agents: false,
            access: Access::Any,
        }
    }

    /// Limits all operations to `namespaces`, if any are given; other memories are treated as if they did not exist.
    pub(crate) fn within(self, namespaces: impl Into<Option<NamespaceSet>>) -> Self {
        Self { namespaces: namespaces.into(), ..self }
    }

    /// Closes the read-only connection, and opens a connection for writing.
    ///
    /// # Errors
    /// [`ApiError`] if the file cannot be written.
    pub fn into_writable(self) -> Result<Self, ApiError> {
        let Self { storage, config, vectors, namespaces, folder, through, is_owner, reviews_agents, .. } = self;
        // The last connection to close removes temporary files beside the database, which requires write access.
        drop(storage);
        let opened = Self::builder().config(config).vectors(vectors).through(through).folder(folder).open()?;
        Ok(Self { namespaces, is_owner, reviews_agents, ..opened })
    }

    /// Returns where the memories are stored.
    #[must_use]
    pub fn storage(&self) -> &dyn StorageAdapter {
        &*self.storage
    }

    /// Whether memories can be written; a file that is not writable is opened for reading.
    pub(crate) fn can_write(&self) -> bool {
        self.storage.as_store().is_none_or(|store| !store.is_read_only())
    }

    /// Returns the effective settings.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the namespaces to which access is limited; `None` if it is not limited.
    #[must_use]
    pub const fn namespaces(&self) -> Option<&NamespaceSet> {
        self.namespaces.as_ref()
    }

    /// Returns the memory with this id, of any status; `None` if no accessible memory has the id.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub fn get_memory(&self, id: &MemoryId) -> Result<Option<Memory>, ApiError> {
        Ok(self.storage.get(id)?.filter(|memory| self.reaches(&memory.namespace)))
    }

    /// Returns the only memory whose id begins or ends with `part`, of at least four characters.
    ///
    /// # Errors
    /// [`ApiError`] if no accessible memory matches, or several do.
    pub fn resolve(&self, part: &str) -> Result<Memory, ApiError> {
        let store = self.ledger("find a memory by part of its id")?;
        let unknown = || StoreError::UnknownMemory { id: part.trim().to_owned() }.into();
        match store.resolve(part) {
            Ok(id) => self.get_memory(&id)?.ok_or_else(unknown),
            // The number of matches in other namespaces must not be revealed.
            Err(StoreError::AmbiguousMemory { .. }) if self.namespaces.is_some() => Err(unknown()),
            Err(error) => Err(error.into()),
        }
    }

    fn reaches(&self, namespace: &Namespace) -> bool {
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.contains(namespace))
    }

    fn confined(&self, filter: Filter) -> Result<Filter, ApiError> {
        let filter = Filter {
            min_importance: filter.min_importance.map(unit_importance).transpose()?,
            max_importance: filter.max_importance.map(unit_importance).transpose()?,
            min_confidence: filter.min_confidence.map(unit_confidence).transpose()?,
            ..filter
        };
        for within in &filter.namespaces {
            let (NamespaceSubtree::Exactly(namespace) | NamespaceSubtree::Under(namespace)) = within;
            refuse_secret_namespace(namespace)?;
        }
        match &self.namespaces {
            Some(namespaces) => namespaces.confine(filter),
            None => Ok(filter),
        }
    }

    fn admitted(&self, namespace: &Namespace) -> Result<(), ApiError> {
        self.confined(Filter::exactly(std::slice::from_ref(namespace))).map(drop)
    }

    /// Fails if access is limited, because a changeset may span several namespaces.
    fn unconfined(&self) -> Result<(), ApiError> {
        self.namespaces.as_ref().map_or(Ok(()), |namespaces| Err(namespaces.refused("all namespaces")))
    }

    /// Returns the span of a memory operation, with the attributes of OpenTelemetry's conventions for generative AI. It
    /// contains no text of a memory or a query.
    fn span(&self, operation: &'static str, record: Option<&MemoryId>) -> tracing::span::EnteredSpan {
        tracing::info_span!(
            "memory",
            otel.name = operation,
            gen_ai.operation.name = operation,
            gen_ai.memory.store.id = %self.home(),
            gen_ai.memory.record.id = record.map(MemoryId::as_str),
        )
        .entered()
    }

    /// Returns the database, which all operations except storing and finding require.
    fn ledger(&self, what: &'static str) -> Result<&Store, ApiError> {
        self.storage
            .as_store()
            .ok_or_else(|| ApiError::NoLedger { adapter: self.storage.adapter_type().to_owned(), what })
    }

    /// Runs `change` so that nobody else writes between its reads and its writes. If the result is an error, nothing is
    /// written.
    pub(crate) fn together<T, E>(&self, change: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        E: From<ApiError> + From<StoreError>,
    {
        self.ledger("read and change memories at once")?.together(change)
    }

    /// Returns the namespace for a memory that specifies none: the first accessible namespace, the namespace in the
    /// settings, or `global`.
    fn home(&self) -> Namespace {
        let configured = || self.config.namespace().unwrap_or_else(Namespace::global);
        self.namespaces.as_ref().map_or_else(configured, |namespaces| namespaces.home().clone())
    }
}

impl std::fmt::Debug for Memories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memories")
            .field("adapter", &self.storage.adapter_type())
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
