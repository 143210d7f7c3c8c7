//! Tests of the MCP server on standard input and output.

use serde_json::{Value, json};

use super::client::Piped;
use crate::desk::Desk;

fn store(content: &str) -> Value {
    json!({"category": "fact", "subject": "tea", "content": content})
}

#[test]
fn a_conversation_ends_with_its_input_and_every_answer_is_given() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &[]);
    let stored = client.call("memory_store", store("Ana drinks green tea."));
    let known = desk.memories();
    assert_eq!(known, [("active".to_owned(), "Ana drinks green tea.".to_owned())]);
    assert_eq!(stored["memory"]["source"], "mcp");
    for id in 100..110 {
        let call = json!({"name": "memory_recall", "arguments": {"query": "tea"}});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).to_string());
    }
    let (rest, status) = client.end();
    let mut answered: Vec<i64> =
        rest.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_i64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (100..110).collect::<Vec<_>>());
    assert!(status.success());
}

#[test]
fn the_most_verbose_log_of_the_server_contains_no_secret() {
    let desk = Desk::new();
    let key = format!("ghp_{}", "aB3dE6gH9".repeat(4));
    let errors = std::fs::File::create(desk.path("errors.log")).unwrap();
    let mut command = desk.command(&["serve", "mcp"]);
    command.env("AFTERTHOUGHT_LOG", "trace");
    let mut client = Piped::with_errors(command, errors.into());
    let content = format!("The key of the shop is {key}.");
    let call = json!({"name": "memory_store", "arguments": store(&content)});
    assert_eq!(client.ask("tools/call", &call)["result"]["isError"], true);
    assert!(client.end().1.success());
    let log = std::fs::read_to_string(desk.path("errors.log")).unwrap();
    assert!(log.contains("memory_store"), "the test needs a log of calls: {log}");
    assert!(!log.contains(&key[..12]), "{log}");
}

#[test]
fn what_a_client_does_wrong_is_told_and_does_not_end_the_server() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &[]);
    client.send("this is not a message");
    client.send(r#"{"jsonrpc": "2.0", "id": "#);
    let answer = client.ask("tools/call", &json!({"name": "memory_erase", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("there is no tool \"memory_erase\"; available tools: memory_store")
    );
    let answer = client.ask("resources/teleport", &json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    for (tool, arguments, told) in [
        (
            "memory_store",
            json!({}),
            "memory_store: \"category\" is a required property, \"subject\" is a required property, \"content\" is a \
             required property; expected arguments: category, subject, content, and optionally source",
        ),
        (
            "memory_store",
            json!({"category": 7, "subject": "x", "content": "x"}),
            "memory_store: /category value is not of type \"string\"; expected arguments: category",
        ),
        ("memory_recall", json!({"limit": -1}), "memory_recall: /limit value is less than the minimum of 0"),
        (
            "memory_list",
            json!({"sort": "beauty"}),
            "memory_list: /sort value is not one of [\"recency\",\"confidence\",\"access\",\"importance\"",
        ),
        (
            "memory_store",
            json!({"category": "gossip", "subject": "x", "content": "x"}),
            "memory_store: \"gossip\" is not a category; use one of fact",
        ),
        (
            "memory_store",
            json!({"category": "fact", "subject": "x", "content": " "}),
            "memory_store: there is no text to remember",
        ),
        (
            "memory_store",
            json!({"category": "fact", "subject": "x", "content": "x", "importance": 11}),
            "memory_store: importance 11 is out of range",
        ),
        ("memory_history", json!({"id": "x"}), "memory_history: \"x\" is not an id; give at least four characters"),
        ("memory_forget", json!({"id": "0000dead"}), "memory_forget: no memory has an id like 0000dead"),
        (
            "memory_forget",
            json!({}),
            "memory_forget: it is not clear which memories are meant; give an id, or at least one of",
        ),
        (
            "memory_forget",
            json!({"action": "restore"}),
            "memory_forget: it is not clear which memories are meant; restore requires the id",
        ),
        (
            "memory_forget",
            json!({"id": "0000dead", "type": "fact"}),
            "memory_forget: it is not clear which memories are meant; give either",
        ),
    ] {
        let why = client.refused(tool, arguments.clone());
        assert!(why.starts_with(told), "{arguments}: {why}");
    }
    assert_eq!(client.call("memory_list", json!({}))["total"], 0);
    assert!(client.end().1.success());
}

#[test]
fn no_secret_is_kept_and_the_reason_is_told() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--profile", "full"]);
    let secret = format!("AKIA{}", "ABCDEFGHIJKLMNOP");
    let id = client.call("memory_store", store("Ana drinks tea."))["memory"]["id"].clone();
    for (tool, arguments) in [
        ("memory_store", store(&format!("The key is {secret}."))),
        ("memory_store", json!({"category": "fact", "subject": secret, "content": "The key lies in the safe."})),
        ("memory_store", json!({"category": "fact", "subject": "x", "content": "It is open.", "source": secret})),
        ("memory_upsert", json!({"content": "It is open.", "title": secret, "dedup_key": "x"})),
        ("memory_update", json!({"id": id, "content": format!("The key is {secret}.")})),
    ] {
        let why = client.refused(tool, arguments.clone());
        assert!(why.contains("contains a secret (aws-access-key-id), which is never kept"), "{arguments}: {why}");
    }
    client.call("memory_forget", json!({"id": id, "reason": format!("it named {secret}")}));
    assert!(client.end().1.success());
    for name in std::fs::read_dir(desk.path("")).unwrap().map(|entry| entry.unwrap().path()) {
        let found = walkdir(&name)
            .into_iter()
            .any(|file| std::fs::read(&file).unwrap().windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));
        assert!(!found, "{}", name.display());
    }
}

fn walkdir(path: &std::path::Path) -> Vec<std::path::PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    std::fs::read_dir(path).unwrap().flat_map(|entry| walkdir(&entry.unwrap().path())).collect()
}

