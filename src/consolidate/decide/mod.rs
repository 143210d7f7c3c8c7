//! Decides about a candidate, using exact and inexpensive rules.

mod change_model;
pub(crate) mod named;
mod part;
pub(crate) mod ruling;

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::consolidate::compare::certainty::is_list;
use crate::consolidate::compare::ended::{TOPIC_MOVED, ends_one_of_several, is_end};
use crate::consolidate::compare::features::{Features, Polarity};
use crate::consolidate::compare::key::{Values, canonical, compare};
use crate::consolidate::compare::pair::{ClaimRelation, PairFinding, pair};
use crate::consolidate::compare::view::View;
use crate::consolidate::decide::change_model::{learned, reviewed};
use crate::consolidate::decide::named::{Ask, choose};
use crate::consolidate::decide::part::{Left, is_one_statement, left_of};
use crate::consolidate::decide::ruling::{Case, brings_nothing, is_covered, merge, more, oppose, same};
use crate::consolidate::{Conflict, Decision, IncomingClaim, Known, Rejected, Ruling};
use crate::memory::{Claim, ExtractionMethod, Status};
use crate::text::normalise::comparable;

/// The rules' decision about a candidate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// The action taken unless a model or a person decides otherwise.
    pub ruling: Ruling,
    /// Whether the words are not sufficient to decide, so that the ruling is the cautious choice.
    pub open: bool,
    /// Known memories that a model should be asked about, the closest first; empty if the rules are certain.
    pub asks: Vec<Ask>,
}

impl Verdict {
    const fn certain(ruling: Ruling) -> Self {
        Self { ruling, open: false, asks: Vec::new() }
    }
}

/// A known memory, and how the candidate relates to it.
struct Met<'a> {
    known: &'a Known,
    view: View<'a>,
    paired: PairFinding,
    hinted: bool,
}

impl<'a> Met<'a> {
    fn of(case: &Case<'_>, known: &'a Known) -> Self {
        let view = View::of(&known.memory.claim, &known.evidence);
        let hinted = case.incoming.candidate.replaces.as_ref() == Some(&known.memory.id);
        Self { paired: pair(&case.view, &view, hinted), view, known, hinted }
    }

    /// Lets the classifier confirm or doubt what the rules found, if a model would be asked about the memory.
    fn reviewed(self, case: &Case<'_>, asks: &[Ask]) -> Self {
        let Some(ask) = self.ask(asks) else { return self };
        let found = reviewed(&case.view, &self.view, self.paired, ask.alike);
        // A part of a memory, or one of several things in it, is a matter for the rules.
        let is_whole =
            || !is_list(&self.view) && !matches!(left_of(self.known, &self.view, &case.view), Left::Claim(_));
        if found != self.paired && is_whole() { Self { paired: found, ..self } } else { self }
    }

    /// Returns what the classifier finds where the rules found nothing.
    fn learned(&self, case: &Case<'_>, asks: &[Ask]) -> Option<PairFinding> {
        let ask = self.ask(asks)?;
        let may_end = case.holds(self.known) == Some(Ordering::Greater)
            && is_one_statement(&self.known.memory.claim.content)
            && !is_list(&self.view)
            && matches!(left_of(self.known, &self.view, &case.view), Left::Nothing);
        if may_end { learned(&case.view, &self.view, self.paired, ask.alike) } else { None }
    }

