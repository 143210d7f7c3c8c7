//! The answers of operations, for the description of the interface. Most answers are those of MCP tools; the tests
//! compare real answers with these types.

#![expect(dead_code, reason = "these types are used only for their schemas")]

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::api::{Decision, Exported};
use crate::memory::{MemoryType, RelationType};
use crate::serve::mcp::view::MemoryView;

type Object = Map<String, Value>;

/// A memory and its version.
#[derive(JsonSchema)]
pub(super) struct OneMemory {
    memory: MemoryView<'static>,
    /// The version, for If-Match
    version: String,
}

/// A page of memories.
#[derive(JsonSchema)]
pub(super) struct MemoryPage {
    /// Number of memories on this page
    count: usize,
    /// Number of memories on all pages
    total: usize,
    memories: Vec<MemoryView<'static>>,
    /// Offset of the next page, unless this is the last one
    next_offset: Option<usize>,
}

/// A memory that was found.
#[derive(JsonSchema)]
pub(super) struct FoundMemory {
    #[serde(flatten)]
    memory: MemoryView<'static>,
    /// Rank among these results; not comparable between searches
    score: f64,
    /// Share of the words of the query in the memory or its evidence, 0-1
    match_share: Option<f64>,
    /// What the repository of the server's folder shows about the memory now
    now: Option<String>,
}

/// The memories that were found, best first.
#[derive(JsonSchema)]
pub(super) struct FoundPage {
    count: usize,
    memories: Vec<FoundMemory>,
    /// Offset of the next page, unless this is the last one
    next_offset: Option<usize>,
}

/// A memory about the same topic.
#[derive(JsonSchema)]
pub(super) struct NearMemory {
    id: String,
    content: String,
}

/// What became of a text.
#[derive(JsonSchema)]
pub(super) struct Stored {
    decision: Decision,
    /// Why
    reason: String,
    /// The memory that now contains the text, unless the text was forgotten before
    memory: Option<MemoryView<'static>>,
    /// Ids of memories that the text replaced or contradicts
    about: Option<Vec<String>>,
    /// Whether the memory waits for the decision of a person
    waits: bool,
    /// Known memories about the same topic
    near: Option<Vec<NearMemory>>,
}

/// A memory that was changed.
#[derive(JsonSchema)]
pub(super) struct ChangeOutcome {
    /// What was done
    done: String,
    memory: MemoryView<'static>,
}

/// Memories that were changed, or would be.
#[derive(JsonSchema)]
pub(super) struct ChangeList {
    /// What was done, or would be
    done: String,
    count: usize,
    memories: Vec<MemoryView<'static>>,
}

/// A change in the history of a memory.
#[derive(JsonSchema)]
pub(super) struct HistoryChange {
    at: String,
    action: String,
    /// The part of the memory that changed
    of: String,
    reason: Option<String>,
    content_before: Option<String>,
    content_after: Option<String>,
    structured_before: Option<Object>,
    structured_after: Option<Object>,
}

/// The changes of a memory, oldest first.
#[derive(JsonSchema)]
pub(super) struct Changes {
    changes: Vec<HistoryChange>,
}

/// Words that a memory is based on.
#[derive(JsonSchema)]
pub(super) struct EvidenceQuote {
    quote: String,
    speaker: Option<String>,
    said_at: Option<String>,
    /// `file` if the log contains no times, so that `said_at` is that of the file
    said_source: Option<String>,
    /// The conversation
    transcript: String,
}

/// The words that a memory is based on.
#[derive(JsonSchema)]
pub(super) struct Quotes {
    evidence: Vec<EvidenceQuote>,
}

/// A link between two memories.
#[derive(JsonSchema)]
pub(super) struct MemoryRelation {
    from: String,
    relation: RelationType,
    to: String,
    reason: Option<String>,
}

/// The links of a memory.
#[derive(JsonSchema)]
pub(super) struct RelationList {
    relations: Vec<MemoryRelation>,
}

