//! What follows once it is known, or named, how two claims relate.

use std::cmp::Ordering;

use crate::memory::Claim;

use super::case::{Case, brings_nothing};
use super::order::When;
use crate::consolidate::compare::features::Turn;
use crate::consolidate::compare::view::View;
use crate::consolidate::{Conflict, Decision, Known, Ruling};

/// Longest wording that a merge by rules makes, in characters; beyond it both claims stay as they are.
const MAX_MERGED_CHARS: usize = 400;

/// Confidence by which the known claim must exceed the incoming one to stand against it at the same time.
const WEAK_BY: f64 = 0.25;

impl Ruling {
    /// Returns a ruling without target.
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
        Ruling::about(Decision::Skip, known, "known from the same words")
    } else {
        Ruling::about(Decision::Support, known, "known, said again")
    }
}

pub(in crate::consolidate) fn more(known: &Known, why: &str) -> Ruling {
    if known.memory.pinned {
        return Ruling { pending: true, ..Ruling::about(Decision::Refine, known, "more detail on a pinned memory") };
    }
    Ruling::about(Decision::Refine, known, why)
}

/// Joins two wordings of one value, if the result stays a short paragraph.
pub(in crate::consolidate) fn merge(case: &Case<'_>, known: &Known) -> Ruling {
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
    let wide = old.chars().next_back().is_some_and(|c| matches!(c, '\u{3000}'..='\u{9FFF}' | '！' | '？'));
    let between = match (ended, wide) {
        (true, true) => "",
        (false, true) => "。",
        (true, false) => " ",
        (false, false) => ". ",
    };
    format!("{old}{between}{new}")
}

/// Returns `known` with what only `incoming` has: tags, and fields that are empty in `known`.
pub(in crate::consolidate) fn enrich(known: &Claim, incoming: &Claim) -> Claim {
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

fn born_superseded(ruling: Ruling, known: &View<'_>, why: &str) -> Ruling {
    let conflict = if known.features.cue == Some(Turn::Corrected) { Conflict::Corrected } else { Conflict::Changed };
    let reason = format!("{why}; the known one holds later");
    Ruling { conflict: Some(conflict), born_superseded: true, reason, ..ruling }
}

/// Whether two people said different things on one day, and neither says that the other is out of date.
fn is_disputed(case: &Case<'_>, known: &Known, view: &View<'_>) -> bool {
    let said = When::of(&known.memory.claim, &known.evidence, known.memory.created_at);
    let (ours, theirs) = (&case.view.speakers, &view.speakers);
    case.turn.is_none()
        && view.features.cue.is_none()
        && !ours.is_empty()
        && !theirs.is_empty()
        && ours.is_disjoint(theirs)
        && case.when.is_within_a_day(&said)
}

/// Settles a candidate that cannot hold together with memories that are held now.
///
/// The one that holds later wins. At the same time, or where a time is missing, words of change or correction decide,
/// and a weak claim does not stand against a sure one. What is left open waits for a person, as does everything that
/// would change a pinned memory.
pub(in crate::consolidate) fn oppose(case: &Case<'_>, known: &[(&Known, &View<'_>)], why: &str) -> Ruling {
    let latest = known.iter().max_by(|a, b| {
        let at = |known: &Known| When::of(&known.memory.claim, &known.evidence, known.memory.created_at).at;
        at(a.0).cmp(&at(b.0)).then_with(|| a.0.memory.id.cmp(&b.0.memory.id))
    });
    let Some((target, view)) = latest else { return Ruling::new(Decision::Add, "new") };
    let ruling = Ruling::about(Decision::Contradict, target, why);
    let turn = case.turn;
    let order = if is_disputed(case, target, view) { None } else { case.holds(target) };
    let known_is_later = order == Some(Ordering::Less)
        || (order.is_none_or(Ordering::is_eq) && turn.is_none() && view.features.cue.is_some());
    if known_is_later {
        return born_superseded(ruling, view, why);
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
