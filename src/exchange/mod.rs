//! Memories in and out of the store, as JSONL for programs and Markdown for people.

mod export;
mod foreign;
mod import;
mod markdown;
mod place;
mod several;

use serde::{Deserialize, Serialize};

use crate::memory::{Evidence, Memory, MemoryId, RelationType};

pub use export::exported;
pub use foreign::{Gathered, MEMORY_FORMATS, MemoryFormat, Terms, gather, recognise};
pub use import::{Counts, ImportError, Imported, import_as_is, parse_line};
pub use markdown::markdown;
pub use place::{FilePlace, place_of};

/// One memory as it is exported: one line of JSONL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exported {
    /// The memory's own fields.
    #[serde(flatten)]
    pub memory: Memory,
    /// What it rests on, in short.
    pub sources: Vec<ExportedSource>,
    /// What it is to other memories.
    pub relations: Vec<ExportedRelation>,
    /// What it rests on, in full, so that an import loses nothing.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

/// Where a quote stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedSource {
    /// Key of the transcript.
    pub transcript: String,
    /// Ids of the messages.
    pub messages: Vec<String>,
    /// The words.
    pub quote: String,
}

/// A link to another memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedRelation {
    /// The other memory.
    pub to: MemoryId,
    /// What this one is to it.
    #[serde(rename = "type")]
    pub relation_type: RelationType,
}