    fn ask<'k>(&self, asks: &'k [Ask]) -> Option<&'k Ask> {
        let is_open = self.known.memory.status == Status::Active && !self.hinted;
        asks.iter().find(|ask| is_open && ask.id == self.known.memory.id)
    }

    fn is(&self, pairing: ClaimRelation, statuses: &[Status]) -> bool {
        self.paired.pairing == pairing && statuses.contains(&self.known.memory.status)
    }

    fn is_exact(&self, case: &Case<'_>) -> bool {
        self.paired.pairing == ClaimRelation::Same && self.view.features.text == case.view.features.text
    }

    /// Whether the memory says the same thing in the same words, ignoring their order and function words.
    fn is_plainly_same(&self, case: &Case<'_>) -> bool {
        let (a, b) = (&case.view.features, &self.view.features);
        self.is(ClaimRelation::Same, &[Status::Active, Status::Pending])
            && (&a.tokens, &a.figures, &a.entities, a.time, a.planned)
                == (&b.tokens, &b.figures, &b.entities, b.time, b.planned)
            && case.view.claim.value.as_deref().map(comparable) == self.view.claim.value.as_deref().map(comparable)
    }

    fn is_covered(&self, case: &Case<'_>, pairing: ClaimRelation) -> bool {
        self.paired.pairing == pairing && is_covered(case.evidence(), &self.known.evidence)
    }
}

/// Skips a candidate with exactly the same words as an earlier one, even if the resulting memory has changed since.
#[must_use]
pub(crate) fn decided_before(known: &Known) -> Verdict {
    Verdict::certain(Ruling::about(Decision::Skip, known, "already known in the same words"))
}

/// Decides what happens to `incoming`, given the `known` memories that are relevant to it.
///
/// Memories in other namespaces are ignored. Inexpensive rules come first: rejected values, the same words, a common
/// attribute, and then the overlap of content words, subject to the guards of [`pair`]. If the candidate has no
/// evidence, `now` counts as the time at which it was written.
///
/// The classifier reviews what the rules found, and finds changes that no rule knows.
#[must_use]
pub(crate) fn decide(incoming: &IncomingClaim, known: &[Known], rejected: &[Rejected], now: Timestamp) -> Verdict {
    verdict(incoming, known, rejected, now, true)
}

/// Decides about a memory that was compared with the others when it arrived, as [`decide`] does, but without changes that
/// no rule knows.
#[must_use]
pub(crate) fn decide_again(incoming: &IncomingClaim, known: &[Known], now: Timestamp) -> Verdict {
    verdict(incoming, known, &[], now, false)
}

fn verdict(incoming: &IncomingClaim, known: &[Known], rejected: &[Rejected], now: Timestamp, is_new: bool) -> Verdict {
    let case = Case::new(incoming, now);
    // This check comes first, because a rejected value must not return, not even as evidence.
    if is_rejected(&case, known, rejected) {
        return Verdict::certain(Ruling::new(Decision::Skip, "rejected before"));
    }
    // Namespaces separate projects and people; the same words in another namespace are a different memory.
    let here = known.iter().filter(|known| known.memory.namespace == incoming.namespace);
    let pairs: Vec<Met<'_>> = here.map(|known| Met::of(&case, known)).collect();
    if let Some(ruling) = by_identity(&case, &pairs) {
        return Verdict::certain(ruling);
    }
    // Literal repetitions are common in long conversations, and an answer of the model could only confirm them.
    let asks = if pairs.iter().any(|met| met.is_plainly_same(&case)) { Vec::new() } else { asks(&case, &pairs) };
    let mut pairs: Vec<Met<'_>> = pairs.into_iter().map(|met| met.reviewed(&case, &asks)).collect();
    if let Some(ruling) = by_pairs(&case, &pairs) {
        return Verdict { ruling, open: false, asks };
    }
    if !is_new {
        return Verdict { asks, ..unsettled(&case, &pairs) };
    }
    let found: Vec<Option<PairFinding>> = pairs.iter().map(|met| met.learned(&case, &asks)).collect();
    let is_one = found.iter().flatten().count() == 1;
    for (met, found) in pairs.iter_mut().zip(found) {
        // Of several memories, only people who were there know which one has changed.
        let found = found.map(|found| if is_one { found } else { found.in_doubt() });
        met.paired = found.unwrap_or(met.paired);
    }
    match by_pairs(&case, &pairs) {
        // A model that has answered is not overruled by what was learned.
        Some(ruling) => Verdict { ruling, open: true, asks },
        None => Verdict { asks, ..unsettled(&case, &pairs) },
    }
}

