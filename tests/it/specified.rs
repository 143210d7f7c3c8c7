//! Tests of statements of the three specifications that no other test covers, each through the program itself.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::desk::Desk;
use super::mcp::client::Piped;
use super::world::raw;

const UUID: &str = "018f6b2e-0000-7000-8000-000000000001";

/// Remembers a text, and returns the memory as `memory list` prints it.
pub(crate) fn remembered(desk: &Desk, args: &[&str]) -> Value {
    let done = desk.run(&[&["remember", "--global"], args].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    desk.json(&["memory", "list", "--sort", "created"]).remove(0)
}

/// Returns the database that commands used in `folder`; its place depends on the platform.
pub(crate) fn database(folder: &Path) -> Option<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .into_iter()
        .find_map(|path| if path.is_dir() { database(&path) } else { path.ends_with("memories.db").then_some(path) })
}

/// Makes a memory look as if it had last changed 60 days ago.
pub(crate) fn age(desk: &Desk, id: &Value, column: &str) {
    let past = (Timestamp::now() - jiff::SignedDuration::from_hours(24 * 60)).as_millisecond();
    let sql = format!("UPDATE memories SET {column} = ?1 WHERE id = ?2");
    raw(&database(&desk.path("")).unwrap()).unwrap().execute(&sql, (past, id.as_str())).unwrap();
}

pub(crate) fn contents(desk: &Desk, args: &[&str]) -> Vec<String> {
    let text = |memory: &Value| memory["content"].as_str().unwrap().to_owned();
    desk.json(&[&["memory", "list"], args].concat()).iter().map(text).collect()
}

#[test]
fn a_value_outside_its_scale_is_refused_wherever_it_is_given() {
    let desk = Desk::new();
    let refused: &[(&[&str], &str)] = &[
        (&["remember", "Ana sings.", "--importance", "11"], "importance 11 is out of range"),
        (&["memory", "list", "--min-importance", "12"], "importance 12 is out of range"),
        (&["memory", "list", "--max-importance", "-1"], "importance -1 is out of range"),
        (&["memory", "list", "--min-confidence", "2"], "confidence 2 is out of range"),
    ];
    desk.run(&["remember", "Ana drinks tea."]);
    for (args, message) in refused {
        let done = desk.run(args);
        assert!(done.code == 2 && done.err.contains(message), "{args:?}: {}", done.err);
    }
    assert!(desk.run(&["search", "tea", "--hybrid-weight", "2"]).err.contains("hybrid weight 2 is out of range"));
    desk.write(
        "odd.jsonl",
        "{\"content\":\"Bo sings.\",\"importance\":50}\n{\"content\":\"Cy sings.\",\"importance\":8}\n",
    );
    let done = desk.run(&["import", "odd.jsonl"]);
    assert!(done.code == 3 && done.err.contains("importance 50 is out of range; use 0 to 10"), "{}", done.err);
    assert_eq!(desk.memories().len(), 2, "the other line is imported");
    let mut client = Piped::start(&desk, &["--profile", "full"]);
    let fact =
        |field: &str, value: f64| json!({"category": "fact", "subject": "x", "content": "Dee sings.", field: value});
    assert!(client.refused("memory_store", fact("importance", 11.0)).contains("importance 11 is out of range"));
    let upsert = json!({"content": "Dee sings.", "importance": 0.5});
    assert_eq!(client.call("memory_upsert", upsert)["memory"]["importance"], 5.0, "a fraction of 1 is kept");
    assert!(client.refused("memory_query", json!({"min_importance": 70})).contains("importance 70 is out of range"));
    assert!(client.refused("memory_list", json!({"min_confidence": 7})).contains("confidence 7 is out of range"));
}

