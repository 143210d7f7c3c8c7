//! Merges, supersedes or links two memories once their relation is known.

use jiff::Timestamp;

use super::field::{Field, arrived, said_at};
use super::judge::{is_same_both_ways, may_merge};
use crate::changeset::Action;
use crate::consolidate::decide::ruling::{enrich, joint_expiry};
use crate::consolidate::pass::field::PassChange;
pub(super) use crate::consolidate::plan::rows::uncovered as new_evidence;
use crate::consolidate::plan::rows::{shares_no_source, supported};
use crate::consolidate::{Conflict, Decision, Known, Ruling};
use crate::memory::{Claim, Evidence, Memory, RelationType, Status};

/// The outcome of a ruling.
pub(super) enum Outcome {
    Done(Box<PassChange>),
    Held(String),
    /// The ruling would merge memories that must be kept apart.
    Refused,
    Nothing,
}

/// Returns the outcome of applying `ruling` to `memory`.
pub(super) fn act(field: &Field, memory: &Known, ruling: &Ruling, now: Timestamp) -> Outcome {
    let Some(target) = ruling.target.as_ref().and_then(|id| field.active.get(id)) else { return Outcome::Nothing };
    match ruling.decision {
        Decision::Add => Outcome::Nothing,
        Decision::Skip | Decision::Support => {
            // The memory that was created first is kept, unless only the other contains everything.
            let swap = is_same_both_ways(memory, target)
                && (memory.memory.pinned, arrived(target)) > (target.memory.pinned, arrived(memory));
            let (kept, gone) = if swap { (memory, target) } else { (target, memory) };
            unite(field, &Union { kept, gone, claim: None, step: Action::Duplicate, why: "says the same" }, now)
        }
        Decision::Refine if ruling.pending => held("more detail on a pinned memory", target),
        Decision::Refine => {
            let union = Union { kept: memory, gone: target, claim: None, step: Action::Refined, why: &ruling.reason };
            unite(field, &union, now)
        }
        Decision::Merge if ruling.pending => held("adds to a pinned memory", target),
        Decision::Merge => {
            let claim = ruling.merged.clone();
            let union = Union { kept: target, gone: memory, claim, step: Action::Duplicate, why: &ruling.reason };
            unite(field, &union, now)
        }
        Decision::Contradict => oppose(field, memory, target, ruling, now),
    }
}

/// Two memories that are merged into one.
struct Union<'a> {
    kept: &'a Known,
    gone: &'a Known,
    /// The claim of the kept memory after the merge, if the wording changes.
    claim: Option<Claim>,
    step: Action,
    why: &'a str,
}

fn unite(field: &Field, union: &Union<'_>, now: Timestamp) -> Outcome {
    let (kept, gone) = (union.kept, union.gone);
    if gone.memory.pinned {
        return held("it would be replaced by a memory that says the same thing", gone);
    }
    let of_gone = field.cluster(&gone.memory.id);
    let keeps_apart = |a: &Known| {
        // This pair was already judged, perhaps by a model, and the words must not override that judgement.
        let is_pair = |b: &Known| a.memory.id == kept.memory.id && b.memory.id == gone.memory.id;
        of_gone.iter().any(|b| !is_pair(b) && !may_merge(a, b))
    };
    if field.cluster(&kept.memory.id).into_iter().any(keeps_apart) {
        return Outcome::Refused;
    }
    let mut change = PassChange::new(union.step, union.why, &kept.memory.claim.content, now);
    change.beside = Some(gone.memory.claim.content.clone());
    if !kept.memory.pinned {
        let claim = united(union.claim.as_ref().unwrap_or(&kept.memory.claim), kept, gone);
        change.change(kept, Memory { claim, ..kept.memory.clone() });
    }
    change.change(gone, Memory { status: Status::Superseded, ..gone.memory.clone() });
    change.gain(&kept.memory.id, &new_evidence(&gone.evidence, &kept.evidence));
    if union.step == Action::Refined {
        change.link(&kept.memory.id, RelationType::Refines, &gone.memory.id);
    }
    change.link(&kept.memory.id, RelationType::Supersedes, &gone.memory.id);
    Outcome::Done(Box::new(change))
}

