//! The memory record and its parts, as plain data without behaviour.

pub(crate) mod fading;
mod identity;
mod spelled;
mod task;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcripts::MessageTime;

pub(crate) use identity::short;
pub use identity::{MemoryId, Namespace};
pub use spelled::{
    Audience, CATEGORIES, ExtractionMethod, MemoryType, Outcome, ParseError, RelationType, Scope, Status, Tier,
};
pub(crate) use spelled::{BLOCKER, string_enum};
pub use task::{Citation, Remedy, Task, TaskCommand, TaskError, TaskFile, TaskOutcome, TaskRecord, TestRun};

/// The content of a memory, independent of its storage and usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The type: a fact, an event or a way of doing something.
    #[serde(rename = "type")]
    pub memory_type: MemoryType,
    /// One of the allowed categories; see [`CATEGORIES`].
    pub category: String,
    /// A few words.
    pub title: String,
    /// One self-contained sentence or short paragraph, in the third person and with absolute dates.
    pub content: String,
    /// A shorter wording for briefs.
    pub summary: Option<String>,
    /// Topic tag, such as `auth`.
    pub subject: Option<String>,
    /// Normalised attribute, such as `user.residence`; two claims with the same key are about the same thing.
    pub key: Option<String>,
    /// Value of the attribute, such as `Berlin`.
    pub value: Option<String>,
    /// Structured parts, which depend on the type.
    pub structured: Option<Structured>,
    /// The intended lifetime.
    pub scope: Scope,
    /// How much the memory matters, from 0 to 1.
    pub importance: f64,
    /// How certain the memory is, from 0 to 1.
    pub confidence: f64,
    /// Free tags.
    pub tags: Vec<String>,
    /// Time from which the claim is true.
    #[schemars(with = "Option<String>")]
    pub valid_from: Option<Timestamp>,
    /// Time at which the claim ceased to be true.
    #[schemars(with = "Option<String>")]
    pub valid_to: Option<Timestamp>,
    /// Time at which the memory expires and is no longer recalled.
    #[schemars(with = "Option<String>")]
    pub expires_at: Option<Timestamp>,
}

impl Claim {
    /// Returns a long-term claim of medium importance and full confidence, with all other fields empty.
    #[must_use]
    pub fn new(memory_type: MemoryType, category: &str, title: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            memory_type,
            category: category.to_owned(),
            title: title.into(),
            content: content.into(),
            summary: None,
            subject: None,
            key: None,
            value: None,
            structured: None,
            scope: Scope::LongTerm,
            importance: 0.5,
            confidence: 1.0,
            tags: Vec::new(),
            valid_from: None,
            valid_to: None,
            expires_at: None,
        }
    }
}

/// A memory as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Identity.
    #[schemars(with = "String")]
    pub id: MemoryId,
    /// Claim of the memory.
    #[serde(flatten)]
    pub claim: Claim,
    /// The namespace that the memory belongs to.
    #[schemars(with = "Vec<String>")]
    pub namespace: Namespace,
    /// Whether the memory is recalled.
    pub status: Status,
    /// Whether a person pinned the memory, so that only a person may change or retire it and its confidence does not
    /// fade.
    pub pinned: bool,
    /// The number and times of the memory's uses.
    #[serde(flatten)]
    pub usage: Usage,
    /// The source of the memory: a transcript key, a file, or a person's command.
    pub source: String,
    /// The way in which the memory was created.
    pub extraction_method: ExtractionMethod,
    /// Time at which the memory was forgotten.
    #[schemars(with = "Option<String>")]
    pub deleted_at: Option<Timestamp>,
    /// Time at which the memory was learnt.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// Time of the memory's last change.
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
}

impl Memory {
    /// Returns the tier, which is the highest for a pinned memory.
    pub(crate) const fn tier(&self) -> Tier {
        if self.pinned { Tier::L0 } else { self.usage.tier }
    }

    /// Returns the status at `now`: an active memory whose end has passed is no longer recalled, even before maintenance
    /// marks it as expired.
    pub(crate) fn status_at(&self, now: Timestamp) -> Status {
        let is_over = self.status == Status::Active && self.claim.expires_at.is_some_and(|at| at <= now);
        if is_over { Status::Expired } else { self.status }
    }

