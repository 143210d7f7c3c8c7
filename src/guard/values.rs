//! Values after `=`, `:` or `is`: their beginning and end, and whether they look like secrets.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::guard::broken::after_line_end;
use crate::guard::words::{CODE_STARTS, COMMON, PARTICIPLES, PLAIN, STANDING_PARTS, STANDING_STARTS};

/// The kind of value that follows a certain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameStrength {
    /// A password, short and chosen by a person.
    Password,
    /// A key or token, long and made by a machine.
    Key,
    /// A few digits.
    Pin,
    /// The code of a door or a safe: a few digits, or a word with a number.
    Code,
    /// A password in a weak context, in which a word alone does not count as a password.
    Login,
    /// A password after a short name such as `pass`, which must be a separate part of a name.
    Brief,
}

/// Maximum length of a quoted value that is read, in bytes.
const QUOTED_BYTES: usize = 1024;

/// Number of bytes of an unquoted value that are judged. The part that is removed may be longer.
const JUDGED_BYTES: usize = 128;

/// A value without the quotes around it.
pub(super) struct Value<'t> {
    pub range: Range<usize>,
    pub text: &'t str,
    pub quoted: bool,
}

const QUOTES: &[(&str, &str)] =
    &[("\"", "\""), ("'", "'"), ("`", "`"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("«", "»"), ("„", "“")];

/// What may stand before the quotation mark of a literal.
const KINDS: &[&str] =
    &["N", "b", "u", "E", "f", "r", "rb", "br", "fr", "rf", "F", "R", "B", "U", "$", "@", "Some(", "Ok("];

/// Reads the value that begins at `at`, up to its closing quote, or to the next space if it is not quoted.
pub(super) fn read_value(text: &str, at: usize) -> Option<Value<'_>> {
    let rest = &text[at..];
    let near = &rest[..rest.floor_char_boundary(QUOTED_BYTES)];
    // In SQL, Python and Rust, letters before a quote determine the kind of a literal, and a value may be wrapped.
    let kind = KINDS.iter().find(|kind| near.starts_with(**kind) && near[kind.len()..].starts_with(['"', '\'']));
    let kind = kind.map_or(0, |kind| kind.len());
    // Three quotation marks are the marks of one literal.
    let kind = if [r#"""""#, "'''"].iter().any(|quotes| near[kind..].starts_with(quotes)) { kind + 2 } else { kind };
    let (at, near) = (at + kind, &near[kind..]);
    let slashes = near.len() - near.trim_start_matches('\\').len();
    for (open, close) in QUOTES {
        let Some(inside) = near[slashes..].strip_prefix(open) else { continue };
        // In JSON within JSON, the quotes of a value follow the backslashes of every level of nesting.
        let closing = format!("{}{close}", &near[..slashes]);
        // A quote that is closed only on a later line belongs to the text, not to the value.
        let end = closing_quote(inside, &closing, slashes).filter(|end| !inside[..*end].contains('\n'));
        // If a long value contains no space, only its beginning is judged.
        let is_long = || near.len() + 4 > QUOTED_BYTES && !inside.contains(char::is_whitespace);
        let end = end.or_else(|| is_long().then_some(inside.len()))?;
        let start = at + slashes + open.len();
        return Some(Value { range: start..start + end, text: &inside[..end], quoted: true });
    }
    let near = &rest[..rest.floor_char_boundary(JUDGED_BYTES)];
    let run = &near[..near.find(stops).unwrap_or(near.len())];
    let run = &run[..ascii_part(run)];
    let run = &run[..before_next_pair(run)];
    // Closing brackets and full stops belong to the surrounding text far more often than to the value.
    let run = run.trim_end_matches([',', ';', ')', '}', ']', '>', '*', ':', '.']);
    Some(Value { range: at..at + run.len(), text: run, quoted: false })
}

/// Returns the position of the closing quote in `inside`, ignoring escaped quotes, or of the first escaped quote if
/// there is no other.
fn closing_quote(inside: &str, closing: &str, slashes: usize) -> Option<usize> {
    let first = inside.find(closing)?;
    let is_open = |at: &usize| {
        let quote = at + slashes;
        let before = quote - inside[..quote].trim_end_matches('\\').len();
        let in_word = inside[at + closing.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
        before <= slashes || ((before - slashes) / (slashes + 1)).is_multiple_of(2) && !in_word
    };
    let line = inside.find('\n').unwrap_or(inside.len());
    let closed = inside[..line].match_indices(closing).map(|(at, _)| at).find(is_open);
    Some(closed.unwrap_or(first))
}

/// Returns the actual end of a value of which only the first bytes have been examined. It is called only for values to
/// be removed, so that no text is read repeatedly.
pub(super) fn whole_end(text: &str, value: &Value<'_>) -> usize {
    let mut end = value.range.end;
    let judged = if value.quoted { QUOTED_BYTES - 16 } else { JUDGED_BYTES };
    if value.text.len() + 4 > judged {
        let rest = text[end..].find(stops).unwrap_or(text.len() - end);
        end += text[end..end + rest].trim_end_matches(['\\', ',', ';', ')', '}', ']', '.']).len();
    }
    let is_long = value.text.len() >= PART_BYTES && has_letters_and_digits(value.text);
    while is_long && let Some(next) = next_part(text, end) {
        end = next;
    }
    end
}

/// Minimum length, in bytes, of the first part of a value that is written in several parts.
const PART_BYTES: usize = 16;

/// Returns the end of the next part of a value that ends at `end`, if a mark of a soft line break, or an operator
/// between two strings, shows that the value continues on the next line.
fn next_part(text: &str, end: usize) -> Option<usize> {
    let near = &text[end..text.floor_char_boundary(end + JUDGED_BYTES)];
    let closed = near.trim_start_matches('\\');
    let quoted = closed.strip_prefix(['"', '\'']);
    let mark = quoted.map_or(near, str::trim_start);
    let operator = mark.strip_prefix(['+', '.', '&', '=', '\\']).filter(|_| !mark.starts_with("\\n"));
    let line = after_line_end(operator.unwrap_or(mark).trim_start_matches([' ', '\t', '\\']))?;
    // Quoted-printable breaks a line with this character, which also ends a key in base 64.
    let is_soft = operator.is_none() && text[..end].ends_with('=') && !text[..end].ends_with("==");
    if operator.is_none() && quoted.is_none() && !is_soft {
        return None;
    }
    let inside = line.trim_start_matches([' ', '\t', '>', '\\']);
    let inside = if quoted.is_some() { inside.strip_prefix(['"', '\''])? } else { inside };
    let run =
        &inside[..inside.find(|c: char| !c.is_ascii_alphanumeric() && !"_+/=-".contains(c)).unwrap_or(inside.len())];
    // A part of a key does not look like a word.
    let is_part = run.len() >= 6 && (has_digit(run) && !is_soft || case_turns(run) >= 3);
    is_part.then(|| end + near.len() - inside.len() + run.len())
}

/// Whether a value without quotes ends before `c`.
fn stops(c: char) -> bool {
    let ends = matches!(c, '"' | '\'' | '`' | '|' | '“' | '”' | '‘' | '’' | '「' | '」' | '『' | '』' | '«' | '»');
    ends || matches!(c, '，' | '。' | '；' | '！' | '？' | '、' | '（' | '）' | '…')
        || c.is_whitespace()
        || c.is_control()
}

/// Returns the position at which a value that began in ASCII changes to a different script, as in `密码是abc123然后`.
fn ascii_part(run: &str) -> usize {
    if run.starts_with(|c: char| c.is_ascii()) { run.find(|c| c >= '\u{2e80}').unwrap_or(run.len()) } else { run.len() }
}

/// Returns the position at which `run` changes into the next `name=value` of a list, or into an escape of the
/// surrounding string.
fn before_next_pair(run: &str) -> usize {
    let bytes = run.as_bytes();
    (1..bytes.len())
        .find(|&at| match bytes[at] {
            b'&' | b';' | b',' => {
                let name = bytes[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                name > 0 && matches!(bytes.get(at + 1 + name), Some(b'=' | b':'))
            }
            b'\\' => matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't' | b'"') | None),
            _ => false,
        })
        .unwrap_or(bytes.len())
}

// The following functions judge whether a value is a secret or a word, a variable, a type or a placeholder.

static STANDING: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(STANDING_PARTS).expect("the words are few and short"));

