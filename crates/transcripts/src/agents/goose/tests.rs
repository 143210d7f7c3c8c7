use serde_json::json;

use super::*;
use crate::Skipped;

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

/// Writes each message as `Role Kind: text`.
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
fn a_file_and_its_copy_in_a_database_are_one_session() {
    let head = json!({"working_dir": "/home/mira/kiln", "description": "Kiln curve", "message_count": 1});
    let ask = json!({"role": "user", "created": 1_756_000_000, "content": [{"type": "text", "text": "use celsius"}]});
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
    assert!(seen.is_empty() && reason.contains("no column role") && reason.contains("not supported"), "{reason}");
}

#[test]
fn bad_rows_hidden_sessions_and_orphans_are_told() {
    let (outcome, seen, skipped) = read_database(
        "CREATE TABLE sessions (id TEXT, session_type TEXT, working_dir TEXT, created_at TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp);
         INSERT INTO sessions VALUES (NULL, 'user', '/', '1'), ('a', 'user', '/w', '2'), ('b', 'hidden', '/w', '3');
         INSERT INTO messages VALUES (1, 'a', 'user', NULL, NULL), (2, 'a', 'user', '[{', 1), (3, 'b', 'user', '[]', 1),
            (4, 'gone', 'user', '[]', 1), (5, 'a', 'user', '[{\"type\":\"text\",\"text\":\"hi\"}]', 'soon');",
    );
    assert!(outcome.is_ok());
    assert_eq!(shown(&seen[0].messages), ["User Prose: hi"]);
    let told: Vec<_> = skipped.iter().map(|skipped| (skipped.record, skipped.reason.as_str())).collect();
    assert_eq!(
        told,
        [
            (1, "a session without an id"),
            (1, "row of messages: a row without a value"),
            (2, "row of messages: invalid JSON at column 2"),
            (3, "a session that was not to be kept; nothing of it is read"),
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
