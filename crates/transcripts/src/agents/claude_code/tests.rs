use serde_json::{Value, json};

use super::*;
use crate::Skipped;
use crate::{Message, Role, TimeSource, Transcript};

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

/// Formats each message as `Role Kind: text`.
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
            "User Prose: look", "User Attachment: [image: image/png]", "Assistant Reasoning: hm",
            "Assistant Prose: I look.", "Assistant ToolCall: Bash cargo test", "Tool ToolResult: ok\n[image]",
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
fn answers_to_the_agents_questions_are_the_users() {
    let input = json!({"questions": [{"question": "Which database?", "options": [{"label": "PostgreSQL"}]}]});
    let call = json!([{"type": "tool_use", "id": "t", "name": "AskUserQuestion", "input": input}]);
    let text = "User has answered your questions: \"Which database?\"=\"SQLite\". You can now continue with the user's answers in mind.";
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": text}]);
    let transcript = read(&[line("assistant", "a", "", 0, call), line("user", "u", "a", 1, result)]);
    assert_eq!(shown(&transcript)[2..], ["Assistant Prose: Which database?\n- PostgreSQL", "User Prose: SQLite"]);
    assert_eq!(transcript.messages[3].id, "u~3");
    assert_eq!(transcript.messages[3].time, transcript.messages[1].time);
}

