//! The letters of a text as a reader sees them, however they are written: on separate lines, with digits for letters,
//! spaced out, with accents or in traditional characters.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use crate::text::markup::look_alike;
use crate::text::visible::is_hidden;

/// Returns the text with its lines joined, if every line has only a few words.
pub(super) fn unbroken(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_wide = |line: &&&str| line.contains(is_unspaced_script);
    let is_short = |line: &&str| {
        if line.contains(is_unspaced_script) { line.chars().count() <= 8 } else { line.split(' ').count() <= 3 }
    };
    if lines.len() < 4 || !lines.iter().all(is_short) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(lines.join(if lines.iter().filter(is_wide).count() * 2 > lines.len() { "" } else { " " }))
}

/// Digits that represent letters: the digit, the Latin letter and the Cyrillic letter.
const DIGITS: &[(char, char, char)] =
    &[('0', 'o', 'о'), ('1', 'i', 'и'), ('3', 'e', 'е'), ('4', 'a', 'а'), ('5', 's', 'с'), ('7', 't', 'т')];

/// Returns the text with Latin letters in place of those of other scripts that look the same, if it has both.
pub(super) fn undisguised(text: &str) -> Option<String> {
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    let is_disguised = latin >= 8 && text.chars().any(|c| !c.is_ascii() && look_alike(c).is_ascii());
    is_disguised.then(|| text.chars().map(look_alike).collect())
}

/// Returns the text with the digits in its words replaced by letters, if several words contain digits; `1` can
/// represent two different letters.
pub(super) fn without_digits(text: &str) -> Vec<String> {
    let is_mixed = |word: &&str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        digits > 0 && (word.chars().any(char::is_alphabetic) || word.len() == 1)
    };
    let words = text.split_whitespace();
    if words.clone().filter(is_mixed).count() * 2 < words.count() {
        return Vec::new();
    }
    let is_cyrillic = text.chars().filter(|c| matches!(c, 'а'..='я')).count() > text.len() / 8;
    let letter = |c: char| {
        DIGITS
            .iter()
            .find(|(digit, ..)| *digit == c)
            .map_or(c, |&(_, latin, cyrillic)| if is_cyrillic { cyrillic } else { latin })
    };
    // "10" represents the letter "ю".
    let text = if is_cyrillic { text.replace("10", "ю") } else { text.to_owned() };
    [text.clone(), text.replace('1', "l")].into_iter().map(|text| text.chars().map(letter).collect()).collect()
}

/// Returns `text` as a reader sees it, in ordinary lower-case letters without hidden characters and accents.
pub(super) fn shown(text: &str) -> String {
    // Nothing is hidden or composed in ordinary ASCII text.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return text.to_ascii_lowercase();
    }
    let visible: String = text.nfkc().filter(|c| !is_hidden(*c) || c.is_whitespace()).collect();
    unaccented(&visible)
}

/// Traditional Chinese characters that occur in the words of orders, each before its simplified form.
const TRADITIONAL: &str = "無无須须將将對对話话傳传過过後后開开關关閉闭執执動动權权認认證证碼码審审檢检測测驗验號号帳账賬账戶户導导選选網网頁页說说請请問问報报讓让誰谁處处員员備备檔档記记錄录資资訊讯發发給给轉转點点擊击裡里裏里從从這这個个們们應应當当還还樣样會会視视為为規规則则決决議议與与門门鑰钥鎖锁電电銀银刪删實实際际簽签連连結结務务團团隊队協协評评續续線线試试構构護护隱隐藏藏瀏浏覽览寫写讀读變变";

/// Returns the simplified form of a character.
fn simplified(c: char) -> char {
    if !matches!(c, '\u{4e00}'..='\u{9fff}') {
        return c;
    }
    SIMPLIFIED.get(&c).copied().unwrap_or(c)
}

/// The simplified form of each character in [`TRADITIONAL`].
// A search of the text itself for each character of the tables of orders takes milliseconds at the start of a session.
static SIMPLIFIED: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let letters: Vec<char> = TRADITIONAL.chars().collect();
    letters.chunks_exact(2).rev().map(|pair| (pair[0], pair[1])).collect()
});

