//! Tests of the diagnostics on standard error: their format, and that they never contain text of a conversation.

use std::fs;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use super::world::{Fact, Server, World};

/// Names that occur nowhere else; the model repeats them in titles, contents, quotes and tags.
const PLANTED: [Fact; 2] = [("zwickmuehle", 4101), ("basil", 5202)];
const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--json"];

fn run_at(world: &World, level: &str, arguments: &[&str]) -> Output {
    let output = world.command(arguments).env("AFTERTHOUGHT_LOG", level).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

#[test]
fn at_info_a_run_tells_its_steps_and_nothing_of_what_was_said() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("first", 5, &PLANTED);
    let output = run_at(&world, "info", RUN);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("a run begins") && told.contains("a run ended"), "{told}");
    assert!(server.asked().iter().any(|asked| asked.body.contains("zwickmuehle")), "it was there to be told");
    assert!(!told.contains("zwickmuehle"), "{told}");
    // Other commands process the same words.
    let found = run_at(&world, "info", &["search", "zwickmuehle", "--json"]);
    let told = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(String::from_utf8_lossy(&found.stdout).contains("zwickmuehle") && !told.contains("zwickmuehle"), "{told}");
    let rules = run_at(&world, "info", &["run", "logs", "--extractor", "rules"]);
    assert!(!String::from_utf8_lossy(&rules.stderr).contains("zwickmuehle"), "{rules:?}");
}

#[test]
fn where_everything_fails_what_was_said_is_not_told_either() {
    let server = Server::start(Duration::ZERO);
    server.set(|manner| manner.refuses = Some(("zwickmuehle".to_owned(), 400)));
    let world = World::new(Some(&server));
    world.session("first", 5, &PLANTED);
    let output = world.command(RUN).env("AFTERTHOUGHT_LOG", "info").output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("zwickmuehle"), "{output:?}");
    // The remaining failure is reported with its remedy.
    let stats = world.good(&["status"]);
    assert!(stats.contains("1 window failed; see `afterthought runs queue`"), "{stats}");
    let doctor = world.done(&["status", "--check"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    for line in ["backlog", "failures", "last run", "spent"] {
        assert!(doctor.contains(line), "{line}: {doctor}");
    }
    let told: Value = serde_json::from_str(&world.good(&["status", "--json"])).unwrap();
    assert_eq!(told["health"]["windows_failed"], 1, "{told}");
    assert!(told["health"]["last_success"].is_string(), "{told}");
    assert!(told["spending"]["calls"].is_u64(), "{told}");
}

#[test]
fn as_json_each_line_is_an_object_with_its_time_and_level() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("first", 5, &PLANTED);
    let lines = |output: Output| -> Vec<Value> {
        let told = String::from_utf8(output.stderr).unwrap();
        told.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    };
    let told = lines(run_at(&world, "afterthought=info", &[&["--log-format", "json", "-q"], RUN].concat()));
    assert!(told.iter().all(|line| line["timestamp"].is_string() && line["level"] == "INFO"), "{told:?}");
    assert_eq!(told[0]["fields"]["message"], "a run begins");
    // The settings file determines the format, unless the environment overrides it.
    fs::write(world.path("settings.toml"), "log_format = \"json\"").unwrap();
    let arguments = ["--config", "settings.toml", "-q", "run", "logs"];
    assert!(!lines(run_at(&world, "afterthought=info", &arguments)).is_empty());
    let mut command = world.command(&arguments);
    let text = command.env("AFTERTHOUGHT_LOG", "afterthought=info").env("AFTERTHOUGHT_LOG_FORMAT", "text").output();
    let text = String::from_utf8(text.unwrap().stderr).unwrap();
    assert!(text.contains("a run begins") && !text.contains('{'), "{text}");
}
