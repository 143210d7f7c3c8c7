//! Tests of imports of another extractor's memories, which are consolidated with the known memories. Each line is
//! imported once, even if the import is interrupted.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::world::{Server, World};

const IMPORT: &[&str] = &["import", "m.jsonl", "--consolidate", "--json"];

fn line(content: &str, key: Option<(&str, &str)>, day: &str) -> String {
    let (key, value) = key.unzip();
    let at = format!("2026-{day}T10:00:00Z");
    json!({"content": content, "key": key, "value": value, "valid_from": at, "created_at": at}).to_string()
}

/// Returns memories about where people live, in several projects: three consecutive places each, with the last place
/// first in the file.
fn homes(from: usize, to: usize) -> String {
    let mut text = String::new();
    for (day, city) in [("03-01", "Rome"), ("02-01", "Oslo"), ("01-01", "Riga")] {
        for project in from..to {
            let at = format!("2026-{day}T10:00:00Z");
            let content = format!("The user lives in {city}.");
            let value = json!({
                "content": content, "key": "user.residence", "value": city, "created_at": at, "valid_from": at,
                "namespace": ["project", format!("p{project}")],
            });
            writeln!(text, "{value}").unwrap();
        }
    }
    text
}

fn told(world: &World, args: &[&str]) -> Vec<Value> {
    world.good(args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the active memories with their evidence, by namespace and content.
fn state(world: &World) -> BTreeSet<(String, String, BTreeSet<String>)> {
    let exported = world.export();
    let memories = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let quotes = |memory: &Value| memory["sources"].as_array().unwrap().iter().map(|one| text(&one["quote"])).collect();
    memories
        .map(|memory| {
            (text(&memory["status"]), format!("{} {}", memory["namespace"], text(&memory["content"])), quotes(&memory))
        })
        .collect()
}

#[test]
fn each_memory_gets_one_line_in_the_order_of_the_file_and_the_last_by_time_holds() {
    let world = World::new(None);
    let text = homes(0, 4);
    std::fs::write(world.path("m.jsonl"), &text).unwrap();
    let lines = told(&world, IMPORT);
    let contents: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["content"].clone()).collect();
    assert_eq!(lines.iter().map(|line| line["incoming"].clone()).collect::<Vec<_>>(), contents);
    let decisions: Vec<_> = lines.iter().map(|line| line["decision"].as_str().unwrap()).collect();
    assert_eq!(decisions, [["contradict"; 4], ["contradict"; 4], ["add"; 4]].concat());
    assert!(lines[0]["target"].is_string() && lines[0]["conflict"] == "changed", "{}", lines[0]);
    assert!(lines[0].get("pending").is_none() && lines[8].get("conflict").is_none());
    assert_eq!(world.active().len(), 4);
    assert!(world.active().iter().all(|content| content.contains("Rome")), "{:?}", world.active());
    let before = (world.export(), world.changes());
    let again = told(&world, IMPORT);
    assert!(again.iter().all(|line| line["decision"] == "skip" && line["target"].is_string()), "{again:?}");
    assert_eq!((world.export(), world.changes()), before);
    world.good(&["undo", "last"]);
    assert_eq!(world.active(), Vec::<String>::new(), "the last import has changed nothing, so the first is undone");
}

#[test]
fn an_older_value_that_comes_late_is_born_superseded() {
    let world = World::new(None);
    let home = |city: &str, day: &str| line(&format!("The user lives in {city}."), Some(("user.residence", city)), day);
    std::fs::write(world.path("m.jsonl"), home("Oslo", "05-01")).unwrap();
    world.good(IMPORT);
    std::fs::write(world.path("m.jsonl"), home("Riga", "02-01")).unwrap();
    let lines = told(&world, IMPORT);
    assert_eq!((&lines[0]["decision"], &lines[0]["born_superseded"]), (&json!("contradict"), &json!(true)));
    assert_eq!(world.active(), ["The user lives in Oslo."]);
    world.good(&["undo", "last"]);
    world.good(&["memory", "pin", &{
        let listed = told(&world, &["memory", "list", "--json"]);
        listed[0]["id"].as_str().unwrap().to_owned()
    }]);
    std::fs::write(world.path("m.jsonl"), home("Rome", "08-01")).unwrap();
    let lines = told(&world, IMPORT);
    assert_eq!((&lines[0]["pending"], &lines[0]["conflict"]), (&json!(true), &json!("conflict")), "{}", lines[0]);
    assert_eq!(world.active(), ["The user lives in Oslo."]);
}

#[test]
fn a_bad_line_is_named_and_the_others_are_settled() {
    let world = World::new(None);
    let text = format!(
        "{}\n{{\"content\":\n{}\n",
        line("Ana drinks tea.", None, "01-01"),
        line("Bo keeps bees.", None, "01-02")
    );
    std::fs::write(world.path("m.jsonl"), text).unwrap();
    let output = world.done(IMPORT);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("m.jsonl:2"), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
    assert_eq!(world.active(), ["Ana drinks tea.", "Bo keeps bees."]);
}

#[test]
fn a_model_is_asked_about_the_grey_zone_once() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    let said =
        |where_it_runs: &str, day: &str| line(&format!("The service called amber runs on {where_it_runs}."), None, day);
    let text = [said("the old machine", "01-01"), said("the new machine in the cellar", "03-01")].join("\n");
    std::fs::write(world.path("m.jsonl"), text).unwrap();
    let dry = told(&world, &[IMPORT, &["--dry-run", "--out", "plan.json"]].concat());
    assert_eq!((world.active().len(), server.count()), (0, 1), "a dry run asks and writes nothing: {dry:?}");
    let lines = told(&world, IMPORT);
    // A memory gets its ID during planning, so each plan contains different IDs.
    let without_ids = |lines: &[Value]| -> Vec<Value> {
        lines.iter().cloned().map(|mut line| (line["target"] = line["target"].is_string().into(), line).1).collect()
    };
    assert_eq!((server.count(), without_ids(&lines)), (1, without_ids(&dry)), "the answer is kept");
    let before = (world.export(), world.changes());
    let again = told(&world, IMPORT);
    assert!(again.iter().all(|line| line["decision"] == "skip"), "{again:?}");
    assert_eq!((server.count(), world.export(), world.changes()), (1, before.0, before.1));
    world.forget();
    let rules = told(&world, &[IMPORT, &["--extractor", "rules"]].concat());
    assert_eq!((rules.len(), server.count()), (2, 1));
}

