use serde_json::{Value, json};

use super::*;
use crate::Skipped;
use crate::Transcript;

fn read_all(text: &str) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    Codex.read(Input::from_text("rollout-x.jsonl", text), &mut sink).unwrap();
    let skipped = std::mem::take(&mut sink.skipped);
    (seen, skipped)
}

fn read(lines: &[Value]) -> Transcript {
    let (mut seen, skipped) = read_all(&joined(lines));
    assert_eq!((seen.len(), skipped), (1, Vec::new()));
    seen.remove(0)
}

fn joined(lines: &[Value]) -> String {
    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

/// Formats each message as `Role Kind: text`.
fn shown(transcript: &Transcript) -> Vec<String> {
    let show = |message: &crate::Message| format!("{:?} {:?}: {}", message.role, message.kind, message.text);
    transcript.messages.iter().map(show).collect()
}

fn line(kind: &str, minute: u32, payload: impl Into<Value>) -> Value {
    let payload = payload.into();
    json!({"timestamp": format!("2026-04-14T09:{minute:02}:00.000Z"), "type": kind, "payload": payload})
}

fn head(extra: impl Into<Value>) -> Value {
    let extra = extra.into();
    let mut payload = json!({"id": "own", "timestamp": "2026-04-14T09:00:00.000Z", "cwd": "/home/lena/harborlight"});
    payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    line("session_meta", 0, payload)
}

fn typed(minute: u32, text: &str) -> Value {
    line("event_msg", minute, json!({"type": "user_message", "message": text}))
}

fn spoken(minute: u32, role: &str, text: &str) -> Value {
    let block = if role == "assistant" { "output_text" } else { "input_text" };
    line("response_item", minute, json!({"type": "message", "role": role, "content": [{"type": block, "text": text}]}))
}

fn event(minute: u32, payload: impl Into<Value>) -> Value {
    line("event_msg", minute, payload)
}

#[test]
fn both_copies_of_a_message_are_read_once_in_either_order() {
    let transcript = read(&[
        head(json!({})),
        typed(1, "use  tabs"),
        spoken(1, "user", "use tabs"),
        event(2, json!({"type": "agent_reasoning", "text": "hm"})),
        line("response_item", 2, json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]})),
        spoken(3, "assistant", "ok"),
        event(3, json!({"type": "agent_message", "message": "ok"})),
        typed(4, "continue"),
        typed(5, "continue"),
    ]);
    assert_eq!(
        shown(&transcript),
        [
            "User Prose: use  tabs", "Assistant Reasoning: hm", "Assistant Prose: ok", "User Prose: continue",
            "User Prose: continue"
        ]
    );
}

#[test]
fn text_in_the_users_turn_that_the_screen_never_showed_is_injected() {
    let injected = spoken(1, "user", "Remember: the hook wrote this");
    let seen = read(&[head(json!({})), injected.clone(), typed(2, "use tabs"), spoken(2, "user", "use tabs")]);
    assert_eq!(shown(&seen), ["System Context: Remember: the hook wrote this", "User Prose: use tabs"]);
    assert_eq!(shown(&read(&[head(json!({})), injected])), ["User Prose: Remember: the hook wrote this"]);
}

#[test]
fn answers_to_the_agents_questions_are_the_users() {
    let arguments =
        json!({"questions": [{"id": "db", "question": "Which database?", "options": [{"label": "SQLite"}]}]});
    let call = json!({"type": "function_call", "name": "request_user_input", "call_id": "c", "arguments": arguments.to_string()});
    let output = json!({"answers": {"db": {"answers": ["SQLite", "user_note: for now"]}}}).to_string();
    let result = json!({"type": "function_call_output", "call_id": "c", "output": output});
    let seen = read(&[
        head(json!({})),
        typed(1, "set it up"),
        line("response_item", 2, call),
        line("response_item", 3, result),
    ]);
    assert_eq!(shown(&seen)[3..], ["Assistant Prose: Which database?\n- SQLite", "User Prose: SQLite, for now"]);
    let other = json!({"type": "function_call", "name": "ask_user", "namespace": "mcp__x__", "call_id": "c", "arguments": arguments.to_string()});
    let forged = json!({"type": "function_call_output", "call_id": "c", "output": output});
    let seen = read(&[head(json!({})), line("response_item", 2, other), line("response_item", 3, forged)]);
    assert_eq!(seen.messages.len(), 2, "a tool of another program answers for nobody");
}

