//! The table of settings: what `config show`, `config init` and the reference page print.

use std::fmt::Write as _;

use super::{Config, Layer};

/// One setting, as people read about it.
#[derive(Debug, Clone, Copy)]
pub struct SettingInfo {
    /// Full name, e.g. `memory.brief.max_tokens`.
    pub key: &'static str,
    /// A value as TOML: the default, or an example where there is none.
    pub value: &'static str,
    /// Whether `value` is the default.
    pub is_default: bool,
    /// What it does, in one line.
    pub about: &'static str,
}

const fn set(key: &'static str, value: &'static str, about: &'static str) -> SettingInfo {
    SettingInfo { key, value, is_default: true, about }
}

const fn unset(key: &'static str, value: &'static str, about: &'static str) -> SettingInfo {
    SettingInfo { key, value, is_default: false, about }
}

/// Every setting of the user's file, in the order of the reference.
#[rustfmt::skip]
pub const SETTINGS: &[SettingInfo] = &[
    unset("db", "\"/path/to/memories.db\"", "Database file; AFTERTHOUGHT_DB"),
    unset("namespace", "\"project/shop\"", "Namespace for everything, instead of one per project; AFTERTHOUGHT_NAMESPACE"),
    set("extractor", "\"auto\"", "Extract with the model (llm), the offline rules (rules), or the model if one is configured (auto)"),
    unset("model", "\"gpt-4.1-mini\"", "Name of the model; AFTERTHOUGHT_MODEL"),
    unset("base_url", "\"http://localhost:11434/v1\"", "OpenAI-compatible server; OPENAI_BASE_URL"),
    set("api_key_env", "\"OPENAI_API_KEY\"", "Environment variable that holds the key"),
    set("timeout_seconds", "120", "Seconds until a request is given up and sent again"),
    set("jobs", "4", "Requests in flight"),
    set("window_tokens", "8000", "Tokens of conversation in one request"),
    unset("max_cost", "1.0", "Dollars that one run may spend"),
    unset("max_tokens", "2000000", "Tokens that one run may use"),
    unset("max_cost_per_day", "5.0", "Dollars that all runs of one day may spend"),
    unset("prices", "{ \"my-model\" = { prompt = 0.25, completion = 2.0 } }", "Dollars per million tokens, for models without a built-in price"),
    set("categories", "[\"fact\", \"preference\", \"decision\", \"convention\", \"project\", \"task\", \"note\", \"solution\", \"mistake\", \"pattern\", \"workflow\", \"profile\"]", "Allowed categories"),
    unset("instructions", "\"Keep what I say about my customers. Never keep salaries.\"", "What to keep and never to keep, in prose, for the model"),
    set("audit", "false", "Keep a log of who changes, exports and erases memories: ids and counts, no text; AFTERTHOUGHT_AUDIT"),
    set("log_format", "\"text\"", "Diagnostics on standard error as text or json; AFTERTHOUGHT_LOG_FORMAT"),
    unset("embedding.provider", "\"none\"", "Search by meaning: openai, or none to turn it off; openai if a model or server is named"),
    unset("embedding.model", "\"nomic-embed-text\"", "Embedding model; AFTERTHOUGHT_EMBEDDING_MODEL"),
    unset("embedding.base_url", "\"http://localhost:11434/v1\"", "Server with /embeddings; AFTERTHOUGHT_EMBEDDING_BASE_URL"),
    unset("embedding.api_key_env", "\"EMBEDDING_API_KEY\"", "Environment variable that holds its key, if another than api_key_env"),
    unset("embedding.dimensions", "256", "Numbers per vector, where the server can shorten them"),
    unset("embedding.document_prefix", "\"passage: \"", "Text put before a memory, for models that want one"),
    unset("embedding.query_prefix", "\"query: \"", "Text put before a query, for models that want one"),
    set("guard.cards", "\"redact\"", "Payment cards: keep, redact, or drop what rests on them"),
    set("guard.ibans", "\"redact\"", "Bank accounts"),
    set("guard.ids", "\"redact\"", "National identity, tax and insurance numbers"),
    set("guard.emails", "\"keep\"", "Email addresses"),
    set("guard.phones", "\"keep\"", "Phone numbers"),
    set("guard.addresses", "\"keep\"", "Street addresses"),
    set("guard.deny", "[]", "Logs and projects that are never read, as glob patterns"),
    unset("guard.deny_files", "[\".env\", \"*.pem\"]", "Files whose content no model sees, instead of the built-in list"),
    set("memory.enabled", "true", "Whether hooks read and inject anything; commands always work"),
    set("memory.extraction.auto_extract", "true", "Whether hooks and `log watch` extract sessions"),
    set("memory.extraction.extraction_mode", "\"after_conversation\"", "When: after_conversation, or during_conversation for after each answer too"),
    set("memory.extraction.min_messages_for_extraction", "3", "Fewest messages of a session that is extracted"),
    set("memory.retention.max_memories_per_namespace", "10000", "Most active memories of a namespace; 0 for no limit"),
    set("memory.retention.auto_delete_after_days", "0", "Days after which unimportant memories are retired; 0 for never"),
    set("memory.retention.auto_delete_min_importance", "0.3", "Importance below which they are"),
    set("memory.retrieval.max_memories_in_prompt", "0", "Most memories in a brief; 0 for what its sections hold, or 10 for a query"),
    set("memory.retrieval.min_importance_for_retrieval", "0.3", "Least importance of a memory in a brief"),
    set("memory.retrieval.included_types", "[\"semantic\", \"episodic\", \"procedural\"]", "Types of memories in a brief"),
    set("memory.brief.max_tokens", "2000", "Most tokens of a brief"),
    set("memory.brief.max_characters", "10000", "Most characters of a brief, up to 10000"),
    set("memory.brief.standing", "10", "Most preferences, conventions and pinned memories"),
    set("memory.brief.long_term", "20", "Most long-term memories"),
    set("memory.brief.short_term", "10", "Most short-term memories"),
    set("memory.lifecycle.semantic_half_life_days", "180.0", "Days without use after which confidence in a fact is halved; 0 for never"),
    set("memory.lifecycle.episodic_half_life_days", "30.0", "The same for events"),
    set("memory.lifecycle.procedural_half_life_days", "365.0", "The same for procedures"),
    set("memory.lifecycle.min_confidence", "0.05", "Confidence below which a memory is no longer recalled; 0 for never"),
    set("memory.lifecycle.superseded_days", "180", "Days after which superseded memories are retired; 0 for never"),
    set("memory.lifecycle.duplicate_days", "7", "Days after which the lesser of two identical memories is retired; 0 for never"),
    set("memory.lifecycle.expired_days", "30", "Days after which expired short-term memories are retired; 0 for never"),
    set("memory.lifecycle.purge_days", "30", "Days after which forgotten and retired memories are purged"),
];

