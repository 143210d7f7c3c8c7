//! Import and export of memories: JSONL for programs, Markdown for people, and the files of other memory programs.

#[cfg(test)]
mod export_tests;
mod formats;
mod import;
mod line;
mod notes;
pub(crate) mod pack;
mod parts;
mod place;
mod memory_file;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::guard::{order_from_elsewhere, secret_in};
use crate::memory::{
    CATEGORIES, Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, RelationType, Task,
};
use crate::store::{Database, KnownLine, StoreError};
use crate::text::markup::without_marks;
use crate::text::normalise::title_of;
use crate::text::visible::on_one_line;
use jiff::Timestamp;
use transcripts::{Head, IngestError, Input, Skipped};

pub use formats::{MEMORY_FORMATS, gather, recognise};
pub use import::{Counts, ImportChange, import_as_is};
pub(crate) use import::{allow_categories, fallback_category};
pub use line::parse_line;
pub use memory_file::MemoryFile;
pub use pack::PackError;
pub(crate) use parts::structured;
pub(crate) use place::{FilePlace, place_of};

/// One memory as it is exported: one line of JSONL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// The memory's own fields.
    #[serde(flatten)]
    pub memory: Memory,
    /// The sources of the memory, in short form.
    pub sources: Vec<ExportedSource>,
    /// Relations of the memory to other memories.
    pub relations: Vec<ExportedRelation>,
    /// The memory's evidence in full, so that an import loses nothing.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

/// A task as it is exported: one line of JSONL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExportedTask {
    /// The task.
    pub task: Task,
}

/// The position of a quote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedSource {
    /// Key of the transcript.
    pub transcript: String,
    /// Ids of the messages.
    pub messages: Vec<String>,
    /// The text of the quote.
    pub quote: String,
}

/// A link to another memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedRelation {
    /// The other memory.
    #[schemars(with = "String")]
    pub to: MemoryId,
    /// The type of the link.
    #[serde(rename = "type")]
    pub relation_type: RelationType,
}

/// Returns `memory` with its sources and its outgoing relations.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn exported(database: &Database, memory: Memory) -> Result<Exported, StoreError> {
    let evidence = database.evidence(&memory.id)?;
    let relations = database.relations(&memory.id)?;
    let sources = evidence.iter().map(|piece| ExportedSource {
        transcript: piece.transcript.clone(),
        messages: piece.messages.clone(),
        quote: piece.quote.clone(),
    });
    // Only outgoing relations are exported, because an import would otherwise write each link twice.
    let own = relations.into_iter().filter(|relation| relation.from == memory.id);
    Ok(Exported {
        sources: sources.collect(),
        relations: own
            .map(|relation| ExportedRelation { to: relation.to, relation_type: relation.relation_type })
            .collect(),
        evidence,
        memory,
    })
}

/// Returns a document with one section per type and one bullet per memory, in the given order.
pub(crate) fn markdown(memories: &[Exported]) -> String {
    let mut text = String::from("# Memories\n");
    for memory_type in MemoryType::ALL {
        let of_type: Vec<_> =
            memories.iter().filter(|memory| memory.memory.claim.memory_type == *memory_type).collect();
        if of_type.is_empty() {
            continue;
        }
        write_line(&mut text, format_args!("\n## {}\n", heading(*memory_type)));
        for memory in of_type {
            bullet(&mut text, memory);
        }
    }
    text
}

const fn heading(memory_type: MemoryType) -> &'static str {
    match memory_type {
        MemoryType::Semantic => "What is known",
        MemoryType::Episodic => "What happened",
        MemoryType::Procedural => "How to act",
    }
}

fn bullet(text: &mut String, exported: &Exported) {
    let memory = &exported.memory;
    // Line breaks in the content would end the bullet in Markdown.
    let on_line = |text: &str| without_marks(text).split_whitespace().collect::<Vec<_>>().join(" ");
    write_line(text, format_args!("- {}", on_line(&memory.claim.content)));
    let about = format!("{}, {}, {}", memory.claim.category, memory.namespace, memory.id);
    write_line(text, format_args!("  *{}*", on_one_line(&without_marks(&about))));
    for source in &exported.sources {
        let (quote, transcript) = (on_line(&source.quote), without_marks(&source.transcript));
        write_line(text, format_args!("  > {quote} ({})", on_one_line(&transcript)));
    }
}

fn write_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}

/// Maximum size of a file of notes that is read, in bytes.
// Unlike logs, notes are read as a whole; a larger file was not written by hand.
const MAX_NOTES_BYTES: usize = 4 << 20;

/// A format in which another program stores memories.
pub struct MemoryFormat {
    /// The name used with `import --format`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// One line that describes how the format is recognised.
    pub rule: &'static str,
    sniff: fn(&Head<'_>) -> bool,
    read: fn(Input, &Terms, &mut Gathered) -> Result<(), IngestError>,
}

/// Settings for reading a file.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The namespace of memories that specify none.
    pub namespace: Namespace,
    /// Whether to put all memories into `namespace`, whichever namespace the file specifies.
    pub is_forced: bool,
    /// The time of the import.
    pub now: Timestamp,
    /// Whether instructions for an agent become memories, rather than only known lines.
    pub instructions_as_memories: bool,
    /// Digits of a hash of the file's folder, so that files with the same name in different folders do not replace each
    /// other.
    pub folder: String,
}

