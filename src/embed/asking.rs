//! Vectors of queries for those who must not wait: made on a thread of its own, within a limit.

use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::{Access, EmbedError, Embedder};
use crate::config::EmbeddingSettings;
use crate::guard::Guard;
use crate::store::{Database, VectorModel};

/// How long a model that failed or was late is not asked again, so that not every search waits for it.
const REST: Duration = Duration::from_secs(30);

/// Makes the vectors of queries. Can be shared between threads; any of them waits so long and no longer.
///
/// Nothing is opened or asked before the first query. A model that fails or is late is left alone for half a minute, in
/// which there are no vectors.
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

type Reply<T> = SyncSender<Result<T, EmbedError>>;

enum Job {
    Open(Reply<Arc<Embedder>>),
    Embed { model: VectorModel, query: String, reply: Reply<Option<Vec<f32>>> },
}

/// The vector of a query, and the model that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    /// Whose vectors it can be compared with.
    pub model: VectorModel,
    /// Its numbers.
    pub vector: Vec<f32>,
}

impl QueryVectors {
    /// Returns what makes vectors by `settings` within the time `within`.
    #[must_use]
    pub fn new(settings: EmbeddingSettings, access: Access, guard: Guard, within: Duration) -> Self {
        Self { settings, access, guard, within, embedder: OnceLock::new(), worker: Mutex::default() }
    }

    /// Returns the vector of `query`; `None` where it is blank, vectors are off, `store` holds none of the model, or the
    /// model rests.
    ///
    /// # Errors
    /// [`EmbedError`] if the model cannot be opened or asked, [`EmbedError::Late`] if it takes too long; search by words
    /// stands in for either.
    pub fn vector(&self, store: &Database, query: &str) -> Result<Option<QueryVector>, EmbedError> {
        if query.trim().is_empty() || !store.has_vectors()? || self.rests() {
            return Ok(None);
        }
        let vector = self.asked(store, query);
        // What the store has against it is no fault of the model.
        if vector.as_ref().is_err_and(|error| !matches!(error, EmbedError::Store(_))) {
            self.worker.lock().unwrap_or_else(PoisonError::into_inner).rests_until = Some(Instant::now() + REST);
        }
        vector
    }

    fn rests(&self) -> bool {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        worker.rests_until.is_some_and(|until| Instant::now() < until)
    }

    fn asked(&self, store: &Database, query: &str) -> Result<Option<QueryVector>, EmbedError> {
        let until = Instant::now() + self.within;
        let embedder = if let Some(embedder) = self.embedder.get() {
            embedder
        } else {
            let opened = self.wait(until, Job::Open)?;
            self.embedder.get_or_init(|| opened)
        };
        let Some(model) = embedder.kept_model(store)? else { return Ok(None) };
        // A server is not asked for what there is nothing to compare with.
        if store.vector_dimension(&model.name)? != Some(model.dimension) {
            return Ok(None);
        }
        let (query, of) = (query.to_owned(), model.clone());
        let vector = self.wait(until, |reply| Job::Embed { model: of, query, reply })?;
        Ok(vector.map(|vector| QueryVector { model, vector }))
    }

    fn wait<T>(&self, until: Instant, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, EmbedError> {
        // Room for one answer, so that the thread never waits for somebody who has gone.
        let (reply, answer) = sync_channel(1);
        self.send(job(reply))?;
        match answer.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(EmbedError::Late { within: self.within })
            }
        }
    }

    /// Gives a job to the thread, which is begun where there is none, or where it has ended.
    fn send(&self, job: Job) -> Result<(), EmbedError> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match &worker.jobs {
            Some(jobs) => match jobs.send(job) {
                Ok(()) => return Ok(()),
                Err(unsent) => unsent.0,
            },
            None => job,
        };
        let (jobs, waiting) = channel();
        let (settings, access, guard) = (self.settings.clone(), self.access.clone(), self.guard.clone());
        std::thread::Builder::new()
            .name("query vectors".to_owned())
            .spawn(move || {
                let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
                let mut open: Option<Arc<Embedder>> = None;
                for job in waiting {
                    answer(job, &mut open, &runtime, (&settings, &access, &guard));
                }
            })
            .map_err(|source| EmbedError::Thread { source })?;
        // The thread ends when there is nobody left who could send.
        jobs.send(job).ok();
        worker.jobs = Some(jobs);
        Ok(())
    }
}

fn answer(
    job: Job,
    open: &mut Option<Arc<Embedder>>,
    runtime: &tokio::runtime::Runtime,
    (settings, access, guard): (&EmbeddingSettings, &Access, &Guard),
) {
    let mut embedder = || match &*open {
        Some(embedder) => Ok(Some(Arc::clone(embedder))),
        None => Embedder::open(settings, access.clone()).map(|opened| {
            *open = opened.map(Arc::new);
            open.clone()
        }),
    };
    // Who asked may have gone; nobody needs the answer then.
    match job {
        Job::Open(reply) => {
            let off = EmbedError::Unset { what: "model", remedy: "model, or AFTERTHOUGHT_EMBEDDING_MODEL" };
            reply.send(embedder().and_then(|embedder| embedder.ok_or(off))).ok();
        }
        Job::Embed { model, query, reply } => {
            let vector = embedder().and_then(|embedder| match embedder {
                Some(embedder) => runtime.block_on(embedder.query(guard, &model, &query)),
                None => Ok(None),
            });
            reply.send(vector).ok();
        }
    }
}
