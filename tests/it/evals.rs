//! Tests of `eval`: its reports on good and bad extractors, and on files that are not cases.

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

fn measure(report: &Value, name: &str) -> Option<f64> {
    let measure = report["measures"].get(name).unwrap_or_else(|| panic!("{name} is measured"));
    measure["value"].as_f64()
}

#[test]
fn the_rules_pass_the_smoke_suite_and_the_controls_fail_it() {
    let desk = Desk::new();
    let rules = report(&desk, "rules");
    assert_eq!((rules["cases"].as_u64(), rules["counts"]["forbidden"].as_u64()), (Some(3), Some(0)));
    for (name, least) in [("recall", 0.9), ("precision", 0.9), ("evidence", 1.0), ("quotes", 1.0), ("language", 1.0)] {
        assert!(measure(&rules, name).unwrap() >= least, "{name}: {rules}");
    }
    let rows = rules["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!((&row["error"], &row["warnings"]), (&Value::Null, &Value::Null), "{row}");
    }

    let none = report(&desk, "none");
    assert_eq!((measure(&none, "recall"), measure(&none, "precision")), (Some(0.0), None));

    let every = report(&desk, "every-sentence");
    assert!(measure(&every, "recall").unwrap() > 0.9);
    assert!(measure(&every, "precision").unwrap() < 0.5);
    assert!(every["counts"]["forbidden"].as_u64().unwrap() > 0);

    let own = report(&desk, "first-person");
    assert!(measure(&own, "precision").unwrap() < 0.8);
    assert!(own["counts"]["forbidden sarcasm"].as_u64().unwrap() > 0);
}

