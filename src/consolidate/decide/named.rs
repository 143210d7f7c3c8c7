//! What follows from the relations that a model names between a candidate and known memories.
//!
//! A model names; the code decides. Names and numbers that differ are never made one, nothing is retired that is not of
//! the same person and matter, time tells which of two claims stands, and no word of a memory goes without being kept
//! elsewhere. Where that forbids what was named, both are kept and linked.

use jiff::Timestamp;

use super::case::Case;
use super::ruling::{merge, more, oppose, same};
use crate::consolidate::compare::features::{Features, Polarity, Turn};
use crate::consolidate::compare::guards::{extra, other_people};
use crate::consolidate::compare::key::{Values, compare};
use crate::consolidate::compare::view::View;
use crate::consolidate::compare::words::Words;
use crate::consolidate::{Decision, Incoming, Known, Ruling};
use crate::memory::{Claim, Status};

/// How a model says that a candidate relates to a known memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Named {
    /// It says nothing that is not known.
    Duplicate,
    /// It says the same thing in more detail.
    MoreDetail,
    /// It is the same fact, and each has a detail that the other lacks.
    Overlapping,
    /// It belongs to the same matter, and both hold.
    Complementary,
    /// Both cannot hold.
    Contradicts {
        /// Why, if the texts tell.
        turn: Option<Turn>,
        /// What the known memory says besides, and what holds still.
        rest: Option<String>,
    },
    /// It is about something else.
    Unrelated,
}

/// A known memory with what was named of it.
struct Met<'a> {
    known: &'a Known,
    view: View<'a>,
    named: &'a Named,
}

/// Returns what follows from what was `named` between `incoming` and known memories, the closest first.
#[must_use]
pub fn resolve(incoming: &Incoming, named: &[(&Known, &Named)], now: Timestamp) -> Ruling {
    let case = Case::new(incoming, now);
    let met: Vec<Met<'_>> = named
        .iter()
        .filter(|(known, _)| matches!(known.memory.status, Status::Active | Status::Pending))
        .map(|(known, named)| Met { known, view: View::of(&known.memory.claim, &known.evidence), named })
        .collect();
    known_already(&case, &met)
        .or_else(|| against(&case, &met))
        .or_else(|| richer(&case, &met))
        .unwrap_or_else(|| apart(&met))
}

fn known_already(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    let found = met.iter().find(|met| *met.named == Named::Duplicate && veto(&case.view, &met.view).is_none())?;
    Some(same(case, found.known))
}

fn richer(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    met.iter().filter(|met| met.known.memory.status == Status::Active).find_map(|met| match met.named {
        Named::MoreDetail if veto(&case.view, &met.view).is_none() => Some(if extra(&met.view, &case.view).any() {
            merge(case, met.known)
        } else {
            more(met.known, "in more detail")
        }),
        Named::Overlapping if is_turned(&case.view, &met.view).is_none() => Some(merge(case, met.known)),
        _ => None,
    })
}

