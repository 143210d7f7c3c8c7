use serde_json::{Value, json};

use super::*;
use crate::ingest::Skipped;
use crate::transcript::{Message, TimeSource, Transcript};

const SESSION: &str = "5f0c2a9e-7d41-4c1b-9a55-2f6d0e8b1c34";

fn read_as(name: &str, text: &str) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    ClaudeCode.read(Input::from_text(name, text), &mut sink).unwrap();
    let skipped = std::mem::take(&mut sink.skipped);
    (seen, skipped)
}

fn read(lines: &[Value]) -> Transcript {
    let (mut seen, skipped) = read_as("log.jsonl", &joined(lines));
    assert_eq!((seen.len(), skipped), (1, Vec::new()));
    seen.remove(0)
}

fn joined(lines: &[Value]) -> String {
    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

/// Writes each message as `Role Kind: text`.
fn shown(transcript: &Transcript) -> Vec<String> {
    transcript.messages.iter().map(show).collect()
}

fn show(message: &Message) -> String {
    format!("{:?} {:?}: {}", message.role, message.kind, message.text)
}

fn line(kind: &str, uuid: &str, parent: &str, minute: u32, content: impl Into<Value>) -> Value {
    json!({
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION,
        "timestamp": format!("2026-03-02T09:{minute:02}:00.000Z"), "cwd": "/home/lena/harborlight",
        "message": {"role": kind, "content": content.into()},
    })
}

fn user(uuid: &str, parent: &str, minute: u32, text: &str) -> Value {
    line("user", uuid, parent, minute, text)
}

fn assistant(uuid: &str, parent: &str, minute: u32, text: &str) -> Value {
    line("assistant", uuid, parent, minute, json!([{"type": "text", "text": text}]))
}

fn with(mut line: Value, key: &str, value: impl Into<Value>) -> Value {
    line[key] = value.into();
    line
}

fn queue(operation: &str, text: &str) -> Value {
    json!({"type": "queue-operation", "operation": operation, "content": text, "sessionId": SESSION, "timestamp": "2026-03-02T09:30:00Z"})
}

#[test]
fn blocks_become_messages_of_their_kinds() {
    let transcript = read(&[
        line(
            "user",
            "u1",
            "",
            0,
            json!([{"type": "text", "text": "look"}, {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}]),
        ),
        line(
            "assistant",
            "a1",
            "u1",
            1,
            json!([
                {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "cargo\ntest", "timeout": 5}},
            ]),
        ),
        with(
            line(
                "user",
                "u2",
                "a1",
                2,
                json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "ok"}, {"type": "image"}]}]),
            ),
            "toolUseResult",
            json!({"stdout": "ok"}),
        ),
    ]);
    assert_eq!(
        shown(&transcript),
        [
            "User Prose: look",
            "User Attachment: [image: image/png]",
            "Assistant Reasoning: hm",
            "Assistant Prose: I look.",
            "Assistant ToolCall: Bash cargo test",
            "Tool ToolResult: ok\n[image]",
        ]
    );
    let ids: Vec<_> = transcript.messages.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(ids, ["u1", "u1~2", "a1", "a1~2", "a1~3", "u2"]);
}

#[test]
fn what_the_program_wrote_in_the_users_turn_is_not_the_users() {
    let transcript = read(&[
        with(user("1", "", 0, "meta"), "isMeta", true),
        with(user("2", "1", 1, "compacted"), "isCompactSummary", true),
        with(user("3", "2", 2, "unseen"), "isVisibleInTranscriptOnly", true),
        with(user("4", "3", 3, "output"), "toolUseResult", "output"),
        user("5", "4", 4, "[Request interrupted by user for tool use]"),
        with(user("6", "5", 5, "go and look"), "isSidechain", true),
        with(assistant("7", "6", 6, "found"), "isSidechain", true),
        json!({"type": "system", "subtype": "local_command", "content": "hook ran", "uuid": "8", "sessionId": SESSION}),
        json!({"type": "attachment", "attachment": {"type": "hook_success", "content": "", "stdout": "hooked"}, "uuid": "9", "sessionId": SESSION}),
        with(assistant("10", "9", 7, "API Error"), "isApiErrorMessage", true),
        user("11", "10", 8, "use tabs"),
    ]);
    assert_eq!(
        shown(&transcript),
        [
            "System Context: meta",
            "System Summary: compacted",
            "System Context: unseen",
            "Tool ToolResult: output",
            "System Context: [Request interrupted by user for tool use]",
            "Other Prose: go and look",
            "Other Prose: found",
            "System Context: hook ran",
            "System Context: hooked",
            "Assistant Context: API Error",
            "User Prose: use tabs",
        ]
    );
}

