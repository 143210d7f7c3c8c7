//! What an extractor came to, in the form in which it is scored.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::text::{folded, normal};
use crate::memory::{Evidence, Memory, MemoryType, Structured};
use transcripts::Transcript;

/// A memory as it is scored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Its type.
    #[serde(rename = "type")]
    pub memory_type: MemoryType,
    /// What it says.
    pub content: String,
    /// What it rests on.
    pub evidence: Vec<Cited>,
    /// How much it matters, from 0 to 1; `None` where the extractor does not tell.
    #[serde(skip)]
    pub importance: Option<f64>,
    /// From when and until when it holds in the world, as far as it tells.
    #[serde(skip)]
    pub valid: Vec<Timestamp>,
    /// Title, content, value and structured parts, normalised, one a line.
    #[serde(skip)]
    pub(super) searched: String,
}

/// Words of a message that a memory rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// Key of the transcript.
    pub transcript: String,
    /// Ids of the messages; the quote stands in the first.
    pub messages: Vec<String>,
    /// The words.
    pub quote: String,
    /// Who said them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
}

impl Prediction {
    /// Returns a memory that says `content` and nothing besides.
    #[must_use]
    pub fn new(memory_type: MemoryType, content: &str, evidence: Vec<Cited>) -> Self {
        Self {
            memory_type,
            content: content.to_owned(),
            evidence,
            importance: None,
            valid: Vec::new(),
            searched: normal(content),
        }
    }

    /// Returns a stored memory with what it rests on.
    #[must_use]
    pub fn of(memory: &Memory, evidence: Vec<Evidence>) -> Self {
        let claim = &memory.claim;
        let mut parts: Vec<&str> = vec![&claim.title, &claim.content];
        parts.extend(claim.value.as_deref());
        match &claim.structured {
            Some(Structured::Episode(episode)) => {
                parts.extend([episode.situation.as_str(), &episode.action]);
                parts.extend(episode.reasoning.as_deref());
                parts.extend(episode.learnings.iter().map(String::as_str));
            }
            Some(Structured::Procedure(procedure)) => {
                parts.extend([procedure.name.as_str(), &procedure.description]);
                parts.extend(procedure.steps.iter().chain(&procedure.triggers).map(String::as_str));
            }
            // Both repeat content and value.
            Some(Structured::Pattern { .. } | Structured::Profile { .. }) | None => {}
        }
        let lines: Vec<String> = parts.into_iter().map(normal).filter(|line| !line.is_empty()).collect();
        let cited = evidence.into_iter().map(|piece| Cited {
            transcript: piece.transcript,
            messages: piece.messages,
            quote: piece.quote,
            speaker: piece.speaker,
        });
        Self {
            memory_type: claim.memory_type,
            content: claim.content.clone(),
            evidence: cited.collect(),
            importance: Some(claim.importance),
            valid: [claim.valid_from, claim.valid_to, claim.expires_at].into_iter().flatten().collect(),
            searched: lines.join("\n"),
        }
    }
}

/// The messages of the conversations, as the extractor saw them, secrets taken out.
#[derive(Debug, Default)]
pub struct Messages {
    texts: BTreeMap<(String, String), Text>,
}

#[derive(Debug)]
struct Text {
    normal: String,
    folded: String,
}

impl Messages {
    /// Takes in the messages of `transcripts`.
    #[must_use]
    pub fn of(transcripts: &[Transcript]) -> Self {
        let mut texts = BTreeMap::new();
        for transcript in transcripts {
            let key = transcript.key();
            for message in &transcript.messages {
                let text = Text { normal: normal(&message.text), folded: folded(&message.text) };
                texts.insert((key.clone(), message.id.clone()), text);
            }
        }
        Self { texts }
    }

    /// Returns the normalised texts of the messages that `cited` names.
    pub(super) fn cited<'a>(&'a self, cited: &'a Cited) -> impl Iterator<Item = &'a str> {
        let found = |id: &String| self.texts.get(&(cited.transcript.clone(), id.clone()));
        cited.messages.iter().filter_map(found).map(|text| text.normal.as_str())
    }

    /// Whether the quote stands word for word in the message that it is cited from.
    pub(super) fn holds_quote(&self, cited: &Cited) -> bool {
        let quote = folded(&cited.quote);
        let first = cited.messages.first().and_then(|id| self.texts.get(&(cited.transcript.clone(), id.clone())));
        !quote.is_empty() && first.is_some_and(|text| text.folded.contains(&quote))
    }

    /// Returns all normalised texts.
    pub(super) fn all(&self) -> Vec<&str> {
        self.texts.values().map(|text| text.normal.as_str()).collect()
    }
}
