//! Follows a person's instructions on what to keep, as far as rules can: limits to categories and types, and topics that
//! are never kept. A topic is recognised by its words alone.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::memory::{CATEGORIES, Candidate, MemoryType};
use crate::text::language::Language;
use crate::text::stem::stem;
use crate::text::tokens::is_stop;

/// "Only keep decisions."
static ONLY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^ (?:please\s+)? (?: (?:only|just)\s+ (?:keep|remember|store|save|extract|record)
            | (?:keep|remember|store|save|extract|record)\s+ (?:only|just|nothing\ (?:but|except)) ) \s+ (?P<what>.+) $
        | ^ (?:请)? (?:只|仅) (?:保留|记住|记录|保存) (?P<kept>.+) $",
    )
    .expect("the pattern is a constant that a test uses")
});

/// "Never keep salaries."
static NEVER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^ (?:please\s+)? (?: (?:never|do\ not|don['’]t)\s+ (?:ever\s+)? (?:keep|remember|store|save|extract|record)
            | (?:ignore|skip|omit|leave\ out|discard) ) \s+ (?P<what>.+) $
        | ^ (?:请)? (?:不要|别|切勿|绝不|永远不要) (?:保留|记住|记录|保存) (?P<kept>.+) $",
    )
    .expect("the pattern is a constant that a test uses")
});

/// Words between the alternatives of an instruction.
static ALTERNATIVES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\s*(?:,\s*(?:and|or)\s|,|、|，|\s(?:and|or)\s|和|或)\s*")
        .expect("the pattern is a constant that a test uses")
});

/// Words before a topic that do not belong to it.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:(?:any|all|every|the|my|our|your|their|his|her)\s+|(?:anything|everything|things?|memories|information|what (?:i|we|they) say)\s+(?:about|on)\s+|关于|有关|任何)+")
        .expect("the pattern is a constant that a test uses")
});

/// Words that make a topic a condition rather than a plain list of words.
const CONDITIONS: &[&str] = &[
    "of", "who", "that", "which", "when", "if", "unless", "except", "from", "with", "without", "before", "after", "as",
    "because", "until", "than", "not", "no", "to", "in", "for", "by", "are", "is", "was",
];
/// Maximum number of words of a topic.
const MAX_WORDS: usize = 4;

/// The instructions that the rules follow.
#[derive(Debug, Default)]
pub(super) struct InstructionFilter {
    /// If not empty, only candidates that one of these describes are kept.
    only: Vec<Topic>,
    never: Vec<Topic>,
    /// The sentences that the rules cannot follow.
    unfollowed: Vec<String>,
    /// The sentences about topics that are never kept, which the rules recognise by their words alone.
    literal: Vec<String>,
}

/// The subject of an instruction. A candidate must meet all conditions that are set.
#[derive(Debug, Default, PartialEq)]
struct Topic {
    category: Option<&'static str>,
    memory_type: Option<MemoryType>,
    words: Vec<String>,
}

/// Returns what a person has to know about `instructions` if the rules follow them: the sentences that they cannot follow,
/// and the sentences about topics that they recognise by their words alone.
pub(crate) fn warnings(instructions: &str) -> Vec<String> {
    let InstructionFilter { unfollowed, literal, .. } = InstructionFilter::read(instructions);
    let warning = |sentences: Vec<String>, what: &str| {
        let quoted = sentences.iter().map(|sentence| format!("{sentence:?}")).collect::<Vec<_>>().join(", ");
        (!sentences.is_empty()).then(|| format!("the offline rules {what}; configure a model: {quoted}"))
    };
    let literal = warning(literal, "only leave out memories that contain the words of these instructions");
    warning(unfollowed, "cannot follow these instructions").into_iter().chain(literal).collect()
}

impl InstructionFilter {
    pub(super) fn read(text: &str) -> Self {
        let mut read = Self::default();
        for sentence in sentences(text) {
            let said = |pattern: &Regex| {
                let found = pattern.captures(sentence)?;
                topics(found.name("what").or(found.name("kept"))?.as_str())
            };
            if let Some(topics) = said(&ONLY) {
                read.only.extend(topics);
            } else if let Some(topics) = said(&NEVER) {
                if topics.iter().any(|topic| !topic.words.is_empty()) {
                    read.literal.push(sentence.to_owned());
                }
                read.never.extend(topics);
            } else {
                read.unfollowed.push(sentence.to_owned());
            }
        }
        read
    }

    /// Returns whether the instructions allow a candidate.
    pub(super) fn allows(&self, candidate: &Candidate) -> bool {
        if self.only.is_empty() && self.never.is_empty() {
            return true;
        }
        let claim = &candidate.claim;
        let quotes = candidate.evidence.iter().map(|piece| piece.quote.as_str());
        let texts = [claim.title.as_str(), &claim.content].into_iter().chain(claim.subject.as_deref()).chain(quotes);
        let text = texts.collect::<Vec<_>>().join("\n").to_lowercase();
        let stems: BTreeSet<String> = words(&text).map(|word| stem(word, Language::English)).collect();
        let is_about = |topic: &Topic| {
            topic.category.is_none_or(|category| claim.category == category)
                && topic.memory_type.is_none_or(|memory_type| claim.memory_type == memory_type)
                // Words of scripts without spaces are found anywhere in the text.
                && topic.words.iter().all(|word| stems.contains(word) || !word.is_ascii() && text.contains(word))
        };
        (self.only.is_empty() || self.only.iter().any(is_about)) && !self.never.iter().any(is_about)
    }
}

