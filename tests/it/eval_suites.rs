//! Tests of `eval` on the suites that query a store, on the adversarial suite and on public data sets: good results
//! pass, and bad results fail.

use std::path::Path;

use serde_json::{Value, json};

use crate::desk::{Desk, Told};

fn suite(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("evals").join(name).display().to_string()
}

/// Returns the reported results for each kind of row.
fn told(desk: &Desk, args: &[&str]) -> Vec<Value> {
    desk.json(args).into_iter().filter(|value| value["kind"].is_string()).collect()
}

fn value(told: &[Value], kind: &str, name: &str) -> Option<f64> {
    let of = told.iter().find(|value| value["kind"] == kind).unwrap_or_else(|| panic!("{kind} is told"));
    of["measures"][name]["value"].as_f64()
}

#[test]
fn the_search_passes_the_recall_suite_and_the_controls_fail_it() {
    let desk = Desk::new();
    let run = |retriever: &str| told(&desk, &["eval", &suite("recall"), "--retriever", retriever]);
    let search = run("search");
    assert!(value(&search, "recall", "recall@10").unwrap() > 0.7);
    assert!(value(&search, "recall", "empty kept").unwrap() > 0.6);
    let random = run("random");
    assert!(value(&random, "recall", "recall@1").unwrap() < 0.2);
    assert!(value(&random, "recall", "forbidden@10").unwrap() > 0.4);
    assert_eq!(value(&random, "recall", "empty kept"), Some(0.0));
    let everything = run("everything");
    assert!(value(&everything, "recall", "MRR").unwrap() < 0.5);
    assert_eq!(value(&everything, "recall", "only kept"), Some(0.0));
    let nothing = run("nothing");
    assert_eq!(value(&nothing, "recall", "recall@10"), Some(0.0));
    assert_eq!(value(&nothing, "recall", "empty kept"), Some(1.0));
}

#[test]
fn briefs_hold_what_they_must_and_the_controls_leak() {
    let desk = Desk::new();
    let brief = told(&desk, &["eval", &suite("brief")]);
    assert!(value(&brief, "brief", "held").unwrap() > 0.7);
    assert!(value(&brief, "brief", "leaks").unwrap() < 0.1);
    let everything = told(&desk, &["eval", &suite("brief"), "--retriever", "everything"]);
    assert!(value(&everything, "brief", "leaks").unwrap() > 0.9);
    let nothing = told(&desk, &["eval", &suite("brief"), "--retriever", "nothing"]);
    assert_eq!((value(&nothing, "brief", "held"), value(&nothing, "brief", "leaks")), (Some(0.0), Some(0.0)));
}

#[test]
fn questions_tell_what_extraction_lost_from_what_retrieval_lost() {
    let desk = Desk::new();
    let every = told(&desk, &["eval", &suite("qa/dev"), "--extractor", "every-sentence"]);
    let (complete, kept) = (value(&every, "qa", "complete").unwrap(), value(&every, "qa", "kept").unwrap());
    assert!(kept > 0.8 && complete < kept, "{complete} {kept}");
    let none = told(&desk, &["eval", &suite("qa/dev"), "--extractor", "none"]);
    assert!(value(&none, "qa", "kept").unwrap() < kept);
    let blind = told(&desk, &["eval", &suite("qa/dev"), "--extractor", "every-sentence", "--retriever", "nothing"]);
    assert_eq!(value(&blind, "qa", "found of kept"), Some(0.0));
    assert_eq!(value(&blind, "qa", "abstained"), Some(1.0));
}

