//! goose sessions: the JSONL files of older versions, `sessions.db`, and the output of `goose session export`.
//!
//! The number of a session in the database is a daily counter, so two computers may use the same number. The identity
//! therefore includes the first message; this also preserves the identity of a file that was later moved into the
//! database.

use rusqlite::Row;
use serde_json::{Value, json};

use crate::agents::turn::{self, answer, call};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::file_label;
use crate::reading::database::{self, Database};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Records, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "goose";

/// Reads goose sessions.
pub(crate) struct Goose;

impl Ingestor for Goose {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |column: &str| head.columns.iter().any(|there| there == column);
        has("messages.content_json") && has("sessions.id")
            || head.any_line(is_header)
            || head.most_lines(is_message)
            || head.document.as_ref().is_some_and(|one| is_header(one) || is_export(one) || is_message(one))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        if let Some(database) = database::of(&input)? {
            return read_database(&database, &origin, sink);
        }
        let stem = input.stem();
        // An export is one document spanning many lines, whereas an old log has one object per line.
        let is_export = Head::of(&input).document.as_ref().is_some_and(is_export);
        let mut records = if is_export { Records::elements(input) } else { Records::lines(input) };
        let mut session = Session::new(stem, origin);
        while let Some((number, record)) = records.next_json::<Value>(sink)? {
            if is_export && record["conversation"].is_array() {
                session.describe(&record);
                session.id = record["id"].as_str().map_or(session.id, str::to_owned);
                for message in record["conversation"].list() {
                    session.take(message, sink);
                }
            } else if is_message(&record) {
                session.take(&record, sink);
            } else if is_header(&record) {
                session.describe(&record);
            } else {
                sink.skip(number, "neither a session header nor a message");
            }
        }
        session.draft.finish(sink);
        Ok(())
    }
}

/// Returns whether `line` is the first line of a file, which describes the session and its folder.
fn is_header(line: &Value) -> bool {
    let counts = ["description", "message_count", "total_tokens", "schedule_id"];
    line["working_dir"].is_string() && line.get("role").is_none() && counts.iter().any(|key| line.get(*key).is_some())
}

fn is_message(line: &Value) -> bool {
    line["role"].is_string() && line["created"].is_number() && is_content(&line["content"])
}

fn is_export(document: &Value) -> bool {
    document["working_dir"].is_string() && document["conversation"].is_array()
}

/// The state of one session while it is being read.
struct Session {
    id: String,
    /// Whether another agent or a schedule writes the user's turn.
    is_programs: bool,
    is_compacted: bool,
    draft: Assembler,
}

impl Session {
    fn new(id: String, origin: String) -> Self {
        let draft = Assembler::new(NAME, id.as_str(), origin);
        Self { id, is_programs: false, is_compacted: false, draft }
    }

    fn describe(&mut self, header: &Value) {
        let meta = self.draft.meta();
        let named = header.first_text(&["name", "description"]);
        meta.title = named.map(str::to_owned);
        meta.project = header["working_dir"].owned();
        meta.created_at = identity::instant(&header["created_at"]);
        if header["session_type"].as_str().is_some_and(is_programs) || header["schedule_id"].text().is_some() {
            self.is_programs = true;
        }
    }

    /// Adds a message in the format of goose's session files.
    fn take(&mut self, record: &Value, sink: &mut Sink<'_>) {
        let metadata = &record["metadata"];
        // Only a compaction hides a message from the agent.
        self.is_compacted |= metadata["agentVisible"] == false;
        let mut messages = messages_of(record["role"].string(), &record["content"], metadata, self.is_compacted);
        if self.is_programs {
            turn::of_sub_agent(&mut messages);
        }
        for message in &messages {
            self.draft.name_after(message, || format!("{}-{}", self.id, &message.content_hash()[..12]));
        }
        self.draft.push_all(record["id"].string(), identity::stamp(&record["created"]), messages, sink);
    }
}

/// Returns whether sessions of this type contain nothing typed by a person.
fn is_programs(session_type: &str) -> bool {
    matches!(session_type, "sub_agent" | "subagent" | "scheduled")
}

