//! Tests that only the person who started the server can see or change anything.

use std::net::TcpStream;

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
    let idle: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&browser.address).unwrap()).collect();
    assert!(browser.page("/").contains("oolong"));
    drop(idle);
}
