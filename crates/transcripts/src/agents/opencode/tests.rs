use std::path::Path;

use serde_json::json;

use super::*;
use crate::Skipped;
use crate::Transcript;

fn collect(read: impl FnOnce(&mut Sink<'_>) -> Result<(), IngestError>) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    read(&mut sink).unwrap();
    let skipped = std::mem::take(&mut sink.skipped);
    (seen, skipped)
}

fn exported(export: &Value) -> Transcript {
    let text = serde_json::to_string_pretty(export).unwrap();
    assert!(OpenCode.sniff(&Head::new(text.as_str().into(), true)));
    let (mut seen, skipped) = collect(|sink| OpenCode.read(Input::from_text("x.json", &text), sink));
    assert_eq!(skipped, []);
    seen.remove(0)
}

/// Writes each message as `Role Kind: text`.
fn shown(transcript: &Transcript) -> Vec<String> {
    let messages = transcript.messages.iter();
    messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
}

fn entry(id: &str, role: &str, parts: &[Value]) -> Value {
    let info = json!({"id": id, "role": role, "time": {"created": 1_772_442_010_000_i64}, "modelID": "sonnet"});
    json!({"info": info, "parts": parts})
}

fn words(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "text", "text": text})
}

fn export(info: &Value, entries: &[Value]) -> Value {
    let mut whole = json!({"id": "ses_1", "directory": "/home/noor/atlas", "title": "Tiles"});
    whole.as_object_mut().unwrap().extend(info.as_object().unwrap().clone());
    json!({"info": whole, "messages": entries})
}

#[test]
fn each_part_has_its_kind() {
    let asked = entry(
        "msg_1",
        "user",
        &[
            words("prt_1", "use tiles of 256 pixels"),
            json!({"id": "prt_2", "type": "text", "text": "Called the Read tool", "synthetic": true}),
            json!({"id": "prt_3", "type": "text", "text": "shown only", "ignored": true}),
            json!({"type": "file", "mime": "image/png", "filename": "map.png", "url": "data:image/png;base64,iVBO"}),
            json!({"type": "subtask", "prompt": "review", "agent": "review"}),
        ],
    );
    let state = json!({"status": "completed", "input": {"filePath": "src/tile.rs"}, "output": "const SIZE", "time": {"start": 1_772_442_011_000_i64}});
    let answered = entry(
        "msg_2",
        "assistant",
        &[
            json!({"type": "step-start"}),
            json!({"type": "reasoning", "text": "hm"}),
            json!({"id": "prt_6", "type": "tool", "tool": "read", "state": state}),
            json!({"type": "tool", "tool": "bash", "state": {"status": "error", "input": {"command": "ls"}, "error": "denied"}}),
            json!({"type": "tool", "tool": "bash", "state": {"status": "running", "input": {"command": "sleep 9"}}}),
            words("prt_8", "Done."),
            json!({"type": "patch", "files": []}),
            json!("text"),
        ],
    );
    let mut summary = entry("msg_3", "assistant", &[words("prt_9", "They use 256.")]);
    summary["info"]["summary"] = true.into();
    let seen = exported(&export(&json!({}), &[asked, answered, summary]));
    assert_eq!(
        shown(&seen),
        [
            "User Prose: use tiles of 256 pixels",
            "System Context: Called the Read tool",
            "System Context: shown only",
            "User Attachment: [image: map.png]",
            "System Context: review",
            "Assistant Reasoning: hm",
            "Assistant ToolCall: read src/tile.rs",
            "Tool ToolResult: const SIZE",
            "Assistant ToolCall: bash ls",
            "Tool ToolResult: denied",
            "Assistant ToolCall: bash sleep 9",
            "Assistant Prose: Done.",
            "System Summary: They use 256.",
        ]
    );
    assert_eq!((seen.messages[6].id.as_str(), seen.messages[7].id.as_str()), ("prt_6", "prt_6~2"));
    assert_eq!(seen.messages[6].time.unwrap().at, "2026-03-02T09:00:11Z".parse().unwrap());
    assert_eq!((seen.model.as_deref(), seen.title.as_deref()), (Some("sonnet"), Some("Tiles")));
}

