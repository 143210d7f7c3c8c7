//! Which sentences of a message make one statement.

use super::Line;
use super::kind::Kind;
use crate::text::script::count_han;

/// Longest statement of several sentences, in characters.
const MAX_CHARS: usize = 320;
/// Fewest words, or half as many Chinese characters, of a statement.
const MIN_WORDS: usize = 5;
/// The same of a statement that says who somebody is, or what they like or cannot bear.
const MIN_PLAIN_WORDS: usize = 3;

/// Fewest words of a sentence that tells what the next one speaks of.
const MIN_JOINED_WORDS: usize = 3;
/// Fewest words of a statement that says "it" or "that" and has no sentence before it.
const MIN_CLEAR_WORDS: usize = 8;

/// A run of sentences that is kept as one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// First sentence.
    pub(super) first: usize,
    /// Last sentence.
    pub(super) last: usize,
    /// The sentence whose cue it was.
    pub(super) cued: usize,
    /// What it is about.
    pub(super) kind: Kind,
}

/// Returns the statements among `lines`, in order; none of them takes in a sentence that is `told` elsewhere.
///
/// Among people, whose messages are short, sentences that stand together say one thing; somebody with an assistant says one
/// thing a sentence, and gives it things to do between them.
pub(super) fn passages(lines: &[Line<'_>], told: &[bool], among_people: bool) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(kind) = line.cue.filter(|_| !told[at]) else { continue };
        let fits = |first: usize, last: usize| length(lines, first, last) <= MAX_CHARS;
        let joins = |other: usize| !lines[other].forbidden && !told[other] && lines[other].tongue == line.tongue;
        let is_short = words(&line.text) < if kind.is_plain() { MIN_PLAIN_WORDS } else { MIN_WORDS };
        let taken = found.last().map(|last| last.last);
        let (mut first, mut last) = (at, at);
        if let Some(before) = at.checked_sub(1).filter(|&before| taken.is_none_or(|taken| taken < before)) {
            // "Wait, they moved it" goes on from nothing: it takes back.
            let leans = ((line.leans || line.points) && !line.amends) || is_short;
            let wanted = (among_people && !line.shifts) || leans;
            if wanted && joins(before) && words(&lines[before].text) >= MIN_JOINED_WORDS && fits(before, at) {
                first = before;
            }
        }
        while last + 1 < lines.len() && joins(last + 1) && fits(first, last + 1) {
            let next = &lines[last + 1];
            let goes_on = among_people || next.amends || (next.leans && next.cue.is_some());
            if next.shifts || !goes_on {
                break;
            }
            last += 1;
        }
        if taken.is_some_and(|taken| taken >= at) {
            continue;
        }
        let needs = line.leans || is_short || (line.points && words(&line.text) < MIN_CLEAR_WORDS);
        let whole = first < at || !needs || (among_people && last > at && !line.leans);
        if whole {
            found.push(Passage { first, last, cued: at, kind });
        }
    }
    found
}

fn length(lines: &[Line<'_>], first: usize, last: usize) -> usize {
    lines[first..=last].iter().map(|line| line.said.chars().count() + 1).sum()
}

fn words(text: &str) -> usize {
    let han = count_han(text);
    text.split(' ').count() + han / 2
}