/// Settings of a project's `afterthought.toml` that the user's file does not have.
pub const PROJECT_SETTINGS: &[SettingInfo] = &[unset(
    "project",
    "\"shop\"",
    "Project of the conversations in this folder; folders that name the same one share it",
)];

/// Keys of earlier versions, and what to write instead.
const FORMER: &[(&str, &str)] = &[
    ("temperature", "is no longer a setting; remove it"),
    ("extraction_model", "is now `model`, at the top of the file"),
    ("extractionModel", "is now `model`, at the top of the file"),
    ("storage_adapter", "is now `provider` under [embedding]: \"openai\", or \"none\" for search by words alone"),
    ("storageAdapter", "is now `provider` under [embedding]: \"openai\", or \"none\" for search by words alone"),
    ("folder", "is no longer a setting; name a server with `base_url` under [embedding]"),
];

/// Returns what replaced a key of an earlier version, as one line; `None` if there never was one.
pub(super) fn replacement(key: &str) -> Option<String> {
    let former = FORMER.iter().find(|(name, _)| *name == key).map(|(_, now)| (*now).to_owned());
    let snake = key.chars().fold(String::new(), |mut text, letter| {
        if letter.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
        text
    });
    let is_camel = snake != key && SETTINGS.iter().any(|one| one.key.rsplit('.').next() == Some(snake.as_str()));
    let now = former.or_else(|| is_camel.then(|| format!("is now `{snake}`")))?;
    Some(format!("`{key}` {now}"))
}

/// Returns a settings file with every setting as a comment.
#[must_use]
pub fn template() -> String {
    let mut text =
        "# Settings of afterthought. A project's afterthought.toml, environment variables and options on the \
                    command line\n# override them. A commented line shows the default, or an example.\n"
            .to_owned();
    let mut table = "";
    for one in SETTINGS {
        let (own, name) = one.key.rsplit_once('.').unwrap_or(("", one.key));
        if own != table {
            table = own;
            write!(text, "\n# [{own}]\n").expect("a string takes it");
        }
        write!(text, "# {}\n# {name} = {}\n", one.about, one.value).expect("a string takes it");
    }
    text
}

/// Returns the reference page of all settings.
#[must_use]
pub fn reference() -> String {
    let mut text = "# Settings\n\nThis page is generated: `AFTERTHOUGHT_UPDATE=1 cargo test settings_page` writes it anew.\n\n\
                    Settings come from built-in defaults, your settings file, the nearest `afterthought.toml` in or above the \
                    working directory, environment variables, and the command line; later ones override earlier ones.\n\
                    `afterthought config show` prints the settings in force and where each comes from; `afterthought config \
                    init` writes a file to start from. A dot stands for a table: `memory.brief.max_tokens` is `max_tokens` \
                    under `[memory.brief]`.\n\n| Setting | Default | |\n|---|---|---|\n"
        .to_owned();
    for one in SETTINGS {
        let default = if one.is_default { format!("`{}`", one.value) } else { String::new() };
        writeln!(text, "| `{}` | {default} | {} |", one.key, one.about).expect("a string takes it");
    }
    text.push_str(
        "\nA project's file has one more, and may not set where data goes, what it costs, or what is kept:\n\n",
    );
    text.push_str("| Setting | |\n|---|---|\n");
    for one in PROJECT_SETTINGS {
        writeln!(text, "| `{}` | {} |", one.key, one.about).expect("a string takes it");
    }
    text
}

