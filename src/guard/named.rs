//! Finds values after a name: `PASSWORD=…`, `"token": "…"`, `--password …`, `the password is …`.

use std::ops::Range;

use crate::guard::values::{
    NameStrength, Value, has_digit, has_letters_and_digits, is_access_code, is_alphabetic_script, is_chosen, is_code,
    is_common, is_dotted_name, is_login_password, is_marked, is_opaque, is_placeholder, is_type, is_word, names_secret,
    read_value, whole_end,
};
use crate::guard::words::{ABOUT, COUNTING, GRAMMAR, PARTICIPLES, UNITS};

/// Returns the value that is assigned to a name of a secret. `hint` is the position of a word in that name.
///
/// `suffix` is the rest of the name after the word, `sign` the text between name and value, and `at` the start of the
/// value.
pub(super) fn assigned(
    text: &str,
    hint: usize,
    suffix: &str,
    sign: &str,
    at: usize,
    naming: NameStrength,
) -> Option<Range<usize>> {
    let name = Name::around(text, hint, suffix);
    // Without a separator such as `=`, the following text is just the next word of a sentence, except on a command
    // line.
    if sign.trim().is_empty() && !name.is_flag || name.is_about_a_secret() {
        return None;
    }
    if naming == NameStrength::Brief && !name.is_apart(text, hint) {
        return None;
    }
    let value = read_value(text, at)?;
    let word = is_word(value.text);
    // The name is tested first, because this is cheaper.
    let fits = match naming {
        // With `pass:`, OpenSSL specifies the source of a password.
        NameStrength::Brief if value.text.starts_with("pass:") => false,
        NameStrength::Brief if !name.upper || sign.trim() != "=" => is_marked(value.text) && !is_reference(&value),
        _ if naming != NameStrength::Key && name.plural => has_letters_and_digits(value.text),
        _ if naming != NameStrength::Key && word => is_chosen_word(&value, &name, sign, text),
        NameStrength::Password | NameStrength::Pin | NameStrength::Code | NameStrength::Login | NameStrength::Brief => {
            is_chosen(value.text) && !is_reference(&value)
        }
        NameStrength::Key => {
            !is_reference(&value) && is_opaque(value.text)
                || name.upper && sign.trim() == "=" && word && value.text.len() >= 12
        }
    };
    let holds = fits && !is_placeholder(value.text) && !is_type(text, &value) && (value.quoted || !is_code(value.text));
    holds.then(|| value.range.start..whole_end(text, &value))
}

/// The name that a value is assigned to.
struct Name<'t> {
    before: &'t str,
    suffix: &'t str,
    upper: bool,
    is_flag: bool,
    plural: bool,
}

impl<'t> Name<'t> {
    fn around(text: &'t str, hint: usize, suffix: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut start = hint;
        while start > 0
            && hint - start < 40
            && (bytes[start - 1].is_ascii_alphanumeric() || b"_-.".contains(&bytes[start - 1]))
        {
            start -= 1;
        }
        let before = &text[start..hint];
        let mut letters = text[hint..].chars().skip_while(|c| *c == '_');
        let (word, second) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
        Self {
            before,
            suffix,
            upper: word.is_ascii_uppercase()
                && !before.contains(|c: char| c.is_ascii_lowercase())
                && !suffix.contains(|c: char| c.is_ascii_lowercase())
                && second.is_ascii_uppercase(),
            is_flag: before.starts_with('-') && (start == 0 || text[..start].ends_with([' ', '"', '\'', '\n'])),
            plural: suffix == "s" || suffix == "S",
        }
    }

    /// Whether the short word at `hint` is a separate part of a name, as in `db_pass`, `apiPass` or `-pw`.
    fn is_apart(&self, text: &str, hint: usize) -> bool {
        let is_capital = text[hint..].starts_with(|c: char| c.is_ascii_uppercase());
        let last = self.before.chars().next_back();
        text[hint..].starts_with('_')
            || last.is_none_or(|last| "_-.".contains(last) || is_capital && last.is_ascii_lowercase())
    }

