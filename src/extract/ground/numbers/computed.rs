//! Numbers that follow from two others by a sum, a difference or a product.

use std::sync::LazyLock;

use regex::Regex;

use super::digits::in_digits;
use super::words::in_words;

/// Numbers from which on a text is taken to be a list, in which every number would follow from two others.
const MAX_NUMBERS: usize = 60;

/// Words that double.
static TWICE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:twice|double[ds]?|doubling|both|pair|doppelt\w*|beide[nrs]?|verdoppel\w*|doble|ambos|ambas|duplic\w*)\b|两|双|倍")
        .expect("the pattern is constant and a test compiles it")
});

/// Whether two numbers of `text`, which was said in `year`, come to `number`.
pub(in super::super) fn is_computed(number: &str, text: &str, year: Option<i16>) -> bool {
    let mut values = values(text);
    let same = |one: f64, two: f64| (one - two).abs() <= 1e-9 * two.abs().max(1.0);
    let wanted = self::values(number);
    let is = |value: f64| wanted.iter().any(|wanted| same(value, *wanted));
    if year.is_some_and(|year| values.iter().any(|value| is(f64::from(year) - value))) {
        return true;
    }
    if TWICE.is_match(text) {
        values.push(2.0);
    }
    values.len() <= MAX_NUMBERS
        && values
            .iter()
            .enumerate()
            .any(|(at, one)| values[at + 1..].iter().any(|two| is(one + two) || is((one - two).abs()) || is(one * two)))
}

/// Returns the whole numbers of `text` that may be an age or a count of years.
pub(in super::super) fn counts(text: &str) -> impl Iterator<Item = i16> {
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number of at most 110")]
    values(text)
        .into_iter()
        .filter(|value| (1.0..=110.0).contains(value) && value.fract() == 0.0)
        .map(|value| value as i16)
}

fn values(text: &str) -> Vec<f64> {
    in_digits(text).into_iter().chain(in_words(text)).filter_map(|number| number.readings.first().copied()).collect()
}
