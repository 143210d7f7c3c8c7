//! Reads one memory from a line of JSON: an export of this program, or an object with at least `content`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use transcripts::{MessageTime, TimeSource, instant, json};

use super::{Exported, IdOrigin, Imported, parts};
use crate::guard::clean_id;
use crate::memory::{
    Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, RelationType, Scope, Status, Structured,
};
use crate::schema::Schema;
use crate::store::normalised_hash;
use crate::text::normalise::{snake_case, title_of};

/// The reason for refusing a line whose fields have the right types but not the right values.
const UNREADABLE: &str = "a namespace is a list of names without slashes, and an id is a string";

static EXPORTED: LazyLock<Schema> = LazyLock::new(Schema::of::<Exported>);

/// Reads one line; `namespace` is used for a memory that specifies none.
///
/// # Errors
/// Why the line is not a memory: it is not JSON, or not an object with the fields of a memory.
pub fn parse_line(text: &str, namespace: &Namespace, now: Timestamp) -> Result<Imported, String> {
    // A complete export is read as it is. Everything else may lack fields, or have them in a different spelling.
    if let Ok((exported, _)) = json::parse::<Exported>(text) {
        check_scales(&exported.memory.claim)?;
        return Ok(own(exported, IdOrigin::Export));
    }
    let not_json = |error: serde_json::Error| format!("invalid JSON at column {}", error.column());
    let (value, _) = json::parse::<Value>(text).map_err(not_json)?;
    let Value::Object(fields) = value else { return Err("it is not an object".to_owned()) };
    loose(fields, namespace, now)
}

/// Fields that may contain JSON in a string.
const FOLDED: &[&str] = &["namespace", "tags", "metadata", "structured", "structured_data"];
/// The structured parts of a memory under their own names.
const PARTS: &[&str] = &["episode", "procedure", "pattern", "blocker", "profile"];
/// Other names of fields.
const OTHER_NAMES: &[(&str, &str)] =
    &[("memory", "content"), ("text", "content"), ("dedup_key", "key"), ("extracted_at", "created_at")];
/// Fields that are a time.
const TIMES: &[&str] = &[
    "created_at",
    "updated_at",
    "valid_from",
    "valid_to",
    "expires_at",
    "deleted_at",
    "last_accessed_at",
    "last_promoted_at",
];

/// The fields of a line, in the spelling of this program, with the names that the line gives them.
#[derive(Default)]
struct Line {
    fields: BTreeMap<String, (String, Value)>,
    /// Names of fields that a memory does not have.
    left_out: Vec<String>,
}

