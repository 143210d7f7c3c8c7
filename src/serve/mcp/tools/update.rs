//! `memory_update`: a memory in new words.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MemoryTool, Profile};
use crate::api::{ApiError, Author, Memories, MemoryChange};
use crate::serve::mcp::Effect;
use crate::serve::mcp::view::One;

pub(super) struct Update;

/// A memory, and what it says from now on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the memory, or its start or end of at least four characters
    id: String,
    /// What it says from now on; the same words confirm it
    content: String,
    /// Another category
    category: Option<String>,
    /// Another topic tag
    subject: Option<String>,
    /// How much it matters, 0-1
    importance: Option<f64>,
    /// Tags instead of those it has
    tags: Option<Vec<String>>,
}

impl MemoryTool for Update {
    type Arguments = Arguments;
    type Answer = One;
    const NAME: &'static str = "memory_update";
    const TITLE: &'static str = "Correct a memory";
    const DESCRIPTION: &'static str = "Replace the content of a memory that is worded wrongly or incompletely, and raise its \
        confidence. The former wording stays in its history. For something that has changed in the world, store the new \
        fact instead: the old one is superseded by itself. Pinned memories are refused.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Basecoat, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("category");

    fn call(memories: &Memories, arguments: Arguments) -> Result<One, ApiError> {
        let change = MemoryChange {
            content: Some(arguments.content),
            category: arguments.category,
            subject: arguments.subject,
            importance: arguments.importance,
            tags: arguments.tags,
            ..MemoryChange::default()
        };
        let memory = memories.update_memory(&arguments.id, &change, Author::Agent)?;
        Ok(One { done: "updated".to_owned(), memory: (&memory).into() })
    }
}
