//! The table walked, and the innocent texts that must pass.

use std::collections::BTreeSet;

use super::{Guard, SECRETS};

fn redact(text: &str) -> String {
    Guard::default().redact(text.to_owned()).0.into_inner()
}

/// Assembles an example; returns it with the invented parts in it, which are what must not survive.
fn assemble(template: &str) -> (String, Vec<String>) {
    let (mut text, mut parts, mut state) = (String::new(), Vec::new(), 0x9E37_79B9_u32);
    for (index, piece) in template.split(['{', '}']).enumerate() {
        if index % 2 == 0 {
            text.push_str(piece);
            continue;
        }
        let part = if piece == "U" {
            ["h8", "h4", "h4", "h4", "h12"].map(|piece| invent(piece, &mut state)).join("-")
        } else {
            invent(piece, &mut state)
        };
        text.push_str(&part);
        parts.push(part);
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
    (0..piece[1..].parse::<usize>().unwrap())
        .map(|_| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(alphabet[(*state >> 16) as usize % alphabet.len()])
        })
        .collect()
}

/// Whether eight characters in a row of `secret` (or all, if it is shorter) stand in `text`.
fn survives(secret: &str, text: &str) -> bool {
    let size = secret.len().min(8);
    (0..=secret.len() - size).any(|at| text.contains(&secret[at..at + size]))
}

#[test]
fn rows_have_unique_kebab_case_names() {
    let names: BTreeSet<_> = SECRETS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), SECRETS.len());
    assert!(SECRETS.len() >= 100, "{}", SECRETS.len());
    let kebab = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    assert_eq!(names.into_iter().filter(|name| !kebab(name)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_row_takes_out_its_example_wherever_it_stands() {
    let mut failures = Vec::new();
    for row in SECRETS {
        let (example, parts) = assemble(row.example);
        let json = serde_json::json!({ "note": &example }).to_string();
        let places = [
            ("bare", example.clone()),
            ("in prose", format!("We set it up with {example} yesterday, and it works.")),
            ("in JSON", json.clone()),
            ("in JSON in JSON", serde_json::json!({ "log": json }).to_string()),
            ("in an env line", format!("PORT=8080\nVALUE_OF_IT={example}\nDEBUG=1")),
            ("at the start", format!("{example}\nthat was it")),
            ("at the end", format!("that was it:\n{example}")),
            ("in Chinese", format!("请用这个，{example}，谢谢")),
            ("between Chinese characters", format!("请用{example}谢谢")),
            ("in backticks", format!("run `{example}` first")),
        ];
        for (place, text) in places {
            let clean = redact(&text);
            // A sentence is not found where it is glued to other words.
            let expected = !clean.contains(&format!("[redacted:{}]", row.name));
            if expected || parts.iter().any(|part| survives(part, &clean)) {
                failures.push(format!("{} {place}: {text:?} became {clean:?}", row.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
