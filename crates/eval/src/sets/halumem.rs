//! `HaluMem`: memories extracted from long dialogues, compared with points that should be remembered, updated or left
//! out.
//!
//! ```text
//! user ─▶ sessions as logs ─▶ memories ─▶ extraction: points stated, interference accepted
//!                                      ├▶ updates: new value stated and old one gone, stale, or omitted
//!                                      └▶ questions: evidence and answer among the search results
//!      └▶ points as memories ─▶ search ─▶ evidence found, interference found
//! ```
//!
//! The set contains texts and no patterns, so a point counts as stated if a memory has most of its words and all of its
//! numbers. The result is a lower bound and cannot be compared with scores assigned by a model as a judge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::published::{self, children};
use crate::EvalError;
use crate::extraction::{CaseMessage, Prediction};
use crate::files::{CaseMemory, Moment};
use crate::files::{format_error, read_text};
use crate::results::{Row, float, reciprocal_rank};
use crate::retrieval::FoundMemory;
use crate::text::{LEAST_SHARE, fact_words, is_complete, numbers_agree, share_of};
use crate::vocabulary::{Kind, Role};

/// Number of memories to search for.
pub const LIMIT: usize = 20;
/// Token limit of a context.
const TOKENS: usize = 1_000;
/// Number of leading results in which evidence counts.
pub const PLACES: usize = 10;
/// A user with all of the user's sessions.
#[derive(Debug, Deserialize)]
pub struct User {
    /// The user's identifier.
    pub uuid: String,
    /// The sessions, in order.
    sessions: Vec<Dialogue>,
}

/// A session.
#[derive(Debug, Deserialize)]
struct Dialogue {
    /// The turns of the session.
    #[serde(default, rename = "dialogue")]
    turns: Vec<Turn>,
    /// Points that should be remembered, and points that should not.
    #[serde(default, rename = "memory_points")]
    points: Vec<Point>,
    /// The questions that are asked after the session.
    #[serde(default)]
    questions: Vec<Question>,
}

/// A message.
#[derive(Debug, Deserialize)]
struct Turn {
    /// `user` or `assistant`.
    role: String,
    /// The text of the message.
    content: String,
    /// Time of the message.
    #[serde(default)]
    timestamp: String,
}

/// A fact that should be remembered, or must not be.
#[derive(Debug, Clone, Deserialize)]
struct Point {
    /// Text of the point.
    #[serde(rename = "memory_content")]
    content: String,
    /// `Persona Memory`, `Event Memory` or `Relationship Memory`.
    #[serde(default, rename = "memory_type")]
    kind: String,
    /// `primary`, `secondary`, `system`, or `interference` for a point that must not be kept.
    #[serde(default, rename = "memory_source")]
    source: String,
    /// Whether the point replaces other points; written as text in the file.
    #[serde(default)]
    is_update: Value,
    /// The points that this point replaces.
    #[serde(default, rename = "original_memories")]
    originals: Vec<String>,
    /// Importance of the point, from 0 to 1.
    #[serde(default)]
    importance: f64,
    /// Time at which the point was mentioned.
    #[serde(default)]
    timestamp: String,
}

impl Point {
    /// Returns whether the point must not be kept because it is a mistake of the assistant.
    fn is_interference(&self) -> bool {
        self.source == "interference"
    }

    /// Returns whether the point replaces other points.
    fn is_update(&self) -> bool {
        let is_update =
            // The published files write booleans as the texts "True" and "False".
            self.is_update.as_bool().or_else(|| Some(self.is_update.as_str()?.eq_ignore_ascii_case("true")));
        is_update == Some(true) && !self.originals.is_empty()
    }
}

/// A question.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The gold answer.
    #[serde(default)]
    answer: Value,
    /// The points that answer the question.
    #[serde(default)]
    evidence: Value,
    /// Type of the question, such as `Memory Conflict`.
    #[serde(default, rename = "question_type")]
    kind: String,
}

impl Question {
    /// Returns the texts of the points that answer the question.
    fn evidence(&self) -> BTreeSet<String> {
        let points = self.evidence.as_array().into_iter().flatten();
        points.filter_map(|point| point["memory_content"].as_str().or(point.as_str())).map(str::to_owned).collect()
    }

    /// Returns the gold answer as text.
    fn answer(&self) -> String {
        self.answer.as_str().map_or_else(|| self.answer.to_string(), str::to_owned)
    }
}

