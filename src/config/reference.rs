//! The generated settings file, the generated reference page, and the keys of earlier versions.

use std::fmt::Write as _;

use super::SettingInfo;
use crate::text::normalise::snake_case;

/// Keys of earlier versions, with their replacements.
const FORMER: &[(&str, &str)] = &[
    ("temperature", "is no longer a setting; remove it"),
    ("extraction_model", "is now called `model`, at the top of the file"),
    ("extractionModel", "is now called `model`, at the top of the file"),
    (
        "storage_adapter",
        "is no longer a setting; the scheme of `db`, at the top of the file, selects it: \"sqlite:FILE\"",
    ),
    (
        "storageAdapter",
        "is no longer a setting; the scheme of `db`, at the top of the file, selects it: \"sqlite:FILE\"",
    ),
    ("folder", "is no longer a setting; set a server with `base_url` under [embedding]"),
    ("document_prefix", "is no longer a setting, because the model determines it; remove it"),
    ("query_prefix", "is no longer a setting, because the model determines it; remove it"),
    ("cards", "is now an entry in the list `redact` or `drop` under [guard]"),
    ("ibans", "is now an entry in the list `redact` or `drop` under [guard]"),
    ("ids", "is now an entry in the list `redact` or `drop` under [guard]"),
    ("emails", "is now an entry in the list `redact` or `drop` under [guard]"),
    ("phones", "is now an entry in the list `redact` or `drop` under [guard]"),
    ("addresses", "is now an entry in the list `redact` or `drop` under [guard]"),
    ("brief", "is no longer a table; write `max_tokens` under [memory.retrieval], and remove its other keys"),
    (
        "lifecycle",
        "is no longer a table; write `superseded_days` and `purge_days` under [memory.retention], and remove its other keys",
    ),
];

/// Returns a line that explains where an unknown key belongs: its new name, or the table that has a setting of this
/// name.
pub(super) fn replacement(key: &str, settings: &[SettingInfo]) -> Option<String> {
    let former = FORMER.iter().find(|(name, _)| *name == key).map(|(_, now)| (*now).to_owned());
    // The first version used camelCase for its keys.
    let snake = snake_case(key);
    let is_camel = snake != key && settings.iter().any(|one| one.key.rsplit('.').next() == Some(snake.as_str()));
    let tables = settings.iter().filter_map(|one| one.key.rsplit_once('.')).filter(|(_, name)| *name == key);
    let top = settings.iter().any(|one| one.key == key).then(|| "at the top of the file".to_owned());
    let places: Vec<String> =
        top.into_iter().chain(tables.map(|(table, _)| format!("in the table [{table}]"))).collect();
    let moved = (!places.is_empty()).then(|| format!("belongs {}", places.join(" or ")));
    let now = former.or_else(|| is_camel.then(|| format!("is called `{snake}`"))).or(moved)?;
    Some(format!("`{key}` {now}"))
}

/// Returns a settings file with every setting as a comment.
pub(crate) fn template(settings: &[SettingInfo]) -> String {
    let mut text = "\
# Settings of afterthought. A project's afterthought.toml, environment variables and options on the command line
# override them. A commented line shows the default, or an example.
"
    .to_owned();
    let mut table = "";
    // A user's file must not specify a project, because all conversations would then belong to this project.
    for one in settings.iter().filter(|one| one.key != "project") {
        let (own, name) = one.key.rsplit_once('.').unwrap_or(("", one.key));
        if own != table {
            table = own;
            write!(text, "\n# [{own}]\n").expect("writing to a String cannot fail");
        }
        write!(text, "# {}\n# {name} = {}\n", one.about, one.value).expect("writing to a String cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Folders, Partial};
    use super::*;

    fn defaults() -> Config {
        let folders = Folders { user_file: "none.toml".into(), default_db: "memories.db".into(), state: "none".into() };
        let folder = tempfile::tempdir().unwrap();
        Config::load(&folders, folder.path(), None, &|_| None, Partial::default()).unwrap()
    }

    #[test]
    fn every_setting_is_documented_with_its_default() {
        let config = defaults();
        let settings = Config::documentation();
        assert!(settings.len() <= 40, "{} settings", settings.len());
        for (info, (key, value, _)) in settings.iter().zip(config.each()) {
            assert_eq!(info.key, key);
            let written: toml::Table = toml::from_str(&format!("value = {}", info.value)).unwrap();
            assert_eq!(serde_json::to_value(&written["value"]).unwrap() == value, info.is_default, "{}", info.key);
        }
    }

    #[test]
    fn the_template_is_a_settings_file_once_its_lines_are_uncommented() {
        let is_setting = |line: &&str| line.starts_with('[') || line.split_whitespace().nth(1) == Some("=");
        let text = template(&Config::documentation());
        let set: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).filter(is_setting).collect();
        let partial: Partial = toml::from_str(&set.join("\n")).unwrap();
        assert_ne!(partial, Partial::default());
    }

    #[test]
    fn the_settings_page_is_what_the_table_says() {
        let (path, page) =
            (concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/settings.md"), reference(&Config::documentation()));
        if std::env::var_os("AFTERTHOUGHT_UPDATE").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), page, "AFTERTHOUGHT_UPDATE=1 writes the page anew");
    }

    #[test]
    fn keys_of_earlier_versions_name_their_replacement() {
        let replaced = |key| replacement(key, &Config::documentation());
        assert_eq!(
            replaced("extraction_model").unwrap(),
            "`extraction_model` is now called `model`, at the top of the file"
        );
        assert_eq!(replaced("autoExtract").unwrap(), "`autoExtract` is called `auto_extract`");
        assert_eq!(replaced("model").unwrap(), "`model` belongs at the top of the file or in the table [embedding]");
        assert_eq!(replaced("modle"), None);
    }

    /// Returns the reference page of all settings.
    fn reference(settings: &[SettingInfo]) -> String {
        let mut text = "\
# Settings

This page is generated: `AFTERTHOUGHT_UPDATE=1 cargo test settings_page` updates it.

Settings come from built-in defaults, your settings file, the nearest `afterthought.toml` in or above the working directory, environment variables, and the command line; later ones override earlier ones.
`afterthought config show` prints the settings in force and where each comes from; `afterthought config init` writes a file to start from. A dot separates a table from its key: `memory.retrieval.max_tokens` is `max_tokens` under `[memory.retrieval]`.

| Setting | Default | |
|---|---|---|
"
    .to_owned();
        for one in settings {
            let default = if one.is_default { format!("`{}`", one.value) } else { String::new() };
            writeln!(text, "| `{}` | {default} | {} |", one.key, one.about).expect("writing to a String cannot fail");
        }
        text.push_str("\nA project's `afterthought.toml` is part of its repository, so it is used only if you own the file and have trusted it: see [projects](projects.md#the-file-of-a-project). The file can make your settings stricter, never looser: it can deny and redact more, allow fewer categories, set `extractor` to `rules`, lower limits, or switch memory off. Looser values have no effect. The file cannot set where data is sent, which model reads the data, which namespace the data belongs to, what runs may cost, or how long memories are kept. Its `instructions` apply only to the logs of its own project.\n");
        text
    }
}
