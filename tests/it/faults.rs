//! Tests of a window whose server or model fails, with one row per fault, from the log to the memories.
//!
//! Each row reads the same conversation with three facts twice: first from a server that fails in the same way at every
//! request, then from the same server without failures. `docs/engineering/faults.md` contains the last printed version
//! of this table.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use afterthought::extract::window::WindowBudget;
use afterthought::guard::Guard;
use afterthought::llm::{Budget, Client, Limits, ModelSettings};
use afterthought::memory::CATEGORIES;
use afterthought::pipeline::{self, Extractor, Options, Pipeline, RereadPolicy, Selection, Sources, Summary};
use afterthought::store::{Filter, Order, Store};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::{FACTS, World, answer, completion, read_body, said_in};

/// A fault of the server, given the text of the good answer.
type Fault = fn(&str) -> Sent;

/// The response of a server.
enum Sent {
    /// A completion with this text and this finish reason.
    Text(String, &'static str),
    /// A complete response body.
    Body(u16, &'static str, Vec<u8>),
    /// Announces more than these bytes, and then closes the connection.
    Cut(Vec<u8>),
    /// Sends the headers, and then single bytes at long intervals, forever.
    Drip,
    /// Sends nothing.
    Hangup,
}

/// The expected result of a row.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// The outcome of the window.
    window: &'static str,
    /// Exit code of the run.
    exit: u8,
    /// Number of memories stored by the first run.
    kept: usize,
    /// Number of proposals that were counted as rejected.
    dropped: u64,
    /// Whether the next run sends a request again.
    again: bool,
    /// Number of memories after the next run.
    after: usize,
}

fn json_body(status: u16, body: &Value) -> Sent {
    Sent::Body(status, "content-type: application/json\r\n", body.to_string().into_bytes())
}

fn stop(text: impl Into<String>) -> Sent {
    Sent::Text(text.into(), "stop")
}

fn cut(good: &str, tenths: usize) -> String {
    good[..good.floor_char_boundary(good.len() * tenths / 10)].to_owned()
}

/// Returns the good answer with `change` applied to its second entry.
fn second(good: &str, change: impl Fn(&mut Value)) -> Sent {
    let mut answer: Value = serde_json::from_str(good).unwrap();
    if let Some(entry) = answer["memories"].get_mut(1) {
        change(entry);
    }
    stop(answer.to_string())
}

fn failed() -> Outcome {
    Outcome { window: "failed", exit: 3, kept: 0, dropped: 0, again: true, after: 3 }
}

fn ok() -> Outcome {
    Outcome { window: "ok", exit: 0, kept: 3, dropped: 0, again: false, after: 3 }
}

const BUSY: &str = r#"{"error":{"message":"slow down","type":"x","code":"rate_limit_exceeded"}}"#;

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn rows() -> Vec<(&'static str, Fault, Outcome)> {
    let partial = |kept, dropped| Outcome { window: "partial", exit: 3, kept, dropped, again: false, after: kept };
    // The usable part of the answer is kept, and the next run requests everything again.
    let lacking = |kept, dropped| Outcome { again: true, after: 3, ..partial(kept, dropped) };
    vec![
        ("none", |good| stop(good), ok()),
        ("answer cut at 10 %", |good| Sent::Text(cut(good, 1), "length"), Outcome { dropped: 1, ..failed() }),
        ("answer cut at 20 %", |good| Sent::Text(cut(good, 2), "length"), Outcome { dropped: 1, ..failed() }),
        ("answer cut at 30 %", |good| Sent::Text(cut(good, 3), "length"), Outcome { dropped: 1, ..failed() }),
        ("answer cut at 40 %", |good| Sent::Text(cut(good, 4), "length"), lacking(1, 1)),
        ("answer cut at 50 %", |good| Sent::Text(cut(good, 5), "length"), lacking(1, 1)),
        ("answer cut at 60 %", |good| Sent::Text(cut(good, 6), "length"), lacking(1, 1)),
        ("answer cut at 70 %", |good| Sent::Text(cut(good, 7), "length"), lacking(2, 1)),
        ("answer cut at 80 %", |good| Sent::Text(cut(good, 8), "length"), lacking(2, 1)),
        ("answer cut at 90 %", |good| Sent::Text(cut(good, 9), "length"), lacking(2, 1)),
        (
            "answer cut before its last bracket",
            |good| Sent::Text(good[..good.len() - 1].to_owned(), "length"),
            lacking(3, 0),
        ),
        ("answer cut at 60 % without notice by the server", |good| stop(cut(good, 6)), lacking(1, 1)),
        ("prose around the answer", |good| stop(format!("Sure! Here you are:\n{good}\nAnything else?")), ok()),
        ("prose only", |_| stop("There is much worth remembering here."), failed()),
        ("fenced", |good| stop(format!("```json\n{good}\n```")), ok()),
        ("after thoughts", |good| stop(format!("<think>Is {{\"memories\":[]}} enough?</think>{good}")), ok()),
        ("unclosed thoughts", |_| stop("<think>Let me see"), failed()),
        ("JSON within a JSON string", |good| stop(json!(good).to_string()), ok()),
        ("comments and trailing commas", |good| stop(format!("{{ // done\n{},]}}", &good[1..good.len() - 2])), ok()),
        ("Python's quotes", |good| stop(good.replace('"', "'").replace("null", "None")), ok()),
        ("line breaks within texts", |good| stop(good.replace("listens on", "listens\non")), ok()),
        ("another name for the list of memories", |good| stop(good.replacen("memories", "facts", 1)), ok()),
        ("`memories` is null", |_| stop(r#"{"memories":null}"#), failed()),
        ("an empty list", |_| stop(r#"{"memories":[]}"#), Outcome { window: "ok_empty", kept: 0, after: 0, ..ok() }),
        ("refusal by finish reason", |_| Sent::Text(String::new(), "content_filter"), failed()),
        ("refusal in English", |_| stop("I'm sorry, but I can't help with that."), failed()),
        ("refusal in Chinese", |_| stop("抱歉，我无法处理这段对话。"), failed()),
        ("refusal in German", |_| stop("Es tut mir leid, dabei kann ich nicht helfen."), failed()),
        ("refusal in Spanish", |_| stop("Lo siento, no puedo ayudar con eso."), failed()),
        ("a number as text", |good| second(good, |entry| entry["importance"] = json!("6")), ok()),
        ("a wrong type", |good| second(good, |entry| entry["messages"] = json!({"a": 1})), partial(2, 1)),
        ("a missing field", |good| second(good, |entry| entry["content"] = Value::Null), partial(2, 1)),
        (
            "all entries of the wrong type",
            |good| stop(good.replace("\"importance\":6", "\"importance\":\"high\"")),
            Outcome { dropped: 3, ..failed() },
        ),
        ("NaN", |good| stop(good.replacen("\"importance\":6", "\"importance\":NaN", 1)), partial(2, 1)),
        (
            "a quote that is not in the log",
            |good| second(good, |entry| entry["quote"] = json!("we love Nomad")),
            Outcome { kept: 2, dropped: 1, after: 2, ..ok() },
        ),
        (
            "a wrong digit",
            |good| second(good, |entry| entry["content"] = json!("The service called basil listens on port 9999.")),
            Outcome { kept: 2, dropped: 1, after: 2, ..ok() },
        ),
        (
            "the example from the prompt",
            |_| stop(EXAMPLE),
            Outcome { window: "ok_empty", kept: 0, dropped: 1, after: 0, ..ok() },
        ),
        ("empty content", |_| stop(""), failed()),
        ("empty body", |_| Sent::Body(200, "content-type: application/json\r\n", Vec::new()), failed()),
        ("no choices", |_| json_body(200, &json!({"choices": []})), failed()),
        (
            "HTTP 200 with an error",
            |_| json_body(200, &json!({"error": {"message": "overloaded", "code": 502}})),
            failed(),
        ),
        (
            "429 with Retry-After",
            |_| Sent::Body(429, "content-type: application/json\r\nretry-after: 1\r\n", BUSY.into()),
            failed(),
        ),
        ("429 without Retry-After", |_| Sent::Body(429, "content-type: application/json\r\n", BUSY.into()), failed()),
        ("503", |_| json_body(503, &json!({"error": {"message": "loading"}})), failed()),
        (
            "HTTP 500 with an HTML page",
            |_| Sent::Body(500, "content-type: text/html\r\n", b"<html>oops</html>".to_vec()),
            failed(),
        ),
        (
            "HTTP 200 with an HTML page",
            |_| Sent::Body(200, "content-type: text/html\r\n", b"<!doctype html><p>Sign in</p>".to_vec()),
            failed(),
        ),
        (
            "wrong content type",
            |good| Sent::Body(200, "content-type: text/plain\r\n", completion(good).to_string().into_bytes()),
            ok(),
        ),
        (
            "invalid UTF-8",
            |_| {
                Sent::Body(
                    200,
                    "content-type: application/json\r\n",
                    b"{\"choices\":[{\"message\":{\"content\":\"\xff\xfe\"}}]}".to_vec(),
                )
            },
            failed(),
        ),
        (
            "invalid gzip data",
            |_| {
                Sent::Body(
                    200,
                    "content-type: application/json\r\ncontent-encoding: gzip\r\n",
                    b"\x1f\x8b\x08garbage".to_vec(),
                )
            },
            failed(),
        ),
        ("connection reset before the answer", |_| Sent::Hangup, failed()),
        ("connection reset in the body", |_| Sent::Cut(b"{\"choices\":[{\"mess".to_vec()), failed()),
        ("slow drip", |_| Sent::Drip, failed()),
    ]
}

/// The example from the prompt, which some models repeat.
const EXAMPLE: &str = r#"{"memories":[{"type":"semantic","category":"decision","title":"Nomad instead of Kubernetes","content":"The project moved its deployment from Kubernetes to Nomad on 2026-02-27.","subject":"deployment","key":"project.deployment","value":"Nomad","audience":"project","basis":"stated","importance":7,"from":"2026-02-27","to":null,"expires":null,"messages":[1],"quote":"Since last Friday we deploy with Nomad","replaces":null,"tags":[],"episode":null,"procedure":null}]}"#;

/// A server on the loopback interface that fails until it is repaired.
struct Server {
    base_url: String,
    healed: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (healed, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (heals, asks) = (Arc::clone(&healed), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (heals, asks) = (Arc::clone(&heals), Arc::clone(&asks));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let body: Value = serde_json::from_str(&read_body(&stream)?).unwrap();
                    asks.fetch_add(1, Ordering::SeqCst);
                    // The client may have closed the connection, as it should if the server sends too slowly.
                    send(&mut stream, &reply(&body, fault, heals.load(Ordering::SeqCst))).ok()
                });
            }
        });
        Self { base_url, healed, asked }
    }
}

/// Returns the response. The request is in the first message after the system prompt, even in later turns.
fn reply(body: &Value, fault: Fault, is_healed: bool) -> Sent {
    let prompt = body["messages"][1]["content"].as_str().unwrap();
    let good = answer(prompt, &said_in(prompt, "<conversation>", "</conversation>"));
    if is_healed || prompt.contains("<questions>") { stop(good) } else { fault(&good) }
}

fn send(stream: &mut TcpStream, sent: &Sent) -> std::io::Result<()> {
    let whole = |stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]| {
        write!(stream, "HTTP/1.1 {status} X\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n", body.len())?;
        stream.write_all(body)
    };
    match sent {
        Sent::Text(text, finish) => {
            let mut body = completion(text);
            body["choices"][0]["finish_reason"] = json!(finish);
            whole(stream, 200, "content-type: application/json\r\n", body.to_string().as_bytes())
        }
        Sent::Body(status, headers, body) => whole(stream, *status, headers, body),
        Sent::Cut(part) => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n")?;
            stream.write_all(part)
        }
        Sent::Drip => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")?;
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        }
        Sent::Hangup => Ok(()),
    }
}

