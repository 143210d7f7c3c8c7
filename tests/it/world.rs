//! The real binary in a separate folder, and a server on loopback whose answers depend on the requests.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::http;

/// Pseudo-random numbers that are the same in every run of the tests.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Returns the number of processes to kill, which `AFTERTHOUGHT_KILLS` can increase.
pub fn kills_wanted(least: usize) -> usize {
    std::env::var("AFTERTHOUGHT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(least)
}

/// A statement of a person in a log about the port on which a service listens.
pub type Fact = (&'static str, u32);

/// Enough facts for many windows of [`RUN`].
pub const MANY_FACTS: [Fact; 14] = [
    ("amber", 4101),
    ("basil", 5202),
    ("cedar", 6303),
    ("dahlia", 7404),
    ("elder", 8505),
    ("fennel", 9606),
    ("ginger", 10707),
    ("hazel", 11808),
    ("iris", 12909),
    ("juniper", 13010),
    ("kale", 14111),
    ("lavender", 15212),
    ("maple", 16313),
    ("nettle", 17414),
];
/// Enough facts for several windows.
pub const FACTS: [Fact; 8] = *MANY_FACTS.first_chunk().expect("there are more");
/// Reads the logs in windows so small that a few messages fill each window.
pub const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--json"];

/// A received request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Body of the request.
    pub body: String,
    /// Facts stated by people in the part to extract from; empty for a question about memories.
    pub facts: Vec<String>,
    /// Facts stated by people in the part shown as context.
    pub context: Vec<String>,
    /// Text of the answer.
    pub reply: String,
    /// Time at which the request arrived.
    #[cfg(feature = "scale")]
    pub at: std::time::SystemTime,
}

/// The server's behaviour for requests that contain a text; status 200 answers them.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// Delay before each answer.
    pub delay: Duration,
    /// Requests that contain this text are rejected with this status.
    pub refuses: Option<(String, u16)>,
    /// Requests that contain all of these texts are refused by the model itself.
    pub declines: Vec<String>,
}

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Asked>>,
    came: Condvar,
    manner: Mutex<Manner>,
}

/// An OpenAI-compatible server that proposes one memory for each fact in the part to extract from.
pub struct Server {
    state: Arc<State>,
    /// Value for `OPENAI_BASE_URL`.
    pub base_url: String,
}

impl Server {
    pub fn start(delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        state.manner.lock().unwrap().delay = delay;
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&shared);
                // A killed client disconnects in the middle of a request, which ends only its thread.
                std::thread::spawn(move || serve(&stream.unwrap(), &state));
            }
        });
        Self { state, base_url }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.state.asked.lock().unwrap().len()
    }

    /// Returns the number of requests about windows.
    pub fn windows(&self) -> usize {
        self.asked().iter().filter(|asked| !asked.facts.is_empty()).count()
    }

    pub fn set(&self, change: impl FnOnce(&mut Manner)) {
        change(&mut self.state.manner.lock().unwrap());
    }

    /// Waits until `count` requests have been received in total, or until `limit` has elapsed; returns whether they
    /// were received.
    pub fn wait_for(&self, count: usize, limit: Duration) -> bool {
        let asked = self.state.asked.lock().unwrap();
        let waited = self.state.came.wait_timeout_while(asked, limit, |asked| asked.len() < count).unwrap();
        !waited.1.timed_out()
    }
}

