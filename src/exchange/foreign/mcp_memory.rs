//! The knowledge graph of the MCP reference memory server: entities with observations, and relations between them.

use serde_json::Value;

use super::{Gathered, MemoryFormat, Terms, claim};
use crate::memory::Claim;
use transcripts::{Head, IngestError, Input, Records, Sink};

pub(super) const FORMAT: MemoryFormat = MemoryFormat {
    name: "mcp-memory",
    about: "memory.jsonl of the MCP reference memory server",
    rule: "lines of type entity (name, entityType, observations) or relation (from, to, relationType)",
    sniff,
    read,
};

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn sniff(head: &Head<'_>) -> bool {
    let is_own = |line: &Value| match text(line, "type") {
        Some("entity") => line.get("observations").is_some_and(Value::is_array),
        Some("relation") => text(line, "relationType").is_some(),
        _ => false,
    };
    head.most_lines(is_own) || head.document.as_ref().is_some_and(is_own)
}

fn read(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    let mut records = Records::lines(input);
    while let Some((number, line)) = records.next_json::<Value>(&mut sink)? {
        match text(&line, "type") {
            Some("entity") => take_entity(&line, number, terms, gathered),
            Some("relation") => take_relation(&line, number, terms, gathered),
            _ => gathered.skip(number, "neither an entity nor a relation"),
        }
    }
    gathered.skipped.append(&mut sink.skipped);
    Ok(())
}

/// Takes each observation as a memory about the entity.
fn take_entity(line: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
    let Some(name) = text(line, "name") else { return gathered.skip(number, "the entity has no name") };
    let observations = line.get("observations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if observations.is_empty() {
        gathered.leave_out(number, "the entity has no observations");
    }
    for observation in observations {
        let Some(said) = observation.as_str().filter(|said| !said.trim().is_empty()) else {
            gathered.skip(number, "an observation is no text");
            continue;
        };
        let tags = text(line, "entityType").map(str::to_lowercase).into_iter().collect();
        let claim =
            Claim { subject: Some(name.to_owned()), tags, ..claim("fact", &format!("{name}: {}", said.trim())) };
        gathered.add(claim, terms.namespace.clone(), FORMAT.name, terms.now);
    }
}

fn take_relation(line: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
    let (Some(from), Some(to), Some(kind)) = (text(line, "from"), text(line, "to"), text(line, "relationType")) else {
        return gathered.skip(number, "the relation lacks from, to or relationType");
    };
    let content = format!("{from} {} {to}", kind.replace(['_', '-'], " "));
    let claim = Claim { subject: Some(from.to_owned()), tags: vec![to.to_lowercase()], ..claim("fact", &content) };
    gathered.add(claim, terms.namespace.clone(), FORMAT.name, terms.now);
}

#[cfg(test)]
mod tests {
    use super::super::samples::{contents, read};

    #[test]
    fn observations_and_relations_become_memories() {
        let text = concat!(
            r#"{"type":"entity","name":"Bo","entityType":"Person","observations":["Bakes bread",7]}"#,
            "\nnonsense\n",
            r#"{"type":"relation","from":"Bo","to":"Mill","relationType":"owner_of"}"#,
            "\n",
            r#"{"type":"relation","from":"Bo","relationType":"knows"}"#,
            "\n",
        );
        let (format, gathered) = read("memory.jsonl", text);
        assert_eq!((format, contents(&gathered)), ("mcp-memory", vec!["Bo: Bakes bread", "Bo owner of Mill"]));
        assert_eq!(gathered.memories[0].memory.claim.tags, ["person"]);
        assert_eq!(gathered.skipped.len(), 3);
    }
}
