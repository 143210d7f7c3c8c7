//! Snapshot of every sentence that a command prints when there is nothing to show or the request is impossible.
//!
//! The commands come from the reference, which a test compares with the program: a new command without a line in
//! [`CASES`] fails here. The snapshot should be understandable to a reader who does not know the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Output;

use super::world::World;

/// The state in which a command is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is no database.
    Empty,
    /// Two memories are stored by hand.
    Filled,
}
use State::{Empty, Filled};

/// A command, and for each situation, the state and the arguments of the command.
type Case = (&'static str, &'static [(&'static str, State, &'static [&'static str])]);

/// Placeholder for the first characters of both stored IDs.
const PREFIX: &str = "PREFIX";
/// A path that does not exist.
const NOWHERE: &str = "nowhere/x";

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("run", &[
        ("unknown path", Empty, &[NOWHERE]),
        ("nothing to read", Empty, &["logs"]),
        ("wrong type", Empty, &["logs", "--window-tokens", "many"]),
        ("server down", Filled, &["log.md", "--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1"]),
        ("program missing", Filled, &["log.md", "--model", "command/no-such-program"]),
    ]),
    ("remember", &[
        ("no text", Empty, &[]),
        ("wrong scale", Empty, &["The shop sells tea.", "--importance", "70"]),
        ("wrong type", Empty, &["The shop sells tea.", "--type", "dream"]),
        ("wrong time", Empty, &["The shop sells tea.", "--expires", "soon"]),
    ]),
    ("search", &[
        ("no database", Empty, &["tea"]),
        ("nothing found", Filled, &["xylophone"]),
        ("wrong scale", Filled, &["tea", "--min-importance", "70"]),
        ("wrong type", Filled, &["tea", "--type", "dream"]),
        ("database is a folder", Filled, &["tea", "--db", "logs"]),
    ]),
    ("brief", &[("no database", Empty, &[]), ("wrong type", Filled, &["--format", "song"])]),
    ("blame", &[("no database", Empty, &["src/a.rs"]), ("nothing found", Filled, &["src/a.rs"])]),
    ("fix", &[("no database", Empty, &["E0308"]), ("nothing found", Filled, &["E0308"])]),
    ("how", &[("no database", Empty, &["test"]), ("nothing found", Filled, &["test"])]),
    ("inbox list", &[("no database", Empty, &[]), ("nothing waits", Filled, &[])]),
    ("inbox accept", &[("unknown id", Filled, &["ffffffff"])]),
    ("inbox reject", &[("unknown id", Filled, &["ffffffff"])]),
    ("undo", &[("no database", Empty, &["last"]), ("unknown id", Filled, &["ffffffff"])]),
    ("status", &[("no database", Empty, &[])]),
    ("memory list", &[
        ("no database", Empty, &[]),
        ("nothing found", Filled, &["--category", "dream"]),
        ("wrong type", Filled, &["--status", "lost"]),
        ("wrong scale", Filled, &["--min-importance", "70"]),
    ]),
    ("memory show", &[("no database", Empty, &["ffffffff"]), ("unknown id", Filled, &["ffffffff"]), ("two matches", Filled, &[PREFIX]), ("too short", Filled, &["0"])]),
    ("memory why", &[("unknown id", Filled, &["ffffffff"])]),
    ("memory history", &[("unknown id", Filled, &["ffffffff"])]),
    ("memory profile", &[("no database", Empty, &[]), ("nothing found", Filled, &["--namespace", "project/none"])]),
    ("memory update", &[("unknown id", Filled, &["ffffffff", "--content", "x"]), ("nothing to change", Filled, &["ffffffff"])]),
    ("memory pin", &[("unknown id", Filled, &["ffffffff"])]),
    ("memory forget", &[("unknown id", Filled, &["ffffffff"]), ("nothing selected", Filled, &[])]),
    ("memory restore", &[("unknown id", Filled, &["ffffffff"])]),
    ("memory relate", &[("unknown id", Filled, &["ffffffff", "supports", "eeeeeeee"]), ("wrong type", Filled, &["ffffffff", "loves", "eeeeeeee"])]),
    ("memory promote", &[("not a team", Filled, &["ffffffff", "--to", "project/shop"])]),
    ("log list", &[("nothing found", Empty, &[])]),
    ("log formats", &[("unknown argument", Empty, &["nonsense"])]),
    ("log watch", &[("unknown path", Empty, &[NOWHERE])]),
    ("log service", &[("unknown action", Empty, &["dance"])]),
    ("runs list", &[("no database", Empty, &[]), ("nothing found", Filled, &[])]),
    ("runs show", &[("unknown id", Filled, &["ffffffff"]), ("no run", Filled, &["last"])]),
    ("runs plan", &[("unknown path", Empty, &[NOWHERE])]),
    ("runs apply", &[("unknown path", Filled, &[NOWHERE]), ("not a plan", Filled, &["log.md"])]),
    ("runs batches", &[("no database", Empty, &[]), ("nothing found", Filled, &[])]),
    ("runs queue", &[("no database", Empty, &[]), ("nothing found", Filled, &[])]),
    ("runs retry", &[("nothing failed", Filled, &[]), ("unknown number", Filled, &["12"]), ("wrong type", Filled, &["twelve"])]),
    ("runs cancel", &[("unknown number", Filled, &["12"])]),
    ("runs work", &[("unknown option", Filled, &["--nonsense"])]),
    ("project list", &[("no database", Empty, &[]), ("nothing found", Filled, &[])]),
    ("project alias", &[("unknown project", Filled, &["kelpline", "."]), ("bad name", Filled, &[".", ".."])]),
    ("project merge", &[("unknown project", Filled, &["kelpline", "shop"])]),
    ("project trust", &[("no file", Filled, &[])]),
    ("project team", &[("no database", Empty, &[]), ("nothing found", Filled, &[]), ("no project", Filled, &["shop"])]),
    ("setup", &[("nothing to remove", Empty, &["--undo"])]),
    ("agent install", &[("unknown agent", Empty, &["nobody"])]),
    ("agent uninstall", &[("unknown agent", Empty, &["nobody"])]),
    ("agent list", &[("nothing found", Empty, &[])]),
    ("serve mcp", &[("unknown option", Empty, &["--nonsense"])]),
    ("serve http", &[("unknown option", Empty, &["--nonsense"])]),
    ("serve ui", &[("unknown option", Empty, &["--nonsense"])]),
    ("import", &[("unknown path", Filled, &[NOWHERE]), ("not memories", Filled, &["log.md"])]),
    ("export", &[("no database", Empty, &[]), ("bad version", Filled, &["--pack", "tea", "--version", "1"]), ("nothing found", Filled, &["--category", "dream"])]),
    ("db backup", &[("no database", Empty, &["copy.db"]), ("file exists", Filled, &["log.md"])]),
    ("db restore", &[("unknown path", Filled, &[NOWHERE, "--yes"]), ("not a database", Filled, &["log.md", "--yes"])]),
    ("db check", &[("no database", Empty, &[])]),
    ("db repair", &[("no database", Empty, &[])]),
    ("db maintain", &[("no database", Empty, &[])]),
    ("db consolidate", &[("no database", Empty, &[])]),
    ("db embed", &[("no model", Filled, &[])]),
    ("db audit", &[("no database", Empty, &[])]),
    ("db encrypt", &[("no database", Empty, &[])]),
    ("db decrypt", &[("no database", Empty, &[])]),
    ("db sync add", &[("bad namespace", Filled, &["shared", "--namespace", "pro*"])]),
    ("db sync now", &[("no database", Empty, &[]), ("no target", Filled, &[])]),
    ("db sync status", &[("no database", Empty, &[]), ("no target", Filled, &[])]),
    ("db sync remove", &[("unknown target", Filled, &[NOWHERE])]),
    ("db sync key", &[("existing file", Empty, &["log.md"])]),
    ("config init", &[("unknown option", Empty, &["--nonsense"])]),
    ("config show", &[("unknown setting", Empty, &["nonsense"])]),
    ("config completions", &[("unknown shell", Empty, &["tofu"])]),
    ("eval", &[("unknown path", Empty, &[NOWHERE])]),
    ("eval compare", &[("unknown path", Empty, &[NOWHERE, NOWHERE])]),
    ("eval gate", &[("unknown path", Empty, &[NOWHERE])]),
    ("eval report", &[("unknown path", Empty, &[NOWHERE])]),
    ("eval mine", &[("unknown option", Empty, &["--nonsense"])]),
    ("eval loop", &[("unknown path", Empty, &[NOWHERE])]),
    ("eval results", &[("unknown path", Empty, &[NOWHERE])]),
];

/// Commands that only group other commands.
const GROUPS: &[&str] = &["inbox", "memory", "log", "runs", "project", "agent", "serve", "db", "db sync", "config"];

fn world(state: State) -> World {
    let world = World::new(None);
    std::fs::write(world.path("log.md"), "User: My editor is Kate.\n\nAssistant: Noted.\n").unwrap();
    if state == Filled {
        for text in ["The shop sells tea.", "The tram leaves at nine."] {
            world.good(&["remember", text]);
        }
    }
    world
}

/// Returns the characters that the IDs of both memories begin with, which encode the time at which they were stored.
fn shared_prefix(world: &World) -> String {
    let listed = world.good(&["memory", "list", "--json"]);
    let ids = listed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    ids.map(|one| one["id"].as_str().unwrap()[..4].to_owned()).next().unwrap()
}

/// Returns the output of the command, without the parts that differ between machines and runs.
fn printed(output: &Output, world: &World) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let folder = world.path("").display().to_string();
    let both = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let both = both.replace(folder.trim_end_matches('/'), "[HOME]").replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    let id = regex::Regex::new(r"\b[0-9a-f]{8}(?:-[0-9a-f-]{27})?\b|\b[0-9a-f]{32}\b").unwrap();
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?").unwrap();
    let known = |found: &regex::Captures<'_>| match &found[0] {
        one @ ("ffffffff" | "eeeeeeee") => one.to_owned(),
        _ => "[ID]".to_owned(),
    };
    let both = id.replace_all(&both, known).into_owned();
    time.replace_all(&both, "[TIME]").into_owned()
}

// The sentences contain error messages of the operating system.
#[cfg(target_os = "linux")]
#[test]
fn every_command_says_in_a_sentence_that_it_has_nothing_or_cannot() {
    let mut all = String::new();
    for (command, situations) in CASES {
        for (situation, state, arguments) in *situations {
            let world = world(*state);
            let arguments: Vec<&str> = command.split(' ').chain(arguments.iter().copied()).collect();
            let shared = if arguments.contains(&PREFIX) { shared_prefix(&world) } else { String::new() };
            let resolved = arguments.iter().map(|one| if *one == PREFIX { shared.as_str() } else { one });
            let output = world.command(&resolved.collect::<Vec<_>>()).current_dir(world.path("")).output().unwrap();
            let mut said = printed(&output, &world);
            if !shared.is_empty() {
                said = said.replace(&shared, PREFIX);
            }
            assert!(!said.trim().is_empty(), "`{}` says nothing", arguments.join(" "));
            let code = output.status.code().unwrap_or(-1);
            let _ = writeln!(all, "{command}: {situation} → {code}\n$ afterthought {}", arguments.join(" "));
            for line in said.lines().take(12) {
                let _ = writeln!(all, "  {}", line.trim_end());
            }
            all.push('\n');
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn every_command_of_the_reference_has_its_situations() {
    let reference = include_str!("../../docs/reference/commands.md");
    let documented: BTreeSet<&str> =
        reference.lines().filter_map(|line| line.strip_prefix("## afterthought ")).collect();
    let listed: BTreeMap<&str, usize> =
        CASES.iter().map(|(command, situations)| (*command, situations.len())).collect();
    let missing: Vec<&&str> =
        documented.iter().filter(|command| !GROUPS.contains(command) && !listed.contains_key(**command)).collect();
    assert!(missing.is_empty(), "no situations for {missing:?}");
    let gone: Vec<&&str> = listed.keys().filter(|command| !documented.contains(**command)).collect();
    assert!(gone.is_empty() && listed.values().all(|count| *count > 0), "not in the reference: {gone:?}");
}