// `sessions.db`: the sessions of one computer, which are read one at a time.

/// Type of the sessions that are run with `--no-session`.
const HIDDEN: &str = "hidden";
/// Name of sessions in an editor, which earlier versions also mark as hidden.
const EDITORS: &str = "ACP Session";

fn read_database(database: &Database, origin: &str, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    database.require("sessions", &["id", "working_dir"])?;
    database.require("messages", &["id", "session_id", "role", "content_json", "created_timestamp"])?;
    // The columns are in the order that `session_of` expects.
    let columns = ["name", "description", "session_type", "created_at", "model_config_json"];
    let columns = database.or_null("sessions", &columns);
    // The rows are sorted by a column number: the sixth column is `created_at`, or null in databases that lack it.
    let sql = format!("SELECT id, working_dir, {columns} FROM sessions ORDER BY 6, id");
    let mut number = 0;
    database.each(&sql, &[], |row| {
        number += 1;
        let Some(id) = database::text(row, 0) else {
            sink.skip(number, "a session without an id");
            return Ok(());
        };
        let is_editors = [2, 3].iter().any(|column| database::text(row, *column).as_deref() == Some(EDITORS));
        // Earlier versions also mark the sessions of an editor as hidden.
        if database::text(row, 4).as_deref() == Some(HIDDEN) && !is_editors {
            sink.skip(number, "a hidden session, so it is not read");
            return Ok(());
        }
        read_messages(database, session_of(row, id, origin), sink)
    })?;
    database.report_orphans(["messages", "session_id", "sessions"], "messages of sessions that are not listed", sink)
}

fn session_of(row: &Row<'_>, id: String, origin: &str) -> Session {
    let origin = format!("{origin}#{id}");
    let mut session = Session::new(id, origin);
    let meta = session.draft.meta();
    meta.project = database::text(row, 1);
    meta.title = database::text(row, 2).or_else(|| database::text(row, 3));
    meta.created_at = database::text(row, 5).and_then(|text| identity::instant(&Value::String(text)));
    meta.model = database::value(row, 6)["model_name"].owned();
    if database::text(row, 4).as_deref().is_some_and(is_programs) {
        session.is_programs = true;
    }
    session
}

fn read_messages(database: &Database, mut session: Session, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    // An edited conversation is written again in order, so the row number sorts more reliably than the time in seconds.
    let columns = database.or_null("messages", &["message_id", "metadata_json"]);
    let sql = format!(
        "SELECT id, role, content_json, created_timestamp, {columns} FROM messages WHERE session_id = ?1 ORDER BY id"
    );
    let session_id = session.id.clone();
    database.each(&sql, &[&session_id], |row| {
        if let Some(content) = database::parsed(row, 2, "row of messages", sink) {
            let (created, metadata) = (database::value(row, 3), database::value(row, 5));
            let (role, id) = (database::text(row, 1), database::text(row, 4));
            let record = json!({"id": id, "role": role, "content": content, "created": created, "metadata": metadata});
            session.take(&record, sink);
        }
        Ok(())
    })?;
    session.draft.finish(sink);
    Ok(())
}

// The content blocks of a goose message, which are the same in files and databases.

/// Returns the messages in the blocks of one goose message, in order; the caller sets their ids and times.
///
/// `metadata` states who saw the message: after a compaction, the agent sees a summary that the user does not see.
fn messages_of(role: &str, content: &Value, metadata: &Value, is_compacted: bool) -> Vec<Message> {
    let read = |block| {
        let mut messages = block_messages(role, block);
        // The user's entries in a form are not shown again, so they count as invisible.
        if metadata["userVisible"] == false && block["type"] != "actionRequired" {
            for message in messages.iter_mut().filter(|message| message.kind == Kind::Prose) {
                message.role = Role::System;
                message.kind = if is_compacted { Kind::Summary } else { Kind::Context };
            }
        }
        messages
    };
    content.items().iter().flat_map(read).collect()
}

