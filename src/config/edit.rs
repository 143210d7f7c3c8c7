//! Changes one setting in a settings file, and preserves everything else in the file, including comments.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::load::parse;
use super::{Config, ConfigError, Layer, SettingInfo};
use crate::private;

/// Writes a setting to the user's file or, with `None`, removes it from that file, so that the default applies again.
///
/// `written` is the value as a person types it: text without quotes, a list with commas, or TOML.
///
/// # Errors
/// [`ConfigError`] if there is no such setting, or if the value would make the file invalid; in that case nothing is
/// written.
pub(crate) fn save(path: &Path, key: &str, written: Option<&str>) -> Result<(), ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|source| ConfigError::Read { path: path.to_owned(), source })?,
    };
    let fault = |reason| ConfigError::Parse { path: path.to_owned(), reason };
    let changed = changed(&text, key, written).map_err(fault)?;
    let (partial, _) = parse(path, &changed)?;
    let mut config = Config::default();
    config.lay(partial, &Layer::User(path.to_owned()));
    config.check()?;
    private::rewrite(path, &changed).map_err(|source| ConfigError::Write { path: path.to_owned(), source })
}

/// Returns the text of a file with a setting changed or removed.
fn changed(text: &str, key: &str, written: Option<&str>) -> Result<String, String> {
    let settings = Config::documentation();
    // In the user's file, `project` would assign everything to one project.
    let info = settings.iter().find(|one| one.key == key && key != "project");
    let info = info.ok_or_else(|| format!("there is no setting {key}"))?;
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let (parents, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        let hidden = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let inner = table.entry(part).or_insert_with(hidden);
        table = inner.as_table_like_mut().ok_or_else(|| format!("{part} is not a table"))?;
    }
    match written.map(|written| typed(info, written.trim())).transpose()? {
        None => drop(table.remove(name)),
        Some(mut value) => match table.get_mut(name).and_then(Item::as_value_mut) {
            Some(old) => {
                // The new value keeps the whitespace and the comment around the old value.
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => drop(table.insert(name, Item::Value(value))),
        },
    }
    Ok(document.to_string())
}

/// Converts the written text to a value of the setting's type.
fn typed(info: &SettingInfo, written: &str) -> Result<Value, String> {
    let example: Result<Value, _> = info.value.parse();
    match example {
        Ok(Value::String(_)) => Ok(Value::from(written)),
        Ok(Value::Array(_)) if !written.starts_with('[') => {
            let items = written.split([',', '，', '、', '\n']).map(str::trim);
            Ok(Value::Array(items.filter(|item| !item.is_empty()).collect::<Array>()))
        }
        _ => written.parse().map_err(|_| format!("{} must have a value such as {}", info.key, info.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Mine.\nmodel = \"a\" # the small one\n\n[guard]\n# Ours.\nredact = [\"emails\"]\n";

    #[test]
    fn one_setting_changes_and_comments_stay() {
        let set = |key, written| changed(FILE, key, Some(written)).unwrap();
        assert_eq!(set("model", "b"), FILE.replace("\"a\"", "\"b\""));
        assert_eq!(set("guard.redact", "emails, phones"), FILE.replace("[\"emails\"]", "[\"emails\", \"phones\"]"));
        assert_eq!(set("jobs", "8"), FILE.replace("one\n", "one\njobs = 8\n"));
        let deep = set("memory.retrieval.max_tokens", "900");
        assert_eq!(deep, format!("{FILE}\n[memory.retrieval]\nmax_tokens = 900\n"));
        assert_eq!(changed(FILE, "model", None).unwrap(), "\n[guard]\n# Ours.\nredact = [\"emails\"]\n");
        assert_eq!(changed("", "audit", Some("true")).unwrap(), "audit = true\n");
    }

    #[test]
    fn what_would_not_be_valid_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config/config.toml");
        save(&path, "jobs", Some("3")).unwrap();
        for (key, written, reason) in [
            ("jobs", "0", "between 1 and 256"),
            ("jobs", "many", "a value such as 4"),
            ("extractor", "magic", "unknown variant"),
            ("colour", "red", "there is no setting colour"),
            ("project", "shop", "there is no setting project"),
        ] {
            let error = save(&path, key, Some(written)).unwrap_err().to_string();
            assert!(error.contains(reason), "{key}: {error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "jobs = 3\n");
    }

    #[test]
    fn every_setting_takes_its_own_example() {
        for info in Config::documentation().iter().filter(|one| one.key != "project") {
            let text = changed("", info.key, Some(info.value.trim_matches('"'))).unwrap();
            assert!(parse(Path::new("x"), &text).is_ok(), "{text}");
        }
    }
}
