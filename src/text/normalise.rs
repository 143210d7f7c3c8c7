//! Normalised forms of text: for identity hashes, comparison, search, and finding quotes.
//!
//! The forms differ on purpose. [`normalised`] is used for stored hashes, so its result must never change.
//! [`comparable`] keeps the punctuation within a sentence, which comparison needs.

use std::ops::Range;

use sha2::{Digest, Sha256};
use transcripts::hex;
use unicode_normalization::UnicodeNormalization;

use super::script::is_wide;
use super::visible::{is_filler, is_hidden};

/// Returns the text in its plainest form: NFKC, lower case, one space between words, without quotation marks, brackets,
/// dashes or punctuation at the edges of words.
///
/// Marks inside a word are kept, and so are characters that are part of a name or number: `1.5`, `c++`, `-3`, `.env`,
/// `c#`.
pub(crate) fn normalised(text: &str) -> String {
    let plain: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).map(plain_sign).collect()
    };
    let mut normalised = String::with_capacity(plain.len());
    for word in plain.split_whitespace().map(trimmed).filter(|word| !word.is_empty()) {
        if !normalised.is_empty() {
            normalised.push(' ');
        }
        normalised.push_str(word);
    }
    normalised
}

/// Returns the hash of the `normalised` text as 32 hex digits.
#[must_use]
pub fn normalised_hash(text: &str) -> String {
    // 128 bits are enough to avoid accidental collisions, and use half the space of the full hash.
    hex(&Sha256::digest(normalised(text).as_bytes())[..16])
}

const fn plain_sign(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        '\u{2010}' | '\u{2011}' | '\u{2012}' | '\u{2013}' | '\u{2014}' | '\u{2212}' => '-',
        _ => character,
    }
}

/// Removes the marks at the edges of a word.
pub(crate) fn trimmed(word: &str) -> &str {
    let word = word.trim_end_matches(|c: char| is_edge(c) || matches!(c, '.' | '-'));
    let word = word.trim_start_matches(is_edge);
    // A dash or dots before a word are a matter of style. Before a number or a name, they are significant.
    match word.strip_prefix(['-', '.']) {
        Some(rest) if rest.starts_with(char::is_alphanumeric) => word,
        Some(_) => word.trim_start_matches(['-', '.']),
        None => word,
    }
}

/// Marks that have no meaning at the edge of a word.
#[rustfmt::skip]
const fn is_edge(character: char) -> bool {
    matches!(
        character,
        ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '*' | '…' | '“' | '”' | '„' | '«' | '»'
            | '、' | '。' | '「' | '」' | '『' | '』' | '【' | '】' | '《' | '》' | '¿' | '¡' | '•'
    )
}

/// Returns `text` in the form used for comparing identity: compatibility-composed, lower case, straight quotes, single
/// spaces, without punctuation at the beginning and end.
pub(crate) fn comparable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfkc().flat_map(char::to_lowercase).map(plain_quote) {
        if c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    out.trim_matches(|c: char| c.is_whitespace() || is_end_mark(c)).to_owned()
}

pub(super) fn plain_quote(c: char) -> char {
    match c {
        '‘' | '’' | 'ʼ' | '`' | '´' => '\'',
        '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』' => '"',
        '‐' | '‑' | '–' | '—' => '-',
        _ => c,
    }
}

/// Zero-width characters and direction marks, which are invisible.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}' | '\u{FEFF}' | '\u{00AD}')
}

fn is_end_mark(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '。' | '、' | '，' | '！' | '？' | '；' | '：' | '…')
}

/// Returns the text in the form used for searching: NFKC, lower case, without control characters.
pub(crate) fn folded(text: &str) -> String {
    if text.is_ascii() {
        // The general method yields the same result but is slower.
        let plain = |byte: u8| if byte.is_ascii_control() { ' ' } else { char::from(byte.to_ascii_lowercase()) };
        return text.bytes().map(plain).collect();
    }
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    // The small form of the Turkish capital İ would otherwise keep its dot as a separate character.
    let plain = |c: char| if c == 'İ' { 'i' } else { c };
    text.nfkc().map(plain).flat_map(char::to_lowercase).map(visible).collect()
}

/// Returns the [`folded`] text in the form used for comparing names, in which upper and lower case are always equal.
pub(crate) fn caseless(text: &str) -> String {
    // The capital form of ß is usually SS, and that of ς at the end of a word is Σ.
    folded(text).replace('ß', "ss").replace('ς', "σ")
}

/// Text in a form that ignores typical changes made when copying, with the origin of each byte.
pub(crate) struct Folded {
    pub(crate) text: String,
    /// For each byte, the start of the corresponding original character. The last entry is the length of the original.
    origins: Vec<usize>,
}

