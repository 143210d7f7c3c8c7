//! The words under which a claim is filed so that others of its namespace that may say the same find it.
//!
//! Words are folded further than those that people search by: without accents, endings and what stands in every
//! sentence. Writing without spaces goes in as pairs of characters.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use unicode_normalization::char::decompose_canonical;

use super::concepts::heard;
use super::normalised;
use super::words::{Run, folded, is_stop, signed_words, split_runs};
use crate::memory::{Claim, Namespace};

/// Most words of one claim; the first ones are, subject, key and value before the rest.
const MAX_WORDS: usize = 160;
/// Words of a claim that make pairs.
const PAIRED: usize = 7;
/// Words of a claim from which on they are filed as a whole, too.
const WHOLE: usize = 2;
/// Endings that are cut from English words, the longest first.
const ENDINGS: &[&str] =
    &["ations", "ation", "ments", "ment", "ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s", "e"];
/// Fewest letters that are left of a word when its ending is cut.
const MIN_ROOT: usize = 3;

/// What stands for a claim in the index of those that may say the same.
pub(super) struct NearForms {
    /// Its words; the first is its subject, if it has one.
    pub(super) words: Vec<String>,
    /// What they mean.
    pub(super) concepts: Vec<String>,
    /// Of what it says, words two together: rare even where each is common. Which words make pairs is told by their
    /// spelling alone, so that claims with other words between them make the same.
    pub(super) pairs: Vec<String>,
    /// All that is said at once, whatever its order: claims that say it in the same words, or in writing without spaces
    /// in the same characters, have it in common however many others have each of them. `None` where hardly anything
    /// is said.
    pub(super) whole: Option<String>,
}

impl NearForms {
    /// Returns the forms of `claim` in `namespace`, each of twelve hex digits and each once.
    pub(super) fn of(namespace: &Namespace, claim: &Claim) -> Self {
        let (place, content) = (Place::of(namespace), cut(&claim.content));
        let (title, value) = (cut(&claim.title), cut(claim.value.as_deref().unwrap_or_default()));
        let mut filed = Filed { place: &place, seen: HashSet::new(), words: Vec::new() };
        if let Some(subject) = claim.subject.as_deref() {
            filed.words.extend(place.about(subject));
            filed.take(&cut(subject));
        }
        filed.take(&value);
        filed.take(&cut(claim.key.as_deref().unwrap_or_default()));
        filed.take(&title);
        filed.take(&content);
        let words = filed.words;
        // No word begins with this sign.
        let meant = heard([&value[..], &title, &content]);
        let concepts = meant.into_iter().map(|name| place.hashed(&format!("={name}"))).collect();
        Self { words, concepts, pairs: pairs(&place, &content), whole: whole(&place, &content) }
    }
}

/// Returns the words by which claims that may say the same as `claim` are found in `namespace`: twelve hex digits each,
/// each once. The first is its subject, if it has one. Claims of different namespaces have no word in common.
#[must_use]
pub fn near_words(namespace: &Namespace, claim: &Claim) -> Vec<String> {
    let NearForms { mut words, concepts, .. } = NearForms::of(namespace, claim);
    words.extend(concepts);
    words
}

fn pairs(place: &Place, content: &[Cut]) -> Vec<String> {
    let mut filed = Filed { place, seen: HashSet::new(), words: Vec::new() };
    filed.take(content);
    let mut words = filed.words;
    words.sort_unstable();
    words.truncate(PAIRED);
    let pairs = words.iter().enumerate().flat_map(|(at, a)| {
        let first = Place(after(after(SEED, a.bytes()), [0]));
        words[at + 1..].iter().map(move |b| first.hashed(b))
    });
    pairs.collect()
}

fn whole(place: &Place, content: &[Cut]) -> Option<String> {
    let mut said = BTreeSet::new();
    for piece in content {
        match piece {
            Cut::Stop(_) | Cut::Signed(_) => {}
            Cut::Word(root) => drop(said.insert(root.clone())),
            Cut::Unspaced(characters) => said.extend(characters.iter().map(char::to_string)),
        }
    }
    // A space stands in no word.
    let all: Vec<String> = said.into_iter().collect();
    (all.len() >= WHOLE).then(|| place.hashed(&format!("all {}", all.join(" "))))
}

