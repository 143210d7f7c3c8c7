//! Tests of every row of the table of secrets, in every place where a secret may occur, through the whole pipeline at
//! once.

use std::collections::HashMap;

use afterthought::guard::secret_examples;
use afterthought::store::Store;
use serde_json::json;

use super::desk::Desk;
use super::secrets::Server;

/// This many consecutive characters of a secret count as a leak; a shorter part counts as a leak if all of it appears.
const PIECE: usize = 12;
/// Minimum length of a part that reveals anything, in bytes; a four-digit PIN appears in any file of numbers.
const SHORTEST: usize = 8;

/// Fills in the template of a row; returns the text and its invented parts.
fn assemble(template: &str, seed: u32) -> (String, Vec<String>) {
    let (mut text, mut parts, mut state) = (String::new(), Vec::new(), seed);
    for (index, piece) in template.split(['{', '}']).enumerate() {
        let part = match (index % 2, piece) {
            (0, _) => piece.to_owned(),
            (_, "(") => "{".to_owned(),
            (_, ")") => "}".to_owned(),
            (_, "U") => ["h8", "h4", "h4", "h4", "h12"].map(|piece| invent(piece, &mut state)).join("-"),
            (_, _) => invent(piece, &mut state),
        };
        text.push_str(&part);
        if index % 2 == 1 && part.len() >= SHORTEST {
            parts.push(part);
        }
    }
    (text, parts)
}

fn invent(piece: &str, state: &mut u32) -> String {
    let alphabet: &[u8] = match &piece[..1] {
        "a" => b"aB3dE5gH7jK9mN2pQ4rS6tV8wXyZ",
        "h" => b"0123456789abcdef",
        "d" => b"0123456789",
        "u" => b"A2B3C4D5E6F7GHJK",
        _ => b"abcdefghijklmnopqrstuvwxyz",
    };
    let length = piece[1..].parse::<usize>().unwrap();
    let mut next = || {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(alphabet[(*state >> 16) as usize % alphabet.len()])
    };
    (0..length).map(|_| next()).collect()
}

/// Returns the texts that contain an example, each used as a message of another kind.
fn places(example: &str) -> Vec<(&'static str, String)> {
    let json = json!({ "note": example }).to_string();
    vec![
        ("user", format!("We set it up with {example} yesterday, and it works.")),
        ("user", format!("请用这个，{example}，谢谢")),
        ("user", format!("My file:\nPORT=8080\nVALUE_OF_IT={example}\nDEBUG=1")),
        ("user", format!("Config:\n```yaml\nservice:\n  note: {example}\n  port: 80\n```\n{json}")),
        ("assistant", format!("Run `{example}` first, or GET / with\nX-Note: {example}\n")),
        ("tool", format!("$ cat notes\n     1\u{2192}first\n     2\u{2192}{example}\n     3\u{2192}last\n{json}")),
    ]
}

#[test]
fn no_shape_of_secret_gets_anywhere_from_any_place() {
    let (mut lines, mut pieces) = (Vec::new(), HashMap::new());
    let mut kinds = secret_examples();
    kinds.dedup_by_key(|(name, _)| *name);
    for ((name, example), seed) in kinds.iter().zip(0x5EED_u32..) {
        let (example, parts) = assemble(example, seed.wrapping_mul(2_654_435_761));
        for part in parts {
            let size = part.len().min(PIECE);
            pieces.extend(part.as_bytes().windows(size).map(|piece| (piece.to_vec(), *name)));
        }
        for (role, text) in places(&example) {
            let number = lines.len();
            let content = match role {
                "tool" => json!([{"type": "tool_result", "tool_use_id": "t1", "content": text}]),
                _ => json!([{"type": "text", "text": text}]),
            };
            let role = if role == "assistant" { "assistant" } else { "user" };
            lines.push(json!({
                "type": role, "uuid": format!("m{number}"), "sessionId": "5f0c2a9e-7d41-4c1b-9a55-2f6d0e8b1c38", "cwd": "/home/ana/shop",
                "timestamp": format!("2026-03-02T{:02}:{:02}:00.000Z", 1 + number / 60 % 22, number % 60), "userType": "external",
                "isSidechain": false, "message": {"role": role, "content": content},
            }));
        }
    }
    let desk = Desk::new();
    let log = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let leaks = |what: &str, bytes: &[u8]| -> Vec<String> {
        let sizes: std::collections::BTreeSet<usize> = pieces.keys().map(Vec::len).collect();
        let found = sizes.iter().flat_map(|size| bytes.windows(*size)).filter_map(|piece| pieces.get(piece));
        let rows: std::collections::BTreeSet<_> = found.collect();
        rows.into_iter().map(|row| format!("{row} in {what}")).collect()
    };
    assert!(leaks("the log", log.as_bytes()).len() > 200, "the check sees what it looks for");
    desk.write("log.jsonl", &log);
    let server = Server::start();
    let _held = Store::open(desk.path("memories.db")).unwrap();
    let mut command = desk.command(&[
        "run",
        "log.jsonl",
        "--base-url",
        &server.url,
        "--model",
        "m",
        "--record",
        "tapes",
        "-v",
        "--db",
        "memories.db",
    ]);
    command.env("AFTERTHOUGHT_LOG", "debug");
    let told = desk.finish(command);
    assert!([0, 3].contains(&told.code), "{}", told.err);
    let mut found = leaks("standard output", told.out.as_bytes());
    found.extend(leaks("standard error", told.err.as_bytes()));
    let asked = server.asked.lock().unwrap().clone();
    assert!(asked.len() > 5);
    asked.iter().for_each(|body| found.extend(leaks("a request", body.as_bytes())));
    for entry in std::fs::read_dir(desk.path("tapes")).unwrap() {
        found.extend(leaks("a recording", &std::fs::read(entry.unwrap().path()).unwrap()));
    }
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("memories.db{suffix}");
        found.extend(leaks(&name, &std::fs::read(desk.path(&name)).unwrap()));
    }
    let exported = desk.run(&["export", "--all", "--db", "memories.db"]);
    found.extend(leaks("the export", exported.out.as_bytes()));
    println!("{} kinds in {} messages: {} leaks", kinds.len(), lines.len(), found.len());
    assert!(found.is_empty(), "{}", found.join("\n"));
}
