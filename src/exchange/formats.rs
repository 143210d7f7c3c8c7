//! Memory files of other programs, each recognised by its content.
//!
//! Markdown notes have no distinctive content and are recognised by the name of the file.

use std::path::Path;

use serde_json::Value;
use transcripts::{Head, IngestError, Input, Records, Sink, instant};

use super::line::{SOURCE, parse_line};
use super::notes::{INSTRUCTIONS, NOTES, front_matter, slug};
use super::{ExportedTask, Gathered, MemoryFormat, Terms, claim, tagged, text_of};
use crate::guard::secret_in;
use crate::memory::{Claim, Namespace};

/// Every format that can be imported, in sniffing order.
// The least specific formats come last: any object with `text` is JSONL, and notes are recognised by file name alone.
pub const MEMORY_FORMATS: &[MemoryFormat] =
    &[CLAUDE_AI, MCP_MEMORY, MCP_SERVICE, MEM0, MEM0_MARKDOWN, JSONL, INSTRUCTIONS, NOTES];

/// Reads `input` as the format called `name`, or as the format that recognises it.
///
/// # Errors
/// [`IngestError::NoSuchFormat`], [`IngestError::UnknownFormat`], or [`IngestError::Read`] if the file ends
/// unexpectedly.
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

/// Returns the format of a file that starts with `head`.
#[must_use]
pub fn recognise(head: &Head<'_>) -> Option<&'static MemoryFormat> {
    MEMORY_FORMATS.iter().find(|format| (format.sniff)(head))
}

const JSONL: MemoryFormat = MemoryFormat {
    name: "jsonl",
    about: "an export of afterthought, or one object with \"content\" per line",
    rule: "lines that are objects with content, memory or text",
    sniff: sniff_jsonl,
    read: read_jsonl,
};

fn sniff_jsonl(head: &Head<'_>) -> bool {
    let has_words = |line: &serde_json::Value| {
        let words =
            ["content", "memory", "text"].iter().any(|key| line.get(key).is_some_and(serde_json::Value::is_string));
        // A chat message also has text, but it has a role as well.
        let is_task = line.get("task").is_some_and(|task| task.get("goal").is_some());
        is_task || words && line.get("role").is_none()
    };
    // The rows of a table, as a database prints them, are elements of an array. A list of messages has no such fields.
    let is_row = |row: &Value| has_words(row) && row.get("type").is_some() && row.get("importance").is_some();
    let is_table = head.document.as_ref().is_some_and(Value::is_array) && head.objects().any(is_row);
    is_table || head.any_line(has_words) || head.document.as_ref().is_some_and(has_words)
}

/// Passes the number and the value of each record to `take`; records that are not JSON are skipped.
fn each_record(
    mut records: Records,
    gathered: &mut Gathered,
    mut take: impl FnMut(usize, Value, &mut Gathered),
) -> Result<(), IngestError> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    while let Some((number, value)) = records.next_json::<Value>(&mut sink)? {
        take(number, value, gathered);
    }
    gathered.skipped.append(&mut sink.skipped);
    Ok(())
}

fn read_jsonl(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    let name = input.path.file_name().map(|name| format!("{SOURCE}:{}", name.to_string_lossy()));
    let name = name.filter(|_| input.path != Path::new("-"));
    let is_array = Head::of(&input).document.is_some_and(|document| document.is_array());
    let mut records = if is_array { Records::elements(input) } else { Records::lines(input) };
    while let Some(record) = records.next(&mut sink)? {
        if let Some(ExportedTask { mut task }) = task_of(&record.text) {
            if terms.is_forced {
                task.namespace = terms.namespace.clone();
            }
            if gathered.takes(&task.namespace, record.number) {
                gathered.tasks.push(task);
            }
            continue;
        }
        match parse_line(&record.text, &terms.namespace, terms.now) {
            Ok(mut imported) => {
                if terms.is_forced {
                    imported.memory.namespace = terms.namespace.clone();
                }
                if imported.memory.source == SOURCE {
                    imported.memory.source = name.clone().unwrap_or_else(|| SOURCE.to_owned());
                }
                for field in imported.left_out.drain(..) {
                    *gathered.left_out_fields.entry(field).or_default() += 1;
                }
                if gathered.takes(&imported.memory.namespace, record.number) {
                    gathered.memories.push(imported);
                }
            }
            // The line is counted and reported, because one bad line must not prevent the import of the others.
            Err(reason) => gathered.skip(
                record.number,
                format!("not a memory: {reason}; each line must be an object with at least \"content\""),
            ),
        }
    }
    gathered.skipped.append(&mut sink.skipped);
    Ok(())
}

/// Returns the task of a line; if the line contains no task, only its start is read.
fn task_of(line: &str) -> Option<ExportedTask> {
    let begins = line.trim_start().starts_with("{\"task\"");
    begins.then(|| serde_json::from_str(line).ok())?
}

