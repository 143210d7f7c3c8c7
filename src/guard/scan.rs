//! Finds the secrets in a text: one pass finds the literal hints, and each row's pattern is tried only where its hint
//! occurs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use crate::guard::broken::end_of_token;
use crate::guard::compound::NameWord;
use crate::guard::hints::HintTable;
use crate::guard::near::Context;
use crate::guard::rule::{Part, Secret};
use crate::guard::secrets::SECRETS;
use crate::guard::values::NameStrength;
use crate::guard::vendors::{self, VENDORS};
use crate::guard::{columns, compound, mnemonic, named, near};

/// Number of times each secret was removed, by the name of its row.
pub(crate) type Findings = std::collections::BTreeMap<&'static str, usize>;

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
    hints: HintTable<Rule>,
    patterns: Vec<OnceLock<Regex>>,
}

/// The meaning of a hint: a row of the table, or the prefix of a vendor's token.
#[derive(Clone, Copy)]
enum Rule {
    Row(u16),
    Prefix(u16),
    Near(Context),
    Noun(NameWord),
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let spelled = |hint: &'static str| {
        // The table of hints ignores case only for ASCII.
        let others = if hint.is_ascii() { Vec::new() } else { vec![capitalised(hint), hint.to_uppercase()] };
        others.into_iter().filter(move |other| other != hint).map(Cow::Owned).chain([Cow::Borrowed(hint)])
    };
    let rows = (0..).zip(SECRETS.iter()).flat_map(|(row, secret)| {
        // Words in a sentence ignore case, but tokens are case-sensitive.
        let is_exact = !secret.pattern.contains("(?i");
        let hints = secret.hints.iter().flat_map(move |hint| spelled(hint));
        hints.map(move |hint| (hint, is_exact, Rule::Row(row)))
    });
    let prefixes = (0..).zip(&VENDORS.prefixes);
    let prefixes = prefixes.map(|(at, (prefix, _))| (Cow::Borrowed(prefix.as_str()), true, Rule::Prefix(at)));
    let near =
        near::words().flat_map(|(word, context)| spelled(word).map(move |word| (word, false, Rule::Near(context))));
    let nouns =
        compound::words().flat_map(|(word, noun)| spelled(word).map(move |word| (word, false, Rule::Noun(noun))));
    Scanner {
        hints: HintTable::new(rows.chain(prefixes).chain(near).chain(nouns)),
        patterns: SECRETS.iter().map(|_| OnceLock::new()).collect(),
    }
});

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Number of bytes after a hint in which a pattern that begins before the hint is tried.
pub(super) const AHEAD_BYTES: usize = 160;