/// Processes the conversation, using a client that does not wait between attempts.
fn run(store: &Store, world: &World, base_url: &str) -> Summary {
    let settings = ModelSettings {
        max_retries: 2,
        jitter_seed: Some(1),
        timeout: Duration::from_millis(1_500),
        ..ModelSettings::new(base_url, "m")
    };
    let client = Client::new(settings).unwrap().with_sleep(|_| Box::pin(std::future::ready(())));
    let (guard, budget) = (Guard::default(), Budget::new(Limits::default(), None, "m").unwrap());
    let options = Options {
        sources: Sources { paths: vec![world.path("logs")], ..Sources::default() },
        selection: Selection::default(),
        reread: RereadPolicy::Nothing,
        namespace: None,
        user: None,
        known: Vec::new(),
        categories: CATEGORIES.iter().map(|&name| name.to_owned()).collect(),
        instructions: None,
        window: WindowBudget::default(),
        jobs: 1,
    };
    let pipeline = Pipeline::new(store, &guard, Extractor::Llm(&client), &budget, options);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(pipeline::run(pipeline, &json!({}), CancellationToken::new(), &mut |_| {})).unwrap()
}

fn count(store: &Store) -> usize {
    store.list(&Filter::default(), Order::Id, 1_000, 0).unwrap().len()
}