/// Returns the sentences of `text` without list markers.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ';' | '。' | '！' | '？' | '；' | '\n');
    let marks = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+' | '#' | '>');
    text.split(ends).map(move |sentence| sentence.trim_matches(marks)).filter(|sentence| !sentence.is_empty())
}

/// Returns the topics in the alternatives of an instruction; `None` if the rules cannot recognise one of them.
fn topics(what: &str) -> Option<Vec<Topic>> {
    ALTERNATIVES.split(what).filter(|part| !part.trim().is_empty()).map(topic).collect()
}

fn topic(text: &str) -> Option<Topic> {
    let text = text.trim().to_lowercase();
    let (kind, about) = match text.split_once(" about ") {
        Some((kind, about)) => (kind, Some(about)),
        None => (text.as_str(), None),
    };
    let mut topic = kind_of(&bare(kind)).unwrap_or_default();
    let about = match (about, topic == Topic::default()) {
        (about, false) => about.unwrap_or_default(),
        (_, true) => &text,
    };
    let about = bare(about);
    let asked: Vec<&str> = words(&about).collect();
    if asked.len() > MAX_WORDS || asked.iter().any(|word| CONDITIONS.contains(word)) {
        return None;
    }
    topic.words = asked.into_iter().filter(|word| !is_stop(word)).map(|word| stem(word, Language::English)).collect();
    (topic != Topic::default()).then_some(topic)
}

fn bare(text: &str) -> String {
    LEAD.replace(text.trim(), "").into_owned()
}

/// Returns the topic of a name of a category or type, in the singular or the plural.
fn kind_of(name: &str) -> Option<Topic> {
    let name = name.strip_suffix(" memories").unwrap_or(name);
    let is = |kind: &str| name == kind || name.strip_suffix('s') == Some(kind);
    let memory_type = match name {
        "semantic" => Some(MemoryType::Semantic),
        "episodic" | "episodes" | "events" => Some(MemoryType::Episodic),
        "procedural" | "procedures" | "instructions" => Some(MemoryType::Procedural),
        _ => None,
    };
    let category = CATEGORIES.iter().copied().find(|category| is(category)).filter(|_| memory_type.is_none());
    let chinese =
        [("事实", "fact"), ("偏好", "preference"), ("决定", "decision"), ("任务", "task"), ("约定", "convention")];
    let category = category.or_else(|| chinese.iter().find(|(word, _)| *word == name).map(|(_, category)| *category));
    (category.is_some() || memory_type.is_some()).then(|| Topic { category, memory_type, ..Topic::default() })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Audience, Claim};

    fn candidate(category: &str, content: &str) -> Candidate {
        Candidate {
            claim: Claim::new(MemoryType::Semantic, category, "", content),
            audience: Audience::Project,
            evidence: Vec::new(),
            replaces: None,
            is_pasted: false,
            is_shipped: false,
            updates_only: false,
        }
    }

    #[test]
    fn limits_to_kinds_and_topics_that_are_never_kept_are_followed() {
        for (instructions, category, content, allowed) in [
            ("Only keep decisions and preferences.", "decision", "The team uses Rust.", true),
            ("Only keep decisions and preferences.", "fact", "Ana lives in Porto.", false),
            ("Keep only procedural memories.", "fact", "Ana lives in Porto.", false),
            ("Only remember facts about the parser.", "fact", "The parser is in C.", true),
            ("Only remember facts about the parser.", "fact", "The shop sells tea.", false),
            ("- Never keep my salary\n- Don't store tasks", "fact", "Ana's salaries are public.", false),
            ("- Never keep my salary\n- Don't store tasks", "task", "Ana reviews the release.", false),
            ("- Never keep my salary\n- Don't store tasks", "fact", "Ana sells tea.", true),
            ("Ignore anything about the printer.", "fact", "The printer is in room 4.", false),
            ("不要记录工资。", "fact", "用户的工资是一万元。", false),
            ("只保留偏好和决定。", "preference", "用户喜欢茶。", true),
            ("只保留偏好和决定。", "fact", "用户住在北京。", false),
        ] {
            let instructed = InstructionFilter::read(instructions);
            assert!(instructed.unfollowed.is_empty(), "{instructions}");
            assert_eq!(instructed.allows(&candidate(category, content)), allowed, "{instructions} {content}");
        }
    }

    #[test]
    fn other_instructions_are_named_and_change_nothing() {
        let text = "Keep what I say about my customers. Never keep names of customers! Only keep what matters to me.";
        let quoted =
            r#""Keep what I say about my customers", "Never keep names of customers", "Only keep what matters to me""#;
        let warning = format!("the offline rules cannot follow these instructions; configure a model: {quoted}");
        assert_eq!(warnings(text), [warning]);
        assert!(InstructionFilter::read(text).allows(&candidate("fact", "The customer Bo has two shops.")));
        assert!(warnings("").is_empty());
    }

    #[test]
    fn topics_that_are_recognised_by_their_words_alone_are_named() {
        let warning = "the offline rules only leave out memories that contain the words of these instructions; \
                       configure a model: \"Never store salaries or health data\"";
        assert_eq!(warnings("Never store salaries or health data. Only keep decisions. Don't store tasks."), [warning]);
    }
}
