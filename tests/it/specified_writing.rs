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
fn a_server_can_leave_everything_that_agents_store_to_a_person() {
    let desk = Desk::new();
    make_repository(&desk);
    let mut client = Piped::of(in_repository(&desk, &["serve", "mcp", "--review"]));
    let stored =
        client.call("memory_store", json!({"category": "fact", "subject": "x", "content": "CI runs nightly."}));
    assert_eq!(stored["memory"]["status"], "pending", "{stored}");
    assert_eq!(client.call("memory_recall", json!({"query": "nightly"}))["memories"], json!([]));
    let waiting = desk.run(&["inbox", "list"]).out;
    assert!(
        waiting.contains("CI runs nightly.") && waiting.contains("has not been reviewed by a person yet"),
        "{waiting}"
    );
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
    for content in ["prefers dark mode", "用户偏好使用Python，不喜欢Excel", "我喜欢简短的回答", "Answer in German"]
    {
        assert_eq!(namespace(json!({"content": content, "type": "preference"})), "global", "{content}");
    }
    let of_project = json!({"content": "The project prefers tabs over spaces.", "type": "preference"});
    assert!(namespace(of_project).starts_with("project/"));
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
    assert!(status.contains("the expiry time of 1 active memory has passed"), "{status}");
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
    assert!(refused.contains("response_preference is unknown; use one of concise"), "{refused}");
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

#[test]
fn a_key_stands_for_one_memory_however_it_is_written() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "blockcell"]);
    let keys = ["user-lang", "userLang", "C#", "a/b", "用户 偏好", "city", "residence", "user_lang"];
    for key in keys {
        let first = client.call("memory_upsert", json!({"content": format!("Value one of {key}"), "dedup_key": key}));
        let again = client.call("memory_upsert", json!({"content": format!("Value two of {key}"), "dedup_key": key}));
        assert_eq!((&again["memory"]["id"], &again["decision"]), (&first["memory"]["id"], &json!("merge")), "{key}");
        assert_eq!(again["memory"]["dedup_key"], *key);
    }
    assert_eq!(desk.json(&["memory", "list"]).len(), keys.len());
    let same = client.call("memory_upsert", json!({"content": "Value two of city", "dedup_key": "city"}));
    assert!(same["decision"] == "skip" && same["reason"] == "already known under this key", "{same}");
    for key in [" city", "city\n", "ci\u{200b}ty", "city\u{a0}", " "] {
        let refused = client.refused("memory_upsert", json!({"content": "Value three of city", "dedup_key": key}));
        assert!(refused.contains("the key has white space at its start or end"), "{key:?}: {refused}");
    }
    let salary = client.call("memory_upsert", json!({"content": "The salary is unknown.", "dedup_key": "pay"}));
    client.call("memory_forget", json!({"id": salary["memory"]["id"]}));
    client.call("memory_upsert", json!({"content": "Ana is paid monthly.", "dedup_key": "pay"}));
    let back = client.call("memory_upsert", json!({"content": "The salary is unknown.", "dedup_key": "pay"}));
    assert!(back["decision"] == "skip" && back["reason"].as_str().unwrap().contains("forgotten before"), "{back}");
}

#[test]
fn memories_with_the_same_words_and_different_keys_stay_apart() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    let mut save = |content: &str, key: &str| {
        client.call("memory_upsert", json!({"content": content, "dedup_key": key}))["decision"].clone()
    };
    assert_eq!(save("The status is done.", "job-1"), "add");
    assert_eq!(save("The status is done.", "job-2"), "add");
    assert_eq!(save("The status is failed.", "job-3"), "add");
    desk.run(&["db", "consolidate", "--extractor", "rules"]);
    assert_eq!(save("The status is failed.", "job-1"), "merge");
    let mut left = desk.json(&["memory", "list"]);
    left.sort_by_key(|memory| memory["key"].to_string());
    let left: Vec<_> = left.iter().map(|memory| (memory["key"].clone(), memory["content"].clone())).collect();
    let expected = [("job-1", "failed"), ("job-2", "done"), ("job-3", "failed")];
    assert_eq!(left, expected.map(|(key, is)| (json!(key), json!(format!("The status is {is}.")))));
    let unkeyed = json!({"category": "fact", "subject": "x", "content": "The queue is empty."});
    let stored = client.call("memory_store", unkeyed);
    let keyed = client.call("memory_upsert", json!({"content": "The queue is empty.", "dedup_key": "queue"}));
    assert_eq!((&keyed["memory"]["id"], &keyed["memory"]["dedup_key"]), (&stored["memory"]["id"], &json!("queue")));
}

