//! Tests of the real client with every known failure of a server, with one row each, over the loopback interface.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use afterthought::guard::Guard;
use afterthought::llm::{Amount, Budget, Budgeted, Limits};
use afterthought::llm::{
    Client, Complete as _, Cost, LlmError, ModelSettings, Reply, ReplySchema, Request, Source, StructuredOutput, Turn,
    TurnRole,
};
use afterthought::llm::{Recorder, Replay};
use serde_json::{Value, json};

use super::http;

/// An invented key, assembled here so that no scanner mistakes it for a real key.
const KEY: &str = concat!("sk-", "proj-", "0123456789abcdefFAKE");

/// The text that the request is about.
const SAID: &str = "I moved to Berlin in spring, and now I take the bike to work.";

/// Number of retries after the first attempt in every row.
const RETRIES: u32 = 2;

/// The server's response to one request.
#[derive(Debug, Clone)]
enum Answer {
    /// Sends a complete response.
    Http { status: u16, headers: &'static str, body: String },
    /// Closes the connection without a response.
    Hangup,
    /// Announces 1,000 bytes, but closes the connection after these.
    Cut(&'static str),
    /// Sends headers, and then one byte at a time, forever.
    Drip,
}

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self::with_headers(status, "", body)
    }

    fn with_headers(status: u16, headers: &'static str, body: &Value) -> Self {
        Self::Http { status, headers, body: body.to_string() }
    }

    fn text(status: u16, body: &str) -> Self {
        Self::Http { status, headers: "", body: body.to_owned() }
    }

    fn error(status: u16, message: &str, code: &str) -> Self {
        Self::json(status, &json!({"error": {"message": message, "type": "invalid_request_error", "code": code}}))
    }

