//! Traces that a collector receives.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use super::world::{Fact, Server, World};

/// A name that occurs nowhere else; the model repeats it in its memories.
const PLANTED: [Fact; 1] = [("zwickmuehle", 4101)];

/// Receives one export of traces, and returns the path and the body of its request.
fn received(collector: &TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = collector.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).unwrap() > 2 {
        head.push_str(&line);
        line.clear();
    }
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().to_owned(), body)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Runs a command that is followed by one export, and returns the exported bytes.
fn traced(mut command: Command) -> Vec<u8> {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.local_addr().unwrap()));
    let export = std::thread::spawn(move || received(&collector));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (path, body) = export.join().unwrap();
    assert_eq!(path, "/v1/traces");
    body
}

#[test]
fn a_collector_receives_operations_and_calls_but_no_text() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("first", 5, &PLANTED);
    let run = traced(world.command(&["run", "logs", "--window-tokens", "600"]));
    for text in ["run", "gen_ai.request.model", "gen_ai.usage.input_tokens", "server.address", "chat "] {
        assert!(contains(&run, text), "{text} is missing");
    }
    let mut secret_query = world.command(&["search", "zwickmuehle"]);
    secret_query.env("OTEL_SERVICE_NAME", "memories-of-tests");
    let search = traced(secret_query);
    for text in ["search_memory", "gen_ai.operation.name", "gen_ai.memory.store.id", "memories-of-tests"] {
        assert!(contains(&search, text), "{text} is missing");
    }
    let stored = traced(world.command(&["remember", "The mill is called zwickmuehle too."]));
    assert!(contains(&stored, "create_memory"));
    for bytes in [run, search, stored] {
        assert!(!contains(&bytes, "zwickmuehle"), "a text was sent");
    }
}

#[test]
fn a_collector_that_does_not_answer_is_named_and_changes_nothing() {
    let world = World::new(None);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = world.command(&["remember", "The mill stands on a hill.", "--json"]);
    let output = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{closed}")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("OpenTelemetry") || errors.contains("opentelemetry"), "{errors}");
    assert!(world.good(&["memory", "list"]).contains("The mill stands on a hill."));
    // Without a collector, and where OpenTelemetry is disabled, nothing is sent and nothing is printed.
    for (name, value) in [("OTEL_SERVICE_NAME", "quiet".to_owned()), ("OTEL_SDK_DISABLED", "true".to_owned())] {
        let mut command = world.command(&["memory", "list"]);
        if name == "OTEL_SDK_DISABLED" {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{closed}"));
        }
        let output = command.env(name, value).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

/// An agent waits for its hooks, so they do not wait for a collector.
#[test]
fn hooks_send_no_traces() {
    let world = World::new(None);
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    collector.set_nonblocking(true).unwrap();
    let traced = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.local_addr().unwrap()));
        command.env("OTEL_EXPORTER_OTLP_TIMEOUT", "200");
        command
    };
    let (input, log) = (world.path("input.json"), world.path("logs/s1.jsonl"));
    let prompt = serde_json::json!({
        "session_id": "s1", "transcript_path": log, "cwd": world.path("logs"), "prompt": "/remember The user owns a mill.",
    });
    std::fs::write(&input, prompt.to_string()).unwrap();
    let mut hook = traced(&["hook", "user-prompt-submit", "--format", "claude-code", "--limit-ms", "5500"]);
    let output = hook.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    assert!(world.good(&["memory", "list"]).contains("The user owns a mill."), "{output:?}");
    assert_eq!(collector.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    traced(&["remember", "The user owns a dog."]).output().unwrap();
    collector.accept().expect("the same operation of a command is traced");
}
