//! Settings from five layers: defaults < user file < project file < environment < flags; each value knows its layer.

mod embedding;
mod error;
mod folders;
mod layers;
mod memory;
mod privacy;
mod table;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::memory::{CATEGORIES, Namespace};

pub use embedding::{EmbeddingProvider, EmbeddingSettings};
pub use error::ConfigError;
pub use folders::Folders;
pub use layers::Partial;
pub use memory::{
    BriefSettings, ExtractionMode, ExtractionSettings, LifecycleSettings, MemorySettings, Occasion, PartialBrief,
    PartialExtraction, PartialLifecycle, PartialMemory, PartialRetention, PartialRetrieval, RetentionSettings,
    RetrievalSettings, Unread,
};
pub use privacy::{DENIED_FILES, GuardSettings, PartialGuard, Treatment};
pub use table::{PROJECT_SETTINGS, SETTINGS, SettingInfo, reference, template};

use layers::{from_environment, read, refuse_for_everything, refuse_in_projects};

/// Name of the settings file of a project, looked for in the working directory and above it.
pub const PROJECT_FILE: &str = "afterthought.toml";

/// Where a value was set, from weakest to strongest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Built in.
    Default,
    /// The user's own file.
    User(PathBuf),
    /// The project's file.
    Project(PathBuf),
    /// The environment variable of this name.
    Environment(&'static str),
    /// The command line.
    Flag,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User(path) | Self::Project(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "${name}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}

/// A setting and the layer that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    /// The value in force.
    pub value: T,
    /// Where it was set.
    pub layer: Layer,
}

impl<T> Setting<T> {
    const fn default(value: T) -> Self {
        Self { value, layer: Layer::Default }
    }

    fn set(&mut self, value: Option<T>, layer: &Layer) {
        if let Some(value) = value {
            *self = Self { value, layer: layer.clone() };
        }
    }
}

/// Which extractor reads the windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtractorChoice {
    /// The model where one is configured, else the rules.
    Auto,
    /// The model; an error where none is configured.
    Llm,
    /// The offline rules.
    Rules,
}

/// In which form diagnostics are written to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for people.
    Text,
    /// An object a line, with the time.
    Json,
}

/// Settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Path of the database.
    pub db: Setting<PathBuf>,
    /// Namespace for everything read; `None`: one by project.
    pub namespace: Setting<Option<Namespace>>,
    /// Which extractor.
    pub extractor: Setting<ExtractorChoice>,
    /// Name of the model; `None`: the client's default.
    pub model: Setting<Option<String>>,
    /// Base URL of the server; `None`: `OpenAI`'s.
    pub base_url: Setting<Option<String>>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Setting<String>,
    /// Seconds that one attempt may take.
    pub timeout_seconds: Setting<u64>,
    /// Calls in flight.
    pub jobs: Setting<usize>,
    /// Tokens of conversation in one window.
    pub window_tokens: Setting<usize>,
    /// Most dollars that one run may spend.
    pub max_cost: Setting<Option<f64>>,
    /// Most tokens that one run may spend.
    pub max_tokens: Setting<Option<u64>>,
    /// Most dollars that all runs of one day may spend.
    pub max_cost_per_day: Setting<Option<f64>>,
    /// Prices of models, in place of the built-in ones; `llm::Prices` reads them.
    pub prices: Setting<toml::Table>,
    /// Allowed categories.
    pub categories: Setting<Vec<String>>,
    /// What to keep and never to keep, in prose.
    pub instructions: Setting<Option<String>>,
    /// How vectors are made.
    pub embedding: Setting<EmbeddingSettings>,
    /// What is done with personal data.
    pub guard: Setting<GuardSettings>,
    /// Paths of logs and of projects that are never opened, of all layers together.
    pub deny: Setting<Vec<String>>,
    /// Names of files whose content is shown to no model.
    pub deny_files: Setting<Vec<String>>,
    /// Whether a log is kept of who changes, exports and erases memories.
    pub audit: Setting<bool>,
    /// In which form diagnostics are written.
    pub log_format: Setting<LogFormat>,
    /// What is remembered, told and kept.
    pub memory: MemorySettings,
}

