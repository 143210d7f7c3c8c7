//! Finding the list of memories in what a model answered, whatever it is wrapped in.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::json;

/// Deepest nesting that is read; ours has six levels.
const MAX_DEPTH: usize = 100;
/// Places in a reply at which a document is looked for.
const MAX_STARTS: usize = 200;
/// Texts within texts that are unwrapped.
const MAX_LAYERS: u8 = 4;

/// The entries of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entries {
    /// One value for each memory proposed, unchecked.
    pub items: Vec<Value>,
    /// Whether the document is whole; if not, the last entry may be cut.
    pub whole: bool,
}

/// Returns the entries of `text`: bare, fenced, wrapped in prose or in a text, after thoughts, or cut short.
///
/// Of several documents the last counts, since models draft before they answer. `None` means that there is no list of
/// memories at all; an empty list must be spelled as one.
pub(super) fn entries(text: &str) -> Option<Entries> {
    let text = after_thoughts(text).trim();
    if is_too_deep(text) {
        return None;
    }
    let whole = |items| Entries { items, whole: true };
    if let Ok((value, _)) = json::parse::<Value>(text) {
        return list(value, MAX_LAYERS).map(whole);
    }
    last_document(text)
}

/// Leaves out `<think>…</think>`; thoughts that do not end leave nothing.
fn after_thoughts(text: &str) -> &str {
    let start = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")] {
        if start.starts_with(open) {
            return start.split_once(close).map_or("", |(_, answer)| answer);
        }
    }
    // Some servers swallow the opening tag only.
    match start.split_once("</think>") {
        Some((_, answer)) if !start.starts_with(['{', '[']) => answer,
        _ => text,
    }
}

