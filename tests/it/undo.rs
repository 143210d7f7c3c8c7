//! Tests of undoing a run that later runs are based on.

use serde_json::Value;

use super::desk::{Desk, Told};

/// Returns a desk with three runs: the second replaces memories of the first, and the third is independent of both.
fn desk() -> (Desk, [String; 3]) {
    let desk = Desk::new();
    let log = |day: &str, text: &str| {
        format!(
            r#"[{{"role":"user","content":"{text}","timestamp":"2026-{day}T10:00:00Z"}},{{"role":"assistant","content":"Noted.","timestamp":"2026-{day}T10:01:00Z"}}]"#
        )
    };
    desk.write("a.json", log("01-05", "We deploy on Heroku."));
    desk.write("b.json", log("03-02", "We moved to Fly.io."));
    desk.write("c.json", log("03-03", "I am allergic to peanuts."));
    let runs = ["a.json", "b.json", "c.json"].map(|name| {
        assert_eq!(desk.run(&["run", "-q", name]).code, 0);
        desk.json(&["runs", "list", "-n", "1"])[0]["id"].as_str().unwrap().to_owned()
    });
    (desk, runs)
}

fn everything(desk: &Desk) -> Told {
    desk.run(&["export", "--all"])
}

fn states(desk: &Desk) -> Vec<String> {
    let mut told: Vec<String> =
        desk.memories().into_iter().map(|(status, content)| format!("{status} {content}")).collect();
    told.sort();
    told
}

#[test]
fn what_was_built_upon_is_named_and_nothing_is_undone_without_an_answer() {
    let (desk, [first, second, _]) = desk();
    let before = everything(&desk);
    for extra in [&[][..], &["--json"], &["--dry-run"]] {
        let told = desk.run(&[&["undo", &first], extra].concat());
        assert_eq!(told.code, 2, "{told:?}");
        let end = &second[second.len() - 8..];
        for part in [end, "b.json", "deploys on Heroku", "--keep", "--with-later"] {
            assert!(told.err.contains(part), "{part}: {told:?}");
        }
        assert_eq!(everything(&desk), before);
    }
    assert_eq!(desk.run(&["undo", &first, "--keep", "--with-later"]).code, 2);
}

#[test]
fn with_the_later_runs_everything_is_as_it_was() {
    let (desk, [first, second, third]) = desk();
    let dry: Value = desk.json(&["undo", &first, "--with-later", "--dry-run"]).remove(0);
    let before = everything(&desk);
    let undone: Value = desk.json(&["undo", &first, "--with-later"]).remove(0);
    assert_ne!(everything(&desk), before);
    assert_eq!((&dry["removed"], &dry["runs"]), (&undone["removed"], &undone["runs"]));
    assert_eq!(undone["runs"], serde_json::json!([second, first]));
    assert_eq!(states(&desk), ["active The user is allergic to peanuts."]);
    let statuses: Vec<Value> = desk.json(&["runs", "list"]).into_iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses, ["finished", "undone", "undone"], "the newest first: {third}");
    assert_eq!(desk.run(&["undo", &third]).code, 0);
    assert_eq!(states(&desk), Vec::<String>::new());
}

#[test]
fn kept_memories_are_named_and_the_newest_run_alone_is_undone_exactly() {
    let (desk, [first, second, _]) = desk();
    let told = desk.run(&["undo", &first, "--keep"]);
    assert!(told.code == 3 && told.out.contains("it was changed after the run"), "{told:?}");
    assert_eq!(states(&desk).len(), 3);
    assert_eq!(desk.run(&["undo", &second]).code, 0, "nothing has built on it");
    assert!(states(&desk).contains(&"active The team deploys on Heroku.".to_owned()), "{:?}", states(&desk));
    assert_eq!(desk.run(&["undo", &first]).code, 0, "nothing stands in the way any more");
    assert_eq!(states(&desk), ["active The user is allergic to peanuts."]);
}

#[test]
fn a_change_by_hand_stays_and_is_named() {
    let (desk, [first, _, third]) = desk();
    let pin = |words: &str| {
        let listed = desk.json(&["memory", "list", "--all"]);
        let one = listed.iter().find(|one| one["content"].as_str().unwrap().contains(words)).unwrap();
        assert_eq!(desk.run(&["memory", "pin", one["id"].as_str().unwrap()]).code, 0);
    };
    pin("peanuts");
    let told = desk.run(&["undo", &third]);
    assert!(told.code == 3 && told.out.contains("it was changed after the run"), "{told:?}");
    pin("Heroku");
    let told = desk.run(&["undo", &first]);
    assert!(told.code == 2 && told.err.contains("later changed by hand"), "{told:?}");
    assert_eq!(desk.run(&["undo", &first, "--with-later"]).code, 3);
    assert!(
        states(&desk).iter().any(|one| one.contains("peanuts"))
            && states(&desk).iter().any(|one| one.contains("Heroku"))
    );
}

#[test]
fn later_runs_can_be_learnt_afresh_together() {
    let (desk, [first, ..]) = desk();
    let before = states(&desk);
    assert_eq!(desk.run(&["undo", &first, "--with-later", "--redo"]).code, 0);
    assert_eq!(desk.run(&["run", "-q", "a.json", "b.json"]).code, 0);
    assert_eq!(states(&desk), before);
}

#[test]
fn a_run_after_an_undo_names_the_undone_run_and_redo_brings_its_memories_back() {
    let (desk, _) = desk();
    let before = everything(&desk);
    let asked = desk.run(&["undo"]);
    assert_eq!(asked.code, 2);
    let proposed = "which run? `afterthought undo last` reverts run ";
    assert!(asked.err.contains(proposed) && asked.err.contains("(c.json)"), "{}", asked.err);
    assert_eq!(everything(&desk).out, before.out);
}

