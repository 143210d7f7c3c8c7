//! Reads the layers of the settings, and applies them from the weakest to the strongest.

use std::path::{Path, PathBuf};

use super::reference::replacement;
use super::trust::{check, stricter};
use super::{Config, ConfigError, Folders, Layer, PROJECT_FILE, Partial, PartialGuard, ProjectFile, Setting};
use super::{TrustedFiles, is_news};

impl Config {
    /// Returns the settings from the files, from `environment` (a function that returns the value of a variable), and
    /// from `flags`.
    ///
    /// `explicit` is a file given by `--config`, which must exist and is read instead of the user's own file. The
    /// project's file is the nearest `PROJECT_FILE` in `directory` or above it that the user has trusted.
    ///
    /// # Errors
    /// `ConfigError`, with the name of the faulty file or layer.
    pub fn load(
        folders: &Folders,
        directory: &Path,
        explicit: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<String>,
        flags: Partial,
    ) -> Result<Self, ConfigError> {
        let mut config = Self { db: Setting::default(folders.default_db.clone()), ..Self::default() };
        let user = explicit.unwrap_or(&folders.user_file);
        // A file that the user specified must exist, whereas the default file may be missing.
        if explicit.is_some() || user.exists() {
            let (partial, _) = read(user)?;
            if partial.project.is_some() {
                // With `project` in the user's file, all conversations would belong to one project.
                let reason = format!(
                    "`project` applies to a single project; set it in the {PROJECT_FILE} of that project's folder"
                );
                return Err(ConfigError::Parse { path: user.to_owned(), reason });
            }
            config.lay(partial, &Layer::User(user.to_owned()));
        }
        let (file, ignored) = TrustedFiles::in_state(&folders.state).nearest(directory.ancestors());
        // Settings are also read before diagnostics are enabled. A warning that is not printed then does not count as
        // reported.
        if let Some(warning) = ignored.filter(|text| tracing::enabled!(tracing::Level::WARN) && is_news(text)) {
            tracing::warn!("{warning}");
        }
        if let Some(file) = file {
            config.add_project(&file, user)?;
        }
        for (name, partial) in from_environment(environment) {
            config.lay(partial, &Layer::Environment(name));
        }
        config.lay(flags, &Layer::Flag);
        config.check()?;
        Ok(config)
    }

    /// Adds the values that a project's file may set. `user` is the user's own file.
    ///
    /// # Errors
    /// `ConfigError`, if the file is faulty or sets what only its user may set.
    pub(crate) fn add_project(&mut self, file: &ProjectFile, user: &Path) -> Result<(), ConfigError> {
        let (partial, table) = parse(&file.path, &file.text)?;
        check(file, &table, user)?;
        self.lay(stricter(partial, self), &Layer::Project(file.path.clone()));
        Ok(())
    }

    /// Adds the paths that the projects of `paths` deny in files that the user has trusted, so that a run from another
    /// folder does not read them either.
    ///
    /// # Errors
    /// `ConfigError`, if such a file is faulty.
    pub(crate) fn deny_as_projects_do(&mut self, folders: &Folders, paths: &[PathBuf]) -> Result<(), ConfigError> {
        let trusted = TrustedFiles::in_state(&folders.state);
        for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
            let Some(file) = trusted.nearest(path.ancestors()).0 else { continue };
            let (partial, _) = parse(&file.path, &file.text)?;
            let guard = PartialGuard { deny: partial.guard.deny, ..PartialGuard::default() };
            self.lay(Partial { guard, ..Partial::default() }, &Layer::Project(file.path));
        }
        Ok(())
    }

    pub(super) fn lay(&mut self, mut partial: Partial, layer: &Layer) {
        // The lists are joined before they are applied, since a project may only exclude more and never less.
        partial.guard = self.guard.joined(partial.guard, layer);
        self.apply(partial, layer);
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.memory.check()?;
        let is_namespace = self.namespace.value.is_none() || self.namespace().is_some();
        let allowed = "one to eight names joined by '/', e.g. global or project/shop";
        self.namespace.must("namespace", is_namespace, allowed)?;
        self.jobs.must("jobs", (1..=256).contains(&self.jobs.value), "between 1 and 256")?;
        let is_window = (500..=200_000).contains(&self.window_tokens.value);
        self.window_tokens.must("window_tokens", is_window, "between 500 and 200000")?;
        self.timeout_seconds.must("timeout_seconds", self.timeout_seconds.value > 0, "at least 1")?;
        let dimensions = &self.embedding.dimensions;
        let is_length = dimensions.value.is_none_or(|number| (1..=65_536).contains(&number));
        dimensions.must("embedding.dimensions", is_length, "between 1 and 65536")?;
        self.categories.must("categories", !self.categories.value.is_empty(), "a list of at least one name")
    }
}

