//! Enumerations with one spelling in the database, in JSON and on the command line.

/// Error for a value that is not one of the allowed spellings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {what}; use {allowed}")]
pub struct ParseError {
    /// The value that was given.
    pub value: String,
    /// What was expected, with its article.
    pub what: &'static str,
    /// The allowed spellings.
    pub allowed: &'static str,
}

/// Declares an enum with one fixed spelling per variant, the same in `serde`, `Display` and `FromStr`.
macro_rules! string_enum {
    ($(#[$meta:meta])* $name:ident, $what:literal, $allowed:literal, { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[allow(unreachable_pub, reason = "some of these stay within the crate")]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant),+ }

        #[allow(unreachable_pub, reason = "some of these stay within the crate")]
        impl $name {
            /// All values, in the order of the specification.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the spelling used in the database, in JSON and on the command line.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.pad(self.as_str()) }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::memory::ParseError;
            fn from_str(text: &str) -> Result<Self, $crate::memory::ParseError> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
                    .ok_or_else(|| $crate::memory::ParseError { value: text.to_owned(), what: $what, allowed: $allowed })
            }
        }
    };
}

pub(crate) use string_enum;

string_enum!(
    /// The kind of remembering that a memory serves.
    MemoryType, "a memory type", "semantic, episodic or procedural", {
    /// What is so: facts, preferences, decisions.
    Semantic = "semantic",
    /// What happened: a situation, what was done, how it ended.
    Episodic = "episodic",
    /// How to act: instructions, conventions, workflows.
    Procedural = "procedural",
});

string_enum!(
    /// How long a memory is meant to live.
    Scope, "a scope", "long_term or short_term", {
    /// Kept until it is superseded or forgotten.
    LongTerm = "long_term",
    /// Current state that expires.
    ShortTerm = "short_term",
});

string_enum!(
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

string_enum!(
    /// How a memory came to be.
    ExtractionMethod, "an extraction method", "auto, manual or imported", {
    /// Extracted from a transcript.
    Auto = "auto",
    /// Written by a person or an agent.
    Manual = "manual",
    /// Read from another memory store.
    Imported = "imported",
});

string_enum!(
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

string_enum!(
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

string_enum!(
    /// How an episode ended.
    Outcome, "an outcome", "success, partial or failure", {
    /// It worked.
    Success = "success",
    /// It worked in part.
    Partial = "partial",
    /// It did not work.
    Failure = "failure",
});

string_enum!(
    /// For whom a claim holds.
    Audience, "an audience", "user or project", {
    /// For the person, wherever they work.
    User = "user",
    /// For the project or conversation that the transcript belongs to.
    Project = "project",
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
