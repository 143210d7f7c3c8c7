//! Servers as they are known to behave, one row each: the binary gets its answer from all of them.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::http;
use super::world::{World, completion};

/// A request that came in.
#[derive(Debug, Clone)]
struct Heard {
    /// Method and path with its query.
    line: String,
    /// Headers in lower case, one per line.
    head: String,
    body: Value,
}

impl Heard {
    fn format(&self) -> Option<&str> {
        self.body["response_format"]["type"].as_str()
    }

    fn has(&self, field: &str) -> bool {
        self.body.get(field).is_some()
    }
}

/// Answers one request, given how many came before it.
type Manner = fn(&Heard, usize) -> (u16, String);

struct Server {
    address: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Server {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let before = {
                    let mut log = log.lock().unwrap();
                    log.push(request.clone());
                    log.len() - 1
                };
                let (status, body) = manner(&request, before);
                send(stream, status, &body);
            }
        });
        Self { address, heard }
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Heard> {
    let (head, body) = http::read(stream)?;
    let line = head.lines().next()?.to_owned();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Some(Heard { line, head: head.to_lowercase(), body })
}

fn send(mut stream: TcpStream, status: u16, body: &str) {
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nretry-after-ms: 1\r\n");
    write!(stream, "{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok();
}

fn good(model: &str) -> (u16, String) {
    let memory = json!({
        "messages": [1], "quote": "we deploy with Nomad", "basis": "stated", "type": "semantic", "category": "decision",
        "title": "Nomad", "content": "The project deploys with Nomad.", "subject": "deployment", "tags": [],
        "key": "project.deployment", "value": "Nomad", "audience": "project", "importance": 7, "from": null,
        "to": null, "expires": null, "replaces": null, "episode": null, "procedure": null,
    });
    let content = json!({"memories": [memory]}).to_string();
    let choice = json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}});
    let usage = json!({"prompt_tokens": 900, "completion_tokens": 120, "total_tokens": 1020});
    (
        200,
        json!({"id": "c", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage})
            .to_string(),
    )
}

fn rejected(message: &str, param: &str) -> (u16, String) {
    let error =
        json!({"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_value"});
    (400, json!({"error": error}).to_string())
}

/// The reasoning models of OpenAI: the newer limit only, no temperature.
fn openai(heard: &Heard, _: usize) -> (u16, String) {
    if heard.has("max_tokens") {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        return rejected(message, "max_tokens");
    }
    if heard.has("temperature") {
        return rejected("Unsupported value: 'temperature' does not support 0.3 with this model.", "temperature");
    }
    let format = &heard.body["response_format"]["json_schema"];
    assert_eq!((heard.format(), &format["strict"]), (Some("json_schema"), &json!(true)), "{heard:?}");
    good("gpt-5-mini-2025-08-07")
}

/// Azure wants the version in the query, and fills in what its filter found.
fn azure(heard: &Heard, _: usize) -> (u16, String) {
    if !heard.line.contains("/openai/v1/chat/completions?api-version=preview") {
        let error = json!({"code": "404", "message": "Resource not found"});
        return (404, json!({"error": error}).to_string());
    }
    let (status, body) = openai(heard, 0);
    let mut body: Value = serde_json::from_str(&body).unwrap();
    if status == 200 {
        body["prompt_filter_results"] = json!([{"prompt_index": 0, "content_filter_results": {}}]);
        body["choices"][0]["content_filter_results"] = json!({"hate": {"filtered": false, "severity": "safe"}});
    }
    (status, body.to_string())
}

/// `OpenRouter` keeps the line open with blanks, and tells an upstream's overload inside a 200 answer.
fn openrouter(_: &Heard, before: usize) -> (u16, String) {
    if before == 0 {
        let error = json!({"code": 429, "message": "Provider returned error", "metadata": {"provider_name": "X"}});
        return (200, format!("\n\n   {}", json!({"error": error})));
    }
    let (status, body) = good("openai/gpt-5-mini");
    (status, format!("\n         \n{body}"))
}

