//! Decides what to do with statements of two machines that were made independently and contradict or repeat each other.
//!
//! The decision depends only on the versions, so that every machine makes the same one, and is then sent like any other
//! change. The statement that was made later in logical time takes precedence, except that a pinned memory takes
//! precedence over one that is not pinned.

use std::collections::BTreeSet;

use super::collect::rivals;
use super::error::SyncError;
use super::record::{NamespacePatterns, Record, Version, memory_key, read_record};
use crate::changeset::{Action, Row, RowChange};
use crate::consolidate::compare::pair::{ClaimRelation, pair};
use crate::consolidate::compare::view::View;
use crate::memory::{Claim, Memory, MemoryId, Relation, RelationType, Status, Usage};
use crate::store::{SyncTarget, Writer, normalised_hash};

const AT_ONCE: &str = "stated on two machines before they were synchronised";

/// Examines the statements of these memories, and returns the number of conflicts that were added to the inbox.
pub(super) fn resolve(
    w: &Writer<'_>,
    target: &SyncTarget,
    patterns: &NamespacePatterns,
    touched: &BTreeSet<MemoryId>,
) -> Result<usize, SyncError> {
    let mut conflicts = 0;
    for id in touched {
        let Some((memory, record)) = known(w, target, id)? else { continue };
        if !patterns.admits(&memory.namespace) {
            continue;
        }
        conflicts += keep_other_states(w, target, &memory, &record)?;
        end_circle(w, target, &memory, &record)?;
        for rival in rivals(w, &memory)? {
            // An earlier rival may have changed the memory.
            let Some((memory, record)) = known(w, target, id)? else { break };
            let Some((rival, other)) = known(w, target, &rival)? else { continue };
            let (Some(a), Some(b)) = (record.current(), other.current()) else { continue };
            if is_independent(&memory, a, &rival, b) {
                let (winner, loser) =
                    if counts_more(&memory, a, &rival, b) { (memory, rival) } else { (rival, memory) };
                conflicts += usize::from(compare(w, &winner, loser)?);
            }
        }
    }
    Ok(conflicts)
}

fn known(w: &Writer<'_>, target: &SyncTarget, id: &MemoryId) -> Result<Option<(Memory, Record)>, SyncError> {
    let Some(memory) = w.find(id)? else { return Ok(None) };
    let record = w.sync_record(target.id, &memory_key(id))?.map(|json| read_record(&json)).transpose()?;
    Ok(record.map(|record| (memory, record)))
}

/// Returns whether both memories are recalled, and neither statement was made with knowledge of the other.
fn is_independent(memory: &Memory, a: &Version, rival: &Memory, b: &Version) -> bool {
    let knows = |one: &Version, id: &MemoryId, other: &Version| one.knew.get(id) == Some(other.said());
    let is_active = |memory: &Memory| memory.status == Status::Active;
    is_active(memory) && is_active(rival) && !knows(a, &rival.id, b) && !knows(b, &memory.id, a)
}

fn counts_more(memory: &Memory, a: &Version, rival: &Memory, b: &Version) -> bool {
    (memory.pinned, a.said(), &memory.id) > (rival.pinned, b.said(), &rival.id)
}

/// Supersedes the loser if both say the same thing, or moves it to the inbox if they contradict; returns whether it was
/// moved.
fn compare(w: &Writer<'_>, winner: &Memory, loser: Memory) -> Result<bool, SyncError> {
    if loser.pinned {
        return Ok(false);
    }
    let (status, action, link) = match relation(&winner.claim, &loser.claim) {
        ClaimRelation::Opposed | ClaimRelation::Contested => {
            let link = (loser.id.clone(), RelationType::Contradicts, winner.id.clone());
            (Status::Pending, Action::Conflict, link)
        }
        ClaimRelation::Same => {
            let link = (winner.id.clone(), RelationType::Supersedes, loser.id.clone());
            (Status::Superseded, Action::Unite, link)
        }
        ClaimRelation::More | ClaimRelation::Both | ClaimRelation::Unsure | ClaimRelation::Apart => return Ok(false),
    };
    let updated_at = loser.updated_at.max(winner.updated_at);
    let after = Memory { status, updated_at, ..loser.clone() };
    w.put_rows(&[RowChange::new(action, Row::memory(Some(loser), Some(after)), Some(AT_ONCE))])?;
    let (from, relation_type, to) = link;
    w.relate(&Relation { from, to, relation_type, reason: Some(AT_ONCE.to_owned()), created_at: updated_at })?;
    Ok(status == Status::Pending)
}

