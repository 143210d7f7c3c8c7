//! A model server on the loopback interface that replies after a fixed delay.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Counts of the requests to the server.
#[derive(Debug, Default)]
pub struct Asked {
    /// Number of windows sent for extraction.
    pub windows: AtomicUsize,
    /// Number of questions about uncertain pairs.
    pub relations: AtomicUsize,
    /// Total size of all requests in bytes.
    pub bytes: AtomicUsize,
}

/// A server that replies to every request after the same delay, with one memory or none.
pub struct Server {
    /// Address of the server, up to and including `/v1`.
    pub base_url: String,
    /// Counts of the requests so far.
    pub asked: Arc<Asked>,
}

impl Server {
    /// Starts a server, which runs until the measurement ends.
    pub fn start(delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Asked::default());
        let shared = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let asked = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, delay, &asked));
            }
        });
        Self { base_url, asked }
    }
}

/// Replies to the requests of one connection until it is closed.
fn serve(stream: TcpStream, delay: Duration, asked: &Asked) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let started = Instant::now();
        asked.bytes.fetch_add(request.len(), Ordering::Relaxed);
        let body = answer(&serde_json::from_slice(&request).unwrap(), asked).to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        std::thread::sleep(delay.saturating_sub(started.elapsed()));
        if reader.get_mut().write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// Returns the body of the next request, or `None` once the connection is closed.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn answer(request: &Value, asked: &Asked) -> Value {
    let content = if request["response_format"]["json_schema"]["name"] == "memories" {
        let number = asked.windows.fetch_add(1, Ordering::Relaxed);
        let prompt = request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        memories(prompt, number)
    } else {
        asked.relations.fetch_add(1, Ordering::Relaxed);
        let entry = |candidate| json!({"candidate": candidate, "relation": "new", "known": null, "why": "unclear"});
        json!({"relations": (1..=20).map(entry).collect::<Vec<_>>()})
    };
    json!({
        "id": "1", "object": "chat.completion", "created": 0, "model": "fixed-delay",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content.to_string()}}],
        "usage": {"prompt_tokens": 6000, "completion_tokens": 150, "total_tokens": 6150},
    })
}

/// Returns one memory that quotes the last words of a person, or nothing for every third window.
fn memories(prompt: &str, number: usize) -> Value {
    let said = last_words(prompt).filter(|_| !number.is_multiple_of(3));
    let memory = |(message, quote): (i64, String)| {
        json!({
            "type": "semantic", "category": "fact", "title": format!("Remark {number}"),
            "content": format!("The user remarks: {quote}"), "subject": null, "key": null, "value": null,
            "audience": "project", "basis": "stated", "importance": 5, "from": null, "to": null, "expires": null,
            "messages": [message], "quote": quote, "replaces": null, "tags": [], "episode": null, "procedure": null,
        })
    };
    json!({"memories": said.map(memory).into_iter().collect::<Vec<_>>()})
}

/// Returns the number of the last message of a person and its first twelve words.
fn last_words(prompt: &str) -> Option<(i64, String)> {
    let lines: Vec<&str> = prompt.split("<conversation>").nth(1)?.lines().collect();
    let place = lines.iter().rposition(|line| line.starts_with('[') && line.ends_with(" user:"))?;
    let number = lines[place].trim_start_matches('[').split(']').next()?.parse().ok()?;
    let words: Vec<&str> = lines.get(place + 1)?.split_whitespace().take(12).collect();
    Some((number, words.join(" ")))
}
