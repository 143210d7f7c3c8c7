//! The offline extractor: finds explicit statements by rules, without a model.
//!
//! The extractor reads the words of people sentence by sentence and keeps only explicit statements: requests to
//! remember something, standing instructions, decisions that name their object, statements of people about themselves
//! and their preferences, and corrections of such statements. Each language has cues, patterns that recognise such a
//! statement at the start of a clause, and vetoes, patterns of sentences that are ignored. The rules are meant to be
//! precise rather than complete. Most sentences of most conversations are of no use later, and questions, suppositions,
//! role play, jokes, quotations and remarks about the moment are not kept.

mod agreed;
mod candidates;
mod claims;
mod clause;
mod convention;
mod correction;
mod cues;
mod explicit;
mod grammar;
mod instructed;
mod kinds;
mod language;
mod later;
mod naming;
mod product;
mod read;
mod scene;
pub(super) mod sentence;
mod standing;
mod updates;

use std::collections::HashSet;

pub(super) use explicit::title as first_words;
pub(crate) use instructed::warnings;
use sentence::own_sentences;
pub(crate) use sentence::prose_sentences;

use crate::extract::withheld::WithheldMessages;
use crate::extract::{Extraction, Task};
use crate::memory::{Candidate, MemoryType};
use crate::text::change::phrases;
use transcripts::Message;

use candidates::Gathered;
use clause::Voice;
use instructed::InstructionFilter;
use scene::Scenes;

/// Version of the rules. The version changes whenever the rules find different statements.
pub(crate) const VERSION: &str = "rules-20";

/// A message with more sentences than this describes a task, and its instructions end with the task.
const MAX_SENTENCES_ASIDE: usize = 8;
/// Maximum length of a name before what is said to its bearer, in bytes.
const LONGEST_ADDRESS: usize = 60;

/// Number of messages on each side of a window that are searched for names of participants. Searching the whole
/// transcript for each window would take quadratic time.
const MAX_NEAR: usize = 500;

/// Extracts what the people in the window state explicitly. The same window always results in the same candidates.
///
/// The function takes time linear in the length of the text, never fails, and sends no requests. Candidates are in the
/// order of the words they are based on. Known memories are filtered out later, by consolidation.
#[must_use]
pub fn extract(task: &Task<'_>) -> Extraction {
    let scenes = &Scenes::of(task);
    let withheld = WithheldMessages::of(&task.transcript.messages, task.span);
    let mut gathered = Gathered::new(task);
    let participants = participants(near(task));
    for (at, message) in task.messages().iter().enumerate() {
        let at = task.span.start + at;
        if message.is_human() && !withheld.contains(at) {
            add_statements(task, at, scenes, &participants, &mut gathered);
        }
    }
    agreed::agreed(task, &mut gathered);
    gathered.take_back(|candidate| scenes.rests_on_play(task, candidate));
    let cites = |candidate: &Candidate, at: usize| {
        let id = &task.transcript.messages[at].id;
        candidate.evidence.iter().any(|piece| piece.messages.contains(id))
    };
    gathered.take_back(|candidate| withheld.indexes().any(|at| cites(candidate, at)));
    later::take_back(task, scenes, &mut gathered);
    let mut candidates = gathered.finish();
    if let Some(instructions) = task.instructions {
        let filter = InstructionFilter::read(instructions);
        candidates.retain(|candidate| filter.allows(candidate));
    }
    Extraction::without_calls(candidates)
}

/// Returns the messages of the window and the messages around it.
fn near<'a>(task: &Task<'a>) -> &'a [Message] {
    let messages = &task.transcript.messages;
    let end = messages.len().min(task.span.end.saturating_add(MAX_NEAR));
    &messages[task.span.start.saturating_sub(MAX_NEAR).min(end)..end]
}

/// Returns the names by which the people in `messages` address each other, in lower case.
fn participants(messages: &[Message]) -> HashSet<String> {
    let speakers: HashSet<&str> =
        messages.iter().filter(|message| message.is_human()).filter_map(|message| message.speaker.as_deref()).collect();
    // Of a full name, people use the first part.
    let first = |name: &str| name.split_whitespace().next().map(str::to_lowercase);
    speakers.into_iter().flat_map(|name| [Some(name.to_lowercase()), first(name)]).flatten().collect()
}

/// Returns `text` without the names of the participants at its beginning, to whom it is addressed: `rui: I prefer tea`.
fn without_address<'a>(mut text: &'a str, participants: &HashSet<String>) -> &'a str {
    while let Some((name, rest)) = text.split_once([':', ',', '：', '，']) {
        let name = name.trim().trim_start_matches('@');
        let is_close = rest.starts_with(char::is_whitespace) || !name.is_ascii();
        if !is_close || name.len() > LONGEST_ADDRESS || !participants.contains(&name.to_lowercase()) {
            break;
        }
        text = rest.trim_start();
    }
    text
}

/// Adds what the person states in the message at index `at` of the transcript.
fn add_statements<'a>(
    task: &Task<'a>,
    at: usize,
    scenes: &Scenes,
    participants: &HashSet<String>,
    gathered: &mut Gathered<'a>,
) {
    let message = &task.transcript.messages[at];
    let voice = Voice::of(message);
    let mut said = own_sentences(without_address(spoken(message), participants));
    said.retain(|said| !scenes.hides(at, &message.text, said));
    correction::without_jests(message, &mut said);
    let before = correction::last_of_same(task, at, message);
    correction::take_back(message, before, || correction::amends(message, &said), gathered);
    // Among people, a long message is a speech rather than the description of a task.
    let is_brief = voice.speaker.is_none() && said.len() > MAX_SENTENCES_ASIDE;
    let sentences = said;
    for (place, said) in sentences.iter().enumerate() {
        let next = sentences.get(place + 1).copied();
        let mut findings: Vec<_> =
            read::sentence(said, &voice).into_iter().chain(explicit::sentence(message, said, &voice)).collect();
        let last = place.checked_sub(1).and_then(|place| sentences.get(place)).copied();
        let convention = convention::sentence(message, last, said, &voice);
        if convention.is_some() {
            // The same order, with the words around it.
            findings.retain(|finding| finding.claim.memory_type != MemoryType::Procedural);
        }
        let findings: Vec<_> = findings
            .into_iter()
            .map(|finding| (finding, *said))
            .chain(convention)
            .flat_map(|(finding, quote)| naming::apart(finding).into_iter().map(move |one| (one, quote)))
            .collect();
        // In the description of a task, "drop the cache" is a step of the task.
        let is_said = findings.iter().any(|(finding, _)| !phrases(&finding.claim.content).is_empty());
        let update = || updates::sentence(message, said, next, &voice);
        if let Some((finding, quote)) = (!is_brief && !is_said).then(update).flatten() {
            gathered.add_update(finding, message, quote);
        }
        for (finding, quote) in findings {
            // "Never do the next step first" in the description of a task is about that task.
            if !is_brief || finding.claim.memory_type != MemoryType::Procedural || read::is_abiding(said) {
                gathered.add(finding, &[(message, quote)]);
            }
        }
    }
}

/// Returns the words of `message`. A script sets everything that a person says in quotation marks.
fn spoken(message: &Message) -> &str {
    let text = message.text.trim();
    let inner = [("\"", "\""), ("“", "”"), ("„", "“"), ("«", "»")].iter().find_map(|(open, close)| {
        text.strip_prefix(open)?.strip_suffix(close).filter(|inner| !inner.contains(*open) && !inner.contains(*close))
    });
    inner.filter(|_| message.speaker.is_some()).unwrap_or(&message.text)
}

#[cfg(test)]
mod tests;
