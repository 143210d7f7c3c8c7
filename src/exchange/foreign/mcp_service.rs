//! The export of mcp-memory-service: one JSON object with `export_metadata` and `memories`.

use serde_json::Value;

use super::{Gathered, MemoryFormat, Terms, claim, tagged};
use crate::memory::Claim;
use transcripts::{IngestError, Input, Records, Sink, instant};

pub(super) const FORMAT: MemoryFormat = MemoryFormat {
    name: "mcp-memory-service",
    about: "JSON export of mcp-memory-service",
    rule: "an object with export_metadata and memories[].content",
    sniff: |head| {
        head.objects().any(|object| object.get("export_metadata").is_some() && object.get("memories").is_some())
    },
    read,
};

fn read(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    let mut records = Records::elements(input);
    while let Some((_, export)) = records.next_json::<Value>(&mut sink)? {
        for (number, memory) in (1..).zip(export.get("memories").and_then(Value::as_array).into_iter().flatten()) {
            take(memory, number, terms, gathered);
        }
    }
    gathered.skipped.append(&mut sink.skipped);
    Ok(())
}

fn take(memory: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
    let content = memory.get("content").and_then(Value::as_str).unwrap_or_default();
    if content.trim().is_empty() {
        return gathered.skip(number, "the memory has no content");
    }
    let tags = memory.get("tags").and_then(Value::as_array).into_iter().flatten();
    let category = memory.get("memory_type").and_then(Value::as_str).unwrap_or("note");
    let hash = memory.get("content_hash").and_then(Value::as_str);
    let key = hash.map(|hash| format!("import.mcp_service.{hash}"));
    let claim = tagged(Claim { key, ..claim(category, content) }, tags.filter_map(Value::as_str).map(str::to_owned));
    let at = memory.get("created_at").and_then(instant).unwrap_or(terms.now);
    gathered.add(claim, terms.namespace.clone(), FORMAT.name, at);
}

#[cfg(test)]
mod tests {
    use super::super::samples::{contents, read};

    #[test]
    fn memories_keep_their_tags_kind_and_time() {
        let text = r#"{"export_metadata":{},"memories":[{"content":"Run `make`.","tags":["build",1],"created_at":1767312000.0,"memory_type":"command"},{"content":" "},3]}"#;
        let (format, gathered) = read("export.json", text);
        assert_eq!((format, contents(&gathered)), ("mcp-memory-service", vec!["Run `make`."]));
        let memory = &gathered.memories[0].memory;
        assert_eq!(
            (memory.claim.category.as_str(), memory.created_at.to_string().as_str()),
            ("note", "2026-01-02T00:00:00Z")
        );
        assert_eq!((memory.claim.tags.join(" ").as_str(), gathered.skipped.len()), ("command build", 2));
    }
}
