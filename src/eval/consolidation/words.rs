//! From what a case says to what the pipeline would hand on.

use std::collections::BTreeMap;

use super::form::Said;
use crate::consolidate::Incoming;
use crate::memory::{Audience, Candidate, Claim, Evidence, ExtractionMethod, MemoryType, Namespace};
use transcripts::{Message, MessageTime};

/// Characters of the content that a title is made of, where there is none.
const TITLE: usize = 40;

/// Where something was said: a message of a conversation, which tells an event wherever a memory rests on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Key of the transcript.
    pub transcript: String,
    /// Id of the message.
    pub message: String,
}

impl Spot {
    /// Whether a memory that rests on `evidence` rests on what was said here.
    #[must_use]
    pub fn is_in(&self, evidence: &[Evidence]) -> bool {
        let here = |piece: &Evidence| {
            piece.transcript == self.transcript && piece.messages.first().is_some_and(|id| *id == self.message)
        };
        evidence.iter().any(here)
    }
}

/// The conversations of a case: what was said where.
#[derive(Debug, Default)]
pub struct Conversations {
    /// Quotes by the conversation that has several, in the order in which they come.
    quotes: BTreeMap<String, Vec<String>>,
}

impl Conversations {
    /// Returns what `said` would be handed on as, and the message that it rests on.
    pub fn incoming(&mut self, case: &str, id: &str, said: &Said) -> (Incoming, Spot) {
        let quote = said.quote.clone().unwrap_or_else(|| said.content.clone());
        let transcript = format!("eval:{case}/{}", said.source.as_deref().unwrap_or(id));
        let quotes = self.quotes.entry(transcript.clone()).or_default();
        let place = quotes.iter().position(|known| *known == quote).unwrap_or_else(|| {
            quotes.push(quote.clone());
            quotes.len() - 1
        });
        let spot = Spot { message: (place + 1).to_string(), transcript };
        // A quote is a part of its message: the same words elsewhere are another message.
        let text = format!("{}\n{quote}", spot.transcript);
        let message = Message { speaker: said.speaker.clone(), ..Message::user(text) };
        let evidence = Evidence {
            transcript: spot.transcript.clone(),
            messages: vec![spot.message.clone()],
            quote,
            speaker: said.speaker.clone(),
            said_at: said.said.map(|said| MessageTime::logged(said.said())),
            content_hash: message.content_hash(),
        };
        let candidate = Candidate {
            claim: claim(said),
            audience: Audience::Project,
            evidence: vec![evidence],
            replaces: None,
            is_pasted: false,
        };
        let incoming = Incoming {
            candidate,
            namespace: namespace(said),
            source: spot.transcript.clone(),
            method: ExtractionMethod::Auto,
        };
        (incoming, spot)
    }
}

/// Returns where `said` belongs.
pub fn namespace(said: &Said) -> Namespace {
    let usual = || Namespace::project("case").unwrap_or_else(|_| Namespace::global());
    said.namespace.clone().unwrap_or_else(usual)
}

fn claim(said: &Said) -> Claim {
    let title = said.title.clone().unwrap_or_else(|| said.content.chars().take(TITLE).collect());
    let category = said.category.as_deref().unwrap_or("fact");
    let mut claim = Claim::new(said.memory_type.unwrap_or(MemoryType::Semantic), category, title, &said.content);
    claim.subject.clone_from(&said.subject);
    claim.key.clone_from(&said.key);
    claim.value.clone_from(&said.value);
    claim.valid_from = said.from.map(super::moment::Moment::first);
    claim.valid_to = said.to.map(super::moment::Moment::last);
    claim.confidence = said.confidence.unwrap_or(0.85);
    claim.importance = said.importance.unwrap_or(0.5);
    claim
}