/// Whether a value is only a placeholder: `<your key>`, `${VAR}`, `xxxx`, `changeme`, a marker of the guard.
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
    let is_participle = PARTICIPLES.iter().any(|ending| lower.ends_with(ending));
    COMMON.contains(&lower.as_str()) || is_participle && lower.chars().count() >= 5
}

/// Whether the value consists only of letters, `_` and `-`, as words and names do.
pub(super) fn is_word(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || c == '_' || c == '-')
}

/// Whether a word is in a script with spaces between words. In other scripts, a run of letters may be half a sentence.
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

/// Whether the value is a type in code, or a number with a type suffix, as in `KEY: Name = …`, `*const u8`, `__u32` and
/// `7i32`.
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
        && (assigned
            || suffixed
            || word.starts_with('_') && word.bytes().filter(u8::is_ascii_digit).count() < 4
            || word.starts_with("*const")
            || word.starts_with("*mut"))
}

/// Whether a value that is more than a word can be a password.
pub(super) fn is_chosen(value: &str) -> bool {
    let length = value.chars().count();
    length >= 4
        && value.chars().any(char::is_alphanumeric)
        && !value.starts_with(['\\', '('])
        // A whole number can be a PIN, but a number with a point is an amount or a version.
        && value.parse::<f64>().map_or(true, |_| length >= 4 && !value.contains('.'))
}

