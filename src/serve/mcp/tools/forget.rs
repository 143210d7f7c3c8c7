//! `memory_forget`: away with memories, and back again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MemoryTool, Profile};
use crate::api::{ApiError, Author, Memories};
use crate::memory::{Memory, Scope};
use crate::serve::mcp::Effect;
use crate::serve::mcp::view::MemoryView;
use crate::store::Filter;

/// Forgets one memory by its id, as Base Coat has it.
pub(super) struct ForgetOne;

/// Forgets by id or by filters, and restores, as blockcell has it.
pub(super) struct Forget;

/// A memory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OneArguments {
    /// Id of the memory, or its start or end of at least four characters
    id: String,
    /// Why, for its history
    reason: Option<String>,
}

/// What to do with which memories.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// delete (the default) or restore
    action: Option<Action>,
    /// Id of the memory, or its start or end of at least four characters
    id: Option<String>,
    /// Delete all with this scope
    scope: Option<Scope>,
    /// Delete all of this category
    #[serde(rename = "type")]
    category: Option<String>,
    /// Delete all that have every one of these tags
    #[serde(default)]
    tags: Vec<String>,
    /// Delete all with this topic tag
    subject: Option<String>,
    /// Why, for their history
    reason: Option<String>,
    /// Only tell which memories the filters mean
    #[serde(default)]
    dry_run: bool,
}

/// What to do.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// Forget it
    Delete,
    /// Bring it back
    Restore,
}

/// What was forgotten or restored.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// forgotten, restored, or what would be forgotten
    done: String,
    /// How many
    count: usize,
    /// The memories
    memories: Vec<MemoryView>,
}

impl Answer {
    fn of(done: &str, memories: &[Memory]) -> Self {
        let memories: Vec<MemoryView> = memories.iter().map(MemoryView::from).collect();
        Self { done: done.to_owned(), count: memories.len(), memories }
    }
}

impl MemoryTool for ForgetOne {
    type Arguments = OneArguments;
    type Answer = Answer;
    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget a memory";
    const DESCRIPTION: &'static str = "Forget a memory by its id, so that it is neither recalled nor learnt again. A person \
        can restore it for 30 days. Pinned memories are refused.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Basecoat];

    fn call(memories: &Memories, arguments: OneArguments) -> Result<Answer, ApiError> {
        let forgotten = memories.forget(&arguments.id, arguments.reason.as_deref(), Author::Agent)?;
        Ok(Answer::of("forgotten", &[forgotten]))
    }
}

impl MemoryTool for Forget {
    type Arguments = Arguments;
    type Answer = Answer;
    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget or restore memories";
    const DESCRIPTION: &'static str = "Forget a memory by its id, or all that filters mean, so that they are neither \
        recalled nor learnt again; action restore brings a forgotten one back within 30 days. Look with dry_run before \
        deleting by filters. Pinned memories are left alone.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Blockcell, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("type");

    fn call(memories: &Memories, arguments: Arguments) -> Result<Answer, ApiError> {
        let reason = arguments.reason.as_deref();
        match (arguments.action.unwrap_or(Action::Delete), arguments.id.as_deref(), arguments.filter()) {
            (Action::Restore, Some(id), None) => {
                let (memory, restored) = memories.restore(id, Author::Agent)?;
                let waits = "waits in the inbox, since what took its place is pinned";
                Ok(Answer::of(if restored.waits { waits } else { "restored" }, &[memory]))
            }
            (Action::Delete, Some(id), None) if arguments.dry_run => Ok(Answer::of(PREVIEW, &[memories.resolve(id)?])),
            (Action::Delete, Some(id), None) => {
                Ok(Answer::of("forgotten", &[memories.forget(id, reason, Author::Agent)?]))
            }
            (Action::Delete, None, Some(filter)) => {
                let found = memories.forget_where(filter, reason, Author::Agent, arguments.dry_run)?;
                Ok(Answer::of(if arguments.dry_run { PREVIEW } else { "forgotten" }, &found))
            }
            (Action::Restore, _, Some(_)) | (Action::Restore, None, None) => {
                Err(ApiError::NothingNamed { remedy: "restore takes the id of one memory" })
            }
            (Action::Delete, Some(_), Some(_)) => {
                Err(ApiError::NothingNamed { remedy: "give either an id or filters, not both" })
            }
            (Action::Delete, None, None) => {
                Err(ApiError::NothingNamed { remedy: "give an id, or at least one of scope, type, tags and subject" })
            }
        }
    }
}

impl Arguments {
    /// Returns the filter that is given, if one is.
    fn filter(&self) -> Option<Filter> {
        let filter = Filter {
            scopes: self.scope.into_iter().collect(),
            categories: self.category.iter().cloned().collect(),
            tags: self.tags.clone(),
            subject: self.subject.clone(),
            ..Filter::default()
        };
        (filter != Filter::default()).then_some(filter)
    }
}

/// What is told of memories that nothing was done to.
const PREVIEW: &str = "would be forgotten";