#[test]
fn what_was_taken_back_is_gone() {
    let entries = [
        entry("msg_1", "user", &[words("prt_1", "a"), words("prt_2", "b")]),
        entry("msg_2", "user", &[words("prt_3", "c"), words("prt_4", "d")]),
        entry("msg_3", "user", &[words("prt_5", "e")]),
    ];
    let kept = |revert: Value| -> Vec<String> {
        let seen = exported(&export(&json!({"revert": revert}), &entries));
        seen.messages.into_iter().map(|message| message.text).collect()
    };
    assert_eq!(kept(Value::Null), ["a", "b", "c", "d", "e"]);
    assert_eq!(kept(json!({"messageID": "msg_2"})), ["a", "b"]);
    assert_eq!(kept(json!({"messageID": "msg_2", "partID": "prt_4"})), ["a", "b", "c"]);
    assert_eq!(kept(json!({"messageID": "msg_2", "partID": "gone"})), ["a", "b", "c", "d"]);
    assert_eq!(kept(json!({"messageID": "gone"})), ["a", "b", "c", "d", "e"]);
}

#[test]
fn in_a_sub_agents_session_no_person_speaks() {
    let entries = [entry("msg_1", "user", &[words("p", "look")]), entry("msg_2", "assistant", &[words("q", "seen")])];
    let info = json!({"parentID": "ses_0", "title": "New session - 2026-03-02T09:00:00.000Z"});
    let seen = exported(&export(&info, &entries));
    assert_eq!((seen.external_id.as_str(), seen.title.as_deref()), ("ses_0/ses_1", None));
    assert_eq!(shown(&seen), ["Other Prose: look", "Other Prose: seen"]);
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_folder_and_the_database_hold_the_same_session() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("storage");
    write(&root, "session/global/ses_1.json", r#"{"id":"ses_1","directory":"/w","title":"T"}"#);
    write(&root, "message/ses_1/msg_1.json", r#"{"id":"msg_1","role":"user","time":{"created":1772442010000}}"#);
    write(&root, "message/ses_1/msg_2.json", r#"{"id":"msg_2","ro"#);
    write(&root, "message/ses_9/msg_9.json", r#"{"id":"msg_9","role":"user"}"#);
    write(&root, "part/msg_1/prt_1.json", r#"{"id":"prt_1","type":"text","text":"hi"}"#);
    let folder = Folder::directory(&root);
    assert!(OpenCode.sniff_folder(&folder));
    assert!(!OpenCode.sniff_folder(&Folder::directory(place.path())));
    let (stored, skipped) = collect(|sink| OpenCode.read_folder(&folder, sink));
    let reasons: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
    assert_eq!(reasons, ["message/ses_1/msg_2.json: invalid JSON at line 1", "1 messages whose session is not there"]);

    let path = place.path().join("opencode.db");
    let script = r#"
        CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, revert TEXT, time_created INTEGER);
        CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
        INSERT INTO session VALUES ('ses_1', NULL, '/w', 'T', NULL, NULL), (NULL, NULL, NULL, NULL, '{', 'x');
        INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1772442010000}}'),
            ('msg_2', 'ses_1', 2, NULL), ('msg_9', 'gone', 3, '{}');
        INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"hi"}'), ('prt_2', 'msg_1', '', '[');"#;
    rusqlite::Connection::open(&path).unwrap().execute_batch(script).unwrap();
    let input = crate::open(&path).unwrap();
    assert!(OpenCode.sniff(&Head::of(&input)));
    let (listed, skipped) = collect(|sink| OpenCode.read(input, sink));
    let mut reasons: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(
        reasons,
        [
            "1 rows of message whose session is not there",
            "a session without an id",
            "row of message: a row without a value",
            "row of part: invalid JSON at column 1"
        ]
    );
    let bare = |one: &Transcript| Transcript { origin: String::new(), ..one.clone() };
    assert_eq!((stored.len(), listed.len()), (1, 1));
    assert_eq!(bare(&stored[0]), bare(&listed[0]));
}

#[test]
fn another_layout_is_an_error_and_not_an_empty_log() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("opencode.db");
    let script = "CREATE TABLE session (id, title); CREATE TABLE message (id, data); CREATE TABLE part (id, data);";
    rusqlite::Connection::open(&path).unwrap().execute_batch(script).unwrap();
    let mut ignore = |_| {};
    let outcome = OpenCode.read(crate::open(&path).unwrap(), &mut Sink::new(&mut ignore));
    assert!(outcome.unwrap_err().to_string().contains("session has no column directory"));
}
