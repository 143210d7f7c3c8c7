//! Corrections within a conversation: jokes, "I mixed that up", and corrections that mention their topic.

use std::collections::BTreeSet;

use super::candidates::Gathered;
use super::cues::Table;
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use crate::extract::Task;
use crate::memory::Candidate;
use crate::text::language::detect_read;
use crate::text::person::is_about_speaker;
use crate::text::script::is_han;
use transcripts::Message;

/// Maximum number of statements of one message that "I mixed that up" retracts. With more statements, it is unclear
/// which of them is meant.
const MAX_WITHDRAWN: usize = 2;
/// Number of people's messages before "I mixed that up" that are searched for the speaker's previous message.
const MAX_BETWEEN: usize = 3;
/// Maximum number of words in a sentence that only says that the previous sentence was a joke.
const MAX_JEST_WORDS: usize = 4;

/// Removes each sentence from `said` that the next sentence calls a joke.
pub(super) fn without_jests(message: &Message, said: &mut Vec<&str>) {
    // Detecting a language is the most expensive step, so only short sentences are examined.
    let is_short = |said: &str| said.split_whitespace().take(MAX_JEST_WORDS + 1).count() <= MAX_JEST_WORDS;
    let shorts: Vec<usize> = (1..said.len()).rev().filter(|&at| is_short(said[at])).collect();
    if shorts.is_empty() {
        return;
    }
    let usual = detect_read(&message.text, None);
    for at in shorts {
        let text = fold(said[at]);
        if detect_read(&text, usual).is_some_and(|language| Table::of(language).withdraws.is_match(&text)) {
            said.remove(at - 1);
        }
    }
}

/// Removes the earlier statements that `message` corrects. `amends` returns whether any sentence of the message is a
/// correction. It is expensive and is therefore called only if the message shares words with a statement.
///
/// "I mixed that up" mentions no topic. It retracts what the same person said in `before`, unless there are too many
/// statements.
pub(super) fn take_back(
    message: &Message,
    before: Option<&Message>,
    amends: impl FnOnce() -> bool,
    gathered: &mut Gathered<'_>,
) {
    if let Some(before) = before {
        let is_last =
            |candidate: &Candidate| candidate.evidence.iter().any(|piece| piece.messages.contains(&before.id));
        let count = gathered.candidates().iter().filter(|candidate| is_last(candidate)).count();
        if (1..=MAX_WITHDRAWN).contains(&count) && withdraws(message, before) {
            gathered.take_back(is_last);
        }
    }
    // A candidate with a key is replaced by its next value, which keeps its history.
    if gathered.candidates().iter().all(|candidate| candidate.claim.key.is_some()) {
        return;
    }
    let correction = Correction::of(&message.text);
    let is_met = |candidate: &Candidate| {
        candidate.claim.key.is_none()
            && (!is_about_speaker(&message.text) || is_said_by(message, candidate))
            && correction.replaces(candidate)
    };
    if gathered.candidates().iter().any(is_met) && amends() {
        gathered.take_back(is_met);
    }
}

fn is_said_by(message: &Message, candidate: &Candidate) -> bool {
    candidate.evidence.iter().any(|piece| piece.speaker == message.speaker)
}

/// Whether `message` begins by retracting the message `before`. If `message` is too short for its language to be
/// detected, the language of `before` is used.
fn withdraws(message: &Message, before: &Message) -> bool {
    let text = fold(message.text.trim_start());
    detect_read(&text, detect_read(&before.text, None))
        .is_some_and(|tongue| Table::of(tongue).withdraws.is_match(&text))
}

/// Returns the last message before index `at` of the transcript by the author of `message`, if it is close enough.
pub(super) fn last_of_same<'a>(task: &Task<'a>, at: usize, message: &Message) -> Option<&'a Message> {
    let before = task.transcript.messages[..at].iter().rev().filter(|before| before.is_human());
    before.take(MAX_BETWEEN).find(|before| before.speaker == message.speaker)
}