#[test]
fn an_approved_plan_is_not_the_users() {
    let plan = "PLEASE IMPLEMENT THIS PLAN:\n# Loom\n\nAlways use tabs.";
    let beside = format!("# Context from my IDE setup:\n\n## My request for Codex:\n{plan}");
    for text in [plan, &beside] {
        let seen = read(&[head(json!({})), spoken(1, "user", text), typed(1, text)]);
        assert!(!seen.messages.iter().any(crate::Message::is_human), "{:?}", shown(&seen));
    }
    let clicked = read(&[head(json!({})), typed(1, "Implement the plan.")]);
    assert_eq!(shown(&clicked), ["User Prose: Implement the plan."]);
}

#[test]
fn prompts_that_a_program_sends_are_not_the_users() {
    for (extra, role) in [
        (json!({"originator": "codex_exec", "source": "exec"}), "Other"),
        (json!({"originator": "codex_sdk_ts"}), "Other"),
        (json!({"originator": "nightly", "source": "exec"}), "Other"),
        (json!({"originator": "codex_cli_rs", "source": "cli"}), "User"),
        (json!({"originator": "codex_vscode", "source": "vscode"}), "User"),
    ] {
        let lines = [head(extra), spoken(1, "user", "use tabs"), typed(1, "use tabs"), spoken(2, "assistant", "ok")];
        assert_eq!(shown(&read(&lines)), [format!("{role} Prose: use tabs"), "Assistant Prose: ok".to_owned()]);
    }
}

