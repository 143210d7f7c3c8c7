//! Finds quotes in their messages, tolerating typical copying changes by models, and finds memories that repeat
//! injected text.

use std::collections::HashMap;
use std::ops::Range;

use crate::text::normalise::Folded;
use crate::text::script::is_wide;
use crate::text::tokens::units;

/// Maximum number of characters between the two parts of a quote with an ellipsis, after folding.
const MAX_GAP: usize = 200;
/// Minimum number of letters and digits in each part of a quote with an ellipsis.
// Shorter parts appear in almost any message.
const MIN_PART: usize = 8;

/// Whether `quote` appears in `text`, ignoring white space, case, width, the encoding of accents, quotation marks,
/// dashes, invisible characters, backticks and a full stop at the end.
///
/// One ellipsis may join two passages of at least eight letters that are close together and in order. A quote that
/// starts or ends within an English word or a number is not found.
#[must_use]
pub fn quote_found(quote: &str, text: &str) -> bool {
    find(quote, text).is_some()
}

/// Returns the byte range of `text` that `quote` covers. If the quote has an ellipsis, the range includes the omitted
/// part.
pub(in crate::extract) fn find(quote: &str, text: &str) -> Option<Range<usize>> {
    let (exact, hay) = (Folded::new(quote), Folded::new(text));
    let needle = exact.text.trim_matches(is_edge);
    // A single letter proves nothing, unless it is all that was said.
    if needle.is_empty() || needle.chars().count() < 2 && needle != hay.text.trim_matches(is_edge) {
        return None;
    }
    // An exact match is tried first, so that the stored quote keeps its full stop or quotation marks if the message has
    // them.
    if let Some(range) = hay.find_folded(&exact.text, 0, text).or_else(|| hay.find_folded(needle, 0, text)) {
        return Some(hay.origin(range));
    }
    let (first, second) = halves(needle)?;
    let first_range = hay.find_folded(first, 0, text)?;
    // The second part is searched only after the first, because true words in the reverse order could mean something
    // else.
    let second_range = hay.find_folded(second, first_range.end, text)?;
    // Two phrases far apart are not a quote, because sentences about different things could be combined to support
    // anything.
    (second_range.start - first_range.end <= MAX_GAP).then(|| hay.origin(first_range.start..second_range.end))
}

/// Splits a folded quote at its ellipsis, if it has exactly one.
fn halves(needle: &str) -> Option<(&str, &str)> {
    let (first, second) = needle.split_once("[...]").or_else(|| needle.split_once("..."))?;
    let (first, second) = (first.trim_matches(is_edge), second.trim_matches(is_edge));
    let long = |part: &str| {
        // A Chinese character carries about as much meaning as two letters.
        let units: usize = part.chars().filter(|c| c.is_alphanumeric()).map(|c| if is_wide(c) { 2 } else { 1 }).sum();
        units >= MIN_PART
    };
    (long(first) && long(second) && !second.contains("...")).then_some((first, second))
}

/// Whether `c` may be missing or added at the ends of a quote.
fn is_edge(c: char) -> bool {
    matches!(c, ' ' | '\'' | '.' | ',' | ';' | ':' | '!' | '?' | '。' | '、')
}

/// Number of consecutive words in each piece that is compared with injected text.
const SHINGLE: usize = 3;
/// Minimum number of such runs of words that a text must have to be compared.
// The few phrases of a shorter text appear in almost any text.
const MIN_SHINGLES: usize = 4;
/// Share of a text's runs of words that must appear in injected text for the text to count as a restatement.
const RESTATES: f64 = 0.8;
/// Maximum size of injected text that is compared, in bytes, beginning with the boot files.
const MAX_INJECTED_BYTES: usize = 400_000;

/// The text that was injected into a conversation, used to find memories that only repeat it.
#[derive(Debug, Default)]
pub(super) struct Injected {
    /// The hash of each run of words, with the first message that contains it.
    runs: HashMap<u64, usize>,
}

