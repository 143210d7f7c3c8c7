//! The trait that every MCP tool implements, and the table row with its schemas that is derived from it.

use std::fmt;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{ApiError, Memories};
use crate::memory::string_enum;
use crate::text::markup::{harmless, harmless_json};

/// An operation that a client can call.
///
/// The argument type defines the accepted arguments: fields without a default are required, and unknown fields are
/// rejected. Clients receive the answer as data and as text.
pub(in crate::serve) trait MemoryTool {
    /// The arguments of the tool.
    type Arguments: DeserializeOwned + JsonSchema;

    /// The name of the tool.
    const NAME: &'static str;
    /// The display name of the tool.
    const TITLE: &'static str;
    /// A description, for models, of what the tool does and when to use it.
    const DESCRIPTION: &'static str;
    /// The effect of the tool on the memories.
    const EFFECT: Effect;
    /// The profiles that include the tool.
    const PROFILES: &'static [Profile];
    /// The argument that takes a category, if there is one.
    const CATEGORY: Option<&'static str> = None;

    /// Executes the tool.
    ///
    /// # Errors
    /// The reason for the failure, and the remedy.
    fn call(memories: &Memories, arguments: Self::Arguments) -> Result<Value, ApiError>;

    /// Makes the texts of an answer harmless for an agent.
    fn clean(answer: &mut Value) {
        harmless_json(answer);
    }
}

/// The effect of a tool on the memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// No change, except that uses are counted.
    Reads,
    /// Adds something; repeating the call has no further effect.
    Adds,
    /// Changes or removes something; repeating the call has no further effect.
    Changes,
}

/// A tool, as it appears in the table.
pub struct ToolRow {
    /// The name of the tool.
    pub name: &'static str,
    /// The profiles that include the tool.
    pub profiles: &'static [Profile],
    /// The effect of the tool on the memories.
    pub effect: Effect,
    pub(in crate::serve) title: &'static str,
    pub(in crate::serve) description: &'static str,
    category: Option<&'static str>,
    pub(in crate::serve) input: fn() -> JsonObject,
    pub(in crate::serve) call: fn(&Memories, &Value) -> Result<Value, ToolError>,
    pub(in crate::serve) clean: fn(&mut Value),
}

impl ToolRow {
    pub(in crate::serve) const fn of<T: MemoryTool>() -> Self {
        Self {
            name: T::NAME,
            profiles: T::PROFILES,
            effect: T::EFFECT,
            title: T::TITLE,
            description: T::DESCRIPTION,
            category: T::CATEGORY,
            input: input_schema::<T::Arguments>,
            call: call::<T>,
            clean: T::clean,
        }
    }

    /// Returns the tool with another call, for other profiles.
    pub(super) const fn variant(
        self,
        profiles: &'static [Profile],
        call: fn(&Memories, &Value) -> Result<Value, ToolError>,
    ) -> Self {
        Self { profiles, call, ..self }
    }

    /// Returns the tool in the form that clients receive, with the allowed categories.
    pub(super) fn described(&self, categories: &[String]) -> Tool {
        let mut input = (self.input)();
        // The description of the tool says the same, and every client pays for these words.
        input.remove("description");
        if let Some(property) = self.category.and_then(|name| input.get_mut("properties")?.get_mut(name)) {
            // An optional category may also be null.
            let null = (property["type"] != "string").then_some(Value::Null);
            property["enum"] = categories.iter().map(|name| json!(name)).chain(null).collect();
        }
        let reads = self.effect == Effect::Reads;
        let annotations = ToolAnnotations::new()
            .read_only(reads)
            .destructive(self.effect == Effect::Changes)
            .idempotent(true)
            .open_world(false);
        Tool::new(self.name, self.description, Arc::new(input)).with_title(self.title).with_annotations(annotations)
    }
}

impl fmt::Debug for ToolRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRow").field("name", &self.name).field("profiles", &self.profiles).finish_non_exhaustive()
    }
}

