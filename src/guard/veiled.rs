//! Finds secrets that marks interrupt: terminal colour codes, invisible characters, full-width letters, characters that
//! JSON has escaped, and the emphasis and escapes of Markdown.
//!
//! Lines with such marks are read a second time without the marks, and the findings are mapped back to the text.

use crate::guard::scan::{Found, names_secret, secrets};
use crate::text::visible::is_hidden;

/// Minimum length of the letters and digits around a mark of Markdown that can be one token, in bytes: with digits, and
/// without.
const TOKEN_BYTES: [usize; 2] = [8, 24];

/// Maximum number of backslashes before an escaped character. Each level of JSON within JSON doubles their number.
const MAX_SLASHES: usize = 16;

/// Maximum length of a terminal control sequence, and of one with text, such as a link or a title, in bytes.
const SEQUENCE_BYTES: usize = 32;
const TEXT_SEQUENCE_BYTES: usize = 512;

/// Returns the findings that appear only when marks are left out.
pub(super) fn behind_marks(text: &str) -> Vec<Found> {
    let (mut found, mut segment) = (Vec::new(), Segment::default());
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        if is_marked(&text[start..end]) {
            // A key may extend over several lines that are all coloured.
            segment.add(text, start, end);
        } else if !segment.text.is_empty() {
            segment.read(&mut found);
        }
        start = end + 1;
    }
    segment.read(&mut found);
    found
}

/// Text without its marks.
#[derive(Default)]
struct Segment {
    text: String,
    pieces: Vec<Piece>,
    /// The marks that were left out, by their positions in `text`.
    marks: Vec<(usize, Mark)>,
}

/// A part of a segment, with its position in the segment and in the original text.
struct Piece {
    at: usize,
    original: usize,
    /// Length in the original text of each byte in the segment.
    width: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The mark is not visible, so the text reads as if it were not there.
    Hidden,
    /// The mark may belong to the text, as in `a*b`.
    Emphasis,
}

