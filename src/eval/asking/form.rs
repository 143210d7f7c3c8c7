//! The form of a case that asks a store, as it stands on a line of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::eval::consolidation::Moment;
use crate::eval::inline::Turn;
use crate::memory::{MemoryType, Namespace, Scope, Status};

/// A memory that lies in the store before anything is asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Unique within the case.
    pub id: String,
    /// One self-contained sentence or short paragraph.
    pub content: String,
    /// A few words; the first ones of the content by default.
    #[serde(default)]
    pub title: Option<String>,
    /// The kind of remembering; `semantic` by default.
    #[serde(default, rename = "type")]
    pub memory_type: Option<MemoryType>,
    /// One of the allowed categories; `fact` by default.
    #[serde(default)]
    pub category: Option<String>,
    /// Topic tag.
    #[serde(default)]
    pub subject: Option<String>,
    /// Path of the namespace; `global` by default.
    #[serde(default, rename = "in", deserialize_with = "path")]
    #[schemars(with = "Option<String>")]
    pub namespace: Option<Namespace>,
    /// Whether it is recalled; `active` by default.
    #[serde(default)]
    pub status: Option<Status>,
    /// How long it is meant to live; `long-term` by default.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// 0–1; 0.5 by default.
    #[serde(default)]
    pub importance: Option<f64>,
    /// 0–1; 0.85 by default.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// Whether a person fixed it.
    #[serde(default)]
    pub pinned: bool,
    /// When it was said and learnt; the month before `now` by default.
    #[serde(default)]
    pub said: Option<Moment>,
    /// When it stops being recalled.
    #[serde(default)]
    pub expires: Option<Moment>,
    /// From when it held in the world.
    #[serde(default)]
    pub from: Option<Moment>,
    /// Until when it held in the world.
    #[serde(default)]
    pub to: Option<Moment>,
    /// What was really said; the content by default.
    #[serde(default)]
    pub quote: Option<String>,
    /// Who said it.
    #[serde(default)]
    pub speaker: Option<String>,
    /// Name of the conversation; one of its own by default.
    #[serde(default)]
    pub source: Option<String>,
}

/// A store and what is asked of it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallCase {
    /// Unique among the cases of a split.
    pub id: String,
    /// Whose memories these are, in one sentence.
    #[serde(default)]
    pub about: String,
    /// When it is asked.
    pub now: Moment,
    /// What lies in the store.
    pub memories: Vec<Kept>,
    /// What is asked.
    pub queries: Vec<Query>,
}

/// A query, and which memories must and must not come.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Unique within the case.
    pub id: String,
    /// What is asked, as a person or an agent would type it.
    pub ask: String,
    /// What it tests; results are grouped by each.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// The namespaces that are meant, none below them; everywhere by default.
    #[serde(default, rename = "in", deserialize_with = "paths")]
    #[schemars(with = "Vec<String>")]
    pub namespaces: Vec<Namespace>,
    /// Ids of the memories that answer it, the best first.
    #[serde(default)]
    pub must: Vec<String>,
    /// Ids of memories that must not come.
    #[serde(default)]
    pub must_not: Vec<String>,
    /// Ids of memories that may come besides; where it is given, nothing else may.
    #[serde(default)]
    pub only: Option<Vec<String>>,
    /// Nothing in the store answers it, and nothing may come.
    #[serde(default)]
    pub empty: bool,
    /// Most memories that come back; 10 by default.
    #[serde(default)]
    pub most: Option<usize>,
    /// Most `o200k_base` tokens of content, taken in the order in which they come; no limit by default.
    #[serde(default)]
    pub tokens: Option<usize>,
}

/// A store and the situations in which a conversation begins.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BriefCase {
    /// Unique among the cases of a split.
    pub id: String,
    /// Whose memories these are, in one sentence.
    #[serde(default)]
    pub about: String,
    /// When the conversations begin.
    pub now: Moment,
    /// What lies in the store.
    pub memories: Vec<Kept>,
    /// The situations.
    pub situations: Vec<Situation>,
}

/// The beginning of a conversation, and what it must and must not be told.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Situation {
    /// Unique within the case.
    pub id: String,
    /// What the conversation is about; without it, what it should know whatever it is about.
    #[serde(default)]
    pub ask: Option<String>,
    /// What it tests; results are grouped by each.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// Where it takes place; `global` is told everywhere.
    #[serde(default, rename = "in", deserialize_with = "paths")]
    #[schemars(with = "Vec<String>")]
    pub namespaces: Vec<Namespace>,
    /// Ids of the memories that it must hold.
    #[serde(default)]
    pub must: Vec<String>,
    /// Ids of memories that it must not hold.
    #[serde(default)]
    pub must_not: Vec<String>,
    /// Patterns that must occur nowhere in its text, whichever memory they come from.
    #[serde(default)]
    pub never: Vec<String>,
    /// There is nothing to tell.
    #[serde(default)]
    pub empty: bool,
    /// Most `o200k_base` tokens; 2,000 by default.
    #[serde(default)]
    pub tokens: Option<usize>,
}

/// Conversations or memories, and questions about them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QaCase {
    /// Unique among the cases of a split.
    pub id: String,
    /// Who talks about what, in one sentence.
    #[serde(default)]
    pub about: String,
    /// When it is asked.
    pub now: Moment,
    /// A conversation, of which the extractor makes memories.
    #[serde(default)]
    pub transcript: Vec<Turn>,
    /// What lies in the store, where retrieval alone is measured.
    #[serde(default)]
    pub memories: Vec<Kept>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A question, and the parts of its answer.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Unique within the case.
    pub id: String,
    /// The question.
    pub ask: String,
    /// What it tests; results are grouped by each.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// The namespaces that are meant; everywhere by default.
    #[serde(default, rename = "in", deserialize_with = "paths")]
    #[schemars(with = "Vec<String>")]
    pub namespaces: Vec<Namespace>,
    /// The answer, for people.
    pub answer: String,
    /// Patterns, each of which stands in a context from which the answer can be given. None: there is no answer.
    #[serde(default)]
    pub must: Vec<String>,
    /// Patterns of what would mislead, such as the old value without the new.
    #[serde(default)]
    pub must_not: Vec<String>,
    /// Verbatim pieces of the messages, or ids of the memories, that hold the answer.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Most `o200k_base` tokens of context; 400 by default.
    #[serde(default)]
    pub tokens: Option<usize>,
}

fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Namespace>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

fn paths<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Namespace>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}

/// Returns the JSON Schema of a line of each kind of file.
#[must_use]
pub fn schemas() -> serde_json::Value {
    serde_json::json!({
        "recall": schemars::schema_for!(RecallCase).to_value(),
        "brief": schemars::schema_for!(BriefCase).to_value(),
        "qa": schemars::schema_for!(QaCase).to_value(),
    })
}
