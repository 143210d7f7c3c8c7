//! Zed's `threads.db`: each thread is a document, plain or compressed, in its own row.

use std::io::Read;

use rusqlite::Row;
use serde_json::Value;

use crate::agents::turn::{self, answer, call, user_words};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{file_label, without_data};
use crate::reading::database::{self};
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, MAX_RECORD_BYTES, Message, MessageTime, Role, Sink, json,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "zed";

/// Reads Zed's threads.
pub(crate) struct Zed;

impl Ingestor for Zed {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |column: &str| head.columns.iter().any(|there| there == column);
        has("threads.data_type") && has("threads.summary")
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (origin, database) = (input.path.display().to_string(), database::required(&input)?);
        database.require("threads", &["id", "summary", "updated_at", "data_type", "data"])?;
        // The columns are in the order that `document_of` and `read_thread` expect.
        let columns = database.or_null("threads", &["parent_id", "folder_paths", "created_at"]);
        let sql =
            format!("SELECT rowid, id, summary, updated_at, data_type, data, {columns} FROM threads ORDER BY rowid");
        database.each(&sql, &[], |row| {
            let number = database::record_number(row, 0);
            match (database::text(row, 1), document_of(row)) {
                (None, _) => sink.skip(number, "a thread without an id"),
                (Some(_), Err(reason)) => sink.skip(number, reason),
                (Some(id), Ok((document, repaired))) => {
                    sink.repaired += usize::from(repaired);
                    read_thread(row, &id, &document, &origin, sink);
                }
            }
            Ok(())
        })
    }
}

/// Returns the thread in a row, decompressed.
fn document_of(row: &Row<'_>) -> Result<(Value, bool), String> {
    let kind = database::text(row, 4).unwrap_or_default();
    let limit = MAX_RECORD_BYTES;
    let stored = database::bytes(row, 5).ok_or("a thread without data")?;
    let mut text = Vec::new();
    match kind.as_str() {
        // One additional byte is enough to detect later that the thread is too long.
        "json" => text.extend_from_slice(&stored[..stored.len().min(limit + 1)]),
        // A small row may decompress to any size, so reading stops just after the limit.
        "zstd" => {
            let unpacked = zstd::stream::read::Decoder::new(stored).map(|reader| reader.take(limit as u64 + 1));
            let read = unpacked.and_then(|mut reader| reader.read_to_end(&mut text));
            read.map_err(|_| "a thread whose data cannot be unpacked")?;
        }
        _ => return Err("a thread whose data is of an unknown type".to_owned()),
    }
    if text.len() > limit {
        return Err(format!("a thread over the limit of {} MiB", limit >> 20));
    }
    let text = String::from_utf8_lossy(&text);
    json::parse(&text).map_err(|error| json::reason(&text, &error))
}

fn read_thread(row: &Row<'_>, id: &str, document: &Value, origin: &str, sink: &mut Sink<'_>) {
    let parent = database::text(row, 6);
    let parent = parent.or_else(|| document["subagent_context"]["parent_thread_id"].owned());
    // The identity includes the parent's id, so that erasing a thread also erases the threads of its agents.
    let identity = parent.as_ref().map_or_else(|| id.to_owned(), |parent| format!("{parent}/{id}"));
    let mut draft = Assembler::new(NAME, identity, format!("{origin}#{id}"));
    let snapshot = &document["initial_project_snapshot"];
    let folders = database::text(row, 7);
    // The column lists one folder per line.
    let folder = folders.as_deref().and_then(|all| all.lines().next()).map(str::to_owned);
    let worktree = || snapshot["worktree_snapshots"][0]["worktree_path"].owned();
    let written = |column| database::text(row, column).and_then(|text| identity::instant(&Value::String(text)));
    let meta = draft.meta();
    meta.title = database::text(row, 2);
    meta.project = folder.filter(|folder| !folder.is_empty()).or_else(worktree);
    meta.model = document["model"]["model"].owned();
    meta.created_at = written(8).or_else(|| identity::instant(&snapshot["timestamp"]));
    // Messages have no separate times, so they get a time from the thread, preferably its start.
    let at = meta.created_at.or_else(|| written(3));
    let time = at.map(|at| MessageTime::logged(at).derived());
    for entry in document["messages"].list() {
        let (id, mut messages) = messages_of(entry);
        if parent.is_some() {
            turn::of_sub_agent(&mut messages);
        }
        draft.push_all(id, time, messages, sink);
    }
    draft.finish(sink);
}

// The messages of a thread, which are keyed by the speaker or, in older versions, have a role and segments.

