//! `LongMemEval`: whether a search finds the few sessions and turns that answer a question, among many others.
//!
//! The turns of a question's sessions are memories in one store. Files of all three sizes have the same format; in the
//! oracle file, every session contributes to the answer. Questions without an answer are excluded from retrieval, as in
//! the evaluation by the authors of the set.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::published;
use crate::EvalError;
use crate::files::read_json;
use crate::files::{CaseMemory, Moment};
use crate::results::{Row, float, ndcg};
use crate::retrieval::FoundMemory;
use crate::text::is_complete;
use crate::vocabulary::Kind;

/// Number of turns to search for; sessions are ranked by their turns.
pub const LIMIT: usize = 50;
/// Token limit of a context.
const TOKENS: usize = 1_000;
/// A question with its sessions.
#[derive(Debug, Deserialize)]
pub struct Item {
    /// Id of the question; it ends in `_abs` if the question has no answer.
    #[serde(rename = "question_id")]
    pub id: String,
    /// Type of the question, such as `temporal-reasoning`.
    #[serde(default, rename = "question_type")]
    kind: String,
    /// The question.
    pub question: String,
    #[serde(default)]
    answer: Value,
    #[serde(default, rename = "question_date")]
    asked: String,
    #[serde(default, rename = "haystack_session_ids")]
    ids: Vec<String>,
    #[serde(default, rename = "haystack_dates")]
    dates: Vec<String>,
    #[serde(rename = "haystack_sessions")]
    sessions: Vec<Vec<Turn>>,
    /// Ids of the sessions that answer the question.
    #[serde(default, rename = "answer_session_ids")]
    answers: BTreeSet<String>,
}

/// A turn of a session.
#[derive(Debug, Deserialize)]
struct Turn {
    /// `user` or `assistant`.
    role: String,
    content: String,
    /// Whether the turn contains the answer or a part of it.
    #[serde(default)]
    has_answer: bool,
}

/// Reads the questions from the file at `path`, in the order of the file.
///
/// # Errors
/// [`EvalError::Read`] if the file cannot be read, or [`EvalError::Format`] if the file is not a `LongMemEval` file.
pub fn read(path: &Path) -> Result<Vec<Item>, EvalError> {
    read_json(path)
}

/// Reads `2023/05/20 (Sat) 02:21`; the day of the week is redundant.
fn time(text: &str) -> Option<Timestamp> {
    // The weekday is in parentheses between the day and the time: `2023/05/20 (Sat) 02:21`.
    let mut words = text.split_whitespace().filter(|word| !word.starts_with('('));
    published::time("%Y/%m/%d %H:%M", &format!("{} {}", words.next()?, words.next().unwrap_or("00:00")))
}

impl Item {
    /// Returns whether no session answers the question.
    pub fn abstains(&self) -> bool {
        self.id.ends_with("_abs")
    }