/// Whether one of the sentences `said` in `message` retracts something said before.
pub(super) fn amends(message: &Message, said: &[&str]) -> bool {
    let usual = detect_read(&message.text, None);
    said.iter().any(|said| {
        let text = fold(said);
        let Some(table) = detect_read(&text, usual).map(Table::of) else { return false };
        let is_readable = text.chars().count() <= MAX_SENTENCE_CHARS && !text.contains("[redacted:");
        is_readable && (table.amends.is_match(&text) || table.amends.is_match(table.without_lead(&text)))
    })
}

/// Minimum number of letters in a word that identifies a topic.
const MIN_LETTERS: usize = 4;
/// Minimum number of words that a correction must share with the statement it retracts, if none of the words identifies
/// the topic.
const MIN_SHARED_WORDS: usize = 2;
/// Maximum length of a topic at the start of a message, in characters: "exam news: …".
const MAX_TOPIC_CHARS: usize = 40;

/// Words that do not identify a topic.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "about", "after", "again", "also", "always", "back", "before", "being", "come", "does", "done", "down", "each", "every", "first", "from",
    "have", "here", "into", "just", "know", "last", "later", "like", "make", "more", "most", "must", "need", "never", "news", "next", "only", "over", "said", "same", "small", "some", "still", "take",
    "than", "that", "their", "them", "then", "there", "they", "thing", "this", "time", "update", "user", "very", "want", "week", "weeks", "well", "were", "what", "when", "which", "will", "with", "would", "year",
    "your", "yesterday", "today", "tomorrow", "march", "april", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "aber", "alle", "auch", "dann", "dass", "doch", "eine", "einen", "haben", "ihre", "immer", "jetzt", "kein", "keine", "mein", "meine", "nach", "nicht", "noch", "nutzer", "nur", "oder", "sagte", "schon", "sein", "seit", "sind", "wieder", "woche", "wird",
    "ahora", "algo", "como", "cuando", "desde", "dijo", "donde", "ella", "ellos", "entre", "esta", "este", "hasta", "para", "pero", "porque", "siempre", "sobre", "también", "tengo", "tiene", "todo", "todos", "usuario", "viene",
];

/// The words of a correction.
pub(super) struct Correction {
    words: BTreeSet<String>,
    /// Words that identify the topic on their own: names, and the words before the first colon.
    topics: BTreeSet<String>,
}

impl Correction {
    /// Returns the words of the correction `text`.
    fn of(text: &str) -> Self {
        let topic = text.split_once(':').map_or("", |(topic, _)| topic);
        let topic = if topic.chars().count() <= MAX_TOPIC_CHARS { topic } else { "" };
        // The first word of a text is capitalised even if it is not a name.
        let names = split_words(text).skip(1).filter(|word| word.starts_with(char::is_uppercase));
        let topics = split_words(topic).chain(names).map(str::to_lowercase).filter(|word| is_topic_word(word));
        Self { words: topic_words(text), topics: topics.collect() }
    }

    /// Whether the correction has the same topic as `candidate`.
    pub(super) fn replaces(&self, candidate: &Candidate) -> bool {
        candidate.evidence.iter().any(|piece| {
            let said = topic_words(&piece.quote);
            let shared = self.words.intersection(&said).count();
            shared >= MIN_SHARED_WORDS || self.topics.intersection(&said).next().is_some()
        })
    }
}

pub(super) fn topic_words(text: &str) -> BTreeSet<String> {
    let mut words: BTreeSet<String> =
        split_words(text).map(str::to_lowercase).filter(|word| is_topic_word(word)).collect();
    let han: Vec<char> = text.chars().filter(|c| is_han(*c)).collect();
    // Most Chinese words are two characters.
    words.extend(han.windows(2).map(|pair| pair.iter().collect::<String>()));
    words
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty())
}

fn is_topic_word(word: &str) -> bool {
    word.chars().count() >= MIN_LETTERS && !COMMON.contains(&word) && !word.starts_with(|c: char| c.is_ascii_digit())
}