/// Returns the word for a subject as a whole, or `None` where that is blank.
pub(super) fn subject_word(namespace: &Namespace, subject: &str) -> Option<String> {
    Place::of(namespace).about(subject)
}

/// What a text is cut into, in its order.
pub(super) enum Cut {
    /// The root of a word.
    Word(String),
    /// The root of one that stands in every sentence.
    Stop(String),
    /// Characters of writing without spaces.
    Unspaced(Vec<char>),
    /// A made-up word for a name with signs, after its parts.
    Signed(String),
}

/// Cuts a text.
pub(super) fn cut(text: &str) -> Vec<Cut> {
    let mut pieces = Vec::new();
    let mut runs = Vec::new();
    for chunk in folded(text).split_whitespace() {
        split_runs(chunk, &mut runs);
        pieces.extend(runs.drain(..).map(|run| match run {
            Run::Word(word) if is_stop(&word) => Cut::Stop(root(&word).to_owned()),
            Run::Word(word) => Cut::Word(root(&plain(&word)).to_owned()),
            Run::Unspaced(characters) => Cut::Unspaced(characters),
        }));
        pieces.extend(signed_words(super::normal::trimmed(chunk)).into_iter().map(Cut::Signed));
    }
    pieces
}

struct Filed<'p> {
    place: &'p Place,
    seen: HashSet<String>,
    words: Vec<String>,
}

impl Filed<'_> {
    fn take(&mut self, text: &[Cut]) {
        for piece in text {
            match piece {
                Cut::Stop(_) => {}
                Cut::Word(word) | Cut::Signed(word) => self.add(word),
                Cut::Unspaced(characters) if characters.len() == 1 => self.add(&characters[0].to_string()),
                Cut::Unspaced(characters) => {
                    characters.windows(2).for_each(|pair| self.add(&String::from_iter(pair)));
                }
            }
        }
    }

    fn add(&mut self, word: &str) {
        if self.words.len() < MAX_WORDS && !self.seen.contains(word) {
            self.seen.insert(word.to_owned());
            self.words.push(self.place.hashed(word));
        }
    }
}

/// A namespace, as far as it is in the name of a word.
struct Place(u64);

impl Place {
    fn of(namespace: &Namespace) -> Self {
        Self(after(after(SEED, namespace.to_string().bytes()), [0]))
    }

    fn about(&self, subject: &str) -> Option<String> {
        let subject = normalised(subject);
        // A space stands in no word, so the two are never confused.
        (!subject.is_empty()).then(|| self.hashed(&format!("about {subject}")))
    }

    /// Names a word by twelve hex digits, whatever its letters. Two words that meet by chance only bring a claim up that
    /// shares less than it seems.
    fn hashed(&self, word: &str) -> String {
        let hash = after(self.0, word.bytes());
        let hash = hash ^ (hash >> 48);
        (0..12).rev().map(|place| char::from(HEX[(hash >> (place * 4) & 0xf) as usize])).collect()
    }
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const HEX: &[u8; 16] = b"0123456789abcdef";

fn after(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Takes the accents off Latin letters.
pub(super) fn plain(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let base = |c: char| {
        let mut base = None;
        decompose_canonical(c, |part| base = base.or(Some(part)));
        base.filter(char::is_ascii_alphabetic).unwrap_or(c)
    };
    Cow::Owned(word.chars().map(base).collect())
}

/// Cuts one ending off an English word, and a letter that was doubled before it.
pub(super) fn root(word: &str) -> &str {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let cut = ENDINGS.iter().filter(|_| !word.ends_with("ss"));
    let root = cut.filter_map(|ending| word.strip_suffix(ending)).find(|root| root.len() >= MIN_ROOT).unwrap_or(word);
    match root.as_bytes() {
        [.., a, b] if a == b && root.len() > MIN_ROOT => &root[..root.len() - 1],
        [.., b'y' | b'i'] if root.len() > MIN_ROOT => &root[..root.len() - 1],
        _ => root,
    }
}
