//! Tests of statements of the three specifications about writing and listing memories, each through the program itself.

use std::process::Command;

use serde_json::{Value, json};

use super::desk::Desk;
use super::mcp::client::Piped;
use super::specified::{age, contents, database, hook, remembered};
use super::world::raw;

/// Makes a folder of the desk a repository; the desk itself is the home folder, which is no project.
fn make_repository(desk: &Desk) {
    std::fs::create_dir_all(desk.path("shop/.git/objects")).unwrap();
    desk.write("shop/.git/HEAD", "ref: refs/heads/main\n");
}

/// Returns a command that runs in the repository.
fn in_repository(desk: &Desk, args: &[&str]) -> Command {
    let mut command = desk.command(args);
    command.current_dir(desk.path("shop"));
    command
}

#[test]
fn a_memory_written_in_a_repository_is_stored_for_its_project() {
    let (desk, elsewhere) = (Desk::new(), Desk::new());
    make_repository(&desk);
    let done = desk.finish(in_repository(&desk, &["remember", "Use npm ci in this repository."]));
    assert!(done.out.contains("project/") && done.err.contains("--global"), "{}{}", done.out, done.err);
    desk.run(&["remember", "--global", "The user drinks tea."]);
    assert!(!elsewhere.run(&["remember", "Ana sings."]).out.contains("project/"), "a folder that is no repository");
    let of = |text: &str| {
        let found = desk.json(&["memory", "list", "--everywhere"]);
        let memory =
            found.iter().find(|memory| memory["content"] == text).unwrap_or_else(|| panic!("{text}: {found:?}"));
        let parts = memory["namespace"].as_array().unwrap();
        parts.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join("/")
    };
    assert!(of("Use npm ci in this repository.").starts_with("project/"));
    assert_eq!(of("The user drinks tea."), "global");
    let mut client = Piped::of(in_repository(&desk, &["serve", "mcp"]));
    let stored =
        client.call("memory_store", json!({"category": "fact", "subject": "x", "content": "CI runs nightly."}));
    assert_eq!(stored["memory"]["namespace"], of("Use npm ci in this repository."), "as a server in the same folder");
}

#[test]
fn a_preference_of_the_user_is_stored_for_every_project() {
    let desk = Desk::new();
    make_repository(&desk);
    let mut client = Piped::of(in_repository(&desk, &["serve", "mcp", "--profile", "blockcell"]));
    let mut namespace = |arguments: Value| {
        let stored = client.call("memory_upsert", arguments);
        stored["memory"]["namespace"].as_str().unwrap().to_owned()
    };
    let preference = json!({"content": "User prefers Python.", "type": "preference", "dedup_key": "language"});
    assert_eq!(namespace(preference), "global");
    assert!(namespace(json!({"content": "The release is in May.", "type": "project"})).starts_with("project/"));
    let own = json!({"content": "The user wants short answers.", "type": "preference", "audience": "project"});
    assert!(namespace(own).starts_with("project/"));
}

#[test]
fn a_restored_memory_replaces_the_one_that_took_its_key() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "blockcell"]);
    let mut save = |content: &str| {
        let saved = client.call("memory_upsert", json!({"content": content, "dedup_key": "office"}));
        saved["memory"]["id"].as_str().unwrap().to_owned()
    };
    let first = save("The office is on the third floor.");
    desk.run(&["memory", "forget", &first]);
    save("Desks are booked by phone.");
    assert_eq!(desk.run(&["memory", "restore", &first]).code, 0);
    assert_eq!(contents(&desk, &[]), ["The office is on the third floor."]);
}

#[test]
fn a_memory_whose_end_has_passed_is_not_listed_as_active() {
    let desk = Desk::new();
    let over = remembered(&desk, &["Cy is ill.", "--expires", "30m"]);
    remembered(&desk, &["Cy sings.", "--expires", "2h"]);
    age(&desk, &over["id"], "expires_at");
    assert_eq!(contents(&desk, &[]), ["Cy sings."]);
    let expired = desk.json(&["memory", "list", "--status", "expired"]);
    assert!(expired.len() == 1 && expired[0]["content"] == "Cy is ill." && expired[0]["status"] == "expired");
    let status = desk.run(&["status"]).out;
    assert!(status.contains("the end of 1 active memory has passed"), "{status}");
    assert!(status.contains("1 expire within 7 days"), "{status}");
    let stored: String = raw(&database(&desk.path("")).unwrap())
        .unwrap()
        .query_row("SELECT status FROM memories WHERE content = 'Cy is ill.'", (), |row| row.get(0))
        .unwrap();
    assert_eq!(stored, "active", "listing changes nothing");
}

#[test]
fn arguments_that_would_mislead_are_refused() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    let blank = json!({"category": "fact", "subject": " ", "content": "Ana sings."});
    assert!(client.refused("memory_store", blank).contains("the subject is empty"));
    assert!(client.refused("memory_recall", json!({"category": "gossip"})).contains("use one of fact"));
    let twice = json!({"content": "Ana sings.", "expires": "2h", "expires_in_days": 3});
    assert!(client.refused("memory_upsert", twice).contains("gives the expiry twice"));
    let stored = client.call("memory_upsert", json!({"content": "Ana sings.", "tags": [" b ", "", "a", "b", "a"]}));
    assert_eq!(stored["memory"]["tags"], json!(["b", "a"]));
    for text in ["Bo sings.", "Cy sings."] {
        client.call("memory_upsert", json!({"content": text, "type": "task", "tags": ["choir"]}));
    }
    let page = client.call("memory_recall", json!({"tags": ["choir"], "limit": 1}));
    assert!(page["count"] == 1 && page["total"] == 2, "{page}");
    let gone = client.call("memory_forget", json!({"tags": ["choir"]}));
    assert!(gone["count"] == 2 && gone["memories"][1]["status"] == "forgotten", "{gone}");
    let profile = |field: &str, value: &str| json!({"category": "profile", "subject": "user", "content": format!("{field} {value}."), "structured": {"profile": {field: value}}});
    let refused = client.refused("memory_store", profile("responsePreference", "verbose"));
    assert!(refused.contains("responsePreference \"verbose\" is unknown; use one of concise"), "{refused}");
    assert!(client.refused("memory_store", profile("language_preference", "zz")).contains("use one of auto, en, zh"));
    client.call("memory_store", profile("response_preference", "concise"));
}

#[test]
fn a_note_that_a_command_fails_is_shown_before_it_runs_and_when_it_fails() {
    let desk = Desk::new();
    make_repository(&desk);
    let mut client = Piped::of(in_repository(&desk, &["serve", "mcp", "--profile", "basecoat"]));
    let note = "dotnet restore may fail until private feed auth is refreshed.";
    let other = "dotnet restore needs the SDK of version 9.";
    for content in [note, other] {
        client.call(
            "memory_store",
            json!({"category": "fact", "subject": "error-kb", "content": content, "source": "PostToolUse:powershell"}),
        );
    }
    let input = |session: &str, event: &str, more: Value| {
        let mut input = json!({"hook_event_name": event, "session_id": session, "cwd": desk.path("shop"), "tool_name": "Bash",
            "tool_use_id": "t1", "tool_input": {"command": "dotnet restore"}});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let before = hook(&desk, "pre-tool-use", &input("a", "PreToolUse", json!({})));
    assert!(before.contains(note) && !before.contains(other), "{before}");
    let error = json!({"error": "error NU1301: Unable to load the service index: 401 (Unauthorized)"});
    let after = hook(&desk, "post-tool-use-failure", &input("b", "PostToolUseFailure", error));
    assert!(after.contains(note) && !after.contains(other), "{after}");
}
