//! Settings from five layers, from weakest to strongest: defaults, user file, project file, environment, flags. Each
//! value is stored with its layer; `load` reads the layers.

#[cfg(feature = "serve")]
mod edit;
mod guard;
mod load;
mod memory;
mod reference;
mod setting;
mod trust;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::memory::{CATEGORIES, Namespace};
pub(crate) use crate::text::address::printable_address;

#[cfg(feature = "serve")]
pub(crate) use edit::save;
pub(crate) use guard::PartialGuard;
pub use guard::{DENIED_FILES, GuardSettings, GuardTable, Treatment};
pub use memory::MemorySettings;
pub(crate) use memory::{ExtractionMode, PartialMemory};
pub(crate) use reference::template;
pub use setting::Layer;
pub(crate) use setting::{ConfigError, Setting, SettingInfo};
#[cfg(test)]
pub(crate) use trust::trust;
pub(crate) use trust::{ProjectFile, TrustedFiles, is_news};

use setting::settings;

/// Name of the settings file of a project, which is searched for in the working directory and above it.
pub(crate) const PROJECT_FILE: &str = "afterthought.toml";

/// The extractor that reads the windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum ExtractorChoice {
    /// The model if one is configured, and otherwise the rules.
    Auto,
    /// The model. It is an error if no model is configured.
    Llm,
    /// The offline rules.
    Rules,
}

/// Form of the diagnostics on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines of text for people.
    Text,
    /// One JSON object per line, with the time.
    Json,
}

/// Source of the vectors for search by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingProvider {
    /// There are no vectors, and search uses only words.
    None,
    /// A server with an OpenAI-compatible `POST /embeddings`, such as Ollama, vLLM or llama.cpp.
    OpenAi,
}

settings!(
    /// The table `[embedding]`.
    EmbeddingSettings, PartialEmbedding, "embedding.", {
    /// Search by meaning: `openai` (the default if a model or server is set), or `none` to turn search by meaning off
    provider: Option<EmbeddingProvider> = None, like "\"none\"";
    /// Embedding model; `AFTERTHOUGHT_EMBEDDING_MODEL`
    model: Option<String> = None, like "\"nomic-embed-text\"";
    /// Server with `/embeddings`; `AFTERTHOUGHT_EMBEDDING_BASE_URL`
    base_url: Option<String> = None, like "\"http://localhost:11434/v1\"";
    /// Environment variable that contains the key of this server, if it differs from `api_key_env`
    api_key_env: Option<String> = None, like "\"EMBEDDING_API_KEY\"";
    /// Length of the vectors, if the server can shorten them
    dimensions: Option<usize> = None, like "256";
});

impl EmbeddingSettings {
    /// Returns the provider that is set, or else `OpenAi` if a model or an address is set.
    pub(crate) fn provider(&self) -> EmbeddingProvider {
        let names_server = self.model.value.is_some() || self.base_url.value.is_some();
        let named = if names_server { EmbeddingProvider::OpenAi } else { EmbeddingProvider::None };
        self.provider.value.unwrap_or(named)
    }
}

settings!(
    /// Settings in force.
    Config, Partial, "", {
    /// Database file; `AFTERTHOUGHT_DB`
    db: PathBuf = PathBuf::new(), like "\"/path/to/memories.db\"";
    /// Single namespace for all memories, instead of one namespace per project; `AFTERTHOUGHT_NAMESPACE`
    namespace: Option<String> = None, like "\"project/shop\"";
    /// Name of this folder's project, allowed only in `afterthought.toml`; folders with the same name share one project
    project: Option<String> = None, like "\"shop\"";
    /// Extract with the model (`llm`), the offline rules (`rules`), or the model if one is configured (`auto`)
    extractor: ExtractorChoice = ExtractorChoice::Auto;
    /// Name of the model, or `PROVIDER/MODEL`, such as `anthropic/claude-haiku-4-5` or `claude-code/haiku`; `AFTERTHOUGHT_MODEL`
    model: Option<String> = None, like "\"gpt-4.1-mini\"";
    /// OpenAI-compatible server; `OPENAI_BASE_URL`
    base_url: Option<String> = None, like "\"http://localhost:11434/v1\"";
    /// Environment variable that contains the API key
    api_key_env: String = "OPENAI_API_KEY".to_owned();
    /// Seconds to wait for a reply before a request is sent again
    timeout_seconds: u64 = 120;
    /// Maximum number of requests in flight
    jobs: usize = 4;
    /// Number of conversation tokens in one request
    window_tokens: usize = 8_000;
    /// Maximum cost of one run, in dollars
    max_cost: Option<f64> = None, like "1.0";
    /// Maximum number of tokens that one run may use
    max_tokens: Option<u64> = None, like "2000000";
    /// Maximum cost of all runs in one day, in dollars
    max_cost_per_day: Option<f64> = None, like "5.0";
    /// Prices in dollars per million tokens, for models without a built-in price
    prices: toml::Table = toml::Table::new(), like "{ \"my-model\" = { prompt = 0.25, completion = 2.0 } }";
    /// Allowed categories
    categories: Vec<String> = CATEGORIES.iter().map(|&name| name.to_owned()).collect();
    /// Instructions to the model on what to keep and what never to keep
    instructions: Option<String> = None, like "\"Keep what I say about my customers. Never keep salaries.\"";
    /// Keep a log of who changes, exports and erases memories: ids and counts, no text; `AFTERTHOUGHT_AUDIT`
    audit: bool = false;
    /// Format of diagnostics on standard error, `text` or `json`; `AFTERTHOUGHT_LOG_FORMAT`
    log_format: LogFormat = LogFormat::Text;
} {
    /// The table `[embedding]`.
    embedding: EmbeddingSettings / PartialEmbedding,
    /// The table `[guard]`.
    guard: GuardTable / PartialGuard,
    /// The table `[memory]`.
    memory: MemorySettings / PartialMemory,
});

impl Config {
    /// Returns the namespace for all conversations, or `None` if each project has its own.
    pub(crate) fn namespace(&self) -> Option<Namespace> {
        self.namespace.value.as_deref().and_then(|text| text.parse().ok())
    }

    /// Whether an embedding model is configured, so that memories are also recalled by their meaning.
    pub(crate) fn recalls_by_meaning(&self) -> bool {
        self.embedding.provider() != EmbeddingProvider::None
    }
}

/// Locations of this program's files on the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The user's settings file.
    pub user_file: PathBuf,
    /// The default database.
    pub default_db: PathBuf,
    /// Folder for the program's own data about this machine: trusted files of projects, and the server's token.
    pub state: PathBuf,
}

impl Folders {
    /// Returns the folders of the current user: XDG on Linux, `Application Support` on macOS, `AppData` on Windows.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`].
    pub(crate) fn of_platform() -> Result<Self, ConfigError> {
        use etcetera::app_strategy::{AppStrategy, AppStrategyArgs, choose_native_strategy};
        let arguments = AppStrategyArgs {
            top_level_domain: "dev".into(),
            author: "afterthought".into(),
            app_name: "afterthought".into(),
        };
        let strategy = choose_native_strategy(arguments).map_err(|_| ConfigError::NoHome)?;
        // On Windows, the usual folder for data may be copied to other machines, even while the database is open. The
        // cache is in the folder for data of this machine.
        let data = if cfg!(windows) { strategy.cache_dir().with_file_name("data") } else { strategy.data_dir() };
        Ok(Self {
            user_file: strategy.config_dir().join("config.toml"),
            default_db: data.join("memories.db"),
            // Only Linux has a separate folder for state.
            state: strategy.state_dir().unwrap_or(data),
        })
    }
}