impl Line {
    /// Adds a field under its name in this program, unless another field with a different value has that name.
    fn put(&mut self, name: &str, given: String, value: Value) {
        let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, name)| name);
        match self.fields.get(name) {
            Some((_, known)) if *known == value => {}
            Some(_) => self.left_out.push(given),
            None => {
                self.fields.insert(name.to_owned(), (given, value));
            }
        }
    }

    /// Adds the fields of an object whose name is `prefix`.
    fn extend(&mut self, prefix: &str, fields: Map<String, Value>) {
        // A field without a value contains no information. A field under its own name takes precedence.
        let mut fields: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
        fields.sort_by_key(|(name, value)| (value.is_object(), OTHER_NAMES.iter().any(|(other, _)| other == name)));
        for (given, value) in fields {
            let name = snake_case(&given);
            let is_folded = FOLDED.contains(&name.as_str()) || PARTS.contains(&name.as_str());
            let value = if is_folded { unfolded(value) } else { value };
            match (name.as_str(), value) {
                ("metadata" | "structured_data", Value::Object(inner)) => {
                    self.extend(&format!("{prefix}{given}."), inner);
                }
                ("tags", Value::Array(tags)) => {
                    let known = self.fields.entry(name).or_insert_with(|| (given, json!([])));
                    known.1.as_array_mut().into_iter().for_each(|known| known.extend(tags.iter().cloned()));
                }
                (name, value) => self.put(name, format!("{prefix}{given}"), value),
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).map(|(_, value)| value)
    }

    fn take_text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.fields.remove(name) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((given, _)) => Err(format!("{given} is not a string")),
        }
    }

    /// Returns the namespace that the line specifies, or that of the project that the line comes from, or `otherwise`.
    fn take_place(&mut self, otherwise: &Namespace) -> Value {
        let place = match self.take("namespace") {
            Some(Value::String(path)) => Some(json!(path.split('/').collect::<Vec<_>>())),
            place => place,
        };
        let Some((given, project)) = self.fields.remove("source_project_id") else {
            return place.unwrap_or_else(|| json!(otherwise));
        };
        let project = project.as_str().and_then(|id| Namespace::project(id).ok()).map(|project| json!(project));
        if place.is_some() && place != project || project.is_none() {
            self.left_out.push(given);
        }
        place.or(project).unwrap_or_else(|| json!(otherwise))
    }

    /// Returns the conversation and the message from which the memory comes, in the layout of another program.
    fn take_evidence(&mut self) -> Result<Option<(String, Vec<String>)>, String> {
        let (conversation, message) = (self.take_text("source_conversation_id")?, self.take_text("source_message_id")?);
        let is_known = conversation.is_some() || message.is_some();
        let transcript = conversation.unwrap_or_else(|| SOURCE.to_owned());
        Ok(is_known.then(|| (transcript, message.into_iter().collect())))
    }

    /// Returns the ids of the memories from which the memory was derived, in the layout of another program.
    fn take_grounds(&mut self) -> Result<Vec<Value>, String> {
        let Some((given, ids)) = self.fields.remove("consolidated_from") else { return Ok(Vec::new()) };
        let ids = ids.as_array().filter(|ids| ids.iter().all(Value::is_string));
        ids.cloned().ok_or_else(|| format!("{given} is not a list of ids"))
    }

    fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    fn time(&self, name: &str) -> Option<Timestamp> {
        self.fields.get(name).and_then(|(_, value)| instant(value))
    }

    /// Writes times and the importance as this program does.
    fn normalise(&mut self) -> Result<(), String> {
        for name in TIMES {
            if let Some((given, value)) = self.fields.get_mut(*name) {
                let at = instant(value).ok_or_else(|| format!("{given} is not a time such as 2027-01-31T18:00:00Z"))?;
                *value = json!(at);
            }
        }
        if let Some((_, importance)) = self.fields.get_mut("importance")
            && let Some(value) = importance.as_f64()
        {
            *importance = json!(share_of(value)?);
        }
        Ok(())
    }

    /// Returns the fields of a memory for which only the content and the times of the line are known.
    fn plain(&self, namespace: &Namespace, now: Timestamp) -> Result<Map<String, Value>, String> {
        let content = self.fields.get("content").and_then(|(_, value)| value.as_str()).unwrap_or_default();
        let expires = self.time("expires_at");
        let claim = Claim {
            scope: if expires.is_some() { Scope::ShortTerm } else { Scope::LongTerm },
            ..Claim::new(MemoryType::Semantic, "fact", title_of(content), content)
        };
        let at = self.time("created_at").or(self.time("updated_at")).unwrap_or(now);
        let mut memory = Memory::new(claim, namespace.clone(), SOURCE, ExtractionMethod::Imported, at);
        if expires.is_some_and(|at| at <= now) {
            memory.status = Status::Expired;
        }
        let plain = Exported { memory, sources: Vec::new(), relations: Vec::new(), evidence: Vec::new() };
        match serde_json::to_value(plain) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) | Err(_) => Err(UNREADABLE.to_owned()),
        }
    }

    /// Returns the structured parts, in our layout or in that of another program. Fields of a profile that this program
    /// does not know are left out, except in its own exports.
    fn take_parts(&mut self, origin: IdOrigin) -> Result<Option<Value>, String> {
        let mut parts = Map::new();
        match self.fields.remove("structured") {
            Some((_, Value::Object(fields))) if parts::is_known(&fields) => parts = fields,
            // A structure of another kind is not a reason to refuse the line.
            Some((given, _)) => self.left_out.push(given),
            None => {}
        }
        let named: Vec<&str> = PARTS.iter().copied().filter(|name| self.has(name)).collect();
        parts.extend(named.into_iter().filter_map(|name| Some((name.to_owned(), self.take(name)?))));
        if parts.is_empty() {
            return Ok(None);
        }
        let mut parts = parts::structured(parts)?;
        if let Structured::Profile { profile } = &mut parts
            && origin != IdOrigin::Export
        {
            let unknown: Vec<String> = profile.keys().filter(|name| !parts::is_of_profile(name)).cloned().collect();
            profile.retain(|name, _| parts::is_of_profile(name));
            self.left_out.extend(unknown.into_iter().map(|name| format!("profile.{name}")));
        }
        Ok(serde_json::to_value(parts).ok())
    }
}

