//! The candidate together with the known memories, the order of claims in time, and the result of their comparison.
//!
//! The order is determined by the time at which a claim is true in the world, not by arrival.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use transcripts::TimeSource;

use crate::consolidate::compare::features::{Features, Turn};
use crate::consolidate::compare::outdated::NEVER_TRUE;
use crate::consolidate::compare::tokens::is_stop_word;
use crate::consolidate::compare::view::View;
use crate::consolidate::{Conflict, Decision, IncomingClaim, Known, Ruling};
use crate::memory::{Claim, Evidence};
use crate::text::date::{self, Days, Written};
use crate::text::normalise::{caseless, comparable};
use crate::text::tokens::units;

/// The known time at which a claim was true.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ValidTime {
    /// The time from which the claim was true; if unknown, the time when it was last said; for a claim without
    /// evidence, the time when it was written.
    pub at: Option<Timestamp>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    /// Whether the claim is about the days of something that lies ahead, such as a release or a closure. Such days are
    /// the content of the claim, and do not show which of two plans was made last, unlike the start of a new state.
    is_plan: bool,
    /// The words of a claim that announces the day on which it becomes true, without the day.
    announced: BTreeSet<String>,
    /// The time when the claim was last said; for a claim without evidence, the time when it was written.
    pub said: Option<Timestamp>,
    /// Transcripts in which the claim was said, each with the position of the last message if messages are numbered.
    places: Vec<(String, u64)>,
}

impl ValidTime {
    /// Returns the valid time of a known memory.
    #[must_use]
    pub(crate) fn known(known: &Known) -> Self {
        Self::of(&known.memory.claim, &known.evidence, known.memory.created_at)
    }

    /// Returns when `claim` was true. `written_at` counts only if there is no evidence, since the arrival of a log says
    /// nothing about its content.
    #[must_use]
    pub(crate) fn of(claim: &Claim, evidence: &[Evidence], written_at: Timestamp) -> Self {
        let said = evidence.iter().filter_map(|piece| piece.said_at.map(|time| time.at)).max();
        // If there is evidence without a time, no time is assumed, since the log may be years old.
        let said = said.or(evidence.is_empty().then_some(written_at));
        let places = evidence.iter().filter_map(|piece| {
            // Only numbered messages have an order; other ids have no known order.
            let position = piece.messages.first()?.parse().ok()?;
            Some((piece.transcript.clone(), position))
        });
        let is_plan = is_ahead(claim.valid_from, said) && is_ahead(claim.valid_to, said) || is_dated(claim);
        // What is expected to end has not ended.
        let to = claim.valid_to.filter(|to| !is_plan && !is_ahead(Some(*to), said));
        let from = claim.valid_from;
        let announced = if is_ahead(from, said) { announced(claim) } else { BTreeSet::new() };
        Self { at: from.or(said), from, to, is_plan, announced, said, places: places.collect() }
    }