#[test]
fn a_key_that_the_guard_would_change_is_refused() {
    let desk = Desk::new();
    desk.settings(".", "[guard]\nredact = [\"emails\"]\n");
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "blockcell"]);
    for person in ["ana", "bob"] {
        let arguments =
            json!({"content": format!("{person} sings."), "dedup_key": format!("contact:{person}@example.com")});
        let refused = client.refused("memory_upsert", arguments);
        assert!(refused.contains("the key contains personal data") && !refused.contains(person), "{refused}");
    }
}

#[test]
fn a_key_is_found_in_the_project_and_in_the_global_namespace() {
    let desk = Desk::new();
    make_repository(&desk);
    let mut client = Piped::of(in_repository(&desk, &["serve", "mcp", "--profile", "blockcell"]));
    let mut save = |arguments: Value| {
        let saved = client.call("memory_upsert", arguments);
        (
            saved["decision"].clone(),
            saved["memory"]["namespace"].as_str().unwrap().to_owned(),
            saved["memory"]["id"].clone(),
        )
    };
    let dark = json!({"content": "The user prefers dark mode.", "type": "preference", "dedup_key": "theme"});
    let (_, namespace, id) = save(dark);
    assert_eq!(namespace, "global");
    let light = json!({"content": "The user prefers light mode.", "dedup_key": "theme"});
    assert_eq!(save(light), (json!("merge"), "global".to_owned(), id));
    let (_, namespace, id) = save(json!({"content": "The release is in May.", "dedup_key": "release"}));
    assert!(namespace.starts_with("project/"), "{namespace}");
    let later = json!({"content": "The release is in June.", "dedup_key": "release", "audience": "user"});
    assert_eq!(save(later), (json!("merge"), namespace, id));
    let found = client.call("memory_query", json!({}));
    assert_eq!(found["count"], 2, "{found}");
}

#[test]
fn a_known_memory_is_found_by_each_subject_and_keeps_its_words_and_id() {
    const UUID: &str = "018f6b2e-0000-7000-8000-000000000002";
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    let mut store = |category: &str, subject: &str| {
        let fact = json!({"category": category, "subject": subject, "content": "The release branch is called stable.", "id": UUID});
        client.call("memory_store", fact)
    };
    store("fact", "current_project");
    let again = store("decision", "release");
    assert!(again["decision"] == "skip" && again["memory"]["id"] == UUID, "{again}");
    assert!(again["reason"].as_str().unwrap().contains("its category stays fact"), "{again}");
    for subject in ["current_project", "release"] {
        assert_eq!(client.call("memory_recall", json!({"subject": subject}))["count"], 1, "{subject}");
    }
    let wordings = [
        ("backup", "Snapshots are stored in the bucket."),
        ("compliance", "Snapshots are stored in the bucket in Frankfurt for ninety days."),
    ];
    for (subject, content) in wordings {
        client.call("memory_store", json!({"category": "fact", "subject": subject, "content": content}));
    }
    for (subject, _) in wordings {
        let found = client.call("memory_recall", json!({"subject": subject}));
        assert_eq!((&found["count"], &found["memories"][0]["content"]), (&json!(1), &json!(wordings[1].1)), "{found}");
    }
    let id = json!({"id": UUID, "content": "\u{200b}"});
    assert!(client.refused("memory_update", id).contains("there is no text to remember"));
    for content in ["\u{200b}", "\u{202e}\u{2060}", "\0"] {
        let stored = json!({"category": "fact", "subject": "x", "content": content});
        assert!(client.refused("memory_store", stored).contains("there is no text to remember"), "{content:?}");
    }
    let long =
        |field: &str, value: Value| json!({"category": "fact", "subject": "x", "content": "Bo sings.", field: value});
    assert!(client.refused("memory_store", long("title", "t".repeat(501).into())).contains("the title is longer than"));
    assert!(client.refused("memory_store", long("tags", vec!["x".repeat(201)].into())).contains("the tag is longer"));
    let gone = json!({"id": UUID, "action": "restore", "dry_run": true});
    client.call("memory_forget", json!({"id": UUID}));
    assert_eq!(client.call("memory_forget", gone)["done"], "would be restored");
    assert_eq!(client.call("memory_recall", json!({"subject": "release"}))["count"], 0);
    assert!(client.refused("memory_forget", json!({"type": "gossip"})).contains("use one of fact"));
    assert!(client.refused("memory_query", json!({"type": "gossip"})).contains("use one of fact"));
    let far = json!({"content": "Bo sings.", "expires_in_days": 1e12});
    assert!(client.refused("memory_upsert", far).contains("is too far in the future"));
}