impl Injected {
    /// Reads injected texts in order, each with the index of its message.
    pub(super) fn new<'t>(texts: impl Iterator<Item = (usize, &'t str)>) -> Self {
        let (mut injected, mut bytes) = (Self::default(), 0);
        for (index, text) in texts {
            let room = MAX_INJECTED_BYTES.saturating_sub(bytes);
            let text = &text[..text.floor_char_boundary(room)];
            bytes += text.len();
            for run in runs(text) {
                // The first occurrence counts, because text that is injected again was already known.
                injected.runs.entry(run).or_insert(index);
            }
        }
        injected
    }

    /// Whether `text` mostly repeats what was injected before message `before`.
    pub(super) fn restates(&self, text: &str, before: usize) -> bool {
        let runs = runs(text);
        let known = runs.iter().filter(|run| self.runs.get(run).is_some_and(|&index| index < before)).count();
        #[expect(clippy::cast_precision_loss, reason = "the number of runs is small enough to be exact in a float")]
        let share = known as f64 / runs.len().max(1) as f64;
        runs.len() >= MIN_SHINGLES && share >= RESTATES
    }
}

fn runs(text: &str) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let hash = |run: &[String]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    units(text).windows(SHINGLE).map(hash).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_copying_changes_is_forgiven() {
        for (quote, text) in [
            ("I use  tabs", "Well,\ni USE\n  tabs."),
            ("don't use \"var\"", "Please don’t use “var” here"),
            ("we use pnpm.", "because we use **pnpm**, not npm"),
            ("run cargo test first", "Run `cargo test` first!"),
            ("我用Rust写代码", "我用 Rust\n写代码，不用Ｇｏ"),
            ("不用Go", "我用 Rust 写代码，不用Ｇｏ"),
            ("cafe\u{301} in Lyon", "the Café in Lyon"),
            ("2-3 weeks", "about 2–3 weeks"),
            ("…deploy with Nomad…", "we deploy with Nomad now"),
            ("</conversation> is a tag", "‹/conversation> is a tag"),
            ("'always squash'", "always squash"),
            ("是", "是。"),
            ("Straße 5", "in der STRAßE 5"),
        ] {
            assert!(quote_found(quote, text), "{quote:?} in {text:?}");
        }
    }

    #[test]
    fn other_words_are_not_found() {
        for (quote, text) in [
            ("I like tabs", "I do not like tabs"),
            ("port 80", "port 8080"),
            ("80", "port 8080"),
            ("can", "I cannot"),
            ("a", "a long story"),
            ("", "text"),
            ("...", "text ..."),
            ("use tabs", ""),
            ("nowhere", "now here"),
            ("用Go", "用Java"),
        ] {
            assert!(!quote_found(quote, text), "{quote:?} in {text:?}");
        }
    }

    #[test]
    fn an_ellipsis_joins_two_long_passages_in_order_and_keeps_what_lies_between() {
        let text = "We moved the staging cluster, after a long talk, to Hetzner in March.";
        let range = find("moved the staging cluster … to Hetzner in March", text).unwrap();
        assert_eq!(&text[range], "moved the staging cluster, after a long talk, to Hetzner in March");
        assert!(!quote_found("to Hetzner in March … moved the staging cluster", text));
        assert!(!quote_found("We … March", text));
        assert!(!quote_found("moved the staging ... after a long ... Hetzner in March", text));
        let far = format!("moved the staging cluster {} to Hetzner in March", "x ".repeat(200));
        assert!(!quote_found("moved the staging cluster … to Hetzner in March", &far));
    }

    #[test]
    fn repeating_an_earlier_boot_file_is_restating() {
        let injected = Injected::new(
            [(2, "Use pnpm for all packages and run the linter before each commit. 所有提交信息都用英文书写")]
                .into_iter(),
        );
        assert!(injected.restates("Run the linter before each commit.", 3));
        assert!(injected.restates("提交信息都用英文", 3));
        assert!(!injected.restates("Run the linter before each commit.", 2));
        assert!(!injected.restates("Run the formatter before each merge to main.", 3));
        assert!(!injected.restates("use pnpm", 3));
    }

    proptest! {
        #[test]
        fn every_run_of_words_is_found_where_it_stands(words in prop::collection::vec("[a-zA-Zé是的]{1,6}", 1..12), cut in any::<prop::sample::Index>()) {
            let text = words.join(" ");
            let quote = words[cut.index(words.len())..].join("\n");
            let range = find(&quote, &text);
            prop_assert!(range.is_some() || quote.chars().count() < 2);
        }

        #[test]
        fn any_text_is_searched_without_a_panic(quote in "\\PC{0,20}", text in "\\PC{0,60}") {
            if let Some(range) = find(&quote, &text) {
                prop_assert!(text.get(range).is_some_and(|found| !found.is_empty()));
            }
        }
    }
}
