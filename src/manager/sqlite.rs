//! The `SQLite` database as a place for memories.

use jiff::Timestamp;

use super::{Capabilities, ManagerError, MemoryStorageAdapter, NewMemory, Query, SearchOptions, SearchResult};
use crate::guard::Guard;
use crate::memory::{Memory, MemoryId, Namespace};
use crate::recall::{self, Found};
use crate::store::{Filter, Store, StoreError};

impl MemoryStorageAdapter for Store {
    fn adapter_type(&self) -> &'static str {
        "sqlite"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { full_text: true, vectors: false, ledger: true }
    }

    fn is_ready(&self) -> bool {
        self.last_change().is_ok()
    }

    fn save_batch(&self, memories: Vec<NewMemory>) -> Result<Vec<MemoryId>, ManagerError> {
        let (guard, now) = (Guard::default(), Timestamp::now());
        self.write(None, now, |writer| {
            let kept = memories.into_iter().map(|new| {
                let (memory, _) = guard.redact(Memory::new(new.claim, new.namespace, new.source, new.method, now));
                let (evidence, _) = guard.redact(new.evidence);
                writer.insert(&memory, &evidence)?;
                Ok(memory.id.clone())
            });
            kept.collect()
        })
    }

    fn get(&self, id: &MemoryId) -> Result<Option<Memory>, ManagerError> {
        Ok(self.find(id)?)
    }

    fn update(&self, memory: &Memory) -> Result<bool, ManagerError> {
        let (memory, _) = Guard::default().redact(memory.clone());
        Ok(self.write::<_, StoreError>(None, Timestamp::now(), |writer| writer.update(&memory, "update", None))?)
    }

    fn delete_batch(&self, ids: &[MemoryId]) -> Result<usize, ManagerError> {
        self.write(None, Timestamp::now(), |writer| {
            let mut deleted = 0;
            for id in ids {
                if writer.find(id)?.is_some() {
                    deleted += usize::from(writer.forget(id, None)?);
                }
            }
            Ok(deleted)
        })
    }

    fn query(&self, query: &Query) -> Result<Vec<Memory>, ManagerError> {
        Ok(self.list(&query.filter, query.order, query.limit, query.offset)?)
    }

    fn count(&self, filter: &Filter) -> Result<usize, ManagerError> {
        Ok((**self).count(filter)?)
    }

    fn search(&self, text: &str, options: &SearchOptions) -> Result<Vec<SearchResult>, ManagerError> {
        let found = recall::search(self, text, &options.filter, options.limit, Timestamp::now())?;
        Ok(found.into_iter().map(SearchResult::from).filter(|hit| hit.score >= options.min_score).collect())
    }

    fn find_similar(&self, id: &MemoryId, limit: usize, min_score: f64) -> Result<Vec<SearchResult>, ManagerError> {
        let memory = self.memory(id)?;
        let filter = Filter::exactly(std::slice::from_ref::<Namespace>(&memory.namespace));
        let options = SearchOptions { filter, limit: limit.saturating_add(1), min_score };
        let mut found = MemoryStorageAdapter::search(self, &memory.claim.content, &options)?;
        found.retain(|hit| hit.memory.id != *id);
        found.truncate(limit);
        Ok(found)
    }

    fn as_store(&self) -> Option<&Store> {
        Some(self)
    }
}

impl From<Found> for SearchResult {
    fn from(found: Found) -> Self {
        Self { score: found.score.total, highlight: found.highlight, memory: found.memory }
    }
}
