//! Many patterns of which few match a text.
//!
//! A counted repetition such as `.{2,60}` is compiled to sixty copies, so hundreds of such patterns take a tenth of a
//! second and tens of megabytes. One automaton, in which repetitions are not counted, finds the patterns that may match
//! a text. Only these are compiled, when they are first needed.

use std::sync::OnceLock;

use regex::{Regex, RegexSet, RegexSetBuilder};

/// Largest automaton.
const MAX_BYTES: usize = 64 << 20;

/// Patterns, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct PatternSet {
    /// Matches whatever one of the patterns matches, and more.
    relaxed: RegexSet,
    patterns: Vec<(String, OnceLock<Regex>)>,
}

impl PatternSet {
    /// Returns the set of these patterns.
    pub(crate) fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        let patterns: Vec<_> = patterns.into_iter().map(|pattern| (pattern, OnceLock::new())).collect();
        let relaxed = RegexSetBuilder::new(patterns.iter().map(|(pattern, _)| uncounted(pattern)))
            .size_limit(MAX_BYTES)
            .build()
            .expect("the patterns are constants");
        Self { relaxed, patterns }
    }

    /// Whether one of the patterns may match a text.
    pub(crate) fn may_match(&self, text: &str) -> bool {
        self.relaxed.is_match(text)
    }

    /// Returns the patterns that may match a text, each with its place.
    pub(crate) fn candidates(&self, text: &str) -> impl Iterator<Item = (usize, &Regex)> {
        self.relaxed.matches(text).into_iter().map(|place| (place, self.pattern(place)))
    }

    fn pattern(&self, place: usize) -> &Regex {
        let (pattern, compiled) = &self.patterns[place];
        compiled.get_or_init(|| Regex::new(pattern).expect("the patterns are constants"))
    }
}

/// Returns the pattern without numbers of repetitions: `{2,60}` becomes `+`, and `{0,4}` becomes `*`.
fn uncounted(pattern: &str) -> String {
    let mut relaxed = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('{') {
        let (before, braced) = rest.split_at(at);
        relaxed.push_str(before);
        let end = braced.find('}').map_or(braced.len(), |end| end + 1);
        let (count, after) = braced.split_at(end);
        let is_count = count[1..].starts_with(|first: char| first.is_ascii_digit());
        // `\p{L}` and `\u{c0}` have braces, too.
        let is_letter = ["\\", "\\p", "\\P", "\\x", "\\u", "\\U"].iter().any(|escape| before.ends_with(escape));
        relaxed.push_str(match count.as_bytes().get(1) {
            Some(b'0') if is_count && !is_letter => "*",
            _ if is_count && !is_letter => "+",
            _ => count,
        });
        rest = after;
    }
    relaxed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_not_counted_and_letters_stay() {
        for (pattern, expected) in [
            (r"a{2,60}?b", "a+?b"),
            (r"(?:\w+ ){0,4}x{3}", r"(?:\w+ )*x+"),
            (r"[\p{L}\u{00}-\x{41}]\p{Han}{2,}", r"[\p{L}\u{00}-\x{41}]\p{Han}+"),
            ("plain", "plain"),
        ] {
            assert_eq!(uncounted(pattern), expected);
        }
    }

    #[test]
    fn whatever_a_pattern_matches_is_a_candidate() {
        let set = PatternSet::new([r"^a{2,3}$".to_owned(), "b".to_owned(), r"^a{0,1}b".to_owned()]);
        let matching = |text: &str| -> Vec<usize> {
            set.candidates(text).filter(|(_, pattern)| pattern.is_match(text)).map(|(place, _)| place).collect()
        };
        assert_eq!((matching("aa"), matching("aaaa"), matching("ab")), (vec![0], vec![], vec![1, 2]));
    }
}