/// Returns whether `value` is a list of blocks in goose's format.
fn is_content(value: &Value) -> bool {
    value.as_array().is_some_and(|blocks| blocks.iter().all(|block| block["type"].is_string()))
}

fn block_messages(role: &str, block: &Value) -> Vec<Message> {
    let kind = block["type"].string();
    let note = |key: &str| block[key].text().map(Message::context);
    let one = match kind {
        "text" => return block["text"].text().map(|words| turn::spoken(role, words)).unwrap_or_default(),
        "image" => {
            let speaker = if role == "user" { Role::User } else { Role::Assistant };
            Some(Message::new(speaker, Kind::Attachment, file_label("image", block["mimeType"].as_str())))
        }
        "toolRequest" | "frontendToolRequest" => Some(request(&block["toolCall"]).called(block["id"].text())),
        "toolResponse" => {
            let result = &block["toolResult"];
            let failed = result["status"] == "error" || result["value"]["isError"] == true;
            response(result).map(|text| answer(&text).ending(block["id"].text(), Some(failed)))
        }
        "thinking" => block["thinking"].text().map(Message::reasoning),
        "systemNotification" | "contextLengthExceeded" | "summarizationRequested" | "conversationCompacted" => {
            note("msg")
        }
        "actionRequired" => action(&block["data"]),
        // Confirmations repeat the request, and redacted reasoning contains no text.
        _ => None,
    };
    one.into_iter().collect()
}

fn request(tool_call: &Value) -> Message {
    match &tool_call["value"] {
        // A malformed call by the model is retained as an error.
        Value::Null => call("invalid call", &tool_call["error"]),
        value => call(value["name"].string(), &value["arguments"]),
    }
}

/// Returns a tool result: a list of blocks, an object that contains a list, or an error.
fn response(result: &Value) -> Option<String> {
    let value = &result["value"];
    let blocks = value.as_array().or_else(|| value["content"].as_array());
    let texts = blocks.into_iter().flatten().filter_map(|block| match block["type"].as_str() {
        Some("image") => Some(file_label("image", block["mimeType"].as_str())),
        _ => block["text"].text().or_else(|| block["resource"]["text"].text()).map(str::to_owned),
    });
    let joined = texts.collect::<Vec<_>>().join("\n");
    let error = || result["error"].owned();
    if joined.is_empty() { error() } else { Some(joined) }
}