/// Returns the value that a text contains as JSON, as programs with a table of memories write it.
fn unfolded(value: Value) -> Value {
    let is_json = |text: &&str| text.trim_start().starts_with(['[', '{']);
    let read = value.as_str().filter(is_json).and_then(|text| json::parse::<Value>(text).ok());
    read.map_or(value, |(value, _)| value)
}

/// Reads a line that is not a complete export: the fields that it has replace those of a plain memory.
fn loose(fields: Map<String, Value>, namespace: &Namespace, now: Timestamp) -> Result<Imported, String> {
    let mut line = Line::default();
    line.extend("", fields);
    line.normalise()?;
    let is_own = ["id", "status", "extraction_method"].iter().all(|field| line.has(field));
    let origin = match line.fields.get("id").map(|(_, id)| id.as_str()) {
        None => IdOrigin::New,
        Some(Some(id)) if is_own && !MemoryId::from_stored(id).into_uuid().is_derived() => IdOrigin::Export,
        Some(_) => IdOrigin::Line,
    };
    let created = line.time("created_at");
    let (parts, evidence) = (line.take_parts(origin)?, line.take_evidence()?);
    let (place, grounds) = (line.take_place(namespace), line.take_grounds()?);
    let mut all = line.plain(namespace, now)?;
    if !line.has("content") {
        all.remove("content");
    }
    let mut absent = Vec::new();
    for (name, field) in &mut all {
        match line.take(name) {
            Some(value) => *field = value,
            None => absent.push(name.clone()),
        }
    }
    absent.retain(|name| !(name == "structured" && parts.is_some() || name == "scope" && !all["expires_at"].is_null()));
    all.insert("namespace".to_owned(), place);
    all.extend(parts.map(|parts| ("structured".to_owned(), parts)));
    if let Some(relations) = all.get_mut("relations").and_then(Value::as_array_mut) {
        relations.extend(grounds.into_iter().map(|id| json!({"to": id, "type": RelationType::DerivedFrom})));
    }
    let all = Value::Object(all);
    let faults = EXPORTED.faults(&all);
    if !faults.is_empty() {
        return Err(faults.join(", "));
    }
    let mut exported: Exported = serde_json::from_value(all).map_err(|_| UNREADABLE.to_owned())?;
    let claim = &mut exported.memory.claim;
    if claim.content.trim().is_empty() {
        return Err("\"content\" is empty".into());
    }
    check_scales(claim)?;
    if claim.memory_type == MemoryType::Episodic && origin != IdOrigin::Export {
        // An episode happened on the day on which it was recorded, if the line gives no other.
        claim.valid_from = claim.valid_from.or(created);
    }
    if exported.evidence.is_empty() {
        // The conversation itself is not in the file, so the words of the memory take the place of those of the
        // message.
        let said_at = created.map(|at| MessageTime { at, offset_seconds: None, source: TimeSource::File });
        let piece =
            |(transcript, messages)| Evidence { said_at, ..piece_of(transcript, messages, claim.content.clone()) };
        exported.evidence.extend(evidence.map(piece));
    }
    line.left_out.extend(line.fields.into_values().map(|(given, _)| given));
    Ok(Imported { left_out: line.left_out, absent, ..own(exported, origin) })
}

/// The source of memories that do not specify one.
pub(super) const SOURCE: &str = "import";

