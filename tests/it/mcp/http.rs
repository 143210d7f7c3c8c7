//! Over HTTP.

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
    for headers in [&[][..], &["Authorization: Bearer jam"], &["Authorization: Basic marmalade"]] {
        let answered = server.post(&list, headers);
        assert_eq!(answered.status, 401, "{headers:?}: {answered:?}");
        assert!(answered.head.contains("www-authenticate: bearer"), "{answered:?}");
        assert!(answered.body.contains("AFTERTHOUGHT_TOKEN"), "{answered:?}");
    }
    assert_eq!(server.post(&list, &["Authorization: Bearer marmalade"]).status, 200);
    assert_eq!(server.post(&list, &["Authorization: Bearer marmalade", "Host: evil.example"]).status, 403);
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
    assert!(told.err.contains(&format!("cannot listen on {address}; end what listens there")), "{}", told.err);
}

#[cfg(unix)]
#[test]
fn the_server_ends_when_the_system_asks() {
    let server = Http::start(&Desk::new(), &[], None);
    super::client::terminate(server.pid());
    assert!(server.ended().success());
}
