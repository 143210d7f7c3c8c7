use serde_json::json;

use super::*;
use crate::Skipped;
use crate::Transcript;

fn read_as(name: &str, value: &Value) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    Cline.read(Input::from_text(name, &value.to_string()), &mut sink).unwrap();
    let skipped = std::mem::take(&mut sink.skipped);
    (seen, skipped)
}

fn show(message: &Message) -> String {
    format!("{:?} {:?}: {}", message.role, message.kind, message.text)
}

fn told(value: &Value) -> Vec<String> {
    let (seen, skipped) = read_as(HISTORY, value);
    assert_eq!(skipped, []);
    seen.iter().flat_map(|transcript| &transcript.messages).map(show).collect()
}

fn user(texts: &[&str]) -> Value {
    let blocks: Vec<_> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    json!({"role": "user", "content": blocks, "ts": 1_770_641_100_123_i64})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

#[test]
fn the_users_words_are_unwrapped_and_the_rest_is_marked() {
    let rows: &[(&[&str], &[&str])] = &[
        (&["<task>\nadd tests\n</task>"], &["User Prose: add tests"]),
        (
            &["<task>\nfix @a.py\n</task>\n\n<file_content path=\"a.py\">\nx\n</file_content>"],
            &["User Prose: fix @a.py", "System Context: <file_content path=\"a.py\">\nx\n</file_content>"],
        ),
        (
            &["<environment_details>\nx\n</environment_details>"],
            &["System Context: <environment_details>\nx\n</environment_details>"],
        ),
        (&["bare words"], &["User Prose: bare words"]),
        (
            &["bare words\n<environment_details>\nx\n</environment_details>"],
            &["User Prose: bare words", "System Context: <environment_details>\nx\n</environment_details>"],
        ),
        (&["[ERROR] You did not use a tool"], &["System Context: [ERROR] You did not use a tool"]),
        (
            &["[TASK RESUMPTION] It was interrupted.\n<user_message>\ngo on\n</user_message>"],
            &["System Context: [TASK RESUMPTION] It was interrupted.", "User Prose: go on"],
        ),
    ];
    for (texts, expected) in rows {
        assert_eq!(told(&json!([user(texts)])), *expected);
    }
}

#[test]
fn answers_of_tools_are_the_users_only_where_the_user_was_asked() {
    let file = "<feedback>\nnot the user's\n</feedback>";
    let rows: &[(&[&str], &[&str])] = &[
        (
            &["[read_file for 'a.md'] Result:", file],
            &[
                "Tool ToolResult: [read_file for 'a.md'] Result:",
                "Tool ToolResult: <feedback>\nnot the user's\n</feedback>",
            ],
        ),
        (
            &["[ask_followup_question for 'Which?'] Result:", "<answer>\nthe second\n</answer>"],
            &["Tool ToolResult: [ask_followup_question for 'Which?'] Result:", "User Prose: the second"],
        ),
        (
            &[
                "[execute_command for 'rm x'] Result:",
                "The user denied this operation and provided the following feedback:\n<feedback>\nnever delete\n</feedback>",
            ],
            &[
                "Tool ToolResult: [execute_command for 'rm x'] Result:",
                "Tool ToolResult: The user denied this operation and provided the following feedback:",
                "User Prose: never delete",
            ],
        ),
        (
            &["[list_files for '.'] Result:\na.py"],
            &["Tool ToolResult: [list_files for '.'] Result:", "Tool ToolResult: a.py"],
        ),
    ];
    for (texts, expected) in rows {
        assert_eq!(told(&json!([user(texts)])), *expected);
    }
}

#[test]
fn calls_are_read_from_blocks_and_from_tags() {
    let blocks = json!([
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": "a.py"}},
            {"type": "tool_use", "id": "2", "name": "ask_followup_question", "input": {"question": "Which?"}}]},
        {"role": "user", "ts": 1, "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": "<answer>x</answer>"},
            {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "<answer>the first</answer>"}]}]},
    ]);
    assert_eq!(
        told(&blocks),
        [
            "Assistant Reasoning: hm",
            "Assistant ToolCall: read_file a.py",
            "Assistant Prose: Which?",
            "Tool ToolResult: <answer>x</answer>",
            "User Prose: the first"
        ]
    );
    let tags = "<thinking>hm</thinking>\n\nI write.\n<write_to_file>\n<path>a.html</path>\n<content>\n<b>x</b>\n</content>\n</write_to_file>";
    assert_eq!(
        told(&json!([assistant(tags)])),
        ["Assistant Reasoning: hm", "Assistant Prose: I write.", "Assistant ToolCall: write_to_file a.html"]
    );
    let two = "<read_file>\n<path>a</path>\n</read_file>\nand\n<read_file>\n<path>b</path>\n</read_file>";
    assert_eq!(
        told(&json!([assistant(two)])),
        ["Assistant ToolCall: read_file a", "Assistant Prose: and", "Assistant ToolCall: read_file b"]
    );
    for cut in ["<read_file", "<read_file>", "<", "x\n<thinking"] {
        assert!(told(&json!([assistant(cut)])).len() <= 1, "{cut}");
    }
    let done = "<attempt_completion>\n<result>\nAll done.\n</result>\n</attempt_completion>";
    assert_eq!(told(&json!([assistant(done)])), ["Assistant Prose: All done."]);
    assert_eq!(
        told(&json!([assistant("Use `<read_file>` in text.")])),
        ["Assistant Prose: Use `<read_file>` in text."]
    );
}

