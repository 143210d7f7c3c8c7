//! The connections that requests share, and the namespaces that all of them are confined to.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::config::Config;
use crate::guard::Guard;
use crate::manager::{Afterthought, ManagerError, Reach};
use crate::memory::Namespace;
use crate::pipeline::project_at;

/// Connections that are kept for the next request; more are closed when they come back.
const MAX_IDLE: usize = 4;

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
    reach: OnceLock<Reach>,
    idle: Mutex<Vec<Connection>>,
}

/// What tells one file from another.
type FileId = Option<(u64, u64)>;

#[derive(Debug)]
struct Connection {
    manager: Afterthought,
    file: FileId,
}

impl Desk {
    /// Returns a desk over the database that `config` names; opens nothing yet.
    #[must_use]
    pub fn new(config: Config, serves: Serves) -> Self {
        Self { config, serves, reach: OnceLock::new(), idle: Mutex::default() }
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
    pub fn with<T, E: From<ManagerError>>(&self, work: impl FnOnce(&Afterthought) -> Result<T, E>) -> Result<T, E> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // What is written to a file that was moved away or replaced would be lost.
        let idle = idle.filter(|connection| connection.file == self.file());
        let connection = idle.map_or_else(|| self.open(), Ok)?;
        let done = work(&connection.manager);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
        done
    }

    fn open(&self) -> Result<Connection, ManagerError> {
        let manager = Afterthought::open(self.config.clone())?;
        let reach = match self.reach.get() {
            Some(reach) => reach.clone(),
            None => self.reach_of(&manager)?,
        };
        let manager = manager.within(self.reach.get_or_init(|| reach).clone());
        Ok(Connection { manager, file: self.file() })
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

    fn reach_of(&self, manager: &Afterthought) -> Result<Reach, ManagerError> {
        let folder = match &self.serves {
            Serves::Namespace(namespace) => return Ok(Reach::only(namespace.clone())),
            Serves::ProjectAt(folder) => folder.to_string_lossy(),
        };
        let Some(store) = manager.storage().as_store() else { return Ok(Reach::only(Namespace::global())) };
        let mut warn = |warning: &str| tracing::warn!("{warning}");
        Ok(Reach::of_project(project_at(store, &Guard::default(), &folder, &mut warn)?))
    }
}