/// Ollama takes the schema and ignores what it does not know.
fn ollama(heard: &Heard, _: usize) -> (u16, String) {
    assert!(heard.has("max_tokens") && !heard.head.contains("authorization"), "{heard:?}");
    good("qwen3:8b")
}

/// vLLM spells its errors without a wrapper and forbids unknown fields.
fn vllm(heard: &Heard, _: usize) -> (u16, String) {
    if heard.format() == Some("json_schema") {
        let message = "Grammar error: json_schema backend is not available";
        return (
            400,
            json!({"object": "error", "message": message, "type": "BadRequestError", "code": 400}).to_string(),
        );
    }
    assert_eq!(heard.format(), Some("json_object"), "{heard:?}");
    good("Qwen/Qwen3-8B")
}

/// llama.cpp is still loading its model when the first request comes.
fn llama_cpp(heard: &Heard, before: usize) -> (u16, String) {
    if before < 2 {
        let error = json!({"code": 503, "message": "Loading model", "type": "unavailable_error"});
        return (503, json!({"error": error}).to_string());
    }
    assert_eq!(heard.format(), Some("json_schema"), "{heard:?}");
    good("gpt-3.5-turbo")
}

/// LM Studio takes a schema or plain text, nothing between, and spells its error as a text.
fn lm_studio(heard: &Heard, _: usize) -> (u16, String) {
    match heard.format() {
        Some("json_schema") => {
            (400, json!({"error": "json_schema: this model's engine has no structured output"}).to_string())
        }
        Some(_) => (400, json!({"error": "'response_format.type' must be 'json_schema' or 'text'"}).to_string()),
        None => {
            let (status, body) = good("qwen3-8b");
            (status, body.replacen(r#""content":""#, r#""content":"<think>\nA list, then.\n</think>\n```json\n"#, 1))
        }
    }
}

/// Name, path after the address, key, manner, requests until the answer.
const SERVERS: &[(&str, &str, Option<&str>, Manner, usize)] = &[
    ("OpenAI", "/v1", Some("k-0123456789"), openai, 3),
    ("Azure", "/openai/v1?api-version=preview", Some("k-0123456789"), azure, 3),
    ("OpenRouter", "/api/v1", Some("k-0123456789"), openrouter, 2),
    ("Ollama", "/v1", None, ollama, 1),
    ("vLLM", "/v1", None, vllm, 2),
    ("llama.cpp", "/v1", None, llama_cpp, 3),
    ("LM Studio", "/v1", None, lm_studio, 3),
];

fn said() -> World {
    let world = World::new(None);
    let line = |role: &str, text: &str| json!({"role": role, "content": text}).to_string();
    let log = [line("user", "For the record, we deploy with Nomad now."), line("assistant", "Noted.")].join("\n");
    std::fs::write(world.path("logs/talk.jsonl"), log).unwrap();
    world
}

#[test]
fn every_server_is_understood_after_the_requests_it_takes() {
    for (name, path, key, manner, requests) in SERVERS {
        let (server, world) = (Server::start(*manner), said());
        let mut command = world.command(&["run", "logs", "--extractor", "llm", "--json"]);
        command.env("OPENAI_BASE_URL", format!("http://{}{path}", server.address)).env("AFTERTHOUGHT_MODEL", "m");
        if let Some(key) = key {
            command.env("OPENAI_API_KEY", key);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let heard = server.heard();
        assert_eq!(heard.len(), *requests, "{name}: {heard:#?}");
        let bearer = format!("authorization: bearer {}", key.unwrap_or_default());
        assert!(heard.iter().all(|one| key.is_none() || one.head.contains(&bearer)), "{name}: {heard:#?}");
        assert!(heard.iter().all(|one| one.line.contains("/chat/completions")), "{name}: {heard:#?}");
        assert!(world.good(&["memory", "list"]).contains("Nomad"), "{name}");
        if let Some(key) = key {
            let database = std::fs::read(world.database()).unwrap();
            assert!(!database.windows(key.len()).any(|bytes| bytes == key.as_bytes()), "{name}: the key is kept");
        }
    }
}

/// Lists two models and answers only for the one that can chat.
fn ollama_at_home(heard: &Heard, _: usize) -> (u16, String) {
    if heard.line.starts_with("GET /api/tags") {
        let models = json!([
            {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert"}},
            {"name": "qwen3:8b", "details": {"family": "qwen3"}},
        ]);
        return (200, json!({"models": models}).to_string());
    }
    assert_eq!(heard.body["model"], "qwen3:8b");
    if heard.body.to_string().contains("<questions>") {
        let entry = json!({"memory": 2, "relation": "duplicate", "to": 1, "why": "unclear", "rest": ""});
        return (200, completion(&json!({"relations": [entry]}).to_string()).to_string());
    }
    good("qwen3:8b")
}

#[test]
fn an_ollama_on_this_machine_is_found_where_nothing_is_configured() {
    let (server, world) = (Server::start(ollama_at_home), said());
    let run = |arguments: &[&str], key: Option<&str>| {
        let mut command = world.command(arguments);
        command.env("OLLAMA_HOST", &server.address);
        if let Some(url) = key {
            command.env("OPENAI_BASE_URL", url).env("AFTERTHOUGHT_MODEL", "m");
        }
        command.output().unwrap()
    };
    // Neither where the rules are asked for, nor where another server is named.
    assert!(run(&["run", "logs", "--extractor", "rules"], None).status.success());
    assert_eq!(run(&["run", "logs"], Some("http://127.0.0.1:9/v1")).status.code(), Some(3));
    assert!(server.heard().is_empty(), "{:#?}", server.heard());

    let output = run(&["run", "logs", "--json"], None);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("qwen3:8b of the Ollama on this machine"), "{output:?}");
    // Which models there are, what the log says, and how that relates to what the rules found in it.
    assert_eq!(server.heard().len(), 3, "{:#?}", server.heard());
    assert!(world.good(&["memory", "list"]).contains("Nomad"));
}

#[test]
fn spending_is_told_by_day_and_stops_the_next_run_of_the_day() {
    let (server, world) = (Server::start(|_, _| good("m-1")), said());
    let command = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("OPENAI_BASE_URL", format!("http://{}/v1", server.address)).env("AFTERTHOUGHT_MODEL", "m-1");
        command
    };
    let settings = world.path("settings.toml");
    let prices = "[prices]\n\"m-1\" = { prompt = 1000.0, completion = 1000.0 }\n";
    std::fs::write(&settings, format!("max_cost_per_day = 100.0\n{prices}")).unwrap();
    let config = ["--config", settings.to_str().unwrap()];
    let first = command(&[&["run", "logs", "--json"][..], &config].concat()).output().unwrap();
    assert!(first.status.success(), "{first:?}");

    // 900 + 120 tokens at $1,000 for a million.
    let told = command(&[&["status", "--days", "30", "--json"][..], &config].concat()).output().unwrap();
    let line: Value = serde_json::from_slice(&told.stdout).unwrap();
    let cost = line["cost"].as_f64().unwrap();
    assert_eq!((&line["calls"], &line["prompt_tokens"]), (&json!(1), &json!(900)), "{line}");
    assert!((cost - 1.02).abs() < 1e-9, "{line}");

    std::fs::write(&settings, format!("max_cost_per_day = 1.0\n{prices}")).unwrap();
    let more = json!({"role": "user", "content": "And we test with nextest."}).to_string();
    std::fs::write(world.path("logs/more.jsonl"), more).unwrap();
    let second = command(&[&["run", "logs"][..], &config].concat()).output().unwrap();
    let told = String::from_utf8_lossy(&second.stderr);
    assert!(told.contains("$1 a day, of which $1.0200 were spent before this run"), "{second:?}");
    assert_eq!((second.status.code(), server.heard().len()), (Some(2), 1), "{second:?}");

    std::fs::write(&settings, "[prices]\n\"m-1\" = { prompt = -1, completion = 1 }\n").unwrap();
    let wrong = command(&[&["status", "--days", "30"][..], &config].concat()).output().unwrap();
    let told = String::from_utf8_lossy(&wrong.stderr);
    assert!(told.contains("the price of m-1 is not an amount of money") && told.contains("settings.toml"), "{wrong:?}");
}