#[test]
fn a_query_of_blockcell_takes_importance_from_1_to_10() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--profile", "blockcell"]);
    for (content, importance) in [("Ana drinks tea.", 1), ("Bo keeps bees.", 5), ("Cy rides a horse.", 10)] {
        client.call("memory_upsert", json!({"content": content, "importance": importance}));
    }
    // What a client reads can be written back.
    let horse =
        client.call("memory_upsert", json!({"content": "Dee has a horse.", "importance": 10}))["memory"].clone();
    let again = json!({"content": "Dee has a horse.", "importance": horse["importance"]});
    assert_eq!(client.call("memory_upsert", again)["memory"]["importance"], 10.0);
    let shown = client.call("memory_query", json!({"query": "Dee"}))["memories"][0]["importance"].clone();
    assert_eq!(shown, 10.0);
    for (more, done) in [(json!({"dry_run": true}), "would be forgotten"), (json!({}), "forgotten")] {
        let mut arguments = json!({"id": horse["id"]});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let gone = client.call("memory_forget", arguments);
        assert_eq!((&gone["done"], &gone["memories"][0]["importance"]), (&json!(done), &json!(10.0)));
    }
    for nothing in [json!(0), json!(0.05), json!(11)] {
        let refused = client.refused("memory_upsert", json!({"content": "Eve paints.", "importance": nothing}));
        assert!(refused.contains("is out of range; use 1 to 10"), "{refused}");
    }
    let mut found = |filter: Value| client.call("memory_query", filter)["count"].clone();
    assert_eq!(found(json!({"min_importance": 1})), 3, "1 is the least, not the most");
    assert_eq!(found(json!({"min_importance": 5})), 2);
    assert_eq!(found(json!({"max_importance": 5})), 2);
    assert_eq!(found(json!({"min_importance": 2, "max_importance": 9})), 1);
}

#[test]
fn an_expiry_is_a_period_or_a_time_and_never_past() {
    let desk = Desk::new();
    let soon: Timestamp =
        remembered(&desk, &["Ana is ill.", "--expires", "2h"])["expires_at"].as_str().unwrap().parse().unwrap();
    let hours = soon.duration_since(Timestamp::now()).as_secs_f64() / 3_600.0;
    assert!((1.9..=2.0).contains(&hours), "{hours}");
    for past in ["2020-01-31", "0h"] {
        let done = desk.run(&["remember", "Bo is ill.", "--expires", past]);
        assert!(done.code == 2 && done.err.contains("is in the past"), "{past}: {}", done.err);
    }
    let mut client = Piped::start(&desk, &["--profile", "full"]);
    let stored = client.call(
        "memory_store",
        json!({"category": "task", "subject": "x", "content": "Cy reviews the release.", "expires": "7d"}),
    );
    assert!(stored["memory"]["expires_at"].is_string() && stored["memory"]["scope"] == "short_term", "{stored}");
    for (tool, arguments) in [
        (
            "memory_store",
            json!({"category": "task", "subject": "x", "content": "Dee is out.", "expires": "2020-01-31"}),
        ),
        ("memory_upsert", json!({"content": "Dee is out.", "expires_in_days": -1})),
    ] {
        assert!(client.refused(tool, arguments).contains("is in the past"), "{tool}");
    }
}

#[test]
fn a_summary_can_be_given_wherever_content_can() {
    let desk = Desk::new();
    let long = "The release is cut from main on Mondays. ".repeat(9);
    let memory = remembered(&desk, &[&long, "--summary", "Releases are cut on Mondays."]);
    assert_eq!(memory["summary"], "Releases are cut on Mondays.");
    let brief = desk.run(&["brief"]).out;
    assert!(brief.contains("- Releases are cut on Mondays. [") && !brief.contains("cut from main"), "{brief}");
    let id = memory["id"].as_str().unwrap();
    desk.run(&["memory", "update", id, "--summary", "Monday releases."]);
    assert_eq!(desk.json(&["memory", "show", id])[0]["summary"], "Monday releases.");
    desk.run(&["memory", "update", id, "--content", "Releases are cut by hand."]);
    assert_eq!(desk.json(&["memory", "show", id])[0]["summary"], Value::Null, "it belonged to the former content");
    let mut client = Piped::start(&desk, &["--profile", "full"]);
    let stored = json!({"category": "fact", "subject": "x", "content": "Ana keeps two cats.", "summary": "Two cats."});
    let stored = client.call("memory_store", stored);
    assert_eq!(stored["memory"]["summary"], "Two cats.");
    let update = json!({"id": stored["memory"]["id"], "content": "Ana keeps three cats.", "summary": "Three cats.", "title": "Cats"});
    let updated = client.call("memory_update", update);
    assert_eq!((&updated["memory"]["summary"], &updated["memory"]["title"]), (&"Three cats.".into(), &"Cats".into()));
    let upsert = json!({"content": "Bo keeps a dog.", "summary": "A dog.", "dedup_key": "bo.dog"});
    assert_eq!(client.call("memory_upsert", upsert)["memory"]["summary"], "A dog.");
}

