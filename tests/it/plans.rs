//! Tests of a plan that is saved, inspected, shortened and applied later.

use serde_json::{Value, json};

use super::desk::{Desk, Told};

/// Returns a chat on one day of 2026, with messages one minute apart.
fn chat(day: &str, said: &[&str]) -> String {
    let line = |(minute, text): (usize, &&str)| json!({"role": "user", "content": text, "timestamp": format!("2026-{day}T10:{minute:02}:00Z")});
    let mut lines: Vec<Value> = said.iter().enumerate().map(line).collect();
    lines.push(json!({"role": "assistant", "content": "Noted.", "timestamp": format!("2026-{day}T10:59:00Z")}));
    Value::from(lines).to_string()
}

/// Returns a desk with a memory of where the team deploys, and a log with three more facts, one of which contradicts
/// the memory.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("old.json", chat("01-05", &["We deploy on Heroku."]));
    desk.write("new.json", chat("03-02", &["We moved to Fly.io.", "I am allergic to peanuts.", "We always use pnpm."]));
    assert_eq!(desk.run(&["run", "-q", "old.json"]).code, 0);
    desk
}

fn apply(desk: &Desk) -> Told {
    desk.run(&["runs", "apply", "plan.json", "--json"])
}

fn statuses(desk: &Desk) -> Vec<(String, String)> {
    let mut told = desk.memories();
    told.sort_by(|a, b| a.1.cmp(&b.1));
    told
}

fn has(desk: &Desk, status: &str, words: &str) -> bool {
    desk.memories().iter().any(|(is, content)| is == status && content.contains(words))
}

/// Rewrites the saved plan without the lines that contain `words`.
fn take_out(desk: &Desk, words: &str) {
    let text = std::fs::read_to_string(desk.path("plan.json")).unwrap();
    let kept: Vec<&str> =
        text.lines().filter(|line| !(line.contains("\"incoming\"") && line.contains(words))).collect();
    assert!(kept.len() < text.lines().count(), "{words}");
    desk.write("plan.json", kept.join("\n"));
}

#[test]
fn what_is_planned_is_what_is_applied_once_and_the_next_run_does_not_do_it_again() {
    let (planned, run) = (desk(), desk());
    assert_eq!(run.run(&["run", "-q", "new.json"]).code, 0);
    let before = planned.run(&["export", "--all"]);
    let told = planned.run(&["runs", "plan", "new.json", "--out", "plan.json"]);
    assert!(told.code == 0 && told.err.contains("saved in plan.json"), "{told:?}");
    assert_eq!(planned.run(&["export", "--all"]), before, "a plan writes nothing");
    let saved: Value = serde_json::from_slice(&std::fs::read(planned.path("plan.json")).unwrap()).unwrap();
    assert_eq!((&saved["afterthought_plan"], saved["changes"].as_array().unwrap().len()), (&json!(1), 3));

    let told = apply(&planned);
    assert_eq!(told.code, 0, "{told:?}");
    let summary = told.json().pop().unwrap();
    assert_eq!((&summary["decisions"]["contradict"], &summary["decided_again"]), (&json!(1), &json!(0)), "{told:?}");
    assert_eq!(statuses(&planned), statuses(&run), "the same as if it had been run");

    let after = planned.run(&["export", "--all"]);
    let again = apply(&planned);
    assert_eq!((again.code, &again.json()[0]["applied_before"]), (0, &json!(true)), "{again:?}");
    let next = planned.json(&["run", "new.json"]).pop().unwrap();
    assert_eq!((&next["windows"]["known"], &next["windows"]["total"]), (&json!(1), &json!(1)), "{next}");
    assert_eq!(planned.run(&["export", "--all"]), after);

    assert_eq!(planned.run(&["undo", summary["run"].as_str().unwrap()]).code, 0);
    assert_eq!(planned.run(&["export", "--all"]), before, "undone exactly");
    assert_eq!(apply(&planned).code, 0);
    assert_eq!(planned.run(&["memory", "list", "--json"]).out.lines().count(), 3, "and applied afresh");
}

