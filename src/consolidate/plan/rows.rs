//! The row changes that result from a decision.

use jiff::Timestamp;

use crate::changeset::{RowChange, Rows};
use crate::memory::{Claim, Evidence, Memory, MemoryId, RelationType, Status};

use crate::consolidate::compare::key::{canonical, own_key};
use crate::consolidate::decide::ruling::{ValidTime, enrich, is_covered, joint_expiry};
use crate::consolidate::{Change, Conflict, Decision, ImportedState, Known};

/// Highest confidence that can be reached through support alone.
pub(crate) const MAX_SUPPORTED: f64 = 0.99;

/// Share of the remaining doubt that an independent confirmation with full confidence removes.
const SUPPORT_GAIN: f64 = 0.3;

/// Returns the confidence of a claim after a confirmation.
///
/// The result is `c + (0.99 − c) · 0.3 · s`, where `s` is the confidence of the confirming claim. `s` is halved if that
/// claim comes from a transcript on which the claim is already based. The confidence is never lowered.
#[must_use]
pub(crate) fn supported(confidence: f64, by: f64, independent: bool) -> f64 {
    let weight = if independent { 1.0 } else { 0.5 };
    // `max` prevents lowering a confidence above 0.99, which a person may have set.
    let gain = (MAX_SUPPORTED - confidence).max(0.0) * SUPPORT_GAIN * by.clamp(0.0, 1.0) * weight;
    confidence + gain
}

/// Whether `change` would reword or retire a pinned memory, regardless of whether rules or a model made the decision.
pub(in crate::consolidate) fn threatens_pinned(change: &Change, targets: &[Known]) -> bool {
    let changes_targets = match change.decision {
        Decision::Merge | Decision::Refine | Decision::Contradict => !change.pending && !change.born_superseded,
        Decision::Add | Decision::Skip | Decision::Support => false,
    };
    changes_targets && targets.iter().any(|known| known.memory.pinned)
}

/// Returns the rows that `change` writes, given its targets in their current state. If the target is missing, the
/// candidate is added; if the target is pinned, the candidate waits.
pub(in crate::consolidate) fn rows(change: &Change, targets: &[Known], now: Timestamp) -> Vec<RowChange> {
    if threatens_pinned(change, targets) {
        // This is checked again here, since the target may have been pinned after the plan was made.
        let waiting = Change { pending: true, ..change.clone() };
        return rows(&waiting, targets, now);
    }
    let target = targets.iter().find(|known| Some(&known.memory.id) == change.target.as_ref());
    let mut rows = Rows::new(change.decision.action(), change.reason.clone(), now);
    match (change.decision, target) {
        (Decision::Skip, _) => {}
        (Decision::Support, Some(known)) => support(change, known, &mut rows),
        (Decision::Merge, Some(known)) if change.pending => {
            waiting(change, known, RelationType::Related, now, &mut rows);
        }
        (Decision::Merge, Some(known)) => merge(change, known, &mut rows),
        (Decision::Refine, Some(known)) if change.pending => {
            waiting(change, known, RelationType::Refines, now, &mut rows);
        }
        (Decision::Refine, Some(known)) => refine(change, known, now, &mut rows),
        (Decision::Contradict, Some(known)) => contradict(change, known, targets, now, &mut rows),
        // Without its target, the decision has no meaning, but the statement must not be lost.
        (Decision::Add, _) => add(change, targets, now, &mut rows),
        (_, None) => add(change, &[], now, &mut rows),
    }
    rows.into_changes()
}

/// Creates a memory, which replaces copies that wait in the inbox.
fn add(change: &Change, copies: &[Known], now: Timestamp, rows: &mut Rows) {
    let id = make(change, change.incoming.candidate.claim.clone(), now, rows);
    for Known { memory, .. } in copies.iter().filter(|copy| copy.memory.status == Status::Pending) {
        rows.supersede(memory, &id, "the same words are active");
    }
    if let Some(to) = &change.related {
        rows.link(&id, RelationType::Related, to, None);
    }
}

fn support(change: &Change, known: &Known, rows: &mut Rows) {
    // A pinned memory gains evidence, but only a person changes its confidence.
    if !known.memory.pinned {
        let own = &known.memory.claim;
        let expires_at = joint_expiry(own, &change.incoming.candidate.claim);
        let claim = Claim { confidence: confirmed(change, known), expires_at, ..own.clone() };
        rows.change(&known.memory, Memory { claim, ..known.memory.clone() });
    }
    rows.gain(&known.memory.id, &new_evidence(change, known));
}

fn merge(change: &Change, known: &Known, rows: &mut Rows) {
    let claim = change.merged.clone().unwrap_or_else(|| known.memory.claim.clone());
    let claim = Claim { confidence: confirmed(change, known), ..claim };
    rows.change(&known.memory, Memory { claim, ..known.memory.clone() });
    rows.gain(&known.memory.id, &new_evidence(change, known));
}

/// Creates a new memory that replaces the target and inherits its evidence; the statement of the target remains true.
fn refine(change: &Change, known: &Known, now: Timestamp, rows: &mut Rows) {
    let claim = enrich(&change.incoming.candidate.claim, &known.memory.claim);
    let sure = claim.confidence.max(known.memory.claim.confidence);
    let claim = Claim { confidence: supported(sure, claim.confidence, is_independent(change, known)), ..claim };
    let memory = made(change, claim, now);
    let (new, old) = (memory.id.clone(), &known.memory.id);
    let mut evidence = known.evidence.clone();
    evidence.extend(new_evidence(change, known));
    rows.make(memory, &evidence, None);
    rows.change(&known.memory, Memory { status: Status::Superseded, ..known.memory.clone() });
    rows.link(&new, RelationType::Refines, old, None);
    rows.link(&new, RelationType::Supersedes, old, None);
}

