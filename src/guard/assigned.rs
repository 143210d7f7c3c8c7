//! Values behind a name and a sign: `PASSWORD=…`, `"token": "…"`, `--password …`.

use std::ops::Range;

use super::judge::{
    has_letters_and_digits, is_alphabetic_script, is_chosen, is_code, is_common, is_opaque, is_placeholder, is_type,
    is_word,
};
use super::value::{self, Naming, Value};
use super::words::{ABOUT, COUNTING};

/// Returns the value assigned to the secret-named key whose name holds the word at `hint`.
///
/// `suffix` is what follows the word in the name, `sign` what stands between name and value, and `at` where the value
/// begins.
pub(super) fn assigned(
    text: &str,
    hint: usize,
    suffix: &str,
    sign: &str,
    at: usize,
    naming: Naming,
) -> Option<Range<usize>> {
    let name = Name::around(text, hint, suffix);
    if sign.trim().is_empty() && !name.is_flag || name.is_about_a_secret() {
        return None;
    }
    let value = value::read(text, at)?;
    let word = is_word(value.text);
    // What a name or a sentence promises is the cheaper test, so it comes first.
    let fits = match naming {
        _ if naming != Naming::Key && name.plural => has_letters_and_digits(value.text),
        _ if naming != Naming::Key && word => is_chosen_word(&value, &name, sign, text),
        Naming::Password | Naming::Pin | Naming::Code | Naming::Login => is_chosen(value.text) && !is_reference(&value),
        Naming::Key => {
            !is_reference(&value) && is_opaque(value.text)
                || name.upper && sign.trim() == "=" && word && value.text.len() >= 12
        }
    };
    let holds = fits && !is_placeholder(value.text) && !is_type(text, &value) && (value.quoted || !is_code(value.text));
    holds.then(|| value.range.start..value::whole_end(text, &value))
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
        let word = text[hint..].chars().next().unwrap_or(' ');
        Self {
            before,
            suffix,
            upper: word.is_ascii_uppercase()
                && !before.contains(|c: char| c.is_ascii_lowercase())
                && !suffix.contains(|c: char| c.is_ascii_lowercase())
                && text[hint..].chars().nth(1).is_some_and(|c| c.is_ascii_uppercase()),
            is_flag: before.starts_with("--"),
            plural: suffix == "s" || suffix == "S",
        }
    }

    /// Whether it names something about a secret: its length, its file, its kind.
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

/// Whether the value points to where the secret is kept, or is a date, a version, a number of something.
fn is_reference(value: &Value<'_>) -> bool {
    let text = value.text;
    text.starts_with('/') && text[1..].contains('/')
        || text.starts_with("./")
        || text.starts_with("~/")
        || text.contains("://")
        || text.contains(' ') && !text.chars().any(|c| c.is_ascii_digit())
        || text.starts_with('$') && text.len() < 12
}

/// Whether a word behind a password's name was chosen as one: not a type, a variable or the start of a sentence.
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
    let ends_line = after.is_empty() || after.starts_with(['\n', '\r', '#', '"', '\\']);
    let type_like = value.text.starts_with(|c: char| c.is_uppercase());
    !value.text.contains('_') && ends_line && !(type_like && sign.contains(':'))
}
