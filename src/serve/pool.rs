//! Connections that requests share, all limited to the served namespaces.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

#[cfg(feature = "scale")]
use super::shards::ShardPools;
#[cfg(feature = "scale")]
use crate::api::ShardFiles;
use tokio::runtime::Builder;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::api::{AGENT_WAIT, ApiError, Maintenance, Memories, NamespaceSet, QueryVectors, query_vectors};
use crate::config::{Config, EmbeddingProvider};
use crate::memory::Namespace;

/// Maximum number of connections that are kept for later requests; other connections are closed after use.
const MAX_IDLE: usize = 4;
/// Maximum number of memories that are embedded after a write; the rest wait for `embed`.
const MAX_EMBEDDED: usize = 256;

/// Time between two rounds of maintenance, and before the first one, which must not delay the startup of a server.
const ROUND: Duration = Duration::from_mins(1);
const FIRST_ROUND: Duration = Duration::from_secs(5);
/// Interval, in rounds, at which all memories are checked, rather than only those that are found quickly.
const FULL_EVERY: usize = 59;
/// Maximum time for which a stopping server waits for the computation of vectors.
const END_TIME: Duration = Duration::from_secs(2);

/// The namespaces that a server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Served {
    /// Only this namespace.
    Namespace(Namespace),
    /// The project in this folder, together with `global`.
    ProjectAt(PathBuf),
    /// Every namespace, for the owner of the memories.
    Everything,
}

/// Opens the database when a request needs it, so that a temporarily locked or damaged file causes that request to
/// fail, but not the server.
#[derive(Debug)]
pub struct MemoryPool {
    config: Config,
    served: Served,
    vectors: Option<Arc<QueryVectors>>,
    namespaces: OnceLock<NamespaceSet>,
    idle: Mutex<Vec<Connection>>,
    upkeep: Upkeep,
    is_read_only: bool,
    reviews_agents: bool,
    /// The shards that requests name, which are used instead of the database.
    #[cfg(feature = "scale")]
    shards: Option<ShardPools<Self>>,
}

/// Whether vectors are missing, and whether a thread is computing them.
#[derive(Debug, Default)]
struct Upkeep {
    is_wanted: AtomicBool,
    is_under_way: AtomicBool,
    end: CancellationToken,
}

/// Identity of a file: its device and inode.
type FileId = Option<(u64, u64)>;

#[derive(Debug)]
struct Connection {
    memories: Memories,
    file: FileId,
}

impl MemoryPool {
    /// Returns a pool for the database in `config`, without opening the database yet.
    #[must_use]
    pub fn new(config: Config, served: Served) -> Self {
        let vectors = query_vectors(&config, AGENT_WAIT);
        Self {
            config,
            served,
            vectors,
            namespaces: OnceLock::new(),
            idle: Mutex::default(),
            upkeep: Upkeep::default(),
            is_read_only: false,
            reviews_agents: false,
            #[cfg(feature = "scale")]
            shards: None,
        }
    }

    /// Returns a pool for shards, each of which belongs to the namespace that a request names. At most `limit` copies
    /// are kept.
    #[cfg(feature = "scale")]
    pub(crate) fn of_shards(config: Config, files: ShardFiles, limit: usize) -> Self {
        let pool = Self::new(config, Served::Everything).read_only();
        let (config, vectors) = (pool.config.clone(), pool.vectors.clone());
        let open = move |namespace: &Namespace, path| Self::of_copy(&config, path, namespace.clone(), vectors.clone());
        Self { shards: Some(ShardPools::new(files, limit, open)), ..pool }
    }

    /// Returns a pool for the copy of the shard of a namespace, which also has memories for all projects.
    #[cfg(feature = "scale")]
    fn of_copy(config: &Config, copy: PathBuf, namespace: Namespace, vectors: Option<Arc<QueryVectors>>) -> Self {
        let mut config = config.clone();
        config.db.value = copy;
        let pool = Self::new(config, Served::Namespace(namespace.clone())).read_only();
        let namespaces = OnceLock::from(NamespaceSet::of_project(namespace, None));
        Self { vectors, namespaces, ..pool }
    }

    /// Whether memories can only be read.
    pub(super) const fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Opens the file for reading only.
    pub(super) fn read_only(self) -> Self {
        Self { is_read_only: true, ..self }
    }

    /// Makes all memories that agents store wait for review by a person.
    pub(crate) fn reviewing_agents(self, reviews_agents: bool) -> Self {
        Self { reviews_agents, ..self }
    }

    /// Returns the current settings.
    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    /// Runs `work` with a connection that is limited to the served namespaces. Blocks while the file is read or
    /// written.
    ///
    /// # Errors
    /// The error from `work`, or from opening the database.
    pub(crate) fn with<T, E: From<ApiError>>(&self, work: impl FnOnce(&Memories) -> Result<T, E>) -> Result<T, E> {
        self.with_in(None, work)
    }

