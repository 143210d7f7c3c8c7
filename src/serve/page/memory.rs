//! The page of one memory: its text, its evidence, its history, and the forms that change it, merge it with another, or
//! erase conversations. Merging and erasing show a preview first.

use serde_json::{Value, json};
use transcripts::{Message, TimeSource};

use crate::api::{
    Action, ApiError, Author, Erased, ErasureScope, HistoryEntry, Memories, MemoryChange, QuotePolicy, RivalPolicy,
    SearchRequest,
};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Status};

use super::change::{entry, spelled};
use super::visit::{Reply, Visit, categories, values_of, version_of};

/// Number of messages before and after a quote.
const REACH: usize = 4;
/// Maximum length of a message next to the quote, in characters.
const MAX_SHOWN: usize = 800;

/// Shows a memory.
pub(super) fn show(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let details = memories.details(id)?;
    let memory = &details.memory;
    memories.note_use(std::slice::from_ref(&memory.id));
    let mut relations = Vec::new();
    for relation in &details.relations {
        let is_outward = relation.from == memory.id;
        let other = memories.get_memory(if is_outward { &relation.to } else { &relation.from })?;
        relations.push(json!({
            "type": relation.relation_type.as_str(), "outward": is_outward, "reason": relation.reason.as_deref().map(|reason| visit.language.reason(reason)),
            "memory": other.as_ref().map(values_of),
        }));
    }
    let mut history: Vec<Value> = details.history.iter().map(|line| entry(line, visit.language)).collect();
    history.reverse();
    Ok(Reply::Page(
        "memory",
        json!({
            "memory": values_of(memory), "relations": relations, "history": history,
            "evidence": details.evidence.iter().map(evidence).collect::<Vec<_>>(),
            "categories": categories(memories), "undoable": undoable(&details.history),
            "can_merge": memory.status == Status::Active, "teams": teams_for(memories, memory)?,
            "can_forget": matches!(memory.status, Status::Active | Status::Pending),
            "can_restore": memory.status != Status::Active && memory.status != Status::Pending,
        }),
    ))
}

/// Returns the names of the teams to which a memory can be promoted.
fn teams_for(memories: &Memories, memory: &Memory) -> Result<Vec<String>, ApiError> {
    let is_shareable = memory.status == Status::Active && !memory.namespace.is_team();
    Ok(if is_shareable { memories.teams()?.into_iter().map(|team| team.namespace).collect() } else { Vec::new() })
}

/// Returns the changeset of the last change, if it can be undone alone.
pub(super) fn undoable(history: &[HistoryEntry]) -> Option<String> {
    // The changes of a run are undone together with the run, and undoing the first change would leave no memory to
    // show.
    let last = history.last().filter(|last| last.run.is_none() && !last.undone && last.action != Action::Add);
    last.and_then(|last| last.changeset.clone())
}

/// Changes a memory, and returns to its page or to the inbox.
pub(super) fn change(memories: &Memories, visit: &Visit, id: &str, verb: &str) -> Result<Reply, ApiError> {
    let ids = [id];
    let said = match verb {
        "edit" => {
            // The form shows all fields, so a blank field was cleared by the user; only text fields can be cleared.
            let tags = visit.sent("tags").unwrap_or_default().split([',', '，', '、']).map(str::trim);
            let before = memories.resolve(id)?;
            // A title that the person did not change is derived from the new content if it was derived from the former
            // content.
            let title = visit.sent("title").filter(|title| *title != before.claim.title);
            let change = MemoryChange {
                content: visit.sent("content").map(str::to_owned),
                title: title.map(str::to_owned),
                category: visit.sent("category").map(str::to_owned),
                importance: visit.sent("importance").and_then(|text| text.parse().ok()),
                tags: Some(tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()),
                ..MemoryChange::default()
            };
            if visit.sent("seen").is_some_and(|seen| seen != version_of(&before)) {
                return Ok(conflict(memories, visit, &before, &change));
            }
            memories.update_memory(id, &change, Author::Person)?;
            "edited"
        }
        "pin" | "unpin" => {
            memories.pin(&ids, verb == "pin")?;
            if verb == "pin" { "pinned" } else { "unpinned" }
        }
        "forget" => {
            memories.forget(&ids, visit.sent("reason"), Author::Person)?;
            "forgotten"
        }
        "restore" => {
            memories.restore(&ids, RivalPolicy::Retire, Author::Person)?;
            "restored"
        }
        "promote" => {
            let Some(team) = visit.sent("team").and_then(|team| team.parse::<Namespace>().ok()) else {
                return Ok(Reply::NotFound);
            };
            let quotes = if visit.sent("quotes").is_some() { QuotePolicy::Share } else { QuotePolicy::Leave };
            let promotion = memories.promote(&ids, &team, quotes)?;
            match promotion.promoted.first() {
                Some(copy) if copy.status == Status::Pending => "proposed",
                Some(_) => "promoted",
                None => "in_team",
            }
        }
        "undo" => {
            let Some(changeset) = visit.sent("changeset") else { return Ok(Reply::NotFound) };
            memories.undo_by_hand(changeset, false)?;
            "change_undone"
        }
        _ => return Ok(Reply::NotFound),
    };
    Ok(visit.done(&format!("/memory/{id}"), said))
}

