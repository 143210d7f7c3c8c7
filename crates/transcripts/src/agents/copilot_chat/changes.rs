//! The log of changes: a first state, and what was set, appended or deleted in it since.

use serde_json::Value;

use crate::MAX_RECORD_BYTES;

/// What the document may hold, in bytes of memory, before changes that add to it are left out.
const MAX_HELD_BYTES: usize = 4 * MAX_RECORD_BYTES;
/// Longest way into the document that a change may take; a real one takes four steps.
const MAX_STEPS: usize = 32;

/// Whether `line` holds the state of a session.
pub(super) fn is_start(line: &Value) -> bool {
    line["kind"] == 0 && line["v"]["requests"].is_array()
}

/// Whether `line` is a state or a change of it.
pub(super) fn is_change(line: &Value) -> bool {
    let is_known = line["kind"].as_u64().is_some_and(|kind| kind <= 3);
    is_known && (line["k"].is_array() || line["v"].is_object())
}

/// The document, as far as the changes have been replayed.
pub(super) struct Replay {
    state: Value,
    held: usize,
    most: usize,
}

impl Default for Replay {
    fn default() -> Self {
        Self { state: Value::Null, held: 0, most: MAX_HELD_BYTES }
    }
}

impl Replay {
    /// Applies the next change.
    ///
    /// # Errors
    /// Why it cannot be applied; the document then stays as it was.
    pub(super) fn apply(&mut self, mut change: Value) -> Result<(), &'static str> {
        let kind = change["kind"].as_u64().filter(|_| is_change(&change)).ok_or("no change of a session")?;
        let value = change["v"].take();
        let added = match kind {
            // Of a list that is appended only the elements stay.
            2 => weight(&value) - size_of::<Value>(),
            3 => 0,
            _ => weight(&value),
        };
        if kind == 0 {
            (self.state, self.held) = (value, added);
            return Ok(());
        }
        if self.held.saturating_add(added) > self.most {
            return Err("a change of a session that holds more than can be read");
        }
        let steps = change["k"].as_array().map(Vec::as_slice).unwrap_or_default();
        if steps.len() > MAX_STEPS {
            return Err("a change too deep inside the session");
        }
        let (last, way) = steps.split_last().ok_or("a change of nothing")?;
        let parent = way.iter().try_fold(&mut self.state, child).ok_or("a change of what is not there")?;
        let removed = match kind {
            1 => set(parent, last, value),
            2 => append(parent, last, value, change["i"].as_u64()),
            _ => delete(parent, last),
        }?;
        self.held = self.held.saturating_add(added).saturating_sub(removed);
        Ok(())
    }

    /// Returns the document.
    pub(super) fn finish(self) -> Value {
        self.state
    }
}

fn child<'a>(parent: &'a mut Value, step: &Value) -> Option<&'a mut Value> {
    match parent {
        Value::Object(fields) => fields.get_mut(step.as_str()?),
        Value::Array(elements) => elements.get_mut(place(step)?),
        _ => None,
    }
}

fn place(step: &Value) -> Option<usize> {
    step.as_u64().and_then(|place| usize::try_from(place).ok())
}

/// Sets one field or element; returns what was in its place weighed.
fn set(parent: &mut Value, step: &Value, value: Value) -> Result<usize, &'static str> {
    let old = match (parent, step.as_str(), place(step)) {
        (Value::Object(fields), Some(name), _) => fields.insert(name.to_owned(), value),
        (Value::Array(elements), _, Some(place)) if place < elements.len() => {
            Some(std::mem::replace(&mut elements[place], value))
        }
        (Value::Array(elements), _, Some(place)) if place == elements.len() => {
            elements.push(value);
            None
        }
        _ => return Err("a change of what is not there"),
    };
    Ok(old.as_ref().map_or(0, weight))
}

