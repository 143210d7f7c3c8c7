//! One layer of settings: a file, the environment, or the command line.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::table::replacement;
use super::{ConfigError, EmbeddingSettings, ExtractorChoice, LogFormat, PROJECT_FILE, PartialGuard, PartialMemory};

/// Everything that can be set, as one layer sets it. Unknown keys are errors.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Partial {
    /// Path of the database.
    pub db: Option<PathBuf>,
    /// Namespace for everything read, instead of one by project.
    pub namespace: Option<String>,
    /// Name of the project in whose folder the file lies; for conversations held there, wherever they are read.
    pub project: Option<String>,
    /// Which extractor.
    pub extractor: Option<ExtractorChoice>,
    /// Name of the model.
    pub model: Option<String>,
    /// Base URL of the OpenAI-compatible server, up to and including `/v1`.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Seconds that one attempt may take.
    pub timeout_seconds: Option<u64>,
    /// Calls in flight.
    pub jobs: Option<usize>,
    /// Tokens of conversation in one window.
    pub window_tokens: Option<usize>,
    /// Most dollars that one run may spend.
    pub max_cost: Option<f64>,
    /// Most tokens that one run may spend.
    pub max_tokens: Option<u64>,
    /// Most dollars that all runs of one day may spend.
    pub max_cost_per_day: Option<f64>,
    /// Prices of models, in place of the built-in ones.
    pub prices: Option<toml::Table>,
    /// Allowed categories.
    pub categories: Option<Vec<String>>,
    /// What to keep and never to keep, in prose.
    pub instructions: Option<String>,
    /// How vectors are made.
    pub embedding: Option<EmbeddingSettings>,
    /// Whether a log is kept of who changes, exports and erases memories.
    pub audit: Option<bool>,
    /// In which form diagnostics are written.
    pub log_format: Option<LogFormat>,
    /// What the guard keeps out.
    pub guard: Option<PartialGuard>,
    /// What is remembered, told and kept.
    pub memory: Option<PartialMemory>,
}

pub(super) fn read(path: &Path) -> Result<Partial, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        ConfigError::Parse { path: path.to_owned(), reason: format!("line {line}: {}", explained(error.message())) }
    })
}

/// Names what replaced a key of an earlier version; any other message stays as it is.
fn explained(message: &str) -> String {
    let key = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    key.and_then(replacement).unwrap_or_else(|| message.to_owned())
}

/// A repository that somebody else wrote must not decide where logs are sent or kept.
pub(super) fn refuse_in_projects(partial: &Partial, path: &Path, user: &Path) -> Result<(), ConfigError> {
    let set = [
        ("db", partial.db.is_some()),
        ("base_url", partial.base_url.is_some()),
        ("api_key_env", partial.api_key_env.is_some()),
        ("max_cost", partial.max_cost.is_some()),
        ("max_tokens", partial.max_tokens.is_some()),
        ("max_cost_per_day", partial.max_cost_per_day.is_some()),
        ("prices", partial.prices.is_some()),
        ("embedding", partial.embedding.is_some()),
        ("audit", partial.audit.is_some()),
    ];
    let for_all = partial.memory.as_ref().and_then(PartialMemory::for_all_projects);
    match set.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key).or(for_all) {
        Some(key) => Err(ConfigError::NotForProjects { path: path.to_owned(), key, user: user.to_owned() }),
        None => Ok(()),
    }
}

/// The person's own file is no project's; to name one there would make one project of all.
pub(super) fn refuse_for_everything(partial: &Partial, path: &Path) -> Result<(), ConfigError> {
    let reason = format!("project names one project; set it in the {PROJECT_FILE} of its folder");
    let refused = ConfigError::Parse { path: path.to_owned(), reason };
    if partial.project.is_some() { Err(refused) } else { Ok(()) }
}

pub(super) fn from_environment(lookup: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, Partial)> {
    let text = |name: &'static str| lookup(name).filter(|value| !value.trim().is_empty()).map(|value| (name, value));
    let mut layers = Vec::new();
    if let Some((name, value)) = text("AFTERTHOUGHT_DB") {
        layers.push((name, Partial { db: Some(value.into()), ..Partial::default() }));
    }
    if let Some((name, value)) = text("AFTERTHOUGHT_NAMESPACE") {
        layers.push((name, Partial { namespace: Some(value), ..Partial::default() }));
    }
    if let Some((name, value)) = text("OPENAI_BASE_URL") {
        layers.push((name, Partial { base_url: Some(value), ..Partial::default() }));
    }
    if let Some((name, value)) = text("AFTERTHOUGHT_MODEL") {
        layers.push((name, Partial { model: Some(value), ..Partial::default() }));
    }
    if let Some((name, value)) = text("AFTERTHOUGHT_AUDIT") {
        let is_off = ["0", "false", "no", "off"].contains(&value.trim().to_lowercase().as_str());
        layers.push((name, Partial { audit: Some(!is_off), ..Partial::default() }));
    }
    let embedding = EmbeddingSettings::from_environment(lookup).into_iter();
    layers.extend(embedding.map(|(name, set)| (name, Partial { embedding: Some(set), ..Partial::default() })));
    layers
}
