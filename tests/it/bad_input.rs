//! Tests of every error that a user may encounter, one row each: the exit code, the message, and the state afterwards.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::desk::{Desk, Told};
#[cfg(unix)]
use super::unprivileged::bound;
#[cfg(unix)]
use super::world::World;

/// A conversation from which the rules learn one memory.
const CHAT: &str =
    r#"[{"role":"user","content":"I am allergic to peanuts."},{"role":"assistant","content":"I will remember."}]"#;
/// The memory in the store before each fault.
const KNOWN: &str = "The user drinks tea.";
/// A session log with one line per message.
const SESSION: &str = concat!(
    r#"{"role":"user","content":"I am allergic to peanuts."}"#,
    "\n",
    r#"{"role":"assistant","content":"I will remember."}"#,
    "\n",
);

struct Row {
    name: &'static str,
    prepare: fn(&Desk),
    args: &'static [&'static str],
    code: i32,
    /// The expected text on standard error.
    told: &'static str,
}

fn nothing(_: &Desk) {}

fn chat(desk: &Desk) {
    desk.write("chat.json", CHAT);
}

fn another_database(desk: &Desk) {
    chat(desk);
    for number in 0..60 {
        let text = format!("The user has visited place number {number} and wrote a long note about it.");
        desk.write("notes.jsonl", format!("{}\n", serde_json::json!({"content": text})));
        if number % 20 == 0 {
            assert_eq!(desk.run(&["import", "notes.jsonl", "--db", "other.db", "-q"]).code, 0);
        }
    }
}

fn truncated(desk: &Desk) {
    another_database(desk);
    let bytes = std::fs::read(desk.path("other.db")).unwrap();
    std::fs::write(desk.path("other.db"), &bytes[..bytes.len() / 3]).unwrap();
}

fn corrupt(desk: &Desk) {
    another_database(desk);
    let mut bytes = std::fs::read(desk.path("other.db")).unwrap();
    bytes[4096..].fill(0x5a);
    std::fs::write(desk.path("other.db"), bytes).unwrap();
}

fn newer(desk: &Desk) {
    another_database(desk);
    let mut bytes = std::fs::read(desk.path("other.db")).unwrap();
    // The user version is at byte 60 of the header.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(desk.path("other.db"), bytes).unwrap();
}