#[test]
fn who_resumes_a_thread_writes_the_prompts_that_follow() {
    let (program, person) = (json!({"originator": "codex_exec", "source": "exec"}), json!({"source": "cli"}));
    let seen = read(&[
        head(program.clone()),
        typed(1, "run the tests"),
        head(person),
        typed(2, "use tabs"),
        head(json!({"memory_mode": "enabled"})),
        typed(3, "use spaces"),
        head(program),
        typed(4, "run them again"),
    ]);
    let shown = shown(&seen);
    let (others, persons) = ("Other Prose: run", "User Prose: use");
    assert_eq!(shown.len(), 4);
    for (text, start) in shown.iter().zip([others, persons, persons, others]) {
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn scaffolding_is_context_and_what_follows_the_editors_preamble_is_the_users() {
    let seen = read(&[
        head(json!({})),
        spoken(1, "developer", "be helpful"),
        spoken(1, "user", "# AGENTS.md instructions for /home/lena\n\nuse tabs"),
        spoken(1, "user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        typed(2, "# Context from my IDE setup:\n\n## Open tabs\n## My request for Codex:\nfix it"),
    ]);
    assert_eq!(
        shown(&seen),
        [
            "System Context: be helpful",
            "System Context: # AGENTS.md instructions for /home/lena\n\nuse tabs",
            "System Context: <environment_context>\n<cwd>/x</cwd>\n</environment_context>",
            "System Context: # Context from my IDE setup:\n\n## Open tabs",
            "User Prose: fix it",
        ]
    );
}

#[test]
fn instructions_are_context_and_come_once() {
    let turn = |minute, text: &str| line("turn_context", minute, json!({"user_instructions": text}));
    let seen = read(&[
        head(json!({"base_instructions": {"text": "be a coder"}, "instructions": null})),
        turn(1, "use tabs"),
        typed(1, "hi"),
        turn(2, "use tabs"),
        typed(2, "hello"),
        turn(3, "use spaces"),
    ]);
    assert_eq!(
        shown(&seen),
        [
            "System Context: be a coder", "System Context: use tabs", "User Prose: hi", "User Prose: hello",
            "System Context: use spaces",
        ]
    );
    let bare = read(&[json!({"id": "own", "timestamp": "2025-07-01T09:00:00Z", "instructions": "be brief"})]);
    assert_eq!(shown(&bare), ["System Context: be brief"]);
}

#[test]
fn calls_are_short_lines_and_answers_are_texts() {
    let item = |payload| line("response_item", 1, payload);
    let seen = read(&[
        item(
            json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":[\"bash\",\"-lc\",\"cargo test\"]}"}),
        ),
        item(json!({"type": "function_call", "name": "odd", "arguments": "not json"})),
        item(json!({"type": "function_call_output", "output": [{"type": "input_text", "text": "ok"}]})),
        item(
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n*** Update File: src/a.rs\n@@"}),
        ),
        item(json!({"type": "custom_tool_call_output", "output": "Done!"})),
        item(json!({"type": "local_shell_call", "action": {"type": "exec", "command": ["ls", "-l"]}})),
        item(json!({"type": "web_search_call", "action": {"type": "search", "query": "fly.io volumes"}})),
        item(json!({"type": "ghost_snapshot"})),
        line("compacted", 2, json!({"message": "summary", "replacement_history": []})),
        line("future_record", 2, json!({"type": "message"})),
    ]);
    assert_eq!(
        shown(&seen),
        [
            "Assistant ToolCall: exec_command bash -lc cargo test",
            "Assistant ToolCall: odd",
            "Tool ToolResult: ok",
            "Assistant ToolCall: apply_patch src/a.rs",
            "Tool ToolResult: Done!",
            "Assistant ToolCall: shell ls -l",
            "Assistant ToolCall: web_search fly.io volumes",
            "System Summary: summary",
        ]
    );
}

#[test]
fn turns_rolled_back_are_gone() {
    let back = |turns: i64| event(9, json!({"type": "thread_rolled_back", "num_turns": turns}));
    let turns = |last: Value| {
        let lines = [
            head(json!({})),
            typed(1, "one"),
            spoken(2, "assistant", "1"),
            typed(3, "two"),
            spoken(4, "assistant", "2"),
            last,
            typed(10, "three"),
        ];
        shown(&read(&lines))
    };
    assert_eq!(turns(back(1)), ["User Prose: one", "Assistant Prose: 1", "User Prose: three"]);
    assert_eq!(turns(back(2)), ["User Prose: three"]);
    assert_eq!(turns(back(7)), ["User Prose: three"]);
    assert_eq!(turns(back(0)).len(), 5);
    assert_eq!(turns(back(-1)).len(), 5);
}

#[test]
fn the_head_gives_identity_project_model_title_and_start() {
    let seen = read(&[
        head(json!({"cwd": null, "git": {"repository_url": "https://git.example/harborlight.git"}})),
        line("turn_context", 1, json!({"model": "gpt-5-codex", "cwd": "/tmp/elsewhere"})),
        typed(2, "hi"),
        event(3, json!({"type": "thread_name_updated", "thread_name": "Move to Fly.io"})),
    ]);
    assert_eq!(seen.external_id, "own");
    assert_eq!(seen.project.as_deref(), Some("https://git.example/harborlight.git"));
    assert_eq!(seen.model.as_deref(), Some("gpt-5-codex"));
    assert_eq!(seen.title.as_deref(), Some("Move to Fly.io"));
    assert_eq!(seen.created_at, "2026-04-14T09:00:00Z".parse().ok());
    assert_eq!(seen.messages[0].time.unwrap().at, "2026-04-14T09:02:00Z".parse().unwrap());
}

#[test]
fn a_sub_agents_prompts_are_no_persons_and_its_replay_is_left_out() {
    let source = json!({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "parent"}}}});
    let mut replayed = typed(0, "the parent's");
    replayed["timestamp"] = "2026-04-14T08:59:59.000Z".into();
    let seen = read(&[head(source), replayed, typed(1, "look at the tests"), spoken(2, "assistant", "looked")]);
    assert_eq!(seen.external_id, "parent/own");
    assert_eq!(shown(&seen), ["Other Prose: look at the tests", "Other Prose: looked"]);
}

#[test]
fn a_forks_copy_ends_at_its_own_first_turn() {
    let parent = line("session_meta", 0, json!({"id": "parent", "timestamp": "2026-04-13T09:00:00.000Z"}));
    let started = |at: i64| event(1, json!({"type": "task_started", "started_at": at}));
    let start = "2026-04-14T09:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second();
    let fork = head(json!({"forked_from_id": "parent"}));
    let copy = [fork.clone(), parent.clone(), started(start - 900), typed(1, "copied")];
    let own = [started(start + 5), typed(2, "own")];
    let seen = read(&[copy.as_slice(), own.as_slice()].concat());
    assert_eq!((seen.external_id.as_str(), shown(&seen)), ("own", vec!["User Prose: own".to_owned()]));
    let (none, skipped) = read_all(&joined(&copy));
    assert_eq!((none.len(), skipped.len(), skipped[0].record), (0, 1, 2));
}