const CLAUDE_AI: MemoryFormat = MemoryFormat {
    name: "claude-ai-memories",
    about: "memories.json of a Claude.ai export",
    rule: "an array of objects with conversations_memory or project_memories",
    sniff: |head| {
        head.objects()
            .any(|object| object.get("conversations_memory").is_some() || object.get("project_memories").is_some())
    },
    read: read_claude_ai,
};

fn read_claude_ai(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    each_record(Records::elements(input), gathered, |number, account, gathered| {
        let own = account.get("conversations_memory").and_then(Value::as_str);
        let projects = account.get("project_memories").and_then(Value::as_object);
        if own.is_none() && projects.is_none() {
            gathered.skip(number, "neither conversations_memory nor project_memories");
        }
        take_parts(own.unwrap_or_default(), "", &terms.namespace, terms, gathered);
        for (id, text) in projects.into_iter().flatten() {
            let Some(text) = text.as_str() else {
                gathered.skip(number, "the memory of a project is not text");
                continue;
            };
            // One project's memories do not concern another. An invalid project name falls back to the given namespace.
            let apart = Namespace::project(&format!("claude-ai-{id}")).ok();
            let apart = apart.filter(|apart| !terms.is_forced && secret_in(apart.to_string()).is_none());
            take_parts(text, id, apart.as_ref().unwrap_or(&terms.namespace), terms, gathered);
        }
    })
}

/// Adds each part under a bold line as one memory.
fn take_parts(text: &str, project: &str, namespace: &Namespace, terms: &Terms, gathered: &mut Gathered) {
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
        // With this key, a second import of the export replaces the part instead of adding it again.
        let key = [project, heading].map(slug).join(".");
        let taken = Claim { key: Some(format!("import.claude_ai.{}", key.trim_matches('.'))), ..taken };
        gathered.add(taken, namespace.clone(), CLAUDE_AI.name, terms.now);
    }
}

const MCP_MEMORY: MemoryFormat = MemoryFormat {
    name: "mcp-memory",
    about: "memory.jsonl of the MCP reference memory server",
    rule: "lines of type entity (name, entityType, observations) or relation (from, to, relationType)",
    sniff: sniff_mcp_memory,
    read: read_mcp_memory,
};

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn sniff_mcp_memory(head: &Head<'_>) -> bool {
    let is_own = |line: &Value| match text(line, "type") {
        Some("entity") => line.get("observations").is_some_and(Value::is_array),
        Some("relation") => text(line, "relationType").is_some(),
        _ => false,
    };
    head.most_lines(is_own) || head.document.as_ref().is_some_and(is_own)
}

fn read_mcp_memory(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    each_record(Records::lines(input), gathered, |number, line, gathered| match text(&line, "type") {
        Some("entity") => take_entity(&line, number, terms, gathered),
        Some("relation") => take_relation(&line, number, terms, gathered),
        _ => gathered.skip(number, "neither an entity nor a relation"),
    })
}