/// Appends `value`, a list, after cutting what stands there to the first `kept` elements; returns the weight of what
/// was cut off.
fn append(parent: &mut Value, step: &Value, value: Value, kept: Option<u64>) -> Result<usize, &'static str> {
    let added = match value {
        Value::Array(added) => added,
        Value::Null => Vec::new(),
        _ => return Err("an addition that is no list"),
    };
    if let (Value::Object(fields), Some(name)) = (&mut *parent, step.as_str()) {
        let there = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if there.is_null() {
            *there = Value::Array(Vec::new());
        }
    }
    let Some(Value::Array(elements)) = child(parent, step) else { return Err("an addition to what is no list") };
    let kept = kept.and_then(|kept| usize::try_from(kept).ok()).unwrap_or(elements.len()).min(elements.len());
    let removed = elements.drain(kept..).map(|element| weight(&element)).sum();
    elements.extend(added);
    Ok(removed)
}

/// Takes one field or element away; returns its weight.
fn delete(parent: &mut Value, step: &Value) -> Result<usize, &'static str> {
    let old = match (parent, step.as_str(), place(step)) {
        (Value::Object(fields), Some(name), _) => fields.shift_remove(name),
        (Value::Array(elements), _, Some(place)) if place < elements.len() => Some(elements[place].take()),
        _ => return Err("a change of what is not there"),
    };
    Ok(old.as_ref().map_or(0, weight))
}

/// Returns about how many bytes of memory `value` takes.
fn weight(value: &Value) -> usize {
    let (mut bytes, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        bytes += size_of::<Value>();
        match value {
            Value::String(text) => bytes += text.len(),
            Value::Array(elements) => open.extend(elements),
            Value::Object(fields) => {
                bytes += fields.keys().map(|name| size_of::<String>() + name.len()).sum::<usize>();
                open.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn replayed(changes: &[Value]) -> (Value, Vec<&'static str>) {
        let mut replay = Replay::default();
        let failed = changes.iter().filter_map(|change| replay.apply(change.clone()).err()).collect();
        (replay.finish(), failed)
    }

    #[test]
    fn changes_set_append_cut_and_delete() {
        let (state, failed) = replayed(&[
            json!({"kind": 0, "v": {"requests": [], "customTitle": "a"}}),
            json!({"kind": 2, "k": ["requests"], "v": [{"id": 1}, {"id": 2}]}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "v": ["x", "y"]}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "v": ["z"], "i": 1}),
            json!({"kind": 1, "k": ["requests", 1, "id"], "v": 3}),
            json!({"kind": 1, "k": ["requests", 2], "v": {"id": 4}}),
            json!({"kind": 3, "k": ["customTitle"]}),
        ]);
        assert_eq!(failed, Vec::<&str>::new());
        assert_eq!(state, json!({"requests": [{"id": 1, "response": ["x", "z"]}, {"id": 3}, {"id": 4}]}));
    }

    #[test]
    fn a_document_grows_no_further_than_it_may() {
        let mut replay = Replay { most: 2_000, ..Replay::default() };
        let text = "x".repeat(500);
        let answer = |kept: Option<u64>| json!({"kind": 2, "k": ["requests"], "v": [text], "i": kept});
        replay.apply(json!({"kind": 0, "v": {"requests": []}})).unwrap();
        // What is written over again and again takes no more room.
        for _ in 0..20 {
            replay.apply(answer(Some(0))).unwrap();
            replay.apply(json!({"kind": 1, "k": ["title"], "v": text})).unwrap();
            replay.apply(json!({"kind": 3, "k": ["title"]})).unwrap();
        }
        let failed = (0..20).filter(|_| replay.apply(answer(None)).is_err()).count();
        assert_eq!(failed, 18);
        assert_eq!(replay.finish()["requests"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn what_cannot_be_applied_changes_nothing() {
        let start = json!({"kind": 0, "v": {"requests": [], "title": "a"}});
        let (state, failed) = replayed(&[
            json!({"kind": 1, "k": ["requests", 0], "v": 1}),
            start.clone(),
            json!({"kind": 1, "k": [], "v": 1}),
            json!({"kind": 1, "k": ["requests", 9], "v": 1}),
            json!({"kind": 1, "k": ["requests", -1], "v": 1}),
            json!({"kind": 2, "k": ["title"], "v": [1]}),
            json!({"kind": 2, "k": ["requests"], "v": 1}),
            json!({"kind": 1, "k": vec!["requests"; 99], "v": 1}),
            json!({"kind": 9, "k": ["title"], "v": 1}),
            json!("line"),
        ]);
        assert_eq!((state, failed.len()), (start["v"].clone(), 9));
    }
}
