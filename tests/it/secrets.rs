//! Tests that no secret reaches the model, the database, the recordings, the terminal or an export.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::collections::HashMap;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use afterthought::store::Store;
use serde_json::{Value, json};

use super::desk::Desk;
use super::world::read_body;

/// This many consecutive characters of a secret count as a leak.
const PIECE: usize = 8;
/// The text that the model may quote.
const SAID: &str = "I always rotate the staging credentials on Mondays";

/// Invented secrets by the place where they occur, assembled here so that no scanner mistakes them for real secrets.
const SECRETS: &[(&str, &str)] = &[
    ("api key", concat!("sk-", "proj-", "Zq7Lw2Vn9Rk4Tb6Yc1Hd8Mf3Xs5Jg0Pa")),
    ("private key", concat!("MIIEowIBAAKCAQEA", "u7WvQm2xKfRz9LpTn4YdBs6GhJc8VwXe1AoZi3CkEy5Dt")),
    ("prose", concat!("Trombone", "!4417-Quasar")),
    ("env line", concat!("kV8", "w#Lq2nZ9pXy4T")),
    ("url", concat!("hB3x", "Wm7Kd9Qz2Rv")),
    ("tool output", concat!("gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8")),
    ("wrapped key", concat!("sk-", "proj-", "Tm4Wq9Zr2Lx7Vb5Nc8Kd3Hj6Gf1Ps0YaQe", "9Ru2Xw7Bk4Mz6Ct1Vn8Lh3Dp5Jg0So")),
    ("title", concat!("gh", "p_", "Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4J3i2")),
    ("cwd", concat!("gl", "pat-", "Hq3Nv8Ls5Dk2Wm7Bx9Tc")),
];

/// The key that the model invents in its second reply.
const INVENTED: &str = concat!("sk-", "proj-", "Uy5Gt3Rf7Ed2Ws9Qa4Hj6Kl8Mn1Bv0Cx");

fn secret(place: &str) -> &'static str {
    SECRETS.iter().find(|(name, _)| *name == place).unwrap().1
}

