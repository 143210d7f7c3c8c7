//! Chooses the memories that a model is asked about, and decides by the relations that it names.
//!
//! The model names relations, and this code makes the decision. Claims with different names or numbers are never
//! merged. A memory is retired only if the new claim is about the same person and topic. Time decides which of two
//! claims is current. No word of a memory is discarded unless it is kept elsewhere. If these rules forbid a named
//! relation, both memories are kept and linked.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use jiff::Timestamp;

use crate::consolidate::compare::features::{Features, Polarity, Turn};
use crate::consolidate::compare::key::{Arity, Values, arity, compare};
use crate::consolidate::compare::view::{View, Words, extra, other_people};
use crate::consolidate::decide::part::remaining;
use crate::consolidate::decide::ruling::{Case, is_covered, merge, more, oppose, same};
use crate::consolidate::{Conflict, Decision, IncomingClaim, Known, Ruling};
use crate::memory::{Claim, MemoryId, Status};
use crate::store::concepts;
use crate::text::normalise::comparable;
use crate::text::recent::RecentResults;

/// Maximum number of known memories that a model is asked about for one candidate. The memory that should be replaced
/// is the closest by words in only half of the cases, but among the ten closest in nine out of ten.
pub(crate) const MAX_ASKED: usize = 10;

/// Minimum weighted share of the shorter claim's terms at which a model is always asked about a memory.
// A low value is chosen because the rules decide about pairs below this share, and an extra question costs only a few
// tokens.
const FLOOR: f64 = 0.2;

/// Number of memories that are asked about even below this minimum, as long as they share a term, because different
/// words for the same thing have little in common.
const LEAST: usize = 3;

/// Minimum share for a forgotten memory, so that it is not shown to a model unnecessarily.
const FLOOR_FORGOTTEN: f64 = 0.3;

/// Score of a memory in another language, which can share only few words; also the maximum number of such memories.
const FOREIGN: f64 = 0.2;
const MAX_FOREIGN: usize = 6;

/// Score added by a common attribute, a common last part of an attribute, and a common subject.
const SAME_KEY: f64 = 1.0;
const SAME_ATTRIBUTE: f64 = 0.25;
const SAME_SUBJECT: f64 = 0.15;

/// Number of leading letters by which long words are considered related, such as `migrated` and `migration`.
const STEM: usize = 6;

/// A known memory about which a model should be asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    /// The memory.
    pub id: MemoryId,
    /// Closeness of the memory: the share of common terms, weighted by rarity, and increased by a common attribute or
    /// subject.
    pub closeness: f64,
    /// The share of common terms alone.
    pub alike: f64,
}

/// Returns the memories to ask about; each known memory comes with a flag for whether the extractor named it as
/// replaced.
///
/// A term has more weight if fewer of the known memories contain it, so a term that all of them contain favours none.
pub(super) fn choose<'a>(
    incoming: &View<'_>,
    known: impl Iterator<Item = (&'a Known, &'a View<'a>, bool)>,
) -> Vec<Ask> {
    let own = terms(incoming);
    let known: Vec<_> = known.map(|(known, view, hinted)| (known, view, hinted, terms(view))).collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for term in known.iter().flat_map(|(.., terms)| terms.iter()) {
        *holders.entry(term).or_default() += 1;
    }
    let weight = |term: &String| weight(holders.get(term.as_str()).copied().unwrap_or(0), known.len());
    let all_own: f64 = own.iter().map(weight).sum();
    let mut asks: Vec<(Ask, Status, bool)> = known
        .iter()
        .map(|(known, view, hinted, theirs)| {
            let shared: f64 = own.intersection(theirs).map(weight).sum();
            // The weight is relative to the shorter claim, so that a short correction can match a long memory.
            let whole = all_own.min(theirs.iter().map(weight).sum());
            let alike = if whole > 0.0 { shared / whole } else { 0.0 };
            let closeness = alike + kinship(incoming, view) + if *hinted { SAME_KEY } else { 0.0 };
            (Ask { id: known.memory.id.clone(), closeness, alike }, known.memory.status, is_foreign(incoming, view))
        })
        .filter(|(ask, status, _)| *status != Status::Forgotten || ask.closeness >= FLOOR_FORGOTTEN)
        .collect();
    asks.sort_by(|(a, ..), (b, ..)| b.closeness.total_cmp(&a.closeness).then_with(|| a.id.cmp(&b.id)));
    let mut foreign = 0;
    let mut chosen: Vec<Ask> = Vec::new();
    for (ask, _, is_foreign) in asks {
        foreign += usize::from(is_foreign);
        let as_foreign = is_foreign && foreign <= MAX_FOREIGN;
        if ask.closeness >= FLOOR || (chosen.len() < LEAST && ask.closeness > 0.0) || as_foreign {
            let closeness = if as_foreign { ask.closeness.max(FOREIGN) } else { ask.closeness };
            chosen.push(Ask { closeness, ..ask });
        }
    }
    chosen.truncate(MAX_ASKED);
    chosen
}

