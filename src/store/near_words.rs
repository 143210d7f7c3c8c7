//! The words under which a claim is filed so that others of its namespace that may say the same find it.
//!
//! Words are folded further than those that people search by: without accents, endings and what stands in every
//! sentence. Writing without spaces goes in as pairs of characters.

use std::collections::{BTreeSet, HashSet};

use unicode_normalization::char::decompose_canonical;

use super::concepts::concepts;
use super::normalised;
use super::words::{Run, STOP_WORDS, folded, signed_words, split_runs};
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

/// Returns the words by which claims that may say the same as `claim` are found in `namespace`: twelve hex digits each,
/// each once. The first is its subject, if it has one. Claims of different namespaces have no word in common.
#[must_use]
pub fn near_words(namespace: &Namespace, claim: &Claim) -> Vec<String> {
    let place = namespace.to_string();
    let mut filed = Filed { place: &place, seen: HashSet::new(), words: Vec::new() };
    if let Some(subject) = claim.subject.as_deref() {
        filed.words.extend(subject_word(namespace, subject));
        filed.take(subject);
    }
    for text in [claim.value.as_deref(), claim.key.as_deref()].into_iter().flatten() {
        filed.take(text);
    }
    filed.take(&claim.title);
    filed.take(&claim.content);
    filed.words.extend(near_concepts(namespace, claim));
    filed.words
}

/// Returns those of [`near_words`] that stand for what other words mean.
pub(super) fn near_concepts(namespace: &Namespace, claim: &Claim) -> Vec<String> {
    let place = namespace.to_string();
    let text = [claim.value.as_deref().unwrap_or_default(), &claim.title, &claim.content].join(" ");
    // No word begins with this sign.
    concepts(&text).into_iter().map(|name| hashed(&place, &format!("={name}"))).collect()
}

/// Returns the pairs of words under which a claim is filed besides: of what it says, those of which two together are
/// rare even where each is common. Which words make pairs is told by their spelling alone, so that claims with other
/// words between them make the same.
#[must_use]
pub(super) fn near_pairs(namespace: &Namespace, claim: &Claim) -> Vec<String> {
    let place = namespace.to_string();
    let mut filed = Filed { place: &place, seen: HashSet::new(), words: Vec::new() };
    filed.take(&claim.content);
    let mut words = filed.words;
    words.sort_unstable();
    words.truncate(PAIRED);
    let pairs = words.iter().enumerate().flat_map(|(at, a)| words[at + 1..].iter().map(move |b| hashed(a, b)));
    pairs.collect()
}

/// Returns the word for all that is said at once, whatever its order: claims that say it in the same words, or in
/// writing without spaces in the same characters, have it in common however many others have each of them. `None`
/// where hardly anything is said.
pub(super) fn near_whole(namespace: &Namespace, claim: &Claim) -> Option<String> {
    let mut said = BTreeSet::new();
    for chunk in folded(&claim.content).split_whitespace() {
        let mut runs = Vec::new();
        split_runs(chunk, &mut runs);
        for run in runs {
            match run {
                Run::Word(word) if STOP_WORDS.contains(&word.as_str()) => {}
                Run::Word(word) => drop(said.insert(root(&plain(&word)).to_owned())),
                Run::Unspaced(characters) => said.extend(characters.into_iter().map(String::from)),
            }
        }
    }
    // A space stands in no word.
    let all: Vec<String> = said.into_iter().collect();
    (all.len() >= WHOLE).then(|| hashed(&namespace.to_string(), &format!("all {}", all.join(" "))))
}

/// Returns the word for a subject as a whole, or `None` where that is blank.
pub(super) fn subject_word(namespace: &Namespace, subject: &str) -> Option<String> {
    let subject = normalised(subject);
    // A space stands in no word, so the two are never confused.
    (!subject.is_empty()).then(|| hashed(&namespace.to_string(), &format!("about {subject}")))
}

struct Filed<'p> {
    place: &'p str,
    seen: HashSet<String>,
    words: Vec<String>,
}

impl Filed<'_> {
    fn take(&mut self, text: &str) {
        for chunk in folded(text).split_whitespace() {
            let mut runs = Vec::new();
            split_runs(chunk, &mut runs);
            for run in runs {
                match run {
                    Run::Word(word) if STOP_WORDS.contains(&word.as_str()) => {}
                    Run::Word(word) => self.add(root(&plain(&word))),
                    Run::Unspaced(characters) if characters.len() == 1 => self.add(&characters[0].to_string()),
                    Run::Unspaced(characters) => {
                        characters.windows(2).for_each(|pair| self.add(&String::from_iter(pair)));
                    }
                }
            }
            signed_words(super::normal::trimmed(chunk)).iter().for_each(|word| self.add(word));
        }
    }

    fn add(&mut self, word: &str) {
        if self.words.len() < MAX_WORDS && self.seen.insert(word.to_owned()) {
            self.words.push(hashed(self.place, word));
        }
    }
}

/// Takes the accents off Latin letters.
pub(super) fn plain(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let base = |c: char| {
        let mut base = None;
        decompose_canonical(c, |part| base = base.or(Some(part)));
        base.filter(char::is_ascii_alphabetic).unwrap_or(c)
    };
    word.chars().map(base).collect()
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

/// Names a word of a namespace by twelve hex digits, whatever its letters. Two words that meet by chance only bring a
/// claim up that shares less than it seems.
fn hashed(place: &str, word: &str) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in place.bytes().chain([0]).chain(word.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:012x}", (hash ^ (hash >> 48)) & 0xffff_ffff_ffff)
}
