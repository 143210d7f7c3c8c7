//! Controls for consolidation: decisions based on word similarity, and invented memories that surround a case.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::CaseMemory;
use crate::tally::SplitMix;
use crate::vocabulary::Decision;

/// Similarity at which two memories count as one.
const ALIKE: f64 = 0.75;

/// Words that negate a sentence.
const NEGATIONS: &[&str] =
    &["not", "no", "never", "without", "nicht", "kein", "keine", "nie", "ohne", "nunca", "sin", "不", "没", "無", "안"];

/// A memory as the control sees it.
#[derive(Debug, Clone, Copy)]
pub struct ComparedMemory<'a> {
    /// Content of the memory.
    pub content: &'a str,
    /// Key and value of the memory.
    pub attribute: (Option<&'a str>, Option<&'a str>),
    /// Whether the memory is active.
    pub is_active: bool,
}

/// Returns the decision about `incoming`, the index of the known memory that it concerns, and the reason.
pub fn decide_by_similarity(
    incoming: ComparedMemory<'_>,
    known: &[ComparedMemory<'_>],
) -> (Decision, Option<usize>, &'static str) {
    let has_other_value = |known: &ComparedMemory<'_>| {
        let ((key, value), (other_key, other_value)) = (incoming.attribute, known.attribute);
        key.is_some() && key == other_key && value.is_some() && value != other_value
    };
    if let Some(place) = known.iter().position(has_other_value) {
        return (Decision::Contradict, Some(place), "the same key with a different value");
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
    // The guards keep the control fair: it should fail because of its method, not because of an obvious omission.
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

/// Returns whether both texts have the same numbers and the same polarity.
fn is_guarded(one: &BTreeMap<String, u32>, other: &BTreeMap<String, u32>) -> bool {
    let numbers = |words: &BTreeMap<String, u32>| -> BTreeSet<String> {
        words.keys().filter(|word| word.chars().any(|c| c.is_ascii_digit())).cloned().collect()
    };
    let is_negated = |words: &BTreeMap<String, u32>| {
        words.keys().any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"))
    };
    numbers(one) == numbers(other) && is_negated(one) == is_negated(other)
}

/// Counts the words of `text`; in scripts without spaces each character is a word.
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
        // A character of a script without spaces ends the preceding word and is a word by itself.
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
    // Text without words is not similar to any other text.
    if lengths == 0.0 { 0.0 } else { dot / lengths }
}

/// Fixed seed, so that the distractors are the same in every run.
const SEED: u64 = 0x0dd5_eed5_0fd1_57ac;

/// Syllables that invented names are composed of.
// Names are invented so that no distractor mentions anything that a case mentions.
const FIRST: &[&str] = &["Zor", "Quen", "Vax", "Myr", "Thul", "Jex", "Wob", "Yss", "Krel", "Ombr", "Fiz", "Ghal"];
const SECOND: &[&str] = &["ava", "imu", "ode", "uki", "eshi", "ora", "ylo", "anto", "ibe", "umbo"];
const THIRD: &[&str] = &["x", "dur", "lith", "nok", "rax", "vent", "zim", "pha", "quil", "tross", "mek", "gorn"];

/// The sentences of distractors.
const SENTENCES: &str = include_str!("distractors.txt");

/// Returns `count` distractors. The same count always yields the same distractors, and no two of them share a name.
pub fn distractors(count: usize) -> Vec<CaseMemory> {
    let mut random = SplitMix::new(SEED);
    let sentences: Vec<&str> = SENTENCES.lines().filter(|line| !line.starts_with('#')).collect();
    (0..count).map(|index| distractor(name(index), sentences[index % sentences.len()], &mut random)).collect()
}

fn distractor(name: String, sentence: &str, random: &mut SplitMix) -> CaseMemory {
    let [head, text, values] = fields(sentence, " | ");
    let [category, memory_type, key] = fields(head, " ");
    let key = Some(key).filter(|key| *key != "-");
    let values: Vec<&str> = values.split(", ").filter(|value| !value.is_empty()).collect();
    let number = (1_000 + random.below(60_000)).to_string();
    let value = if values.is_empty() { "" } else { values[random.below(values.len())] };
    CaseMemory {
        content: text.replace("{}", &name).replace('#', &number).replace('@', value),
        memory_type: memory_type.parse().ok(),
        category: Some(category.to_owned()),
        subject: key.map(|_| name.to_lowercase()),
        key: key.map(|key| format!("{}.{key}", name.to_lowercase())),
        value: key.map(|_| if value.is_empty() { number } else { value.to_owned() }),
        title: Some(name),
        ..CaseMemory::default()
    }
}

fn fields<'a>(line: &'a str, between: &str) -> [&'a str; 3] {
    let mut fields = line.split(between);
    [(); 3].map(|()| fields.next().unwrap_or_default())
}

/// Returns a distinct name for each index; once all combinations are used, names are extended and then numbered.
fn name(index: usize) -> String {
    let (rest, third) = (index / THIRD.len(), THIRD[index % THIRD.len()]);
    let (rest, second) = (rest / SECOND.len(), SECOND[rest % SECOND.len()]);
    let (rest, first) = (rest / FIRST.len(), FIRST[rest % FIRST.len()]);
    match rest {
        0 => format!("{first}{second}{third}"),
        more => {
            let tail = SECOND[more % SECOND.len()];
            let turn = more / SECOND.len();
            let last = if turn == 0 { String::new() } else { turn.to_string() };
            format!("{first}{second}{third}{tail}{last}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distractors_are_the_same_each_time_and_all_different() {
        let once = distractors(300);
        assert_eq!(once, distractors(300));
        assert_eq!(once.iter().map(|one| &one.content).collect::<BTreeSet<_>>().len(), 300);
        assert_eq!((0..40_000).map(name).collect::<BTreeSet<_>>().len(), 40_000);
    }
}
