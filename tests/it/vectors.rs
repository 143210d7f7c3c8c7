//! Tests of the vectors of memories, with a server on the loopback interface that behaves like real servers.

use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::mcp::client::Piped;
use super::world::{World, read_body, send, signal};

/// The behaviour of the server. A vector has a component for each of some words, so that texts with the same words are
/// close.
#[derive(Debug, Clone)]
pub struct Manner {
    /// Number of components of a vector.
    pub dimension: usize,
    /// Status of every answer other than 200, and the number of such answers.
    pub refuses: Option<(u16, usize)>,
    /// Delay before each answer.
    pub delay: Duration,
    /// Maximum number of texts in one request.
    most_texts: usize,
    /// Maximum number of characters in one text.
    longest: usize,
    /// Texts that contain this are rejected.
    poison: &'static str,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            dimension: 12,
            refuses: None,
            delay: Duration::ZERO,
            most_texts: usize::MAX,
            longest: usize::MAX,
            poison: "no such text",
        }
    }
}

#[derive(Default)]
struct State {
    manner: Mutex<Manner>,
    /// The texts of each request that was answered successfully.
    asked: Mutex<Vec<Vec<String>>>,
    /// Bodies of all requests.
    bodies: Mutex<Vec<String>>,
    came: Condvar,
}

pub struct Server {
    state: Arc<State>,
    pub base_url: String,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream.unwrap(), &state));
            }
        });
        Self { state, base_url }
    }

    pub fn set(&self, change: impl FnOnce(&mut Manner)) {
        change(&mut self.state.manner.lock().unwrap());
    }

    /// Returns the texts that were answered since the last call of this function.
    pub fn taken(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().drain(..).flatten().collect()
    }

    pub fn requests(&self) -> usize {
        self.state.bodies.lock().unwrap().len()
    }

    pub fn wait_for(&self, count: usize) -> bool {
        let bodies = self.state.bodies.lock().unwrap();
        let waited = self.state.came.wait_timeout_while(bodies, Duration::from_mins(1), |all| all.len() < count);
        !waited.unwrap().1.timed_out()
    }
}

fn serve(stream: &TcpStream, state: &State) -> Option<()> {
    let body = read_body(stream)?;
    // Only a request for the list of models has no body.
    let Ok(value) = serde_json::from_str::<Value>(&body) else { return send(stream, 404, "", &json!({})) };
    state.bodies.lock().unwrap().push(body);
    state.came.notify_all();
    let manner = state.manner.lock().unwrap().clone();
    std::thread::sleep(manner.delay);
    let error = |message: &str| json!({"error": {"message": message, "type": "invalid_request_error"}});
    if let Some((status, left)) = manner.refuses.filter(|(_, left)| *left > 0) {
        state.manner.lock().unwrap().refuses = Some((status, left - 1));
        return send(stream, status, "retry-after-ms: 1\r\n", &error("not now"));
    }
    let texts: Vec<String> = serde_json::from_value(value["input"].clone()).unwrap();
    if value["model"] == "missing" {
        return send(stream, 404, "", &error("model \"missing\" not found, try pulling it first"));
    }
    if texts.iter().any(String::is_empty) {
        return send(stream, 400, "", &error("'$.input' is invalid: it must not be empty"));
    }
    if texts.len() > manner.most_texts {
        return send(stream, 422, "", &error("batch size 64 > maximum allowed batch size 4"));
    }
    if texts.iter().any(|text| text.chars().count() > manner.longest) {
        return send(stream, 400, "", &error("This model's maximum context length is 512 tokens"));
    }
    if texts.iter().any(|text| text.contains(manner.poison)) {
        return send(stream, 400, "", &error("invalid input"));
    }
    let vectors = texts.iter().enumerate().map(|(index, text)| {
        let vector = vector(text, manner.dimension);
        json!({"object": "embedding", "index": index, "embedding": vector})
    });
    // The answer may be in any order.
    let data: Vec<Value> = vectors.rev().collect();
    let tokens = texts.iter().map(|text| text.split_whitespace().count()).sum::<usize>();
    let answer = json!({"object": "list", "data": data, "model": value["model"],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens}});
    state.asked.lock().unwrap().push(texts);
    send(stream, 200, "", &answer)
}

/// Words with the same meaning have the same component.
const MEANINGS: [&[&str]; 4] =
    [&["tea", "beverage", "coffee"], &["cat", "pet"], &["deploy", "release"], &["city", "Köln"]];

fn vector(text: &str, dimension: usize) -> Vec<f64> {
    let count = |words: &&[&str]| words.iter().filter(|word| text.contains(**word)).count();
    let counts = MEANINGS.iter().map(|words| if count(words) > 0 { 1.0 } else { 0.01 });
    counts.chain(std::iter::repeat(0.02)).take(dimension).collect()
}

