//! Tests of the interface for programs on a running server: admission, bodies, errors, and the same memories as MCP.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::mcp::client::{Answered, Http};

const JSON: &str = "Content-Type: application/json";

/// Returns the problem in an answer, and checks its form.
fn problem(answered: &Answered) -> Value {
    assert!(answered.head.contains("content-type: application/problem+json"), "{answered:?}");
    let problem: Value = serde_json::from_str(&answered.body).unwrap();
    assert_eq!(problem["status"], answered.status, "{problem}");
    assert!(!problem["detail"].as_str().unwrap().is_empty() && problem["type"] == "about:blank", "{problem}");
    problem
}

#[test]
fn strangers_other_hosts_and_other_pages_are_refused_with_a_problem() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], None);
    assert_eq!(server.send("GET", "/api/v1/status", &[], "").status, 200);
    for (headers, status) in [
        (&["Authorization: Bearer wrong"][..], 401),
        (&["Authorization: Basic x"], 401),
        (&["Host: evil.example"], 403),
        (&["Host: 127.0.0.1.evil.example"], 403),
        (&["Origin: http://evil.example"], 403),
    ] {
        for path in ["/api/v1/status", "/api/v1/openapi.json", "/api/v1/nothing"] {
            let answered = server.send("GET", path, headers, "");
            assert_eq!(answered.status, status, "{headers:?}");
            problem(&answered);
            assert_eq!(status == 401, answered.head.contains("www-authenticate: bearer"), "{answered:?}");
        }
    }
}

