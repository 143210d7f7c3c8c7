//! Memories of mem0: what its API lists, and its export as Markdown blocks.

use serde_json::Value;

use super::markdown::front_matter;
use super::{Gathered, MemoryFormat, Terms, claim, tagged, text_of};
use crate::memory::Claim;
use transcripts::{Head, IngestError, Input, Records, Sink, instant};

pub(super) const FORMAT: MemoryFormat = MemoryFormat {
    name: "mem0",
    about: "memories as the mem0 API lists them",
    rule: "results[] or an array of objects with memory and id",
    sniff,
    read,
};

pub(super) const MARKDOWN: MemoryFormat = MemoryFormat {
    name: "mem0-markdown",
    about: "the Markdown export of mem0",
    rule: "blocks with front matter that has id, created_at and type",
    sniff: |head| {
        front_matter(&head.text).is_some_and(|(pairs, _)| ["id", "created_at"].iter().all(|key| has(&pairs, key)))
    },
    read: read_markdown,
};

fn sniff(head: &Head<'_>) -> bool {
    let is_memory = |value: &Value| value.get("memory").is_some_and(Value::is_string) && value.get("id").is_some();
    let listed =
        |object: &Value| object.get("results").and_then(Value::as_array).is_some_and(|list| list.iter().any(is_memory));
    head.objects().any(|object| listed(object) || is_memory(object)) || head.most_lines(is_memory)
}

fn read(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    let is_lines = !Head::of(&input).lines.is_empty();
    let mut records = if is_lines { Records::lines(input) } else { Records::elements(input) };
    while let Some((number, value)) = records.next_json::<Value>(&mut sink)? {
        match value.get("results").and_then(Value::as_array) {
            Some(list) => (1..).zip(list).for_each(|(place, memory)| take(memory, place, terms, gathered)),
            None => take(&value, number, terms, gathered),
        }
    }
    gathered.skipped.append(&mut sink.skipped);
    Ok(())
}

fn take(memory: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
    let Some(content) = memory.get("memory").and_then(Value::as_str).filter(|text| !text.trim().is_empty()) else {
        return gathered.skip(number, "the entry has no memory");
    };
    let words = |key: &str| {
        let list = memory.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let id = memory.get("id").and_then(Value::as_str);
    let claim = Claim {
        subject: memory.get("user_id").and_then(Value::as_str).map(str::to_owned),
        key: id.map(|id| format!("import.mem0.{id}")),
        tags: words("categories"),
        ..claim("fact", content)
    };
    let time = |key: &str| memory.get(key).and_then(instant);
    gathered.add(
        claim,
        terms.namespace.clone(),
        FORMAT.name,
        time("updated_at").or(time("created_at")).unwrap_or(terms.now),
    );
}

fn has(pairs: &[(&str, &str)], key: &str) -> bool {
    pairs.iter().any(|(name, _)| *name == key)
}

/// Reads blocks of front matter and text, one after another.
fn read_markdown(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let Some(text) = text_of(input, gathered)? else { return Ok(()) };
    let starts: Vec<_> = text.match_indices("---\n").map(|(at, _)| at).filter(|at| is_block(&text, *at)).collect();
    for (place, start) in starts.iter().enumerate() {
        let end = starts.get(place + 1).copied().unwrap_or(text.len());
        let Some((pairs, body)) = front_matter(&text[*start..end]) else { continue };
        if body.trim().is_empty() {
            gathered.skip(place + 1, "the block has no text");
            continue;
        }
        let value = |key: &str| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let tags = value("categories").unwrap_or_default().split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let confidence =
            value("confidence").and_then(|text| text.parse::<f64>().ok()).filter(|share| share.is_finite());
        let claim = Claim {
            key: value("id").map(|id| format!("import.mem0.{id}")),
            confidence: confidence.unwrap_or(1.0).clamp(0.0, 1.0),
            ..claim(value("type").unwrap_or("fact"), body)
        };
        let claim = tagged(claim, tags.map(str::to_owned));
        let at = value("created_at").and_then(|text| instant(&Value::from(text))).unwrap_or(terms.now);
        gathered.add(claim, terms.namespace.clone(), FORMAT.name, at);
    }
    Ok(())
}

/// Whether a block begins at `start`: a line `---` with the keys of one behind it.
fn is_block(text: &str, start: usize) -> bool {
    let at_line_start = start == 0 || text[..start].ends_with('\n');
    let head = text[start + 4..].split("\n---").next().unwrap_or_default();
    at_line_start && head.lines().next().is_some_and(|line| line.starts_with("id:"))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{contents, read};

    #[test]
    fn listed_memories_keep_owner_kind_and_time() {
        let text = r#"{"results":[{"id":"m1","memory":"Lives in Porto","user_id":"bo","categories":["home"],"created_at":"2025-05-01T10:00:00.5-07:00","updated_at":null},{"id":"m2"}]}"#;
        let (format, gathered) = read("all.json", text);
        assert_eq!((format, contents(&gathered), gathered.skipped.len()), ("mem0", vec!["Lives in Porto"], 1));
        let memory = &gathered.memories[0].memory;
        assert_eq!(
            (memory.claim.subject.as_deref(), memory.created_at.to_string().as_str()),
            (Some("bo"), "2025-05-01T17:00:00.5Z")
        );
        assert_eq!(contents(&read("x.json", r#"[{"id":"1","memory":"a b"}]"#).1), ["a b"]);
    }

    #[test]
    fn blocks_of_markdown_are_read_one_after_another() {
        let text = "---\nid: a1\ncreated_at: 2026-01-02T00:00:00Z\ntype: lesson\nconfidence: 0.9\ncategories: build, ci\n---\nPin the version.\n\n---\n\nA rule within.\n---\nid: a2\ncreated_at: x\n---\n\n";
        let (format, gathered) = read("export.md", text);
        assert_eq!(
            (format, contents(&gathered), gathered.skipped.len()),
            ("mem0-markdown", vec!["Pin the version.\n\n---\n\nA rule within."], 1)
        );
        assert_eq!(gathered.memories[0].memory.claim.tags, ["lesson", "build", "ci"]);
    }
}