#[cfg(test)]
thread_local! {
    /// Number of bytes scanned and matched on this thread, so that tests can measure the work without a clock.
    pub(super) static READ_BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
pub(super) fn count_read(bytes: usize) {
    READ_BYTES.set(READ_BYTES.get() + bytes);
}

#[cfg(not(test))]
pub(super) const fn count_read(_: usize) {}

/// Number of bytes after a hint that are read to judge a value. The part that is removed may be longer.
const JUDGED_BYTES: usize = 512;

/// Vendors' tokens have ranks below this value. A longer prefix has a lower rank.
const FIRST_ROW_RANK: usize = 256;

/// Rank of secrets that are not in the tables.
pub(super) const UNKNOWN_RANK: usize = usize::MAX;

/// Returns every match of every row in `text`, in no particular order. Matches may overlap.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    count_read(text.len());
    let scanner = &*SCANNER;
    let shaped = |name: &'static str| move |range| Found { range, name, rank: UNKNOWN_RANK, is_token: false };
    let unknown = vendors::unknown(text).into_iter();
    let unknown = unknown.map(|(range, is_token)| Found { is_token, ..shaped("random-token")(range) });
    let key_bytes = vendors::key_bytes(text).into_iter().map(shaped("key-bytes"));
    let numbered = vendors::digit_keys(text).into_iter().map(shaped("recovery-key"));
    let numbered = numbered.chain(vendors::numbered_tokens(text).into_iter().map(shaped("app-token")));
    let phrases = mnemonic::recovery_phrases(text).into_iter().map(shaped("recovery-words"));
    let mut found: Vec<Found> = unknown.chain(key_bytes).chain(numbered).chain(phrases).collect();
    let (mut rows, mut prefixes) =
        (vec![Progress::default(); SECRETS.len()], vec![Progress::default(); VENDORS.prefixes.len()]);
    let (mut headings_read_to, mut near_read_to, mut beside) = (0, [0; Context::POSITIONS], Vec::new());
    for hit in scanner.hints.find(text) {
        let (start, end) = (hit.range.start, hit.range.end);
        if is_passed_test(text, start) {
            continue;
        }
        let progress = match hit.value {
            Rule::Row(row) => &mut rows[usize::from(row)],
            Rule::Prefix(prefix) => &mut prefixes[usize::from(prefix)],
            Rule::Near(context) => {
                let read_to = &mut near_read_to[context.position()];
                *read_to = near::find(text, &hit.range, context, *read_to, &mut beside);
                continue;
            }
            Rule::Noun(noun) => {
                let named = compound::find(text, &hit.range, noun);
                let rank = FIRST_ROW_RANK + SECRETS.len();
                found.extend(named.map(|range| Found { rank, ..shaped("named-secret")(range) }));
                continue;
            }
        };
        let is_heading = |row: u16| matches!(SECRETS[usize::from(row)].part, Part::Assigned(_));
        if matches!(hit.value, Rule::Row(row) if is_heading(row)) && start >= headings_read_to {
            let column = columns::below(text, start);
            found.extend(column.secrets.into_iter().map(shaped("table-secret")));
            headings_read_to = column.heading_end.max(end);
        }
        // Several hints may be within one match. Without this check, each of them would find the same secret again.
        if start < progress.read_to || progress.tried == Some(start) {
            continue;
        }
        progress.tried = Some(start);
        let one = match hit.value {
            Rule::Row(row) => scanner.find(usize::from(row), text, start, progress.read_to).map(|range| Found {
                range,
                name: SECRETS[usize::from(row)].name,
                rank: FIRST_ROW_RANK + usize::from(row),
                is_token: matches!(SECRETS[usize::from(row)].part, Part::Whole),
            }),
            Rule::Near(_) | Rule::Noun(_) => None,
            Rule::Prefix(prefix) => {
                let is_apart = start == progress.read_to || has_left_edge(text, start);
                let token = is_apart.then(|| vendors::find(text, start, usize::from(prefix))).flatten();
                token.map(|(name, range)| {
                    count_read(range.len());
                    let rank = FIRST_ROW_RANK.saturating_sub(hit.range.len());
                    Found { range, name, rank, is_token: true }
                })
            }
        };
        if let Some(one) = one {
            progress.read_to = one.range.end;
            found.push(one);
        }
    }
    // A rule for the syntax also determines the name and the bounds of the secret.
    let known = Coverage::of(&found);
    beside.retain(|value: &Range<usize>| !known.touches(value));
    found.extend(beside.into_iter().map(shaped("near-secret")));
    found
}

/// The parts of a text that findings cover, so that one lookup shows whether any of them reaches a position.
pub(super) struct Coverage(Vec<Range<usize>>);

impl Coverage {
    /// Returns the parts that `found` covers, in any order.
    pub(super) fn of(found: &[Found]) -> Self {
        let mut ranges: Vec<Range<usize>> = found.iter().map(|one| one.range.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        // Each range extends to the largest end so far.
        ranges.iter_mut().fold(0, |end, range| {
            range.end = range.end.max(end);
            range.end
        });
        Self(ranges)
    }

    /// Whether a finding covers a part of `range`.
    pub(super) fn touches(&self, range: &Range<usize>) -> bool {
        let before = self.0.partition_point(|one| one.start < range.end);
        before > 0 && self.0[before - 1].end > range.start
    }
}

/// Whether a finding is a secret by its own form or its name, rather than only by its randomness.
pub(super) fn names_secret(found: &Found) -> bool {
    found.rank != UNKNOWN_RANK
}

/// How far a rule has read a text.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// The end of the last match.
    read_to: usize,
    /// The start of the last hint.
    tried: Option<usize>,
}

