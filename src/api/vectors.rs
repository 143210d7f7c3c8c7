//! The embedding model in the settings, and its budget.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::model::{cost_of, limits_today, variable};
use super::{ApiError, Memories, prices};
use crate::config::Config;
use crate::embed::{Access, EmbedError, Embedder, Filled, Filling, Progress, QueryVectors, fill};
use crate::guard::Guard;
use crate::llm::{Budget, Price};
use crate::store::{Coverage, Store, StoreError, VectorModel, Writer};

/// Maximum time for which an agent waits for the vector of its query; after that, words alone are used.
pub(crate) const AGENT_WAIT: Duration = Duration::from_millis(1_500);

/// Returns the access data for an embedding server.
#[must_use]
fn embedding_access(config: &Config) -> Access {
    let key = config.embedding.api_key_env.value.as_ref().unwrap_or(&config.api_key_env.value);
    let key = variable(key).filter(|key| !key.trim().is_empty()).map(Into::into);
    Access { key, timeout: Some(Duration::from_secs(config.timeout_seconds.value)) }
}

/// Returns the embedder that the settings describe; `None` if vectors are off.
///
/// # Errors
/// [`EmbedError`] if the settings cannot be used.
pub(crate) fn embedder(config: &Config) -> Result<Option<Embedder>, EmbedError> {
    Embedder::open(&config.embedding, embedding_access(config))
}

/// Returns the source of query vectors with the time limit `within`; `None` if memories are recalled by words alone.
#[must_use]
pub(crate) fn query_vectors(config: &Config, within: Duration) -> Option<Arc<QueryVectors>> {
    config.recalls_by_meaning().then(|| {
        let (access, guard) = (embedding_access(config), Guard::from(&config.guard));
        Arc::new(QueryVectors::new(config.embedding.clone(), access, guard, within))
    })
}

/// Returns the budget for vectors, taking into account what other runs have spent today.
///
/// # Errors
/// [`ApiError`] if the prices or the spending cannot be read, or a limit needs an unknown price.
fn embedding_budget(config: &Config, embedder: &Embedder, store: &Store) -> Result<Budget, ApiError> {
    let prices = prices(config)?;
    let limits = limits_today(config, store, |one| cost_of(one, prices.of(&one.model)))?;
    // A server on this machine does not charge for tokens.
    let own = embedder.is_on_this_machine().then(|| Price::new(0.0, 0.0));
    Ok(Budget::new(limits, prices.of(embedder.paid_name()).or(own), embedder.paid_name())?)
}

/// Pause between checks of whether another process has finished.
const PAUSE: Duration = Duration::from_millis(500);

/// Vectors of one model in a database.
#[derive(Debug, Clone)]
pub(crate) struct VectorStatus {
    /// Name of the model.
    pub model: String,
    /// Base URL of the model's server.
    pub address: String,
    /// Numbers of memories with and without a vector; `None` if the database cannot be read.
    pub coverage: Option<Coverage>,
}

/// Returns the embedding model in the settings, and how many of `memories` have a vector of that model; `None` if
/// vectors are off. No server is contacted.
///
/// # Errors
/// [`EmbedError`] if the settings cannot be used.
pub(crate) fn vector_status(config: &Config, memories: Option<&Memories>) -> Result<Option<VectorStatus>, EmbedError> {
    let Some(embedder) = embedder(config)? else { return Ok(None) };
    let coverage = memories.and_then(|memories| {
        let store = memories.storage.as_store()?;
        let unknown = || VectorModel { name: embedder.name().to_owned(), dimension: 0 };
        store.vector_coverage(&embedder.kept_model(store).ok()?.unwrap_or_else(unknown)).ok()
    });
    Ok(Some(VectorStatus { model: embedder.name().to_owned(), address: embedder.address().to_owned(), coverage }))
}

impl Memories {
    /// Makes vectors for at most `most` waiting memories, after any other process that is making vectors has finished.
    /// Returns `None` if vectors are off.
    ///
    /// # Errors
    /// [`ApiError`] if the model or the database cannot be used; finished vectors are kept.
    pub(crate) async fn embed(
        &self,
        most: usize,
        cancel: CancellationToken,
        watch: &mut dyn FnMut(EmbedEvent),
    ) -> Result<Option<Filled>, ApiError> {
        let mut waits = false;
        loop {
            let filled = self.embed_once(most, cancel.clone(), &mut |done| watch(EmbedEvent::Progress(done))).await?;
            if cancel.is_cancelled() || !filled.as_ref().is_some_and(|filled| filled.elsewhere) {
                return Ok(filled);
            }
            // The wait is reported only once, not after every pause.
            if !std::mem::replace(&mut waits, true) {
                watch(EmbedEvent::Waits);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Makes memories that the model has refused wait for a vector again.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn retry_vectors(&self) -> Result<(), ApiError> {
        let retry = |writer: &Writer<'_>| writer.retry_vectors();
        self.ledger(EMBED)?.write::<_, StoreError>(None, Timestamp::now(), retry)?;
        Ok(())
    }

    /// Makes vectors for at most `most` waiting memories, unless another process is making vectors. Returns `None` if
    /// vectors are off.
    ///
    /// # Errors
    /// [`ApiError`] if the model or the database cannot be used; finished vectors are kept.
    pub(crate) async fn embed_waiting(
        &self,
        most: usize,
        cancel: CancellationToken,
    ) -> Result<Option<Filled>, ApiError> {
        self.embed_once(most, cancel, &mut |_| {}).await
    }

    async fn embed_once(
        &self,
        most: usize,
        cancel: CancellationToken,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Option<Filled>, ApiError> {
        let Some(embedder) = embedder(&self.config)? else { return Ok(None) };
        let store = self.ledger(EMBED)?;
        let budget = embedding_budget(&self.config, &embedder, store)?;
        let (embedder, guard, budget, clock) = (&embedder, &self.guard, &budget, Timestamp::now);
        Ok(Some(fill(&Filling { store, embedder, guard, budget, most, cancel, clock }, watch).await?))
    }
}

const EMBED: &str = "make vectors";

/// An event during the creation of vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EmbedEvent {
    /// Vectors for some memories were made.
    Progress(Progress),
    /// Another process is making vectors, and the call waits for it.
    Waits,
}
