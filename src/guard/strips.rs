//! Finds tokens that were broken over several lines, and values that begin on the line after their name, by joining the
//! lines.

use crate::guard::broken::{
    LINE_BYTES, MAX_LINES, REST_BYTES, SHORT_REST_BYTES, continues, ends, ends_line, line_start, stands_apart,
};
use crate::guard::scan::{AHEAD_BYTES, Coverage, Found, has_left_edge, names_secret, secrets, token_hints};
use crate::guard::values::is_marked;

/// Maximum number of bytes before a broken token that are read with it, since they may contain the name of its value.
const NAME_BYTES: usize = 96;

/// Maximum number of bytes after a broken token that are read with it, since its pattern may require a certain end.
const BEHIND_BYTES: usize = 48;

/// Minimum total length of the text on both sides of a break that can be a token, in bytes.
const JOINED_BYTES: usize = 16;

/// Maximum number of joined texts that are read for one line end.
const MAX_STRIPS: usize = 4;

/// Maximum number of bytes that are read before and after the end of a line, behind which a value may begin.
const LINE_BEFORE_BYTES: usize = 192;
const LINE_AFTER_BYTES: usize = 192;

/// Characters before and after a value at the beginning of a line.
const OPENING: [char; 6] = ['"', '\'', '`', '“', '(', '*'];
const CLOSING: [char; 7] = ['"', '\'', '`', '”', ',', ';', '|'];

/// The joined text of broken lines, with the positions of the breaks.
#[derive(Debug, Clone)]
struct Strip {
    text: String,
    /// Position in the text at which the strip begins.
    start: usize,
    breaks: Vec<Break>,
    /// Position in the text at which the last continuation ends.
    end: usize,
}

/// A line break that was left out of a strip.
#[derive(Debug, Clone)]
struct Break {
    /// Position in the strip.
    at: usize,
    /// Number of bytes that were left out, which are the break itself and the indentation after it.
    taken: usize,
    /// Whether the text after the break uses the same kind of characters as the text before it, regardless of the row
    /// that matches.
    sure: bool,
}

/// Returns the findings that appear only when lines are read together, in addition to the findings `found` line by line.
pub(super) fn beyond_lines(text: &str, found: &[Found]) -> Vec<Found> {
    let ends = line_ends(text);
    let mut more = across_lines(text, &ends, found);
    more.extend(below_names(text, &ends, &[found, &more].concat()));
    more
}

/// Returns the tokens that appear when broken lines are joined.
fn across_lines(text: &str, ends: &[usize], found: &[Found]) -> Vec<Found> {
    let mut more: Vec<Found> = Vec::new();
    // Reading continues here, since the previous strip, which could not be cut earlier, extends to this position.
    let mut done = 0;
    for &at in ends {
        if at < done && !begins_token(text, at) {
            continue;
        }
        let strips = Strip::all_around(text, at);
        done = strips.first().map_or(done, |strip| done.max(strip.end));
        for strip in strips {
            for one in secrets(&strip.text) {
                if let Some(placed) = strip.place(&one, found, &more) {
                    more.push(placed);
                }
            }
        }
    }
    more
}

/// Returns the values that begin a line and whose names end the line before, as in a command that was wrapped.
///
/// Only the syntax around a value counts here, because two lines that follow each other often have nothing to do with
/// each other.
fn below_names(text: &str, ends: &[usize], found: &[Found]) -> Vec<Found> {
    let (mut more, known) = (Vec::new(), Coverage::of(found));
    for &at in ends {
        let Some(next) = line_start(text, at) else { continue };
        let near = &text[next..text.floor_char_boundary(next + LINE_AFTER_BYTES)];
        let line = near.lines().next().unwrap_or("");
        let opened = line.trim_start_matches(OPENING);
        let value = opened.split(|c: char| c.is_whitespace() || CLOSING.contains(&c)).next().unwrap_or("");
        let value_at = next + line.len() - opened.len();
        if !is_marked(value) || known.touches(&(value_at..value_at + 1)) {
            continue;
        }
        let start = text.floor_char_boundary(at.saturating_sub(LINE_BEFORE_BYTES));
        let start = text[start..at].rfind('\n').map_or(start, |line| start + line + 1);
        let before = text[start..at].trim_end();
        if before.is_empty() {
            continue;
        }
        // A space was lost where a shell command was wrapped, and none where a value was.
        let joined = [" ", ""].into_iter().find_map(|gap| {
            let strip = format!("{before}{gap}{line}");
            let begin = before.len() + gap.len();
            let first = begin..=begin + line.len() - opened.len();
            let one = secrets(&strip).into_iter().find(|one| names_secret(one) && first.contains(&one.range.start))?;
            Some(Found { range: next + one.range.start - begin..next + one.range.end - begin, ..one })
        });
        more.extend(joined);
    }
    more
}

/// Whether a token of the table may begin in the run of characters that ends at `at`.
fn begins_token(text: &str, at: usize) -> bool {
    let from = run_start(text, at);
    // The hint of a row that reaches back may be on a later line.
    let near = &text[from..text.floor_char_boundary(at + AHEAD_BYTES)];
    token_hints(near).any(|(start, reach)| {
        let begins_here = || from + start < at && has_left_edge(text, from + start);
        reach > 0 || begins_here()
    })
}

