//! Tests of every tool with the protocol's own SDK for Python.

use std::path::Path;
use std::process::Command;

use super::client::Http;
use crate::desk::Desk;

/// The folder in which `.ci/run` installs `tests/mcp/requirements.txt`.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/mcp-client/bin/python");
/// The script that runs each exchange.
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.py");

/// Returns whether the client is installed; if it is required, its absence is an error.
fn is_installed() -> bool {
    let installed = Path::new(PYTHON).exists();
    let must_be = std::env::var_os("AFTERTHOUGHT_MCP_CLIENT").is_some_and(|value| value == "required");
    assert!(installed || !must_be, "{PYTHON} is missing; .ci/run installs it");
    installed
}

fn drive(args: &[&str], tools: usize) {
    let output = Command::new(PYTHON).arg(CLIENT).args(args).env("OLLAMA_HOST", "127.0.0.1:9").output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}");
    let driven = format!(" {tools} tools driven");
    assert_eq!(told.matches(&driven).count(), 2, "both revisions of the handshake: {told}");
}

#[test]
fn every_tool_is_driven_on_standard_input() {
    if is_installed() {
        let desk = Desk::new();
        let database = desk.path("m.db").display().to_string();
        let binary = env!("CARGO_BIN_EXE_afterthought");
        drive(
            &["stdio", binary, "serve", "mcp", "--profile", "full", "--db", &database, "--namespace", "project/shop"],
            13,
        );
    }
}

#[test]
fn every_profile_answers_right_arguments_and_refuses_wrong_and_missing_ones() {
    for (profile, tools) in [("standard", 11), ("basecoat", 5), ("blockcell", 3), ("full", 13)] {
        if is_installed() {
            let desk = Desk::new();
            let database = desk.path("m.db").display().to_string();
            let binary = env!("CARGO_BIN_EXE_afterthought");
            let server = ["serve", "mcp", "--db", &database, "--namespace", "project/shop"];
            drive(&[&["profile", profile, binary][..], &server].concat(), tools);
        }
    }
}

#[test]
fn every_tool_is_driven_over_http() {
    if is_installed() {
        let desk = Desk::new();
        let server = Http::start(&desk, &["--profile", "full", "--namespace", "project/shop"], None);
        drive(&["http", &server.url(), &server.token], 13);
    }
}
