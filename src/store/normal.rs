//! When two texts are the same text: the form in which they are compared.

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use transcripts::hex;

/// Returns the text in its plainest spelling: NFKC, lower case, one space between words, quotation marks, brackets,
/// dashes and sentence marks gone from the edges of words.
///
/// Marks inside a word stay, and so do signs that are part of a name or number: `1.5`, `c++`, `-3`, `.env`, `c#`.
#[must_use]
pub fn normalised(text: &str) -> String {
    let plain: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).map(plain_quote).collect()
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

/// Hashes the [`normalised`] text: 32 hex digits.
#[must_use]
pub fn normalised_hash(text: &str) -> String {
    hex(&Sha256::digest(normalised(text).as_bytes())[..16])
}

const fn plain_quote(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        '\u{2010}' | '\u{2011}' | '\u{2012}' | '\u{2013}' | '\u{2014}' | '\u{2212}' => '-',
        _ => character,
    }
}

pub(super) fn trimmed(word: &str) -> &str {
    let word = word.trim_end_matches(|c: char| is_edge(c) || matches!(c, '.' | '-'));
    let word = word.trim_start_matches(is_edge);
    // A dash or dots before a word are style; before a number or a name they are part of it.
    match word.strip_prefix(['-', '.']) {
        Some(rest) if rest.starts_with(char::is_alphanumeric) => word,
        Some(_) => word.trim_start_matches(['-', '.']),
        None => word,
    }
}

const fn is_edge(character: char) -> bool {
    matches!(
        character,
        ',' | ';'
            | ':'
            | '!'
            | '?'
            | '"'
            | '\''
            | '`'
            | '('
            | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '\u{2026}'
            | '\u{201c}'
            | '\u{201d}'
            | '\u{201e}'
            | '\u{ab}'
            | '\u{bb}'
            | '\u{3001}'
            | '\u{3002}'
            | '\u{300c}'
            | '\u{300d}'
            | '\u{300e}'
            | '\u{300f}'
            | '\u{3010}'
            | '\u{3011}'
            | '\u{300a}'
            | '\u{300b}'
            | '\u{bf}'
            | '\u{a1}'
            | '\u{2022}'
            | '*'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