/// Returns a session with every secret in its place.
fn log() -> String {
    let cwd = format!("/home/ana/{}/shop", secret("cwd"));
    let mut lines =
        vec![json!({"type": "summary", "summary": format!("Deploy with {}", secret("title")), "leafUuid": "u1"})];
    let mut message = |number: usize, role: &str, content: Value| {
        lines.push(json!({
            "type": role, "uuid": format!("u{number}"), "sessionId": "5f0c2a9e-7d41-4c1b-9a55-2f6d0e8b1c35", "cwd": cwd,
            "timestamp": format!("2026-03-02T09:{number:02}:00.000Z"), "userType": "external", "isSidechain": false,
            "message": {"role": role, "content": content},
        }));
    };
    let pem = format!(
        "-----BEGIN RSA {}-----\n{}\n-----END RSA {}-----",
        "PRIVATE KEY",
        split_in_lines(secret("private key")),
        "PRIVATE KEY"
    );
    message(1, "user", format!("{SAID}. The API key is {}.", secret("api key")).into());
    message(2, "user", format!("Use this key:\n{pem}\nThanks.").into());
    message(3, "user", format!("Remember that the password is {} for staging.", secret("prose")).into());
    message(4, "user", format!("My .env:\nDB_HOST=db1\nDB_PASSWORD={}\nDEBUG=1", secret("env line")).into());
    message(5, "user", format!("We connect to postgres://app:{}@db1.shop.test/orders.", secret("url")).into());
    let (first, rest) = secret("wrapped key").split_at(42);
    message(6, "user", format!("The terminal wraps it:\n{first}\n  {rest}\nand goes on.").into());
    message(
        7,
        "assistant",
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": format!("gh auth token # {}", secret("tool output"))}}]),
    );
    message(8, "user", json!([{"type": "tool_result", "tool_use_id": "t1", "content": secret("tool output")}]));
    message(9, "assistant", json!([{"type": "text", "text": "Done."}]));
    message(10, "user", "I am allergic to peanuts.".into());
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns `text` with a line break after every sixteen characters.
fn split_in_lines(text: &str) -> String {
    text.as_bytes().chunks(16).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join("\n")
}

/// Every piece of every secret.
struct Pieces(HashMap<Vec<u8>, &'static str>);

impl Pieces {
    fn new() -> Self {
        let mut pieces = HashMap::new();
        for (place, secret) in SECRETS.iter().chain(&[("invented", INVENTED)]) {
            // The well-known prefix of a key is not a secret.
            let from = ["sk-proj-", "sk-ant-api03-", "ghp_", "glpat-", "MIIEowIBAAKCAQEA"]
                .iter()
                .find(|mark| secret.starts_with(**mark))
                .map_or(0, |mark| mark.len());
            pieces.extend(secret.as_bytes()[from..].windows(PIECE).map(|piece| (piece.to_vec(), *place)));
        }
        Self(pieces)
    }

    /// Fails if a piece appears in `bytes`.
    fn check(&self, what: &str, bytes: &[u8]) {
        let found = bytes.windows(PIECE).find_map(|window| self.0.get(window));
        assert!(found.is_none(), "{what} holds a part of the secret in the place {:?}", found.unwrap());
    }
}

#[test]
fn the_check_sees_what_it_looks_for() {
    let log = log();
    let found: std::collections::BTreeSet<_> =
        log.as_bytes().windows(PIECE).filter_map(|window| Pieces::new().0.get(window).copied()).collect();
    assert_eq!(found.len(), SECRETS.len());
}

#[test]
fn the_rules_keep_no_secret() {
    let desk = Desk::new();
    desk.write("log.jsonl", log());
    let _held = Store::open(desk.path("memories.db")).unwrap();
    check(&desk, &["run", "log.jsonl", "--extractor", "rules"]);
    assert!(!desk.memories_in("memories.db").is_empty());
}

#[test]
fn neither_the_model_nor_its_recordings_nor_what_it_answers_hold_a_secret() {
    let desk = Desk::new();
    desk.write("log.jsonl", log());
    let server = Server::start();
    let _held = Store::open(desk.path("memories.db")).unwrap();
    check(&desk, &["run", "log.jsonl", "--base-url", &server.url, "--model", "m", "--record", "tapes"]);
    let asked = server.asked.lock().unwrap().clone();
    assert!(!asked.is_empty());
    for body in &asked {
        Pieces::new().check("a request", body.as_bytes());
    }
    let mut recordings = 0;
    for entry in std::fs::read_dir(desk.path("tapes")).unwrap() {
        recordings += 1;
        Pieces::new().check("a recording", &std::fs::read(entry.unwrap().path()).unwrap());
    }
    assert_eq!(recordings, asked.len());
    assert!(!desk.memories_in("memories.db").is_empty(), "the model's memories are kept but for the secrets");
}

/// Runs `args` with the most verbose output, and checks all output and files.
fn check(desk: &Desk, args: &[&str]) {
    let pieces = Pieces::new();
    let mut command = desk.command(&[args, &["-v", "--db", "memories.db"]].concat());
    command.env("AFTERTHOUGHT_LOG", "trace");
    let told = desk.finish(command);
    assert!([0, 3].contains(&told.code), "{told:?}");
    assert!(told.err.contains("TRACE") || args.contains(&"rules"), "the test wants all that can be logged");
    pieces.check("standard output", told.out.as_bytes());
    pieces.check("standard error", told.err.as_bytes());
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("memories.db{suffix}");
        pieces.check(&name, &std::fs::read(desk.path(&name)).unwrap());
    }
    let exported = desk.run(&["export", "--all", "--db", "memories.db"]);
    pieces.check("the export", exported.out.as_bytes());
    for memory in exported.json() {
        let id = memory["id"].as_str().unwrap();
        for command in ["show", "why", "history"] {
            let told = desk.run(&["memory", command, id, "--json", "--db", "memories.db"]);
            pieces.check(command, format!("{}{}", told.out, told.err).as_bytes());
        }
    }
}

/// A model on the loopback interface that proposes its input as a memory, and adds an invented key.
pub struct Server {
    pub url: String,
    pub asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(body) = read_body(&stream) else { continue };
                let answer = answer(&body).to_string();
                log.lock().unwrap().push(body);
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                    answer.len()
                )
                .unwrap();
            }
        });
        Self { url, asked }
    }
}