    /// Compares which of two contradicting claims describes the later state of the world.
    ///
    /// Two starting times are compared directly, unless both claims announce a day for the same thing, such as a release
    /// that was put off or brought forward; in that case, the claim that was said last is later. If only one claim has a starting time, the other is earlier if it was
    /// said before that time. Otherwise, the claim that was said last is later. A claim that had ended when it was said is
    /// dated by its end. The days of a plan do not count, nor do the days ahead of a claim that is compared with a plan.
    /// If times are equal or missing, the position in a common transcript decides. The result is `None` if the position
    /// does not decide either.
    #[must_use]
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        self.compare_times(other).filter(|order| order.is_ne()).or_else(|| self.compare_places(other))
    }

    fn compare_times(&self, other: &Self) -> Option<Ordering> {
        if self.to.is_some() || other.to.is_some() {
            return Some(self.last()?.cmp(&other.last()?));
        }
        if self.announces_the_same_as(other) {
            return Some(self.said?.cmp(&other.said?));
        }
        match (self.start_beside(other), other.start_beside(self)) {
            (Some(from), None) => self.compare_begun(from, other),
            (None, Some(from)) => other.compare_begun(from, self).map(Ordering::reverse),
            (Some(from), Some(theirs)) => Some(from.cmp(&theirs)),
            (None, None) => Some(self.said?.cmp(&other.said?)),
        }
    }

    /// Whether both claims announce a day for the same thing. The words of one claim may add to those of the other, but
    /// states with different words, such as "in Lima from 13 May" and "in Quito from 20 May", may follow one another.
    fn announces_the_same_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.announced, &other.announced);
        let contrary = |words: &BTreeSet<String>| CONTRARY.iter().filter(|word| words.contains(**word)).count();
        !ours.is_empty()
            && !theirs.is_empty()
            && (ours.is_subset(theirs) || theirs.is_subset(ours))
            && contrary(ours) == contrary(theirs)
    }

    /// Returns the starting time that counts in a comparison with `other`.
    fn start_beside(&self, other: &Self) -> Option<Timestamp> {
        self.from.filter(|_| !(self.is_plan || other.is_plan && is_ahead(self.from, self.said)))
    }

    /// Compares a claim that has a known starting time with a claim of which it is only known when it was said.
    fn compare_begun(&self, from: Timestamp, other: &Self) -> Option<Ordering> {
        let theirs = other.said?;
        Some(if theirs < from { Ordering::Greater } else { self.said.unwrap_or(from).cmp(&theirs) })
    }

    /// Whether both claims were said, or became true, less than a day apart.
    #[must_use]
    pub(crate) fn is_within_a_day(&self, other: &Self) -> bool {
        self.at.zip(other.at).is_some_and(|(a, b)| a.duration_since(b).abs() < SignedDuration::from_hours(24))
    }

    /// Returns the last time at which the claim is known to have been true.
    fn last(&self) -> Option<Timestamp> {
        self.to.or_else(|| self.said.max(self.from.filter(|_| !self.is_plan)))
    }

    fn compare_places(&self, other: &Self) -> Option<Ordering> {
        let last = |when: &Self, transcript: &str| {
            when.places.iter().filter(|(name, _)| name == transcript).map(|(_, position)| *position).max()
        };
        self.places.iter().find_map(|(transcript, _)| {
            let order = last(self, transcript)?.cmp(&last(other, transcript)?);
            order.is_ne().then_some(order)
        })
    }
}

/// Whether a time was still ahead when a claim was said.
fn is_ahead(at: Option<Timestamp>, said: Option<Timestamp>) -> bool {
    at.zip(said).is_some_and(|(at, said)| at > said)
}

/// Whether the claim is about the day from which it is valid, such as the date of a release.
fn is_dated(claim: &Claim) -> bool {
    let Some((value, from)) = claim.value.as_deref().zip(claim.valid_from) else { return false };
    // "1.2" may be a version, so the value must be the day from which the claim is valid.
    date::written(value).iter().any(|written| is_day(written, from))
}

/// Whether a written date may be the day on which `from` is.
fn is_day(written: &Written, from: Timestamp) -> bool {
    let day = from.to_zoned(TimeZone::UTC).date();
    written.meanings.iter().any(|days: &Days| days.within(day.year()) == Some((day, day)))
}

/// Function words that turn a statement into its opposite: "on from 1 May" and "off from 1 June" are different states.
const CONTRARY: [&str; 14] =
    ["off", "not", "no", "never", "without", "nicht", "kein", "keine", "aus", "zu", "sin", "nunca", "pas", "jamais"];

/// Returns the words of a claim whose text states the day from which it is valid, without that day.
fn announced(claim: &Claim) -> BTreeSet<String> {
    let (content, from) = (&claim.content, claim.valid_from);
    // East of Greenwich, the day begins while it is still the day before in UTC.
    let days = from.into_iter().flat_map(|from| [Some(from), from.checked_add(SignedDuration::from_hours(12)).ok()]);
    let days: Vec<Timestamp> = days.flatten().collect();
    let written = date::written(content);
    if !written.iter().any(|one| days.iter().any(|day| is_day(one, *day))) {
        return BTreeSet::new();
    }
    let is_in_day = |at: usize| written.iter().any(|one| one.at.contains(&at));
    let rest: String = content.char_indices().map(|(at, c)| if is_in_day(at) { ' ' } else { c }).collect();
    // The words are not reduced to stems, because the language of a few words is not always recognised.
    let counts =
        |word: &String| CONTRARY.contains(&word.as_str()) || !is_stop_word(word) && date::weekday(word).is_none();
    units(&rest).into_iter().filter(counts).collect()
}

