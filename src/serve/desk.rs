//! The connections that requests share, and the namespaces that all of them are confined to.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::api::{AGENT_WAIT, ApiError, Memories, Reach, database_path, embed_waiting, query_vectors};
use crate::config::{Config, EmbeddingProvider};
use crate::embed::QueryVectors;
use crate::memory::Namespace;
use crate::pipeline::project_at;
use crate::project::Machine;
use crate::store::Store;

/// Connections that are kept for the next request; more are closed when they come back.
const MAX_IDLE: usize = 4;
/// Memories that are embedded after one was written; the rest waits for `embed`.
const MAX_EMBEDDED: usize = 256;

/// What a server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serves {
    /// This namespace alone.
    Namespace(Namespace),
    /// The project that lies in this folder, with what holds for the user everywhere.
    ProjectAt(PathBuf),
}

/// Opens the database when a request needs it, so that a file that is locked or damaged for a while fails that request and
/// not the server.
#[derive(Debug)]
pub struct Desk {
    config: Config,
    serves: Serves,
    vectors: Option<Arc<QueryVectors>>,
    reach: OnceLock<Reach>,
    idle: Mutex<Vec<Connection>>,
    upkeep: Upkeep,
}

/// Whether vectors are to be made, and whether somebody is at it.
#[derive(Debug, Default)]
struct Upkeep {
    is_wanted: AtomicBool,
    is_under_way: AtomicBool,
}

/// What tells one file from another.
type FileId = Option<(u64, u64)>;

#[derive(Debug)]
struct Connection {
    manager: Memories,
    file: FileId,
}

impl Desk {
    /// Returns a desk over the database that `config` names; opens nothing yet.
    #[must_use]
    pub fn new(config: Config, serves: Serves) -> Self {
        let vectors = query_vectors(&config, &|name| std::env::var(name).ok(), AGENT_WAIT);
        let (reach, idle, upkeep) = (OnceLock::new(), Mutex::default(), Upkeep::default());
        Self { config, serves, vectors, reach, idle, upkeep }
    }

    /// Returns the settings in force.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Does `work` with a connection that is confined to what is served. It blocks while the file is read or written.
    ///
    /// # Errors
    /// What `work` returns, or why the database cannot be opened.
    pub fn with<T, E: From<ApiError>>(&self, work: impl FnOnce(&Memories) -> Result<T, E>) -> Result<T, E> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // What is written to a file that was moved away or replaced would be lost.
        let idle = idle.filter(|connection| connection.file == self.file());
        let connection = idle.map_or_else(|| self.open(), Ok)?;
        let done = work(&connection.manager);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that can only be read may be mended any moment.
        if idle.len() < MAX_IDLE && connection.manager.can_write() {
            idle.push(connection);
        }
        done
    }

    fn open(&self) -> Result<Connection, ApiError> {
        let manager = Memories::open_with(self.config.clone(), self.vectors.clone())?;
        let reach = match self.reach.get() {
            Some(reach) => reach.clone(),
            None => self.reach_of(&manager)?,
        };
        let manager = manager.within(self.reach.get_or_init(|| reach).clone());
        Ok(Connection { manager, file: self.file() })
    }

    /// Makes the vectors that memories wait for which were just written, unless another thread is at it, which then goes on.
    /// What fails is told in the log; the memories are there, and wait.
    pub(super) async fn embed(&self) {
        if self.config.embedding.value.provider() == EmbeddingProvider::None {
            return;
        }
        self.upkeep.is_wanted.store(true, Ordering::SeqCst);
        while self.upkeep.is_wanted.load(Ordering::SeqCst) && !self.upkeep.is_under_way.swap(true, Ordering::SeqCst) {
            self.upkeep.is_wanted.store(false, Ordering::SeqCst);
            let made = self.embed_waiting().await;
            self.upkeep.is_under_way.store(false, Ordering::SeqCst);
            if let Err(error) = made {
                tracing::warn!("no vectors were made, `afterthought db embed` makes them later: {error}");
            }
        }
    }

    async fn embed_waiting(&self) -> Result<(), ApiError> {
        let store = Store::open(database_path(&self.config.db.value)?)?;
        embed_waiting(&self.config, &store, MAX_EMBEDDED, CancellationToken::new()).await.map(drop)
    }

    /// Returns what tells the file from another at the same place, where the system can tell.
    #[cfg(unix)]
    fn file(&self) -> FileId {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = std::fs::metadata(&self.config.db.value).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn file(&self) -> FileId {
        None
    }

    fn reach_of(&self, manager: &Memories) -> Result<Reach, ApiError> {
        let folder = match &self.serves {
            Serves::Namespace(namespace) => return Ok(Reach::only(namespace.clone())),
            Serves::ProjectAt(folder) => folder.to_string_lossy(),
        };
        let Some(store) = manager.storage().as_store() else { return Ok(Reach::only(Namespace::global())) };
        if !manager.can_write() {
            let sighting = Machine::this().sight_path(&folder);
            let placement = sighting.map(|sighting| store.placement(&sighting)).transpose()?;
            let project = placement.map_or_else(Namespace::global, |placement| placement.namespace);
            return Ok(Reach::of_project(project));
        }
        let mut warn = |warning: &str| tracing::warn!("{warning}");
        Ok(Reach::of_project(project_at(store, &folder, &mut warn)?))
    }
}