    /// Runs `work` as [`MemoryPool::with`] does, but limited to one of the served namespaces, if one is given.
    ///
    /// # Errors
    /// Also [`ApiError::OutOfReach`] if the namespace is not served.
    pub(super) fn with_in<T, E: From<ApiError>>(
        &self,
        namespace: Option<Namespace>,
        work: impl FnOnce(&Memories) -> Result<T, E>,
    ) -> Result<T, E> {
        #[cfg(feature = "scale")]
        if let Some(shards) = &self.shards {
            return shards.with(namespace, |pool| pool.with(work));
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // Anything written to a file that was moved or replaced would be lost.
        let idle = idle.filter(|connection| connection.file == self.file());
        let mut connection = idle.map_or_else(|| self.open(), Ok)?;
        let served = connection.memories.namespaces().cloned();
        let narrowed = namespace.map(|namespace| connection.memories.narrowed(namespace)).transpose();
        let done = match narrowed {
            Ok(Some(narrowed)) => {
                connection.memories = connection.memories.within(narrowed);
                let done = work(&connection.memories);
                connection.memories = connection.memories.within(served);
                done
            }
            Ok(None) => work(&connection.memories),
            Err(error) => Err(error.into()),
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // A read-only file may become writable at any moment.
        if idle.len() < MAX_IDLE && (self.is_read_only || connection.memories.can_write()) {
            idle.push(connection);
        }
        done
    }

    fn open(&self) -> Result<Connection, ApiError> {
        let folder = match &self.served {
            Served::ProjectAt(folder) => Some(folder.clone()),
            Served::Namespace(_) | Served::Everything => None,
        };
        let builder = Memories::builder().config(self.config.clone()).vectors(self.vectors.clone()).folder(folder);
        let builder = builder.for_owner(self.served == Served::Everything).reviewing_agents(self.reviews_agents);
        let memories = if self.is_read_only { builder.read_only() } else { builder }.open()?;
        let namespaces = match self.namespaces.get() {
            Some(namespaces) => Some(namespaces.clone()),
            None => self.namespaces_of(&memories)?,
        };
        let Some(namespaces) = namespaces else { return Ok(Connection { memories, file: self.file() }) };
        // Two requests may open connections at the same time; the first request determines the namespaces for all
        // connections.
        let memories = memories.within(self.namespaces.get_or_init(|| namespaces).clone());
        Ok(Connection { memories, file: self.file() })
    }

    /// Performs the maintenance that is due, every minute until `stop` is cancelled: all of it in the first round and once
    /// an hour. A failure is only logged; the next round tries again.
    pub(super) fn maintain_until(self: Arc<Self>, stop: CancellationToken) {
        tokio::spawn(async move {
            let mut rounds = tokio::time::interval_at(Instant::now() + FIRST_ROUND, ROUND);
            rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut extents = [Maintenance::Full].into_iter().chain([Maintenance::Expired; FULL_EVERY]).cycle();
            while stop.run_until_cancelled(rounds.tick()).await.is_some() {
                let (pool, extent) = (Arc::clone(&self), extents.next().unwrap_or(Maintenance::Expired));
                let done = tokio::task::spawn_blocking(move || pool.maintain(extent)).await;
                if let Ok(Err(error)) = done {
                    tracing::warn!("cannot maintain memories; `afterthought db maintain` does it later: {error}");
                }
            }
        });
    }

    fn maintain(&self, extent: Maintenance) -> Result<(), ApiError> {
        // A database is created when something is stored, not for maintenance.
        if self.is_read_only || !self.config.db.value.exists() {
            return Ok(());
        }
        self.with(|memories| memories.maintain(extent, None).map(drop))
    }

    /// Computes the vectors of newly written memories. If another thread is already computing vectors, it also handles
    /// these memories. A failure is only logged; the memories are stored, and wait for vectors.
    pub(super) async fn embed(&self) {
        if self.config.embedding.provider() == EmbeddingProvider::None {
            return;
        }
        self.upkeep.is_wanted.store(true, Ordering::SeqCst);
        while self.upkeep.is_wanted.load(Ordering::SeqCst) && !self.upkeep.is_under_way.swap(true, Ordering::SeqCst) {
            // The flag is cleared before the work, so that the loop handles memories that are written in the meantime.
            self.upkeep.is_wanted.store(false, Ordering::SeqCst);
            let made = self.embed_waiting().await;
            self.upkeep.is_under_way.store(false, Ordering::SeqCst);
            if let Err(error) = made {
                tracing::warn!("no vectors were computed; `afterthought db embed` computes them later: {error}");
            }
        }
    }

    /// Computes the vectors of newly written memories on a separate thread, after the client has received its answer.
    pub(super) fn embed_aside(self: Arc<Self>) {
        // A store can be used by only one thread at a time. The thread has its own runtime, because a client may leave
        // while vectors are computed, and the server's runtime ends with it.
        std::thread::spawn(move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.embed()),
            Err(error) => tracing::warn!("no vectors were computed: {error}"),
        });
    }

    async fn embed_waiting(&self) -> Result<(), ApiError> {
        let memories = Memories::builder().config(self.config.clone()).vectors(None).open()?;
        memories.embed_waiting(MAX_EMBEDDED, self.upkeep.end.clone()).await.map(drop)
    }

    /// Stops the computation of vectors, and waits briefly for its end, so that it does not leave a claim that the next
    /// process would have to wait for.
    pub(super) async fn finish(&self) {
        self.upkeep.end.cancel();
        let until = Instant::now() + END_TIME;
        while self.upkeep.is_under_way.load(Ordering::SeqCst) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the identity of the file, if the system provides one.
    #[cfg(unix)]
    fn file(&self) -> FileId {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = std::fs::metadata(&self.config.db.value).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "the other platforms read the file")]
    fn file(&self) -> FileId {
        None
    }

    fn namespaces_of(&self, memories: &Memories) -> Result<Option<NamespaceSet>, ApiError> {
        Ok(match &self.served {
            Served::Namespace(namespace) => Some(NamespaceSet::only(namespace.clone())),
            Served::ProjectAt(folder) => Some(memories.reach_of(memories.namespace_of(&folder.to_string_lossy())?)?),
            Served::Everything => None,
        })
    }
}