    /// Returns the time at which the question is asked: the date of the question, or, failing that, the date of the
    /// last session.
    pub fn now(&self) -> Timestamp {
        let last = self.dates.iter().filter_map(|date| time(date)).max();
        time(&self.asked).or(last).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Returns the turns as memories called `session#number`.
    pub fn memories(&self) -> Vec<CaseMemory> {
        let memory = |(place, number, turn): (usize, usize, &Turn)| CaseMemory {
            id: format!("{}#{number}", self.session(place)),
            content: format!("{}: {}", turn.role, turn.content),
            speaker: Some(turn.role.clone()),
            said: self.dates.get(place).and_then(|date| time(date)).map(|at| Some(Moment::Instant(at))),
            source: Some(self.session(place)),
            ..CaseMemory::default()
        };
        self.turns().filter(|(.., turn)| !turn.content.trim().is_empty()).map(memory).collect()
    }

    fn session(&self, place: usize) -> String {
        self.ids.get(place).cloned().unwrap_or_else(|| format!("session-{place}"))
    }

    /// Returns the turns, each with the index of its session and its own index within that session.
    fn turns(&self) -> impl Iterator<Item = (usize, usize, &Turn)> {
        let sessions = self.sessions.iter().enumerate();
        sessions.flat_map(|(place, turns)| turns.iter().enumerate().map(move |(number, turn)| (place, number, turn)))
    }

    fn answering_turns(&self) -> BTreeSet<String> {
        let answering = self.turns().filter(|(.., turn)| turn.has_answer);
        answering.map(|(place, number, _)| format!("{}#{number}", self.session(place))).collect()
    }

    fn answer(&self) -> String {
        match &self.answer {
            Value::String(answer) => answer.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }
}

/// Scores the turns that the search found for the question of `item`, best first.
pub fn score(item: &Item, found: &[FoundMemory], tokens: fn(&str) -> usize) -> Row {
    let mut row = Row {
        split: if item.abstains() { "abstention" } else { "answered" }.to_owned(),
        phenomena: vec![item.kind.clone()],
        about: item.question.clone(),
        ..Row::new(Kind::LongMemEval, &item.id)
    };
    // The authors of the set exclude these questions from retrieval, because no session answers them.
    if item.abstains() {
        return row;
    }
    let mut sessions: Vec<&str> = Vec::new();
    // Each session counts once, at the position of its best turn.
    for session in found.iter().filter_map(|one| one.id.rsplit_once('#')).map(|(session, _)| session) {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    score_sessions(item, &sessions, &mut row);
    let gold = item.answering_turns();
    if !gold.is_empty() {
        let right = found.iter().take(10).filter(|one| gold.contains(&one.id)).count();
        row.mean("turn recall@10", float(right) / float(gold.len()));
    }
    let texts: Vec<&str> = found.iter().map(|one| one.content.as_str()).collect();
    if let Some(complete) = is_complete(&item.answer(), &texts, TOKENS, tokens) {
        row.yes("complete", complete);
    }
    row
}

fn score_sessions(item: &Item, sessions: &[&str], row: &mut Row) {
    let is_right = || sessions.iter().map(|session| item.answers.contains(*session));
    let among = |k: usize| is_right().take(k).filter(|right| *right).count();
    row.yes("session any@5", among(5) > 0);
    row.yes("session any@10", among(10) > 0);
    row.yes("session all@10", among(10) >= item.answers.len());
    if !item.answers.is_empty() {
        row.mean("session NDCG@10", ndcg(is_right(), item.answers.len()));
    }
    if among(10) == 0 {
        row.fault("missed", &item.id, &item.answer(), "no answering session is among the first 10");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::PublicSet;
    use super::*;

    #[test]
    fn sessions_and_turns_that_answer_count_and_abstentions_do_not() {
        let said = |text: &str, answers: bool| json!({"role": "user", "content": text, "has_answer": answers});
        let item = |id: &str, question: &str, answer: Value| {
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("longmemeval_oracle.json");
        std::fs::write(&path, items.to_string()).unwrap();
        assert_eq!(PublicSet::of(&path), Some(PublicSet::LongMemEval));
        let items = read(&path).unwrap();
        assert_eq!((items.len(), items[1].answer().as_str(), items[2].abstains()), (3, "1", true));
        let value = |row: &Row, name: &str| row.measures.get(name).map(|ratio| ratio.numerator);
        let memories = items[0].memories();
        assert_eq!((memories.len(), memories[0].id.as_str()), (3, "s1#0"));
        let found: Vec<FoundMemory> = memories
            .iter()
            .map(|one| FoundMemory { id: one.id.clone(), content: one.content.clone(), ..FoundMemory::default() })
            .collect();
        let right = score(&items[0], &found, |_| 1);
        for name in ["session any@5", "session all@10", "session NDCG@10", "turn recall@10", "complete"] {
            assert_eq!(value(&right, name), Some(1.0), "{name}");
        }
        let nothing = score(&items[0], &[], |_| 1);
        assert_eq!((value(&nothing, "session any@10"), value(&nothing, "complete")), (Some(0.0), Some(0.0)));
        let abstained = score(&items[2], &found, |_| 1);
        assert!(abstained.measures.is_empty() && abstained.split == "abstention");
    }
}