#[test]
fn controls_fail_the_adversarial_suite_each_in_its_own_way() {
    let desk = Desk::new();
    let run = |cases: &str, extractor: &str| {
        let report = desk.json(&["eval", &suite(cases), "--extractor", extractor]).remove(0);
        let rows = report["rows"].as_array().unwrap();
        assert!(!rows.is_empty());
        let failed = rows.iter().find(|row| !row["error"].is_null());
        assert!(failed.is_none(), "{failed:?}");
        let flawed = rows.iter().find(|row| !row["warnings"].is_null());
        assert!(flawed.is_none(), "{flawed:?}");
        move |name: &str| value(std::slice::from_ref(&report), "extraction", name)
    };
    let of_some = "adversarial/dev/zh-extraction.jsonl";
    let rules = run(of_some, "rules");
    assert!(rules("precision").unwrap() > 0.4 && rules("quotes") == Some(1.0));
    let none = run("adversarial", "none");
    assert_eq!((none("recall"), none("precision")), (Some(0.0), None));
    let every = run(of_some, "every-sentence");
    assert!(every("precision").unwrap() < 0.4 && every("forbidden").unwrap() > 0.2);
    let own = run(of_some, "first-person");
    assert!(own("precision").unwrap() < 0.5 && own("forbidden").unwrap() > 0.05);
    let invented = run(of_some, "invented");
    assert_eq!(invented("quotes"), Some(0.0), "what is made up is quoted from nowhere");
    assert!(invented("precision").unwrap() < 0.2 && invented("recall").unwrap() < 0.3);
}

#[test]
fn reading_the_same_logs_again_is_told_as_growth() {
    let desk = Desk::new();
    let report = desk.json(&["eval", &suite("smoke"), "--extractor", "rules", "--again"]).remove(0);
    let counts = &report["counts"];
    assert!(counts["before_again"].as_u64().unwrap() > 0);
    assert_eq!(counts["grown"], 0, "{counts}");
}