fn is_foreign(a: &View<'_>, b: &View<'_>) -> bool {
    a.language.zip(b.language).is_some_and(|(a, b)| a != b)
}

#[expect(clippy::cast_precision_loss, reason = "memory counts are far below 2^52")]
fn weight(holders: usize, all: usize) -> f64 {
    (1.0 + all as f64 / holders.max(1) as f64).ln()
}

fn kinship(a: &View<'_>, b: &View<'_>) -> f64 {
    let last = |view: &View<'_>| view.key.as_deref().map(|key| key.rsplit('.').next().unwrap_or(key).to_owned());
    // `user.editor` and `project.editor` are different attributes that often describe the same topic.
    let key = match (last(a), last(b)) {
        _ if a.same_key(b) => SAME_KEY,
        (Some(x), Some(y)) if x == y => SAME_ATTRIBUTE,
        _ => 0.0,
    };
    let subject = a.subject.is_some() && a.subject == b.subject;
    key + if subject { SAME_SUBJECT } else { 0.0 }
}

/// The terms used to find related claims: words, names and numbers from the content, the attribute and the subject.
fn terms(view: &View<'_>) -> Rc<BTreeSet<String>> {
    thread_local!(static RECENT: RecentResults<Rc<BTreeSet<String>>> = RecentResults::default());
    let claim = view.claim;
    let aside = [claim.key.as_deref(), claim.value.as_deref(), claim.subject.as_deref()];
    let aside = aside.into_iter().flatten().map(|text| text.replace(['.', '_', '-', '/'], " ")).collect::<Vec<_>>();
    let aside = aside.join(" ");
    let examine = || {
        let (own, aside) = (&view.features, Features::of(&aside));
        let sets = [&own.tokens, &own.figures, &own.entities, &aside.tokens, &aside.figures, &aside.entities];
        let words = sets.into_iter().flatten().map(|term| folded(term));
        Rc::new(words.chain(concepts(&claim.content).into_iter().map(|name| format!("={name}"))).collect())
    };
    RECENT.with(|recent| recent.get(&format!("{}\0{aside}", claim.content), examine))
}

fn folded(term: &str) -> String {
    // Only alphabetic words are truncated: six Chinese characters are several words.
    if term.is_ascii() || term.chars().all(|c| c.is_alphabetic() && c < '\u{0250}') {
        term.chars().take(STEM).collect()
    } else {
        term.to_owned()
    }
}

/// The relation of a candidate to a known memory, as a model names it.
#[derive(Debug, Clone, PartialEq)]
pub enum Named {
    /// The candidate says nothing new.
    Duplicate,
    /// The candidate says the same thing in more detail.
    MoreDetail,
    /// The two state the same fact, but each has a detail that the other lacks.
    Overlapping,
    /// The two belong to the same topic, and both are true.
    Complementary,
    /// The two cannot both be true.
    Contradicts {
        /// The reason for the contradiction, if the texts show it.
        turn: Option<Turn>,
        /// The part of the known memory that is not contradicted.
        rest: Option<String>,
    },
    /// The candidate is about something else.
    Unrelated,
}

/// A known memory and the relation to it that the model named.
struct Met<'a> {
    known: &'a Known,
    view: View<'a>,
    named: &'a Named,
}

