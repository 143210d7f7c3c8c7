//! What a change makes of memories: one place for planning ahead and for writing.

use jiff::Timestamp;

use crate::memory::{Claim, Evidence, Memory, MemoryId, Relation, RelationType, Status};

use crate::consolidate::compare::key::canonical;
use crate::consolidate::decide::case::is_covered;
use crate::consolidate::decide::ruling::enrich;
use crate::consolidate::{Change, Conflict, Decision, Known};

/// Highest confidence that support alone leads to.
pub const MAX_SUPPORTED: f64 = 0.99;

/// Part of the remaining doubt that one independent confirmation of full confidence takes away.
const SUPPORT_GAIN: f64 = 0.3;

/// What a change writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::consolidate) struct Effects {
    /// Memories that are made, each with what it rests on.
    pub(in crate::consolidate) made: Vec<(Memory, Vec<Evidence>)>,
    /// Memories as they are afterwards.
    pub(in crate::consolidate) changed: Vec<Memory>,
    /// Evidence that the target gains.
    pub(in crate::consolidate) gained: Vec<Evidence>,
    /// Links that are made.
    pub(in crate::consolidate) relations: Vec<Relation>,
}

/// Returns the confidence of a claim after a confirmation.
///
/// `c + (0.99 − c) · 0.3 · s`, where `s` is the confidence of what confirms it, halved if it comes from a transcript
/// that the claim rests on already. Never lowered.
#[must_use]
pub fn supported(confidence: f64, by: f64, independent: bool) -> f64 {
    let weight = if independent { 1.0 } else { 0.5 };
    let gain = (MAX_SUPPORTED - confidence).max(0.0) * SUPPORT_GAIN * by.clamp(0.0, 1.0) * weight;
    confidence + gain
}

/// Whether `change` would reword or retire a pinned memory, whoever decided so.
pub(in crate::consolidate) fn threatens_pinned(change: &Change, targets: &[Known]) -> bool {
    let changes_targets = match change.decision {
        Decision::Merge | Decision::Refine | Decision::Contradict => !change.pending && !change.born_superseded,
        Decision::Add | Decision::Skip | Decision::Support => false,
    };
    changes_targets && targets.iter().any(|known| known.memory.pinned)
}

/// Returns what `change` writes, given its targets as they are. Where the target is missing the candidate is added;
/// where it is pinned, the candidate waits.
pub(in crate::consolidate) fn effects(change: &Change, targets: &[Known], now: Timestamp) -> Effects {
    if threatens_pinned(change, targets) {
        let waiting = Change { pending: true, ..change.clone() };
        return effects(&waiting, targets, now);
    }
    let target = targets.iter().find(|known| Some(&known.memory.id) == change.target.as_ref());
    match (change.decision, target) {
        (Decision::Skip, _) => Effects::default(),
        (Decision::Support, Some(known)) => support(change, known, now),
        (Decision::Merge, Some(known)) if change.pending => waiting(change, known, RelationType::Related, now),
        (Decision::Merge, Some(known)) => merge(change, known, now),
        (Decision::Refine, Some(known)) if change.pending => waiting(change, known, RelationType::Refines, now),
        (Decision::Refine, Some(known)) => refine(change, known, now),
        (Decision::Contradict, Some(known)) => contradict(change, known, targets, now),
        (Decision::Add, _) | (_, None) => add(change, now),
    }
}

fn add(change: &Change, now: Timestamp) -> Effects {
    let memory = made(change, change.incoming.candidate.claim.clone(), now);
    let related = change.related.as_ref().map(|to| link(&memory.id, to, RelationType::Related, &change.reason, now));
    Effects { relations: related.into_iter().collect(), ..Effects::making(change, memory) }
}

fn support(change: &Change, known: &Known, now: Timestamp) -> Effects {
    let gained = new_evidence(change, known);
    let mut memory = known.memory.clone();
    if !memory.pinned {
        memory.claim.confidence = confirmed(change, known);
        memory.updated_at = now;
    }
    Effects { changed: vec![memory], gained, ..Effects::default() }
}

fn merge(change: &Change, known: &Known, now: Timestamp) -> Effects {
    let claim = change.merged.clone().unwrap_or_else(|| known.memory.claim.clone());
    let claim = Claim { confidence: confirmed(change, known), ..claim };
    let memory = Memory { claim, updated_at: now, ..known.memory.clone() };
    Effects { changed: vec![memory], gained: new_evidence(change, known), ..Effects::default() }
}

/// A new memory takes the target's place, with what the target rests on; the target never stopped being true.
fn refine(change: &Change, known: &Known, now: Timestamp) -> Effects {
    let claim = enrich(&change.incoming.candidate.claim, &known.memory.claim);
    let sure = claim.confidence.max(known.memory.claim.confidence);
    let claim = Claim { confidence: supported(sure, claim.confidence, is_independent(change, known)), ..claim };
    let memory = made(change, claim, now);
    let mut evidence = known.evidence.clone();
    evidence.extend(new_evidence(change, known));
    let relations = [RelationType::Refines, RelationType::Supersedes]
        .map(|relation| link(&memory.id, &known.memory.id, relation, &change.reason, now));
    let replaced = Memory { status: Status::Superseded, updated_at: now, ..known.memory.clone() };
    Effects {
        made: vec![(memory, evidence)],
        changed: vec![replaced],
        relations: relations.into(),
        ..Effects::default()
    }
}