#[test]
fn a_subject_is_found_in_any_case() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    for (subject, content) in [
        ("STRASSE", "The street is closed until May."),
        ("İzmir", "İstanbul gets a second office in July."),
        ("ΟΔΟΣ", "The map server runs in Athens."),
    ] {
        client.call("memory_store", json!({"category": "fact", "subject": subject, "content": content}));
    }
    for subject in ["straße", "Strasse", "izmir", "IZMIR", "οδος", "οδοσ"] {
        assert_eq!(client.call("memory_recall", json!({"subject": subject}))["count"], 1, "{subject}");
    }
    for query in ["istanbul", "İSTANBUL"] {
        let found = client.call("memory_query", json!({"query": query}));
        assert_eq!(found["memories"][0]["subject"], "İzmir", "{query}: {found}");
    }
}

#[test]
fn another_value_of_one_attribute_replaces_the_known_one_without_a_word_of_change() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "basecoat"]);
    for content in ["The Node version is 18.", "The billing lead is Ana.", "The database is slow."] {
        client.call("memory_store", json!({"category": "fact", "subject": "x", "content": content}));
    }
    std::thread::sleep(std::time::Duration::from_millis(5));
    for content in ["The Node version is 22.", "The billing lead is Ben.", "The database is encrypted."] {
        client.call("memory_store", json!({"category": "fact", "subject": "x", "content": content}));
    }
    let mut left = contents(&desk, &[]);
    left.sort();
    let expected =
        ["The Node version is 22.", "The billing lead is Ben.", "The database is encrypted.", "The database is slow."];
    assert_eq!(left, expected);
}

#[test]
fn an_update_follows_the_rules_of_storing() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    let mut store = |content: &str| {
        let fact = json!({"category": "fact", "subject": "team", "title": "", "content": content});
        client.call("memory_store", fact)["memory"].clone()
    };
    let (gone, kept) = (store("Bo keeps bees in the yard."), store("Ana drinks green tea at noon."));
    assert_eq!(kept["title"], "Ana drinks green tea at noon.", "an empty title is no title");
    client.call("memory_forget", json!({"id": gone["id"]}));
    let back = json!({"id": kept["id"], "content": "Bo keeps bees in the yard."});
    assert!(client.refused("memory_update", back).contains("the text was forgotten before"));
    assert!(
        client.refused("memory_update", json!({"id": kept["id"], "subject": " "})).contains("the subject is empty")
    );
    let titled = client.call("memory_update", json!({"id": kept["id"], "title": ""}));
    assert_eq!(titled["memory"]["title"], kept["title"]);
}

#[test]
fn a_link_to_a_forgotten_memory_is_neither_made_nor_exported() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    let mut store = |content: &str| {
        let fact = json!({"category": "fact", "subject": "x", "content": content});
        client.call("memory_store", fact)["memory"]["id"].clone()
    };
    let (from, to) = (store("Ana drinks tea."), store("Bo keeps bees in the yard."));
    let link = json!({"from": from, "relation": "related", "to": to});
    client.call("memory_relate", link.clone());
    client.call("memory_forget", json!({"id": to}));
    assert!(client.refused("memory_relate", link.clone()).contains("is forgotten; restore it first"));
    let links = |args: &[&str]| desk.run(args).json()[0]["relations"].as_array().unwrap().len();
    assert_eq!((links(&["export"]), links(&["export", "--all"])), (0, 1));
    client.call("memory_forget", json!({"action": "restore", "id": to}));
    assert_eq!((&client.call("memory_relate", link)["is_new"], links(&["export"])), (&json!(false), 1));
}

#[test]
fn a_namespace_without_memories_is_named_with_similar_ones() {
    let desk = Desk::new();
    remembered(&desk, &["Ana drinks tea.", "--namespace", "project/shop"]);
    for args in
        [&["memory", "list"][..], &["search", "tea"], &["export"], &["memory", "forget", "--type", "semantic", "--yes"]]
    {
        let told = desk.run(&[args, &["--namespace", "project/shopp"]].concat());
        let hint = "no memory has the namespace project/shopp; similar: project/shop";
        assert!(told.code == 1 && told.err.contains(hint), "{args:?}: {told:?}");
    }
    let other = desk.run(&["search", "zebra", "--namespace", "project"]);
    assert!(other.code == 1 && !other.err.contains("has the namespace"), "{other:?}");
    let file = desk.run(&["export", "--out", "all.jsonl"]);
    assert!(file.code == 2 && file.err.contains("afterthought export > all.jsonl"), "{file:?}");
}

