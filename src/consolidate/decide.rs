//! What is done with a candidate: exact and cheap rules, and what follows once a relation is named.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::memory::{Claim, Evidence, MemoryId, Status};

use super::features::{Features, Turn};
use super::key::{Values, canonical, compare};
use super::order::When;
use super::pair::{Paired, Pairing, View, guard, pair, unmergeable};
use super::text::normalise;
use super::{Conflict, Decision, Incoming, Known, Rejected, Ruling};

/// Known memories that one candidate is asked about at most.
pub const MAX_ASKED: usize = 5;

/// Longest wording that a merge by rules makes, in characters; beyond it both claims stay as they are.
const MAX_MERGED_CHARS: usize = 400;

/// Confidence by which the known claim must exceed the incoming one to stand against it at the same time.
const WEAK_BY: f64 = 0.25;

/// What the rules make of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The rules settle it.
    Settled(Ruling),
    /// The words do not settle it: these known memories come into question, the closest first.
    Grey(Vec<GreyPair>),
}

/// A known memory that the rules could not tell from the candidate, or tell apart from it.
#[derive(Debug, Clone, PartialEq)]
pub struct GreyPair {
    /// The known memory.
    pub id: MemoryId,
    /// Why the rules leave it open.
    pub why: &'static str,
    /// Shared content words over those of the shorter claim, 0–1.
    pub overlap: f64,
}

/// How a model says that a candidate relates to a known memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// It says nothing that is not known.
    Duplicate,
    /// It says the same thing in more detail.
    MoreDetail,
    /// It belongs to the same matter, and both hold.
    Complementary,
    /// Both cannot hold, and for this reason if one is known.
    Contradicts(Option<Turn>),
    /// It is about something else.
    Unrelated,
}

/// A candidate made ready, with the known memories of its namespace.
struct Case<'a> {
    incoming: &'a Incoming,
    view: View<'a>,
    when: When,
    /// What its words, or those it rests on, say about what was known before.
    turn: Option<Turn>,
}

/// Decides what is done with `incoming`, given the `known` memories that come into question.
///
/// Memories of other namespaces are not looked at. Cheap rules come first: rejected values, the same words, a common
/// attribute, then the overlap of content words between the guards of [`pair`]. `now` is when the candidate counts as
/// written if it rests on no evidence.
#[must_use]
pub fn decide(incoming: &Incoming, known: &[Known], rejected: &[Rejected], now: Timestamp) -> Verdict {
    let case = Case::new(incoming, now);
    if is_rejected(&case, known, rejected) {
        return Verdict::Settled(Ruling::new(Decision::Skip, "rejected before"));
    }
    let here: Vec<&Known> = known.iter().filter(|known| known.memory.namespace == incoming.namespace).collect();
    let pairs: Vec<(&Known, View<'_>, Paired)> = here
        .iter()
        .map(|known| {
            let view = View::of(&known.memory.claim, &known.evidence);
            let hinted = incoming.candidate.replaces.as_ref() == Some(&known.memory.id);
            let paired = pair(&case.view, &view, hinted);
            (*known, view, paired)
        })
        .collect();
    by_identity(&case, &pairs).or_else(|| by_pairs(&case, &pairs)).unwrap_or_else(|| grey(&case, &pairs))
}

/// Returns what follows from a relation that was named between `incoming` and `known`.
///
/// The relation is taken only as far as the guards allow: names and numbers that differ are never merged, and nothing
/// is retired that does not share the attribute, or the subject and most of the words. Else both are kept and linked.
#[must_use]
pub fn resolve(incoming: &Incoming, known: &Known, named: Named, now: Timestamp) -> Ruling {
    let case = Case::new(incoming, now);
    let view = View::of(&known.memory.claim, &known.evidence);
    match named {
        Named::Unrelated => Ruling::new(Decision::Add, "new"),
        Named::Complementary => Ruling::beside(known, "both hold"),
        Named::Duplicate => match unmergeable(&case.view, &view) {
            Some(why) => Ruling::beside(known, why),
            None => same(&case, known),
        },
        Named::MoreDetail => match unmergeable(&case.view, &view) {
            Some(why) => Ruling::beside(known, why),
            None => more(known, "in more detail"),
        },
        Named::Contradicts(turn) if guard(&case.view, &view).is_none() && case.view.may_retire(&view) => {
            let case = Case { turn: turn.or(case.turn), ..case };
            oppose(&case, &[(known, &view)], "both cannot hold")
        }
        Named::Contradicts(_) => Ruling::beside(known, "named as a contradiction, of another attribute"),
    }
}

/// Returns the cautious choice for a candidate that nobody settles: it is kept, and linked to the closest.
#[must_use]
pub fn cautious(pairs: &[GreyPair]) -> Ruling {
    let closest = pairs.first();
    Ruling {
        related: closest.map(|pair| pair.id.clone()),
        ..Ruling::new(Decision::Add, closest.map_or("new", |pair| pair.why))
    }
}

impl Ruling {
    /// Returns a ruling without target.
    pub(super) fn new(decision: Decision, reason: &str) -> Self {
        Self {
            decision,
            conflict: None,
            target: None,
            also: Vec::new(),
            related: None,
            merged: None,
            born_superseded: false,
            pending: false,
            reason: reason.to_owned(),
        }
    }

    fn about(decision: Decision, known: &Known, reason: &str) -> Self {
        Self { target: Some(known.memory.id.clone()), ..Self::new(decision, reason) }
    }

    fn beside(known: &Known, reason: &str) -> Self {
        Self { related: Some(known.memory.id.clone()), ..Self::new(Decision::Add, reason) }
    }
}

impl<'a> Case<'a> {
    fn new(incoming: &'a Incoming, now: Timestamp) -> Self {
        let candidate = &incoming.candidate;
        let view = View::of(&candidate.claim, &candidate.evidence);
        let turn =
            view.features.cue.or_else(|| candidate.evidence.iter().find_map(|piece| Features::of(&piece.quote).cue));
        Self { incoming, when: When::of(&candidate.claim, &candidate.evidence, now), view, turn }
    }

    fn evidence(&self) -> &'a [Evidence] {
        &self.incoming.candidate.evidence
    }

    /// Compares the candidate's time with that of a known memory.
    fn holds(&self, known: &Known) -> Option<Ordering> {
        self.when.compare(&When::of(&known.memory.claim, &known.evidence, known.memory.created_at))
    }
}

