//! Cases of these kinds, made up for tests.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::eval::rows::Row;

/// Returns the rows of a file of `kind` that holds `case` alone, answered by `retriever`.
fn asked(kind: Kind, case: &Value, retriever: &Retriever<'_>) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("en{}", kind.ending()));
    std::fs::write(&file, case.to_string()).unwrap();
    let cases = read(&[file]);
    assert!(cases.unreadable.is_empty(), "{:?}", cases.unreadable);
    let placed = &cases.lines[0];
    let rows = match &placed.case {
        Line::Recall(case) => futures::executor::block_on(recall::run(placed, case, retriever)),
        Line::Brief(case) => brief::run(placed, case, retriever),
        Line::Qa(_) => panic!("a question needs an extractor"),
    };
    rows.unwrap()
}

fn value(row: &Row, name: &str) -> Option<f64> {
    let ratio = row.measures.get(name)?;
    Some(ratio.numerator / ratio.denominator)
}

fn shop() -> Value {
    json!({"id": "shop", "now": "2026-03-01", "memories": [
        {"id": "m1", "content": "The shop is deployed to Fly.io.", "in": "project/shop"},
        {"id": "m2", "content": "The shop was deployed to Heroku.", "in": "project/shop", "status": "superseded"},
        {"id": "m3", "content": "The blog is deployed to Netlify.", "in": "project/blog"},
        {"id": "m4", "content": "The shop is closed for repairs.", "in": "project/shop", "expires": "2026-02-01"}],
      "queries": [
        {"id": "q1", "ask": "where is the shop deployed", "in": ["project/shop"], "must": ["m1"], "must_not": ["m2", "m3"], "only": [], "tokens": 40},
        {"id": "q2", "ask": "Netlify", "in": ["project/shop"], "empty": true},
        {"id": "q3", "ask": "repairs", "empty": true}]})
}

#[test]
fn a_query_brings_what_holds_now_and_belongs_there() {
    let rows = asked(Kind::Recall, &shop(), &Retriever::Search(None));
    for name in ["recall@1", "recall@10", "all@10", "MRR", "NDCG@10", "in budget", "only kept"] {
        assert_eq!(value(&rows[0], name), Some(1.0), "{name}");
    }
    assert_eq!((value(&rows[0], "forbidden@10"), value(&rows[0], "returned")), (Some(0.0), Some(1.0)));
    assert_eq!(value(&rows[0], "empty kept"), None);
    assert_eq!((value(&rows[1], "empty kept"), value(&rows[2], "empty kept")), (Some(1.0), Some(1.0)));
    assert!(rows.iter().all(|row| row.findings.is_empty()));
    assert_eq!(rows[0].case.rsplit('/').next(), Some("q1"));
}

#[test]
fn controls_fail_where_the_search_does_not() {
    let nothing = asked(Kind::Recall, &shop(), &Retriever::Nothing);
    assert_eq!((value(&nothing[0], "recall@10"), value(&nothing[1], "empty kept")), (Some(0.0), Some(1.0)));
    // Four memories, so that all of them are drawn: also those that must not come.
    let random = asked(Kind::Recall, &shop(), &Retriever::Random);
    assert_eq!((value(&random[0], "forbidden@10"), value(&random[1], "empty kept")), (Some(1.0), Some(0.0)));
    assert_eq!(random[0].findings.iter().filter(|found| found.what == "forbidden").count(), 2);
}

#[test]
fn places_count_for_rank_and_not_for_recall() {
    let memories: Vec<Value> = (1..=4)
        .map(|n| json!({"id": format!("m{n}"), "content": format!("Note {n}."), "said": format!("2026-01-0{n}")}))
        .collect();
    let case = json!({"id": "rank", "now": "2026-02-01", "memories": memories,
        "queries": [{"id": "q", "ask": "x", "must": ["m4", "m2"]}]});
    // Everything comes, the latest first: m4, m3, m2, m1.
    let rows = asked(Kind::Recall, &case, &Retriever::Everything);
    let close = |name: &str, expected: f64| {
        let found = value(&rows[0], name).unwrap();
        assert!((found - expected).abs() < 1e-9, "{name} is {found}");
    };
    close("recall@1", 0.5);
    close("recall@5", 1.0);
    close("MRR", 1.0);
    close("NDCG@10", (1.0 + 0.5) / (1.0 + 1.0 / 3f64.log2()));
}

