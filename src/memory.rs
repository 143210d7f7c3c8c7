//! The record that is kept, and what hangs on it: plain data, no behaviour beyond reading and spelling it.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transcript::MessageTime;

/// Why a spelled value is not one of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {what}; use {allowed}")]
pub struct ParseError {
    /// What was given.
    pub value: String,
    /// What it should have been, with its article.
    pub what: &'static str,
    /// The spellings that are understood.
    pub allowed: &'static str,
}

/// Declares an enum with one fixed spelling a variant, in `serde`, `Display` and `FromStr` alike.
macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident, $what:literal, $allowed:literal, { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order of the specification.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the spelling used in the database, in JSON and on the command line.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.as_str()) }
        }

        impl FromStr for $name {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
                    .ok_or_else(|| ParseError { value: text.to_owned(), what: $what, allowed: $allowed })
            }
        }
    };
}

spelled!(
    /// The kind of remembering that a memory serves.
    MemoryType, "a memory type", "semantic, episodic or procedural", {
    /// What is so: facts, preferences, decisions.
    Semantic = "semantic",
    /// What happened: a situation, what was done, how it ended.
    Episodic = "episodic",
    /// How to act: instructions, conventions, workflows.
    Procedural = "procedural",
});

spelled!(
    /// How long a memory is meant to live.
    Scope, "a scope", "long_term or short_term", {
    /// Kept until it is superseded or forgotten.
    LongTerm = "long_term",
    /// Current state that expires.
    ShortTerm = "short_term",
});

spelled!(
    /// Whether a memory is recalled, and if not, why.
    Status, "a status", "active, superseded, forgotten, expired or pending", {
    /// Recalled.
    Active = "active",
    /// Replaced by a newer memory that is linked to it.
    Superseded = "superseded",
    /// Removed by a person or a rule; can be restored until it is purged.
    Forgotten = "forgotten",
    /// Past its `expires_at`.
    Expired = "expired",
    /// Waiting in the inbox for a person.
    Pending = "pending",
});

spelled!(
    /// How a memory came to be.
    ExtractionMethod, "an extraction method", "auto, manual or imported", {
    /// Extracted from a transcript.
    Auto = "auto",
    /// Written by a person or an agent.
    Manual = "manual",
    /// Read from another memory store.
    Imported = "imported",
});

spelled!(
    /// What one memory is to another.
    RelationType, "a relation", "supports, contradicts, refines, supersedes, derived_from or related", {
    /// Confirms it independently.
    Supports = "supports",
    /// Cannot hold at the same time.
    Contradicts = "contradicts",
    /// Says the same in more detail.
    Refines = "refines",
    /// Takes its place.
    Supersedes = "supersedes",
    /// Was concluded from it.
    DerivedFrom = "derived_from",
    /// Belongs to the same matter.
    Related = "related",
});

spelled!(
    /// Place in the lookup hierarchy, from most to least readily loaded.
    Tier, "a tier", "l0, l1, l2, l3 or l4", {
    /// Always loaded.
    L0 = "l0",
    /// Loaded for most sessions.
    L1 = "l1",
    /// Loaded on a match of subject.
    L2 = "l2",
    /// Found by search.
    L3 = "l3",
    /// Found by search; where every memory starts.
    L4 = "l4",
});

/// Categories that are accepted unless the configuration lists others.
pub const CATEGORIES: &[&str] = &[
    "fact",
    "preference",
    "decision",
    "convention",
    "project",
    "task",
    "note",
    "solution",
    "mistake",
    "pattern",
    "workflow",
    "profile",
];

/// Identity of a memory: a `UUIDv7` in its hyphenated spelling, so that ids sort by creation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(String);

impl MemoryId {
    /// Returns a fresh id.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// Takes an id as it stands in the database or an export.
    #[must_use]
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for MemoryId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Where a memory belongs: a path such as `project/shop`. Nothing is shared between two namespaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// The namespace of what holds for the user everywhere.
    #[must_use]
    pub fn global() -> Self {
        Self(vec!["global".into()])
    }

    /// The namespace of one project.
    ///
    /// # Errors
    /// [`ParseError`] if `id` is empty or holds a control character.
    pub fn project(id: &str) -> Result<Self, ParseError> {
        Self::try_from(vec!["project".to_owned(), id.replace('/', "-")])
    }

    /// Returns the path's parts, outermost first.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Namespace {
    type Error = ParseError;
    fn try_from(parts: Vec<String>) -> Result<Self, ParseError> {
        let sound = |part: &String| {
            !part.is_empty() && part.len() <= 200 && !part.contains('/') && !part.chars().any(char::is_control)
        };
        if parts.is_empty() || parts.len() > 8 || !parts.iter().all(sound) {
            return Err(ParseError {
                value: parts.join("/"),
                what: "a namespace",
                allowed: "one to eight non-empty names joined by '/', e.g. global or project/shop",
            });
        }
        Ok(Self(parts))
    }
}

impl From<Namespace> for Vec<String> {
    fn from(namespace: Namespace) -> Self {
        namespace.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.join("/"))
    }
}

impl FromStr for Namespace {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::try_from(text.split('/').map(str::to_owned).collect::<Vec<_>>())
    }
}

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

