//! Removes or escapes characters that are invisible or change the display of other text.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_normalization::char::is_combining_mark;

/// The syntax in which a hidden character is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EscapeMode {
    /// For people, such as `\x1b` and `\u{202e}`.
    Text,
    /// For people, on one line: line breaks and tabs are escaped, too.
    Line,
    /// For JSON, where a reader decodes the escape to the same character.
    Json,
}

/// Returns the text of a field that has only one line. A line break in it would otherwise begin a line that looks like
/// one of the program's own.
pub(crate) fn on_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, EscapeMode::Line)
}

/// Returns `text` with each hidden character escaped. Line feeds and tabs are kept, except in [`EscapeMode::Line`], and so
/// are hidden characters that adjacent text needs: the joiners in emoji and in Persian or Indic words.
pub(crate) fn escaped(text: &str, escape: EscapeMode) -> Cow<'_, str> {
    // Nearly all text is plain and need not be copied.
    let is_plain =
        |byte: u8| matches!(byte, b' '..=b'~') || escape != EscapeMode::Line && matches!(byte, b'\n' | b'\t');
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (c, is_hidden, next) in marked(text) {
        match (c, escape) {
            ('\n', EscapeMode::Line) => out.push_str("\\n"),
            ('\t', EscapeMode::Line) => out.push_str("\\t"),
            ('\n' | '\t', _) => out.push(c),
            // Windows ends lines with a carriage return, which does not move the cursor back here.
            ('\r', EscapeMode::Text | EscapeMode::Line) if next == Some('\n') => {}
            _ if !is_hidden => out.push(c),
            (_, EscapeMode::Text | EscapeMode::Line) if c.is_ascii() => {
                write!(out, "\\x{:02x}", u32::from(c)).expect("writing to a String cannot fail");
            }
            (_, EscapeMode::Text | EscapeMode::Line) => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).expect("writing to a String cannot fail");
            }
            (_, EscapeMode::Json) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("writing to a String cannot fail");
                }
            }
        }
    }
    Cow::Owned(out)
}

/// Returns `text` without hidden characters. Line breaks and tabs are kept if `keeps_lines` is set, and otherwise
/// become spaces. Fillers, which are as wide as a letter, become spaces.
pub(crate) fn visible(text: &str, keeps_lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (c, is_hidden, next) in marked(text) {
        match c {
            '\n' | '\t' if keeps_lines => out.push(c),
            '\r' if next == Some('\n') => {}
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' if keeps_lines => out.push('\n'),
            _ if is_filler(c) || !keeps_lines && c.is_whitespace() => out.push(' '),
            _ if !is_hidden => out.push(c),
            _ => {}
        }
    }
    out
}

/// Maximum number of marks on one letter. No language needs more, and a terminal draws them over other lines.
const MAX_MARKS: usize = 6;

/// Returns the characters in `text`, each with a flag for whether it is hidden in its position, and with the next
/// character. Marks on a letter that has too many of them count as hidden.
fn marked(text: &str) -> impl Iterator<Item = (char, bool, Option<char>)> + '_ {
    let (mut chars, mut last, mut marks) = (text.chars().peekable(), None, 0);
    std::iter::from_fn(move || {
        let c = chars.next()?;
        let next = chars.peek().copied();
        marks = if is_combining_mark(c) { marks + 1 } else { 0 };
        let is_hidden = is_hidden(c) && !is_needed(last, c, next) || marks > MAX_MARKS;
        last = Some(c);
        Some((c, is_hidden, next))
    })
}

/// Returns whether a character is invisible, hides others, or changes their order.
pub(crate) const fn is_hidden(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || is_filler(c)
}

