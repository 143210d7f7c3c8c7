//! Terms that cases and results share: kinds of memories, states, decisions and relations.

/// Declares an enum with one spelling for each value, used in files and in reports alike.
macro_rules! vocabulary {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? })+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order in which reports list them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the spelling used in files and reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.as_str() == text);
                found.ok_or_else(|| format!("unknown {} {text:?}", stringify!($name)))
            }
        }
    )+ };
}
pub(crate) use vocabulary;

vocabulary! {
    /// Kind of memory.
    MemoryType {
        /// Facts, preferences and decisions.
        Semantic = "semantic",
        /// Events: a situation, an action and its outcome.
        Episodic = "episodic",
        /// Instructions, conventions and workflows.
        Procedural = "procedural",
    }
    /// State of a stored memory.
    Status {
        /// Search and briefs return it.
        Active = "active",
        /// A newer memory has replaced it.
        Superseded = "superseded",
        /// A person deleted it.
        Forgotten = "forgotten",
        /// Its time has run out.
        Expired = "expired",
        /// It waits in the inbox for a person.
        Pending = "pending",
    }
    /// Intended lifetime of a memory.
    Scope {
        /// It is kept until something replaces it.
        LongTerm = "long_term",
        /// It fades within days.
        ShortTerm = "short_term",
    }
    /// Relation between two memories.
    RelationType {
        /// Both say the same independently.
        Supports = "supports",
        /// Both cannot be true.
        Contradicts = "contradicts",
        /// One adds detail to the other.
        Refines = "refines",
        /// One has replaced the other.
        Supersedes = "supersedes",
        /// One was generalised from the other.
        DerivedFrom = "derived_from",
        /// Both are about the same matter.
        Related = "related",
    }
    /// Decision about a memory that arrives.
    Decision {
        /// It is new.
        Add = "add",
        /// It is an exact duplicate.
        Skip = "skip",
        /// It is combined with a known memory.
        Merge = "merge",
        /// It replaces a known memory with more detail.
        Refine = "refine",
        /// It contradicts a known memory.
        Contradict = "contradict",
        /// It confirms a known memory independently.
        Support = "support",
    }
    /// Reason why two memories contradict each other.
    Conflict {
        /// The world has changed.
        Changed = "changed",
        /// The older memory was wrong.
        Corrected = "corrected",
        /// Unresolved: a person has to decide.
        Conflict = "conflict",
    }
}
