//! Request for a brief: namespaces, format, budget and quotas.

use crate::config::MemorySettings;
use crate::lifecycle::decay::HalfLives;
use crate::memory::{MemoryType, Namespace, string_enum};

/// Maximum number of characters of a brief, because agents truncate the output of hooks at this length.
pub(crate) const MAX_CHARACTERS: usize = 10_000;

/// The content and the limits of a brief.
#[derive(Debug, Clone, PartialEq)]
pub struct BriefRequest {
    /// The namespaces of the memories, e.g. a project and the global namespace, without nested namespaces. An empty
    /// list selects no memories.
    pub namespaces: Vec<Namespace>,
    /// The topic of the conversation, or `None` for memories that are useful for any topic.
    pub query: Option<String>,
    /// Maximum number of `o200k_base` tokens.
    pub max_tokens: usize,
    /// The method of counting tokens.
    pub counting: Counting,
    /// Maximum number of UTF-16 units, never more than `MAX_CHARACTERS`.
    pub max_characters: usize,
    /// The format of the text.
    pub format: Format,
    /// Maximum number of memories of each section.
    pub quotas: Quotas,
    /// Maximum total number of memories, or `None` for as many as the sections may contain.
    pub max_memories: Option<usize>,
    /// Minimum importance of an unpinned memory that is shown, 0–1.
    pub min_importance: f64,
    /// Types of memories that are shown. An empty list means every type.
    pub types: Vec<MemoryType>,
    /// The speed at which confidence fades.
    pub half_lives: HalfLives,
}

/// Maximum number of memories shown for a question, unless the settings specify a different number.
const MAX_ASKED_FOR: usize = 10;

impl BriefRequest {
    /// Returns the request that corresponds to the settings. If memory is switched off, the request has no namespace,
    /// so the brief is empty.
    #[must_use]
    pub fn of(settings: &MemorySettings, namespaces: Vec<Namespace>, query: Option<String>) -> Self {
        let retrieval = &settings.retrieval;
        let query = query.filter(|query| !query.trim().is_empty());
        let max_memories = match (retrieval.max_memories_in_prompt.value, &query) {
            (0, None) => None,
            // A setting of 0 means no limit. A question still needs a limit, since otherwise weak hits would fill the
            // budget.
            (0, Some(_)) => Some(MAX_ASKED_FOR),
            (most, _) => Some(most),
        };
        Self {
            namespaces: if settings.enabled.value { namespaces } else { Vec::new() },
            query,
            max_tokens: retrieval.max_tokens.value,
            max_memories,
            min_importance: retrieval.min_importance_for_retrieval.value,
            types: retrieval.included_types.value.clone(),
            ..Self::default()
        }
    }
}

impl Default for BriefRequest {
    fn default() -> Self {
        Self {
            namespaces: vec![Namespace::global()],
            query: None,
            max_tokens: 2_000,
            counting: Counting::Exact,
            max_characters: MAX_CHARACTERS,
            format: Format::Compact,
            quotas: Quotas::default(),
            max_memories: None,
            min_importance: 0.3,
            types: Vec::new(),
            half_lives: HalfLives::default(),
        }
    }
}

/// The method of counting tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Counting {
    /// Counts tokens with the encoding, which takes about 0.1 s to load.
    #[default]
    Exact,
    /// Estimates tokens from the letters, which takes almost no time. The result is rarely too low.
    Estimated,
}

string_enum!(
    /// A part of a brief.
    Section, "a part of a brief", {
    /// Pinned memories, preferences, and instructions that apply to every request.
    Standing = "standing",
    /// Memories that are kept until they are superseded.
    LongTerm = "long_term",
    /// Memories that expire soon.
    ShortTerm = "short_term",
});

/// Maximum number of memories of each section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Quota of [`Section::Standing`]. Further standing memories may be shown with the long-term memories.
    pub standing: usize,
    /// Quota of [`Section::LongTerm`].
    pub long_term: usize,
    /// Quota of [`Section::ShortTerm`].
    pub short_term: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { standing: 10, long_term: 20, short_term: 10 }
    }
}

impl Quotas {
    /// Returns the quota of a section.
    pub(crate) const fn of(&self, section: Section) -> usize {
        match section {
            Section::Standing => self.standing,
            Section::LongTerm => self.long_term,
            Section::ShortTerm => self.short_term,
        }
    }
}

string_enum!(
    /// The format of a brief.
    #[derive(Default)]
    Format, "a format of a brief", {
    /// A line for each memory
    #[default]
    Compact = "compact",
    /// A line for each memory, and one below it with everything else that is known
    Detailed = "detailed",
    /// An element for each memory, with its parts as attributes and elements
    Structured = "structured",
    /// One JSON object, for programs
    Json = "json",
});
