//! Tests of hooks with recorded input from agents. A hook always succeeds within its time limit, with or without
//! output, even if something is broken.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

#[cfg(unix)]
use super::unprivileged::bound;
use super::world::{FACTS, Server, World, raw};

/// Log of a session in which the rules find something.
const LOG: &str = "fixtures/claude-code/5f0c2a9e-7d41-4c1b-9a55-2f6d0e8b1c34.jsonl";
/// Maximum duration of a hook in these tests: its own limit, plus a margin for a busy machine.
const IN_TIME: Duration = Duration::from_secs(6);

/// Every event with recorded input of its agent, except for the log and the folder.
pub(super) fn recorded() -> Vec<(&'static str, &'static str, Value)> {
    let bash = json!({"command": "npm test", "description": "Run the tests"});
    vec![
        ("claude-code", "session-start", json!({"hook_event_name": "SessionStart", "source": "startup"})),
        (
            "claude-code",
            "user-prompt-submit",
            json!({"hook_event_name": "UserPromptSubmit", "permission_mode": "default", "prompt": "Where do we deploy?"}),
        ),
        (
            "claude-code",
            "pre-tool-use",
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": bash, "tool_use_id": "toolu_1"}),
        ),
        (
            "claude-code",
            "post-tool-use",
            json!({
                "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": bash, "tool_use_id": "toolu_1",
                "tool_response": {"stdout": "ok", "stderr": "", "interrupted": false, "isImage": false}, "duration_ms": 4,
            }),
        ),
        (
            "claude-code",
            "post-tool-use-failure",
            json!({
                "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": bash,
                "tool_use_id": "toolu_1", "error": "Exit code 1\nError: Cannot find module 'left-pad'",
                "is_interrupt": false,
            }),
        ),
        (
            "claude-code",
            "stop",
            json!({"hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "Done."}),
        ),
        (
            "claude-code",
            "subagent-stop",
            json!({"hook_event_name": "SubagentStop", "agent_id": "a1", "agent_transcript_path": "/none.jsonl"}),
        ),
        (
            "claude-code",
            "pre-compact",
            json!({"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""}),
        ),
        ("claude-code", "session-end", json!({"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"})),
        (
            "codex",
            "session-start",
            json!({"hook_event_name": "SessionStart", "model": "gpt-5", "permission_mode": "default", "source": "startup"}),
        ),
        (
            "codex",
            "user-prompt-submit",
            json!({"hook_event_name": "UserPromptSubmit", "turn_id": "1", "prompt": "Where do we deploy?"}),
        ),
        (
            "codex",
            "post-tool-use",
            json!({
                "hook_event_name": "PostToolUse", "turn_id": "1", "tool_name": "Bash", "tool_use_id": "call_1",
                "tool_input": {"command": "npm test"},
                "tool_response": "Chunk ID: a\nProcess exited with code 1\nFinal output:\nError: no test specified",
            }),
        ),
        (
            "codex",
            "stop",
            json!({"hook_event_name": "Stop", "turn_id": "1", "stop_hook_active": false, "last_assistant_message": null}),
        ),
    ]
}

/// A project of an agent, with the logs of its sessions.
struct Desk {
    world: World,
}

impl Desk {
    fn new() -> Self {
        Self::asking(None)
    }

    /// Returns a desk whose worker uses this server.
    fn asking(server: Option<&Server>) -> Self {
        let world = World::new(server);
        fs::create_dir_all(world.path("shop")).unwrap();
        fs::create_dir_all(world.path(".claude/projects/-shop")).unwrap();
        Self { world }
    }

    /// Returns the path of a session's log.
    fn log(&self, session: &str) -> String {
        let path = self.world.path(&format!(".claude/projects/-shop/{session}.jsonl"));
        path.to_str().unwrap().to_owned()
    }

    /// Writes the log of a session in this project, which was last modified some minutes ago.
    fn session(&self, session: &str, minutes: u64) {
        let shop = self.world.path("shop");
        let text = fs::read_to_string(LOG).unwrap();
        let text = text.replace("/home/lena/code/harborlight", shop.to_str().unwrap());
        fs::write(self.log(session), text).unwrap();
        let at = SystemTime::now() - Duration::from_secs(minutes * 60);
        fs::File::options().write(true).open(self.log(session)).unwrap().set_modified(at).unwrap();
    }

    fn input(&self, session: &str, rest: &Value) -> String {
        let mut input = json!({
            "session_id": session, "transcript_path": self.log(session), "cwd": self.world.path("shop"),
        });
        let object = input.as_object_mut().unwrap();
        object.extend(rest.as_object().unwrap().clone());
        input.to_string()
    }

    fn command(&self, agent: &str, event: &str) -> Command {
        let mut command = self.world.command(&["hook", event, "--format", agent]);
        command.stdin(Stdio::piped()).current_dir(self.world.path("shop"));
        command
    }

    /// Calls a hook, checks that it ends successfully and in time, and returns its output.
    fn called(&self, agent: &str, event: &str, input: &str) -> String {
        Self::call(&mut self.command(agent, event), &format!("{agent} {event}"), input)
    }

    fn call(command: &mut Command, what: &str, input: &str) -> String {
        let begun = Instant::now();
        let mut child = command.spawn().unwrap();
        // A hook that needs no further input may have stopped reading.
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        ended_well(child, begun, what)
    }

    /// Calls a hook of Claude Code and returns its output, even on a busy machine.
    fn hook(&self, event: &str, session: &str, rest: &Value) -> Value {
        let mut command = self.command("claude-code", event);
        let printed = Self::call(command.args(["--limit-ms", "5500"]), event, &self.input(session, rest));
        if printed.is_empty() { Value::Null } else { serde_json::from_str(&printed).unwrap() }
    }

    /// Returns the context that a new session receives.
    fn told(&self, session: &str) -> String {
        let said = self.hook("session-start", session, &json!({"source": "startup"}));
        said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until no due work is left.
    fn settle(&self) {
        let begun = Instant::now();
        loop {
            let listed = self.world.done(&["runs", "queue", "--json"]);
            let text = String::from_utf8(listed.stdout).unwrap();
            let open = |line: &str| {
                let job: Value = serde_json::from_str(line).unwrap();
                let due: jiff::Timestamp = job["not_before"].as_str().unwrap().parse().unwrap();
                job["status"] == "running" || (job["status"] == "waiting" && due <= jiff::Timestamp::now())
            };
            if !text.lines().any(open) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_mins(2), "{text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Desk {
    /// Ends the worker that hooks have started, which would otherwise wait for sessions to become idle.
    fn drop(&mut self) {
        let holders = self.world.look("SELECT pid FROM leases", |row| row.get::<_, u32>(0)).unwrap_or_default();
        for pid in holders.into_iter().filter(|pid| *pid != std::process::id()) {
            Command::new("kill").arg(pid.to_string()).stderr(Stdio::null()).status().ok();
        }
    }
}

/// Waits for the end of a hook, which must be successful and in time, with one JSON object or no output.
fn ended_well(child: Child, begun: Instant, what: &str) -> String {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert!(status.success(), "{what}: {status} {}", String::from_utf8_lossy(&stderr));
    assert!(begun.elapsed() < IN_TIME, "{what} took {:?}", begun.elapsed());
    let printed = String::from_utf8(stdout).unwrap();
    if !printed.is_empty() {
        assert!(serde_json::from_str::<Value>(&printed).unwrap().is_object(), "{what}: {printed}");
    }
    printed.trim().to_owned()
}

fn every_hook(desk: &Desk) -> Vec<String> {
    recorded().into_iter().map(|(agent, event, rest)| desk.called(agent, event, &desk.input("s1", &rest))).collect()
}

#[test]
fn every_hook_ends_well_with_nothing_known() {
    let desk = Desk::new();
    let said = every_hook(&desk);
    assert!(said.iter().all(String::is_empty), "{said:?}");
    let log = desk.world.path("memories.hooks.log");
    assert!(!log.exists(), "{}", fs::read_to_string(log).unwrap());
    let doctor = desk.world.good(&["status", "--check"]);
    assert!(doctor.contains("no hooks; `afterthought agent install claude-code`"), "{doctor}");
}

#[test]
fn a_database_that_is_locked_missing_corrupt_or_out_of_reach_stops_no_hook() {
    let desk = Desk::new();
    // The database is locked by a process that does not release it.
    desk.world.good(&["remember", "The shop deploys with Nomad."]);
    let lock = raw(&desk.world.database()).unwrap();
    lock.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    every_hook(&desk);
    drop(lock);
    let log = fs::read_to_string(desk.world.path("memories.hooks.log")).unwrap();
    assert!(log.contains("stop: the hook took too long and was stopped"), "{log}");
    // There is no database, or a folder in its place.
    desk.world.forget();
    every_hook(&desk);
    desk.world.forget();
    fs::create_dir(desk.world.database()).unwrap();
    assert!(every_hook(&desk).iter().all(String::is_empty));
    fs::remove_dir(desk.world.database()).unwrap();
    // The file belongs to another program, or is damaged.
    fs::write(desk.world.database(), "nothing that SQLite knows, and long enough to be no header of it at all")
        .unwrap();
    assert!(every_hook(&desk).iter().all(String::is_empty));
    desk.world.forget();
    desk.world.good(&["remember", "The shop deploys with Nomad."]);
    let mut bytes = fs::read(desk.world.database()).unwrap();
    bytes[4096..].fill(0xa5);
    fs::write(desk.world.database(), bytes).unwrap();
    every_hook(&desk);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_stops_no_hook_and_what_is_known_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new();
    let folder = desk.world.path("data");
    fs::create_dir(&folder).unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let call = || {
        let mut said = Vec::new();
        for (agent, event, rest) in recorded() {
            let mut command = desk.command(agent, event);
            command.env("AFTERTHOUGHT_DB", folder.join("memories.db"));
            let mut command = bound(&desk.world, &command);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            said.push(Desk::call(&mut command, event, &desk.input("s1", &rest)));
        }
        said
    };
    set(&folder, 0o555);
    assert!(call().iter().all(String::is_empty), "there is nothing to tell");
    set(&folder, 0o700);
    let out = desk
        .world
        .command(&["remember", "The user prefers tabs."])
        .env("AFTERTHOUGHT_DB", folder.join("memories.db"))
        .output();
    assert!(out.unwrap().status.success());
    set(&folder.join("memories.db"), 0o444);
    set(&folder, 0o555);
    let said = call();
    let told = said.iter().filter(|said| said.contains("The user prefers tabs.")).count();
    assert_eq!(told, 2, "at the start of a session of either agent: {said:?}");
    set(&folder, 0o700);
}

#[test]
fn input_that_is_empty_garbage_or_huge_stops_no_hook() {
    let desk = Desk::new();
    let huge = json!({
        "tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_response": {"stdout": "x".repeat(20_000_000)},
    });
    let endless = format!("{{\"prompt\": \"{}", "y".repeat(40_000_000));
    let inputs = [
        String::new(),
        "\n".to_owned(),
        "not JSON, sk-ant-api03-Wq8nRt5yUi2oPl4kJh7gFd9sAz1xCv3bNm6QwErTyUiOpAs".to_owned(),
        "[]".to_owned(),
        "{\"session_id\":".to_owned(),
        "{\"session_id\": 7, \"cwd\": {}, \"tool_input\": [], \"tool_name\": \"Bash\"}".to_owned(),
        "{\"cwd\": \"/none/such\", \"transcript_path\": \"\\u0000\"}".to_owned(),
        desk.input("s1", &huge),
        endless,
    ];
    for input in &inputs {
        for event in ["session-start", "post-tool-use", "session-end"] {
            desk.called("claude-code", event, input);
        }
    }
    for (event, agent) in [("no-such-event", "claude-code"), ("stop", "no-such-agent")] {
        assert_eq!(desk.called(agent, event, "{}"), "");
    }
    let log = fs::read_to_string(desk.world.path("memories.hooks.log")).unwrap();
    assert!(log.contains("the input is not a JSON object") && !log.contains("sk-ant"), "{log}");
}

#[test]
fn standard_input_that_stays_open_is_not_waited_for() {
    let desk = Desk::new();
    desk.world.good(&["remember", "The user prefers tabs.", "--category", "preference"]);
    for event in ["session-start", "user-prompt-submit", "pre-tool-use", "post-tool-use", "stop", "session-end"] {
        // No input arrives at all.
        let begun = Instant::now();
        let mut child = desk.command("claude-code", event).spawn().unwrap();
        let open = child.stdin.take().unwrap();
        assert_eq!(ended_well(child, begun, event), "", "{event}");
        drop(open);
    }
    // The whole input arrives, but the pipe stays open.
    let begun = Instant::now();
    let mut child = desk.command("claude-code", "session-start").spawn().unwrap();
    let mut open = child.stdin.take().unwrap();
    open.write_all(desk.input("s1", &json!({"source": "startup"})).as_bytes()).unwrap();
    open.flush().unwrap();
    let said = ended_well(child, begun, "session-start");
    assert!(said.contains("prefers tabs"), "{said}");
    drop(open);
}

#[test]
fn mistakes_on_the_command_line_are_no_refusal_of_the_prompt() {
    let desk = Desk::new();
    for arguments in [&["hook"][..], &["hook", "stop", "--no-such-option"], &["hook", "stop", "--limit-ms", "x"]] {
        assert!(desk.world.done(arguments).status.success(), "{arguments:?}");
    }
    assert!(!desk.world.done(&["search", "--no-such-option"]).status.success());
    fs::create_dir_all(desk.world.path(".config/afterthought")).unwrap();
    fs::write(desk.world.path("shop/afterthought.toml"), "no toml [").unwrap();
    every_hook(&desk);
}

#[test]
fn a_session_ends_and_the_next_one_knows() {
    let desk = Desk::new();
    desk.session("s1", 0);
    assert_eq!(desk.told("s1"), "", "nothing is known yet");
    assert_eq!(desk.hook("session-end", "s1", &json!({"reason": "other"})), Value::Null);
    desk.settle();
    let told = desk.told("s2");
    assert!(told.contains("Heroku") || told.contains("Harborlight") || told.contains("PostgreSQL"), "{told}");
    assert!(told.encode_utf16().count() <= 10_000);
    assert_eq!(told, desk.told("s3"), "the same bytes for the same memories");
    // The memory must not appear in another project.
    fs::create_dir(desk.world.path("other")).unwrap();
    let input = json!({"session_id": "s4", "cwd": desk.world.path("other"), "source": "startup"});
    let elsewhere = desk.called("claude-code", "session-start", &input.to_string());
    assert!(!elsewhere.contains("Heroku"), "{elsewhere}");
    // The finished work is not repeated: another event for the same end creates no work.
    desk.hook("session-end", "s1", &json!({}));
    let jobs = desk.world.good(&["runs", "queue", "--all", "--json"]);
    assert_eq!(jobs.lines().count(), 1);
    assert!(jobs.contains("\"status\":\"done\""), "{jobs}");
}

#[test]
fn a_session_whose_end_was_never_told_is_found_by_the_next_one() {
    let desk = Desk::new();
    desk.session("killed", 30);
    desk.session("under-way", 2);
    desk.session("agent-sub", 30);
    desk.told("s2");
    desk.settle();
    let jobs = desk.world.good(&["runs", "queue", "--all"]);
    assert!(jobs.contains("killed.jsonl") && !jobs.contains("under-way") && !jobs.contains("agent-sub"), "{jobs}");
    assert!(!desk.told("s3").is_empty());
}

#[test]
fn hooks_inside_a_worker_do_nothing() {
    let desk = Desk::new();
    let mut command = desk.command("claude-code", "session-end");
    let mut child = command.env("AFTERTHOUGHT_WORKER", "1").spawn().unwrap();
    child.stdin.take().unwrap().write_all(desk.input("s1", &json!({})).as_bytes()).ok();
    assert_eq!(ended_well(child, Instant::now(), "session-end"), "");
    assert!(!desk.world.database().exists());
}

#[test]
fn where_nothing_is_to_be_read_hooks_do_nothing() {
    let desk = Desk::new();
    desk.hook("user-prompt-submit", "s1", &json!({"prompt": "/remember The user prefers tabs."}));
    assert!(desk.told("s2").contains("prefers tabs"));
    fs::write(desk.world.path("shop/afterthought.toml"), "[guard]\ndeny = [\"shop\"]").unwrap();
    desk.world.good(&["project", "trust", "shop", "--yes"]);
    desk.session("s1", 0);
    assert_eq!(desk.told("s3"), "");
    desk.hook("session-end", "s1", &json!({}));
    assert_eq!(desk.world.done(&["runs", "queue", "--all"]).status.code(), Some(1));
}

#[test]
fn what_the_agent_says_between_answers_puts_the_work_off() {
    let desk = Desk::new();
    desk.session("s1", 0);
    desk.hook("stop", "s1", &json!({"stop_hook_active": false}));
    let job: Value = serde_json::from_str(&desk.world.good(&["runs", "queue", "--json"])).unwrap();
    let due: jiff::Timestamp = job["not_before"].as_str().unwrap().parse().unwrap();
    let minutes = due.duration_since(jiff::Timestamp::now()).as_mins();
    assert!((8..=10).contains(&minutes), "{job}");
    // In the meantime, the waiting worker processes jobs that are due at once.
    desk.hook("session-end", "s1", &json!({}));
    desk.settle();
    assert!(desk.world.good(&["runs", "queue", "--all", "--json"]).contains("\"status\":\"done\""));
}

fn bash(command: &str, rest: &Value) -> Value {
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_1"});
    call.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    call
}

fn context(said: &Value) -> &str {
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

#[test]
fn the_reply_to_remember_has_one_full_stop_after_the_memory() {
    let desk = Desk::new();
    let says = |prompt: &str| desk.hook("user-prompt-submit", "s1", &json!({"prompt": prompt}));
    says("/remember The shop deploys with Nomad to the Frankfurt cluster.");
    let near = says("/remember The shop deploys with Nomad to the Paris cluster.");
    let reason = near["reason"].as_str().unwrap();
    assert!(reason.contains("the Paris cluster. Possibly about the same: "), "{near}");
}

#[test]
fn what_mended_a_failure_is_kept_and_told_at_the_next_one() {
    let desk = Desk::new();
    let fails = |command: &str, error: &str| bash(command, &json!({"error": format!("Exit code 1\n{error}")}));
    let works = |command: &str| bash(command, &json!({"tool_response": {"stdout": "ok", "stderr": ""}}));
    let missing = "Error: Cannot find module 'left-pad'";
    assert_eq!(desk.hook("post-tool-use-failure", "s1", &fails("npm test", missing)), Value::Null);
    desk.hook("post-tool-use", "s1", &works("npm ci"));
    desk.hook("post-tool-use", "s1", &works("npm test"));
    // In the next session, the remedy is shown for the same failure, but only once.
    let said = desk.hook("post-tool-use-failure", "s2", &fails("npm test", missing));
    assert!(context(&said).contains("until `npm ci` was run"), "{said}");
    assert!(said["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure");
    assert_eq!(desk.hook("post-tool-use-failure", "s2", &fails("npm test", missing)), Value::Null, "a moment ago");
    // Another failure of the same command has no known remedy.
    assert_eq!(
        desk.hook("post-tool-use-failure", "s3", &fails("npm test", "Timeout in checkout.spec.ts")),
        Value::Null
    );
    // What the hooks recorded is an answer of `fix`, for the command that failed.
    let fix = |more: &[&str]| desk.world.command(&[&["fix", missing, "--everywhere"], more].concat()).output().unwrap();
    let told = String::from_utf8(fix(&[]).stdout).unwrap();
    assert!(told.contains("recorded by a hook") && told.contains("until `npm ci` was run"), "{told}");
    assert!(fix(&["--command", "npm test -- --watch"]).status.success());
    assert!(fix(&["--command", "cargo build"]).status.success(), "a command never finds less");
    // A spelling that is known to fail causes a warning before it runs; others do not.
    desk.hook("post-tool-use-failure", "s4", &fails("cargo test --foo", "error: unexpected argument '--foo' found"));
    desk.hook("post-tool-use", "s4", &works("cargo test foo"));
    let said = desk.hook("pre-tool-use", "s5", &bash("cargo test --foo", &json!({})));
    assert!(context(&said).contains("`cargo test foo` works instead"), "{said}");
    assert_eq!(desk.hook("pre-tool-use", "s5", &bash("cargo test --foo", &json!({}))), Value::Null, "a moment ago");
    assert_eq!(desk.hook("pre-tool-use", "s6", &bash("cargo test", &json!({}))), Value::Null);
    // The remedy is a memory like any other, with evidence.
    let why = desk.world.good(&["memory", "list", "--category", "solution", "--json"]);
    assert_eq!(why.lines().count(), 2, "{why}");
    assert!(desk.world.export().contains("claude-code:s1"));
}

/// Returns a line of a Claude Code log of a session in `folder`.
fn logged(folder: &Path, id: usize, role: &str, content: &Value) -> String {
    json!({
        "type": role, "uuid": format!("m{id}"), "sessionId": "s0", "cwd": folder, "timestamp": format!("2026-03-02T09:{id:02}:00.000Z"),
        "message": {"role": role, "content": content},
    })
    .to_string()
}

fn call(id: &str, tool: &str, input: &Value) -> Value {
    json!([{"type": "tool_use", "id": id, "name": tool, "input": input}])
}

fn result(id: &str, is_error: bool, text: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": text}])
}

#[test]
fn before_an_edit_and_a_command_the_agent_sees_what_is_known_once() {
    let desk = Desk::new();
    let folder = desk.world.path("shop");
    let line = |id: usize, role: &str, content: Value| logged(&folder, id, role, &content);
    let file = folder.join("loader.py");
    let log = [
        line(1, "user", json!("Make the loader cache its rows")),
        line(2, "assistant", call("a", "Edit", &json!({"file_path": file, "old_string": "x", "new_string": "y"}))),
        line(3, "user", result("a", false, "updated")),
        line(4, "assistant", call("b", "Bash", &json!({"command": "pytest"}))),
        line(5, "user", result("b", true, "Exit code 1\n2 failed in 0.1s")),
    ];
    fs::write(desk.world.path("s0.jsonl"), log.join("\n") + "\n").unwrap();
    desk.world.good(&["run", desk.world.path("s0.jsonl").to_str().unwrap(), "--extractor", "rules"]);
    let edit =
        |name: &str| json!({"tool_name": "Edit", "tool_input": {"file_path": folder.join(name), "old_string": "x"}});
    let said = desk.hook("pre-tool-use", "s1", &edit("loader.py"));
    assert!(context(&said).contains("“Make the loader cache its rows” failed: the last tests failed"), "{said}");
    assert_eq!(desk.hook("pre-tool-use", "s1", &edit("loader.py")), Value::Null, "once a session");
    assert_eq!(desk.hook("pre-tool-use", "s1", &edit("other.py")), Value::Null);
    desk.world.good(&["remember", "Never force push to a shared branch.", "--category", "convention"]);
    let push = |session: &str, command: &str| desk.hook("pre-tool-use", session, &bash(command, &json!({})));
    assert!(context(&push("s2", "git push --force origin x")).contains("Never force push"));
    assert_eq!(push("s2", "git push --force origin x"), Value::Null, "once a session");
    assert_eq!(push("s3", "git push origin x"), Value::Null);
}

#[test]
fn a_prompt_or_a_script_that_names_a_program_shows_how_it_was_called() {
    let desk = Desk::new();
    let folder = desk.world.path("shop");
    let line = |id: usize, role: &str, content: Value| logged(&folder, id, role, &content);
    let ran = |id: &str, command: &str| call(id, "Bash", &json!({ "command": command }));
    let log = [
        line(1, "user", json!("Load the prices of week nine")),
        line(2, "assistant", ran("a", "pricectl export --week 9 > /tmp/p.csv && python3 load.py /tmp/p.csv")),
        line(3, "user", result("a", true, "Exit code 1\nValueError: no currency")),
        line(
            4,
            "assistant",
            ran("b", "pricectl export --currency --week 9 > /tmp/p.csv && python3 load.py /tmp/p.csv"),
        ),
        line(5, "user", result("b", false, "9 rows")),
    ];
    fs::write(desk.world.path("s0.jsonl"), log.join("\n") + "\n").unwrap();
    desk.world.good(&["run", desk.world.path("s0.jsonl").to_str().unwrap(), "--extractor", "rules"]);
    let prompt = |session: &str, text: &str| desk.hook("user-prompt-submit", session, &json!({ "prompt": text }));
    let expected = "`pricectl export --week 9 > /tmp/p.csv` led to “ValueError: no currency”; \
        `pricectl export --currency --week 9 > /tmp/p.csv` worked.";
    let said = prompt("s1", "Write a script that exports every week with pricectl.");
    assert!(context(&said).contains(expected), "{said}");
    assert_eq!(prompt("s1", "And another one with pricectl."), Value::Null, "once a session");
    assert_eq!(prompt("s2", "Write a script that exports every week."), Value::Null);
    let writes = |session: &str, name: &str, text: &str| {
        let input = json!({"tool_name": "Write", "tool_input": {"file_path": folder.join(name), "content": text}});
        desk.hook("pre-tool-use", session, &input)
    };
    let said = writes("s3", "all.sh", "for week in 1 2; do\n  pricectl export --week $week\ndone\n");
    assert!(context(&said).contains(expected), "{said}");
    assert_eq!(writes("s4", "all.md", "Call `pricectl export`.\n"), Value::Null);
}

#[test]
fn what_failed_with_a_secret_is_not_kept() {
    let desk = Desk::new();
    let secret = "sk-ant-api03-Wq8nRt5yUi2oPl4kJh7gFd9sAz1xCv3bNm6QwErTyUiOpAsDfGh";
    let fails = bash("deploy --key", &json!({"error": format!("error: unknown option --key {secret}")}));
    desk.hook("post-tool-use-failure", "s1", &fails);
    let works = bash(&format!("deploy {secret}"), &json!({"tool_response": {"stdout": "ok"}}));
    desk.hook("post-tool-use", "s1", &works);
    for name in ["memories.db", "memories.db-wal", "memories.hooks.log"] {
        let bytes = fs::read(desk.world.path(name)).unwrap_or_default();
        let found = bytes.windows(24).any(|window| window == &secret.as_bytes()[..24]);
        assert!(!found, "{name} holds the secret");
    }
}

#[test]
fn a_person_remembers_recalls_and_forgets_by_prompt() {
    let desk = Desk::new();
    let says = |session: &str, prompt: &str| desk.hook("user-prompt-submit", session, &json!({"prompt": prompt}));
    let said = says("s1", "/remember The shop deploys with Nomad to the Frankfurt cluster.");
    assert_eq!(said["decision"], "block");
    assert!(said["reason"].as_str().unwrap().starts_with("Remembered in project/shop"), "{said}");
    let again = says("s1", "/remember The shop deploys with Nomad to the Frankfurt cluster.");
    assert!(again["reason"].as_str().unwrap().starts_with("Known already"), "{again}");
    let everywhere = says("s1", "/remember --global Nightly builds are kept for a month.");
    assert_eq!(everywhere["reason"], "Remembered in global: Nightly builds are kept for a month.");
    let secret = says("s1", "/remember The key is AKIAIOSFODNN7QWERTYU.");
    assert!(secret["reason"].as_str().unwrap().starts_with("Not remembered: the text contains a secret"), "{secret}");
    assert!(context(&says("s1", "/recall nomad")).contains("Frankfurt cluster"));
    assert_eq!(says("s1", "/recall zebra")["reason"], "Nothing is remembered about: zebra");
    // Memories relevant to a prompt are shown once per session, and irrelevant memories are not shown.
    let told = says("s2", "Does the shop deploy to Frankfurt, or another cluster?");
    assert!(context(&told).contains("Nomad"), "{told}");
    assert_eq!(says("s2", "Does the shop deploy to Frankfurt, or another cluster?"), Value::Null);
    assert_eq!(says("s3", "Please rename the variable in the parser"), Value::Null);
    // A short question has few words, and a memory with most of them answers it.
    says("s5", "/remember The public API is now deployed on Fly.io.");
    for (session, question) in [("s6", "Where is our API deployed?"), ("s7", "Where do we deploy the API now?")] {
        assert!(context(&says(session, question)).contains("Fly.io"), "{question}");
    }
    for other in ["Draw the API as a diagram", "Write an API for a list of books and their authors", "commit this"] {
        assert_eq!(says("s8", other), Value::Null, "{other}");
    }
    says("s9", "/remember The list of speakers has at most 20 people.");
    for other in ["List most people", "Show me the list of people"] {
        assert_eq!(says("s10", other), Value::Null, "{other}");
    }
    assert!(context(&says("s11", "How many people are in the list of speakers?")).contains("20 people"));
    let forgotten = says("s3", "/forget nomad frankfurt");
    assert!(forgotten["reason"].as_str().unwrap().starts_with("Forgotten: The shop deploys"), "{forgotten}");
    assert_eq!(says("s3", "/recall nomad")["decision"], "block");
    // What is about the person applies to all projects, in the words of a memory.
    let own = says("s4", "/remember I prefer tabs over spaces");
    assert_eq!(own["reason"], "Remembered in global: The user prefers tabs over spaces.");
    let chinese = says("s4", "/remember 我喜欢简短的回答");
    assert!(chinese["reason"].as_str().unwrap().starts_with("Remembered in global"), "{chinese}");
    let global = says("s4", "/remember --global Releases are tagged on Mondays.");
    assert_eq!(global["reason"], "Remembered in global: Releases are tagged on Mondays.");
    for bare in ["/remember", "/remember --global", "/recall", "/forget "] {
        assert!(says("s3", bare)["reason"].as_str().unwrap().starts_with("There is nothing to"), "{bare}");
    }
    let chinese = says("s4", &format!("/remember {}", "数据库".repeat(200)));
    assert!(chinese["reason"].as_str().unwrap().starts_with("Remembered in project/shop"), "{chinese}");
    fs::write(desk.world.path("memories.db"), "no database").unwrap();
    for (prompt, told) in [("/remember Ana sings.", "Not remembered: "), ("/recall Ana", "Not recalled: ")] {
        let failed = says("s9", prompt);
        assert!(failed["reason"].as_str().is_some_and(|reason| reason.starts_with(told)), "{prompt}: {failed}");
    }
}

#[test]
fn what_a_session_was_told_at_its_start_is_not_told_again_with_a_prompt() {
    let desk = Desk::new();
    let says = |session: &str, prompt: &str| desk.hook("user-prompt-submit", session, &json!({"prompt": prompt}));
    says("s0", "/remember The shop deploys with Nomad to the Frankfurt cluster.");
    let prompt = "Does the shop deploy to the Frankfurt cluster?";
    assert!(desk.told("s1").contains("Nomad"));
    assert_eq!(says("s1", prompt), Value::Null);
    assert!(context(&says("s2", prompt)).contains("Nomad"), "this one was not");
}

#[test]
fn settings_of_agents_are_shown_asked_about_and_given_back() {
    let desk = Desk::new();
    let path = desk.world.path(".claude/settings.json");
    let own = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"say done\"\n          }\n        ]\n      }\n    ]\n  }\n}\n";
    fs::write(&path, own).unwrap();
    let read = || fs::read_to_string(&path).unwrap();
    let shown = desk.world.good(&["agent", "install", "claude-code", "--dry-run"]);
    assert!(shown.contains("+ ") && shown.contains("hook session-start") && !shown.contains("- "), "{shown}");
    assert_eq!(read(), own);
    assert!(!desk.world.done(&["agent", "install", "claude-code"]).status.success(), "nobody can be asked");
    assert_eq!(read(), own);
    desk.world.good(&["agent", "install", "claude-code", "--yes"]);
    let written = read();
    assert!(written.contains("say done") && written.contains("hook session-end"), "{written}");
    assert_eq!(fs::read_to_string(desk.world.path(".claude/settings.json.before-afterthought-1")).unwrap(), own);
    assert!(desk.world.good(&["agent", "install", "claude-code", "--yes"]).contains("needs no change"));
    assert_eq!(read(), written);
    desk.hook("stop", "s1", &json!({}));
    let doctor = desk.world.good(&["status", "--check"]);
    assert!(doctor.contains("8 hooks in place") && doctor.contains("stop 0 s ago"), "{doctor}");
    desk.world.good(&["agent", "uninstall", "claude-code", "--yes"]);
    assert_eq!(read(), own);
    // A file that the installation created is removed, and one that was empty before is not.
    let codex = desk.world.path(".codex/hooks.json");
    for _ in 0..2 {
        let installed = desk.world.good(&["agent", "install", "codex", "--yes"]);
        assert!(installed.lines().count() < 4 && installed.contains("is written"), "{installed}");
        desk.world.good(&["agent", "uninstall", "codex", "--yes"]);
        assert!(!codex.exists());
    }
    fs::write(&codex, "{}\n").unwrap();
    desk.world.good(&["agent", "install", "codex", "--yes"]);
    desk.world.good(&["agent", "uninstall", "codex", "--yes"]);
    assert_eq!(fs::read_to_string(&codex).unwrap(), "{}\n");
    fs::write(&codex, "").unwrap();
    desk.world.good(&["agent", "install", "codex", "--yes"]);
    desk.world.good(&["agent", "uninstall", "codex", "--yes"]);
    assert!(codex.exists());
    fs::remove_file(&codex).unwrap();
    #[cfg(unix)]
    {
        fs::read_dir(codex.parent().unwrap()).unwrap().for_each(|one| fs::remove_file(one.unwrap().path()).unwrap());
        let target = desk.world.path("dotfiles.json");
        fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &codex).unwrap();
        desk.world.good(&["agent", "install", "codex", "--yes"]);
        desk.world.good(&["agent", "uninstall", "codex", "--yes"]);
        assert!(codex.is_symlink() && target.exists());
        fs::remove_file(&codex).unwrap();
    }
    // Invalid settings are not changed, and the error mentions them.
    for bad in ["{\"hooks\": ", "[]", "{\"hooks\": {\"Stop\": 1}}"] {
        fs::write(&path, bad).unwrap();
        let output = desk.world.done(&["agent", "install", "claude-code", "--yes"]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("was not changed"), "{output:?}");
        assert_eq!(read(), bad);
    }
    // A shell can run the hook command as it appears in the settings.
    desk.world.good(&["agent", "install", "codex", "--yes"]);
    let codex: Value =
        serde_json::from_str(&fs::read_to_string(desk.world.path(".codex/hooks.json")).unwrap()).unwrap();
    let command = codex["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    let output = shell(command, &desk);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

#[test]
fn what_a_person_decides_is_made_sure_and_notes_are_left_to_the_next_that_closes() {
    let desk = Desk::new();
    let log = desk.world.path("memories.db-wal");
    desk.hook("user-prompt-submit", "s1", &json!({"prompt": "/remember The shop sells coffee."}));
    assert!(desk.world.database().exists() && !log.exists());
    assert!(desk.told("s1").contains("The shop sells coffee."));
    assert!(log.exists(), "no disk is waited for");
    desk.world.good(&["remember", "The shop sells tea."]);
    assert!(!log.exists());
    let told: i64 = desk.world.look("SELECT count(*) FROM hook_told", |row| row.get(0)).unwrap()[0];
    assert_eq!(told, 1, "and no note is lost");
}

#[test]
fn slash_commands_are_files_whose_text_the_hook_understands() {
    let desk = Desk::new();
    let folder = desk.world.path(".claude/commands");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("recall.md"), "Recall the last release.").unwrap();
    let shown = desk.world.good(&["agent", "install", "claude-code", "--dry-run"]);
    assert!(shown.contains("+ /remember $ARGUMENTS") && !folder.join("remember.md").exists(), "{shown}");
    desk.world.good(&["agent", "install", "claude-code", "--yes"]);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("recall.md"), "Recall the last release.", "it is somebody else's");
    let (head, text) = read("remember.md").split_once("\n---\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(head.starts_with("---\ndescription: Remember something for later sessions (afterthought)"), "{head}");
    // The hook may receive the typed text or the expanded command.
    for prompt in ["/remember The shop sells coffee.".to_owned(), text.replace("$ARGUMENTS", "The shop sells tea.")] {
        let said = desk.hook("user-prompt-submit", "s1", &json!({"prompt": prompt}));
        let reason = said["reason"].as_str().unwrap();
        assert!(reason.starts_with("Remembered in") && !reason.contains("/remember"), "{said}");
    }
    let again = desk.world.good(&["agent", "install", "claude-code", "--yes"]);
    assert!(again.contains("needs no change") && !again.contains("is written"), "{again}");
    fs::write(folder.join("forget.md"), read("forget.md") + "And say so.").unwrap();
    desk.world.good(&["agent", "uninstall", "claude-code", "--yes"]);
    let mut left: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["forget.md", "recall.md"], "what a person has changed is theirs");
}

#[test]
fn each_of_several_remedies_for_one_failure_is_kept_and_the_one_that_helped_most_comes_first() {
    let desk = Desk::new();
    let missing = "Error: Cannot find module 'left-pad'";
    let fails = bash("npm test", &json!({"error": format!("Exit code 1\n{missing}")}));
    let works = |command: &str| bash(command, &json!({"tool_response": {"stdout": "ok", "stderr": ""}}));
    let mend = |session: &str, remedy: &str| {
        desk.hook("post-tool-use-failure", session, &fails);
        desk.hook("post-tool-use", session, &works(remedy));
        desk.hook("post-tool-use", session, &works("npm test"));
    };
    mend("s1", "npm ci");
    mend("s2", "npm install left-pad");
    // The newer remedy comes first, until the other one has helped once more.
    mend("s5", "npm ci");
    let said = desk.hook("post-tool-use-failure", "s3", &fails);
    let told = context(&said);
    assert!(told.contains("until `npm ci` was run"), "{told}");
    assert!(told.contains("until `npm install left-pad` was run"), "{told}");
    assert!(told.find("npm ci") < told.find("npm install"), "{told}");
    // Storing the same remedy again adds no memory.
    mend("s4", "npm ci");
    let count = |memories: &str| memories.matches("fails with").count();
    assert_eq!(count(&desk.world.good(&["memory", "list"])), 2);
}

fn shell(command: &str, desk: &Desk) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("HOME", desk.world.path(".")).env("AFTERTHOUGHT_DB", desk.world.database());
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(desk.input("s9", &json!({"source": "startup"})).as_bytes()).ok();
    child.wait_with_output().unwrap()
}

#[test]
fn a_service_is_written_for_each_manager() {
    let desk = Desk::new();
    let unit = desk.world.good(&["log", "service", "systemd", "--dry-run", "--", "--max-cost-per-day", "0.5"]);
    assert!(unit.contains(" watch --max-cost-per-day 0.5\n") && unit.contains("Nice=10"), "{unit}");
    assert!(!desk.world.path(".config/systemd/user/afterthought.service").exists());
    desk.world.good(&["log", "service", "systemd"]);
    assert!(desk.world.path(".config/systemd/user/afterthought.service").exists());
    assert_eq!(desk.world.done(&["log", "service", "systemd"]).status.code(), Some(2), "it is there already");
    let plist = desk.world.good(&["log", "service", "launchd", "--dry-run"]);
    assert!(plist.contains("<string>watch</string>"), "{plist}");
    managers_take_them(&desk, &plist);
}

/// Has the files checked by the service managers on this machine.
fn managers_take_them(desk: &Desk, plist: &str) {
    let unit = desk.world.path(".config/systemd/user/afterthought.service");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--user", "--man=no"]).arg(&unit).env("XDG_RUNTIME_DIR", desk.world.path("."));
    if let Ok(output) = verify.output() {
        // The output does not mention a valid unit; without a session, it may contain an error about systemd itself.
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("afterthought.service"), "{said}");
    }
    fs::write(desk.world.path("a.plist"), plist).unwrap();
    let read = "import plistlib, sys; print(plistlib.load(open(sys.argv[1], 'rb'))['ProgramArguments'][-1])";
    if let Ok(output) = Command::new("python3").args(["-c", read]).arg(desk.world.path("a.plist")).output() {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "watch\n", "{output:?}");
    }
}

#[test]
fn a_watch_extracts_what_has_come_to_rest() {
    let desk = Desk::new();
    desk.session("rested", 30);
    desk.session("under-way", 2);
    desk.session("old", 60 * 24 * 40);
    desk.world.good(&["log", "watch", "--from", "claude-code", "--once"]);
    let jobs = desk.world.good(&["runs", "queue", "--all"]);
    assert!(jobs.contains("rested.jsonl") && !jobs.contains("under-way") && !jobs.contains("old.jsonl"), "{jobs}");
    assert!(!desk.told("s1").is_empty());
    assert_eq!(desk.world.done(&["log", "watch", "/none/such", "--once"]).status.code(), Some(2));
    assert_eq!(desk.world.done(&["log", "watch", "--from", "nobody", "--once"]).status.code(), Some(2));
}

#[test]
fn a_watch_says_that_a_denied_log_is_not_extracted() {
    let desk = Desk::new();
    desk.session("rested", 30);
    fs::create_dir_all(desk.world.path(".config/afterthought")).unwrap();
    fs::write(desk.world.path(".config/afterthought/config.toml"), "[guard]\ndeny = [\"*rested*\"]\n").unwrap();
    let output = desk.world.done(&["log", "watch", "--from", "claude-code", "--once"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("rested.jsonl is not extracted: the setting guard.deny excludes it"), "{told}");
    assert!(told.contains("0 logs extracted, 0 left") && !told.contains("extracted /"), "{told}");
    let again = desk.world.done(&["log", "watch", "--from", "claude-code", "--once"]);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("rested"), "{again:?}");
}

#[cfg(unix)]
#[test]
fn one_process_watches_and_a_signal_ends_it_cleanly() {
    let desk = Desk::new();
    desk.session("rested", 30);
    let folder = desk.world.path(".claude/projects");
    let folder = folder.to_str().unwrap();
    let mut watch =
        desk.world.command(&["log", "watch", folder]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let done = || {
        let found = desk.world.look("SELECT status FROM jobs", |row| row.get::<_, String>(0)).unwrap_or_default();
        found == ["done"]
    };
    while !done() {
        assert!(begun.elapsed() < Duration::from_mins(2));
        std::thread::sleep(Duration::from_millis(50));
    }
    let second = desk.world.done(&["log", "watch", folder]);
    assert_eq!(second.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&second.stderr).contains("is already running `log watch` for this database"),
        "{second:?}"
    );
    // Hooks leave the work to the running watcher.
    desk.session("s1", 0);
    desk.hook("session-end", "s1", &json!({}));
    let holder: Vec<u32> = desk.world.look("SELECT pid FROM leases WHERE name = 'worker'", |row| row.get(0)).unwrap();
    assert_eq!(holder, [watch.id()]);
    super::world::signal(&watch, "TERM");
    assert!(watch.wait().unwrap().success());
    let leases: Vec<String> = desk.world.look("SELECT name FROM leases", |row| row.get(0)).unwrap();
    assert_eq!(leases, Vec::<String>::new(), "given back");
}

#[test]
fn jobs_that_fail_are_told_and_tried_again_on_demand() {
    let desk = Desk::new();
    let bad = Path::new(&desk.log("s1")).to_owned();
    fs::write(&bad, "no log of anybody\n").unwrap();
    desk.hook("session-end", "s1", &json!({}));
    desk.settle();
    let listed = desk.world.good(&["runs", "queue"]);
    assert!(listed.contains("waiting") && listed.contains("is not a readable log"), "{listed}");
    desk.session("s1", 0);
    assert!(desk.world.good(&["runs", "retry"]).starts_with("1 job due again"));
    desk.world.good(&["runs", "queue"]);
    let worked = desk.world.done(&["runs", "work"]);
    assert!(worked.status.success(), "{worked:?}");
    desk.settle();
    assert_eq!(desk.world.done(&["runs", "queue"]).status.code(), Some(1), "nothing is left");
    assert_eq!(desk.world.done(&["runs", "retry", "99"]).status.code(), Some(2));
}

/// Writes a session of the desk's project with several statements, which require several calls.
fn talk(desk: &Desk, session: &str) {
    desk.world.session(session, 2, &FACTS);
    fs::rename(desk.world.path("logs").join(format!("{session}.jsonl")), desk.log(session)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_worker_that_is_killed_loses_nothing_and_nothing_is_paid_twice() {
    let server = Server::start(Duration::from_millis(200));
    let desk = Desk::asking(Some(&server));
    talk(&desk, "s1");
    fs::create_dir_all(desk.world.path(".config/afterthought")).unwrap();
    fs::write(desk.world.path(".config/afterthought/config.toml"), "window_tokens = 600\njobs = 1").unwrap();
    desk.hook("session-end", "s1", &json!({}));
    assert!(server.wait_for(2, Duration::from_mins(1)));
    let pid = || desk.world.look("SELECT pid FROM leases WHERE name = 'worker'", |row| row.get::<_, u32>(0));
    let pid = pid().unwrap().pop().unwrap();
    assert!(Command::new("kill").args(["-s", "KILL", &pid.to_string()]).status().unwrap().success());
    // The dead worker's lease and job are free as soon as the system knows that the worker is dead.
    let begun = Instant::now();
    while !desk.world.good(&["runs", "work"]).starts_with("1 log extracted") {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(desk.world.active().len(), FACTS.len(), "{:?}", desk.world.active());
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.body).collect();
    let mut once = asked.clone();
    once.sort();
    once.dedup();
    // Only a request whose answer was in transit may have been repeated.
    assert!(asked.len() <= once.len() + 1, "{} of {}", once.len(), asked.len());
}

#[test]
fn when_the_money_of_the_day_is_spent_the_rest_waits_for_the_next() {
    let server = Server::start(Duration::ZERO);
    let desk = Desk::asking(Some(&server));
    talk(&desk, "s1");
    let rested = SystemTime::now() - Duration::from_mins(30);
    fs::File::options().write(true).open(desk.log("s1")).unwrap().set_modified(rested).unwrap();
    let watch = ["log", "watch", "--from", "claude-code", "--once", "--price", "1,1", "--max-cost-per-day", "0.0005"];
    assert_eq!(desk.world.done(&watch).status.code(), Some(3));
    let job: Value = serde_json::from_str(&desk.world.good(&["runs", "queue", "--json"])).unwrap();
    let (status, error) = (job["status"].as_str(), job["error"].as_str());
    assert_eq!((status, error), (Some("waiting"), Some("the daily limit of $0.0005 has been reached")));
    assert_eq!(server.count(), 0, "nothing was asked");
    // Once there is a budget, the work continues.
    assert_eq!(
        desk.world.good(&["runs", "retry"]),
        "1 job due again; the next `run` on the same logs retries 0 windows\n"
    );
    desk.world.good(&["runs", "work", "--price", "1,1"]);
    assert_eq!(desk.world.active().len(), FACTS.len());
}
