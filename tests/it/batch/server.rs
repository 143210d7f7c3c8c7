//! A server on the loopback interface that imitates the batches of real servers: files, states that change over time,
//! lists, and rows in any order.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::http;
use crate::world::{answer, completion, facts_of};

/// Points at which a client may be kept waiting indefinitely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    FileComes,
    FileTaken,
    BatchComes,
    BatchTaken,
    /// The client is kept waiting, and the batch is accepted a while later.
    BatchLate,
    Look,
    Download,
}

/// Faults that a request may encounter instead of an answer.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    Missing,
    Error(&'static str),
    Status(u16, &'static str),
    Malformed,
    Twice,
}

/// The behaviour of the server.
#[derive(Debug, Clone)]
pub struct Manner {
    pub has_batches: bool,
    /// Whether the server uses Anthropic's protocol, in which a batch contains its requests.
    pub is_anthropic: bool,
    /// Number of status checks until a batch is complete.
    pub looks: usize,
    /// The final status of batches.
    pub ending: &'static str,
    /// Faults for requests that contain a text, each with the remaining number of times.
    pub faults: Vec<(String, Fault, usize)>,
    pub hang: Option<Point>,
}

impl Default for Manner {
    fn default() -> Self {
        Self { has_batches: true, is_anthropic: false, looks: 2, ending: "completed", faults: Vec::new(), hang: None }
    }
}

#[derive(Debug, Clone)]
pub struct Batch {
    pub id: String,
    pub file: String,
    pub metadata: Value,
    pub lines: Vec<Value>,
    looks: usize,
    /// The end of the batch, once it is reached: status, output, errors.
    end: Option<(String, Option<String>, Option<String>, Value)>,
}

#[derive(Default)]
struct State {
    manner: Manner,
    files: BTreeMap<String, String>,
    batches: Vec<Batch>,
    /// Bodies of requests that were sent directly.
    direct: Vec<Value>,
    /// Bodies that were answered, directly or in a batch.
    answered: Vec<String>,
    /// Methods and paths of the requests received.
    calls: Vec<String>,
    headers: Vec<String>,
    is_hanging: bool,
}

#[derive(Clone)]
pub struct BatchServer {
    state: Arc<(Mutex<State>, Condvar)>,
    pub base_url: String,
}

impl BatchServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let server = Self { state: Arc::default(), base_url };
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let server = shared.clone();
                // A killed client disconnects in the middle of a request, which ends only its thread.
                std::thread::spawn(move || server.serve(&stream.unwrap()));
            }
        });
        server
    }

    pub fn set(&self, change: impl FnOnce(&mut Manner)) {
        let mut state = self.state.0.lock().unwrap();
        change(&mut state.manner);
        state.is_hanging = false;
    }

    /// Waits until a client hangs.
    pub fn wait_for_hang(&self) {
        let (state, changed) = &*self.state;
        let limit = Duration::from_mins(1);
        let waited = changed.wait_timeout_while(state.lock().unwrap(), limit, |state| !state.is_hanging).unwrap();
        assert!(!waited.1.timed_out(), "nobody came to the point");
    }

    /// Waits until this call has been received `count` times.
    pub fn wait_for_call(&self, call: &str, count: usize) {
        let (state, changed) = &*self.state;
        let came = |state: &mut State| state.calls.iter().filter(|one| one.starts_with(call)).count() < count;
        let waited = changed.wait_timeout_while(state.lock().unwrap(), Duration::from_mins(1), came).unwrap();
        assert!(!waited.1.timed_out(), "{call} did not come");
    }

    pub fn batches(&self) -> Vec<Batch> {
        self.state.0.lock().unwrap().batches.clone()
    }

    pub fn direct(&self) -> Vec<Value> {
        self.state.0.lock().unwrap().direct.clone()
    }

    pub fn answered(&self) -> Vec<String> {
        self.state.0.lock().unwrap().answered.clone()
    }

    pub fn files(&self) -> Vec<String> {
        self.state.0.lock().unwrap().files.values().cloned().collect()
    }

    pub fn calls(&self) -> Vec<String> {
        self.state.0.lock().unwrap().calls.clone()
    }

    pub fn headers(&self) -> Vec<String> {
        self.state.0.lock().unwrap().headers.clone()
    }

    /// Deletes the records of requests, as if the server had just been started.
    pub fn forget(&self) {
        let manner = self.state.0.lock().unwrap().manner.clone();
        *self.state.0.lock().unwrap() = State { manner, ..State::default() };
    }

    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let (head, body) = http::read(stream)?;
        let mut words = head.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        {
            let mut state = self.state.0.lock().unwrap();
            state.calls.push(format!("{method} {path}"));
            state.headers.push(head.clone());
        }
        self.state.1.notify_all();
        let path = path.strip_prefix("/v1").unwrap_or("");
        let Manner { has_batches, is_anthropic, .. } = self.state.0.lock().unwrap().manner.clone();
        if is_anthropic {
            let head = head.to_lowercase();
            if !head.contains("\r\nx-api-key: sk-ant-test\r\n")
                || !head.contains("\r\nanthropic-version: 2023-06-01\r\n")
            {
                return send(stream, 401, error(401, "no key").1.to_string().as_bytes());
            }
            return self.serve_anthropic(stream, &method, path, query, &body);
        }
        let (status, answer) = match (method.as_str(), path) {
            ("POST", "/chat/completions") => self.complete(&body),
            _ if !has_batches => error(404, "no such route"),
            ("POST", "/files") => self.take_file(&head, &body),
            ("POST", "/batches") => self.take_batch(&body),
            ("GET", "/batches") => self.list(query),
            ("GET", path) if path.starts_with("/batches/") => self.look(path.strip_prefix("/batches/")?),
            ("GET", path) if path.ends_with("/content") => {
                return self.download(stream, path.strip_prefix("/files/")?.strip_suffix("/content")?);
            }
            _ => error(404, "no such route"),
        };
        send(stream, status, answer.to_string().as_bytes())
    }

    fn serve_anthropic(&self, stream: &TcpStream, method: &str, path: &str, query: &str, body: &[u8]) -> Option<()> {
        let (status, answer) = match (method, path) {
            ("POST", "/messages") => self.complete(body),
            ("POST", "/messages/batches") => self.take_messages(body),
            ("GET", "/messages/batches") => self.list(query),
            ("GET", path) => match path.strip_prefix("/messages/batches/")?.strip_suffix("/results") {
                Some(id) => return self.download(stream, &format!("results-{id}")),
                None => self.look(path.strip_prefix("/messages/batches/")?),
            },
            _ => error(404, "no such route"),
        };
        send(stream, status, answer.to_string().as_bytes())
    }

    /// Accepts a batch in Anthropic's format, and rejects batches that the real server would reject.
    fn take_messages(&self, body: &[u8]) -> (u16, Value) {
        if !self.hang_before(Point::BatchComes) {
            return error(500, "gone");
        }
        self.hang_at(Point::BatchLate);
        let body: Map<String, Value> = serde_json::from_slice(body).unwrap();
        let lines = body["requests"].as_array().cloned().unwrap_or_default();
        if body.len() != 1 || lines.is_empty() {
            return error(400, "requests: Field required, and no other field is permitted");
        }
        let mut ids = std::collections::BTreeSet::new();
        for line in &lines {
            let id = line["custom_id"].as_str().unwrap_or_default();
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            let params = &line["params"];
            let is_whole =
                params["model"].is_string() && params["max_tokens"].is_u64() && params["messages"].is_array();
            let is_right = (1..=64).contains(&id.len()) && id.chars().all(is_letter) && ids.insert(id.to_owned());
            if line.as_object().is_none_or(|line| line.len() != 2) || !is_whole || !is_right {
                return error(400, &format!("requests: {line} is invalid"));
            }
        }
        let described = {
            let mut state = self.state.0.lock().unwrap();
            let id = format!("batch_{}", state.batches.len());
            state.batches.push(Batch { id, file: String::new(), metadata: Value::Null, lines, looks: 0, end: None });
            describe_messages(state.batches.last().unwrap())
        };
        self.hang_at(Point::BatchTaken);
        (200, described)
    }

    /// Keeps the client waiting if the server should hang at this point.
    fn hang_at(&self, point: Point) {
        let (state, changed) = &*self.state;
        let hangs = {
            let mut state = state.lock().unwrap();
            let hangs = state.manner.hang == Some(point);
            state.is_hanging |= hangs;
            hangs
        };
        changed.notify_all();
        if hangs && point == Point::BatchLate {
            std::thread::sleep(Duration::from_secs(3));
        } else if hangs {
            // The client is killed in the meantime, and never receives the rest.
            std::thread::sleep(Duration::from_mins(2));
        }
    }

    fn complete(&self, body: &[u8]) -> (u16, Value) {
        let body: Value = serde_json::from_slice(body).unwrap();
        let mut state = self.state.0.lock().unwrap();
        state.answered.push(body.to_string());
        state.direct.push(body.clone());
        (200, reply_to(&body))
    }

    fn take_file(&self, head: &str, body: &[u8]) -> (u16, Value) {
        if !self.hang_before(Point::FileComes) {
            return error(500, "gone");
        }
        let Some((fields, file)) = form(head, body) else { return error(400, "no form") };
        if fields.get("purpose").map(String::as_str) != Some("batch") || fields.len() != 1 {
            return error(400, "the purpose is not batch, or there are unknown fields");
        }
        let (name, content) = file;
        if !(name.starts_with("afterthought-") && name.split('.').next_back() == Some("jsonl")) {
            return error(400, "no jsonl");
        }
        let id = {
            let mut state = self.state.0.lock().unwrap();
            let id = format!("file-in-{}", state.files.len());
            state.files.insert(id.clone(), content.clone());
            id
        };
        self.hang_at(Point::FileTaken);
        (200, json!({"id": id, "object": "file", "bytes": content.len(), "filename": name, "purpose": "batch"}))
    }

    /// Keeps the client waiting if the server should hang at this point; returns whether the client may continue.
    fn hang_before(&self, point: Point) -> bool {
        let hangs = self.state.0.lock().unwrap().manner.hang == Some(point);
        self.hang_at(point);
        !hangs
    }

    fn take_batch(&self, body: &[u8]) -> (u16, Value) {
        if !self.hang_before(Point::BatchComes) {
            return error(500, "gone");
        }
        self.hang_at(Point::BatchLate);
        let body: Map<String, Value> = serde_json::from_slice(body).unwrap();
        let known = ["input_file_id", "endpoint", "completion_window", "metadata"];
        if let Some(name) = body.keys().find(|name| !known.contains(&name.as_str())) {
            return error(400, &format!("unknown field {name}"));
        }
        if body["endpoint"] != "/v1/chat/completions" || body["completion_window"] != "24h" {
            return error(400, "wrong endpoint or window");
        }
        let described = {
            let mut state = self.state.0.lock().unwrap();
            let file = body["input_file_id"].as_str().unwrap().to_owned();
            let Some(content) = state.files.get(&file) else { return error(400, "no such file") };
            let lines = content.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
            let id = format!("batch_{}", state.batches.len());
            let metadata = body["metadata"].clone();
            state.batches.push(Batch { id, file, metadata, lines, looks: 0, end: None });
            describe(state.batches.last().unwrap())
        };
        self.hang_at(Point::BatchTaken);
        (200, described)
    }

    /// Lists one batch per page, the newest first.
    fn list(&self, query: &str) -> (u16, Value) {
        let asked: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let state = self.state.0.lock().unwrap();
        let after = if state.manner.is_anthropic { "after_id" } else { "after" };
        assert!(asked.keys().all(|name| *name == "limit" || *name == after), "{query}");
        let describe = if state.manner.is_anthropic { describe_messages } else { describe };
        let mut newest: Vec<&Batch> = state.batches.iter().rev().collect();
        if let Some(after) = asked.get(after) {
            let place = newest.iter().position(|batch| batch.id == *after).unwrap();
            newest.drain(..=place);
        }
        let page: Vec<Value> = newest.iter().take(1).map(|batch| describe(batch)).collect();
        (200, json!({"object": "list", "data": page, "has_more": newest.len() > 1}))
    }

    fn look(&self, id: &str) -> (u16, Value) {
        if !self.hang_before(Point::Look) {
            return error(500, "gone");
        }
        let mut state = self.state.0.lock().unwrap();
        let Some(place) = state.batches.iter().position(|batch| batch.id == id) else {
            return error(404, &format!("No batch found with id '{id}'."));
        };
        let looks = state.manner.looks;
        state.batches[place].looks += 1;
        if state.batches[place].looks > looks && state.batches[place].end.is_none() {
            end(&mut state, place);
        }
        let describe = if state.manner.is_anthropic { describe_messages } else { describe };
        (200, describe(&state.batches[place]))
    }

    fn download(&self, stream: &TcpStream, id: &str) -> Option<()> {
        if !self.hang_before(Point::Download) {
            return None;
        }
        let content = self.state.0.lock().unwrap().files.get(id).cloned();
        match content {
            Some(content) => send(stream, 200, content.as_bytes()),
            None => send(stream, 404, error(404, "no such file").1.to_string().as_bytes()),
        }
    }
}

