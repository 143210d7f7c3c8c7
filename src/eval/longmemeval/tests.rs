//! Made-up questions in the shape of the file.

use serde_json::json;

use super::*;
use crate::eval::asking::Retriever;

fn file(folder: &std::path::Path) -> std::path::PathBuf {
    let said = |text: &str, answers: bool| json!({"role": "user", "content": text, "has_answer": answers});
    let item = |id: &str, question: &str, answer: serde_json::Value| {
        json!({"question_id": id, "question_type": "single-session-user", "question": question, "answer": answer,
            "question_date": "2026/03/20 (Fri) 10:00", "haystack_session_ids": ["s1", "s2"],
            "haystack_dates": ["2026/03/01 (Sun) 09:00", "2026/03/05 (Thu) 09:00"],
            "haystack_sessions": [
                [said("My kayak is called Otter and it is orange.", true), {"role": "assistant", "content": "Nice."}],
                [said("How do I boil an egg?", false)]],
            "answer_session_ids": ["s1"]})
    };
    let items = json!([
        item("k1", "What is my kayak called?", json!("Otter")),
        item("k2", "How many kayaks do I own?", json!(1)),
        item("k3_abs", "What is my canoe called?", json!("You did not say."))
    ]);
    let path = folder.join("longmemeval_oracle.json");
    std::fs::write(&path, items.to_string()).unwrap();
    path
}

#[tokio::test]
async fn the_session_that_answers_is_looked_for_and_abstentions_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    assert!(is_longmemeval(&path));
    let items = read(&path).unwrap();
    assert_eq!((items.len(), items[1].answer.as_str(), items[2].abstains()), (3, "1", true));
    let value = |row: &crate::eval::rows::Row, name: &str| row.measures.get(name).map(|ratio| ratio.numerator);
    let found = row(&items[0], &Retriever::Search(None)).await.unwrap();
    for name in ["session any@5", "session all@10", "session NDCG@10", "turn recall@10", "complete"] {
        assert_eq!(value(&found, name), Some(1.0), "{name}");
    }
    let nothing = row(&items[0], &Retriever::Nothing).await.unwrap();
    assert_eq!((value(&nothing, "session any@10"), value(&nothing, "complete")), (Some(0.0), Some(0.0)));
    let abstained = row(&items[2], &Retriever::Search(None)).await.unwrap();
    assert!(abstained.measures.is_empty() && abstained.split == "abstention");
}