/// Whether a value contains both letters and digits.
pub(super) fn has_letters_and_digits(value: &str) -> bool {
    value.chars().any(|c| c.is_ascii_digit()) && value.chars().any(char::is_alphabetic)
}

/// Whether a value contains a digit.
pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}

/// Whether a value in a weak context can be a password, with letters and digits, and is not an expression.
pub(super) fn is_made_up(value: &str) -> bool {
    value.len() >= 6 && has_letters_and_digits(value) && !is_code(value) && !is_placeholder(value)
}

/// Whether a value without a clear name can be a password, with lower-case letters, capitals and digits.
pub(super) fn is_strong(value: &str) -> bool {
    let cased = value.chars().any(char::is_lowercase) && value.chars().any(char::is_uppercase);
    cased && value.len() >= 8 && is_made_up(value) && !value.contains("://")
}

/// Whether a value in the position of a secret can be a secret: it has features that words, names, paths, numbers and
/// versions lack.
pub(super) fn is_marked(value: &str) -> bool {
    let has_letters = value.chars().any(char::is_alphabetic);
    let is_name_in_code = || value.contains('/') && !is_random(value) || names_secret(value) && digit_runs(value) < 2;
    value.chars().count() >= 6
        && has_letters
        && (has_digit(value) || is_signed(value) || value.len() >= 8 && is_mixed(value) && case_turns(value) >= 4)
        && !is_placeholder(value)
        && !is_identifier(value)
        && !value.starts_with(['/', '.', '$', '{', '<', '(', '@', '\\'])
        && !value.starts_with("--")
        && !value.contains("://")
        && !is_code(value.trim_start_matches(['!', '?', '#', '&', '=']))
        && !is_moment(value)
        && !is_file_name(value)
        && !is_counted_name(value)
        && !is_hexadecimal_number(value)
        && !is_name_in_code()
}

/// Whether a value is a name in code: words and short numbers with `_` between them, as in `crc32_words`.
pub(super) fn is_identifier(value: &str) -> bool {
    let is_word = |part: &str| {
        let stem = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let capitals = || part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.len() - stem.len() <= 3 && !has_digit(stem) || capitals() && digits <= 2
    };
    let value = value.trim_end_matches(['.', ':', ')', ';']);
    let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_plain && value.contains('_') && value.split('_').all(is_word)
}

/// Returns how often a letter follows one of the other case.
fn case_turns(value: &str) -> usize {
    let pairs = value.as_bytes().windows(2).filter(|pair| pair.iter().all(u8::is_ascii_alphabetic));
    pairs.filter(|pair| pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()).count()
}

/// Returns how often a letter or digit follows one of a different class: lower-case letters, capitals and digits.
pub(super) fn class_turns(value: &str) -> usize {
    let class = |byte: &u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    value
        .as_bytes()
        .windows(2)
        .filter(|pair| class(&pair[0]) * class(&pair[1]) > 0 && class(&pair[0]) != class(&pair[1]))
        .count()
}

/// Whether a value contains, in its middle, a symbol that is common in passwords.
pub(super) fn is_signed(value: &str) -> bool {
    // At the end of a sentence, symbols are punctuation or emphasis.
    let value = value.trim_end_matches(['*', '.', '!', '?', ')', ':', '~', '+']);
    value.get(1..).is_some_and(|inside| inside.contains(|c| SIGNS.contains(c)))
}

/// Whether a value has a part in which digits and letters alternate, which the names of models and packages lack.
pub(super) fn is_keyed(value: &str) -> bool {
    let is_part = |part: &str| part.len() >= 8 && has_digit(part);
    is_marked(value) && value.split(|c: char| !c.is_ascii_alphanumeric()).any(is_part)
}

/// Whether a value is a machine-made session id that is not a UUID; logs contain many such ids.
pub(super) fn is_session(value: &str) -> bool {
    let is_uuid = value.len() == 36 && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_opaque(value) && !is_uuid
}