/// Returns the form that an extension shows to the user, and the user's entries.
fn action(data: &Value) -> Option<Message> {
    match data["actionType"].as_str()? {
        "elicitation" => data["message"].text().map(Message::assistant),
        "elicitationResponse" => {
            let fields = data.get("userData").or_else(|| data.get("user_data"))?.as_object()?;
            let lines: Vec<_> = fields
                .iter()
                .filter_map(|(name, value)| {
                    let shown = match value {
                        Value::String(text) => text.clone(),
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        Value::Array(several) => several.iter().filter_map(Json::text).collect::<Vec<_>>().join(", "),
                        Value::Null | Value::Object(_) => return None,
                    };
                    Some(format!("{name}: {shown}"))
                })
                .collect();
            Some(Message::user(lines.join("\n")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::Skipped;
    use crate::Transcript;

    fn read_all(name: &str, text: &str) -> (Vec<Transcript>, Vec<Skipped>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        Goose.read(Input::from_text(name, text), &mut sink).unwrap();
        let skipped = std::mem::take(&mut sink.skipped);
        (seen, skipped)
    }

    fn read_database(script: &str) -> (Result<(), IngestError>, Vec<Transcript>, Vec<Skipped>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(script).unwrap();
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        let input = crate::open(&path).unwrap();
        let outcome = Goose.read(input, &mut sink);
        let skipped = std::mem::take(&mut sink.skipped);
        (outcome, seen, skipped)
    }

    /// Formats each message as `Role Kind: text`.
    fn shown(messages: &[Message]) -> Vec<String> {
        messages.iter().map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    #[test]
    fn each_block_has_its_kind() {
        let blocks = json!([
            {"type": "text", "text": "<system-reminder>x</system-reminder> use tabs"},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
            {"type": "toolRequest", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}},
            {"type": "toolRequest", "toolCall": {"status": "error", "error": "no such tool"}},
            {"type": "toolResponse", "toolResult": {"status": "success", "value": [{"type": "text", "text": "a.rs"}, {"type": "image", "data": "AA", "mimeType": "image/png"}]}},
            {"type": "toolResponse", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "b.rs"}], "isError": false}}},
            {"type": "toolResponse", "toolResult": {"status": "error", "error": "denied"}},
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redactedThinking", "data": "AAAA"},
            {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "compacting"},
            {"type": "actionRequired", "data": {"actionType": "elicitationResponse", "id": "e", "user_data": {"port": 8080, "region": "eu"}}},
            {"type": "toolConfirmationRequest", "toolName": "developer__shell"},
            7,
        ]);
        assert_eq!(
            shown(&messages_of("user", &blocks, &Value::Null, false)),
            [
                "System Context: <system-reminder>x</system-reminder>",
                "User Prose: use tabs",
                "User Attachment: [image: image/png]",
                "Assistant ToolCall: developer__shell ls",
                "Assistant ToolCall: invalid call no such tool",
                "Tool ToolResult: a.rs\n[image: image/png]",
                "Tool ToolResult: b.rs",
                "Tool ToolResult: denied",
                "Assistant Reasoning: hm",
                "System Context: compacting",
                "User Prose: port: 8080\nregion: eu",
            ]
        );
    }

    #[test]
    fn what_the_user_cannot_see_is_no_speech() {
        let words = json!([{"type": "text", "text": "they talked about tabs"}]);
        let unseen = json!({"userVisible": false, "agentVisible": true});
        assert_eq!(shown(&messages_of("user", &words, &unseen, false)), ["System Context: they talked about tabs"]);
        assert_eq!(shown(&messages_of("assistant", &words, &unseen, true)), ["System Summary: they talked about tabs"]);
        let seen = json!({"userVisible": true, "agentVisible": false});
        assert_eq!(shown(&messages_of("user", &words, &seen, true)), ["User Prose: they talked about tabs"]);
    }

    #[test]
    fn what_the_user_enters_in_a_form_is_the_users() {
        let form = json!([{"type": "actionRequired", "data": {"actionType": "elicitation", "id": "e1", "message": "Which database?", "requested_schema": {}}}]);
        assert_eq!(shown(&messages_of("assistant", &form, &Value::Null, false)), ["Assistant Prose: Which database?"]);
        let entered = |data: Value| {
            let blocks = json!([{"type": "actionRequired", "data": {"actionType": "elicitationResponse", "id": "e1", "user_data": data}}]);
            let unseen = json!({"userVisible": false, "agentVisible": true});
            shown(&messages_of("user", &blocks, &unseen, false))
        };
        assert_eq!(
            entered(json!({"db": "SQLite", "extras": ["logs", "cron"]})),
            ["User Prose: db: SQLite\nextras: logs, cron"]
        );
        let head = json!({"working_dir": "/w", "description": "Kiln", "message_count": 1});
        let record = |role: &str, data: Value| json!({"role": role, "created": 1_756_000_000, "content": [{"type": "actionRequired", "data": data}]});
        let text = format!(
            "{head}\n{}\n{}",
            record("assistant", json!({"actionType": "elicitation", "id": "e1", "message": "Which database?"})),
            record(
                "user",
                json!({"actionType": "elicitationResponse", "id": "e1", "user_data": {}, "action": "cancel"})
            )
        );
        assert_eq!(
            shown(&read_all("20250824_014640.jsonl", &text).0[0].messages),
            ["Assistant Prose: Which database?"]
        );
    }

    #[test]
    fn a_file_and_its_copy_in_a_database_are_one_session() {
        let head = json!({"working_dir": "/home/mira/kiln", "description": "Kiln curve", "message_count": 1});
        let ask =
            json!({"role": "user", "created": 1_756_000_000, "content": [{"type": "text", "text": "use celsius"}]});
        let (file, skipped) = read_all("20250824_014640.jsonl", &format!("{head}\n{ask}\nnull\n{{\"role\""));
        let reasons: Vec<_> = skipped.iter().map(|skipped| skipped.record).collect();
        assert_eq!(reasons, [3, 4]);
        let (outcome, copy, _) = read_database(
        "CREATE TABLE sessions (id TEXT, description TEXT, working_dir TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);
         INSERT INTO sessions VALUES ('20250824_014640', 'Kiln curve', '/home/mira/kiln');
         INSERT INTO messages VALUES (1, '20250824_014640', 'user', '[{\"type\":\"text\",\"text\":\"use celsius\"}]', 1756000000);",
    );
        assert!(outcome.is_ok());
        let origin = |one: &Transcript| Transcript { origin: String::new(), ..one.clone() };
        assert_eq!(origin(&file[0]), origin(&copy[0]));
        assert_eq!(file[0].project.as_deref(), Some("/home/mira/kiln"));
    }

    #[test]
    fn an_exported_session_reads_like_its_file() {
        let export = json!({"id": "20260301_2", "working_dir": "/w", "name": "Kiln", "session_type": "sub_agent",
        "conversation": [{"role": "user", "created": 1, "content": [{"type": "text", "text": "look"}]}]});
        let text = serde_json::to_string_pretty(&export).unwrap();
        assert!(Goose.sniff(&Head::new(text.as_str().into(), true)));
        let (seen, skipped) = read_all("x.json", &text);
        assert_eq!((shown(&seen[0].messages), skipped.len()), (vec!["Other Prose: look".to_owned()], 0));
        assert!(seen[0].external_id.starts_with("20260301_2-"));
    }

    #[test]
    fn another_layout_is_an_error_and_not_an_empty_log() {
        let (outcome, seen, _) =
            read_database("CREATE TABLE sessions (id, working_dir); CREATE TABLE messages (id, session_id, body);");
        let reason = outcome.unwrap_err().to_string();
        assert!(seen.is_empty() && reason.contains("no column role") && reason.contains("unsupported"), "{reason}");
    }

    #[test]
    fn bad_rows_hidden_sessions_and_orphans_are_reported() {
        let (outcome, seen, skipped) = read_database(
        "CREATE TABLE sessions (id TEXT, session_type TEXT, working_dir TEXT, created_at TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp);
         INSERT INTO sessions VALUES (NULL, 'user', '/', '1'), ('a', 'user', '/w', '2'), ('b', 'hidden', '/w', '3');
         INSERT INTO messages VALUES (1, 'a', 'user', NULL, NULL), (2, 'a', 'user', '[{', 1), (3, 'b', 'user', '[]', 1),
            (4, 'gone', 'user', '[]', 1), (5, 'a', 'user', '[{\"type\":\"text\",\"text\":\"hi\"}]', 'soon');",
    );
        assert!(outcome.is_ok());
        assert_eq!(shown(&seen[0].messages), ["User Prose: hi"]);
        let pieces: Vec<_> = skipped.iter().map(|skipped| (skipped.record, skipped.reason.as_str())).collect();
        assert_eq!(
            pieces,
            [
                (1, "a session without an id"),
                (1, "row of messages: a row without a value"),
                (2, "row of messages: invalid JSON at column 2"),
                (3, "a hidden session, so it is not read"),
                (4, "1 messages of sessions that are not listed"),
            ]
        );
    }

    #[test]
    fn an_editors_session_is_read_though_it_is_listed_as_hidden() {
        let (outcome, seen, skipped) = read_database(
        "CREATE TABLE sessions (id TEXT, name TEXT, session_type TEXT, working_dir TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp);
         INSERT INTO sessions VALUES ('a', 'ACP Session', 'hidden', '/w');
         INSERT INTO messages VALUES (1, 'a', 'user', '[{\"type\":\"text\",\"text\":\"hi\"}]', 1);",
    );
        assert!(outcome.is_ok());
        assert_eq!((shown(&seen[0].messages), skipped), (vec!["User Prose: hi".to_owned()], vec![]));
    }
}
