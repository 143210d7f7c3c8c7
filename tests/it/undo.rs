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
    let (desk, [_, _, third]) = desk();
    let dry = desk.run(&["undo", &third, "--dry-run"]);
    assert!(dry.out.lines().any(|line| line.starts_with("remove ") && line.contains("peanuts")), "{dry:?}");
    assert_eq!(desk.run(&["undo", &third]).code, 0);
    for extra in [&[][..], &["--reread"]] {
        let again = desk.run(&[&["run", "c.json"], extra].concat());
        assert!(
            again.err.contains("was undone; to restore them, run `afterthought undo ")
                && again.err.contains(" --redo`"),
            "{again:?}"
        );
    }
    let redo = desk.run(&["undo", &third, "--redo", "--dry-run"]);
    assert!(
        redo.code == 0 && redo.err.contains("the next `run` would store the memories from 1 window again"),
        "{redo:?}"
    );
    let twice = desk.run(&["undo", &third]);
    assert!(twice.code == 2 && twice.err.contains("already been undone; with --redo"), "{twice:?}");
    // `last` is the undone run here, and not the run before it.
    let last = desk.run(&["undo", "last", "--redo"]);
    assert!(last.code == 0 && last.err.contains(&third[third.len() - 6..]), "{third} {last:?}");
    let back = desk.run(&["run", "c.json"]);
    assert!(desk.run(&["search", "peanuts"]).code == 0 && desk.run(&["memory", "list"]).out.lines().count() > 2);
    assert!(back.out.contains("peanuts") && !back.err.contains("was undone"), "{back:?}");
}

#[test]
fn last_is_whatever_changed_memories_last_by_hand_or_by_a_run() {
    let (desk, [_, _, third]) = desk();
    let before = states(&desk);
    let forgotten = |part: &str| {
        let all = desk.json(&["memory", "list", "--all"]);
        let found = all.iter().find(|memory| memory["content"].as_str().unwrap().contains(part)).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    let allergy = forgotten("peanuts");
    assert_eq!(desk.run(&["remember", "The staging database is called heron."]).code, 0);
    let remembered = states(&desk);
    assert_eq!(desk.run(&["memory", "forget", &allergy, "--yes"]).code, 0);

    // A preview changes nothing.
    let dry = desk.run(&["undo", "last", "--dry-run"]);
    assert!(dry.code == 0 && dry.out.contains("0 memories would be removed, 1 restored"), "{dry:?}");
    assert!(dry.err.contains("made by hand") && dry.out.contains("peanuts"), "{dry:?}");

    let told = desk.run(&["undo", "last"]);
    assert!(told.code == 0 && told.out.contains("0 memories removed, 1 restored"), "{told:?}");
    assert_eq!(states(&desk), remembered);
    let told = desk.run(&["undo", "last"]);
    assert!(told.code == 0 && told.out.contains("heron") && told.out.contains("1 memory removed"), "{told:?}");
    assert_eq!(states(&desk), before);

    // The next undo reverts the last run, of which nothing remains.
    let told: Value = desk.json(&["undo", "last"]).remove(0);
    assert_eq!(told["runs"], serde_json::json!([third]), "{told}");
    assert!(!states(&desk).iter().any(|line| line.contains("peanuts")));
}

#[test]
fn an_undo_names_the_run_that_it_takes_back() {
    let (desk, [_, _, third]) = desk();
    for (args, verb) in
        [(&["undo", "last", "--dry-run"][..], "this would undo run "), (&["undo", "last"], "undoing run ")]
    {
        let told = desk.run(args);
        let (_, named) = told.err.split_once(verb).unwrap_or_else(|| panic!("{told:?}"));
        let short = named.split_once(' ').unwrap().0;
        assert!(third.contains(short) && named.contains("c.json"), "{third}: {told:?}");
    }
}

#[test]
fn the_id_of_a_memory_is_not_taken_for_a_run() {
    let (desk, _) = desk();
    let memory = desk.json(&["memory", "list", "-n", "1"]).remove(0);
    let told = desk.run(&["undo", memory["id"].as_str().unwrap()]);
    assert_eq!(told.code, 2, "{told:?}");
    for part in ["is a memory, not a run", "memory history", "memory forget"] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
}

#[test]
fn an_undo_that_keeps_everything_does_not_count_and_says_what_to_do() {
    let (desk, [_, _, third]) = desk();
    let listed = desk.json(&["memory", "list"]);
    let allergy = listed.iter().find(|one| one["content"].as_str().unwrap().contains("peanuts")).unwrap();
    assert_eq!(desk.run(&["memory", "pin", allergy["id"].as_str().unwrap()]).code, 0);
    let before = everything(&desk);
    for args in [&["undo", &third][..], &["undo", &third, "--dry-run"]] {
        let kept = desk.run(args);
        assert_eq!(kept.code, 3, "{kept:?}");
        assert!(!kept.out.contains("removed") && kept.out.contains("it was changed after the run"), "{kept:?}");
        assert!(
            kept.err.contains("because every memory was changed later; `afterthought memory history ID`"),
            "{kept:?}"
        );
    }
    assert_eq!(desk.run(&["undo", &third, "--json"]).json()[0]["runs"], serde_json::json!([]));
    assert_eq!(everything(&desk), before);
    let run = desk.json(&["runs", "list", "-n", "1"]).remove(0);
    assert_eq!((&run["id"], &run["status"]), (&third.as_str().into(), &"finished".into()));
    // The change by hand is the last one, and afterwards nothing prevents the undo of the run.
    let pinned = desk.run(&["undo", "last"]);
    assert!(pinned.code == 0 && pinned.err.contains("made by hand"), "{pinned:?}");
    let told = desk.run(&["undo", "last"]);
    assert!(told.code == 0 && told.out.contains("1 memory removed"), "{told:?}");
    assert!(!states(&desk).iter().any(|line| line.contains("peanuts")));
}

#[test]
fn an_undo_shows_the_text_that_a_memory_has_again() {
    let desk = Desk::new();
    let stored: Value = desk.json(&["remember", "The staging database is called heron."]).remove(0);
    let id = stored["id"].as_str().unwrap();
    assert_eq!(desk.run(&["memory", "update", id, "--content", "The staging database is called egret."]).code, 0);
    for args in [&["undo", "last", "--dry-run"][..], &["undo", "last"]] {
        let told = desk.run(args);
        let line = told.out.lines().find(|line| line.starts_with("restore ")).unwrap_or_else(|| panic!("{told:?}"));
        assert!(line.contains("heron") && !told.out.contains("egret"), "{told:?}");
    }
    assert_eq!(states(&desk), ["active The staging database is called heron."]);
}
