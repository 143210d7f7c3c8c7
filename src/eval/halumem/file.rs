//! Reading a `HaluMem` file: a user a line.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

use crate::eval::EvalError;

/// Bytes of a file that are looked at to tell what it is.
const HEAD: u64 = 64 * 1024;

/// A user with all sessions.
#[derive(Debug, Deserialize)]
pub struct User {
    /// Identity.
    pub uuid: String,
    /// The sessions, in their order.
    pub sessions: Vec<Dialogue>,
}

/// A session.
#[derive(Debug, Deserialize)]
pub struct Dialogue {
    /// What was said.
    #[serde(default, rename = "dialogue")]
    pub turns: Vec<Turn>,
    /// What should and should not be remembered of it.
    #[serde(default, rename = "memory_points")]
    pub points: Vec<Point>,
    /// The questions that are asked after it.
    #[serde(default)]
    pub questions: Vec<Question>,
}

/// A message.
#[derive(Debug, Deserialize)]
pub struct Turn {
    /// `user` or `assistant`.
    pub role: String,
    /// The words.
    pub content: String,
    /// When it was said.
    #[serde(default)]
    pub timestamp: String,
}

/// Something that should be remembered, or must not be.
#[derive(Debug, Clone, Deserialize)]
pub struct Point {
    /// What it says.
    #[serde(rename = "memory_content")]
    pub content: String,
    /// `Persona Memory`, `Event Memory` or `Relationship Memory`.
    #[serde(default, rename = "memory_type")]
    pub kind: String,
    /// `primary`, `secondary`, `system`, or `interference` for what must not be kept.
    #[serde(default, rename = "memory_source")]
    pub source: String,
    /// Whether it takes the place of others; a text in the file.
    #[serde(default)]
    is_update: Value,
    /// Those others.
    #[serde(default, rename = "original_memories")]
    pub originals: Vec<String>,
    /// How much it matters, from 0 to 1.
    #[serde(default)]
    pub importance: f64,
}

impl Point {
    /// Whether it must not be kept: the assistant's mistake.
    #[must_use]
    pub fn is_interference(&self) -> bool {
        self.source == "interference"
    }

    /// Whether it takes the place of others.
    #[must_use]
    pub fn is_update(&self) -> bool {
        let said = self.is_update.as_bool().or_else(|| Some(self.is_update.as_str()?.eq_ignore_ascii_case("true")));
        said == Some(true) && !self.originals.is_empty()
    }
}

/// A question.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The gold answer.
    #[serde(default)]
    pub answer: Value,
    /// The points that answer it.
    #[serde(default)]
    evidence: Value,
    /// Its type, such as `Memory Conflict`.
    #[serde(default, rename = "question_type")]
    pub kind: String,
}

impl Question {
    /// Returns what the points say that answer it.
    #[must_use]
    pub fn evidence(&self) -> BTreeSet<String> {
        let points = self.evidence.as_array().into_iter().flatten();
        points.filter_map(|point| point["memory_content"].as_str().or(point.as_str())).map(str::to_owned).collect()
    }

    /// Returns the gold answer as text.
    #[must_use]
    pub fn answer(&self) -> String {
        self.answer.as_str().map_or_else(|| self.answer.to_string(), str::to_owned)
    }
}

/// Reads `Dec 15, 2025, 08:41:23`.
#[must_use]
pub fn time(text: &str) -> Option<Timestamp> {
    let civil = strtime::parse("%b %d, %Y, %H:%M:%S", text.trim()).ok()?.to_datetime().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Whether the file at `path` is a `HaluMem` file, by its beginning.
#[must_use]
pub fn is_halumem(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    let is_named_so = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl"));
    let of_user = head.contains("\"sessions\"") || head.contains("\"persona_info\"");
    is_named_so && read.is_ok() && head.contains("\"uuid\"") && of_user
}

/// Reads the users of the file at `path`, in its order.
///
/// # Errors
/// [`EvalError::Read`], or [`EvalError::Form`] naming the line.
pub fn read(path: &Path) -> Result<Vec<User>, EvalError> {
    let cannot = |source| EvalError::Read { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut users = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(cannot)?;
        if line.trim().is_empty() {
            continue;
        }
        let user = serde_json::from_str(&line).map_err(|error| EvalError::Form {
            path: path.to_owned(),
            place: format!("line {}: ", index + 1),
            reason: error.to_string(),
        })?;
        users.push(user);
    }
    Ok(users)
}
