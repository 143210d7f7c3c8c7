//! Tests of the binary with the known behaviour of servers, with one row each. Every server must yield an answer.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::http;
use super::world::{World, completion};

/// A received request.
#[derive(Debug, Clone)]
struct Heard {
    /// Method, and path with query.
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

/// Answers one request, given the number of preceding requests.
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

/// Returns a reply with one memory.
fn content() -> Value {
    json!({"memories": [{
        "messages": [1], "quote": "we deploy with Nomad", "basis": "stated", "type": "semantic", "category": "decision",
        "title": "Nomad", "content": "The project deploys with Nomad.", "subject": "deployment", "tags": [],
        "key": "project.deployment", "value": "Nomad", "audience": "project", "importance": 7, "from": null,
        "to": null, "expires": null, "replaces": null, "episode": null, "procedure": null,
    }]})
}

fn good(model: &str) -> (u16, String) {
    let message = json!({"role": "assistant", "content": content().to_string()});
    let choice = json!({"index": 0, "finish_reason": "stop", "message": message});
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

/// OpenAI's reasoning models accept only the newer limit and no temperature.
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

/// Azure requires the version in the query, and adds the results of its content filter.
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

/// `OpenRouter` keeps the connection open with white space, and reports an overload of the upstream provider inside a
/// response with status 200.
fn openrouter(_: &Heard, before: usize) -> (u16, String) {
    if before == 0 {
        let error = json!({"code": 429, "message": "Provider returned error", "metadata": {"provider_name": "X"}});
        return (200, format!("\n\n   {}", json!({"error": error})));
    }
    let (status, body) = good("openai/gpt-5-mini");
    (status, format!("\n         \n{body}"))
}

/// Ollama accepts the schema and ignores unknown fields.
fn ollama(heard: &Heard, _: usize) -> (u16, String) {
    assert!(heard.has("max_tokens") && !heard.head.contains("authorization"), "{heard:?}");
    good("qwen3:8b")
}

/// vLLM reports errors without a wrapper and rejects unknown fields.
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

/// llama.cpp is still loading its model when the first request arrives.
fn llama_cpp(heard: &Heard, before: usize) -> (u16, String) {
    if before < 2 {
        let error = json!({"code": 503, "message": "Loading model", "type": "unavailable_error"});
        return (503, json!({"error": error}).to_string());
    }
    assert_eq!(heard.format(), Some("json_schema"), "{heard:?}");
    good("gpt-3.5-turbo")
}

/// LM Studio accepts either a schema or plain text, and reports an error as a string.
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

/// Gemini wraps an error in a list, and rejects a schema with too many states.
fn gemini(heard: &Heard, _: usize) -> (u16, String) {
    if heard.format() == Some("json_schema") {
        let message = "The specified schema produces a constraint that has too many states for serving.";
        let error = json!({"code": 400, "message": message, "status": "INVALID_ARGUMENT"});
        return (400, json!([{"error": error}]).to_string());
    }
    assert_eq!(heard.format(), Some("json_object"), "{heard:?}");
    good("gemini-2.5-flash")
}

/// Mistral rejects unknown fields, among them the newer name of the limit.
fn mistral(heard: &Heard, _: usize) -> (u16, String) {
    let known = ["model", "messages", "max_tokens", "response_format", "temperature"];
    let other = heard.body.as_object().unwrap().iter().find(|(name, _)| !known.contains(&name.as_str()));
    if let Some((name, input)) = other {
        let entry = json!({"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": input});
        let error = json!({"object": "error", "message": {"detail": [entry]}, "type": "invalid_request_error"});
        return (422, error.to_string());
    }
    // Its smaller models have no structured output.
    if heard.format() == Some("json_schema") {
        let entry =
            json!({"type": "value_error", "loc": ["body", "response_format"], "msg": "json_schema is not available"});
        return (422, json!({"object": "error", "message": {"detail": [entry]}}).to_string());
    }
    good("mistral-small-latest")
}

/// Groq checks the schema itself, and generates JSON only if the prompt contains this word.
fn groq(heard: &Heard, _: usize) -> (u16, String) {
    if heard.format() == Some("json_schema") {
        let message =
            "invalid schema for response format: response_format/json_schema/memories: minItems is not supported";
        return (400, json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string());
    }
    assert!(heard.body["messages"].to_string().to_lowercase().contains("json"), "{heard:?}");
    good("openai/gpt-oss-120b")
}

/// `DeepSeek` has no structured output, and generates JSON only if the prompt contains this word.
fn deepseek(heard: &Heard, _: usize) -> (u16, String) {
    let refused = |message: &str| {
        let error = json!({"message": message, "type": "invalid_request_error", "param": null, "code": "invalid_request_error"});
        (400, json!({"error": error}).to_string())
    };
    match heard.format() {
        Some("json_schema") => refused("This response_format type is unavailable now"),
        Some(_) if !heard.body["messages"].to_string().to_lowercase().contains("json") => {
            refused("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")
        }
        _ => good("deepseek-chat"),
    }
}

/// GitHub Models limits the requests of a minute strictly.
fn github(heard: &Heard, before: usize) -> (u16, String) {
    if before == 0 {
        let message =
            "Rate limit of 15 per 60s exceeded for UserByModelByMinute. Please wait 0 seconds before retrying.";
        let error = json!({"code": "RateLimitReached", "message": message, "details": message});
        return (429, json!({"error": error}).to_string());
    }
    assert_eq!(heard.format(), Some("json_schema"), "{heard:?}");
    good("openai/gpt-4.1-mini")
}

/// Name, path after the address, key, behaviour, and number of requests until the answer.
const SERVERS: &[(&str, &str, Option<&str>, Manner, usize)] = &[
    ("OpenAI", "/v1", Some("k-0123456789"), openai, 3),
    ("Azure", "/openai/v1?api-version=preview", Some("k-0123456789"), azure, 3),
    ("OpenRouter", "/api/v1", Some("k-0123456789"), openrouter, 2),
    ("Gemini", "/v1beta/openai", Some("k-0123456789"), gemini, 2),
    ("Mistral", "/v1", Some("k-0123456789"), mistral, 2),
    ("Groq", "/openai/v1", Some("k-0123456789"), groq, 2),
    ("DeepSeek", "/v1", Some("k-0123456789"), deepseek, 2),
    ("GitHub Models", "/inference", Some("k-0123456789"), github, 2),
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

/// Anthropic requires its version and a separate header for the key, and rejects unknown fields. A schema with many
/// alternatives is too large for its grammar, but is accepted for a tool.
fn anthropic(heard: &Heard, _: usize) -> (u16, String) {
    let refused = |message: &str| {
        let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        (400, error.to_string())
    };
    assert!(
        heard.line.starts_with("POST /v1/messages ") && heard.head.contains("x-api-key: k-0123456789"),
        "{heard:?}"
    );
    assert!(heard.head.contains("anthropic-version: 2023-06-01") && !heard.head.contains("authorization"), "{heard:?}");
    let known = ["model", "max_tokens", "system", "messages", "output_config", "temperature", "tools", "tool_choice"];
    if let Some(other) = heard.body.as_object().unwrap().keys().find(|name| !known.contains(&name.as_str())) {
        return refused(&format!("{other}: Extra inputs are not permitted"));
    }
    assert!(heard.body["max_tokens"].is_u64() && heard.body["system"][0]["cache_control"].is_object(), "{heard:?}");
    if heard.has("output_config") {
        return refused("Schemas contains too many parameters with union types (19 parameters), limit: 16");
    }
    assert_eq!(heard.body["tool_choice"]["name"], heard.body["tools"][0]["name"], "{heard:?}");
    let called = json!({"type": "tool_use", "id": "t", "name": heard.body["tools"][0]["name"], "input": content()});
    let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 800, "output_tokens": 120});
    let reply = json!({
        "id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001",
        "content": [called], "stop_reason": "tool_use", "usage": usage,
    });
    (200, reply.to_string())
}

#[test]
fn a_key_of_anthropic_is_enough() {
    let (server, world) = (Server::start(anthropic), said());
    let command = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        let address = format!("http://{}", server.address);
        command.env("ANTHROPIC_API_KEY", "k-0123456789").env("ANTHROPIC_BASE_URL", address);
        command
    };
    let output = command(&["run", "logs"]).output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    assert!(reported.contains("ANTHROPIC_API_KEY is set, so the model is claude-haiku-4-5 of anthropic"), "{reported}");
    // The second request omits the field for which the first request was rejected.
    assert_eq!(server.heard().len(), 2, "{:#?}", server.heard());
    assert!(world.good(&["memory", "list"]).contains("Nomad"));
    let status = command(&["status", "--days", "30", "--json"]).output().unwrap();
    let line: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&line["prompt_tokens"], &line["completion_tokens"]), (&json!(900), &json!(120)), "{line}");

    let batches = command(&["run", "logs", "--batch-api", "--model", "command/cat"]).output().unwrap();
    let reported = String::from_utf8_lossy(&batches.stderr);
    assert!(reported.contains("batches require a server with the batch API of OpenAI or Anthropic"), "{reported}");
    assert_eq!(server.heard().len(), 2, "{:#?}", server.heard());
}

