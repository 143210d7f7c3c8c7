//! `eval`: what it tells of good and bad extractors, and of cases that are none.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::desk::{Desk, Told};

fn smoke() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/smoke").display().to_string()
}

fn report(desk: &Desk, extractor: &str) -> Value {
    desk.json(&["eval", &smoke(), "--extractor", extractor]).remove(0)
}

fn measure(group: &Value, name: &str) -> Option<f64> {
    let measures = group["measures"].as_array().unwrap();
    measures.iter().find(|one| one["name"] == name).unwrap()["value"].as_f64()
}

#[test]
fn the_rules_pass_the_smoke_suite_and_the_controls_fail_it() {
    let desk = Desk::new();
    let rules = report(&desk, "rules");
    let all = &rules["overall"];
    assert_eq!((all["counts"]["cases"].as_u64(), all["counts"]["forbidden"].as_u64()), (Some(3), Some(0)));
    for (name, least) in [("recall", 0.9), ("precision", 0.9), ("evidence", 1.0), ("quotes", 1.0), ("language", 1.0)] {
        assert!(measure(all, name).unwrap() >= least, "{name}: {all}");
    }
    for case in rules["cases"].as_array().unwrap() {
        assert_eq!((&case["error"], &case["flaws"]), (&Value::Null, &json!([])), "{case}");
    }

    let none = report(&desk, "none");
    assert_eq!((measure(&none["overall"], "recall"), measure(&none["overall"], "precision")), (Some(0.0), None));

    let every = report(&desk, "every-sentence");
    assert!(measure(&every["overall"], "recall").unwrap() > 0.9);
    assert!(measure(&every["overall"], "precision").unwrap() < 0.5);
    assert!(every["overall"]["counts"]["forbidden"].as_u64().unwrap() > 0);

    let own = report(&desk, "first-person");
    assert!(measure(&own["overall"], "precision").unwrap() < 0.8);
    assert!(own["overall"]["counts"]["forbidden_kinds"]["sarcasm"].as_u64().unwrap() > 0);
}

#[test]
fn people_read_a_table_and_what_went_wrong() {
    let desk = Desk::new();
    let unlisted = desk.path("unlisted.json").display().to_string();
    let markdown = desk.path("report.md").display().to_string();
    let args = ["eval", &smoke(), "--extractor", "first-person", "--unlisted", &unlisted, "--markdown", &markdown];
    let Told { code, out, err } = desk.run(&args);
    assert_eq!((code, err.as_str()), (0, "2 memories without a verdict are in DESK/unlisted.json\n"));
    insta::assert_snapshot!(out);
    insta::assert_snapshot!(fs::read_to_string(markdown).unwrap());
    let unlisted: Value = serde_json::from_str(&fs::read_to_string(unlisted).unwrap()).unwrap();
    assert_eq!(unlisted[0]["case"], "smoke/en-deploys");
    assert_eq!(unlisted[0]["content"], "No, we do not.");
    assert_eq!(unlisted[0]["evidence"][0]["quote"], "No, we do not.");
}