/// Whether `known` rests on everything that `evidence` brings: the same messages and words. Nothing covers nothing.
#[must_use]
pub fn is_covered(evidence: &[Evidence], known: &[Evidence]) -> bool {
    !evidence.is_empty()
        && evidence.iter().all(|piece| {
            let quote = normalise(&piece.quote);
            known.iter().any(|other| is_same_message(piece, other) && normalise(&other.quote) == quote)
        })
}

/// A message is known by its transcript and id, or by its content where a fork gave it another id.
fn is_same_message(a: &Evidence, b: &Evidence) -> bool {
    (a.transcript == b.transcript && a.messages.first() == b.messages.first())
        || (!a.content_hash.is_empty() && a.content_hash == b.content_hash)
}

/// Whether a candidate that says what `known` says would add no evidence either.
fn brings_nothing(case: &Case<'_>, known: &Known) -> bool {
    case.evidence().is_empty() || is_covered(case.evidence(), &known.evidence)
}

fn is_rejected(case: &Case<'_>, known: &[Known], rejected: &[Rejected]) -> bool {
    let claim = case.view.claim;
    let matches = |content: &str, key: Option<&str>, value: Option<&str>| {
        let features = Features::of(content);
        let same_value = case.view.key.is_some()
            && key.map(canonical) == case.view.key
            && compare(claim.value.as_deref(), value) == Some(Values::Equal);
        features.text == case.view.features.text || (same_value && features.polarity == case.view.features.polarity)
    };
    let forgotten = known
        .iter()
        .filter(|known| known.memory.status == Status::Forgotten && known.memory.namespace == case.incoming.namespace)
        .map(|known| &known.memory.claim);
    rejected.iter().any(|value| matches(&value.content, value.key.as_deref(), value.value.as_deref()))
        || forgotten.into_iter().any(|claim| matches(&claim.content, claim.key.as_deref(), claim.value.as_deref()))
}

/// Settles candidates whose very words are known, whatever has become of the memory since.
///
/// What a memory rests on already is settled first: it was decided before, and nothing learnt since reopens it.
fn by_identity(case: &Case<'_>, pairs: &[(&Known, View<'_>, Paired)]) -> Option<Verdict> {
    let before = pairs
        .iter()
        .find(|(known, _, paired)| paired.pairing == Pairing::Same && is_covered(case.evidence(), &known.evidence));
    if let Some((known, ..)) = before {
        return Some(Verdict::Settled(Ruling::about(Decision::Skip, known, "known from the same words")));
    }
    let mut exact: Vec<&Known> = pairs
        .iter()
        .filter(|(_, view, paired)| paired.pairing == Pairing::Same && view.features.text == case.view.features.text)
        .map(|(known, ..)| *known)
        .collect();
    exact.sort_by_key(|known| rank(known.memory.status));
    let known = exact.iter().find(|known| brings_nothing(case, known)).or(exact.first())?;
    if brings_nothing(case, known) {
        return Some(Verdict::Settled(Ruling::about(Decision::Skip, known, "known from the same words")));
    }
    let current = |wanted: Pairing| {
        pairs.iter().any(|(known, _, paired)| paired.pairing == wanted && known.memory.status == Status::Active)
    };
    match known.memory.status {
        Status::Active | Status::Pending => Some(Verdict::Settled(same(case, known))),
        Status::Superseded if !current(Pairing::Same) && !current(Pairing::Opposed) && !is_said_again(case, known) => {
            Some(Verdict::Settled(Ruling::about(Decision::Support, known, "known, and replaced since")))
        }
        Status::Superseded | Status::Forgotten | Status::Expired => None,
    }
}

