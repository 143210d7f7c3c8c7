//! Controls for consolidation: decisions based on word similarity, and invented memories that surround a case.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::CaseMemory;
use crate::tally::SplitMix;
use crate::vocabulary::{Decision, MemoryType};

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
    // A text without words is similar to no other text.
    if lengths == 0.0 { 0.0 } else { dot / lengths }
}

/// Seed that makes the distractors identical in every run.
const SEED: u64 = 0x0dd5_eed5_0fd1_57ac;

/// Syllables that invented names are composed of.
// Names are invented so that no distractor mentions anything that a case mentions.
const FIRST: &[&str] = &["Zor", "Quen", "Vax", "Myr", "Thul", "Jex", "Wob", "Yss", "Krel", "Ombr", "Fiz", "Ghal"];
const SECOND: &[&str] = &["ava", "imu", "ode", "uki", "eshi", "ora", "ylo", "anto", "ibe", "umbo"];
const THIRD: &[&str] = &["x", "dur", "lith", "nok", "rax", "vent", "zim", "pha", "quil", "tross", "mek", "gorn"];

/// A sentence template: `{}` is replaced by the name, `#` by a number and `@` by one of the values.
struct Sentence {
    text: &'static str,
    category: &'static str,
    memory_type: MemoryType,
    /// Last part of the key, if the memory has one.
    key: Option<&'static str>,
    values: &'static [&'static str],
}

const fn fact(text: &'static str, key: Option<&'static str>, values: &'static [&'static str]) -> Sentence {
    Sentence { text, category: "fact", memory_type: MemoryType::Semantic, key, values }
}

const fn other(
    text: &'static str,
    category: &'static str,
    memory_type: MemoryType,
    values: &'static [&'static str],
) -> Sentence {
    Sentence { text, category, memory_type, key: None, values }
}

const TOWNS: &[&str] = &["Tarvelo", "Ostrimont", "Belquay", "Nordhaven-on-Lisk", "Pelagra", "Quisto", "Marrowdale"];
const DAYS: &[&str] = &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
const TOOLS: &[&str] = &["Wexler", "Pomdrift", "Calyx", "Trunnion", "Skarn", "Ferrule"];

const KINDS: &[Sentence] = &[
    fact("{} lives in @.", Some("residence"), TOWNS),
    fact("The service {} listens on port #.", Some("port"), &[]),
    fact("The nightly job {} keeps its backups for # days.", None, &[]),
    fact("{} meets the harbour choir on @ evenings.", Some("rehearsal"), DAYS),
    other("{} prefers @ to spreadsheets.", "preference", MemoryType::Semantic, TOOLS),
    other("The team behind {} decided to build with @.", "decision", MemoryType::Semantic, TOOLS),
    other(
        "To restart {}, drain the queue, wait # seconds and run its health check.",
        "workflow",
        MemoryType::Procedural,
        &[],
    ),
    other("On a visit to @ {} repaired # lanterns.", "note", MemoryType::Episodic, TOWNS),
    fact("{} 住在 @。", Some("residence"), &["青柘镇", "临洙", "北菏湾", "望岚坡", "石楠里"]),
    fact("服务 {} 使用端口 #。", Some("port"), &[]),
    other("{} 更喜欢用 @ 记笔记。", "preference", MemoryType::Semantic, TOOLS),
    other("{} 团队决定每周@发布。", "decision", MemoryType::Semantic, &["一", "二", "三", "四"]),
    fact("{} vive en @.", Some("residence"), &["Valdoria", "Puerto Brezo", "Almendral de Isca", "Ribera Honda"]),
    fact("El servicio {} guarda sus copias # días.", None, &[]),
    other("{} prefiere trabajar con @.", "preference", MemoryType::Semantic, TOOLS),
    fact("{} wohnt in @.", Some("residence"), &["Brunnfelden", "Ostersiel", "Kaltenmoor", "Wiesenquell"]),
    fact("Der Dienst {} lauscht auf Port #.", Some("port"), &[]),
    other("Das Team von {} hat sich für @ entschieden.", "decision", MemoryType::Semantic, TOOLS),
    fact("{}は@に住んでいる。", Some("residence"), &["碧ノ浦", "霧沢町", "北楢原"]),
    fact("{} 서비스는 포트 #번을 사용한다.", Some("port"), &[]),
];

/// Returns `count` distractors. Equal counts yield equal distractors, and no two distractors share a name.
pub fn distractors(count: usize) -> Vec<CaseMemory> {
    let mut random = SplitMix::new(SEED);
    (0..count).map(|index| distractor(index, &mut random)).collect()
}

fn distractor(index: usize, random: &mut SplitMix) -> CaseMemory {
    let kind = &KINDS[index % KINDS.len()];
    let name = name(index);
    let number = (1_000 + random.below(60_000)).to_string();
    let value = if kind.values.is_empty() { "" } else { kind.values[random.below(kind.values.len())] };
    CaseMemory {
        content: kind.text.replace("{}", &name).replace('#', &number).replace('@', value),
        memory_type: Some(kind.memory_type),
        category: Some(kind.category.to_owned()),
        subject: kind.key.map(|_| name.to_lowercase()),
        key: kind.key.map(|key| format!("{}.{key}", name.to_lowercase())),
        value: kind.key.map(|_| if value.is_empty() { number } else { value.to_owned() }),
        title: Some(name),
        ..CaseMemory::default()
    }
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
