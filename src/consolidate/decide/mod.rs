//! What is done with a candidate, by exact and cheap rules.

pub(super) mod case;
pub mod order;
pub mod ruling;

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::memory::Status;

use self::case::{Case, brings_nothing, is_covered};
use self::ruling::{GreyPair, merge, more, oppose, same};
use crate::consolidate::compare::features::Features;
use crate::consolidate::compare::key::{Values, canonical, compare};
use crate::consolidate::compare::pair::{Paired, Pairing, pair};
use crate::consolidate::compare::view::View;
use crate::consolidate::{Decision, Incoming, Known, Rejected, Ruling};

/// Known memories that one candidate is asked about at most.
pub const MAX_ASKED: usize = 5;

/// What the rules make of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The rules settle it.
    Settled(Box<Ruling>),
    /// The words do not settle it: these known memories come into question, the closest first.
    Grey(Vec<GreyPair>),
}

impl Verdict {
    fn settled(ruling: Ruling) -> Self {
        Self::Settled(Box::new(ruling))
    }
}

/// A known memory with what the candidate is to it.
struct Met<'a> {
    known: &'a Known,
    view: View<'a>,
    paired: Paired,
}

impl<'a> Met<'a> {
    fn of(case: &Case<'_>, known: &'a Known) -> Self {
        let view = View::of(&known.memory.claim, &known.evidence);
        let hinted = case.incoming.candidate.replaces.as_ref() == Some(&known.memory.id);
        Self { paired: pair(&case.view, &view, hinted), view, known }
    }

    fn is(&self, pairing: Pairing, statuses: &[Status]) -> bool {
        self.paired.pairing == pairing && statuses.contains(&self.known.memory.status)
    }

    fn is_exact(&self, case: &Case<'_>) -> bool {
        self.paired.pairing == Pairing::Same && self.view.features.text == case.view.features.text
    }

    fn is_covered(&self, case: &Case<'_>, pairing: Pairing) -> bool {
        self.paired.pairing == pairing && is_covered(case.evidence(), &self.known.evidence)
    }
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
        return Verdict::settled(Ruling::new(Decision::Skip, "rejected before"));
    }
    let here = known.iter().filter(|known| known.memory.namespace == incoming.namespace);
    let pairs: Vec<Met<'_>> = here.map(|known| Met::of(&case, known)).collect();
    let ruling = by_identity(&case, &pairs).or_else(|| by_pairs(&case, &pairs));
    ruling.map_or_else(|| grey(&case, &pairs), Verdict::settled)
}

fn is_rejected(case: &Case<'_>, known: &[Known], rejected: &[Rejected]) -> bool {
    let claim = case.view.claim;
    let matches = |content: &str, key: Option<&str>, value: Option<&str>| {
        let features = Features::of(content);
        let same_value = case.view.key.is_some()
            && key.map(canonical) == case.view.key
            && compare(claim.value.as_deref(), value) == Some(Values::Equal);
        let same_words = !features.text.is_empty() && features.text == case.view.features.text;
        same_words || (same_value && (features.text.is_empty() || features.polarity == case.view.features.polarity))
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
fn by_identity(case: &Case<'_>, pairs: &[Met<'_>]) -> Option<Ruling> {
    let skip = |known| Some(Ruling::about(Decision::Skip, known, "known from the same words"));
    if let Some(met) = pairs.iter().find(|met| met.is_covered(case, Pairing::Same)) {
        return skip(met.known);
    }
    let exact = pairs.iter().filter(|met| met.is_exact(case)).map(|met| met.known);
    let known = exact.min_by_key(|known| rank(known.memory.status))?;
    if brings_nothing(case, known) {
        return skip(known);
    }
    let current = |wanted| pairs.iter().any(|met| met.is(wanted, &[Status::Active]));
    match known.memory.status {
        Status::Active | Status::Pending => Some(same(case, known)),
        Status::Superseded if !current(Pairing::Same) && !current(Pairing::Opposed) && !is_said_again(case, known) => {
            Some(Ruling::about(Decision::Support, known, "known, and replaced since"))
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
fn by_pairs(case: &Case<'_>, pairs: &[Met<'_>]) -> Option<Ruling> {
    if let Some(met) = closest(pairs, Pairing::Same, &[Status::Active, Status::Pending]).first() {
        return Some(same(case, met.known));
    }
    let opposed = closest(pairs, Pairing::Opposed, &[Status::Active]);
    if let Some(first) = opposed.first() {
        let against: Vec<_> = opposed.iter().map(|met| (met.known, &met.view)).collect();
        let ruling = oppose(case, &against, first.paired.why);
        return Some(match closest(pairs, Pairing::Same, &[Status::Superseded]).first() {
            // An old value, said again at no later time: what replaced it stays.
            Some(old) if ruling.born_superseded || is_undecided(case, &opposed) => old_value_again(case, old.known),
            Some(_) | None => ruling,
        });
    }
    if let Some(met) = closest(pairs, Pairing::More, &[Status::Active]).first() {
        return Some(more(met.known, met.paired.why));
    }
    closest(pairs, Pairing::Both, &[Status::Active]).first().map(|met| merge(case, met.known))
}

/// Returns the memories of a pairing and status, those that share most words first.
fn closest<'a, 'b>(pairs: &'b [Met<'a>], pairing: Pairing, statuses: &[Status]) -> Vec<&'b Met<'a>> {
    let mut found: Vec<&Met<'_>> = pairs.iter().filter(|met| met.is(pairing, statuses)).collect();
    found.sort_by(|a, b| {
        let by_overlap = b.paired.overlap.total_cmp(&a.paired.overlap);
        by_overlap.then_with(|| a.known.memory.id.cmp(&b.known.memory.id))
    });
    found
}

/// Whether no time and no word tells if the candidate holds after what it is opposed to.
fn is_undecided(case: &Case<'_>, opposed: &[&Met<'_>]) -> bool {
    case.turn.is_none() && opposed.iter().all(|met| case.holds(met.known).is_none_or(Ordering::is_eq))
}

fn old_value_again(case: &Case<'_>, known: &Known) -> Ruling {
    if brings_nothing(case, known) {
        Ruling::about(Decision::Skip, known, "known from the same words, and replaced since")
    } else {
        Ruling::about(Decision::Support, known, "known, and replaced since")
    }
}

/// Gathers what the rules leave open, or adds the candidate if nothing is.
fn grey(case: &Case<'_>, pairs: &[Met<'_>]) -> Verdict {
    // A new wording of what an earlier run took from the same words is not worth a question.
    if let Some(met) = pairs.iter().find(|met| !met.known.fresh && met.is_covered(case, Pairing::Unsure)) {
        return Verdict::settled(Ruling::about(Decision::Skip, met.known, "known from the same words"));
    }
    let open = closest(pairs, Pairing::Unsure, &[Status::Active]);
    if open.is_empty() {
        return Verdict::settled(match pairs.iter().find(|met| met.is_exact(case)) {
            Some(earlier) => Ruling::beside(earlier.known, "holds again"),
            None => Ruling::new(Decision::Add, "new"),
        });
    }
    // Memories of the same attribute must not be crowded out by alike words of other ones.
    let (same_key, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|met| met.view.same_key(&case.view));
    let asked = same_key.iter().chain(&others).take(MAX_ASKED).map(|met| GreyPair {
        id: met.known.memory.id.clone(),
        why: met.paired.why,
        overlap: met.paired.overlap,
    });
    Verdict::Grey(asked.collect())
}