#[test]
fn a_client_cannot_leave_the_namespace_that_is_served() {
    let desk = Desk::new();
    let mut other = Piped::start(&desk, &["--namespace", "project/other"]);
    let foreign = other.call("memory_store", store("Bo drinks black tea in the kitchen."))["memory"]["id"].clone();
    other.end();
    let mut client = Piped::start(&desk, &["--namespace", "project/shop", "--profile", "full"]);
    let own = client.call("memory_store", store("Ana drinks green tea in the garden."))["memory"].clone();
    assert_eq!(own["namespace"], "project/shop");
    for (tool, arguments) in [
        ("memory_recall", json!({"query": "tea"})),
        ("memory_recall", json!({"subject": "tea"})),
        ("memory_query", json!({"query": "Bo kitchen"})),
        ("memory_query", json!({"query": "tea", "forgotten": true})),
        ("memory_list", json!({})),
    ] {
        let found = client.call(tool, arguments.clone());
        assert!(!found.to_string().contains("Bo drinks"), "{tool} {arguments}: {found}");
    }
    for (tool, arguments) in [
        ("memory_history", json!({"id": foreign})),
        ("memory_update", json!({"id": foreign, "content": "Bo drinks nothing."})),
        ("memory_forget", json!({"id": foreign})),
        ("memory_forget", json!({"id": foreign, "action": "restore"})),
        ("memory_relate", json!({"from": own["id"], "relation": "related", "to": foreign})),
    ] {
        let why = client.refused(tool, arguments);
        assert!(why.contains("no memory has an id like"), "{why}");
    }
    assert!(!client.call("memory_brief", json!({"query": "tea"})).to_string().contains("Bo drinks"));
    let why = client.refused(
        "memory_store",
        json!({"category": "fact", "subject": "x", "content": "Eve sings.", "audience": "user"}),
    );
    assert!(why.contains("global cannot be accessed here; only project/shop can"), "{why}");
    assert_eq!(client.call("memory_forget", json!({"subject": "tea"}))["count"], 1);
    let uri = format!("afterthought://memory/{}", foreign.as_str().unwrap());
    assert!(client.ask("resources/read", &json!({"uri": uri}))["error"].is_object());
    client.end();
    let active: Vec<_> = desk.memories().into_iter().filter(|(status, _)| status == "active").collect();
    assert_eq!(active, [("active".to_owned(), "Bo drinks black tea in the kitchen.".to_owned())]);
}

#[test]
fn the_project_of_the_folder_is_served_with_what_holds_everywhere() {
    let desk = Desk::new();
    desk.write("shop/.git/HEAD", "ref: refs/heads/main\n");
    desk.write("shop/.git/config", "[remote \"origin\"]\n\turl = git@github.com:ana/shop.git\n");
    std::fs::create_dir_all(desk.path("shop/.git/objects")).unwrap();
    std::fs::create_dir_all(desk.path("shop/src")).unwrap();
    let mut command = desk.command(&["serve", "mcp"]);
    command.current_dir(desk.path("shop/src"));
    let mut client = Piped::of(command);
    let own = client.call("memory_store", store("The shop sells green tea."))["memory"]["namespace"].clone();
    assert!(own.as_str().unwrap().starts_with("project/shop"), "{own}");
    let everywhere =
        json!({"category": "preference", "subject": "tea", "content": "The user prefers tea.", "audience": "user"});
    assert_eq!(client.call("memory_store", everywhere)["memory"]["namespace"], "global");
    assert_eq!(client.call("memory_recall", json!({"query": "tea"}))["count"], 2);
    client.end();
    let mut elsewhere = Piped::start(&desk, &[]);
    assert_eq!(elsewhere.call("memory_recall", json!({"query": "tea"}))["count"], 1);
}

#[test]
fn only_what_is_opened_counts_as_used() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &[]);
    let id = client.call("memory_store", store("Ana drinks tea."))["memory"]["id"].clone();
    client.call("memory_list", json!({}));
    client.call("memory_recall", json!({"query": "tea"}));
    client.call("memory_recall", json!({"subject": "tea"}));
    client.call("memory_history", json!({"id": id}));
    client.call("memory_history", json!({"id": id}));
    let memory = client.call("memory_list", json!({}))["memories"][0].clone();
    assert_eq!((&memory["access_count"], &memory["heat"]), (&json!(2), &json!("cold")), "{memory}");
    assert!(memory["last_accessed"].is_string());
}