#[test]
fn a_pinned_memory_has_the_same_tier_wherever_it_is_printed() {
    let desk = Desk::new();
    let id = remembered(&desk, &["Ana drinks tea."])["id"].as_str().unwrap().to_owned();
    let pinned = desk.json(&["memory", "pin", &id]);
    let shown = desk.json(&["memory", "show", &id]);
    let listed = desk.json(&["memory", "list"]);
    let found = desk.json(&["search", "tea"]);
    let exported = desk.run(&["export"]).json();
    for printed in [pinned, shown, listed, found, exported] {
        assert_eq!(printed[0]["tier"], "l0", "{printed:?}");
    }
}

#[test]
fn events_in_the_same_words_come_back_from_an_export() {
    let (desk, other) = (Desk::new(), Desk::new());
    let event = json!({"type": "episodic", "content": "The deploy failed.", "valid_from": "2026-11-05T00:00:00Z"});
    desk.write("one.jsonl", event.to_string());
    desk.run(&["import", "one.jsonl"]);
    let told = desk.run(&["export", "--all"]);
    let id = told.json()[0]["id"].as_str().unwrap().to_owned();
    let copy = told.out.replace(&id, "fffffff0-0000-7000-8000-000000000002").replace("2026-11-05", "2026-11-08");
    let mut events = told.out;
    events.push_str(&copy);
    other.write("events.jsonl", &events);
    let done = other.run(&["import", "events.jsonl"]);
    assert!(done.out.contains("2 added"), "{}{}", done.out, done.err);
    assert_eq!(other.run(&["export", "--all"]).out, events);
    assert!(other.run(&["import", "events.jsonl"]).out.contains("2 already stored"));
}

#[test]
fn a_secret_in_a_namespace_is_refused_wherever_it_is_given() {
    let desk = Desk::new();
    let secret = concat!("ghp_", "0123456789abcdefghijABCDEFGHIJ012345");
    let namespace = &format!("project/{secret}");
    desk.run(&["remember", "Ana sings."]);
    desk.write("m.jsonl", "{\"content\":\"Bo sings.\"}\n");
    desk.write("rows.jsonl", format!("{{\"content\":\"Cy sings.\",\"namespace\":[\"project\",\"{secret}\"]}}\n"));
    let logs = &desk.path("logs").to_string_lossy().into_owned();
    std::fs::create_dir_all(logs).unwrap();
    for args in [
        &["remember", "Ana sings."][..],
        &["import", "m.jsonl"],
        &["run", logs],
        &["search", "Ana"],
        &["brief"],
        &["memory", "list"],
        &["db", "consolidate", "--extractor", "rules"],
        &["serve", "mcp"],
        &["agent", "install", "codex", "--yes"],
    ] {
        let done = desk.run(&[args, &["--namespace", namespace]].concat());
        assert!(done.code == 2 && done.err.contains("the namespace contains a secret"), "{args:?}: {done:?}");
        assert!(!done.err.contains(secret), "{args:?}: {done:?}");
    }
    let mut set = desk.command(&["remember", "Ana sings."]);
    set.env("AFTERTHOUGHT_NAMESPACE", namespace);
    assert!(desk.finish(set).err.contains("the namespace contains a secret"));
    let done = desk.run(&["import", "rows.jsonl"]);
    assert!(done.code == 3 && done.err.contains("its namespace contains a secret"), "{done:?}");
    assert_eq!(desk.run(&["import", "rows.jsonl", "--namespace", "project/shop"]).code, 0);
    desk.run(&["project", "alias", "logs", secret]);
    let bytes = std::fs::read(database(&desk.path("")).unwrap()).unwrap();
    assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "the file contains the secret");
}

#[test]
fn an_expired_memory_is_exported_as_expired_before_maintenance_marks_it() {
    let desk = Desk::new();
    let over = remembered(&desk, &["Cy is ill.", "--expires", "30m"]);
    remembered(&desk, &["Cy sings.", "--expires", "2h"]);
    age(&desk, &over["id"], "expires_at");
    let of = |lines: Vec<Value>| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        lines.iter().map(|line| (text(&line["content"]), text(&line["status"]))).collect()
    };
    let pair = |content: &str, status: &str| (content.to_owned(), status.to_owned());
    assert_eq!(of(desk.json(&["export"])), [pair("Cy sings.", "active")]);
    assert_eq!(of(desk.json(&["memory", "list", "--status", "active"])), [pair("Cy sings.", "active")]);
    let all = [pair("Cy is ill.", "expired"), pair("Cy sings.", "active")];
    assert_eq!(of(desk.json(&["export", "--all"])), all);
    let shown = desk.run(&["memory", "show", over["id"].as_str().unwrap()]).out;
    assert!(shown.contains("status  expired"), "{shown}");
    // An import into an empty database gives the same lines again.
    let lines = desk.run(&["export", "--all"]).out;
    let other = Desk::new();
    other.write("all.jsonl", &lines);
    other.run(&["import", "all.jsonl"]);
    assert_eq!(other.run(&["export", "--all"]).out, lines);
}