#[test]
fn public_sets_are_read_from_where_they_are_and_skipped_where_they_are_not() {
    let desk = Desk::new();
    let Told { code, out, err } = desk.run(&["eval", &suite("external"), "--extractor", "rules"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(err.contains("LoCoMo is skipped: set AFTERTHOUGHT_EVAL_LOCOMO to the path"), "{err}");
    let turn = |id: &str, text: &str| json!({"speaker": "Ana", "dia_id": id, "text": text});
    let locomo = json!([{"sample_id": "conv-x", "conversation": {"speaker_a": "Ana", "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2026",
        "session_1": [turn("D1:1", "I prefer tea to coffee."), turn("D1:2", "My dog is called Faro.")]},
        "qa": [{"question": "What is the name of Ana's dog?", "answer": "Faro", "evidence": ["D1:1"], "category": 4},
            {"question": "What is the name of Ben's dog?", "adversarial_answer": "Faro", "evidence": ["D1:2"], "category": 5}],
        "observation": {"session_1_observation": {"Ana": [["Ana prefers tea to coffee.", "D1:1"]]}}}]);
    desk.write("locomo.json", locomo.to_string());
    let mended = json!([{"question_id": "locomo_0_qa0", "question": "What is the name of Ana's dog?", "error_type": "WRONG_CITATION",
        "correct_evidence": ["D1:2"], "correct_answer": "Faro"}]);
    desk.write("audit/errors_conv_0.json", mended.to_string());
    let found = told(&desk, &["eval", "locomo.json", "--extractor", "every-sentence", "--corrections", "audit"]);
    assert_eq!(value(&found, "locomo", "turns recall@10"), Some(1.0));
    assert_eq!(value(&found, "locomo", "memories complete"), Some(1.0));
    assert_eq!(value(&found, "locomo", "turns trap"), Some(1.0));
    assert_eq!(value(&found, "locomo-observations", "recall"), Some(1.0));
    let question = json!([{"question_id": "q1", "question_type": "single-session-user", "question": "What is my dog called?",
        "answer": "Faro", "question_date": "2026/06/02 (Tue) 09:10", "haystack_session_ids": ["a"], "haystack_dates": ["2026/05/28 (Thu) 18:44"],
        "haystack_sessions": [[{"role": "user", "content": "My dog Faro is nine.", "has_answer": true}]], "answer_session_ids": ["a"]}]);
    desk.write("longmemeval_oracle.json", question.to_string());
    let found = told(&desk, &["eval", "longmemeval_oracle.json"]);
    assert_eq!(value(&found, "longmemeval", "session any@5"), Some(1.0));
    let user = json!({"uuid": "u1", "persona_info": "", "sessions": [{
        "dialogue": [{"role": "user", "content": "I prefer tea to coffee.", "timestamp": "Dec 15, 2025, 06:11:23"}],
        "memory_points": [{"memory_content": "The user prefers tea to coffee.", "memory_source": "primary", "is_update": "False", "importance": 0.5}],
        "questions": [{"question": "What does the user prefer to coffee?", "answer": "tea", "question_type": "Basic Fact Recall",
            "evidence": [{"memory_content": "The user prefers tea to coffee."}]}]}]});
    desk.write("HaluMem.jsonl", format!("{user}\n"));
    let found = told(&desk, &["eval", "HaluMem.jsonl", "--extractor", "rules"]);
    assert_eq!(value(&found, "halumem", "recall"), Some(1.0));
    assert_eq!(value(&found, "halumem-retrieval", "recall@10"), Some(1.0));
}

#[test]
fn chats_and_beliefs_in_folders_are_searched_beside_bare_fts5() {
    let desk = Desk::new();
    let message = |id: &str, text: &str| json!({"clean_text": text, "speaker": "Ana", "date_time": "29.12.2023, 22:42:04", "dia_id": id});
    let chat = json!({"session_1": [message("D1:1", "The oboe is new."), message("D1:2", "It snows.")],
        "qa": [{"question": "Which oboe?", "answer": "new", "evidence": ["D1:1"], "category": 1}]});
    desk.write("realtalk/data/Chat_1_Ana_Ben.json", chat.to_string());
    let said = |id: u64, role: &str, text: &str| json!({"role": role, "id": id, "time_anchor": "March-15-2024", "content": text});
    let batches =
        json!([{"batch_number": 1, "turns": [[said(0, "user", "My kite is red."), said(1, "assistant", "A kite!")]]}]);
    desk.write("beam/chats/100K/1/chat.json", batches.to_string());
    let asked = json!({"information_extraction": [{"question": "Which kite?", "source_chat_ids": [0, 1]}]});
    desk.write("beam/chats/100K/1/probing_questions/probing_questions.json", asked.to_string());
    for set in ["realtalk", "beam"] {
        let found = &desk.json(&["eval", set])[0];
        assert_eq!((&found["split"], &found["questions"]), (&json!("final"), &json!(1)));
        assert_eq!([0, 1].map(|arm| &found["arms"][arm]["measures"]["r@10"]), [1.0, 1.0], "{found}");
        let recall = &desk.json(&["eval", set, "--recall"])[0];
        let arms = |report: &Value| report["arms"].as_array().map(Vec::len);
        assert_eq!((arms(found), arms(recall)), (Some(2), Some(9)));
    }
    let belief = |id: &str, content: &str, replaced: Option<&str>| {
        json!({"_id": id, "user_id": "test-user", "type": "entity", "canonical_name": id, "aliases": [], "content": content,
            "scope": ["domain:kites"], "pinned": false, "superseded_by": replaced, "resolved_at": null})
    };
    let beliefs =
        json!([belief("b-new", "The tail is silk.", None), belief("b-old", "The tail was paper.", Some("b-new"))]);
    desk.write("pmb/fixtures/beliefs.seed.json", beliefs.to_string());
    let case = |id: &str, query: &str, expected: &[&str]| {
        json!({"caseId": id, "category": "Alias resolution", "scope": ["domain:kites"], "query": query,
            "expect": {"relevantBeliefs": {"shouldOnlyInclude": expected}}})
    };
    let cases = json!([case("a", "What is the tail?", &["b-new"]), case("b", "", &[])]);
    desk.write("pmb/fixtures/retrieval.cases.json", cases.to_string());
    let found = told(&desk, &["eval", "pmb", "--extractor", "rules"]);
    for name in
        ["exact", "empty kept", "FTS5 exact", "FTS5 empty kept", "consolidated exact", "consolidated empty kept"]
    {
        assert_eq!(value(&found, "precisionmembench", name), Some(1.0), "{name}");
    }
    desk.write("pmb/fixtures/retrieval.cases.json", "[");
    let Told { code, err, .. } = desk.run(&["eval", "pmb"]);
    assert_eq!(code, 2);
    assert!(err.contains("retrieval.cases.json: EOF while parsing"), "{err}");
    assert!(err.contains("; obtain the data set again, or see evals/README.md for its layout"), "{err}");
}

#[test]
fn public_sets_that_are_folders_are_measured_with_their_baselines() {
    let desk = Desk::new();
    let topics = json!({"instructions": [
        {"id": 1, "text": ["always start method names with 'k_'", "always start method names with 'w_'"]}]});
    let dialogue = json!({"context": {"mentor": "Ilka", "mentee": "Ben"}, "instructions": [[[1, 0]], [[1, 1]]], "sessions": [
        {"text": "Ilka: Always start method names with 'k_'.\n\nBen: Noted."},
        {"text": "Ilka: Always start method names with 'w_'.\n\nBen: Noted."}]});
    desk.write("mc/topics.json", topics.to_string());
    desk.write("mc/dataset/dialogue_2.json", dialogue.to_string());
    let every = told(&desk, &["eval", "mc", "--extractor", "every-sentence"]);
    let figures = ["recall", "exactly one", "still active", "precision"].map(|name| value(&every, "memorycode", name));
    assert_eq!(figures, [Some(1.0), Some(1.0), Some(1.0), Some(0.25)]);
    let rules = told(&desk, &["eval", "mc", "--extractor", "rules"]);
    assert_eq!(value(&rules, "memorycode", "recall"), Some(1.0));
    desk.write("mc/dataset/dialogue_2.json", &dialogue.to_string()[..40]);
    let Told { code, err, .. } = desk.run(&["eval", "mc", "--extractor", "rules"]);
    assert_eq!(code, 2);
    assert!(err.contains("dialogue_2.json: EOF while parsing"), "{err}");
    assert!(err.contains("; obtain the data set again, or see evals/README.md for its layout"), "{err}");

    let record = |role: &str, content: Value| {
        let message = json!({"role": role, "content": content});
        let record = json!({"type": role, "sessionId": "0d9c1f6e-1111-4222-8333-944455556666", "cwd": "./swebench_1_2/testbed",
            "timestamp": "2026-01-05T10:00:00Z", "uuid": format!("u-{role}"), "message": message});
        format!("{record}\n")
    };
    let edit = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "./swebench_1_2/testbed/kite/tail.py",
        "old_string": "a", "new_string": "b"}}]);
    let log = record("user", json!("Fix this in repo: kites/kite, where the tail tangles in strong wind."))
        + &record("assistant", edit);
    let patch = "diff --git a/kite/tail.py b/kite/tail.py\n";
    let issue = json!({"repo": "kites/kite", "instance_id": "kite-7", "patch": patch, "problem_statement": "The tail is too short\nIt tangles in wind."});
    desk.write("swe/cases/SWEContextBench Lite Past Experience/0d9c1f6e.jsonl", log);
    desk.write("swe/cases/SWEContextBench Lite/kite-7.json", issue.to_string());
    let found = told(&desk, &["eval", "swe", "--extractor", "rules"]);
    let figures = ["session@1", "file@10", "BM25@1", "BM25 all@1"].map(|name| value(&found, "swe-contextbench", name));
    assert_eq!(figures, [Some(1.0); 4]);
    let Told { code, err, .. } = desk.run(&["eval", "swe", "--extractor", "none"]);
    assert_eq!(code, 2);
    assert!(err.contains("a control stores no tasks"), "{err}");
}
