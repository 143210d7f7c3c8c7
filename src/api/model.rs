//! The language model and the embedding model in the settings, and their budgets.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, ExtractorChoice, Layer};
use crate::embed::{Access, EmbedError, Embedder, Filled, Filling, Progress, QueryVectors, fill};
use crate::guard::Guard;
use crate::llm::{
    Budget, DayLimit, Limits, LlmError, ModelSettings, Price, Prices, find_ollama, key_variable, lists_model,
};
use crate::store::{Coverage, Spent, Store, StoreError, VectorModel, Writer};

use super::{ApiError, Memories, variable};

/// Returns the settings of the configured model; `None` if neither a key nor a server is configured.
///
/// Environment variables that correspond to settings are taken from the settings.
///
/// # Errors
/// [`LlmError`] if the configuration cannot be used.
pub(crate) fn model_settings(config: &Config) -> Result<Option<ModelSettings>, LlmError> {
    let named = config.model.value.as_deref().unwrap_or_default();
    let is_own_key = config.api_key_env.layer != Layer::Default;
    let lookup = |name: &str| match name {
        "OPENAI_BASE_URL" => config.base_url.value.clone(),
        "AFTERTHOUGHT_MODEL" => config.model.value.clone(),
        _ if is_own_key && name == key_variable(named) => variable(&config.api_key_env.value),
        _ => variable(name),
    };
    let Some(mut settings) = ModelSettings::from_env(lookup)? else { return Ok(None) };
    if is_own_key && settings.key_name == key_variable(named) {
        settings.key_name = config.api_key_env.value.clone().into();
    }
    Ok(Some(tuned(config, settings)))
}

/// Returns the settings of a model: the configured model or, unless only the rules were requested, that of an Ollama
/// server on this machine.
///
/// # Errors
/// [`LlmError`] if the configuration cannot be used.
pub(crate) async fn reachable(config: &Config) -> Result<Option<ModelSettings>, LlmError> {
    let configured = model_settings(config)?;
    if configured.is_some() || config.extractor.value == ExtractorChoice::Rules {
        return Ok(configured);
    }
    let host = variable("OLLAMA_HOST").filter(|host| !host.trim().is_empty());
    let found = find_ollama(host.as_deref(), config.model.value.as_deref()).await?;
    Ok(found.map(|settings| {
        let reason = format!(
            "no model is configured, so {} on the local Ollama server is used; --extractor rules uses the offline \
             rules",
            settings.model
        );
        tuned(config, ModelSettings { reason: Some(reason), ..settings })
    }))
}

fn tuned(config: &Config, settings: ModelSettings) -> ModelSettings {
    let timeout = Duration::from_secs(config.timeout_seconds.value);
    ModelSettings { timeout, ..settings }
}

impl Memories {
    /// Checks that memories can be extracted with the current settings, and returns the name of the model that would be
    /// used, or `None` for the offline rules. The model's server is asked for its list of models, which costs nothing.
    ///
    /// # Errors
    /// [`ApiError::NotReady`] with the reason if the model cannot be used, and [`ApiError::NoLedger`] if the storage
    /// cannot keep extracted memories.
    pub async fn check_extractor(&self) -> Result<Option<String>, ApiError> {
        self.ledger("extract memories")?;
        if self.config.extractor.value == ExtractorChoice::Rules {
            return Ok(None);
        }
        let not_ready = |reason: String| ApiError::NotReady { reason };
        match reachable(&self.config).await.map_err(|error| not_ready(error.to_string()))? {
            None if self.config.extractor.value == ExtractorChoice::Llm => {
                Err(not_ready("no model is configured".to_owned()))
            }
            None => Ok(None),
            Some(settings) => match lists_model(&settings).await {
                Ok(Some(true) | None) => Ok(Some(settings.model)),
                Ok(Some(false)) => Err(not_ready(format!("the server does not list the model {}", settings.model))),
                Err(reason) => Err(not_ready(format!("{}: {reason}", settings.model))),
            },
        }
    }
}

