//! Finding the list of memories in what a model answered, whatever it is wrapped in.

mod fields;
#[cfg(test)]
mod tests;
mod tidy;

pub(super) use fields::normalised;
use serde_json::Value;
use tidy::tidied;

use transcripts::json;

/// Deepest nesting that is read; ours has six levels.
const MAX_DEPTH: usize = 100;
/// Places in a reply at which a document is looked for.
const MAX_STARTS: usize = 200;
/// Texts within texts that are unwrapped.
const MAX_LAYERS: u8 = 4;

/// The entries of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entries {
    /// One value for each memory proposed, unchecked.
    pub items: Vec<Value>,
    /// Whether the document is whole; if not, the last entry may be cut.
    pub whole: bool,
}

/// Returns the entries of `text`: bare, fenced, wrapped in prose or in a text, after thoughts, or cut short.
///
/// Of several documents the last counts, since models draft before they answer. `None` means that there is no list of
/// memories at all; an empty list must be spelled as one.
pub(super) fn entries(text: &str) -> Option<Entries> {
    let text = after_thoughts(text).trim();
    if is_too_deep(text) {
        return None;
    }
    let whole = |items| Entries { items, whole: true };
    if let Ok((value, _)) = json::parse::<Value>(text) {
        return list(value, MAX_LAYERS).map(whole);
    }
    // Read by pieces, an answer with one comma too many would come to its last entry.
    let meant = tidied(text).and_then(|tidy| json::parse::<Value>(&tidy).ok()).map(|(value, _)| value);
    let meant = meant.filter(|value| !is_entry(value)).and_then(|value| list(value, MAX_LAYERS));
    let meant = meant.filter(|items| !items.is_empty());
    meant.map(whole).or_else(|| last_document(text))
}

/// Leaves out `<think>…</think>`; thoughts that do not end leave nothing.
fn after_thoughts(text: &str) -> &str {
    let start = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")] {
        if start.starts_with(open) {
            return start.split_once(close).map_or("", |(_, answer)| answer);
        }
    }
    // Some servers swallow the opening tag only.
    match start.split_once("</think>") {
        Some((_, answer)) if !start.starts_with(['{', '[']) => answer,
        _ => text,
    }
}

/// Whether brackets nest so deep that the value could not be dropped without overflowing the stack.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Finds the memories in a parsed document.
fn list(value: Value, layers: u8) -> Option<Vec<Value>> {
    let layers = layers.checked_sub(1)?;
    match value {
        Value::Object(mut object) => match object.remove("memories") {
            Some(Value::Array(items)) => Some(items),
            Some(other) => list(other, layers),
            None if object.contains_key("content") && object.contains_key("quote") => Some(vec![Value::Object(object)]),
            None if object.values().filter(|value| are_entries(value)).count() == 1 => {
                object.into_iter().find(|(_, value)| are_entries(value)).and_then(|(_, value)| list(value, layers))
            }
            None if object.len() == 1 => {
                let (_, inner) = object.into_iter().next()?;
                list(inner, layers).filter(|items| !items.is_empty() || layers < MAX_LAYERS - 2)
            }
            None => None,
        },
        Value::Array(items) if items.iter().all(Value::is_object) => Some(items),
        Value::String(text) if !is_too_deep(&text) => list(json::parse(text.trim()).ok()?.0, layers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// Whether a value is a list of what only entries look like.
fn are_entries(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(|item| item.get("quote").is_some()))
}

/// Whether a value is an entry by itself, without a list.
fn is_entry(value: &Value) -> bool {
    value.get("content").is_some() && value.get("quote").is_some()
}

/// Returns the last document in `text` that holds a list of memories; one that runs to the end of the text is cut.
///
/// Entries that stand by themselves, one after another, count together; since what held them may be broken, they do not
/// count as a whole answer where a list was begun.
fn last_document(text: &str) -> Option<Entries> {
    let (mut found, mut from, mut alone) = (None, 0, Vec::new());
    for _ in 0..MAX_STARTS {
        let Some(start) = text[from..].find(['{', '[']).map(|offset| from + offset) else { break };
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = stream.next();
        from = start + 1;
        match value {
            Some(Ok(value)) => {
                from = start + stream.byte_offset().max(1);
                if is_entry(&value) {
                    alone.push(value);
                    continue;
                }
                let is_empty_array = value.as_array().is_some_and(Vec::is_empty);
                let items = list(value, MAX_LAYERS).filter(|_| !is_empty_array);
                found = items.map(|items| Entries { items, whole: true }).or(found);
            }
            Some(Err(error)) if error.is_eof() => {
                let Some(mut cut) = cut_document(&text[start..]) else { continue };
                cut.items.splice(0..0, alone);
                return Some(cut);
            }
            Some(Err(_)) | None => {}
        }
    }
    let is_list_begun = text.contains("memories") || text.starts_with('[');
    found.or((!alone.is_empty()).then_some(Entries { items: alone, whole: !is_list_begun }))
}

fn cut_document(text: &str) -> Option<Entries> {
    let items = list(json::parse_prefix(text)?, MAX_LAYERS)?;
    // An empty list that is not closed is a cut reply, not an answer of "nothing".
    (!items.is_empty()).then_some(Entries { items, whole: false })
}