/// Returns the id of an entry and its messages; a marker such as `"Resume"` contains none.
fn messages_of(entry: &Value) -> (&str, Vec<Message>) {
    if entry["role"].is_string() {
        return ("", older(entry));
    }
    // Rust enums are serialised as an object whose only key is the variant.
    let Some((who, body)) = entry.as_object().and_then(|fields| fields.iter().next()) else { return ("", Vec::new()) };
    let messages = match who.as_str() {
        "User" => user(&body["content"]),
        "Agent" => agent(body),
        // The summary that replaces the earlier messages in a compaction.
        _ => {
            let summary = body.first_text(&["summary", "text"]).or_else(|| body.text());
            summary.map(Message::summary).into_iter().collect()
        }
    };
    (body["id"].text().unwrap_or_default(), messages)
}

/// Returns a value and its variant, which is the key, as in `{"Text": "…"}`.
fn variant(block: &Value) -> (&str, &Value) {
    match block {
        Value::Object(fields) => fields.iter().next().map_or(("", &Value::Null), |(key, value)| (key.as_str(), value)),
        _ => ("Text", block),
    }
}

fn user(content: &Value) -> Vec<Message> {
    let (mut words, mut rest) = (String::new(), Vec::new());
    for block in content.items() {
        match variant(block) {
            ("Text", value) => words.push_str(value.as_str().unwrap_or_default()),
            // The name of a mention appears in the sentence; the mentioned text was included without being typed.
            ("Mention", value) => {
                words.extend(mentioned(&value["uri"]).map(|name| format!("@{name}")));
                rest.extend(value["content"].text().map(Message::context));
            }
            ("Image", _) => rest.push(Message::new(Role::User, Kind::Attachment, file_label("image", None))),
            _ => {}
        }
    }
    user_words(&words).into_iter().chain(rest).collect()
}

fn mentioned(uri: &Value) -> Option<&str> {
    let (_, target) = variant(uri);
    let named = target.first_text(&["name", "abs_path", "path", "url"]);
    named.or_else(|| target.text()).map(turn::file_name)
}

fn agent(body: &Value) -> Vec<Message> {
    let mut messages = Vec::new();
    for block in body["content"].list() {
        match variant(block) {
            ("Text", value) => messages.extend(value.text().map(|words| Message::assistant(without_data(words)))),
            ("Thinking", value) => {
                let words = value["text"].text().or_else(|| value.text());
                messages.extend(words.map(Message::reasoning));
            }
            ("ToolUse", value) => {
                messages.push(call(value["name"].string(), &value["input"]));
                messages.extend(result(&body["tool_results"][value["id"].string()]));
            }
            _ => {}
        }
    }
    messages
}

/// Returns a tool result: text, a single variant or a list of variants.
fn result(result: &Value) -> Option<Message> {
    let content = &result["content"];
    let pieces = content.items().iter().filter_map(|block| match variant(block) {
        ("Image", _) => Some(file_label("image", None)),
        (_, value) => value.text().or_else(|| value["text"].text()).map(str::to_owned),
    });
    let pieces: Vec<_> = pieces.collect();
    (!pieces.is_empty()).then(|| answer(&pieces.join("\n")))
}