/// Returns the effective prices: the built-in prices, overridden by prices in the settings.
///
/// # Errors
/// [`ApiError::Price`], which describes the error in the price table of the settings.
pub(crate) fn prices(config: &Config) -> Result<Prices, ApiError> {
    let unusable = |source| ApiError::Price { layer: config.prices.layer.clone(), source };
    Prices::with(&config.prices.value).map_err(unusable)
}

/// Returns the price of `model`. `given` replaces the listed price, but not the listed discount for batches.
pub(super) fn price_of(prices: &Prices, model: &str, given: Option<Price>) -> Option<Price> {
    let listed = prices.of(model);
    let batch = listed.map_or(1.0, |price| price.batch);
    given.map(|price| Price { batch, ..price }).or(listed)
}

/// Returns the budget for `model`, taking into account what other runs have spent today. `price` replaces the price in
/// the table.
///
/// # Errors
/// [`ApiError`] if the prices or the spending cannot be read, or a limit requires an unknown price.
pub(crate) fn budget(config: &Config, model: &str, price: Option<Price>, store: &Store) -> Result<Budget, ApiError> {
    let prices = prices(config)?;
    let price = price_of(&prices, model, price);
    let limits = limits_today(config, store, |one| cost_of(one, prices.of(&one.model).or(price)))?;
    Ok(Budget::new(limits, price, model)?)
}

/// Returns the cost of calls at a price; without a price, they count as free.
pub(super) fn cost_of(spent: &Spent, price: Option<Price>) -> f64 {
    price.map_or(0.0, |price| price.cost(spent.prompt_tokens, spent.completion_tokens))
}

/// Returns the limits in the settings, taking into account what was spent today.
pub(super) fn limits_today(config: &Config, store: &Store, cost: impl Fn(&Spent) -> f64) -> Result<Limits, StoreError> {
    let spent = |max_cost| Ok::<_, StoreError>(DayLimit { max_cost, spent: spent_today(store, cost)? });
    let day = config.max_cost_per_day.value.map(spent);
    Ok(Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, day: day.transpose()? })
}

/// Returns the cost of all of today's calls, in local time.
pub(super) fn spent_today(store: &Store, cost: impl Fn(&Spent) -> f64) -> Result<f64, StoreError> {
    let today = Zoned::now();
    Ok(store.spending(today.date(), today.time_zone())?.iter().map(cost).sum())
}

/// Maximum time for which an agent waits for the vector of its query; after that, words alone are used.
pub(crate) const AGENT_WAIT: Duration = Duration::from_millis(1_500);

/// Returns the access data for an embedding server.
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

/// Asks the embedding server in the settings for its list of models, which costs nothing, as [`lists_model`] does.
///
/// # Errors
/// A short description of why the server cannot be used, without secrets.
pub(crate) async fn lists_embedding_model(config: &Config) -> Result<Option<bool>, String> {
    match embedder(config) {
        Ok(Some(embedder)) => embedder.is_listed().await,
        Ok(None) => Ok(Some(true)),
        Err(error) => Err(error.to_string()),
    }
}

impl Memories {
    /// Computes vectors for at most `most` waiting memories, after any other process that is computing vectors has
    /// finished. Returns `None` if vectors are off.
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

    /// Marks memories that the model has rejected as waiting for a vector again.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn retry_vectors(&self) -> Result<(), ApiError> {
        let retry = |writer: &Writer<'_>| writer.retry_vectors();
        self.ledger(EMBED)?.write::<_, StoreError>(None, Timestamp::now(), retry)?;
        Ok(())
    }

    /// Computes vectors for at most `most` waiting memories, unless another process is computing vectors. Returns
    /// `None` if vectors are off.
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

/// An event while vectors are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EmbedEvent {
    /// Vectors for some memories were computed.
    Progress(Progress),
    /// Another process is computing vectors, and the call waits for it.
    Waits,
}