fn serve(stream: &TcpStream, state: &State) -> Option<()> {
    let body = read_body(stream)?;
    let value: Value = serde_json::from_str(&body).unwrap();
    let prompt = value["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let facts = facts_of(&prompt);
    let context = said_in(&prompt, "<already_read>", "</already_read>");
    let reply = answer(&prompt, &facts);
    let asked = Asked {
        facts: facts.iter().map(|(_, fact)| fact.clone()).collect(),
        context: context.into_iter().map(|(_, fact)| fact).collect(),
        reply: reply.clone(),
        #[cfg(feature = "scale")]
        at: std::time::SystemTime::now(),
        body,
    };
    let manner = state.manner.lock().unwrap().clone();
    let refusal = manner.refuses.filter(|(text, _)| asked.body.contains(text));
    state.asked.lock().unwrap().push(asked);
    state.came.notify_all();
    std::thread::sleep(manner.delay);
    let is_declined = !manner.declines.is_empty() && manner.declines.iter().all(|text| prompt.contains(text));
    match refusal {
        None if is_declined => {
            let mut body = completion("I would rather not.");
            body["choices"][0]["finish_reason"] = "content_filter".into();
            send(stream, 200, "", &body)
        }
        Some((_, status)) => {
            let error = json!({"error": {"message": "not now", "type": "x", "code": "x"}});
            send(stream, status, "retry-after-ms: 1\r\n", &error)
        }
        None => send(stream, 200, "", &completion(&reply)),
    }
}

pub fn read_body(stream: &TcpStream) -> Option<String> {
    String::from_utf8(http::read(stream)?.1).ok()
}

pub fn send(mut stream: &TcpStream, status: u16, headers: &str, body: &Value) -> Option<()> {
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}connection: close\r\n");
    write!(stream, "{head}content-length: {length}\r\n\r\n{body}").ok()
}

/// Returns the facts between each pair of tags, each with the number of its message.
pub fn said_in(prompt: &str, open: &str, close: &str) -> Vec<(i64, String)> {
    let (open, close) = (format!("{open}\n"), format!("\n{close}"));
    let parts = prompt.split(&open).skip(1).map(|rest| rest.split_once(&close).unwrap().0);
    let (mut number, mut facts) = (0, Vec::new());
    for line in parts.flat_map(str::lines) {
        if let Some(header) = line.strip_prefix('[') {
            number = header.split_once(']').unwrap().0.parse().unwrap();
        }
        if let Some(at) = line.find("the service called ") {
            let end = at + line[at..].find('.').unwrap();
            facts.push((number, line[at..end].to_owned()));
        }
    }
    facts
}

/// Returns the facts stated by people in the part of a prompt to extract from.
pub fn facts_of(prompt: &str) -> Vec<(i64, String)> {
    said_in(prompt, "<conversation>", "</conversation>")
}

/// Returns a model's answer to a prompt.
pub fn answer(prompt: &str, facts: &[(i64, String)]) -> String {
    let content = if prompt.contains("<questions>") {
        relations(prompt)
    } else {
        json!({"memories": facts.iter().map(|(number, fact)| proposal(*number, fact)).collect::<Vec<_>>()})
    };
    content.to_string()
}

/// Returns a response body with an answer, with 100 tokens sent and 10 received.
pub fn completion(content: &str) -> Value {
    json!({
        "model": "m-1",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    })
}

/// Returns, for each memory in the prompt, that it changes the memory about the same service and is unrelated to all
/// others.
fn relations(prompt: &str) -> Value {
    let (memories, questions) = prompt.split_once("<questions>").unwrap();
    let number = |line: &str| line.split([':', ' ']).next().unwrap().parse::<usize>().unwrap();
    let named = memories.lines().filter_map(|line| {
        let name = line.split_once("service called ")?.1.split(' ').next()?;
        Some((number(line), name.to_owned()))
    });
    let named: BTreeMap<usize, String> = named.collect();
    let asked = questions.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(|line| {
        let against = line.split_once(": ").unwrap().1.split(',').map(|number| number.parse().unwrap());
        (number(line), against.collect::<Vec<usize>>())
    });
    let entry = |(memory, against): (usize, Vec<usize>)| {
        let same = against.iter().find(|to| named.contains_key(to) && named.get(to) == named.get(&memory));
        match same {
            Some(to) => json!({"memory": memory, "relation": "contradicts", "to": to, "why": "changed", "rest": ""}),
            None => json!({"memory": memory, "relation": "unrelated", "to": null, "why": "unclear", "rest": ""}),
        }
    };
    json!({"relations": asked.map(entry).collect::<Vec<_>>()})
}