/// The reason why a tool failed.
#[derive(Debug, thiserror::Error)]
pub(in crate::serve) enum ToolError {
    /// The arguments do not have the form that the tool expects.
    #[error("{error}; expected arguments: {expected}")]
    Arguments {
        /// What is wrong with the arguments.
        error: String,
        /// The arguments of the tool.
        expected: String,
    },
    /// The operation failed.
    #[error(transparent)]
    Failed(#[from] ApiError),
}

fn call<T: MemoryTool>(memories: &Memories, arguments: &Value) -> Result<Value, ToolError> {
    Ok(T::call(memories, read_arguments(arguments, input_schema::<T::Arguments>)?)?)
}

/// Returns arguments in the form of their type.
///
/// # Errors
/// [`ToolError::Arguments`] if they do not fit.
pub(in crate::serve) fn read_arguments<A: DeserializeOwned>(
    arguments: &Value,
    input: fn() -> JsonObject,
) -> Result<A, ToolError> {
    A::deserialize(arguments).map_err(|error| {
        let (schema, expected) = (Value::Object(input()), takes(&input()));
        // The faults that the schema finds name the field, whereas serde's error usually names only the type, as
        // spelled in Rust.
        let faults = crate::schema::Schema::from_json(&schema).all_faults(arguments);
        ToolError::Arguments { error: if faults.is_empty() { error.to_string() } else { faults.join(", ") }, expected }
    })
}

/// Returns the arguments in a schema, required arguments first.
fn takes(schema: &JsonObject) -> String {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.keys());
    let optional: Vec<&str> = names.map(String::as_str).filter(|name| !required.contains(name)).collect();
    match (required.is_empty(), optional.is_empty()) {
        (true, true) => "no arguments".to_owned(),
        (false, true) => required.join(", "),
        (true, false) => format!("optionally {}", optional.join(", ")),
        (false, false) => format!("{}, and optionally {}", required.join(", "), optional.join(", ")),
    }
}

/// Returns an error with its causes, on one line.
pub(in crate::serve) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Many errors repeat the cause in their own text.
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    // An error may quote a memory.
    harmless(&text)
}

/// Returns the schema of a tool's arguments as one self-contained object.
pub(in crate::serve) fn input_schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let settings = settings.with(|settings| {
        // Many clients do not follow references within a schema.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(simplify).transform(&mut schema);
    schema.remove("title");
    let mut object = schema.as_object().cloned().unwrap_or_default();
    // Types without fields have no `properties`, but clients expect them.
    object.entry("properties").or_insert_with(|| json!({}));
    object
}

/// Writes a choice of words as `enum`, even if the value may be null, and removes details. Clients reject unknown
/// formats, such as `uint`, which is specific to Rust. Every word costs tokens, and the description of the field
/// already explains the meaning of each choice.
pub(in crate::serve) fn simplify(schema: &mut Schema) {
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

/// Returns the words of a choice, if all choices are words.
fn words_of(choices: &Value) -> Option<Vec<Value>> {
    let word = |choice: &Value| match (choice.get("const"), choice.get("enum")) {
        (Some(word), _) if word.is_string() => Some(vec![word.clone()]),
        (_, Some(Value::Array(words))) if words.iter().all(Value::is_string) => Some(words.clone()),
        _ => None,
    };
    let words: Option<Vec<Vec<Value>>> = choices.as_array()?.iter().map(word).collect();
    Some(words?.concat())
}

/// Returns the words of a choice between words and null. The choice itself may not have been simplified yet.
fn or_null(choices: &[Value]) -> Option<Vec<Value>> {
    let [choice, null] = choices else { return None };
    let is_null = null.get("type").is_some_and(|kind| kind == "null");
    let words = choice.get("oneOf").and_then(words_of).or_else(|| words_of(&json!([choice])));
    words.filter(|_| is_null)
}

string_enum!(
    /// A set of tools. No two tools of a profile do the same thing, except in [`Profile::Full`].
    #[derive(Default)]
    Profile, "a profile", {
    /// The five verbs store, recall, update, forget and list, with brief, history and relate; forget accepts filters,
    /// and can be undone.
    #[default]
    Standard = "standard",
    /// Only the five tools of the Base Coat specification, with its arguments.
    Basecoat = "basecoat",
    /// Only the three tools of blockcell, with its arguments.
    Blockcell = "blockcell",
    /// Every tool.
    Full = "full",
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Scope;

    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Sample {
        /// How long
        scope: Option<Scope>,
        #[serde(default)]
        tags: Vec<String>,
        limit: usize,
    }

    #[test]
    fn choices_are_words_and_nothing_is_left_to_look_up() {
        let expected = json!({
            "type": "object",
            "properties": {
                "scope": {"description": "How long", "type": ["string", "null"], "enum": ["long_term", "short_term", null]},
                "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                "limit": {"type": "integer", "minimum": 0},
            },
            "required": ["limit"],
        });
        assert_eq!(Value::Object(input_schema::<Sample>()), expected);
    }
}
