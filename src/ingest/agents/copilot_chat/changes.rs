//! The log of changes: a first state, and what was set, appended or deleted in it since.

use serde_json::Value;

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
#[derive(Default)]
pub(super) struct Replay {
    state: Value,
}

impl Replay {
    /// Applies the next change.
    ///
    /// # Errors
    /// Why it cannot be applied; the document then stays as it was.
    pub(super) fn apply(&mut self, mut change: Value) -> Result<(), &'static str> {
        let kind = change["kind"].as_u64().filter(|_| is_change(&change)).ok_or("no change of a session")?;
        let value = change["v"].take();
        if kind == 0 {
            self.state = value;
            return Ok(());
        }
        let steps = change["k"].as_array().map(Vec::as_slice).unwrap_or_default();
        if steps.len() > MAX_STEPS {
            return Err("a change too deep inside the session");
        }
        let (last, way) = steps.split_last().ok_or("a change of nothing")?;
        let parent = way.iter().try_fold(&mut self.state, child).ok_or("a change of what is not there")?;
        match kind {
            1 => set(parent, last, value),
            2 => append(parent, last, value, change["i"].as_u64()),
            _ => delete(parent, last),
        }
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

fn set(parent: &mut Value, step: &Value, value: Value) -> Result<(), &'static str> {
    match (parent, step.as_str(), place(step)) {
        (Value::Object(fields), Some(name), _) => {
            fields.insert(name.to_owned(), value);
        }
        (Value::Array(elements), _, Some(place)) if place < elements.len() => elements[place] = value,
        (Value::Array(elements), _, Some(place)) if place == elements.len() => elements.push(value),
        _ => return Err("a change of what is not there"),
    }
    Ok(())
}

/// Appends `value`, a list, after cutting what stands there to the first `kept` elements.
fn append(parent: &mut Value, step: &Value, value: Value, kept: Option<u64>) -> Result<(), &'static str> {
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
    if let Some(kept) = kept.and_then(|kept| usize::try_from(kept).ok()) {
        elements.truncate(kept);
    }
    elements.extend(added);
    Ok(())
}

fn delete(parent: &mut Value, step: &Value) -> Result<(), &'static str> {
    match (parent, step.as_str(), place(step)) {
        (Value::Object(fields), Some(name), _) => {
            fields.shift_remove(name);
        }
        (Value::Array(elements), _, Some(place)) if place < elements.len() => elements[place] = Value::Null,
        _ => return Err("a change of what is not there"),
    }
    Ok(())
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