/// Returns the exit code of the command for such a summary.
fn exit(summary: &Summary) -> u8 {
    if summary.has_failures() { 3 } else { 0 }
}

fn observed(fault: Fault) -> Outcome {
    let (server, world, store) = (Server::start(fault), World::new(None), Store::in_memory().unwrap());
    world.session("one", 1, &FACTS[..3]);
    let first = run(&store, &world, &server.base_url);
    let windows = first.windows;
    let states =
        [(windows.ok, "ok"), (windows.ok_empty, "ok_empty"), (windows.partial, "partial"), (windows.failed, "failed")];
    assert_eq!((windows.total, states.iter().map(|(count, _)| count).sum::<u64>()), (1, 1), "{windows:?}");
    let (window, kept) = (states.iter().find(|(count, _)| *count == 1).unwrap().1, count(&store));
    let asked = server.asked.load(Ordering::SeqCst);
    assert!(asked > 0, "nothing was asked");
    server.healed.store(true, Ordering::SeqCst);
    let second = run(&store, &world, &server.base_url);
    assert_eq!(second.windows.failed, 0, "{second:?}");
    let again = server.asked.load(Ordering::SeqCst) > asked;
    Outcome { window, exit: exit(&first), kept, dropped: first.dropped.values().sum(), again, after: count(&store) }
}

