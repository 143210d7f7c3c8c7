//! A control: what a tool does that goes by the likeness of words, with guards for numbers and negations.

use std::collections::{BTreeMap, BTreeSet};

use super::decider::change;
use crate::consolidate::plan::Surrounded;
use crate::consolidate::{Change, Conflict, Decision, Known};
use crate::memory::{Claim, Status};

/// Likeness from which on two memories are taken as one.
const ALIKE: f64 = 0.75;

/// Words that turn a sentence round.
const NEGATIONS: &[&str] =
    &["not", "no", "never", "without", "nicht", "kein", "keine", "nie", "ohne", "nunca", "sin", "不", "没", "無", "안"];

/// Returns what likeness makes of `case`.
pub(super) fn decide(case: &Surrounded) -> Change {
    let claim = &case.incoming.candidate.claim;
    let words = counts(&claim.content);
    let active = case.known.iter().filter(|known| known.memory.status == Status::Active);
    let likest = active
        .map(|known| (known, likeness(&words, &counts(&known.memory.claim.content))))
        .max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some(known) = case.known.iter().find(|known| turns(claim, &known.memory.claim)) {
        let found = on(case, known, Decision::Contradict, "the same key with another value");
        return Change { conflict: Some(Conflict::Changed), ..found };
    }
    match likest {
        Some((known, likeness)) if likeness >= ALIKE && is_guarded(&words, &counts(&known.memory.claim.content)) => {
            join(case, known, &words)
        }
        Some(_) | None => change(case, Decision::Add, "nothing is alike"),
    }
}

fn turns(claim: &Claim, known: &Claim) -> bool {
    claim.key.is_some() && claim.key == known.key && claim.value.is_some() && claim.value != known.value
}

fn join(case: &Surrounded, known: &Known, words: &BTreeMap<String, u32>) -> Change {
    let other = counts(&known.memory.claim.content);
    let has_all =
        |one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>| other.keys().all(|word| one.contains_key(word));
    if has_all(&other, words) {
        return on(case, known, Decision::Support, "alike, and nothing new");
    }
    if has_all(words, &other) {
        return on(case, known, Decision::Refine, "alike, and more");
    }
    let content = format!("{} {}", known.memory.claim.content, case.incoming.candidate.claim.content);
    let merged = Some(Claim { content, ..known.memory.claim.clone() });
    Change { merged, ..on(case, known, Decision::Merge, "alike") }
}

fn on(case: &Surrounded, known: &Known, decision: Decision, reason: &str) -> Change {
    let before = Some(known.memory.claim.content.clone());
    Change { target: Some(known.memory.id.clone()), before, ..change(case, decision, reason) }
}

/// Whether both say the same numbers and are turned the same way.
fn is_guarded(one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>) -> bool {
    let numbers = |words: &BTreeMap<String, u32>| -> BTreeSet<String> {
        words.keys().filter(|word| word.chars().any(|c| c.is_ascii_digit())).cloned().collect()
    };
    let is_turned = |words: &BTreeMap<String, u32>| {
        words.keys().any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"))
    };
    numbers(one) == numbers(other) && is_turned(one) == is_turned(other)
}

/// Returns the words of a text; of scripts without spaces each character is one.
pub(super) fn counts(text: &str) -> BTreeMap<String, u32> {
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

fn likeness(one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>) -> f64 {
    let dot: f64 = one.iter().filter_map(|(word, count)| Some(f64::from(*count) * f64::from(*other.get(word)?))).sum();
    let length =
        |words: &BTreeMap<String, u32>| words.values().map(|count| f64::from(*count).powi(2)).sum::<f64>().sqrt();
    let lengths = length(one) * length(other);
    if lengths == 0.0 { 0.0 } else { dot / lengths }
}
