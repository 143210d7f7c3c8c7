//! Tests of `eval` for consolidation: its reports on the rules, on controls, and on lines that are not cases.

use std::path::Path;

use serde_json::{Value, json};

use crate::desk::Desk;

fn smoke() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/smoke-consolidation").display().to_string()
}

/// Returns the reports about pairs and about streams.
fn reports(desk: &Desk, more: &[&str]) -> Vec<Value> {
    let reports = desk.json(&[&["eval", &smoke()], more].concat());
    let kinds: Vec<&str> = reports.iter().map(|report| report["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["pair", "stream"]);
    reports
}

/// Returns a measure from the report that contains it.
fn measure(reports: &[Value], name: &str) -> Option<f64> {
    let measure = reports.iter().find_map(|report| report["measures"].get(name));
    measure.unwrap_or_else(|| panic!("{name} is measured"))["value"].as_f64()
}

#[test]
fn the_rules_pass_the_small_set_also_among_distractors_and_the_controls_fail() {
    let desk = Desk::new();
    for distractors in ["0", "300"] {
        let rules = reports(&desk, &["--extractor", "rules", "--distractors", distractors]);
        let found = ["accuracy", "all right", "neighbours", "streams", "lost facts", "growth", "misplaced"]
            .map(|name| measure(&rules, name).unwrap());
        let told = found.map(|value| value.to_string()).join(" ");
        assert_eq!(told, "1 1 1 1 0 0 0", "{rules:?}");
        for report in &rules {
            let apart = ["asked_again", "distractors_retired"].map(|name| report["counts"][name].as_u64());
            assert_eq!(apart, [Some(0), Some(0)]);
        }
    }
    let new = reports(&desk, &["--extractor", "none"]);
    assert_eq!((measure(&new, "streams"), measure(&new, "missed")), (Some(0.0), Some(1.0)));
    assert_eq!(measure(&new, "growth"), Some(9.0));
    let alike = reports(&desk, &["--extractor", "similarity"]);
    assert_eq!((measure(&alike, "streams"), measure(&alike, "wrong retirements")), (Some(0.0), Some(1.0)));
}

/// The recorded replies belong to the exact requests of this version, and the results agree with the README.
#[test]
fn recorded_answers_settle_pairs_and_streams_as_they_are_told() {
    let desk = Desk::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/consolidation");
    let replies = root.join("replies").display().to_string();
    for (split, pairs, streams) in
        [("dev", "1.000", "1.000"), ("unseen", "0.977", "0.955"), ("later", "1.000", "0.964")]
    {
        let suite = root.join(split).display().to_string();
        let told = desk.json(&["eval", &suite, "--extractor", "llm", "--model", "bridge", "--replay", &replies]);
        for report in &told {
            let counts = &report["counts"];
            assert_eq!((&counts["failed_calls"], &counts["asked_again"]), (&json!(0), &json!(0)), "{split}");
        }
        let found = ["accuracy", "streams"].map(|name| format!("{:.3}", measure(&told, name).unwrap()));
        assert_eq!(found, [pairs, streams], "{split}");
        let wrong = ["false merges", "wrong retirements", "lost facts", "lost events", "growth"];
        assert!(wrong.iter().all(|name| measure(&told, name) == Some(0.0)), "{split}: {told:?}");
    }
}

#[test]
fn people_read_measures_and_what_went_wrong() {
    let desk = Desk::new();
    let told = desk.run(&["eval", &smoke(), "--extractor", "similarity", "--out", "run.json", "-q"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    for line in [
        "pair by similarity: 6 cases",
        "stream by similarity: 2 cases",
        "expected contradict (changed, late), got contradict (changed)",
    ] {
        assert!(told.out.contains(line), "{line}: {}", told.out);
    }
    let document = desk.run(&["eval", "report", "run.json"]).out;
    assert!(document.starts_with("# Evaluation\n\n## similarity, prompts "), "{document}");
    assert!(document.contains("\n## smoke-consolidation: pair by similarity: 6 cases\n"), "{document}");
    let (_, moved) = document.split_once("\n**smoke-consolidation/en-moved-late**").unwrap();
    let (moved, _) = moved.split_once("\n**").unwrap();
    for finding in ["\n- wrong order in time (", "\n- wrongly retired ("] {
        assert!(moved.contains(finding), "{finding}: {moved}");
    }
}

#[test]
fn a_line_that_is_no_case_is_named_with_its_field_and_counts_for_nothing() {
    let pair = json!({"id": "p", "phenomenon": "x", "known": {"content": "A.", "said": null},
                      "incoming": {"content": "B.", "said": null}, "expect": "add"});
    let event = json!({"id": "a", "arrival": 1, "content": "A.", "said": null});
    let stream = json!({"id": "s", "phenomenon": ["x"], "events": [event], "active": [["a"]]});
    let cases: &[(&str, &Value, &str, Value, &str)] = &[
        ("pairs", &pair, "/expect", json!("ad"), "unknown variant `ad`, expected one of `add`"),
        ("pairs", &pair, "/expect", json!("contradict"), "why: required for a contradiction"),
        ("pairs", &pair, "/known", json!({"content": "A."}), "missing field `said`"),
        ("pairs", &pair, "/known/said", json!("yesterday"), "\"yesterday\" is not a time; write a day"),
        ("pairs", &pair, "/known/content", json!(" "), "known.content: empty; write the text of the memory"),
        ("streams", &stream, "/active", json!([]), "active, waiting, gone: \"a\" is listed 0 times"),
        ("streams", &stream, "/active", json!([["a"], ["b"]]), "no event has the id \"b\""),
        ("streams", &stream, "/events/0/contents", json!("x"), "a: unknown field `contents`"),
        ("streams", &stream, "/events/0/arrival", json!(0), "a.arrival: arrivals must begin with 1"),
    ];
    for (kind, whole, place, value, told) in cases {
        let desk = Desk::new();
        let mut changed = (*whole).clone();
        let (parent, field) = place.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[field] = value.clone();
        desk.write(&format!("set/en-{kind}.jsonl"), format!("{whole}\n{changed}\n"));
        let ran = desk.run(&["eval", &desk.path("set").display().to_string(), "--extractor", "rules"]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains(&format!("en-{kind}.jsonl: line 2: ")) && ran.err.contains(told), "{}", ran.err);
        let (one, none) = if *kind == "pairs" { ("pair", "stream") } else { ("stream", "pair") };
        assert!(ran.out.contains(&format!("{one} by rules: 1 case\n")), "{}", ran.out);
        assert!(!ran.out.contains(&format!("{none} by rules")), "{}", ran.out);
    }
}
