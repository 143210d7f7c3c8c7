//! The structure of a reply: the type that is parsed, and the schema that is sent, which is derived from the type.
//!
//! An empty field costs as much as a useful one, so the schema that is sent requires only a few fields in every entry.
//! Strict mode has no optional fields, so fields that apply only to some entries are in a list of objects, `more`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::llm::ReplySchema;
use crate::memory::{Audience, Episode, MemoryType};
use crate::schema::{constants, schema_of};

/// One memory as the model proposes it. The evidence comes first, so that the model derives the words from it and not
/// the other way round. The model reads the meaning of the fields in `prompts/extract/system.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Proposal {
    /// Numbers of the messages that the memory is based on, with the quoted message first.
    pub messages: Vec<i64>,
    /// Verbatim words of the first of these messages.
    pub quote: String,
    /// How the memory is known.
    pub basis: Basis,
    /// Kind of remembering.
    #[serde(rename = "type")]
    pub memory_type: MemoryType,
    /// One of the task's categories.
    pub category: String,
    /// A few words.
    pub title: String,
    /// One self-contained sentence.
    pub content: String,
    /// Topic tag.
    pub subject: Option<String>,
    /// Words to search by.
    pub tags: Vec<String>,
    /// Normalised attribute.
    pub key: Option<String>,
    /// Value of the attribute.
    pub value: Option<String>,
    /// The people or agents for whom the memory is true.
    pub audience: Audience,
    /// 1–10.
    pub importance: i64,
    /// The first year, month or day at which the memory is true.
    pub from: Option<String>,
    /// The last year, month or day at which the memory is true.
    pub to: Option<String>,
    /// The date on which the memory stops being useful; absent if it lasts.
    pub expires: Option<String>,
    /// Number of the known memory that can no longer be true.
    pub replaces: Option<i64>,
    /// Details of a problem that somebody worked on.
    pub episode: Option<Episode>,
    /// The steps of a procedural memory.
    pub procedure: Option<Steps>,
}

/// How a memory is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Basis {
    /// A person stated the memory.
    Stated,
    /// An assistant proposed the memory, and a person confirmed it.
    Confirmed,
    /// The memory follows from what a person said.
    Implied,
}

/// The structured part of a procedural memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the names are those of the reply")]
pub(crate) struct Steps {
    /// Short name.
    pub name: String,
    /// The purpose of the procedure.
    pub description: String,
    /// Situations in which the procedure applies.
    pub triggers: Vec<String>,
    /// Steps in order.
    pub steps: Vec<String>,
}

/// The fields of every entry in a reply.
const ALWAYS: &[&str] = &["messages", "quote", "category", "content", "tags", "importance"];
/// The fields that only some entries have; each group is a separate object.
const WHERE_THEY_APPLY: &[&[&str]] = &[
    &["key", "value"],
    &["from"],
    &["to"],
    &["from", "to"],
    &["expires"],
    &["replaces"],
    &["audience"],
    &["basis"],
    &["type"],
    &["title"],
    &["episode"],
    &["procedure"],
];
/// The fields of a procedure that follow from its entry.
const OF_THE_ENTRY: &[&str] = &["name", "description"];

/// Returns the schema of a reply in the form in which it is sent, allowing only `categories`.
///
/// The schema contains only constructs that strict mode accepts. Every object is closed and requires all its
/// properties, and there are no references, bounds, formats or descriptions.
#[must_use]
pub(crate) fn reply_schema(categories: &[String]) -> ReplySchema {
    let whole = whole_entry(&json!(categories));
    let one = |name: &&str| {
        let mut shape = without_null(&whole["properties"][*name]);
        if let Some(Value::Object(fields)) = shape.get_mut("properties").filter(|_| *name == "procedure") {
            fields.retain(|field, _| !OF_THE_ENTRY.contains(&field.as_str()));
            shape = closed(fields.clone());
        }
        ((*name).to_owned(), shape)
    };
    let object = |names: &&[&str]| closed(names.iter().map(one).collect());
    let more: Vec<Value> = WHERE_THEY_APPLY.iter().map(object).collect();
    let mut entry: Map<String, Value> = ALWAYS.iter().map(one).collect();
    entry.insert("more".into(), json!({"type": "array", "items": {"anyOf": more}}));
    let list = json!({"type": "array", "items": closed(entry)});
    ReplySchema { name: "memories".into(), schema: closed(Map::from_iter([("memories".to_owned(), list)])) }
}

