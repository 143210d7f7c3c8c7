//! Tests of the work ledger, from a log to queries by file, error, command and words.

use serde_json::{Value, json};

use super::desk::Desk;

const RUN: &[&str] = &["run", "logs", "--extractor", "rules"];
const SESSION: &str = "7d2f4a10-3b52-4d09-9e64-1c5d3b2f8a71";

/// Writes the log of a session in `/src/shop`: a request, and what was called with which result.
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
    assert_eq!(desk.run(&["run", demo, "--extractor", "rules"]).code, 0);
    let (before, run) = (tasks(), desk.json(&["runs", "list", "-n", "1"]).remove(0));
    assert!(before > 0);
    let run = run["id"].as_str().unwrap();
    assert_eq!(desk.run(&["undo", run]).code, 0);
    assert_eq!(desk.run(&["fix", "relation \"bookings\" does not exist"]).code, 1, "nothing is known any more");
    assert_eq!(desk.run(&["undo", run, "--redo"]).code, 0);
    assert_eq!(desk.run(&["run", demo, "--extractor", "rules"]).code, 0);
    assert_eq!(tasks(), before);
    let fixed = desk.run(&["fix", "Relation \"bookings\" does not exist"]);
    assert!(fixed.out.contains("pnpm db:migrate"), "{fixed:?}");
}