    /// Whether the name refers to something about a secret, such as its length, file or kind.
    fn is_about_a_secret(&self) -> bool {
        let suffix = self.suffix.trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(first) = suffix.chars().next() else { return is_counting(self.before) };
        let camel = first.is_ascii_uppercase() && !self.upper;
        if first.is_ascii_alphabetic() && !camel && !self.plural {
            return true;
        }
        let lower = suffix.to_ascii_lowercase();
        is_counting(self.before) || ABOUT.iter().any(|about| lower.ends_with(about))
    }
}

fn is_counting(before: &str) -> bool {
    let lower = before.to_ascii_lowercase();
    COUNTING.iter().any(|start| lower.trim_start_matches('-').starts_with(start))
}

/// Whether the value is the location of a secret, a date, a version or a count.
pub(super) fn is_reference(value: &Value<'_>) -> bool {
    let text = value.text;
    text.starts_with('/') && text[1..].contains('/')
        || text.starts_with("./")
        || text.starts_with("~/")
        || text.contains("://")
        || text.contains(' ') && !text.chars().any(|c| c.is_ascii_digit())
        || text.starts_with('$') && text.len() < 12
}

/// Whether a word after the name of a password is a password rather than a type, a variable or the start of a sentence.
fn is_chosen_word(value: &Value<'_>, name: &Name<'_>, sign: &str, text: &str) -> bool {
    let lower = value.text.to_lowercase();
    let says_secret =
        ["pass", "pwd", "secret", "token", "cred", "field", "input", "hash"].iter().any(|part| lower.contains(part));
    if value.text.len() < 6
        || !value.quoted && !is_alphabetic_script(value.text)
        || is_common(value.text)
        || says_secret && !name.upper
    {
        return false;
    }
    if value.quoted || name.upper || name.is_flag {
        return true;
    }
    let after = text[value.range.end..].trim_start_matches([' ', '\t', ',']);
    // An unquoted word in the middle of a line is usually the next word of a sentence.
    let ends_line = after.is_empty() || after.starts_with(['\n', '\r', '#', '"', '\\']);
    // `password: String` declares a field.
    let type_like = value.text.starts_with(|c: char| c.is_uppercase());
    !value.text.contains('_') && ends_line && !(type_like && sign.contains(':'))
}

// Values stated in a sentence, as in `the password is …`.

/// Returns the value stated in the sentence that continues after `whole`, the name of the secret.
pub(super) fn spoken(text: &str, whole: &Range<usize>, naming: NameStrength) -> Option<Range<usize>> {
    // The value belongs to another option.
    if text[whole.clone()].contains(" --") {
        return None;
    }
    let at = whole.end;
    let at = at + text[at..].len() - text[at..].trim_start_matches(['*', ' ']).len();
    let value = read_value(text, at)?;
    let end = value.range.end;
    let closes =
        value.quoted || text[end..].trim_start_matches([' ', '\t']).chars().next().is_none_or(|c| !c.is_alphanumeric());
    let said = value.text.trim_end_matches(['!', '?']);
    // Fingerprints of keys are public.
    if said.starts_with('\\') || said.starts_with("SHA256:") {
        return None;
    }
    // The name is tested first, because this is cheaper.
    let fits = match naming {
        NameStrength::Pin => {
            (4..=12).contains(&said.len())
                && said.trim_end_matches(['#', '*']).bytes().all(|b| b.is_ascii_digit() || b == b'-')
                && said.contains(|c: char| c.is_ascii_digit())
                && !counts_something(said, &text[end..])
        }
        NameStrength::Password if is_word(said) => {
            is_alphabetic_script(said)
                && closes
                && said.len() >= 5
                && !names_secret(said)
                && (value.quoted || !is_common(said) && !is_state(said))
                && !is_matter(text, whole)
        }
        NameStrength::Password => is_chosen(said) && !counts_something(said, &text[end..]) && !said.contains("://"),
        NameStrength::Code => is_access_code(said) && !counts_something(said, &text[end..]),
        // A passphrase contains spaces, and only quotes show its end.
        NameStrength::Login if value.quoted && said.contains(' ') => {
            has_digit(said) || is_word_list(said) && said.len() >= 12
        }
        NameStrength::Login | NameStrength::Brief => is_login_password(said),
        NameStrength::Key => is_opaque(said) && !said.contains('/') && !is_dotted_name(said) && !is_setting(said),
    };
    let holds = fits && !is_placeholder(said) && !is_type(text, &value) && (value.quoted || !is_code(said));
    let is_cut = said.len() < value.text.len();
    holds.then(|| value.range.start..if is_cut { value.range.start + said.len() } else { whole_end(text, &value) })
}