impl Config {
    /// Returns the settings that follow from the files, `environment` (by variable name) and `flags`.
    ///
    /// `explicit` is a file given by `--config`, read in place of the user's own; it must exist. The project's file is
    /// the nearest [`PROJECT_FILE`] in `directory` or above it.
    ///
    /// # Errors
    /// [`ConfigError`], naming the file or layer at fault.
    pub fn load(
        folders: &Folders,
        directory: &Path,
        explicit: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<String>,
        flags: Partial,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::defaults(folders);
        let user = explicit.unwrap_or(&folders.user_file);
        if explicit.is_some() || user.exists() {
            let partial = read(user)?;
            refuse_for_everything(&partial, user)?;
            config.apply(partial, &Layer::User(user.to_owned()))?;
        }
        if let Some(path) = directory.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file()) {
            let partial = read(&path)?;
            refuse_in_projects(&partial, &path, user)?;
            config.apply(partial, &Layer::Project(path))?;
        }
        for (name, partial) in from_environment(environment) {
            config.apply(partial, &Layer::Environment(name))?;
        }
        config.apply(flags, &Layer::Flag)?;
        config.check()?;
        Ok(config)
    }

    fn defaults(folders: &Folders) -> Self {
        Self {
            db: Setting::default(folders.default_db.clone()),
            namespace: Setting::default(None),
            extractor: Setting::default(ExtractorChoice::Auto),
            model: Setting::default(None),
            base_url: Setting::default(None),
            api_key_env: Setting::default("OPENAI_API_KEY".to_owned()),
            timeout_seconds: Setting::default(120),
            jobs: Setting::default(4),
            window_tokens: Setting::default(8_000),
            max_cost: Setting::default(None),
            max_tokens: Setting::default(None),
            max_cost_per_day: Setting::default(None),
            prices: Setting::default(toml::Table::new()),
            categories: Setting::default(CATEGORIES.iter().map(|&name| name.to_owned()).collect()),
            instructions: Setting::default(None),
            embedding: Setting::default(EmbeddingSettings::default()),
            guard: Setting::default(GuardSettings::default()),
            deny: Setting::default(Vec::new()),
            deny_files: Setting::default(DENIED_FILES.iter().map(|&name| name.to_owned()).collect()),
            audit: Setting::default(false),
            log_format: Setting::default(LogFormat::Text),
            memory: MemorySettings::default(),
        }
    }

    fn apply(&mut self, partial: Partial, layer: &Layer) -> Result<(), ConfigError> {
        let out_of_range = |value: String| ConfigError::OutOfRange {
            key: "namespace",
            value,
            layer: layer.clone(),
            allowed: "one to eight names joined by '/', e.g. global or project/shop",
        };
        let namespace = partial.namespace.map(|text| text.parse().map_err(|_| out_of_range(text))).transpose()?;
        self.db.set(partial.db, layer);
        self.namespace.set(namespace.map(Some), layer);
        self.extractor.set(partial.extractor, layer);
        self.model.set(partial.model.map(Some), layer);
        self.base_url.set(partial.base_url.map(Some), layer);
        self.api_key_env.set(partial.api_key_env, layer);
        self.timeout_seconds.set(partial.timeout_seconds, layer);
        self.jobs.set(partial.jobs, layer);
        self.window_tokens.set(partial.window_tokens, layer);
        self.max_cost.set(partial.max_cost.map(Some), layer);
        self.max_tokens.set(partial.max_tokens.map(Some), layer);
        self.max_cost_per_day.set(partial.max_cost_per_day.map(Some), layer);
        self.prices.set(partial.prices, layer);
        self.categories.set(partial.categories, layer);
        self.instructions.set(partial.instructions.map(Some), layer);
        self.audit.set(partial.audit, layer);
        self.log_format.set(partial.log_format, layer);
        if let Some(embedding) = partial.embedding {
            self.embedding.set(Some(embedding.over(self.embedding.value.clone())), layer);
        }
        if let Some(guard) = partial.guard {
            self.apply_guard(guard, layer);
        }
        if let Some(memory) = partial.memory {
            self.memory.apply(memory, layer);
        }
        Ok(())
    }

    /// A project's file comes with a repository that somebody else wrote, so it can only keep more out.
    fn apply_guard(&mut self, mut partial: PartialGuard, layer: &Layer) {
        let is_project = matches!(layer, Layer::Project(_));
        if let Some(more) = partial.deny.take() {
            let deny = [self.deny.value.clone(), more].concat();
            self.deny.set(Some(deny), layer);
        }
        if let Some(names) = partial.deny_files.take() {
            let names = if is_project { [self.deny_files.value.clone(), names].concat() } else { names };
            self.deny_files.set(Some(names), layer);
        }
        if partial.kinds().into_iter().any(|(_, set)| set.is_some()) {
            self.guard.set(Some(partial.over(self.guard.value, is_project)), layer);
        }
    }

    /// Whether memories are recalled by their meaning, too: an embedding model is configured.
    #[must_use]
    pub fn recalls_by_meaning(&self) -> bool {
        self.embedding.value.provider() != EmbeddingProvider::None
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.memory.check()?;
        in_range("jobs", &self.jobs, (1..=256).contains(&self.jobs.value), "between 1 and 256")?;
        let window = &self.window_tokens;
        in_range("window_tokens", window, (500..=200_000).contains(&window.value), "between 500 and 200000")?;
        in_range("timeout_seconds", &self.timeout_seconds, self.timeout_seconds.value > 0, "at least 1")?;
        let dimensions = self.embedding.value.dimensions.unwrap_or(1);
        let dimensions = Setting { value: dimensions, layer: self.embedding.layer.clone() };
        in_range("embedding.dimensions", &dimensions, (1..=65_536).contains(&dimensions.value), "between 1 and 65536")?;
        let categories = Setting { value: self.categories.value.join(" "), layer: self.categories.layer.clone() };
        in_range("categories", &categories, !self.categories.value.is_empty(), "a list of at least one name")
    }
}

