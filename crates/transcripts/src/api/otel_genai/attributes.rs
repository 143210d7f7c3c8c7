//! Attributes of spans and events: OTLP's typed values as plain JSON, and messages that are spread over many keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::exchange::embedded;

/// Deepest nesting of an attribute's value that is read.
const MAX_DEPTH: usize = 64;

/// The attributes of a span, event, log record or resource, by name.
#[derive(Default)]
pub struct Attributes(BTreeMap<String, Value>);

impl Attributes {
    /// Reads a list of `key` and `value`.
    #[must_use]
    pub fn of(list: &Value) -> Self {
        let pairs = list.as_array().map_or(&[][..], Vec::as_slice).iter();
        Self(
            pairs
                .filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), plain(&pair["value"], MAX_DEPTH))))
                .collect(),
        )
    }

    /// Returns the first of `keys` that is there, parsed where it is JSON in a string.
    #[must_use]
    pub fn value(&self, keys: &[&str]) -> Value {
        let found = keys.iter().find_map(|key| self.0.get(*key)).unwrap_or(&Value::Null);
        found.as_str().and_then(embedded).unwrap_or_else(|| found.clone())
    }

    /// Returns the first of `keys` that is text.
    #[must_use]
    pub fn text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.0.get(*key)?.as_str()).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Whether there is an attribute whose name begins with one of `prefixes`.
    #[must_use]
    pub fn has(&self, prefixes: &[&str]) -> bool {
        self.0.keys().any(|key| prefixes.iter().any(|prefix| key.starts_with(prefix)))
    }

    /// Returns the messages that stand under `<prefix>.<place>.…`, in the order of their places, as objects.
    #[must_use]
    pub fn messages(&self, prefix: &str) -> Vec<Value> {
        let mut messages: BTreeMap<u32, Map<String, Value>> = BTreeMap::new();
        for (key, value) in &self.0 {
            let rest =
                key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once('.'));
            if let Some((place, name)) = rest
                && let Ok(place) = place.parse()
            {
                let name = name.strip_prefix("message.").unwrap_or(name);
                messages.entry(place).or_default().insert(name.to_owned(), value.clone());
            }
        }
        messages.into_values().map(|fields| message(&fields)).collect()
    }
}

/// Puts the fields of a spread message together, e.g. `role`, `contents.0.message_content.text`, `tool_calls.0.name`.
fn message(fields: &Map<String, Value>) -> Value {
    let parts = numbered(fields, "contents").into_values().map(|part| {
        let own = |key: &str| part.get(&format!("message_content.{key}")).cloned().unwrap_or_default();
        let image = part.keys().any(|key| key.starts_with("message_content.image"));
        if image { json!({"type": "image"}) } else { json!({"type": own("type"), "text": own("text")}) }
    });
    let parts: Vec<Value> = parts.collect();
    let calls = numbered(fields, "tool_calls").into_values().map(|call| {
        let named = |name: &str| {
            let found = call.iter().find(|(key, _)| key.rsplit('.').next() == Some(name));
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        json!({"name": named("name"), "arguments": named("arguments")})
    });
    let calls: Vec<Value> = calls.collect();
    let content = fields.get("content").filter(|content| !content.is_null()).cloned();
    // A prompt of parts is written as JSON in a string.
    let content = content.map(|content| content.as_str().and_then(embedded).filter(Value::is_array).unwrap_or(content));
    json!({"role": fields.get("role"), "content": content.unwrap_or(Value::Array(parts)), "tool_calls": calls})
}

/// Returns what stands under `<list>.<place>.…`, by place.
fn numbered(fields: &Map<String, Value>, list: &str) -> BTreeMap<u32, Map<String, Value>> {
    let mut found: BTreeMap<u32, Map<String, Value>> = BTreeMap::new();
    for (key, value) in fields {
        let rest = key.strip_prefix(list).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once('.'));
        if let Some((place, name)) = rest
            && let Ok(place) = place.parse()
        {
            found.entry(place).or_default().insert(name.to_owned(), value.clone());
        }
    }
    found
}

/// Returns a typed value as plain JSON.
#[must_use]
pub fn any_value(value: &Value) -> Value {
    plain(value, MAX_DEPTH)
}

fn plain(value: &Value, depth: usize) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|fields| fields.iter().next()) else { return Value::Null };
    match (kind.as_str(), depth.checked_sub(1)) {
        ("stringValue" | "boolValue" | "doubleValue" | "intValue", _) => inner.clone(),
        ("arrayValue", Some(depth)) => {
            let values = inner["values"].as_array().map_or(&[][..], Vec::as_slice);
            values.iter().map(|value| plain(value, depth)).collect()
        }
        ("kvlistValue", Some(depth)) => {
            let pairs = inner["values"].as_array().map_or(&[][..], Vec::as_slice).iter();
            let pairs = pairs.filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), plain(&pair["value"], depth))));
            Value::Object(pairs.collect())
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values_become_plain_json() {
        let typed = json!({"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": "3"}, {"boolValue": true}, {"bytesValue": "AA"}]}}}]}});
        assert_eq!(any_value(&typed), json!({"a": ["3", true, null]}));
        assert_eq!(any_value(&json!("bare")), Value::Null);
    }

    #[test]
    fn spread_messages_are_put_together_in_the_order_of_their_numbers() {
        let pairs = [
            ("llm.input_messages.10.message.role", "user"),
            ("llm.input_messages.10.message.contents.0.message_content.type", "text"),
            ("llm.input_messages.10.message.contents.0.message_content.text", "last"),
            ("llm.input_messages.9.message.role", "assistant"),
            ("llm.input_messages.9.message.tool_calls.0.tool_call.function.name", "find"),
            ("llm.input_messages.9.message.tool_calls.0.tool_call.function.arguments", "{}"),
            ("llm.input_messages.x.message.role", "user"),
        ];
        let list: Vec<Value> =
            pairs.iter().map(|(key, text)| json!({"key": key, "value": {"stringValue": text}})).collect();
        assert_eq!(
            Attributes::of(&json!(list)).messages("llm.input_messages"),
            [
                json!({"role": "assistant", "content": [], "tool_calls": [{"name": "find", "arguments": "{}"}]}),
                json!({"role": "user", "content": [{"type": "text", "text": "last"}], "tool_calls": []}),
            ]
        );
    }
}
