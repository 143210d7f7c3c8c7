//! Profiles of the user and of a project, assembled from memories.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{ApiError, Memories, Query, confidence_now};
use crate::consolidate::compare::key::{Arity, arity, canonical};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Structured};
use crate::store::{Filter, Order};
use crate::text::normalise::snake_case;

/// A record of the attributes that memories state about the user or a project.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// The namespace of the memories: `global` or `user/…` for a user, `project/…` for a project.
    pub namespace: Namespace,
    /// The fields by name, such as `language` or `preference.editor`. Preferences and conventions that set no attribute
    /// are in the fields `preferences` and `conventions`.
    pub fields: BTreeMap<String, Vec<ProfileValue>>,
}

/// A value of a field, with the memory that states it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileValue {
    /// The value.
    pub value: Value,
    /// The confidence of the memory now, after fading.
    pub confidence: f64,
    /// The memory.
    pub memory: MemoryId,
    /// The quotes behind the memory.
    pub evidence: Vec<Evidence>,
}

impl Memories {
    /// Returns the profile of a namespace, assembled from its active memories. Each value names the memory that states
    /// it; the values of a field are ordered by confidence, highest first. A field that can have only one value, such
    /// as a name, has the latest value.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read, or the namespace cannot be accessed.
    pub fn profile(&self, namespace: &Namespace) -> Result<Profile, ApiError> {
        let (store, now) = (self.ledger("assemble a profile")?, Timestamp::now());
        let filter = Filter { unexpired_at: Some(now), ..Filter::exactly(std::slice::from_ref(namespace)) };
        let memories = self.query_memories(&Query { filter, order: Order::Confidence, ..Query::default() })?;
        let mut stated: Vec<(Memory, Vec<(String, Value)>)> = memories
            .into_iter()
            .map(|memory| {
                let fields = fields_of(&memory);
                (memory, fields)
            })
            .filter(|(_, fields)| !fields.is_empty())
            .collect();
        let mut evidence = store.evidence_of(&stated.iter().map(|(memory, _)| memory.clone()).collect::<Vec<_>>())?;
        keep_latest(&mut stated);
        let mut fields: BTreeMap<String, Vec<ProfileValue>> = BTreeMap::new();
        for (memory, stated) in stated {
            let evidence = evidence.remove(&memory.id).unwrap_or_default();
            for (name, value) in stated {
                fields.entry(name).or_default().push(ProfileValue {
                    value,
                    confidence: confidence_now(&memory, now),
                    memory: memory.id.clone(),
                    evidence: evidence.clone(),
                });
            }
        }
        Ok(Profile { namespace: namespace.clone(), fields })
    }
}

/// Drops the earlier values of fields that have only one value at a time.
fn keep_latest(stated: &mut [(Memory, Vec<(String, Value)>)]) {
    let said = |memory: &Memory| (memory.claim.valid_from.unwrap_or(memory.created_at), memory.updated_at);
    let mut latest: BTreeMap<String, _> = BTreeMap::new();
    for (memory, fields) in stated.iter() {
        for (name, value) in fields.iter().filter(|(name, value)| has_one_value(memory, name, value)) {
            let at = latest.entry(name.clone()).or_insert_with(|| (said(memory), value.clone()));
            if at.0 < said(memory) {
                *at = (said(memory), value.clone());
            }
        }
    }
    for (memory, fields) in stated {
        fields.retain(|(name, value)| {
            !has_one_value(memory, name, value) || latest.get(name).is_none_or(|(_, latest)| latest == value)
        });
    }
}

/// Whether a field has only one value at a time. A name does, unlike a language; an unknown field does if it is part of
/// a profile record. A list never counts as one value.
fn has_one_value(memory: &Memory, name: &str, value: &Value) -> bool {
    let is_in_record = matches!(memory.claim.structured, Some(Structured::Profile { .. }));
    match arity(&canonical(&format!("user.{}", snake_case(name)))) {
        Arity::Single => !value.is_array(),
        Arity::Open => is_in_record && !value.is_array(),
        Arity::Many => false,
    }
}

/// Returns the fields that a memory states, with their values.
fn fields_of(memory: &Memory) -> Vec<(String, Value)> {
    let claim = &memory.claim;
    if let Some(Structured::Profile { profile }) = &claim.structured {
        return profile.iter().map(|(name, value)| (snake_case(name), value.clone())).collect();
    }
    let attribute = claim.key.as_deref().and_then(|key| key.strip_prefix("user.").or(key.strip_prefix("project.")));
    if let Some((name, value)) = attribute.zip(claim.value.clone()) {
        return vec![(name.to_owned(), Value::String(value))];
    }
    let field = match claim.category.as_str() {
        "preference" => "preferences",
        "convention" => "conventions",
        "decision" => "decisions",
        _ => return Vec::new(),
    };
    vec![(field.to_owned(), Value::String(claim.content.clone()))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::memory;

    #[test]
    fn a_field_is_an_attribute_or_the_kind_of_a_statement() {
        let mut one = memory("Editor", "The user prefers Helix.");
        let stated = |memory: &Memory| fields_of(memory).into_iter().map(|(name, value)| format!("{name}: {value}"));
        assert_eq!(stated(&one).count(), 0, "a fact without an attribute belongs to no field");
        one.claim.category = "preference".into();
        assert_eq!(stated(&one).collect::<Vec<_>>(), ["preferences: \"The user prefers Helix.\""]);
        (one.claim.key, one.claim.value) = (Some("user.preference.editor".into()), Some("Helix".into()));
        assert_eq!(stated(&one).collect::<Vec<_>>(), ["preference.editor: \"Helix\""]);
        let profile = serde_json::json!({"languages": ["Rust", "Go"]}).as_object().unwrap().clone();
        one.claim.structured = Some(Structured::Profile { profile });
        assert_eq!(stated(&one).collect::<Vec<_>>(), ["languages: [\"Rust\",\"Go\"]"]);
    }
}