fn proposal(number: i64, fact: &str) -> Value {
    let name = fact.split_whitespace().nth(3).unwrap();
    let port = fact.split_whitespace().last().unwrap();
    json!({
        "type": "semantic", "category": "decision", "title": format!("Port of {name}"),
        "content": format!("{}.", fact.replacen("the", "The", 1)),
        "subject": name, "key": format!("project.{name}_port"), "value": port,
        "audience": "project", "basis": "stated", "importance": 6,
        "from": null, "to": null, "expires": null, "messages": [number], "quote": fact,
        "replaces": null, "tags": [name], "episode": null, "procedure": null,
    })
}

/// Returns a person's statement about a service, in the form that the server recognises.
pub fn spoken((name, port): Fact) -> String {
    format!("the service called {name} listens on port {port}")
}

/// Returns the key of the files that tests create, if these files are to be encrypted.
pub fn key_of_tests() -> Option<String> {
    std::env::var("AFTERTHOUGHT_DB_KEY").ok().filter(|key| !key.is_empty())
}

/// Opens a database directly, with the key of the tests, if they use one: 64 hex digits.
pub fn raw(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let conn = rusqlite::Connection::open(path)?;
    if let Some(key) = key_of_tests() {
        conn.pragma_update(None, "key", format!("x'{key}'"))?;
    }
    Ok(conn)
}

/// A folder with logs and a database, in which the binary runs without other settings.
pub struct World {
    folder: TempDir,
    base_url: Option<String>,
    is_anthropic: bool,
}