impl Folded {
    /// Folds `text`.
    pub(crate) fn new(text: &str) -> Self {
        let mut folded = Self { text: String::with_capacity(text.len()), origins: Vec::with_capacity(text.len() + 1) };
        let mut space = None;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            // Models drop the Markdown marks for bold text when they quote. A single `*` is kept, because it may be a
            // multiplication sign.
            if c == '*' && chars.peek().is_some_and(|&(_, next)| next == '*') {
                chars.next();
            } else if c.is_whitespace() || is_filler(c) {
                space = space.or(Some(at));
            } else if !is_dropped(c) {
                // A space is written only when a visible character follows, so that leading and trailing spaces are
                // dropped.
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

    /// Keeps one space between words, but no space next to Chinese or Japanese characters.
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

    /// Finds `needle` at a position where it neither starts nor ends within a word.
    pub(crate) fn find_folded(&self, needle: &str, from: usize, original: &str) -> Option<Range<usize>> {
        self.text[from..].match_indices(needle).map(|(at, _)| from + at..from + at + needle.len()).find(|range| {
            let origin = self.origin(range.clone());
            let (before, inside, after) =
                (&original[..origin.start], &original[origin.clone()], &original[origin.end..]);
            let cuts_word = |left: &str, right: &str| ends_in_word(left) && starts_in_word(right);
            !cuts_word(before, inside) && !cuts_word(inside, after)
        })
    }

    /// Maps a non-empty range of the folded text to the original, including only whole characters.
    pub(crate) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let (start, last) = (self.origins[range.start], self.origins[range.end - 1]);
        // One character may fold into several bytes with the same origin, so the end is the next larger origin.
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
    c == '`' || is_hidden(c)
}

fn same_mark(c: char) -> char {
    match c {
        '"' | '“' | '”' | '„' | '‟' | '‘' | '’' | '‚' | '‛' | '«' | '»' | '「' | '」' | '『' | '』' | '´' | '′'
        | '″' => '\'',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '‹' => '<',
        '›' => '>',
        // This character replaces a bracket that would open a control token, see `text::markup`.
        '⟦' => '[',
        // Converting a Greek word to lower case character by character yields `σ` even at the end.
        'ς' => 'σ',
        c => c,
    }
}

/// Maximum number of words of a title that is derived from a text.
const TITLE_WORDS: usize = 8;
/// Maximum length of a title that is derived from a text, in characters. Text in Chinese has no spaces between words.
const TITLE_CHARS: usize = 120;

/// Returns the title of `text`, which has none: its first words, which represent it in lists.
pub(crate) fn title_of(text: &str) -> String {
    let words = text.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

/// Returns a name such as `autoExtract` as `auto_extract`.
pub(crate) fn snake_case(name: &str) -> String {
    name.chars().fold(String::new(), |mut text, letter| {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_title_has_few_words_and_an_end() {
        assert_eq!(
            title_of(" The shop\n deploys with Nomad to the cluster in Frankfurt."),
            "The shop deploys with Nomad to the cluster"
        );
        let long = title_of(&"数据库".repeat(200));
        assert_eq!((long.chars().count(), long.ends_with("库…")), (121, true));
    }

    #[test]
    fn spelling_that_carries_no_meaning_is_folded_and_the_rest_is_kept() {
        let table = [
            ("The user  lives in\nBerlin.", "the user lives in berlin"),
            ("“The user” lives — in BERLIN!", "the user lives in berlin"),
            ("Version 1.5", "version 1.5"),
            ("Version 15", "version 15"),
            ("uses C++.", "uses c++"),
            ("uses C.", "uses c"),
            ("uses C#", "uses c#"),
            ("minus -3 degrees", "minus -3 degrees"),
            ("minus 3 degrees", "minus 3 degrees"),
            ("reads .env", "reads .env"),
            ("user’s café", "user's café"),
            ("user's cafe\u{301}", "user's café"),
            ("ｂｕｎ　ﾃｽﾄ", "bun テスト"),
            ("用户住在柏林。", "用户住在柏林"),
            ("…!?", ""),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(normalised(text), expected, "{text:?}");
            assert_eq!(normalised(&normalised(text)), normalised(text), "{text:?}");
        }
    }

    #[test]
    fn identity_sees_through_width_case_quotes_and_marks() {
        let same = ["Don’t  use\u{200B} Ｔabs.", "don't use tabs", "Don't use tabs!"];
        for text in same {
            assert_eq!(comparable(text), "don't use tabs");
        }
        assert_eq!(comparable("Cafe\u{301} à la carte。"), comparable("Café à la carte"));
        assert_eq!(comparable("。。。"), "");
        assert_ne!(comparable("用户住在柏林"), comparable("用户住在慕尼黑"));
    }

    proptest! {
        #[test]
        fn plain_text_is_folded_as_any_other(text in "[\\x00-\\x7f]{0,60}") {
            let any = folded(&format!("{text}é"));
            prop_assert_eq!(folded(&text) + "é", any);
        }
    }
}