fn reply_to(body: &Value) -> Value {
    if body.get("system").is_some() {
        let prompt = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        return json!({
            "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": answer(prompt, &facts_of(prompt))}],
            "usage": {"input_tokens": 100, "output_tokens": 10},
        });
    }
    let prompt = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    completion(&answer(prompt, &facts_of(prompt)))
}

/// Returns the facts that a request asks about.
pub fn asked_about(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    let prompt = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    facts_of(prompt).into_iter().map(|(_, fact)| fact).collect()
}

/// Returns the error that the server reports about a file before it answers any request.
fn complaint(lines: &[Value]) -> Option<String> {
    let mut ids = std::collections::BTreeSet::new();
    for (number, line) in lines.iter().enumerate() {
        let fields: Vec<&String> = line.as_object().map(|line| line.keys().collect()).unwrap_or_default();
        let is_whole = fields == ["custom_id", "method", "url", "body"];
        let is_right = line["method"] == "POST" && line["url"] == "/v1/chat/completions";
        let id = line["custom_id"].as_str().filter(|id| (1..=64).contains(&id.len()));
        let is_new = id.is_some_and(|id| ids.insert(id.to_owned()));
        let body =
            line["body"].as_object().is_some_and(|body| body.contains_key("model") && body["messages"].is_array());
        if !(is_whole && is_right && is_new && body) {
            return Some(format!("line {} is not a request", number + 1));
        }
    }
    lines.is_empty().then(|| "the file is empty".to_owned())
}