/// Reads `Dec 15, 2025, 08:41:23`.
fn time(text: &str) -> Option<Timestamp> {
    published::time("%b %d, %Y, %H:%M:%S", text.trim())
}

/// Returns the files of users at `path`: the file itself, or those in the folder, sorted by name.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    children(path).into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

/// Reads the users from the file at `path`, one per line and in the order of the file, or from the files in a folder.
///
/// # Errors
/// [`EvalError::Read`] if the file cannot be read, or [`EvalError::Format`] with the invalid line.
pub fn read(path: &Path) -> Result<Vec<User>, EvalError> {
    Ok(files(path).iter().map(|file| read_file(file)).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn read_file(path: &Path) -> Result<Vec<User>, EvalError> {
    let text = read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let user = |(index, line): (usize, &str)| {
        let place = format!("line {}: ", index + 1);
        serde_json::from_str(line).map_err(|error| format_error(path, &place, error.to_string()))
    };
    lines.map(user).collect()
}

impl User {
    /// Returns the sessions as conversations with their ids.
    pub fn conversations(&self) -> Vec<(String, Vec<CaseMessage>)> {
        let sessions = self.sessions.iter().enumerate().filter(|(_, session)| !session.turns.is_empty());
        let conversation = |(number, session): (usize, &Dialogue)| {
            let messages = session.turns.iter().map(|turn| CaseMessage {
                role: if turn.role == "assistant" { Role::Assistant } else { Role::User },
                speaker: None,
                at: time(&turn.timestamp).map(Moment::Instant),
                text: turn.content.clone(),
            });
            (format!("{}-session-{number:03}", self.uuid), messages.collect())
        };
        sessions.map(conversation).collect()
    }

    /// Returns the time at which the questions are asked, which is the time of the last turn.
    pub fn now(&self) -> Timestamp {
        let turns = self.sessions.iter().flat_map(|session| &session.turns);
        turns.filter_map(|turn| time(&turn.timestamp)).max().unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Returns all points as memories, including the interference: each with its time, and with the session that
    /// mentioned it first as its source.
    pub fn points_as_memories(&self) -> Vec<CaseMemory> {
        let mut seen = BTreeSet::new();
        let sessions = self.sessions.iter().enumerate();
        let points = sessions.flat_map(|(number, session)| session.points.iter().map(move |point| (number, point)));
        let first = points.filter(|(_, point)| seen.insert(point.content.as_str())).enumerate();
        let memory = |(number, (session, point)): (usize, (usize, &Point))| CaseMemory {
            id: format!("p{number}"),
            content: point.content.clone(),
            source: Some(format!("session-{session:03}")),
            said: Some(time(&point.timestamp).map(Moment::Instant)),
            ..CaseMemory::default()
        };
        first.map(memory).collect()
    }

    /// Returns the questions that have evidence, with their numbers.
    pub fn questions(&self) -> impl Iterator<Item = (usize, &Question)> {
        let questions = self.sessions.iter().flat_map(|session| &session.questions);
        // Questions are numbered before filtering, so that each has the same number in all measures.
        questions.enumerate().filter(|(_, question)| !question.evidence().is_empty())
    }

    fn points_by_text(&self) -> BTreeMap<&str, &Point> {
        let mut points: BTreeMap<&str, &Point> = BTreeMap::new();
        for point in self.sessions.iter().flat_map(|session| &session.points) {
            // A point may be repeated in later sessions; if it were stored twice, the copies would compete with each
            // other.
            points.entry(&point.content).or_insert(point);
        }
        points
    }

    fn row(&self, kind: Kind) -> Row {
        Row { split: self.uuid.clone(), ..Row::new(kind, &self.uuid) }
    }

    fn question_row(&self, kind: Kind, number: usize, question: &Question) -> Row {
        Row {
            case: format!("{}/{number}", self.uuid),
            phenomena: vec![question.kind.clone()],
            about: question.question.clone(),
            ..self.row(kind)
        }
    }
}

/// Scores the memories extracted from a user's sessions.
pub fn score_user(user: &User, memories: &[Prediction]) -> Row {
    let points: Vec<&Point> = user.sessions.iter().flat_map(|session| &session.points).collect();
    let mut row = user.row(Kind::HaluMem);
    score_points(&points, memories, &mut row);
    score_updates(&points, memories, &mut row);
    row
}

/// Returns how closely a memory states `text`: 0 if a number differs or too few of its words occur.
fn closeness(text: &str, memory: &str) -> f64 {
    let (gold, said) = (fact_words(text), fact_words(memory));
    let (recall, precision) = (share_of(&gold, &said), share_of(&said, &gold));
    if recall < LEAST_SHARE || !numbers_agree(text, memory) {
        return 0.0;
    }
    recall + precision
}

fn score_points(points: &[&Point], memories: &[Prediction], row: &mut Row) {
    let (lies, said): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|point| point.is_interference());
    // A replaced fact should no longer be stated, which `score_updates` checks.
    let replaced =
        |point: &&Point| said.iter().any(|other| other.is_update() && other.originals.contains(&point.content));
    let truths: Vec<&Point> = said.iter().copied().filter(|point| !replaced(point)).collect();
    let best = |points: &[&Point], memory: &Prediction| {
        points.iter().map(|point| closeness(&point.content, &memory.content)).fold(0.0, f64::max)
    };
    let true_of: Vec<f64> = memories.iter().map(|memory| best(&truths, memory)).collect();
    let false_of: Vec<f64> = memories.iter().map(|memory| best(&lies, memory)).collect();
    for point in &truths {
        let is_said = memories.iter().any(|memory| closeness(&point.content, &memory.content) > 0.0);
        row.yes("recall", is_said);
        row.add("recall weighted", if is_said { point.importance } else { 0.0 }, point.importance);
        if !is_said {
            row.fault("missed", &point.content, &point.content, &point.kind);
        }
    }
    for (one, other) in true_of.iter().zip(&false_of) {
        // A tie is decided in favour of the true point, because the interference then adds nothing to it.
        row.yes("precision", *one > 0.0 && one >= other);
    }
    for point in &lies {
        let accepts = |at: usize, memory: &Prediction| {
            let close = closeness(&point.content, &memory.content);
            close > 0.0 && close > true_of[at]
        };
        let is_accepted = memories.iter().enumerate().any(|(at, memory)| accepts(at, memory));
        row.yes("interference", is_accepted);
        if is_accepted {
            row.fault("interference", &point.content, &point.content, "the assistant said it, and it is false");
        }
    }
}

fn score_updates(points: &[&Point], memories: &[Prediction], row: &mut Row) {
    for point in points.iter().filter(|point| point.is_update() && !point.is_interference()) {
        let new = |memory: &&Prediction| closeness(&point.content, &memory.content);
        let is_said = memories.iter().any(|memory| new(&memory) > 0.0);
        // A memory about the change states both facts; it is stale only if it is closer to the old fact.
        let is_stale = memories
            .iter()
            .any(|memory| point.originals.iter().any(|old| closeness(old, &memory.content) > new(&memory)));
        row.yes("updated", is_said && !is_stale);
        row.yes("stale", is_stale);
        row.yes("omitted", !is_said);
    }
}

/// Scores the extracted memories that the search found for a question, best first.
pub fn score_question(
    user: &User,
    number: usize,
    question: &Question,
    found: &[FoundMemory],
    tokens: fn(&str) -> usize,
) -> Row {
    let mut row = user.question_row(Kind::HaluMemQuestions, number, question);
    let texts: Vec<&str> = found.iter().map(|one| one.content.as_str()).collect();
    let evidence = question.evidence();
    let is_found = |piece: &&String| texts.iter().take(PLACES).any(|text| closeness(piece, text) > 0.0);
    row.mean("evidence@10", float(evidence.iter().filter(is_found).count()) / float(evidence.len()));
    if let Some(complete) = is_complete(&question.answer(), &texts, TOKENS, tokens) {
        row.yes("complete", complete);
    }
    row
}

/// Scores the points that each way of searching found for a question in a store of all points, best first; `None` if no
/// point answers it.
pub fn score_retrieval(user: &User, number: usize, question: &Question, ways: &[(&str, Vec<String>)]) -> Option<Row> {
    let points = user.points_by_text();
    // Evidence that is not among the points is not in the store, so no search could find it.
    let gold: BTreeSet<String> =
        question.evidence().into_iter().filter(|one| points.contains_key(one.as_str())).collect();
    if gold.is_empty() {
        return None;
    }
    let mut row = user.question_row(Kind::HaluMemRetrieval, number, question);
    for (way, found) in ways {
        let found = &found[..found.len().min(PLACES)];
        let is_right = || found.iter().map(|content| gold.contains(content));
        row.mean(&format!("{way}recall@10"), float(is_right().filter(|right| *right).count()) / float(gold.len()));
        row.mean(&format!("{way}MRR"), reciprocal_rank(is_right()));
        let is_lie = |content: &&String| points.get(content.as_str()).is_some_and(|point| point.is_interference());
        row.add(&format!("{way}interference@10"), float(found.iter().filter(is_lie).count()), float(found.len()));
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::PublicSet;
    use super::*;
    use crate::vocabulary::MemoryType;

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

    fn predictions(texts: &[&str]) -> Vec<Prediction> {
        texts.iter().map(|text| Prediction::new(MemoryType::Semantic, text, Vec::new())).collect()
    }

    fn value(row: &Row, name: &str) -> Option<f64> {
        let ratio = row.measures.get(name)?;
        Some(ratio.numerator / ratio.denominator)
    }

    #[test]
    fn points_updates_and_interference_are_distinguished() {
        let table: &[(&[&str], [f64; 6])] = &[
            // Columns: recall, precision, interference, updated, stale, omitted.
            (&["Ilka works as a tram driver in Graz.", "Ilka has a cat named Pixel."], [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
            (&["Ilka works as a baker in Graz."], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
            (&["Ilka owns 3 dogs in Graz."], [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
            (&["Ilka owns 4 dogs in Graz."], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ];
        for (texts, expected) in table {
            let row = score_user(&user(), &predictions(texts));
            let names = ["recall", "precision", "interference", "updated", "stale", "omitted"];
            let found: Vec<Option<f64>> = names.iter().map(|name| value(&row, name)).collect();
            assert_eq!(found, expected.map(Some), "{texts:?}");
        }
    }

    #[test]
    fn questions_without_evidence_are_left_out() {
        let user = user();
        let questions: Vec<_> = user.questions().collect();
        assert_eq!(questions.len(), 1);
        let (number, question) = questions[0];
        let found = [FoundMemory { content: "Ilka has a cat named Pixel.".to_owned(), ..FoundMemory::default() }];
        let row = score_question(&user, number, question, &found, |_| 1);
        assert_eq!((value(&row, "evidence@10"), value(&row, "complete")), (Some(1.0), Some(1.0)));
        assert_eq!(value(&score_question(&user, number, question, &[], |_| 1), "evidence@10"), Some(0.0));
        assert_eq!(value(&score_user(&user, &[]), "precision"), None);
        let ways = [
            ("", vec!["Ilka has a cat named Pixel.".to_owned()]),
            ("FTS5 ", vec!["Ilka owns 3 dogs in Graz.".to_owned()]),
        ];
        let row = score_retrieval(&user, number, question, &ways).unwrap();
        let figures = ["recall@10", "MRR", "interference@10", "FTS5 recall@10", "FTS5 interference@10"];
        assert_eq!(figures.map(|name| value(&row, name)), [1.0, 1.0, 0.0, 0.0, 1.0].map(Some));
        let memories = user.points_as_memories();
        let sources: Vec<_> = memories.iter().map(|memory| memory.source.as_deref().unwrap()).collect();
        assert_eq!(sources, ["session-000", "session-000", "session-001", "session-001"]);
        assert!(
            memories.iter().all(|memory| memory.said.flatten() == time("Dec 15, 2025, 08:41:23").map(Moment::Instant))
        );
    }

    #[test]
    fn a_file_is_identified_by_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("HaluMem-Medium.jsonl");
        let line: Value = json!({"uuid": "u", "persona_info": "p", "sessions": []});
        std::fs::write(&path, format!("{line}\n\n{line}\n")).unwrap();
        assert_eq!(PublicSet::of(&path), Some(PublicSet::HaluMem));
        assert_eq!(read(&path).unwrap().len(), 2);
        assert_eq!(PublicSet::of(folder.path()), Some(PublicSet::HaluMem));
        assert_eq!(read(folder.path()).unwrap().len(), 2);
        std::fs::write(&path, "{\"id\": 1}\n").unwrap();
        assert_eq!(PublicSet::of(&path), None);
    }
}
