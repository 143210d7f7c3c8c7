//! Trains the classifiers of orders and of secrets in prose, and measures them on texts of authors whose texts they were not
//! trained on.
//!
//! `AFTERTHOUGHT_UPDATE=1 cargo test --lib -- guard::training --nocapture` prints the figures and writes the weights.
//! Without the variable, the tests check that the stored weights fit the texts and the features.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::guard::compound_tests::OTHERS;
use crate::guard::near::tests::KEPT;
use crate::guard::ordinary_tests::texts_below;
use crate::guard::pii_tests::{HOLDING, LIKE};
use crate::guard::said_tests::UNTOUCHED;
use crate::guard::spelling::shown;
use crate::guard::spoken_tests::ABOUT;
use crate::guard::steering_tests::{BENIGN, SAFE, SENT, UNGRANTED};
use crate::guard::tests::INNOCENT;
use crate::guard::{order_model, prose};
use crate::text::linear::training::trained;
use crate::text::linear::{Features, LinearModel};

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

fn parts_of<'t>(texts: &[&'t Text]) -> Vec<&'t (Features, bool)> {
    texts.iter().flat_map(|text| &text.parts).collect()
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
        let weights = trained(&parts_of(&rest));
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
        std::fs::write(&path, trained(&parts_of(&texts.iter().collect::<Vec<_>>()))).unwrap();
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
