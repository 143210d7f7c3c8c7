//! A linear classifier over hashed features, for what no list of words covers.
//!
//! A text is described by a set of features, such as its words and parts of its words. Each feature has a weight, and
//! the sum of the weights decides. The weights are computed by `training` in tests, and stored as one signed byte for each
//! place of a hash table.

use std::ops::RangeInclusive;

/// Weights of features, as signed bytes; their number is a power of two.
pub(crate) struct LinearModel<'w>(&'w [u8]);

impl<'w> LinearModel<'w> {
    /// Wraps a table of weights.
    pub(crate) const fn new(weights: &'w [u8]) -> Self {
        assert!(weights.len().is_power_of_two(), "the place of a feature is a part of its hash");
        Self(weights)
    }

    /// Returns the sum of the weights, divided by the square root of the number of features, so that long and short
    /// texts are comparable.
    pub(crate) fn score(&self, features: &Features) -> f32 {
        let sum: i32 = features.places(self.0.len()).map(|place| i32::from(self.0[place].cast_signed())).sum();
        #[expect(clippy::cast_precision_loss, reason = "a text has so few features that both numbers are exact")]
        let (sum, count) = (sum as f32, features.len().max(1) as f32);
        sum / count.sqrt()
    }
}

/// Builds the features of a text.
#[derive(Debug, Default)]
pub(crate) struct FeatureBuilder {
    hashes: Vec<u32>,
}

/// The features of a text, as hashes, each once.
#[derive(Debug)]
pub(crate) struct Features(Vec<u32>);

impl FeatureBuilder {
    /// Adds a feature: a text of the kind `kind`.
    pub(crate) fn add(&mut self, kind: u8, text: &str) {
        self.add_all(kind, [text]);
    }

    /// Adds a feature that consists of several texts.
    pub(crate) fn add_all<'t>(&mut self, kind: u8, texts: impl IntoIterator<Item = &'t str>) {
        let hash = texts.into_iter().fold(start(kind), |hash, text| ended(text.bytes().fold(hash, step)));
        self.push(hash);
    }

    /// Adds the parts of `word` that have `lengths` characters, with a mark at its beginning and end.
    pub(crate) fn add_parts(&mut self, kind: u8, word: &str, lengths: RangeInclusive<usize>) {
        let marked = format!("<{word}>");
        for (at, _) in marked.char_indices() {
            let mut hash = start(kind);
            // A longer part begins with the shorter ones, so its hash continues theirs.
            for (length, c) in (1..=*lengths.end()).zip(marked[at..].chars()) {
                hash = c.encode_utf8(&mut [0; 4]).bytes().fold(hash, step);
                if lengths.contains(&length) {
                    self.push(ended(hash));
                }
            }
        }
    }

    fn push(&mut self, hash: u32) {
        // The high bits are mixed into the low ones, which alone decide on the place.
        self.hashes.push(hash ^ hash >> 16);
    }

    /// Returns the features.
    pub(crate) fn finish(mut self) -> Features {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        Features(self.hashes)
    }
}

/// Returns the FNV-1a hash of a kind of features: <http://www.isthe.com/chongo/tech/comp/fnv/>.
fn start(kind: u8) -> u32 {
    step(0x811c_9dc5, kind)
}

fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

/// Returns the hash after the end of a text.
fn ended(hash: u32) -> u32 {
    step(hash, 0xff)
}

impl Features {
    /// Returns the places of the features in a table with `size` places, a power of two.
    pub(crate) fn places(&self, size: usize) -> impl Iterator<Item = usize> {
        self.0.iter().map(move |hash| usize::try_from(*hash).expect("a hash has 32 bits") & (size - 1))
    }

    /// Returns the number of features.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns a word with `0` for each number in it, so that all numbers count as the same.
pub(crate) fn without_numbers(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        let c = if c.is_numeric() { '0' } else { c };
        if c != '0' || !out.ends_with('0') {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
#[path = "linear_tests.rs"]
pub(crate) mod training;
