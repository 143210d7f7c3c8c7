//! Tests of a full disk, a folder that cannot be written, and a closed pipe: the error is reported clearly, and nothing
//! is lost or paid for twice.
//!
//! A limit on the size of files (`ulimit -f`, in blocks of 512 or 1024 bytes, depending on the shell) simulates a full
//! disk, because the process receives the same write errors.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::world::{MANY_FACTS as FACTS, Server, World};

const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--jobs", "2"];

fn world(server: &Server) -> World {
    let world = World::new(Some(server));
    world.session("first", 2, &FACTS[..6]);
    world.session("second", 5, &[FACTS[6], ("basil", 5999), FACTS[7]]);
    world
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the binary with a limit on the size of files, in kibibytes.
fn limited(world: &World, kibibytes: u64, arguments: &[&str]) -> Output {
    let plain = world.command(arguments);
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit -f {kibibytes}; exec \"$0\" \"$@\"")]).arg(plain.get_program());
    command.args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().unwrap()).stdin(Stdio::null()).output().unwrap()
}

/// Checks the output and the effects of a command that had no disk space.
fn assert_told(output: &Output, of: &str) {
    let code = output.status.code();
    assert!(matches!(code, Some(2 | 3)), "{of}: ends by itself, with an error: {output:?}");
    let said = told(output);
    assert!(said.contains("cannot write") && said.contains("the space on the disk"), "{of}: {said}");
    assert!(!said.contains("panicked"), "{of}: {said}");
}

#[test]
fn a_disk_that_is_full_at_any_moment_of_a_run_costs_nothing_twice() {
    let server = Server::start(Duration::ZERO);
    let world = world(&server);
    world.good(RUN);
    let wanted = world.memories();
    let largest = fs::metadata(world.database()).unwrap().len() / 1_024;
    let mut refused = 0;
    for kibibytes in (0..largest + 200).step_by(40) {
        world.forget();
        let output = limited(&world, kibibytes, RUN);
        let (from, kept) = (server.count(), world.replies());
        if output.status.success() {
            assert_eq!(world.memories(), wanted, "{kibibytes}");
            continue;
        }
        refused += 1;
        assert_told(&output, &format!("{kibibytes} KiB"));
        world.good(RUN);
        assert_eq!(world.memories(), wanted, "{kibibytes}");
        let again = server.asked().split_off(from);
        assert!(again.iter().all(|asked| asked.facts.is_empty() || !kept.contains(&asked.reply)), "{kibibytes}");
        let checked = world.done(&["db", "check"]);
        assert_eq!(checked.status.code(), Some(0), "{kibibytes}: {checked:?}");
    }
    assert!(refused >= 5, "{refused}");
}

#[test]
fn every_command_that_finds_no_room_says_so_and_changes_nothing() {
    let server = Server::start(Duration::ZERO);
    let world = world(&server);
    world.good(RUN);
    let (wanted, size) = (world.export(), fs::metadata(world.database()).unwrap().len() / 1_024);
    fs::write(world.path("more.jsonl"), format!("{{\"content\":\"{}\"}}\n", "Tea is green. ".repeat(9_000))).unwrap();
    let long = "A long note about tea. ".repeat(4_000);
    let commands: [&[&str]; 6] = [
        &["remember", &long],
        &["import", "more.jsonl"],
        &["db", "backup", "copy.db"],
        &["db", "repair"],
        &["memory", "forget", "--session", "first", "--yes"],
        &["db", "maintain"],
    ];
    for arguments in commands {
        let name = arguments.join(" ");
        // The existing data fits, but a copy of it does not.
        let output = limited(&world, size / 3, arguments);
        assert!(output.status.code().is_some(), "{name}: {output:?}");
        if !output.status.success() {
            assert!(!told(&output).contains("panicked") && told(&output).starts_with("error: "), "{name}: {output:?}");
        }
        let checked = world.done(&["db", "check"]);
        assert_eq!(checked.status.code(), Some(0), "{name}: {checked:?}");
        if name.contains("forget") {
            break;
        }
        assert_eq!(world.export(), wanted, "{name}");
        assert!(!world.path("copy.db").exists(), "half a copy is none");
    }
}

#[test]
fn the_first_memory_of_all_finds_no_room_and_is_told_so() {
    let world = World::new(None);
    let first = ["remember", "The user drinks green tea."];
    for kibibytes in [0, 20, 100, 200, 400] {
        world.forget();
        assert_told(&limited(&world, kibibytes, &first), &format!("{kibibytes} KiB"));
        world.good(&first);
        assert_eq!(world.memories().len(), 1, "{kibibytes}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let world = World::new(None);
    world.good(&["remember", "The user drinks tea."]);
    for arguments in [&["export"][..], &["memory", "list"], &["search", "tea"], &["status", "--json"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = world.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let said = told(&output);
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{arguments:?}: {said}");
        // If both streams are full, there is no way to report the error.
        let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = world.command(arguments).stdout(full()).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_plan_that_finds_no_room_leaves_no_half_of_itself() {
    let world = World::new(None);
    world.session("first", 2, &FACTS[..6]);
    let output = limited(&world, 2, &["runs", "plan", "logs", "--extractor", "rules", "--out", "plan.json"]);
    assert!(output.status.code().is_some_and(|code| code != 0), "{output:?}");
    assert!(!told(&output).contains("panicked"), "{output:?}");
    let left = fs::read_to_string(world.path("plan.json")).unwrap_or_default();
    assert!(left.is_empty() || serde_json::from_str::<serde_json::Value>(&left).is_ok(), "{left}");
}
