//! Tests of briefs on the command line, and of maintenance of the memories in them.

use serde_json::Value;

use crate::desk::Desk;
use crate::specified::database;
use crate::world::raw;

const NAMESPACE: &str = "--namespace=project/shop";

fn desk() -> Desk {
    let desk = Desk::new();
    for (text, category, more) in [
        ("The user prefers tabs over spaces.", "preference", ["--importance", "0.8"]),
        ("The shop deploys with Nomad.", "fact", ["--importance", "0.7"]),
        ("The shop freezes payments in December.", "decision", ["--importance", "0.9"]),
        ("The checkout was being moved to Stripe.", "task", ["--expires", "2h"]),
    ] {
        let told = desk.run(&[&["remember", text, "--category", category, NAMESPACE], &more[..]].concat());
        assert_eq!(told.code, 0, "{told:?}");
    }
    // No command stores a memory that has expired already.
    let sql = "UPDATE memories SET expires_at = ?1 WHERE category = 'task'";
    assert_eq!(raw(&database(&desk.path("")).unwrap()).unwrap().execute(sql, [1_577_836_800_000_i64]).unwrap(), 1);
    desk
}

fn ids(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[test]
fn a_brief_is_told_again_byte_for_byte_and_logged_without_being_counted_as_a_use() {
    let desk = desk();
    assert_eq!(desk.run(&["brief", "--last", NAMESPACE]).code, 1);
    let first = desk.run(&["brief", NAMESPACE]);
    assert_eq!((first.code, first.err.as_str()), (0, ""));
    assert!(
        first.out.starts_with("<afterthought-memory>\n") && first.out.ends_with("</afterthought-memory>\n"),
        "{first:?}"
    );
    let lines: Vec<&str> = first.out.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(
        lines,
        [
            "- The user prefers tabs over spaces. [preference, importance:8]",
            "- The shop freezes payments in December. [decision, importance:9]",
            "- The shop deploys with Nomad. [fact, importance:7]",
        ]
    );
    assert_eq!(desk.run(&["brief", NAMESPACE]), first);
    let json = desk.run(&["brief", "--json", NAMESPACE]);
    assert_eq!(json.out.lines().count(), 1, "{}", json.out);
    assert!(serde_json::from_str::<Value>(&json.out).unwrap()["memories"].is_object(), "{}", json.out);
    let last = desk.json(&["brief", "--last"]).remove(0);
    assert_eq!(last["memories"].as_array().unwrap().len(), 3);
    for memory in desk.json(&["memory", "list", "-n", "9"]) {
        assert_eq!(memory["access_count"], 0, "{memory}");
    }
    assert_eq!(desk.run(&["brief"]).code, 1, "nothing is known of other places");
}

#[test]
fn a_question_brings_its_answer_and_every_line_is_explained() {
    let desk = desk();
    let why = desk.json(&["brief", "How is the shop deployed?", "--why", NAMESPACE]).remove(0);
    assert_eq!(ids(&why["shown"]).len(), 2, "{why}");
    assert_eq!(why["shown"][1]["content"], "The shop deploys with Nomad.");
    assert!(why["shown"][1]["standing"]["to_the_point"].as_f64().unwrap() > 0.3);
    assert_eq!(why["left_out"][0]["because"], "beside_the_point");
    let told = desk.run(&["brief", "How is the shop deployed?", "--why", NAMESPACE]);
    assert!(told.out.contains("left out, beside the point: 1"), "{told:?}");
    assert_eq!(desk.run(&["brief", "--last"]).code, 1, "an explanation is not put in front of a model");
}

#[test]
fn what_is_switched_off_tells_nothing_and_doctor_says_where() {
    let desk = desk();
    desk.settings(".", "[memory]\nenabled = false");
    let told = desk.run(&["brief", NAMESPACE]);
    assert_eq!((told.code, told.out.as_str()), (1, ""));
    assert!(told.err.contains("memory.enabled"), "{told:?}");
    let doctor = desk.run(&["status", "--check"]);
    assert!(doctor.out.contains("memory.enabled = false from DESK/afterthought.toml"), "{doctor:?}");
    desk.settings(".", "[memory.retrieval]\nmax_memories_in_prompt = 1");
    assert_eq!(desk.run(&["brief", NAMESPACE]).out.matches("\n- ").count(), 1);
}

#[test]
fn maintenance_is_foreseen_done_once_and_undone() {
    let desk = desk();
    let foreseen = desk.run(&["db", "maintain", "--dry-run"]);
    assert!(foreseen.out.contains("The checkout was being moved to Stripe."), "{foreseen:?}");
    assert!(foreseen.out.ends_with("1 memory would be expired, 0 would be purged\n"), "{foreseen:?}");
    let done = desk.json(&["db", "maintain"]).remove(0);
    assert_eq!((&done["expired"], &done["dry_run"]), (&Value::from(1), &Value::from(false)));
    assert_eq!(desk.json(&["db", "maintain"]).remove(0)["run"], Value::Null, "nothing is left to do");
    assert_eq!(desk.json(&["status"]).remove(0)["by_status"]["expired"], 1);
    let run = done["run"].as_str().unwrap();
    assert_eq!(desk.run(&["undo", run]).code, 0);
    assert_eq!(desk.json(&["status"]).remove(0)["by_status"]["active"], 4);
    assert_eq!(desk.json(&["db", "maintain"]).remove(0)["expired"], 0, "what was taken back stays");
}

#[test]
fn stats_tell_tiers_heat_and_what_is_near_its_end() {
    let desk = desk();
    let all = desk.json(&["memory", "list"]);
    let nomad = all.iter().find(|memory| memory["content"] == "The shop deploys with Nomad.").unwrap();
    for _ in 0..3 {
        // Opening a memory counts as a use, but finding it does not.
        assert_eq!(desk.run(&["search", "Nomad"]).code, 0);
        assert_eq!(desk.run(&["memory", "show", nomad["id"].as_str().unwrap()]).code, 0);
    }
    desk.run(&["db", "maintain"]);
    let stats = desk.json(&["status"]).remove(0);
    assert_eq!(stats["by_tier"], serde_json::json!({"l3": 1, "l4": 2}));
    assert_eq!(stats["by_heat"], serde_json::json!({"cold": 2, "warm": 1}));
    assert_eq!((&stats["near_expiry"], &stats["fading"]), (&Value::from(0), &Value::from(0)));
}

#[test]
fn in_a_folder_of_a_project_the_brief_is_about_that_project() {
    let desk = desk();
    desk.settings("code/shop", "project = \"shop\"");
    desk.settings("code/other", "project = \"other\"");
    let told = |folder: &str| {
        let mut command = desk.command(&["brief"]);
        command.current_dir(desk.path(folder));
        desk.finish(command)
    };
    assert!(told("code/shop").out.contains("The shop deploys with Nomad."), "{:?}", told("code/shop"));
    assert_eq!(told("code/other").code, 1);
}
