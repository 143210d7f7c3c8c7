//! Recognises orders to an assistant by a trained classifier, in twelve languages, whatever their wording.
//!
//! The rules of `steering` and `orders` are certain of the wordings that they contain, and name the kind of order. The
//! classifier has learned from sentences of many authors, and finds what they did not foresee. Its errors are described
//! in `docs/privacy.md`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::guard::linear::{FeatureBuilder, Features, LinearModel, without_numbers};
use crate::guard::spelling::{is_unspaced_script, shown};

/// The score from which a sentence is an order. In the leave-one-author-out test of `training`, a higher threshold
/// misses more orders, and a lower one flags more ordinary sentences.
pub(super) const THRESHOLD: f32 = 10.0;

static MODEL: LinearModel<'static> = LinearModel::new(include_bytes!("orders.weights"), THRESHOLD);

/// Addresses, each of which counts as the same word.
static ADDRESSES: LazyLock<[(Regex, &str); 3]> = LazyLock::new(|| {
    let pattern = |pattern: &str| Regex::new(pattern).expect("the pattern is constant and a test compiles it");
    [
        (pattern(r"https?://\S+"), " xurl "),
        (pattern(r"[\w.+-]+@[\w-]+\.[\w.-]+"), " xmail "),
        (
            pattern(
                r"\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|io|org|dev|example|xyz|ru|cn|site|app|sh|to|me|co)\b[\w./-]*",
            ),
            " xhost ",
        ),
    ]
});

/// Whether `text` contains a sentence that reads like an order.
pub(super) fn reads_like_order(text: &str) -> bool {
    let text = shown(text);
    sentences(&text).any(|sentence| is_long_enough(sentence) && MODEL.accepts(&features(sentence)))
}

/// Whether a sentence says enough to be judged: three words, or eight characters of a script without spaces.
fn is_long_enough(sentence: &str) -> bool {
    sentence.split_whitespace().nth(2).is_some() || sentence.chars().filter(|c| is_unspaced_script(*c)).nth(7).is_some()
}

/// Returns the sentences of a text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '!' | '?' | '\n' | '。' | '！' | '？');
    text.split(ends).flat_map(|part| part.split(". ")).filter(|sentence| !sentence.trim().is_empty())
}

/// Returns the features of a sentence that [`shown`] has spelled: its words, pairs of words with at most one word
/// between them, and parts of words.
pub(super) fn features(sentence: &str) -> Features {
    let mut text = Cow::Borrowed(sentence);
    if sentence.contains(['@', '.', '/']) {
        for (address, word) in &*ADDRESSES {
            text = Cow::Owned(address.replace_all(&text, *word).into_owned());
        }
    }
    let words = words(&text);
    let mut features = FeatureBuilder::default();
    for word in &words {
        features.add(b'w', word);
        features.add_parts(b'c', word, 2..=4);
    }
    for pair in words.windows(2) {
        features.add_all(b'b', pair.iter().map(String::as_str));
    }
    for three in words.windows(3) {
        features.add_all(b's', [three[0].as_str(), &three[2]]);
    }
    features.finish()
}

/// Returns the words of a text, with `0` for each number.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(without_numbers).collect()
}
