//! Tokens that were broken over several lines, as a terminal does where a line is full.

use super::scan::{self, Found};
use super::secrets::SECRETS;
use super::shape::Part;

/// Most lines that one token is read over.
const MAX_LINES: usize = 32;

/// Shortest rest of a token that is told from a word, in bytes.
const REST_BYTES: usize = 12;

/// Shortest end of a token that has a line to itself, in bytes; what is shorter tells too little.
const SHORT_REST_BYTES: usize = 8;

/// Longest rest of a token in one line, in bytes.
const LINE_BYTES: usize = 1024;

/// Most bytes before a broken token that are read with it, for the name of its value.
const NAME_BYTES: usize = 96;

/// Most bytes behind it, for what its shape wants there.
const BEHIND_BYTES: usize = 48;

/// Shortest text of both sides of a break that can be a token, in bytes.
const JOINED_BYTES: usize = 16;

/// Most strips that are read for one line end.
const MAX_STRIPS: usize = 4;

/// Lines put together again, with the places where they were broken.
#[derive(Debug, Clone)]
struct Strip {
    text: String,
    /// Where the strip begins in the text.
    start: usize,
    breaks: Vec<Break>,
    /// Where in the text the last rest ends.
    end: usize,
}

/// A line break that was left out of a strip.
#[derive(Debug, Clone)]
struct Break {
    /// Place in the strip.
    at: usize,
    /// Bytes of the text that it took: the break itself and the indentation behind it.
    taken: usize,
    /// Whether what follows is written in the letters of what stands before, whatever row reads it.
    sure: bool,
}

/// Returns what is only found when broken lines are put together, beside what was `found` line by line.
pub(super) fn across_lines(text: &str, found: &[Found]) -> Vec<Found> {
    let mut more: Vec<Found> = Vec::new();
    // Where the text is read on from, since a strip that could not be cut elsewhere reaches there.
    let mut done = 0;
    for at in line_ends(text) {
        if at < done {
            continue;
        }
        let strips = Strip::all_around(text, at);
        done = strips.first().map_or(done, |strip| strip.end);
        for strip in strips {
            for one in scan::secrets(&strip.text) {
                if let Some(placed) = strip.place(&one, found, &more) {
                    more.push(placed);
                }
            }
        }
    }
    more
}

/// Returns where lines end, those in escaped strings among them, in order.
fn line_ends(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let real = memchr::memchr_iter(b'\n', bytes).map(|at| at - usize::from(text[..at].ends_with('\r')));
    let escaped = memchr::memmem::find_iter(bytes, b"\\n").map(|at| at - 2 * usize::from(text[..at].ends_with("\\r")));
    let mut ends: Vec<usize> = real.chain(escaped).collect();
    ends.sort_unstable();
    ends
}