impl World {
    pub fn new(server: Option<&Server>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("logs")).unwrap();
        Self { folder, base_url: server.map(|server| server.base_url.clone()), is_anthropic: false }
    }

    /// Returns a world whose runs send requests to the server at `base_url`.
    pub fn at(base_url: &str) -> Self {
        Self { base_url: Some(base_url.to_owned()), ..Self::new(None) }
    }

    /// Returns a world whose runs send requests in Anthropic's protocol to the server at `base_url`.
    pub fn at_anthropic(base_url: &str) -> Self {
        Self { is_anthropic: true, ..Self::at(base_url) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn database(&self) -> PathBuf {
        self.path("memories.db")
    }

    /// Removes the database, as if no command had ever been run.
    pub fn forget(&self) {
        for end in ["", "-wal", "-shm"] {
            std::fs::remove_file(self.path(&format!("memories.db{end}"))).ok();
        }
    }

    /// Returns the binary with arguments, using the smallest possible windows.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_afterthought"));
        command.env_clear().env("HOME", self.folder.path()).env("AFTERTHOUGHT_DB", self.database());
        // A model server on this machine must not receive requests.
        command.env("OLLAMA_HOST", "127.0.0.1:9");
        command.envs(key_of_tests().map(|key| ("AFTERTHOUGHT_DB_KEY", key)));
        match &self.base_url {
            Some(base_url) if self.is_anthropic => {
                command.env("ANTHROPIC_API_KEY", "sk-ant-test").env("ANTHROPIC_BASE_URL", base_url);
            }
            Some(base_url) => {
                command.env("OPENAI_BASE_URL", base_url).env("AFTERTHOUGHT_MODEL", "m");
            }
            None => {}
        }
        command.current_dir(self.folder.path()).args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    pub fn done(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the binary to its end, checks that it succeeds, and returns its output.
    pub fn good(&self, arguments: &[&str]) -> String {
        let output = self.done(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Writes a Claude Code session: for each fact, a message of about 250 tokens and an answer.
    pub fn session(&self, name: &str, day: u32, facts: &[Fact]) {
        std::fs::write(self.path("logs").join(format!("{name}.jsonl")), turns(name, day, 0, facts)).unwrap();
    }

    /// Appends to a session that already contains `told` facts.
    pub fn append(&self, name: &str, day: u32, told: usize, facts: &[Fact]) {
        let path = self.path("logs").join(format!("{name}.jsonl"));
        let text = std::fs::read_to_string(&path).unwrap() + &turns(name, day, told, facts);
        std::fs::write(path, text).unwrap();
    }

    /// Returns every memory with its relations, identified by content and without data that differs from run to run;
    /// sorted.
    pub fn memories(&self) -> Vec<String> {
        let exported = self.export();
        let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let memories: Vec<Value> = lines.collect();
        let contents: BTreeMap<String, String> = memories
            .iter()
            .map(|memory| (memory["id"].as_str().unwrap().to_owned(), memory["content"].as_str().unwrap().to_owned()))
            .collect();
        let mut told: Vec<String> = memories.into_iter().map(|memory| without_identity(memory, &contents)).collect();
        told.sort();
        told
    }

    /// Returns the contents of the active memories, sorted.
    pub fn active(&self) -> Vec<String> {
        let output = self.done(&["export"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let content = |line: &str| serde_json::from_str::<Value>(line).unwrap()["content"].as_str().unwrap().to_owned();
        let mut contents: Vec<String> = text.lines().map(content).collect();
        contents.sort();
        contents
    }

    /// Returns the complete export of all memories.
    pub fn export(&self) -> String {
        String::from_utf8(self.done(&["export", "--all"]).stdout).unwrap()
    }

    /// Returns the total number of changes.
    pub fn changes(&self) -> u64 {
        self.look("SELECT count(*) FROM history", |row| row.get(0)).unwrap_or_default().pop().unwrap_or_default()
    }

    /// Returns the stored replies.
    pub fn replies(&self) -> Vec<String> {
        self.look("SELECT text FROM requests WHERE text IS NOT NULL", |row| row.get(0)).unwrap_or_default()
    }

    /// Reads rows directly; returns none if the table does not exist yet.
    pub fn look<T>(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let conn = raw(&self.database())?;
        conn.busy_timeout(Duration::from_secs(10))?;
        conn.prepare(sql)?.query_map((), read)?.collect()
    }
}

fn without_identity(mut memory: Value, contents: &BTreeMap<String, String>) -> String {
    let object = memory.as_object_mut().unwrap();
    for field in ["id", "created_at", "updated_at"] {
        object.remove(field).unwrap();
    }
    let relations = object["relations"].as_array_mut().unwrap();
    for relation in &mut *relations {
        relation["to"] = contents[relation["to"].as_str().unwrap()].clone().into();
    }
    relations.sort_by_key(ToString::to_string);
    memory.to_string()
}

fn turns(name: &str, day: u32, told: usize, facts: &[Fact]) -> String {
    let filler = "the build took its time and we went on with other things meanwhile ".repeat(15);
    let mut lines = String::new();
    for (index, fact) in facts.iter().enumerate() {
        let number = told + index;
        let line = |role: &str, content: &str| {
            let second = if role == "user" { 0 } else { 30 };
            let id = format!("{name}-{number}-{role}");
            json!({
                "type": role, "sessionId": name, "cwd": "/home/ana/shop", "uuid": id, "isSidechain": false,
                "parentUuid": if role == "user" && number == 0 { Value::Null } else if role == "user" {
                    format!("{name}-{}-assistant", number - 1).into()
                } else {
                    format!("{name}-{number}-user").into()
                },
                "timestamp": format!("2026-03-{day:02}T09:{number:02}:{second:02}.000Z"),
                "message": {"role": role, "content": content},
            })
            .to_string()
        };
        let words = format!("From now on we know that {}. Then {filler}.", spoken(*fact));
        lines += &(line("user", &words) + "\n" + &line("assistant", "Noted.") + "\n");
    }
    lines
}

/// Sends a signal to a process that the test has started.
pub fn signal(child: &std::process::Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
}