/// Adds each observation as a memory about the entity.
fn take_entity(line: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
    let Some(name) = text(line, "name") else { return gathered.skip(number, "the entity has no name") };
    let observations = line.get("observations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // The entity is left out, not skipped, because an entity without observations is not an error.
    if observations.is_empty() {
        gathered.leave_out(number, "the entity has no observations");
    }
    for observation in observations {
        let Some(said) = observation.as_str().filter(|said| !said.trim().is_empty()) else {
            gathered.skip(number, "an observation is not text");
            continue;
        };
        let tags = text(line, "entityType").map(str::to_lowercase).into_iter().collect();
        // Observations are written about an entity and rarely name it, so the sentence alone would have no subject.
        let claim =
            Claim { subject: Some(name.to_owned()), tags, ..claim("fact", &format!("{name}: {}", said.trim())) };
        gathered.add(claim, terms.namespace.clone(), MCP_MEMORY.name, terms.now);
    }
}

fn take_relation(line: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
    let (Some(from), Some(to), Some(kind)) = (text(line, "from"), text(line, "to"), text(line, "relationType")) else {
        return gathered.skip(number, "the relation lacks from, to or relationType");
    };
    // `owner_of` and `works-at` are turned into words that a search can find.
    let content = format!("{from} {} {to}", kind.replace(['_', '-'], " "));
    let claim = Claim { subject: Some(from.to_owned()), tags: vec![to.to_lowercase()], ..claim("fact", &content) };
    gathered.add(claim, terms.namespace.clone(), MCP_MEMORY.name, terms.now);
}

const MCP_SERVICE: MemoryFormat = MemoryFormat {
    name: "mcp-memory-service",
    about: "JSON export of mcp-memory-service",
    rule: "an object with export_metadata and memories[].content",
    sniff: |head| {
        head.objects().any(|object| object.get("export_metadata").is_some() && object.get("memories").is_some())
    },
    read: read_mcp_service,
};

fn read_mcp_service(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    each_record(Records::elements(input), gathered, |_, export, gathered| {
        for (number, memory) in (1..).zip(export.get("memories").and_then(Value::as_array).into_iter().flatten()) {
            take_service_memory(memory, number, terms, gathered);
        }
    })
}

fn take_service_memory(memory: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
    let content = memory.get("content").and_then(Value::as_str).unwrap_or_default();
    if content.trim().is_empty() {
        return gathered.skip(number, "the memory has no content");
    }
    let tags = memory.get("tags").and_then(Value::as_array).into_iter().flatten();
    let category = memory.get("memory_type").and_then(Value::as_str).unwrap_or("note");
    // The content hash is the same in every export, so a second import finds the memory by its key.
    let hash = memory.get("content_hash").and_then(Value::as_str);
    let key = hash.map(|hash| format!("import.mcp_service.{hash}"));
    let claim = tagged(Claim { key, ..claim(category, content) }, tags.filter_map(Value::as_str).map(str::to_owned));
    let at = memory.get("created_at").and_then(instant).unwrap_or(terms.now);
    gathered.add(claim, terms.namespace.clone(), MCP_SERVICE.name, at);
}

const MEM0: MemoryFormat = MemoryFormat {
    name: "mem0",
    about: "memories as the mem0 API lists them",
    rule: "results[] or an array of objects with memory and id",
    sniff: sniff_mem0,
    read: read_mem0,
};

const MEM0_MARKDOWN: MemoryFormat = MemoryFormat {
    name: "mem0-markdown",
    about: "the Markdown export of mem0",
    rule: "blocks with front matter that has id, created_at and type",
    sniff: |head| {
        front_matter(&head.text).is_some_and(|(pairs, _)| ["id", "created_at"].iter().all(|key| has(&pairs, key)))
    },
    read: read_mem0_markdown,
};

fn sniff_mem0(head: &Head<'_>) -> bool {
    let is_memory = |value: &Value| value.get("memory").is_some_and(Value::is_string) && value.get("id").is_some();
    let listed =
        |object: &Value| object.get("results").and_then(Value::as_array).is_some_and(|list| list.iter().any(is_memory));
    head.objects().any(|object| listed(object) || is_memory(object)) || head.most_lines(is_memory)
}

fn read_mem0(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    // The API returns an object or an array; a dump with one object per line is accepted as well.
    let is_lines = !Head::of(&input).lines.is_empty();
    let records = if is_lines { Records::lines(input) } else { Records::elements(input) };
    each_record(records, gathered, |number, value, gathered| match value.get("results").and_then(Value::as_array) {
        Some(list) => (1..).zip(list).for_each(|(place, memory)| take_mem0_memory(memory, place, terms, gathered)),
        None => take_mem0_memory(&value, number, terms, gathered),
    })
}

fn take_mem0_memory(memory: &Value, number: usize, terms: &Terms, gathered: &mut Gathered) {
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
        MEM0.name,
        // The text is from the last update. `updated_at` is null for a memory that never changed.
        time("updated_at").or(time("created_at")).unwrap_or(terms.now),
    );
}

fn has(pairs: &[(&str, &str)], key: &str) -> bool {
    pairs.iter().any(|(name, _)| *name == key)
}

/// Reads blocks of front matter and text, one after another.
fn read_mem0_markdown(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let Some(text) = text_of(input, gathered)? else { return Ok(()) };
    // A rule `---` within a text looks like the start of a block; only the keys after it distinguish the two.
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
        // `"NaN"` and `"inf"` parse as numbers in Rust, and `clamp` keeps NaN.
        let confidence =
            value("confidence").and_then(|text| text.parse::<f64>().ok()).filter(|share| share.is_finite());
        let claim = Claim {
            key: value("id").map(|id| format!("import.mem0.{id}")),
            confidence: confidence.unwrap_or(1.0).clamp(0.0, 1.0),
            ..claim(value("type").unwrap_or("fact"), body)
        };
        let claim = tagged(claim, tags.map(str::to_owned));
        let at = value("created_at").and_then(|text| instant(&Value::from(text))).unwrap_or(terms.now);
        gathered.add(claim, terms.namespace.clone(), MEM0.name, at);
    }
    Ok(())
}

