//! The page of one memory: its text, its evidence, its history, and the forms that change it.

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::visit::{Reply, Visit, categories, values_of};
use crate::api::{Action, ApiError, Author, HistoryEntry, Memories, MemoryChange, RivalPolicy, RunId, differences};
use crate::memory::{Evidence, Status};

/// Shows a memory.
pub(super) fn show(memories: &Memories, _: &Visit, id: &str) -> Result<Reply, ApiError> {
    let details = memories.details(id)?;
    let memory = &details.memory;
    memories.note_use(std::slice::from_ref(&memory.id));
    let mut relations = Vec::new();
    for relation in &details.relations {
        let is_outward = relation.from == memory.id;
        let other = memories.get_memory(if is_outward { &relation.to } else { &relation.from })?;
        relations.push(json!({
            "type": relation.relation_type.as_str(), "outward": is_outward, "reason": relation.reason,
            "memory": other.as_ref().map(values_of),
        }));
    }
    // What a run did is undone with the run, and undoing the first change would leave no memory to show.
    let last = details.history.last().filter(|last| last.run.is_none() && !last.undone && last.action != Action::Add);
    let undoable = last.and_then(|last| last.changeset.clone());
    let mut history: Vec<Value> = details.history.iter().map(entry).collect();
    history.reverse();
    Ok(Reply::Page(
        "memory",
        json!({
            "memory": values_of(memory), "relations": relations, "history": history,
            "evidence": details.evidence.iter().map(evidence).collect::<Vec<_>>(),
            "categories": categories(memories), "undoable": undoable,
            "can_forget": matches!(memory.status, Status::Active | Status::Pending),
            "can_restore": memory.status != Status::Active && memory.status != Status::Pending,
        }),
    ))
}

/// Changes a memory, and returns to its page.
pub(super) fn change(memories: &Memories, visit: &Visit, id: &str, verb: &str) -> Result<Reply, ApiError> {
    let (done, ids) = (format!("/memory/{id}"), [id]);
    let said = match verb {
        "edit" => {
            // The form shows all fields, so a blank field was emptied, and only texts can be emptied.
            let tags = visit.sent("tags").unwrap_or_default().split([',', '，', '、']).map(str::trim);
            let change = MemoryChange {
                content: visit.sent("content").map(str::to_owned),
                title: visit.sent("title").map(str::to_owned),
                category: visit.sent("category").map(str::to_owned),
                importance: visit.sent("importance").and_then(|text| text.parse().ok()),
                tags: Some(tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()),
                ..MemoryChange::default()
            };
            memories.update_memory(id, &change, Author::Person)?;
            "edited"
        }
        "pin" => {
            memories.pin(&ids, true)?;
            "pinned"
        }
        "unpin" => {
            memories.pin(&ids, false)?;
            "unpinned"
        }
        "forget" => {
            memories.forget(&ids, visit.sent("reason"), Author::Person)?;
            "forgotten"
        }
        "restore" => {
            memories.restore(&ids, RivalPolicy::Retire, Author::Person)?;
            "restored"
        }
        "undo" => {
            let Some(changeset) = visit.sent("changeset") else { return Ok(Reply::NotFound) };
            memories.undo_by_hand(changeset, false)?;
            "change_undone"
        }
        _ => return Ok(Reply::NotFound),
    };
    Ok(Reply::SeeOther(format!("{done}?done={said}")))
}

pub(super) fn evidence(piece: &Evidence) -> Value {
    let said_at = piece.said_at.map(|time| time.civil().strftime("%Y-%m-%d %H:%M").to_string());
    json!({
        "quote": piece.quote, "speaker": piece.speaker, "said_at": said_at, "transcript": piece.transcript,
        "messages": piece.messages,
    })
}

/// Returns the values of a line of the history.
pub(super) fn entry(entry: &HistoryEntry) -> Value {
    let fields: Vec<Value> = differences(entry)
        .into_iter()
        .map(|(name, before, after)| {
            let spell = |value: Option<Value>| {
                value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            };
            let (before, after) = (spell(before), spell(after));
            json!({"name": name, "parts": parts(before.as_deref(), after.as_deref())})
        })
        .collect();
    json!({
        "at": entry.at, "action": entry.action.as_str(), "entity": entry.entity.as_str(), "reason": entry.reason,
        "undone": entry.undone, "run": entry.run.as_ref().map(RunId::as_str), "memory": entry.memory,
        "other": entry.other, "is_new": entry.before.is_none() && entry.after.is_some(), "fields": fields,
    })
}

/// Returns what was kept, removed and added from one text to the other, in reading order.
fn parts(before: Option<&str>, after: Option<&str>) -> Vec<Value> {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    // Words of Chinese are not separated, so its characters are compared.
    let diff = if before.contains(' ') && after.contains(' ') {
        TextDiff::from_words(before, after)
    } else if before.is_ascii() || after.is_empty() || before.is_empty() {
        TextDiff::from_lines(before, after)
    } else {
        TextDiff::from_chars(before, after)
    };
    let mut parts: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match parts.last_mut().filter(|(tag, _)| *tag == change.tag()) {
            Some((_, text)) => text.push_str(change.value()),
            None => parts.push((change.tag(), change.value().to_owned())),
        }
    }
    let tag = |tag| match tag {
        ChangeTag::Equal => "same",
        ChangeTag::Delete => "removed",
        ChangeTag::Insert => "added",
    };
    parts.into_iter().map(|(kind, text)| json!({"tag": tag(kind), "text": text})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_that_changed_are_marked() {
        let told = |before, after| {
            let parts = parts(before, after);
            parts
                .iter()
                .map(|part| format!("{}:{}", part["tag"].as_str().unwrap(), part["text"].as_str().unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            told(Some("The API runs on Heroku"), Some("The API runs on Fly.io")),
            ["same:The API runs on ", "removed:Heroku", "added:Fly.io"]
        );
        assert_eq!(
            told(Some("用户住在柏林"), Some("用户住在波尔图")),
            ["same:用户住在", "removed:柏林", "added:波尔图"]
        );
        assert_eq!(told(Some("active"), Some("superseded")), ["removed:active", "added:superseded"]);
        assert_eq!(told(None, Some("new")), ["added:new"]);
    }
}
