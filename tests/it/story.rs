//! Tests that run every subcommand once, in a typical order, on the bundled conversations.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use transcripts::INGESTORS;

use super::desk::Desk;

const IDS: &[&str] = &["id", "type", "category", "title", "content", "namespace", "status", "source", "created_at"];

/// Returns a desk with a copy of the bundled conversations of two formats.
fn desk() -> Desk {
    let desk = Desk::new();
    for name in ["chatgpt/conversations.json", "webvtt/planning.vtt"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
        desk.write(&format!("logs/{name}"), std::fs::read(path).unwrap());
    }
    desk
}

/// Returns the short ID of the memory that contains `words`.
fn id_of(desk: &Desk, words: &str) -> String {
    let listed = desk.json(&["memory", "list", "-n", "500"]);
    let found = listed.iter().find(|memory| memory["content"].as_str().unwrap().contains(words));
    let id = found.unwrap_or_else(|| panic!("{words}: {listed:#?}"))["id"].as_str().unwrap();
    id[id.len() - 8..].to_owned()
}

#[test]
fn a_person_can_follow_the_whole_story() {
    let desk = desk();
    let mut story = String::new();
    let mut tell = |args: &[&str]| {
        let told = desk.run(args);
        writeln!(story, "$ afterthought {}\n{}{}=> {}\n", args.join(" "), told.out, told.err, told.code).unwrap();
    };
    tell(&["memory", "list"]);
    tell(&["runs", "plan", "logs"]);
    tell(&["run", "logs"]);
    tell(&["run", "logs"]);
    tell(&["remember", "The user keeps two cats.", "--tag", "home"]);
    tell(&["remember", "The user lives in Lisbon.", "--key", "user.residence", "--value", "Lisbon"]);
    tell(&["search", "peanuts", "--explain"]);
    tell(&["search", "zeppelin"]);
    tell(&["memory", "list", "--type", "semantic", "-n", "3"]);
    let (nuts, cats) = (id_of(&desk, "peanuts"), id_of(&desk, "two cats"));
    tell(&["memory", "show", &nuts]);
    tell(&["memory", "why", &nuts]);
    tell(&["memory", "update", &cats, "--content", "The user keeps three cats.", "--importance", "9"]);
    tell(&["memory", "pin", &cats]);
    tell(&["memory", "relate", &cats, "related", &nuts]);
    tell(&["memory", "history", &cats]);
    tell(&["memory", "forget", &nuts, "--reason", "no longer true"]);
    tell(&["search", "peanuts"]);
    tell(&["memory", "restore", &nuts]);
    tell(&["export", "--format", "markdown", "--tag", "home"]);
    tell(&["runs", "list"]);
    let first = desk.json(&["runs", "list"]).pop().unwrap()["id"].as_str().unwrap().to_owned();
    tell(&["undo", &first, "--dry-run"]);
    tell(&["undo", &first]);
    tell(&["undo", &first]);
    tell(&["status"]);
    tell(&["db", "maintain"]);
    tell(&["config", "init"]);
    tell(&["config", "init", "--project"]);
    tell(&["status", "--check"]);
    insta::with_settings!({filters => vec![
        (r"finished \d+ \w+ ago", "finished [age] ago"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{1,4})*\b", "[short]"),
        // IDs from the same moment need more characters, so the width of the ID column varies.
        (r"\[short\] {2,}", "[short]  "),
        (r"\b(id|run) {2,}(memory|started)", "$1  $2"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[time]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "[minute]"),
        (r"\d{4}-\d\d-\d\d", "[day]"),
        (r"[\d.]+ [kM]?B\b", "[size]"),
        (r"rules-\d+", "[rules]"),
        (r"DESK\S*memories\.db", "[database]"),
        (r"DESK\S*config\.toml", "[settings]"),
    ]}, { insta::assert_snapshot!(story) });
}

#[test]
fn the_list_of_formats_has_each_row_of_the_table() {
    let listed = Desk::new().run(&["log", "formats", "-v"]).out;
    let rows = INGESTORS.iter().flat_map(|row| [row.name(), row.about(), row.rule()]);
    let missing: Vec<_> = rows.filter(|text| !listed.contains(text)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "{listed}");
    let desk = Desk::new();
    let mut narrow = desk.command(&["log", "formats"]);
    let narrow = String::from_utf8(narrow.env("COLUMNS", "80").output().unwrap().stdout).unwrap();
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert_eq!(INGESTORS.iter().filter(|row| narrow.contains(&format!(" {} ", row.name()))).count(), INGESTORS.len());
}

