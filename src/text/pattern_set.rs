//! A set of many patterns, few of which match any one text.
//!
//! A counted repetition such as `.{2,60}` is compiled to sixty copies, so hundreds of such patterns take a tenth of a
//! second and tens of megabytes. One automaton, in which repetitions are not counted, finds the patterns that may match
//! a text. Only these are compiled, when they are first needed.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::{Regex, RegexSet, RegexSetBuilder};
use serde::Deserialize;

/// Largest automaton.
const MAX_BYTES: usize = 64 << 20;

/// Patterns, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct PatternSet {
    /// Matches everything that any of the patterns matches, and more.
    relaxed: OnceLock<RegexSet>,
    patterns: Vec<(String, OnceLock<Regex>)>,
}

impl PatternSet {
    /// Returns the set of these patterns.
    pub(crate) fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        let patterns = patterns.into_iter().map(|pattern| (pattern, OnceLock::new())).collect();
        Self { relaxed: OnceLock::new(), patterns }
    }

    fn relaxed(&self) -> &RegexSet {
        self.relaxed.get_or_init(|| {
            RegexSetBuilder::new(self.patterns.iter().map(|(pattern, _)| uncounted(pattern)))
                .size_limit(MAX_BYTES)
                .build()
                .expect("the patterns are constants")
        })
    }

    /// Whether one of the patterns may match `text`.
    pub(crate) fn may_match(&self, text: &str) -> bool {
        self.relaxed().is_match(text)
    }

    /// Returns the patterns that may match `text`, each with its index.
    pub(crate) fn candidates(&self, text: &str) -> impl Iterator<Item = (usize, &Regex)> {
        self.relaxed().matches(text).into_iter().map(|place| (place, self.pattern(place)))
    }

    fn pattern(&self, place: usize) -> &Regex {
        let (pattern, compiled) = &self.patterns[place];
        compiled.get_or_init(|| Regex::new(pattern).expect("the patterns are constants"))
    }
}

/// A pattern from a rule file, which ignores case; `(?-i:…)` makes case significant.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Pattern<const AT_START: bool>(Regex);

/// A pattern that may match anywhere in a text.
pub(crate) type Anywhere = Pattern<false>;

/// A pattern that matches only at the start of a text.
pub(crate) type AtStart = Pattern<true>;

impl<const AT_START: bool> From<String> for Pattern<AT_START> {
    fn from(pattern: String) -> Self {
        let pattern = if AT_START { at_start(&pattern) } else { format!("(?i){pattern}") };
        Self(Regex::new(&pattern).expect("the patterns are constants"))
    }
}

impl<const AT_START: bool> Deref for Pattern<AT_START> {
    type Target = Regex;
    fn deref(&self) -> &Regex {
        &self.0
    }
}

/// A pattern that is compiled when a text first contains one of its hints, because compiling it takes longer than
/// searching most texts for the hints.
#[derive(Debug)]
pub(crate) struct HintedPattern {
    /// Literals, one of which every match contains.
    pub(crate) hints: &'static [&'static str],
    pattern: &'static str,
    compiled: OnceLock<Regex>,
}

impl HintedPattern {
    /// Returns a pattern with these hints.
    pub(crate) const fn new(hints: &'static [&'static str], pattern: &'static str) -> Self {
        Self { hints, pattern, compiled: OnceLock::new() }
    }

    /// Returns the pattern if `text` contains one of its hints. If the pattern ignores case, `text` must be in lower
    /// case.
    pub(crate) fn for_text(&self, text: &str) -> Option<&Regex> {
        self.hints.iter().any(|hint| text.contains(hint)).then(|| self.regex())
    }

    /// Returns the compiled pattern.
    pub(crate) fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.pattern).expect("the pattern is a constant"))
    }
}

/// Returns `pattern` for the start of a text, ignoring case.
pub(crate) fn at_start(pattern: &str) -> String {
    format!("(?i)^(?:{pattern})")
}

/// Patterns that ignore case, one of which has to match. They are compiled when they are first needed.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct Patterns(Vec<String>, OnceLock<RegexSet>);

impl From<Vec<String>> for Patterns {
    fn from(patterns: Vec<String>) -> Self {
        Self(patterns, OnceLock::new())
    }
}

impl Deref for Patterns {
    type Target = RegexSet;
    fn deref(&self) -> &RegexSet {
        let patterns = || self.0.iter().map(|pattern| format!("(?i){pattern}"));
        self.1.get_or_init(|| RegexSet::new(patterns()).expect("the patterns are constants"))
    }
}

/// Returns the pattern without repetition counts: `{2,60}` becomes `+`, and `{0,4}` becomes `*`.
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
