//! Tests that only the person who started the server can see or change anything.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::browser::{Browser, encoded};
use crate::desk::Desk;

fn with_tea() -> Desk {
    let desk = Desk::new();
    desk.json(&["remember", "Ana drinks oolong tea."]);
    desk
}

#[test]
fn the_printed_address_works_once() {
    let desk = with_tea();
    let browser = Browser::open(&desk, "en");
    assert!(browser.page("/").contains("oolong"));
    let again = browser.send("GET", &browser.entry, &[], "");
    assert_eq!(again.status, 403, "{again:?}");
    assert!(again.body.contains("Run `afterthought serve ui` again") && !again.body.contains("oolong"), "{again:?}");
}

#[test]
fn without_the_cookie_nothing_is_shown_and_nothing_changes() {
    let desk = with_tea();
    let browser = Browser::open(&desk, "en");
    let page = browser.page("/");
    let id = page.split("href=\"/memory/").nth(1).unwrap().split('"').next().unwrap();
    for path in ["/", "/?q=oolong", &format!("/memory/{id}"), "/?token=", "/?token=0123456789abcdef", "/../etc/passwd"]
    {
        let answered = browser.send("GET", path, &[], "");
        assert_eq!(answered.status, 403, "{path}: {answered:?}");
        assert!(!answered.body.contains("oolong"), "{path}: {answered:?}");
    }
    let guessed = format!("Cookie: afterthought_{}={}", browser.address.rsplit(':').next().unwrap(), "0".repeat(48));
    assert_eq!(browser.send("GET", "/", &[guessed], "").status, 403);
    let forget = format!("/memory/{id}/forget");
    let cookie = browser.cookie();
    assert_eq!(browser.send("POST", &forget, &[], "").status, 403);
    assert_eq!(browser.send("POST", &forget, &cookie, "").status, 403, "no form token");
    let wrong = encoded(&[("form_token", &"0".repeat(64))]);
    assert_eq!(browser.send("POST", &forget, &cookie, &wrong).status, 403);
    assert_eq!(desk.memories(), [("active".to_owned(), "Ana drinks oolong tea.".to_owned())]);
}

#[test]
fn other_names_and_pages_of_other_sites_are_refused_in_spite_of_the_cookie() {
    let desk = with_tea();
    let browser = Browser::open(&desk, "en");
    let page = browser.page("/");
    let token = page.split("name=\"form_token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let id = page.split("href=\"/memory/").nth(1).unwrap().split('"').next().unwrap();
    let forget = format!("/memory/{id}/forget");
    let body = encoded(&[("form_token", token)]);
    for header in [
        "Host: evil.example",
        "Host: 127.0.0.1",
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: http://localhost:3000",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let headers = [browser.cookie(), vec![header.to_owned()]].concat();
        for (method, path) in [("GET", "/"), ("POST", forget.as_str())] {
            let answered = browser.send(method, path, &headers, &body);
            assert_eq!(answered.status, 403, "{header}: {answered:?}");
            assert!(!answered.body.contains("oolong"), "{header}: {answered:?}");
        }
    }
    assert_eq!(desk.memories()[0].0, "active");
    let own = [browser.cookie(), vec![format!("Origin: http://{}", browser.address)]].concat();
    assert_eq!(browser.send("POST", &forget, &own, &body).status, 303);
    assert_eq!(desk.memories()[0].0, "forgotten");
}

#[test]
fn every_answer_forbids_scripts_of_others_frames_and_caching() {
    let desk = with_tea();
    let browser = Browser::open(&desk, "en");
    for path in ["/", "/page.css", "/page.js", "/nowhere", "/memory/0000"] {
        let answered = browser.get(path);
        let policy = answered.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
        for (name, value) in [("x-content-type-options", "nosniff"), ("cache-control", "no-store")] {
            assert_eq!(answered.header(name), Some(value), "{path}");
        }
        assert!(!answered.body.contains("<script>") && !answered.body.contains(" style="), "{path}");
    }
    assert_eq!(browser.get("/nowhere").status, 404);
    assert_eq!(browser.get("/memory/0000").status, 404);
}

#[test]
fn only_this_machine_can_be_served() {
    let told = Desk::new().run(&["serve", "ui", "--no-open", "--addr", "0.0.0.0:0"]);
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.contains("but the page is only for this one; use --addr 127.0.0.1:0"), "{}", told.err);
}

#[test]
fn idle_connections_keep_nobody_out() {
    let desk = with_tea();
    let browser = Browser::open(&desk, "en");
    // Some say nothing at all, some begin a request and never end it.
    let mut idle = Vec::new();
    for number in 0..1000 {
        let mut stream = TcpStream::connect(&browser.address).unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
        }
        idle.push(stream);
        if number % 100 == 99 {
            let asked = Instant::now();
            assert!(browser.page("/").contains("oolong"));
            assert!(asked.elapsed() < Duration::from_secs(5), "{number}: {:?}", asked.elapsed());
        }
    }
    assert_eq!(idle.len(), 1000);
}

#[test]
fn paths_and_names_lead_to_nothing_outside_of_the_memories() {
    let desk = with_tea();
    desk.write("outside.json", "{\"form\": \"afterthought-eval-results\", \"secret\": \"marmalade\"}");
    desk.write("results/first.json", "{\"form\": \"afterthought-eval-results\"}");
    let browser = Browser::start_with(&desk, "en", &["--evals", "results"]);
    browser.enter();
    assert!(browser.page("/evals").contains("first.json"));
    let outside = desk.path("outside.json").display().to_string();
    for name in
        ["../outside.json", "..%2Foutside.json", "%2e%2e/outside.json", "..\\outside.json", &outside, "/etc/passwd"]
    {
        for path in [
            format!("/{name}"),
            format!("/../{name}"),
            format!("/page.css/{name}"),
            format!("/memory/{name}"),
            format!("/memory/{name}/quote?at=0"),
            format!("/runs/{name}"),
            format!("/evals/{name}"),
            format!("/evals?a={name}"),
            format!("/evals?a=first.json&b={name}"),
            format!("/evals?a=../results/../outside.json&all={name}"),
            format!("/file?namespace=global&path={name}"),
            format!("/project?namespace={name}"),
            format!("/erase?session={name}"),
        ] {
            let answered = browser.get(&path);
            assert!([200, 404, 422].contains(&answered.status), "{path}: {answered:?}");
            for secret in ["marmalade", "root:x:", "daemon:"] {
                assert!(!answered.body.contains(secret), "{path} shows {secret}");
            }
        }
    }
}

#[test]
fn guesses_of_the_token_fail_and_leave_it_valid() {
    let desk = with_tea();
    let browser = Browser::start(&desk, "en");
    let token = browser.entry.split("token=").nth(1).unwrap().to_owned();
    let mut guesses: Vec<String> = (0..500).map(|number| format!("{number:064x}")).collect();
    guesses.extend((0..token.len()).map(|length| token[..length].to_owned()));
    guesses.extend([format!("{token}0"), token.to_uppercase() + "A", token.chars().rev().collect()]);
    for guess in guesses {
        let answered = browser.send("GET", &format!("/?token={guess}"), &[], "");
        assert_eq!(answered.status, 403, "{guess}: {answered:?}");
        assert!(answered.header("set-cookie").is_none() && !answered.body.contains("oolong"), "{guess}");
    }
    browser.enter();
    assert!(browser.page("/").contains("oolong"));
}