#[test]
fn an_erasure_is_not_undone_and_no_earlier_change_is_undone_in_its_place() {
    let (desk, [_, second, _]) = desk();
    let dry = desk.run(&["memory", "forget", "--source", "c.json", "--dry-run"]);
    assert!(dry.err.contains("an erasure cannot be undone"), "{dry:?}");
    let erased = desk.run(&["memory", "forget", "--source", "c.json", "--yes"]);
    assert!(erased.code == 0 && erased.err.contains("this cannot be undone"), "{erased:?}");
    let before = everything(&desk);
    let refused = desk.run(&["undo", "last"]);
    let remedy = format!("`afterthought undo {}` undoes the change before it", &second[second.len() - 8..]);
    assert!(refused.code == 2 && refused.err.contains("which cannot be undone"), "{refused:?}");
    assert!(refused.err.contains(&remedy), "{refused:?}");
    assert_eq!(everything(&desk), before);
    // A change by hand has an id as well.
    assert_eq!(desk.run(&["remember", "The team uses Zed."]).code, 0);
    assert_eq!(desk.run(&["memory", "forget", "--source", "b.json", "--yes"]).code, 0);
    let refused = desk.run(&["undo", "last"]);
    let id =
        refused.err.split("`afterthought undo ").nth(1).and_then(|rest| rest.split('`').next()).unwrap().to_owned();
    assert_eq!(desk.run(&["undo", &id]).code, 0, "{refused:?}");
    assert!(!states(&desk).iter().any(|state| state.contains("Zed")), "{:?}", states(&desk));
    // A change after the erasure is the last change.
    assert_eq!(desk.run(&["remember", "The team uses Helix."]).code, 0);
    assert_eq!(desk.run(&["undo", "last"]).code, 0);
}

#[test]
fn a_restored_memory_is_forgotten_again_by_an_undo() {
    let desk = Desk::new();
    let id = desk.json(&["remember", "The team uses Zed."]).remove(0)["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["memory", "forget", &id]).code, 0);
    assert_eq!(desk.run(&["memory", "restore", &id]).code, 0);
    for (args, would) in [(&["undo", "last", "--dry-run"][..], "would be "), (&["undo", "last"], "")] {
        let undone = desk.run(args);
        assert!(undone.out.starts_with("forget "), "{undone:?}");
        let counts = format!("0 memories {would}removed, 0 restored, 1 forgotten again");
        assert_eq!(undone.out.lines().last(), Some(counts.as_str()));
    }
    assert_eq!(desk.memories(), [("forgotten".to_owned(), "The team uses Zed.".to_owned())]);
}

#[test]
fn an_undone_import_is_redone_exactly_and_can_be_undone_again() {
    let desk = Desk::new();
    desk.write("MEMORY.md", "# Memory\n\n## Facts\n\nThe payroll runs in Payroller.\n");
    assert_eq!(desk.run(&["import", "MEMORY.md"]).code, 0);
    let before = everything(&desk);
    let early = desk.run(&["undo", "last", "--redo"]);
    assert!(early.code == 2 && early.err.contains("is not undone, so there is nothing to redo"), "{early:?}");
    let undone = desk.run(&["undo", "last"]);
    assert!(undone.code == 0 && undone.err.contains("--redo` redoes it"), "{undone:?}");
    assert_eq!(states(&desk), Vec::<String>::new());
    let preview = desk.run(&["undo", "last", "--redo", "--dry-run"]);
    assert!(preview.code == 0 && preview.err.contains("this would redo run "), "{preview:?}");
    assert_eq!(states(&desk), Vec::<String>::new());
    let redone = desk.run(&["undo", "last", "--redo"]);
    assert!(redone.code == 0 && redone.err.contains("(import MEMORY.md)"), "{redone:?}");
    assert_eq!(everything(&desk), before);
    let runs = desk.json(&["runs", "list"]);
    let original = runs.last().unwrap()["id"].as_str().unwrap();
    let again = desk.run(&["undo", original, "--redo"]);
    assert!(again.code == 2 && again.err.contains("nothing to redo: the changes of run"), "{again:?}");
    assert_eq!(desk.json(&["runs", "list"]).len(), 2, "a redo that does nothing leaves no run");
    assert_eq!(desk.run(&["undo", "last"]).code, 0);
    assert_eq!(states(&desk), Vec::<String>::new());
    assert_eq!(desk.run(&["undo", "last", "--redo"]).code, 0);
    assert_eq!(everything(&desk), before);
}

#[test]
fn a_redo_keeps_a_memory_that_somebody_stored_in_between() {
    let desk = Desk::new();
    let line = |content: &str| format!(r#"{{"id":"0198c0de-0000-7000-8000-000000000001","content":"{content}"}}"#);
    desk.write("a.jsonl", line("The payroll runs in Payroller."));
    desk.write("b.jsonl", line("The payroll runs in Ledgerly."));
    assert_eq!(desk.run(&["import", "a.jsonl"]).code, 0);
    let first = desk.json(&["runs", "list"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["undo", "last"]).code, 0);
    assert_eq!(desk.run(&["import", "b.jsonl"]).code, 0);
    let redone = desk.run(&["undo", &first, "--redo"]);
    assert!(redone.code == 2 && redone.err.contains("their memories have changed since"), "{redone:?}");
    assert_eq!(states(&desk), ["active The payroll runs in Ledgerly."]);
}