fn contradict(change: &Change, known: &Known, targets: &[Known], now: Timestamp) -> Effects {
    let conflict = change.conflict.unwrap_or(Conflict::Conflict);
    if change.pending {
        return waiting(change, known, RelationType::Contradicts, now);
    }
    let mut memory = made(change, change.incoming.candidate.claim.clone(), now);
    let (new, old) = (memory.id.clone(), known.memory.id.clone());
    if change.born_superseded {
        memory.claim.valid_to = ended(&memory.claim, conflict, known_from(known));
        let relations = vec![
            link(&old, &new, RelationType::Supersedes, conflict.as_str(), now),
            link(&old, &new, RelationType::Contradicts, conflict.as_str(), now),
        ];
        return Effects { relations, ..Effects::making(change, memory) };
    }
    let mut effects = Effects::making(change, memory);
    for known in targets {
        let valid_to = ended(&known.memory.claim, conflict, change.holds_from);
        let claim = Claim { valid_to, ..known.memory.claim.clone() };
        effects.changed.push(Memory { claim, status: Status::Superseded, updated_at: now, ..known.memory.clone() });
        for relation in [RelationType::Supersedes, RelationType::Contradicts] {
            effects.relations.push(link(&new, &known.memory.id, relation, conflict.as_str(), now));
        }
    }
    if let Some(rest) = &change.rest {
        let memory = Memory {
            id: rest.id.clone(),
            claim: rest.claim.clone(),
            ..Memory::new(
                rest.claim.clone(),
                known.memory.namespace.clone(),
                known.memory.source.clone(),
                known.memory.extraction_method,
                now,
            )
        };
        effects.relations.push(link(&memory.id, &old, RelationType::DerivedFrom, "what still holds of it", now));
        effects.made.push((memory, known.evidence.clone()));
    }
    effects
}

/// A replaced claim ends where the next begins; one that was never so ends where it began.
fn ended(claim: &Claim, conflict: Conflict, next_from: Option<Timestamp>) -> Option<Timestamp> {
    match conflict {
        Conflict::Changed | Conflict::Conflict => next_from.or(claim.valid_to),
        Conflict::Corrected => claim.valid_from.or(claim.valid_to),
    }
}

fn known_from(known: &Known) -> Option<Timestamp> {
    crate::consolidate::decide::order::When::of(&known.memory.claim, &known.evidence, known.memory.created_at).at
}

/// A new memory in the inbox, linked to what it would change.
fn waiting(change: &Change, known: &Known, relation: RelationType, now: Timestamp) -> Effects {
    let memory = made(change, change.incoming.candidate.claim.clone(), now);
    let link = link(&memory.id, &known.memory.id, relation, &change.reason, now);
    Effects { relations: vec![link], ..Effects::making(change, memory) }
}

impl Effects {
    fn making(change: &Change, memory: Memory) -> Self {
        Self { made: vec![(memory, change.incoming.candidate.evidence.clone())], ..Self::default() }
    }
}

fn made(change: &Change, claim: Claim, now: Timestamp) -> Memory {
    let incoming = &change.incoming;
    // Attributes are stored under one spelling, so that the next claim of the same attribute finds them.
    let claim = Claim { key: claim.key.as_deref().map(canonical), ..claim };
    let memory = Memory::new(claim, incoming.namespace.clone(), incoming.source.clone(), incoming.method, now);
    let status = match (change.pending, change.born_superseded) {
        (true, _) => Status::Pending,
        (false, true) => Status::Superseded,
        (false, false) => Status::Active,
    };
    Memory { id: change.new_id.clone().unwrap_or_default(), status, ..memory }
}

fn link(from: &MemoryId, to: &MemoryId, relation_type: RelationType, reason: &str, now: Timestamp) -> Relation {
    Relation { from: from.clone(), to: to.clone(), relation_type, reason: Some(reason.to_owned()), created_at: now }
}

fn confirmed(change: &Change, known: &Known) -> f64 {
    let by = change.incoming.candidate.claim.confidence;
    supported(known.memory.claim.confidence, by, is_independent(change, known))
}

fn is_independent(change: &Change, known: &Known) -> bool {
    let evidence = &change.incoming.candidate.evidence;
    !evidence.iter().any(|piece| known.evidence.iter().any(|other| other.transcript == piece.transcript))
}

/// The candidate's evidence that the target does not rest on already.
fn new_evidence(change: &Change, known: &Known) -> Vec<Evidence> {
    let evidence = &change.incoming.candidate.evidence;
    evidence.iter().filter(|piece| !is_covered(std::slice::from_ref(piece), &known.evidence)).cloned().collect()
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