#[test]
fn replies_in_lines_written_again_are_read_once_and_a_reused_id_has_none() {
    let call = |id: &str| {
        let input = json!({"questions": [{"question": "Which database?"}]});
        json!([{"type": "tool_use", "id": id, "name": "AskUserQuestion", "input": input}])
    };
    let text = "The user answered: \"Which database?\"=\"SQLite\". Read the answers carefully";
    let result = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    let again = read(&[
        line("assistant", "a", "", 0, call("t")),
        line("user", "u", "a", 1, result("t")),
        line("assistant", "a9", "u", 0, call("t")),
        line("user", "u9", "a9", 1, result("t")),
    ]);
    assert_eq!(shown(&again).iter().filter(|line| *line == "User Prose: SQLite").count(), 1);
    let bash = json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "cat a"}}]);
    let reused = read(&[
        line("assistant", "a", "", 0, call("t")),
        line("assistant", "b", "a", 1, bash),
        line("user", "u", "b", 2, result("t")),
    ]);
    assert_eq!(reused.messages.len(), 3, "another tool prints the sentence");
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
        queue("enqueue", "<task-notification>never came</task-notification>"),
        queue("enqueue", "/compact"),
        queue("enqueue", "/review the fares"),
        queue("enqueue", "/clear"),
        user("u1", "", 40, "also run  the linter"),
        user("u2", "u1", 41, "<task-notification>done</task-notification>"),
        user("u3", "u2", 42, "<command-name>/compact</command-name>\n<command-args></command-args>"),
        user("u4", "u3", 43, "<command-name>/review</command-name><command-args>the fares</command-args>"),
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and the tests"}, "uuid": "q", "sessionId": SESSION}),
    ]);
    assert_eq!(
        shown(&transcript),
        [
            "User Prose: never force-push",
            "System Context: <task-notification>never came</task-notification>",
            "System Context: /clear",
            "User Prose: also run  the linter",
            "System Context: <task-notification>done</task-notification>",
            "System Context: <command-name>/compact</command-name>\n<command-args></command-args>",
            "User Prose: the fares",
            "User Prose: and the tests"
        ]
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
fn joined_logs_are_distinguished_and_copied_lines_are_their_own_sessions() {
    let text = joined(&[
        with(user("u1", "", 0, "copied"), "sessionId", "older"),
        user("u2", "u1", 1, "own"),
        with(with(user("u3", "", 2, "task"), "isSidechain", true), "agentId", "a9"),
    ]);
    let ids = |name: &str| -> Vec<String> { read_as(name, &text).0.into_iter().map(|seen| seen.external_id).collect() };
    assert_eq!(ids("joined.jsonl"), ["older".to_owned(), SESSION.to_owned(), format!("{SESSION}/a9")]);
    assert_eq!(ids(&format!("{SESSION}.jsonl")), ["older", SESSION]);
}

#[test]
fn a_very_long_session_comes_in_parts_that_lose_nothing() {
    let said = "y".repeat(crate::MAX_PROSE_BYTES);
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

const PARENT: &str = "1b7e44d0-90c3-4f7a-8a6e-6f1f0f6f7b02";

/// Reads the file `name` in `folder`.
fn read_file(folder: &std::path::Path, name: &str) -> (Vec<Transcript>, Vec<String>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    ClaudeCode.read(crate::open(&folder.join(name)).unwrap(), &mut sink).unwrap();
    let pieces = sink.skipped.iter().map(|skipped| format!("{}: {}", skipped.record, skipped.reason)).collect();
    (seen, pieces)
}

/// The log of a session, and the log of a second session that continues the first and ran a sub-agent in the old
/// format.
fn resumed(copied_id: &str) -> (String, String) {
    let prefix = [user("u1", "", 0, "start"), assistant("a1", "u1", 1, "ready"), user("u2", "a1", 2, "use tabs")];
    let old = prefix.iter().map(|line| with(line.clone(), "sessionId", PARENT)).collect::<Vec<_>>();
    let mut new: Vec<_> = prefix.iter().map(|line| with(line.clone(), "sessionId", copied_id)).collect();
    new.extend([
        user("u3", "u2", 10, "go on"),
        with(user("s1", "", 11, "look at the tests"), "isSidechain", true),
        with(assistant("s2", "s1", 12, "looked"), "isSidechain", true),
        assistant("a3", "u3", 13, "went on"),
    ]);
    (joined(&old), joined(&new))
}

#[test]
fn a_resumed_session_begins_where_it_was_resumed() {
    for copied_id in [PARENT, SESSION] {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = resumed(copied_id);
        std::fs::write(folder.path().join(format!("{PARENT}.jsonl")), old).unwrap();
        std::fs::write(folder.path().join(format!("{SESSION}.jsonl")), new).unwrap();
        let (before, pieces) = read_file(folder.path(), &format!("{PARENT}.jsonl"));
        assert_eq!((before.len(), shown(&before[0]).len(), pieces), (1, 3, Vec::new()));
        let (after, pieces) = read_file(folder.path(), &format!("{SESSION}.jsonl"));
        assert_eq!(after.len(), 1, "{copied_id}");
        assert_eq!(after[0].external_id, SESSION);
        assert_eq!(
            shown(&after[0]),
            ["User Prose: go on", "Other Prose: look at the tests", "Other Prose: looked", "Assistant Prose: went on"]
        );
        let times: Vec<_> = after[0].messages.iter().map(|message| message.time.unwrap().at.to_string()).collect();
        assert_eq!(times, ["10", "11", "12", "13"].map(|minute| format!("2026-03-02T09:{minute}:00Z")));
        let reason = format!("3 lines from here on repeat the session {PARENT}, which is read from its own log");
        assert_eq!(pieces, [format!("1: {reason}")]);
    }
}

#[test]
fn without_the_older_log_its_copy_is_read_as_the_older_session() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = resumed(PARENT);
    std::fs::write(folder.path().join(format!("{SESSION}.jsonl")), new).unwrap();
    let (seen, pieces) = read_file(folder.path(), &format!("{SESSION}.jsonl"));
    let ids: Vec<_> = seen.iter().map(|one| (one.external_id.as_str(), one.messages.len())).collect();
    assert_eq!((ids, pieces), (vec![(PARENT, 3), (SESSION, 4)], Vec::new()));
    let (parent, _) = read_as(&format!("{PARENT}.jsonl"), &old);
    assert_eq!(seen[0].messages, parent[0].messages);
}

#[test]
fn a_forks_lines_belong_to_the_session_that_they_name() {
    let from = json!({"sessionId": PARENT, "messageUuid": "u1"});
    let copied = with(user("f1", "", 0, "start"), "forkedFrom", from);
    let (seen, _) = read_as(&format!("{SESSION}.jsonl"), &joined(&[copied, user("u2", "f1", 1, "go on")]));
    let ids: Vec<_> = seen.iter().map(|one| one.external_id.as_str()).collect();
    assert_eq!(ids, [PARENT, SESSION]);
}

#[test]
fn other_sessions_beside_a_log_leave_it_whole() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(format!("{PARENT}.jsonl")), joined(&[user("x1", "", 0, "else")])).unwrap();
    let own = [user("u1", "", 0, "start"), assistant("a1", "u1", 1, "ready")];
    std::fs::write(folder.path().join(format!("{SESSION}.jsonl")), joined(&own)).unwrap();
    let (seen, pieces) = read_file(folder.path(), &format!("{SESSION}.jsonl"));
    assert_eq!((seen[0].messages.len(), pieces), (2, Vec::new()));
}

#[test]
fn a_journal_of_a_workflow_is_reported_and_holds_nothing() {
    let line = |kind: &str| json!({"type": kind, "agentId": "a1", "label": "review", "result": "fine"});
    let text = joined(&[line("started"), line("result")]);
    assert!(ClaudeCode.sniff(&Head::new(text.as_str().into(), true)));
    let (seen, skipped) = read_as("journal.jsonl", &text);
    assert_eq!((seen.len(), skipped.len(), skipped[0].record), (0, 1, 1));
}