#[cfg(unix)]
#[test]
fn a_saved_plan_is_private_and_holds_no_secret() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new();
    let secret = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5";
    desk.write("new.json", chat("03-02", &[&format!("Remember: our token is {secret}, and we always use pnpm.")]));
    assert_eq!(desk.run(&["runs", "plan", "new.json", "--out", "plan.json"]).code, 0);
    let mode = std::fs::metadata(desk.path("plan.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!std::fs::read_to_string(desk.path("plan.json")).unwrap().contains(secret));
}

#[test]
fn lines_that_a_person_takes_out_are_not_learnt_now_nor_proposed_again() {
    for words in ["Fly.io", "peanuts", "pnpm"] {
        let desk = desk();
        assert_eq!(desk.run(&["runs", "plan", "new.json", "--out", "plan.json"]).code, 0);
        take_out(&desk, words);
        let told = apply(&desk);
        assert_eq!((told.code, told.json().len()), (0, 3), "{words}: {told:?}");
        assert_eq!(desk.run(&["run", "-q", "new.json"]).code, 0);
        assert!(!desk.memories().iter().any(|(_, content)| content.contains(words)), "{words}");
        assert_eq!(has(&desk, "active", "Heroku"), words == "Fly.io");
        // The memory that was removed from the plan can still be added later.
        let run = told.json().pop().unwrap()["run"].as_str().unwrap().to_owned();
        assert_eq!(desk.run(&["undo", &run, "--redo"]).code, 0);
        assert_eq!(desk.run(&["run", "-q", "new.json"]).code, 0);
        assert!(has(&desk, "active", words), "{words}");
    }
}

#[test]
fn what_changed_since_is_decided_again_alone_and_said() {
    let desk = desk();
    assert_eq!(desk.run(&["runs", "plan", "new.json", "--out", "plan.json"]).code, 0);
    let heroku = desk.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["memory", "pin", &heroku]).code, 0);
    let told = apply(&desk);
    assert_eq!(told.code, 0, "{told:?}");
    let lines = told.json();
    let again: Vec<&Value> = lines.iter().filter(|line| line.get("instead_of").is_some()).collect();
    assert_eq!(again.len(), 1, "{told:?}");
    assert_eq!((&again[0]["pending"], &again[0]["instead_of"]["decision"]), (&json!(true), &json!("contradict")));
    assert_eq!(lines.last().unwrap()["decided_again"], 1);
    assert!(has(&desk, "active", "Heroku") && has(&desk, "pending", "Fly.io") && has(&desk, "active", "pnpm"));
}

#[test]
fn what_was_learnt_or_rejected_meanwhile_is_not_learnt_twice() {
    let desk = desk();
    assert_eq!(desk.run(&["runs", "plan", "new.json", "--out", "plan.json"]).code, 0);
    // In the meantime, the same log is read by a run, and one of its memories is forgotten.
    assert_eq!(desk.run(&["run", "-q", "new.json"]).code, 0);
    let listed = desk.json(&["memory", "list"]);
    let nuts = listed.iter().find(|memory| memory["content"].as_str().unwrap().contains("peanuts")).unwrap();
    assert_eq!(desk.run(&["memory", "forget", nuts["id"].as_str().unwrap()]).code, 0);
    let before = desk.run(&["export", "--all"]);
    let told = apply(&desk);
    assert_eq!((told.code, &told.json().pop().unwrap()["decided_again"]), (0, &json!(3)), "{told:?}");
    assert_eq!(desk.run(&["export", "--all"]), before);
}

#[test]
fn a_dry_run_shows_and_writes_nothing() {
    let desk = desk();
    assert_eq!(desk.run(&["run", "--dry-run", "new.json", "--out", "plan.json"]).code, 0);
    let before = desk.run(&["export", "--all"]);
    let told = desk.run(&["runs", "apply", "plan.json", "--dry-run"]);
    assert!(told.code == 0 && told.out.contains("Fly.io") && told.err.contains("2 would be added"), "{told:?}");
    assert_eq!(desk.run(&["export", "--all"]), before);
    assert_eq!(desk.run(&["runs", "list", "--json"]).out.lines().count(), 1);
}

#[test]
fn what_is_no_plan_for_these_memories_is_refused_with_a_remedy() {
    let desk = desk();
    assert_eq!(desk.run(&["runs", "plan", "new.json", "--out", "plan.json"]).code, 0);
    let text = std::fs::read_to_string(desk.path("plan.json")).unwrap();
    let before = desk.run(&["export", "--all"]);
    let refused = |content: &str, args: &[&str], why: &str| {
        desk.write("broken.json", content);
        let told = desk.run(&[&["runs", "apply", "broken.json"], args].concat());
        assert!(told.code == 2 && told.err.contains(why) && told.err.lines().count() == 1, "{why}: {told:?}");
    };
    refused(&text, &["--db", "other.db"], "it was made for another database; select that database with --db");
    refused(&text[..text.len() / 2], &[], "it is not a complete plan (line");
    refused("{}", &[], "it is not a complete plan");
    refused(&text.replacen("\"afterthought_plan\": 1", "\"afterthought_plan\": 9", 1), &[], "update afterthought");
    refused(&text.replacen("\"decision\":\"contradict\"", "\"decision\":\"destroy\"", 1), &[], "(line ");
    let told = desk.run(&["runs", "apply", "nowhere.json"]);
    assert!(told.code == 2 && told.err.contains("give a file saved by `runs plan --out`"), "{told:?}");
    assert_eq!(desk.run(&["export", "--all"]), before);
    assert_eq!(desk.run(&["runs", "plan", "new.json", "--out", "no/such/plan.json"]).code, 2);
}