#[test]
fn programs_get_documented_fields() {
    let desk = desk();
    let run = desk.json(&["run", "logs"]);
    let summary = run.last().unwrap();
    for field in [
        "transcripts",
        "messages",
        "windows",
        "llm_calls",
        "prompt_tokens",
        "completion_tokens",
        "cost",
        "decisions",
        "failures",
    ] {
        assert!(summary.get(field).is_some(), "the summary lacks {field}");
    }
    for pointer in ["/files/skipped_records", "/files/failed", "/windows/failed"] {
        assert!(summary.pointer(pointer).is_some_and(Value::is_u64), "{pointer}");
    }
    assert_eq!(summary["decisions"]["add"], run.len() - 1, "one change per line, then the summary");
    let id = id_of(&desk, "peanuts");
    let rows: &[(&[&str], &[&str])] = &[
        (&["log", "formats"], &["name", "about", "rule"]),
        (&["runs", "plan", "logs"], &["transcripts", "windows", "decisions"]),
        (&["search", "peanuts"], IDS),
        (&["memory", "list"], IDS),
        (&["memory", "show", &id], &["id", "content", "evidence", "relations", "heat"]),
        (&["memory", "why", &id], &["id", "content", "evidence", "relations", "decisions"]),
        (&["memory", "history", &id], &["at", "action", "before", "after", "run"]),
        (&["runs", "list"], &["id", "status", "started_at", "summary"]),
        (&["status"], &["memories", "by_status", "by_namespace", "relations"]),
        (&["db", "maintain", "--dry-run"], &["expired", "purged"]),
        (&["config", "init"], &["wrote"]),
        (&["status", "--check"], &["check", "state", "finding"]),
        (&["remember", "The user keeps two cats."], &["decision", "content", "reason"]),
        (&["memory", "update", &id, "--importance", "0.9"], IDS),
        (&["memory", "pin", &id], IDS),
        (&["memory", "forget", &id], IDS),
        (&["memory", "restore", &id], IDS),
        (
            &["export"],
            &[
                "id",
                "type",
                "key",
                "value",
                "structured",
                "scope",
                "importance",
                "confidence",
                "tags",
                "valid_from",
                "valid_to",
                "expires_at",
                "deleted_at",
                "pinned",
                "tier",
                "access_count",
                "sources",
                "relations",
            ],
        ),
        (&["undo", "last"], &["removed", "restored", "kept"]),
    ];
    for (args, fields) in rows {
        // Undoing does not revert manual changes, which exit code 3 indicates.
        let told = desk.run(&[args, &["--json"][..]].concat());
        assert!(told.code == 0 || (args[0] == "undo" && told.code == 3), "{args:?}: {told:?}");
        let value = &told.json()[0];
        for field in *fields {
            assert!(value.get(field).is_some(), "{args:?} lacks {field}: {value}");
        }
    }
}

#[test]
fn every_shell_gets_completions() {
    let desk = Desk::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let told = desk.run(&["config", "completions", shell]);
        assert!(told.code == 0 && told.out.contains("afterthought"), "{shell}");
    }
}

#[test]
fn what_is_exported_comes_back_as_it_was() {
    let desk = desk();
    assert_eq!(desk.run(&["run", "logs", "-q"]).code, 0);
    assert_eq!(
        desk.run(&["remember", "The user lives in Lisbon.", "--key", "user.residence", "--value", "Lisbon", "-q"]).code,
        0
    );
    let first = desk.run(&["export", "--all"]).out;
    assert!(first.contains("\"superseded\"") && first.contains("\"supersedes\""));
    desk.write("all.jsonl", &first);
    let import = |args: &[&str]| desk.json(&[&["import", "all.jsonl", "--db", "other.db"], args].concat());
    assert_eq!(import(&[])[0]["added"], first.lines().count());
    let second = || desk.run(&["export", "--all", "--db", "other.db"]).out;
    assert_eq!(second(), first);
    assert_eq!((&import(&[])[0]["added"], second()), (&0.into(), first.clone()));
    let settled = import(&["--consolidate"]);
    assert_eq!(settled.len(), first.lines().count());
    for line in &settled {
        let fields: Vec<_> = line.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["incoming", "decision", "target", "reason"]);
        assert!(line["decision"] == "skip", "{line}");
    }
    assert_eq!(second(), first);
}

#[test]
fn a_secret_in_an_import_is_taken_out_and_the_file_is_known_again() {
    let desk = Desk::new();
    let key = concat!("gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    desk.write("m.jsonl", format!("{{\"content\":\"The deploy uses {key} on Mondays.\"}}\n"));
    assert_eq!(desk.json(&["import", "m.jsonl"])[0]["added"], 1);
    assert_eq!(desk.json(&["import", "m.jsonl"])[0]["known"], 1);
    assert!(!desk.run(&["export"]).out.contains(key));
}

#[test]
fn namespaces_are_never_mixed() {
    let desk = Desk::new();
    for (text, namespace) in
        [("The staging server is called heron.", "project/a"), ("The staging server is called egret.", "project/b")]
    {
        assert_eq!(desk.run(&["remember", text, "--namespace", namespace, "-q"]).code, 0);
    }
    for args in [&["search", "staging server heron"][..], &["memory", "list"], &["export"]] {
        let found = desk.json(&[args, &["--namespace", "project/b"]].concat());
        let found: Vec<_> = found.iter().map(|memory| memory["content"].as_str().unwrap()).collect();
        assert_eq!(found, ["The staging server is called egret."], "{args:?}");
    }
    assert_eq!(desk.run(&["search", "heron", "--namespace", "project/c"]).code, 1);
}

#[test]
fn what_is_piped_is_plain_and_a_narrow_terminal_is_respected() {
    let desk = desk();
    let told = desk.run(&["run", "logs"]);
    assert!(!told.out.contains('\u{1b}') && !told.err.contains(['\u{1b}', '\r']), "{told:?}");
    let mut command = desk.command(&["memory", "list"]);
    command.env("COLUMNS", "60");
    let narrow = desk.finish(command).out;
    assert!(narrow.lines().nth(1).unwrap().contains(" · active"), "{narrow}");
    let wide = desk.run(&["memory", "list"]).out;
    assert_eq!(
        wide.lines().count(),
        desk.json(&["memory", "list"]).len() + 1,
        "one line a memory where nothing limits it"
    );
}

#[test]
fn looking_leaves_no_files_behind() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["remember", "The user drinks tea.", "--db", "db/m.db", "-q"]).code, 0);
    for args in [&["status", "--check"][..], &["search", "tea"]] {
        assert_eq!(desk.run(&[args, &["--db", "db/m.db"]].concat()).code, 0);
        let left: Vec<_> =
            std::fs::read_dir(desk.path("db")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["m.db"], "{args:?}");
    }
}