#[test]
fn the_history_of_prompts_is_read_for_sessions_without_a_log() {
    let entry = |session: Option<&str>, text: &str| {
        json!({"display": text, "pastedContents": {"1": {"id": 1, "type": "text", "content": "pasted words"}},
            "timestamp": 1_770_000_000_000_i64, "project": "/home/lena/harborlight", "sessionId": session})
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("projects/-home-lena")).unwrap();
    std::fs::write(folder.path().join(format!("projects/-home-lena/{SESSION}.jsonl")), "x").unwrap();
    let lines = [
        entry(Some(SESSION), "logged"),
        entry(Some(PARENT), "see [Pasted text #1]"),
        entry(Some(PARENT), "/init"),
        entry(None, "old"),
        json!({"display": 7}),
    ];
    std::fs::write(folder.path().join("history.jsonl"), joined(&lines)).unwrap();
    assert!(ClaudeCode.sniff(&Head::new(joined(&lines).into(), true)));
    let (seen, pieces) = read_file(folder.path(), "history.jsonl");
    assert_eq!(seen.len(), 2);
    assert_eq!(
        shown(&seen[0]),
        [
            "User Prose: see [Pasted text #1]", "User Context: pasted words", "System Context: /init",
            "User Context: pasted words"
        ]
    );
    assert_eq!(seen[0].external_id, format!("prompts/{PARENT}"));
    assert_eq!(seen[1].project.as_deref(), Some("/home/lena/harborlight"));
    assert_eq!(pieces.len(), 2);
}

#[test]
fn prompts_that_another_program_wrote_are_not_the_users() {
    for (field, value, is_users) in [
        ("promptSource", json!("sdk"), false),
        ("entrypoint", json!("sdk-py"), false),
        ("entrypoint", json!("claude-code-github-action"), false),
        ("origin", json!({"kind": "task-notification"}), false),
        ("promptSource", json!("typed"), true),
        ("entrypoint", json!("cli"), true),
        ("origin", json!({"kind": "human"}), true),
        ("userType", json!("external"), true),
    ] {
        let prompt = with(user("u1", "", 0, "Always answer in JSON."), field, value.clone());
        let transcript = read(&[prompt]);
        assert_eq!(transcript.messages[0].is_human(), is_users, "{field}: {value}");
        assert_eq!(transcript.messages[0].role, if is_users { Role::User } else { Role::Other }, "{field}: {value}");
    }
}

#[test]
fn what_people_type_in_an_editor_on_a_desktop_or_on_a_phone_is_theirs() {
    let human = json!({"kind": "human"});
    for (entrypoint, source, origin, is_users) in [
        ("claude-vscode", "sdk", json!(null), true),
        ("claude-desktop", "sdk", human.clone(), true),
        ("remote_mobile", "sdk", human, true),
        ("sdk-cli", "sdk", json!(null), false),
        ("cli", "sdk", json!(null), false),
        ("claude-vscode", "system", json!(null), false),
        ("claude-desktop", "sdk", json!({"kind": "task-notification"}), false),
    ] {
        let prompt = with(user("u1", "", 0, "Always answer in JSON."), "entrypoint", json!(entrypoint));
        let prompt = with(with(prompt, "promptSource", json!(source)), "origin", origin.clone());
        let transcript = read(&[prompt]);
        assert_eq!(transcript.messages[0].is_human(), is_users, "{entrypoint} {source} {origin}");
    }
}

#[test]
fn the_repository_of_the_pull_requests_is_known_unless_there_are_several() {
    let link = |url: Value, name: Value| json!({"type": "pr-link", "sessionId": SESSION, "prNumber": 7, "prUrl": url, "prRepository": name});
    let linked = |links: &[Value]| {
        let said = [user("a", "", 1, "open a pull request")];
        read(&[&said[..], links].concat()).linked_repository
    };
    let shop = link(json!("https://git.example/lena/shop/pull/7"), json!("lena/shop"));
    assert_eq!(linked(&[shop.clone(), shop.clone()]).as_deref(), Some("https://git.example/lena/shop"));
    let nameless = link(json!("https://git.example/lena/shop/pull/8"), Value::Null);
    assert_eq!(linked(&[nameless, shop.clone()]).as_deref(), Some("https://git.example/lena/shop"));
    let bare = link(Value::Null, json!("lena/shop"));
    assert_eq!(linked(std::slice::from_ref(&bare)).as_deref(), Some("https://github.com/lena/shop"));
    assert_eq!(linked(&[shop, bare]), None);
    assert_eq!(linked(&[]), None);
}