    /// Returns the memory as it is printed at `now`: with its status at that time, and with the tier of a pinned memory.
    pub(crate) fn printed_at(mut self, now: Timestamp) -> Self {
        (self.status, self.usage.tier) = (self.status_at(now), self.tier());
        self
    }

    /// Returns a new active memory of `claim`, learnt at `now`.
    #[must_use]
    pub fn new(
        claim: Claim,
        namespace: Namespace,
        source: impl Into<String>,
        method: ExtractionMethod,
        now: Timestamp,
    ) -> Self {
        Self {
            id: MemoryId::new(),
            claim,
            namespace,
            status: Status::Active,
            pinned: false,
            usage: Usage::default(),
            source: source.into(),
            extraction_method: method,
            deleted_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// The number and times of a memory's uses; stored separately so that a read never re-indexes the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Number of times the memory was recalled.
    pub access_count: u32,
    /// Time at which the memory was last recalled.
    #[schemars(with = "Option<String>")]
    pub last_accessed_at: Option<Timestamp>,
    /// Tier of the memory, which depends on how often the memory is used.
    pub tier: Tier,
    /// Number of promotions so far.
    pub promotion_count: u32,
    /// Time at which the memory was last promoted.
    #[schemars(with = "Option<String>")]
    pub last_promoted_at: Option<Timestamp>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { access_count: 0, last_accessed_at: None, tier: Tier::L4, promotion_count: 0, last_promoted_at: None }
    }
}

/// The basis of a memory: words that occur in a message of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Key of the transcript, `source:external_id`.
    pub transcript: String,
    /// Ids of the messages that the claim is based on; the quote is in the first of them.
    pub messages: Vec<String>,
    /// Verbatim words of the first message.
    pub quote: String,
    /// Speaker of the quote.
    pub speaker: Option<String>,
    /// The time of the message.
    #[schemars(with = "Option<serde_json::Value>")]
    pub said_at: Option<MessageTime>,
    /// Hash of the first message's content; see [`transcripts::Message::content_hash`].
    pub content_hash: String,
}

/// A link from one memory to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The memory from which the link starts.
    pub from: MemoryId,
    /// The memory to which the link leads.
    pub to: MemoryId,
    /// The role of `from` with respect to `to`.
    #[serde(rename = "type")]
    pub relation_type: RelationType,
    /// The reason for the link, in a few words.
    pub reason: Option<String>,
    /// Time at which the link was written.
    pub created_at: Timestamp,
}

/// A proposal of an extractor: a claim with the words that it is based on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The claim that would be remembered.
    pub claim: Claim,
    /// The people or projects to which the claim applies; this determines the namespace.
    pub audience: Audience,
    /// At least one piece of evidence, with quotes that were found in their messages.
    pub evidence: Vec<Evidence>,
    /// A known memory that this claim replaces, according to the extractor.
    pub replaces: Option<MemoryId>,
    /// Whether the words of the claim were copied from elsewhere, such as a page, a file or the output of a tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_pasted: bool,
    /// Whether the log is part of a repository, so that anybody may have written its words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shipped: bool,
    /// Whether the claim is worth storing only if it ends or changes a known memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub updates_only: bool,
}

impl Candidate {
    /// Returns the proposal to remember a claim that replaces no known memory.
    pub(crate) fn new(claim: Claim, audience: Audience, evidence: Vec<Evidence>) -> Self {
        Self { claim, audience, evidence, replaces: None, is_pasted: false, is_shipped: false, updates_only: false }
    }
}

/// The structured part of a memory; its variant depends on the memory's type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Structured {
    /// What happened.
    Episode(Episode),
    /// How to act.
    Procedure(Procedure),
    /// A pattern found in several episodes, or a pattern of code.
    Pattern {
        /// What recurs, and when it helps to know it.
        #[schemars(with = "PatternForm")]
        pattern: Pattern,
    },
    /// Something that keeps work from going on.
    Blocker {
        /// Who can remove it, and how.
        blocker: Blocker,
    },
    /// Attributes of the user.
    Profile {
        /// Map from attribute to value, such as `name` to `Ana`.
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
    /// Why the action worked or failed.
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
    /// The purpose of the procedure.
    pub description: String,
    /// Steps in order.
    #[serde(default)]
    pub steps: Vec<String>,
    /// Situations in which the procedure applies.
    #[serde(default)]
    pub triggers: Vec<String>,
    /// Rank among procedures, any number; a brief shows those with the highest priority first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
}

