//! JSONL of our own export, or of objects with at least `content`.

use super::{Gathered, MemoryFormat, Terms};
use crate::exchange::{ImportError, parse_line};
use transcripts::{Head, IngestError, Input, Records, Sink};

pub(super) const FORMAT: MemoryFormat = MemoryFormat {
    name: "jsonl",
    about: "an export of afterthought, or one object with \"content\" a line",
    rule: "lines that are objects with content, memory or text",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> bool {
    let has_words = |line: &serde_json::Value| {
        let words =
            ["content", "memory", "text"].iter().any(|key| line.get(key).is_some_and(serde_json::Value::is_string));
        // A message of a chat has words too, but somebody who says them.
        words && line.get("role").is_none()
    };
    head.any_line(has_words) || head.document.as_ref().is_some_and(has_words)
}

fn read(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    let mut records = Records::lines(input);
    while let Some(record) = records.next(&mut sink)? {
        match parse_line(&record.text, record.number, &terms.namespace, terms.now) {
            Ok(mut imported) => {
                if terms.is_forced {
                    imported.memory.namespace = terms.namespace.clone();
                }
                gathered.memories.push(imported);
            }
            Err(ImportError::Line { reason, .. }) => gathered.skip(
                record.number,
                format!("no memory: {reason}; each line must be an object with at least \"content\""),
            ),
        }
    }
    gathered.skipped.append(&mut sink.skipped);
    Ok(())
}
