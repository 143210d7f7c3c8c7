//! Two projects that are one: the memories of the first go to the second, and what both know is settled.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::guard::Guard;
use crate::memory::{Audience, Candidate, Memory, Namespace, Relation, RelationType, Status};
use crate::store::{Filter, Order, StoreError, Within, Writer};

use super::apply::{Applied, look_around, read_targets, write_around};
use super::effects::effects;
use super::plan::{Answers, draft};
use super::{Change, Decision, Incoming};

/// Memories that are settled together.
const BATCH: usize = 200;

/// What became of the memories that were moved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Memories that lie in the other namespace now, of every status.
    pub moved: usize,
    /// How the active ones were settled with what was known there.
    pub decisions: BTreeMap<Decision, usize>,
    /// Notes of rejected values that hold there now.
    pub rejections: usize,
}

/// Moves every memory of `from` to `into`, with its id, evidence, links and history, and sends there what `from` would
/// get later.
///
/// Active memories are settled by the rules with what is known in `into`, as if they came in now: of two that say the
/// same, the one that was there stays and gains the evidence. Pinned memories are moved as they are.
///
/// # Errors
/// [`StoreError`] if the file cannot be written.
pub fn merge_projects(
    writer: &Writer<'_>,
    guard: &Guard,
    from: &Namespace,
    into: &Namespace,
) -> Result<Moved, StoreError> {
    let all = Filter { namespaces: vec![Within::Exactly(from.clone())], statuses: Vec::new(), ..Filter::default() };
    let memories = writer.list(&all, Order::Id, usize::MAX, 0)?;
    let mut moved = Moved { moved: memories.len(), ..Moved::default() };
    let (settled, kept): (Vec<_>, Vec<_>) =
        memories.into_iter().partition(|memory| memory.status == Status::Active && !memory.pinned);
    let reason = format!("{from} was merged into {into}");
    for memory in kept {
        writer.set_namespace(&memory.id, into, &reason)?;
    }
    for batch in settled.chunks(BATCH) {
        settle_batch(writer, guard, batch, into, &reason, &mut moved)?;
    }
    moved.rejections = writer.move_tombstones(from, into)?;
    writer.note_merge(from, into)?;
    Ok(moved)
}

fn settle_batch(
    writer: &Writer<'_>,
    guard: &Guard,
    memories: &[Memory],
    into: &Namespace,
    reason: &str,
    moved: &mut Moved,
) -> Result<(), StoreError> {
    let incoming = memories.iter().map(|memory| incoming(writer, memory, into)).collect::<Result<_, _>>()?;
    let mut cases = look_around(writer, incoming)?.cases;
    for (case, memory) in cases.iter_mut().zip(memories) {
        case.id = memory.id.clone();
    }
    let (changes, _) = draft(&cases, &Answers::new(), writer.now());
    for (change, memory) in changes.iter().zip(memories) {
        *moved.decisions.entry(change.decision).or_default() += 1;
        writer.set_namespace(&memory.id, into, reason)?;
        settle(writer, guard, change, memory)?;
    }
    Ok(())
}

fn incoming(writer: &Writer<'_>, memory: &Memory, into: &Namespace) -> Result<Incoming, StoreError> {
    let candidate = Candidate {
        claim: memory.claim.clone(),
        audience: Audience::Project,
        evidence: writer.evidence(&memory.id)?,
        replaces: None,
    };
    let (source, method) = (memory.source.clone(), memory.extraction_method);
    Ok(Incoming { candidate, namespace: into.clone(), source, method })
}

/// Writes what the change makes of a memory that has been moved, and of those that were there.
fn settle(writer: &Writer<'_>, guard: &Guard, change: &Change, memory: &Memory) -> Result<(), StoreError> {
    let targets = read_targets(writer, change)?;
    let mut effects = effects(change, &targets, writer.now());
    let action = change.decision.as_str();
    match effects.made.take() {
        Some((made, evidence)) => {
            let namespace = change.incoming.namespace.clone();
            let after = Memory { claim: made.claim, status: made.status, namespace, ..memory.clone() };
            if (&after.claim, after.status) != (&memory.claim, memory.status) {
                writer.update(&guard.redact(after).0, action, Some(&change.reason))?;
            }
            writer.add_evidence(&memory.id, &guard.redact(evidence).0)?;
        }
        // What was there says it already, or a person rejected it there.
        None => {
            writer.set_status(&memory.id, Status::Superseded, action, Some(&change.reason))?;
            effects.relations.extend(change.target.as_ref().map(|target| Relation {
                from: target.clone(),
                to: memory.id.clone(),
                relation_type: RelationType::Supersedes,
                reason: Some(change.reason.clone()),
                created_at: writer.now(),
            }));
        }
    }
    write_around(writer, guard, change, effects, &mut Applied::default())
}
