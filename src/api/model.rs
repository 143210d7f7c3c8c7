//! The language model in the settings, and its budget.

use std::time::Duration;

use jiff::Zoned;

use super::{ApiError, Memories};
use crate::config::{Config, ExtractorChoice, Layer};
use crate::llm::{
    Budget, DayLimit, Limits, LlmError, ModelSettings, Price, Prices, find_ollama, key_variable, lists_model,
};
use crate::store::{Spent, Store, StoreError};

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

/// Returns the value of an environment variable; a value that is not valid Unicode counts as unset.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
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
                Ok(true) => Ok(Some(settings.model)),
                Ok(false) => Err(not_ready(format!("the server does not list the model {}", settings.model))),
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

/// Returns the cost of all calls of today, in local time.
pub(super) fn spent_today(store: &Store, cost: impl Fn(&Spent) -> f64) -> Result<f64, StoreError> {
    let today = Zoned::now();
    Ok(store.spending(today.date(), today.time_zone())?.iter().map(cost).sum())
}