#[test]
fn a_planned_import_is_applied_as_it_was_shown() {
    let world = World::new(None);
    std::fs::write(world.path("m.jsonl"), homes(0, 3)).unwrap();
    world.good(&[IMPORT, &["--dry-run", "--out", "plan.json"]].concat());
    world.good(&["runs", "apply", "plan.json"]);
    let planned = state(&world);
    world.forget();
    world.good(IMPORT);
    assert_eq!(state(&world), planned);
    let saved = world.done(&["import", "m.jsonl", "--dry-run", "--out", "plan.json"]);
    assert_eq!(saved.status.code(), Some(2), "without --consolidate there is no plan");
}

#[test]
fn killed_at_any_moment_an_import_comes_to_the_same_end() {
    let world = World::new(None);
    std::fs::write(world.path("m.jsonl"), homes(0, 80)).unwrap();
    let begun = std::time::Instant::now();
    world.good(IMPORT);
    let length = begun.elapsed();
    let wanted = state(&world);
    world.forget();
    for part in 1..6 {
        let mut child = world.command(IMPORT).spawn().unwrap();
        std::thread::sleep(length * part / 6);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(told(&world, IMPORT).len(), 240);
    assert_eq!(state(&world), wanted);
    let left = world.look("SELECT count(*) FROM runs WHERE status <> 'finished'", |row| row.get::<_, u64>(0));
    assert_eq!(left.unwrap(), [0], "what was interrupted was taken up");
}

#[test]
fn two_imports_at_once_end_as_one_after_the_other() {
    let world = World::new(None);
    std::fs::write(world.path("m.jsonl"), homes(0, 12)).unwrap();
    std::fs::write(world.path("n.jsonl"), homes(6, 18)).unwrap();
    let other = &["import", "n.jsonl", "--consolidate", "--json"][..];
    world.good(IMPORT);
    world.good(other);
    let wanted = state(&world);
    assert_eq!(wanted.iter().filter(|(status, ..)| status == "active").count(), 18);
    for round in 0..5 {
        world.forget();
        let children = [IMPORT, other].map(|args| world.command(args).spawn().unwrap());
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 36);
        }
        assert_eq!(state(&world), wanted, "round {round}");
    }
}

#[test]
fn two_runs_at_once_end_as_one_after_the_other() {
    let world = World::new(None);
    let chat = |day: u32, said: &[&str]| {
        let message = |(minute, text): (usize, &&str)| json!({"role": "user", "content": text, "timestamp": format!("2026-03-{day:02}T10:{minute:02}:00Z")});
        let mut messages: Vec<Value> = said.iter().enumerate().map(message).collect();
        messages.push(json!({"role": "assistant", "content": "Noted.", "timestamp": "2026-03-30T10:00:00Z"}));
        Value::from(messages).to_string()
    };
    for (name, day, said) in [
        ("logs/a.json", 1, &["We deploy on Heroku.", "We always use pnpm."][..]),
        ("logs/b.json", 5, &["We moved to Fly.io.", "I am allergic to peanuts."]),
        ("logs/c.json", 9, &["We always use pnpm.", "I live in Porto."]),
        ("logs/d.json", 12, &["I moved to Madrid.", "We deploy on Render now."]),
    ] {
        std::fs::write(world.path(name), chat(day, said)).unwrap();
    }
    let runs = [
        &["run", "logs/a.json", "logs/b.json", "logs/c.json", "--extractor", "rules"][..],
        &["run", "logs/b.json", "logs/c.json", "logs/d.json", "--extractor", "rules"],
    ];
    runs.iter().for_each(|args| drop(world.good(args)));
    let wanted = state(&world);
    assert!(wanted.len() > 3, "{wanted:?}");
    for round in 0..5 {
        world.forget();
        let children = runs.map(|args| world.command(args).spawn().unwrap());
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        // A window that one run had claimed while the other checked is left to the next run.
        runs.iter().for_each(|args| drop(world.good(args)));
        assert_eq!(state(&world), wanted, "round {round}");
    }
}

#[test]
fn uses_times_and_pins_are_taken_over_by_new_memories() {
    let world = World::new(None);
    let memory = json!({
        "content": "The user lives in Riga.", "created_at": "2026-01-01T10:00:00Z", "access_count": 7,
        "last_accessed_at": "2026-02-01T10:00:00Z", "updated_at": "2026-02-02T10:00:00Z", "pinned": true,
    });
    std::fs::write(world.path("m.jsonl"), memory.to_string()).unwrap();
    told(&world, IMPORT);
    let exported: Value = serde_json::from_str(&world.export()).unwrap();
    for field in ["created_at", "updated_at", "access_count", "last_accessed_at", "pinned"] {
        assert_eq!(exported[field], memory[field], "{field}: {exported}");
    }
}