#[test]
fn a_brief_is_held_against_what_it_must_and_must_not_say() {
    let case = json!({"id": "b", "now": "2026-03-01", "memories": [
        {"id": "m1", "content": "The user prefers tabs.", "category": "preference", "importance": 0.8},
        {"id": "m2", "content": "The user preferred spaces.", "category": "preference", "importance": 0.8, "status": "superseded"},
        {"id": "m3", "content": "The blog uses Hugo.", "in": "project/blog", "importance": 0.8}],
      "situations": [
        {"id": "s1", "in": ["project/shop"], "must": ["m1"], "must_not": ["m2", "m3"], "never": ["hugo"]},
        {"id": "s2", "in": ["project/shop"], "must": ["m3"]}]});
    let rows = asked(Kind::Brief, &case, &Retriever::Search(None));
    assert_eq!((value(&rows[0], "held"), value(&rows[0], "leaks")), (Some(1.0), Some(0.0)));
    assert_eq!((value(&rows[1], "held"), rows[1].findings[0].id.as_str()), (Some(0.0), "m3"));
    let everything = asked(Kind::Brief, &case, &Retriever::Everything);
    assert_eq!((value(&everything[0], "held"), value(&everything[0], "leaks")), (Some(1.0), Some(1.0)));
    assert_eq!(everything[0].findings.len(), 3, "two memories and a pattern");
}

#[test]
fn a_label_that_is_wrong_in_itself_is_told_with_its_line() {
    let recall = |change: fn(&mut Value)| {
        let mut case = shop();
        change(&mut case);
        ("en-recall.jsonl", case)
    };
    let qa = |question: &Value| {
        let case = json!({"id": "c", "now": "2026-01-01", "transcript": [{"text": "I live in Graz."}], "questions": [question]});
        ("en-qa.jsonl", case)
    };
    let table = [
        (recall(|case| case["queries"][0]["must"] = json!(["m9"])), "q1: no memory is called \"m9\"; name one"),
        (
            recall(|case| case["queries"][0]["must_not"] = json!(["m1"])),
            "q1: \"m1\" both must and must not come; decide",
        ),
        (
            recall(|case| case["queries"][1]["empty"] = json!(false)),
            "q2: give either must and must_not, or empty where nothing may come",
        ),
        (
            recall(|case| case["memories"][1]["id"] = json!("m1")),
            "m1: two of them have this id; give one memory another",
        ),
        (recall(|case| case["memories"][0]["contents"] = json!("x")), "unknown field `contents`"),
        (
            qa(&json!({"id": "q", "ask": "?", "answer": "Graz", "must": ["("], "evidence": ["Graz"]})),
            "q.must[0]: \"(\" is no pattern",
        ),
        (
            qa(&json!({"id": "q", "ask": "?", "answer": "Graz", "must": ["graz"], "evidence": ["Linz"]})),
            "\"Linz\" stands in no message",
        ),
        (
            qa(&json!({"id": "q", "ask": "?", "answer": "Graz", "must": ["graz"]})),
            "q: must and evidence belong together",
        ),
    ];
    for ((name, case), told) in table {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, format!("\n{case}\n")).unwrap();
        let cases = read(&[file]);
        assert!(cases.lines.is_empty());
        let error = cases.unreadable[0].to_string();
        assert!(error.contains(told) && error.contains("line 2: "), "{error}");
    }
}

#[test]
fn the_suites_of_this_repository_can_be_read_and_are_large_enough() {
    let evals = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals");
    let of = |suite: &str| {
        let cases = read(&files(&evals.join(suite)));
        assert!(cases.unreadable.is_empty(), "{:?}", cases.unreadable);
        cases.lines.into_iter().map(|placed| placed.case).collect::<Vec<_>>()
    };
    let queries: Vec<Query> = of("recall")
        .into_iter()
        .flat_map(|case| if let Line::Recall(case) = case { case.queries } else { Vec::new() })
        .collect();
    assert!(queries.len() >= 120 && queries.iter().filter(|query| query.empty).count() >= 40);
    for phenomenon in ["cjk", "code-token", "scope", "superseded", "expired"] {
        assert!(queries.iter().filter(|query| query.phenomena.iter().any(|one| one == phenomenon)).count() >= 5);
    }
    let situations = of("brief")
        .iter()
        .map(|case| if let Line::Brief(case) = case { case.situations.len() } else { 0 })
        .sum::<usize>();
    let questions =
        of("qa").iter().map(|case| if let Line::Qa(case) = case { case.questions.len() } else { 0 }).sum::<usize>();
    assert!(situations >= 20 && questions >= 30, "{situations} {questions}");
}