/// Whether a replaced value is said to hold after it was replaced: the world moved back.
fn is_said_again(case: &Case<'_>, known: &Known) -> bool {
    case.when.at.zip(known.memory.claim.valid_to).is_some_and(|(at, ended)| at > ended)
}

const fn rank(status: Status) -> u8 {
    match status {
        Status::Active => 0,
        Status::Pending => 1,
        Status::Superseded => 2,
        Status::Expired => 3,
        Status::Forgotten => 4,
    }
}

/// Settles what the pairings with current memories settle, the strongest first.
fn by_pairs(case: &Case<'_>, pairs: &[(&Known, View<'_>, Paired)]) -> Option<Verdict> {
    let closest = |wanted: Pairing, statuses: &[Status]| {
        let mut found: Vec<&(&Known, View<'_>, Paired)> = pairs
            .iter()
            .filter(|(known, _, paired)| paired.pairing == wanted && statuses.contains(&known.memory.status))
            .collect();
        found.sort_by(|a, b| b.2.overlap.total_cmp(&a.2.overlap));
        found
    };
    if let Some((known, ..)) = closest(Pairing::Same, &[Status::Active, Status::Pending]).first() {
        return Some(Verdict::Settled(same(case, known)));
    }
    let opposed = closest(Pairing::Opposed, &[Status::Active]);
    if let Some((_, _, paired)) = opposed.first() {
        let against: Vec<_> = opposed.iter().map(|(known, view, _)| (*known, view)).collect();
        let ruling = oppose(case, &against, paired.why);
        let replaced = closest(Pairing::Same, &[Status::Superseded]);
        return Some(Verdict::Settled(match replaced.first() {
            // An old value, said again at no later time: what replaced it stays.
            Some((known, ..)) if ruling.born_superseded || is_undecided(case, &opposed) => old_value_again(case, known),
            Some(_) | None => ruling,
        }));
    }
    if let Some((known, _, paired)) = closest(Pairing::More, &[Status::Active]).first() {
        return Some(Verdict::Settled(more(known, paired.why)));
    }
    let both = closest(Pairing::Both, &[Status::Active]);
    both.first().map(|(known, ..)| Verdict::Settled(merge(case, known)))
}

/// Whether no time and no word tells if the candidate holds after what it is opposed to.
fn is_undecided(case: &Case<'_>, opposed: &[&(&Known, View<'_>, Paired)]) -> bool {
    case.turn.is_none() && opposed.iter().all(|(known, ..)| case.holds(known).is_none_or(Ordering::is_eq))
}

fn old_value_again(case: &Case<'_>, known: &Known) -> Ruling {
    if brings_nothing(case, known) {
        Ruling::about(Decision::Skip, known, "known from the same words, and replaced since")
    } else {
        Ruling::about(Decision::Support, known, "known, and replaced since")
    }
}

fn same(case: &Case<'_>, known: &Known) -> Ruling {
    if brings_nothing(case, known) {
        Ruling::about(Decision::Skip, known, "known from the same words")
    } else {
        Ruling::about(Decision::Support, known, "known, said again")
    }
}

fn more(known: &Known, why: &str) -> Ruling {
    if known.memory.pinned {
        return Ruling { pending: true, ..Ruling::about(Decision::Refine, known, "more detail on a pinned memory") };
    }
    Ruling::about(Decision::Refine, known, why)
}

/// Joins two wordings of one value, if the result stays a short paragraph.
fn merge(case: &Case<'_>, known: &Known) -> Ruling {
    let (old, new) = (known.memory.claim.content.trim(), case.view.claim.content.trim());
    if known.memory.pinned {
        return Ruling { pending: true, ..Ruling::about(Decision::Merge, known, "adds to a pinned memory") };
    }
    if old.chars().count() + new.chars().count() > MAX_MERGED_CHARS {
        return Ruling::beside(known, "the same value, too long to join");
    }
    let merged = Claim { content: join(old, new), ..enrich(&known.memory.claim, case.view.claim) };
    Ruling { merged: Some(merged), ..Ruling::about(Decision::Merge, known, "the same value, each with its own detail") }
}

fn join(old: &str, new: &str) -> String {
    let ended = old.ends_with(['.', '!', '?', '。', '！', '？']);
    let wide = old.chars().next_back().is_some_and(|c| ('\u{3000}'..='\u{9FFF}').contains(&c));
    format!(
        "{old}{}{}{new}",
        if ended || wide { "" } else { "." },
        if wide && !ended {
            "。"
        } else if wide {
            ""
        } else {
            " "
        }
    )
}

