//! Copies of the shards of many workers, which answer the requests of clients.
//!
//! ```text
//! request ─▶ namespace ─▶ copy, updated if its log has changed ─▶ MemoryPool ─▶ Memories
//! ```

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::api::{ApiError, Head, ScaleError, ShardFiles, refuse_secret_namespace};
use crate::memory::Namespace;

/// Time for which a copy answers requests before its log is asked for changes again.
const CHECK_AGE: Duration = Duration::from_secs(2);
/// Maximum number of requests that are answered at the same time; the others wait.
const MAX_REQUESTS: usize = 16;

/// Opens the copy of the shard of a namespace.
type Opener<P> = Box<dyn Fn(&Namespace, PathBuf) -> P + Send + Sync>;

/// Copies of at most a fixed number of shards. The one that was used longest ago makes room for another. `P` is the
/// type of an opened copy.
pub(super) struct ShardPools<P> {
    files: ShardFiles,
    open: Opener<P>,
    limit: usize,
    /// At most as many requests as copies are answered at the same time, so that one of the copies can be removed for a
    /// request that needs another.
    turns: Semaphore,
    kept: Mutex<HashMap<Namespace, Kept<P>>>,
}

/// A copy, and when it was last used.
struct Kept<P> {
    used: Instant,
    shard: Arc<RwLock<ShardCopy<P>>>,
}

/// A copy, and the state of the log that it has. While it is updated, it is not open.
struct ShardCopy<P> {
    opened: Option<P>,
    head: Option<Head>,
    checked: Option<Instant>,
}

impl<P> ShardCopy<P> {
    fn is_new(&self) -> bool {
        self.opened.is_some() && self.checked.is_some_and(|at| at.elapsed() < CHECK_AGE)
    }
}

impl<P> fmt::Debug for ShardPools<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardPools").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<P> ShardPools<P> {
    pub(super) fn new(
        files: ShardFiles,
        limit: usize,
        open: impl Fn(&Namespace, PathBuf) -> P + Send + Sync + 'static,
    ) -> Self {
        let turns = Semaphore::new(limit.min(MAX_REQUESTS));
        Self { files, open: Box::new(open), limit, turns, kept: Mutex::default() }
    }

    /// Runs `work` with the copy of the shard of a namespace.
    pub(super) fn with<T, E: From<ApiError>>(
        &self,
        namespace: Option<Namespace>,
        work: impl FnOnce(&P) -> Result<T, E>,
    ) -> Result<T, E> {
        let remedy = "add the namespace to the address, as in ?namespace=team/ana";
        let namespace = namespace.ok_or_else(|| ApiError::nothing_named(remedy))?;
        refuse_secret_namespace(&namespace)?;
        let _turn = futures::executor::block_on(self.turns.acquire());
        let shard = self.shard(&namespace)?;
        let mut copy = shard.read().unwrap_or_else(PoisonError::into_inner);
        if !copy.is_new() {
            drop(copy);
            let mut updated = shard.write().unwrap_or_else(PoisonError::into_inner);
            // Another request may have updated it in the meantime.
            if !updated.is_new() {
                self.update(&namespace, &mut updated)?;
            }
            copy = RwLockWriteGuard::downgrade(updated);
        }
        work(copy.opened.as_ref().expect("an updated copy is open"))
    }

    /// Returns the place of a copy. If there is none yet, it replaces the copy that was used longest ago.
    fn shard(&self, namespace: &Namespace) -> Result<Arc<RwLock<ShardCopy<P>>>, ApiError> {
        let find = |kept: &mut HashMap<Namespace, Kept<P>>| {
            let kept = kept.get_mut(namespace)?;
            kept.used = Instant::now();
            Some(Arc::clone(&kept.shard))
        };
        if let Some(shard) = find(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(shard);
        }
        // A namespace that does not exist must not replace one that does.
        self.files.head(namespace)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shard) = find(&mut kept) {
            return Ok(shard);
        }
        while kept.len() >= self.limit {
            let unused = kept.iter().filter(|(_, one)| Arc::strong_count(&one.shard) == 1);
            let oldest = unused.min_by_key(|(_, one)| one.used).map(|(name, _)| name.clone());
            let Some(oldest) = oldest else { break };
            kept.remove(&oldest);
            self.files.forget(&oldest)?;
        }
        let shard = Arc::new(RwLock::new(ShardCopy { opened: None, head: None, checked: None }));
        kept.insert(namespace.clone(), Kept { used: Instant::now(), shard: Arc::clone(&shard) });
        Ok(shard)
    }

    /// Updates a copy if its log has changed. If the log cannot be read, the copy stays as it is.
    fn update(&self, namespace: &Namespace, copy: &mut ShardCopy<P>) -> Result<(), ApiError> {
        let head = match self.files.head(namespace) {
            Ok(head) => Some(head),
            Err(error @ ApiError::Queue(ScaleError::UnknownShard { .. })) => {
                copy.opened = None;
                self.files.forget(namespace)?;
                return Err(error);
            }
            Err(error) if copy.opened.is_some() => {
                tracing::warn!("answering from the last known state of {namespace}: {error}");
                copy.checked = Some(Instant::now());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if copy.opened.is_none() || copy.head != head {
            // The file must be closed before it changes.
            copy.opened = None;
            let path = self.files.check_out(namespace)?;
            copy.opened = Some((self.open)(namespace, path));
        }
        (copy.head, copy.checked) = (head, Some(Instant::now()));
        Ok(())
    }
}
