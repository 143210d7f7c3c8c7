//! Reading a `LongMemEval` file.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

use crate::eval::EvalError;

/// Bytes of a file that are looked at to tell what it is; whole files have hundreds of megabytes.
const HEAD: usize = 64 * 1024;

/// A question with its haystack.
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

/// What somebody said.
#[derive(Debug, Clone, Deserialize)]
pub struct Turn {
    /// `user` or `assistant`.
    pub role: String,
    /// The words.
    pub content: String,
    /// Whether it holds the answer, or a part of it.
    #[serde(default)]
    pub has_answer: bool,
}

/// A question with its haystack.
#[derive(Debug)]
pub struct Item {
    /// Its id; that of a question without an answer ends in `_abs`.
    pub id: String,
    /// Its type, such as `temporal-reasoning`.
    pub kind: String,
    /// The question.
    pub question: String,
    /// The gold answer.
    pub answer: String,
    /// When it is asked.
    pub asked: Option<Timestamp>,
    /// The haystack.
    pub sessions: Vec<Session>,
    /// Ids of the sessions that answer it.
    pub answers: BTreeSet<String>,
}

/// A conversation of a haystack.
#[derive(Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// When it was held.
    pub at: Option<Timestamp>,
    /// What was said.
    pub turns: Vec<Turn>,
}

impl Item {
    /// Whether nothing in the haystack answers it.
    #[must_use]
    pub fn abstains(&self) -> bool {
        self.id.ends_with("_abs")
    }
}

/// Whether the file at `path` is a `LongMemEval` file, by its beginning.
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
/// [`EvalError::Read`], or [`EvalError::Form`] if it is no such file.
pub fn read(path: &Path) -> Result<Vec<Item>, EvalError> {
    let text = std::fs::read(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
    let form = |error: serde_json::Error| EvalError::Form {
        path: path.to_owned(),
        place: String::new(),
        reason: error.to_string(),
    };
    let raw: Vec<Raw> = serde_json::from_slice(&text).map_err(form)?;
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

/// Reads `2023/05/20 (Sat) 02:21`; the day of the week says nothing new.
fn time(text: &str) -> Option<Timestamp> {
    let mut words = text.split_whitespace().filter(|word| !word.starts_with('('));
    let plain = format!("{} {}", words.next()?, words.next().unwrap_or("00:00"));
    let civil = strtime::parse("%Y/%m/%d %H:%M", plain).ok()?.to_datetime().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
