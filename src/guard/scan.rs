//! Finds the secrets in a text: one pass finds the literal hints, and each row's pattern is tried only where its hint
//! occurs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use crate::guard::broken::{
    LINE_BYTES, MAX_LINES, REST_BYTES, SHORT_REST_BYTES, continues, end_of_token, ends, ends_line, line_start,
    stands_apart,
};
use crate::guard::rule::{Part, Secret};
use crate::guard::secrets::SECRETS;
use crate::guard::vendors::{self, VENDORS};
use crate::guard::{columns, named};

/// Number of times each secret was removed, by the name of its row.
pub type Findings = std::collections::BTreeMap<&'static str, usize>;

/// A range of a text to be replaced, with the name for the marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub range: Range<usize>,
    pub name: &'static str,
    /// If several rows match the same text, the row with the lowest rank determines the name.
    pub rank: usize,
    /// Whether the finding is a token that is recognised by its own form.
    pub is_token: bool,
}

/// The hints of all rows, and their patterns, compiled when first needed.
struct Scanner {
    texts: Vec<Cow<'static, str>>,
    /// This automaton is quick to build. A process that reads only a few lines, such as a hook, needs no other
    /// automaton.
    small: AhoCorasick,
    /// This automaton is quick to search. It is built after [`SMALL_BYTES`].
    large: OnceLock<AhoCorasick>,
    read: AtomicUsize,
    rule_of_hint: Vec<Rule>,
    patterns: Vec<OnceLock<Regex>>,
    /// Whether the hints of a row are case-sensitive.
    has_case: Vec<bool>,
}

/// The meaning of a hint: a row of the table, or the prefix of a vendor's token.
#[derive(Clone, Copy)]
enum Rule {
    Row(usize),
    Prefix(usize),
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let rows = SECRETS.iter().enumerate();
    let spelled = |hint: &'static str| {
        // The automaton ignores case only for ASCII.
        let others = if hint.is_ascii() { Vec::new() } else { vec![capitalised(hint), hint.to_uppercase()] };
        others.into_iter().filter(move |other| other != hint).map(Cow::Owned).chain([Cow::Borrowed(hint)])
    };
    let rows = rows.flat_map(|(row, secret)| {
        secret.hints.iter().flat_map(move |hint| spelled(hint)).map(move |hint| (hint, Rule::Row(row)))
    });
    let prefixes = VENDORS.prefixes.iter().enumerate();
    let prefixes = prefixes.map(|(at, (prefix, _))| (Cow::Borrowed(prefix.as_str()), Rule::Prefix(at)));
    let (hints, rule_of_hint): (Vec<Cow<'_, str>>, Vec<Rule>) = rows.chain(prefixes).unzip();
    Scanner {
        small: automaton(&hints, AhoCorasickKind::ContiguousNFA),
        texts: hints,
        large: OnceLock::new(),
        read: AtomicUsize::new(0),
        rule_of_hint,
        patterns: SECRETS.iter().map(|_| OnceLock::new()).collect(),
        has_case: SECRETS.iter().map(|row| !row.pattern.contains("(?i")).collect(),
    }
});

/// Number of bytes that a process reads before the automaton that is quick to search is built.
const SMALL_BYTES: usize = 64 << 10;

