//! Displays one entry of the history: the changed fields, and how they changed.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::language::Language;
use crate::api::{HistoryEntry, RunId, differences};
use crate::memory::short;

/// Returns the template values of a history entry.
pub(super) fn entry(entry: &HistoryEntry, language: Language) -> Value {
    let mut fields = Vec::new();
    for (name, before, after) in differences(entry) {
        // Parts of the structure are compared one by one. A hash is meaningless to a person.
        let leaves = leaves(&name, before, after).into_iter().filter(|(name, ..)| !name.ends_with("_hash"));
        for (name, before, after) in leaves {
            let [before, after] = [before, after].map(|value| value.map(|value| spelled(language, &name, &value)));
            let label = language
                .text(&format!("structured.{name}"))
                .filter(|_| language.text(&format!("field.{name}")).is_none());
            let label = label.or_else(|| language.text(&format!("field.{name}"))).unwrap_or(&name);
            fields.push(json!({"label": label, "parts": parts(before.as_deref(), after.as_deref())}));
        }
    }
    json!({
        "at": entry.at, "action": entry.action.as_str(), "entity": entry.entity.as_str(),
        "reason": entry.reason.as_deref().map(|reason| language.reason(reason)),
        "undone": entry.undone, "run": entry.run.as_ref().map(RunId::as_str), "memory": entry.memory,
        "other": entry.other, "is_new": entry.before.is_none() && entry.after.is_some(), "fields": fields,
    })
}

type Difference = (String, Option<Value>, Option<Value>);

/// Returns the parts of a field that differ: the field itself unless it is an object.
fn leaves(name: &str, before: Option<Value>, after: Option<Value>) -> Vec<Difference> {
    let is_whole =
        |value: &Option<Value>| value.as_ref().is_some_and(|value| !value.is_object() || value.get("at").is_some());
    if is_whole(&before) || is_whole(&after) {
        return vec![(name.to_owned(), before, after)];
    }
    let names = |side: &Option<Value>| {
        side.as_ref()
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|object| object.keys().cloned())
            .collect::<Vec<_>>()
    };
    let names: BTreeSet<String> = [names(&before), names(&after)].concat().into_iter().collect();
    let part = |side: &Option<Value>, name: &str| side.as_ref()?.get(name).filter(|value| !value.is_null()).cloned();
    let parts = names.iter().map(|name| (name, part(&before, name), part(&after, name)));
    parts
        .filter(|(_, before, after)| before != after)
        .flat_map(|(name, before, after)| leaves(name, before, after))
        .collect()
}

/// Formats the value of a field in the same way as the rest of the page.
pub(super) fn spelled(language: Language, name: &str, value: &Value) -> String {
    let named = |table: &str, text: &str| language.text(&format!("{table}.{text}")).unwrap_or(text).to_owned();
    match value {
        Value::String(text) => match name {
            // Links have a type, too.
            "type" => named(if language.text(&format!("kind.{text}")).is_some() { "kind" } else { "relation" }, text),
            "reason" => language.reason(text),
            "relation_type" => named("relation", text),
            "extraction_method" => named("method", text),
            "outcome" => named("result", text),
            "category" | "status" | "scope" => named(name, text),
            "from" | "to" => short(text).to_owned(),
            "valid_from" | "valid_to" => language.time(text, "day"),
            _ if name.ends_with("_at") => language.time(text, "time"),
            _ => text.clone(),
        },
        Value::Number(number) if matches!(name, "importance" | "confidence") => {
            format!("{:.0}%", number.as_f64().unwrap_or_default() * 100.0)
        }
        Value::Bool(is_so) => named("word", if *is_so { "yes" } else { "no" }),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| spelled(language, name, item)).collect();
            items.join(language.text("word.separator").unwrap_or(", "))
        }
        Value::Object(object) => match object.get("at").and_then(Value::as_str) {
            Some(at) => language.time(at, "time"),
            None => object.iter().map(|(name, value)| spelled(language, name, value)).collect::<Vec<_>>().join(" "),
        },
        Value::Number(number) => number.to_string(),
        Value::Null => String::new(),
    }
}

/// Returns the kept, removed and added parts between two texts, in reading order.
fn parts(before: Option<&str>, after: Option<&str>) -> Vec<Value> {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    // Chinese words are not separated, so characters are compared.
    let diff = if before.contains(' ') && after.contains(' ') {
        TextDiff::from_words(before, after)
    } else if before.is_ascii() || after.is_empty() || before.is_empty() {
        TextDiff::from_lines(before, after)
    } else {
        TextDiff::from_chars(before, after)
    };
    let mut parts: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match parts.last_mut().filter(|(tag, _)| *tag == change.tag()) {
            Some((_, text)) => text.push_str(change.value()),
            None => parts.push((change.tag(), change.value().to_owned())),
        }
    }
    let tag = |tag| match tag {
        ChangeTag::Equal => "same",
        ChangeTag::Delete => "removed",
        ChangeTag::Insert => "added",
    };
    parts.into_iter().map(|(kind, text)| json!({"tag": tag(kind), "text": text})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_that_changed_are_marked() {
        let marked = |before, after| {
            let parts = parts(before, after);
            parts
                .iter()
                .map(|part| format!("{}:{}", part["tag"].as_str().unwrap(), part["text"].as_str().unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            marked(Some("The API runs on Heroku"), Some("The API runs on Fly.io")),
            ["same:The API runs on ", "removed:Heroku", "added:Fly.io"]
        );
        assert_eq!(
            marked(Some("用户住在柏林"), Some("用户住在波尔图")),
            ["same:用户住在", "removed:柏林", "added:波尔图"]
        );
        assert_eq!(marked(Some("active"), Some("superseded")), ["removed:active", "added:superseded"]);
        assert_eq!(marked(None, Some("new")), ["added:new"]);
    }

    #[test]
    fn values_are_spelled_in_words_and_structures_part_by_part() {
        let differ = leaves(
            "structured",
            Some(json!({"situation": "a", "outcome": "failure", "learnings": ["x"], "reasoning": null})),
            Some(json!({"situation": "a", "outcome": "success", "learnings": ["x", "y"]})),
        );
        let words: Vec<(&str, String, String)> = differ
            .iter()
            .map(|(name, before, after)| {
                let say = |value: &Option<Value>| spelled(Language::Chinese, name, value.as_ref().unwrap());
                (name.as_str(), say(before), say(after))
            })
            .collect();
        assert_eq!(words, [("learnings", "x".into(), "x、y".into()), ("outcome", "失败".into(), "成功".into())]);
        for (name, value, english) in [
            ("importance", json!(0.7), "70%"),
            ("pinned", json!(true), "yes"),
            ("type", json!("procedural"), "How-to"),
            ("status", json!("superseded"), "superseded"),
            ("valid_to", json!("2026-04-10T12:00:00Z"), "10 Apr 2026"),
            ("said_at", json!({"at": "2026-04-10T12:00:00Z", "source": "log"}), "10 Apr 2026, 12:00"),
        ] {
            assert!(spelled(Language::English, name, &value).starts_with(english.split(',').next().unwrap()), "{name}");
        }
    }
}
