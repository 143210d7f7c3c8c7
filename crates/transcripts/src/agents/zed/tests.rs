use serde_json::json;

use super::*;
use crate::Skipped;
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

fn add(connection: &rusqlite::Connection, id: Option<&str>, parent: Option<&str>, kind: &str, data: Option<Vec<u8>>) {
    let sql = "INSERT INTO threads VALUES (?1, ?2, '/home/ida/reef\n/tmp', 'Reef', '2026-03-02T10:00:00Z', '2026-03-02T09:00:00Z', ?3, ?4)";
    connection.execute(sql, (id, parent, kind, data)).unwrap();
}

fn shown(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
}

fn told(entry: &Value) -> Vec<String> {
    shown(&messages_of(entry))
}

#[test]
fn each_variant_has_its_kind() {
    let user = json!({"User": {"id": "u", "content": [{"Text": "use metres in "}, {"Mention": {"uri": {"File": {"abs_path": "/home/ida/reef/depth.rs"}}, "content": "fn depth()"}}, {"Image": {"source": "iVBO"}}]}});
    assert_eq!(
        told(&user),
        ["User Prose: use metres in @depth.rs", "System Context: fn depth()", "User Attachment: [image]"]
    );
    let agent = json!({"Agent": {"content": [{"Thinking": {"text": "hm", "signature": "s"}}, {"RedactedThinking": "AAAA"}, {"Text": "ok"}, {"ToolUse": {"id": "t", "name": "read_file", "input": {"path": "depth.rs"}}}],
        "tool_results": {"t": {"tool_use_id": "t", "content": {"Text": "fn depth()"}}}}});
    assert_eq!(
        told(&agent),
        [
            "Assistant Reasoning: hm",
            "Assistant Prose: ok",
            "Assistant ToolCall: read_file depth.rs",
            "Tool ToolResult: fn depth()"
        ]
    );
    let older = json!({"id": 1, "role": "user", "segments": [{"type": "text", "text": "hi"}], "tool_uses": [], "context": "a file"});
    assert_eq!(told(&older), ["System Context: a file", "User Prose: hi"]);
    let used = json!({"role": "assistant", "segments": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "ok"}], "tool_uses": [{"name": "grep", "input": {"pattern": "x"}}], "tool_results": [{"content": "3 hits"}]});
    assert_eq!(
        told(&used),
        ["Assistant Reasoning: hm", "Assistant Prose: ok", "Assistant ToolCall: grep x", "Tool ToolResult: 3 hits"]
    );
    assert_eq!(told(&json!({"Compaction": {"summary": "they use metres"}})), ["System Summary: they use metres"]);
    assert_eq!(told(&json!("Resume")), Vec::<String>::new());
}

#[test]
fn packed_and_plain_threads_are_read_alike_and_bad_ones_told() {
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
