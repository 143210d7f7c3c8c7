//! Memories as Markdown that people read and other tools import.

use std::fmt::Write as _;

use super::Exported;
use crate::memory::MemoryType;

/// Returns a document with one section a type and one bullet a memory, in the order given.
#[must_use]
pub fn markdown(memories: &[Exported]) -> String {
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
        MemoryType::Semantic => "What is so",
        MemoryType::Episodic => "What happened",
        MemoryType::Procedural => "How to act",
    }
}

fn bullet(text: &mut String, exported: &Exported) {
    let memory = &exported.memory;
    let content = memory.claim.content.split_whitespace().collect::<Vec<_>>().join(" ");
    write_line(text, format_args!("- {content}"));
    write_line(text, format_args!("  *{}, {}, {}*", memory.claim.category, memory.namespace, memory.id));
    for source in &exported.sources {
        let quote = source.quote.split_whitespace().collect::<Vec<_>>().join(" ");
        write_line(text, format_args!("  > {quote} ({})", source.transcript));
    }
}

fn write_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}