/// A candidate prepared for comparison.
#[derive(Clone)]
pub(in crate::consolidate) struct Case<'a> {
    pub(in crate::consolidate) incoming: &'a IncomingClaim,
    pub(in crate::consolidate) view: View<'a>,
    pub(in crate::consolidate) when: ValidTime,
    /// What the candidate's words or its evidence say about earlier knowledge.
    pub(in crate::consolidate) turn: Option<Turn>,
}

impl<'a> Case<'a> {
    pub(in crate::consolidate) fn new(incoming: &'a IncomingClaim, now: Timestamp) -> Self {
        let candidate = &incoming.candidate;
        let view = View::of(&candidate.claim, &candidate.evidence);
        let turn =
            view.features.cue.or_else(|| candidate.evidence.iter().find_map(|piece| Features::of(&piece.quote).cue));
        Self { incoming, when: ValidTime::of(&candidate.claim, &candidate.evidence, now), view, turn }
    }

    pub(in crate::consolidate) fn evidence(&self) -> &'a [Evidence] {
        &self.incoming.candidate.evidence
    }

    /// Compares the candidate's time with that of a known memory.
    pub(in crate::consolidate) fn holds(&self, known: &Known) -> Option<Ordering> {
        self.when.compare(&ValidTime::known(known))
    }
}

/// Whether the evidence of `known` includes the same messages and words as all of `evidence`. Empty evidence is not
/// covered.
pub(in crate::consolidate) fn is_covered(evidence: &[Evidence], known: &[Evidence]) -> bool {
    !evidence.is_empty()
        && evidence.iter().all(|piece| {
            let quote = comparable(&piece.quote);
            known.iter().any(|other| is_same_message(piece, other) && comparable(&other.quote) == quote)
        })
}

/// Whether a message is evidence on both sides.
pub(in crate::consolidate) fn shares_message(evidence: &[Evidence], known: &[Evidence]) -> bool {
    evidence.iter().any(|piece| known.iter().any(|other| is_same_message(piece, other)))
}

/// A message is identified by its transcript and id, or by its content if a fork of the conversation gave it a
/// different id. A fork keeps the time of a message, so the same words at a different time are a repetition.
fn is_same_message(a: &Evidence, b: &Evidence) -> bool {
    (a.transcript == b.transcript && a.messages.first() == b.messages.first())
        || (!a.content_hash.is_empty() && a.content_hash == b.content_hash && !are_apart(a, b))
}

/// Whether the logs give two messages different times.
fn are_apart(a: &Evidence, b: &Evidence) -> bool {
    let stamped = |piece: &Evidence| piece.said_at.filter(|time| time.source == TimeSource::Log).map(|time| time.at);
    stamped(a).zip(stamped(b)).is_some_and(|(a, b)| a != b)
}

/// Whether a candidate with the same statement as `known` would add no evidence.
pub(in crate::consolidate) fn brings_nothing(case: &Case<'_>, known: &Known) -> bool {
    case.evidence().is_empty() || is_covered(case.evidence(), &known.evidence)
}

/// Maximum length, in characters, of text that rules merge; if it would be longer, both claims are kept.
const MAX_MERGED_CHARS: usize = 400;

/// Minimum difference in confidence for the known claim to prevail over an incoming claim about the same time.
const WEAK_BY: f64 = 0.25;

impl Ruling {
    /// Returns a ruling without a target.
    pub(in crate::consolidate) fn new(decision: Decision, reason: &str) -> Self {
        Self {
            decision,
            conflict: None,
            target: None,
            also: Vec::new(),
            related: None,
            merged: None,
            rest: None,
            born_superseded: false,
            pending: false,
            reason: reason.to_owned(),
        }
    }

