//! A candidate made ready for deciding, and what it brings.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::memory::Evidence;
use transcripts::TimeSource;

use super::order::When;
use crate::consolidate::compare::features::{Features, Turn};
use crate::consolidate::compare::view::View;
use crate::consolidate::{Incoming, Known};
use crate::text::normalise::comparable;

/// A candidate made ready.
#[derive(Clone)]
pub(in crate::consolidate) struct Case<'a> {
    pub(in crate::consolidate) incoming: &'a Incoming,
    pub(in crate::consolidate) view: View<'a>,
    pub(in crate::consolidate) when: When,
    /// What its words, or those it rests on, say about what was known before.
    pub(in crate::consolidate) turn: Option<Turn>,
}

impl<'a> Case<'a> {
    pub(in crate::consolidate) fn new(incoming: &'a Incoming, now: Timestamp) -> Self {
        let candidate = &incoming.candidate;
        let view = View::of(&candidate.claim, &candidate.evidence);
        let turn =
            view.features.cue.or_else(|| candidate.evidence.iter().find_map(|piece| Features::of(&piece.quote).cue));
        Self { incoming, when: When::of(&candidate.claim, &candidate.evidence, now), view, turn }
    }

    pub(in crate::consolidate) fn evidence(&self) -> &'a [Evidence] {
        &self.incoming.candidate.evidence
    }

    /// Compares the candidate's time with that of a known memory.
    pub(in crate::consolidate) fn holds(&self, known: &Known) -> Option<Ordering> {
        self.when.compare(&When::of(&known.memory.claim, &known.evidence, known.memory.created_at))
    }
}

/// Whether `known` rests on everything that `evidence` brings: the same messages and words. Nothing covers nothing.
pub(in crate::consolidate) fn is_covered(evidence: &[Evidence], known: &[Evidence]) -> bool {
    !evidence.is_empty()
        && evidence.iter().all(|piece| {
            let quote = comparable(&piece.quote);
            known.iter().any(|other| is_same_message(piece, other) && comparable(&other.quote) == quote)
        })
}

/// A message is known by its transcript and id, or by its content where a fork gave it another id. A fork keeps the time:
/// who says the same words at another time says them again.
fn is_same_message(a: &Evidence, b: &Evidence) -> bool {
    (a.transcript == b.transcript && a.messages.first() == b.messages.first())
        || (!a.content_hash.is_empty() && a.content_hash == b.content_hash && !are_apart(a, b))
}

/// Whether their logs stamp two messages with different times.
fn are_apart(a: &Evidence, b: &Evidence) -> bool {
    let stamped = |piece: &Evidence| piece.said_at.filter(|time| time.source == TimeSource::Log).map(|time| time.at);
    stamped(a).zip(stamped(b)).is_some_and(|(a, b)| a != b)
}

/// Whether a candidate that says what `known` says would add no evidence either.
pub(in crate::consolidate) fn brings_nothing(case: &Case<'_>, known: &Known) -> bool {
    case.evidence().is_empty() || is_covered(case.evidence(), &known.evidence)
}