#[test]
fn what_the_user_said_on_refusing_a_call_is_the_users() {
    let answer = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse pnpm, never npm";
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": answer}]);
    let transcript = read(&[line("user", "u", "", 0, result)]);
    assert_eq!(shown(&transcript)[1], "User Prose: use pnpm, never npm");
}

#[test]
fn a_repeated_uuid_is_read_once_but_an_empty_line_does_not_count() {
    let transcript =
        read(&[line("user", "u1", "", 0, json!([])), user("u1", "", 1, "first"), user("u1", "", 2, "second")]);
    assert_eq!(shown(&transcript), ["User Prose: first"]);
}

#[test]
fn lines_written_again_by_compaction_are_read_once() {
    let transcript = read(&[
        user("u1", "", 0, "start"),
        assistant("a1", "u1", 1, "ready"),
        user("u9", "", 0, "start"),
        assistant("a9", "u9", 1, "ready"),
        user("u2", "a9", 2, "start"),
    ]);
    assert_eq!(shown(&transcript), ["User Prose: start", "Assistant Prose: ready", "User Prose: start"]);
}

#[test]
fn of_a_rewound_conversation_the_newest_branch_is_kept() {
    let transcript = read(&[
        user("u1", "", 0, "start"),
        assistant("a1", "u1", 1, "ready"),
        user("u2", "a1", 2, "use Redis"),
        assistant("a2", "u2", 3, "Redis it is"),
        user("u3", "a1", 4, "use Postgres"),
        assistant("a3", "u3", 5, "Postgres it is"),
    ]);
    assert_eq!(
        shown(&transcript),
        ["User Prose: start", "Assistant Prose: ready", "User Prose: use Postgres", "Assistant Prose: Postgres it is"]
    );
}

#[test]
fn parallel_tool_answers_are_no_rewind() {
    let answer = |uuid, minute| line("user", uuid, "a1", minute, json!([{"type": "tool_result", "content": uuid}]));
    assert_eq!(read(&[answer("r1", 1), answer("r2", 2)]).messages.len(), 2);
}

#[test]
fn queued_words_are_kept_unless_they_arrive_or_are_taken_back() {
    let transcript = read(&[
        queue("enqueue", "also run the linter"),
        queue("enqueue", "never force-push"),
        queue("remove", "never force-push"),
        queue("enqueue", "wait"),
        queue("popAll", "wait"),
        queue("enqueue", "<task-notification>done</task-notification>"),
        user("u1", "", 40, "also run  the linter"),
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and the tests"}, "uuid": "q", "sessionId": SESSION}),
    ]);
    assert_eq!(
        shown(&transcript),
        ["User Prose: never force-push", "User Prose: also run  the linter", "User Prose: and the tests"]
    );
}

#[test]
fn the_best_title_wins_and_the_rest_of_the_head_is_read() {
    let summary = |leaf: &str| json!({"type": "summary", "summary": format!("about {leaf}"), "leafUuid": leaf});
    let title = |kind: &str, key: &str| json!({"type": kind, key: kind, "sessionId": SESSION});
    let mut lines = vec![summary("elsewhere"), summary("u1"), summary("other"), user("u1", "", 0, "hi")];
    lines.push(line("assistant", "a1", "u1", 1, "hello"));
    lines[4]["message"]["model"] = "claude-sonnet-4-5".into();
    let transcript = read(&lines);
    assert_eq!(transcript.title.as_deref(), Some("about u1"));
    assert_eq!(transcript.external_id, SESSION);
    assert_eq!(transcript.project.as_deref(), Some("/home/lena/harborlight"));
    assert_eq!(transcript.model.as_deref(), Some("claude-sonnet-4-5"));
    for (kind, key) in [("ai-title", "aiTitle"), ("agent-name", "agentName"), ("custom-title", "customTitle")] {
        lines.push(title(kind, key));
        assert_eq!(read(&lines).title.as_deref(), Some(kind));
    }
    lines.push(title("ai-title", "aiTitle"));
    assert_eq!(read(&lines).title.as_deref(), Some("custom-title"));
}