/// Returns the starts of the hints of whole tokens in `text`, and the reach of their rows. Vendors' tokens are left out,
/// because their templates are matched across line ends anyway.
pub(super) fn token_hints(text: &str) -> impl Iterator<Item = (usize, usize)> {
    SCANNER.hints.find(text).filter_map(|hit| match hit.value {
        Rule::Row(row) => {
            let secret = &SECRETS[usize::from(row)];
            matches!(secret.part, Part::Whole).then_some((hit.range.start, secret.reach))
        }
        Rule::Prefix(_) | Rule::Near(_) | Rule::Noun(_) => None,
    })
}

impl Scanner {
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
        // A key after its name in a sentence is the most frequent hint and the slowest pattern.
        if matches!(secret.part, Part::Spoken(NameStrength::Key)) && !may_contain_key(text, hint) {
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
                // Fingerprints are public.
                let is_fingerprint = text[..range.start].ends_with("SHA256:");
                (!is_fingerprint && judge(&text[range.clone()])).then_some(text.ceil_char_boundary(start)..range.end)
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
            Part::Words => named::password_words(text, &whole),
        }
    }
}

/// Whether the text after `hint` contains a digit, or a word as long as a key without digits.
fn may_contain_key(text: &str, hint: usize) -> bool {
    let near = &text.as_bytes()[hint..text.len().min(hint + AHEAD_BYTES)];
    near.iter().any(u8::is_ascii_digit) || near.split(u8::is_ascii_whitespace).any(|word| word.len() >= 24)
}

/// Whether the word at `hint` is part of the name of a public key.
fn is_public(text: &str, hint: usize) -> bool {
    let before = &text[text.floor_char_boundary(hint.saturating_sub(12))..hint];
    let before = before.trim_end_matches([' ', '_', '-']).to_ascii_lowercase();
    ["public", "publishable", "öffentlicher"].iter().any(|word| before.ends_with(word))
}

/// Whether the text at `hint` is the result of a test, as in Go's `--- PASS: TestRound2 (0.00s)` or Automake's `PASS:
/// test-2.sh`.
fn is_passed_test(text: &str, hint: usize) -> bool {
    let is_test = |name: &str| name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("test"));
    text[hint..].strip_prefix("PASS: ").is_some_and(|name| text[..hint].ends_with("--- ") || is_test(name))
}

const fn needs_left_edge(secret: &Secret) -> bool {
    matches!(secret.part, Part::Whole | Part::Apart(_) | Part::Spoken(_) | Part::Phrase | Part::Words)
}

/// Whether the row is a vendor's token without a fixed length, which may continue on the next line.
fn can_go_on(secret: &Secret) -> bool {
    secret.reach == 0 && secret.pattern.contains(",}") && !secret.pattern.starts_with("-----")
}

/// Whether the character before `at` does not belong to the same word, as is the case for the `n` of an escaped line
/// break and for an escaped separator in an address.
pub(super) fn has_left_edge(text: &str, at: usize) -> bool {
    match text.as_bytes()[..at] {
        [] | [.., b'\\', b'n' | b'r' | b't'] => true,
        // A separator in an address, such as `%2F`.
        [.., b'%', b'2' | b'3' | b'5' | b'7', last] if last.is_ascii_hexdigit() => true,
        [.., last] => !last.is_ascii_alphanumeric(),
    }
}

/// Text with redactions, and the positions of the new markers in it.
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
    // Among findings at the same place, the earlier row comes first and determines the name. Specific rows precede
    // general rows.
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
