//! Writing systems by their Unicode ranges.

use unicode_normalization::char::is_combining_mark;

/// The writing system of a run of characters, which determines how the run is split into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Latin, Cyrillic, Arabic and other scripts with spaces between words. Emoji also count as words.
    Spaced,
    /// Han and Hiragana, without spaces between words.
    Han,
    /// Katakana, used mostly for names and loan words, which are not split.
    Katakana,
    /// Korean, with spaces between words and with particles attached to them.
    Hangul,
}

impl Script {
    /// Returns the script of `c`, or `None` for punctuation, spaces and symbols.
    pub(crate) fn of(c: char) -> Option<Self> {
        if is_katakana(c) {
            Some(Self::Katakana)
        } else if is_han(c) || is_hiragana(c) {
            Some(Self::Han)
        } else if is_hangul(c) {
            Some(Self::Hangul)
        } else {
            (c.is_alphanumeric() || is_combining_mark(c) || is_emoji(c)).then_some(Self::Spaced)
        }
    }
}

/// Returns whether `c` is a Chinese character, including the iteration mark and the round zero.
pub(crate) const fn is_han(c: char) -> bool {
    matches!(c,
        '々' | '〇'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Counts the Chinese characters in `text`.
pub(crate) fn count_han(text: &str) -> usize {
    text.chars().filter(|c| is_han(*c)).count()
}

pub(crate) const fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{309f}')
}

pub(crate) const fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}')
}

pub(crate) const fn is_kana(c: char) -> bool {
    is_hiragana(c) || is_katakana(c)
}

pub(crate) const fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}')
}

/// Returns whether `c` belongs to East Asian writing, including its punctuation and full-width characters.
pub(crate) const fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}') || is_hangul(c)
}

/// Returns whether `c` belongs to a script that has no spaces between words or attaches particles to them.
///
/// The word index of existing databases was built with exactly these ranges.
pub(crate) const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Thai, Lao, Burmese, Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        || is_hangul(c)
}

/// Returns whether `c` is a Latin letter, with or without accents.
pub(crate) const fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

pub(crate) const fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

/// Emoji have a meaning, because `👍` and `👎` are different answers.
const fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1f300}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}')
}
