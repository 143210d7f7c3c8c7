//! The schemas of arguments and answers, in few words and in a form that every client understands.

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// Returns the schema of what a tool takes.
pub(super) fn input_schema<T: JsonSchema>() -> JsonObject {
    plain::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// Returns the schema of what a tool answers.
pub(super) fn output_schema<T: JsonSchema>() -> JsonObject {
    plain::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// Returns the schema of a type as one self-contained object.
fn plain<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(simplify).transform(&mut schema);
    schema.remove("title");
    let mut object = schema.as_object().cloned().unwrap_or_default();
    // Types without a field have none, and clients look for it.
    object.entry("properties").or_insert_with(|| json!({}));
    object
}

/// Spells a choice of words as `enum`, also where it may be null. Clients refuse what they do not know, and models pay for
/// every word: formats such as `uint` are Rust's own, and what each word means stands in the description of the field.
fn simplify(schema: &mut Schema) {
    schema.remove("format");
    if let Some(words) = schema.get("oneOf").and_then(words_of) {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(words));
    }
    if let Some(mut words) = schema.get("anyOf").and_then(Value::as_array).and_then(|choices| or_null(choices)) {
        words.push(Value::Null);
        schema.remove("anyOf");
        schema.insert("type".to_owned(), json!(["string", "null"]));
        schema.insert("enum".to_owned(), Value::Array(words));
    }
}

/// Returns the words of a choice, if it is one among words alone.
fn words_of(choices: &Value) -> Option<Vec<Value>> {
    let word = |choice: &Value| match (choice.get("const"), choice.get("enum")) {
        (Some(word), _) if word.is_string() => Some(vec![word.clone()]),
        (_, Some(Value::Array(words))) if words.iter().all(Value::is_string) => Some(words.clone()),
        _ => None,
    };
    let words: Option<Vec<Vec<Value>>> = choices.as_array()?.iter().map(word).collect();
    Some(words?.concat())
}

/// Returns the words of a choice between words and null. The choice itself may not be simplified yet.
fn or_null(choices: &[Value]) -> Option<Vec<Value>> {
    let [choice, null] = choices else { return None };
    let is_null = null.get("type").is_some_and(|kind| kind == "null");
    let words = choice.get("oneOf").and_then(words_of).or_else(|| words_of(&json!([choice])));
    words.filter(|_| is_null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Scope;

    #[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
    struct Sample {
        /// How long
        scope: Option<Scope>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        limit: usize,
    }

    #[test]
    fn choices_are_words_and_nothing_is_left_to_look_up() {
        let expected = json!({
            "type": "object",
            "properties": {
                "scope": {"description": "How long", "type": ["string", "null"], "enum": ["long_term", "short_term", null]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "limit": {"type": "integer", "minimum": 0},
            },
            "required": ["limit", "scope"],
        });
        let mut schema = output_schema::<Sample>();
        schema["required"].as_array_mut().unwrap().sort_by_key(ToString::to_string);
        assert_eq!(Value::Object(schema), expected);
        assert_eq!(input_schema::<Sample>()["required"], json!(["limit"]));
    }
}
