use serde_json::json;
use sha2::Digest as _;

use super::*;
use crate::Skipped;
use crate::{Kind, Role, Transcript};

fn read_as(name: &str, text: &str) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    GeminiCli.read(Input::from_text(name, text), &mut sink).unwrap();
    let skipped = std::mem::take(&mut sink.skipped);
    (seen, skipped)
}

fn show(message: &Message) -> String {
    format!("{:?} {:?}: {}", message.role, message.kind, message.text)
}

/// Writes each message of a recording of these lines as `Role Kind: text`.
fn told(lines: &[Value]) -> Vec<String> {
    let (seen, skipped) = read_as("session.jsonl", &joined(lines));
    assert_eq!(skipped, []);
    seen.iter().flat_map(|transcript| &transcript.messages).map(show).collect()
}

fn joined(lines: &[Value]) -> String {
    std::iter::once(&head("main")).chain(lines).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

fn head(kind: &str) -> Value {
    json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-05-04T10:00:00.000Z", "kind": kind})
}

fn line(id: &str, kind: &str, content: impl Into<Value>) -> Value {
    json!({"id": id, "timestamp": "2026-05-04T10:00:01.000Z", "type": kind, "content": content.into()})
}

#[test]
fn a_later_line_changes_replaces_or_takes_back_earlier_ones() {
    let start = [line("u", "user", "hi"), line("a", "gemini", "hel"), line("a", "gemini", "hello")];
    assert_eq!(told(&start), ["User Prose: hi", "Assistant Prose: hello"]);
    let then = |more: &[Value]| told(&[&start, more].concat());
    assert_eq!(
        then(&[json!({"$rewindTo": "a"}), line("b", "gemini", "hey")]),
        ["User Prose: hi", "Assistant Prose: hey"]
    );
    assert_eq!(then(&[json!({"$rewindTo": "unknown"}), line("v", "user", "anew")]), ["User Prose: anew"]);
    let all = json!({"$set": {"messages": [line("x", "user", "all"), line("y", "gemini", "new")]}});
    assert_eq!(then(&[all, line("y", "gemini", "newer")]), ["User Prose: all", "Assistant Prose: newer"]);
}

#[test]
fn content_is_a_string_a_part_or_a_list_of_either() {
    let parts = json!(["a", {"text": "b"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"text": "c"}]);
    let rows = [
        (json!("hi"), vec!["User Prose: hi"]),
        (json!({"text": "hi"}), vec!["User Prose: hi"]),
        (parts, vec!["User Prose: ab", "User Attachment: [image: image/png]", "User Prose: c"]),
        (json!([{"functionResponse": {"response": {"output": "ok"}}}]), vec!["Tool ToolResult: ok"]),
        (
            json!([{"text": "see @a.py"}, {"text": "\n--- Content from referenced files ---"}, {"text": "x = 1"}]),
            vec!["User Prose: see @a.py", "System Context: --- Content from referenced files ---x = 1"],
        ),
    ];
    for (content, expected) in rows {
        assert_eq!(told(&[line("u", "user", content)]), expected);
    }
}

#[test]
fn what_the_screen_showed_is_what_was_typed() {
    let mut sent = line("u", "user", json!([{"text": "review @a.py"}, {"text": "contents of a.py"}]));
    sent["displayContent"] = "review @a.py".into();
    assert_eq!(told(&[sent]), ["User Prose: review @a.py", "System Context: review @a.pycontents of a.py"]);
}

#[test]
fn what_the_program_writes_is_marked() {
    let rows = [
        (line("1", "info", "Request cancelled."), "System Context: Request cancelled."),
        (line("1", "error", [json!({"text": "quota"})].to_vec()), "System Context: quota"),
        (line("1", "warning", "slow"), "System Context: slow"),
        (line("1", "future", "what"), "System Context: what"),
        (line("1", "user", "/chat save x"), "User ToolCall: /chat save x"),
        (line("1", "user", "?"), "User ToolCall: ?"),
        (line("1", "user", "/memory add I prefer tabs"), "User Prose: I prefer tabs"),
        (line("1", "user", "/etc/hosts is wrong"), "User Prose: /etc/hosts is wrong"),
        (line("1", "user", "<hook_context>x</hook_context>"), "System Context: <hook_context>x</hook_context>"),
    ];
    for (line, expected) in rows {
        assert_eq!(told(&[line]), [expected]);
    }
}

#[test]
fn thoughts_calls_and_answers_keep_their_order_and_times() {
    let mut answer = line("a", "gemini", "Reading.");
    answer["thoughts"] = json!([{"subject": "Plan", "description": "read it"}]);
    answer["toolCalls"] = json!([{"id": "t", "name": "read_file", "args": {"path": "a.py"}, "timestamp": "2026-05-04T10:00:09Z",
        "result": [{"functionResponse": {"response": {"output": "x = 1"}}}]}]);
    let (seen, _) = read_as("session.jsonl", &joined(&[answer]));
    let shown: Vec<_> = seen[0].messages.iter().map(show).collect();
    assert_eq!(
        shown,
        [
            "Assistant Reasoning: Plan\nread it",
            "Assistant Prose: Reading.",
            "Assistant ToolCall: read_file a.py",
            "Tool ToolResult: x = 1"
        ]
    );
    assert_eq!(seen[0].messages[3].time.unwrap().at.to_string(), "2026-05-04T10:00:09Z");
}

#[test]
fn a_sub_agents_prompts_are_no_persons() {
    let text = format!("{}\n{}\n{}\n", head("subagent"), line("u", "user", "look"), line("a", "gemini", "found"));
    let (seen, _) = read_as("x.jsonl", &text);
    assert!(seen[0].messages.iter().all(|message| message.role == Role::Other && message.kind == Kind::Prose));
    assert_eq!(seen[0].external_id, "s/u");
}

#[test]
fn an_object_printed_over_many_lines_is_one_recording() {
    let mut whole = head("main");
    whole["messages"] = json!([line("u", "user", json!(["bare"])), 7, line("a", "gemini", "ok")]);
    let text = serde_json::to_string_pretty(&whole).unwrap();
    assert!(GeminiCli.sniff(&Head::new(text.as_str().into(), true)));
    let (seen, skipped) = read_as("session.json", &text);
    assert_eq!(seen[0].messages.iter().map(show).collect::<Vec<_>>(), ["User Prose: bare", "Assistant Prose: ok"]);
    assert_eq!((seen[0].external_id.as_str(), skipped.len()), ("s", 1));
}

#[test]
fn a_very_long_session_comes_in_parts_that_lose_nothing() {
    let said = "y".repeat(crate::MAX_PROSE_BYTES);
    let lines: Vec<_> = (0..20).map(|n| line(&n.to_string(), "user", said.as_str())).collect();
    let (seen, skipped) = read_as("x.jsonl", &joined(&lines));
    assert_eq!((seen.iter().map(|part| part.messages.len()).sum::<usize>(), skipped.len()), (20, 0));
    assert!(seen.len() > 1 && seen[1].external_id == "s#2");
}

#[test]
fn a_recording_that_goes_on_as_lines_is_read_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut whole = head("main");
    whole["messages"] = json!([line("u", "user", "hi")]);
    let old = folder.path().join("session-x.json");
    std::fs::write(&old, whole.to_string()).unwrap();
    let read = || {
        let mut count = 0;
        let mut accept = |_| count += 1;
        let mut sink = Sink::new(&mut accept);
        GeminiCli.read(crate::open(&old).unwrap(), &mut sink).unwrap();
        let skipped = sink.skipped.len();
        (count, skipped)
    };
    assert_eq!(read(), (1, 0));
    std::fs::write(folder.path().join("session-x.jsonl"), joined(&[])).unwrap();
    assert_eq!(read(), (0, 1));
}