/// Writes a shell script to a separate folder and returns the path of the folder.
#[cfg(unix)]
fn program(world: &World, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = world.path("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", folder.display())
}

#[cfg(unix)]
#[test]
fn the_login_of_an_agent_extracts_where_it_is_named_and_only_there() {
    let reply = content().to_string();
    let claude = json!({
        "type": "result", "is_error": false, "result": "", "structured_output": content(), "stop_reason": "tool_use",
        "usage": {"input_tokens": 900, "output_tokens": 120},
    });
    let message = json!({"type": "item.completed", "item": {"type": "agent_message", "text": reply}});
    let usage = json!({"input_tokens": 900, "cached_input_tokens": 5, "output_tokens": 120});
    let events = format!("{message}\n{}", json!({"type": "turn.completed", "usage": usage}));
    for (name, model, printed, arguments) in [
        ("claude", "claude-code", claude.to_string(), "--no-session-persistence --setting-sources --strict-mcp-config"),
        ("codex", "codex/gpt-5", events, "--ephemeral --ignore-user-config --output-schema"),
    ] {
        let world = said();
        std::fs::write(world.path("reply.json"), printed).unwrap();
        let (args, stdin) = (world.path("args.txt"), world.path("stdin.txt"));
        let (reply, folder) = (world.path("reply.json"), world.path("folder.txt"));
        let path = program(
            &world,
            name,
            &format!(
                "echo \"$@\" >> '{}'\ncat >> '{}'\npwd > '{}'\ncat '{}'",
                args.display(),
                stdin.display(),
                folder.display(),
                reply.display()
            ),
        );
        // An installed program is suggested, but not used.
        let offered = world.command(&["runs", "plan", "logs"]).env("PATH", &path).output().unwrap();
        let reported = String::from_utf8_lossy(&offered.stderr).replace('\n', " ");
        assert!(reported.contains(&format!("--model {}", model.split('/').next().unwrap())), "{offered:?}");
        assert!(!args.exists(), "{name} was started without being named");

        let output = world.command(&["run", "logs", "--model", model, "--json"]).env("PATH", &path).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        assert!(world.good(&["memory", "list"]).contains("Nomad"), "{name}");
        let (args, stdin) = (std::fs::read_to_string(args).unwrap(), std::fs::read_to_string(stdin).unwrap());
        assert!(arguments.split(' ').all(|argument| args.contains(argument)), "{name}: {args}");
        // Arguments are visible to every user of the machine.
        assert!(stdin.contains("we deploy with Nomad now") && !args.contains("Nomad"), "{name}: {args}");
        let folder = std::fs::read_to_string(folder).unwrap();
        assert!(!std::path::Path::new(folder.trim()).exists(), "{name}: {folder} is left behind");
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_cannot_answer_is_named_with_the_remedy() {
    let world = said();
    let refused = json!({"is_error": true, "result": "Not logged in · Please run /login"}).to_string();
    let path = program(&world, "claude", &format!("cat >/dev/null\necho '{refused}'\nexit 1"));
    let run = |model: &str| {
        let output = world.command(&["run", "logs", "--model", model]).env("PATH", &path).output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let reported = run("claude-code");
    assert!(reported.contains("claude: Not logged in · Please run /login; log in with `claude`"), "{reported}");
    let reported = run("codex");
    assert!(reported.contains("codex: it is not installed, or not on the PATH; install it"), "{reported}");
    let reported = run("command/echo broken >&2; exit 7");
    assert!(reported.contains("sh: broken"), "{reported}");
}

/// Lists two models, and answers only for the model that can chat.
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
    // The server is used neither if the rules are requested nor if another server is specified.
    assert!(run(&["run", "logs", "--extractor", "rules"], None).status.success());
    assert_eq!(run(&["run", "logs"], Some("http://127.0.0.1:9/v1")).status.code(), Some(3));
    assert!(server.heard().is_empty(), "{:#?}", server.heard());

    let output = run(&["run", "logs", "--json"], None);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("qwen3:8b on the local Ollama server"), "{output:?}");
    // The three requests are for the list of models, for the memories in the log, and for the relations between these
    // memories and the memories that the rules found.
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

    // 900 + 120 tokens at $1,000 per million.
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