fn older(entry: &Value) -> Vec<Message> {
    let mut messages: Vec<_> = entry["context"].text().map(Message::context).into_iter().collect();
    for segment in entry["segments"].list() {
        let Some(words) = segment["text"].text() else { continue };
        match segment["type"].string() {
            "thinking" => messages.push(Message::reasoning(words)),
            _ => messages.extend(turn::spoken(entry["role"].string(), words)),
        }
    }
    messages.extend(entry["tool_uses"].list().iter().map(|used| call(used["name"].string(), &used["input"])));
    messages.extend(entry["tool_results"].list().iter().filter_map(result));
    messages
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Skipped;
    use crate::TimeSource;
    use crate::Transcript;

    const TABLE: &str = "CREATE TABLE threads (id TEXT, parent_id TEXT, folder_paths TEXT, summary TEXT, updated_at TEXT, created_at TEXT, data_type TEXT, data BLOB);";

    fn read(fill: impl FnOnce(&rusqlite::Connection)) -> (Vec<Transcript>, Vec<Skipped>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("threads.db");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(TABLE).unwrap();
        fill(&connection);
        drop(connection);
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        let input = crate::open(&path).unwrap();
        assert!(Zed.sniff(&Head::of(&input)));
        Zed.read(input, &mut sink).unwrap();
        let skipped = std::mem::take(&mut sink.skipped);
        (seen, skipped)
    }

    fn add(
        connection: &rusqlite::Connection,
        id: Option<&str>,
        parent: Option<&str>,
        kind: &str,
        data: Option<Vec<u8>>,
    ) {
        let sql = "INSERT INTO threads VALUES (?1, ?2, '/home/ida/reef\n/tmp', 'Reef', '2026-03-02T10:00:00Z', '2026-03-02T09:00:00Z', ?3, ?4)";
        connection.execute(sql, (id, parent, kind, data)).unwrap();
    }

    fn shown(messages: &[Message]) -> Vec<String> {
        messages.iter().map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    fn pieces(entry: &Value) -> Vec<String> {
        shown(&messages_of(entry).1)
    }

    #[test]
    fn each_variant_has_its_kind() {
        let user = json!({"User": {"id": "u", "content": [{"Text": "use metres in "}, {"Mention": {"uri": {"File": {"abs_path": "/home/ida/reef/depth.rs"}}, "content": "fn depth()"}}, {"Image": {"source": "iVBO"}}]}});
        assert_eq!(
            pieces(&user),
            ["User Prose: use metres in @depth.rs", "System Context: fn depth()", "User Attachment: [image]"]
        );
        let agent = json!({"Agent": {"content": [{"Thinking": {"text": "hm", "signature": "s"}}, {"RedactedThinking": "AAAA"}, {"Text": "ok"}, {"ToolUse": {"id": "t", "name": "read_file", "input": {"path": "depth.rs"}}}],
        "tool_results": {"t": {"tool_use_id": "t", "content": {"Text": "fn depth()"}}}}});
        assert_eq!(
            pieces(&agent),
            [
                "Assistant Reasoning: hm", "Assistant Prose: ok", "Assistant ToolCall: read_file depth.rs",
                "Tool ToolResult: fn depth()"
            ]
        );
        let older = json!({"id": 1, "role": "user", "segments": [{"type": "text", "text": "hi"}], "tool_uses": [], "context": "a file"});
        assert_eq!(pieces(&older), ["System Context: a file", "User Prose: hi"]);
        let used = json!({"role": "assistant", "segments": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "ok"}], "tool_uses": [{"name": "grep", "input": {"pattern": "x"}}], "tool_results": [{"content": "3 hits"}]});
        assert_eq!(
            pieces(&used),
            ["Assistant Reasoning: hm", "Assistant Prose: ok", "Assistant ToolCall: grep x", "Tool ToolResult: 3 hits"]
        );
        assert_eq!(pieces(&json!({"Compaction": {"summary": "they use metres"}})), ["System Summary: they use metres"]);
        assert_eq!(pieces(&json!("Resume")), Vec::<String>::new());
    }

    #[test]
    fn packed_and_plain_threads_are_read_alike_and_bad_ones_reported() {
        let text = json!({"title": "Reef", "model": {"provider": "x", "model": "opus"}, "messages": [{"User": {"id": "u", "content": [{"Text": "hi"}]}}]}).to_string();
        let (seen, skipped) = read(|connection| {
            add(connection, Some("a"), None, "json", Some(text.clone().into_bytes()));
            add(connection, Some("b"), Some("a"), "zstd", Some(zstd::encode_all(text.as_bytes(), 3).unwrap()));
            add(connection, Some("c"), None, "zstd", Some(b"no frame".to_vec()));
            add(connection, Some("d"), None, "lz4", Some(Vec::new()));
            add(connection, Some("e"), None, "json", None);
            add(connection, None, None, "json", Some(text.clone().into_bytes()));
            add(connection, Some("f"), None, "json", Some(b"{\"messages\":[".to_vec()));
        });
        let known: Vec<_> = seen.iter().map(|one| (one.external_id.as_str(), shown(&one.messages).join(""))).collect();
        assert_eq!(known, [("a", "User Prose: hi".to_owned()), ("a/b", "Other Prose: hi".to_owned())]);
        assert_eq!((seen[0].project.as_deref(), seen[0].model.as_deref()), (Some("/home/ida/reef"), Some("opus")));
        let time = seen[0].messages[0].time.unwrap();
        assert_eq!((time.at, time.source), ("2026-03-02T09:00:00Z".parse().unwrap(), TimeSource::Derived));
        let reasons: Vec<_> = skipped.iter().map(|skipped| (skipped.record, skipped.reason.as_str())).collect();
        assert_eq!(
            reasons,
            [
                (3, "a thread whose data cannot be unpacked"),
                (4, "a thread whose data is of an unknown type"),
                (5, "a thread without data"),
                (6, "a thread without an id"),
                (7, "invalid JSON at column 13"),
            ]
        );
    }

    #[test]
    fn another_layout_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("threads.db");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE threads (id, summary, data_type);").unwrap();
        let mut ignore = |_| {};
        let outcome = Zed.read(crate::open(&path).unwrap(), &mut Sink::new(&mut ignore));
        assert!(outcome.unwrap_err().to_string().contains("threads has no column updated_at"));
    }
}
