use serde_json::{Value, json};
use transcripts::{Head, Input, Sink, by_name};

use super::*;

/// Returns the tasks of a Claude Code log with these lines, each consisting of an author and the blocks of a message.
fn claude(lines: &[(&str, Value)]) -> Vec<TaskRecord> {
    let line = |(number, (role, content)): (usize, &(&str, Value))| {
        json!({
            "type": role, "uuid": format!("m{}", number + 1), "sessionId": "s1", "cwd": "/src/shop", "gitBranch": "main",
            "timestamp": format!("2026-03-02T09:{number:02}:00.000Z"), "message": {"role": role, "content": content},
        })
    };
    let text: String =
        lines.iter().enumerate().map(line).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    read("claude-code", &text)
}

fn read(format: &str, text: &str) -> Vec<TaskRecord> {
    let mut found = Vec::new();
    let mut accept = |transcript: Transcript| found.extend(tasks(&transcript));
    let ingestor = by_name(format).unwrap();
    assert!(ingestor.sniff(&Head::of(&Input::from_text("log.jsonl", text))), "{format}");
    ingestor.read(Input::from_text("log.jsonl", text), &mut Sink::new(&mut accept)).unwrap();
    found
}

fn used(id: &str, tool: &str, input: &Value) -> (&'static str, Value) {
    ("assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]))
}

fn ran(id: &str, command: &str) -> (&'static str, Value) {
    used(id, "Bash", &json!({ "command": command }))
}

fn got(id: &str, is_error: bool, text: &str) -> (&'static str, Value) {
    ("user", json!([{"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": text}]))
}

fn said(text: &str) -> (&'static str, Value) {
    ("assistant", json!([{"type": "text", "text": text}]))
}

#[test]
fn a_task_says_what_was_done_and_cites_the_messages() {
    let tasks = claude(&[
        ("user", json!("Fix the crash of the loader when a row is empty")),
        used("a", "Read", &json!({"file_path": "/src/shop/src/loader.py"})),
        got("a", false, "1 def load"),
        ran("b", "pytest tests/test_loader.py -x | tail -5"),
        got("b", false, "KeyError: 'row'\n=== 1 failed in 0.2s ==="),
        used(
            "c",
            "Edit",
            &json!({"file_path": "/src/shop/src/loader.py", "old_string": "def load_rows(x):", "new_string": "def load_rows(y):"}),
        ),
        got("c", false, "updated"),
        ran("d", "pytest tests/test_loader.py"),
        got("d", false, "=== 4 passed in 0.3s ==="),
        said("The loader skips empty rows now."),
    ]);
    let [task] = tasks.as_slice() else { panic!("{tasks:#?}") };
    assert_eq!(task.goal, "Fix the crash of the loader when a row is empty");
    assert_eq!((task.outcome, task.reason.as_str()), (TaskOutcome::Done, "the last tests passed: 4 passed in 0.3s"));
    assert_eq!((task.branch.as_deref(), task.folder.as_deref()), (Some("main"), Some("/src/shop")));
    assert_eq!(task.messages, ("m1".to_owned(), "m10".to_owned()));
    let file = TaskFile {
        path: "src/loader.py".into(),
        read: 1,
        edited: 1,
        messages: vec!["m6".into()],
        ..TaskFile::default()
    };
    assert_eq!(task.files, [file]);
    assert_eq!(task.symbols, ["load_rows"]);
    let error = &task.errors[0];
    assert_eq!((error.line.as_str(), error.message.as_str()), ("KeyError: 'row'", "m5"));
    let cleared = error.cleared.as_ref().unwrap();
    assert_eq!((cleared.files.as_slice(), cleared.message.as_str()), (["src/loader.py".to_owned()].as_slice(), "m9"));
    assert_eq!(task.commands[0].messages, ["m4", "m5"]);
    assert_eq!(task.tests.iter().map(|test| test.passed).collect::<Vec<_>>(), [Some(false), Some(true)]);
    assert_eq!(task.report.as_ref().unwrap().text, "The loader skips empty rows now.");
}

#[test]
fn frequent_words_of_messages_and_errors_are_recorded_by_their_numbers() {
    let ask = ("user", json!("Make the nightly export faster for everybody"));
    let tasks = claude(&[
        ask,
        said("The throttle waits. I look at the throttle and at the export."),
        ran("a", "python export.py"),
        got("a", true, "the spool is full"),
        ran("b", "python list.py"),
        got("b", false, "row of a ledger\nSpoolError: none left\n"),
        said("Done."),
    ]);
    let number = crate::store::word_number;
    let words = &tasks[0].words;
    assert_eq!(words[0], number("throttle"), "the most frequent word is first");
    assert!(words.contains(&number("waits")) && words.contains(&number("left")));
    assert!(!words.contains(&number("export")), "the goal already contains the word");
    assert!(!words.contains(&number("ledger")), "only lines about errors count in the output of a call that succeeded");
}

#[test]
fn a_task_ends_where_new_work_is_asked_for() {
    let work = |id: &str| {
        [used(id, "Write", &json!({"file_path": "a.md", "content": "x"})), got(id, false, "ok"), said("Done.")]
    };
    let mut lines = vec![("user", json!("Write a page about the release of May"))];
    lines.extend(work("a"));
    lines.push(("user", json!("yes, and mention the new loader there as well")));
    lines.extend(work("b"));
    lines.push(("user", json!("Now add a test that reads an empty file")));
    lines.extend(work("c"));
    let goals: Vec<_> = claude(&lines).into_iter().map(|task| task.goal).collect();
    assert_eq!(goals, ["Write a page about the release of May", "Now add a test that reads an empty file"]);
}

#[test]
fn a_question_through_a_tool_and_its_answer_end_no_task() {
    let answer = "The user answered: \"Which database?\"=\"PostgreSQL because we already run it there\". Read the answers carefully";
    let tasks = claude(&[
        ("user", json!("Add a login page to the shop")),
        used("a", "Write", &json!({"file_path": "/src/shop/login.py", "content": "x"})),
        got("a", false, "written"),
        used("b", "AskUserQuestion", &json!({"questions": [{"question": "Which database?"}]})),
        got("b", false, answer),
        used("c", "Write", &json!({"file_path": "/src/shop/db.py", "content": "x"})),
        got("c", false, "written"),
        said("The login page works."),
    ]);
    assert_eq!(tasks.len(), 1, "{tasks:#?}");
    assert_eq!((tasks[0].goal.as_str(), tasks[0].files.len()), ("Add a login page to the shop", 2));
    assert_eq!(tasks[0].report.as_ref().unwrap().text, "The login page works.");
}

#[test]
fn outcomes_follow_the_last_proof() {
    let ask = ("user", json!("Make the nightly build work on the new machine"));
    let edit = || {
        [used("e", "Edit", &json!({"file_path": "a.py", "old_string": "a", "new_string": "b"})), got("e", false, "ok")]
    };
    let outcome = |rest: Vec<(&'static str, Value)>| {
        let lines: Vec<_> = std::iter::once(ask.clone()).chain(edit()).chain(rest).collect();
        claude(&lines)[0].outcome
    };
    let commit = vec![ran("g", "git commit -am x"), got("g", false, "[main 1a2b3c4] x\n 1 file changed")];
    assert_eq!(outcome(commit), TaskOutcome::Done);
    let failing =
        vec![ran("t", "cargo test"), got("t", true, "Exit code 101\ntest result: FAILED. 1 passed; 2 failed")];
    assert_eq!(outcome(failing), TaskOutcome::Failed);
    // A report alone proves nothing, and neither does a commit that is followed by an edit.
    assert_eq!(outcome(vec![said("It works now.")]), TaskOutcome::Unknown);
    let checked = |text: &str| vec![ran("l", "npx tsc --noEmit"), got("l", false, text), said("Done.")];
    assert_eq!(outcome(checked("ok")), TaskOutcome::Done);
    let reply = |text: &str| vec![said("Fixed."), ("user", json!(text))];
    assert_eq!(outcome(reply("thanks, it works")), TaskOutcome::Done);
    assert_eq!(outcome(reply("it still fails with the same error")), TaskOutcome::Failed);
    let next = vec![said("Fixed."), ("user", json!("Works now. Please write a page about the release of May"))];
    assert_eq!(outcome(next), TaskOutcome::Done);
    assert_eq!(outcome(vec![]), TaskOutcome::Abandoned);
    let interrupted =
        vec![said("I will"), ("user", json!([{"type": "text", "text": "[Request interrupted by user]"}]))];
    assert_eq!(outcome(interrupted), TaskOutcome::Abandoned);
}

#[test]
fn calls_that_failed_change_no_file_and_silent_ones_did() {
    let tasks = claude(&[
        ("user", json!("Rename the helper and remove the old file")),
        used("a", "Edit", &json!({"file_path": "/src/shop/a.py", "old_string": "x", "new_string": "y"})),
        got("a", true, "<tool_use_error>String to replace not found in file.</tool_use_error>"),
        ran("b", "git mv b.py c.py && rm d.py"),
        got("b", false, ""),
        ran("c", "ls /src/shop"),
        got("c", false, "c.py"),
    ]);
    let paths: Vec<_> = tasks[0].files.iter().map(|file| (file.path.as_str(), file.is_changed())).collect();
    assert_eq!(paths, [("b.py", true), ("d.py", true)]);
    assert_eq!(tasks[0].files[0].renamed_to.as_deref(), Some("c.py"));
    assert_eq!(tasks[0].commands.iter().map(|one| one.failed).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn another_spelling_clears_an_error_about_how_the_command_was_called() {
    let tasks = claude(&[
        ("user", json!("Run the script that loads the rates")),
        ran("a", "cargo run --bin raets"),
        got("a", true, "Exit code 101\nerror: no bin target named `raets`\nhelp: did you mean `rates`?"),
        ran("b", "cargo build"),
        got("b", false, "ok"),
        ran("c", "npm run lint"),
        got("c", true, "Exit code 1\nnpm ERR! Missing script: \"lint\""),
        ran("d", "cargo test"),
        got("d", false, "test result: ok. 1 passed"),
    ]);
    let cleared: Vec<_> = tasks[0].errors.iter().map(|error| error.cleared.is_some()).collect();
    assert_eq!(cleared, [false, false], "{:#?}", tasks[0].errors);
    let of = |other: &str| {
        let tasks = claude(&[
            ("user", json!("List the open cleanups of this rig")),
            ran("a", "gt deacon pending"),
            got("a", true, "Exit code 1\nError: unknown command \"pending\" for \"gt deacon\""),
            ran("b", other),
            got("b", false, "ok"),
        ]);
        tasks[0].errors[0].cleared.as_ref().map(|remedy| remedy.command.clone())
    };
    assert_eq!(of("gt deacon trigger-pending").as_deref(), Some("gt deacon trigger-pending"));
    assert_eq!(of("gt deacon zombie-scan --dry-run"), None);
    let tasks = claude(&[
        ("user", json!("Check the types")),
        ran("a", "pnpm run typecheck"),
        got("a", true, "Exit code 1\nERR_PNPM_NO_SCRIPT  Missing script: typecheck"),
        ran("b", "cd /home/ana/work/harbour/packages/tide-dashboard && pnpm run typecheck"),
        got("b", false, "ok"),
    ]);
    assert!(tasks[0].errors[0].cleared.is_some(), "the same call in another folder");
}

#[test]
fn a_codex_log_gives_the_same_facts() {
    let item = |payload: Value| {
        json!({"timestamp": "2026-03-02T09:00:00Z", "type": "response_item", "payload": payload}).to_string()
    };
    let patch = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-fn a() {}\n+fn load_all() {}\n*** End Patch";
    let lines = [
        json!({"timestamp": "2026-03-02T09:00:00Z", "type": "session_meta", "payload": {"id": "0196aa00-0000-7000-8000-000000000001", "timestamp": "2026-03-02T09:00:00Z", "cwd": "/src/loom", "git": {"branch": "dev"}}}).to_string(),
        item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rename the loader to load_all"}]})),
        item(json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": "{\"command\":[\"bash\",\"-lc\",\"cargo test --lib\"],\"workdir\":\"/src/loom\"}"})),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "{\"output\":\"error[E0425]: cannot find function `a`\",\"metadata\":{\"exit_code\":101,\"duration_seconds\":1}}"})),
        item(json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2", "input": patch})),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "Success"})),
        item(json!({"type": "function_call", "name": "shell", "call_id": "c3", "arguments": "{\"command\":[\"bash\",\"-lc\",\"cargo test --lib\"],\"workdir\":\"/src/loom\"}"})),
        item(json!({"type": "function_call_output", "call_id": "c3", "output": "{\"output\":\"test result: ok. 3 passed; 0 failed\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":1}}"})),
        item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Renamed."}]})),
    ];
    let tasks = read("codex", &(lines.join("\n") + "\n"));
    let [task] = tasks.as_slice() else { panic!("{tasks:#?}") };
    assert_eq!((task.outcome, task.branch.as_deref()), (TaskOutcome::Done, Some("dev")));
    assert_eq!(task.files[0].path, "src/main.rs");
    assert_eq!(task.symbols, ["load_all"]);
    assert_eq!((task.commands[0].runs, task.commands[0].failed, task.commands[0].exit), (2, 1, Some(0)));
    assert_eq!(task.errors[0].cleared.as_ref().unwrap().files, ["src/main.rs"]);
}

#[test]
fn paths_are_relative_to_the_project() {
    let table = [
        ("/src/shop/a/b.py", None, "a/b.py"),
        ("a/../b.py", None, "b.py"),
        ("b.py", Some("/src/shop/web"), "web/b.py"),
        ("/tmp/x", None, "/tmp/x"),
        ("../other/x", None, "/src/other/x"),
        ("/src/shopping/x", None, "/src/shopping/x"),
        ("C:\\src\\x", None, "C:/src/x"),
    ];
    for (path, folder, expected) in table {
        assert_eq!(within(path, folder, Some("/src/shop")), expected, "{path}");
    }
}

#[test]
fn a_conversation_without_calls_has_no_tasks() {
    assert!(claude(&[("user", json!("What is a monad?")), said("A monoid.")]).is_empty());
}

#[test]
fn a_greeting_is_not_the_goal() {
    let tasks = claude(&[
        ("user", json!("hi there")),
        said("Hello! How can I help?"),
        ("user", json!("Please fix the crash of the loader when a row is empty")),
        ran("a", "pytest"),
        got("a", false, "=== 4 passed in 0.3s ==="),
        said("Done."),
    ]);
    let goals: Vec<&str> = tasks.iter().map(|task| task.goal.as_str()).collect();
    assert_eq!(goals, ["Please fix the crash of the loader when a row is empty"]);
}

#[test]
fn a_file_that_receives_the_output_of_a_command_is_no_remedy() {
    let remedy = |first: &str, second: &str| {
        let tasks = claude(&[
            ("user", json!("Load the prices of week nine into the shop")),
            ran("a", first),
            got("a", true, "ValueError: no currency"),
            ran("b", second),
            got("b", false, "9 rows"),
            said("The prices are loaded."),
        ]);
        tasks[0].errors[0].cleared.clone().unwrap().files
    };
    let load = "python3 load.py /tmp/p.csv";
    let files = remedy(&format!("pricectl > /tmp/p.csv && {load}"), &format!("pricectl --all > /tmp/p.csv && {load}"));
    assert_eq!(files, [""; 0]);
    let text = |row: &str| format!("echo '{row}' > /tmp/p.csv && {load}");
    assert_eq!(remedy(&text("a"), &text("b")), ["/tmp/p.csv"]);
}
