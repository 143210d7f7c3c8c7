//! Memories in the form that MCP clients receive: only fields that help a model, because every token has a cost.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::api::Decision;
use crate::api::{ApiError, Memories, Remembered, SearchResult};
use crate::api::{confidence_now, heat};
use crate::memory::{Memory, MemoryType, Scope, Status, Tier};

/// A memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MemoryView {
    /// Its id, by which it can be updated, forgotten and traced
    id: String,
    /// What it says
    content: String,
    /// A few words
    title: String,
    /// Its category
    category: String,
    /// Its topic
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// The key under which it is replaced
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup_key: Option<String>,
    /// semantic, episodic or procedural
    #[serde(rename = "type")]
    memory_type: MemoryType,
    /// Whether it is meant to last
    scope: Scope,
    /// How much it matters, 0-1; 1-10 from tools that take it so
    importance: f64,
    /// A shorter wording
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Its structured parts
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    /// How certain it is now, 0-1
    confidence: f64,
    /// Its tags
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Where it came from
    source: String,
    /// Its namespace: a project, or global for facts that apply everywhere
    namespace: String,
    /// active, or why it is not recalled
    status: Status,
    /// Whether only a person can change it
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    /// When it was learnt
    created_at: String,
    /// When it last changed
    updated_at: String,
    /// When it stops being recalled
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// How often it was recalled
    access_count: u32,
    /// When it was last recalled
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<String>,
    /// cold, warm or hot, by how often it was recalled
    heat: String,
    /// Its place in the lookup hierarchy
    tier: Tier,
    /// How well it matches the query, 0-1
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// The share of the query's words that it or its evidence contains, 0-1; unlike the score, absolute
    #[serde(skip_serializing_if = "Option::is_none")]
    match_share: Option<f64>,
    /// How the paths, names and commits in it stand in the repository now
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
}

impl From<&Memory> for MemoryView {
    fn from(memory: &Memory) -> Self {
        let (claim, usage) = (&memory.claim, &memory.usage);
        Self {
            id: memory.id.to_string(),
            content: claim.content.clone(),
            title: claim.title.clone(),
            category: claim.category.clone(),
            subject: claim.subject.clone(),
            dedup_key: claim.key.clone(),
            memory_type: claim.memory_type,
            scope: claim.scope,
            importance: claim.importance,
            summary: claim.summary.clone(),
            structured: claim.structured.as_ref().and_then(|parts| serde_json::to_value(parts).ok()),
            // What was true once may no longer be, so the model is shown what is left.
            confidence: rounded(confidence_now(memory, Timestamp::now())),
            tags: claim.tags.clone(),
            source: memory.source.clone(),
            namespace: memory.namespace.to_string(),
            status: memory.status_at(Timestamp::now()),
            pinned: memory.pinned,
            created_at: memory.created_at.to_string(),
            updated_at: memory.updated_at.to_string(),
            expires_at: claim.expires_at.map(|at| at.to_string()),
            access_count: usage.access_count,
            last_accessed: usage.last_accessed_at.map(|at| at.to_string()),
            heat: heat(usage, Timestamp::now()).as_str().to_owned(),
            tier: memory.tier(),
            score: None,
            match_share: None,
            now: None,
        }
    }
}

impl MemoryView {
    /// Gives the importance from 1 to 10, as the tools of blockcell take it.
    pub(super) fn in_tenths(mut self) -> Self {
        self.importance = rounded((self.importance * 10.0).clamp(1.0, 10.0));
        self
    }
}

/// Returns a number with three decimals, which are precise enough and cost fewer tokens than seventeen.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Memories, best or latest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Page {
    /// How many are returned
    count: usize,
    /// Total number, if it was counted
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// The memories
    memories: Vec<MemoryView>,
}

/// Maximum length of the structured parts of a listed memory, in bytes of JSON.
const LISTED_PARTS: usize = 600;

impl Page {
    fn of(mut memories: Vec<MemoryView>) -> Self {
        let parts = memories.iter_mut().filter_map(|memory| memory.structured.as_mut());
        for parts in parts.filter(|parts| parts.to_string().len() > LISTED_PARTS) {
            *parts = "left out for its length; memory_history shows it".into();
        }
        Self { count: memories.len(), total: None, memories }
    }

    /// Returns search results, compared with the repository of the client's folder.
    pub(super) fn of_results(mut found: Vec<SearchResult>, query: &str, memories: &Memories) -> Result<Self, ApiError> {
        let mut states = memories.judge_memories(&mut found)?;
        let is_asked = !query.trim().is_empty();
        let view = |SearchResult { memory, score, .. }: &SearchResult| {
            let share = is_asked.then(|| memories.match_share(query, memory).map(rounded)).transpose()?;
            let now = states.remove(&memory.id);
            Ok(MemoryView { score: Some(rounded(*score)), match_share: share, now, ..MemoryView::from(memory) })
        };
        Ok(Self::of(found.iter().map(view).collect::<Result<_, ApiError>>()?))
    }

    /// Gives the importance from 1 to 10.
    pub(super) fn in_tenths(self) -> Self {
        Self { memories: self.memories.into_iter().map(MemoryView::in_tenths).collect(), ..self }
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn with_total(self, total: usize) -> Self {
        Self { total: Some(total), ..self }
    }

    pub(super) fn out_of(memories: &[Memory], total: usize) -> Self {
        Self::of(memories.iter().map(MemoryView::from).collect()).with_total(total)
    }
}

/// One memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct One {
    /// What was done
    pub(super) done: String,
    /// The memory as it is now
    pub(super) memory: MemoryView,
}

/// The outcome of storing a memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Stored {
    /// add, skip (it was known), merge, refine, support (it was confirmed) or contradict (it replaces another)
    decision: Decision,
    /// Why
    reason: String,
    /// The resulting memory; none if it was rejected before
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryView>,
    /// Memories that it replaced or contradicts
    #[serde(skip_serializing_if = "Vec::is_empty")]
    about: Vec<String>,
    /// Whether it waits for a person, and is not recalled until then
    waits: bool,
    /// Known memories about the same; if the new memory replaces one of them, update or forget that one
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near: Vec<NearView>,
}

/// A known memory about the same matter as a new one.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct NearView {
    /// Its id
    id: String,
    /// Its text
    content: String,
}

impl Stored {
    /// Gives the importance from 1 to 10.
    pub(super) fn in_tenths(self) -> Self {
        Self { memory: self.memory.map(MemoryView::in_tenths), ..self }
    }
}

impl From<Remembered> for Stored {
    fn from(Remembered { change, memory, near, .. }: Remembered) -> Self {
        let near_view = |near: Memory| NearView { id: near.id.to_string(), content: near.claim.content };
        let own = memory.as_ref().map(|memory| &memory.id);
        Self {
            about: change.targets().filter(|id| Some(*id) != own).map(ToString::to_string).collect(),
            waits: memory.as_ref().is_some_and(|memory| memory.status == Status::Pending),
            memory: memory.as_ref().map(MemoryView::from),
            near: near.into_iter().map(near_view).collect(),
            decision: change.decision,
            reason: change.reason,
        }
    }
}