#[test]
fn links_to_a_forgotten_memory_are_hidden_until_it_is_restored() {
    let desk = Desk::new();
    let id = |memory: &Value| memory["id"].as_str().unwrap().to_owned();
    let (one, other) = (id(&remembered(&desk, &["Ana sings."])), id(&remembered(&desk, &["Bo bakes bread."])));
    desk.run(&["memory", "relate", &one, "related", &other]);
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    let mut links = || {
        let shown = desk.run(&["memory", "show", &one]).out.matches("Bo bakes").count();
        let json = desk.json(&["memory", "show", &one])[0]["relations"].as_array().unwrap().len();
        let found = desk.json(&["search", "Ana", "--related"]);
        let related = found[0]["related"].as_array().map_or(0, Vec::len);
        let over_mcp = client.call("memory_history", json!({"id": one}))["relations"].as_array().unwrap().len();
        [shown, json, related, over_mcp]
    };
    assert_eq!(links(), [1; 4]);
    desk.run(&["memory", "forget", &other]);
    assert_eq!(links(), [0; 4]);
    desk.run(&["memory", "restore", &other]);
    assert_eq!(links(), [1; 4]);
}

#[test]
fn a_run_shows_the_quote_behind_each_new_memory() {
    let desk = Desk::new();
    desk.write("logs/a.txt", "User: I prefer green tea.\nAssistant: Noted.\n");
    desk.run(&["run", "logs", "--extractor", "rules"]);
    let shown = desk.run(&["runs", "show", "last"]).out;
    let added = shown.lines().find(|line| line.starts_with("add")).unwrap_or_else(|| panic!("{shown}"));
    assert!(added.contains("(new; “I prefer green tea.”)"), "{shown}");
    let changes = desk.json(&["runs", "show", "last"]).remove(0)["changes"].take();
    let reasons: Vec<&Value> = changes.as_array().unwrap().iter().map(|change| &change["reason"]).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.is_string()), "{changes}");
}

#[test]
fn a_text_without_spaces_gets_a_title_wherever_it_is_written() {
    let desk = Desk::new();
    let text = |word: &str| format!("{}。", word.repeat(200));
    let stored = desk.run(&["remember", "--global", &text("数据库")]);
    assert_eq!(stored.code, 0, "{}", stored.err);
    let id = desk.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["memory", "update", &id, "--content", &text("缓存层")]).code, 0);
    let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "full"]);
    client.call("memory_store", json!({"category": "fact", "subject": "a", "content": text("部署在")}));
    client.call("memory_upsert", json!({"content": text("搜索词")}));
    desk.write("one.jsonl", json!({"content": text("导入的")}).to_string());
    desk.run(&["import", "one.jsonl"]);
    let titles = desk.json(&["memory", "list", "--everywhere"]);
    let titles: Vec<usize> = titles.iter().map(|one| one["title"].as_str().unwrap().chars().count()).collect();
    assert_eq!(titles, [121; 4]);
}

#[test]
fn a_profile_has_one_spelling_and_its_latest_value() {
    let desk = Desk::new();
    for (text, parts) in [
        ("The user reads Chinese.", r#"{"profile":{"languagePreference":"zh"}}"#),
        ("The user now reads Japanese.", r#"{"profile":{"language_preference":"ja"}}"#),
    ] {
        assert_eq!(desk.run(&["remember", "--global", text, "--structured", parts]).code, 0);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let profile = desk.json(&["memory", "profile"]).remove(0);
    let values = &profile["fields"]["language_preference"];
    assert!(values.as_array().is_some_and(|values| values.len() == 1 && values[0]["value"] == "ja"), "{profile}");
    let refused = desk.run(&["remember", "Ana writes Rust.", "--structured", r#"{"profile":{"name":42}}"#]);
    assert!(refused.code == 2 && refused.err.contains("the value of name is not a string"), "{}", refused.err);
}