/// Whether brackets nest so deep that the value could not be dropped without overflowing the stack.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Finds the memories in a parsed document.
fn list(value: Value, layers: u8) -> Option<Vec<Value>> {
    let layers = layers.checked_sub(1)?;
    match value {
        Value::Object(mut object) => match object.remove("memories") {
            Some(Value::Array(items)) => Some(items),
            Some(other) => list(other, layers),
            None if object.contains_key("content") && object.contains_key("quote") => Some(vec![Value::Object(object)]),
            None if object.len() == 1 => {
                let (_, inner) = object.into_iter().next()?;
                list(inner, layers).filter(|items| !items.is_empty() || layers < MAX_LAYERS - 2)
            }
            None => None,
        },
        Value::Array(items) if items.iter().all(Value::is_object) => Some(items),
        Value::String(text) if !is_too_deep(&text) => list(json::parse(text.trim()).ok()?.0, layers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// Returns the last document in `text` that holds a list of memories; one that runs to the end of the text is cut.
fn last_document(text: &str) -> Option<Entries> {
    let (mut found, mut from) = (None, 0);
    for _ in 0..MAX_STARTS {
        let Some(start) = text[from..].find(['{', '[']).map(|offset| from + offset) else { break };
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = stream.next();
        from = start + 1;
        match value {
            Some(Ok(value)) => {
                from = start + stream.byte_offset().max(1);
                let is_empty_array = value.as_array().is_some_and(Vec::is_empty);
                let items = list(value, MAX_LAYERS).filter(|_| !is_empty_array);
                found = items.map(|items| Entries { items, whole: true }).or(found);
            }
            Some(Err(error)) if error.is_eof() => {
                if let Some(cut) = cut_document(&text[start..]) {
                    return Some(cut);
                }
            }
            Some(Err(_)) | None => {}
        }
    }
    found
}

fn cut_document(text: &str) -> Option<Entries> {
    let items = list(json::parse_prefix(text)?, MAX_LAYERS)?;
    // An empty list that is not closed is a cut reply, not an answer of "nothing".
    (!items.is_empty()).then_some(Entries { items, whole: false })
}

/// Returns `item` with what models commonly spell otherwise spelled as `schema`, one memory's schema, asks: numbers
/// given as texts, a lone number for a list, capitals in enums, and `null` for what is absent. Unknown fields are left out.
///
/// In an entry that `may_be_cut` nothing absent is filled in.
pub(super) fn normalised(item: Value, schema: &Value, may_be_cut: bool) -> Value {
    let (Value::Object(mut given), Some(properties)) = (item, schema["properties"].as_object()) else {
        return Value::Null;
    };
    let mut fields = Map::new();
    for (name, shape) in properties {
        let value = match given.remove(name) {
            Some(value) => coerced(value, shape),
            None if may_be_cut => continue,
            None if is_nullable(shape) => Value::Null,
            None if name == "tags" => json!([]),
            None => continue,
        };
        fields.insert(name.clone(), value);
    }
    Value::Object(fields)
}

fn coerced(value: Value, shape: &Value) -> Value {
    match value {
        Value::String(text) if is_nullable(shape) && is_nothing(&text) => Value::Null,
        Value::String(text) if wants(shape, "integer") => integer(&text).map_or(Value::String(text), Value::from),
        Value::String(text) if shape.get("enum").is_some() => Value::String(text.trim().to_lowercase()),
        Value::String(text) if wants(shape, "array") => coerced(json!([text]), shape),
        Value::Number(number) if wants(shape, "array") => json!([number]),
        #[expect(clippy::cast_possible_truncation, reason = "the value is whole and small")]
        Value::Number(number) if wants(shape, "integer") => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 1e9 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        Value::Number(number) if wants(shape, "string") => Value::String(number.to_string()),
        Value::Bool(flag) if wants(shape, "string") => Value::String(flag.to_string()),
        Value::Array(items) if wants(shape, "array") => {
            items.into_iter().map(|item| coerced(item, &shape["items"])).collect()
        }
        Value::Object(fields) if fields.is_empty() && is_nullable(shape) => Value::Null,
        Value::Object(_) if shape.get("anyOf").is_some() => normalised(value, &shape["anyOf"][0], false),
        other => other,
    }
}

fn wants(shape: &Value, name: &str) -> bool {
    match &shape["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    }
}

fn is_nullable(shape: &Value) -> bool {
    wants(shape, "null") || shape["anyOf"].as_array().is_some_and(|all| all.iter().any(|one| wants(one, "null")))
}

fn is_nothing(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || ["null", "none", "n/a", "unknown"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Reads `4`, `[4]` and `K4`.
fn integer(text: &str) -> Option<i64> {
    let bare: Cow<'_, str> = text.trim().trim_matches(['[', ']']).trim_start_matches(['K', 'k', '#']).into();
    bare.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(items: &Value) -> Entries {
        Entries { items: items.as_array().unwrap().clone(), whole: true }
    }

    #[test]
    fn every_wrapping_is_taken_off() {
        let one = json!([{"a": 1}]);
        let long = r#"{"memories":[{"a":1}]}"#;
        let encoded = serde_json::to_string(long).unwrap();
        for text in [
            long.to_owned(),
            format!("\u{feff} {long}\n").replace('\u{feff}', ""),
            format!("```json\n{long}\n```"),
            format!("Here you are:\n```\n{long}\n```\nAnything else? {{}}"),
            format!("Sure! {long} I left out the rest [1]."),
            format!("<think>First {{\"memories\":[]}} or not?</think>\n{long}"),
            format!("no opening tag {{\"memories\":[]}}</think>{long}"),
            format!("Draft {{\"memories\":[]}}, final {long}"),
            format!("{{\"memories\":{}}}", serde_json::to_string(r#"[{"a":1}]"#).unwrap()),
            format!("{{\"result\":{long}}}"),
            r#"{"reasoning":"r","memories":[{"a":1}]}"#.to_owned(),
            r#"[{"a":1}]"#.to_owned(),
            r#"{"facts":[{"a":1}]}"#.to_owned(),
            encoded.clone(),
            serde_json::to_string(&encoded).unwrap(),
        ] {
            assert_eq!(entries(&text), Some(whole(&one)), "{text}");
        }
        let single = r#"{"content":"c","quote":"q"}"#;
        assert_eq!(entries(single), Some(whole(&json!([{"content": "c", "quote": "q"}]))));
    }

    #[test]
    fn only_a_spelled_out_empty_list_is_an_empty_answer() {
        for text in [r#"{"memories":[]}"#, "[]", "```json\n{\"memories\": []}\n```", "Nothing: {\"memories\":[]}"] {
            assert_eq!(entries(text), Some(whole(&json!([]))), "{text}");
        }
        for text in [
            "",
            " ",
            "Nothing worth keeping.",
            "{}",
            "[1]",
            "see [] and {}",
            r#"{"memories":["#,
            "<think>hm",
            "null",
            "42",
        ] {
            assert_eq!(entries(text), None, "{text}");
        }
    }

    #[test]
    fn a_cut_document_keeps_its_entries_and_says_so() {
        let cut = r#"Sure: ```json {"memories":[{"a":1},{"a":2,"b":"cu"#;
        let items = vec![json!({"a": 1}), json!({"a": 2})];
        assert_eq!(entries(cut), Some(Entries { items, whole: false }));
    }

    #[test]
    fn hostile_replies_are_refused_quickly() {
        for text in ["[".repeat(200_000), "{\"a\":".repeat(100_000), "{".repeat(90) + &"[{\"".repeat(100_000)] {
            assert_eq!(entries(&text), None);
        }
    }

    #[test]
    fn common_misspellings_of_values_are_understood() {
        let schema = json!({"properties": {
            "n": {"type": "integer"}, "k": {"type": ["integer", "null"]}, "m": {"type": "array", "items": {"type": "integer"}},
            "s": {"type": ["string", "null"]}, "e": {"type": "string", "enum": ["user"]}, "tags": {"type": "array"},
            "p": {"anyOf": [{"type": "object", "properties": {"x": {"type": ["string", "null"]}}}, {"type": "null"}]},
        }});
        let given = json!({"n": "7", "k": "K2", "m": "[4]", "s": " N/A ", "e": " User", "p": {"y": 1}, "extra": true});
        assert_eq!(
            normalised(given, &schema, false),
            json!({"n": 7, "k": 2, "m": [4], "s": null, "e": "user", "tags": [], "p": {"x": null}})
        );
        assert_eq!(normalised(json!({"n": 7.0}), &schema, true), json!({"n": 7}));
        assert_eq!(normalised(json!("words"), &schema, false), Value::Null);
    }
}