impl Strip {
    /// Puts together what was broken at `at` and behind it, the shortest strip first: one that ends at each break which
    /// may be the end of the token, and one over all. None if no token can have been broken here.
    fn all_around(text: &str, at: usize) -> Vec<Self> {
        let from = run_start(text, at);
        let mut next = Next::behind(text, from, at);
        if next.is_none() {
            return Vec::new();
        }
        let start = text.floor_char_boundary(from.saturating_sub(NAME_BYTES));
        let start = text[start..from].rfind('\n').map_or(start, |line| start + line + 1);
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

    /// Returns where a find in the strip stands in the text, if it goes over a break and is no more than a token there.
    fn place(&self, found: &Found, alone: &[Found], more: &[Found]) -> Option<Found> {
        let crossed = |one: &&Break| found.range.start < one.at && one.at < found.range.end;
        let mut breaks = self.breaks.iter().filter(crossed).peekable();
        breaks.peek()?;
        let range = self.in_text(found.range.start)..self.in_text(found.range.end - 1) + 1;
        // A word on the next line is taken for part of a token only where the token is none without it.
        let is_maker = matches!(SECRETS[found.rank].part, Part::Whole);
        let is_known = alone.iter().chain(more).any(|one| one.range.start == range.start);
        (breaks.all(|one| one.sure) || is_maker && !is_known).then_some(Found { range, ..found.clone() })
    }

    fn in_text(&self, at: usize) -> usize {
        let taken: usize = self.breaks.iter().take_while(|one| one.at <= at).map(|one| one.taken).sum();
        self.start + at + taken
    }
}

/// The first run on the next line.
struct Next {
    start: usize,
    end: usize,
    sure: bool,
}

impl Next {
    /// Returns what goes on behind the line end at `end`, if it and the run that begins at `from` can be one token.
    fn behind(text: &str, from: usize, end: usize) -> Option<Self> {
        let near = &text[end..text.floor_char_boundary(end + LINE_BYTES)];
        let line = after_line_end(near)?;
        let line = line.trim_start_matches([' ', '\t', '>', '|', '│']);
        let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let line = numbered.strip_prefix(['→', '\t']).unwrap_or(line);
        let start = end + near.len() - line.len();
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

fn after_line_end(near: &str) -> Option<&str> {
    let after = near.strip_prefix("\\r").unwrap_or(near);
    let after = after.strip_prefix('\r').unwrap_or(after);
    after.strip_prefix('\n').or_else(|| after.strip_prefix("\\n"))
}

const fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '.' | '~' | '$' | '!' | '%')
}

/// Returns where the run of letters that ends at `end` begins.
fn run_start(text: &str, end: usize) -> usize {
    let from = text.floor_char_boundary(end.saturating_sub(LINE_BYTES));
    from + text[from..end].trim_end_matches(is_token_char).len()
}

fn stands_apart(behind: &str) -> bool {
    behind.chars().next().is_none_or(|c| c.is_whitespace() || "\"'`\\,;.)]}|<，。".contains(c))
}

fn ends_line(behind: &str) -> bool {
    let behind = behind.trim_start_matches(['"', '\'', '`', ',', ';']);
    behind.is_empty()
        || behind.starts_with("\\n")
        || behind.starts_with("\\r")
        || behind.trim_start_matches('\\').starts_with(['\n', '\r'])
}

/// Returns where the token that begins at `start` really ends, if its first line ends at `end`.
pub(super) fn end_of_token(text: &str, start: usize, end: usize) -> usize {
    let mut end = end;
    for _ in 0..MAX_LINES {
        let Some(next) = rest_on_next_line(text, start, end) else { break };
        end = next;
    }
    end
}

fn rest_on_next_line(text: &str, start: usize, end: usize) -> Option<usize> {
    let near = &text[end..text.floor_char_boundary(end + LINE_BYTES)];
    let line = after_line_end(near)?.trim_start_matches([' ', '\t']);
    let run = line.len() - line.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-+/.".contains(c)).len();
    let run = line[..run].trim_end_matches('.').len();
    let padding = line[run..].len() - line[run..].trim_start_matches('=').len();
    let (rest, behind) = (&line[..run], &line[run + padding..]);
    let token = &text.as_bytes()[start..end];
    let goes_on = run >= REST_BYTES && padding <= 2 && stands_apart(behind);
    (goes_on && continues(token, rest.as_bytes(), ends_line(behind)))
        .then(|| end + near.len() - line.len() + run + padding)
}

/// Whether `rest`, which has a line to itself, is the short end of `token` and no word.
fn ends(token: &[u8], rest: &[u8]) -> bool {
    let tail = &token[token.len().saturating_sub(12)..];
    let is_odd = rest.iter().any(u8::is_ascii_digit)
        || rest.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let mixed = |part: &[u8]| part.iter().any(u8::is_ascii_uppercase) && part.iter().any(u8::is_ascii_lowercase);
    let digits = tail.iter().filter(|byte| byte.is_ascii_digit()).count();
    let turns = rest.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    is_odd && digits > 0 && (mixed(tail) == mixed(rest) || turns >= 3) && rest.iter().all(u8::is_ascii_alphanumeric)
}

/// Whether `rest` is written in the letters of `token`, and is neither word, name, path nor checksum.
fn continues(token: &[u8], rest: &[u8], alone: bool) -> bool {
    let tail = &token[token.len().saturating_sub(12)..];
    let holds = |part: &[u8], class: fn(&u8) -> bool| part.iter().any(class);
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    let turns = rest.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let longest = rest.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0);
    let mixed = |part: &[u8]| holds(part, u8::is_ascii_uppercase) && holds(part, u8::is_ascii_lowercase);
    if digits == 0 || longest < 6 {
        return false;
    }
    if mixed(tail) || mixed(token) && mixed(rest) {
        return mixed(rest) && (alone || turns >= 3);
    }
    let checksum = matches!(rest.len(), 32 | 40 | 64);
    digits >= 2 && turns >= 4 && !mixed(rest) && longest == rest.len() && !checksum
}
