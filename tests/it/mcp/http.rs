//! Tests of the MCP server over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Http, hello};
use crate::desk::Desk;

fn call(name: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
}

#[test]
fn tools_answer_in_one_json_document_without_a_session() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], None);
    let begun = server.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()}), &[]);
    assert_eq!(begun.status, 200, "{begun:?}");
    assert!(
        begun.head.contains("content-type: application/json") && !begun.head.contains("mcp-session-id"),
        "{begun:?}"
    );
    let told = server.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[]);
    assert_eq!(told.status, 202, "{told:?}");
    let stored = server
        .post(&call("memory_store", &json!({"category": "fact", "subject": "tea", "content": "Ana drinks tea."})), &[]);
    let answer: Value = serde_json::from_str(&stored.body).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["decision"], "add", "{answer}");
    let version = ["MCP-Protocol-Version: 2025-06-18"];
    let found = server.post(&call("memory_recall", &json!({"query": "tea"})), &version);
    let answer: Value = serde_json::from_str(&found.body).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["count"], 1, "{answer}");
    let wrong = server.post(&call("memory_recall", &json!({})), &["MCP-Protocol-Version: 1999-01-01"]);
    assert_eq!(wrong.status, 400, "{wrong:?}");
    assert_eq!(desk.memories().len(), 1);
}

#[test]
fn only_requests_to_our_own_name_and_from_our_own_pages_are_let_in() {
    let desk = Desk::new();
    let server = Http::start(&desk, &["--allow-host", "memories.local"], None);
    let list = call("memory_list", &json!({}));
    let origin = format!("Origin: {}", server.url().strip_suffix("/mcp").unwrap());
    for headers in [
        &[][..],
        &["Host: localhost:1"],
        &["Host: memories.local"],
        &[origin.as_str()],
        &["Origin: http://memories.local:80"],
    ] {
        let answered = server.post(&list, headers);
        assert_eq!(answered.status, 200, "{headers:?}: {answered:?}");
        assert_eq!(server.send("GET", "/health", headers, "").status, 200);
    }
    for headers in [
        &["Host: evil.example"][..],
        &["Host: localhost.evil.example"],
        &["Host: "],
        &["Origin: http://evil.example"],
        &["Origin: null"],
        &["Origin: http://localhost.evil.example"],
        &["Origin: http://localhost", "Origin: http://evil.example"],
    ] {
        let answered = server.post(&list, headers);
        assert_eq!(answered.status, 403, "{headers:?}: {answered:?}");
        assert!(!answered.body.contains("memories\""), "{answered:?}");
        assert_eq!(server.send("GET", "/health", headers, "").status, 403);
    }
}

#[test]
fn a_request_that_is_too_long_or_of_another_kind_is_refused() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], None);
    let long = "tea ".repeat(300_000);
    assert_eq!(server.post(&call("memory_recall", &json!({"query": long})), &[]).status, 413);
    assert_eq!(server.send("GET", "/mcp", &["Accept: text/event-stream"], "").status, 405);
    assert_eq!(server.send("GET", "/secrets", &[], "").status, 404);
    assert_eq!(
        server
            .send("POST", "/mcp", &["Content-Type: text/plain", "Accept: application/json, text/event-stream"], "{}")
            .status,
        415
    );
    let health = server.send("GET", "/health", &[], "");
    assert_eq!(serde_json::from_str::<Value>(&health.body).unwrap()["status"], "ok");
}

#[test]
fn a_token_is_needed_where_one_is_set() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], Some("marmalade"));
    let list = call("memory_list", &json!({}));
    for headers in [&["Authorization: "][..], &["Authorization: Bearer jam"], &["Authorization: Basic marmalade"]] {
        let answered = server.post(&list, headers);
        assert_eq!(answered.status, 401, "{headers:?}: {answered:?}");
        assert!(answered.head.contains("www-authenticate: bearer"), "{answered:?}");
        assert!(answered.body.contains("AFTERTHOUGHT_TOKEN"), "{answered:?}");
    }
    assert_eq!(server.post(&list, &["Authorization: Bearer marmalade"]).status, 200);
    assert_eq!(server.post(&list, &["Authorization: Bearer marmalade", "Host: evil.example"]).status, 403);
}

