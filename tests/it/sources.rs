//! Tests of the sources on a machine, which are listed without reading their content, and which are read using the name
//! of the program.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use serde_json::{Value, json};

use super::desk::Desk;

/// Returns a Claude Code session in which a person says `words`, on a day of March 2026.
pub fn session(id: &str, day: u32, project: &str, words: &[&str]) -> String {
    let line = |(number, words): (usize, &&str)| {
        json!({
            "type": "user", "sessionId": id, "cwd": project, "uuid": format!("{id}-{number}"), "isSidechain": false,
            "parentUuid": number.checked_sub(1).map(|before| format!("{id}-{before}")),
            "timestamp": format!("2026-03-{day:02}T09:{number:02}:00.000Z"),
            "message": {"role": "user", "content": words},
        })
        .to_string()
            + "\n"
    };
    words.iter().enumerate().map(line).collect()
}

const ONE: &str = "0198c2aa-1111-7222-8333-944455556666";
const OTHER: &str = "0198c2bb-1111-7222-8333-944455556666";

fn claude(desk: &Desk, id: &str, words: &[&str]) {
    let name = format!(".claude/projects/-home-ana-shop/{id}.jsonl");
    desk.write(&name, session(id, 3, "/home/ana/shop", words));
}

fn by_source(desk: &Desk, args: &[&str]) -> Vec<Value> {
    desk.json(&[&["log", "list"], args].concat())
}

fn counts(value: &Value) -> [u64; 5] {
    ["files", "files_new", "files_changed", "files_read", "conversations"].map(|name| value[name].as_u64().unwrap())
}

#[test]
fn an_empty_machine_is_told_what_to_do() {
    let desk = Desk::new();
    let told = desk.run(&["log", "list"]);
    assert_eq!((told.code, told.out.as_str()), (1, ""));
    assert!(told.err.contains("found no conversations from Claude Code, "), "{}", told.err);
    assert!(told.err.contains("`afterthought run`"), "{}", told.err);
    let told = desk.run(&["run", "--from", "all"]);
    assert_eq!(told.code, 2);
    assert!(told.err.contains("no conversations from all on this machine (no known folder)"), "{}", told.err);
    assert!(!desk.path("afterthought/memories.db").exists(), "a mistake makes no database");
}

#[test]
fn what_was_read_changed_or_is_new_is_told_apart() {
    let desk = Desk::new();
    claude(&desk, ONE, &["Please always use tabs in this project."]);
    desk.write(".claude/projects/-home-ana-shop/memory/MEMORY.md", "- [x](x.md)");
    let found = by_source(&desk, &[]);
    assert_eq!((found.len(), counts(&found[0])), (1, [1, 1, 0, 0, 0]), "{found:#?}");
    assert_eq!(found[0]["source"], "claude-code");
    assert!(found[0]["folders"][0]["folder"].as_str().unwrap().ends_with(".claude/projects"));
    desk.json(&["run", "--from", "claude-code", "--extractor", "rules"]);
    let read = by_source(&desk, &[]);
    assert_eq!(counts(&read[0]), [1, 0, 0, 1, 1]);
    assert_eq!(read[0]["from"], "2026-03-03T09:00:00Z");
    claude(&desk, ONE, &["Please always use tabs in this project.", "We deploy on Fridays."]);
    claude(&desk, OTHER, &["I live in Lisbon."]);
    assert_eq!(counts(&by_source(&desk, &[])[0]), [2, 1, 1, 0, 1]);
    let told = desk.run(&["log", "list"]);
    assert!(told.out.contains("1 file new, 1 changed") && told.out.contains("~/.claude/projects"), "{}", told.out);
}

#[test]
fn folders_follow_the_environment() {
    let desk = Desk::new();
    desk.write("elsewhere/sessions/2026/01/02/rollout-x.jsonl", "{}");
    let mut command = desk.command(&["log", "list", "--json"]);
    command.env("CODEX_HOME", desk.path("elsewhere"));
    let told = desk.finish(command).json();
    assert_eq!((told.len(), told[0]["source"].as_str().unwrap()), (1, "codex"));
    assert_eq!(desk.run(&["log", "list"]).code, 1);
}