/// Returns an importance from 0 to 1; other programs use a scale from 1 to 10.
fn share_of(importance: f64) -> Result<f64, String> {
    check_scale("importance", importance, 10.0)?;
    if importance > 1.0 && importance < 2.0 {
        return Err(format!("importance {importance} is out of range; use 0 to 1, or 2 to 10"));
    }
    Ok(if importance > 1.0 { importance / 10.0 } else { importance })
}

fn check_scales(claim: &Claim) -> Result<(), String> {
    check_scale("importance", claim.importance, 1.0)?;
    check_scale("confidence", claim.confidence, 1.0)
}

/// Rejects a number that is not between 0 and `most`.
fn check_scale(name: &str, value: f64, most: f64) -> Result<(), String> {
    if (0.0..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} {value} is out of range; use 0 to {most}"))
}

/// Returns evidence for which only the place and the words are known.
fn piece_of(transcript: String, messages: Vec<String>, quote: String) -> Evidence {
    Evidence { content_hash: normalised_hash(&quote), transcript, messages, quote, speaker: None, said_at: None }
}

fn own(exported: Exported, id: IdOrigin) -> Imported {
    let Exported { memory, sources, relations, evidence } = exported;
    let relations = relations.into_iter().map(|relation| (relation.relation_type, relation.to.into_uuid()));
    // Exports of earlier versions contain the sources alone.
    let sources = sources.into_iter().filter(|_| evidence.is_empty());
    let sources = sources.map(|source| piece_of(source.transcript, source.messages, source.quote));
    let evidence = sources.collect::<Vec<_>>().into_iter().chain(evidence).map(with_clean_ids).collect();
    // The ids of another program may be any text, but here they must be UUIDs, always the same UUID for the same text.
    let memory = Memory { id: memory.id.into_uuid(), ..memory };
    Imported { evidence, relations: relations.collect(), ..Imported::new(memory, id) }
}