#[test]
fn the_note_of_the_projects_root_is_believed_if_its_hash_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let chats = folder.path().join("chats");
    std::fs::create_dir(&chats).unwrap();
    std::fs::write(folder.path().join(".project_root"), "/home/ana/harbor\n").unwrap();
    let project = |hash: &str| {
        let mut head = head("main");
        head["projectHash"] = hash.into();
        let path = chats.join("session-x.jsonl");
        std::fs::write(&path, format!("{head}\n{}\n", line("u", "user", "hi"))).unwrap();
        let mut seen = Vec::new();
        let mut accept = |transcript: Transcript| seen.push(transcript.project);
        GeminiCli.read(crate::open(&path).unwrap(), &mut Sink::new(&mut accept)).unwrap();
        seen.remove(0)
    };
    let hash = crate::hex(&sha2::Sha256::digest("/home/ana/harbor"));
    assert_eq!(project(&hash).as_deref(), Some("/home/ana/harbor"));
    assert_eq!(project("0000"), None);
}

#[test]
fn prompts_are_grouped_by_session_unless_the_session_was_recorded() {
    let entry = |session: &str, n: i64, text: &str| json!({"sessionId": session, "messageId": n, "type": "user", "message": text, "timestamp": "2026-05-04T10:00:01Z"});
    let log = json!([
        entry("1a2b3c4d-x", 0, "recorded"),
        entry("other", 0, "one"),
        7,
        entry("third", 0, "/quit"),
        entry("other", 1, "two")
    ]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("chats")).unwrap();
    std::fs::write(folder.path().join("chats/session-2026-05-04T10-00-1a2b3c4d.jsonl"), "x").unwrap();
    let path = folder.path().join("logs.json");
    std::fs::write(&path, log.to_string()).unwrap();
    let mut seen = Vec::new();
    let mut accept = |transcript: Transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    GeminiCli.read(crate::open(&path).unwrap(), &mut sink).unwrap();
    let skipped: Vec<_> = sink.skipped.iter().map(|skipped| skipped.record).collect();
    let ids: Vec<_> = seen.iter().map(|one| (one.external_id.as_str(), one.messages.len())).collect();
    assert_eq!((ids, skipped), (vec![("prompts/other", 2), ("prompts/third", 1)], vec![3, 1]));
}

#[test]
fn saved_chats_are_read_without_their_opening() {
    let saved = json!({"history": [
        {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}]},
        {"role": "model", "parts": [{"text": "Got it. Thanks for the context!"}]},
        {"role": "user", "parts": [{"text": "use tabs"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": true}, {"functionCall": {"name": "replace", "args": {"file_path": "a.py"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {"output": "done"}}}]},
    ]});
    let (seen, _) = read_as("checkpoint-tabs.json", &saved.to_string());
    assert_eq!(
        seen[0].messages.iter().map(show).collect::<Vec<_>>(),
        [
            "System Context: This is the Gemini CLI. We are setting up the context for our chat.",
            "Assistant Context: Got it. Thanks for the context!",
            "User Prose: use tabs",
            "Assistant Reasoning: hm",
            "Assistant ToolCall: replace a.py",
            "Tool ToolResult: done",
        ]
    );
    assert_eq!(seen[0].title.as_deref(), Some("tabs"));
}
