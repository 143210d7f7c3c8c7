use serde_json::{Value, json};

use super::*;
use crate::Skipped;
use crate::{Message, TimeSource, Transcript};

/// A database in a folder of its own.
struct Sample {
    folder: tempfile::TempDir,
}

impl Sample {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = rusqlite::Connection::open(folder.path().join("state.vscdb")).unwrap();
        connection.execute_batch(script).unwrap();
        Self { folder }
    }

    /// A database with `rows` of keys and values.
    fn of(rows: &[(&str, Value)]) -> Self {
        let sample = Self::new("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);");
        let connection = rusqlite::Connection::open(sample.folder.path().join("state.vscdb")).unwrap();
        for (key, value) in rows {
            let value = if value.is_null() { None } else { Some(value.to_string()) };
            connection.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", (key, value)).unwrap();
        }
        sample
    }

    fn read(&self) -> (Vec<Transcript>, Vec<Skipped>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        let input = crate::open(&self.folder.path().join("state.vscdb")).unwrap();
        assert!(Cursor.sniff(&Head::of(&input)));
        Cursor.read(input, &mut sink).unwrap();
        let skipped = std::mem::take(&mut sink.skipped);
        (seen, skipped)
    }
}

fn shown(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
}

#[test]
fn each_bubble_has_its_kind() {
    let told = |bubble: Value, header: Value| shown(&bubble::messages_of(&bubble, &header, &Value::Null));
    let user = json!({"type": 1, "text": "use tabs", "images": [{"path": "/tmp/plan.png", "data": "AAAA"}]});
    assert_eq!(told(user, Value::Null), ["User Prose: use tabs", "User Attachment: [image: plan.png]"]);
    let tool = json!({"type": 2, "capabilityType": 15, "toolFormerData": {"name": "read_file_v2", "params": "{\"targetFile\":\"src/a.rs\"}", "status": "completed", "result": "{\"contents\":\"fn a() {}\"}"}});
    assert_eq!(told(tool, Value::Null), ["Assistant ToolCall: read_file_v2 src/a.rs", "Tool ToolResult: fn a() {}"]);
    let refused = json!({"type": 2, "toolFormerData": {"name": "run_terminal_cmd", "rawArgs": "{\"command\":\"rm x\"}", "status": "rejected"}});
    assert_eq!(told(refused, Value::Null), ["Assistant ToolCall: run_terminal_cmd rm x", "Tool ToolResult: rejected"]);
    let thought = json!({"type": 2, "text": "", "thinking": {"text": "hm", "signature": "s"}});
    assert_eq!(told(thought, Value::Null), ["Assistant Reasoning: hm"]);
    let unseen = json!({"type": 1, "text": "continue"});
    assert_eq!(told(unseen, json!({"grouping": {"isRenderable": false}})), ["System Context: continue"]);
    assert_eq!(told(json!({"text": "?"}), Value::Null), ["Other Context: ?"]);
    assert_eq!(told(json!({"text": "by the header"}), json!({"type": 2})), ["Assistant Prose: by the header"]);
    assert_eq!(told(Value::Null, Value::Null), Vec::<String>::new());
}

#[test]
fn times_come_in_both_forms_and_counts_since_the_start_are_none() {
    let at = |bubble: Value| bubble::time_of(&bubble).map(|time| time.at.to_string());
    assert_eq!(at(json!({"createdAt": "2026-03-02T09:00:10.500Z"})).as_deref(), Some("2026-03-02T09:00:10.5Z"));
    assert_eq!(
        at(json!({"timingInfo": {"clientStartTime": 8123.4, "clientEndTime": 1_772_442_010_500.25}})).as_deref(),
        Some("2026-03-02T09:00:10.5Z")
    );
    assert_eq!(at(json!({"timingInfo": {"clientStartTime": 8123.4}})), None);
}

