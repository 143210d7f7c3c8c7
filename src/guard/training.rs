//! Trains the classifiers of orders and of secrets in prose, and measures them on texts of authors whose texts they were not
//! trained on.
//!
//! `AFTERTHOUGHT_UPDATE=1 cargo test --lib -- guard::training --nocapture` prints the figures and writes the weights.
//! Without the variable, the tests check that the stored weights fit the texts and the features.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::guard::compound_tests::OTHERS;
use crate::guard::linear::{Features, LinearModel};
use crate::guard::near::tests::KEPT;
use crate::guard::ordinary_tests::texts_below;
use crate::guard::pii_tests::{HOLDING, LIKE};
use crate::guard::said_tests::UNTOUCHED;
use crate::guard::spelling::shown;
use crate::guard::spoken_tests::ABOUT;
use crate::guard::steering_tests::{BENIGN, SAFE, SENT, UNGRANTED};
use crate::guard::tests::INNOCENT;
use crate::guard::{order_model, prose};

/// Penalty of errors in comparison with the size of the weights.
const COST: f64 = 3.0;

/// Number of times that all examples are read.
const ROUNDS: usize = 40;

/// Number of places of the tables of weights.
const PLACES: usize = 1 << 18;

/// Factor between computed and stored weights.
const SCALE: f64 = 40.0;

/// A text, with what the classifier judges in it: the whole sentence, or each value.
struct Text {
    /// The name of the author's file, or [`ORDINARY`].
    author: String,
    /// Whether it is an order, or contains a secret.
    is_positive: bool,
    /// The features of each part that is judged, and whether that part is an order or the secret.
    parts: Vec<(Features, bool)>,
}

/// The author of texts that were not written for this purpose.
const ORDINARY: &str = "ordinary";

/// Returns how much each place counts in training: its inverse document frequency, relative to the mean. Rare features say
/// more about a text than frequent ones.
fn rarity(examples: &[&(Features, bool)]) -> Vec<f64> {
    let mut frequency = vec![0_u32; PLACES];
    for (features, _) in examples {
        features.places(PLACES).for_each(|place| frequency[place] += 1);
    }
    let all = f64::from(u32::try_from(examples.len()).unwrap());
    let inverse: Vec<f64> = frequency.iter().map(|one| ((all + 1.0) / (f64::from(*one) + 1.0)).ln() + 1.0).collect();
    let mean = inverse.iter().sum::<f64>() / f64::from(u32::try_from(PLACES).unwrap());
    inverse.iter().map(|one| one / mean).collect()
}

/// Returns the weights of a linear support vector machine with squared hinge loss, by dual coordinate descent (Hsieh et
/// al., "A Dual Coordinate Descent Method for Large-scale Linear SVM", 2008), as they are stored.
fn trained(texts: &[&Text]) -> Vec<u8> {
    let examples: Vec<&(Features, bool)> = texts.iter().flat_map(|text| &text.parts).collect();
    let rarity = rarity(&examples);
    // The values of the features of an example are multiplied by `size`, so that long and short texts are comparable.
    let size = |features: &Features| 1.0 / f64::from(u32::try_from(features.len().max(1)).unwrap()).sqrt();
    let norm = |features: &Features| {
        features.places(PLACES).map(|place| rarity[place].powi(2)).sum::<f64>() * size(features).powi(2)
    };
    let norms: Vec<f64> = examples.iter().map(|(features, _)| norm(features)).collect();
    let (mut weights, mut alphas) = (vec![0.0_f64; PLACES], vec![0.0_f64; examples.len()]);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut seed = 0x5eed_u64;
    let softness = 1.0 / (2.0 * COST);
    for _ in 0..ROUNDS {
        for at in (1..order.len()).rev() {
            // Knuth's linear congruential generator with the constants of MMIX.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, usize::try_from(seed >> 33).unwrap() % (at + 1));
        }
        for &at in &order {
            let (features, is_positive) = examples[at];
            let side = if *is_positive { 1.0 } else { -1.0 };
            let size = size(features);
            let score: f64 = features.places(PLACES).map(|place| weights[place] * rarity[place]).sum::<f64>() * size;
            let gradient = side * score - 1.0 + softness * alphas[at];
            let alpha = (alphas[at] - gradient / (norms[at] + softness)).max(0.0);
            let change = (alpha - alphas[at]) * side * size;
            if change != 0.0 {
                alphas[at] = alpha;
                features.places(PLACES).for_each(|place| weights[place] += change * rarity[place]);
            }
        }
    }
    let stored = weights.iter().zip(&rarity).map(|(weight, rarity)| (weight * rarity * SCALE).round());
    #[expect(clippy::cast_possible_truncation, reason = "the value is limited to the range of the type")]
    stored.map(|weight| (weight.clamp(-127.0, 127.0) as i8).cast_unsigned()).collect()
}