    pub(in crate::consolidate) fn about(decision: Decision, known: &Known, reason: &str) -> Self {
        Self { target: Some(known.memory.id.clone()), ..Self::new(decision, reason) }
    }

    pub(in crate::consolidate) fn beside(known: &Known, reason: &str) -> Self {
        Self { related: Some(known.memory.id.clone()), ..Self::new(Decision::Add, reason) }
    }
}

pub(in crate::consolidate) fn same(case: &Case<'_>, known: &Known) -> Ruling {
    if brings_nothing(case, known) {
        Ruling::about(Decision::Skip, known, "already known in the same words")
    } else {
        Ruling::about(Decision::Support, known, "known, and stated again")
    }
}

pub(in crate::consolidate) fn more(known: &Known, why: &str) -> Ruling {
    if known.memory.pinned {
        return Ruling { pending: true, ..Ruling::about(Decision::Refine, known, "more detail on a pinned memory") };
    }
    Ruling::about(Decision::Refine, known, why)
}

/// Joins two wordings of one value if the result is a short paragraph.
pub(in crate::consolidate) fn merge(case: &Case<'_>, known: &Known) -> Ruling {
    let (old, new) = (known.memory.claim.content.trim(), case.view.claim.content.trim());
    if known.memory.pinned {
        return Ruling { pending: true, ..Ruling::about(Decision::Merge, known, "adds to a pinned memory") };
    }
    // A merged memory grows with each detail; beyond this length, two memories are easier to read and compare.
    if old.chars().count() + new.chars().count() > MAX_MERGED_CHARS {
        return Ruling::beside(known, "the same value, but too long to merge");
    }
    let merged = Claim { content: join(old, new), ..enrich(&known.memory.claim, case.view.claim) };
    Ruling {
        merged: Some(merged),
        ..Ruling::about(Decision::Merge, known, "the same value, but with different details")
    }
}

fn join(old: &str, new: &str) -> String {
    let ended = old.ends_with(['.', '!', '?', '。', '！', '？']);
    let wide = old.chars().next_back().is_some_and(|c| matches!(c, '\u{3000}'..='\u{9FFF}' | '！' | '？'));
    let between = match (ended, wide) {
        (true, true) => "",
        (false, true) => "。",
        (true, false) => " ",
        (false, false) => ". ",
    };
    format!("{old}{between}{new}")
}

/// Returns the expiry of a claim that combines both: none if one of them never expires, otherwise the later one.
pub(in crate::consolidate) fn joint_expiry(one: &Claim, other: &Claim) -> Option<Timestamp> {
    one.expires_at.zip(other.expires_at).map(|(a, b)| a.max(b))
}

/// Returns `known` with additions from `incoming`: its tags, and the fields that are empty in `known`. Another subject
/// becomes a tag, because a memory is found by each subject under which it was stored.
pub(crate) fn enrich(known: &Claim, incoming: &Claim) -> Claim {
    let is_other = |subject: &&String| known.subject.as_ref().is_some_and(|own| caseless(own) != caseless(subject));
    let other = incoming.subject.iter().filter(is_other);
    let mut tags = known.tags.clone();
    tags.extend(incoming.tags.iter().chain(other).filter(|tag| !known.tags.contains(tag)).cloned());
    Claim {
        summary: known.summary.clone().or_else(|| incoming.summary.clone()),
        subject: known.subject.clone().or_else(|| incoming.subject.clone()),
        structured: known.structured.clone().or_else(|| incoming.structured.clone()),
        importance: known.importance.max(incoming.importance),
        valid_from: known.valid_from.or(incoming.valid_from),
        expires_at: joint_expiry(known, incoming),
        tags,
        ..known.clone()
    }
}

