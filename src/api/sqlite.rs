//! The `SQLite` database as a place for memories.

use std::sync::Arc;

use jiff::Timestamp;

use super::{ApiError, Capabilities, MemoryStorageAdapter, NewMemory, Query, SearchOptions, SearchResult};
use crate::embed::QueryVectors;
use crate::guard::Guard;
use crate::memory::{Evidence, Memory, MemoryId, Namespace};
use crate::search::{Direct, Found, direct};
use crate::store::{Filter, Store, StoreError};

/// A database, with what makes vectors of queries where one is configured.
#[derive(Debug)]
pub(super) struct SqliteStorage {
    pub(super) store: Store,
    pub(super) vectors: Option<Arc<QueryVectors>>,
}

impl MemoryStorageAdapter for SqliteStorage {
    fn adapter_type(&self) -> &'static str {
        "sqlite"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { full_text: true, vectors: self.vectors.is_some(), ledger: true }
    }

    fn is_ready(&self) -> bool {
        self.store.last_change().is_ok()
    }

    fn save_batch(&self, memories: Vec<NewMemory>) -> Result<Vec<MemoryId>, ApiError> {
        let (guard, now) = (Guard::default(), Timestamp::now());
        let made = |new: NewMemory| (Memory::new(new.claim, new.namespace, new.source, new.method, now), new.evidence);
        let memories: Vec<(Memory, Vec<Evidence>)> = memories.into_iter().map(made).collect();
        let clean = |(memory, evidence): &(Memory, Vec<Evidence>)| {
            (guard.redact(memory.clone()).0, guard.redact(evidence.clone()).0)
        };
        self.store.write::<_, StoreError>(None, now, |writer| writer.insert_all(&memories, clean))?;
        Ok(memories.into_iter().map(|(memory, _)| memory.id).collect())
    }

    fn get(&self, id: &MemoryId) -> Result<Option<Memory>, ApiError> {
        Ok(self.store.find(id)?)
    }

    fn update(&self, memory: &Memory) -> Result<bool, ApiError> {
        let (memory, _) = Guard::default().redact(memory.clone());
        Ok(self
            .store
            .write::<_, StoreError>(None, Timestamp::now(), |writer| writer.update(&memory, "update", None))?)
    }

    fn delete_batch(&self, ids: &[MemoryId]) -> Result<usize, ApiError> {
        self.store.write(None, Timestamp::now(), |writer| {
            let mut deleted = 0;
            for id in ids {
                if writer.find(id)?.is_some() {
                    deleted += usize::from(writer.forget(id, None)?);
                }
            }
            Ok(deleted)
        })
    }

    fn query(&self, query: &Query) -> Result<Vec<Memory>, ApiError> {
        Ok(self.store.list(&query.filter, query.order, query.limit, query.offset)?)
    }

    fn count(&self, filter: &Filter) -> Result<usize, ApiError> {
        Ok(self.store.count(filter)?)
    }

    fn search(&self, text: &str, options: &SearchOptions) -> Result<Vec<SearchResult>, ApiError> {
        let vectors = self.vectors.as_deref();
        let Direct { found, without_meaning, .. } =
            direct(&self.store, text, &options.filter, options.limit, vectors, Timestamp::now())?;
        if let Some(error) = without_meaning {
            tracing::warn!("searched by words alone: {error}");
        }
        Ok(found.into_iter().map(SearchResult::from).filter(|hit| hit.score >= options.min_score).collect())
    }

    fn find_similar(&self, id: &MemoryId, limit: usize, min_score: f64) -> Result<Vec<SearchResult>, ApiError> {
        let memory = self.store.memory(id)?;
        let filter = Filter::exactly(std::slice::from_ref::<Namespace>(&memory.namespace));
        let options = SearchOptions { filter, limit: limit.saturating_add(1), min_score };
        let mut found = self.search(&memory.claim.content, &options)?;
        found.retain(|hit| hit.memory.id != *id);
        found.truncate(limit);
        Ok(found)
    }

    fn as_store(&self) -> Option<&Store> {
        Some(&self.store)
    }
}

impl From<Found> for SearchResult {
    fn from(found: Found) -> Self {
        Self { score: found.score.total, highlight: found.highlight, memory: found.memory }
    }
}