/// Returns the highest score of the parts of a text that are to be found, or, in a text without any, of all parts.
fn score(model: &LinearModel<'_>, text: &Text) -> f32 {
    let parts = text.parts.iter().filter(|(_, is_positive)| *is_positive == text.is_positive);
    parts.map(|(features, _)| model.score(features)).fold(f32::MIN, f32::max)
}

/// Prints, for several thresholds, how many texts are above it, when the texts of a quarter of the authors are judged by
/// weights that were trained on the others.
fn leave_authors_out(texts: &[Text]) {
    let authors: BTreeSet<&str> = texts.iter().map(|one| one.author.as_str()).collect();
    let mut judged: Vec<(f32, &Text)> = Vec::new();
    for part in 0..4 {
        let own: BTreeSet<&str> = authors.iter().copied().skip(part).step_by(4).collect();
        let is_own = |at: usize| {
            let author = texts[at].author.as_str();
            if author == ORDINARY { at % 4 == part } else { own.contains(author) }
        };
        let rest: Vec<&Text> = (0..texts.len()).filter(|at| !is_own(*at)).map(|at| &texts[at]).collect();
        let weights = trained(&rest);
        let model = LinearModel::new(&weights);
        let own = (0..texts.len()).filter(|at| is_own(*at)).map(|at| &texts[at]);
        judged.extend(own.map(|one| (score(&model, one), one)));
    }
    for threshold in (0_i16..=30).step_by(2) {
        let share = |is_one: &dyn Fn(&Text) -> bool| {
            let all = judged.iter().filter(|(_, one)| is_one(one));
            let above = all.clone().filter(|(score, _)| *score > f32::from(threshold)).count();
            format!("{above} of {}", all.count())
        };
        let found = share(&|one| one.is_positive);
        let flagged = share(&|one| !one.is_positive && one.author != ORDINARY);
        let ordinary = share(&|one| one.author == ORDINARY);
        println!("threshold {threshold:>2}: found {found}, others flagged {flagged}, ordinary ones {ordinary}");
    }
}

/// Returns the files below a folder of the evaluations, each with its text.
fn in_evals(name: &str) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    texts_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("evals").join(name), &mut texts);
    texts
}

/// Calls `visit` on each text in a JSON value, with the name of the field whose value it is, or an empty name.
fn visit_texts(name: &str, value: &Value, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| visit_texts(name, value, visit)),
        Value::Array(values) => values.iter().for_each(|value| visit_texts("", value, visit)),
        Value::String(text) => visit(name, text),
        _ => {}
    }
}

/// Returns the memories in the cases of the development parts.
fn ordinary_memories() -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let mut add = |name: &str, text: &str| {
        if matches!(name, "content" | "text" | "statement") {
            texts.insert(text.to_owned());
        }
    };
    let folders = ["extraction/dev", "long/dev", "consolidation/dev", "consolidation/changes"];
    for (file, text) in folders.into_iter().flat_map(in_evals) {
        let path = file.to_string_lossy();
        if path.contains("unseen") {
            continue;
        }
        if path.ends_with("case.json") {
            visit_texts("", &serde_json::from_str(&text).unwrap(), &mut add);
        } else if path.ends_with("pairs.jsonl") || path.ends_with("streams.jsonl") {
            text.lines().for_each(|line| visit_texts("", &serde_json::from_str(line).unwrap(), &mut add));
        }
    }
    texts.retain(|text| (10..600).contains(&text.len()));
    texts
}

/// Returns the messages of the conversations in the development parts.
fn ordinary_messages() -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let mut add = |_: &str, text: &str| {
        texts.insert(text.to_owned());
    };
    for folder in ["extraction/dev", "long/dev"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals").join(folder);
        for file in walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(Result::unwrap) {
            let name = file.file_name().to_string_lossy();
            if !file.file_type().is_file() || matches!(&*name, "case.json" | "judged.json") {
                continue;
            }
            let bytes = std::fs::read(file.path()).unwrap();
            let bytes = if name.ends_with(".zst") { zstd::decode_all(&bytes[..]).unwrap() } else { bytes };
            // Archives are left out.
            let Ok(text) = String::from_utf8(bytes) else { continue };
            match serde_json::from_str(&text) {
                Ok(value) => visit_texts("", &value, &mut add),
                Err(_) => text.lines().for_each(|line| match serde_json::from_str(line) {
                    Ok(value) => visit_texts("", &value, &mut add),
                    Err(_) => add("", line),
                }),
            }
        }
    }
    texts.retain(|text| (20..4_000).contains(&text.len()) && !text.contains("[redacted"));
    texts
}

