//! Finds the fields that a change in the history altered.

use serde_json::Value;

use crate::store::HistoryEntry;

/// A field with its former and new values.
type Difference = (String, Option<Value>, Option<Value>);

/// Fields that are irrelevant to a person who reads the history.
const BOOKKEEPING: &[&str] = &["updated_at", "created_at", "id", "content_hash", "memory"];

/// Returns the fields that a change has altered; fields that are empty before and after are left out.
pub(crate) fn differences(entry: &HistoryEntry) -> Vec<Difference> {
    let empty = serde_json::Map::new();
    let object = |value: &Option<Value>| value.as_ref().and_then(Value::as_object).unwrap_or(&empty).clone();
    let (before, after) = (object(&entry.before), object(&entry.after));
    let is_stated = |value: &&Value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty());
    // Fields are compared by name, since rows of older versions lack newer fields.
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    names
        .filter(|name| !BOOKKEEPING.contains(&name.as_str()) && before.get(*name) != after.get(*name))
        .map(|name| {
            let side = |side: &serde_json::Map<String, Value>| side.get(name).filter(is_stated).cloned();
            (name.clone(), side(&before), side(&after))
        })
        .filter(|(_, before, after)| before.is_some() || after.is_some())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::{Author, Memories, MemoryChange, MemoryDraft};

    #[test]
    fn only_what_differs_is_returned() {
        let memories = Memories::open("memory:").unwrap();
        let id = memories.remember(&MemoryDraft::new("Tea is at four.")).unwrap().memory.unwrap().id;
        let change = MemoryChange { importance: Some(0.9), ..MemoryChange::default() };
        memories.update_memory(id.as_str(), &change, Author::Person).unwrap();
        let history = memories.details(id.as_str()).unwrap().history;
        let told: Vec<Difference> = differences(history.last().unwrap());
        assert_eq!(told, [("importance".to_owned(), Some(json!(0.7)), Some(json!(0.9)))]);
        let new: Vec<String> = differences(&history[0]).into_iter().map(|(name, ..)| name).collect();
        assert!(new.contains(&"content".to_owned()) && !new.contains(&"tags".to_owned()), "{new:?}");
    }
}