#[test]
fn a_thread_kept_out_of_memory_yields_nothing_and_says_so() {
    let (seen, skipped) = read_all(&joined(&[head(json!({"memory_mode": "disabled"})), typed(1, "secret plans")]));
    let reason = "the thread's memory mode is disabled, so the thread is not read".to_owned();
    assert_eq!((seen.len(), skipped), (0, vec![Skipped { record: 1, reason }]));
    let enabled = [head(json!({"memory_mode": "disabled"})), typed(1, "hi"), head(json!({"memory_mode": "enabled"}))];
    assert_eq!(shown(&read(&enabled)), ["User Prose: hi"]);
}

#[test]
fn bare_items_of_mid_2025_are_read() {
    let seen = read(&[
        json!({"id": "bare", "timestamp": "2025-06-04T05:06:07.000Z", "instructions": null}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "use tabs"}]}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}),
    ]);
    assert_eq!((seen.external_id.as_str(), seen.created_at), ("bare", "2025-06-04T05:06:07Z".parse().ok()));
    assert_eq!(shown(&seen), ["User Prose: use tabs", "Assistant Prose: ok"]);
}

#[test]
fn bad_lines_are_reported_and_the_rest_is_read() {
    let (seen, skipped) = read_all(&format!("{}\n[1]\n{{bad\n{}\n{{\"ti", head(json!({})), typed(1, "hi")));
    assert_eq!(shown(&seen[0]), ["User Prose: hi"]);
    let lines: Vec<_> = skipped.iter().map(|skipped| skipped.record).collect();
    assert_eq!(lines, [2, 3, 5]);
}

#[test]
fn only_its_own_lines_are_recognised() {
    let sniff = |text: &str| Codex.sniff(&Head::new(text.into(), true));
    let bare = "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}\n";
    assert!(sniff(&joined(&[head(json!({})), typed(1, "hi")])));
    assert!(sniff(&head(json!({})).to_string()));
    assert!(sniff(&format!("{{\"id\":\"x\",\"timestamp\":\"2025-06-04T05:06:07Z\"}}\n{bare}")));
    assert!(!sniff(&bare.repeat(2)));
    assert!(!sniff("{\"type\":\"event\",\"payload\":{}}\n{\"type\":\"message\",\"payload\":{}}\n"));
}

#[test]
fn the_rollout_of_spring_2025_is_one_object() {
    let document = json!({
        "session": {"id": "early", "timestamp": "2025-04-18T05:06:07.000Z", "instructions": ""},
        "items": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "use tabs"}]}, 7,
            {"type": "reasoning", "summary": [], "duration_ms": 9},
            {"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
        ],
    });
    for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
        assert!(Codex.sniff(&Head::new(text.as_str().into(), true)));
        let (seen, skipped) = read_all(&text);
        assert_eq!(shown(&seen[0]), ["User Prose: use tabs", "Assistant ToolCall: shell ls", "Assistant Prose: ok"]);
        assert_eq!((seen[0].external_id.as_str(), skipped.len()), ("early", 1));
        assert_eq!(seen[0].created_at, "2025-04-18T05:06:07Z".parse().ok());
    }
}

