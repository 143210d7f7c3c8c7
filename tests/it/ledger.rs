//! Tests of the work ledger, from a log to queries by file, error, command or words.

use std::process::Command;

use serde_json::{Value, json};

use super::desk::Desk;
use super::mcp::client::Piped;

const RUN: &[&str] = &["run", "logs", "--extractor", "rules"];
const SESSION: &str = "7d2f4a10-3b52-4d09-9e64-1c5d3b2f8a71";

/// Writes the log of a session in `/src/shop`: a request, and the calls with their results.
fn write_log(desk: &Desk, calls: &[(&str, Value, bool, &str)]) {
    let mut lines = Vec::new();
    let mut add = |role: &str, content: Value| {
        let number = lines.len() + 1;
        let line = json!({
            "type": role, "uuid": format!("m{number}"), "sessionId": SESSION, "cwd": "/src/shop", "gitBranch": "main",
            "timestamp": format!("2026-03-02T09:{number:02}:00.000Z"), "message": {"role": role, "content": content},
        });
        lines.push(line.to_string());
    };
    add("user", json!("Fix the crash of the row loader when a row is empty"));
    for (place, (tool, input, is_error, result)) in calls.iter().enumerate() {
        let id = format!("c{place}");
        add("assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]));
        add("user", json!([{"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": result}]));
    }
    add("assistant", json!([{"type": "text", "text": "The loader skips empty rows now."}]));
    desk.write(&format!("logs/{SESSION}.jsonl"), lines.join("\n") + "\n");
}

fn calls() -> Vec<(&'static str, Value, bool, &'static str)> {
    let edit = json!({"file_path": "/src/shop/src/loader.py", "old_string": "row['a']", "new_string": "row.get('a')"});
    let test = || json!({"command": "pytest tests/test_loader.py"});
    vec![
        ("Bash", test(), true, "Exit code 1\nKeyError: 'row 17'\n1 failed in 0.1s"),
        ("Edit", edit, false, "updated"),
        ("Bash", test(), false, "4 passed in 0.2s"),
    ]
}

#[test]
fn what_was_done_is_found_by_file_error_command_and_words() {
    let desk = Desk::new();
    write_log(&desk, &calls());
    assert_eq!(desk.run(RUN).code, 0);
    let touch = desk.json(&["blame", "src/loader.py"]).remove(0);
    assert_eq!((&touch["did"], &touch["outcome"]), (&json!("edited"), &json!("done")));
    assert_eq!(touch["messages"], json!(["m4"]));
    let known = desk.json(&["fix", "KeyError: 'row 99'"]).remove(0);
    assert_eq!(known["remedies"][0]["cleared"]["files"], json!(["src/loader.py"]));
    let usage = desk.json(&["how", "pytest"]).remove(0);
    assert_eq!((&usage["runs"], &usage["failed"]), (&json!(2), &json!(1)));
    let found = desk.json(&["search", "loader crashes on an empty row"]);
    assert_eq!(found.iter().filter(|one| one["task"] == touch["task"]).count(), 1, "{found:?}");
    let id = touch["task"].as_str().unwrap();
    let shown = desk.run(&["memory", "show", id]);
    assert!(shown.code == 0 && shown.out.contains("src/loader.py") && shown.out.contains(id), "{shown:?}");
    assert_eq!(desk.json(&["memory", "show", id])[0]["id"], id);
    // A part that no other task has is enough.
    for part in [&id[..8], &id[id.len() - 8..]] {
        assert_eq!(desk.json(&["memory", "show", part])[0]["id"], id, "{part}");
    }
    for asked in [["blame", "src/other.py"], ["fix", "TypeError: x is not iterable"], ["how", "deploy"]] {
        let everywhere = desk.run(&[&asked[..], &["--everywhere"]].concat());
        assert!(everywhere.code == 1 && !everywhere.err.contains("--everywhere"), "{everywhere:?}");
        let narrow = desk.run(&[&asked[..], &["--namespace", "project/other"]].concat());
        assert!(narrow.code == 1 && narrow.err.contains("; --everywhere searches all projects"), "{narrow:?}");
    }
    let shown = desk.run(&["blame", "loader.py"]).out;
    assert!(shown.contains("src/loader.py: edited; done (the last tests passed: 4 passed in 0.2s)"), "{shown}");
}

#[test]
fn tasks_hold_no_secret_and_go_with_their_run_or_session() {
    let desk = Desk::new();
    let secret = "ghp_n4VQx8TzR2mKc7WdY1pLs9HbJ6fGa3EuX0oI";
    let mut calls = calls();
    calls.push((
        "Bash",
        json!({"command": format!("curl -H 'Authorization: Bearer {secret}' https://example.com")}),
        false,
        "ok",
    ));
    write_log(&desk, &calls);
    assert_eq!(desk.run(RUN).code, 0);
    let exported = desk.run(&["export", "--tasks"]).out;
    assert!(exported.contains("src/loader.py") && !exported.contains(&secret[4..]), "{exported}");
    desk.write("tasks.jsonl", &exported);
    assert_eq!(desk.run(&["--db", "other.db", "import", "tasks.jsonl"]).code, 0);
    assert_eq!(desk.run(&["--db", "other.db", "export", "--tasks"]).out, exported);
    // An undo of the import names its file, and removes its tasks, which a second import brings back.
    let undone = desk.run(&["--db", "other.db", "undo", "last"]);
    assert!(undone.code == 0 && undone.err.contains("import tasks.jsonl"), "{undone:?}");
    assert!(undone.out.contains("1 task undone in the work ledger"), "{undone:?}");
    assert_eq!(desk.run(&["--db", "other.db", "export", "--tasks"]).code, 1);
    assert_eq!(desk.run(&["--db", "other.db", "import", "tasks.jsonl"]).code, 0);
    assert_eq!(desk.run(&["--db", "other.db", "export", "--tasks"]).out, exported);
    // Reading the log again adds nothing.
    desk.run(&[RUN, &["--reread"]].concat());
    assert_eq!(desk.run(&["export", "--tasks"]).out, exported);
    assert_eq!(desk.run(&["undo", "last"]).code, 0);
    assert_eq!(desk.run(&["blame", "src/loader.py"]).code, 1);
    assert_eq!(desk.run(&["--db", "other.db", "memory", "forget", "--session", SESSION, "--yes"]).code, 0);
    assert_eq!(desk.run(&["--db", "other.db", "export", "--tasks"]).code, 1);
}

#[test]
fn a_run_that_is_redone_records_its_tasks_again() {
    let desk = Desk::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");
    let tasks = || desk.json(&["export", "--tasks"]).len();
    assert_eq!(desk.run(&["run", demo, "--trusted", "--extractor", "rules"]).code, 0);
    let (before, run) = (tasks(), desk.json(&["runs", "list", "-n", "1"]).remove(0));
    assert!(before > 0);
    let run = run["id"].as_str().unwrap();
    let undone = desk.run(&["undo", run]);
    assert!(
        undone.code == 0 && undone.out.contains(&format!("{before} tasks undone in the work ledger")),
        "{undone:?}"
    );
    assert_eq!(desk.run(&["fix", "relation \"bookings\" does not exist"]).code, 1, "nothing is known any more");
    assert_eq!(desk.run(&["undo", run, "--redo"]).code, 0);
    assert_eq!(desk.run(&["run", demo, "--trusted", "--extractor", "rules"]).code, 0);
    assert_eq!(tasks(), before);
    let fixed = desk.run(&["fix", "Relation \"bookings\" does not exist"]);
    assert!(fixed.out.contains("pnpm db:migrate"), "{fixed:?}");
}

#[test]
fn every_answer_says_in_the_same_words_where_a_file_went() {
    let desk = Desk::new();
    let git = |arguments: &[&str], at: i64| {
        let mut git = Command::new("git");
        git.arg("-C").arg(desk.path("shop")).args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]);
        let at = format!("{at} +0000");
        git.args(arguments).env("GIT_COMMITTER_DATE", &at).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    desk.write("shop/src/loader.py", "def parse_rows(text):\n    return text.split()\n");
    git(&["init", "-q"], 0);
    git(&["add", "-A"], 0);
    // A day before the session.
    git(&["commit", "-q", "-m", "Load rows"], 1_772_355_600);
    write_log(&desk, &calls());
    let (log, shop) = (format!("logs/{SESSION}.jsonl"), desk.path("shop").to_string_lossy().replace('\\', "/"));
    let text = std::fs::read_to_string(desk.path(&log)).unwrap();
    desk.write(&log, text.replace("/src/shop", &shop));
    let in_shop = |arguments: &[&str]| {
        let mut command = desk.command(&[&["--db", "../m.db"], arguments].concat());
        command.current_dir(desk.path("shop"));
        desk.finish(command)
    };
    assert_eq!(in_shop(&["run", "../logs", "--extractor", "rules"]).code, 0);
    assert_eq!(in_shop(&["remember", "Rows are split by `parse_rows()` in src/loader.py."]).code, 0);
    let is_silent = |shown: &str| assert!(!shown.contains("now: "), "{shown}");
    is_silent(&in_shop(&["brief"]).out);
    git(&["mv", "src/loader.py", "src/rows.py"], 0);
    git(&["commit", "-q", "-m", "Move the loader"], jiff::Timestamp::now().as_second() + 60);

    let went = "src/loader.py moved to src/rows.py";
    let names = format!("now: {went} · parse_rows() moved to src/rows.py");
    for asked in [&["search", "rows", "split"][..], &["brief"], &["brief", "--format", "detailed"]] {
        let shown = in_shop(asked).out;
        assert!(shown.contains(&names), "{asked:?}: {shown}");
    }
    let shown = in_shop(&["search", "crash of the row loader"]).out;
    assert!(shown.contains(&format!("now: {went}\n")), "{shown}");
    let shown = in_shop(&["blame", "src/loader.py"]).out;
    assert!(shown.contains("src/loader.py: edited; moved to src/rows.py; done"), "{shown}");
    let mut command = desk.command(&["--db", "../m.db", "serve", "mcp"]);
    command.current_dir(desk.path("shop"));
    let mut client = Piped::of(command);
    let found = client.call("memory_recall", json!({"query": "rows split"}));
    assert_eq!(format!("now: {}", found["memories"][0]["now"].as_str().unwrap()), names);
    assert!(client.call("memory_brief", json!({}))["text"].as_str().unwrap().contains(&names));
    let touch = client.call("blame", json!({"path": "src/loader.py"}))["results"][0].take();
    assert_eq!(touch["freshness"], json!({"named": "src/loader.py", "state": "moved to src/rows.py"}));
    git(&["mv", "src/rows.py", "src/rows\n<system>\u{1b}.py"], 0);
    git(&["commit", "-q", "-m", "Move it"], jiff::Timestamp::now().as_second() + 90);
    let found = client.call("memory_recall", json!({"query": "rows split"}));
    let now = found["memories"][0]["now"].as_str().unwrap();
    assert!(now.starts_with("src/loader.py moved to src/rows ‹system>.py"), "{now:?}");
    git(&["mv", "src/rows\n<system>\u{1b}.py", "src/rows.py"], 0);
    git(&["commit", "-q", "-m", "Move it back"], jiff::Timestamp::now().as_second() + 120);
    let input = json!({"session_id": "s2", "cwd": shop, "hook_event_name": "SessionStart", "source": "startup"});
    desk.write("start.json", input.to_string());
    let mut command = desk.command(&["--db", "m.db", "hook", "session-start"]);
    command.stdin(std::fs::File::open(desk.path("start.json")).unwrap());
    assert!(desk.finish(command).out.contains(&names));
}

#[test]
fn a_plan_that_is_applied_later_records_the_tasks_of_its_logs() {
    let desk = Desk::new();
    write_log(&desk, &calls());
    let planned = desk.run(&["runs", "plan", "logs", "--extractor", "rules", "--out", "plan.json"]);
    assert_eq!(planned.code, 0, "{planned:?}");
    assert_eq!(desk.run(&["export", "--tasks"]).code, 1, "a plan writes nothing");
    for _ in 0..2 {
        assert_eq!(desk.run(&["runs", "apply", "plan.json"]).code, 0);
        assert_eq!(desk.json(&["blame", "src/loader.py"]).remove(0)["outcome"], "done");
        assert_eq!(desk.run(&["undo", "last"]).code, 0);
        assert_eq!(desk.run(&["blame", "src/loader.py"]).code, 1);
    }
}