/// Returns evidence whose ids contain no secrets. In a file, they may be any text.
fn with_clean_ids(evidence: Evidence) -> Evidence {
    let messages = evidence.messages.into_iter().map(clean_id).collect();
    let (transcript, content_hash) = (clean_id(evidence.transcript), clean_id(evidence.content_hash));
    Evidence { transcript, messages, content_hash, ..evidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::day;

    #[test]
    fn ids_of_evidence_contain_no_secrets() {
        let token = "ghp_aB3dE5gH7jK9mN2pQ4rS6tV8wXyZaB3dE5gH";
        let known = parse(r#"{"content": "The gate is red."}"#).unwrap();
        let piece = Evidence { speaker: None, ..piece_of(token.into(), vec![token.into(), "m1".into()], "red".into()) };
        let evidence = vec![Evidence { content_hash: token.into(), ..piece }];
        let exported = Exported { memory: known.memory, sources: Vec::new(), relations: Vec::new(), evidence };
        let clean = own(exported, IdOrigin::Export).evidence;
        assert!(!format!("{clean:?}").contains(token), "{clean:?}");
        assert_eq!((clean[0].messages.len(), clean[0].messages[1].as_str()), (2, "m1"));
    }

    fn parse(text: &str) -> Result<Imported, String> {
        parse_line(text, &Namespace::global(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn content_alone_is_enough() {
        let imported = parse(r#"{"content":"The user likes tea.","importance":8}"#).unwrap();
        assert_eq!(imported.memory.claim.content, "The user likes tea.");
        assert_eq!(imported.memory.claim.title, "The user likes tea.");
        assert!((imported.memory.claim.importance - 0.8).abs() < 1e-9);
        assert_eq!(imported.memory.extraction_method, ExtractionMethod::Imported);
    }

    #[test]
    fn a_loose_line_keeps_the_fields_that_it_has() {
        let text = r#"{"content":"The build failed on arm64.","summary":"arm64 fails","type":"episodic",
            "structured":{"situation":"arm64","action":"cross build","outcome":"failure"},"created_at":"2025-03-04T10:00:00Z"}"#;
        let memory = parse(text).unwrap().memory;
        assert_eq!(memory.claim.summary.as_deref(), Some("arm64 fails"));
        assert!(matches!(memory.claim.structured, Some(crate::memory::Structured::Episode(_))));
        assert_eq!(memory.created_at, "2025-03-04T10:00:00Z".parse().unwrap());
        let other = parse(r#"{"content":"Tea.","structured":"a shape of its own"}"#).unwrap();
        assert_eq!(other.memory.claim.structured, None);
    }

    #[test]
    fn rows_of_talkcody_keep_everything_that_a_memory_has() {
        let text = r#"{"id":"m-7","type":"episodic","content":"Retry calls once.","importance":0.8,"createdAt":1700000000000,
            "updatedAt":1790000000000,"namespace":["global"],"embedding":[0.5],
            "metadata":{"tags":["net"],"category":"coding_style","accessCount":4,"lastAccessedAt":1780000000000,
                "extractedAt":1700000000000,"extractionMethod":"auto","sourceConversationId":"conv-456","sourceMessageId":"msg-1",
                "sourceProjectId":"shop","consolidatedFrom":["m-1"],"lastConsolidatedAt":1780000000000},
            "structuredData":{"key":"retries","value":"1","confidence":0.7},
            "pattern":{"description":"Retry once.","codeSnippet":"call()","useCase":"a flaky network","effectiveness":0.5}}"#;
        let imported = parse(&text.replace('\n', " ")).unwrap();
        let Memory { claim, created_at, updated_at, usage, extraction_method, .. } = imported.memory;
        assert_eq!((&claim.tags[..], claim.category.as_str()), (&["net".to_owned()][..], "coding_style"));
        assert_eq!((claim.key.as_deref(), claim.value.as_deref()), (Some("retries"), Some("1")));
        assert!((claim.confidence - 0.7).abs() < 1e-9);
        assert_eq!((created_at.as_second(), updated_at.as_second()), (1_700_000_000, 1_790_000_000));
        assert_eq!(claim.valid_from, Some(created_at), "an episode happened when it was recorded");
        let used = usage.last_accessed_at.map(Timestamp::as_second);
        assert_eq!((usage.access_count, used, extraction_method), (4, Some(1_780_000_000), ExtractionMethod::Auto));
        let [piece] = &imported.evidence[..] else { panic!("{:?}", imported.evidence) };
        assert_eq!((piece.transcript.as_str(), &piece.messages[..]), ("conv-456", &["msg-1".to_owned()][..]));
        assert_eq!(imported.relations, [(RelationType::DerivedFrom, MemoryId::from_stored("m-1").into_uuid())]);
        assert_eq!(imported.left_out, ["metadata.sourceProjectId", "embedding", "metadata.lastConsolidatedAt"]);
        let Some(Structured::Pattern { pattern }) = claim.structured else { panic!("{:?}", claim.structured) };
        assert_eq!(
            (pattern.code_snippet.as_deref(), pattern.use_case.as_deref()),
            (Some("call()"), Some("a flaky network"))
        );
        let of_project = parse(r#"{"content":"Tea.","metadata":{"sourceProjectId":"shop"}}"#).unwrap();
        assert_eq!((of_project.memory.namespace.to_string().as_str(), of_project.left_out.len()), ("project/shop", 0));
    }

    #[test]
    fn a_line_without_all_fields_of_an_export_keeps_those_that_it_has() {
        let mut memory = parse(r#"{"content":"Tea."}"#).unwrap().memory;
        memory.claim.expires_at = Some(day(99));
        (memory.pinned, memory.status) = (true, Status::Superseded);
        // As `memory list --json` prints it.
        let listed = parse(&serde_json::to_string(&memory).unwrap()).unwrap();
        assert_eq!((listed.memory, listed.id), (memory, IdOrigin::Export));
        let line = parse(r#"{"content":"Tea.","expires_at":"1969-01-01T00:00:00Z","pinned":true}"#).unwrap().memory;
        assert_eq!((line.claim.scope, line.status, line.pinned), (Scope::ShortTerm, Status::Expired, true));
        assert_eq!(parse(r#"{"content":"Tea.","status":"forgotten"}"#).unwrap().memory.status, Status::Forgotten);
        for field in ["expires_at", "updatedAt", "valid_to"] {
            let error = parse(&format!(r#"{{"content":"Tea.","{field}":"next week"}}"#)).unwrap_err();
            assert!(error.contains(&format!("{field} is not a time")), "{error}");
        }
    }

    #[test]
    fn parts_that_are_not_accepted_are_named() {
        for (parts, named) in [
            (r#""episode":{"situation":"s","action":"a","outcome":"meh"}"#, "an episode: /outcome value is not one of"),
            (r#""pattern":{"description":"d","useCase":"u","effectiveness":8}"#, "effectiveness 8 is out of range"),
            (r#""profile":{"responsePreference":"loud"}"#, "response_preference is unknown; use one of concise"),
            (r#""structured":{"profile":{"languagePreference":"klingon"}}"#, "language_preference is unknown"),
            (r#""episode":{"situation":"s"},"pattern":"d""#, "its fields are episode, pattern"),
        ] {
            let error = parse(&format!(r#"{{"content":"Tea.",{parts}}}"#)).unwrap_err();
            assert!(error.contains(named) && !error.contains("meh") && !error.contains("klingon"), "{error}");
        }
        assert_eq!(parse(r#"{"content":"Tea.","structured":{"mood":"good"}}"#).unwrap().left_out, ["structured"]);
        let profile = parse(r#"{"content":"Tea.","profile":{"name":"Ana","pets":2,"shoeSize":38}}"#).unwrap();
        assert_eq!(profile.left_out, ["profile.pets", "profile.shoe_size"]);
        let Some(Structured::Profile { profile }) = profile.memory.claim.structured else { panic!("a profile") };
        assert_eq!(Value::Object(profile), json!({"name": "Ana"}));
    }

    #[test]
    fn rows_with_json_in_their_texts_are_read() {
        let text = r#"{"id":"m-1","type":"semantic","content":"Calls are retried once.","importance":0.8,
            "namespace":"[\"project\",\"shop\"]","metadata":"{\"tags\":\"[\\\"net\\\"]\",\"category\":\"convention\",\"metadata\":1}",
            "structuredData":"{\"key\":\"retries\",\"value\":\"1\",\"confidence\":0.7}","embedding":null,
            "created_at":1700000000000,"updated_at":1700000000000}"#;
        let imported = parse(&text.replace('\n', " ")).unwrap();
        let Memory { id, claim, namespace, created_at, .. } = imported.memory;
        assert_eq!((namespace.to_string().as_str(), imported.id), ("project/shop", IdOrigin::Line));
        assert_eq!(id, MemoryId::from_stored("m-1").into_uuid());
        assert_eq!((claim.category.as_str(), &claim.tags[..]), ("convention", &["net".to_owned()][..]));
        assert_eq!((claim.key.as_deref(), claim.value.as_deref()), (Some("retries"), Some("1")));
        assert_eq!(created_at.as_second(), 1_700_000_000);
        let path = parse(r#"{"content":"Tea.","namespace":"project/shop","tags":"[\"a\"]"}"#).unwrap().memory;
        assert_eq!(
            (path.namespace.to_string().as_str(), &path.claim.tags[..]),
            ("project/shop", &["a".to_owned()][..])
        );
        let nested = r#"{"content":"Tea.","metadata":{"episode":"{\"situation\":\"s\",\"action\":\"a\",\"outcome\":\"success\"}"}}"#;
        assert!(matches!(parse(nested).unwrap().memory.claim.structured, Some(Structured::Episode(_))));
    }

    #[test]
    fn an_export_comes_back_as_it_was() {
        let memory = parse(r#"{"content":"a","type":"episodic"}"#).unwrap().memory;
        let exported =
            Exported { memory: memory.clone(), sources: Vec::new(), relations: Vec::new(), evidence: Vec::new() };
        assert_eq!(parse(&serde_json::to_string(&exported).unwrap()).unwrap().memory, memory);
    }

    #[test]
    fn a_bad_line_is_named_without_its_text() {
        for text in [r#"{"content":"Tea.","importance":50}"#, r#"{"content":"Tea.","confidence":-1}"#] {
            assert!(parse(text).unwrap_err().contains("is out of range; use 0 to 1"), "{text}");
        }
        for text in ["{\"content\":", "[]", "{\"secret\":1}", "{\"content\":\" \"}"] {
            let error = parse(text).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
