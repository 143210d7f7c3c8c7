//! `LongMemEval`: whether the search finds the sessions and turns that answer a question, among many that do not.
//!
//! The turns of a question's sessions are memories of one store. Files of all three sizes have the same format: in the
//! oracle's, every session answers. Questions that nothing answers are left out of retrieval, as their authors do.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

use crate::EvalError;
use crate::case::Moment;
use crate::files::read_json;
use crate::matching::{LEAST_SHARE, share as share_of, words};
use crate::retrieval::{FoundMemory, StoredMemory};
use crate::row::{Measure, Row, fitting, float, measures_of, ndcg, share};

/// Kind of the rows.
pub const KIND: &str = "longmemeval";
/// Number of turns to search for; sessions are ranked by them.
pub const LIMIT: usize = 50;
/// Token limit of a context.
const TOKENS: usize = 1_000;
/// Bytes of a file that identify it; whole files have hundreds of megabytes.
const HEAD: usize = 64 * 1024;

/// A question as it stands in the file.
#[derive(Debug, Deserialize)]
struct Raw {
    question_id: String,
    #[serde(default)]
    question_type: String,
    question: String,
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    question_date: String,
    #[serde(default)]
    haystack_session_ids: Vec<String>,
    #[serde(default)]
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
    #[serde(default)]
    answer_session_ids: BTreeSet<String>,
}

/// A turn of a session.
#[derive(Debug, Clone, Deserialize)]
struct Turn {
    /// `user` or `assistant`.
    role: String,
    /// The words.
    content: String,
    /// Whether it contains the answer or a part of it.
    #[serde(default)]
    has_answer: bool,
}

/// A question with its sessions.
#[derive(Debug)]
pub struct Item {
    /// Its id; that of a question without an answer ends in `_abs`.
    pub id: String,
    /// Its type, such as `temporal-reasoning`.
    kind: String,
    /// The question.
    pub question: String,
    /// The gold answer.
    answer: String,
    /// When it is asked.
    asked: Option<Timestamp>,
    /// The sessions.
    sessions: Vec<Session>,
    /// Ids of the sessions that answer it.
    answers: BTreeSet<String>,
}

/// A session.
#[derive(Debug)]
struct Session {
    /// Its id.
    id: String,
    /// When it took place.
    at: Option<Timestamp>,
    /// Its turns.
    turns: Vec<Turn>,
}

impl Item {
    /// Returns whether no session answers it.
    #[must_use]
    pub fn abstains(&self) -> bool {
        self.id.ends_with("_abs")
    }
}

/// Returns whether the file at `path` is a `LongMemEval` file, by its beginning.
#[must_use]
pub fn is_longmemeval(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    read.is_ok() && head.contains("\"question_id\"") && head.contains("\"haystack_")
}

/// Reads the questions of the file at `path`, in its order.
///
/// # Errors
/// [`EvalError::Read`], or [`EvalError::Format`] if it is no such file.
pub fn read(path: &Path) -> Result<Vec<Item>, EvalError> {
    let raw: Vec<Raw> = read_json(path)?;
    Ok(raw.into_iter().map(item).collect())
}

fn item(raw: Raw) -> Item {
    let sessions = raw.haystack_sessions.into_iter().enumerate().map(|(place, turns)| Session {
        id: raw.haystack_session_ids.get(place).cloned().unwrap_or_else(|| format!("session-{place}")),
        at: raw.haystack_dates.get(place).and_then(|date| time(date)),
        turns,
    });
    Item {
        sessions: sessions.collect(),
        answer: match raw.answer {
            Value::String(answer) => answer,
            Value::Null => String::new(),
            other => other.to_string(),
        },
        id: raw.question_id,
        kind: raw.question_type,
        question: raw.question,
        asked: time(&raw.question_date),
        answers: raw.answer_session_ids,
    }
}

/// Reads `2023/05/20 (Sat) 02:21`; the day of the week is redundant.
fn time(text: &str) -> Option<Timestamp> {
    let mut words = text.split_whitespace().filter(|word| !word.starts_with('('));
    let plain = format!("{} {}", words.next()?, words.next().unwrap_or("00:00"));
    let civil = strtime::parse("%Y/%m/%d %H:%M", plain).ok()?.to_datetime().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Returns the measures of the rows.
#[must_use]
pub fn measures() -> Vec<Measure> {
    let definitions = [
        share("session any@5", "questions with a session that answers among the first 5"),
        share("session any@10", "among the first 10"),
        share("session all@10", "questions with all sessions that answer among the first 10"),
        share("session NDCG@10", "discounted gain of the answering sessions among the first 10"),
        share("turn recall@10", "turns that answer, among the first 10 turns"),
        share("complete", "contexts of 1,000 tokens with two thirds of the answer's words"),
    ];
    measures_of(KIND, &definitions)
}

impl Item {
    /// Returns when the question is asked: at its date, else at the last session.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let last = self.sessions.iter().filter_map(|session| session.at).max();
        self.asked.or(last).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Returns the turns as memories called `session#number`.
    #[must_use]
    pub fn memories(&self) -> Vec<StoredMemory> {
        let mut memories = Vec::new();
        for session in &self.sessions {
            let turns = session.turns.iter().enumerate().filter(|(_, turn)| !turn.content.trim().is_empty());
            memories.extend(turns.map(|(number, turn)| StoredMemory {
                id: format!("{}#{number}", session.id),
                content: format!("{}: {}", turn.role, turn.content),
                speaker: Some(turn.role.clone()),
                said: session.at.map(Moment::Instant),
                source: Some(session.id.clone()),
                ..StoredMemory::default()
            }));
        }
        memories
    }

    fn answering_turns(&self) -> BTreeSet<String> {
        let turns =
            self.sessions.iter().flat_map(|session| session.turns.iter().enumerate().map(move |turn| (session, turn)));
        turns
            .filter(|(_, (_, turn))| turn.has_answer)
            .map(|(session, (at, _))| format!("{}#{at}", session.id))
            .collect()
    }
}

/// Scores the turns that the search has found for the question of `item`, best first.
#[must_use]
pub fn score(item: &Item, found: &[FoundMemory], tokens: fn(&str) -> usize) -> Row {
    let mut row = Row {
        kind: KIND.to_owned(),
        case: item.id.clone(),
        split: if item.abstains() { "abstention" } else { "answered" }.to_owned(),
        phenomena: vec![item.kind.clone()],
        about: item.question.clone(),
        ..Row::default()
    };
    if item.abstains() {
        return row;
    }
    let mut sessions: Vec<&str> = Vec::new();
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
    let context = texts[..fitting(&texts, TOKENS, tokens)].join("\n");
    let wanted = words(&item.answer);
    if !wanted.is_empty() {
        row.yes("complete", share_of(&wanted, &words(&context)) >= LEAST_SHARE);
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
        row.fault("missed", &item.id, &item.answer, "no session that answers is among the first 10");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        assert!(is_longmemeval(&path));
        let items = read(&path).unwrap();
        assert_eq!((items.len(), items[1].answer.as_str(), items[2].abstains()), (3, "1", true));
        let value = |row: &Row, name: &str| row.measures.get(name).map(|ratio| ratio.numerator);
        let memories = items[0].memories();
        assert_eq!((memories.len(), memories[0].id.as_str()), (3, "s1#0"));
        let found: Vec<FoundMemory> =
            memories.iter().map(|one| FoundMemory { id: one.id.clone(), content: one.content.clone() }).collect();
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