#[test]
fn people_read_a_table_and_what_went_wrong() {
    let desk = Desk::new();
    let Told { code, out, err } = desk.run(&["eval", &smoke(), "--extractor", "first-person", "--out", "run.json"]);
    assert_eq!((code, err.as_str()), (0, "wrote 3 rows to run.json\n"));
    insta::assert_snapshot!(without_times(&out));
    let Told { code, out, err } = desk.run(&["eval", "report", "run.json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(without_times(&out));
    let results: Value = serde_json::from_str(&fs::read_to_string(desk.path("run.json")).unwrap()).unwrap();
    let findings = results["rows"][0]["findings"].as_array().unwrap();
    let unlisted = findings.iter().find(|finding| finding["what"] == "unlisted").unwrap();
    assert_eq!(results["rows"][0]["case"], "smoke/en-deploys");
    assert_eq!(unlisted["text"], "No, we do not.");
    assert_eq!(unlisted["evidence"][0]["quote"], "No, we do not.");
}

/// Returns a report without the durations of its summary, which differ in each run.
fn without_times(report: &str) -> String {
    let line = |line: &str| match line.split_once(" s in total; ") {
        Some((head, _)) => format!("{} TIME\n", head.rsplit_once(' ').unwrap().0),
        // The version and the revision of the program appear in the heading of a run.
        None if line.starts_with("## first-person, prompts") => "## RUN\n".to_owned(),
        None => format!("{line}\n"),
    };
    report.lines().map(line).collect()
}

/// Copies the smoke suite to `suite`, and changes one of its cases.
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

/// A change to the file of a case.
type Change = fn(&mut Value);

#[test]
fn a_case_that_cannot_be_run_is_named_and_counts_for_nothing() {
    let table: &[(Change, &str)] = &[
        (|case| case["memories"][0]["al"] = json!(["x"]), "unknown field `al`, expected one of"),
        (|case| case["memories"][1]["importance"] = json!("huge"), "unknown variant `huge`, expected one of"),
        (
            |case| case["memories"][1]["all"][0] = json!("(fly"),
            "m2.all[0]: \"(fly\" is not a valid pattern: unclosed group",
        ),
        (|case| case["logs"] = json!(["gone.jsonl"]), "logs: there is no gone.jsonl in the same folder"),
        (
            |case| case["format"] = json!("codex"),
            "the case declares the format of its logs as codex, but it was recognised as claude-code",
        ),
    ];
    for (change, told) in table {
        let desk = Desk::new();
        changed(&desk, "en-deploys", change);
        let Told { code, out, err } = desk.run(&["eval", "suite", "--extractor", "rules", "--json"]);
        assert_eq!(code, 3, "{err}");
        assert!(err.contains(told) && err.contains("en-deploys"), "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["cases"], 2);
        let failed = report["rows"].as_array().unwrap().iter().find(|row| !row["error"].is_null()).unwrap();
        assert_eq!((&failed["counts"], &failed["measures"]), (&Value::Null, &json!({})));
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
            r"warning: suite/en-deploys: m1: its text does not match the patterns in its own `all`: \bpnpm\b",
            r#"warning: suite/en-deploys: m2: no message contains its evidence "we deploy on heroku""#,
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
    let counts = &all["counts"];
    assert_eq!(
        (&counts["unlisted"], &counts["unlisted_kept"], &counts["unlisted_unjudged"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert!(measure(&all, "precision judged") > measure(&all, "precision"));
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
    assert!(code == 3 && err.contains("choose another folder with --keep"), "{err}");
}

#[test]
fn a_folder_without_cases_is_an_error_and_the_schema_is_printed() {
    let desk = Desk::new();
    desk.write("empty/readme.txt", "nothing");
    let Told { code, err, .. } = desk.run(&["eval", "empty"]);
    assert_eq!(
        (code, err.lines().next()),
        (
            2,
            Some(
                "error: no case in or below empty: a folder with a case has a `case.json`, and the name of a file of cases ends in `-extraction.jsonl`, `-pairs.jsonl`, `-streams.jsonl`, `-recall.jsonl`, `-brief.jsonl` or `-qa.jsonl`; see evals/README.md"
            )
        )
    );
    let line = desk.json(&["eval", "--schema"]).remove(0);
    assert_eq!(line["title"], json!("Case"), "with --json, it is one line");
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
    assert_eq!((&found["kind"], found["rows"].as_array().map(Vec::len)), (&json!("retention"), Some(1)));
    let row = &found["rows"][0];
    let parts = |name: &str| ["numerator", "denominator"].map(|part| row["measures"][name][part].as_f64().unwrap());
    let counts = [
        ["retention", "open dates"],
        ["retention of facts", "open dates of facts"],
        ["ceiling", "open dates of turns"],
    ]
    .map(|names| names.map(parts));
    assert_eq!(
        counts,
        [[[4.0, 4.0], [1.0, 4.0]], [[2.0, 4.0], [1.0, 2.0]], [[4.0, 4.0], [1.0, 3.0]]],
        "answers left of all questions, and open dates of all texts"
    );
    assert_eq!((&found["counts"]["turns"], &found["counts"]["questions without evidence"]), (&json!(3), &json!(1)));
    assert_eq!(lost(row), 0);
    let none = desk.json(&["eval", "locomo.json", "--extractor", "none"]).remove(0);
    assert_eq!((measure(&none, "retention"), lost(&none["rows"][0])), (Some(0.0), 4));
    let rules = desk.run(&["eval", "locomo.json", "--extractor", "rules"]);
    assert_eq!(rules.code, 0, "{}", rules.err);
    for words in ["retention by rules", "4 questions, 1 questions without evidence, 3 turns"] {
        assert!(rules.out.contains(words), "{words}: {}", rules.out);
    }
}

/// Returns the number of answers that no memory contains.
fn lost(row: &Value) -> usize {
    let findings = row["findings"].as_array().into_iter().flatten();
    findings.filter(|finding| finding["what"] == "lost answer").count()
}

/// Runs `eval mine` with these answers, and returns its output.
fn judged(desk: &Desk, args: &[&str], answers: &str) -> (String, String) {
    use std::io::Write as _;
    let mut command = desk.command(&[&["eval", "mine"], args].concat());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_closed_pipe_loses_no_results() {
    let desk = Desk::new();
    for json in [false, true] {
        let out = format!("results-{json}.json");
        let args = ["eval", &smoke(), "--extractor", "rules", "--repeat", "2", "--out", &out];
        let mut command = desk.command(if json { &["--json"] } else { &[] });
        command.args(args).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let results: Value = serde_json::from_str(&std::fs::read_to_string(desk.path(&out)).unwrap()).unwrap();
        assert_eq!(results["rows"].as_array().map(Vec::len), Some(6), "{out}");
    }
}

#[test]
fn a_person_judges_a_sample_and_is_not_asked_twice() {
    let desk = Desk::new();
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");
    assert_eq!(desk.run(&["run", logs, "--trusted", "--extractor", "rules", "--db", "m.db"]).code, 0);
    assert_eq!(desk.run(&["remember", "By hand, so not extracted", "--db", "m.db"]).code, 0);
    let all = desk.memories_in("m.db").into_iter().filter(|(status, _)| status == "active").count() - 1;

    let (out, err) = judged(&desk, &["-n", "3", "--db", "m.db"], "h\nwhat?\nx\ns\n");
    assert!(err.contains("1 of 3") && err.contains("3 of 3") && err.contains('“'), "{err}");
    assert!(err.contains("1 wrong memory; remove with `afterthought memory forget "), "{err}");
    let row = |name: &str| out.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(row("all").contains("50 % (9–91)"), "{out}");
    assert!(row("rules-").contains('2'), "{out}");

    let file = desk.path("m.db.judgements.jsonl");
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.lines().count() == 2 && !lines.contains("Fly.io") && !lines.contains("pnpm"), "{lines}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    // The sample contains all other memories, except those already judged and those written by hand.
    let (out, err) = judged(&desk, &["-n", "500", "--db", "m.db", "--json"], &"w\n".repeat(all));
    assert!(err.contains(&format!("1 of {}", all - 2)) && !err.contains("By hand"), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let counts = ["judged", "helps", "worthless", "wrong"].map(|name| report["all"][name].as_u64().unwrap());
    assert_eq!(counts, [all as u64, 1, all as u64 - 2, 1], "{out}");
    assert_eq!(report["wrong"].as_array().unwrap().len(), 1, "{out}");

    // An empty sample shows the judgements so far, and the end of the input stops the command.
    let (out, _) = judged(&desk, &["--db", "m.db"], "");
    assert!(out.contains(&all.to_string()), "{out}");
}