#[test]
fn a_missing_time_is_taken_from_the_line_before() {
    let transcript = read(&[user("u1", "", 0, "a"), with(user("u2", "u1", 1, "b"), "timestamp", 7)]);
    let times: Vec<_> = transcript.messages.iter().filter_map(|message| message.time).collect();
    assert_eq!((times[0].at, times[0].source), (times[1].at, TimeSource::Log));
    assert_eq!((times[1].source, times[0].offset_seconds), (TimeSource::Derived, Some(0)));
}

#[test]
fn joined_logs_are_told_apart_but_a_sessions_own_file_is_one_transcript() {
    let text = joined(&[
        with(user("u1", "", 0, "copied"), "sessionId", "older"),
        user("u2", "u1", 1, "own"),
        with(with(user("u3", "", 2, "task"), "isSidechain", true), "agentId", "a9"),
    ]);
    let ids = |name: &str| -> Vec<String> { read_as(name, &text).0.into_iter().map(|seen| seen.external_id).collect() };
    assert_eq!(ids("joined.jsonl"), ["older".to_owned(), SESSION.to_owned(), format!("{SESSION}/a9")]);
    assert_eq!(ids(&format!("{SESSION}.jsonl")), [SESSION]);
    assert_eq!(ids("00000000-0000-4000-8000-000000000000.jsonl"), ["older"]);
}

#[test]
fn a_very_long_session_comes_in_parts_that_lose_nothing() {
    let said = "y".repeat(crate::ingest::MAX_PROSE_BYTES);
    let lines: Vec<_> =
        (0..20_i32).map(|n| user(&format!("u{n}"), &format!("u{}", n - 1), n.unsigned_abs(), &said)).collect();
    let (seen, _) = read_as("log.jsonl", &joined(&lines));
    let parts: Vec<_> = seen.iter().map(|part| (part.external_id.as_str(), part.messages.len())).collect();
    let [second, third] = [2, 3].map(|part| format!("{SESSION}#{part}"));
    assert_eq!(parts, [(SESSION, 8), (&second, 8), (&third, 4)]);
}

#[test]
fn bad_lines_are_reported_and_unknown_ones_passed_over() {
    let text = format!(
        "{}\n42\n{{\"type\":\"user\",\"message\":\"x\"}}\n{{\"type\":\"new\"}}\n{{bad\n{{\"ty",
        user("u", "", 0, "hi")
    );
    let (seen, skipped) = read_as("log.jsonl", &text);
    assert_eq!(shown(&seen[0]), ["User Prose: hi"]);
    let lines: Vec<_> = skipped.iter().map(|skipped| skipped.record).collect();
    assert_eq!(lines, [2, 3, 5, 6]);
}

#[test]
fn a_wrong_type_costs_no_line() {
    let mut wrong = user("u", "", 0, "hi");
    for key in ["parentUuid", "cwd", "isMeta", "timestamp", "attachment", "content", "summary", "agentId"] {
        wrong[key] = json!([{"x": 1}]);
    }
    assert_eq!(shown(&read(&[wrong])), ["User Prose: hi"]);
}

#[test]
fn only_its_own_lines_are_recognised() {
    let sniff = |text: &str| ClaudeCode.sniff(&Head::new(text.into(), true));
    assert!(sniff(&joined(&[user("u", "", 0, "hi")])));
    assert!(sniff(&format!("garbage\n{}", joined(&[user("u", "", 0, "hi"), user("v", "u", 1, "hi")]))));
    assert!(sniff(r#"{"type":"summary","summary":"s","leafUuid":"l"}"#));
    assert!(sniff(r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s"}"#));
    assert!(!sniff("{\"type\":\"user\",\"text\":\"hi\"}\n{\"type\":\"assistant\",\"text\":\"hi\"}\n"));
    assert!(!sniff("{\"role\":\"user\",\"message\":{\"content\":\"hi\"}}\n{\"role\":\"user\",\"message\":{}}\n"));
    assert!(!sniff(&format!("[{}]", user("u", "", 0, "hi"))));
}