/// Decides about candidates whose exact words are known, whatever the current status of the memory.
///
/// Evidence that a memory already has comes first: the candidate was decided before, and later memories do not reopen
/// the decision.
fn by_identity(case: &Case<'_>, pairs: &[Met<'_>]) -> Option<Ruling> {
    let skip = |known| Some(Ruling::about(Decision::Skip, known, "already known in the same words"));
    if let Some(met) = pairs.iter().find(|met| met.is_covered(case, ClaimRelation::Same)) {
        return skip(met.known);
    }
    // A new wording of a memory that an earlier run extracted from the same words is not worth a question.
    if let Some(met) = pairs.iter().find(|met| !met.known.fresh && met.is_covered(case, ClaimRelation::Unsure)) {
        return skip(met.known);
    }
    // The same words may be stored several times; an active memory takes precedence over past ones.
    let exact = pairs.iter().filter(|met| met.is_exact(case)).map(|met| met.known);
    let known = exact.min_by_key(|known| rank(known.memory.status))?;
    if brings_nothing(case, known) && !is_stated_again(case, known) {
        return skip(known);
    }
    let current = |wanted| pairs.iter().any(|met| met.is(wanted, &[Status::Active]));
    match known.memory.status {
        Status::Active | Status::Pending => Some(same(case, known)),
        Status::Superseded
            if !current(ClaimRelation::Same) && !current(ClaimRelation::Opposed) && !is_said_again(case, known) =>
        {
            Some(Ruling::about(Decision::Support, known, "known, but replaced since then"))
        }
        // Rejected values were handled above, so this statement may simply have become true again.
        Status::Superseded | Status::Forgotten | Status::Expired => None,
    }
}

/// Whether somebody stores a replaced value once more by hand, without a message as evidence.
fn is_stated_again(case: &Case<'_>, known: &Known) -> bool {
    known.memory.status == Status::Superseded
        && case.incoming.method == ExtractionMethod::Manual
        && case.evidence().is_empty()
        && is_said_again(case, known)
}

/// Whether a replaced value is stated to be true after it was replaced, which means that the earlier state has
/// returned. A memory that was replaced by a more detailed one has no end of its own; only a person who writes it knows
/// that it is true without the details.
fn is_said_again(case: &Case<'_>, known: &Known) -> bool {
    let is_by_hand = case.incoming.method == ExtractionMethod::Manual;
    let ended = known.memory.claim.valid_to.or_else(|| is_by_hand.then_some(known.memory.updated_at));
    case.when.at.zip(ended).is_some_and(|(at, ended)| at > ended)
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

/// Decides by the relations to current memories, the strongest first; `None` if these relations are not sufficient.
fn by_pairs(case: &Case<'_>, pairs: &[Met<'_>]) -> Option<Ruling> {
    if let Some(met) = closest(pairs, ClaimRelation::Same, &[Status::Active, Status::Pending]).first() {
        return Some(same(case, met.known));
    }
    let opposed = closest(pairs, ClaimRelation::Opposed, &[Status::Active]);
    // Only people who were there know which of several ports "The port is 8080 now" is about.
    let is_ambiguous = opposed.len() > 1 && opposed.iter().all(|met| met.paired.why == TOPIC_MOVED);
    if is_ambiguous && let Some(first) = opposed.first() {
        return Some(contested(first));
    }
    if let Some(first) = opposed.first() {
        let against: Vec<_> = opposed.iter().map(|met| (met.known, &met.view)).collect();
        let ruling = with_rest(case, oppose(case, &against, first.paired.why), &opposed);
        return Some(match closest(pairs, ClaimRelation::Same, &[Status::Superseded]).first() {
            // An old value was stated again, but not for a later time, so the value that replaced it is kept.
            Some(old) if ruling.born_superseded || is_undecided(case, &opposed) => old_value_again(case, old.known),
            Some(_) | None => ruling,
        });
    }
    if let Some(met) = closest(pairs, ClaimRelation::Contested, &[Status::Active]).first() {
        return Some(contested(met));
    }
    if let Some(met) = closest(pairs, ClaimRelation::More, &[Status::Active]).first() {
        return Some(more(met.known, met.paired.why));
    }
    closest(pairs, ClaimRelation::Both, &[Status::Active]).first().map(|met| merge(case, met.known))
}

