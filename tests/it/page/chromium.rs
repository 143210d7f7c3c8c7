//! Tests of the page in a real browser, if one is installed.

use std::process::{Command, Stdio};

use super::browser::Browser;
use super::reading::demo;
use crate::desk::Desk;

/// Returns the name of a browser that can run without a screen.
fn chromium() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

/// Opens an address, lets its scripts run, and returns the document and what the browser complained about.
fn visited(name: &str, desk: &Desk, address: &str) -> (String, String) {
    let mut command = Command::new(name);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]);
    command.args(["--disable-component-update", "--disable-sync", "--lang=en", "--enable-logging=stderr"]);
    command.arg(format!("--user-data-dir={}", desk.path("browser").display()));
    command.args(["--virtual-time-budget=10000", "--dump-dom", address]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_browser_that_opens_the_printed_address_gets_in_and_breaks_no_policy() {
    let Some(name) = chromium() else {
        println!("skipped: no Chromium is installed");
        return;
    };
    let desk = demo();
    let browser = Browser::start(&desk, "en");
    let (document, complaints) = visited(name, &desk, &format!("http://{}{}", browser.address, browser.entry));
    assert!(document.contains("Last changed") && document.contains("pnpm"), "{document}\n{complaints}");
    assert!(!complaints.contains("Content Security Policy"), "{complaints}");
    let (again, _) = visited(name, &desk, &format!("http://{}{}", browser.address, browser.entry));
    assert!(!again.contains("pnpm"), "the token works once: {again}");
}
