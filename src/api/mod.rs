//! The library's front door: one value that extracts, consolidates, keeps, finds and words memories.
//!
//! ```text
//! address ─▶ ADAPTERS ─▶ MemoryStorageAdapter ─┐
//! Config ──────────────────────────────────────┴▶ Memories ─▶ extract · consolidate · remember · retrieve · prompt
//! ```
//!
//! Everything here calls what the command line calls: what is remembered through it is settled with what is known, stands
//! in the history, and can be undone. Methods that may ask a model are `async`; the others only wait for the file. An
//! [`Memories`] is one connection: it can be sent to another thread, and each thread may have its own.

mod error;
mod extract;
mod model;
mod reach;
mod remember;
mod retrieve;
mod storage;
#[cfg(test)]
mod tests;
mod vectors;

use std::sync::Arc;

use crate::config::Config;
use crate::embed::QueryVectors;
use crate::guard::Guard;
use crate::memory::{Memory, MemoryId, Namespace};
use crate::store::{Store, StoreError};

pub use error::ApiError;
pub use extract::{ConsolidationResult, Extracted, ExtractionContext};
pub use model::{budget, model_settings, prices, reachable};
pub use reach::Reach;
pub use remember::{Author, Kept, Link, MAX_CONTENT_CHARS, MemoryChange, Note, Past, unit_importance};
pub use retrieve::RetrievalOptions;
pub use storage::{
    ADAPTERS, Adapter, Capabilities, MemoryStorageAdapter, NewMemory, Opened, Query, SearchOptions, SearchResult,
    database_path, open_storage, open_storage_with,
};
pub use vectors::{AGENT_WAIT, embed_waiting, embedder, embedding_access, embedding_budget, query_vectors};

/// Memories with everything that can be done with them.
pub struct Memories {
    storage: Opened,
    config: Config,
    guard: Guard,
    vectors: Option<Arc<QueryVectors>>,
    reach: Option<Reach>,
}

impl Memories {
    /// Opens the place that `config.db` names: a path, or an address that one of [`ADAPTERS`] opens.
    ///
    /// # Errors
    /// [`ApiError::UnknownScheme`], or why it cannot be opened.
    pub fn open(config: Config) -> Result<Self, ApiError> {
        let vectors = query_vectors(&config, &|name| std::env::var(name).ok(), AGENT_WAIT);
        Self::open_with(config, vectors)
    }

    /// Opens the place that `config.db` names, to be searched by meaning, too, where there are `vectors`. Several may share
    /// them.
    ///
    /// # Errors
    /// As for [`Memories::open`].
    pub fn open_with(config: Config, vectors: Option<Arc<QueryVectors>>) -> Result<Self, ApiError> {
        let storage = open_storage_with(&config.db.value.to_string_lossy(), vectors.clone())?;
        Ok(Self { vectors, ..Self::with_storage(storage, config) })
    }

    /// Returns a manager over a place that the caller has opened. Without a ledger behind it, it only keeps and finds.
    #[must_use]
    pub fn with_storage(storage: Opened, config: Config) -> Self {
        let guard = Guard::new(&config.guard.value).denying(&config.deny_files.value);
        if let Some(store) = storage.as_store() {
            store.set_guard(guard.clone());
        }
        Self { storage, config, guard, vectors: None, reach: None }
    }

    /// Confines everything to the namespaces of `reach`; what lies elsewhere is as if it were not there.
    #[must_use]
    pub fn within(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }

    /// Returns the place where the memories are.
    #[must_use]
    pub fn storage(&self) -> &dyn MemoryStorageAdapter {
        &*self.storage
    }

    /// Whether memories can be written; a file that cannot be is opened for reading.
    #[must_use]
    pub fn can_write(&self) -> bool {
        self.storage.as_store().is_none_or(|store| !store.is_read_only())
    }

    /// Returns the settings in force.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns where it is confined to, if it is.
    #[must_use]
    pub const fn reach(&self) -> Option<&Reach> {
        self.reach.as_ref()
    }

    /// Returns the memory with this id, of any status; `None` where there is none within reach.
    ///
    /// # Errors
    /// [`ApiError`] if it cannot be read.
    pub fn get_memory(&self, id: &MemoryId) -> Result<Option<Memory>, ApiError> {
        Ok(self.storage.get(id)?.filter(|memory| self.reaches(&memory.namespace)))
    }

    /// Returns the one memory within reach whose id begins or ends with `part`.
    ///
    /// # Errors
    /// As [`crate::store::Database::resolve`]; one out of reach is unknown.
    pub fn resolve(&self, part: &str) -> Result<Memory, ApiError> {
        let store = self.ledger("find a memory by a part of its id")?;
        let unknown = || StoreError::UnknownMemory { id: part.trim().to_owned() }.into();
        match store.resolve(part) {
            Ok(id) => self.get_memory(&id)?.ok_or_else(unknown),
            // How many there are elsewhere is nobody's business.
            Err(StoreError::AmbiguousMemory { .. }) if self.reach.is_some() => Err(unknown()),
            Err(error) => Err(error.into()),
        }
    }

    fn reaches(&self, namespace: &Namespace) -> bool {
        self.reach.as_ref().is_none_or(|reach| reach.admits(namespace))
    }

    /// Returns the database, which all that is more than keeping and finding works on.
    fn ledger(&self, what: &'static str) -> Result<&Store, ApiError> {
        self.storage
            .as_store()
            .ok_or_else(|| ApiError::NoLedger { adapter: self.storage.adapter_type().to_owned(), what })
    }

    /// Returns where something goes that names no namespace: home, what the settings name, or `global`.
    fn home(&self) -> Namespace {
        let configured = || self.config.namespace.value.clone().unwrap_or_else(Namespace::global);
        self.reach.as_ref().map_or_else(configured, |reach| reach.home().clone())
    }
}

impl std::fmt::Debug for Memories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memories")
            .field("adapter", &self.storage.adapter_type())
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}