#[test]
fn a_caller_may_choose_the_id_of_a_new_memory() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &[]);
    let store = |content: &str, id: &str| json!({"category": "fact", "subject": "x", "content": content, "id": id});
    assert_eq!(client.call("memory_store", store("Ana drinks tea.", UUID))["memory"]["id"], UUID);
    assert!(client.refused("memory_store", store("Bo keeps bees.", UUID)).contains("is taken"));
    assert!(client.refused("memory_store", store("Bo keeps bees.", "bees-1")).contains("is not a UUID"));
    assert_eq!(desk.memories().len(), 1);
}

#[test]
fn a_list_uses_the_confidence_that_remains_and_shows_expired_memories_only_on_request() {
    let desk = Desk::new();
    let faded = remembered(&desk, &["Ana drinks tea.", "--type", "episodic"]);
    remembered(&desk, &["Bo keeps bees."]);
    let over = remembered(&desk, &["Cy is ill.", "--expires", "1h"]);
    age(&desk, &faded["id"], "updated_at");
    age(&desk, &over["id"], "expires_at");
    assert_eq!(contents(&desk, &["--min-confidence", "0.5", "--type", "semantic"]), ["Bo keeps bees."]);
    assert_eq!(contents(&desk, &["--sort", "confidence", "--reverse"])[0], "Ana drinks tea.");
    let mut client = Piped::start(&desk, &["--namespace", "global"]);
    let mut listed = |filter: Value| -> Vec<(String, f64)> {
        let page = client.call("memory_list", filter);
        let one =
            |memory: &Value| (memory["content"].as_str().unwrap().to_owned(), memory["confidence"].as_f64().unwrap());
        page["memories"].as_array().unwrap().iter().map(one).collect()
    };
    let sorted = listed(json!({"sort": "confidence"}));
    assert_eq!((sorted[0].0.as_str(), sorted[1].0.as_str()), ("Bo keeps bees.", "Ana drinks tea."));
    assert!((0.2..0.3).contains(&sorted[1].1), "two half-lives have passed: {sorted:?}");
    assert_eq!(listed(json!({"min_confidence": 0.5})).len(), 1, "what has faded and what has expired are left out");
    assert_eq!(listed(json!({"expired": true})).len(), 3);
}