impl Terms {
    /// Returns the start of the keys of memories that appear in the file: `kind`, and the folder if it is known.
    pub(super) fn key(&self, kind: &str) -> String {
        if self.folder.is_empty() { format!("import.{kind}.") } else { format!("import.{kind}.{}.", self.folder) }
    }
}

/// The memories of a file that wait for review by a person, because anybody may have written the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReviewPolicy {
    /// Those that read like orders.
    #[default]
    Orders,
    /// All of them.
    Everything,
    /// None of them, because a person vouches for the file, such as their own export.
    Nothing,
}

impl ReviewPolicy {
    /// Whether a memory with this claim and evidence, and with the claim `known` so far, waits for review.
    pub(crate) fn applies_to(self, claim: &Claim, evidence: &[Evidence], known: Option<&Claim>) -> bool {
        match self {
            Self::Orders => order_from_elsewhere(claim, evidence, known).is_some(),
            Self::Everything => true,
            Self::Nothing => false,
        }
    }
}

/// The contents of a file.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The memories that wait for review.
    pub review: ReviewPolicy,
    /// The changes to the memories before they are written.
    pub adaptation: ImportChange,
    /// Memories.
    pub memories: MemoryFile,
    /// Tasks of a work ledger.
    pub tasks: Vec<Task>,
    /// The start of the keys of all bullets that earlier imports of the file stored, for a file of notes.
    pub covered: Option<String>,
    /// Lines that an agent reads anyway, so that they are not learnt again.
    pub known: Vec<KnownLine>,
    /// Records that could not be used, and why.
    pub skipped: Vec<Skipped>,
    /// Records that were left out deliberately, such as placeholders.
    pub left_out: Vec<Skipped>,
    /// Fields that memories do not have, with the number of lines that contain them.
    pub left_out_fields: BTreeMap<String, usize>,
}

impl Gathered {
    pub(super) fn skip(&mut self, record: usize, reason: impl Into<String>) {
        self.skipped.push(Skipped { record, reason: reason.into() });
    }

    /// Whether a record may be imported into `namespace`; if not, it is skipped.
    pub(super) fn takes(&mut self, namespace: &Namespace, record: usize) -> bool {
        let secret = secret_in(namespace.to_string());
        if let Some(name) = secret {
            // A redacted name could be that of several namespaces, whose memories would become one set.
            self.skip(record, format!("its namespace contains a secret ({name}); import it with --namespace"));
        }
        secret.is_none()
    }

    pub(super) fn leave_out(&mut self, record: usize, reason: impl Into<String>) {
        self.left_out.push(Skipped { record, reason: reason.into() });
    }

    /// Adds a memory that does not specify its own source.
    pub(super) fn add(&mut self, claim: Claim, namespace: Namespace, format: &str, at: Timestamp) {
        let memory = Memory::new(claim, namespace, format!("import:{format}"), ExtractionMethod::Imported, at);
        self.memories.push(Imported::new(memory, IdOrigin::New));
    }
}

/// Returns a long-term claim with the content `content` and its first words as the title; an unknown category becomes a
/// tag.
pub(super) fn claim(category: &str, content: &str) -> Claim {
    let content = content.trim();
    let known = CATEGORIES.contains(&category);
    let claim = Claim::new(MemoryType::Semantic, if known { category } else { "note" }, title_of(content), content);
    Claim { tags: if known { Vec::new() } else { vec![category.to_lowercase()] }, ..claim }
}

/// Adds `tags` to the tags of `claim`.
pub(super) fn tagged(mut claim: Claim, tags: impl IntoIterator<Item = String>) -> Claim {
    claim.tags.extend(tags);
    claim
}

/// Reads all of `input` as text; reports it as skipped if it is too long.
pub(super) fn text_of(input: Input, gathered: &mut Gathered) -> Result<Option<String>, IngestError> {
    let text = input.into_text(MAX_NOTES_BYTES)?;
    if text.is_none() {
        gathered.skip(1, format!("notes of more than {} MiB", MAX_NOTES_BYTES >> 20));
    }
    Ok(text)
}

/// Where the id of an imported memory comes from. Memories of one file with their own ids are distinct, even if they
/// have the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdOrigin {
    /// From an export of this program.
    Export,
    /// From a line that another program wrote.
    Line,
    /// The line contains no id.
    New,
}

/// A line that was read successfully.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The memory; it gets a new id if the line contains none.
    pub memory: Memory,
    /// Where the memory's id comes from.
    pub id: IdOrigin,
    /// Evidence for the memory.
    pub evidence: Vec<Evidence>,
    /// Links of the memory, identified by the ids in the file.
    pub relations: Vec<(RelationType, MemoryId)>,
    /// Names of fields of the line that a memory does not have.
    pub left_out: Vec<String>,
    /// Names of fields of a memory that the line does not have.
    pub absent: Vec<String>,
}

impl Imported {
    /// Returns a memory without evidence and links.
    pub(crate) const fn new(memory: Memory, id: IdOrigin) -> Self {
        Self { memory, id, evidence: Vec::new(), relations: Vec::new(), left_out: Vec::new(), absent: Vec::new() }
    }
}