/// Copies the smoke suite to `suite`, and changes a case of it.
fn changed(desk: &Desk, case: &str, change: impl FnOnce(&mut Value)) {
    for entry in walk(Path::new(&smoke())) {
        let name = entry.strip_prefix(smoke()).unwrap();
        desk.write(&format!("suite/{}", name.display()), fs::read(&entry).unwrap());
    }
    let file = format!("suite/{case}/case.json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(desk.path(&file)).unwrap()).unwrap();
    change(&mut value);
    desk.write(&file, value.to_string());
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// What is done to the file of a case.
type Change = fn(&mut Value);

#[test]
fn a_case_that_cannot_be_run_is_named_and_counts_for_nothing() {
    let table: &[(Change, &str)] = &[
        (|case| case["memories"][0]["al"] = json!(["x"]), "unknown field `al`, expected one of"),
        (|case| case["memories"][1]["importance"] = json!("huge"), "unknown variant `huge`, expected one of"),
        (|case| case["memories"][1]["all"][0] = json!("(fly"), "m2.all[0]: \"(fly\" is no pattern: unclosed group"),
        (|case| case["logs"] = json!(["gone.jsonl"]), "logs: there is no gone.jsonl beside it"),
        (
            |case| case["format"] = json!("codex"),
            "the case says that its logs are codex, but they are read as claude-code",
        ),
    ];
    for (change, told) in table {
        let desk = Desk::new();
        changed(&desk, "en-deploys", change);
        let Told { code, out, err } = desk.run(&["eval", "suite", "--extractor", "rules", "--json"]);
        assert_eq!(code, 3, "{err}");
        assert!(err.contains(told) && err.contains("en-deploys"), "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["overall"]["counts"]["cases"], 2);
        let failed = report["cases"].as_array().unwrap().iter().find(|case| !case["error"].is_null()).unwrap();
        assert_eq!(failed["counts"], Value::Null);
    }
}

#[test]
fn a_reviewer_is_told_what_to_mend() {
    let desk = Desk::new();
    changed(&desk, "en-deploys", |case| {
        case["memories"][0]["text"] = json!("The project uses npm.");
        case["memories"][1]["evidence"] = json!(["we deploy on heroku"]);
        case["memories"][3]["text"] = json!("Mira fixed the lockfile.");
    });
    let Told { code, err, .. } = desk.run(&["eval", "suite", "--extractor", "none"]);
    assert_eq!(code, 0);
    let told: Vec<&str> = err.lines().filter(|line| line.contains("en-deploys")).collect();
    assert_eq!(
        told,
        [
            r"warning: suite/en-deploys: m1: its text does not match its own `all`: \bpnpm\b",
            r#"warning: suite/en-deploys: m2: no message holds its evidence "we deploy on heroku""#,
            "warning: suite/en-deploys: m4: its text is forbidden by f2",
        ]
    );
}

#[test]
fn verdicts_beside_a_case_count_for_the_judged_precision() {
    let desk = Desk::new();
    changed(&desk, "en-deploys", |_| {});
    desk.write(
        "suite/en-deploys/judged.json",
        r#"[{"content": "No, we do not.", "verdict": "kept", "why": "a test"}]"#,
    );
    let all = desk.json(&["eval", "suite", "--extractor", "first-person"]).remove(0);
    let counts = &all["overall"]["counts"];
    assert_eq!(
        (&counts["unlisted"], &counts["unlisted_kept"], &counts["unlisted_unjudged"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert!(measure(&all["overall"], "precision judged") > measure(&all["overall"], "precision"));
    desk.write("suite/en-deploys/judged.json", r#"[{"content": "x", "verdict": "maybe"}]"#);
    let Told { code, err, .. } = desk.run(&["eval", "suite", "--extractor", "none"]);
    assert!(code == 3 && err.contains("judged.json: unknown variant `maybe`"), "{code} {err}");
}

#[test]
fn stores_are_kept_where_asked_and_not_mixed_with_earlier_ones() {
    let desk = Desk::new();
    let args = ["eval", &smoke(), "--extractor", "rules", "--keep", "stores", "-q"];
    assert_eq!(desk.run(&args).code, 0);
    let kept = desk.memories_in("stores/smoke/en-deploys/memories.db");
    assert!(kept.iter().any(|(_, content)| content.contains("Fly.io")), "{kept:?}");
    let Told { code, err, .. } = desk.run(&args);
    assert!(code == 3 && err.contains("name another folder with --keep"), "{err}");
}

#[test]
fn a_folder_without_cases_is_an_error_and_the_schema_is_printed() {
    let desk = Desk::new();
    desk.write("empty/readme.txt", "nothing");
    let Told { code, err, .. } = desk.run(&["eval", "empty"]);
    assert_eq!(
        (code, err.lines().next()),
        (2, Some("error: no case.json in or below empty; see evals/README.md for the form of a case"))
    );
    let told = desk.run(&["eval", "--schema"]);
    let schema: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((told.code, &schema["title"], &schema["additionalProperties"]), (0, &json!("Case"), &json!(false)));
}

#[test]
fn answers_that_are_left_are_counted_beside_turns_and_observations() {
    let desk = Desk::new();
    let turn = |id: &str, speaker: &str, text: &str| json!({"speaker": speaker, "dia_id": id, "text": text});
    let question = |question: &str, answer: Value, evidence: Value, category: u64| json!({"question": question, "answer": answer, "evidence": evidence, "category": category});
    let sample = json!([{
        "sample_id": "conv-x",
        "conversation": {
            "speaker_a": "Ana", "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2024",
            "session_1": [
                turn("D1:1", "Ana", "I live in Lisbon and I have two cats."),
                turn("D1:2", "Ben", "Nice. I work as a carpenter."),
                turn("D1:3", "Ana", "We went hiking yesterday."),
            ],
        },
        "observation": {"session_1_observation": {"Ana": [["Ana went hiking yesterday.", "D1:3"]], "Ben": [["Ben is a carpenter.", "D1:2"]]}},
        "qa": [
            question("Where does Ana live?", json!("Lisbon"), json!(["D1:1"]), 4),
            question("What pets?", json!("2 cats"), json!(["D1:1; D1:2"]), 1),
            question("What is Ben?", json!("a carpenter"), json!(["D1:02"]), 4),
            question("What did Ana do?", json!("hiked"), json!(["D1:3"]), 4),
            question("When?", json!("7 May 2024"), json!(["D1:3"]), 2),
            question("Lost evidence", json!("Lisbon"), json!(["D", "D9:9"]), 4),
        ],
    }]);
    desk.write("locomo.json", sample.to_string());
    let found = desk.json(&["eval", "locomo.json", "--extractor", "every-sentence"]).remove(0);
    let found = &found["locomo"];
    let rows: Vec<_> = found["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                [&row["texts"], &row["answered"], &row["questions"], &row["open_dates"]]
                    .map(|one| one.as_u64().unwrap()),
            )
        })
        .collect();
    assert_eq!(rows, [("memories", [4, 4, 4, 1]), ("observations", [2, 2, 4, 1]), ("turns", [3, 4, 4, 1])]);
    assert_eq!((&found["turns"], &found["without_evidence"], &found["lost"]), (&json!(3), &json!(1), &json!([])));
    let none = desk.json(&["eval", "locomo.json", "--extractor", "none"]).remove(0);
    assert_eq!(
        (&none["locomo"]["rows"][0]["answered"], none["locomo"]["lost"].as_array().unwrap().len()),
        (&json!(0), 4)
    );
    let rules = desk.run(&["eval", "locomo.json", "--extractor", "rules"]);
    assert_eq!(rules.code, 0, "{}", rules.err);
    assert!(
        rules.out.contains("retention: 4 questions of categories 1 and 4; 1 without evidence left out"),
        "{}",
        rules.out
    );
}
