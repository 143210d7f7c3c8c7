//! A client that sends raw JSON-RPC, so that tests control every byte of an exchange.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::desk::Desk;

/// Maximum time for one answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server on standard input and output.
pub struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: i64,
}

impl Piped {
    /// Starts `afterthought serve mcp` and initialises the session.
    pub fn start(desk: &Desk, args: &[&str]) -> Self {
        Self::of(desk.command(&[&["serve", "mcp"], args].concat()))
    }

    /// Starts a command that serves, and initialises the session.
    pub fn of(command: Command) -> Self {
        Self::with_errors(command, Stdio::null())
    }

    /// Starts a command that serves and writes its errors into `errors`, and initialises the session.
    pub fn with_errors(mut command: Command, errors: Stdio) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut client = Self { input: child.stdin.take(), child, lines, next: 0 };
        let hello = client.ask("initialize", &hello());
        assert_eq!(hello["result"]["serverInfo"]["name"], "afterthought", "{hello}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    /// Writes one line.
    pub fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a request and returns the answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        self.answer(id)
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, id: i64) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool and returns its answer.
    #[expect(clippy::needless_pass_by_value, reason = "arguments are made where they are sent")]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{name}: {answer}");
        assert_eq!(
            serde_json::from_str::<Value>(result["content"][0]["text"].as_str().unwrap()).unwrap(),
            result["structuredContent"]
        );
        result["structuredContent"].clone()
    }

    /// Calls a tool that must return an error, and returns the error message.
    #[expect(clippy::needless_pass_by_value, reason = "arguments are made where they are sent")]
    pub fn refused(&mut self, name: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{name}: {answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the input, and returns the remaining lines of output and the exit status of the server.
    pub fn end(mut self) -> (Vec<String>, ExitStatus) {
        drop(self.input.take());
        let rest = self.lines.iter().collect();
        (rest, ended(&mut self.child))
    }

    /// Waits for the server to end on its own.
    pub fn ended(mut self) -> ExitStatus {
        ended(&mut self.child)
    }
}

/// Returns the first message of a client.
pub fn hello() -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// Waits a limited time for a process to end.
fn ended(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "the server does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server over HTTP.
pub struct Http {
    child: Child,
    address: String,
    /// The token that the server requires.
    pub token: String,
}

/// The response of a server.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Http {
    /// Starts `afterthought serve http` on a free port.
    pub fn start(desk: &Desk, args: &[&str], token: Option<&str>) -> Self {
        let mut command = desk.command(&[&["serve", "http", "--addr", "127.0.0.1:0"], args].concat());
        command.envs(token.map(|token| ("AFTERTHOUGHT_TOKEN", token)));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let token = token.map_or_else(|| own_token(desk), str::to_owned);
        Self { child, address, token }
    }

    /// Opens a connection without sending anything.
    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Returns the URL of the MCP endpoint.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.base())
    }

    /// Returns the URL of the server.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends one request with these header lines; unless they contain `Host`, it is the server's own address.
    pub fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answered {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let named = headers.iter().any(|line| line.to_ascii_lowercase().starts_with("host:"));
        let host = if named { String::new() } else { format!("Host: {}\r\n", self.address) };
        let shown = headers.iter().any(|line| line.starts_with("Authorization:"));
        let host = if shown { host } else { format!("{host}Authorization: Bearer {}\r\n", self.token) };
        let lines = headers.iter().fold(String::new(), |lines, line| lines + line + "\r\n");
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}{lines}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that can decide early answers before it has read the whole request.
        let _ = stream.write_all(body.as_bytes());
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answered { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Sends a protocol message, with additional headers.
    pub fn post(&self, message: &Value, headers: &[&str]) -> Answered {
        let own = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
        self.send("POST", "/mcp", &[&own, headers].concat(), &message.to_string())
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the server to end on its own.
    pub fn ended(mut self) -> ExitStatus {
        ended(&mut self.child)
    }
}

/// Returns the token that a server generated.
fn own_token(desk: &Desk) -> String {
    let path = desk.path(".local/state/afterthought/http-token");
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks a process to end, as the system does at shutdown.
#[cfg(unix)]
pub fn terminate(pid: u32) {
    assert!(Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap().success());
}