/// Whether a value is itself a name with a value, as in `max-age=600`.
fn is_setting(value: &str) -> bool {
    let parts = value.trim_end_matches('=').split_once('=');
    parts.is_some_and(|(name, _)| is_word(name))
}

/// Returns the words up to the end of the sentence that continues at `at`, if they can be a passphrase.
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

/// Maximum number of words of a password; more are a sentence.
const MAX_PASSWORD_WORDS: usize = 8;

/// Returns the words up to the end of the sentence after the name of a password at `whole`, if they can be the
/// password: lower-case words, none of which describes a password, orders something or connects a sentence.
pub(super) fn password_words(text: &str, whole: &Range<usize>) -> Option<Range<usize>> {
    let found = phrase(text, whole.end)?;
    // A Chinese or Japanese sentence may continue right after the words.
    let end = text[found.clone()].find(|c: char| c >= '\u{2e80}').map_or(found.end, |at| found.start + at);
    let found = found.start..end;
    let said = &text[found.clone()];
    let words: Vec<&str> = said.split_whitespace().collect();
    let is_small = |word: &&str| word.chars().all(|c| c.is_lowercase() || c == '-');
    let is_plain = |word: &str| {
        is_common(word)
            || is_state(word)
            || SMALL_WORDS.contains(&word)
            || MATTERS.contains(&word)
            || UNITS.iter().any(|unit| word == *unit || unit.len() > 3 && word.starts_with(unit))
    };
    let first = words.first()?;
    let starts_as_sentence = PARTICIPLES.iter().any(|ending| first.ends_with(ending)) || REQUESTS.contains(first);
    // `PWD` is the working directory as often as a password.
    let name = text[whole.clone()].to_lowercase();
    let is_said = (3..=MAX_PASSWORD_WORDS).contains(&words.len())
        && words.iter().all(is_small)
        && !words.iter().any(|word| is_plain(word))
        && !starts_as_sentence
        && !names_secret(said)
        && !name.starts_with("pwd")
        && !is_matter(text, whole);
    is_said.then_some(found)
}

/// Words that connect the parts of a sentence, apart from those in [`GRAMMAR`].
#[rustfmt::skip]
const SMALL_WORDS: &[&str] = &[
    "as", "by", "if", "when", "then", "than", "per", "via", "into", "until", "before", "after", "because", "while", "has", "have", "had", "will", "can", "may",
    "does", "do", "did", "get", "gets", "been", "were", "were", "every", "each", "any", "all", "some", "more", "less", "least", "most", "very", "between", "who",
    "im", "am", "an", "auf", "bei", "von", "mit", "für", "ist", "wird", "nur", "wie", "wenn", "oder", "aus", "zum", "zur", "en", "con", "de", "para", "el", "la", "como", "si", "se", "su", "al", "le",
    "du", "et", "est", "ou", "par", "sur",
];

/// Verbs with which a request or a step of a manual begins.
#[rustfmt::skip]
const REQUESTS: &[&str] = &[
    "see", "ask", "use", "check", "click", "enter", "try", "reset", "change", "rotate", "make", "run", "keep", "choose", "pick", "type", "read", "look", "find",
    "add", "remove", "press", "copy", "paste", "print", "prints", "generate", "hash", "store", "save", "update", "verify", "validate", "require", "requires", "minimum", "maximum",
    "create", "delete", "wrong", "current", "default", "plain", "clear", "optional", "random", "master", "confirm",
];

/// Whether words look randomly chosen, because none of them is a grammatical word.
pub(super) fn is_word_list(words: &str) -> bool {
    !words.split_whitespace().any(is_grammar)
}

fn is_grammar(word: &str) -> bool {
    GRAMMAR.contains(&word.to_lowercase().as_str())
}

pub(super) fn counts_something(value: &str, after: &str) -> bool {
    let after = after.trim_start_matches([' ', '-']);
    let unit = UNITS.iter().any(|unit| after.starts_with(unit));
    value.bytes().all(|b| b.is_ascii_digit()) && unit
}

