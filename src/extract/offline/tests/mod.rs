//! Tests of the rules with tables of sentences, with windows, and with arbitrary text.

mod chinese;
mod english;
mod explicit;
mod scenes;
mod sentence;
mod windows;

use super::extract;
use crate::extract::{Span, Task};
use crate::memory::{Candidate, MemoryType};
use transcripts::{Message, MessageTime, Transcript};

/// The expected result of a sentence.
struct Expected {
    content: &'static str,
    memory_type: MemoryType,
    category: &'static str,
    /// Key and value, or `None`.
    slot: Option<(&'static str, &'static str)>,
}

type Row = (&'static str, Option<Expected>);

#[expect(clippy::unnecessary_wraps, reason = "rows that come to nothing hold none")]
const fn semantic(
    category: &'static str,
    content: &'static str,
    key: &'static str,
    value: &'static str,
) -> Option<Expected> {
    let slot = if key.is_empty() { None } else { Some((key, value)) };
    Some(Expected { content, memory_type: MemoryType::Semantic, category, slot })
}

#[expect(clippy::unnecessary_wraps, reason = "rows that come to nothing hold none")]
const fn procedural(category: &'static str, content: &'static str) -> Option<Expected> {
    Some(Expected { content, memory_type: MemoryType::Procedural, category, slot: None })
}

/// The sentences in the tables were said on this Wednesday.
const SAID_AT: &str = "2026-03-04T12:00:00Z";

fn said(message: Message) -> Message {
    Message { time: Some(MessageTime::logged(SAID_AT.parse().unwrap())), ..message }
}

fn transcript(messages: Vec<Message>) -> Transcript {
    let number = |(at, message): (usize, Message)| Message { id: (at + 1).to_string(), ..message };
    let messages = messages.into_iter().enumerate().map(number).collect();
    Transcript { source: "test".into(), external_id: "1".into(), messages, ..Transcript::default() }
}

/// Returns the candidates that are kept regardless of the known memories.
fn span_of(transcript: &Transcript, span: Span) -> Vec<Candidate> {
    let task = Task { transcript, span, known: &[], instructions: None, categories: &[] };
    extract(&task).candidates.into_iter().filter(|candidate| !candidate.updates_only).collect()
}

fn all(transcript: &Transcript) -> Vec<Candidate> {
    span_of(transcript, Span { context_start: 0, start: 0, end: transcript.messages.len() })
}

type Said = (String, MemoryType, String, Option<(String, String)>);

fn walk(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (sentence, expected) in rows {
        let candidates = all(&transcript(vec![said(Message::user(*sentence))]));
        let found: Vec<Said> = candidates
            .into_iter()
            .map(|Candidate { claim, .. }| {
                (claim.content, claim.memory_type, claim.category, claim.key.zip(claim.value))
            })
            .collect();
        let wanted: Vec<Said> = expected
            .iter()
            .map(|row| {
                let slot = row.slot.map(|(key, value)| (key.to_owned(), value.to_owned()));
                (row.content.to_owned(), row.memory_type, row.category.to_owned(), slot)
            })
            .collect();
        if found != wanted {
            wrong.push(format!("{sentence}\n  found  {found:?}\n  wanted {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// Checks that a table is large enough and that enough of its sentences result in nothing.
fn assert_balanced(rows: &[Row], least: usize) {
    let negatives = rows.iter().filter(|(_, expected)| expected.is_none()).count();
    assert!(rows.len() >= least && negatives * 10 >= rows.len() * 4, "{} rows, {negatives} negatives", rows.len());
}