fn contradict(change: &Change, known: &Known, targets: &[Known], now: Timestamp, rows: &mut Rows) {
    let conflict = change.conflict.unwrap_or(Conflict::Conflict);
    if change.pending {
        return waiting(change, known, RelationType::Contradicts, now, rows);
    }
    let why = Some(conflict.as_str());
    let mut memory = made(change, change.incoming.candidate.claim.clone(), now);
    let (new, old) = (memory.id.clone(), known.memory.id.clone());
    if change.born_superseded {
        memory.claim.valid_to = ended(&memory.claim, conflict, ValidTime::known(known).at);
        rows.make(memory, &change.incoming.candidate.evidence, None);
        rows.link(&old, RelationType::Supersedes, &new, why);
        rows.link(&old, RelationType::Contradicts, &new, why);
        return;
    }
    rows.make(memory, &change.incoming.candidate.evidence, None);
    let rest = change.rest.as_ref().map(|rest| {
        let of = &known.memory;
        let new = Memory::new(rest.claim.clone(), of.namespace.clone(), of.source.clone(), of.extraction_method, now);
        rows.make(Memory { id: rest.id.clone(), ..new }, &known.evidence, None);
        &rest.id
    });
    for known in targets {
        let valid_to = ended(&known.memory.claim, conflict, change.holds_from);
        let claim = Claim { valid_to, ..known.memory.claim.clone() };
        rows.change(&known.memory, Memory { claim, status: Status::Superseded, ..known.memory.clone() });
    }
    for known in targets {
        rows.link(&new, RelationType::Supersedes, &known.memory.id, why);
        rows.link(&new, RelationType::Contradicts, &known.memory.id, why);
    }
    if let Some(rest) = rest {
        rows.link(rest, RelationType::DerivedFrom, &old, Some("the part that is still true"));
    }
}

/// Returns the claim with its end: a replaced claim ends when the next one begins, and a claim that was never true ends
/// when it began.
fn ended(claim: &Claim, conflict: Conflict, next_from: Option<Timestamp>) -> Option<Timestamp> {
    match conflict {
        Conflict::Changed | Conflict::Conflict => next_from.or(claim.valid_to),
        Conflict::Corrected => claim.valid_from.or(claim.valid_to),
    }
}

/// Creates a new memory in the inbox, linked to the memory that it would change.
fn waiting(change: &Change, known: &Known, relation: RelationType, now: Timestamp, rows: &mut Rows) {
    let id = make(change, change.incoming.candidate.claim.clone(), now, rows);
    rows.link(&id, relation, &known.memory.id, None);
}

/// Creates a memory from the candidate, and returns its id. Only a waiting memory contains a reason, for the person who
/// reviews it.
fn make(change: &Change, claim: Claim, now: Timestamp, rows: &mut Rows) -> MemoryId {
    let memory = made(change, claim, now);
    let (id, why) = (memory.id.clone(), change.pending.then_some(change.reason.as_str()));
    rows.make(memory, &change.incoming.candidate.evidence, why);
    id
}

fn made(change: &Change, claim: Claim, now: Timestamp) -> Memory {
    let incoming = &change.incoming;
    // Attributes are stored under one spelling, so that the next claim of the same attribute finds them.
    let own = own_key(&claim, incoming.method).map(str::to_owned);
    let key = own.or_else(|| claim.key.as_deref().map(canonical));
    let claim = Claim { key, ..claim };
    let memory = Memory::new(claim, incoming.namespace.clone(), incoming.source.clone(), incoming.method, now);
    let status = match (change.pending, change.born_superseded) {
        (true, _) => Status::Pending,
        (false, true) => Status::Superseded,
        (false, false) => Status::Active,
    };
    let memory = Memory { id: change.new_id.clone().unwrap_or_default(), status, ..memory };
    match incoming.past.clone() {
        Some(ImportedState { created_at, updated_at, pinned, usage }) => {
            Memory { pinned, usage, created_at, updated_at, ..memory }
        }
        None => memory,
    }
}

fn confirmed(change: &Change, known: &Known) -> f64 {
    let by = change.incoming.candidate.claim.confidence;
    supported(known.memory.claim.confidence, by, is_independent(change, known))
}

fn is_independent(change: &Change, known: &Known) -> bool {
    shares_no_source(&change.incoming.candidate.evidence, &known.evidence)
}

/// Whether two lists of evidence are from different conversations.
pub(in crate::consolidate) fn shares_no_source(evidence: &[Evidence], known: &[Evidence]) -> bool {
    !evidence.iter().any(|piece| known.iter().any(|other| other.transcript == piece.transcript))
}

fn new_evidence(change: &Change, known: &Known) -> Vec<Evidence> {
    uncovered(&change.incoming.candidate.evidence, &known.evidence)
}

/// Returns the evidence that is not yet known.
pub(in crate::consolidate) fn uncovered(evidence: &[Evidence], known: &[Evidence]) -> Vec<Evidence> {
    evidence.iter().filter(|piece| !is_covered(std::slice::from_ref(piece), known)).cloned().collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn support_takes_away_doubt_and_never_all_of_it() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(supported(0.69, 1.0, true), 0.78));
        assert!(close(supported(0.69, 1.0, false), 0.735));
        assert!(close(supported(1.0, 1.0, true), 1.0));
        let many = (0..1_000).fold(0.2, |confidence, _| supported(confidence, 0.9, true));
        assert!(many <= MAX_SUPPORTED + 1e-9);
    }
}