fn in_range<T: ToString>(
    key: &'static str,
    setting: &Setting<T>,
    ok: bool,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    if ok {
        return Ok(());
    }
    Err(ConfigError::OutOfRange { key, value: setting.value.to_string(), layer: setting.layer.clone(), allowed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(root: &Path) -> Folders {
        Folders { user_file: root.join("user.toml"), default_db: root.join("memories.db") }
    }

    #[test]
    fn stronger_layers_win_and_are_named() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("repo/src");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(root.path().join("user.toml"), "model = \"a\"\njobs = 2\nwindow_tokens = 900").unwrap();
        std::fs::write(root.path().join("repo/afterthought.toml"), "jobs = 3\nwindow_tokens = 1000").unwrap();
        let environment = |name: &str| (name == "AFTERTHOUGHT_MODEL").then(|| "b".to_owned());
        let flags = Partial { window_tokens: Some(2_000), ..Partial::default() };
        let config = Config::load(&folders(root.path()), &inner, None, &environment, flags).unwrap();
        assert_eq!(config.model, Setting { value: Some("b".into()), layer: Layer::Environment("AFTERTHOUGHT_MODEL") });
        assert_eq!(
            config.jobs,
            Setting { value: 3, layer: Layer::Project(root.path().join("repo/afterthought.toml")) }
        );
        assert_eq!(config.window_tokens, Setting { value: 2_000, layer: Layer::Flag });
        assert_eq!(config.timeout_seconds.layer, Layer::Default);
    }

    #[test]
    fn a_project_cannot_redirect_logs() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(PROJECT_FILE), "base_url = \"http://elsewhere/v1\"").unwrap();
        let error = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap_err();
        assert!(error.to_string().contains("must not set base_url"), "{error}");
    }

    #[test]
    fn meaning_takes_part_where_a_model_is_named_unless_it_is_switched_off() {
        let root = tempfile::tempdir().unwrap();
        let model = "[embedding]\nmodel = \"m\"\n";
        for (text, expected) in [("", false), (model, true), (&format!("{model}provider = \"none\""), false)] {
            std::fs::write(root.path().join("user.toml"), text).unwrap();
            let loaded = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default());
            assert_eq!(loaded.unwrap().recalls_by_meaning(), expected, "{text}");
        }
    }

    #[test]
    fn a_key_of_an_earlier_version_names_its_replacement() {
        let root = tempfile::tempdir().unwrap();
        for (text, expected) in [
            ("temperature = 0.3", "line 1: `temperature` is no longer a setting; remove it"),
            ("[memory]\nstorage_adapter = \"sqlite\"", "line 2: `storage_adapter` is now `provider` under [embedding]"),
            ("[memory.extraction]\nautoExtract = false", "line 2: `autoExtract` is now `auto_extract`"),
        ] {
            std::fs::write(root.path().join("user.toml"), text).unwrap();
            let loaded = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default());
            let error = loaded.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_project_decides_nothing_about_memories_of_others() {
        let root = tempfile::tempdir().unwrap();
        for (text, key) in [
            ("[memory.retention]\nmax_memories_per_namespace = 1", "memory.retention"),
            ("[memory.lifecycle]\npurge_days = 0", "memory.lifecycle"),
        ] {
            std::fs::write(root.path().join(PROJECT_FILE), text).unwrap();
            let loaded = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default());
            assert!(loaded.unwrap_err().to_string().contains(&format!("must not set {key}:")), "{text}");
        }
    }

    #[test]
    fn a_project_can_only_keep_more_out() {
        let root = tempfile::tempdir().unwrap();
        let user = "[guard]\nemails = \"redact\"\ndeny = [\"~/client/**\"]\ndeny_files = [\"*.pem\"]";
        std::fs::write(root.path().join("user.toml"), user).unwrap();
        let project = "[guard]\nemails = \"keep\"\nphones = \"drop\"\ncards = \"keep\"\ndeny = [\"secret\"]\ndeny_files = [\"a.txt\"]";
        std::fs::write(root.path().join(PROJECT_FILE), project).unwrap();
        let config = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap();
        let expected = GuardSettings { emails: Treatment::Redact, phones: Treatment::Drop, ..GuardSettings::default() };
        assert_eq!(config.guard.value, expected);
        assert_eq!(config.deny.value, ["~/client/**", "secret"]);
        assert_eq!(config.deny_files.value, ["*.pem", "a.txt"]);
    }

    #[test]
    fn a_project_is_named_in_its_own_file_alone() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(PROJECT_FILE), "project = \"shop\"").unwrap();
        let load = || Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default());
        assert_eq!(load().unwrap().namespace.value, None);
        std::fs::write(root.path().join("user.toml"), "project = \"shop\"").unwrap();
        let error = load().unwrap_err().to_string();
        assert!(error.contains("set it in the afterthought.toml of its folder"), "{error}");
    }

    #[test]
    fn bad_settings_name_the_file_line_and_key() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("user.toml");
        std::fs::write(&path, "jobs = 2\nmodle = \"x\"").unwrap();
        let error = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("cannot understand settings {}: line 2", path.display())),
            "{error}"
        );
        std::fs::write(&path, "jobs = 0").unwrap();
        let error = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("jobs is 0 ({}); it must be between 1 and 256", path.display()));
    }
}