/// Lets a person decide whether the candidate ends a known memory.
fn contested(met: &Met<'_>) -> Ruling {
    let reason = format!("{}; it is unclear whether this refers to the known memory", met.paired.why);
    let ruling = Ruling::about(Decision::Contradict, met.known, &reason);
    Ruling { conflict: Some(Conflict::Conflict), pending: true, ..ruling }
}

/// Keeps the part of a contradicted memory that is still true. If that part is unclear, a person decides.
fn with_rest(case: &Case<'_>, ruling: Ruling, opposed: &[&Met<'_>]) -> Ruling {
    if ruling.pending || ruling.born_superseded {
        return ruling;
    }
    // A list joined from several wordings of one attribute has no other statement, so nothing can be separated.
    let left = |met: &&Met<'_>| match left_of(met.known, &met.view, &case.view) {
        Left::Unclear if met.view.same_key(&case.view) => Left::Nothing,
        Left::Nothing if !met.view.same_key(&case.view) && ends_one_of_several(&case.view, &met.view) => Left::Unclear,
        // A joined memory may state its value a second time, as in "lives in Lyon. Moved from Oslo to Lyon."
        Left::Claim(rest) if met.view.same_key(&case.view) && repeats_value(&rest, &met.view) => Left::Nothing,
        // When a claim ends, its details end with it, but another statement does not.
        Left::Unclear if is_end(met.paired.why) && is_one_statement(&met.known.memory.claim.content) => Left::Nothing,
        left => left,
    };
    let left: Vec<Left> = opposed.iter().map(left).collect();
    if left.iter().all(|left| *left == Left::Nothing) {
        return ruling;
    }
    match (opposed, left.as_slice()) {
        ([_], [Left::Claim(rest)]) => {
            let reason = format!("{}; the rest of it is kept", ruling.reason);
            Ruling { rest: Some((**rest).clone()), reason, ..ruling }
        }
        _ => Ruling {
            conflict: Some(Conflict::Conflict),
            pending: true,
            also: Vec::new(),
            reason: "it contradicts part of the known memory; the rest could not be separated".to_owned(),
            ..ruling
        },
    }
}

/// Whether a part of a known claim states the value of that claim.
fn repeats_value(part: &Claim, known: &View<'_>) -> bool {
    let value = known.claim.value.as_deref().map(comparable).filter(|value| !value.is_empty());
    value.is_some_and(|value| comparable(&part.content).contains(&value))
}

/// Returns the memories with one of `statuses` that have this relation, sorted by the number of shared words, highest
/// first.
fn closest<'a, 'b>(pairs: &'b [Met<'a>], pairing: ClaimRelation, statuses: &[Status]) -> Vec<&'b Met<'a>> {
    let mut found: Vec<&Met<'_>> = pairs.iter().filter(|met| met.is(pairing, statuses)).collect();
    found.sort_by(|a, b| {
        let by_overlap = b.paired.overlap.total_cmp(&a.paired.overlap);
        by_overlap.then_with(|| a.known.memory.id.cmp(&b.known.memory.id))
    });
    found
}

/// Whether neither a time nor a word shows that the candidate became true later than the claims that it contradicts.
fn is_undecided(case: &Case<'_>, opposed: &[&Met<'_>]) -> bool {
    case.turn.is_none() && opposed.iter().all(|met| case.holds(met.known).is_none_or(Ordering::is_eq))
}

fn old_value_again(case: &Case<'_>, known: &Known) -> Ruling {
    if brings_nothing(case, known) {
        Ruling::about(Decision::Skip, known, "already known in the same words, but replaced since then")
    } else {
        Ruling::about(Decision::Support, known, "known, but replaced since then")
    }
}

