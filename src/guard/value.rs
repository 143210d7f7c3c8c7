//! Reading values: where what stands behind `=`, `:` or `is` begins and ends.

use std::ops::Range;

/// What the name in front of a value promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// A password: short and made by a person.
    Password,
    /// A key or token: long and made by a machine.
    Key,
    /// A few digits.
    Pin,
    /// What opens a door or a safe: a few digits, or a word with a number.
    Code,
    /// A password where little says that one follows, so that words alone are none.
    Login,
}

/// Longest value in quotes that is read, in bytes.
const QUOTED_BYTES: usize = 1024;

/// How much of a value without quotes is judged, in bytes; what is taken out may be longer.
const JUDGED_BYTES: usize = 128;

/// A value with the quotes around it left out.
pub(super) struct Value<'t> {
    pub range: Range<usize>,
    pub text: &'t str,
    pub quoted: bool,
}

const QUOTES: &[(&str, &str)] =
    &[("\"", "\""), ("'", "'"), ("`", "`"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("«", "»"), ("„", "“")];

/// Reads the value that begins at `at`: to its closing quote, or to the next space where it has none.
pub(super) fn read(text: &str, at: usize) -> Option<Value<'_>> {
    let rest = &text[at..];
    let near = &rest[..rest.floor_char_boundary(QUOTED_BYTES)];
    let slashes = near.len() - near.trim_start_matches('\\').len();
    for (open, close) in QUOTES {
        let Some(inside) = near[slashes..].strip_prefix(open) else { continue };
        let closing = format!("{}{close}", &near[..slashes]);
        let end = closing_quote(inside, &closing, slashes).filter(|end| !inside[..*end].contains('\n'))?;
        let start = at + slashes + open.len();
        return Some(Value { range: start..start + end, text: &inside[..end], quoted: true });
    }
    let near = &rest[..rest.floor_char_boundary(JUDGED_BYTES)];
    let run = &near[..near.find(stops).unwrap_or(near.len())];
    let run = &run[..ascii_part(run)];
    let run = &run[..before_next_pair(run)];
    let run = run.trim_end_matches([',', ';', ')', '}', ']', '>', '*', ':', '.']);
    Some(Value { range: at..at + run.len(), text: run, quoted: false })
}

/// Where `inside` is closed, past quotes that are escaped in it; at the first of them if it is not closed behind them.
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

/// Where the value really ends that was judged by its first bytes; only asked of what goes, so that no stretch of text
/// is read again and again.
pub(super) fn whole_end(text: &str, value: &Value<'_>) -> usize {
    let end = value.range.end;
    if value.quoted || value.text.len() + 4 <= JUDGED_BYTES {
        return end;
    }
    end + text[end..].find(stops).unwrap_or(text.len() - end)
}

/// Whether a value without quotes ends before `c`.
fn stops(c: char) -> bool {
    let ends = matches!(c, '"' | '\'' | '`' | '|' | '“' | '”' | '‘' | '’' | '「' | '」' | '『' | '』' | '«' | '»');
    ends || matches!(c, '，' | '。' | '；' | '！' | '？' | '、' | '（' | '）' | '…')
        || c.is_whitespace()
        || c.is_control()
}

/// Where a value that began in ASCII goes over into another script, as in `密码是abc123然后`.
fn ascii_part(run: &str) -> usize {
    if run.starts_with(|c: char| c.is_ascii()) { run.find(|c| c >= '\u{2e80}').unwrap_or(run.len()) } else { run.len() }
}

/// Where `run` goes over into the next `name=value` of a list, or into an escape of the string it stands in.
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
