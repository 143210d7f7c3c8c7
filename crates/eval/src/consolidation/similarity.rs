//! A control that decides by the similarity of words, with guards for numbers and negations.

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::Decision;

/// Similarity from which on two memories count as one.
const ALIKE: f64 = 0.75;

/// Words that reverse a sentence.
const NEGATIONS: &[&str] =
    &["not", "no", "never", "without", "nicht", "kein", "keine", "nie", "ohne", "nunca", "sin", "不", "没", "無", "안"];

/// A memory as the control sees it.
#[derive(Debug, Clone, Copy)]
pub struct ComparedMemory<'a> {
    /// Its content.
    pub content: &'a str,
    /// Its key and value.
    pub attribute: (Option<&'a str>, Option<&'a str>),
    /// Whether it is active.
    pub is_active: bool,
}

/// Returns the decision about `incoming`, the place of the known memory that it is about, and the reason.
#[must_use]
pub fn decide_by_similarity(
    incoming: ComparedMemory<'_>,
    known: &[ComparedMemory<'_>],
) -> (Decision, Option<usize>, &'static str) {
    let has_other_value = |known: &ComparedMemory<'_>| {
        let ((key, value), (other_key, other_value)) = (incoming.attribute, known.attribute);
        key.is_some() && key == other_key && value.is_some() && value != other_value
    };
    if let Some(place) = known.iter().position(has_other_value) {
        return (Decision::Contradict, Some(place), "the same key with another value");
    }
    let words = word_counts(incoming.content);
    let nearest = known
        .iter()
        .enumerate()
        .filter(|(_, known)| known.is_active)
        .map(|(place, known)| (place, word_counts(known.content)))
        .map(|(place, other)| (cosine(&words, &other), place, other))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let Some((similarity, place, other)) = nearest else { return (Decision::Add, None, "nothing is similar") };
    if similarity < ALIKE || !is_guarded(&words, &other) {
        return (Decision::Add, None, "nothing is similar");
    }
    let has_all =
        |one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>| other.keys().all(|word| one.contains_key(word));
    if has_all(&other, &words) {
        (Decision::Support, Some(place), "similar, and nothing new")
    } else if has_all(&words, &other) {
        (Decision::Refine, Some(place), "similar, and more")
    } else {
        (Decision::Merge, Some(place), "similar")
    }
}

/// Returns whether both have the same numbers and the same polarity.
fn is_guarded(one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>) -> bool {
    let numbers = |words: &BTreeMap<String, u32>| -> BTreeSet<String> {
        words.keys().filter(|word| word.chars().any(|c| c.is_ascii_digit())).cloned().collect()
    };
    let is_negated = |words: &BTreeMap<String, u32>| {
        words.keys().any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"))
    };
    numbers(one) == numbers(other) && is_negated(one) == is_negated(other)
}

/// Counts the words of a text; in scripts without spaces each character is a word.
pub(crate) fn word_counts(text: &str) -> BTreeMap<String, u32> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut word = String::new();
    let mut put = |word: &mut String| {
        if !word.is_empty() {
            *counts.entry(std::mem::take(word)).or_default() += 1;
        }
    };
    for c in text.chars().flat_map(char::to_lowercase) {
        let is_dense = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
        if is_dense || !(c.is_alphanumeric() || c == '\'') {
            put(&mut word);
        }
        if c.is_alphanumeric() || c == '\'' {
            word.push(c);
        }
        if is_dense {
            put(&mut word);
        }
    }
    put(&mut word);
    counts
}

fn cosine(one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>) -> f64 {
    let dot: f64 = one.iter().filter_map(|(word, count)| Some(f64::from(*count) * f64::from(*other.get(word)?))).sum();
    let length =
        |words: &BTreeMap<String, u32>| words.values().map(|count| f64::from(*count).powi(2)).sum::<f64>().sqrt();
    let lengths = length(one) * length(other);
    if lengths == 0.0 { 0.0 } else { dot / lengths }
}
