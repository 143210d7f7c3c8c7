//! Instructions that a person writes for agents: `CLAUDE.md`, `AGENTS.md` and their like.
//!
//! An agent reads them at every start. They are known context, so that a conversation which repeats them is not learnt
//! from, and become memories only where a person asks for it.

use super::markdown::{sections, without_blocks};
use super::notes::slug;
use super::{Gathered, MemoryFormat, Terms, claim, text_of};
use crate::memory::{Claim, MemoryType};
use crate::store::KnownLine;
use transcripts::{Head, IngestError, Input};

pub(super) const FORMAT: MemoryFormat = MemoryFormat {
    name: "instructions",
    about: "CLAUDE.md, AGENTS.md, GEMINI.md and rules files: known context, not memories unless asked for",
    rule: "named CLAUDE.md, CLAUDE.local.md, AGENTS.md, GEMINI.md, .cursorrules, .windsurfrules, copilot-instructions.md or *.mdc",
    sniff,
    read,
};

const NAMES: &[&str] = &[
    "claude.md",
    "claude.local.md",
    "agents.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    "copilot-instructions.md",
];
/// What other programs write into these files for themselves.
const WRITTEN_BY_PROGRAMS: &[(&str, &str)] = &[
    ("<claude-mem-context>", "</claude-mem-context>"),
    ("<afterthought-memory", "</afterthought-memory>"),
    ("<!--", "-->"),
];
/// A line of fewer letters says too little to be known by.
const MIN_KNOWN_CHARS: usize = 8;

fn sniff(head: &Head<'_>) -> bool {
    NAMES.contains(&head.name.as_str()) || head.name.strip_suffix(".mdc").is_some()
}

fn read(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let name = input.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let origin = if terms.folder.is_empty() { name.clone() } else { format!("{}/{name}", terms.folder) };
    let Some(text) = text_of(input, gathered)? else { return Ok(()) };
    let text = without_blocks(&text, WRITTEN_BY_PROGRAMS);
    for part in sections(&text).iter().filter(|part| !part.body.is_empty()) {
        if terms.instructions_as_memories {
            let heading = if part.heading.is_empty() { &name } else { &part.heading };
            let claim = Claim {
                memory_type: MemoryType::Procedural,
                title: heading.clone(),
                key: Some(format!("{}{}.{}", terms.key("instructions"), slug(&name), slug(&part.heading))),
                ..claim("convention", &part.body)
            };
            gathered.add(claim, terms.namespace.clone(), FORMAT.name, terms.now);
        }
        gathered
            .known
            .extend(lines(&part.body).map(|text| KnownLine { origin: origin.clone(), text: text.to_owned() }));
    }
    Ok(())
}

/// Returns the lines of a section without the marks of lists and quotes.
fn lines(body: &str) -> impl Iterator<Item = &str> {
    let marks = |c: char| matches!(c, '-' | '*' | '+' | '>' | '.' | ')') || c.is_ascii_digit() || c.is_whitespace();
    body.lines()
        .map(move |line| line.trim_start_matches(marks).trim())
        .filter(|line| line.chars().count() >= MIN_KNOWN_CHARS)
}

#[cfg(test)]
mod tests {
    use super::super::gather;
    use super::super::samples::{contents, read, terms};
    use super::*;

    const TEXT: &str =
        "# Shop\n<claude-mem-context>\nold news\n</claude-mem-context>\n## Style\n1. Use tabs everywhere.\n- ok\n";

    #[test]
    fn instructions_are_known_and_no_memories() {
        let (format, gathered) = read("CLAUDE.md", TEXT);
        assert_eq!((format, contents(&gathered)), ("instructions", vec![]));
        let known: Vec<_> = gathered.known.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(known, ["Use tabs everywhere."]);
    }

    #[test]
    fn they_become_memories_where_that_is_asked_for() {
        let asked = Terms { instructions_as_memories: true, ..terms() };
        let (_, gathered) = gather(Input::from_text("AGENTS.md", TEXT), None, &asked).unwrap();
        assert_eq!(contents(&gathered), ["1. Use tabs everywhere.\n- ok"]);
        assert_eq!(gathered.memories[0].memory.claim.key.as_deref(), Some("import.instructions.agents_md.style"));
    }
}
