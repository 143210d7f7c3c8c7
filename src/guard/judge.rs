//! Judging values: whether one is a secret or a word, a variable, a type, a stand-in.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::value::Value;
use super::words::{CODE_STARTS, COMMON, PLAIN, STANDING_PARTS, STANDING_STARTS};

static STANDING: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(STANDING_PARTS).expect("the words are few and short"));

/// Whether a value only stands for one: `<your key>`, `${VAR}`, `xxxx`, `changeme`, a marker of ours.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let mut chars = lower.chars();
    let Some(first) = chars.next() else { return true };
    chars.all(|c| c == first)
        || STANDING_STARTS.iter().any(|start| lower.starts_with(start))
        || first == '$'
            && lower[1..].starts_with(|c: char| c.is_alphabetic() || c == '_')
            && lower[1..].chars().all(|c| c.is_alphanumeric() || c == '_')
        || first == '%' && lower.ends_with('%')
        || STANDING.is_match(&lower)
        || PLAIN.contains(&lower.as_str())
}

pub(super) fn is_common(word: &str) -> bool {
    let lower = word.to_lowercase();
    COMMON.contains(&lower.as_str()) || lower.ends_with("ed") || lower.ends_with("ing") || lower.ends_with("able")
}

/// Whether it is letters, `_` and `-` only, as words and names are.
pub(super) fn is_word(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || c == '_' || c == '-')
}

/// Whether a word is in a script with spaces between words; in the others a run of letters is half a sentence.
pub(super) fn is_alphabetic_script(word: &str) -> bool {
    word.chars().all(|c| c < '\u{2e80}')
}

/// Whether an unquoted value is an expression.
pub(super) fn is_code(value: &str) -> bool {
    let dotted = value.contains('.')
        && value.split('.').all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || "_[]?()".contains(c))
        })
        && !value.chars().any(|c| c.is_ascii_digit());
    let opening = value.find(['(', '[', '{', '<']);
    let called =
        opening.is_some_and(|at| at > 0 && value[..at].chars().all(|c| c.is_alphanumeric() || "_.:!?&".contains(c)));
    let environment = CODE_STARTS.iter().any(|start| value.starts_with(start));
    dotted
        || called
        || environment
        || value.contains("::")
        || value.contains("->")
        || value.contains("=>")
        || value.starts_with(['=', ':', '&', '(', '|', '!', '?', '#', '@', '/', '.', ','])
}

/// Whether what was read is a type in code, or a number with one: `KEY: Name = …`, `*const u8`, `__u32`, `7i32`.
pub(super) fn is_type(text: &str, value: &Value<'_>) -> bool {
    let word = value.text;
    let after = text[value.range.end..].trim_start_matches([' ', '\t']);
    let assigned = after.starts_with('=')
        && !after.starts_with("==")
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let number = word.trim_start_matches('-');
    let suffixed = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').starts_with(['i', 'u', 'f'])
        && number.starts_with(|c: char| c.is_ascii_digit())
        && ["8", "16", "32", "64", "128", "size"].iter().any(|size| {
            word.ends_with(&format!("i{size}"))
                || word.ends_with(&format!("u{size}"))
                || word.ends_with(&format!("f{size}"))
        });
    !value.quoted
        && (assigned || suffixed || word.starts_with('_') || word.starts_with("*const") || word.starts_with("*mut"))
}

/// Whether a value that is more than a word can be a password.
pub(super) fn is_chosen(value: &str) -> bool {
    let length = value.chars().count();
    length >= 4
        && value.chars().any(char::is_alphanumeric)
        && !value.starts_with(['\\', '('])
        && value.parse::<f64>().map_or(true, |_| length >= 4 && !value.contains('.'))
}

/// Whether a value holds letters and digits both.
pub(super) fn has_letters_and_digits(value: &str) -> bool {
    value.chars().any(|c| c.is_ascii_digit()) && value.chars().any(char::is_alphabetic)
}

/// Whether a value holds a digit.
pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}

/// Whether a value behind a weak sign can be a password: letters and digits, and no expression.
pub(super) fn is_made_up(value: &str) -> bool {
    value.len() >= 6 && has_letters_and_digits(value) && !is_code(value) && !is_placeholder(value)
}

/// Whether a value that hardly anything names can be a password: small letters, capitals and digits.
pub(super) fn is_strong(value: &str) -> bool {
    let cased = value.chars().any(char::is_lowercase) && value.chars().any(char::is_uppercase);
    cased && value.len() >= 8 && is_made_up(value) && !value.contains("://")
}

/// Signs that stand in passwords and seldom in words.
const SIGNS: &str = "!#$%^&*+?~";

/// Whether a value can open a door or a safe: a few digits, or letters and digits that are no number of an error.
pub(super) fn is_access_code(value: &str) -> bool {
    let code = value.trim_end_matches(['#', '*']);
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let letters = code.chars().filter(|c| c.is_alphabetic()).count();
    let numbered = code.trim_start_matches(char::is_alphabetic);
    let is_error = code.len() - numbered.len() <= 2 && numbered.bytes().all(|b| b.is_ascii_digit());
    code.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && match letters {
            0 => (4..=12).contains(&digits),
            _ => digits >= 2 && (5..=40).contains(&code.len()) && !is_error && !is_hexadecimal_number(code),
        }
}