/// Returns the ends of lines in order, including those in escaped strings.
fn line_ends(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let real = memchr::memchr_iter(b'\n', bytes).map(|at| at - usize::from(text[..at].ends_with('\r')));
    let real = real.map(|at| at - usize::from(text[..at].ends_with('\\')));
    let real = real.map(|at| text[..at].trim_end_matches([' ', '\t']).len());
    let escaped = memchr::memmem::find_iter(bytes, b"\\n").map(|at| at - 2 * usize::from(text[..at].ends_with("\\r")));
    let mut ends: Vec<usize> = real.chain(escaped).collect();
    ends.sort_unstable();
    ends
}

impl Strip {
    /// Joins the lines that were broken at and after `at`, the shortest strip first. A strip ends at each break that
    /// may be the end of the token, and the last strip includes all breaks. The list is empty if no token can have been
    /// broken here.
    fn all_around(text: &str, at: usize) -> Vec<Self> {
        let from = run_start(text, at);
        let mut next = Next::behind(text, from, at);
        if next.is_none() {
            return Vec::new();
        }
        let start = text.floor_char_boundary(from.saturating_sub(NAME_BYTES));
        let line = text[start..from].rfind('\n').map(|line| line + 1);
        let line = line.max(text[start..from].rfind("\\n").map(|line| line + 2));
        let start = line.map_or(start, |line| start + line);
        let mut strip = Self { text: text[start..at].to_owned(), start, breaks: Vec::new(), end: at };
        let mut strips = Vec::new();
        while let Some(one) = next.take().filter(|_| strip.breaks.len() < MAX_LINES && strips.len() < MAX_STRIPS) {
            if !one.sure && !strip.breaks.is_empty() {
                strips.push(strip.clone());
            }
            strip.breaks.push(Break { at: strip.text.len(), taken: one.start - strip.end, sure: one.sure });
            strip.text.push_str(&text[one.start..one.end]);
            strip.end = one.end;
            next = Next::behind(text, one.start, one.end);
        }
        let behind = &text[strip.end..text.floor_char_boundary(strip.end + BEHIND_BYTES)];
        strip.text.push_str(behind.split('\n').next().unwrap_or(behind));
        strips.push(strip);
        strips
    }

    /// Returns the position in the text of a finding in the strip, if the finding spans a break and is a single token
    /// there.
    fn place(&self, found: &Found, alone: &[Found], more: &[Found]) -> Option<Found> {
        let crossed = |one: &&Break| found.range.start < one.at && one.at < found.range.end;
        let mut breaks = self.breaks.iter().filter(crossed).peekable();
        breaks.peek()?;
        let range = self.in_text(found.range.start)..self.in_text(found.range.end - 1) + 1;
        // A word on the next line counts as part of a token only if the token is not a secret without the word.
        let is_known = alone.iter().chain(more).any(|one| one.range.start == range.start);
        (breaks.all(|one| one.sure) || found.is_token && !is_known).then_some(Found { range, ..found.clone() })
    }

    fn in_text(&self, at: usize) -> usize {
        let taken: usize = self.breaks.iter().take_while(|one| one.at <= at).map(|one| one.taken).sum();
        self.start + at + taken
    }
}

/// The first run of characters on the next line.
struct Next {
    start: usize,
    end: usize,
    sure: bool,
}

impl Next {
    /// Returns the continuation after the line end at `end`, if it and the run that begins at `from` can form one
    /// token.
    fn behind(text: &str, from: usize, end: usize) -> Option<Self> {
        let start = line_start(text, end)?;
        let line = &text[start..text.floor_char_boundary(start + LINE_BYTES)];
        let run = line.len() - line.trim_start_matches(is_token_char).len();
        let run = line[..run].trim_end_matches('-').len();
        let padding = line[run..].len() - line[run..].trim_start_matches('=').len();
        let (before, rest) = (&text.as_bytes()[from..end], &line.as_bytes()[..run]);
        let digits = before.iter().chain(rest).filter(|byte| byte.is_ascii_digit()).count();
        if before.is_empty() || rest.is_empty() || before.len() + rest.len() < JOINED_BYTES || digits < 2 || padding > 2
        {
            return None;
        }
        let behind = &line[run + padding..];
        if !stands_apart(behind) {
            return None;
        }
        let alone = ends_line(behind);
        let sure = match run {
            REST_BYTES.. => continues(before, rest, alone) || run <= 2 * REST_BYTES && alone && ends(before, rest),
            SHORT_REST_BYTES.. => alone && ends(before, rest),
            _ => false,
        };
        Some(Self { start, end: start + run + padding, sure })
    }
}

const fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '.' | '~' | '$' | '!' | '%')
}

/// Returns the start of the run of letters that ends at `end`.
fn run_start(text: &str, end: usize) -> usize {
    let from = text.floor_char_boundary(end.saturating_sub(LINE_BYTES));
    let start = from + text[from..end].trim_end_matches(is_token_char).len();
    // The letter of an escaped line break is not a part of the run.
    let is_escaped = text[..start].ends_with('\\') && text[start..end].starts_with(['n', 'r', 't']);
    start + usize::from(is_escaped)
}