/// Ends a batch and writes its files, with the answers in reverse order.
fn end(state: &mut State, place: usize) {
    let lines = state.batches[place].lines.clone();
    if state.manner.is_anthropic {
        return end_messages(state, place, &lines);
    }
    if let Some(complaint) = complaint(&lines) {
        let errors = json!({"object": "list", "data": [{"code": "invalid", "message": complaint, "line": 1}]});
        state.batches[place].end = Some(("failed".to_owned(), None, None, errors));
        return;
    }
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    for line in lines.iter().rev() {
        let (id, body) = (&line["custom_id"], &line["body"]);
        let text = body.to_string();
        let hit = state.manner.faults.iter_mut().find(|(word, _, left)| text.contains(word.as_str()) && *left > 0);
        let fault = hit.map(|(_, fault, left)| {
            *left -= 1;
            *fault
        });
        let row = |status: u16, body: Value| {
            json!({"id": "r", "custom_id": id, "error": null,
                   "response": {"status_code": status, "request_id": "q", "body": body}})
            .to_string()
        };
        match fault {
            Some(Fault::Missing) => {}
            Some(Fault::Error(code)) => errors.push(
                json!({"id": "r", "custom_id": id, "response": null, "error": {"code": code, "message": "late"}})
                    .to_string(),
            ),
            Some(Fault::Status(status, message)) => errors.push(row(status, json!({"error": {"message": message}}))),
            Some(Fault::Malformed) => output.push("{\"custom_id\": \"".to_owned()),
            fault => {
                state.answered.push(text);
                output.push(row(200, reply_to(body)));
                if matches!(fault, Some(Fault::Twice)) {
                    output.push(row(500, json!({"error": {"message": "again"}})));
                }
            }
        }
    }
    let mut put = |name: &str, rows: Vec<String>| {
        let id = format!("file-{name}-{place}");
        (!rows.is_empty()).then(|| {
            state.files.insert(id.clone(), rows.join("\n") + "\n");
            id
        })
    };
    let (output, errors) = (put("out", output), put("err", errors));
    state.batches[place].end = Some((state.manner.ending.to_owned(), output, errors, Value::Null));
}

