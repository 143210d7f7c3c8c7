//! What every tool is made of: a row of a table, filled in from the types of its arguments and its answer.

use std::fmt;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::schema::{input_schema, output_schema};
use super::{Profile, told};
use crate::api::{ApiError, Memories};

/// Something that a client can have done.
///
/// Its arguments say all that it takes: a field without a default is required, and what is not there is refused. Its
/// answer is what clients get, as data and as text.
pub(super) trait MemoryTool {
    /// What it takes.
    type Arguments: DeserializeOwned + JsonSchema;
    /// What it answers.
    type Answer: Serialize + JsonSchema;
    /// Its name.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// What it does and when to use it, for models.
    const DESCRIPTION: &'static str;
    /// What it does to the memories.
    const EFFECT: Effect;
    /// The profiles that show it.
    const PROFILES: &'static [Profile];
    /// The argument that takes a category, if one does.
    const CATEGORY: Option<&'static str> = None;

    /// Does it.
    ///
    /// # Errors
    /// Why not, and what to do about it.
    fn call(memories: &Memories, arguments: Self::Arguments) -> Result<Self::Answer, ApiError>;
}

/// What a tool does to the memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing; that it was used is counted.
    Reads,
    /// Something is there that was not; doing it again changes nothing more.
    Adds,
    /// Something is different, or gone; doing it again changes nothing more.
    Changes,
}

/// A tool, as it stands in the table.
pub struct ToolRow {
    /// Its name.
    pub name: &'static str,
    /// The profiles that show it.
    pub profiles: &'static [Profile],
    /// What it does to the memories.
    pub effect: Effect,
    title: &'static str,
    description: &'static str,
    category: Option<&'static str>,
    input: fn() -> JsonObject,
    output: fn() -> JsonObject,
    pub(super) call: fn(&Memories, Value) -> Result<Value, String>,
}

impl ToolRow {
    pub(super) const fn of<T: MemoryTool>() -> Self {
        Self {
            name: T::NAME,
            profiles: T::PROFILES,
            effect: T::EFFECT,
            title: T::TITLE,
            description: T::DESCRIPTION,
            category: T::CATEGORY,
            input: input_schema::<T::Arguments>,
            output: output_schema::<T::Answer>,
            call: call::<T>,
        }
    }

    /// Returns the tool as clients see it, with the categories that are allowed.
    pub(super) fn described(&self, categories: &[String]) -> Tool {
        let mut input = (self.input)();
        if let Some(property) = self.category.and_then(|name| input.get_mut("properties")?.get_mut(name)) {
            // One that may be left out may be null, too.
            let null = (property["type"] != "string").then_some(Value::Null);
            property["enum"] = categories.iter().map(|name| json!(name)).chain(null).collect();
        }
        let reads = self.effect == Effect::Reads;
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(reads)
            .destructive(self.effect == Effect::Changes)
            .idempotent(true)
            .open_world(false);
        Tool::new(self.name, self.description, Arc::new(input))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new((self.output)()))
            .with_annotations(annotations)
    }
}

impl fmt::Debug for ToolRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRow").field("name", &self.name).field("profiles", &self.profiles).finish_non_exhaustive()
    }
}

fn call<T: MemoryTool>(memories: &Memories, arguments: Value) -> Result<Value, String> {
    let arguments = serde_json::from_value(arguments)
        .map_err(|error| format!("{error}; it takes {}", takes(&input_schema::<T::Arguments>())))?;
    let answer = T::call(memories, arguments).map_err(|error| told(&error))?;
    Ok(serde_json::to_value(answer).expect("an answer holds nothing that JSON cannot"))
}

/// Returns the arguments that a schema tells of, with what is required first.
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
