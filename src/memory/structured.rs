//! The parts of a memory that follow from its type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Outcome;

/// The structured part of a memory; its shape follows from the memory's type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Structured {
    /// What happened.
    Episode(Episode),
    /// How to act.
    Procedure(Procedure),
    /// A pattern seen in several episodes.
    Pattern {
        /// What recurs, and when it helps.
        pattern: String,
    },
    /// Attributes of the user.
    Profile {
        /// Attribute to value, e.g. `name` to `Ana`.
        profile: serde_json::Map<String, serde_json::Value>,
    },
}

/// An episode: what happened and what was learnt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Episode {
    /// The problem or setting.
    pub situation: String,
    /// What was done.
    pub action: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it worked or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What to do or avoid next time.
    #[serde(default)]
    pub learnings: Vec<String>,
}

/// A procedure: when to do what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Procedure {
    /// Short name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Steps in order.
    #[serde(default)]
    pub steps: Vec<String>,
    /// Situations in which it applies.
    #[serde(default)]
    pub triggers: Vec<String>,
    /// Rank among procedures with the same trigger, 0–1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structured_parts_are_told_apart_by_their_fields() {
        let episode = r#"{"situation":"s","action":"a","outcome":"failure","learnings":[]}"#;
        let procedure = r#"{"name":"n","description":"d","steps":["s"],"triggers":[]}"#;
        assert!(matches!(serde_json::from_str(episode).unwrap(), Structured::Episode(_)));
        assert!(matches!(serde_json::from_str(procedure).unwrap(), Structured::Procedure(_)));
    }
}