#[test]
fn a_conversation_is_read_in_its_listed_order_and_what_is_missing_is_told() {
    let listed = json!({"createdAt": 1_772_442_000_000_i64, "name": "Loom", "modelConfig": {"modelName": "default"},
        "workspaceIdentifier": {"id": "w", "uri": {"fsPath": "/home/eli/loom"}},
        "fullConversationHeadersOnly": [{"bubbleId": "b2", "type": 1}, {"bubbleId": "b1", "type": 2}, {"bubbleId": "b0", "type": 1}, {"bubbleId": "b3", "type": 2}]});
    let (seen, skipped) = Sample::of(&[
        ("bubbleId:c1:b1", json!({"text": "second", "modelInfo": {"modelName": "gpt-5"}})),
        ("bubbleId:c1:b2", json!({"text": "first"})),
        ("bubbleId:c1:b3", Value::Null),
        ("bubbleId:gone:b1", json!({"text": "lost"})),
        ("checkpointId:c1:x", json!({"text": "not read"})),
        ("composerData:c1", listed),
        ("composerData:c2", Value::Null),
        ("composerData:c3", json!({})),
    ])
    .read();
    assert_eq!(shown(&seen[0].messages), ["User Prose: first", "Assistant Prose: second"]);
    let known = (seen[0].external_id.as_str(), seen[0].project.as_deref(), seen[0].model.as_deref());
    assert_eq!(known, ("c1", Some("/home/eli/loom"), Some("gpt-5")));
    let time = seen[0].messages[0].time.unwrap();
    assert_eq!((time.at, time.source), ("2026-03-02T09:00:00Z".parse().unwrap(), TimeSource::Derived));
    let mut reasons: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(
        (seen.len(), reasons),
        (
            1,
            vec![
                "1 messages that the conversation lists are not there",
                "1 messages whose conversation is not there",
                "conversation: a row without a value",
                "message: a row without a value"
            ]
        )
    );
}

#[test]
fn older_conversations_hold_their_bubbles_and_calls() {
    let calls = json!({"b2": {"name": "grep", "params": "{\"query\":\"warp\"}", "result": "3 hits"}});
    let older = json!({"conversation": [{"bubbleId": "b1", "type": 1, "text": "find warp"}, {"bubbleId": "b2", "type": 2, "text": ""}],
        "capabilities": [{"type": 15, "data": {"bubbleDataMap": calls.to_string()}}]});
    let (seen, skipped) = Sample::of(&[("composerData:c1", older)]).read();
    assert_eq!(
        shown(&seen[0].messages),
        ["User Prose: find warp", "Assistant ToolCall: grep warp", "Tool ToolResult: 3 hits"]
    );
    assert_eq!(skipped, []);
}

#[test]
fn a_sub_agents_conversation_has_no_person_in_it() {
    let spawned = json!({"subagentInfo": {"parentComposerId": "c0"}, "conversation": [{"type": 1, "text": "look"}]});
    let (seen, _) = Sample::of(&[("composerData:c1", spawned)]).read();
    assert_eq!(
        (seen[0].external_id.as_str(), shown(&seen[0].messages)),
        ("c0/c1", vec!["Other Prose: look".to_owned()])
    );
}

#[test]
fn the_oldest_chats_stand_in_tabs_of_a_workspace() {
    let tabs = json!({"tabs": [{"tabId": "t1", "chatTitle": "Warp", "lastSendTime": 1_700_000_000_000_i64,
        "bubbles": [{"type": "user", "id": "u", "text": "hi"}, {"type": "ai", "id": "a", "rawText": "hello", "modelType": "gpt-4"}]}, {}]});
    let inline = json!({"allComposers": [{"composerId": "c1"}, {"composerId": "c2", "conversation": [{"type": 1, "text": "and weft"}]}]});
    let sample = Sample::new(&format!(
        "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);
         INSERT INTO ItemTable VALUES ('{TABS_KEY}', CAST('{tabs}' AS BLOB)), ('composer.composerData', '{inline}'), ('other', NULL);"
    ));
    std::fs::write(sample.folder.path().join("workspace.json"), r#"{"folder":"file:///home/eli/my%20loom"}"#).unwrap();
    let (seen, skipped) = sample.read();
    assert_eq!(shown(&seen[0].messages), ["User Prose: hi", "Assistant Prose: hello"]);
    assert_eq!((seen[0].project.as_deref(), seen[0].model.as_deref()), (Some("/home/eli/my loom"), Some("gpt-4")));
    assert_eq!(seen[0].messages[0].time.unwrap().source, TimeSource::Derived);
    assert_eq!(shown(&seen[1].messages), ["User Prose: and weft"]);
    assert_eq!(skipped, [Skipped { record: 2, reason: "a chat without an id".to_owned() }]);
}

#[test]
fn another_layout_and_another_file_are_errors() {
    let outcome = |path: &std::path::Path| {
        let mut ignore = |_| {};
        Cursor.read(crate::open(path).unwrap(), &mut Sink::new(&mut ignore)).unwrap_err().to_string()
    };
    let sample = Sample::new("CREATE TABLE cursorDiskKV (name, value);");
    assert!(outcome(&sample.folder.path().join("state.vscdb")).contains("cursorDiskKV has no column key"));
    let sample = Sample::new("CREATE TABLE notes (key, value);");
    assert!(outcome(&sample.folder.path().join("state.vscdb")).contains("no table ItemTable"));
    let path = sample.folder.path().join("x.json");
    std::fs::write(&path, "{}").unwrap();
    assert!(outcome(&path).contains("no SQLite database"));
}