    /// Returns a response with this choice, and with 7 + 3 tokens.
    fn choice(choice: &Value) -> Self {
        Self::json(
            200,
            &json!({"model": "m-1", "choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
        )
    }

    fn good() -> Self {
        Self::choice(&json!({"finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}))
    }

    fn send(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        match self {
            Self::Http { status, headers, body } => write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
            Self::Hangup => Ok(()),
            Self::Cut(part) => write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{part}"),
            Self::Drip => {
                write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")?;
                while stream.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok(())
            }
        }
    }
}

/// A server on the loopback interface that follows a script, repeating the last step forever, and records the requests.
struct Server {
    base_url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A received request.
#[derive(Debug, Clone)]
struct Asked {
    head: String,
    body: Value,
}

impl Server {
    fn start(script: Vec<Answer>) -> Self {
        Self::start_on(TcpListener::bind("127.0.0.1:0").unwrap(), script)
    }

    fn start_on(listener: TcpListener, script: Vec<Answer>) -> Self {
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read_request(&stream) else { continue };
                let number = {
                    let mut log = log.lock().unwrap();
                    log.push(request);
                    log.len() - 1
                };
                // The client may have closed the connection early, as it should if the server sends too slowly.
                script[number.min(script.len() - 1)].send(&mut stream).ok();
            }
        });
        Self { base_url, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> Option<Asked> {
    let (head, body) = http::read(stream)?;
    Some(Asked { head, body: serde_json::from_slice(&body).unwrap() })
}

fn request() -> Request {
    let redacted = |text: &str| Guard::default().redact(text.to_owned()).0;
    Request {
        system: redacted("Extract facts."),
        turns: vec![Turn { role: TurnRole::User, text: redacted(SAID) }],
        schema: ReplySchema { name: "facts".into(), schema: json!({"type": "object"}) },
        max_completion_tokens: 100,
    }
}

fn settings(base_url: &str) -> ModelSettings {
    ModelSettings {
        api_key: Some(KEY.into()),
        max_retries: RETRIES,
        jitter_seed: Some(1),
        timeout: Duration::from_secs(20),
        ..ModelSettings::new(base_url, "m")
    }
}

/// Returns a client that does not wait between attempts, and the list of the waits that it would have made.
fn client(settings: ModelSettings) -> (Client, Arc<Mutex<Vec<Duration>>>) {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&waits);
    let client = Client::new(settings).unwrap().with_sleep(move |wait| {
        log.lock().unwrap().push(wait);
        Box::pin(std::future::ready(()))
    });
    (client, waits)
}

async fn ask(client: &Client) -> Result<Reply, LlmError> {
    client.complete(&request()).await.map(|(reply, _)| reply)
}

/// Returns the outcome on one line, with `URL` in place of the address.
fn summary(outcome: &Result<Reply, LlmError>, base_url: &str) -> String {
    match outcome {
        Ok(reply) => {
            let Reply { text, finish, prompt_tokens, completion_tokens, model } = reply;
            format!("{finish:?} {text:?} {prompt_tokens}+{completion_tokens} {model}")
        }
        Err(error) => error.to_string().replace(base_url, "URL"),
    }
}

struct Row {
    name: &'static str,
    script: Vec<Answer>,
    /// Number of requests that the server must have received.
    attempts: usize,
    outcome: &'static str,
}

const GOOD: &str = r#"Stop "{}" 7+3 m-1"#;

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn rows() -> Vec<Row> {
    let row = |name, script: &[Answer], attempts, outcome| Row { name, script: script.to_vec(), attempts, outcome };
    let choice = |choice: Value| Answer::choice(&choice);
    vec![
        row("good", &[Answer::good()], 1, GOOD),
        row("reset before the answer", &[Answer::Hangup, Answer::good()], 2, GOOD),
        row("reset in the body", &[Answer::Cut("{\"choices\":"), Answer::good()], 2, GOOD),
        row(
            "resets for ever",
            &[Answer::Cut("{")],
            3,
            "URL: the connection was lost (end of file before message length reached) after 3 attempts; try again later (finished work is kept)",
        ),
        row(
            "401",
            &[Answer::error(401, "Incorrect API key provided", "invalid_api_key")],
            1,
            "URL: status 401: Incorrect API key provided; check OPENAI_API_KEY",
        ),
        row(
            "401 that echoes the key",
            &[Answer::error(401, &format!("Incorrect API key provided: {KEY}. Header was\r\nBearer {KEY}"), "x")],
            1,
            "URL: status 401: Incorrect API key provided: [redacted:openai-project-key]. Header was Bearer [redacted:openai-project-key]; check OPENAI_API_KEY",
        ),
        row(
            "400 that echoes the conversation",
            &[Answer::error(400, &format!("bad content: {SAID}"), "")],
            1,
            "URL: status 400: (message left out, because it quotes the conversation); the server does not accept this request; try another model or server",
        ),
        row(
            "402",
            &[Answer::error(402, "Insufficient Balance", "")],
            1,
            "URL: status 402: Insufficient Balance; check the account's credit",
        ),
        row(
            "403",
            &[Answer::error(403, "Country not supported", "")],
            1,
            "URL: status 403: Country not supported; check that the key is allowed to use this model from this location",
        ),
        row(
            "404 model",
            &[Answer::error(404, "The model `m` does not exist", "model_not_found")],
            1,
            "URL: status 404: The model `m` does not exist; check the model name (--model or AFTERTHOUGHT_MODEL)",
        ),
        row(
            "404 page",
            &[Answer::text(404, "<html>nothing here</html>")],
            1,
            "URL: status 404: Not Found; check the base URL (on most servers, it ends in /v1)",
        ),
        row(
            "redirect",
            &[Answer::Http { status: 308, headers: "location: http://127.0.0.1:1/\r\n", body: String::new() }],
            1,
            "URL: status 308: Permanent Redirect; set the base URL to the server's new address",
        ),
        row(
            "400 schema unsupported",
            &[Answer::error(400, "response_format 'json_schema' is not supported", ""), Answer::good()],
            2,
            GOOD,
        ),
        row(
            "400 of another kind",
            &[Answer::error(400, "messages must alternate", "")],
            1,
            "URL: status 400: messages must alternate; the server does not accept this request; try another model or server",
        ),
        row(
            "400 context length",
            &[Answer::error(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded")],
            1,
            "URL: the request is longer than the model's context; lower --window-tokens",
        ),
        row(
            "413",
            &[Answer::text(413, "")],
            1,
            "URL: the request is longer than the model's context; lower --window-tokens",
        ),
        row("429 once", &[Answer::error(429, "slow down", "rate_limit_exceeded"), Answer::good()], 2, GOOD),
        row(
            "429 storm",
            &[Answer::error(429, "slow down", "rate_limit_exceeded")],
            3,
            "URL: status 429: slow down after 3 attempts; try again later (finished work is kept)",
        ),
        row(
            "429 with a wait that is too long",
            &[Answer::with_headers(429, "retry-after: 3600\r\n", &json!({"error": {"message": "daily limit"}}))],
            1,
            "URL: status 429: daily limit (the server requests a wait of 3600 s) after 1 attempt; try again later (finished work is kept)",
        ),
        row(
            "insufficient quota",
            &[Answer::error(429, "You exceeded your current quota", "insufficient_quota")],
            1,
            "URL: status 429: You exceeded your current quota; check the account's plan and billing details",
        ),
        row("408", &[Answer::text(408, ""), Answer::good()], 2, GOOD),
        row("409", &[Answer::text(409, ""), Answer::good()], 2, GOOD),
        row("425", &[Answer::text(425, ""), Answer::good()], 2, GOOD),
        row("500 twice", &[Answer::text(500, "oops"), Answer::text(500, "oops"), Answer::good()], 3, GOOD),
        row("502", &[Answer::text(502, "<html>bad gateway</html>"), Answer::good()], 2, GOOD),
        row(
            "503",
            &[Answer::error(503, "The model is loading", "")],
            3,
            "URL: status 503: The model is loading after 3 attempts; try again later (finished work is kept)",
        ),
        row("504", &[Answer::text(504, ""), Answer::good()], 2, GOOD),
        row("529", &[Answer::error(529, "Overloaded", "overloaded_error"), Answer::good()], 2, GOOD),
        row(
            "200 with a transient error",
            &[Answer::json(200, &json!({"error": {"message": "Provider error", "code": 502}})), Answer::good()],
            2,
            GOOD,
        ),
        row(
            "200 with a permanent error",
            &[Answer::json(200, &json!({"error": {"message": "No auth", "code": 401}}))],
            1,
            "URL: status 401: No auth; check OPENAI_API_KEY",
        ),
        row("JSON that ends early", &[Answer::text(200, r#"{"choices":[{"mess"#), Answer::good()], 2, GOOD),
        row(
            "HTML",
            &[Answer::text(200, "\n<!doctype html><p>Sign in</p>")],
            3,
            "URL: the answer is a web page (does the base URL end in /v1?) after 3 attempts; try again later (finished work is kept)",
        ),
        row(
            "empty body",
            &[Answer::text(200, "")],
            3,
            "URL: the answer is not complete JSON after 3 attempts; try again later (finished work is kept)",
        ),
        row(
            "no choices",
            &[Answer::json(200, &json!({"choices": []}))],
            3,
            "URL: the answer contains no message after 3 attempts; try again later (finished work is kept)",
        ),
        row(
            "empty content, then an answer",
            &[choice(json!({"finish_reason": "stop", "message": {"content": ""}})), Answer::good()],
            2,
            r#"Stop "{}" 14+6 m-1"#,
        ),
        row(
            "empty content twice",
            &[choice(json!({"finish_reason": "stop", "message": {"content": null}}))],
            2,
            r#"Stop "" 14+6 m-1"#,
        ),
        row(
            "refusal",
            &[choice(json!({"finish_reason": "stop", "message": {"content": null, "refusal": "I cannot help"}}))],
            1,
            r#"Refusal "I cannot help" 7+3 m-1"#,
        ),
        row(
            "content filter",
            &[choice(json!({"finish_reason": "content_filter", "message": {"content": ""}}))],
            1,
            r#"Refusal "" 7+3 m-1"#,
        ),
        row(
            "cut at the token limit",
            &[choice(json!({"finish_reason": "length", "message": {"content": "{\"a"}}))],
            1,
            r#"Length "{\"a" 7+3 m-1"#,
        ),
        row(
            "no usage",
            &[Answer::json(200, &json!({"choices": [{"finish_reason": "stop", "message": {"content": "{}"}}]}))],
            1,
            r#"Stop "{}" 32+1 m"#,
        ),
    ]
}

#[tokio::test]
async fn every_fault_has_its_outcome_and_its_attempts() {
    for row in rows() {
        let server = Server::start(row.script);
        let (client, waits) = client(settings(&server.base_url));
        let outcome = ask(&client).await;
        assert_eq!(summary(&outcome, &server.base_url), row.outcome, "{}", row.name);
        assert_eq!(server.asked().len(), row.attempts, "{}", row.name);
        assert!(waits.lock().unwrap().len() < row.attempts, "{}", row.name);
        let shown = format!("{outcome:?} {client:?}");
        assert!(!shown.contains(KEY), "{}: {shown}", row.name);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let (client, waits) = client(settings(&base_url));
    let outcome = summary(&ask(&client).await, &base_url);
    let start = "URL: is the server running? no connection (Connection refused";
    let end = ") after 3 attempts; try again later (finished work is kept)";
    assert!(outcome.starts_with(start) && outcome.ends_with(end), "{outcome}");
    assert_eq!(waits.lock().unwrap().len(), 2);

    // Until the server is available again, the next request does not repeat all the waits.
    let second = ask(&client).await.unwrap_err();
    assert!(matches!(second, LlmError::Transient { attempts: 1, .. }), "{second}");
    assert_eq!(waits.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn retries_are_made_again_once_a_server_is_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (client, _) = client(settings(&format!("http://{address}/v1")));
    assert!(ask(&client).await.is_err());
    let script = vec![Answer::good(), Answer::text(500, ""), Answer::good()];
    let server = Server::start_on(TcpListener::bind(address).unwrap(), script);
    for _ in 0..2 {
        assert_eq!(summary(&ask(&client).await, &server.base_url), GOOD);
    }
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn an_answer_that_drips_is_given_up_at_the_timeout() {
    let server = Server::start(vec![Answer::Drip]);
    let timeout = Duration::from_millis(100);
    let (client, _) = client(ModelSettings { timeout, max_retries: 1, ..settings(&server.base_url) });
    let outcome = summary(&ask(&client).await, &server.base_url);
    assert_eq!(outcome, "URL: no answer within 100ms after 2 attempts; try again later (finished work is kept)");
}

#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_kept() {
    let busy = |headers| Answer::with_headers(429, headers, &json!({"error": {"message": "busy"}}));
    let script = vec![
        busy("retry-after: 7\r\n"),
        busy("retry-after: Sun, 01 Mar 2026 12:00:09 GMT\r\ndate: Sun, 01 Mar 2026 12:00:00 GMT\r\n"),
        busy("retry-after-ms: 1500\r\n"),
        Answer::good(),
    ];
    let server = Server::start(script);
    let (client, waits) = client(ModelSettings { max_retries: 3, ..settings(&server.base_url) });
    assert_eq!(summary(&ask(&client).await, &server.base_url), GOOD);
    assert_eq!(*waits.lock().unwrap(), [7_000, 9_000, 1_500].map(Duration::from_millis));
}

#[tokio::test]
async fn what_a_server_rejects_is_left_out_from_then_on() {
    let script = vec![
        Answer::error(
            400,
            "Unsupported value: 'temperature' does not support 0.3 with this model",
            "unsupported_value",
        ),
        Answer::error(400, "Unsupported parameter: 'max_tokens' is not supported", "unsupported_parameter"),
        Answer::error(400, "response_format of type json_schema is not supported", ""),
        Answer::error(422, "response_format.type json_object is not supported", ""),
        Answer::good(),
    ];
    let server = Server::start(script);
    let (client, _) = client(settings(&server.base_url));
    for _ in 0..2 {
        assert_eq!(summary(&ask(&client).await, &server.base_url), GOOD);
    }
    let sent: Vec<_> = server
        .asked()
        .iter()
        .map(|asked| {
            let body = &asked.body;
            let format = body["response_format"]["type"].as_str().unwrap_or("none").to_owned();
            let limit = if body["max_tokens"] == 100 { "max_tokens" } else { "max_completion_tokens" };
            assert_eq!(body[limit], 100);
            let system = body["messages"][0]["content"].as_str().unwrap();
            (format, limit, body["temperature"].as_f64(), system.contains(r#"{"type":"object"}"#))
        })
        .collect();
    let row = |format: &str, limit, temperature, in_words| (format.to_owned(), limit, temperature, in_words);
    let expected = [
        row("json_schema", "max_tokens", Some(0.3), false),
        row("json_schema", "max_tokens", None, false),
        row("json_schema", "max_completion_tokens", None, false),
        row("json_object", "max_completion_tokens", None, true),
        row("none", "max_completion_tokens", None, true),
        row("none", "max_completion_tokens", None, true),
    ];
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_format_set_by_hand_is_not_changed() {
    let server = Server::start(vec![Answer::error(400, "json_schema is not supported", "")]);
    let (client, _) = client(ModelSettings { structured: StructuredOutput::JsonSchema, ..settings(&server.base_url) });
    assert!(matches!(ask(&client).await, Err(LlmError::Permanent { .. })));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn key_and_headers_are_sent_and_without_a_key_none_is() {
    let server = Server::start(vec![Answer::good()]);
    let headers = vec![("x-title".to_owned(), "notes".into())];
    let (with_key, _) = client(ModelSettings { headers, ..settings(&server.base_url) });
    let (without_key, _) = client(ModelSettings { api_key: None, ..settings(&server.base_url) });
    assert_eq!(summary(&ask(&with_key).await, &server.base_url), GOOD);
    assert_eq!(summary(&ask(&without_key).await, &server.base_url), GOOD);
    let heads: Vec<_> = server.asked().into_iter().map(|asked| asked.head).collect();
    assert!(heads[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[0].contains(&format!("authorization: Bearer {KEY}\r\n")) && heads[0].contains("x-title: notes\r\n"));
    assert!(!heads[1].to_lowercase().contains("authorization"), "{}", heads[1]);
}

#[tokio::test]
async fn a_recorded_run_is_replayed_without_its_server() {
    let server = Server::start(vec![Answer::error(503, "busy", ""), Answer::good()]);
    let folder = tempfile::tempdir().unwrap();
    let (guard, (client, _)) = (Guard::default(), client(settings(&server.base_url)));
    let budget = Budget::new(Limits { max_tokens: Some(1_000), ..Limits::default() }, None, "m").unwrap();
    let recorder = Source::Recorded(Recorder::new(client, folder.path(), &guard).unwrap());
    let (reply, cost) = Budgeted::new(recorder, &budget).complete(&request()).await.unwrap();
    assert_eq!((cost, budget.spent()), (Cost::Call, Amount { cost: 0.0, tokens: 10 }));

    let tape = Source::Replayed(Replay::new(folder.path(), "m").unwrap());
    assert_eq!(tape.complete(&request()).await.unwrap(), (reply, Cost::Cached));
    assert_eq!(server.asked().len(), 2);
    let mut other = request();
    other.max_completion_tokens += 1;
    assert!(matches!(tape.complete(&other).await, Err(LlmError::NotRecorded { .. })));
}
