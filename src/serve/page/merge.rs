//! Merging two memories, and erasing conversations. Both show a preview first.

use serde_json::{Value, json};

use super::visit::{Reply, Visit, values_of};
use crate::api::{ApiError, Erased, ErasureScope, Memories, SearchRequest};
use crate::memory::MemoryId;

/// Number of memories that are offered for a merge.
const OFFERED: usize = 8;
/// Maximum number of memories whose text is shown before an erasure.
const SHOWN: usize = 50;

/// Offers memories to merge with, or shows the result of merging with the chosen memory.
pub(super) fn show(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let memory = memories.resolve(id)?;
    let Some(other) = visit.asked("with") else {
        let text = visit.asked("q").map_or_else(|| memory.claim.content.clone(), str::to_owned);
        let request = SearchRequest { text, limit: OFFERED + 1, ..SearchRequest::default() };
        let found = memories.search(&request)?.found;
        let others = found.iter().filter(|found| found.memory.id != memory.id).take(OFFERED);
        let rows: Vec<Value> =
            others.map(|found| json!({"memory": values_of(&found.memory), "total": found.score.total})).collect();
        return Ok(Reply::Page(
            "merge",
            json!({"memory": values_of(&memory), "rows": rows, "q": visit.asked("q").unwrap_or_default()}),
        ));
    };
    let (kept, gone) = memories.would_merge(id, other)?;
    let quotes = memories.evidence_of(&[kept.clone(), gone.clone()])?.values().map(Vec::len).sum::<usize>();
    Ok(Reply::Page(
        "merge",
        json!({
            "memory": values_of(&memory), "result": values_of(&kept), "other": values_of(&gone), "quotes": quotes,
            "rows": [], "q": "",
        }),
    ))
}

/// Merges two memories.
pub(super) fn merge(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let Some(other) = visit.sent("with") else { return Ok(Reply::NotFound) };
    let merged = memories.merge(id, other, visit.sent("content"))?;
    Ok(Reply::SeeOther(format!("/memory/{}?done=merged", merged.id)))
}

/// Shows what erasing a conversation or a memory would remove.
pub(super) fn would_erase(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let (session, memory) = (visit.asked("session"), visit.asked("memory"));
    let Some(scope) = scope(memories, session, memory)? else { return Ok(Reply::NotFound) };
    let erased = memories.would_erase(&scope)?;
    if erased.is_nothing() {
        return Ok(Reply::NotFound);
    }
    let mut values = values(memories, &erased)?;
    (values["session"], values["memory"]) = (json!(session), json!(memory));
    Ok(Reply::Page("erase", values))
}

/// Erases a conversation or a memory.
pub(super) fn erase(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let Some(scope) = scope(memories, visit.sent("session"), visit.sent("memory"))? else {
        return Ok(Reply::NotFound);
    };
    memories.erase(&scope)?;
    Ok(Reply::SeeOther("/?done=erased".to_owned()))
}

fn scope(memories: &Memories, session: Option<&str>, memory: Option<&str>) -> Result<Option<ErasureScope>, ApiError> {
    Ok(match (session, memory) {
        (Some(session), _) => Some(ErasureScope::Session(session.to_owned())),
        (None, Some(id)) => Some(ErasureScope::Memory(memories.resolve(id)?.id)),
        (None, None) => None,
    })
}

fn values(memories: &Memories, erased: &Erased) -> Result<Value, ApiError> {
    let rows = |ids: &[MemoryId]| -> Result<Vec<Value>, ApiError> {
        let mut rows = Vec::new();
        for id in ids.iter().take(SHOWN) {
            rows.extend(memories.get_memory(id)?.map(|memory| json!({"memory": values_of(&memory)})));
        }
        Ok(rows)
    };
    Ok(json!({
        "conversations": erased.conversations, "gone": rows(&erased.memories)?,
        "gone_total": erased.memories.len(), "kept": rows(&erased.kept)?, "kept_total": erased.kept.len(),
        "restored": rows(&erased.restored)?, "restored_total": erased.restored.len(), "evidence": erased.evidence,
    }))
}