/// Only the claims are compared, because their evidence may not have arrived on every machine.
fn relation(winner: &Claim, loser: &Claim) -> ClaimRelation {
    if normalised_hash(&winner.content) == normalised_hash(&loser.content) {
        return ClaimRelation::Same;
    }
    pair(&View::of(winner, &[]), &View::of(loser, &[]), false).pairing
}

/// Adds to the inbox the statements of a memory that was changed on two machines at the same time, if they contradict
/// the one that takes precedence.
fn keep_other_states(
    w: &Writer<'_>,
    target: &SyncTarget,
    memory: &Memory,
    record: &Record,
) -> Result<usize, SyncError> {
    let mut kept = 0;
    let Some(current) = record.current().filter(|current| !current.derived) else { return Ok(0) };
    for version in record.versions.iter().filter(|version| version.stamp != current.stamp && !version.derived) {
        let Some(other) = version.memory() else { continue };
        let is_active = memory.status == Status::Active && other.status == Status::Active;
        if !is_active
            || !matches!(relation(&memory.claim, &other.claim), ClaimRelation::Opposed | ClaimRelation::Contested)
        {
            continue;
        }
        // The id is derived from the statement, so that every machine adds the same memory.
        let id = MemoryId::from_stored(format!("{} {}", memory.id, normalised_hash(&other.claim.content))).into_uuid();
        if w.find(&id)?.is_some() || w.sync_record(target.id, &memory_key(&id))?.is_some() {
            continue;
        }
        let at = other.updated_at;
        let waiting = Memory {
            id: id.clone(),
            status: Status::Pending,
            pinned: false,
            usage: Usage::default(),
            created_at: at,
            ..other.clone()
        };
        w.put_rows(&[RowChange::new(Action::Conflict, Row::memory(None, Some(waiting)), Some(AT_ONCE))])?;
        let (to, relation_type) = (memory.id.clone(), RelationType::Contradicts);
        w.relate(&Relation { from: id, to, relation_type, reason: Some(AT_ONCE.to_owned()), created_at: at })?;
        kept += 1;
    }
    Ok(kept)
}

/// Reactivates one of two memories that superseded each other on two machines; otherwise, neither would be recalled.
fn end_circle(w: &Writer<'_>, target: &SyncTarget, memory: &Memory, record: &Record) -> Result<(), SyncError> {
    if memory.status != Status::Superseded {
        return Ok(());
    }
    let links = w.relations(&memory.id)?;
    let supersedes = |from: &MemoryId, to: &MemoryId| {
        links.iter().any(|link| link.relation_type == RelationType::Supersedes && link.from == *from && link.to == *to)
    };
    let others: BTreeSet<&MemoryId> =
        links.iter().map(|link| if link.from == memory.id { &link.to } else { &link.from }).collect();
    for id in others.into_iter().filter(|id| supersedes(&memory.id, id) && supersedes(id, &memory.id)) {
        let Some((rival, other)) = known(w, target, id)? else { continue };
        let (Some(a), Some(b)) = (record.current(), other.current()) else { continue };
        if rival.status != Status::Superseded {
            continue;
        }
        let (winner, loser) = if counts_more(memory, a, &rival, b) { (memory, &rival) } else { (&rival, memory) };
        let updated_at = winner.updated_at.max(loser.updated_at);
        let mut after = Memory { status: Status::Active, updated_at, ..winner.clone() };
        after.claim.valid_to = None;
        let row = Row::memory(Some(winner.clone()), Some(after));
        w.put_rows(&[RowChange::new(Action::Restore, row, Some(AT_ONCE))])?;
        w.unrelate(&loser.id, RelationType::Supersedes, &winner.id)?;
        return Ok(());
    }
    Ok(())
}
