//! Tests of the audit log, through the command line and the Model Context Protocol: it records who did what and when,
//! and contains no text of a memory.

use std::fs;

use serde_json::Value;

use super::world::World;

const PHRASE: &str = "quittenmond";

fn deeds(world: &World) -> Vec<(String, u64)> {
    let lines = world.good(&["db", "audit", "--json"]);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["did"].as_str().unwrap().to_owned(), line["memories"].as_u64().unwrap())).collect()
}

#[test]
fn nothing_is_noted_unless_asked_for() {
    let world = World::new(None);
    world.good(&["remember", "The user drinks tea."]);
    world.good(&["export"]);
    let output = world.done(&["db", "audit"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`audit = true` in your settings"), "{output:?}");
    assert!(!world.path("memories.audit.jsonl").exists());
}

#[test]
fn every_deed_is_noted_with_ids_and_counts_and_without_words() {
    let world = World::new(None);
    let do_it = |arguments: &[&str]| {
        let output = world.command(arguments).env("AFTERTHOUGHT_AUDIT", "true").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let told = do_it(&["remember", "The shop in quittenmond deploys with Nomad.", "--json"]);
    let id = serde_json::from_str::<Value>(told.lines().next().unwrap()).unwrap()["id"].as_str().unwrap().to_owned();
    do_it(&["memory", "update", &id, "--title", "Quittenmond of old"]);
    do_it(&["memory", "forget", &id, "--reason", "quittenmond is wrong"]);
    do_it(&["memory", "restore", &id]);
    do_it(&["export"]);
    do_it(&["db", "backup", "a.copy"]);
    do_it(&["db", "restore", "a.copy"]);
    fs::write(
        world.path("logs/one.jsonl"),
        "{\"type\":\"user\",\"sessionId\":\"s\",\"cwd\":\"/p\",\"uuid\":\"1\",\"isSidechain\":false,\"parentUuid\":null,\
         \"timestamp\":\"2026-03-01T09:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"I prefer quittenmond over tea.\"}}\n",
    )
    .unwrap();
    do_it(&["run", "logs", "--extractor", "rules"]);
    do_it(&["memory", "forget", "--session", "s", "--yes"]);
    let expected = [
        ("update", 1),
        ("forget", 1),
        ("restore", 1),
        ("export", 1),
        ("backup", 1),
        ("restore-backup", 1),
        ("erase", 1),
    ];
    assert_eq!(deeds(&world), expected.map(|(did, count)| (did.to_owned(), count)));
    let text = fs::read_to_string(world.path("memories.audit.jsonl")).unwrap();
    assert!(!text.to_lowercase().contains(PHRASE), "{text}");
    assert!(text.lines().take(3).all(|line| line.contains(&id)), "{text}");
    let of_it = world.good(&["db", "audit", "--memory", &id]);
    assert_eq!(of_it.lines().count(), 3, "{of_it}");
    assert!(of_it.contains("by command"), "{of_it}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(world.path("memories.audit.jsonl")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn what_cannot_be_noted_is_not_done() {
    let world = World::new(None);
    world.good(&["remember", "The user drinks tea."]);
    fs::create_dir(world.path("memories.audit.jsonl")).unwrap();
    let refused = world.command(&["export"]).env("AFTERTHOUGHT_AUDIT", "true").output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("memories.audit.jsonl"), "{refused:?}");
}

#[test]
fn a_project_cannot_turn_it_on_or_off() {
    let world = World::new(None);
    fs::write(world.path("afterthought.toml"), "audit = false").unwrap();
    let refused = world.done(&["project", "trust", "--yes"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("must not set audit"), "{refused:?}");
    let ignored = world.done(&["config", "show", "audit"]);
    assert!(String::from_utf8_lossy(&ignored.stdout).contains("default"), "{ignored:?}");
}