/// Returns a completion whose memories repeat the conversation, and contain a key that nobody mentioned.
fn answer(body: &str) -> Value {
    let request: Value = serde_json::from_str(body).unwrap();
    let prompt = request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    let seen = prompt.find("<conversation>\n").map_or("", |at| &prompt[at..]);
    let memory = |content: String, title: &str| {
        json!({
            "type": "semantic", "category": "fact", "title": title, "content": content, "subject": null, "key": null,
            "value": null, "audience": "project", "basis": "stated", "importance": 6, "from": null, "to": null,
            "expires": null, "messages": [1], "quote": SAID, "replaces": null, "tags": [], "episode": null, "procedure": null,
        })
    };
    let echo: String = seen.chars().filter(|c| *c != '\n').take(1200).collect();
    let memories = [
        memory(format!("The user rotates the staging credentials on Mondays: {echo}"), "Echo"),
        memory(format!("The user rotates the staging credentials with the key {INVENTED}."), "Invention"),
        memory("The user rotates the staging credentials on Mondays.".to_owned(), "Staging credentials"),
    ];
    json!({
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": json!({"memories": memories}).to_string(),
        }}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    })
}

#[test]
fn a_value_that_an_agent_writes_into_a_file_is_in_no_file_of_the_store() {
    let values = [
        concat!("EmnRYcUVn", "WloUKExHCA"),
        concat!("KxQmVt", "LpWzHbN"),
        concat!("Kx7Qm2", "Vt9LpWz"),
        "correct_horse_battery",
        // The part of a token before its hyphen looks like a name.
        concat!("figd_", "RtmqWIkXLHVbPz"),
    ];
    let [quoted, plain, mixed, words, part] = values;
    let edits = [
        ("a.py", format!("def load_rows():\n    secret = \"{quoted}\"\n    pin = '{words}'\n")),
        ("settings.ini", format!("password = {plain}\n[old]\nkey={mixed}\n")),
        ("notes.py", format!("# The old value was {mixed}.\n")),
        ("design.py", format!("# Drawn with {part}-QwErTyUiOpAsDfGhJkLzXc12 in spring.\ndef draw_rows(): ...\n")),
    ];
    let mut lines = vec![json!({"role": "user", "content": "Write the settings of the shop."})];
    for (number, (file, text)) in edits.iter().enumerate() {
        let id = format!("t{number}");
        let input = json!({"file_path": format!("/src/shop/{file}"), "content": text});
        lines.push(
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Write", "input": input}]}),
        );
        lines.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]}));
    }
    let line = |(number, message): (usize, &Value)| {
        json!({
            "type": message["role"], "uuid": format!("u{number}"), "sessionId": "s1", "cwd": "/src/shop",
            "timestamp": format!("2026-03-02T09:{number:02}:00.000Z"), "message": message,
        })
        .to_string()
    };
    let desk = Desk::new();
    desk.write("log.jsonl", lines.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    let _held = Store::open(desk.path("memories.db")).unwrap();
    desk.run(&["run", "log.jsonl", "--extractor", "rules"]);
    let found = desk.run(&["blame", "/src/shop/a.py", "--everywhere"]);
    assert!(found.out.contains("Write the settings of the shop"), "{found:?}");
    for name in ["memories.db", "memories.db-wal", "memories.log"] {
        let bytes = std::fs::read(desk.path(name)).unwrap_or_default();
        for value in values {
            let is_kept = bytes.windows(value.len()).any(|window| window == value.as_bytes());
            assert!(!is_kept, "{name} contains {value}");
        }
    }
}