impl Segment {
    /// Adds the line of `text` from `start` to `end`.
    fn add(&mut self, text: &str, start: usize, end: usize) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let (mut done, mut at) = (start, start);
        while at < end {
            let rest = &text[at..end];
            if let Some((length, mark)) = mark_at(&text[start..end], at - start) {
                self.push(&text[done..at], done, 1);
                self.marks.push((self.text.len(), mark));
                at += length;
                done = at;
            } else if let Some((plain, length)) = plain(rest) {
                self.push(&text[done..at], done, 1);
                self.marks.push((self.text.len(), Mark::Hidden));
                // A character whose bytes cannot share its length stands for itself by a space.
                let plain = if length % plain.len_utf8() == 0 { plain } else { ' ' };
                self.push(plain.encode_utf8(&mut [0; 4]), at, length / plain.len_utf8());
                at += length;
                done = at;
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        self.push(&text[done..end], done, 1);
    }

    fn push(&mut self, part: &str, original: usize, width: usize) {
        if !part.is_empty() {
            self.pieces.push(Piece { at: self.text.len(), original, width });
            self.text.push_str(part);
        }
    }

    /// Adds the findings in the segment to `found`, and empties the segment.
    fn read(&mut self, found: &mut Vec<Found>) {
        let Self { text, pieces, marks } = std::mem::take(self);
        if text.is_empty() {
            return;
        }
        let has_hidden = marks.iter().any(|(_, mark)| *mark == Mark::Hidden);
        for one in secrets(&text) {
            let first_at = |end: usize| marks.partition_point(|(at, _)| *at < end);
            let inside = &marks[first_at(one.range.start)..first_at(one.range.end)];
            let emphases = inside.iter().filter(|(_, mark)| *mark == Mark::Emphasis).count();
            // A token contains no mark. A named value may contain an asterisk, but rarely a pair of them.
            let is_new = match emphases {
                0 => has_hidden,
                1 => one.is_token,
                _ => names_secret(&one),
            };
            if is_new {
                let range = start_of(&pieces, one.range.start)..end_of(&pieces, one.range.end);
                found.push(Found { range, ..one });
            }
        }
    }
}

fn piece_at(pieces: &[Piece], at: usize) -> &Piece {
    &pieces[pieces.partition_point(|piece| piece.at <= at).saturating_sub(1)]
}

fn start_of(pieces: &[Piece], at: usize) -> usize {
    let piece = piece_at(pieces, at);
    piece.original + (at - piece.at) * piece.width
}

fn end_of(pieces: &[Piece], end: usize) -> usize {
    let last = end - 1;
    let piece = piece_at(pieces, last);
    piece.original + (last + 1 - piece.at) * piece.width
}

/// The bytes with which a mark may begin.
static MARKS: [bool; 256] = {
    let (mut marks, mut byte) = ([false; 256], 0);
    while byte < 256 {
        // Control characters; `*`, `\`, `^`, `_`, backtick and `~`; and the first bytes of hidden and full-width characters.
        marks[byte] = matches!(byte, 0..=8 | 0x0b | 0x0c | 0x0e..=0x1f | 0x2a | 0x5c | 0x5e..=0x60 | 0x7e | 0x7f)
            || matches!(byte, 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf3);
        byte += 1;
    }
    marks
};

/// Whether a line contains a mark that may interrupt a secret.
fn is_marked(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| MARKS[usize::from(*byte)]) {
        at += next;
        match mark_at(line, at) {
            Some((_, Mark::Hidden)) => return true,
            Some((length, Mark::Emphasis)) if is_in_token(bytes, at, at + length) => return true,
            _ if plain(&line[at..]).is_some() => return true,
            _ => {}
        }
        at += line[at..].chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// Returns the length and the kind of the mark at a position of a line.
fn mark_at(line: &str, at: usize) -> Option<(usize, Mark)> {
    let (rest, bytes) = (&line[at..], line.as_bytes());
    // Nearly all of these characters are not marks, as their neighbours show.
    let is_plain = match bytes[at] {
        b'_' => bytes.get(at + 1) != Some(&b'_'),
        b'*' | b'`' | b'~' => !is_inside(at.checked_sub(1).and_then(|before| bytes.get(before))),
        b'\\' => matches!(bytes.get(at + 1), Some(b'n' | b'"' | b't' | b'r' | b' ' | b'\'')),
        _ => false,
    };
    if is_plain {
        return None;
    }
    let hidden = |length: usize| Some((length, Mark::Hidden));
    match bytes[at] {
        0x1b => hidden(1 + sequence(&rest[1..])),
        b'^' if rest.starts_with("^[[") => hidden(2 + sequence(&rest[2..])),
        b'\\' => escape(line, at),
        b'*' | b'`' | b'~' => {
            let length = rest.len() - rest.trim_start_matches(['*', '`', '~']).len();
            is_between(bytes, at, at + length).then_some((length, Mark::Emphasis))
        }
        b'_' => {
            // The marks are pairs, and a token may contain a single line.
            let length = rest.len() - rest.trim_start_matches('_').len();
            let pairs = length - length % 2;
            (pairs > 0 && is_between(bytes, at, at + length)).then_some((pairs, Mark::Emphasis))
        }
        b' '..=b'~' | b'\t' | b'\r' | b'\n' => None,
        _ => {
            let c = rest.chars().next()?;
            let is_mark = is_hidden(c) && !c.is_whitespace();
            // The control character that begins a sequence in one byte.
            let more = if c == '\u{9b}' { sequence_body(&rest[c.len_utf8()..]) } else { 0 };
            is_mark.then_some((c.len_utf8() + more, Mark::Hidden))
        }
    }
}

/// Returns the length and the kind of the mark that a backslash begins: the escape of a hidden character in a string, or
/// of a character in Markdown.
fn escape(line: &str, at: usize) -> Option<(usize, Mark)> {
    let rest = &line[at..];
    let (slashes, name) = after_slashes(rest)?;
    let starts = ["x1b[", "x1B[", "u001b[", "u001B[", "033[", "e["];
    if let Some(start) = starts.into_iter().find(|start| name.starts_with(start)) {
        let before = slashes + start.len() - 1;
        return Some((before + sequence(&rest[before..]), Mark::Hidden));
    }
    if name.starts_with('u') {
        let (c, length) = code_point(name)?;
        return (is_hidden(c) && !c.is_whitespace()).then_some((slashes + length, Mark::Hidden));
    }
    let is_escaped = name.starts_with(['_', '*', '-', '.', '~', '`']);
    (is_escaped && is_between(line.as_bytes(), at, at + slashes + 1)).then_some((slashes, Mark::Emphasis))
}

/// Returns the length of the control sequence after its escape character.
fn sequence(rest: &str) -> usize {
    match rest.as_bytes().first() {
        Some(b'[') => 1 + sequence_body(&rest[1..]),
        Some(b']') => {
            let near = &rest.as_bytes()[..rest.len().min(TEXT_SEQUENCE_BYTES)];
            let bell = memchr::memchr2(0x07, 0x1b, near);
            bell.map_or(1, |end| end + 1 + usize::from(near[end] == 0x1b && near.get(end + 1) == Some(&b'\\')))
        }
        // A sequence of two characters, such as the one that resets the terminal.
        Some(b'(' | b')') if rest.len() > 1 && rest.is_char_boundary(2) => 2,
        Some(b'=' | b'>' | b'7' | b'8' | b'c' | b'\\') => 1,
        _ => 0,
    }
}

/// Returns the length of the numbers and the letter of a control sequence.
fn sequence_body(rest: &str) -> usize {
    let numbers = rest.bytes().take(SEQUENCE_BYTES).take_while(|byte| matches!(byte, b' '..=b'?')).count();
    let is_ended = rest.as_bytes().get(numbers).is_some_and(|byte| matches!(byte, b'@'..=b'~'));
    if is_ended { numbers + 1 } else { 0 }
}

/// Returns the number of backslashes with which `rest` begins, and the text after them; `None` if there are too many for
/// the escape of one character.
fn after_slashes(rest: &str) -> Option<(usize, &str)> {
    let slashes = rest.bytes().take(MAX_SLASHES + 1).take_while(|byte| *byte == b'\\').count();
    (slashes <= MAX_SLASHES).then(|| (slashes, &rest[slashes..]))
}

/// Returns the character for which the text stands, and the length of the text: a full-width letter or digit, or the escape
/// of a visible character in JSON, such as `\u003d` or `\/`.
fn plain(rest: &str) -> Option<(char, usize)> {
    if !rest.starts_with('\\') {
        return narrow(rest);
    }
    let (slashes, name) = after_slashes(rest)?;
    if name.starts_with('/') {
        return Some(('/', slashes + 1));
    }
    let (c, length) = code_point(name)?;
    (!c.is_control() && !is_hidden(c)).then_some((c, slashes + length))
}

/// Returns the character that `u` and four hexadecimal digits stand for, and their length.
fn code_point(name: &str) -> Option<(char, usize)> {
    let digits = name.strip_prefix('u')?.get(..4)?;
    let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some((c, 1 + digits.len()))
}

/// Returns the ordinary form of a full-width letter or digit, and the length of the full-width form.
fn narrow(rest: &str) -> Option<(char, usize)> {
    let c = rest.chars().next().filter(|c| {
        matches!(c, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{ff0d}' | '\u{ff3f}')
    })?;
    char::from_u32(u32::from(c) - 0xfee0).map(|narrow| (narrow, c.len_utf8()))
}

/// Whether a byte may belong to a token.
fn is_inside(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether the bytes before and after a mark may belong to one token.
fn is_between(bytes: &[u8], start: usize, end: usize) -> bool {
    is_inside(start.checked_sub(1).and_then(|at| bytes.get(at))) && is_inside(bytes.get(end))
}

/// Whether the text around a mark is as long as a token, unlike nearly all other text.
fn is_in_token(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-*`~\\".contains(byte);
    let before = bytes[..start].iter().rev().take(SEQUENCE_BYTES).take_while(is_part);
    let around = before.chain(bytes[end..].iter().take(2 * SEQUENCE_BYTES).take_while(is_part));
    let (mut letters, mut digits) = (0, 0);
    for byte in around {
        letters += usize::from(byte.is_ascii_alphanumeric());
        digits += usize::from(byte.is_ascii_digit());
    }
    letters >= TOKEN_BYTES[usize::from(digits < 2)]
}

#[cfg(test)]
mod tests {
    use crate::guard::Guard;

    fn redacted(text: &str) -> String {
        Guard::default().redact(text.to_owned()).0.into_inner()
    }

    /// Returns a GitHub token in two parts.
    fn halves() -> (String, String) {
        let body = "aB3dE6gH9".repeat(4);
        (format!("ghp_{}", &body[..10]), body[10..].to_owned())
    }

    #[test]
    fn marks_within_a_token_hide_nothing() {
        let (start, end) = halves();
        for mark in [
            "\u{1b}[31m",
            "\u{1b}[01;31m\u{1b}[K",
            "\\u001b[0m",
            "\\x1b[1;32m",
            "^[[0m",
            "\u{1b}]8;;https://x.example\u{7}",
            "\u{9b}4m",
            "\u{200b}",
            "\u{2060}",
            "\u{ad}",
            "\u{feff}",
            "\u{e0041}",
            "\\u200b",
            "**",
            "`",
            "~~",
            "__",
        ] {
            let clean = redacted(&format!("the old one is {start}{mark}{end} still"));
            assert_eq!(clean, "the old one is [redacted:github-token] still", "{mark:?}");
        }
        let wide: String =
            format!("{start}{end}").chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect();
        assert_eq!(redacted(&format!("{wide}。")), "[redacted:github-token]。");
        assert_eq!(redacted(&format!("{start}{end}").replace('_', "\\_")), "[redacted:github-token]");
    }

    #[test]
    fn characters_that_json_has_escaped_end_no_secret_and_hide_none() {
        let token = halves().0 + &halves().1;
        for (text, clean) in [
            (r#"{"a":"x\u003dTOKEN\u0026y=1"}"#, r#"{"a":"x\u003d[redacted:github-token]\u0026y=1"}"#),
            (
                r#"{"a":"{\"b\":\"\\u0027TOKEN\\u0027\"}"}"#,
                r#"{"a":"{\"b\":\"\\u0027[redacted:github-token]\\u0027\"}"}"#,
            ),
            (r#"{"a":"\u5148\u7528TOKEN\u8dd1"}"#, r#"{"a":"\u5148\u7528[redacted:github-token]\u8dd1"}"#),
            (
                r#"{"a":"amqps:\/\/shop:gbP9wZf8lXslCC7@mq.example:5671\/"}"#,
                r#"{"a":"amqps:\/\/shop:[redacted:url-password]@mq.example:5671\/"}"#,
            ),
        ] {
            assert_eq!(redacted(&text.replace("TOKEN", &token)), clean);
        }
        let plain = r#"{"a":"C:\\users\/ana \u003cb\u003e 3 \u00e9t\u00e9 \ud83d\ude00 \u200d"}"#;
        assert_eq!(redacted(plain), plain);
    }

    #[test]
    fn a_coloured_name_belongs_to_its_value() {
        let clean = redacted("\u{1b}[36mdb_password\u{1b}[0m=\u{1b}[33msunflower7\u{1b}[0m\n");
        assert!(clean.contains("[redacted:") && !clean.contains("flower"), "{clean:?}");
    }

    #[test]
    fn ordinary_text_with_marks_is_kept() {
        for text in [
            "Run `cargo test` and **never** `cargo t`, then 2*3*4 and a__b__c1.",
            "\u{1b}[32mok\u{1b}[0m 12 tests in 0.3 s",
            "C:\\Users\\ana\\_build\\-x and foo\\.bar",
            "snake_case__with__two_lines_2026_and_more",
            "✔\u{fe0f} done 12:30",
            "ｎｕｍｂｅｒ １２３４５６７８",
            "0197b3c4-**5d6e**-7f80-9a1b-2c3d4e5f6071",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
