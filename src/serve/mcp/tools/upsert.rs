//! `memory_upsert`: something under a key, in place of what stands under it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MemoryTool, Profile, SOURCE, in_days, type_of};
use crate::api::{ApiError, Author, Memories, Note};
use crate::memory::Scope;
use crate::serve::mcp::Effect;
use crate::serve::mcp::view::Stored;

pub(super) struct Upsert;

/// Something to remember, and the key that it stands under.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What to remember, as one self-contained sentence or short paragraph
    content: String,
    /// A few words; the first ones of the content by default
    title: Option<String>,
    /// What kind of thing it is; note by default
    #[serde(rename = "type")]
    category: Option<String>,
    /// Whether it is meant to last, which is the default, or expires
    scope: Option<Scope>,
    /// How much it matters, 1-10, or a fraction of 1; 5 by default
    importance: Option<f64>,
    /// Free tags
    #[serde(default)]
    tags: Vec<String>,
    /// A memory with the same key is replaced instead of stored beside it
    dedup_key: Option<String>,
    /// Topic tag
    subject: Option<String>,
    /// Days until it stops being recalled; never by default
    expires_in_days: Option<f64>,
}

impl MemoryTool for Upsert {
    type Arguments = Arguments;
    type Answer = Stored;
    const NAME: &'static str = "memory_upsert";
    const TITLE: &'static str = "Save a memory";
    const DESCRIPTION: &'static str = "Save a memory. Where a memory with the same dedup_key exists, it is updated and keeps \
        its id; without one, it is settled with what is known, so that nothing is stored twice. Use scope short_term with \
        expires_in_days for the state of a task. Never save secrets; they are refused.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Blockcell, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("type");

    fn call(memories: &Memories, arguments: Arguments) -> Result<Stored, ApiError> {
        let category = arguments.category.unwrap_or_else(|| "note".to_owned());
        // On this scale 1 is the least, not the most.
        let importance = match arguments.importance.unwrap_or(5.0) {
            tenths if (1.0..=10.0).contains(&tenths) => tenths / 10.0,
            other => other,
        };
        let kept = memories.upsert(&Note {
            memory_type: type_of(&category),
            category,
            title: arguments.title,
            subject: arguments.subject,
            key: arguments.dedup_key.filter(|key| !key.trim().is_empty()),
            scope: arguments.scope.unwrap_or(Scope::LongTerm),
            importance,
            tags: arguments.tags,
            expires_at: in_days(arguments.expires_in_days),
            source: SOURCE.to_owned(),
            author: Author::Agent,
            ..Note::new(arguments.content)
        })?;
        Ok(kept.into())
    }
}
