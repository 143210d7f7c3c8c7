//! Settings: the value and source of each setting, and the form that changes it in the user's file.

use serde_json::{Value, json};

use super::visit::{Reply, Visit};
use crate::api::{ApiError, Memories};
use crate::config::{Config, Layer, save};

/// Shows every setting.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Reply {
    let config = memories.config();
    let mut tables: Vec<(&str, Vec<Value>)> = Vec::new();
    for ((key, value, layer), info) in config.each().into_iter().zip(Config::documentation()) {
        // This setting belongs in the file of a project.
        if key == "project" {
            continue;
        }
        let table = key.rsplit_once('.').map_or("", |(table, _)| table);
        let about = visit.language.about_setting(key).unwrap_or(info.about);
        let row = json!({
            "key": key, "value": spelled(&value), "about": pieces(about), "example": info.value,
            "is_default": info.is_default, "is_switch": value.is_boolean(), "layer": layer_name(layer),
            "source": layer.to_string(),
        });
        match tables.last_mut().filter(|(last, _)| *last == table) {
            Some((_, rows)) => rows.push(row),
            None => tables.push((table, vec![row])),
        }
    }
    let tables: Vec<Value> = tables.into_iter().map(|(name, rows)| json!({"name": name, "rows": rows})).collect();
    Reply::Page("settings", json!({"tables": tables, "file": visit.settings_file.display().to_string()}))
}

/// Writes a setting to the user's file, or removes it.
pub(super) fn change(visit: &Visit) -> Result<Reply, ApiError> {
    let Some(key) = visit.sent("key") else { return Ok(Reply::NotFound) };
    let written = if visit.sent("reset").is_some() { None } else { visit.sent("value") };
    save(&visit.settings_file, key, written)?;
    let said = if written.is_some() { "setting_saved" } else { "setting_reset" };
    Ok(Reply::SettingsChanged(format!("/settings?done={said}")))
}

const fn layer_name(layer: &Layer) -> &'static str {
    match layer {
        Layer::Default => "default",
        Layer::User(_) => "user",
        Layer::Project(_) => "project",
        Layer::Environment(_) => "environment",
        Layer::Flag => "flag",
    }
}

/// Returns a value in the form in which a person would type it.
fn spelled(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(spelled).collect::<Vec<_>>().join(", "),
        Value::Object(table) if table.is_empty() => String::new(),
        Value::Object(_) => toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default(),
        other => other.to_string(),
    }
}

/// Splits `text` at its backquotes, which enclose code.
fn pieces(text: &str) -> Vec<Value> {
    text.split('`').enumerate().map(|(at, text)| json!({"text": text, "is_code": at % 2 == 1})).collect()
}