// Statements about a password that do not contain it, such as the program that stores it, its length or its state.
//
// This applies only to words. A value with a digit or a special character is removed, regardless of the text before it.

/// Words that turn the name of a secret before them into the name of something else, as in "password manager".
#[rustfmt::skip]
const MATTERS: &[&str] = &[
    "manager", "vault", "generator", "app", "tool", "policy", "rule", "rules", "requirement", "requirements", "length", "strength", "hint", "field", "column",
    "input", "prompt", "dialog", "form", "box", "format", "checker", "rotation", "expiry", "history", "screen", "page", "type", "manager's",
];
/// Chinese words of the same kind, which follow the name without a space.
#[rustfmt::skip]
const HAN_MATTERS: &[&str] = &[
    "管理", "生成", "长度", "策略", "规则", "要求", "提示", "框", "输入框", "字段", "强度", "有效期", "找回", "重置", "格式", "类型",
];
/// Words of the same kind before the name of a secret, as in "la longitud de la contraseña".
#[rustfmt::skip]
const OF: &[&str] = &[
    "gestor", "administrador", "generador", "política", "longitud", "campo", "pista", "historial", "caducidad", "formato", "fortaleza", "manager", "length",
    "strength", "länge", "stärke", "richtlinie", "verwaltung", "gestión",
];
/// Words that may follow a word in `OF` before the name of a secret.
const JOINTS: &[&str] =
    &["de", "la", "las", "una", "of", "the", "a", "your", "my", "der", "des", "für", "das", "von", "tu", "mi", "su"];
/// Maximum number of words between a word in `OF` and the name of a secret.
const MAX_JOINTS: usize = 2;
/// Number of bytes before the name that are inspected.
const BEFORE: usize = 48;

/// States of passwords.
#[rustfmt::skip]
const STATES: &[&str] = &[
    "abgelaufen", "dasselbe", "derselbe", "geheim", "ungültig", "gültig", "streng", "lang", "kurz", "wichtig", "fällig", "weg", "überall", "immer", "noch", "schon",
    "jetzt", "leicht", "schwer", "schwach", "stark", "einfach", "kompliziert", "demasiado", "siempre", "secreta", "fuerte", "débil", "larga", "corta", "igual", "misma",
    "distinta", "única", "personal", "importante", "opcional", "nueva", "vieja", "fácil", "difícil", "expired", "same", "secret",
    "gesperrt", "unbekannt", "verschlüsselt", "gespeichert", "geändert", "zurückgesetzt", "hinterlegt", "vergessen", "erforderlich", "obligatoria", "compartida",
    "desconocida", "caducada", "cifrada", "guardada", "bloqueada", "requerida",
];

/// Whether the words at `whole`, from the name of a secret to the start of a value, only state something about the
/// secret.
pub(super) fn is_matter(text: &str, whole: &Range<usize>) -> bool {
    let said = text[whole.clone()].to_lowercase();
    let name_end = said.find(|c: char| !c.is_alphabetic() || c >= '\u{2e80}').unwrap_or(said.len());
    let next = said[name_end..].split(|c: char| !(c.is_alphabetic() || c == '\'')).find(|word| !word.is_empty());
    let is_han = said.contains(|c: char| c >= '\u{2e80}');
    next.is_some_and(|next| MATTERS.contains(&next))
        || (is_han && HAN_MATTERS.iter().any(|matter| said.contains(matter)))
        || is_of(&text[text.ceil_char_boundary(whole.start.saturating_sub(BEFORE))..whole.start])
}

/// Whether `before` ends in words such as "the length of the".
fn is_of(before: &str) -> bool {
    let before = before.to_lowercase();
    let mut words = before.split(|c: char| !c.is_alphabetic()).rev().filter(|word| !word.is_empty());
    for count in 0..=MAX_JOINTS {
        match words.next() {
            Some(word) if JOINTS.contains(&word) => {}
            Some(word) => return count > 0 && OF.contains(&word),
            None => return false,
        }
    }
    words.next().is_some_and(|word| OF.contains(&word))
}

/// Whether `word` is a state of a password. Endings of words are not considered, since passwords may be words, too.
pub(super) fn is_state(word: &str) -> bool {
    STATES.contains(&word.to_lowercase().as_str())
}
