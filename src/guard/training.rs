//! Trains the classifier of orders, and measures it on sentences of authors whose sentences it was not trained on.
//!
//! `AFTERTHOUGHT_UPDATE=1 cargo test --lib -- guard::training --nocapture` prints the figures and writes the weights.
//! Without the variable, the test checks that the stored weights fit the sentences and the features.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::guard::linear::{Features, LinearModel};
use crate::guard::order_model::{THRESHOLD, features};
use crate::guard::ordinary_tests::texts_below;
use crate::guard::spelling::shown;
use crate::guard::steering_tests::{BENIGN, SAFE, SENT, UNGRANTED};

/// Penalty of errors in comparison with the size of the weights.
const COST: f64 = 1.0;

/// Number of times that all sentences are read.
const ROUNDS: usize = 40;

/// Number of places of the table of weights.
const PLACES: usize = 1 << 16;

/// Factor between computed and stored weights.
const SCALE: f64 = 40.0;

/// One labelled sentence.
struct Example {
    /// The name of the author's file, or [`ORDINARY`].
    author: String,
    features: Features,
    is_order: bool,
}

/// The author of sentences that were not written for this purpose.
const ORDINARY: &str = "ordinary";

impl Example {
    fn new(author: &str, is_order: bool, text: &str) -> Self {
        Self { author: author.to_owned(), features: features(&shown(text)), is_order }
    }
}

/// Returns the weights of a linear support vector machine with squared hinge loss, by dual coordinate descent (Hsieh et
/// al., "A Dual Coordinate Descent Method for Large-scale Linear SVM", 2008), as they are stored.
fn trained(examples: &[&Example]) -> Vec<u8> {
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
            let Example { features, is_order, .. } = examples[at];
            let side = if *is_order { 1.0 } else { -1.0 };
            let size = 1.0 / f64::from(u32::try_from(features.len().max(1)).unwrap()).sqrt();
            let score: f64 = features.places(PLACES).map(|place| weights[place]).sum::<f64>() * size;
            let gradient = side * score - 1.0 + softness * alphas[at];
            let alpha = (alphas[at] - gradient / (1.0 + softness)).max(0.0);
            let change = (alpha - alphas[at]) * side * size;
            alphas[at] = alpha;
            features.places(PLACES).for_each(|place| weights[place] += change);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "the value is limited to the range of the type")]
    weights.iter().map(|weight| ((weight * SCALE).round().clamp(-127.0, 127.0) as i8).cast_unsigned()).collect()
}

/// Prints, for several thresholds, how many sentences are above it, when the sentences of a quarter of the authors are
/// judged by weights that were trained on the others.
fn leave_authors_out(examples: &[Example]) {
    let authors: BTreeSet<&str> = examples.iter().map(|one| one.author.as_str()).collect();
    let mut judged: Vec<(f32, &Example)> = Vec::new();
    for part in 0..4 {
        let own: BTreeSet<&str> = authors.iter().copied().skip(part).step_by(4).collect();
        let is_own = |at: usize| {
            let author = examples[at].author.as_str();
            if author == ORDINARY { at % 4 == part } else { own.contains(author) }
        };
        let rest: Vec<&Example> = (0..examples.len()).filter(|at| !is_own(*at)).map(|at| &examples[at]).collect();
        let weights = trained(&rest);
        let model = LinearModel::new(&weights);
        let own = (0..examples.len()).filter(|at| is_own(*at)).map(|at| &examples[at]);
        judged.extend(own.map(|one| (model.score(&one.features), one)));
    }
    for threshold in (0_i16..=30).step_by(2) {
        let share = |is_one: &dyn Fn(&Example) -> bool| {
            let all = judged.iter().filter(|(_, one)| is_one(one));
            let above = all.clone().filter(|(score, _)| *score > f32::from(threshold)).count();
            format!("{above} of {}", all.count())
        };
        let found = share(&|one| one.is_order);
        let flagged = share(&|one| !one.is_order && one.author != ORDINARY);
        let ordinary = share(&|one| one.author == ORDINARY);
        println!("threshold {threshold:>2}: orders found {found}, others flagged {flagged}, ordinary ones {ordinary}");
    }
}

/// Returns the files below a folder of the evaluations, each with its text.
fn in_evals(name: &str) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    texts_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("evals").join(name), &mut texts);
    texts
}

/// Returns the memories in the cases of the development parts.
fn ordinary_memories() -> BTreeSet<String> {
    fn walk(value: &Value, texts: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str() {
                        Some(text) if matches!(name.as_str(), "content" | "text" | "statement") => {
                            texts.insert(text.to_owned());
                        }
                        _ => walk(value, texts),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, texts)),
            _ => {}
        }
    }
    let mut texts = BTreeSet::new();
    let folders = ["extraction/dev", "long/dev", "consolidation/dev", "consolidation/changes"];
    for (file, text) in folders.into_iter().flat_map(in_evals) {
        let path = file.to_string_lossy();
        if path.contains("unseen") {
            continue;
        }
        if path.ends_with("case.json") {
            walk(&serde_json::from_str(&text).unwrap(), &mut texts);
        } else if path.ends_with("pairs.jsonl") || path.ends_with("streams.jsonl") {
            text.lines().for_each(|line| walk(&serde_json::from_str(line).unwrap(), &mut texts));
        }
    }
    texts.retain(|text| (10..600).contains(&text.len()));
    texts
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for (file, text) in in_evals("guard/orders") {
        let author = file.file_stem().unwrap().to_string_lossy().into_owned();
        for line in text.lines() {
            let [_, label, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            examples.push(Example::new(&author, label == "order", text));
        }
    }
    let harmless = [BENIGN, SAFE, SENT, UNGRANTED].concat();
    let memories = ordinary_memories();
    let ordinary = harmless.into_iter().chain(memories.iter().map(String::as_str));
    examples.extend(ordinary.map(|text| Example::new(ORDINARY, false, text)));
    examples
}

#[test]
fn weights_of_orders_fit_the_sentences() {
    // A published package has no evaluations.
    if in_evals("guard").is_empty() {
        return;
    }
    let examples = examples();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guard/orders.weights");
    if std::env::var_os("AFTERTHOUGHT_UPDATE").is_some() {
        leave_authors_out(&examples);
        std::fs::write(&path, trained(&examples.iter().collect::<Vec<_>>())).unwrap();
    }
    let weights = std::fs::read(&path).unwrap();
    let model = LinearModel::new(&weights);
    let count = |is_order: bool| {
        let all = examples.iter().filter(|one| one.is_order == is_order);
        (all.clone().filter(|one| model.score(&one.features) > THRESHOLD).count(), all.count())
    };
    let ((found, orders), (flagged, others)) = (count(true), count(false));
    println!("trained on: orders found {found} of {orders}, others flagged {flagged} of {others}");
    assert!(orders > 5_000 && others > 8_000);
    assert!(found * 10 >= orders * 9 && flagged * 100 <= others, "train again, as the head of this file says");
}
