//! What a place for memories must be able to do.

use crate::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryId, Namespace};
use crate::search::Highlight;
use crate::store::{Filter, Order, Store};

use super::ApiError;

/// A place where memories are kept. Opening it makes what it needs, and dropping it closes it.
///
/// What an implementor owes: secrets are taken out before anything is kept; a namespace that a filter does not name is
/// never read; lists end in a unique order, so that pages do not overlap; a deleted memory is not found any more, and may
/// be kept for a while so that it can be restored. Anything else is the caller's: near-duplicates, categories, rights.
pub trait MemoryStorageAdapter: Send {
    /// Returns the adapter's name, such as `sqlite`.
    fn adapter_type(&self) -> &'static str;

    /// Returns what the adapter can do besides keeping memories.
    fn capabilities(&self) -> Capabilities;

    /// Whether memories can be read now.
    fn is_ready(&self) -> bool;

    /// Keeps a new memory and returns its id.
    ///
    /// # Errors
    /// [`ApiError`] if it cannot be written.
    fn save(&self, memory: NewMemory) -> Result<MemoryId, ApiError> {
        Ok(self.save_batch(vec![memory])?.swap_remove(0))
    }

    /// Keeps new memories, all or none, and returns their ids in the same order.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be written.
    fn save_batch(&self, memories: Vec<NewMemory>) -> Result<Vec<MemoryId>, ApiError>;

    /// Returns the memory with this id, of any status.
    ///
    /// # Errors
    /// [`ApiError`] if it cannot be read.
    fn get(&self, id: &MemoryId) -> Result<Option<Memory>, ApiError>;

    /// Writes what a memory says and how it stands, and returns whether anything was different. Use is not written.
    ///
    /// # Errors
    /// [`ApiError`] if it is not there or cannot be written.
    fn update(&self, memory: &Memory) -> Result<bool, ApiError>;

    /// Deletes a memory, and returns whether it was there.
    ///
    /// # Errors
    /// [`ApiError`] if it cannot be written.
    fn delete(&self, id: &MemoryId) -> Result<bool, ApiError> {
        Ok(self.delete_batch(std::slice::from_ref(id))? > 0)
    }

    /// Deletes memories, and returns how many were there.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be written.
    fn delete_batch(&self, ids: &[MemoryId]) -> Result<usize, ApiError>;

    /// Returns the memories that pass a filter, a page of them.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be read.
    fn query(&self, query: &Query) -> Result<Vec<Memory>, ApiError>;

    /// Returns how many memories pass a filter.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be read.
    fn count(&self, filter: &Filter) -> Result<usize, ApiError>;

    /// Returns the memories that bear on a text, best first. Any text is safe.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be read.
    fn search(&self, text: &str, options: &SearchOptions) -> Result<Vec<SearchResult>, ApiError>;

    /// Returns the memories of the same namespace that are like one, best first, without itself.
    ///
    /// # Errors
    /// [`ApiError`] if it is not there, or they cannot be read.
    fn find_similar(&self, id: &MemoryId, limit: usize, min_score: f64) -> Result<Vec<SearchResult>, ApiError>;

    /// Returns every active memory of exactly this namespace, last changed first.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be read.
    fn get_by_namespace(&self, namespace: &Namespace) -> Result<Vec<Memory>, ApiError> {
        self.query(&Query { filter: Filter::exactly(std::slice::from_ref(namespace)), ..Query::default() })
    }

    /// Deletes every active memory of exactly this namespace, and returns how many there were.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be written.
    fn delete_by_namespace(&self, namespace: &Namespace) -> Result<usize, ApiError> {
        let ids: Vec<MemoryId> = self.get_by_namespace(namespace)?.into_iter().map(|memory| memory.id).collect();
        self.delete_batch(&ids)
    }

    /// Returns the database behind the adapter, where there is one: extraction and consolidation keep their ledger in it.
    fn as_store(&self) -> Option<&Store> {
        None
    }
}

/// What an adapter can do besides keeping memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Finds memories by their words.
    pub full_text: bool,
    /// Finds memories by what they mean.
    pub vectors: bool,
    /// Keeps evidence, history and the ledger, so that memories can be extracted, consolidated, explained and undone.
    pub ledger: bool,
}

/// A memory that is to be kept; identity and times are the adapter's to give.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    /// What it says.
    pub claim: Claim,
    /// Where it belongs.
    pub namespace: Namespace,
    /// Where it came from.
    pub source: String,
    /// How it came to be.
    pub method: ExtractionMethod,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// Which memories, in which order, and which page of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Which.
    pub filter: Filter,
    /// In which order.
    pub order: Order,
    /// At most so many.
    pub limit: usize,
    /// After the first so many.
    pub offset: usize,
}

impl Default for Query {
    /// Every active memory, last changed first.
    fn default() -> Self {
        Self { filter: Filter::default(), order: Order::default(), limit: usize::MAX >> 1, offset: 0 }
    }
}

/// How memories are searched.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// Among which.
    pub filter: Filter,
    /// At most so many.
    pub limit: usize,
    /// Only those that score as much, 0–1.
    pub min_score: f64,
}

impl Default for SearchOptions {
    /// The ten best of all active memories.
    fn default() -> Self {
        Self { filter: Filter::default(), limit: 10, min_score: 0.0 }
    }
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The memory.
    pub memory: Memory,
    /// How good a hit it is, 0–1.
    pub score: f64,
    /// The part of it that shows why.
    pub highlight: Highlight,
}
