//! Storage adapters: the contract that they fulfil, the registry that opens them by address, and SQLite.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::{ApiError, refuse_secret_namespace};
use crate::changeset::Action;
use crate::embed::QueryVectors;
use crate::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryId, Namespace};
use crate::search::{Direct, Found, Highlight, Weights, direct_with};
use crate::store::{Filter, Order, Store, StoreError};

/// A place where memories are stored. Opening an adapter creates the files or tables that it needs, and dropping the
/// adapter closes it.
///
/// An implementation redacts secrets before anything is stored, never reads a namespace that is not in the filter, and
/// returns lists in an unambiguous order, so that pages do not overlap. A deleted memory is no longer found, but may be
/// kept for a while so that it can be restored. The caller is responsible for everything else, such as near-duplicates,
/// categories and permissions.
pub trait StorageAdapter: Send {
    /// Returns the adapter's name, such as `sqlite`.
    fn adapter_type(&self) -> &'static str;

    /// Returns what the adapter can do in addition to storing memories.
    fn capabilities(&self) -> Capabilities;

    /// Whether memories can currently be read.
    fn is_ready(&self) -> bool;

    /// Stores a new memory and returns its id.
    ///
    /// # Errors
    /// [`ApiError`] if the memory cannot be written.
    fn save(&self, memory: NewMemory) -> Result<MemoryId, ApiError> {
        Ok(self.save_batch(vec![memory])?.swap_remove(0))
    }

    /// Stores all of the new memories or none of them, and returns their ids in the same order.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be written.
    fn save_batch(&self, memories: Vec<NewMemory>) -> Result<Vec<MemoryId>, ApiError>;

    /// Returns the memory with this id, of any status.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    fn get(&self, id: &MemoryId) -> Result<Option<Memory>, ApiError>;

    /// Writes the content and status of a memory, and returns whether either was different. The usage is not written.
    ///
    /// # Errors
    /// [`ApiError`] if the memory does not exist or cannot be written.
    fn update(&self, memory: &Memory) -> Result<bool, ApiError>;

    /// Deletes a memory, and returns whether it existed.
    ///
    /// # Errors
    /// [`ApiError`] if the memory cannot be written.
    fn delete(&self, id: &MemoryId) -> Result<bool, ApiError> {
        Ok(self.delete_batch(std::slice::from_ref(id))? > 0)
    }

    /// Deletes memories, and returns how many existed.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be written.
    fn delete_batch(&self, ids: &[MemoryId]) -> Result<usize, ApiError>;

    /// Returns a page of the memories that pass a filter.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    fn query(&self, query: &Query) -> Result<Vec<Memory>, ApiError>;

    /// Returns how many memories pass a filter.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    fn count(&self, filter: &Filter) -> Result<usize, ApiError>;

    /// Returns the memories that are relevant to `text`, best first. Any text is safe.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    fn search(&self, text: &str, options: &SearchOptions) -> Result<Vec<SearchResult>, ApiError>;

    /// Returns the memories in the same namespace that are similar to a given memory, best first, without the memory
    /// itself.
    ///
    /// # Errors
    /// [`ApiError`] if the memory does not exist, or the memories cannot be read.
    fn find_similar(&self, id: &MemoryId, limit: usize, min_score: f64) -> Result<Vec<SearchResult>, ApiError>;

    /// Returns every active memory of exactly this namespace, last changed first.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    fn get_by_namespace(&self, namespace: &Namespace) -> Result<Vec<Memory>, ApiError> {
        self.query(&Query { filter: Filter::exactly(std::slice::from_ref(namespace)), ..Query::default() })
    }

    /// Deletes every active memory of exactly this namespace, and returns their number.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be written.
    fn delete_by_namespace(&self, namespace: &Namespace) -> Result<usize, ApiError> {
        let ids: Vec<MemoryId> = self.get_by_namespace(namespace)?.into_iter().map(|memory| memory.id).collect();
        self.delete_batch(&ids)
    }

    /// Returns the database behind the adapter, if there is one; extraction and consolidation store their ledger in it.
    fn as_store(&self) -> Option<&Store> {
        None
    }
}

/// Features of an adapter in addition to storing memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether the adapter finds memories by their words.
    pub full_text: bool,
    /// Whether the adapter finds memories by their meaning.
    pub vectors: bool,
    /// Whether the adapter stores evidence, history and the ledger, so that memories can be extracted, consolidated and
    /// explained, and changes undone.
    pub ledger: bool,
}

/// A memory to be stored; the adapter assigns its identity and times.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    /// Content and attributes of the memory.
    pub claim: Claim,
    /// The namespace that the memory belongs to.
    pub namespace: Namespace,
    /// Source of the memory.
    pub source: String,
    /// The way in which the memory was created.
    pub method: ExtractionMethod,
    /// Evidence for the memory.
    pub evidence: Vec<Evidence>,
}

