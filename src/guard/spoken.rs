//! Values said in a sentence: `the password is …`.

use std::ops::Range;

use super::about::{is_matter, is_state};
use super::judge::{
    has_digit, is_access_code, is_alphabetic_script, is_chosen, is_code, is_common, is_dotted_name, is_login_password,
    is_opaque, is_placeholder, is_type, is_word, names_secret,
};
use super::value::{self, Naming};
use super::words::{GRAMMAR, UNITS};

/// Returns the value said in the sentence that goes on behind `whole`, which names the secret.
pub(super) fn spoken(text: &str, whole: &Range<usize>, naming: Naming) -> Option<Range<usize>> {
    let at = whole.end;
    let at = at + text[at..].len() - text[at..].trim_start_matches(['*', ' ']).len();
    let value = value::read(text, at)?;
    let end = value.range.end;
    let closes =
        value.quoted || text[end..].trim_start_matches([' ', '\t']).chars().next().is_none_or(|c| !c.is_alphanumeric());
    let said = value.text.trim_end_matches(['!', '?']);
    // What a name or a sentence promises is the cheaper test, so it comes first.
    let fits = match naming {
        Naming::Pin => {
            (4..=12).contains(&said.len())
                && said.trim_end_matches(['#', '*']).bytes().all(|b| b.is_ascii_digit() || b == b'-')
                && said.contains(|c: char| c.is_ascii_digit())
                && !counts_something(said, &text[end..])
        }
        Naming::Password if is_word(said) => {
            is_alphabetic_script(said)
                && closes
                && said.len() >= 5
                && (value.quoted || !is_common(said) && !names_secret(said) && !is_state(said))
                && !is_matter(text, whole)
        }
        Naming::Password => is_chosen(said) && !counts_something(said, &text[end..]) && !said.contains("://"),
        Naming::Code => is_access_code(said) && !counts_something(said, &text[end..]),
        Naming::Login if value.quoted && said.contains(' ') => {
            has_digit(said) || is_word_list(said) && said.len() >= 12
        }
        Naming::Login => is_login_password(said),
        Naming::Key => is_opaque(said) && !said.contains('/') && !is_dotted_name(said),
    };
    let holds = fits && !is_placeholder(said) && !is_type(text, &value) && (value.quoted || !is_code(said));
    holds.then(|| value.range.start..value.range.start + said.len())
}

/// Returns the words up to the end of the sentence that goes on at `at`, if they can be a passphrase.
pub(super) fn phrase(text: &str, at: usize) -> Option<Range<usize>> {
    let near = &text[at..text.floor_char_boundary((at + 400).min(text.len()))];
    let start = near.len() - near.trim_start_matches(['"', '\'', '`', '“', '「', ' ', '*']).len();
    let words = &near[start..];
    let words = &words[..words
        .find(['.', '\n', '"', '`', '”', '」', '&', '!', '?', ',', ';', '。', '，', '\\'])
        .unwrap_or(words.len())];
    let words = words.split_once("' ").map_or(words, |(quoted, _)| quoted).trim_end_matches(['\'', ' ', '*']);
    let count = words.split_whitespace().count();
    let plain = words.split_whitespace().all(|word| word.chars().all(|c| c.is_alphanumeric() || c == '-'));
    let starts_plainly = words.split_whitespace().next().is_none_or(is_common);
    (plain
        && (3..=30).contains(&count)
        && words.len() >= 12
        && !starts_plainly
        && !words.split_whitespace().any(is_grammar))
    .then(|| at + start..at + start + words.len())
}

/// Whether words are picked at random: none of them holds a sentence together.
pub(super) fn is_word_list(words: &str) -> bool {
    !words.split_whitespace().any(is_grammar)
}

fn is_grammar(word: &str) -> bool {
    GRAMMAR.contains(&word.to_lowercase().as_str())
}

fn counts_something(value: &str, after: &str) -> bool {
    let after = after.trim_start_matches([' ', '-']);
    let unit = UNITS.iter().any(|unit| after.starts_with(unit));
    value.bytes().all(|b| b.is_ascii_digit()) && unit
}