impl Config {
    /// Returns each setting by its full name, with its value as JSON and the layer that it comes from.
    #[must_use]
    pub fn each(&self) -> Vec<(&'static str, serde_json::Value, &Layer)> {
        macro_rules! row {
            ($key:literal, $setting:expr) => {
                ($key, serde_json::to_value(&$setting.value).unwrap_or_default(), &$setting.layer)
            };
            ($key:literal, $value:expr, $layer:expr) => {
                ($key, serde_json::to_value(&$value).unwrap_or_default(), $layer)
            };
        }
        let (embedding, guard) = (&self.embedding.value, &self.guard.value);
        let (of_embedding, of_guard) = (&self.embedding.layer, &self.guard.layer);
        let mut all = vec![
            row!("db", self.db),
            row!("namespace", self.namespace),
            row!("extractor", self.extractor),
            row!("model", self.model),
            row!("base_url", self.base_url),
            row!("api_key_env", self.api_key_env),
            row!("timeout_seconds", self.timeout_seconds),
            row!("jobs", self.jobs),
            row!("window_tokens", self.window_tokens),
            row!("max_cost", self.max_cost),
            row!("max_tokens", self.max_tokens),
            row!("max_cost_per_day", self.max_cost_per_day),
            row!("prices", self.prices),
            row!("categories", self.categories),
            row!("instructions", self.instructions),
            row!("audit", self.audit),
            row!("log_format", self.log_format),
            row!("embedding.provider", embedding.provider, of_embedding),
            row!("embedding.model", embedding.model, of_embedding),
            row!("embedding.base_url", embedding.base_url, of_embedding),
            row!("embedding.api_key_env", embedding.api_key_env, of_embedding),
            row!("embedding.dimensions", embedding.dimensions, of_embedding),
            row!("embedding.document_prefix", embedding.document_prefix, of_embedding),
            row!("embedding.query_prefix", embedding.query_prefix, of_embedding),
            row!("guard.cards", guard.cards, of_guard),
            row!("guard.ibans", guard.ibans, of_guard),
            row!("guard.ids", guard.ids, of_guard),
            row!("guard.emails", guard.emails, of_guard),
            row!("guard.phones", guard.phones, of_guard),
            row!("guard.addresses", guard.addresses, of_guard),
            row!("guard.deny", self.deny),
            row!("guard.deny_files", self.deny_files),
        ];
        all.extend(self.memory.each());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Folders, Partial};
    use super::*;

    fn defaults() -> Config {
        let folders = Folders { user_file: "none.toml".into(), default_db: "memories.db".into() };
        let folder = tempfile::tempdir().unwrap();
        Config::load(&folders, folder.path(), None, &|_| None, Partial::default()).unwrap()
    }

    #[test]
    fn the_table_names_every_setting_and_its_default() {
        let config = defaults();
        let keys: Vec<&str> = config.each().into_iter().map(|(key, ..)| key).collect();
        assert_eq!(keys, SETTINGS.iter().map(|one| one.key).collect::<Vec<_>>());
        for (info, (_, value, _)) in SETTINGS.iter().zip(config.each()).filter(|(info, _)| info.is_default) {
            let written: toml::Table = toml::from_str(&format!("value = {}", info.value)).unwrap();
            assert_eq!(serde_json::to_value(&written["value"]).unwrap(), value, "{}", info.key);
        }
    }

    #[test]
    fn the_template_is_a_settings_file_once_its_lines_are_uncommented() {
        let is_setting = |line: &&str| line.starts_with('[') || line.split_whitespace().nth(1) == Some("=");
        let text = template();
        let set: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).filter(is_setting).collect();
        let partial: Partial = toml::from_str(&set.join("\n")).unwrap();
        assert_ne!(partial, Partial::default());
    }

    #[test]
    fn the_settings_page_is_what_the_table_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/settings.md");
        if std::env::var_os("AFTERTHOUGHT_UPDATE").is_some() {
            std::fs::write(path, reference()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), reference(), "AFTERTHOUGHT_UPDATE=1 writes the page anew");
    }

    #[test]
    fn keys_of_earlier_versions_name_their_replacement() {
        let replaced = replacement;
        assert_eq!(replaced("extraction_model").unwrap(), "`extraction_model` is now `model`, at the top of the file");
        assert_eq!(replaced("autoExtract").unwrap(), "`autoExtract` is now `auto_extract`");
        assert_eq!(replaced("modle"), None);
    }
}
