//! The content address of a request.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Request;
use super::wire;

impl Request {
    /// Returns 64 hex digits that stand for this request to `model`, wherever the server is.
    ///
    /// They are the SHA-256 of model, messages, schema and token limit, as JSON with sorted keys.
    #[must_use]
    pub fn key(&self, model: &str) -> String {
        hash(&self.address(model))
    }

    /// Returns what [`Request::key`] hashes.
    pub(super) fn address(&self, model: &str) -> Value {
        json!({
            "model": model,
            "messages": wire::messages(self, None),
            "response_format": wire::strict_format(&self.schema),
            "max_completion_tokens": self.max_completion_tokens,
        })
    }
}

/// Returns the SHA-256 of `address` with its keys sorted, in hex.
pub(super) fn hash(address: &Value) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(sorted(address).to_string()) {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
    }
    hex
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<_> = fields.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::tests::request;
    use super::*;
    use crate::llm::{Turn, TurnRole};

    #[test]
    fn key_is_stable_between_versions() {
        assert_eq!(request("用 tabs 🙂").key("m"), "2f0744d5f5e3bf80a4514cea7d1a6e843f4f5936f4e8a57c6be1b7fb92a9ac39");
    }

    #[test]
    fn key_ignores_the_order_of_schema_fields_only() {
        let base = request("hello");
        let mut reordered = base.clone();
        reordered.schema.schema = json!({"additionalProperties": false, "type": "object"});
        assert_eq!(base.key("m"), reordered.key("m"));

        let mut changed = [(); 5].map(|()| base.clone());
        changed[0].max_completion_tokens += 1;
        changed[1].schema.schema["type"] = json!("array");
        changed[2].schema.name = "other".into();
        changed[3].turns[0].role = TurnRole::Assistant;
        changed[4].turns.push(Turn { role: TurnRole::User, text: base.system.clone() });
        let mut keys: Vec<_> = changed.iter().map(|request| request.key("m")).collect();
        keys.extend([base.key("m"), base.key("other")]);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 7);
    }
}