/// Ends a batch in Anthropic's format.
fn end_messages(state: &mut State, place: usize, lines: &[Value]) {
    let mut rows = Vec::new();
    for line in lines.iter().rev() {
        let (id, body) = (&line["custom_id"], &line["params"]);
        let text = body.to_string();
        let hit = state.manner.faults.iter_mut().find(|(word, _, left)| text.contains(word.as_str()) && *left > 0);
        let fault = hit.map(|(_, fault, left)| {
            *left -= 1;
            *fault
        });
        let result = match fault {
            Some(Fault::Missing) => continue,
            Some(Fault::Error(code)) => json!({"type": code}),
            Some(Fault::Status(_, message)) => {
                let error = json!({"type": "invalid_request_error", "message": message});
                json!({"type": "errored", "error": {"type": "error", "error": error}})
            }
            _ => {
                state.answered.push(text);
                json!({"type": "succeeded", "message": reply_to(body)})
            }
        };
        rows.push(json!({"custom_id": id, "result": result}).to_string());
    }
    state.files.insert(format!("results-{}", state.batches[place].id), rows.join("\n") + "\n");
    state.batches[place].end = Some(("ended".to_owned(), None, None, Value::Null));
}

fn describe_messages(batch: &Batch) -> Value {
    let (total, is_over) = (batch.lines.len(), batch.end.is_some());
    let counts = json!({
        "processing": if is_over { 0 } else { total }, "succeeded": if is_over { total } else { 0 },
        "errored": 0, "canceled": 0, "expired": 0,
    });
    json!({
        "id": batch.id, "type": "message_batch", "processing_status": if is_over { "ended" } else { "in_progress" },
        "request_counts": counts, "created_at": "2027-01-01T00:00:00Z", "expires_at": "2027-01-02T00:00:00Z",
        "ended_at": null, "archived_at": null, "cancel_initiated_at": null,
        "results_url": is_over.then(|| format!("https://api.example/v1/messages/batches/{}/results", batch.id)),
    })
}

