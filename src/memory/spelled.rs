//! Enumerations with one spelling in the database, in JSON and on the command line.

/// Error for a value that is not one of the allowed spellings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {what}; use {allowed}")]
pub struct ParseError {
    /// The value that was given.
    pub value: String,
    /// The kind of value that was expected, with its article.
    pub what: &'static str,
    /// The allowed spellings.
    pub allowed: String,
}

impl ParseError {
    /// Returns the error for `value`, which is none of `allowed`.
    pub(crate) fn new(value: &str, what: &'static str, allowed: &[impl ToString]) -> Self {
        let mut allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let last = allowed.pop().unwrap_or_default();
        Self { value: value.to_owned(), what, allowed: format!("{} or {last}", allowed.join(", ")) }
    }
}

/// Declares an enum with one fixed spelling per variant, the same in `serde`, `Display` and `FromStr`.
macro_rules! string_enum {
    ($(#[$meta:meta])* $name:ident, $what:literal, { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[allow(unreachable_pub, reason = "some of these items are used only within the crate")]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant),+ }

        #[allow(unreachable_pub, reason = "some of these items are used only within the crate")]
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
                    .ok_or_else(|| $crate::memory::ParseError::new(text, $what, Self::ALL))
            }
        }
    };
}

pub(crate) use string_enum;

string_enum!(
    /// The kind of knowledge that a memory contains.
    MemoryType, "a memory type", {
    /// Something that is true: facts, preferences, decisions.
    Semantic = "semantic",
    /// Something that happened: a situation, the action taken, and how it ended.
    Episodic = "episodic",
    /// A way of acting: instructions, conventions, workflows.
    Procedural = "procedural",
});

string_enum!(
    /// The intended lifetime of a memory.
    Scope, "a scope", {
    /// The memory is kept until it is superseded or forgotten.
    LongTerm = "long_term",
    /// The memory describes a current state that expires.
    ShortTerm = "short_term",
});

string_enum!(
    /// Whether a memory is recalled and, if it is not, why.
    Status, "a status", {
    /// Recalled.
    Active = "active",
    /// Replaced by a newer memory, which is linked to it.
    Superseded = "superseded",
    /// Removed by a person or a rule, but restorable until the purge.
    Forgotten = "forgotten",
    /// Past its `expires_at`.
    Expired = "expired",
    /// Waiting in the inbox for a person.
    Pending = "pending",
});

string_enum!(
    /// The way in which a memory was created.
    ExtractionMethod, "an extraction method", {
    /// Extracted from a transcript.
    Auto = "auto",
    /// Written by a person or an agent.
    Manual = "manual",
    /// Read from another memory store.
    Imported = "imported",
});

string_enum!(
    /// The role of one memory with respect to another.
    RelationType, "a relation", {
    /// Confirms the other memory independently.
    Supports = "supports",
    /// Cannot be true at the same time as the other memory.
    Contradicts = "contradicts",
    /// Says the same as the other memory in more detail.
    Refines = "refines",
    /// Replaces the other memory.
    Supersedes = "supersedes",
    /// Was derived from the other memory.
    DerivedFrom = "derived_from",
    /// Is about the same topic as the other memory.
    Related = "related",
});

string_enum!(
    /// Place in the lookup hierarchy, from the most to the least readily loaded.
    Tier, "a tier", {
    /// Always loaded.
    L0 = "l0",
    /// Loaded for most sessions.
    L1 = "l1",
    /// Loaded if the subject matches.
    L2 = "l2",
    /// Found by search.
    L3 = "l3",
    /// Found by search; every memory starts in this tier.
    L4 = "l4",
});

string_enum!(
    /// The outcome of an episode.
    Outcome, "an outcome", {
    /// It worked.
    Success = "success",
    /// The action worked only partly.
    Partial = "partial",
    /// The action did not work.
    Failure = "failure",
});

string_enum!(
    /// The scope in which a claim applies: to the user or to a project.
    Audience, "an audience", {
    /// The claim applies to the person, wherever they work.
    User = "user",
    /// The claim applies to the project or conversation that the transcript belongs to.
    Project = "project",
});

/// The category of memories about what keeps work from going on.
// The prompts do not name it: recorded replies were made without it.
pub(crate) const BLOCKER: &str = "blocker";

/// Categories that are accepted unless the settings list others.
pub const CATEGORIES: &[&str] = &[
    "fact",
    "preference",
    "decision",
    "convention",
    BLOCKER,
    "project",
    "task",
    "note",
    "solution",
    "mistake",
    "pattern",
    "workflow",
    "profile",
];
