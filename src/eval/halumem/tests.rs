//! A made-up user in the shape of the file.

use serde_json::{Value, json};

use super::*;
use crate::eval::rows::Row;
use crate::eval::{Cited, Prediction, Ran};
use crate::memory::MemoryType;

fn user() -> User {
    let point = |content: &str, source: &str| {
        json!({"index": 1, "memory_content": content, "memory_type": "Persona Memory", "memory_source": source,
            "is_update": "False", "original_memories": [], "importance": 0.5, "timestamp": "Dec 15, 2025, 08:41:23"})
    };
    let mut update = point("Ilka works as a tram driver in Graz.", "primary");
    update["is_update"] = json!("True");
    update["original_memories"] = json!(["Ilka works as a baker in Graz."]);
    let turn = |role: &str, content: &str| json!({"role": role, "content": content, "timestamp": "Dec 15, 2025, 06:11:23", "dialogue_turn": 0});
    let user = json!({"uuid": "u-1", "persona_info": "", "sessions": [
        {"dialogue": [turn("user", "I work as a baker in Graz. My cat is called Pixel."), turn("assistant", "Nice!")],
         "memory_points": [point("Ilka works as a baker in Graz.", "primary"), point("Ilka has a cat named Pixel.", "secondary")],
         "questions": [{"question": "What is the name of the cat?", "answer": "Pixel", "question_type": "Basic Fact Recall",
            "evidence": [{"memory_content": "Ilka has a cat named Pixel.", "memory_type": "Persona Memory"}]}]},
        {"dialogue": [turn("user", "I am a tram driver now."), turn("assistant", "As an owner of 3 dogs you know Graz well.")],
         "memory_points": [update, point("Ilka owns 3 dogs in Graz.", "interference")],
         "questions": [{"question": "What does she sing?", "answer": "Unknown", "question_type": "Memory Boundary", "evidence": []}]}
    ]});
    serde_json::from_value(user).unwrap()
}

fn ran(texts: &[&str]) -> Ran {
    let prediction = |text: &&str| {
        let cited = Cited { transcript: "t".into(), messages: vec!["m1".into()], quote: (*text).into(), speaker: None };
        Prediction::new(MemoryType::Semantic, text, vec![cited])
    };
    Ran { predictions: texts.iter().map(prediction).collect(), ..Ran::default() }
}

fn value(row: &Row, name: &str) -> Option<f64> {
    let ratio = row.measures.get(name)?;
    Some(ratio.numerator / ratio.denominator)
}

#[test]
fn points_updates_and_interference_are_told_apart() {
    let table: &[(&[&str], [f64; 6])] = &[
        // recall, precision, interference, updated, stale, omitted
        (&["Ilka works as a tram driver in Graz.", "Ilka has a cat named Pixel."], [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        (&["Ilka works as a baker in Graz."], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
        (&["Ilka owns 3 dogs in Graz."], [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        (&["Ilka owns 4 dogs in Graz."], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
    ];
    for (texts, expected) in table {
        let rows = rows(&user(), &ran(texts)).unwrap();
        let names = ["recall", "precision", "interference", "updated", "stale", "omitted"];
        let found: Vec<Option<f64>> = names.iter().map(|name| value(&rows[0], name)).collect();
        assert_eq!(found, expected.map(Some), "{texts:?}");
    }
}

#[test]
fn questions_are_asked_of_what_was_made_and_those_without_evidence_are_left_out() {
    let rows = rows(&user(), &ran(&["Ilka has a cat named Pixel."])).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((value(&rows[1], "evidence@10"), value(&rows[1], "complete")), (Some(1.0), Some(1.0)));
    let nothing = super::rows(&user(), &ran(&[])).unwrap();
    assert_eq!((value(&nothing[1], "evidence@10"), value(&nothing[0], "precision")), (Some(0.0), None));
}

#[tokio::test]
async fn a_perfect_store_holds_what_must_not_be_found_too() {
    let rows = retrieval(&user(), &crate::eval::asking::Retriever::Search(None)).await.unwrap();
    assert_eq!((rows.len(), value(&rows[0], "recall@10"), value(&rows[0], "MRR")), (1, Some(1.0), Some(1.0)));
}

#[test]
fn a_file_is_known_by_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("HaluMem-Medium.jsonl");
    let line: Value = json!({"uuid": "u", "persona_info": "p", "sessions": []});
    std::fs::write(&path, format!("{line}\n\n{line}\n")).unwrap();
    assert!(is_halumem(&path));
    assert_eq!(read(&path).unwrap().len(), 2);
    std::fs::write(&path, "{\"id\": 1}\n").unwrap();
    assert!(!is_halumem(&path));
}
