//! `memory_history`: how a memory came to be what it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MemoryTool, Profile};
use crate::api::{ApiError, Memories};
use crate::serve::mcp::Effect;
use crate::serve::mcp::view::MemoryView;
use crate::store::{AccessKind, HistoryEntry};

pub(super) struct History;

/// A memory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the memory, or its start or end of at least four characters
    id: String,
}

/// The past of a memory.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// The memory as it is
    memory: MemoryView,
    /// Every change, oldest first
    changes: Vec<ChangeView>,
    /// The words that it rests on
    evidence: Vec<EvidenceView>,
    /// Its links
    relations: Vec<RelationView>,
}

/// A change.
#[derive(Serialize, JsonSchema)]
struct ChangeView {
    /// When
    at: String,
    /// What was done: add, update, forget and the like
    action: String,
    /// Of what: the memory, its evidence, a link, or the note that it was rejected
    of: String,
    /// Why
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What it said before, where that is different
    #[serde(skip_serializing_if = "Option::is_none")]
    content_before: Option<String>,
    /// What it said after, where that is different
    #[serde(skip_serializing_if = "Option::is_none")]
    content_after: Option<String>,
}

/// Words that somebody said.
#[derive(Serialize, JsonSchema)]
struct EvidenceView {
    /// The words
    quote: String,
    /// Who said them
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    /// When
    #[serde(skip_serializing_if = "Option::is_none")]
    said_at: Option<String>,
    /// The conversation
    transcript: String,
}

/// A link.
#[derive(Serialize, JsonSchema)]
struct RelationView {
    /// The memory that relates
    from: String,
    /// What it is to the other
    relation: String,
    /// The other
    to: String,
    /// Why
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<HistoryEntry> for ChangeView {
    fn from(entry: HistoryEntry) -> Self {
        let content = |value: &Option<Value>| Some(value.as_ref()?.get("content")?.as_str()?.to_owned());
        let (before, after) = (content(&entry.before), content(&entry.after));
        let differs = before != after;
        Self {
            at: entry.at.to_string(),
            action: entry.action,
            of: entry.entity.to_string(),
            reason: entry.reason,
            content_before: before.filter(|_| differs),
            content_after: after.filter(|_| differs),
        }
    }
}

impl MemoryTool for History {
    type Arguments = Arguments;
    type Answer = Answer;
    const NAME: &'static str = "memory_history";
    const TITLE: &'static str = "Past of a memory";
    const DESCRIPTION: &'static str = "Tell how a memory came to be: each change with its reason and former wording, the very \
        words that it rests on, and what it is linked to. Use it where a memory is doubted or two do not agree.";
    const EFFECT: Effect = Effect::Reads;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Full];

    fn call(memories: &Memories, arguments: Arguments) -> Result<Answer, ApiError> {
        let past = memories.past(&arguments.id)?;
        memories.note_use(std::slice::from_ref(&past.memory.id), AccessKind::Read);
        let evidence = past.evidence.into_iter().map(|piece| EvidenceView {
            quote: piece.quote,
            speaker: piece.speaker,
            said_at: piece.said_at.map(|time| time.at.to_string()),
            transcript: piece.transcript,
        });
        let relations = past.relations.into_iter().map(|relation| RelationView {
            from: relation.from.to_string(),
            relation: relation.relation_type.to_string(),
            to: relation.to.to_string(),
            reason: relation.reason,
        });
        Ok(Answer {
            memory: (&past.memory).into(),
            changes: past.history.into_iter().map(ChangeView::from).collect(),
            evidence: evidence.collect(),
            relations: relations.collect(),
        })
    }
}