#[test]
fn a_program_is_read_by_its_name() {
    let desk = Desk::new();
    claude(&desk, ONE, &["Please always use tabs in this project."]);
    desk.write("chats/note.md", "User: I live in Lisbon.\n\nAssistant: Noted.\n");
    let told = desk.json(&["run", "--from", "claude-code", "--from", "all", "--extractor", "rules"]);
    assert_eq!(told.last().unwrap()["transcripts"], 1);
    assert_eq!(desk.memories().len(), 1);
    let told = desk.json(&["run", "--from", "claude-code", "chats", "--extractor", "rules", "--db", "both.db"]);
    assert_eq!(told.last().unwrap()["transcripts"], 2, "{told:#?}");
}

#[test]
fn a_name_that_is_not_known_or_has_nothing_is_an_error() {
    let desk = Desk::new();
    let error = |args: &[&str]| {
        let told = desk.run(args);
        assert_eq!(told.code, 2, "{told:?}");
        told.err
    };
    let told = error(&["run", "--from", "clod"]);
    assert!(
        told.contains("no known program is called \"clod\"; known programs are claude-code, claude-desktop, "),
        "{told}"
    );
    let told = error(&["run", "--from", "codex"]);
    assert!(told.contains("no conversations from codex on this machine (DESK"), "{told}");
    assert!(error(&["run", "--from", "aider"]).contains("--below FOLDER"));
    assert!(error(&["run"]).contains("--from"));
}

#[test]
fn histories_in_projects_are_read_below_the_folders_given() {
    let desk = Desk::new();
    let history = "# aider chat started at 2026-02-03 10:11:12\n\n#### We always use tabs.\n\nNoted.\n";
    desk.write("src/shop/.aider.chat.history.md", history);
    desk.write("src/shop/notes.md", "User: I live in Lisbon.\n");
    let found = by_source(&desk, &["--below", "src"]);
    assert_eq!((found.len(), found[0]["source"].as_str().unwrap(), counts(&found[0])[0]), (1, "aider", 1));
    let told = desk.json(&["run", "--from", "aider", "--below", "src", "--extractor", "rules"]);
    let files = &told.last().unwrap()["files"];
    assert_eq!(files["read"].as_u64().unwrap() + files["passed_over"].as_u64().unwrap(), 1, "{files}");
}

