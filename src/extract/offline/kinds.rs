//! Kinds of things in code that have names, and the words for them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Kinds of names, each with the pattern of its plural or singular; longer patterns come first.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("function argument", r"(?:function |method )?(?:arguments?|parameters?)(?: variables?)?"),
    ("function", r"functions?"),
    ("method", r"methods?"),
    ("variable", r"variables?"),
    ("attribute", r"attributes?"),
    ("constant", r"constants?"),
    ("class", r"class(?:es)?"),
    ("module", r"modules?"),
    ("file", r"files?"),
    ("branch", r"branch(?:es)?"),
    ("table", r"tables?"),
    ("column", r"columns?"),
    ("test", r"tests?"),
];

/// Returns the kinds of names that `text` lists.
pub(super) fn kinds_in(text: &str) -> Vec<&'static str> {
    static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
        let compile = |pattern: &str| Regex::new(&format!("(?i)\\b{pattern}\\b")).expect("a test compiles it");
        KINDS.iter().map(|(kind, pattern)| (compile(pattern), *kind)).collect()
    });
    let mut rest = text.to_owned();
    let mut found = Vec::new();
    for (pattern, kind) in PATTERNS.iter() {
        if let Some(at) = pattern.find(&rest).map(|hit| hit.start()) {
            found.push((at, *kind));
            // "function argument" does not name a function; the spaces keep the positions of other words.
            rest = pattern.replace_all(&rest, |hit: &Captures<'_>| " ".repeat(hit[0].len())).into_owned();
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, kind)| kind).collect()
}