/// Returns the claim that is kept, with the additions that only the other memory had.
fn united(claim: &Claim, kept: &Known, gone: &Known) -> Claim {
    let (own, other) = (&kept.memory.claim, &gone.memory.claim);
    let is_independent = shares_no_source(&gone.evidence, &kept.evidence);
    let is_new = !new_evidence(&gone.evidence, &kept.evidence).is_empty();
    let sure = own.confidence.max(other.confidence);
    let by = own.confidence.min(other.confidence);
    Claim {
        confidence: if is_new { supported(sure, by, is_independent) } else { sure },
        expires_at: joint_expiry(own, other),
        ..enrich(claim, other)
    }
}

/// Returns the evidence of `memories`, each piece once.
pub(super) fn all_evidence(memories: &[&Known]) -> Vec<Evidence> {
    memories.iter().flat_map(|known| &known.evidence).fold(Vec::new(), |mut all, piece| {
        all.extend(new_evidence(std::slice::from_ref(piece), &all));
        all
    })
}

fn oppose(field: &Field, memory: &Known, target: &Known, ruling: &Ruling, now: Timestamp) -> Outcome {
    let conflict = ruling.conflict.unwrap_or(Conflict::Conflict);
    let also = ruling.also.iter().filter_map(|id| field.active.get(id));
    let targets: Vec<&Known> = std::iter::once(target).chain(also).collect();
    let is_pinned = targets.iter().any(|known| known.memory.pinned);
    if ruling.pending {
        let (first, last) = if arrived(memory) < arrived(target) { (memory, target) } else { (target, memory) };
        return if is_pinned || last.memory.pinned { held(&ruling.reason, target) } else { wait(first, last, now) };
    }
    if ruling.born_superseded {
        return if memory.memory.pinned {
            held(&ruling.reason, memory)
        } else {
            Outcome::Done(Box::new(replace(target, &[memory], conflict, &ruling.reason, now)))
        };
    }
    if is_pinned {
        return held(&ruling.reason, target);
    }
    let mut change = replace(memory, &targets, conflict, &ruling.reason, now);
    if let Some(rest) = &ruling.rest {
        // The rest of the known memory is still true.
        let kept = &target.memory;
        let rest = Memory::new(rest.clone(), kept.namespace.clone(), kept.source.clone(), kept.extraction_method, now);
        let id = rest.id.clone();
        change.make(rest, &target.evidence);
        change.link(&id, RelationType::DerivedFrom, &kept.id);
    }
    Outcome::Done(Box::new(change))
}

/// It is undecided which of the two memories is true, so the later memory waits for review by a person.
fn wait(first: &Known, last: &Known, now: Timestamp) -> Outcome {
    let why = "they cannot both be true, and it is unclear which one is";
    let mut change = PassChange::new(Action::Conflict, why, &last.memory.claim.content, now);
    change.beside = Some(first.memory.claim.content.clone());
    change.change(last, Memory { status: Status::Pending, ..last.memory.clone() });
    change.link(&last.memory.id, RelationType::Contradicts, &first.memory.id);
    Outcome::Done(Box::new(change))
}

/// Replaces earlier memories with `later`.
fn replace(later: &Known, targets: &[&Known], conflict: Conflict, why: &str, now: Timestamp) -> PassChange {
    let mut change = PassChange::new(Action::Contradicted, why, &later.memory.claim.content, now);
    change.beside = targets.first().map(|known| known.memory.claim.content.clone());
    for known in targets {
        let claim = &known.memory.claim;
        let valid_to = match conflict {
            Conflict::Changed | Conflict::Conflict => Some(said_at(later)),
            Conflict::Corrected => claim.valid_from.or(claim.valid_to),
        };
        let claim = Claim { valid_to, ..claim.clone() };
        change.change(known, Memory { claim, status: Status::Superseded, ..known.memory.clone() });
        change.link(&later.memory.id, RelationType::Supersedes, &known.memory.id);
        change.link(&later.memory.id, RelationType::Contradicts, &known.memory.id);
    }
    change
}

fn held(why: &str, pinned: &Known) -> Outcome {
    Outcome::Held(format!("{why}: {}", pinned.memory.claim.content))
}