fn automaton(hints: &[Cow<'_, str>], kind: AhoCorasickKind) -> AhoCorasick {
    let mut builder = AhoCorasick::builder();
    let automaton =
        builder.ascii_case_insensitive(true).kind(Some(kind)).build(hints.iter().map(|hint| hint.as_bytes()));
    automaton.expect("the table's hints are few and short")
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Number of bytes after a hint in which a pattern that begins before the hint is tried.
const AHEAD_BYTES: usize = 160;

#[cfg(test)]
thread_local! {
    /// Number of bytes scanned and matched on this thread, so that tests can measure the work without a clock.
    pub(super) static READ_BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
fn count_read(bytes: usize) {
    READ_BYTES.set(READ_BYTES.get() + bytes);
}

#[cfg(not(test))]
const fn count_read(_: usize) {}

/// Number of bytes after a hint that are read to judge a value. The part that is removed may be longer.
const JUDGED_BYTES: usize = 512;

/// Vendors' tokens have ranks below this value. A longer prefix has a lower rank.
const FIRST_ROW_RANK: usize = 256;

/// Rank of secrets that are not in the tables.
const UNKNOWN_RANK: usize = usize::MAX;

/// Returns every match of every row in `text`, in no particular order. Matches may overlap.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    count_read(text.len());
    let scanner = &*SCANNER;
    let shaped = |name: &'static str| move |range| Found { range, name, rank: UNKNOWN_RANK, is_token: false };
    let unknown = vendors::unknown(text).into_iter();
    let unknown = unknown.map(|(range, is_token)| Found { is_token, ..shaped("random-token")(range) });
    let mut found: Vec<Found> = unknown.chain(vendors::key_bytes(text).into_iter().map(shaped("key-bytes"))).collect();
    let (mut rows_read_to, mut prefixes_read_to) = (vec![0; SECRETS.len()], vec![0; VENDORS.prefixes.len()]);
    let mut headings_read_to = 0;
    // Overlapping matches are needed, because the hint of one row may be part of the hint of another.
    for hit in scanner.hints(text).find_overlapping_iter(text) {
        let rule = scanner.rule_of_hint[hit.pattern().as_usize()];
        let read_to = match rule {
            Rule::Row(row) => &mut rows_read_to[row],
            Rule::Prefix(prefix) => &mut prefixes_read_to[prefix],
        };
        let is_heading = |row: usize| matches!(SECRETS[row].part, Part::Assigned(_));
        if matches!(rule, Rule::Row(row) if is_heading(row)) && hit.start() >= headings_read_to {
            let column = columns::below(text, hit.start());
            found.extend(column.secrets.into_iter().map(shaped("table-secret")));
            headings_read_to = column.heading_end.max(hit.end());
        }
        // The automaton ignores case, but tokens are case-sensitive.
        if let Rule::Row(row) = rule
            && scanner.has_case[row]
            && !SECRETS[row].hints.contains(&&text[hit.range()])
        {
            continue;
        }
        // Several hints may be within one match. Without this check, each of them would find the same secret again.
        if hit.start() < *read_to {
            continue;
        }
        let one = match rule {
            Rule::Row(row) => scanner.find(row, text, hit.start(), *read_to).map(|range| Found {
                range,
                name: SECRETS[row].name,
                rank: FIRST_ROW_RANK + row,
                is_token: matches!(SECRETS[row].part, Part::Whole),
            }),
            Rule::Prefix(prefix) => {
                let is_apart = hit.start() == *read_to || has_left_edge(text, hit.start());
                let token = is_apart.then(|| vendors::find(text, hit.start(), prefix)).flatten();
                token.map(|(name, range)| {
                    count_read(range.len());
                    let rank = FIRST_ROW_RANK.saturating_sub(hit.len());
                    Found { range, name, rank, is_token: true }
                })
            }
        };
        if let Some(one) = one {
            *read_to = one.range.end;
            found.push(one);
        }
    }
    found
}

impl Scanner {
    /// Returns the automaton of the hints for this text.
    fn hints(&self, text: &str) -> &AhoCorasick {
        let read = self.read.fetch_add(text.len(), Ordering::Relaxed).saturating_add(text.len());
        match self.large.get() {
            Some(large) => large,
            None if read < SMALL_BYTES => &self.small,
            None => self.large.get_or_init(|| automaton(&self.texts, AhoCorasickKind::DFA)),
        }
    }

    fn pattern(&self, row: usize) -> &Regex {
        self.patterns[row].get_or_init(|| {
            let Secret { pattern, reach, .. } = &SECRETS[row];
            let anchor = if *reach == 0 { r"\A" } else { "" };
            Regex::new(&format!("{anchor}(?:{pattern})")).expect("the tests compile every row of the table")
        })
    }

    /// Returns the secret of `row` whose hint is at `hint`, if there is one.
    fn find(&self, row: usize, text: &str, hint: usize, read_to: usize) -> Option<Range<usize>> {
        let secret = &SECRETS[row];
        let from = text.floor_char_boundary(hint.saturating_sub(secret.reach).max(read_to));
        if needs_left_edge(secret) && secret.reach == 0 && from != read_to && !has_left_edge(text, from) {
            return None;
        }
        let pattern = self.pattern(row);
        if let Part::Group(judge) | Part::Apart(judge) = secret.part {
            // Otherwise a long value that is not a secret would be read to its end from every hint in it.
            let near = &text[from..text.floor_char_boundary(hint + JUDGED_BYTES)];
            let group = pattern.captures(near).and_then(|captures| captures.name("secret"));
            if group.is_some_and(|group| !judge(group.as_str())) || is_public(text, hint) {
                return None;
            }
        }
        // Without an anchor, a failing pattern would read to the end of the text.
        let to = if secret.reach == 0 { text.len() } else { text.floor_char_boundary(hint + AHEAD_BYTES) };
        let matched = pattern.find(&text[from..to])?;
        count_read(matched.len());
        // A match after its hint belongs to a later hint, which will find it.
        if from + matched.start() > hint {
            return None;
        }
        let whole = from + matched.start()..from + matched.end();
        match secret.part {
            // A token of fixed length that continues is part of a longer identifier.
            Part::Whole if text[whole.end..].starts_with(|c: char| c.is_ascii_alphanumeric()) => None,
            Part::Whole if can_go_on(secret) => Some(whole.start..end_of_token(text, whole.start, whole.end)),
            Part::Whole => Some(whole),
            Part::Group(judge) | Part::Apart(judge) => {
                let group = pattern.captures(&text[from..])?.name("secret")?.range();
                let range = from + group.start..from + group.end;
                // A value before its hint may begin further back than the pattern reaches.
                let is_cut = secret.reach > 0 && range.start == from && from > read_to;
                let begin = |c: char| c.is_whitespace() || "\"'`".contains(c);
                let start = if is_cut {
                    read_to + text[read_to..from].rfind(begin).map_or(0, |at| at + 1)
                } else {
                    range.start
                };
                judge(&text[range.clone()]).then_some(text.ceil_char_boundary(start)..range.end)
            }
            Part::Assigned(naming) => {
                let captures = pattern.captures(&text[from..])?;
                named::assigned(
                    text,
                    hint,
                    captures.name("suffix")?.as_str(),
                    captures.name("sign")?.as_str(),
                    whole.end,
                    naming,
                )
            }
            Part::Spoken(naming) => named::spoken(text, &whole, naming),
            Part::Phrase => named::phrase(text, whole.end),
        }
    }
}

/// Whether the word at `hint` is the name of a key that everybody may know.
fn is_public(text: &str, hint: usize) -> bool {
    let before = &text[text.floor_char_boundary(hint.saturating_sub(12))..hint];
    let before = before.trim_end_matches([' ', '_', '-']).to_ascii_lowercase();
    ["public", "publishable", "öffentlicher"].iter().any(|word| before.ends_with(word))
}

const fn needs_left_edge(secret: &Secret) -> bool {
    matches!(secret.part, Part::Whole | Part::Apart(_) | Part::Spoken(_) | Part::Phrase)
}

/// Whether the row is a vendor's token without a fixed length, which may continue on the next line.
fn can_go_on(secret: &Secret) -> bool {
    secret.reach == 0 && secret.pattern.contains(",}") && !secret.pattern.starts_with("-----")
}

/// Whether the character before `at` does not belong to the same word, as is the case for the `n` of an escaped line
/// break.
pub(super) fn has_left_edge(text: &str, at: usize) -> bool {
    match text.as_bytes()[..at] {
        [] | [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., last] => !last.is_ascii_alphanumeric(),
    }
}

/// A text with redactions, and the positions of the new markers in it.
pub(super) struct Replaced {
    pub text: String,
    pub markers: Vec<Range<usize>>,
}

/// Replaces the findings with `[redacted:<name>]` and counts them by name. Returns `None` if no finding remains.
///
/// `found` must come from [`joined`]. A marker that is already in the text is never changed, so that a second pass has
/// no effect.
pub(super) fn replace(text: &str, found: Vec<Found>, findings: &mut BTreeMap<&'static str, usize>) -> Option<Replaced> {
    if found.is_empty() {
        return None;
    }
    let (mut out, mut markers, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
    for found in without_markers(text, found) {
        out.push_str(&text[done..found.range.start]);
        let start = out.len();
        out.extend(["[redacted:", found.name, "]"]);
        markers.push(start..out.len());
        *findings.entry(found.name).or_default() += 1;
        done = found.range.end;
    }
    (done > 0).then(|| Replaced { text: out + &text[done..], markers })
}

/// Returns the findings in order of position, merging overlapping ones under the name of the first.
pub(super) fn joined(mut found: Vec<Found>) -> Vec<Found> {
    // Of findings at the same place, the earlier row comes first and determines the name. Specific rows precede general
    // rows.
    found.sort_by_key(|found| (found.range.start, found.rank));
    let mut joined: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        match joined.last_mut() {
            Some(last) if next.range.start < last.range.end => last.range.end = last.range.end.max(next.range.end),
            _ => joined.push(next),
        }
    }
    joined
}

static MARKER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[redacted:[a-z0-9-]{1,40}\]|\[private\]").expect("a fixed pattern"));

/// Cuts the markers out of the ranges and drops the remaining pieces that are too short to contain a secret.
fn without_markers(text: &str, found: Vec<Found>) -> Vec<Found> {
    if !text.contains("[redacted:") && !text.contains("[private]") {
        return found;
    }
    let markers: Vec<Range<usize>> = MARKER.find_iter(text).map(|marker| marker.range()).collect();
    let mut pieces = Vec::new();
    for whole in found {
        // Markers are in order, so a binary search is fast for texts with thousands of markers.
        let first = markers.partition_point(|marker| marker.end <= whole.range.start);
        let mut inside = markers[first..].iter().take_while(|marker| marker.start < whole.range.end).peekable();
        if inside.peek().is_none() {
            pieces.push(whole);
            continue;
        }
        let mut start = whole.range.start;
        let bounds = inside.map(|marker| (marker.start, marker.end)).chain([(whole.range.end, whole.range.end)]);
        for (end, next) in bounds.collect::<Vec<_>>() {
            if text.get(start..end).is_some_and(could_be_secret) {
                pieces.push(Found { range: start..end, ..whole.clone() });
            }
            start = next;
        }
    }
    pieces
}

fn could_be_secret(piece: &str) -> bool {
    piece.chars().filter(|c| c.is_alphanumeric()).count() >= 4
}

// The following code finds tokens that were broken over several lines.

/// Maximum number of bytes before a broken token that are read with it, since they may contain the name of its value.
const NAME_BYTES: usize = 96;

/// Maximum number of bytes after a broken token that are read with it, since its pattern may require a certain end.
const BEHIND_BYTES: usize = 48;

/// Minimum total length of the text on both sides of a break that can be a token, in bytes.
const JOINED_BYTES: usize = 16;

/// Maximum number of joined texts that are read for one line end.
const MAX_STRIPS: usize = 4;

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

/// Returns the findings that appear only when broken lines are joined, in addition to the findings `found` line by
/// line.
pub(super) fn across_lines(text: &str, found: &[Found]) -> Vec<Found> {
    let mut more: Vec<Found> = Vec::new();
    // Reading continues here, since the previous strip, which could not be cut earlier, extends to this position.
    let mut done = 0;
    for at in line_ends(text) {
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

/// Whether a token of the table may begin in the run of characters that ends at `at`.
fn begins_token(text: &str, at: usize) -> bool {
    let from = run_start(text, at);
    let scanner = &*SCANNER;
    // The hint of a row that reaches back may be on a later line.
    let near = &text[from..text.floor_char_boundary(at + AHEAD_BYTES)];
    let mut hits = scanner.hints(near).find_overlapping_iter(near);
    hits.any(|hit| match scanner.rule_of_hint[hit.pattern().as_usize()] {
        Rule::Row(row) => {
            let secret = &SECRETS[row];
            let begins_here = || from + hit.start() < at && has_left_edge(text, from + hit.start());
            matches!(secret.part, Part::Whole) && (secret.reach > 0 || begins_here())
        }
        // Templates of vendors' tokens are matched across line ends anyway.
        Rule::Prefix(_) => false,
    })
}

/// Returns the ends of lines in order, including those in escaped strings.
fn line_ends(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let real = memchr::memchr_iter(b'\n', bytes).map(|at| at - usize::from(text[..at].ends_with('\r')));
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

/// Returns where the run of letters that ends at `end` begins.
fn run_start(text: &str, end: usize) -> usize {
    let from = text.floor_char_boundary(end.saturating_sub(LINE_BYTES));
    let start = from + text[from..end].trim_end_matches(is_token_char).len();
    // The letter of an escaped line break is not a part of the run.
    let is_escaped = text[..start].ends_with('\\') && text[start..end].starts_with(['n', 'r', 't']);
    start + usize::from(is_escaped)
}

// The following code scans again around each marker, since removing one secret can complete another secret next to it.

/// Number of bytes on each side of a new marker that are read again.
const CONTEXT_BYTES: usize = 512;

/// Distance, in bytes, from the edge of the text that is read again, within which findings are ignored. The distance is
/// greater than the context that a match may need.
const EDGE_BYTES: usize = 160;

/// The row that may match less if the text after it is cut. It is only searched in the whole text.
const READS_FAR: &str = "private-key";

/// Reads the surroundings of every marker again, and of the markers that this adds, until nothing is found.
///
/// The work is proportional to the number of markers, even if one removal exposes another secret many times. A secret
/// that extends beyond the surroundings is not removed, so the caller scans the whole text once more.
pub(super) fn rescan(replaced: &Replaced, find: impl Fn(&str) -> Vec<Found>, findings: &mut Findings) -> String {
    let total = replaced.text.len();
    let mut gap = Gap::new(&replaced.text);
    let mut waiting = Vec::new();
    queue(&mut waiting, &replaced.markers, total);
    while let Some(mut span) = waiting.pop() {
        // Overlapping surroundings are read together, only once.
        while let Some(next) = waiting.pop_if(|next| next.start >= span.end) {
            (span.start, span.end) = (next.start.max(span.start), next.end.min(span.end));
        }
        let mut near = gap.take(&span);
        // At the real ends of the text, nothing was cut, so findings there are valid.
        let last = if gap.after.is_empty() { near.len() } else { near.len().saturating_sub(EDGE_BYTES) };
        let first = if gap.before.is_empty() { 0 } else { EDGE_BYTES };
        let mut found = find(&near);
        found.retain(|found| {
            found.range.start >= first && found.range.end <= last && (found.name != READS_FAR || gap.after.is_empty())
        });
        if let Some(Replaced { text, markers }) = replace(&near, found, findings) {
            queue(&mut waiting, &markers, gap.after.len() + text.len());
            near = text;
        }
        gap.before.push_str(&near);
    }
    gap.into_text()
}

/// A range of text whose bounds are counted from the end of the text, so that changes before the range do not move it.
struct FromEnd {
    start: usize,
    end: usize,
}

/// Pushes the surroundings of `markers` on the stack, with the leftmost on top. `end` is the distance of position 0
/// from the end.
fn queue(waiting: &mut Vec<FromEnd>, markers: &[Range<usize>], end: usize) {
    waiting.extend(markers.iter().rev().map(|marker| FromEnd {
        start: end - marker.start + CONTEXT_BYTES,
        end: (end - marker.end).saturating_sub(CONTEXT_BYTES),
    }));
}

/// A text with a movable gap: the text to its left, and the text to its right in reverse.
struct Gap {
    before: String,
    after: String,
}

impl Gap {
    fn new(text: &str) -> Self {
        Self { before: String::with_capacity(text.len()), after: text.chars().rev().collect() }
    }

    /// Moves the gap to `span` and removes and returns the text there.
    fn take(&mut self, span: &FromEnd) -> String {
        while self.after.len() > span.start {
            let Some(c) = self.after.pop() else { break };
            self.before.push(c);
        }
        while self.after.len() < span.start {
            let Some(c) = self.before.pop() else { break };
            self.after.push(c);
        }
        let mut near = String::new();
        while self.after.len() > span.end {
            let Some(c) = self.after.pop() else { break };
            near.push(c);
        }
        near
    }

    fn into_text(mut self) -> String {
        self.before.extend(self.after.chars().rev());
        self.before
    }
}