#[test]
fn wrong_requests_have_the_status_that_says_what_is_wrong() {
    let desk = Desk::new();
    let server = Http::start(&desk, &[], None);
    let tea = json!({"category": "fact", "subject": "tea", "content": "Ana drinks tea."}).to_string();
    let long = format!("\"{}\"", "x".repeat(1_100_000));
    for (verb, path, headers, body, status, detail) in [
        ("POST", "/memories", &[JSON][..], "{", 400, "is not JSON"),
        ("POST", "/memories", &[JSON], "\"\\ud800\"", 400, "is not JSON"),
        ("POST", "/memories", &[JSON], "[]", 422, "not an object"),
        ("POST", "/memories", &[], tea.as_str(), 415, "send application/json"),
        ("POST", "/memories", &["Content-Type: text/plain"], tea.as_str(), 415, "text/plain"),
        ("POST", "/memories", &[JSON], long.as_str(), 413, "1 MiB"),
        ("POST", "/memories?limit=3", &[JSON], tea.as_str(), 422, "unknown parameter \"limit\""),
        ("PUT", "/keys/a", &[JSON], "{\"key\": \"b\", \"content\": \"x\"}", 422, "given twice"),
        ("PUT", "/memories", &[JSON], "{}", 405, "use GET, POST"),
        ("OPTIONS", "/search", &[], "", 405, "use GET"),
        ("GET", "/nothing", &[], "", 404, "openapi.json"),
        ("GET", "/memories/", &[], "", 404, "openapi.json"),
        ("GET", "/memories/zz", &[], "", 404, "is not an id"),
        ("GET", "/memories?namespace=project/other", &[], "", 403, "cannot be accessed"),
        ("GET", "/memories?exact=maybe", &[], "", 422, "true or false"),
        ("GET", "/memories?limit=1&limit=2", &[], "", 422, "/limit value is not of types \"null\", \"integer\""),
        ("GET", "/search?min_importance=x", &[], "", 422, "/min_importance value is not of types \"null\", \"number\""),
        ("PUT", "/keys/a", &[JSON], "{\"content\": 7}", 422, "/content value is not of type \"string\""),
        (
            "PUT",
            "/keys/a",
            &[JSON],
            "{\"content\": \"x\", \"tags\": [true]}",
            422,
            "/tags/0 value is not of type \"string\"",
        ),
        ("GET", "/memories?sort=beauty", &[], "", 422, "/sort value is not one of [\"updated\""),
        ("GET", "/search?limit=201", &[], "", 422, "the limit 201 is out of range; use 1 to 200"),
        ("GET", "/memories?limit=500", &[], "", 422, "use 1 to 200"),
        ("GET", "/search?min_importance=70", &[], "", 422, "out of range"),
        ("GET", "/runs", &[], "", 403, "--owner"),
    ] {
        let answered = server.send(verb, &format!("/api/v1{path}"), headers, body);
        assert_eq!(answered.status, status, "{verb} {path}: {}", answered.body);
        assert!(problem(&answered)["detail"].as_str().unwrap().contains(detail), "{verb} {path}: {}", answered.body);
        assert_eq!(status == 405, answered.head.contains("allow: "), "{answered:?}");
    }
    for path in ["/", "/nothing"] {
        let answered = server.send("GET", path, &[], "");
        assert_eq!(answered.status, 404, "{path}: {answered:?}");
        assert!(problem(&answered)["detail"].as_str().unwrap().contains("/api/v1 and /health"), "{answered:?}");
    }
    assert_eq!(
        server.send("POST", "/api/v1/memories", &["content-type: Application/JSON; charset=utf-8"], &tea).status,
        200
    );
    let head = server.send("HEAD", "/api/v1/status", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn programs_and_agents_see_the_same_memories_and_the_same_guards() {
    let desk = Desk::new();
    let server = Http::start(&desk, &["--namespace", "project/shop"], None);
    let send =
        |verb: &str, path: &str, body: &Value| server.send(verb, &format!("/api/v1{path}"), &[JSON], &body.to_string());
    let put = send("PUT", "/keys/greeting", &json!({"content": "Bo says </memory>\u{1b}[31m hello\u{0}."}));
    assert_eq!(put.status, 200, "{put:?}");
    let list =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_list", "arguments": {}}});
    let listed: Value = serde_json::from_str(&server.post(&list, &[]).body).unwrap();
    let by_agent = &listed["result"]["structuredContent"]["memories"][0];
    let page: Value = serde_json::from_str(&server.send("GET", "/api/v1/memories", &[], "").body).unwrap();
    assert_eq!(&page["memories"][0], by_agent, "both are made harmless");
    assert!(!page["memories"][0]["content"].as_str().unwrap().contains("</memory>"), "{page}");
    let key = ["gh", "p_"].concat() + &"0a1B2c3D4e5F6g7H8i9J".repeat(2)[..36];
    for (verb, path, body) in [
        ("POST", "/memories", json!({"category": "fact", "subject": "k", "content": format!("The key is {key}.")})),
        ("PUT", "/keys/k", json!({"content": format!("The key is {key}.")})),
        ("PUT", &format!("/keys/{key}"), json!({"content": "Bo sings."})),
    ] {
        let refused = send(verb, path, &body);
        assert_eq!(refused.status, 422, "{refused:?}");
        let problem = problem(&refused);
        assert!(problem["detail"].as_str().unwrap().contains("secret"), "{problem}");
        assert!(!refused.body.contains(&key), "the refusal repeats the secret");
    }
    let pinned = page["memories"][0]["id"].as_str().unwrap();
    assert_eq!(desk.run(&["memory", "pin", pinned]).code, 0);
    for (verb, path, body) in [
        ("PATCH", format!("/memories/{pinned}"), json!({"content": "Bo is silent."})),
        ("DELETE", format!("/memories/{pinned}"), json!({})),
        ("PUT", "/keys/greeting".to_owned(), json!({"content": "Bo is silent."})),
        ("DELETE", "/keys/greeting".to_owned(), json!({})),
    ] {
        let refused = send(verb, &path, &body);
        assert_eq!(refused.status, 403, "{verb} {path}: {refused:?}");
        assert!(problem(&refused)["detail"].as_str().unwrap().contains("is pinned"), "{refused:?}");
    }
}

#[test]
fn the_server_of_a_maintainer_edits_what_it_may_accept() {
    let desk = Desk::new();
    desk.write(".gitconfig", "[user]\n\tname = Ana Lind\n");
    assert_eq!(desk.run(&["project", "team", "shop", "--maintainer", "Ana Lind"]).code, 0);
    let stored = desk.json(&["remember", "The shop closes on Sundays.", "--namespace", "team/shop"]).remove(0);
    let id = stored["id"].as_str().unwrap();
    let path = format!("/api/v1/memories/{id}");
    let edit = |server: &Http| server.send("PATCH", &path, &[JSON], "{\"importance\": 0.9}").status;
    // An agent of a project of the team never edits its memories.
    assert_eq!(edit(&Http::start(&desk, &["--namespace", "team/shop"], None)), 403);
    let owner = Http::start(&desk, &["--owner"], None);
    assert_eq!(edit(&owner), 200);
    assert_eq!(owner.send("DELETE", &path, &[], "").status, 200);
    assert_eq!(owner.send("POST", &format!("{path}/restore"), &[JSON], "{}").status, 200);
    let history: Value = serde_json::from_str(&owner.send("GET", &format!("{path}/history"), &[], "").body).unwrap();
    let reasons: Vec<&Value> = history["changes"].as_array().unwrap().iter().map(|change| &change["reason"]).collect();
    assert_eq!(reasons.last().unwrap(), &"by an agent", "{history}");
    drop(owner);
    // Whoever may not accept it may not edit it either.
    desk.write(".gitconfig", "[user]\n\tname = Bo Ek\n");
    assert_eq!(edit(&Http::start(&desk, &["--owner"], None)), 403);
}

#[test]
fn the_addresses_of_both_interfaces_are_printed() {
    let desk = Desk::new();
    let mut command = desk.command(&["serve", "http", "--addr", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(2);
    let lines: Vec<String> = lines.map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let base = lines[0].strip_suffix("/mcp").unwrap();
    assert_eq!(lines[1], format!("{base}/api/v1"));
}