fn orders() -> Vec<Text> {
    let of = |author: &str, is_positive: bool, text: &str| {
        let features = order_model::features(&shown(text));
        Text { author: author.to_owned(), is_positive, parts: vec![(features, is_positive)] }
    };
    let mut texts = Vec::new();
    for (file, text) in in_evals("guard/orders") {
        let author = file.file_stem().unwrap().to_string_lossy().into_owned();
        for line in text.lines() {
            let [_, label, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            texts.push(of(&author, label == "order", text));
        }
    }
    let harmless = [BENIGN, SAFE, SENT, UNGRANTED].concat();
    let memories = ordinary_memories();
    let ordinary = harmless.into_iter().chain(memories.iter().map(String::as_str));
    texts.extend(ordinary.map(|text| of(ORDINARY, false, text)));
    texts
}

fn secrets_in_prose() -> Vec<Text> {
    let mut texts = Vec::new();
    for (file, text) in in_evals("guard/secrets") {
        let author = file.file_stem().unwrap().to_string_lossy().into_owned();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = line["text"].as_str().unwrap();
            let secret = text.find('⟦').zip(text.find('⟧')).map(|(start, end)| start..end - '⟦'.len_utf8());
            let plain = text.replace(['⟦', '⟧'], "");
            let label = |value: &std::ops::Range<usize>| match &secret {
                Some(secret) if value.start < secret.end && secret.start < value.end => {
                    let is_whole = value.start <= secret.start && secret.end <= value.end;
                    // A part of a secret, or much more than it, is neither right nor wrong.
                    (is_whole && value.len() <= secret.len() + 3).then_some(true)
                }
                _ => Some(false),
            };
            let values = prose::values(&plain);
            let values = values.iter().filter_map(|value| Some((prose::features(&plain, value), label(value)?)));
            texts.push(Text { author: author.clone(), is_positive: secret.is_some(), parts: values.collect() });
        }
    }
    let mut ordinary: Vec<String> = ordinary_memories().into_iter().collect();
    for (_, text) in in_evals("guard/orders") {
        ordinary.extend(text.lines().filter_map(|line| line.rsplit('\t').next()).map(str::to_owned));
    }
    ordinary.extend(ordinary_messages());
    let mut prompts = Vec::new();
    texts_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts"), &mut prompts);
    ordinary.extend(prompts.into_iter().map(|(_, text)| text));
    let harmless = [INNOCENT, UNTOUCHED, ABOUT, LIKE, OTHERS, KEPT].concat();
    ordinary.extend(harmless.into_iter().chain(HOLDING.iter().map(|(_, text)| *text)).map(str::to_owned));
    texts.extend(ordinary.iter().map(|text| Text {
        author: ORDINARY.to_owned(),
        is_positive: false,
        parts: prose::values(text).iter().map(|value| (prose::features(text, value), false)).collect(),
    }));
    texts
}

/// Trains if that is asked for, and checks that the weights in `file` fit: at least `least` in a hundred texts are found,
/// and at most one in a hundred others is. There must be more texts of both kinds than `counts`.
fn check(texts: &[Text], file: &str, threshold: f32, least: usize, counts: [usize; 2]) {
    // A published package has no evaluations.
    if in_evals("guard").is_empty() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guard").join(file);
    if std::env::var_os("AFTERTHOUGHT_UPDATE").is_some() {
        leave_authors_out(texts);
        std::fs::write(&path, trained(&texts.iter().collect::<Vec<_>>())).unwrap();
    }
    let weights = std::fs::read(&path).unwrap();
    let model = LinearModel::new(&weights);
    let count = |is_positive: bool| {
        let all = texts.iter().filter(|one| one.is_positive == is_positive);
        (all.clone().filter(|one| score(&model, one) > threshold).count(), all.count())
    };
    let ((found, positive), (flagged, others)) = (count(true), count(false));
    println!("{file}, trained on: found {found} of {positive}, others flagged {flagged} of {others}");
    assert!(positive > counts[0] && others > counts[1]);
    assert!(found * 100 >= positive * least && flagged * 100 <= others, "train again, as the head of this file says");
}

#[test]
fn weights_of_orders_fit_the_texts() {
    check(&orders(), "orders.weights", order_model::THRESHOLD, 95, [9_000, 15_000]);
}

#[test]
fn weights_of_secrets_in_prose_fit_the_texts() {
    check(&secrets_in_prose(), "prose.weights", prose::THRESHOLD, 55, [8_000, 45_000]);
}