#[cfg(unix)]
#[test]
fn without_a_token_of_the_user_the_server_writes_one_and_names_it_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new();
    let started = || {
        let mut child = desk
            .command(&["serve", "http", "--addr", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        super::client::terminate(child.id());
        String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
    };
    let path = desk.path(".local/state/afterthought/http-token");
    assert!(started().contains(&format!("clients must send the token in {}", path.display())));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let token = std::fs::read_to_string(&path).unwrap();
    assert_eq!(started(), "");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), token);
    let server = Http::start(&desk, &[], None);
    let list = call("memory_list", &json!({}));
    assert_eq!(server.post(&list, &["Authorization: "]).status, 401);
    assert_eq!(server.send("GET", "/health", &["Authorization: Bearer jam"], "").status, 401);
    assert_eq!(server.post(&list, &[]).status, 200);
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], None);
    let mut silent: Vec<_> = (0..300).map(|_| server.connect()).collect();
    // Half of the headers is not a request either.
    for stream in &mut silent[..150] {
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost:").unwrap();
    }
    let begun = Instant::now();
    assert_eq!(server.post(&call("memory_list", &json!({})), &[]).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).map(Iterator::count);
    assert!(open.as_ref().is_ok_and(|open| *open < 128) || open.is_err(), "{open:?}");
}

#[test]
fn a_client_that_does_not_finish_its_request_is_not_waited_for() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], None);
    let host = server.url().replace("http://", "").replace("/mcp", "");
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\n", server.token);
    let mut without_end = server.connect();
    without_end.write_all(head.as_bytes()).unwrap();
    let mut without_body = server.connect();
    without_body
        .write_all(format!("{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{").as_bytes())
        .unwrap();
    for (mut stream, expected) in [(without_end, ""), (without_body, "HTTP/1.1 408")] {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut text = Vec::new();
        // The server closes the connection, which ends the reading before the client's own limit.
        let ended = stream.read_to_end(&mut text);
        assert!(ended.is_ok_and(|_| String::from_utf8_lossy(&text).starts_with(expected)), "{expected}");
    }
}

#[test]
fn a_client_can_limit_itself_to_one_of_the_served_namespaces() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path("shop/.git")).unwrap();
    let server = Http::start(&desk, &["--project", "shop"], None);
    let ask = |path: &str, name: &str, arguments: &Value| {
        let headers = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
        let answered = server.send("POST", path, &headers, &call(name, arguments).to_string());
        assert_eq!(answered.status, 200, "{answered:?}");
        serde_json::from_str::<Value>(&answered.body).unwrap()["result"].clone()
    };
    let tea = json!({"category": "fact", "subject": "tea", "content": "Ana drinks tea.", "audience": "user"});
    ask("/mcp", "memory_store", &tea);
    let own = json!({"category": "fact", "subject": "port", "content": "The shop listens on port 8080."});
    ask("/mcp", "memory_store", &own);
    let count = |path: &str| ask(path, "memory_list", &json!({}))["structuredContent"]["total"].clone();
    assert_eq!((count("/mcp"), count("/mcp?namespace=global")), (json!(2), json!(1)));
    for (namespace, reason) in [("project/other", "cannot be accessed here"), ("a//b", "is not a namespace")] {
        let refused = ask(&format!("/mcp?namespace={namespace}"), "memory_list", &json!({}));
        assert!(refused["isError"] == true && refused.to_string().contains(reason), "{refused}");
    }
}

#[test]
fn what_is_no_message_of_the_protocol_is_a_bad_request() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], None);
    let own = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
    for (body, code) in [("{", -32_700), ("", -32_700), ("[1, 2]", -32_600), ("{\"jsonrpc\": \"2.0\"}", -32_600)] {
        let answered = server.send("POST", "/mcp", &own, body);
        assert_eq!(answered.status, 400, "{body}: {answered:?}");
        assert_eq!(serde_json::from_str::<Value>(&answered.body).unwrap()["error"]["code"], code, "{body}");
    }
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    let told = Desk::new().run(&["serve", "http", "--addr", "0.0.0.0:0"]);
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    let expected =
        "error: 0.0.0.0:0 can be reached from other machines; set AFTERTHOUGHT_TOKEN, or use --addr 127.0.0.1:0\n";
    assert_eq!(told.err, expected);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let told = Desk::new().run(&["serve", "http", "--addr", &address]);
    assert_eq!(told.code, 2);
    assert!(
        told.err.contains(&format!("cannot listen on {address}; stop the program that listens there")),
        "{}",
        told.err
    );
}

#[cfg(unix)]
#[test]
fn the_server_ends_when_the_system_asks() {
    let server = Http::start(&Desk::new(), &[], None);
    super::client::terminate(server.pid());
    assert!(server.ended().success());
}