/// Returns whether a character is as wide as a letter and invisible, although Unicode does not classify it as a space.
pub(crate) const fn is_filler(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// Returns whether a hidden character is needed in this position.
fn is_needed(last: Option<char>, c: char, next: Option<char>) -> bool {
    let Some(last) = last else { return false };
    match c {
        // A keycap consists of a digit, this selector and U+20E3.
        '\u{fe0e}' | '\u{fe0f}' => {
            is_pictograph(last) || matches!(last, '0'..='9' | '#' | '*') && next == Some('\u{20e3}')
        }
        '\u{200d}' if last == '\u{fe0f}' || is_pictograph(last) => next.is_some_and(is_pictograph),
        // A joiner at the end of a word determines the form of its last letter.
        '\u{200c}' | '\u{200d}' => is_joined(last),
        _ => false,
    }
}

const fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns whether a letter belongs to a script with joined letters: Arabic and related scripts, or scripts of India
/// and South-East Asia.
const fn is_joined(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17ff}' | '\u{1820}'..='\u{18af}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_spelled_out_and_the_rest_is_kept() {
        for (text, shown) in [
            ("two\nlines\tand a tab", "two\nlines\tand a tab"),
            ("dos\r\nline, \rback", "dos\nline, \\x0dback"),
            ("\u{1b}]52;c;eA==\u{7}", "\\x1b]52;c;eA==\\x07"),
            ("\u{9b}2J\u{7f}\0", "\\u{9b}2J\\x7f\\x00"),
            ("a\u{202e}b\u{2066}c\u{e0041}d\u{200b}e\u{feff}", "a\\u{202e}b\\u{2066}c\\u{e0041}d\\u{200b}e\\u{feff}"),
            ("a\u{2800}\u{3164}b\u{fe0f}\u{34f}\u{200d}", "a\\u{2800}\\u{3164}b\\u{fe0f}\\u{34f}\\u{200d}"),
            (
                "👩‍👩‍👧 ❤\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم ക്\u{200d}",
                "👩‍👩‍👧 ❤\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم ക്\u{200d}",
            ),
            ("❤\u{fe0f}\u{fe0f} می\u{200c}\u{200c}", "❤\u{fe0f}\\u{fe0f} می\u{200c}\\u{200c}"),
            ("Zoë 关注 Ω\u{a0}x\u{3000}", "Zoë 关注 Ω\u{a0}x\u{3000}"),
        ] {
            assert_eq!(escaped(text, EscapeMode::Text), shown, "{text:?}");
            assert_eq!(escaped(shown, EscapeMode::Text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_field_is_printed_on_one_line() {
        for (text, shown) in
            [("a\nb\r\n\tc", "a\\nb\\n\\tc"), ("a\u{2028}b\u{b}\rc", "a\\u{2028}b\\x0b\\x0dc"), ("plain é", "plain é")]
        {
            assert_eq!(on_one_line(text), shown);
        }
    }

    #[test]
    fn a_letter_has_only_as_many_marks_as_a_language_needs() {
        let flood = |count: usize| format!("e{}", "\u{301}".repeat(count));
        assert_eq!(escaped(&flood(6), EscapeMode::Text), flood(6));
        assert_eq!(escaped(&flood(8), EscapeMode::Text), format!("{}\\u{{301}}\\u{{301}}", flood(6)));
        assert_eq!(visible(&flood(120), true), flood(6));
        let words = "Tiếng Việt שָׁל֥וֹם บ้านนี้ བསྒྲུབས नमस्ते";
        assert_eq!(escaped(words, EscapeMode::Text), words);
    }

    #[test]
    fn escapes_of_json_read_back() {
        for text in ["\u{9b}2J", "a\u{202e}b\u{e0041}", "line\nand\rreturn\u{2028}", "plain"] {
            let json = escaped(&serde_json::to_string(text).unwrap(), EscapeMode::Json).into_owned();
            assert!(json.chars().all(|c| !is_hidden(c)), "{json:?}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn what_is_hidden_is_dropped_and_lines_are_kept_where_asked() {
        assert_eq!(visible("a\u{200b}b\u{1b}[2J\r\nc\u{2028}d\u{3164}e", true), "ab[2J\nc\nd e");
        assert_eq!(visible("a\u{200b}b\r\nc\u{2028}d\te", false), "ab c d e");
    }
}
