//! A set of many patterns, few of which match any one text.
//!
//! A counted repetition such as `.{2,60}` is compiled to sixty copies, so hundreds of such patterns take a tenth of a
//! second and tens of megabytes. Most texts contain none of the literals that a pattern requires. For the others, a
//! relaxed form of the pattern, in which repetitions are not counted, finds out whether the pattern may match. The
//! pattern itself is compiled when it may match a text for the first time.

use std::ops::Deref;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Deserialize;

use super::required::literals;

/// Patterns, in the order in which they are tried.
#[derive(Debug, Default)]
pub(crate) struct PatternSet {
    patterns: Vec<LazyPattern>,
    literals: OnceLock<Literals>,
}

/// A pattern that is compiled when it is first needed.
#[derive(Debug)]
struct LazyPattern {
    source: String,
    relaxed: OnceLock<Regex>,
    exact: OnceLock<Regex>,
}

/// The literals that patterns require.
#[derive(Debug)]
struct Literals {
    automaton: AhoCorasick,
    /// The pattern of each literal, as an index.
    owners: Vec<usize>,
    /// The patterns that require no literal.
    free: Vec<usize>,
}

impl PatternSet {
    /// Returns the set of these patterns.
    pub(crate) fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        let lazy = |source| LazyPattern { source, relaxed: OnceLock::new(), exact: OnceLock::new() };
        Self { patterns: patterns.into_iter().map(lazy).collect(), literals: OnceLock::new() }
    }

    /// Returns the patterns that may match `text`, each with its index.
    pub(crate) fn candidates<'s>(&'s self, text: &str) -> impl Iterator<Item = (usize, &'s Regex)> {
        let literals = self.literals.get_or_init(|| Literals::of(&self.patterns));
        let places = literals.found_in(text).into_iter();
        places.filter(|place| self.patterns[*place].may_match(text)).map(|place| (place, self.patterns[place].exact()))
    }
}

impl LazyPattern {
    fn may_match(&self, text: &str) -> bool {
        // Without counts, the relaxed form is hardly cheaper to compile.
        if !self.source.contains('{') {
            return true;
        }
        let relaxed = || Regex::new(&relaxed(&self.source)).expect("the patterns are constants");
        self.relaxed.get_or_init(relaxed).is_match(text)
    }

    fn exact(&self) -> &Regex {
        self.exact.get_or_init(|| Regex::new(&self.source).expect("the patterns are constants"))
    }
}

impl Literals {
    fn of(patterns: &[LazyPattern]) -> Self {
        let (mut owned, mut owners, mut free) = (Vec::new(), Vec::new(), Vec::new());
        for (place, pattern) in patterns.iter().enumerate() {
            match literals(&pattern.source) {
                Some(literals) => {
                    owners.extend(literals.iter().map(|_| place));
                    owned.extend(literals);
                }
                None => free.push(place),
            }
        }
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(owned);
        Self { automaton: automaton.expect("the patterns are constants"), owners, free }
    }

    /// Returns the patterns whose literals `text` contains, in order.
    fn found_in(&self, text: &str) -> Vec<usize> {
        let mut found = self.free.clone();
        found.extend(self.automaton.find_overlapping_iter(text).map(|hit| self.owners[hit.pattern()]));
        found.sort_unstable();
        found.dedup();
        found
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

/// Returns a pattern that is a constant. A test has to compile each such pattern.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant and a test compiles it")
}

/// Returns `pattern` for the start of a text, ignoring case.
pub(crate) fn at_start(pattern: &str) -> String {
    format!("(?i)^(?:{pattern})")
}

/// Patterns that ignore case, one of which has to match.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct Patterns(PatternSet);

impl From<Vec<String>> for Patterns {
    fn from(patterns: Vec<String>) -> Self {
        Self(PatternSet::new(patterns.into_iter().map(|pattern| format!("(?i){pattern}"))))
    }
}

impl Patterns {
    /// Whether one of the patterns matches `text`.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.candidates(text).any(|(_, pattern)| pattern.is_match(text))
    }
}

/// Returns a pattern that matches at least where `pattern` does, without repetition counts: `{2,60}` becomes `+`, and
/// `{0,4}` becomes `*`. Word boundaries are left out, because an automaton cannot find them beside letters outside ASCII.
fn relaxed(pattern: &str) -> String {
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
    relaxed.push_str(rest);
    // A backslash before the backslash would escape it.
    relaxed.replace(r"\\", "\0").replace(r"\b", "").replace('\0', r"\\")
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
            (r"\bno\b|\\b", r"no|\\b"),
            ("plain", "plain"),
        ] {
            assert_eq!(relaxed(pattern), expected);
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