fn born_superseded(ruling: Ruling, known: &View<'_>, why: &str) -> Ruling {
    let conflict = if known.features.cue == Some(Turn::Corrected) { Conflict::Corrected } else { Conflict::Changed };
    let reason = format!("{why}; the known memory is the more recent one");
    Ruling { conflict: Some(conflict), born_superseded: true, reason, ..ruling }
}

/// Whether two people said different things on the same day, and neither of them says that the other statement is out
/// of date.
fn is_disputed(case: &Case<'_>, known: &Known, view: &View<'_>) -> bool {
    let said = ValidTime::known(known);
    let (ours, theirs) = (&case.view.speakers, &view.speakers);
    case.turn.is_none()
        && view.features.cue.is_none()
        && !ours.is_empty()
        && !theirs.is_empty()
        && ours.is_disjoint(theirs)
        && case.when.is_within_a_day(&said)
}

/// Decides about a candidate that contradicts current memories.
///
/// The claim that is true later wins. If the times are equal or unknown, words that express a change or a correction
/// decide, and a claim of low confidence does not replace a claim of high confidence. An undecided conflict waits for
/// review by a person, as does everything that would change a pinned memory.
pub(in crate::consolidate) fn oppose(case: &Case<'_>, known: &[(&Known, &View<'_>)], why: &str) -> Ruling {
    let latest = known.iter().max_by(|a, b| {
        ValidTime::known(a.0).at.cmp(&ValidTime::known(b.0).at).then_with(|| a.0.memory.id.cmp(&b.0.memory.id))
    });
    let Some((target, view)) = latest else { return Ruling::new(Decision::Add, "new") };
    let ruling = Ruling::about(Decision::Contradict, target, why);
    let is_mistake = why == NEVER_TRUE;
    let turn = if is_mistake { Some(Turn::Corrected) } else { case.turn };
    // If two people spoke on the same day, the order of messages does not show who is right.
    let order = match () {
        () if is_disputed(case, target, view) => None,
        // The day of what was corrected says nothing about when it was corrected.
        () if is_mistake => case.when.said.zip(ValidTime::known(target).said).map(|(ours, theirs)| ours.cmp(&theirs)),
        () => case.holds(target),
    };
    let known_is_later = order == Some(Ordering::Less)
        || (order.is_none_or(Ordering::is_eq) && turn.is_none() && view.features.cue.is_some());
    if known_is_later {
        return born_superseded(ruling, view, why);
    }
    let weak = case.view.claim.confidence + WEAK_BY <= target.memory.claim.confidence;
    // A later time is sufficient by itself; otherwise, words that express a change and a claim that is not weak are
    // required.
    let open = order != Some(Ordering::Greater) && (turn.is_none() || weak);
    let pinned = known.iter().any(|(known, _)| known.memory.pinned);
    if open || pinned {
        let reason = if pinned {
            format!("{why}; the known memory is pinned")
        } else {
            format!("{why}; it is unclear which one is true")
        };
        return Ruling { conflict: Some(Conflict::Conflict), pending: true, reason, ..ruling };
    }
    let conflict = if turn == Some(Turn::Corrected) { Conflict::Corrected } else { Conflict::Changed };
    let also = known.iter().map(|(known, _)| &known.memory.id).filter(|id| **id != target.memory.id).cloned().collect();
    Ruling { conflict: Some(conflict), also, reason: format!("{why}; {}", conflict.as_str()), ..ruling }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryType;
    use transcripts::MessageTime;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn said(transcript: &str, message: &str, time: Option<&str>) -> Evidence {
        Evidence {
            transcript: transcript.into(),
            messages: vec![message.into()],
            quote: "q".into(),
            speaker: None,
            said_at: time.map(|time| MessageTime::logged(at(time))),
            content_hash: "h".into(),
        }
    }

    #[test]
    fn valid_time_beats_saying_and_saying_beats_writing() {
        let now = at("2026-06-01T00:00:00Z");
        let mut claim = Claim::new(MemoryType::Semantic, "fact", "t", "c");
        assert_eq!(ValidTime::of(&claim, &[], now).at, Some(now));
        let evidence = [said("a", "1", Some("2026-01-01T00:00:00Z")), said("a", "2", Some("2026-02-01T00:00:00Z"))];
        assert_eq!(ValidTime::of(&claim, &evidence, now).at, Some(at("2026-02-01T00:00:00Z")));
        claim.valid_from = Some(at("2020-01-01T00:00:00Z"));
        assert_eq!(ValidTime::of(&claim, &evidence, now).at, Some(at("2020-01-01T00:00:00Z")));
    }

    #[test]
    fn the_later_state_of_the_world_is_told_by_beginnings_ends_and_words() {
        let when = |said: &str, from: Option<&str>, to: Option<&str>| {
            let time = |day: &str| at(&format!("{day}T00:00:00Z"));
            let mut claim = Claim::new(MemoryType::Semantic, "fact", "t", "c");
            (claim.valid_from, claim.valid_to) = (from.map(time), to.map(time));
            ValidTime::of(&claim, &[said_on(said)], at("2026-06-01T00:00:00Z"))
        };
        let rows = [
            // For both, it is only known when they were said.
            (("2026-04-01", None, None), ("2026-03-01", None, None), Some(Ordering::Greater)),
            // Said last, about a period that began before the other claim was said.
            (("2026-04-01", Some("2025-12-01"), None), ("2026-03-01", None, None), Some(Ordering::Greater)),
            (("2026-02-01", Some("2025-12-01"), None), ("2026-03-01", None, None), Some(Ordering::Less)),
            // Announced before the period began.
            (("2026-02-01", Some("2026-05-01"), None), ("2026-03-01", None, None), Some(Ordering::Greater)),
            (("2026-04-01", Some("2024-01-01"), None), ("2026-03-01", Some("2025-01-01"), None), Some(Ordering::Less)),
            // Ended before the other claim was said.
            (("2026-04-01", None, Some("2019-01-01")), ("2026-03-01", None, None), Some(Ordering::Less)),
            (("2026-04-01", Some("2026-01-01"), None), ("2026-03-01", Some("2026-01-01"), None), None),
        ];
        for ((said_a, from_a, to_a), (said_b, from_b, to_b), expected) in rows {
            let (a, b) = (when(said_a, from_a, to_a), when(said_b, from_b, to_b));
            assert_eq!(a.compare(&b), expected, "{a:?} / {b:?}");
            assert_eq!(b.compare(&a), expected.map(Ordering::reverse), "{b:?} / {a:?}");
        }
    }

    #[test]
    fn the_plan_that_was_made_last_is_the_later_one_whatever_its_days_are() {
        let when = |said: &str, value: &str, from: Option<&str>| {
            let mut claim = Claim::new(MemoryType::Semantic, "decision", "t", "c");
            (claim.key, claim.value) = (Some("project.fair".into()), Some(value.into()));
            claim.valid_from = from.map(|day| at(&format!("{day}T00:00:00Z")));
            ValidTime::of(&claim, &[said_on(said)], at("2026-06-01T00:00:00Z"))
        };
        let put_off = when("2026-03-01", "2026-05-20", Some("2026-05-20"));
        for again in [when("2026-03-02", "2026-05-13", None), when("2026-03-02", "May 13", Some("2026-05-13"))] {
            assert_eq!(again.compare(&put_off), Some(Ordering::Greater));
        }
        let plan = |said: &str, from: Option<&str>, to: Option<&str>| {
            let day = |day: &str| at(&format!("{day}T00:00:00Z"));
            let mut claim = Claim::new(MemoryType::Semantic, "task", "t", "c");
            (claim.valid_from, claim.valid_to) = (from.map(day), to.map(day));
            ValidTime::of(&claim, &[said_on(said)], at("2026-06-01T00:00:00Z"))
        };
        let race = plan("2026-02-05", Some("2026-04-12"), Some("2026-04-12"));
        assert_eq!(plan("2026-03-25", Some("2026-03-24"), Some("2026-04-12")).compare(&race), Some(Ordering::Greater));
        let repair = plan("2026-02-24", None, Some("2026-05-31"));
        assert_eq!(plan("2026-04-07", None, None).compare(&repair), Some(Ordering::Greater));
        let closure = plan("2026-02-24", Some("2026-05-04"), Some("2026-05-08"));
        let moved = plan("2026-03-24", Some("2026-05-01"), Some("2026-05-05"));
        assert_eq!(moved.compare(&closure), Some(Ordering::Greater));
        let opening = plan("2026-02-24", Some("2026-05-20"), None);
        assert_eq!(when("2026-03-02", "2026-05-13", Some("2026-05-13")).compare(&opening), Some(Ordering::Greater));
        let announced = |said: &str, content: &str, from: &str| {
            let claim = Claim { valid_from: Some(at(from)), ..Claim::new(MemoryType::Semantic, "fact", "t", content) };
            ValidTime::of(&claim, &[said_on(said)], at("2026-06-01T00:00:00Z"))
        };
        let release =
            announced("2026-02-24", "The release of Kelpie is on Friday, 20 March 2026.", "2026-03-20T00:00:00Z");
        for (said, content, from, expected) in [
            ("2026-03-02", "The release of Kelpie is now on 13 March 2026.", "2026-03-13T00:00:00Z", Ordering::Greater),
            (
                "2026-03-02",
                "The release of Kelpie is on 2026-03-13, before the fair.",
                "2026-03-12T23:00:00Z",
                Ordering::Greater,
            ),
            ("2026-02-20", "The release of Kelpie is on 27 March 2026.", "2026-03-27T00:00:00Z", Ordering::Less),
            (
                "2026-03-02",
                "The release of Kelpie moves from Friday, 2026-03-20, to Thursday, 12 March 2026.",
                "2026-03-12T00:00:00Z",
                Ordering::Greater,
            ),
            ("2026-03-02", "The release of Kelpie is not on 13 March 2026.", "2026-03-13T00:00:00Z", Ordering::Less),
            // Something else, and a day that had passed when it was mentioned.
            ("2026-03-02", "The fair in Turin is on 13 March 2026.", "2026-03-13T00:00:00Z", Ordering::Less),
            ("2026-03-02", "The release of Kelpie was on 1 March 2026.", "2026-03-01T00:00:00Z", Ordering::Less),
        ] {
            let other = announced(said, content, from);
            assert_eq!(other.compare(&release), Some(expected), "{content}");
            assert_eq!(release.compare(&other), Some(expected.reverse()), "{content}");
        }
        // The start of a state is compared with the start of another, also if both announce the day.
        let move_to = |said: &str, city: &str, day: &str| {
            announced(
                said,
                &format!("The office moves to {city} on 2026-05-{day}."),
                &format!("2026-05-{day}T00:00:00Z"),
            )
        };
        let order = move_to("2026-03-02", "Lima", "13").compare(&move_to("2026-03-01", "Quito", "20"));
        assert_eq!(order, Some(Ordering::Less));
        let [lima, quito] = [("2026-03-02", "Lima", "2026-05-13"), ("2026-03-01", "Quito", "2026-05-20")]
            .map(|(said, value, from)| when(said, value, Some(from)));
        assert_eq!(lima.compare(&quito), Some(Ordering::Less));
    }

    fn said_on(day: &str) -> Evidence {
        Evidence { messages: vec!["x".into()], ..said("log", "x", Some(&format!("{day}T00:00:00Z"))) }
    }

    #[test]
    fn undated_claims_are_ordered_within_one_transcript_only() {
        let claim = Claim::new(MemoryType::Semantic, "fact", "t", "c");
        let when = |transcript: &str, message: &str| {
            ValidTime::of(&claim, &[said(transcript, message, None)], at("2026-06-01T00:00:00Z"))
        };
        assert_eq!(when("a", "10").compare(&when("a", "9")), Some(Ordering::Greater));
        assert_eq!(when("a", "9").compare(&when("b", "10")), None);
        assert_eq!(when("a", "x").compare(&when("a", "y")), None);
        assert_eq!(when("a", "9").compare(&when("a", "9")), None);
    }
}
