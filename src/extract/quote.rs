//! Finding a quote in a message, forgiving what models change when they copy.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::message::is_hidden;

/// Characters that may lie between the two parts of a quote with an ellipsis, after folding.
const MAX_GAP: usize = 200;
/// Letters and digits that each part of a quote with an ellipsis must have.
const MIN_PART: usize = 8;

/// Whether `quote` stands in `text`, apart from white space, case, width, accents' encoding, quotation marks, dashes,
/// invisible characters, code ticks and a full stop at its end.
///
/// One ellipsis may join two passages of at least eight letters that stand close together, in order. A quote that
/// starts or ends within an English word or a number is not found.
#[must_use]
pub fn quote_found(quote: &str, text: &str) -> bool {
    find(quote, text).is_some()
}

/// Returns the bytes of `text` that `quote` covers; with an ellipsis, including what it leaves out.
pub(super) fn find(quote: &str, text: &str) -> Option<Range<usize>> {
    let (exact, hay) = (Folded::new(quote), Folded::new(text));
    let needle = exact.text.trim_matches(is_edge);
    // One letter proves nothing, unless it is all that was said.
    if needle.is_empty() || needle.chars().count() < 2 && needle != hay.text.trim_matches(is_edge) {
        return None;
    }
    if let Some(range) = hay.find_folded(&exact.text, 0, text).or_else(|| hay.find_folded(needle, 0, text)) {
        return Some(hay.origin(range));
    }
    let (first, second) = halves(needle)?;
    let first_range = hay.find_folded(first, 0, text)?;
    let second_range = hay.find_folded(second, first_range.end, text)?;
    (second_range.start - first_range.end <= MAX_GAP).then(|| hay.origin(first_range.start..second_range.end))
}

/// Splits a folded quote at its only ellipsis.
fn halves(needle: &str) -> Option<(&str, &str)> {
    let (first, second) = needle.split_once("[...]").or_else(|| needle.split_once("..."))?;
    let (first, second) = (first.trim_matches(is_edge), second.trim_matches(is_edge));
    let long = |part: &str| {
        let units: usize = part.chars().filter(|c| c.is_alphanumeric()).map(|c| if is_wide(c) { 2 } else { 1 }).sum();
        units >= MIN_PART
    };
    (long(first) && long(second) && !second.contains("...")).then_some((first, second))
}

/// What is not required of a quote's ends.
fn is_edge(c: char) -> bool {
    matches!(c, ' ' | '\'' | '.' | ',' | ';' | ':' | '!' | '?' | '。' | '、')
}

/// Whether `c` belongs to a script that is written without spaces.
pub(super) fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A text without what copying changes, and where each of its bytes came from.
struct Folded {
    text: String,
    /// Start in the original of the character that gave each byte, and the original's length at the end.
    origins: Vec<usize>,
}

impl Folded {
    fn new(text: &str) -> Self {
        let mut folded = Self { text: String::with_capacity(text.len()), origins: Vec::with_capacity(text.len() + 1) };
        let mut space = None;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == '*' && chars.peek().is_some_and(|&(_, next)| next == '*') {
                chars.next();
            } else if c.is_whitespace() {
                space = space.or(Some(at));
            } else if !is_dropped(c) {
                folded.push_space(space.take(), c);
                std::iter::once(c)
                    .nfkd()
                    .flat_map(char::to_lowercase)
                    .for_each(|part| folded.push(at, same_mark(part)));
            }
        }
        folded.origins.push(text.len());
        folded
    }

    /// Keeps one space between words, none beside Chinese or Japanese.
    fn push_space(&mut self, at: Option<usize>, next: char) {
        if let (Some(at), Some(last)) = (at, self.text.chars().next_back())
            && !is_wide(last)
            && !is_wide(next)
        {
            self.push(at, ' ');
        }
    }

    fn push(&mut self, at: usize, c: char) {
        self.text.push(c);
        self.origins.resize(self.text.len(), at);
    }

    /// Finds `needle` where it does not start or end within a word.
    fn find_folded(&self, needle: &str, from: usize, original: &str) -> Option<Range<usize>> {
        self.text[from..].match_indices(needle).map(|(at, _)| from + at..from + at + needle.len()).find(|range| {
            let origin = self.origin(range.clone());
            let (before, inside, after) =
                (&original[..origin.start], &original[origin.clone()], &original[origin.end..]);
            let cuts_word = |left: &str, right: &str| ends_in_word(left) && starts_in_word(right);
            !cuts_word(before, inside) && !cuts_word(inside, after)
        })
    }

    /// Maps a non-empty range of the folded text to the original, whole characters only.
    fn origin(&self, range: Range<usize>) -> Range<usize> {
        let (start, last) = (self.origins[range.start], self.origins[range.end - 1]);
        let end = self.origins[range.end..].iter().copied().find(|&at| at > last).unwrap_or(last);
        start..end
    }
}

fn starts_in_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_dropped(c: char) -> bool {
    is_hidden(c)
        || matches!(c, '`' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
        || c.is_control()
}

fn same_mark(c: char) -> char {
    match c {
        '"' | '“' | '”' | '„' | '‟' | '‘' | '’' | '‚' | '‛' | '«' | '»' | '「' | '」' | '『' | '』' | '´' | '′'
        | '″' => '\'',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '‹' => '<',
        '›' => '>',
        'ς' => 'σ',
        c => c,
    }
}

/// Splits `text` into what comparisons count: folded words, and single characters of Chinese or Japanese.
pub(super) fn units(text: &str) -> Vec<String> {
    let mut units = Vec::new();
    let mut word = String::new();
    for c in Folded::new(text).text.chars() {
        if !c.is_alphanumeric() || is_wide(c) {
            if !word.is_empty() {
                units.push(std::mem::take(&mut word));
            }
            if is_wide(c) && c.is_alphanumeric() {
                units.push(c.to_string());
            }
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        units.push(word);
    }
    units
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
    fn units_are_words_and_wide_characters() {
        assert_eq!(units("Use pnpm-9, 不要npm!"), ["use", "pnpm", "9", "不", "要", "npm"]);
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