/// A filter for memories, their order, and a page of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The filter.
    pub filter: Filter,
    /// The order.
    pub order: Order,
    /// Whether the order is reversed.
    pub is_ascending: bool,
    /// Maximum number of memories.
    pub limit: usize,
    /// The number of memories to skip at the beginning.
    pub offset: usize,
}

impl Default for Query {
    /// Returns the query for every active memory, most recently changed first.
    fn default() -> Self {
        // SQLite's `LIMIT` is signed, so `usize::MAX` would not fit.
        Self {
            filter: Filter::default(),
            order: Order::default(),
            is_ascending: false,
            limit: usize::MAX >> 1,
            offset: 0,
        }
    }
}

/// Options of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// Restricts the memories that are searched.
    pub filter: Filter,
    /// Maximum number of results.
    pub limit: usize,
    /// Minimum score, 0–1.
    pub min_score: f64,
    /// The weight of vectors relative to words, from 0 (only words) to 1 (only vectors); `None` for the usual weight.
    /// An adapter without vectors ignores it.
    pub hybrid_weight: Option<f64>,
    /// Whether the results contain the vectors of their memories, where there are any.
    pub include_embedding: bool,
}

impl Default for SearchOptions {
    /// Returns options for the ten best of all active memories.
    fn default() -> Self {
        Self { filter: Filter::default(), limit: 10, min_score: 0.0, hybrid_weight: None, include_embedding: false }
    }
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The memory.
    pub memory: Memory,
    /// The quality of the match, from 0 to 1.
    pub score: f64,
    /// The part of the memory's text that shows why it was found.
    pub highlight: Highlight,
    /// The vector of the memory, if it was requested and there is one.
    pub embedding: Option<Vec<f32>>,
}

/// Opened storage.
pub type Opened = Box<dyn StorageAdapter>;

/// A kind of storage, identified by the scheme of its addresses.
#[derive(Clone)]
pub struct Adapter {
    /// The part of an address before the colon, in lower case.
    pub scheme: &'static str,
    /// A few words about this kind of storage.
    pub about: &'static str,
    /// Opens the storage at an address, which is given without its scheme and the colon. With a source of query
    /// vectors, memories can also be searched by meaning.
    pub open: fn(&str, Option<Arc<QueryVectors>>) -> Result<Opened, ApiError>,
}

/// The registered adapters, which open addresses; programs can add their own.
#[derive(Clone)]
pub struct AdapterRegistry {
    adapters: Vec<Adapter>,
    /// The index of the adapter for addresses without a scheme.
    default: usize,
}

impl Default for AdapterRegistry {
    /// Returns adapters for SQLite files under `sqlite:` and `file:`, and for a SQLite database in memory under
    /// `memory:`.
    fn default() -> Self {
        let about = "a SQLite file, created if missing, and opened for reading if it cannot be written";
        let adapters = vec![
            Adapter { scheme: "sqlite", about, open: open_sqlite },
            Adapter { scheme: "file", about, open: open_sqlite },
            Adapter {
                scheme: "memory",
                about: "a SQLite database that is discarded when it is closed",
                open: open_in_memory,
            },
        ];
        Self { adapters, default: 0 }
    }
}

impl AdapterRegistry {
    /// Adds an adapter, replacing the one with the same scheme.
    pub fn register(&mut self, adapter: Adapter) {
        match self.adapters.iter_mut().find(|known| known.scheme == adapter.scheme) {
            Some(known) => *known = adapter,
            None => self.adapters.push(adapter),
        }
    }

    /// Whether an adapter opens addresses of this scheme.
    #[must_use]
    pub fn has(&self, scheme: &str) -> bool {
        self.adapters.iter().any(|adapter| adapter.scheme.eq_ignore_ascii_case(scheme))
    }

    /// Returns every adapter, in the order of registration.
    #[must_use]
    pub fn list(&self) -> &[Adapter] {
        &self.adapters
    }

    /// Returns the adapter of addresses without a scheme; SQLite unless another was set.
    #[must_use]
    pub fn default_adapter(&self) -> &Adapter {
        &self.adapters[self.default]
    }

    /// Makes the adapter of this scheme the one for addresses without a scheme.
    ///
    /// # Errors
    /// [`ApiError::Unusable`], which lists the known schemes.
    pub fn set_default(&mut self, scheme: &str) -> Result<(), ApiError> {
        self.default = self.place_of(scheme)?;
        Ok(())
    }