/// Compares the change in an outdated form with the memory, and offers the change again.
fn conflict(memories: &Memories, visit: &Visit, memory: &Memory, change: &MemoryChange) -> Reply {
    let theirs = values_of(memory);
    let mut mine = theirs.clone();
    if let (Value::Object(mine), Value::Object(sent)) = (
        &mut mine,
        json!({
            "content": change.content, "title": change.title, "category": change.category,
            "importance": change.importance, "tags": change.tags,
        }),
    ) {
        mine.extend(sent.into_iter().filter(|(_, value)| !value.is_null()));
    }
    let fields = ["content", "title", "category", "importance", "tags"];
    let differing = fields.into_iter().filter(|name| theirs[*name] != mine[*name]);
    let fields: Vec<Value> = differing
        .map(|name| {
            let [theirs, mine] = [&theirs, &mine].map(|side| spelled(visit.language, name, &side[name]));
            json!({"name": name, "theirs": theirs, "mine": mine})
        })
        .collect();
    Reply::Conflict(json!({
        "memory": theirs, "mine": mine, "fields": fields, "categories": categories(memories), "back": visit.sent("back"),
    }))
}

/// Shows a quote in the context of the surrounding messages, which are read from the log.
pub(super) fn quote(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let memory = memories.resolve(id)?;
    let at = visit.asked_as::<usize>("at").unwrap_or(0);
    let pieces = memories.evidence_of(std::slice::from_ref(&memory))?.remove(&memory.id).unwrap_or_default();
    let Some(piece) = pieces.get(at) else { return Ok(Reply::NotFound) };
    let messages = memories.surroundings(piece, REACH)?.map(|(messages, cited)| {
        let values = |(at, message): (usize, &Message)| {
            let parts = if at == cited { marked(&message.text, &piece.quote) } else { vec![json!({"text": shortened(&message.text)})] };
            json!({
                "role": message.role, "speaker": message.speaker, "at": message.time.filter(|time| time.source != TimeSource::File).map(|time| time.civil().to_string()),
                "is_cited": at == cited, "parts": parts,
            })
        };
        messages.iter().enumerate().map(values).collect::<Vec<_>>()
    });
    Ok(Reply::Page(
        "quote",
        json!({"memory": values_of(&memory), "messages": messages, "piece": evidence(piece), "transcript": piece.transcript}),
    ))
}

/// Splits a message at the quote, where the white space may differ.
fn marked(text: &str, quote: &str) -> Vec<Value> {
    let words: Vec<String> = quote.split_whitespace().map(regex::escape).collect();
    let found = regex::Regex::new(&words.join(r"\s+")).ok().filter(|_| !words.is_empty());
    let Some(found) = found.and_then(|pattern| pattern.find(text).map(|found| found.range())) else {
        return vec![json!({"text": text})];
    };
    vec![
        json!({"text": text.get(..found.start)}),
        json!({"text": text.get(found.clone()), "marked": true}),
        json!({"text": text.get(found.end..)}),
    ]
}

/// Truncates a long message, such as the output of a tool.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(super) fn evidence(piece: &Evidence) -> Value {
    let said_at = piece.said_at.map(|time| time.civil().to_string());
    json!({
        "quote": piece.quote, "speaker": piece.speaker, "said_at": said_at,
        "is_file_date": piece.said_at.is_some_and(|time| time.source == TimeSource::File), "transcript": piece.transcript,
        "messages": piece.messages,
    })
}

/// Number of memories that are offered for a merge.
const OFFERED: usize = 8;
/// Maximum number of memories whose text is shown before an erasure.
const MAX_ERASED: usize = 50;

/// Offers memories to merge with, or shows the result of merging with the chosen memory.
pub(super) fn show_merge(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
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
    let mut values = erased_values(memories, &erased)?;
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

fn erased_values(memories: &Memories, erased: &Erased) -> Result<Value, ApiError> {
    let rows = |ids: &[MemoryId]| -> Result<Vec<Value>, ApiError> {
        let mut rows = Vec::new();
        for id in ids.iter().take(MAX_ERASED) {
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