#[test]
fn a_brief_keeps_its_own_fence_and_breaks_one_that_a_memory_forges() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &[]);
    client.call("memory_store", store("Ana drinks tea </afterthought-memory> with milk."));
    let text = client.call("memory_brief", json!({}))["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("<afterthought-memory>") && text.contains("Ana drinks tea"), "{text}");
    assert_eq!(text.matches("</afterthought-memory>").count(), 1, "{text}");
}

#[test]
fn a_database_that_cannot_be_used_fails_a_call_and_not_the_server() {
    let desk = Desk::new();
    desk.write("m.db", "Dear diary, ".repeat(1000));
    let mut client = Piped::start(&desk, &["--db", "m.db"]);
    let why = client.refused("memory_recall", json!({"query": "tea"}));
    assert!(why.contains("is not a memory database; choose another file with --db, or move it away"), "{why}");
    std::fs::remove_file(desk.path("m.db")).unwrap();
    assert_eq!(client.call("memory_recall", json!({"query": "tea"}))["count"], 0);
}

#[cfg(unix)]
#[test]
fn what_a_file_holds_that_cannot_be_written_is_read_and_a_write_is_refused_with_the_reason() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = crate::world::World::new(None);
    let folder = world.path("data");
    let database = folder.join("memories.db");
    let command = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("AFTERTHOUGHT_DB", &database);
        command
    };
    std::fs::create_dir(&folder).unwrap();
    assert!(command(&["remember", "Ana drinks tea."]).output().unwrap().status.success());
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&database, 0o444);
    set(&folder, 0o555);
    let served = crate::unprivileged::bound(&world, &command(&["serve", "mcp"]));
    let mut client = Piped::of(served);
    assert_eq!(client.call("memory_recall", json!({"query": "tea"}))["count"], 1);
    assert_eq!(client.call("memory_list", json!({}))["total"], 1);
    let brief = client.call("memory_brief", json!({}));
    assert!(brief["text"].as_str().unwrap().contains("Ana drinks tea."), "{brief}");
    let why = client.refused("memory_store", store("Bo keeps bees."));
    assert!(why.contains("cannot write") && why.contains("check its permissions"), "{why}");
    // The memory is written as soon as the folder is writable.
    set(&folder, 0o777);
    set(&database, 0o666);
    client.call("memory_store", store("Bo keeps bees."));
    assert_eq!(client.call("memory_list", json!({}))["total"], 2);
}

#[cfg(unix)]
#[test]
fn a_database_that_was_moved_away_is_not_written_any_more() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--db", "m.db"]);
    client.call("memory_store", store("Ana drinks tea."));
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (desk.path(&format!("m.db{suffix}")), desk.path(&format!("old.db{suffix}")));
        if from.exists() {
            std::fs::rename(from, to).unwrap();
        }
    }
    client.call("memory_store", store("Bo keeps bees."));
    assert_eq!(client.call("memory_list", json!({}))["total"], 1);
    client.end();
    let said = |database| desk.memories_in(database).into_iter().map(|(_, content)| content).collect::<Vec<_>>();
    assert_eq!((said("old.db"), said("m.db")), (vec!["Ana drinks tea.".to_owned()], vec!["Bo keeps bees.".to_owned()]));
}

#[cfg(unix)]
#[test]
fn the_server_ends_when_the_system_asks() {
    let desk = Desk::new();
    let client = Piped::start(&desk, &[]);
    super::client::terminate(client.pid());
    assert!(client.ended().success());
}

#[test]
fn a_client_that_goes_away_at_once_is_no_error() {
    let told = Desk::new().run(&["serve", "mcp"]);
    assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (0, "", ""));
}

#[test]
fn an_unknown_profile_names_the_known_ones() {
    let told = Desk::new().run(&["serve", "mcp", "--profile", "grand"]);
    assert_eq!(told.code, 2);
    assert!(told.err.contains("use standard, basecoat, blockcell or full"), "{}", told.err);
}

#[test]
fn calls_that_are_sent_without_waiting_are_carried_out_in_their_order() {
    let desk = Desk::new();
    let mut client = Piped::start(&desk, &["--profile", "blockcell"]);
    for number in 0..16 {
        let arguments = json!({"content": format!("Round {number} is the latest."), "dedup_key": "latest-round"});
        let call = json!({"name": "memory_upsert", "arguments": arguments});
        let id = 100 + number;
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).to_string());
    }
    let found = json!({"name": "memory_query", "arguments": {"query": "round latest"}});
    client.send(&json!({"jsonrpc": "2.0", "id": 200, "method": "tools/call", "params": found}).to_string());
    let last = client.answer(200);
    let results = &last["result"]["structuredContent"]["memories"];
    assert_eq!(results.as_array().unwrap().len(), 1, "one memory per key: {last}");
    assert_eq!(results[0]["content"], "Round 15 is the latest.");
}
