//! Health and figures of a worker, for orchestrators and Prometheus.
//!
//! The answers contain counts and no memories, so clients need no token.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::connections::serve;
use super::http::{HttpError, bind};
use crate::api::{ApiError, QueueProgress, WorkQueue, WorkerStatistics};

/// Time within which the queue must answer.
const ANSWER_TIME: Duration = Duration::from_secs(3);
/// Time for which counts of the queue are used again, because counting a million jobs takes a tenth of a second.
const COUNT_AGE: Duration = Duration::from_secs(15);
/// Media type of the figures.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A worker, as its probes see it.
pub(crate) struct ProbedWorker {
    metrics: Arc<WorkerStatistics>,
    /// Cancelled when the worker is about to end.
    cancel: CancellationToken,
    queue: Arc<Mutex<CountedQueue>>,
}

/// A queue with the last counts and their time.
pub(crate) struct CountedQueue {
    queue: WorkQueue,
    /// Maximum number of faults that are read along with the counts.
    faults: i64,
    counted: Option<(Instant, QueueProgress)>,
}

impl CountedQueue {
    /// Returns a queue that has not been counted yet.
    pub(crate) const fn new(queue: WorkQueue, faults: i64) -> Self {
        Self { queue, faults, counted: None }
    }

    /// Returns the state of the queue, which may be a few seconds old.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be used.
    pub(super) fn progress(&mut self) -> Result<QueueProgress, ApiError> {
        if let Some((at, progress)) = &self.counted
            && at.elapsed() < COUNT_AGE
        {
            return Ok(progress.clone());
        }
        self.counted = None;
        let progress = self.queue.progress(self.faults)?;
        self.counted = Some((Instant::now(), progress.clone()));
        Ok(progress)
    }
}

/// Serves the probes on a thread until the process ends. Returns the address, in which port 0 is replaced by a free
/// port.
///
/// # Errors
/// [`HttpError`] if the address is in use.
pub(crate) fn start(address: SocketAddr, probes: ProbedWorker) -> Result<SocketAddr, HttpError> {
    // The worker may wait for PostgreSQL on the threads of its own runtime, and must stay visible meanwhile.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| HttpError::Bind { address, source })?;
    let (listener, address) = runtime.block_on(bind(address))?;
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(figures))
        .with_state(Arc::new(probes));
    // The probes end with the process, so that a worker that finishes its windows is still seen.
    std::thread::spawn(move || runtime.block_on(serve(listener, router, CancellationToken::new())));
    Ok(address)
}

impl ProbedWorker {
    pub(crate) fn new(metrics: Arc<WorkerStatistics>, cancel: CancellationToken, queue: WorkQueue) -> Self {
        Self { metrics, cancel, queue: Arc::new(Mutex::new(CountedQueue::new(queue, 0))) }
    }

    /// Asks the queue; `None` means that it does not answer in time.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut CountedQueue) -> Result<T, ApiError> + Send + 'static,
    ) -> Option<T> {
        let answer = async {
            // While a question waits for its answer, it keeps the lock, so that no further questions are sent in the
            // meantime.
            let mut queue = Arc::clone(&self.queue).lock_owned().await;
            tokio::task::spawn_blocking(move || question(&mut queue).ok()).await.ok().flatten()
        };
        tokio::time::timeout(ANSWER_TIME, answer).await.ok().flatten()
    }
}

async fn ready(State(probes): State<Arc<ProbedWorker>>) -> Response {
    if probes.cancel.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the worker is about to end\n").into_response();
    }
    match probes.ask(|queue| queue.queue.is_open()).await {
        Some(_) => "ok\n".into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the queue does not answer\n").into_response(),
    }
}

async fn figures(State(probes): State<Arc<ProbedWorker>>) -> Response {
    let progress = probes.ask(CountedQueue::progress).await;
    ([(header::CONTENT_TYPE, OPEN_METRICS)], probes.metrics.text(progress.as_ref())).into_response()
}