fn line(name: &str, outcome: &Outcome) -> String {
    let Outcome { window, exit, kept, dropped, again, after } = outcome;
    let again = if *again { "yes" } else { "no" };
    format!("| {name} | `{window}` | {exit} | {kept} | {dropped} | {again} | {after} |")
}

#[test]
fn every_fault_ends_as_the_table_says() {
    let rows = Mutex::new(rows().into_iter().enumerate().collect::<Vec<_>>());
    let seen = Mutex::new(Vec::new());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((place, (name, fault, expected))) = rows.lock().unwrap().pop() else { break };
                    let outcome = observed(fault);
                    seen.lock().unwrap().push((place, line(name, &outcome), line(name, &expected)));
                }
            });
        }
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort();
    let wrong: Vec<_> = seen.iter().filter(|(_, outcome, expected)| outcome != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(started.elapsed() < Duration::from_mins(2), "a run did not end in time");

    let mut table = String::new();
    for (_, outcome, _) in &seen {
        writeln!(table, "{outcome}").unwrap();
    }
    std::io::stdout().write_all(table.as_bytes()).unwrap();
    let page = std::fs::read_to_string("docs/engineering/faults.md").unwrap();
    assert!(page.contains(&table), "docs/engineering/faults.md should hold this table:\n{table}");
}

#[test]
fn the_command_ends_with_the_code_that_the_table_says() {
    let wrong_key: Fault =
        |_| json_body(401, &json!({"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}));
    let rows = rows();
    let named = |name: &str| rows.iter().find(|row| row.0 == name).unwrap().1;
    for (fault, code) in [
        (named("none"), 0),
        (named("a wrong type"), 3),
        (named("prose only"), 3),
        (named("an empty list"), 0),
        (wrong_key, 2),
    ] {
        let (server, world) = (Server::start(fault), World::new(None));
        world.session("one", 1, &FACTS[..3]);
        let mut command = world.command(&["run", "logs", "--json"]);
        let output = command.env("OPENAI_BASE_URL", &server.base_url).env("AFTERTHOUGHT_MODEL", "m").output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}
