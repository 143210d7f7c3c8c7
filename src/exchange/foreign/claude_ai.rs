//! What Claude.ai remembers of a person and of their projects: `memories.json` of its export.

use serde_json::Value;

use super::{Gathered, MemoryFormat, Terms, claim};
use crate::memory::{Claim, Namespace};
use transcripts::{Head, IngestError, Input, Records, Sink};

pub(super) const FORMAT: MemoryFormat = MemoryFormat {
    name: "claude-ai-memories",
    about: "memories.json of a Claude.ai export",
    rule: "an array of objects with conversations_memory or project_memories",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> bool {
    head.objects()
        .any(|object| object.get("conversations_memory").is_some() || object.get("project_memories").is_some())
}

fn read(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    let mut records = Records::elements(input);
    while let Some((number, account)) = records.next_json::<Value>(&mut sink)? {
        let own = account.get("conversations_memory").and_then(Value::as_str);
        let projects = account.get("project_memories").and_then(Value::as_object);
        if own.is_none() && projects.is_none() {
            gathered.skip(number, "neither conversations_memory nor project_memories");
        }
        take(own.unwrap_or_default(), "", &terms.namespace, terms, gathered);
        for (id, text) in projects.into_iter().flatten() {
            let Some(text) = text.as_str() else {
                gathered.skip(number, "the memory of a project is no text");
                continue;
            };
            // Never with the person's own: what one project knows is no business of another.
            let apart = Namespace::project(&format!("claude-ai-{id}")).ok().filter(|_| !terms.is_forced);
            take(text, id, apart.as_ref().unwrap_or(&terms.namespace), terms, gathered);
        }
    }
    gathered.skipped.append(&mut sink.skipped);
    Ok(())
}

/// Takes each part under a bold line as one memory.
fn take(text: &str, project: &str, namespace: &Namespace, terms: &Terms, gathered: &mut Gathered) {
    let mut parts: Vec<(String, String)> = vec![(String::new(), String::new())];
    for line in text.lines() {
        let heading = line.trim().strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
        match (heading, parts.last_mut()) {
            (Some(heading), _) => parts.push((heading.to_owned(), String::new())),
            (None, Some((_, body))) => body.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    for (heading, body) in parts.iter().filter(|(_, body)| !body.trim().is_empty()) {
        let mut taken = claim("fact", body);
        if !heading.is_empty() {
            taken.title.clone_from(heading);
        }
        let key = [project, heading].map(super::notes::slug).join(".");
        let taken = Claim { key: Some(format!("import.claude_ai.{}", key.trim_matches('.'))), ..taken };
        gathered.add(taken, namespace.clone(), FORMAT.name, terms.now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{contents, read};

    #[test]
    fn parts_become_memories_and_projects_stay_apart() {
        let text = r#"[{"conversations_memory":"**Work**\n\nBo is a baker.\n\n**Home**\n\nTwo cats.\n","project_memories":{"11-22":"**Aim**\n\nA new oven.\n"}},{"x":1}]"#;
        let (format, gathered) = read("memories.json", text);
        assert_eq!(
            (format, contents(&gathered)),
            ("claude-ai-memories", vec!["Bo is a baker.", "Two cats.", "A new oven."])
        );
        let places: Vec<_> = gathered.memories.iter().map(|one| one.memory.namespace.to_string()).collect();
        assert_eq!(places, ["global", "global", "project/claude-ai-11-22"]);
        assert_eq!(gathered.memories[2].memory.claim.key.as_deref(), Some("import.claude_ai.11_22.aim"));
        assert_eq!(gathered.skipped.len(), 1);
    }
}