/// Returns the decision that follows from the relations `named` between `incoming` and known memories, the closest
/// memory first.
#[must_use]
pub(crate) fn resolve(incoming: &IncomingClaim, named: &[(&Known, &Named)], now: Timestamp) -> Ruling {
    let case = Case::new(incoming, now);
    let met: Vec<Met<'_>> = named
        .iter()
        .map(|(known, named)| Met { known, view: View::of(&known.memory.claim, &known.evidence), named })
        .collect();
    // The most cautious decisions come first: rejected statements, no changes, retired memories, and reworded memories.
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

/// A forgotten statement is not stored again in different words. A statement that adds to a forgotten statement waits
/// for a person.
fn forgotten(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    let gone = met.iter().find(|met| met.known.memory.status == Status::Forgotten && met.is_one_fact())?;
    is_turned(&case.view, &gone.view).is_none().then(|| match gone.named {
        Named::Duplicate => Ruling::about(Decision::Skip, gone.known, "rejected before, in different words"),
        _ => Ruling { pending: true, ..Ruling::new(Decision::Add, "repeats a forgotten statement and adds to it") },
    })
}

fn known_already(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    let current = || met.iter().filter(|met| met.is_current());
    // This is a different wording of a memory that an earlier run extracted from the same words.
    let covered =
        |met: &&Met<'_>| met.is_one_fact() && !met.known.fresh && is_covered(case.evidence(), &met.known.evidence);
    if let Some(found) = current().find(covered) {
        return Some(Ruling::about(Decision::Skip, found.known, "already known in the same words"));
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

/// Decides about memories that contradict the candidate. If only a part of a memory is contradicted, its rest is kept.
fn against(case: &Case<'_>, met: &[Met<'_>]) -> Option<Ruling> {
    let opposed: Vec<(&Met<'_>, Option<Turn>, Option<&str>)> = met
        .iter()
        .filter(|met| met.known.memory.status == Status::Active && !other_people(&case.view, &met.view))
        .filter_map(|met| match met.named {
            Named::Contradicts { turn, rest } => Some((met, *turn, rest.as_deref())),
            _ => None,
        })
        .collect();
    let turn = opposed.iter().find_map(|(_, turn, _)| *turn);
    // Only memories of which the model says why they are not true are retired, unless it says so of none.
    let opposed: Vec<_> = opposed.into_iter().filter(|(_, own, _)| turn.is_none() || own.is_some()).collect();
    let case = Case { turn: turn.or(case.turn), ..case.clone() };
    let known: Vec<(&Known, &View<'_>)> = opposed.iter().map(|(met, ..)| (met.known, &met.view)).collect();
    if known.is_empty() {
        return None;
    }
    let ruling = oppose(&case, &known, "they cannot both be true");
    // A model that sees the days and still does not say which claim is true leaves that to a person, unless both claims
    // give the value of one attribute, of which the later value is true.
    let has_value = |view: &View<'_>| view.claim.value.is_some();
    let is_single = case.view.key.as_deref().is_some_and(|key| arity(key) != Arity::Many);
    let is_one_attribute = is_single
        && has_value(&case.view)
        && opposed.iter().all(|(met, ..)| case.view.same_key(&met.view) && has_value(&met.view));
    if case.turn.is_none() && !is_one_attribute && !ruling.born_superseded && !ruling.pending {
        let reason = "they cannot both be true; it is unclear which one is true".to_owned();
        return Some(Ruling { conflict: Some(Conflict::Conflict), pending: true, also: Vec::new(), reason, ..ruling });
    }
    let Some((met, rest)) = opposed.iter().find_map(|(met, _, rest)| rest.map(|rest| (met, rest))) else {
        return Some(ruling);
    };
    if ruling.pending || ruling.born_superseded || ruling.target.as_ref() != Some(&met.known.memory.id) {
        return Some(ruling);
    }
    match remainder(&met.known.memory.claim, &case.view, rest) {
        Some(rest) => Some(Ruling { rest: Some(rest), ..ruling }),
        None => {
            Some(Ruling::beside(met.known, "it contradicts part of the known memory; the rest could not be separated"))
        }
    }
}

/// Returns the claim that remains of `known`, using only words from `known`.
fn remainder(known: &Claim, incoming: &View<'_>, rest: &str) -> Option<Claim> {
    let (whole, part) = (Features::of(&known.content), Features::of(rest));
    // Words that the candidate also contains do not belong to the rest.
    let own = part.tokens.difference(&incoming.features.tokens).count();
    // A model may invent the rest, so only words of the memory are kept.
    let stood = own >= 1
        && part.tokens.is_subset(&whole.tokens)
        && part.figures.is_subset(&whole.figures)
        && part.entities.iter().all(|name| whole.text.contains(name.as_str()))
        && part.text != whole.text;
    // An attribute is kept only with its value.
    let keeps_value = known.value.as_deref().is_some_and(|value| part.text.contains(&comparable(value)));
    stood.then(|| remaining(known, rest.trim().to_owned(), keeps_value))
}

fn apart(met: &[Met<'_>]) -> Ruling {
    let of = |wanted: fn(&Named) -> bool| met.iter().find(|met| met.is_current() && wanted(met.named));
    if let Some(met) = of(|named| matches!(named, Named::Contradicts { .. })) {
        return Ruling::beside(met.known, "judged to be a contradiction, but about another person");
    }
    if let Some(met) = of(|named| matches!(named, Named::Duplicate | Named::MoreDetail | Named::Overlapping)) {
        return Ruling::beside(met.known, "judged to be the same, but names, numbers or people differ");
    }
    match of(|named| *named == Named::Complementary) {
        Some(met) => Ruling::beside(met.known, "both are true"),
        None => Ruling::new(Decision::Add, "new"),
    }
}

/// Returns the reason not to merge two claims, even if a model calls them the same: a different number of the same
/// kind, or nearly the same sentence with a different name. If all words differ, names may differ too.
pub(in crate::consolidate) fn veto(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let words = Words::of(a, b);
    let (new, old) = (extra(a, b), extra(b, a));
    let much_the_same = words.shared >= 2 && words.incoming_only.max(words.known_only) <= 1;
    if other_numbers(&a.features.figures, &b.features.figures) {
        Some("other numbers")
    } else if other_values(a, b) {
        Some("a different value of the same attribute")
    } else if new.entities && old.entities && much_the_same {
        Some("other names")
    } else {
        is_turned(a, b)
    }
}

/// Whether two claims give different values for a single-valued attribute, as far as spellings in the same script can
/// show this.
fn other_values(a: &View<'_>, b: &View<'_>) -> bool {
    let (Some(x), Some(y)) = (a.claim.value.as_deref(), b.claim.value.as_deref()) else { return false };
    let is_latin = |text: &str| text.chars().filter(|c| c.is_alphabetic()).all(|c| c < '\u{0250}');
    let single = a.key.as_deref().is_some_and(|key| arity(key) == Arity::Single);
    let shared = !Features::of(x).tokens.is_disjoint(&Features::of(y).tokens);
    let differ = compare(Some(x), Some(y)) == Some(Values::Different);
    single && a.same_key(b) && is_latin(x) == is_latin(y) && differ && !shared
}

/// Whether, for some kind of number, each claim has only numbers that the other lacks. A day covers its month and year,
/// and a number with its unit covers the number without it.
fn other_numbers(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let left: Vec<&String> = a.iter().filter(|figure| !is_stated(figure, b)).collect();
    let right: Vec<&String> = b.iter().filter(|figure| !is_stated(figure, a)).collect();
    left.iter().any(|x| right.iter().any(|y| kind(x) == kind(y)))
}

fn is_stated(figure: &str, by: &BTreeSet<String>) -> bool {
    let stated: BTreeSet<u64> = by.iter().flat_map(|other| groups(other)).collect();
    let own = groups(figure);
    by.contains(figure) || (!own.is_empty() && own.iter().all(|group| stated.contains(group)))
}

/// Returns the integers in a figure: 2025, 11 and 4 from `2025-11-04`.
fn groups(figure: &str) -> Vec<u64> {
    figure.split(|c: char| !c.is_ascii_digit()).filter_map(|group| group.parse().ok()).collect()
}

/// Returns the kind of thing that a figure counts: its letters and marks, without the digits.
fn kind(figure: &str) -> String {
    figure.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Returns a reason if the claims are about different people, or are nearly the same except for a negation.
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
