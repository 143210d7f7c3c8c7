//! The embedding model that the settings name, and its budget.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use tokio_util::sync::CancellationToken;

use super::{ApiError, Memories, prices};
use crate::config::{Config, EmbeddingProvider};
use crate::embed::{Access, EmbedError, Embedder, Filled, Filling, QueryVectors, fill};
use crate::guard::Guard;
use crate::llm::{Budget, DayLimit, Limits, Price};
use crate::store::{Spent, Store, StoreError};

/// How long an agent waits for the vector of its query; then it is answered by words.
pub const AGENT_WAIT: Duration = Duration::from_millis(1_500);

/// Returns what a server of vectors is reached with. `environment` gives variables by name.
#[must_use]
pub fn embedding_access(config: &Config, environment: &dyn Fn(&str) -> Option<String>) -> Access {
    let key = config.embedding.api_key_env.value.as_ref().unwrap_or(&config.api_key_env.value);
    let key = environment(key).filter(|key| !key.trim().is_empty()).map(Into::into);
    Access { key, timeout: Some(Duration::from_secs(config.timeout_seconds.value)) }
}

/// Returns what makes vectors by the settings; `None` where they are off.
///
/// # Errors
/// [`EmbedError`] if the settings cannot be used.
pub fn embedder(config: &Config, environment: &dyn Fn(&str) -> Option<String>) -> Result<Option<Embedder>, EmbedError> {
    Embedder::open(&config.embedding, embedding_access(config, environment))
}

/// Returns what makes the vectors of queries within the time `within`; `None` where memories are recalled by words alone.
#[must_use]
pub fn query_vectors(
    config: &Config,
    environment: &dyn Fn(&str) -> Option<String>,
    within: Duration,
) -> Option<Arc<QueryVectors>> {
    let guard = || Guard::from(&config.guard);
    config.recalls_by_meaning().then(|| {
        let access = embedding_access(config, environment);
        Arc::new(QueryVectors::new(config.embedding.clone(), access, guard(), within))
    })
}

/// Returns what may be spent on vectors, with what other runs have spent today.
///
/// # Errors
/// [`ApiError`] if the prices or the spending cannot be read, or a limit needs a price that is not known.
pub fn embedding_budget(config: &Config, embedder: &Embedder, store: &Store) -> Result<Budget, ApiError> {
    let prices = prices(config)?;
    let day = config.max_cost_per_day.value.map(|max_cost| {
        let today = Zoned::now();
        let spent = store.spending(today.date(), today.time_zone())?;
        let cost = |one: &Spent| prices.cost(&one.model, one.prompt_tokens, one.completion_tokens);
        Ok::<_, StoreError>(DayLimit { max_cost, spent: spent.iter().filter_map(cost).sum() })
    });
    let limits = Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, day: day.transpose()? };
    // A server of one's own is not paid by the token.
    let own = embedder.is_on_this_machine().then(|| Price::new(0.0, 0.0));
    Ok(Budget::new(limits, prices.of(embedder.paid_name()).or(own), embedder.paid_name())?)
}

/// Makes vectors of at most `most` memories that wait for one; `None` where vectors are off.
///
/// # Errors
/// [`ApiError`] if the model or the file cannot be used; the memories are there, and wait.
pub async fn embed_waiting(
    config: &Config,
    store: &Store,
    most: usize,
    cancel: CancellationToken,
) -> Result<Option<Filled>, ApiError> {
    if config.embedding.provider() == EmbeddingProvider::None {
        return Ok(None);
    }
    let Some(embedder) = embedder(config, &|name| std::env::var(name).ok())? else { return Ok(None) };
    let guard = Guard::from(&config.guard);
    let budget = embedding_budget(config, &embedder, store)?;
    let filling =
        Filling { store, embedder: &embedder, guard: &guard, budget: &budget, most, cancel, clock: Timestamp::now };
    Ok(Some(fill(&filling, &mut |_| {}).await?))
}

impl Memories {
    /// Makes vectors of at most `most` memories that wait for one, as [`embed_waiting`] does.
    ///
    /// # Errors
    /// As for [`embed_waiting`].
    pub async fn embed_waiting(&self, most: usize, cancel: CancellationToken) -> Result<Option<Filled>, ApiError> {
        embed_waiting(&self.config, self.ledger("make vectors")?, most, cancel).await
    }
}