/// Whether a value behind the name of a user or a network can be a password: no word, path, file or version.
pub(super) fn is_login_password(value: &str) -> bool {
    let marked = value.contains(|c: char| c.is_ascii_digit() || SIGNS.contains(c));
    let ending = value.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_file =
        (1..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    value.len() >= 6
        && (marked || value.len() >= 8 && is_mixed(value))
        && value.chars().any(char::is_alphabetic)
        && !is_file
        && !value.contains('/')
        && !value.ends_with(')')
        && !names_secret(value)
        && !is_hexadecimal_number(value)
}

/// Whether a value behind `admin /` can be a password, and no role, page or folder.
pub(super) fn is_slashed_password(value: &str) -> bool {
    let cased = value.chars().any(char::is_lowercase) && value.chars().any(char::is_uppercase);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    cased && is_login_password(value) && (digits >= 2 || value.contains(|c| SIGNS.contains(c)) || is_mixed(value))
}

/// Whether the end of `<maker>_live_…` is machine-made.
pub(super) fn is_vendor_key(value: &str) -> bool {
    let end = value.rsplit('_').next().unwrap_or("");
    (has_letters_and_digits(end) && digit_runs(end) >= 2 || is_mixed(end)) && !is_placeholder(end)
}

/// Whether capitals and small letters are mixed as in a random value: more than a third of it are capitals, which is
/// more than in `NamesLikeThis`.
fn is_mixed(value: &str) -> bool {
    let capitals = value.chars().filter(|c| c.is_uppercase()).count();
    capitals * 3 > value.chars().count() && value.chars().any(char::is_lowercase)
}

/// How often digits begin in `value`, behind something else.
fn digit_runs(value: &str) -> usize {
    value.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).count()
}

/// Whether a value given for a user's password can be one.
pub(super) fn is_credential_value(value: &str) -> bool {
    let length = value.chars().count();
    length >= 3 && !is_placeholder(value) && !(is_word(value) && length < 5)
}

/// Whether what stands behind `user:` on a command line is a password, and not a group as in `1000:1000`.
pub(super) fn is_user_password(value: &str) -> bool {
    is_credential_value(value) && !value.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a value is a dotted name such as `project.node22_version`, as attributes of memories are called.
pub(super) fn is_dotted_name(value: &str) -> bool {
    let is_part = |part: &str| {
        part.len() <= 24
            && part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && part.bytes().filter(u8::is_ascii_digit).count() <= 4
    };
    value.contains('.') && value.split('.').all(is_part)
}

/// Whether a value looks machine-made: at least eight characters, letters and digits, no name of anything.
pub(super) fn is_opaque(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    is_shaped_as_key(value, digits) && !is_placeholder(value) && (digits > 3 || !names_secret(value))
}

fn is_shaped_as_key(value: &str, digits: usize) -> bool {
    let length = value.chars().count();
    if length < 8
        || value.contains(' ')
        || is_moment(value)
        || is_counted_name(value)
        || is_hexadecimal_number(value)
        || !value.chars().any(char::is_alphabetic)
    {
        return false;
    }
    match digits {
        0 => length >= 24 && is_mixed(value) && !value.contains(['_', '-', '.', '/']) && entropy(value) > 3.8,
        1 => length >= 10,
        2.. => true,
    }
}

/// Whether a value is a number of up to 64 bits as code writes it: `0x0000_0013`.
fn is_hexadecimal_number(value: &str) -> bool {
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    digits.is_some_and(|digits| {
        digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_')
            && digits.bytes().filter(u8::is_ascii_hexdigit).count() <= 16
    })
}

/// Whether a value is a date with a time, as in `1979-05-27T00:32:00Z`.
fn is_moment(value: &str) -> bool {
    let date = value.get(..11).unwrap_or("").as_bytes();
    date.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        10 => matches!(byte, b'T' | b' '),
        _ => byte.is_ascii_digit(),
    }) && !date.is_empty()
}

/// Whether a value is a word with a number behind it, as keys of caches are: `user:48291`.
fn is_counted_name(value: &str) -> bool {
    let parts = value.split_once(':');
    parts.is_some_and(|(name, number)| {
        is_word(name) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b':')
    })
}

/// Whether a value is the name of a secret, as in `token=access_token_v2`.
pub(super) fn names_secret(value: &str) -> bool {
    let lower = value.to_lowercase();
    ["token", "secret", "apikey", "api_key", "api-key", "password", "_key", "credential"]
        .iter()
        .any(|part| lower.contains(part))
}

/// Whether a long value that nothing names is random: not a hash of a commit, a UUID, a path or an identifier.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let upper = value.chars().filter(char::is_ascii_uppercase).count();
    let lower = value.chars().filter(char::is_ascii_lowercase).count();
    let words = value.split(['_', '-', '/', '=']).map(str::len).max().unwrap_or(0);
    digits >= 3
        && digit_runs(value) >= 2
        && upper >= 3
        && lower >= 3
        && words >= 16
        && entropy(value) > 4.0
        && !is_placeholder(value)
}

/// Returns the bits a character that `value` carries by the frequency of its own characters.
fn entropy(value: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    value.chars().for_each(|c| *counts.entry(c).or_insert(0_u32) += 1);
    let total = f64::from(counts.values().sum::<u32>());
    counts.values().map(|&count| f64::from(count) / total).map(|share| -share * share.log2()).sum()
}