/// Returns `known` with what only `incoming` has: tags, and fields that are empty in `known`.
#[must_use]
pub fn enrich(known: &Claim, incoming: &Claim) -> Claim {
    let mut tags = known.tags.clone();
    tags.extend(incoming.tags.iter().filter(|tag| !known.tags.contains(tag)).cloned());
    Claim {
        summary: known.summary.clone().or_else(|| incoming.summary.clone()),
        subject: known.subject.clone().or_else(|| incoming.subject.clone()),
        structured: known.structured.clone().or_else(|| incoming.structured.clone()),
        importance: known.importance.max(incoming.importance),
        valid_from: known.valid_from.or(incoming.valid_from),
        tags,
        ..known.clone()
    }
}

/// Settles a candidate that cannot hold together with memories that are held now.
///
/// The one that holds later wins. At the same time, or where a time is missing, words of change or correction decide,
/// and a weak claim does not stand against a sure one. What is left open waits for a person, as does everything that
/// would change a pinned memory.
fn oppose(case: &Case<'_>, known: &[(&Known, &View<'_>)], why: &str) -> Ruling {
    let latest = known.iter().max_by(|a, b| {
        let at = |known: &Known| When::of(&known.memory.claim, &known.evidence, known.memory.created_at).at;
        at(a.0).cmp(&at(b.0)).then_with(|| a.0.memory.id.cmp(&b.0.memory.id))
    });
    let Some((target, view)) = latest else { return Ruling::new(Decision::Add, "new") };
    let ruling = Ruling::about(Decision::Contradict, target, why);
    let (order, turn) = (case.holds(target), case.turn);
    let older = order == Some(Ordering::Less)
        || (order.is_none_or(Ordering::is_eq) && turn.is_none() && view.features.cue.is_some());
    if older {
        let conflict = if view.features.cue == Some(Turn::Corrected) { Conflict::Corrected } else { Conflict::Changed };
        return Ruling {
            conflict: Some(conflict),
            born_superseded: true,
            reason: format!("{why}; the known one holds later"),
            ..ruling
        };
    }
    let weak = case.view.claim.confidence + WEAK_BY <= target.memory.claim.confidence;
    let open = order != Some(Ordering::Greater) && (turn.is_none() || weak);
    let pinned = known.iter().any(|(known, _)| known.memory.pinned);
    if open || pinned {
        let reason =
            if pinned { format!("{why}; the known one is pinned") } else { format!("{why}; which one holds is open") };
        return Ruling { conflict: Some(Conflict::Conflict), pending: true, reason, ..ruling };
    }
    let conflict = if turn == Some(Turn::Corrected) { Conflict::Corrected } else { Conflict::Changed };
    let also = known.iter().map(|(known, _)| &known.memory.id).filter(|id| **id != target.memory.id).cloned().collect();
    Ruling { conflict: Some(conflict), also, reason: format!("{why}; {}", conflict.as_str()), ..ruling }
}

/// Gathers what the rules leave open, or adds the candidate if nothing is.
fn grey(case: &Case<'_>, pairs: &[(&Known, View<'_>, Paired)]) -> Verdict {
    let mut open: Vec<&(&Known, View<'_>, Paired)> = pairs
        .iter()
        .filter(|(known, _, paired)| paired.pairing == Pairing::Unsure && known.memory.status == Status::Active)
        .collect();
    open.sort_by(|a, b| b.2.overlap.total_cmp(&a.2.overlap).then_with(|| a.0.memory.id.cmp(&b.0.memory.id)));
    // A new wording of what an earlier run took from the same words is not worth a question.
    let taken = pairs.iter().find(|(known, _, paired)| {
        paired.pairing == Pairing::Unsure && !known.fresh && is_covered(case.evidence(), &known.evidence)
    });
    if let Some((known, ..)) = taken {
        return Verdict::Settled(Ruling::about(Decision::Skip, known, "known from the same words"));
    }
    if open.is_empty() {
        let earlier = pairs
            .iter()
            .find(|(_, view, paired)| paired.pairing == Pairing::Same && view.features.text == case.view.features.text);
        let ruling = Ruling::new(Decision::Add, if earlier.is_some() { "holds again" } else { "new" });
        return Verdict::Settled(Ruling { related: earlier.map(|(known, ..)| known.memory.id.clone()), ..ruling });
    }
    let asked = open.iter().take(MAX_ASKED);
    let pairs = asked.map(|(known, _, paired)| GreyPair {
        id: known.memory.id.clone(),
        why: paired.why,
        overlap: paired.overlap,
    });
    Verdict::Grey(pairs.collect())
}
