//! What follows from the relations that a model names between a candidate and known memories.
//!
//! A model names; the code decides. Names and numbers that differ are never made one, nothing is retired that is not of
//! the same person and matter, time tells which of two claims stands, and no word of a memory goes without being kept
//! elsewhere. Where that forbids what was named, both are kept and linked.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::case::{Case, is_covered};
use super::part::remaining;
use super::ruling::{merge, more, oppose, same};
use crate::consolidate::compare::features::{Features, Polarity, Turn};
use crate::consolidate::compare::key::{Arity, Values, arity, compare};
use crate::consolidate::compare::view::View;
use crate::consolidate::compare::view::Words;
use crate::consolidate::compare::view::{extra, other_people};
use crate::consolidate::{Decision, Incoming, Known, Ruling};
use crate::memory::{Claim, Status};
use crate::store::concepts;
use crate::text::normalise::comparable;

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
        .map(|(known, named)| Met { known, view: View::of(&known.memory.claim, &known.evidence), named })
        .collect();
    forgotten(&case, &met)
        .or_else(|| known_already(&case, &met))
        .or_else(|| against(&case, &met))
        .or_else(|| richer(&case, &met))
        .unwrap_or_else(|| apart(&met))
}

impl Met<'_> {
    fn is_current(&self) -> bool {
        matches!(self.known.memory.status, Status::Active | Status::Pending)
    }

    fn is_one_fact(&self) -> bool {
        matches!(self.named, Named::Duplicate | Named::MoreDetail | Named::Overlapping)
    }
}

/// What a person has forgotten does not come back in other words; what says more than that waits for a person.
fn forgotten(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    let gone = met.iter().find(|met| met.known.memory.status == Status::Forgotten && met.is_one_fact())?;
    is_turned(&case.view, &gone.view).is_none().then(|| match gone.named {
        Named::Duplicate => Ruling::about(Decision::Skip, gone.known, "rejected before, in other words"),
        _ => Ruling { pending: true, ..Ruling::new(Decision::Add, "says again what was forgotten, and more") },
    })
}

fn known_already(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    let current = || met.iter().filter(|met| met.is_current());
    // Another wording of what an earlier run took from the same words.
    let covered =
        |met: &&Met<'_>| met.is_one_fact() && !met.known.fresh && is_covered(case.evidence(), &met.known.evidence);
    if let Some(found) = current().find(covered) {
        return Some(Ruling::about(Decision::Skip, found.known, "known from the same words"));
    }
    let found = current().find(|met| *met.named == Named::Duplicate && veto(&case.view, &met.view).is_none())?;
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
    // What the candidate speaks of anyway is no rest.
    let own = part.tokens.difference(&incoming.features.tokens).count();
    let stood = own >= 1
        && part.tokens.is_subset(&whole.tokens)
        && part.figures.is_subset(&whole.figures)
        && part.entities.iter().all(|name| whole.text.contains(name.as_str()))
        && part.text != whole.text;
    // An attribute goes with its value.
    let keeps_value = known.value.as_deref().is_some_and(|value| part.text.contains(&comparable(value)));
    stood.then(|| remaining(known, rest.trim().to_owned(), keeps_value))
}

fn apart(met: &[Met<'_>]) -> Ruling {
    let of = |wanted: fn(&Named) -> bool| met.iter().find(|met| met.is_current() && wanted(met.named));
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

/// Names what forbids that two claims become one, even if somebody calls them alike: another number of the same kind,
/// or much the same sentence with another name in it. Where all the words are others, names may be too.
pub(in crate::consolidate) fn veto(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let words = Words::of(a, b);
    let (new, old) = (extra(a, b), extra(b, a));
    let much_the_same = words.shared >= 2 && words.incoming_only.max(words.known_only) <= 1;
    if other_numbers(&a.features.figures, &b.features.figures) {
        Some("other numbers")
    } else if other_values(a, b) {
        Some("another value of one attribute")
    } else if new.entities && old.entities && much_the_same {
        Some("other names")
    } else {
        is_turned(a, b)
    }
}

/// Whether both give an attribute that has one value at a time another one, as far as two spellings in one script tell.
fn other_values(a: &View<'_>, b: &View<'_>) -> bool {
    let (Some(x), Some(y)) = (a.claim.value.as_deref(), b.claim.value.as_deref()) else { return false };
    let is_latin = |text: &str| text.chars().filter(|c| c.is_alphabetic()).all(|c| c < '\u{0250}');
    let single = a.key.as_deref().is_some_and(|key| arity(key) == Arity::Single);
    let shared = !Features::of(x).tokens.is_disjoint(&Features::of(y).tokens);
    let differ = compare(Some(x), Some(y)) == Some(Values::Different);
    single && a.same_key(b) && is_latin(x) == is_latin(y) && differ && !shared
}

/// Whether each side has a number of a kind that the other has only others of. A day covers its month and year, and a
/// number with its unit covers the bare one.
fn other_numbers(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let left: Vec<&String> = a.iter().filter(|figure| !is_told(figure, b)).collect();
    let right: Vec<&String> = b.iter().filter(|figure| !is_told(figure, a)).collect();
    left.iter().any(|x| right.iter().any(|y| kind(x) == kind(y)))
}

fn is_told(figure: &str, by: &BTreeSet<String>) -> bool {
    let told: BTreeSet<u64> = by.iter().flat_map(|other| groups(other)).collect();
    let own = groups(figure);
    by.contains(figure) || (!own.is_empty() && own.iter().all(|group| told.contains(group)))
}

/// The whole numbers in a figure: 2025, 11 and 4 of `2025-11-04`.
fn groups(figure: &str) -> Vec<u64> {
    figure.split(|c: char| !c.is_ascii_digit()).filter_map(|group| group.parse().ok()).collect()
}

/// What a figure counts: its letters and marks, without the digits.
fn kind(figure: &str) -> String {
    figure.chars().filter(|c| !c.is_ascii_digit()).collect()
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
    let same_concept = || !concepts(&a.claim.content).is_disjoint(&concepts(&b.claim.content));
    !other_people(a, b) && (a.same_key(b) || same_subject || words.shared >= 1 || same_concept())
}
