//! Tests of the results of `eval`: resuming, comparing, judging and reporting.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::desk::{Desk, Told};

fn root(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name).display().to_string()
}

fn smoke() -> String {
    root("evals/smoke")
}

fn read(desk: &Desk, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(desk.path(name)).unwrap()).unwrap()
}

/// Copies a suite to `suite`, without recorded replies.
fn copied(desk: &Desk, from: &str) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != "replies") {
        for file in fs::read_dir(entry.path()).into_iter().flatten().map(Result::unwrap) {
            let place = format!("suite/{}/{}", entry.file_name().display(), file.file_name().display());
            desk.write(&place, fs::read(file.path()).unwrap());
        }
    }
}

fn measured(desk: &Desk, extractor: &str, out: &str) {
    let told = desk.run(&["eval", &smoke(), "--extractor", extractor, "--out", out, "-q"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{}", told.out);
}

#[test]
fn results_tell_what_was_run_and_add_up_to_what_is_shown() {
    let desk = Desk::new();
    let shown = desk.json(&["eval", &smoke(), "--extractor", "rules", "--out", "rules.json"]).remove(0);
    let results = read(&desk, "rules.json");
    let manifest = &results["manifest"];
    assert_eq!((&manifest["extractor"], &manifest["deterministic"]), (&"rules".into(), &true.into()));
    assert_eq!(manifest["suites"][0]["name"], "smoke");
    assert_eq!(
        (manifest["suites"][0]["content"].as_str().map(str::len), manifest["prompts"].as_str().map(str::len)),
        (Some(64), Some(64))
    );
    let rows = results["rows"].as_array().unwrap();
    for measure in ["recall", "precision", "type", "evidence"] {
        let sum = |part: &str| rows.iter().filter_map(|row| row["measures"][measure][part].as_f64()).sum::<f64>();
        let value = shown["measures"][measure]["value"].as_f64().unwrap();
        assert!((sum("numerator") / sum("denominator") - value).abs() < 1e-9, "{measure}");
    }
}

#[test]
fn what_a_run_has_finished_is_not_run_again_until_it_is_asked_for() {
    let desk = Desk::new();
    copied(&desk, &smoke());
    let args = ["eval", "suite", "--extractor", "rules", "--out", "out.json"];
    let told = desk.run(&args);
    assert_eq!((told.code, told.err.as_str()), (0, "wrote 3 rows to out.json\n"));
    let first = read(&desk, "out.json")["rows"].clone();

    // The file is changed as if the process had been killed while it wrote the third line.
    let kept = fs::read_to_string(desk.path("out.json.kept.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 3);
    desk.write("out.json.kept.jsonl", &kept.as_bytes()[..kept.len() - 20]);
    fs::remove_file(desk.path("out.json")).unwrap();
    let told = desk.run(&args);
    assert_eq!((told.code, told.err.as_str()), (0, "wrote 3 rows, 2 of them from an earlier run, to out.json\n"));
    let without_time = |rows: &Value| {
        let mut rows = rows.clone();
        rows.as_array_mut().unwrap().iter_mut().for_each(|row| row["cost"]["ms"] = 0.into());
        rows
    };
    assert_eq!(without_time(&read(&desk, "out.json")["rows"]), without_time(&first));

    let case = desk.path("suite/en-deploys/case.json");
    fs::write(&case, fs::read_to_string(&case).unwrap().replace("fly\\\\.io", "heroku")).unwrap();
    assert_eq!(desk.run(&args).err.lines().last(), Some("wrote 3 rows, 2 of them from an earlier run, to out.json"));
    let fresh = [&args[..], &["--fresh"]].concat();
    assert_eq!(desk.run(&fresh).err.lines().last(), Some("wrote 3 rows to out.json"));
}

#[test]
fn two_runs_are_compared_with_intervals_a_test_and_the_cases_that_changed() {
    let desk = Desk::new();
    measured(&desk, "none", "none.json");
    measured(&desk, "rules", "rules.json");
    let found = desk.json(&["eval", "compare", "none.json", "rules.json"]).remove(0);
    let suite = &found["suites"][0];
    let recall = &suite["measures"][0];
    assert_eq!((&recall["name"], &recall["a"], &recall["verdict"]), (&"recall".into(), &0.0.into(), &"unclear".into()));
    // Three cases change in the same direction: two of the eight sign assignments are as extreme.
    assert_eq!(recall["p"].as_f64(), Some(0.25));
    assert_eq!(suite["changes"].as_array().map(Vec::len), Some(3));
    assert!(suite["changes"][0]["fixed"].as_array().is_some_and(|fixed| !fixed.is_empty()), "{suite}");
    let Told { code, out, .. } = desk.run(&["eval", "compare", "none.json", "rules.json"]);
    assert_eq!(code, 0);
    for words in ["95 % interval", "shows from", "no call", "cases that changed: 0 worse, 0 mixed, 3 better"] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn a_gate_fails_on_what_got_worse_and_tells_it() {
    let desk = Desk::new();
    measured(&desk, "rules", "rules.json");
    let gate = |args: &[&str]| desk.run(&[&["eval", "gate", "--baseline", "baseline.json"], args].concat());
    assert_eq!(gate(&["rules.json"]).code, 2);
    let told = gate(&["--renew", "rules.json"]);
    assert_eq!((told.code, told.err.contains("smoke (extraction, rules")), (0, true), "{}", told.err);
    let told = gate(&["rules.json"]);
    assert_eq!((told.code, told.out.starts_with("passed")), (0, true), "{}", told.out);

    let mut worse = read(&desk, "rules.json");
    worse["rows"][0]["measures"]["recall"]["numerator"] = 0.into();
    desk.write("worse.json", worse.to_string());
    let told = gate(&["worse.json"]);
    assert_eq!(told.code, 1);
    assert!(told.out.contains("smoke/en-deploys: recall was 1.000, is 0.000"), "{}", told.out);

    measured(&desk, "none", "none.json");
    let told = gate(&["none.json"]);
    assert_eq!(told.code, 2);
    assert!(told.out.contains("skipped") && told.out.contains("the baseline does not contain it"), "{}", told.out);
}

/// Compares a model's results for the smoke suite with the program's prompts, and without the section on what to leave
/// out.
#[test]
fn a_prompt_that_was_made_worse_is_caught() {
    let desk = Desk::new();
    let (good, worse) = (root("tests/gate/good.json"), root("tests/gate/worse.json"));
    assert_eq!(desk.run(&["eval", "gate", "--baseline", "b.json", "--renew", &good]).code, 0);
    assert_eq!(desk.run(&["eval", "gate", "--baseline", "b.json", &good]).code, 0);
    let told = desk.run(&["eval", "gate", "--baseline", "b.json", &worse]);
    assert_eq!(told.code, 1, "{}", told.out);
    assert!(told.out.contains("forbidden was 0.000"), "{}", told.out);
    let found = desk.json(&["eval", "compare", &good, &worse]).remove(0);
    assert_ne!(found["a"]["prompts"], found["b"]["prompts"]);
}

#[test]
fn the_smoke_suite_runs_without_options_from_recorded_answers() {
    let desk = Desk::new();
    let Told { code, out, err } = desk.run(&["eval", &smoke(), "--out", "smoke.json"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("recorded in") && out.contains("recall"), "{err}{out}");
    let told = desk.run(&["eval", "gate", "--baseline", &root("evals/baseline.json"), "smoke.json"]);
    assert_eq!(told.code, 0, "{}", told.out);
}

#[test]
fn a_report_stands_alone_and_shows_what_was_said_as_text() {
    let desk = Desk::new();
    copied(&desk, &smoke());
    let attack = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    let log = desk.path("suite/en-kitchen/chat.json");
    let text = fs::read_to_string(&log).unwrap();
    let attacked = text.replacen("I live in Leeds", &format!("{attack} I live in Leeds"), 1);
    assert_ne!(text, attacked);
    fs::write(&log, attacked).unwrap();
    let case = desk.path("suite/en-kitchen/case.json");
    fs::write(&case, fs::read_to_string(&case).unwrap().replace("A preference", "<script>A</script>")).unwrap();
    let args = ["eval", "suite", "--extractor", "every-sentence", "--out", "every.json", "-q"];
    assert_eq!(desk.run(&args).code, 0);
    let told = desk.run(&["eval", "report", "every.json", "--out", "report.md"]);
    assert_eq!((told.code, told.err.as_str()), (0, "wrote report.md\n"));
    let markdown = fs::read_to_string(desk.path("report.md")).unwrap();
    assert!(!markdown.contains("<script") && !markdown.contains("<img"), "{markdown}");
    assert!(markdown.contains("| recall |"), "{markdown}");
    let told = desk.run(&["eval", "report", "every.json", "--out", "no/such/folder.md"]);
    assert_eq!((told.code, told.err.contains("cannot write no/such/folder.md")), (2, true), "{}", told.err);
}

#[test]
fn prompts_are_checked_before_anything_is_asked() {
    let desk = Desk::new();
    desk.write("mine/extract/user.md", "Tell me something.");
    let told = desk.run(&["eval", &smoke(), "--extractor", "rules", "--prompt", "mine"]);
    assert_eq!(told.code, 2);
    assert!(
        told.err.contains("mine/extract/user.md: it does not use the required variable \"sessions\""),
        "{}",
        told.err
    );
    desk.write("mine/extract/user.md", fs::read(root("prompts/extract/user.md")).unwrap());
    let args = ["eval", &smoke(), "--extractor", "rules", "--prompt", "mine", "--out", "out.json", "-q"];
    assert_eq!(desk.run(&args).code, 0);
    assert_eq!(read(&desk, "out.json")["manifest"]["prompt_folder"], "mine");
}

#[test]
fn a_limit_holds_for_consolidation_and_what_it_cut_short_measures_nothing() {
    let desk = Desk::new();
    let (suite, replies) = (root("evals/consolidation/later/en-pairs.jsonl"), root("evals/consolidation/replies"));
    let args = ["eval", &suite, "--model", "bridge", "--replay", &replies, "--max-tokens", "10", "--out", "out.json"];
    let told = desk.run(&args);
    assert_eq!(told.code, 3, "{}", told.err);
    assert!(told.err.contains("the model was not asked about all pairs"), "{}", told.err);
    let results = read(&desk, "out.json");
    assert!(results["rows"].as_array().unwrap().iter().all(|row| row["error"].is_string()));
    assert_eq!(desk.run(&["eval", "gate", "--baseline", "b.json", "--renew", "out.json"]).code, 2);
}

#[test]
fn several_runs_of_a_case_are_one_case_with_a_spread() {
    let desk = Desk::new();
    let told = desk.run(&["eval", &smoke(), "--extractor", "rules", "--repeat", "2", "--out", "two.json"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.contains("over 2 runs"), "{}", told.out);
    assert_eq!(read(&desk, "two.json")["rows"].as_array().map(Vec::len), Some(6));
    measured(&desk, "rules", "one.json");
    let found = desk.json(&["eval", "compare", "one.json", "two.json"]).remove(0);
    let suite = &found["suites"][0];
    assert_eq!((&suite["cases"], &suite["measures"][0]["verdict"]), (&3.into(), &"same".into()));
}
