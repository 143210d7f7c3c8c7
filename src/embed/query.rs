//! Vectors of queries within a time limit, made on a separate thread.

use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::{Access, EmbedError, Embedder};
use crate::config::EmbeddingSettings;
use crate::guard::Guard;
use crate::store::{Database, VectorModel};

/// Pause after a failure or a timeout, so that searches do not all wait for a server that is down.
const REST: Duration = Duration::from_secs(30);

/// Makes the vectors of queries. The value can be shared between threads, and no call waits longer than the time limit.
///
/// After a failure or a timeout, the server is not called for half a minute, and there are no vectors.
#[derive(Debug)]
pub struct QueryVectors {
    settings: EmbeddingSettings,
    access: Access,
    guard: Guard,
    within: Duration,
    embedder: OnceLock<Arc<Embedder>>,
    worker: Mutex<Worker>,
}

#[derive(Debug, Default)]
struct Worker {
    jobs: Option<Sender<Job>>,
    rests_until: Option<Instant>,
}

struct Job {
    model: VectorModel,
    query: String,
    reply: SyncSender<Result<Option<Vec<f32>>, EmbedError>>,
}

/// The vector of a query, and the model that made it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryVector {
    /// The model. The vector can be compared only with other vectors of this model.
    pub model: VectorModel,
    /// The components of the vector.
    pub vector: Vec<f32>,
}

impl QueryVectors {
    /// Returns a source of query vectors with the time limit `within`. The server is not contacted before the first
    /// query.
    pub(crate) fn new(settings: EmbeddingSettings, access: Access, guard: Guard, within: Duration) -> Self {
        Self { settings, access, guard, within, embedder: OnceLock::new(), worker: Mutex::default() }
    }

    /// Returns the vector of `query`, or `None` if the query is blank, if vectors are off, if `store` has no vector of
    /// the model, or if the server failed within the last half minute.
    ///
    /// # Errors
    /// [`EmbedError`] if the settings cannot be used or the server fails, [`EmbedError::Late`] if it takes too long.
    /// Search then uses only words.
    pub(crate) fn vector(&self, store: &Database, query: &str) -> Result<Option<QueryVector>, EmbedError> {
        if query.trim().is_empty() || !store.has_vectors()? || self.rests() {
            return Ok(None);
        }
        let vector = self.ask(store, query);
        // An error of the store is not caused by the server, so it does not start a pause.
        if vector.as_ref().is_err_and(|error| !matches!(error, EmbedError::Store(_))) {
            self.worker.lock().unwrap_or_else(PoisonError::into_inner).rests_until = Some(Instant::now() + REST);
        }
        vector
    }

    fn rests(&self) -> bool {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        worker.rests_until.is_some_and(|until| Instant::now() < until)
    }

    fn ask(&self, store: &Database, query: &str) -> Result<Option<QueryVector>, EmbedError> {
        let embedder = if let Some(embedder) = self.embedder.get() {
            embedder
        } else {
            let Some(opened) = Embedder::open(&self.settings, self.access.clone())? else { return Ok(None) };
            self.embedder.get_or_init(|| Arc::new(opened))
        };
        let Some(model) = embedder.kept_model(store)? else { return Ok(None) };
        // Without stored vectors of this model, there is nothing to compare the query with.
        if store.vector_dimension(&model.name)? != Some(model.dimension) {
            return Ok(None);
        }
        // The channel has room for one answer, so that the thread never blocks on a caller that has given up.
        let (reply, answer) = sync_channel(1);
        self.send(embedder, Job { model: model.clone(), query: query.to_owned(), reply })?;
        let vector = match answer.recv_timeout(self.within) {
            Ok(answer) => answer?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(EmbedError::Late { within: self.within });
            }
        };
        Ok(vector.map(|vector| QueryVector { model, vector }))
    }

    /// Sends a job to the thread, which is started if it does not exist or has ended.
    fn send(&self, embedder: &Arc<Embedder>, job: Job) -> Result<(), EmbedError> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match &worker.jobs {
            Some(jobs) => match jobs.send(job) {
                Ok(()) => return Ok(()),
                Err(unsent) => unsent.0,
            },
            None => job,
        };
        let (jobs, waiting) = channel::<Job>();
        let (embedder, guard) = (Arc::clone(embedder), self.guard.clone());
        std::thread::Builder::new()
            .name("query vectors".to_owned())
            .spawn(move || {
                let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
                for Job { model, query, reply } in waiting {
                    // If the caller has given up, nobody needs the answer.
                    reply.send(runtime.block_on(embedder.query(&guard, &model, &query))).ok();
                }
            })
            .map_err(|source| EmbedError::Thread { source })?;
        // The thread ends when the last sender is gone.
        jobs.send(job).ok();
        worker.jobs = Some(jobs);
        Ok(())
    }
}