/// A link that was written.
#[derive(JsonSchema)]
pub(super) struct RelationOutcome {
    from: String,
    relation: RelationType,
    to: String,
    is_new: bool,
}

/// Text for the start of a conversation.
#[derive(JsonSchema)]
pub(super) struct BriefText {
    /// The text, marked as data
    text: String,
    tokens: usize,
    /// Ids of the memories in the text
    memories: Vec<String>,
    /// Number of memories for which there was no room
    left_out: usize,
    /// Why the text is empty
    reason: Option<String>,
}

/// Results, best first.
#[derive(JsonSchema)]
pub(super) struct Results {
    results: Vec<Object>,
}

/// A remedy that cleared an error in the past.
#[derive(JsonSchema)]
pub(super) struct RemedyList {
    remedies: Vec<Object>,
    #[serde(flatten)]
    rest: Object,
}

/// A memory that waits for a decision.
#[derive(JsonSchema)]
pub(super) struct WaitingMemory {
    memory: MemoryView<'static>,
    /// Why it waits
    reason: Option<String>,
    evidence: Vec<EvidenceQuote>,
    /// Memories that it would replace
    replaces: Vec<MemoryView<'static>>,
}

/// The memories that wait for a decision, oldest first.
#[derive(JsonSchema)]
pub(super) struct InboxPage {
    count: usize,
    total: usize,
    waiting: Vec<WaitingMemory>,
    next_offset: Option<usize>,
}

/// A decision about a memory that waited.
#[derive(JsonSchema)]
pub(super) struct VerdictOutcome {
    /// What was done
    done: String,
    memory: MemoryView<'static>,
    /// Number of memories that it replaced
    superseded: usize,
    /// The run, which can be undone
    run: String,
}

/// Runs, newest first.
#[derive(JsonSchema)]
pub(super) struct RunPage {
    count: usize,
    runs: Vec<Object>,
    next_offset: Option<usize>,
}

/// A run and its changes.
#[derive(JsonSchema)]
pub(super) struct OneRun {
    run: Object,
    changes: Vec<Object>,
}

/// What an undo did, or would do.
#[derive(JsonSchema)]
pub(super) struct UndoOutcome {
    /// Whether nothing was changed
    dry_run: bool,
    /// Ids of memories that have their former state again
    restored: Vec<String>,
    /// Ids of memories that were removed
    removed: Vec<String>,
    /// Memories that were left alone, with the reason
    kept: Vec<Object>,
    tasks: usize,
    /// Number of windows that the next run applies again
    reopened: usize,
}

/// A project.
#[derive(JsonSchema)]
pub(super) struct OneProject {
    name: String,
    namespace: String,
    /// Number of active memories
    memories: usize,
    identities: Vec<String>,
    paths: Vec<String>,
    aliases: Vec<String>,
    merged_into: Option<String>,
}

/// The known projects.
#[derive(JsonSchema)]
pub(super) struct Projects {
    projects: Vec<OneProject>,
}

/// What the server serves.
#[derive(JsonSchema)]
pub(super) struct Status {
    version: String,
    /// Namespaces that this server serves; absent if it serves all
    served: Option<Vec<String>>,
    /// Namespaces that have memories
    namespaces: Vec<String>,
    /// Number of active memories
    active: usize,
    /// Number of memories that wait for a decision
    waiting: usize,
    /// Whether memories can be written
    can_write: bool,
    categories: Vec<String>,
    types: Vec<MemoryType>,
    /// Counts of the whole database, for the owner
    database: Option<Object>,
}

/// What was learnt from a conversation.
#[derive(JsonSchema)]
pub(super) struct ExtractionOutcome {
    count: usize,
    /// New and extended memories
    memories: Vec<MemoryView<'static>>,
    /// Counts, costs and failures of the run
    summary: Object,
}

/// A line of an export: a memory with its sources, links and evidence.
#[derive(JsonSchema)]
pub(super) struct ExportedMemory {
    #[serde(flatten)]
    memory: Exported,
}
