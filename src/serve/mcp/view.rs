//! Memories in the form that MCP clients receive: only fields that help a model, because every token has a cost.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use transcripts::TimeSource;

use crate::api::{ApiError, Memories, Remembered, SearchResult, confidence_now, heat};
use crate::memory::{Evidence, Memory, MemoryType, Scope, Status, Structured, Tier};
use crate::text::markup::harmless_line;

/// A memory, in the form that clients receive.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Memory")]
pub(in crate::serve) struct MemoryView<'a> {
    id: &'a str,
    /// One self-contained sentence or short paragraph
    content: &'a str,
    title: &'a str,
    category: &'a str,
    /// Topic tag
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    /// Attribute that the memory is about, or the key under which it was stored
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup_key: Option<&'a str>,
    /// Value of the attribute
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(rename = "type")]
    memory_type: MemoryType,
    scope: Scope,
    /// How much the memory matters, 0-1
    importance: f64,
    /// Shorter wording
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    /// Parts of an episode, procedure, pattern, blocker or profile
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    structured: Option<&'a Structured>,
    // Confidence fades, so clients are shown the remaining confidence.
    /// How certain the memory still is, 0-1
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<&'a [String]>,
    /// Where the memory was learnt
    source: &'a str,
    namespace: String,
    status: Status,
    /// Whether only a person may change the memory
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pinned: bool,
    #[schemars(with = "String")]
    created_at: Timestamp,
    #[schemars(with = "String")]
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    expires_at: Option<Timestamp>,
    /// Number of times the memory was recalled
    access_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    last_accessed: Option<Timestamp>,
    /// How often the memory was recalled lately
    heat: &'static str,
    /// Place in the lookup hierarchy
    tier: Tier,
}

/// Returns a memory. Its confidence is what remains after fading, its heat shows how often it was recalled, and its
/// tier is its place in the lookup hierarchy.
pub(in crate::serve) fn view(memory: &Memory) -> Value {
    json!(MemoryView { value: None, ..whole(memory) })
}

/// Returns a memory as [`view`] does, with the value of its attribute, which its content repeats.
pub(in crate::serve) fn whole(memory: &Memory) -> MemoryView<'_> {
    let (claim, usage, now) = (&memory.claim, &memory.usage, Timestamp::now());
    MemoryView {
        id: memory.id.as_str(),
        content: &claim.content,
        title: &claim.title,
        category: &claim.category,
        subject: claim.subject.as_deref(),
        dedup_key: claim.key.as_deref(),
        value: claim.value.as_deref(),
        memory_type: claim.memory_type,
        scope: claim.scope,
        importance: claim.importance,
        summary: claim.summary.as_deref(),
        structured: claim.structured.as_ref(),
        confidence: rounded(confidence_now(memory, now)),
        tags: Some(claim.tags.as_slice()).filter(|tags| !tags.is_empty()),
        source: &memory.source,
        namespace: memory.namespace.to_string(),
        status: memory.status_at(now),
        pinned: memory.pinned,
        created_at: memory.created_at,
        updated_at: memory.updated_at,
        expires_at: claim.expires_at,
        access_count: usage.access_count,
        last_accessed: usage.last_accessed_at,
        heat: heat(usage, now).as_str(),
        tier: memory.tier(),
    }
}

pub(in crate::serve) fn views(memories: &[Memory]) -> Vec<Value> {
    memories.iter().map(view).collect()
}

/// Returns an object without the fields that have no value.
pub(in crate::serve) fn stated(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

/// Converts the importance of a memory to a number from 1 to 10, as in the tools of blockcell.
pub(in crate::serve) fn in_tenths(memory: &mut Value) {
    let importance = memory["importance"].as_f64().unwrap_or_default();
    memory["importance"] = json!(rounded((importance * 10.0).clamp(1.0, 10.0)));
}

/// Removes from a found memory what the rest implies: fields with the value that most memories have, a title that is the
/// beginning of the content, and the time of a change if there was none.
pub(in crate::serve) fn lean(memory: &mut Value) {
    let usual = json!({"scope": "long_term", "status": "active", "access_count": 0, "heat": "cold", "tier": "l4"});
    let text = |memory: &Value, name: &str| memory[name].as_str().unwrap_or_default().to_owned();
    let is_beginning = text(memory, "content").starts_with(text(memory, "title").trim_end_matches('…'));
    let is_unchanged = memory["created_at"] == memory["updated_at"];
    if let Some(fields) = memory.as_object_mut() {
        fields.retain(|name, value| match name.as_str() {
            "title" => !is_beginning,
            "updated_at" => !is_unchanged,
            name => usual.get(name) != Some(value),
        });
    }
}

/// Returns a number with three decimals, which are precise enough and cost fewer tokens than seventeen.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Maximum length of the structured parts of a listed memory, in bytes of JSON.
const LISTED_PARTS: usize = 600;

/// Returns a list of memories with their number, and the total number if it was counted.
pub(in crate::serve) fn page(mut memories: Vec<Value>, total: Option<usize>) -> Value {
    let parts = memories.iter_mut().filter_map(|memory| memory.get_mut("structured"));
    for parts in parts.filter(|parts| parts.to_string().len() > LISTED_PARTS) {
        *parts = "left out for its length; memory_history shows it".into();
    }
    stated(json!({"count": memories.len(), "total": total, "memories": memories}))
}

/// Returns search results, compared with the repository of the client's folder. `match_share` is the share of the words
/// of the query that a memory or its evidence contains; unlike the score, it is absolute.
pub(in crate::serve) fn found_views(
    mut found: Vec<SearchResult>,
    query: &str,
    memories: &Memories,
) -> Result<Vec<Value>, ApiError> {
    let mut states = memories.judge_memories(&mut found)?;
    let is_asked = !query.trim().is_empty();
    let found = found.iter().map(|SearchResult { memory, score, .. }| {
        let mut found = view(memory);
        found["score"] = json!(rounded(*score));
        if is_asked {
            found["match_share"] = json!(rounded(memories.match_share(query, memory)?));
        }
        if let Some(now) = states.remove(&memory.id) {
            // The names of files are on one line, whoever chose them.
            found["now"] = json!(harmless_line(&now));
        }
        Ok(found)
    });
    found.collect()
}

/// Returns the outcome of storing a memory: the decision, the resulting memory unless it was rejected before, the
/// memories that it replaced or contradicts, and known memories about the same thing.
pub(in crate::serve) fn stored(Remembered { change, memory, near, .. }: Remembered) -> Value {
    let near = near.iter().map(|near| json!({"id": near.id, "content": near.claim.content})).collect::<Vec<_>>();
    let own = memory.as_ref().map(|memory| &memory.id);
    let about = change.targets().filter(|id| Some(*id) != own).collect::<Vec<_>>();
    stated(json!({
        "decision": change.decision, "reason": change.reason, "memory": memory.as_ref().map(view),
        "about": Some(about).filter(|about| !about.is_empty()),
        "waits": memory.as_ref().is_some_and(|memory| memory.status == Status::Pending),
        "near": Some(near).filter(|near| !near.is_empty()),
    }))
}
/// Returns a quote. Its time is marked if it is only that of the file.
pub(in crate::serve) fn quote_view(piece: &Evidence) -> Value {
    let time = piece.said_at;
    let source = time.map(|time| time.source).filter(|source| *source == TimeSource::File);
    stated(json!({
        "quote": piece.quote, "speaker": piece.speaker, "said_at": time.map(|time| time.at), "said_source": source,
        "transcript": piece.transcript,
    }))
}
