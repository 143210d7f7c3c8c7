//! The shape of an answer, and reading it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};

use crate::consolidate::compare::features::Turn;
use crate::consolidate::decide::named::Named;
use transcripts::json;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Relations {
    relations: Vec<Entry>,
}

/// One relation that was named.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct Entry {
    /// Number of the candidate.
    pub(super) memory: usize,
    relation: RelationName,
    /// Number of the known memory that it is to; `null` if it is to none.
    pub(super) to: Option<usize>,
    why: Why,
    #[serde(default)]
    rest: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RelationName {
    Duplicate,
    MoreDetail,
    Overlapping,
    Contradicts,
    Complementary,
    // Models like to call it so.
    #[serde(alias = "new")]
    Unrelated,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Why {
    Changed,
    Corrected,
    Unclear,
}

impl Entry {
    pub(super) fn named(&self) -> Named {
        match self.relation {
            RelationName::Unrelated => Named::Unrelated,
            RelationName::Duplicate => Named::Duplicate,
            RelationName::MoreDetail => Named::MoreDetail,
            RelationName::Overlapping => Named::Overlapping,
            RelationName::Complementary => Named::Complementary,
            RelationName::Contradicts => Named::Contradicts {
                turn: match self.why {
                    Why::Changed => Some(Turn::Changed),
                    Why::Corrected => Some(Turn::Corrected),
                    Why::Unclear => None,
                },
                rest: Some(self.rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned),
            },
        }
    }

    pub(super) fn is_unrelated(&self) -> bool {
        self.relation == RelationName::Unrelated
    }
}

/// Reads all relations that stand whole in `text`, whatever stands around them; one cut short is left out.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let body = text.find('{').map_or("", |start| &text[start..]);
    let value = json::parse_prefix(body.trim_end().trim_end_matches("```"));
    let entries = value.as_ref().and_then(|value| value.get("relations")?.as_array());
    entries.into_iter().flatten().filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
}

/// The schema in the subset that strict mode accepts: no references, every field required, nothing else allowed.
pub(super) fn schema() -> serde_json::Value {
    let mut generator =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.root_schema_for::<Relations>().to_value();
    close(&mut schema);
    schema
}

fn close(schema: &mut serde_json::Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for name in ["$schema", "title", "format", "minimum", "description", "default"] {
        object.remove(name);
    }
    if let Some(fields) = object.get("properties").and_then(|properties| properties.as_object()) {
        let required: Vec<serde_json::Value> = fields.keys().map(|name| name.clone().into()).collect();
        object.insert("required".into(), required.into());
        object.insert("additionalProperties".into(), false.into());
    }
    for nested in ["properties", "items"] {
        match object.get_mut(nested) {
            Some(items) if nested == "items" => close(items),
            Some(fields) => fields.as_object_mut().into_iter().flatten().for_each(|(_, field)| close(field)),
            None => {}
        }
    }
}