/// A pattern: what recurs, and how to use it. A plain text is read as a pattern with only a description.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "PatternForm", into = "PatternFields")]
pub struct Pattern {
    /// What recurs.
    pub description: String,
    /// Short name.
    pub name: Option<String>,
    /// The code, unchanged.
    pub code_snippet: Option<String>,
    /// Programming language of the code.
    pub language: Option<String>,
    /// Framework or library of the code.
    pub framework: Option<String>,
    /// Situations in which the pattern applies.
    pub use_case: Option<String>,
    /// Situations in which the pattern does not apply.
    pub avoid_when: Option<String>,
    /// How well the pattern worked, from 0 to 1.
    pub effectiveness: Option<f64>,
}

impl Pattern {
    /// Returns a pattern with only a description.
    pub(crate) fn of(description: impl Into<String>) -> Self {
        Self { description: description.into(), ..Self::default() }
    }
}

/// The forms in which a pattern is read. Earlier versions wrote a pattern with only a description as a text.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum PatternForm {
    Text(String),
    Fields(PatternFields),
}

macro_rules! pattern_fields {
    ($($field:ident: $kind:ty),+) => {
        #[derive(Clone, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct PatternFields {
            description: String,
            $(#[serde(default, skip_serializing_if = "Option::is_none")] $field: Option<$kind>),+
        }

        impl From<PatternFields> for Pattern {
            fn from(PatternFields { description, $($field),+ }: PatternFields) -> Self {
                Self { description, $($field),+ }
            }
        }

        impl From<Pattern> for PatternFields {
            fn from(Pattern { description, $($field),+ }: Pattern) -> Self {
                Self { description, $($field),+ }
            }
        }
    };
}

impl From<PatternForm> for Pattern {
    fn from(form: PatternForm) -> Self {
        match form {
            PatternForm::Text(description) => Self::of(description),
            PatternForm::Fields(fields) => fields.into(),
        }
    }
}

pattern_fields!(
    name: String, code_snippet: String, language: String, framework: String, use_case: String, avoid_when: String,
    effectiveness: f64
);

/// What keeps work from going on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocker {
    /// Who can remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What would remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_json_is_flat_and_round_trips() {
        let memory = Memory::new(
            Claim::new(MemoryType::Semantic, "fact", "Residence", "The user lives in Berlin."),
            Namespace::global(),
            "manual",
            ExtractionMethod::Manual,
            "2026-01-02T03:04:05Z".parse().unwrap(),
        );
        let json = serde_json::to_value(&memory).unwrap();
        assert_eq!(json["type"], "semantic");
        assert_eq!(json["created_at"], "2026-01-02T03:04:05Z");
        assert_eq!(serde_json::from_value::<Memory>(json).unwrap(), memory);
    }

    #[test]
    fn structured_parts_are_told_apart_by_their_fields() {
        let episode = r#"{"situation":"s","action":"a","outcome":"failure","learnings":[]}"#;
        let procedure = r#"{"name":"n","description":"d","steps":["s"],"triggers":[]}"#;
        assert!(matches!(serde_json::from_str(episode).unwrap(), Structured::Episode(_)));
        assert!(matches!(serde_json::from_str(procedure).unwrap(), Structured::Procedure(_)));
        let blocker: Structured = serde_json::from_str(r#"{"blocker":{"owner":"Ana"}}"#).unwrap();
        assert!(matches!(blocker, Structured::Blocker { .. }));
    }

    #[test]
    fn a_pattern_keeps_its_snippet_and_is_always_written_as_an_object() {
        let whole = r#"{"pattern":{"description":"Retry once.","code_snippet":"for _ in 0..2 {\n}","language":"rust","effectiveness":0.5}}"#;
        let plain = r#"{"pattern":{"description":"Retry once."}}"#;
        for (text, written) in [(r#"{"pattern":"Retry once."}"#, plain), (plain, plain), (whole, whole)] {
            let parts: Structured = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&parts).unwrap(), written);
        }
    }
}
