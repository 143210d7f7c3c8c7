//! What a correction takes back: earlier statements on the same thing.

use crate::text::script::is_han;
use std::collections::BTreeSet;

use crate::memory::Candidate;

/// Fewest letters of a word that tells what is talked of.
const MIN_LETTERS: usize = 4;
/// Words that a correction must share with what it takes back, where none of them names its topic.
const SHARED: usize = 2;
/// Longest topic at the start of a message, in characters: "exam news: …".
const MAX_TOPIC_CHARS: usize = 40;

/// Words that tell nothing.
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
pub(super) struct Told {
    words: BTreeSet<String>,
    /// Words that alone tell what is talked of: names, and what stands before the first colon.
    topics: BTreeSet<String>,
}

/// Returns the words of the correction `text`.
pub(super) fn told(text: &str) -> Told {
    let topic = text.split_once(':').map_or("", |(topic, _)| topic);
    let topic = if topic.chars().count() <= MAX_TOPIC_CHARS { topic } else { "" };
    let names = split(text).skip(1).filter(|word| word.starts_with(char::is_uppercase));
    let topics = split(topic).chain(names).map(str::to_lowercase).filter(|word| tells(word));
    Told { words: words(text), topics: topics.collect() }
}

impl Told {
    /// Whether the correction is about what `candidate` says.
    pub(super) fn replaces(&self, candidate: &Candidate) -> bool {
        candidate.evidence.iter().any(|piece| {
            let said = words(&piece.quote);
            let shared = self.words.intersection(&said).count();
            shared >= SHARED || self.topics.intersection(&said).next().is_some()
        })
    }
}

pub(super) fn words(text: &str) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = split(text).map(str::to_lowercase).filter(|word| tells(word)).collect();
    let han: Vec<char> = text.chars().filter(|c| is_han(*c)).collect();
    words.extend(han.windows(2).map(|pair| pair.iter().collect::<String>()));
    words
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty())
}

fn tells(word: &str) -> bool {
    word.chars().count() >= MIN_LETTERS && !COMMON.contains(&word) && !word.starts_with(|c: char| c.is_ascii_digit())
}