#[test]
fn the_date_of_a_file_is_not_taken_for_the_time_at_which_something_was_said() {
    let desk = Desk::new();
    desk.write("undated.txt", "User: I am allergic to peanuts.\n\nAssistant: Noted.\n");
    assert_eq!(desk.run(&["run", "undated.txt", "--extractor", "rules", "-q"]).code, 0);
    let found = desk.run(&["search", "peanuts"]).out;
    assert!(found.contains(" · file dated 20") && !found.contains("said 20"), "{found}");
    let json = desk.json(&["search", "peanuts"]).remove(0);
    assert_eq!(json["said_source"], "file", "{json}");
    let why = desk.run(&["memory", "why", json["id"].as_str().unwrap()]).out;
    assert!(why.contains("user, file dated 20"), "{why}");
    desk.write("dated.json", r#"[{"role":"user","content":"I live in Porto.","timestamp":"2026-03-02T10:00:00Z"},{"role":"assistant","content":"Noted.","timestamp":"2026-03-02T10:01:00Z"}]"#);
    assert_eq!(desk.run(&["run", "dated.json", "--extractor", "rules", "-q"]).code, 0);
    let found = desk.run(&["search", "Porto"]).out;
    assert!(found.contains(" · said 2026-03-02"), "{found}");
    let why = desk.run(&["memory", "why", desk.json(&["search", "Porto"])[0]["id"].as_str().unwrap()]).out;
    assert!(why.contains("user, 2026-03-02 10:00"), "{why}");
}

#[test]
fn a_verbose_run_names_the_logs_without_memories() {
    let desk = Desk::new();
    desk.write(
        "a.json",
        r#"[{"role":"user","content":"I am allergic to peanuts."},{"role":"assistant","content":"Noted."}]"#,
    );
    desk.write("b.json", r#"[{"role":"user","content":"What time is it?"},{"role":"assistant","content":"Noon."}]"#);
    let run = |more: &[&str]| {
        desk.run(&[&["run", "a.json", "b.json", "--extractor", "rules", "--dry-run"], more].concat()).err
    };
    let told = run(&["-v"]);
    assert!(told.contains("b.json: no memories in messages 1–2") && !told.contains("a.json: no memories"), "{told}");
    assert!(!run(&[]).contains("no memories in messages"));
}

#[test]
fn captions_without_names_are_reported_once_a_run() {
    let desk = Desk::new();
    let unnamed = "WEBVTT\n\n00:00:01.000 --> 00:00:04.000\nWe always deploy on Fridays.\n";
    desk.write("talks/one.vtt", unnamed);
    desk.write("talks/two.vtt", unnamed.replace("Fridays", "Mondays"));
    desk.write("talks/named.vtt", unnamed.replace("We", "<v Ana>We"));
    let run = desk.run(&["run", &desk.path("talks").to_string_lossy(), "--extractor", "rules", "--dry-run"]);
    let wanted = "2 files with captions that name no speaker, so the text is attributed to nobody";
    assert_eq!(run.err.matches("name no speaker").count(), 1, "{}", run.err);
    assert!(run.err.contains(wanted) && !run.out.contains("name no speaker"), "{}", run.err);
}

#[test]
fn captions_without_names_can_be_attributed_to_a_speaker() {
    let desk = Desk::new();
    let unnamed = "WEBVTT\n\n00:00:01.000 --> 00:00:04.000\nWe always deploy on Fridays.\n";
    desk.write("talks/one.vtt", unnamed);
    desk.write("talks/two.vtt", unnamed.replace("We", "<v Ben>We").replace("Fridays", "Mondays"));
    let talks = desk.path("talks").to_string_lossy().into_owned();
    let run = desk.run(&["run", &talks, "--extractor", "rules"]);
    assert!(!run.out.contains("Fridays") && run.out.contains("Mondays"), "{}", run.out);
    // The files are unchanged, but the text of one of them now has a speaker.
    let run = desk.run(&["run", &talks, "--extractor", "rules", "--speaker", "Ana"]);
    assert!(run.out.contains("Fridays") && !run.err.contains("name no speaker"), "{} {}", run.out, run.err);
    let memories = desk.run(&["memory", "list", "--everywhere", "--json"]).out;
    let of = |day: &str| memories.lines().find(|line| line.contains(day)).unwrap().to_owned();
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
    for (day, speaker) in [("Fridays", "Ana"), ("Mondays", "Ben")] {
        let shown = desk.run(&["memory", "show", &id(&of(day)), "--json"]).out;
        assert!(shown.contains(&format!("\"speaker\":\"{speaker}\"")), "{shown}");
    }
    let empty = desk.run(&["run", &talks, "--speaker", " "]);
    assert!(empty.err.contains("--speaker is empty; give a name"), "{}", empty.err);
}

#[test]
fn sessions_in_folders_that_are_gone_share_the_repository_of_their_pull_requests() {
    let desk = Desk::new();
    for (id, folder) in [(ONE, "lively-fox"), (OTHER, "quiet-owl")] {
        let link = json!({
            "type": "pr-link", "sessionId": id, "prNumber": 7, "prUrl": "https://git.example/ana/shop/pull/7",
            "prRepository": "ana/shop", "timestamp": "2026-03-03T10:00:00.000Z",
        });
        let words = [format!("We always label {folder} parcels by hand.")];
        let said = session(id, 3, &format!("/gone/{folder}"), &[&words[0]]);
        desk.write(&format!("logs/{id}.jsonl"), format!("{said}{link}\n"));
    }
    desk.json(&["run", &desk.path("logs").to_string_lossy(), "--extractor", "rules"]);
    let projects = desk.json(&["project", "list"]);
    assert_eq!(
        (projects.len(), &projects[0]["identities"][0]),
        (1, &json!("remote:git.example/ana/shop")),
        "{projects:#?}"
    );
}

#[test]
fn what_a_person_had_remembered_or_forgotten_by_command_is_not_read_from_the_log() {
    let desk = Desk::new();
    let command = |name: &str, text: &str| {
        format!(
            "<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n<command-args>{text}</command-args>"
        )
    };
    let words = [
        command("remember", "--global I live in Lisbon."),
        command("forget", "We deploy on Fridays."),
        "/remember I prefer tea to coffee.".to_owned(),
        command("note", "I prefer tabs to spaces."),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    desk.write(&format!("logs/{ONE}.jsonl"), session(ONE, 3, "/gone/shop", &words));
    desk.json(&["run", &desk.path("logs").to_string_lossy(), "--extractor", "rules"]);
    let memories = desk.memories();
    assert!(memories.len() == 1 && memories[0].1.contains("tabs"), "{memories:?}");
}