#[test]
fn parts_of_a_memory_are_kept_and_shown() {
    let desk = Desk::new();
    let parts = r#"{"blocker": {"owner": "Ana", "until": "the licence is paid"}}"#;
    let blocker =
        remembered(&desk, &["The release waits for a licence.", "--category", "blocker", "--structured", parts]);
    assert_eq!(blocker["structured"]["blocker"]["owner"], "Ana");
    let brief = desk.run(&["brief"]).out;
    assert!(brief.contains("[blocker, importance:7, owner:Ana, until:the licence is paid]"), "{brief}");
    let done = desk.run(&["remember", "Bo sings.", "--structured", r#"{"mood": "good"}"#]);
    assert!(done.code == 2 && done.err.contains("its fields are mood"), "{}", done.err);
    let mut client = Piped::start(&desk, &[]);
    let pattern = json!({"description": "Retry once.", "code_snippet": "for _ in 0..2 {\n    call()?;\n}", "language": "rust",
        "use_case": "a flaky network", "effectiveness": 0.5});
    let stored = json!({"category": "pattern", "subject": "network", "content": "Retry a call once.", "structured": {"pattern": pattern}});
    let id = client.call("memory_store", stored)["memory"]["id"].clone();
    let shown = desk.json(&["memory", "show", id.as_str().unwrap()]).remove(0);
    assert_eq!(shown["structured"]["pattern"], pattern);
    assert!(desk.run(&["brief", "--format", "structured", "--namespace", "project/none"]).code < 2);
}

#[test]
fn a_blocker_is_closed_when_it_is_said_to_be_solved() {
    let desk = Desk::new();
    remembered(&desk, &["The release of the shop is blocked by the missing licence.", "--category", "blocker"]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    remembered(&desk, &["The missing licence that blocked the release of the shop is resolved."]);
    desk.run(&["db", "consolidate"]);
    let status = desk.memories().into_iter().find(|(_, content)| content.contains("blocked by")).unwrap().0;
    assert_ne!(status, "active");
}

#[test]
fn a_profile_is_assembled_from_memories() {
    let desk = Desk::new();
    remembered(&desk, &["The user lives in Porto.", "--key", "user.residence", "--value", "Porto"]);
    remembered(
        &desk,
        &["The user writes Rust and Go.", "--structured", r#"{"profile": {"languages": ["Rust", "Go"]}}"#],
    );
    remembered(&desk, &["The user prefers short answers.", "--category", "preference"]);
    remembered(&desk, &["The shop sells tea."]);
    let profile = desk.json(&["memory", "profile"]).remove(0);
    let fields = profile["fields"].as_object().unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["languages", "preferences", "residence"]);
    assert_eq!(fields["languages"][0]["value"], json!(["Rust", "Go"]), "a list is a list");
    assert!(fields["residence"][0]["memory"].is_string() && fields["residence"][0]["evidence"].is_array());
    assert!(desk.run(&["memory", "profile"]).out.contains("residence: Porto"));
    assert_eq!(desk.run(&["memory", "profile", "--namespace", "project/none"]).code, 1);
}

#[test]
fn hooks_and_tools_give_the_same_memories_for_the_same_question() {
    let desk = Desk::new();
    for text in
        ["The shop deploys with Nomad.", "The shop sells green tea.", "Nomad jobs of the shop restart at night."]
    {
        remembered(&desk, &[text]);
    }
    let mut client = Piped::start(&desk, &["--namespace", "global"]);
    for question in ["shop nomad", "green tea", "restart at night"] {
        let page = client.call("memory_recall", json!({"query": question, "limit": 8}));
        let texts = page["memories"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap().to_owned());
        let by_tool: Vec<String> = texts.collect();
        let input = json!({"hook_event_name": "UserPromptSubmit", "session_id": question, "cwd": desk.path(""),
            "prompt": format!("/recall {question}")});
        let said = hook(&desk, "user-prompt-submit", &input);
        let lines = said.lines().filter_map(|line| line.strip_prefix("- "));
        let by_hook: Vec<String> = lines.map(|line| line.rsplit_once(" [").unwrap().0.to_owned()).collect();
        assert!(!by_tool.is_empty());
        assert_eq!(by_hook, by_tool, "{question}: {said}");
    }
}

#[test]
fn the_offline_rules_follow_limits_and_name_the_instructions_that_they_cannot_follow() {
    let desk = Desk::new();
    let said = ["I live in Lisbon.", "I prefer green tea.", "I prefer short meetings."];
    desk.write("logs/a.txt", said.map(|text| format!("User: {text}\nAssistant: Noted.\n")).concat());
    let kept = |instructions: &str| {
        desk.write("keep.md", instructions);
        let done = desk.run(&["run", "logs", "--dry-run", "--extractor", "rules", "--instructions", "keep.md"]);
        (done.out, done.err)
    };
    let (all, _) = kept("Keep everything that matters.");
    assert!(all.contains("Lisbon") && all.contains("tea") && all.contains("meetings"), "{all}");
    let (some, warned) = kept("Only keep preferences. Never keep anything about tea.");
    assert!(!some.contains("Lisbon") && !some.contains("tea") && some.contains("meetings"), "{some}");
    let literal = "only leave out memories that contain the words of these instructions; configure a model: \
                   \"Never keep anything about tea\"";
    assert!(warned.contains(literal) && !warned.contains("cannot follow"), "{warned}");
    let (_, warned) = kept("Never keep tea. Never keep names of customers.");
    assert!(
        warned.contains("cannot follow these instructions; configure a model: \"Never keep names of customers\""),
        "{warned}"
    );
}

#[test]
fn recall_looks_into_sources_and_takes_subjects_in_any_case() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--profile", "basecoat"]);
    let store = |subject: &str, content: &str, source: &str| json!({"category": "convention", "subject": subject, "content": content, "source": source});
    client.call("memory_store", store("Testing", "Run the suite before each merge.", "docs/CONTRIBUTING.md"));
    client.call("memory_store", store("release", "Tags are signed by two people.", "docs/release.md"));
    let mut recalled = |filter: Value| -> Vec<String> {
        let page = client.call("memory_recall", filter);
        page["memories"].as_array().unwrap().iter().map(|one| one["source"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(recalled(json!({"query": "contributing"})), ["docs/CONTRIBUTING.md"]);
    assert_eq!(recalled(json!({"query": "docs/release.md"})), ["docs/release.md"]);
    assert_eq!(recalled(json!({"subject": "TESTING"})), ["docs/CONTRIBUTING.md"]);
    assert_eq!(recalled(json!({"subject": "test"})), [""; 0], "another subject is another topic");
}

#[test]
fn recall_of_base_coat_counts_as_a_use() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--profile", "basecoat"]);
    client.call(
        "memory_store",
        json!({"category": "fact", "subject": "ci", "content": "The pipeline runs on Woodpecker."}),
    );
    for uses in 1..=3 {
        let page = client.call("memory_recall", json!({"query": "pipeline"}));
        assert_eq!(page["memories"][0]["access_count"], uses);
    }
    let page = client.call("memory_recall", json!({"subject": "ci"}));
    assert!(page["memories"][0]["heat"] == "warm" && page["memories"][0]["last_accessed"].is_string(), "{page}");
}

#[test]
fn a_preference_that_is_turned_round_replaces_the_former_one() {
    let desk = Desk::new();
    remembered(&desk, &["The user prefers tabs over spaces.", "--category", "preference"]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    remembered(&desk, &["The user prefers spaces over tabs.", "--category", "preference"]);
    assert_eq!(contents(&desk, &[]), ["The user prefers spaces over tabs."]);
    desk.write("two.jsonl", "{\"content\":\"Ana prefers tea to coffee.\",\"created_at\":\"2026-10-01T00:00:00Z\",\"valid_from\":\"2026-10-01T00:00:00Z\"}\n{\"content\":\"Ana prefers coffee to tea.\",\"created_at\":\"2026-11-01T00:00:00Z\",\"valid_from\":\"2026-11-01T00:00:00Z\"}\n");
    desk.run(&["import", "two.jsonl"]);
    desk.run(&["db", "consolidate"]);
    assert!(!contents(&desk, &[]).contains(&"Ana prefers tea to coffee.".to_owned()));
}

#[test]
fn two_servers_store_a_key_once() {
    let desk = Desk::new();
    desk.run(&["status"]);
    let writer = |name: &'static str| {
        let mut client = Piped::start(&desk, &["--namespace", "global", "--profile", "blockcell"]);
        move || {
            for slot in 0..12 {
                let content = format!("Worker {name} wrote its value {} for slot {slot}.", name.len() * 7);
                client.call("memory_upsert", json!({"content": content, "dedup_key": format!("slot_{slot}")}));
            }
        }
    };
    let (one, other) = (writer("one"), writer("another"));
    std::thread::scope(|scope| {
        scope.spawn(one);
        scope.spawn(other);
    });
    assert_eq!(desk.json(&["memory", "list", "-n", "50"]).len(), 12);
}

#[test]
fn parts_are_read_back_over_mcp_and_are_whole_in_a_json_brief() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--namespace", "global"]);
    let parts = json!({"name": "release", "description": "d", "steps": ["tag", "push", "announce"], "triggers": ["release", "hotfix"]});
    let stored =
        json!({"category": "workflow", "subject": "release", "content": "Release by tagging.", "structured": parts});
    assert_eq!(client.call("memory_store", stored)["memory"]["structured"]["steps"], parts["steps"]);
    assert_eq!(
        client.call("memory_recall", json!({"query": "tagging"}))["memories"][0]["structured"]["steps"],
        parts["steps"]
    );
    let brief = client.call("memory_brief", json!({"format": "json"}))["text"].as_str().unwrap().to_owned();
    assert!(
        brief.contains(r#""step":["tag","push","announce"]"#) && brief.contains(r#""when":["release","hotfix"]"#),
        "{brief}"
    );
}

#[test]
fn a_server_expires_and_purges_by_itself() {
    let desk = Desk::new();
    let over = remembered(&desk, &["Cy is ill.", "--expires", "1h"]);
    age(&desk, &over["id"], "expires_at");
    let mut client = Piped::start(&desk, &["--namespace", "global"]);
    client.call("memory_list", json!({}));
    let file = raw(&database(&desk.path("")).unwrap()).unwrap();
    let is_over = || -> bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM memories WHERE status = 'expired')";
        file.query_row(sql, (), |row| row.get(0)).unwrap()
    };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(40);
    while !is_over() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    assert!(is_over());
}

#[test]
fn a_session_starts_with_the_decisions_of_its_branch_and_issue() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path(".git/objects")).unwrap();
    desk.write(".git/HEAD", "ref: refs/heads/main\n");
    let remember = |text: &str, importance: &str| {
        let done = desk.run(&["remember", text, "--category", "decision", "--importance", importance]);
        assert_eq!(done.code, 0, "{}", done.err);
    };
    remember("The totals of #412 are rounded up.", "4");
    remember("The new checkout has one page.", "3");
    for number in 0..30 {
        remember(&format!("Service s{number} listens on port {number}."), "9");
    }
    let first = |session: &str| {
        let input = json!({"hook_event_name": "SessionStart", "session_id": session, "cwd": desk.path(""), "source": "startup"});
        let said = hook(&desk, "session-start", &input);
        let lines: Vec<String> = said.lines().filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect();
        lines.into_iter().take(2).collect::<Vec<_>>().join("\n")
    };
    assert!(!first("a").contains("412") && !first("b").contains("checkout"));
    desk.write(".git/HEAD", "ref: refs/heads/feature/412-new-checkout\n");
    let said = first("c");
    assert!(said.contains("#412") && said.contains("new checkout"), "{said}");
}