spelled!(
    /// How an episode ended.
    Outcome, "an outcome", "success, partial or failure", {
    /// It worked.
    Success = "success",
    /// It worked in part.
    Partial = "partial",
    /// It did not work.
    Failure = "failure",
});

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

/// What a memory says, apart from where it is kept and how it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The kind of remembering.
    #[serde(rename = "type")]
    pub memory_type: MemoryType,
    /// One of the allowed categories, see [`CATEGORIES`].
    pub category: String,
    /// A few words.
    pub title: String,
    /// One self-contained sentence or short paragraph, third person, absolute dates.
    pub content: String,
    /// A shorter wording for briefs.
    pub summary: Option<String>,
    /// Topic tag, e.g. `auth`.
    pub subject: Option<String>,
    /// Normalised attribute, e.g. `user.residence`; two claims with one key speak of the same thing.
    pub key: Option<String>,
    /// Value of the attribute, e.g. `Berlin`.
    pub value: Option<String>,
    /// Parts by type.
    pub structured: Option<Structured>,
    /// How long it is meant to live.
    pub scope: Scope,
    /// 0–1; how much it matters that this is known.
    pub importance: f64,
    /// 0–1; how sure it is.
    pub confidence: f64,
    /// Free tags.
    pub tags: Vec<String>,
    /// From when it held in the world.
    pub valid_from: Option<Timestamp>,
    /// Until when it held in the world.
    pub valid_to: Option<Timestamp>,
    /// When it stops being recalled.
    pub expires_at: Option<Timestamp>,
}

impl Claim {
    /// Returns a long-term claim of middling importance and full confidence with nothing else set.
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

/// A memory as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Identity.
    pub id: MemoryId,
    /// What it says.
    #[serde(flatten)]
    pub claim: Claim,
    /// Where it belongs.
    pub namespace: Namespace,
    /// Whether it is recalled.
    pub status: Status,
    /// Never changed, decayed or retired without a person.
    pub pinned: bool,
    /// How often and when it was used.
    #[serde(flatten)]
    pub usage: Usage,
    /// Where it came from: a transcript key, a file, or a person's command.
    pub source: String,
    /// How it came to be.
    pub extraction_method: ExtractionMethod,
    /// When it was forgotten.
    pub deleted_at: Option<Timestamp>,
    /// When we learnt it.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Memory {
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

/// How a memory has been used; kept apart so that a read never re-indexes its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Times it was recalled.
    pub access_count: u32,
    /// When it was last recalled.
    pub last_accessed_at: Option<Timestamp>,
    /// Place in the lookup hierarchy.
    pub tier: Tier,
    /// Promotions so far.
    pub promotion_count: u32,
    /// When it was last promoted.
    pub last_promoted_at: Option<Timestamp>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { access_count: 0, last_accessed_at: None, tier: Tier::L4, promotion_count: 0, last_promoted_at: None }
    }
}

impl Usage {
    /// Returns `cold` for 0–2 uses, `warm` for 3–9, `hot` from 10.
    #[must_use]
    pub const fn heat(&self) -> &'static str {
        match self.access_count {
            0..=2 => "cold",
            3..=9 => "warm",
            _ => "hot",
        }
    }
}

/// What a memory rests on: words that stand in a message of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Key of the transcript, `source:external_id`.
    pub transcript: String,
    /// Ids of the messages that the claim rests on; the quote stands in the first.
    pub messages: Vec<String>,
    /// Verbatim words of that message.
    pub quote: String,
    /// Who said it.
    pub speaker: Option<String>,
    /// When it was said.
    pub said_at: Option<MessageTime>,
    /// Hash of that message's content, see [`crate::transcript::Message::content_hash`].
    pub content_hash: String,
}

/// A link from one memory to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The memory that relates.
    pub from: MemoryId,
    /// The memory it relates to.
    pub to: MemoryId,
    /// What `from` is to `to`.
    #[serde(rename = "type")]
    pub relation_type: RelationType,
    /// Why, in a few words.
    pub reason: Option<String>,
    /// When it was written.
    pub created_at: Timestamp,
}

/// What an extractor proposes: a claim with the words that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// What would be remembered.
    pub claim: Claim,
    /// For whom it holds; decides the namespace.
    pub audience: Audience,
    /// At least one piece, each quote found in its message.
    pub evidence: Vec<Evidence>,
    /// A known memory that the extractor says this one takes the place of.
    pub replaces: Option<MemoryId>,
}

spelled!(
    /// For whom a claim holds.
    Audience, "an audience", "user or project", {
    /// For the person, wherever they work.
    User = "user",
    /// For the project or conversation that the transcript belongs to.
    Project = "project",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespace_round_trips_and_names_what_is_wrong() {
        let namespace: Namespace = "project/shop".parse().unwrap();
        assert_eq!(namespace.parts(), ["project", "shop"]);
        assert_eq!(namespace.to_string(), "project/shop");
        assert_eq!(serde_json::to_string(&namespace).unwrap(), r#"["project","shop"]"#);
        let error = "a//b".parse::<Namespace>().unwrap_err().to_string();
        assert_eq!(
            error,
            r#""a//b" is not a namespace; use one to eight non-empty names joined by '/', e.g. global or project/shop"#
        );
    }

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
    }
}
