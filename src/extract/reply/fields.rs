//! The fields of an entry, spelled as the schema asks.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// Returns `item` with what models commonly spell otherwise spelled as `schema`, one memory's schema, asks: numbers
/// given as texts, a lone number for a list, capitals in enums, and `null` for what is absent. Unknown fields are left out.
///
/// In an entry that `may_be_cut` nothing absent is filled in.
pub(in super::super) fn normalised(item: Value, schema: &Value, may_be_cut: bool) -> Value {
    let (Value::Object(mut given), Some(properties)) = (item, schema["properties"].as_object()) else {
        return Value::Null;
    };
    let mut fields = Map::new();
    for (name, shape) in properties {
        let value = match taken(&mut given, name) {
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

/// What some models call a field.
const OTHER_NAMES: [(&str, &[&str]); 6] = [
    ("content", &["text", "memory", "fact", "statement"]),
    ("quote", &["evidence", "excerpt", "citation"]),
    ("messages", &["messageids", "message", "messageid", "sources"]),
    ("type", &["memorytype", "kind"]),
    ("from", &["validfrom"]),
    ("to", &["validto", "validuntil"]),
];

/// Takes the field `name` out of `given`, in whatever case or with whatever joint it is written.
fn taken(given: &mut Map<String, Value>, name: &str) -> Option<Value> {
    if let Some(value) = given.remove(name) {
        return Some(value);
    }
    let plain =
        |key: &str| key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let others = OTHER_NAMES.iter().find(|(own, _)| *own == name).map_or(&[][..], |(_, others)| others);
    let key = given.keys().find(|key| plain(key) == name || others.contains(&plain(key).as_str()))?.clone();
    given.remove(&key)
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