/// Whether a value is the name of a file, or a version.
fn is_file_name(value: &str) -> bool {
    let ending = value.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_short = (1..=5).contains(&ending.len());
    is_short && ending.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// Characters that are common in passwords but rare in words.
const SIGNS: &str = "!#$%^&*+?~";

/// Whether a value can be the code of a door or a safe: a few digits, or letters and digits that are not an error code.
pub(super) fn is_access_code(value: &str) -> bool {
    let code = value.trim_end_matches(['#', '*']);
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let letters = code.chars().filter(|c| c.is_alphabetic()).count();
    let numbered = code.trim_start_matches(char::is_alphabetic);
    // `E1203` is an error code or a part number.
    let is_error = code.len() - numbered.len() <= 2 && numbered.bytes().all(|b| b.is_ascii_digit());
    code.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && match letters {
            0 => (4..=12).contains(&digits),
            _ => digits >= 2 && (5..=40).contains(&code.len()) && !is_error && !is_hexadecimal_number(code),
        }
}

/// Whether a value after the name of a user or a network can be a password and is not a word, path, file or version.
pub(super) fn is_login_password(value: &str) -> bool {
    let marked = value.contains(|c: char| c.is_ascii_digit() || SIGNS.contains(c));
    value.len() >= 6
        && (marked || value.len() >= 8 && is_mixed(value))
        && value.chars().any(char::is_alphabetic)
        && !is_file_name(value)
        && !value.contains('/')
        && !value.ends_with(')')
        && !names_secret(value)
        && !is_hexadecimal_number(value)
}

/// Whether a value after `admin /` can be a password, and is not a role, page or folder.
pub(super) fn is_slashed_password(value: &str) -> bool {
    let cased = value.chars().any(char::is_lowercase) && value.chars().any(char::is_uppercase);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    cased && is_login_password(value) && (digits >= 2 || value.contains(|c| SIGNS.contains(c)) || is_mixed(value))
}

/// Whether the end of `<maker>_live_…` is machine-made. Stripe keys that begin with `pk` are public.
pub(super) fn is_vendor_key(value: &str) -> bool {
    if value.starts_with("pk_live_51") || value.starts_with("pk_test_51") {
        return false;
    }
    let end = value.rsplit('_').next().unwrap_or("");
    (has_letters_and_digits(end) && digit_runs(end) >= 2 || is_mixed(end)) && !is_placeholder(end)
}

/// Whether capitals and lower-case letters are mixed as in a random value, in which more than a third are capitals,
/// unlike in `NamesLikeThis`.
fn is_mixed(value: &str) -> bool {
    let capitals = value.chars().filter(|c| c.is_uppercase()).count();
    capitals * 3 > value.chars().count() && value.chars().any(char::is_lowercase)
}

/// Returns the number of runs of digits in `value`.
fn digit_runs(value: &str) -> usize {
    value.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).count()
}

/// Whether a value given as a user's password can be a password.
pub(super) fn is_credential_value(value: &str) -> bool {
    let length = value.chars().count();
    length >= 3 && !is_placeholder(value) && !(is_word(value) && length < 5)
}

/// Whether the value after `user:` on a command line is a password rather than a group, as in `1000:1000`.
pub(super) fn is_user_password(value: &str) -> bool {
    is_credential_value(value) && !value.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a value is a dotted name such as `project.node22_version`, as in the attributes of memories.
pub(super) fn is_dotted_name(value: &str) -> bool {
    let is_part = |part: &str| {
        part.len() <= 24
            && part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && part.bytes().filter(u8::is_ascii_digit).count() <= 4
    };
    value.contains('.') && value.split('.').all(is_part)
}

/// Whether a value looks machine-made, with at least eight characters, letters and digits, and is not a name.
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
        // Without a digit, a value looks like a name in code, so it must be long, mixed and irregular.
        0 => length >= 24 && is_mixed(value) && !value.contains(['_', '-', '.', '/']) && entropy(value) > 3.8,
        1 => length >= 10,
        2.. => true,
    }
}

/// Whether a value is a number of up to 64 bits as code writes it: `0x0000_0013`.
fn is_hexadecimal_number(value: &str) -> bool {
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    let digits = digits.map(|digits| digits.trim_end_matches(['u', 'U', 'l', 'L']));
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

/// Whether a value is a word followed by a number, as in the cache key `user:48291`.
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

/// Whether a long value without a name is random, rather than a commit hash, a UUID, a path or an identifier.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let upper = value.chars().filter(char::is_ascii_uppercase).count();
    let lower = value.chars().filter(char::is_ascii_lowercase).count();
    // Identifiers consist of short words with separators between them.
    let words = value.split(['_', '-', '/', '=']).map(str::len).max().unwrap_or(0);
    // Hexadecimal digits of one case contain at most four bits each, so hashes stay below the limit on entropy.
    digits >= 3
        && digit_runs(value) >= 2
        && upper >= 3
        && lower >= 3
        && words >= 16
        && entropy(value) > 4.0
        // Public keys for SSH begin like this.
        && !value.starts_with("AAAA")
        && !is_placeholder(value)
}

/// Returns the entropy of `value` in bits per character, from the frequency of its characters.
fn entropy(value: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    value.chars().for_each(|c| *counts.entry(c).or_insert(0_u32) += 1);
    let total = f64::from(counts.values().sum::<u32>());
    counts.values().map(|&count| f64::from(count) / total).map(|share| -share * share.log2()).sum()
}