pub const TEXTS: [&str; 4] = [
    "The user drinks green tea.",
    "Mia the cat sleeps all day.",
    "The shop is set up to deploy on Fridays.",
    "The user moved to Köln.",
];

pub fn with(world: &World, server: &Server, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments);
    command.env("AFTERTHOUGHT_EMBEDDING_BASE_URL", &server.base_url).env("AFTERTHOUGHT_EMBEDDING_MODEL", "m");
    command
}

fn out(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Returns a world with memories that have no vectors.
pub fn world() -> World {
    let world = World::new(None);
    TEXTS.iter().for_each(|text| drop(world.good(&["remember", text])));
    world
}

fn embed(world: &World, server: &Server) -> Value {
    let (status, stdout, stderr) = out(&mut with(world, server, &["db", "embed", "--json"]));
    assert_eq!(status, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

/// Returns the contents found for a query that shares no words with any memory, best first.
fn found(world: &World, server: &Server, query: &str) -> (Vec<String>, String) {
    let (_, stdout, stderr) = out(&mut with(world, server, &["search", query, "--json"]));
    let hits = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    (hits.map(|hit| hit["content"].as_str().unwrap().to_owned()).collect(), stderr)
}

#[test]
fn memories_are_found_by_meaning_once_they_are_embedded() {
    let (world, server) = (world(), Server::start());
    let filled = embed(&world, &server);
    assert_eq!(filled, json!({"embedded": 4, "refused": 0, "waiting": 0, "tokens": 25, "elsewhere": false}));
    assert_eq!(server.taken().len(), 4);
    let (hits, _) = found(&world, &server, "Which beverage?");
    assert_eq!(hits[0], TEXTS[0]);
    assert_eq!(server.taken(), ["Which beverage?"]);
    assert_eq!(embed(&world, &server)["embedded"], 0);
    assert_eq!(server.taken(), [""; 0], "nothing is paid twice");
    let spent = world.good(&["status", "--days", "30", "--json"]);
    assert!(spent.contains("\"model\":\"m\"") && spent.contains("\"prompt_tokens\":25"), "{spent}");
}

#[test]
fn what_is_remembered_is_embedded_and_what_is_changed_is_again() {
    let (world, server) = (World::new(None), Server::start());
    let (status, ..) = out(&mut with(&world, &server, &["remember", TEXTS[0]]));
    assert_eq!((status, server.taken()), (0, vec![TEXTS[0].to_owned()]));
    let listed: Value = serde_json::from_str(&world.good(&["memory", "list", "--json"])).unwrap();
    let id = listed["id"].as_str().unwrap();
    out(&mut with(&world, &server, &["memory", "pin", id]));
    assert_eq!(server.taken(), [""; 0]);
    let (status, _, stderr) =
        out(&mut with(&world, &server, &["memory", "update", id, "--content", "The user drinks coffee."]));
    assert_eq!((status, server.taken().len()), (0, 1), "{stderr}");
    out(&mut with(&world, &server, &["memory", "forget", id]));
    assert_eq!(found(&world, &server, "pet").0, [""; 0]);
}

#[test]
fn an_agent_may_leave_while_vectors_are_computed() {
    let (world, server) = (World::new(None), Server::start());
    server.set(|manner| manner.delay = Duration::from_millis(600));
    let errors = std::fs::File::create(world.path("errors")).unwrap();
    let mut client = Piped::with_errors(with(&world, &server, &["serve", "mcp"]), errors.into());
    client.call("memory_store", json!({"category": "fact", "subject": "pets", "content": TEXTS[0]}));
    assert!(server.wait_for(1));
    let (_, status) = client.end();
    let errors = std::fs::read_to_string(world.path("errors")).unwrap();
    assert!(status.success() && !errors.contains("panicked"), "{status} {errors}");
    // The next process need not wait for a claim of the one that ended.
    server.set(|manner| manner.delay = Duration::ZERO);
    let begun = Instant::now();
    out(&mut with(&world, &server, &["db", "embed"]));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn the_check_asks_the_server_and_reports_one_that_is_down() {
    let (world, server) = (world(), Server::start());
    let checked = |command: &mut Command| {
        let (status, stdout, _) = out(command);
        let line = stdout.lines().find(|line| line.contains("vectors")).unwrap_or_else(|| panic!("{stdout}"));
        (status, line.to_owned())
    };
    let (status, line) = checked(&mut with(&world, &server, &["status", "--check"]));
    assert!(
        status == 0 && line.contains("4 memories without a vector") && line.contains("the server replies"),
        "{line}"
    );
    let mut command = world.command(&["status", "--check"]);
    // Nothing listens at this port, which only the system can give away.
    command.env("AFTERTHOUGHT_EMBEDDING_BASE_URL", "http://127.0.0.1:1/v1").env("AFTERTHOUGHT_EMBEDDING_MODEL", "m");
    let (status, line) = checked(&mut command);
    assert!(status == 3 && line.contains("✗") && line.contains("check the address"), "{line}");
    assert_eq!(server.taken(), [""; 0], "the check computes no vector");
}

#[test]
fn nothing_is_asked_where_vectors_are_off() {
    let (world, server) = (world(), Server::start());
    let (status, _, stderr) = out(&mut world.command(&["db", "embed"]));
    assert_eq!(status, 2);
    assert!(stderr.contains("under [embedding] in your settings"), "{stderr}");
    world.good(&["search", "tea"]);
    std::fs::write(world.path("off.toml"), "[embedding]\nprovider = \"none\"\n").unwrap();
    let (status, ..) = out(&mut with(&world, &server, &["remember", "The user plays chess.", "--config", "off.toml"]));
    assert_eq!((status, server.requests()), (0, 0));
}

#[test]
fn a_server_that_is_down_leaves_the_search_by_words_and_says_so() {
    let (world, server) = (world(), Server::start());
    embed(&world, &server);
    let down = Server { base_url: "http://127.0.0.1:9/v1".into(), ..Server::start() };
    let (hits, stderr) = found(&world, &down, "green tea");
    assert_eq!(hits[0], TEXTS[0]);
    assert!(
        stderr.contains("the search compared only words, because search by meaning failed: ")
            && stderr.contains("is the server running"),
        "{stderr}"
    );
    let (status, stdout, stderr) = out(&mut with(&world, &down, &["remember", "The user plays chess."]));
    assert_eq!(status, 0, "{stdout}{stderr}");
    assert!(stderr.contains("the memories are stored, and `afterthought db embed` computes them later"), "{stderr}");
    assert_eq!(embed(&world, &server)["embedded"], 1);
}

#[test]
fn a_slow_server_does_not_hold_a_search_up() {
    let (world, server) = (world(), Server::start());
    embed(&world, &server);
    server.set(|manner| manner.delay = Duration::from_mins(1));
    let begun = std::time::Instant::now();
    let (hits, stderr) = found(&world, &server, "green tea");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(hits[0], TEXTS[0]);
    assert!(stderr.contains("the search compared only words, because search by meaning failed: "), "{stderr}");
}

#[test]
fn an_overloaded_server_is_asked_again() {
    let (world, server) = (world(), Server::start());
    server.set(|manner| manner.refuses = Some((429, 3)));
    assert_eq!(embed(&world, &server)["embedded"], 4);
    assert_eq!(server.requests(), 4);
    server.set(|manner| manner.refuses = Some((429, usize::MAX)));
    let (hits, stderr) = found(&world, &server, "green tea");
    assert_eq!(hits[0], TEXTS[0]);
    assert_eq!(server.requests(), 5, "a person waits for the answer");
    assert!(stderr.contains("the search compared only words, because search by meaning failed: "), "{stderr}");
}

#[test]
fn a_model_that_is_not_there_is_told_with_what_to_do() {
    let (world, server) = (world(), Server::start());
    let mut command = with(&world, &server, &["db", "embed"]);
    let (status, _, stderr) = out(command.env("AFTERTHOUGHT_EMBEDDING_MODEL", "missing"));
    assert_eq!((status, server.requests()), (2, 1));
    assert!(stderr.contains("not found") && stderr.contains("`ollama pull MODEL`"), "{stderr}");
}

#[test]
fn vectors_of_another_length_are_refused_until_a_person_asks_for_them() {
    let (world, server) = (world(), Server::start());
    embed(&world, &server);
    server.set(|manner| manner.dimension = 6);
    world.good(&["remember", "The user plays chess."]);
    let (status, _, stderr) = out(&mut with(&world, &server, &["db", "embed"]));
    assert_eq!(status, 2);
    assert!(stderr.contains("m returns vectors of 6 numbers instead of 12; set dimensions = 6"), "{stderr}");
    let (hits, stderr) = found(&world, &server, "green tea");
    assert_eq!(hits[0], TEXTS[0]);
    assert!(stderr.contains("the search compared only words, because search by meaning failed: "), "{stderr}");
    std::fs::write(world.path("six.toml"), "[embedding]\ndimensions = 6\n").unwrap();
    server.taken();
    let (status, stdout, stderr) = out(&mut with(&world, &server, &["db", "embed", "--config", "six.toml"]));
    assert_eq!((status, stdout.starts_with("5 vectors")), (0, true), "{stdout}{stderr}");
    assert_eq!(server.taken().len(), 5);
}

#[test]
fn another_model_makes_all_vectors_anew_without_a_chat_model() {
    let (world, server) = (world(), Server::start());
    embed(&world, &server);
    server.taken();
    let again = || {
        let mut command = with(&world, &server, &["db", "embed", "--json"]);
        let (status, stdout, stderr) = out(command.env("AFTERTHOUGHT_EMBEDDING_MODEL", "nomic-embed-text"));
        assert_eq!(status, 0, "{stderr}");
        serde_json::from_str::<Value>(&stdout).unwrap()["embedded"].clone()
    };
    assert_eq!(again(), 4);
    assert!(server.taken().iter().all(|text| text.starts_with("search_document: ")));
    assert_eq!(again(), 0);
    assert!(server.state.bodies.lock().unwrap().iter().all(|body| !body.contains("messages")));
}

#[test]
fn texts_that_a_server_does_not_take_stop_nothing_else() {
    let (world, server) = (world(), Server::start());
    let long = format!("The user told this: {}.", "tea and cat and city and much more ".repeat(100));
    world.good(&["remember", &long]);
    world.good(&["remember", "A poisoned text about nothing at all."]);
    server.set(|manner| {
        (manner.most_texts, manner.longest, manner.poison) = (4, 3_000, "poisoned");
    });
    let (status, stdout, stderr) = out(&mut with(&world, &server, &["db", "embed", "--json"]));
    assert_eq!(status, 3, "{stderr}");
    let filled: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&filled["embedded"], &filled["refused"], &filled["waiting"]), (&json!(5), &json!(1), &json!(1)));
    assert!(server.taken().iter().any(|text| text.starts_with("The user told this") && text.len() < 3_000));
    for _ in 0..2 {
        out(&mut with(&world, &server, &["db", "embed"]));
    }
    let before = server.requests();
    assert_eq!(out(&mut with(&world, &server, &["db", "embed"])).0, 0);
    assert_eq!(server.requests(), before, "three times are enough");
    server.set(|manner| manner.poison = "no such text");
    assert_eq!(out(&mut with(&world, &server, &["db", "embed", "--retry"])).1, "1 vector for 7 tokens\n");
}

#[test]
fn a_kill_in_the_middle_loses_the_calls_in_flight_alone() {
    let (world, server) = (World::new(None), Server::start());
    let lines: Vec<String> = (0..300)
        .map(|number| json!({"content": format!("Fact number {number} about the tea of the user.")}).to_string())
        .collect();
    std::fs::write(world.path("many.jsonl"), lines.join("\n")).unwrap();
    world.good(&["import", "many.jsonl"]);
    server.set(|manner| manner.delay = Duration::from_millis(300));
    let mut child = with(&world, &server, &["db", "embed"]).spawn().unwrap();
    assert!(server.wait_for(3));
    signal(&child, "KILL");
    child.wait().unwrap();
    server.set(|manner| manner.delay = Duration::ZERO);
    std::thread::sleep(Duration::from_millis(400));
    let before = server.taken().len();
    assert_eq!(before, 3 * 64);
    // The killed process still holds the lease for computing vectors for up to half a minute, so the command waits.
    let filled = embed(&world, &server);
    let after = server.taken().len();
    assert_eq!(filled["embedded"], json!(after));
    assert!((300 - 2 * 64..=300 - 64).contains(&after), "{after} of 300 were left to do");
    assert_eq!(embed(&world, &server)["embedded"], 0);
}

#[test]
fn no_secret_reaches_the_server() {
    let (world, server) = (world(), Server::start());
    let secret = concat!("ghp_", "0123456789abcdefghijABCDEFGHIJ012345");
    found(&world, &server, &format!("where is {secret} used"));
    embed(&world, &server);
    found(&world, &server, &format!("where is {secret} used"));
    let bodies = server.state.bodies.lock().unwrap();
    assert!(bodies.len() > 1 && bodies.iter().all(|body| !body.contains(secret)), "{bodies:?}");
}

#[test]
fn a_project_cannot_send_memories_elsewhere() {
    let (world, server) = (world(), Server::start());
    let settings = format!("[embedding]\nbase_url = \"{}\"\nmodel = \"m\"\n", server.base_url);
    std::fs::write(world.path("afterthought.toml"), settings).unwrap();
    let (status, _, stderr) = out(&mut world.command(&["project", "trust", "--yes"]));
    assert!(status == 2 && stderr.contains("must not set embedding"), "{stderr}");
    out(&mut world.command(&["db", "embed"]));
    assert_eq!(server.requests(), 0);
}

#[test]
fn an_export_holds_no_vectors_and_a_file_that_takes_it_in_makes_its_own() {
    let (world, server) = (world(), Server::start());
    let before = world.good(&["export", "--all"]);
    embed(&world, &server);
    assert_eq!(world.good(&["export", "--all"]), before);
    let other = World::new(None);
    std::fs::write(other.path("all.jsonl"), before).unwrap();
    server.taken();
    let (status, ..) = out(&mut with(&other, &server, &["import", "all.jsonl"]));
    assert_eq!((status, server.taken().len()), (0, 4));
}