/// Settles what cannot hold together with the candidate; what the candidate only contradicts in part keeps its rest.
fn against(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    let opposed: Vec<(&Met<'_>, Option<Turn>, Option<&str>)> = met
        .iter()
        .filter(|met| met.known.memory.status == Status::Active && may_retire(&case.view, &met.view))
        .filter_map(|met| match met.named {
            Named::Contradicts { turn, rest } => Some((met, *turn, rest.as_deref())),
            _ => None,
        })
        .collect();
    let turn = opposed.iter().find_map(|(_, turn, _)| *turn);
    let case = Case { turn: turn.or(case.turn), ..case.clone() };
    let known: Vec<(&Known, &View<'_>)> = opposed.iter().map(|(met, ..)| (met.known, &met.view)).collect();
    if known.is_empty() {
        return None;
    }
    let ruling = oppose(&case, &known, "both cannot hold");
    let Some((met, rest)) = opposed.iter().find_map(|(met, _, rest)| rest.map(|rest| (met, rest))) else {
        return Some(ruling);
    };
    if ruling.pending || ruling.born_superseded || ruling.target.as_ref() != Some(&met.known.memory.id) {
        return Some(ruling);
    }
    match remainder(&met.known.memory.claim, &case.view, rest) {
        Some(rest) => Some(Ruling { rest: Some(rest), ..ruling }),
        None => Some(Ruling::beside(met.known, "contradicts a part of it; the rest could not be told apart")),
    }
}

/// The claim that remains of `known`: only words that stood in it.
fn remainder(known: &Claim, incoming: &View<'_>, rest: &str) -> Option<Claim> {
    let (whole, part) = (Features::of(&known.content), Features::of(rest));
    let stood = part.tokens.is_subset(&whole.tokens)
        && part.figures.is_subset(&whole.figures)
        && part.entities.iter().all(|name| whole.text.contains(name.as_str()))
        && !part.tokens.is_empty()
        && part.text != whole.text;
    let same_key = known.key.is_some() && known.key == incoming.claim.key;
    let (key, value) = if same_key { (None, None) } else { (known.key.clone(), known.value.clone()) };
    let title = rest.chars().take(60).collect();
    stood.then(|| Claim { content: rest.trim().to_owned(), title, summary: None, key, value, ..known.clone() })
}

fn apart(met: &[Met<'_>]) -> Ruling {
    let of = |wanted: fn(&Named) -> bool| met.iter().find(|met| wanted(met.named));
    if let Some(met) = of(|named| matches!(named, Named::Contradicts { .. })) {
        return Ruling::beside(met.known, "named as a contradiction, of another matter");
    }
    if let Some(met) = of(|named| matches!(named, Named::Duplicate | Named::MoreDetail | Named::Overlapping)) {
        return Ruling::beside(met.known, "named as the same; names, numbers or persons differ");
    }
    match of(|named| *named == Named::Complementary) {
        Some(met) => Ruling::beside(met.known, "both hold"),
        None => Ruling::new(Decision::Add, "new"),
    }
}

/// Names what forbids that two claims become one, even if somebody calls them alike.
fn veto(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let (new, old) = (extra(a, b), extra(b, a));
    if new.figures && old.figures {
        Some("other numbers")
    } else if new.entities && old.entities && !is_spelled_in_another_script(a, b) {
        Some("other names")
    } else {
        is_turned(a, b)
    }
}

/// Whether both give one attribute the same value, and the names that only one of them has are in two scripts: リヨン
/// may well be Lyon, which no rule can tell.
fn is_spelled_in_another_script(a: &View<'_>, b: &View<'_>) -> bool {
    let same_value = compare(a.claim.value.as_deref(), b.claim.value.as_deref()) == Some(Values::Equal);
    let own = |view: &View<'_>, other: &View<'_>, latin: bool| {
        let names = view.features.entities.iter().filter(|name| !other.features.text.contains(name.as_str()));
        names.flat_map(|name| name.chars()).filter(|c| c.is_alphabetic()).all(|c| is_latin(c) == latin)
    };
    a.same_key(b) && same_value && [true, false].iter().any(|latin| own(a, b, *latin) && own(b, a, !latin))
}

fn is_latin(character: char) -> bool {
    character < '\u{0250}'
}

/// Another person, or nearly the same words with a negation on one side.
fn is_turned(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let words = Words::of(a, b);
    let clear = |view: &View<'_>| view.features.polarity != Polarity::Mixed;
    let turned = a.features.polarity != b.features.polarity && clear(a) && clear(b);
    if other_people(a, b) {
        Some("about another person")
    } else if turned && words.incoming_only + words.known_only <= 1 {
        Some("one is a negation")
    } else {
        None
    }
}

/// Whether two claims are of one person and one matter: the same attribute, the same subject, or common words.
fn may_retire(a: &View<'_>, b: &View<'_>) -> bool {
    let words = Words::of(a, b);
    let same_subject = a.subject.is_some() && a.subject == b.subject;
    !other_people(a, b) && (a.same_key(b) || same_subject || words.shared >= 1)
}
