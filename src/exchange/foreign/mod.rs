//! Memories that other programs keep, one file a format.
//!
//! Each is recognised by content; only Markdown notes, which have no marks of their own, by the file's name.

mod claude_ai;
mod instructions;
mod jsonl;
mod markdown;
mod mcp_memory;
mod mcp_service;
mod mem0;
mod notes;

use jiff::Timestamp;

use super::Imported;
use crate::memory::{CATEGORIES, Claim, ExtractionMethod, Memory, MemoryType, Namespace};
use crate::store::KnownLine;
use transcripts::{Head, IngestError, Input, Skipped};

/// Longest file of notes that is read, in bytes.
const MAX_NOTES_BYTES: usize = 4 << 20;

/// A form in which another program keeps memories.
pub struct MemoryFormat {
    /// The spelling of `import --format`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// How it is recognised, in one line.
    pub rule: &'static str,
    sniff: fn(&Head<'_>) -> bool,
    read: fn(Input, &Terms, &mut Gathered) -> Result<(), IngestError>,
}

/// Every form that can be imported, in the order in which a file is tried against them.
pub const MEMORY_FORMATS: &[MemoryFormat] = &[
    claude_ai::FORMAT,
    mcp_memory::FORMAT,
    mcp_service::FORMAT,
    mem0::FORMAT,
    mem0::MARKDOWN,
    jsonl::FORMAT,
    instructions::FORMAT,
    notes::FORMAT,
];

/// On what terms a file is read.
#[derive(Debug, Clone)]
pub struct Terms {
    /// For memories that name no namespace.
    pub namespace: Namespace,
    /// Whether everything goes to `namespace`, whatever the file says.
    pub is_forced: bool,
    /// The time of the import.
    pub now: Timestamp,
    /// Whether instructions for an agent are taken as memories, not only as known context.
    pub instructions_as_memories: bool,
    /// Digits of a hash of the file's folder, so that files of one name in several folders do not replace each other.
    pub folder: String,
}

impl Terms {
    /// Returns the start of the keys of memories that stand in the file: `kind`, and the folder if it is known.
    fn key(&self, kind: &str) -> String {
        if self.folder.is_empty() { format!("import.{kind}.") } else { format!("import.{kind}.{}.", self.folder) }
    }
}

/// What a file holds.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Memories.
    pub memories: Vec<Imported>,
    /// Lines that an agent knows anyway, so that they are not learnt again.
    pub known: Vec<KnownLine>,
    /// Records that could not be used, and why.
    pub skipped: Vec<Skipped>,
    /// What was left out with good reason, such as a placeholder.
    pub left_out: Vec<Skipped>,
}

impl Gathered {
    fn skip(&mut self, record: usize, reason: impl Into<String>) {
        self.skipped.push(Skipped { record, reason: reason.into() });
    }

    fn leave_out(&mut self, record: usize, reason: impl Into<String>) {
        self.left_out.push(Skipped { record, reason: reason.into() });
    }

    /// Adds a memory that names no source of its own.
    fn add(&mut self, claim: Claim, namespace: Namespace, format: &str, at: Timestamp) {
        let memory = Memory::new(claim, namespace, format!("import:{format}"), ExtractionMethod::Imported, at);
        self.memories.push(Imported { memory, has_id: false, evidence: Vec::new(), relations: Vec::new() });
    }
}

/// Reads `input` as the format called `name`, or as the one that recognises it.
///
/// # Errors
/// [`IngestError::NoSuchFormat`], [`IngestError::UnknownFormat`], or [`IngestError::Read`] if the file breaks off.
pub fn gather(
    input: Input,
    name: Option<&str>,
    terms: &Terms,
) -> Result<(&'static MemoryFormat, Gathered), IngestError> {
    let format = match name {
        Some(name) => {
            let known = MEMORY_FORMATS.iter().find(|format| format.name == name);
            known.ok_or_else(|| IngestError::NoSuchFormat { name: name.to_owned() })?
        }
        None => recognise(&Head::of(&input)).ok_or_else(|| IngestError::UnknownFormat { path: input.path.clone() })?,
    };
    let mut gathered = Gathered::default();
    (format.read)(input, terms, &mut gathered)?;
    Ok((format, gathered))
}

/// Returns the format of which `head` is the start of a file.
#[must_use]
pub fn recognise(head: &Head<'_>) -> Option<&'static MemoryFormat> {
    MEMORY_FORMATS.iter().find(|format| (format.sniff)(head))
}

/// Returns a long-term claim that says `content`, with its first words as title; a category that is not ours becomes a
/// tag.
fn claim(category: &str, content: &str) -> Claim {
    let content = content.trim();
    let words: Vec<_> = content.split_whitespace().take(8).collect();
    let known = CATEGORIES.contains(&category);
    let claim = Claim::new(MemoryType::Semantic, if known { category } else { "note" }, words.join(" "), content);
    Claim { tags: if known { Vec::new() } else { vec![category.to_lowercase()] }, ..claim }
}

/// Adds `tags` to those that `claim` has.
fn tagged(mut claim: Claim, tags: impl IntoIterator<Item = String>) -> Claim {
    claim.tags.extend(tags);
    claim
}

/// Reads all of `input` as text; tells if there is too much.
fn text_of(input: Input, gathered: &mut Gathered) -> Result<Option<String>, IngestError> {
    let text = input.into_text(MAX_NOTES_BYTES)?;
    if text.is_none() {
        gathered.skip(1, format!("notes of more than {} MiB", MAX_NOTES_BYTES >> 20));
    }
    Ok(text)
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;

    pub fn terms() -> Terms {
        Terms {
            namespace: Namespace::global(),
            is_forced: false,
            now: "2026-05-01T12:00:00Z".parse().unwrap(),
            instructions_as_memories: false,
            folder: String::new(),
        }
    }

    /// Reads `text` as a file called `name`; returns the format's name and what it holds.
    pub fn read(name: &str, text: &str) -> (&'static str, Gathered) {
        let (format, gathered) = gather(Input::from_text(name, text), None, &terms()).unwrap();
        (format.name, gathered)
    }

    pub fn contents(gathered: &Gathered) -> Vec<&str> {
        gathered.memories.iter().map(|imported| imported.memory.claim.content.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_memories_is_refused_and_a_wrong_name_too() {
        let read = |name: &str, format| gather(Input::from_text(name, "# A page\n\nwords"), format, &samples::terms());
        assert!(matches!(read("readme.md", None), Err(IngestError::UnknownFormat { .. })));
        assert!(matches!(read("MEMORY.md", Some("nonsense")), Err(IngestError::NoSuchFormat { .. })));
        assert_eq!(read("readme.md", Some("notes")).unwrap().0.name, "notes");
    }

    #[test]
    fn hostile_files_are_survived_by_every_format() {
        let rows = [
            "[".repeat(200_000),
            "{\"results\":[[1,null]]}".into(),
            "---\n".repeat(50_000),
            "## \n".repeat(50_000),
            "\0".into(),
        ];
        for (format, text) in MEMORY_FORMATS.iter().flat_map(|format| rows.iter().map(move |text| (format, text))) {
            let _outcome = gather(Input::from_text("x", text), Some(format.name), &samples::terms());
        }
    }
}
