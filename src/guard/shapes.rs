//! The shapes of values that are secrets wherever they are next to the name of a secret: random characters, and words
//! that a person joined with a number.

use crate::guard::near::{is_public, looks_secret};
use crate::guard::values::{class_turns, has_digit, is_code, names_secret};

/// Length of the shortest random value.
const RANDOM_CHARS: usize = 12;

/// Length of the longest value.
const MAX_CHARS: usize = 128;

/// Symbols that hardly occur within words and names.
const SIGNS: &str = "!#%^&*+?~=$@";

/// Whether letters, digits and symbols follow each other as in a random value, unlike in `namesLikeThis2`.
pub(super) fn is_scrambled(value: &str) -> bool {
    let count = |class: fn(&u8) -> bool| value.bytes().filter(class).count();
    let (lower, upper, digits) =
        (count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase), count(u8::is_ascii_digit));
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'`<>()[]{},;:|\\/".contains(&byte);
    if !(RANDOM_CHARS..=MAX_CHARS).contains(&value.len())
        || !value.bytes().all(is_plain)
        || value.starts_with(|c: char| !c.is_ascii_alphanumeric())
        || names_secret(value)
        || is_code(value)
        || is_public(value)
    {
        return false;
    }
    let body = value.trim_end_matches(['.', '!', '?', '*', '=']);
    let is_signed = body.contains(|c| SIGNS.contains(c));
    let longest = value.split(|c: char| !c.is_ascii_lowercase()).map(str::len).max().unwrap_or(0);
    let is_cased = lower >= 3 && upper >= 3 && longest <= 6;
    looks_secret(body, value)
        || is_cased && (is_signed || class_turns(value) >= 5 && is_irregular(body))
        || is_signed && digits >= 2 && lower + upper >= 6 && !value.contains(['=', '@', '.']) && longest >= 6
}

/// Whether capitals and digits stand where names in code have none: two capitals in a row, a letter after a digit, or a
/// capital at the end.
fn is_irregular(value: &str) -> bool {
    let is_pair = |pair: &[u8]| {
        pair[0].is_ascii_uppercase() && pair[1].is_ascii_uppercase()
            || pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic()
    };
    value.as_bytes().windows(2).any(is_pair) || value.ends_with(|c: char| c.is_ascii_uppercase())
}

/// Whether a value consists of so many hexadecimal digits that it is a key or a checksum.
pub(super) fn is_hexadecimal_key(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (24..=MAX_CHARS).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_hexdigit())
        && digits >= 4
        && value.len() - digits >= 3
}

/// Whether a value consists of words and a number, as people choose passwords: `summer-pepper-fog-41`, `Mango.Fog2019!`.
pub(super) fn is_chosen(value: &str) -> bool {
    let body = value.trim_end_matches(['!', '?', '#', '*', '.']);
    let stem = body.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = body.len() - stem.len();
    let stem = stem.trim_end_matches(['-', '.', '_']);
    if !(2..=6).contains(&digits) || stem.chars().count() < 8 || has_digit(stem) || names_secret(value) {
        return false;
    }
    let is_word = |part: &&str| part.chars().count() >= 3 && part.chars().all(char::is_alphabetic);
    let is_capital = |part: &&str| part.starts_with(char::is_uppercase);
    let parts: Vec<&str> = stem.split(['-', '.', '_']).collect();
    let capitals = parts.iter().filter(|part| is_capital(part)).count();
    let is_shouted = !stem.contains(char::is_lowercase);
    let humps = humps(stem);
    let is_joined = parts.len() >= 2 && parts.iter().all(is_word);
    let is_passphrase = is_joined && !is_shouted && (parts.len() >= 4 && capitals == 0 || capitals == parts.len());
    is_passphrase || parts.len() == 1 && humps.len() >= 2 && humps.iter().all(|hump| is_word(&hump.as_str()))
}

/// Returns the words of a name such as `MangoFog`, or nothing if a word has no capital.
fn humps(name: &str) -> Vec<String> {
    if !name.starts_with(char::is_uppercase) {
        return Vec::new();
    }
    let mut humps: Vec<String> = Vec::new();
    for c in name.chars() {
        if c.is_uppercase() {
            humps.push(String::new());
        }
        humps.last_mut().into_iter().for_each(|hump| hump.push(c));
    }
    humps
}