    fn place_of(&self, scheme: &str) -> Result<usize, ApiError> {
        let found = self.adapters.iter().position(|adapter| adapter.scheme.eq_ignore_ascii_case(scheme));
        found.ok_or_else(|| {
            let known: Vec<String> = self.adapters.iter().map(|adapter| format!("{}:", adapter.scheme)).collect();
            ApiError::Unusable(format!(
                "there is no storage adapter for {scheme}: addresses; use {}, or a path",
                known.join(", ")
            ))
        })
    }

    /// Opens the storage that `address` names: `sqlite:PATH`, `file:PATH`, `memory:`, a path, or any address that a
    /// registered adapter accepts.
    ///
    /// # Errors
    /// [`ApiError::Unusable`], which lists the known schemes, or the error of opening the storage.
    pub(crate) fn open(&self, address: &str, vectors: Option<Arc<QueryVectors>>) -> Result<Opened, ApiError> {
        let (adapter, rest) = self.adapter_of(address)?;
        (adapter.open)(rest, vectors)
    }

    /// Returns the adapter for an address, and the part of the address that it opens.
    fn adapter_of<'a>(&self, address: &'a str) -> Result<(&Adapter, &'a str), ApiError> {
        let Some((scheme, rest)) = scheme_of(address) else { return Ok((self.default_adapter(), address)) };
        Ok((&self.adapters[self.place_of(scheme)?], rest))
    }
}

/// Returns the file that `address` names, for operations that require a file.
///
/// # Errors
/// [`ApiError::Unusable`] if the address has an unknown scheme or is not a file.
pub(crate) fn database_path(address: &Path) -> Result<PathBuf, ApiError> {
    // A path that is not valid Unicode has no scheme.
    let Some(text) = address.to_str() else { return Ok(address.to_owned()) };
    let registry = AdapterRegistry::default();
    let (adapter, rest) = registry.adapter_of(text)?;
    match adapter.scheme {
        "sqlite" | "file" => Ok(path_of(rest)),
        scheme => Err(ApiError::Unusable(format!(
            "a {scheme}: address does not keep memories between commands; specify a file"
        ))),
    }
}

/// Splits an address after its scheme. A single letter is the drive of a path, not a scheme.
fn scheme_of(address: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = address.split_once(':')?;
    let sound = scheme.len() > 1
        && scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    sound.then_some((scheme, rest))
}

fn open_sqlite(path: &str, vectors: Option<Arc<QueryVectors>>) -> Result<Opened, ApiError> {
    let path = path_of(path);
    let store = match Store::open(&path) {
        // Memories can still be read, and a write reports the reason why it fails.
        Err(error @ StoreError::Unwritable { .. }) => Store::open_read_only(&path).map_err(|_| error),
        opened => opened,
    };
    Ok(Box::new(SqliteStorage { store: store?, vectors }))
}

fn path_of(path: &str) -> PathBuf {
    // `file:///path` and `file://localhost/path` are two spellings of one address (RFC 8089).
    let rest = path.strip_prefix("//localhost/").or_else(|| path.strip_prefix("///"));
    // On Windows, an absolute path begins with a drive and not with a slash.
    let on_drive = rest.or_else(|| path.strip_prefix("//")).filter(|path| Path::new(path).is_absolute());
    match (on_drive, rest) {
        (Some(path), _) => PathBuf::from(path),
        (None, Some(rest)) => PathBuf::from(format!("/{rest}")),
        (None, None) => PathBuf::from(path),
    }
}

fn open_in_memory(_: &str, vectors: Option<Arc<QueryVectors>>) -> Result<Opened, ApiError> {
    Ok(Box::new(SqliteStorage { store: Store::in_memory()?, vectors }))
}

/// A database, with the source of query vectors if vectors are configured.
#[derive(Debug)]
pub(super) struct SqliteStorage {
    pub(super) store: Store,
    pub(super) vectors: Option<Arc<QueryVectors>>,
}

