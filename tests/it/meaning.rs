//! Tests of search by meaning over MCP, in the brief and in hooks, and of search by words if the embedding server is
//! down or slow.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::mcp::client::Piped;
use super::vectors::{Server, TEXTS, with};
use super::world::World;

/// Texts that no meaning known to the server covers, so that the usual similarity can be determined.
const OTHERS: [&str; 3] =
    ["Ana plays the violin.", "The office has two floors.", "The printer stands beside the window."];
/// A query that shares no words with any of the memories.
const ASKED: &str = "Which beverage would suit?";
/// Longer than anybody would wait.
const FOR_EVER: Duration = Duration::from_secs(40);
/// Maximum time for an answer that did not wait, even on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Returns a world with memories and their vectors.
fn world(server: &Server) -> World {
    let world = World::new(None);
    TEXTS.iter().chain(&OTHERS).for_each(|text| drop(world.good(&["remember", text])));
    assert!(with(&world, server, &["db", "embed"]).output().unwrap().status.success());
    server.taken();
    world
}

fn client(world: &World, server: &Server) -> Piped {
    Piped::of(with(world, server, &["serve", "mcp", "--namespace", "global"]))
}

fn contents(answer: &Value) -> Vec<String> {
    let memories = answer["memories"].as_array().unwrap();
    memories.iter().map(|memory| memory["content"].as_str().unwrap().to_owned()).collect()
}

fn hook(command: &mut Command, prompt: &str) -> Value {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let input = json!({"session_id": "s", "cwd": "/none/such", "prompt": prompt}).to_string();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    if output.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&output.stdout).unwrap() }
}

fn submitted(world: &World, server: &Server, prompt: &str) -> String {
    let arguments = ["--namespace", "global", "hook", "user-prompt-submit", "--limit-ms", "15000"];
    let said = hook(&mut with(world, server, &arguments), prompt);
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_agent_finds_by_meaning_and_what_it_stores_can_be_found_so() {
    let server = Server::start();
    let world = world(&server);
    let mut client = client(&world, &server);
    let found = client.call("memory_recall", json!({"query": ASKED}));
    assert_eq!(contents(&found)[0], TEXTS[0]);
    assert_eq!(server.taken(), [ASKED]);
    let before = server.requests();
    client.call("memory_store", json!({"category": "fact", "subject": "pets", "content": "Rex is the pet of Bo."}));
    assert!(server.wait_for(before + 1), "what is stored is embedded unasked");
    let begun = Instant::now();
    while !contents(&client.call("memory_recall", json!({"query": "Mia the cat", "limit": 2})))
        .contains(&"Rex is the pet of Bo.".to_owned())
    {
        assert!(begun.elapsed() < FOR_EVER, "it is not found by its meaning");
    }
    let brief = client.call("memory_brief", json!({"query": ASKED}));
    let told = brief["text"].as_str().unwrap();
    let all = TEXTS.iter().chain(&OTHERS).filter(|text| told.contains(**text)).collect::<Vec<_>>();
    assert_eq!(all, [&TEXTS[0]], "what is only the nearest of many is not to the point");
}

#[test]
fn an_agent_is_answered_by_words_where_the_server_is_down_or_slow() {
    let server = Server::start();
    let world = world(&server);
    server.set(|manner| manner.refuses = Some((503, usize::MAX)));
    let mut down = client(&world, &server);
    assert_eq!(contents(&down.call("memory_recall", json!({"query": "green tea"}))), [TEXTS[0]]);
    assert_eq!(down.call("memory_recall", json!({"query": ASKED}))["count"], 0, "no word of it is anywhere");
    server.set(|manner| (manner.refuses, manner.delay) = (None, FOR_EVER));
    let asked = server.requests();
    assert_eq!(contents(&down.call("memory_recall", json!({"query": "green tea"}))), [TEXTS[0]]);
    assert_eq!(server.requests(), asked, "a server that failed is left alone for a while");
    let mut slow = client(&world, &server);
    let begun = Instant::now();
    assert_eq!(contents(&slow.call("memory_recall", json!({"query": "green tea"}))), [TEXTS[0]]);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let brief = slow.call("memory_brief", json!({"query": "green tea"}));
    assert!(brief["text"].as_str().unwrap().contains(TEXTS[0]), "{brief}");
}

#[test]
fn a_prompt_is_met_with_what_means_the_same_and_with_words_where_the_server_is_slow() {
    let server = Server::start();
    let world = world(&server);
    let told = submitted(&world, &server, ASKED);
    assert!(told.contains(TEXTS[0]) && OTHERS.iter().all(|other| !told.contains(other)), "{told}");
    let of_each_a_little = "Which beverage, pet, release and city?";
    assert_eq!(submitted(&world, &server, of_each_a_little), "", "nothing is much nearer than the rest");
    server.set(|manner| manner.delay = FOR_EVER);
    let begun = Instant::now();
    let told = submitted(&world, &server, "The shop has to deploy on which Fridays?");
    assert!(told.contains(TEXTS[2]), "{told}");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let log = std::fs::read_to_string(world.path("memories.hooks.log")).unwrap();
    assert!(log.contains("user-prompt-submit: the search compared only words, because search by meaning failed: the sentence model did not answer"), "{log}");
}

#[test]
fn what_a_person_has_remembered_in_a_prompt_is_embedded_by_the_worker() {
    let server = Server::start();
    let world = world(&server);
    let arguments = ["--namespace", "global", "hook", "user-prompt-submit", "--limit-ms", "15000"];
    let said = hook(&mut with(&world, &server, &arguments), "/remember The pet of Bo is called Rex.");
    assert!(said["reason"].as_str().unwrap().starts_with("Remembered in global"), "{said}");
    let begun = Instant::now();
    while !server.taken().contains(&"The pet of Bo is called Rex.".to_owned()) {
        assert!(begun.elapsed() < FOR_EVER, "nobody embeds it");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn words_alone_can_be_asked_for() {
    let server = Server::start();
    let world = world(&server);
    std::fs::create_dir_all(world.path(".config/afterthought")).unwrap();
    std::fs::write(world.path("own.toml"), "[embedding]\nprovider = \"none\"").unwrap();
    let mut client =
        Piped::of(with(&world, &server, &["--config", "own.toml", "serve", "mcp", "--namespace", "global"]));
    assert_eq!(client.call("memory_recall", json!({"query": ASKED}))["count"], 0);
    assert_eq!(server.taken(), [""; 0]);
}
