//! Plain input for the scores: conversations, extracted memories and their cost.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regex::Regex;

use crate::results::Cost;
use crate::text::{fold, normalize};
use crate::vocabulary::{MemoryType, Role};

/// A memory that the system under test has produced.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Type of the memory.
    pub memory_type: MemoryType,
    /// Content of the memory.
    pub content: String,
    /// The messages that the memory cites.
    pub evidence: Vec<Citation>,
    /// Importance of the memory from 0 to 1, if the system provides one.
    pub importance: Option<f64>,
    /// The times at which the memory's validity begins and ends, where known.
    pub valid: Vec<Timestamp>,
    /// All texts of the memory, normalised, one per line.
    pub(crate) searched: String,
    /// The texts other than the content, each with the name of its field.
    pub(crate) others: Vec<(String, String)>,
}

/// A quote from a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Key of the conversation.
    pub conversation: String,
    /// Ids of the messages; the quote appears in the first message.
    pub messages: Vec<String>,
    /// The quote.
    pub quote: String,
    /// Speaker of the quote.
    pub speaker: Option<String>,
}

impl Prediction {
    /// Returns a memory whose only text is its content.
    pub fn new(memory_type: MemoryType, content: &str, evidence: Vec<Citation>) -> Self {
        Self {
            memory_type,
            content: content.to_owned(),
            evidence,
            importance: None,
            valid: Vec::new(),
            searched: normalize(content),
            others: Vec::new(),
        }
    }

    /// Replaces the texts in which patterns are searched for: title, content, value and any other text that a reader
    /// sees, each with the name of its field.
    #[must_use]
    pub fn with_texts<'a>(mut self, texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts: Vec<(&str, &str)> = texts.into_iter().collect();
        let lines: Vec<String> =
            texts.iter().map(|(_, text)| normalize(text)).filter(|line| !line.is_empty()).collect();
        self.searched = lines.join("\n");
        let others = texts.into_iter().filter(|(_, text)| *text != self.content);
        self.others = others.map(|(field, text)| (field.to_owned(), text.to_owned())).collect();
        self
    }

    /// Returns the fields other than the content that match one of `patterns`, if the content does not match it, each
    /// with its text.
    pub(crate) fn fields_with<'a>(&self, patterns: impl IntoIterator<Item = &'a Regex>) -> Vec<String> {
        let content = normalize(&self.content);
        let mut found = Vec::new();
        for pattern in patterns.into_iter().filter(|pattern| !pattern.is_match(&content)) {
            let field = self.others.iter().find(|(_, text)| pattern.is_match(&normalize(text)));
            found.extend(field.map(|(name, text)| format!("{name} “{text}”")));
        }
        found.sort();
        found.dedup();
        found
    }
}

/// A conversation as the system received it, with secrets removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The key by which citations refer to the conversation.
    pub key: String,
    /// Format of its log.
    pub format: String,
    /// Messages of the conversation in order.
    pub messages: Vec<Message>,
}

/// A message as the system received it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Id of the message, unique in the conversation.
    pub id: String,
    /// Author of the message.
    pub role: Role,
    /// Name of the author, where the log contains one.
    pub speaker: Option<String>,
    /// The text of the message.
    pub text: String,
    /// Whether the message is written or spoken language rather than a tool call, program output or notice.
    pub is_prose: bool,
}

impl Message {
    /// Returns whether a person wrote the message.
    pub(crate) fn is_human(&self) -> bool {
        self.role == Role::User && self.is_prose
    }
}

/// What the system produced from the logs of a case.
#[derive(Debug, Default)]
pub struct Extraction {
    /// The active memories.
    pub predictions: Vec<Prediction>,
    /// Memories that newer memories have replaced.
    pub superseded: Vec<Prediction>,
    /// Memories that are waiting for a person's decision.
    pub pending: Vec<Prediction>,
    /// The number of active memories after the first reading, and the number that the second reading added; only if the
    /// logs were read twice.
    pub reread: Option<(u64, u64)>,
    /// The conversations as the system received them.
    pub conversations: Vec<Conversation>,
    /// Cost of the requests to a model, without price and time.
    pub usage: Cost,
    /// Problems that did not invalidate the result.
    pub notes: Vec<String>,
}

/// Normalised texts of messages by conversation and id.
pub(crate) struct MessageTexts(BTreeMap<(String, String), MessageText>);

struct MessageText {
    normal: String,
    folded: String,
}

impl MessageTexts {
    pub(crate) fn new(conversations: &[Conversation]) -> Self {
        let mut texts = BTreeMap::new();
        for conversation in conversations {
            for message in &conversation.messages {
                // Patterns are matched against normalised text, but quotes only ignore case and white space.
                let text = MessageText { normal: normalize(&message.text), folded: fold(&message.text) };
                texts.insert((conversation.key.clone(), message.id.clone()), text);
            }
        }
        Self(texts)
    }

    fn get(&self, citation: &Citation, id: &str) -> Option<&MessageText> {
        self.0.get(&(citation.conversation.clone(), id.to_owned()))
    }

    /// Returns the normalised texts of the cited messages.
    pub(crate) fn cited<'a>(&'a self, citation: &'a Citation) -> impl Iterator<Item = &'a str> {
        citation.messages.iter().filter_map(|id| self.get(citation, id)).map(|text| text.normal.as_str())
    }

    /// Returns whether the quote occurs in the first cited message, ignoring case and white space.
    pub(crate) fn has_quote(&self, citation: &Citation) -> bool {
        let quote = fold(&citation.quote);
        let first = citation.messages.first().and_then(|id| self.get(citation, id));
        // Every text contains the empty string.
        !quote.is_empty() && first.is_some_and(|text| text.folded.contains(&quote))
    }

    /// Returns all normalised texts.
    pub(crate) fn all(&self) -> Vec<&str> {
        self.0.values().map(|text| text.normal.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_named_if_it_matches_in_place_of_the_content() {
        let texts = [("title", "Blue-green deploys"), ("content", "The team deploys on Fly.io."), ("value", "Fly.io")];
        let memory = Prediction::new(MemoryType::Semantic, texts[1].1, Vec::new()).with_texts(texts);
        let fields = |pattern: &str| memory.fields_with(&[Regex::new(pattern).unwrap()]);
        assert_eq!(fields("blue.?green"), ["title “Blue-green deploys”"]);
        assert_eq!(fields("fly"), [""; 0]);
        assert_eq!(fields("kubernetes"), [""; 0]);
    }
}
