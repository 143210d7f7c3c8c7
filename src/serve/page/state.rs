//! Keeps the memories, access rules and options of one server of the page.

use std::net::SocketAddr;
use std::path::PathBuf;
#[cfg(feature = "scale")]
use std::sync::Mutex;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;

use super::access::Access;
use crate::config::Config;
use crate::serve::Served;
use crate::serve::pool::MemoryPool;
#[cfg(feature = "scale")]
use crate::serve::probes::CountedQueue;

/// Options for serving the page.
pub(crate) struct PageOptions {
    /// The address; port 0 means any free port.
    pub address: SocketAddr,
    /// Whether the page is read-only.
    pub read_only: bool,
    /// The user's own settings file.
    pub settings_file: PathBuf,
    /// The folder with results of evaluations; next to the database by default.
    pub evals: Option<PathBuf>,
    /// The queue of many workers, if it is to be shown.
    #[cfg(feature = "scale")]
    pub queue: Option<Mutex<CountedQueue>>,
    /// Reads the settings again after a change; `None` if they cannot be read.
    pub reload: Box<dyn Fn() -> Option<Config> + Send + Sync>,
}

/// One server: its memories and access rules.
pub(super) struct Page {
    pub(super) access: Access,
    pub(super) pool: RwLock<Arc<MemoryPool>>,
    pub(super) options: PageOptions,
    pub(super) stop: CancellationToken,
}

impl PageOptions {
    pub(super) fn pool(&self, config: Config) -> MemoryPool {
        let pool = MemoryPool::new(config, Served::Everything);
        if self.read_only { pool.read_only() } else { pool }
    }
}

impl Page {
    pub(super) fn pool(&self) -> Arc<MemoryPool> {
        Arc::clone(&self.pool.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Updates the server to the current settings.
    pub(super) fn reload(&self) {
        if let Some(config) = (self.options.reload)() {
            *self.pool.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(self.options.pool(config));
        }
    }
}