/// Returns the schema of one entry with every field, for a reply to a request that specified `sent`.
#[must_use]
pub(crate) fn entry_schema(sent: &ReplySchema) -> Value {
    whole_entry(&sent.schema["properties"]["memories"]["items"]["properties"]["category"]["enum"])
}

/// Returns the schema of [`Proposal`]; a field that may be absent is a union with `null`.
fn whole_entry(categories: &Value) -> Value {
    let mut schema = schema_of::<Proposal>();
    make_strict(&mut schema);
    // Categories are settings of a run, so the derived schema cannot contain them.
    schema["properties"]["category"] = json!({"type": "string", "enum": categories});
    schema
}

/// Returns an object that requires these properties and allows no others.
fn closed(properties: Map<String, Value>) -> Value {
    let names: Vec<&String> = properties.keys().collect();
    let (names, closed) = (json!(names), Value::Bool(false));
    let fields = [
        ("type", json!("object")),
        ("required", names),
        ("properties", Value::Object(properties)),
        ("additionalProperties", closed),
    ];
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns the shape of a field that is present.
fn without_null(shape: &Value) -> Value {
    let mut shape = shape.clone();
    if let Some(object) = shape.pointer_mut("/anyOf/0") {
        return object.take();
    }
    if let Some(one) = shape["type"].get(0).cloned() {
        shape["type"] = one;
    }
    shape
}

/// Keywords that strict mode accepts. All others are removed before sending.
const STRICT_KEYWORDS: &[&str] = &["type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"];

fn make_strict(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if let Some(variants) = object.remove("oneOf") {
        object.extend(enum_of_constants(&variants));
    }
    // Strict mode rejects a whole request for one unknown keyword, such as `minimum` or `description`.
    object.retain(|keyword, _| STRICT_KEYWORDS.contains(&keyword.as_str()));
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(make_strict);
        // Strict mode has no optional properties, so properties that may be absent are nullable.
        let names: Vec<Value> = properties.keys().cloned().map(Value::String).collect();
        object.insert("required".into(), Value::Array(names));
        object.insert("additionalProperties".into(), Value::Bool(false));
    }
    if let Some(items) = object.get_mut("items") {
        make_strict(items);
    }
    split_nullable_object(object);
    if let Some(Value::Array(variants)) = object.get_mut("anyOf") {
        variants.iter_mut().for_each(make_strict);
    }
}

/// An object that may be `null` is generated with two types. More servers accept it if it is written as two
/// alternatives.
fn split_nullable_object(object: &mut Map<String, Value>) {
    if object.get("type") == Some(&json!(["object", "null"])) {
        object["type"] = json!("object");
        let inner = std::mem::take(object);
        object.insert("anyOf".into(), json!([inner, {"type": "null"}]));
    }
}

/// Documented enums are generated as `oneOf` constants, but strict mode requires a plain list.
fn enum_of_constants(variants: &Value) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("string")), ("enum".to_owned(), json!(constants(variants)))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_schema_is_strict_and_small() {
        let schema = reply_schema(&["fact".into(), "decision".into()]);
        insta::assert_snapshot!(serde_json::to_string_pretty(&schema.schema).unwrap());
        let tokens = crate::tokens::count(&schema.schema.to_string());
        assert!(tokens < 1_000, "{tokens}");
    }

    #[test]
    fn every_object_is_closed_and_requires_all_its_properties() {
        fn walk(value: &Value, objects: &mut usize) {
            if let Some(properties) = value.get("properties").and_then(Value::as_object) {
                *objects += 1;
                assert_eq!(value["additionalProperties"], false);
                assert_eq!(value["required"], json!(properties.keys().collect::<Vec<_>>()));
            }
            match value {
                Value::Object(fields) => fields.values().for_each(|field| walk(field, objects)),
                Value::Array(values) => values.iter().for_each(|value| walk(value, objects)),
                _ => {}
            }
        }
        let mut objects = 0;
        walk(&reply_schema(&["fact".into()]).schema, &mut objects);
        assert_eq!(objects, 4 + WHERE_THEY_APPLY.len());
    }
}