/// Reads a settings file, and returns it both as typed settings and as a TOML table.
fn read(path: &Path) -> Result<(Partial, toml::Table), ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    parse(path, &text)
}

pub(super) fn parse(path: &Path, text: &str) -> Result<(Partial, toml::Table), ConfigError> {
    let parsed = toml::from_str(text).and_then(|partial| Ok((partial, toml::from_str(text)?)));
    parsed.map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        // The parser reports an unknown key only in its message.
        let key = error.message().strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        let replaced = key.and_then(|key| replacement(key, &Config::documentation()));
        let reason = replaced.unwrap_or_else(|| error.message().to_owned());
        ConfigError::Parse { path: path.to_owned(), reason: format!("line {line}: {reason}") }
    })
}

fn from_environment(lookup: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, Partial)> {
    type Setter = fn(&mut Partial, String);
    let variables: [(&'static str, Setter); 7] = [
        ("AFTERTHOUGHT_DB", |partial, value| partial.db = Some(value.into())),
        ("AFTERTHOUGHT_NAMESPACE", |partial, value| partial.namespace = Some(Some(value))),
        ("OPENAI_BASE_URL", |partial, value| partial.base_url = Some(Some(value))),
        ("AFTERTHOUGHT_MODEL", |partial, value| partial.model = Some(Some(value))),
        ("AFTERTHOUGHT_AUDIT", |partial, value| {
            // Any value except a clear "no" turns the log on, because a typing error must not silently turn an audit
            // off.
            let is_off = ["0", "false", "no", "off"].contains(&value.trim().to_lowercase().as_str());
            partial.audit = Some(!is_off);
        }),
        ("AFTERTHOUGHT_EMBEDDING_MODEL", |partial, value| partial.embedding.model = Some(Some(value))),
        ("AFTERTHOUGHT_EMBEDDING_BASE_URL", |partial, value| partial.embedding.base_url = Some(Some(value))),
    ];
    let set = variables.into_iter().filter_map(|(name, setter)| {
        let value = lookup(name).filter(|value| !value.trim().is_empty())?;
        let mut partial = Partial::default();
        setter(&mut partial, value);
        Some((name, partial))
    });
    set.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{EmbeddingProvider, EmbeddingSettings, ExtractorChoice, GuardSettings, GuardTable};
    use crate::config::{PartialEmbedding, Treatment, trust};

    fn folders(root: &Path) -> Folders {
        Folders { user_file: root.join("user.toml"), default_db: root.join("memories.db"), state: root.join("state") }
    }

    /// Writes the file of a project, and trusts it.
    fn trusted_file(folder: &Path, text: &str) {
        std::fs::write(folder.join(PROJECT_FILE), text).unwrap();
        trust(&folder.join("state"), folder);
    }

    #[test]
    fn stronger_layers_win_and_are_named() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("repo/src");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(root.path().join("user.toml"), "model = \"a\"\njobs = 9\nwindow_tokens = 900").unwrap();
        std::fs::write(root.path().join("repo/afterthought.toml"), "jobs = 3").unwrap();
        trust(&root.path().join("state"), &root.path().join("repo"));
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
        trusted_file(root.path(), "base_url = \"http://elsewhere/v1\"");
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
            (
                "[memory]\nstorage_adapter = \"sqlite\"",
                "line 2: `storage_adapter` is no longer a setting; the scheme of `db`",
            ),
            ("[memory.extraction]\nmodel = \"m\"", "line 2: `model` belongs at the top of the file or in the table"),
            ("[memory.extraction]\nautoExtract = false", "line 2: `autoExtract` is called `auto_extract`"),
            ("[guard]\nemails = \"redact\"", "line 2: `emails` is now an entry in the list `redact` or `drop`"),
            ("[memory.brief]\nlong_term = 3", "line 1: `brief` is no longer a table; write `max_tokens` under"),
            ("[memory.lifecycle]\npurge_days = 3", "line 1: `lifecycle` is no longer a table"),
            ("[embedding]\nquery_prefix = \"q\"", "line 2: `query_prefix` is no longer a setting"),
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
            ("window_tokens = 500", "window_tokens"),
            ("[memory.retention]\nmax_memories_per_namespace = 1", "memory.retention"),
            ("[embedding]\nmodel = \"m\"", "embedding"),
        ] {
            trusted_file(root.path(), text);
            let loaded = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default());
            assert!(loaded.unwrap_err().to_string().contains(&format!("must not set {key}:")), "{text}");
        }
    }

    #[test]
    fn a_project_keeps_logs_from_a_model_and_sends_none_to_one() {
        let root = tempfile::tempdir().unwrap();
        let load = |user: &str, project: &str| {
            std::fs::write(root.path().join("user.toml"), user).unwrap();
            trusted_file(root.path(), project);
            Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default())
        };
        let extractor = |user: &str, project: &str| load(user, project).unwrap().extractor.value;
        assert_eq!(extractor("extractor = \"rules\"", "extractor = \"llm\""), ExtractorChoice::Rules);
        assert_eq!(extractor("extractor = \"rules\"", "extractor = \"auto\""), ExtractorChoice::Rules);
        assert_eq!(extractor("", "extractor = \"rules\""), ExtractorChoice::Rules);
        for key in ["namespace", "model"] {
            let error = load("", &format!("{key} = \"project/shop\"")).unwrap_err().to_string();
            assert!(error.contains(&format!("must not set {key}:")), "{error}");
        }
    }

    #[test]
    fn a_project_can_only_keep_more_out() {
        let root = tempfile::tempdir().unwrap();
        let user = "[guard]\nredact = [\"cards\", \"ibans\", \"ids\", \"emails\"]\ndeny = [\"~/client/**\"]\ndeny_files = [\"*.pem\"]";
        std::fs::write(root.path().join("user.toml"), user).unwrap();
        let project = "[guard]\nredact = []\ndrop = [\"phones\"]\ndeny = [\"secret\"]\ndeny_files = [\"a.txt\"]";
        trusted_file(root.path(), project);
        let config = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap();
        let expected = GuardSettings { emails: Treatment::Redact, phones: Treatment::Drop, ..GuardSettings::default() };
        assert_eq!(config.guard.treatments(), expected);
        assert_eq!(config.guard.deny.value, ["~/client/**", "secret"]);
        assert_eq!(config.guard.deny_files.value, ["*.pem", "a.txt"]);
    }

    #[test]
    fn a_project_lowers_limits_and_raises_none() {
        let root = tempfile::tempdir().unwrap();
        let load = |jobs: usize, share: f64, kinds: &str| {
            trusted_file(
                root.path(),
                &format!(
                    "jobs = {jobs}\ncategories = {kinds}\n[memory.extraction]\nmin_messages_for_extraction = {jobs}\n\
                     [memory.retrieval]\nmin_importance_for_retrieval = {share}\nmax_tokens = {jobs}00\n\
                     max_memories_in_prompt = {jobs}"
                ),
            );
            Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap()
        };
        let (strict, plain) = (load(3, 0.9, "[\"fact\", \"gossip\"]"), Config::default());
        assert_eq!((strict.jobs.value, strict.categories.value), (3, vec!["fact".to_owned()]));
        assert_eq!(strict.memory.extraction.min_messages_for_extraction.value, 3);
        let retrieval = strict.memory.retrieval;
        assert_eq!((retrieval.max_tokens.value, retrieval.max_memories_in_prompt.value), (300, 3));
        assert!(retrieval.min_importance_for_retrieval.value > 0.8);
        let loose = load(99, 0.1, "[\"gossip\"]");
        assert_eq!((loose.jobs, loose.categories), (plain.jobs, plain.categories));
        assert_eq!(loose.memory.retrieval, plain.memory.retrieval);
        assert_eq!(load(1, 0.3, "[\"fact\"]").memory.extraction, plain.memory.extraction);
    }

    #[test]
    fn a_project_is_named_in_its_own_file_alone() {
        let root = tempfile::tempdir().unwrap();
        trusted_file(root.path(), "project = \"shop\"");
        let load = || Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default());
        assert_eq!(load().unwrap().namespace(), None);
        std::fs::write(root.path().join("user.toml"), "project = \"shop\"").unwrap();
        let error = load().unwrap_err().to_string();
        assert!(error.contains("set it in the afterthought.toml of that project's folder"), "{error}");
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
        std::fs::write(&path, "jobs = 2\ndeny = [\"x\"]").unwrap();
        let error = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap_err();
        assert!(error.to_string().ends_with("line 2: `deny` belongs in the table [guard]"), "{error}");
        std::fs::write(&path, "jobs = 0").unwrap();
        let error = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("jobs is 0 ({}); it must be between 1 and 256", path.display()));
    }

    #[test]
    fn an_embedding_model_that_is_named_is_used_unless_it_is_switched_off() {
        let rows = [
            ("", EmbeddingProvider::None),
            ("model = 'n'", EmbeddingProvider::OpenAi),
            ("base_url = 'http://127.0.0.1:1/v1'", EmbeddingProvider::OpenAi),
            ("provider = 'openai'", EmbeddingProvider::OpenAi),
            ("provider = 'none'\nmodel = 'm'", EmbeddingProvider::None),
        ];
        for (text, expected) in rows {
            let mut settings = EmbeddingSettings::default();
            settings.apply(toml::from_str(text).unwrap(), &Layer::Flag);
            assert_eq!(settings.provider(), expected, "{text}");
        }
        assert!(toml::from_str::<PartialEmbedding>("provider = 'onnx'").is_err());
        assert!(toml::from_str::<PartialEmbedding>("api_key = 'k'").is_err());
    }

    #[test]
    fn a_stronger_layer_sets_its_own_values_only() {
        let mut settings = EmbeddingSettings::default();
        settings.apply(toml::from_str("model = 'm'\ndimensions = 8").unwrap(), &Layer::Flag);
        settings.apply(toml::from_str("model = 'n'").unwrap(), &Layer::Flag);
        assert_eq!((settings.model.value.as_deref(), settings.dimensions.value), (Some("n"), Some(8)));
    }

    #[test]
    fn a_project_switches_memory_off_and_not_on() {
        let root = tempfile::tempdir().unwrap();
        let load = |user: &str, project: &str| {
            std::fs::write(root.path().join("user.toml"), user).unwrap();
            trusted_file(root.path(), project);
            let loaded = Config::load(&folders(root.path()), root.path(), None, &|_| None, Partial::default()).unwrap();
            (loaded.memory.enabled.value, loaded.memory.extraction.auto_extract.value)
        };
        let spelled = |on: bool| format!("[memory]\nenabled = {on}\n[memory.extraction]\nauto_extract = {on}");
        assert_eq!(load(&spelled(false), &spelled(true)), (false, false));
        assert_eq!(load("", &spelled(false)), (false, false));
    }

    #[test]
    fn one_kind_of_personal_data_is_treated_otherwise_for_one_run() {
        let mut guard = GuardTable::default();
        guard.change("emails=drop").unwrap();
        guard.change("cards = keep").unwrap();
        let expected = GuardSettings { emails: Treatment::Drop, cards: Treatment::Keep, ..GuardSettings::default() };
        assert_eq!(guard.treatments(), expected);
        assert!(guard.change("mails=drop").is_err() && guard.change("emails=hide").is_err());
    }
}