#[test]
fn procedures_are_shown_in_the_order_of_their_priority() {
    let desk = Desk::new();
    for (name, priority) in [("Lint the code.", 0.2), ("Ask for a review.", 0.9), ("Run the tests.", 0.5)] {
        let parts = json!({"name": name, "description": name, "triggers": ["before a merge"], "priority": priority});
        remembered(
            &desk,
            &[name, "--type", "procedural", "--category", "workflow", "--structured", &parts.to_string()],
        );
    }
    let brief = desk.run(&["brief"]).out;
    let places = ["Ask for a review.", "Run the tests.", "Lint the code."].map(|name| brief.find(name).unwrap());
    assert!(places.is_sorted(), "{brief}");
}

#[test]
fn a_memory_shows_what_it_was_consolidated_from_and_when() {
    let desk = Desk::new();
    let old = remembered(&desk, &["The user lives in Porto.", "--key", "user.residence", "--value", "Porto"]);
    assert_eq!(desk.json(&["memory", "show", old["id"].as_str().unwrap()])[0]["last_consolidated_at"], Value::Null);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let new = remembered(&desk, &["The user lives in Lisbon now.", "--key", "user.residence", "--value", "Lisbon"]);
    let shown = desk.json(&["memory", "show", new["id"].as_str().unwrap()]).remove(0);
    assert_eq!(shown["consolidated_from"], json!([old["id"]]));
    assert!(shown["last_consolidated_at"].is_string(), "{shown}");
}

/// Returns the context that a hook of Claude Code adds.
pub(crate) fn hook(desk: &Desk, event: &str, input: &Value) -> String {
    use std::io::Write as _;
    let mut command = desk.command(&["hook", event, "--format", "claude-code"]);
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let printed = child.wait_with_output().unwrap().stdout;
    let value: Value = serde_json::from_slice(&printed).unwrap_or_default();
    value["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}
