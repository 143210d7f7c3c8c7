//! Tests of the offline rules on conversations that were not used to develop them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a case that cannot be read fails the test, and its output is the report"
)]

use std::fs;
use std::path::Path;

use afterthought::extract::{Span, Task, offline};
use afterthought::memory::{Candidate, MemoryType};
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use transcripts::{Message, MessageTime, Role, Transcript};

/// Minimum percentage of the extracted memories that a person would have kept.
const LEAST_PRECISION: usize = 90;
/// Minimum percentage of the memories that a person would have kept that must be extracted.
const LEAST_RECALL: usize = 90;

#[derive(Deserialize)]
struct Expected {
    logs: std::collections::BTreeMap<String, Log>,
}

#[derive(Deserialize)]
struct Log {
    /// Time of the first message; the others follow at intervals of one minute.
    began: Timestamp,
    expected: Vec<Wanted>,
    /// Words that must not appear in any memory.
    traps: Vec<String>,
}

/// A memory that a person would expect.
#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(rename = "type")]
    memory_type: MemoryType,
    /// Text that appears in one of the memory's quotes.
    quote: String,
    /// Words that must all appear in the content, ignoring case.
    words: Vec<String>,
    key: Option<String>,
    value: Option<String>,
}

impl Wanted {
    fn is_met_by(&self, found: &Candidate) -> bool {
        let content = found.claim.content.to_lowercase();
        let asked = |asked: &Option<String>, given: &Option<String>| asked.is_none() || asked == given;
        found.claim.memory_type == self.memory_type
            && found.evidence.iter().any(|piece| piece.quote.contains(&self.quote))
            && self.words.iter().all(|word| content.contains(&word.to_lowercase()))
            && asked(&self.key, &found.claim.key)
            && asked(&self.value, &found.claim.value)
    }
}

#[derive(Deserialize)]
struct Line {
    by: Role,
    name: Option<String>,
    text: String,
}

fn transcript(folder: &Path, name: &str, began: Timestamp) -> Transcript {
    let text = fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
    let mut at = began;
    let messages = text.lines().enumerate().map(|(number, line)| {
        let line: Line = serde_json::from_str(line).unwrap();
        let time = Some(MessageTime::logged(at));
        at += 1.minute();
        Message { id: number.to_string(), speaker: line.name, time, ..Message::prose(line.by, line.text) }
    });
    Transcript {
        source: "blind".into(),
        external_id: name.into(),
        messages: messages.collect(),
        ..Transcript::default()
    }
}

fn found(transcript: &Transcript) -> Vec<Candidate> {
    let span = Span { context_start: 0, start: 0, end: transcript.messages.len() };
    let task = Task { transcript, span, known: &[], instructions: None, categories: &[] };
    // An update is kept only if it changes a known memory, and there are no known memories here.
    offline::extract(&task).candidates.into_iter().filter(|candidate| !candidate.updates_only).collect()
}

#[derive(Debug, Default)]
struct Score {
    found: usize,
    right: usize,
    expected: usize,
    met: usize,
    traps: usize,
    sprung: Vec<String>,
}

fn score(name: &str, log: &Log, found: &[Candidate], total: &mut Score) {
    let wrong: Vec<&Candidate> =
        found.iter().filter(|one| !log.expected.iter().any(|wanted| wanted.is_met_by(one))).collect();
    let missed: Vec<&Wanted> =
        log.expected.iter().filter(|wanted| !found.iter().any(|one| wanted.is_met_by(one))).collect();
    for one in &wrong {
        println!("{name} wrong  {:?} {:?}", one.claim.content, one.claim.key);
    }
    for wanted in &missed {
        println!("{name} missed {:?}", wanted.quote);
    }
    total.found += found.len();
    total.right += found.len() - wrong.len();
    total.expected += log.expected.len();
    total.met += log.expected.len() - missed.len();
    total.traps += log.traps.len();
    let quotes = || found.iter().flat_map(|one| &one.evidence).map(|piece| &piece.quote);
    total.sprung.extend(log.traps.iter().filter(|&trap| quotes().any(|quote| quote.contains(trap))).cloned());
}

#[test]
fn the_rules_are_right_and_find_their_share_in_conversations_that_they_were_not_made_on() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/rules");
    let expected: Expected = serde_json::from_str(&fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    let mut total = Score::default();
    for (name, log) in &expected.logs {
        let transcript = transcript(&folder, name, log.began);
        for text in log.expected.iter().map(|wanted| &wanted.quote).chain(&log.traps) {
            assert!(transcript.messages.iter().any(|message| message.text.contains(text)), "{name} never says {text}");
        }
        score(name, log, &found(&transcript), &mut total);
    }
    println!("{total:?}");
    assert_eq!(total.sprung, Vec::<String>::new());
    assert!(total.right * 100 >= total.found * LEAST_PRECISION, "precision {} of {}", total.right, total.found);
    assert!(total.met * 100 >= total.expected * LEAST_RECALL, "recall {} of {}", total.met, total.expected);
}

#[test]
fn sentences_about_the_work_at_hand_come_to_nothing() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/rules/nothing.txt")).unwrap();
    let kept: Vec<String> = text
        .lines()
        .map(|line| Transcript { messages: vec![Message::user(line)], ..Transcript::default() })
        .flat_map(|transcript| found(&transcript))
        .map(|one| one.claim.content)
        .collect();
    assert_eq!(kept, Vec::<String>::new());
}