fn describe(batch: &Batch) -> Value {
    let (status, output, errors, complaints) = batch.end.clone().unwrap_or_else(|| {
        let status = if batch.looks == 0 { "validating" } else { "in_progress" };
        (status.to_owned(), None, None, Value::Null)
    });
    json!({
        "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "errors": complaints,
        "input_file_id": batch.file, "completion_window": "24h", "status": status, "output_file_id": output,
        "error_file_id": errors, "created_at": 1, "metadata": batch.metadata,
        "request_counts": {"total": batch.lines.len(), "completed": 0, "failed": 0},
    })
}

fn error(status: u16, message: &str) -> (u16, Value) {
    (status, json!({"error": {"message": message, "type": "invalid_request_error", "code": null}}))
}

/// Returns the fields of a form, and the name and content of its file.
fn form(head: &str, body: &[u8]) -> Option<(BTreeMap<String, String>, (String, String))> {
    let boundary = head.split("boundary=").nth(1)?.lines().next()?.trim().trim_matches('"').to_owned();
    let text = String::from_utf8(body.to_vec()).ok()?;
    let (mut fields, mut file) = (BTreeMap::new(), None);
    for part in text.split(&format!("--{boundary}")) {
        let Some((head, content)) = part.split_once("\r\n\r\n") else { continue };
        let content = content.strip_suffix("\r\n")?.to_owned();
        let value = |name: &str| {
            let found = head.split(&format!(" {name}=\"")).nth(1)?;
            Some(found.split('"').next()?.to_owned())
        };
        match (value("name")?, value("filename")) {
            (name, Some(filename)) if name == "file" => file = Some((filename, content)),
            (name, _) => drop(fields.insert(name, content)),
        }
    }
    Some((fields, file?))
}

fn send(mut stream: &TcpStream, status: u16, body: &[u8]) -> Option<()> {
    let length = body.len();
    let head = "content-type: application/json\r\nconnection: close\r\n";
    write!(stream, "HTTP/1.1 {status} X\r\n{head}content-length: {length}\r\n\r\n").ok()?;
    stream.write_all(body).ok()
}