const ROWS: &[Row] = &[
    Row {
        name: "missing file",
        prepare: nothing,
        args: &["run", "nowhere.json"],
        code: 2,
        told: "error: cannot read nowhere.json; check the path and its permissions: No such file or directory (os error 2)",
    },
    Row {
        name: "missing file among others",
        prepare: chat,
        args: &["run", "chat.json", "nowhere.json"],
        code: 2,
        told: "error: cannot read nowhere.json; check the path and its permissions: No such file or directory (os error 2)",
    },
    Row {
        name: "empty file",
        prepare: |desk| desk.write("empty.json", ""),
        args: &["run", "empty.json"],
        code: 2,
        told: "error: empty.json is empty; nothing to read",
    },
    Row {
        name: "white space only",
        prepare: |desk| desk.write("blank.json", " \n\n"),
        args: &["run", "blank.json"],
        code: 2,
        told: "error: blank.json is empty; nothing to read",
    },
    Row {
        name: "no known format",
        prepare: |desk| desk.write("blob.dat", "nothing that anybody said"),
        args: &["run", "blob.dat"],
        code: 2,
        told: "error: the format of blob.dat is unknown; see `afterthought log formats`, or pass --format NAME",
    },
    Row {
        name: "format that is none",
        prepare: chat,
        args: &["run", "chat.json", "--format", "msn"],
        code: 2,
        told: "error: no format is called \"msn\"; see `afterthought log formats`",
    },
    Row {
        name: "first part of a recording",
        prepare: |desk| {
            let head = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-02T03:04:05Z""#;
            let said = r#"{"id":"u","timestamp":"2026-01-02T03:04:05Z","type":"user","content":"We use pnpm."}"#;
            desk.write("session.json", format!("{head},\"messages\":[{said}]}}"));
            desk.write("session.jsonl", format!("{head}}}\n{said}\n"));
        },
        args: &["run", "session.json"],
        code: 2,
        told: "error: session.json is not read, because session.jsonl beside it contains the whole conversation; run on session.jsonl or on the folder",
    },
    Row {
        name: "empty folder",
        prepare: |desk| std::fs::create_dir(desk.path("logs")).unwrap(),
        args: &["run", "logs"],
        code: 2,
        told: "error: no files under logs; give a log file, a folder of logs, or a pattern such as 'logs/**/*.jsonl'",
    },
    Row {
        name: "pattern without a match",
        prepare: nothing,
        args: &["run", "logs/**/*.jsonl"],
        code: 2,
        told: "error: no files under logs/**/*.jsonl; give a log file, a folder of logs, or a pattern such as 'logs/**/*.jsonl'",
    },
    Row {
        name: "pattern that is none",
        prepare: nothing,
        args: &["run", "logs/[.jsonl"],
        code: 2,
        told: "error: cannot understand the pattern \"logs/[.jsonl\": invalid range pattern; write * for any name, ** for any folders, and [[] for a bracket",
    },
    Row {
        name: "empty standard input",
        prepare: nothing,
        args: &["run", "-"],
        code: 2,
        told: "error: -: standard input is empty; nothing to read",
    },
    Row {
        name: "namespace with an empty name",
        prepare: chat,
        args: &["run", "chat.json", "--namespace", "a//b"],
        code: 2,
        told: "error: invalid value 'a//b' for '--namespace <NAME>': \"a//b\" is not a namespace; use one to eight non-empty names joined by '/', e.g. global or project/shop",
    },
    Row {
        name: "no jobs",
        prepare: chat,
        args: &["run", "chat.json", "--jobs", "0"],
        code: 2,
        told: "error: jobs is 0 (command line); it must be between 1 and 256",
    },
    Row {
        name: "jobs in words",
        prepare: chat,
        args: &["run", "chat.json", "--jobs", "many"],
        code: 2,
        told: "error: invalid value 'many' for '--jobs <N>': invalid digit found in string",
    },
    Row {
        name: "unknown extractor",
        prepare: chat,
        args: &["run", "chat.json", "--extractor", "magic"],
        code: 2,
        told: "error: invalid value 'magic' for '--extractor <NAME>' [possible values: auto, llm, rules]",
    },
    Row {
        name: "model asked for, none there",
        prepare: chat,
        args: &["run", "chat.json", "--extractor", "llm"],
        code: 2,
        told: "error: no model is configured; set OPENAI_API_KEY, another provider's key or OPENAI_BASE_URL, or use --extractor rules",
    },
    Row {
        name: "instructions that are not there",
        prepare: chat,
        args: &["run", "chat.json", "--instructions", "none.md"],
        code: 2,
        told: "error: cannot read instructions none.md; check the path and its permissions: No such file or directory (os error 2)",
    },
    Row {
        name: "replay without a folder",
        prepare: chat,
        args: &["run", "chat.json", "--replay", "none", "--model", "m"],
        code: 2,
        told: "error: cannot use the recording none: it is not a folder; give a folder written by --record",
    },
    Row {
        name: "database in a file",
        prepare: |desk| {
            chat(desk);
            desk.write("file", "");
        },
        args: &["run", "chat.json", "--db", "file/memories.db"],
        code: 2,
        told: "error: cannot write file/memories.db; check its permissions and the space on the disk, or choose another file with --db: Not a directory (os error 20)",
    },
    Row {
        name: "database under a file",
        prepare: |desk| {
            chat(desk);
            desk.write("file", "");
        },
        args: &["run", "chat.json", "--db", "file/deep/memories.db"],
        code: 2,
        told: "error: cannot create the folder file/deep; choose another place with --db: Not a directory (os error 20)",
    },
    Row {
        name: "database that is a folder",
        prepare: |desk| {
            chat(desk);
            std::fs::create_dir(desk.path("folder")).unwrap();
        },
        args: &["run", "chat.json", "--db", "folder"],
        code: 2,
        told: "error: folder is a folder; give a file in it with --db",
    },
    Row {
        name: "list from a folder",
        prepare: |desk| std::fs::create_dir(desk.path("folder")).unwrap(),
        args: &["memory", "list", "--db", "folder"],
        code: 2,
        told: "error: folder is a folder; give a file in it with --db",
    },
    Row {
        name: "database that is a text",
        prepare: |desk| {
            chat(desk);
            desk.write("diary.txt", "Dear diary. ".repeat(99));
        },
        args: &["run", "chat.json", "--db", "diary.txt"],
        code: 2,
        told: "error: diary.txt is not a memory database; choose another file with --db, or move it away",
    },
    Row {
        name: "truncated database",
        prepare: truncated,
        args: &["run", "chat.json", "--db", "other.db", "-q"],
        code: 2,
        told: "error: other.db is damaged; recover the readable part with `afterthought db repair`, or restore a backup: database disk image is malformed",
    },
    Row {
        name: "list from a truncated database",
        prepare: truncated,
        args: &["memory", "list", "--db", "other.db"],
        code: 2,
        told: "error: other.db is damaged; recover the readable part with `afterthought db repair`, or restore a backup: database disk image is malformed",
    },
    Row {
        name: "corrupt pages",
        prepare: corrupt,
        args: &["memory", "list", "--db", "other.db"],
        code: 2,
        told: "error: other.db is damaged; recover the readable part with `afterthought db repair`, or restore a backup: database disk image is malformed",
    },
    Row {
        name: "newer schema",
        prepare: newer,
        args: &["memory", "list", "--db", "other.db"],
        code: 2,
        told: "error: other.db has schema 99, but this version supports only schemas up to SCHEMA; update afterthought, or choose another file with --db",
    },
    Row {
        name: "write to a newer schema",
        prepare: newer,
        args: &["run", "chat.json", "--db", "other.db"],
        code: 2,
        told: "error: other.db has schema 99, but this version supports only schemas up to SCHEMA; update afterthought, or choose another file with --db",
    },
    Row {
        name: "settings with a mistake",
        prepare: |desk| desk.write("s.toml", "jobs = 2\nmodle = \"m\"\n"),
        args: &["memory", "list", "--config", "s.toml"],
        code: 2,
        told: "error: cannot understand settings s.toml: line 2: unknown field `modle`, expected one of `db`, `namespace`, `project`, `extractor`, `model`, `base_url`, `api_key_env`, `timeout_seconds`, `jobs`, `window_tokens`, `max_cost`, `max_tokens`, `max_cost_per_day`, `prices`, `categories`, `instructions`, `audit`, `log_format`, `embedding`, `guard`, `memory`",
    },
    Row {
        name: "settings that are no TOML",
        prepare: |desk| desk.write("s.toml", "jobs = 2\n\n[[["),
        args: &["memory", "list", "--config", "s.toml"],
        code: 2,
        told: "error: cannot understand settings s.toml: line 3: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`",
    },
    Row {
        name: "settings that are not there",
        prepare: nothing,
        args: &["memory", "list", "--config", "none.toml"],
        code: 2,
        told: "error: cannot read settings none.toml; check the path and its permissions: No such file or directory (os error 2)",
    },
    Row {
        name: "setting out of range",
        prepare: |desk| desk.write("s.toml", "jobs = 0"),
        args: &["memory", "list", "--config", "s.toml"],
        code: 2,
        told: "error: jobs is 0 (s.toml); it must be between 1 and 256",
    },
    Row {
        name: "unknown id",
        prepare: nothing,
        args: &["memory", "show", "abcdef12"],
        code: 2,
        told: "error: no memory has an id like abcdef12; see `afterthought memory list`",
    },
    Row {
        name: "id that is none",
        prepare: nothing,
        args: &["memory", "show", "zzzzzzzz"],
        code: 2,
        told: "error: \"zzzzzzzz\" is not an id; give at least four characters from the start or the end of an id that `afterthought memory list` prints",
    },
    Row {
        name: "short id",
        prepare: nothing,
        args: &["memory", "show", "ab"],
        code: 2,
        told: "error: \"ab\" is not an id; give at least four characters from the start or the end of an id that `afterthought memory list` prints",
    },
    Row {
        name: "unknown run",
        prepare: nothing,
        args: &["undo", "abcdef12"],
        code: 2,
        told: "error: no run, or more than one, has an id like abcdef12; copy the id from `afterthought runs list`",
    },
    Row {
        name: "unknown category",
        prepare: nothing,
        args: &["memory", "update", "abcdef12", "--category", "gossip"],
        code: 2,
        told: "error: \"gossip\" is not a category; use one of fact, preference, decision, convention, blocker, project, task, note, solution, mistake, pattern, workflow, profile",
    },
    Row {
        name: "importance out of range",
        prepare: nothing,
        args: &["remember", "The user likes tea.", "--importance", "99"],
        code: 2,
        told: "error: importance 99 is out of range; use 0 to 1, or tenths from 2 to 10",
    },
    Row {
        name: "update out of range",
        prepare: nothing,
        args: &["memory", "update", "abcdef12", "--importance", "-3"],
        code: 2,
        told: "error: importance -3 is out of range; use 0 to 1, or tenths from 2 to 10",
    },
    Row {
        name: "unknown type",
        prepare: nothing,
        args: &["remember", "The user likes tea.", "--type", "vague"],
        code: 2,
        told: "error: invalid value 'vague' for '--type <TYPE>': \"vague\" is not a memory type; use semantic, episodic or procedural",
    },
    Row {
        name: "time that is none",
        prepare: nothing,
        args: &["remember", "The user likes tea.", "--expires", "tomorrow"],
        code: 2,
        told: "error: invalid value 'tomorrow' for '--expires <TIME>': the expiry \"tomorrow\" is not a time; write it like 30m, 2h, 7d or 2027-01-31",
    },
    Row {
        name: "remember nothing",
        prepare: nothing,
        args: &["remember", "  "],
        code: 2,
        told: "error: there is no text to remember; give a sentence",
    },
    Row {
        name: "remember a secret",
        prepare: nothing,
        args: &["remember", "The password is hunter2-and-more-99."],
        code: 2,
        told: "error: the text contains a secret (spoken-password), which is never kept; leave it out",
    },
    Row {
        name: "import from nowhere",
        prepare: nothing,
        args: &["import", "none.jsonl"],
        code: 2,
        told: "error: cannot read none.jsonl; check the path and its permissions: No such file or directory (os error 2)",
    },
    Row {
        name: "import of an empty file",
        prepare: |desk| desk.write("m.jsonl", ""),
        args: &["import", "m.jsonl"],
        code: 2,
        told: "error: m.jsonl is empty; nothing to read",
    },
    Row {
        name: "import of a bad line",
        prepare: |desk| desk.write("m.jsonl", "{\"content\":\"The user has a cat.\"}\n{\"content\":7}\n"),
        args: &["import", "m.jsonl"],
        code: 3,
        told: "warning: m.jsonl:2: not a memory: /content value is not of type \"string\"; each line must be an object with at least \"content\"",
    },
    Row {
        name: "forget without saying what",
        prepare: nothing,
        args: &["memory", "forget"],
        code: 2,
        told: "error: no memory is selected; give ids, or filters such as --category task",
    },
    Row {
        name: "forget all of a kind without --yes",
        prepare: nothing,
        args: &["memory", "forget", "--category", "fact"],
        code: 2,
        told: "error: this would forget 1 memory; check with `memory list` and the same filters, then add --yes",
    },
    Row {
        name: "relate a memory to nothing",
        prepare: nothing,
        args: &["memory", "relate", "abcdef12", "supports", "12abcdef"],
        code: 2,
        told: "error: no memory has an id like abcdef12; see `afterthought memory list`",
    },
    Row {
        name: "unknown relation",
        prepare: nothing,
        args: &["memory", "relate", "abcdef12", "likes", "12abcdef"],
        code: 2,
        told: "error: invalid value 'likes' for '<RELATION>': \"likes\" is not a relation; use supports, contradicts, refines, supersedes, derived_from or related",
    },
    Row {
        name: "nobody listens",
        prepare: chat,
        args: &["run", "chat.json", "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "-q"],
        code: 3,
        told: "error: openai-chat:dead1d2334325053c89f5f4c6860f017 messages 1–2: http://127.0.0.1:1/v1: is the server running? no connection (Connection refused (os error 111)) after 3 attempts; try again later (finished work is kept)",
    },
    Row {
        name: "address that is none",
        prepare: chat,
        args: &["run", "chat.json", "--base-url", "not a url", "--model", "m"],
        code: 2,
        told: "error: \"not a url\": this is not an http address; set a base URL such as http://127.0.0.1:11434/v1",
    },
];

#[test]
fn every_fault_is_told_on_one_line_and_costs_nothing_that_was_there() {
    let wrong: Vec<_> = ROWS.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_folder_without_the_format_that_is_asked_for_is_an_error() {
    let desk = Desk::new();
    desk.write("logs/chat.json", CHAT);
    let told = desk.run(&["run", "logs", "--format", "irc"]);
    let last = told.err.lines().last().unwrap();
    assert_eq!(told.code, 2);
    assert_eq!(last, "error: no file has the format irc; leave out --format, or see `afterthought log formats`");
    assert_eq!(desk.run(&["run", "logs", "--format", "openai-chat"]).code, 0);
}

/// Returns the differences from the expectations in the row.
fn wrong(row: &Row) -> Option<String> {
    let desk = Desk::new();
    assert_eq!(desk.run(&["remember", KNOWN, "-q"]).code, 0);
    (row.prepare)(&desk);
    let told = desk.run(row.args);
    let is_kept = desk.memories().contains(&("active".to_owned(), KNOWN.to_owned()));
    let schema = std::fs::read_dir("src/store/migrations").unwrap().count().to_string();
    let as_said = (told.code, told.err.trim_end()) == (row.code, row.told.replace("SCHEMA", &schema).as_str());
    (!as_said || !is_kept || !is_clear(&told))
        .then(|| format!("{}: {:?} kept {is_kept}\n{told:#?}", row.name, row.args))
}

/// Returns whether the error message is a single line suitable for people.
fn is_clear(told: &Told) -> bool {
    let machine = ["panicked", "backtrace", "Some(", "Error {", "Error(", "Err("];
    told.err.trim_end().lines().count() == 1 && !machine.iter().any(|word| told.err.contains(word))
}

#[test]
fn a_project_file_that_redirects_logs_is_refused() {
    let desk = Desk::new();
    desk.write("afterthought.toml", "base_url = \"http://127.0.0.1:1/v1\"");
    let told = desk.run(&["project", "trust", "--yes"]);
    assert_eq!(told.code, 2);
    let refusal = "error: DESK/afterthought.toml must not set base_url";
    assert!(told.err.lines().last().unwrap().starts_with(refusal), "{}", told.err);
    assert!(!desk.run(&["config", "show", "base_url"]).out.contains("127.0.0.1:1"));
}

/// An unusual but readable log: its name, its bytes, and the number of records that are reported as unusable.
type Odd = (&'static str, fn() -> Vec<u8>, u64);

const ODD: &[Odd] = &[
    ("as it should be", || SESSION.into(), 0),
    ("a last line that is half written", || format!("{SESSION}{{\"role\":\"user\",\"cont").into_bytes(), 1),
    ("a broken line in the middle", || format!("{{\"role\":\n{SESSION}").into_bytes(), 1),
    ("a byte-order mark", || [b"\xEF\xBB\xBF", SESSION.as_bytes()].concat(), 0),
    ("Windows line ends", || SESSION.replace('\n', "\r\n").into_bytes(), 0),
    ("UTF-16", || [0xFF, 0xFE].into_iter().chain(SESSION.encode_utf16().flat_map(u16::to_le_bytes)).collect(), 0),
    (
        "bytes that are no UTF-8",
        || [SESSION.as_bytes(), b"{\"role\":\"user\",\"content\":\"a \xFF\xFE b\"}\n"].concat(),
        0,
    ),
    ("no line end at the end", || SESSION.trim_end().into(), 0),
];

#[test]
fn an_odd_log_is_read_as_far_as_it_goes_and_the_rest_is_counted() {
    for (name, bytes, skipped) in ODD {
        let desk = Desk::new();
        desk.write("log.jsonl", bytes());
        let told = desk.run(&["run", "log.jsonl", "--json", "-q"]);
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{name}: {told:?}");
        let summary = told.json().pop().unwrap();
        assert_eq!(summary["files"]["skipped_records"], *skipped, "{name}: {summary}");
        let learnt: Vec<_> = desk.memories().into_iter().map(|(_, content)| content).collect();
        assert_eq!(learnt, ["The user is allergic to peanuts."], "{name}");
        let loud = desk.run(&["run", "log.jsonl", "-v"]);
        assert_eq!(loud.err.contains("log.jsonl:"), *skipped > 0, "{name}: {}", loud.err);
    }
}

/// Runs a command to its end, and returns its processor time, which does not depend on other processes; or the elapsed
/// time, if a shell cannot report processor time.
fn timed(desk: &Desk, command: &Command) -> (Told, Duration) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" \"$@\"; code=$?; times; exit $code"]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(desk.path(".")).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if cfg!(not(unix)) {
        let begun = Instant::now();
        return (desk.run(&["run", "log.jsonl", "-q"]), begun.elapsed());
    }
    let told = desk.finish(shell);
    // The shell prints its own times and then those of its child processes, in user and system mode, such as
    // `0m1.230s`.
    let last = told.out.lines().last().unwrap();
    let seconds = |text: &str| {
        let (minutes, seconds) = text.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    let took = last.split_whitespace().map(seconds).sum();
    (told, Duration::from_secs_f64(took))
}

#[test]
fn a_line_of_fifty_megabytes_is_read_quickly() {
    let desk = Desk::new();
    let long = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", "long ago ".repeat(50 << 20 >> 3));
    desk.write("log.jsonl", format!("{SESSION}{long}"));
    let command = desk.command(&["run", "log.jsonl", "-q"]);
    let (told, took) = timed(&desk, &command);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(desk.memories().contains(&("active".to_owned(), "The user is allergic to peanuts.".to_owned())));
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_told_and_the_others_are_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new();
    desk.write("logs/good.json", CHAT);
    desk.write("logs/locked.json", CHAT);
    std::fs::set_permissions(desk.path("logs/locked.json"), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(desk.path("logs/locked.json")).is_ok() {
        return; // The superuser reads everything.
    }
    let told = desk.run(&["run", "logs", "-q"]);
    assert_eq!(told.code, 3);
    assert!(
        told.err.starts_with("error: cannot read logs/locked.json; check the path and its permissions"),
        "{told:?}"
    );
    assert_eq!(desk.memories().len(), 1);
}

#[test]
fn an_id_that_fits_several_memories_is_told_with_their_number() {
    let desk = Desk::new();
    for text in ["The user drinks tea.", "The office is in Lisbon."] {
        assert_eq!(desk.run(&["remember", text, "-q"]).code, 0);
    }
    let first = desk.json(&["memory", "list"])[0]["id"].as_str().unwrap()[..4].to_owned();
    let told = desk.run(&["memory", "show", &first]);
    let expected = format!("error: 2 memories have an id like {first}; give more characters of the id\n");
    assert_eq!((told.code, told.err), (2, expected));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let desk = Desk::new();
    let line = |number| format!("{{\"content\":\"The user has visited place number {number}.\"}}");
    let lines = (0..3_000).map(line).collect::<Vec<_>>().join("\n");
    desk.write("many.jsonl", lines);
    assert_eq!(desk.run(&["import", "many.jsonl", "-q"]).code, 0);
    for args in [
        &["export"][..],
        &["export", "--format", "markdown"],
        &["memory", "list", "-n", "3000"],
        &["memory", "list", "-n", "3000", "--json"],
    ] {
        let mut child = desk.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(!line.is_empty());
        assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn a_server_that_never_answers_costs_the_window_and_nothing_else() {
    let desk = Desk::new();
    chat(&desk);
    // The listener accepts connections into its backlog, but sends nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    desk.write("s.toml", "timeout_seconds = 1");
    let told =
        desk.run(&["runs", "plan", "chat.json", "--base-url", &url, "--model", "m", "--config", "s.toml", "--json"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.err.contains("no answer within 1s") && told.err.contains("finished work is kept"), "{}", told.err);
    let summary = told.json().pop().unwrap();
    assert_eq!((&summary["windows"]["failed"], &summary["failures"][0]["what"].is_string()), (&1.into(), &true));
}

#[test]
fn a_recording_without_the_answer_is_told() {
    let desk = Desk::new();
    chat(&desk);
    std::fs::create_dir(desk.path("tapes")).unwrap();
    let told = desk.run(&["run", "chat.json", "--replay", "tapes", "--model", "m", "-q"]);
    assert_eq!((told.code, told.err.lines().count()), (3, 1));
    assert!(
        told.err.contains("no recorded reply") && told.err.ends_with("in tapes; record it with --record\n"),
        "{told:?}"
    );
}

#[test]
fn a_command_that_needs_memories_creates_no_database() {
    let desk = Desk::new();
    for (args, code) in [
        (&["runs", "list"][..], 1),
        (&["runs", "show", "last"], 1),
        (&["undo", "last"], 1),
        (&["memory", "forget", "abcd1234"], 2),
        (&["memory", "pin", "abcd1234"], 2),
        (&["inbox", "accept", "abcd1234"], 2),
        (&["runs", "batches", "--give-up", "batch_1"], 2),
        (&["project", "merge", "a", "b"], 2),
    ] {
        let told = desk.run(&[args, &["--db", "none.db"]].concat());
        assert_eq!(told.code, code, "{args:?}: {}", told.err);
        assert!(told.err.contains("no memories yet: none.db does not exist"), "{args:?}: {}", told.err);
        assert!(!desk.path("none.db").exists(), "{args:?}");
    }
}

#[test]
fn importance_is_read_on_both_scales_and_refused_outside_of_them() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["remember", KNOWN, "--importance", "0.7"]).code, 0);
    for (given, code) in [("0.7", 0), ("7", 0), ("0.8", 1), ("8", 1), ("70", 2), ("-1", 2), ("many", 2)] {
        let told = desk.run(&["memory", "list", &format!("--min-importance={given}")]);
        assert_eq!(told.code, code, "{given}: {}", told.err);
    }
}

#[test]
fn a_server_that_is_down_fails_the_check() {
    let desk = Desk::new();
    let mut command = desk.command(&["status", "--check"]);
    command.envs([("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("AFTERTHOUGHT_MODEL", "m")]);
    let told = desk.finish(command);
    assert_eq!(told.code, 3, "{}", told.out);
    let line = told.out.lines().find(|line| line.starts_with('✗')).unwrap();
    assert!(line.contains("model") && line.contains("m at http://127.0.0.1:9/v1"), "{line}");
}

#[cfg(unix)]
#[test]
fn a_missing_permission_is_named_with_its_path() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new(None);
    std::fs::create_dir_all(world.path("closed/inner")).unwrap();
    std::fs::write(world.path("closed/afterthought.toml"), "jobs = 2").unwrap();
    std::fs::set_permissions(world.path("closed"), std::fs::Permissions::from_mode(0o000)).unwrap();
    for (args, path) in [
        (&["log", "watch", "closed", "--once"][..], "closed"),
        (&["log", "watch", "closed/inner", "--once"], "closed/inner"),
        (&["log", "list", "--below", "closed/inner"], "closed/inner"),
        (&["import", "closed", "--dry-run"], "closed"),
        (&["eval", "closed"], "closed"),
        (&["eval", "closed/inner"], "closed/inner"),
        (&["project", "trust", "closed"], "closed/afterthought.toml"),
        (&["project", "trust", "closed/inner"], "closed/inner/afterthought.toml"),
    ] {
        let output = bound(&world, &world.command(args)).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        let told = told.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(path) && told.contains("permissions") && told.contains("denied"), "{args:?}: {told}");
    }
    std::fs::set_permissions(world.path("closed"), std::fs::Permissions::from_mode(0o700)).unwrap();
}