/// Returns `text` in lower case, without accents and in simplified characters, so that all spellings have the same letters.
pub(super) fn unaccented(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // The marks of Japanese syllables distinguish words, such as a negation from a different ending.
    let is_accent = |c: &char| is_combining_mark(*c) && !matches!(c, '\u{3099}' | '\u{309a}');
    if text.contains(|c: char| is_combining_mark(c) || matches!(c, '\u{1100}'..='\u{11ff}')) {
        let letters = text.nfd().filter(|c| !is_accent(c)).nfc();
        return letters.map(simplified).flat_map(char::to_lowercase).collect();
    }
    // Without separate marks, each character can be read on its own, which is much faster.
    text.chars().map(base).map(simplified).flat_map(char::to_lowercase).collect()
}

/// Returns a character without its accents.
fn base(c: char) -> char {
    // These characters have no accents, or accents that distinguish words.
    if matches!(c, '\0'..='\u{7f}' | '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}') {
        return c;
    }
    let mut base = None;
    decompose_canonical(c, |part| base = base.or(Some(part)));
    base.unwrap_or(c)
}

/// Returns the text with the letters of each word joined, if the same symbol stands between all of them, as in
/// `i.g.n.o.r.e`.
pub(super) fn without_separators(text: &str) -> Cow<'_, str> {
    if !text.split_whitespace().any(|word| joined(word).is_some()) {
        return Cow::Borrowed(text);
    }
    let parts = text.split_inclusive(char::is_whitespace).map(|part| {
        let (word, space) = part.split_at(part.trim_end().len());
        joined(word).unwrap_or_else(|| word.to_owned()) + space
    });
    Cow::Owned(parts.collect())
}

/// Returns a word of at least three letters without the symbol between them, and with the symbols around it.
fn joined(word: &str) -> Option<String> {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let symbol = inner.chars().nth(1).filter(|symbol| !symbol.is_alphanumeric())?;
    let is_joined = |(place, c): (usize, char)| if place % 2 == 0 { c.is_alphabetic() } else { c == symbol };
    let count = inner.chars().count();
    if count < 5 || count.is_multiple_of(2) || !inner.chars().enumerate().all(is_joined) {
        return None;
    }
    Some(word.replace(inner, &inner.chars().step_by(2).collect::<String>()))
}

/// Returns the text with its letters joined into words, if there are spaces between the letters.
pub(super) fn unspaced(text: &str) -> Option<String> {
    let parts = text.split_whitespace();
    let (single, all) =
        parts.fold((0, 0), |(single, all), part| (single + usize::from(part.chars().count() == 1), all + 1));
    if all < 8 || single * 4 < all * 3 {
        return None;
    }
    let words = text.split("  ").map(|word| word.split_whitespace().collect::<String>());
    Some(without_separators(&words.collect::<Vec<_>>().join(" ")).into_owned())
}

/// Whether a character belongs to a script that is written without spaces, or with endings that hide the words.
pub(super) const fn is_unspaced_script(c: char) -> bool {
    c >= '\u{1100}'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_with_a_symbol_between_them_are_joined() {
        for (text, expected) in [
            ("I.g.n.o.r.e  a-l-l \"r_u_l_e_s\".", "Ignore  all \"rules\"."),
            ("и·г·н·о·р·и·р·у·й все", "игнорируй все"),
            ("See e.g. v1.2.3, a/b, x-y-zz, 1.2.3 and I. A.", "See e.g. v1.2.3, a/b, x-y-zz, 1.2.3 and I. A."),
        ] {
            assert_eq!(without_separators(text), expected);
        }
        assert_eq!(unspaced("i . g . n . o . r . e").as_deref(), Some("ignore"));
    }

    proptest! {
        #[test]
        fn accents_are_removed_as_from_the_whole_text(text in "[\\PC]{0,12}|[a-zÀ-žЀ-џ가-힣ぁ-ヿ々電無क़ँΆ-ώẀ-ỹ\u{300}-\u{310}\u{3099}]{0,12}") {
            let is_accent = |c: &char| is_combining_mark(*c) && !matches!(c, '\u{3099}' | '\u{309a}');
            let letters = text.nfd().filter(|c| !is_accent(c)).nfc();
            let whole: String = letters.map(simplified).flat_map(char::to_lowercase).collect();
            prop_assert_eq!(unaccented(&text), whole);
        }
    }
}
