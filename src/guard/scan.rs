//! Finding the secrets in a text: one pass over the literal hints, then a row's pattern only where its hint stands.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::secrets::SECRETS;
use super::shape::{Part, Secret};
use super::{assigned, spoken, wrapped};

/// A place in a text that is to be replaced, with the name that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub range: Range<usize>,
    pub name: &'static str,
    /// Place in the table; the lower one names a stretch that several rows match.
    pub rank: usize,
}

/// The hints of all rows, and their patterns, compiled when first needed.
struct Scanner {
    hints: AhoCorasick,
    row_of_hint: Vec<usize>,
    patterns: Vec<OnceLock<Regex>>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let hints =
        || SECRETS.iter().enumerate().flat_map(|(row, secret)| secret.hints.iter().map(move |hint| (row, hint)));
    Scanner {
        hints: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(hints().map(|(_, hint)| hint))
            .expect("the table's hints are few and short"),
        row_of_hint: hints().map(|(row, _)| row).collect(),
        patterns: SECRETS.iter().map(|_| OnceLock::new()).collect(),
    }
});

/// How far behind its hint a pattern that begins before it is tried.
const AHEAD_BYTES: usize = 160;

#[cfg(test)]
thread_local! {
    /// How much was scanned and matched on this thread, so that tests can tell the work without a clock.
    pub(super) static READ_BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
fn count_read(bytes: usize) {
    READ_BYTES.set(READ_BYTES.get() + bytes);
}

#[cfg(not(test))]
const fn count_read(_: usize) {}

/// How much behind a hint is read to judge a value, in bytes; what is taken out may be longer.
const JUDGED_BYTES: usize = 512;

/// Returns every match of every row in `text`, in no particular order; they may overlap.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    count_read(text.len());
    let scanner = &*SCANNER;
    let (mut found, mut read_to) = (Vec::new(), vec![0; SECRETS.len()]);
    for hit in scanner.hints.find_overlapping_iter(text) {
        let row = scanner.row_of_hint[hit.pattern().as_usize()];
        if hit.start() < read_to[row] {
            continue;
        }
        if let Some(range) = scanner.find(row, text, hit.start(), read_to[row]) {
            read_to[row] = range.end;
            found.push(Found { range, name: SECRETS[row].name, rank: row });
        }
    }
    found
}

impl Scanner {
    fn pattern(&self, row: usize) -> &Regex {
        self.patterns[row].get_or_init(|| {
            let Secret { pattern, reach, .. } = &SECRETS[row];
            let anchor = if *reach == 0 { r"\A" } else { "" };
            Regex::new(&format!("{anchor}(?:{pattern})")).expect("the tests compile every row of the table")
        })
    }

    /// Returns the secret of `row` whose hint stands at `hint`, if it is one.
    fn find(&self, row: usize, text: &str, hint: usize, read_to: usize) -> Option<Range<usize>> {
        let secret = &SECRETS[row];
        let from = text.floor_char_boundary(hint.saturating_sub(secret.reach).max(read_to));
        if needs_left_edge(secret) && secret.reach == 0 && from != read_to && !has_left_edge(text, from) {
            return None;
        }
        let pattern = self.pattern(row);
        if let Part::Group(judge) | Part::Apart(judge) = secret.part {
            // A long value that is no secret would else be read to its end from every hint in it.
            let near = &text[from..text.floor_char_boundary(hint + JUDGED_BYTES)];
            let group = pattern.captures(near).and_then(|captures| captures.name("secret"));
            if group.is_some_and(|group| !judge(group.as_str())) {
                return None;
            }
        }
        // Without an anchor a pattern that does not match would read on to the end of the text.
        let to = if secret.reach == 0 { text.len() } else { text.floor_char_boundary(hint + AHEAD_BYTES) };
        let matched = pattern.find(&text[from..to])?;
        count_read(matched.len());
        if from + matched.start() > hint {
            return None;
        }
        let whole = from + matched.start()..from + matched.end();
        match secret.part {
            Part::Whole if text[whole.end..].starts_with(|c: char| c.is_ascii_alphanumeric()) => None,
            Part::Whole if can_go_on(secret) => Some(whole.start..wrapped::end_of_token(text, whole.start, whole.end)),
            Part::Whole => Some(whole),
            Part::Group(judge) | Part::Apart(judge) => {
                let group = pattern.captures(&text[from..])?.name("secret")?.range();
                let range = from + group.start..from + group.end;
                judge(&text[range.clone()]).then_some(range)
            }
            Part::Assigned(naming) => {
                let captures = pattern.captures(&text[from..])?;
                assigned::assigned(
                    text,
                    hint,
                    captures.name("suffix")?.as_str(),
                    captures.name("sign")?.as_str(),
                    whole.end,
                    naming,
                )
            }
            Part::Spoken(naming) => spoken::spoken(text, &whole, naming),
            Part::Phrase => spoken::phrase(text, whole.end),
        }
    }
}

const fn needs_left_edge(secret: &Secret) -> bool {
    matches!(secret.part, Part::Whole | Part::Apart(_) | Part::Spoken(_) | Part::Phrase)
}

/// Whether the row is a maker's token of no fixed length, of which more may stand on the next line.
fn can_go_on(secret: &Secret) -> bool {
    secret.reach == 0 && secret.pattern.contains(",}") && !secret.pattern.starts_with("-----")
}

/// Whether what stands before `at` does not belong to the same word; the `n` of an escaped line break does not.
fn has_left_edge(text: &str, at: usize) -> bool {
    match text.as_bytes()[..at] {
        [] | [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., last] => !last.is_ascii_alphanumeric(),
    }
}

/// A text out of which something was taken, with the places of the new markers in it.
pub(super) struct Replaced {
    pub text: String,
    pub markers: Vec<Range<usize>>,
}

/// Replaces what was found by `[redacted:<name>]` and counts it by name; nothing if nothing of it tells anything.
///
/// `found` is [`joined`]. A marker that stands in the text already is never touched, so that what is done once is not
/// done again.
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

/// Returns the finds in order of place, those that overlap as one under the name of the first.
pub(super) fn joined(mut found: Vec<Found>) -> Vec<Found> {
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

/// Cuts the markers out of the ranges; of what is left, pieces too short to tell anything are let go.
fn without_markers(text: &str, found: Vec<Found>) -> Vec<Found> {
    if !text.contains("[redacted:") && !text.contains("[private]") {
        return found;
    }
    let markers: Vec<Range<usize>> = MARKER.find_iter(text).map(|marker| marker.range()).collect();
    let mut pieces = Vec::new();
    for whole in found {
        let first = markers.partition_point(|marker| marker.end <= whole.range.start);
        let mut inside = markers[first..].iter().take_while(|marker| marker.start < whole.range.end).peekable();
        if inside.peek().is_none() {
            pieces.push(whole);
            continue;
        }
        let mut start = whole.range.start;
        let bounds = inside.map(|marker| (marker.start, marker.end)).chain([(whole.range.end, whole.range.end)]);
        for (end, next) in bounds.collect::<Vec<_>>() {
            if text.get(start..end).is_some_and(tells_something) {
                pieces.push(Found { range: start..end, ..whole.clone() });
            }
            start = next;
        }
    }
    pieces
}

fn tells_something(piece: &str) -> bool {
    piece.chars().filter(|c| c.is_alphanumeric()).count() >= 4
}