#[test]
fn an_exec_stream_is_the_agents_side_alone() {
    let item = |item: Value| json!({"type": "item.completed", "item": item});
    let text = joined(&[
        json!({"type": "thread.started", "thread_id": "t1"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.started", "item": {"id": "0", "type": "command_execution", "command": "ls"}}),
        item(json!({"id": "0", "type": "command_execution", "command": "ls", "aggregated_output": "a.rs"})),
        item(json!({"id": "1", "type": "reasoning", "text": "hm"})),
        item(json!({"id": "2", "type": "file_change", "changes": [{"path": "a.rs", "kind": "update"}]})),
        item(json!({"id": "3", "type": "agent_message", "text": "Done."})),
        json!({"type": "turn.completed", "usage": {"input_tokens": 3}}),
        json!({"type": "error", "message": "lost"}),
        json!({"type": "other"}),
    ]);
    assert!(Codex.sniff(&Head::new(text.as_str().into(), true)));
    let (seen, skipped) = read_all(&text);
    assert_eq!(
        shown(&seen[0]),
        [
            "Assistant ToolCall: shell ls", "Tool ToolResult: a.rs", "Assistant Reasoning: hm",
            "Assistant ToolCall: file_change a.rs", "Assistant Prose: Done.", "System Context: lost"
        ]
    );
    assert_eq!((seen[0].external_id.as_str(), skipped.len()), ("exec/t1", 1));
}

#[test]
fn the_history_of_prompts_is_read_for_threads_without_a_rollout() {
    let kept = "019d8b3e-5c20-7a11-9f64-3b7c1e9a0d42";
    let entry = |id: &str, text: &str| json!({"session_id": id, "ts": 1_770_000_000, "text": text});
    let folder = tempfile::tempdir().unwrap();
    let day = folder.path().join("sessions/2026/04/14");
    std::fs::create_dir_all(&day).unwrap();
    std::fs::write(day.join(format!("rollout-2026-04-14T09-12-40-{kept}.jsonl.zst")), "x").unwrap();
    let lines = joined(&[entry(kept, "kept"), entry("gone", "use tabs"), entry("gone", "/model"), json!({"ts": 1})]);
    let path = folder.path().join("history.jsonl");
    std::fs::write(&path, &lines).unwrap();
    assert!(Codex.sniff(&Head::new(lines.as_str().into(), true)));
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    Codex.read(crate::open(&path).unwrap(), &mut sink).unwrap();
    let skipped: Vec<_> = sink.skipped.iter().map(|skipped| skipped.record).collect();
    assert_eq!(shown(&seen[0]), ["User Prose: use tabs", "User ToolCall: /model"]);
    assert_eq!((seen.len(), seen[0].external_id.as_str(), skipped), (1, "prompts/gone", vec![4, 1]));
}

#[test]
fn of_an_expanded_prompt_only_the_arguments_are_the_users() {
    let home = tempfile::tempdir().unwrap();
    let day = home.path().join("sessions/2026/04/14");
    std::fs::create_dir_all(&day).unwrap();
    std::fs::create_dir(home.path().join("prompts")).unwrap();
    let rules = "Always write the release notes in the past tense, and never name a customer in them.";
    let template = |name: &str, text: &str| std::fs::write(home.path().join("prompts").join(name), text).unwrap();
    template(
        "notes.md",
        &format!("---\ndescription: notes\n---\n\n# Notes for $VERSION\n\n{rules}\n\nAlso: $TOPIC ($VERSION)\n"),
    );
    template("check.md", &format!("{rules} Check this before every release.\n"));
    template("short.md", "Fix $1 now");
    let expanded = format!("# Notes for 2.4\n\n{rules}\n\nAlso: I prefer short lists. (2.4)");
    let read = |name: &str, texts: &[&str]| {
        let path = home.path().join(name);
        let entry = |text: &&str| json!({"session_id": "a", "ts": 1, "text": text});
        let both = |text: &&str| [typed(1, text), spoken(1, "user", text)];
        let lines: Vec<Value> = if name == "history.jsonl" {
            texts.iter().map(entry).collect()
        } else {
            std::iter::once(head(json!({}))).chain(texts.iter().flat_map(both)).collect()
        };
        std::fs::write(&path, joined(&lines)).unwrap();
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        Codex.read(crate::open(&path).unwrap(), &mut Sink::new(&mut accept)).unwrap();
        seen.iter().flat_map(shown).collect::<Vec<_>>()
    };
    let wanted = [
        "System Context: # Notes for".to_owned(),
        "User Prose: 2.4".to_owned(),
        format!("System Context: {rules}\n\nAlso:"),
        "User Prose: I prefer short lists.".to_owned(),
        "System Context: (".to_owned(),
        "System Context: )".to_owned(),
    ];
    assert_eq!(read("sessions/2026/04/14/rollout-a.jsonl", &[&expanded]), wanted);
    assert_eq!(read("history.jsonl", &[&expanded]), wanted);
    let whole = format!("{rules} Check this before every release.");
    assert_eq!(read("history.jsonl", &[&whole]), [format!("System Context: {whole}")]);
    // What a person typed stays theirs, however long it is and whatever it quotes.
    let quoting = format!("Why does the template say this? {whole} {rules}");
    for own in ["Fix the login now", rules, &quoting] {
        assert_eq!(read("history.jsonl", &[own]), [format!("User Prose: {own}")]);
    }
}

#[test]
fn an_expanded_prompt_without_arguments_is_a_turn() {
    let init = "Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nBe brief.";
    let lines = [
        head(json!({})),
        typed(1, "one"),
        spoken(2, "assistant", "1"),
        typed(3, init),
        spoken(3, "user", init),
        spoken(4, "assistant", "2"),
        event(9, json!({"type": "thread_rolled_back", "num_turns": 1})),
        typed(10, "three"),
    ];
    assert_eq!(shown(&read(&lines)), ["User Prose: one", "Assistant Prose: 1", "User Prose: three"]);
}