/// Whether a block begins at `start`: a line `---` followed by the keys of a block.
fn is_block(text: &str, start: usize) -> bool {
    let at_line_start = start == 0 || text[..start].ends_with('\n');
    let head = text[start + 4..].split("\n---").next().unwrap_or_default();
    at_line_start && head.lines().next().is_some_and(|line| line.starts_with("id:"))
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;

    pub(crate) fn terms() -> Terms {
        Terms {
            namespace: Namespace::global(),
            is_forced: false,
            now: "2026-05-01T12:00:00Z".parse().unwrap(),
            instructions_as_memories: false,
            folder: String::new(),
        }
    }

    /// Reads `text` as a file called `name`; returns the format's name and what it contains.
    pub(crate) fn read(name: &str, text: &str) -> (&'static str, Gathered) {
        let (format, gathered) = gather(Input::from_text(name, text), None, &terms()).unwrap();
        (format.name, gathered)
    }

    pub(crate) fn contents(gathered: &Gathered) -> Vec<&str> {
        gathered.memories.recent.iter().map(|imported| imported.memory.claim.content.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{contents, read};
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

    #[test]
    fn rows_of_a_table_are_read_from_an_array() {
        let row = |content: &str| {
            format!(r#"{{"type":"semantic","content":"{content}","importance":0.5,"namespace":"[\"global\"]"}}"#)
        };
        let (format, gathered) = read("rows.json", &format!("[{},\n{}]", row("Ana sings."), row("Bo bakes.")));
        assert_eq!((format, contents(&gathered)), ("jsonl", vec!["Ana sings.", "Bo bakes."]));
        let messages = r#"[{"type":"message","text":"Good morning.","user":"U1"}]"#;
        assert!(recognise(&Head::of(&Input::from_text("messages.json", messages))).is_none());
    }

    #[test]
    fn a_namespace_with_a_secret_is_refused_unless_another_is_chosen() {
        let secret = concat!("ghp_", "0123456789abcdefghijABCDEFGHIJ012345");
        let line = format!(r#"{{"content":"Ana sings.","namespace":["project","{secret}"]}}"#);
        let (_, gathered) = read("m.jsonl", &line);
        assert!(
            gathered.memories.recent.is_empty()
                && gathered.skipped[0].reason.contains("its namespace contains a secret")
        );
        let forced = Terms { is_forced: true, ..samples::terms() };
        let (_, gathered) = gather(Input::from_text("m.jsonl", &line), None, &forced).unwrap();
        assert_eq!(gathered.memories.recent[0].memory.namespace, Namespace::global());
    }

    #[test]
    fn parts_become_memories_and_projects_stay_apart() {
        let text = r#"[{"conversations_memory":"**Work**\n\nBo is a baker.\n\n**Home**\n\nTwo cats.\n","project_memories":{"11-22":"**Aim**\n\nA new oven.\n"}},{"x":1}]"#;
        let (format, gathered) = read("memories.json", text);
        assert_eq!(
            (format, contents(&gathered)),
            ("claude-ai-memories", vec!["Bo is a baker.", "Two cats.", "A new oven."])
        );
        let places: Vec<_> = gathered.memories.recent.iter().map(|one| one.memory.namespace.to_string()).collect();
        assert_eq!(places, ["global", "global", "project/claude-ai-11-22"]);
        assert_eq!(gathered.memories.recent[2].memory.claim.key.as_deref(), Some("import.claude_ai.11_22.aim"));
        assert_eq!(gathered.skipped.len(), 1);
    }

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
        assert_eq!(gathered.memories.recent[0].memory.claim.tags, ["person"]);
        assert_eq!(gathered.skipped.len(), 3);
    }

    #[test]
    fn memories_keep_their_tags_kind_and_time() {
        let text = r#"{"export_metadata":{},"memories":[{"content":"Run `make`.","tags":["build",1],"created_at":1767312000.0,"memory_type":"command"},{"content":" "},3]}"#;
        let (format, gathered) = read("export.json", text);
        assert_eq!((format, contents(&gathered)), ("mcp-memory-service", vec!["Run `make`."]));
        let memory = &gathered.memories.recent[0].memory;
        assert_eq!(
            (memory.claim.category.as_str(), memory.created_at.to_string().as_str()),
            ("note", "2026-01-02T00:00:00Z")
        );
        assert_eq!((memory.claim.tags.join(" ").as_str(), gathered.skipped.len()), ("command build", 2));
    }

    #[test]
    fn listed_memories_keep_owner_kind_and_time() {
        let text = r#"{"results":[{"id":"m1","memory":"Lives in Porto","user_id":"bo","categories":["home"],"created_at":"2025-05-01T10:00:00.5-07:00","updated_at":null},{"id":"m2"}]}"#;
        let (format, gathered) = read("all.json", text);
        assert_eq!((format, contents(&gathered), gathered.skipped.len()), ("mem0", vec!["Lives in Porto"], 1));
        let memory = &gathered.memories.recent[0].memory;
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
        assert_eq!(gathered.memories.recent[0].memory.claim.tags, ["lesson", "build", "ci"]);
    }
}
