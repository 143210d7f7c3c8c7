//! `memory_store`: something new.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MemoryTool, Profile, SOURCE, in_days, type_of};
use crate::api::{ApiError, Author, Memories, Note};
use crate::memory::{Audience, MemoryType, Scope};
use crate::serve::mcp::Effect;
use crate::serve::mcp::view::Stored;

pub(super) struct Store;

/// Something to remember.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What kind of thing it is
    category: String,
    /// Topic tag, e.g. testing, auth or deployment
    subject: String,
    /// One self-contained sentence or short paragraph, third person, absolute dates, readable without this conversation
    content: String,
    /// Where it comes from: a file path, "user", or what it was concluded from
    source: Option<String>,
    /// A few words; the first ones of the content by default
    title: Option<String>,
    /// semantic (what is so), episodic (what happened) or procedural (how to act); by the category by default
    #[serde(rename = "type")]
    memory_type: Option<MemoryType>,
    /// How much it matters, 0-1; 0.7 by default
    importance: Option<f64>,
    /// Free tags
    #[serde(default)]
    tags: Vec<String>,
    /// project (the default), or user for what holds for the person wherever they work
    audience: Option<Audience>,
    /// Days until it stops being recalled; never by default
    expires_in_days: Option<f64>,
}

impl MemoryTool for Store {
    type Arguments = Arguments;
    type Answer = Stored;
    const NAME: &'static str = "memory_store";
    const TITLE: &'static str = "Remember something";
    const DESCRIPTION: &'static str = "Remember a durable fact, preference, decision or convention for later \
        conversations. It is settled with what is known: what is known already is confirmed instead of stored twice, and \
        what it contradicts is superseded. Store one thing a call, in concise words. Never store secrets; they are refused.";
    const EFFECT: Effect = Effect::Adds;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Basecoat, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("category");

    fn call(memories: &Memories, arguments: Arguments) -> Result<Stored, ApiError> {
        let expires_at = in_days(arguments.expires_in_days);
        let kept = memories.remember(&Note {
            memory_type: arguments.memory_type.unwrap_or_else(|| type_of(&arguments.category)),
            category: arguments.category,
            title: arguments.title,
            subject: Some(arguments.subject).filter(|subject| !subject.trim().is_empty()),
            scope: if expires_at.is_some() { Scope::ShortTerm } else { Scope::LongTerm },
            importance: arguments.importance.unwrap_or(0.7),
            tags: arguments.tags,
            expires_at,
            audience: arguments.audience.unwrap_or(Audience::Project),
            source: arguments.source.unwrap_or_else(|| SOURCE.to_owned()),
            author: Author::Agent,
            ..Note::new(arguments.content)
        })?;
        Ok(kept.into())
    }
}