impl StorageAdapter for SqliteStorage {
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
        let (guard, now) = (self.store.guard(), Timestamp::now());
        let made = |new: NewMemory| (Memory::new(new.claim, new.namespace, new.source, new.method, now), new.evidence);
        memories.iter().try_for_each(|new| refuse_secret_namespace(&new.namespace))?;
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
        refuse_secret_namespace(&memory.namespace)?;
        let memory = self.store.redact(memory.clone());
        Ok(self
            .store
            .write::<_, StoreError>(None, Timestamp::now(), |writer| writer.update(&memory, Action::Update, None))?)
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
        Ok(self.store.list_in(&query.filter, (query.order, query.is_ascending), query.limit, query.offset)?)
    }

    fn count(&self, filter: &Filter) -> Result<usize, ApiError> {
        Ok(self.store.count(filter)?)
    }

    fn search(&self, text: &str, options: &SearchOptions) -> Result<Vec<SearchResult>, ApiError> {
        let vectors = self.vectors.as_deref();
        let weights = weights_of(options.hybrid_weight)?;
        let Direct { found, without_meaning, .. } =
            direct_with(&self.store, (text, weights), &options.filter, options.limit, vectors, Timestamp::now())?;
        if let Some(error) = without_meaning {
            tracing::warn!("the search compared only words, because search by meaning failed: {error}");
        }
        let found = found.into_iter().map(SearchResult::from).filter(|hit| hit.score >= options.min_score);
        let with_vector = |hit: SearchResult| {
            let embedding = options.include_embedding.then(|| self.store.vector_of(&hit.memory.id)).transpose()?;
            Ok(SearchResult { embedding: embedding.flatten(), ..hit })
        };
        found.map(with_vector).collect()
    }

    fn find_similar(&self, id: &MemoryId, limit: usize, min_score: f64) -> Result<Vec<SearchResult>, ApiError> {
        let memory = self.store.memory(id)?;
        let filter = Filter::exactly(std::slice::from_ref::<Namespace>(&memory.namespace));
        // The limit is increased by one, since the search also finds the memory itself.
        let options = SearchOptions { filter, limit: limit.saturating_add(1), min_score, ..SearchOptions::default() };
        let mut found = self.search(&memory.claim.content, &options)?;
        found.retain(|hit| hit.memory.id != *id);
        found.truncate(limit);
        Ok(found)
    }

    fn as_store(&self) -> Option<&Store> {
        Some(&self.store)
    }
}

/// Returns the weights of a search for the requested weight of vectors.
pub(super) fn weights_of(hybrid: Option<f64>) -> Result<Weights, ApiError> {
    match hybrid {
        None => Ok(Weights::default()),
        Some(weight) if (0.0..=1.0).contains(&weight) => Ok(Weights::hybrid(weight)),
        Some(value) => Err(ApiError::Invalid(format!(
            "the hybrid weight {value} is out of range; use 0 (only words) to 1 (only vectors)"
        ))),
    }
}

impl From<Found> for SearchResult {
    fn from(found: Found) -> Self {
        Self { score: found.score.total, highlight: found.highlight, memory: found.memory, embedding: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_open_by_their_scheme_and_paths_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (address, file) in [
            (format!("sqlite:{}", path("a.db")), "a.db"),
            (format!("SQLite://{}", path("b.db")), "b.db"),
            (format!("file:{}", path("c.db")), "c.db"),
            (format!("file://localhost/{}", path("d.db").trim_start_matches('/')), "d.db"),
            (path("e f.db"), "e f.db"),
        ] {
            let opened = AdapterRegistry::default().open(&address, None).unwrap();
            assert!(folder.path().join(file).is_file() && opened.is_ready(), "{address}");
        }
        assert!(AdapterRegistry::default().open("memory:", None).unwrap().is_ready());
    }

    #[test]
    fn an_unknown_scheme_names_the_known_ones() {
        let error = AdapterRegistry::default().open("postgres://host/memories", None).err().unwrap();
        let expected = "there is no storage adapter for postgres: addresses; use sqlite:, file:, memory:, or a path";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_adapter_of_a_program_can_become_the_default() {
        let mut registry = AdapterRegistry::default();
        assert_eq!(registry.default_adapter().scheme, "sqlite");
        registry.register(Adapter { scheme: "shelf", about: "a test", open: open_in_memory });
        registry.set_default("Shelf").unwrap();
        assert!(registry.has("shelf") && registry.list().len() == 4);
        assert_eq!(registry.default_adapter().scheme, "shelf");
        assert!(registry.open("any place", None).unwrap().is_ready(), "the default opens addresses without a scheme");
        assert!(registry.set_default("moon").is_err());
        assert_eq!(registry.default_adapter().scheme, "shelf");
    }

    #[test]
    fn a_command_takes_addresses_of_files_alone() {
        for (address, path) in [("sqlite:a.db", "a.db"), ("file:///m/a.db", "/m/a.db"), ("a b.db", "a b.db")] {
            assert_eq!(database_path(Path::new(address)).unwrap(), Path::new(path));
        }
        let message = |address: &str| database_path(Path::new(address)).unwrap_err().to_string();
        assert_eq!(message("memory:"), "a memory: address does not keep memories between commands; specify a file");
        assert!(message("postgres:x").contains("use sqlite:, file:, memory:"));
    }

    #[test]
    fn a_drive_is_no_scheme() {
        assert_eq!(scheme_of(r"C:\memories.db"), None);
        assert_eq!(scheme_of("notes.db"), None);
        assert_eq!(scheme_of("sqlite:a:b"), Some(("sqlite", "a:b")));
    }
}