#[test]
fn the_surroundings_tell_folder_and_clock() {
    let details = "<environment_details>\n# Current Time\n2/9/2026, 6:05:00 PM (Asia/Kolkata, UTC+5:30)\n\n# Current Working Directory (/home/ravi/mandi) Files\na.py\n</environment_details>";
    let (seen, _) = read_as(HISTORY, &json!([user(&["<task>\nhi\n</task>", details])]));
    assert_eq!(seen[0].project.as_deref(), Some("/home/ravi/mandi"));
    assert_eq!(seen[0].messages[0].time.unwrap().offset_seconds, Some(19_800));
}

#[test]
fn the_screen_is_read_where_it_is_alone_and_has_the_same_identity() {
    let say = |kind: &str, text: &str| json!({"ts": 1_770_641_100_123_i64, "type": "say", "say": kind, "text": text});
    let shown = json!([
        say("text", "add tests"), say("api_req_started", "{\"request\":\"x\"}"), say("text", "I do."), say("reasoning", "hm"),
        say("tool", "{\"tool\":\"readFile\",\"path\":\"a.py\"}"), say("command_output", "ok"), say("user_feedback", "use pytest"),
        {"ts": 2, "type": "ask", "ask": "followup", "text": "{\"question\":\"Which?\",\"options\":[]}"},
        {"ts": 3, "type": "ask", "ask": "completion_result", "text": ""}, say("error", "bad"),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ui_messages.json");
    std::fs::write(&path, shown.to_string()).unwrap();
    let read = |path: &std::path::Path| {
        let mut seen: Vec<Transcript> = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        Cline.read(crate::open(path).unwrap(), &mut sink).unwrap();
        let skipped = sink.skipped.len();
        (seen, skipped)
    };
    let (alone, _) = read(&path);
    assert_eq!(
        alone[0].messages.iter().map(show).collect::<Vec<_>>(),
        [
            "User Prose: add tests",
            "Assistant Prose: I do.",
            "Assistant Reasoning: hm",
            "Assistant ToolCall: readFile a.py",
            "Tool ToolResult: ok",
            "User Prose: use pytest",
            "Assistant Prose: Which?",
            "System Context: bad"
        ]
    );
    let history = folder.path().join(HISTORY);
    std::fs::write(&history, json!([{"role": "user", "content": "<task>\nadd tests\n</task>"}]).to_string()).unwrap();
    assert_eq!((read(&path).0.len(), read(&path).1), (0, 1));
    let task = Folder::directory(folder.path());
    let mut whole = 0;
    let mut accept = |_| whole += 1;
    assert!(Cline.sniff_folder(&task) && !Cline.sniff_folder(&Folder::directory(std::path::Path::new("src"))));
    Cline.read_folder(&task, &mut Sink::new(&mut accept)).unwrap();
    assert_eq!(whole, 1);
    let (both, _) = read(&history);
    assert_eq!(both[0].external_id, alone[0].external_id);
    assert_eq!(both[0].messages[0].time.unwrap().at.as_millisecond(), 1_770_641_100_123);
}

#[test]
fn plain_messages_of_the_api_are_not_claimed() {
    let sniff = |value: Value| Cline.sniff(&Head::new(value.to_string().into(), true));
    assert!(sniff(json!([user(&["hi"])])));
    assert!(sniff(json!([{"role": "user", "content": "<task>\nhi\n</task>"}])));
    assert!(sniff(json!([{"ts": 1, "type": "say", "say": "text", "text": "hi"}])));
    assert!(!sniff(json!([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])));
    assert!(!sniff(json!({"role": "user", "content": "<task>\nhi\n</task>"})));
    assert!(!sniff(json!([{"ts": "1.0", "type": "message", "text": "hi"}])));
}