/// Makes the cautious choice if the words are not sufficient to decide, and adds a new memory if nothing is similar.
fn unsettled(case: &Case<'_>, pairs: &[Met<'_>]) -> Verdict {
    let open = closest(pairs, ClaimRelation::Unsure, &[Status::Active]);
    // Memories with similar words but different attributes must not displace memories with the same attribute.
    let same_key = open.iter().find(|met| met.view.same_key(&case.view));
    if let Some(met) = same_key.or_else(|| open.first()) {
        return Verdict { open: true, ..Verdict::certain(Ruling::beside(met.known, met.paired.why)) };
    }
    Verdict::certain(match pairs.iter().find(|met| met.is_exact(case)) {
        Some(earlier) => Ruling::beside(earlier.known, "is true again"),
        None => Ruling::new(Decision::Add, "new"),
    })
}

fn asks(case: &Case<'_>, pairs: &[Met<'_>]) -> Vec<Ask> {
    let current =
        |met: &&Met<'_>| matches!(met.known.memory.status, Status::Active | Status::Pending | Status::Forgotten);
    choose(&case.view, pairs.iter().filter(current).map(|met| (met.known, &met.view, met.hinted)))
}

/// Characters that end a clause. A comma does not end a clause, because "not, under any circumstances, with Acme" is
/// one clause.
const CLAUSE_ENDS: [char; 10] = ['.', ';', ':', '!', '?', '。', '；', '：', '！', '？'];

/// Whether the same words, or the same value of the same attribute in the same polarity, were rejected or forgotten.
pub(super) fn is_rejected(case: &Case<'_>, known: &[Known], rejected: &[Rejected]) -> bool {
    let forgotten = known
        .iter()
        .filter(|known| known.memory.status == Status::Forgotten && known.memory.namespace == case.incoming.namespace)
        .map(|known| &known.memory.claim);
    rejected.iter().any(|value| says(case, &value.content, value.key.as_deref(), value.value.as_deref()))
        || forgotten.into_iter().any(|claim| says(case, &claim.content, claim.key.as_deref(), claim.value.as_deref()))
}

fn says(case: &Case<'_>, content: &str, key: Option<&str>, value: Option<&str>) -> bool {
    let claim = case.view.claim;
    let text = comparable(content);
    if !text.is_empty() && text == case.view.features.text {
        return true;
    }
    let same_value = case.view.key.is_some()
        && key.map(canonical) == case.view.key
        && compare(claim.value.as_deref(), value) == Some(Values::Equal);
    same_value && (text.is_empty() || turn(content, value) == turn(&claim.content, claim.value.as_deref()))
}

/// Returns whether a text affirms or denies a value. Denials of other values, as in "never on Fly: on Hetzner", are
/// ignored.
fn turn(content: &str, value: Option<&str>) -> Polarity {
    let whole = Features::of(content).polarity;
    let Some(value) = value.map(comparable).filter(|value| !value.is_empty()) else { return whole };
    let clauses = content.split(CLAUSE_ENDS).filter(|clause| comparable(clause).contains(&value));
    let turns: Vec<Polarity> = clauses.map(|clause| Features::of(clause).polarity).collect();
    match turns.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => *first,
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_denied_by_its_own_clause_alone() {
        let table = [
            ("No, the shop was never on Fly: it is deployed on Hetzner.", "Hetzner", Polarity::Positive),
            ("No, the shop was never on Fly: it is deployed on Hetzner.", "Fly", Polarity::Negative),
            ("The shop is not deployed on Hetzner. It is on Fly.", "hetzner", Polarity::Negative),
            ("The user does not, under any circumstances, work with Acme.", "Acme", Polarity::Negative),
            ("商店不在 Fly 上；它部署在 Hetzner 上。", "Hetzner", Polarity::Positive),
            ("It is on Hetzner. It is not on Hetzner.", "Hetzner", Polarity::Negative),
            ("It is not on Fly.", "Hetzner", Polarity::Negative),
        ];
        for (content, value, expected) in table {
            assert_eq!(turn(content, Some(value)), expected, "{value} in {content}");
        }
        assert_eq!(turn("It is not on Fly.", None), Polarity::Negative);
    }
}
