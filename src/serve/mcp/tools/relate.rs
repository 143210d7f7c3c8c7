//! `memory_relate`: a link between two memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MemoryTool, Profile};
use crate::api::{ApiError, Link, Memories};
use crate::memory::RelationType;
use crate::serve::mcp::Effect;

pub(super) struct Relate;

/// Two memories, and what the first is to the second.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the memory that relates
    from: String,
    /// What the first is to the second
    relation: RelationType,
    /// Id of the memory that it relates to
    to: String,
    /// Why, in a few words
    reason: Option<String>,
}

/// A link.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// The memory that relates
    from: String,
    /// What it is to the other
    relation: RelationType,
    /// The other
    to: String,
    /// Whether they were not linked in this way before
    is_new: bool,
}

impl MemoryTool for Relate {
    type Arguments = Arguments;
    type Answer = Answer;
    const NAME: &'static str = "memory_relate";
    const TITLE: &'static str = "Link two memories";
    const DESCRIPTION: &'static str = "Link two memories, e.g. a decision that refines an older one, or two that contradict \
        each other. A link changes neither: to replace a memory, store what is so now.";
    const EFFECT: Effect = Effect::Adds;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Full];

    fn call(memories: &Memories, arguments: Arguments) -> Result<Answer, ApiError> {
        let Arguments { from, relation, to, reason } = arguments;
        let (link, is_new) = memories.relate(&from, relation, &to, reason.as_deref(), Link::Set)?;
        Ok(Answer { from: link.from.to_string(), relation, to: link.to.to_string(), is_new })
    }
}
