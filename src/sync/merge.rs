//! Merges the records of other machines into those of this database, and writes the resulting rows.

use std::collections::BTreeSet;

use super::collect::{memory_row, rows_of};
use super::error::SyncError;
use super::record::{NamespacePatterns, Record, Version, is_none, read_record, stored};
use crate::changeset::{Action, Entity, Row, RowChange, Tombstone};
use crate::guard::Redact;
use crate::memory::{Memory, MemoryId, Status};
use crate::store::{SyncTarget, Writer};

impl Redact for Record {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.versions.iter_mut().for_each(|version| version.state.edit_texts(edit));
    }
}

/// Merges records into the stored ones, and returns the memories that they are about.
pub(super) fn merge(
    w: &Writer<'_>,
    target: &mut SyncTarget,
    incoming: Vec<Record>,
) -> Result<BTreeSet<MemoryId>, SyncError> {
    let mut touched = BTreeSet::new();
    for record in incoming {
        // Another machine may have an older guard.
        let record = w.redact(record).into_inner();
        let highest = record.versions.iter().map(|version| version.stamp.lamport).max();
        target.lamport = target.lamport.max(highest.unwrap_or(0));
        let known = w.sync_record(target.id, &record.key)?.map(|json| read_record(&json)).transpose()?;
        let arrived: Vec<Version> = record.versions.clone();
        let joined = match known.clone() {
            Some(known) => known.join(record),
            None => record,
        };
        if known.as_ref() == Some(&joined) {
            continue;
        }
        if let Some(known) = &known {
            // This machine's log may contain the erased text as well.
            target.rewrite |= joined.erased && !known.erased;
            erase_evidence(w, known, &joined)?;
            note_losers(w, known, &joined, &arrived)?;
        }
        w.put_sync_record(target.id, &stored(&joined)?, false)?;
        touched.extend(std::iter::once(joined.memory).chain(joined.other));
    }
    Ok(touched)
}

/// Removes a piece of evidence that another machine erased.
fn erase_evidence(w: &Writer<'_>, known: &Record, joined: &Record) -> Result<(), SyncError> {
    if joined.erased
        && !known.erased
        && let Some(Row::Evidence { memory, after: Some(piece), .. }) = known.current().map(|version| &version.state)
        && w.find(memory)?.is_some()
    {
        w.erase_synced_evidence(memory, piece)?;
    }
    Ok(())
}

/// Records in the history the received states that another change made at the same time takes precedence over.
fn note_losers(w: &Writer<'_>, known: &Record, joined: &Record, arrived: &[Version]) -> Result<(), SyncError> {
    let Some(Version { stamp, .. }) = joined.current() else { return Ok(()) };
    let is_new = |version: &&Version| !known.versions.iter().any(|one| one.stamp == version.stamp);
    let lost = |version: &&Version| version.stamp != *stamp && joined.versions.contains(version) && !version.derived;
    for version in arrived.iter().filter(is_new).filter(lost) {
        if let (Some(kept), Some(replaced)) = (w.find(&joined.memory)?, version.memory()) {
            let replaced = Memory { usage: kept.usage.clone(), ..replaced.clone() };
            let reason = format!("from {}; another change made at the same time was kept", version.stamp.device);
            w.note_replaced(&kept, &replaced, &reason)?;
        }
    }
    Ok(())
}

/// Numbers of changes that were applied for other machines.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Written {
    /// Rows that were added, changed or removed.
    pub(super) rows: usize,
    /// Memories that were erased.
    pub(super) erased: usize,
}

/// Writes the rows of these memories according to their records.
pub(super) fn write_rows(
    w: &Writer<'_>,
    target: &SyncTarget,
    patterns: &NamespacePatterns,
    touched: &BTreeSet<MemoryId>,
) -> Result<Written, SyncError> {
    let mut written = Written::default();
    let (mut changes, mut removals) = (Vec::new(), Vec::new());
    for id in touched {
        let stored = w.find(id)?;
        let records = records_about(w, target, id)?;
        // A rejection has its own namespace, which its memory may have left.
        changes.extend(tombstone_change(w, id, &records, patterns)?);
        // A memory that was moved to a namespace that is not synchronised belongs to this machine alone.
        if stored.as_ref().is_some_and(|memory| !patterns.admits(&memory.namespace)) {
            continue;
        }
        let own = records.iter().find(|record| record.entity == Entity::Memory && record.memory == *id);
        let Some(own) = own else { continue };
        if own.erased {
            written.erased += usize::from(w.erase_synced(id)?);
            continue;
        }
        let wanted = own.current().and_then(Version::memory).filter(|memory| patterns.admits(&memory.namespace));
        let from = own.current().map(|version| version.stamp.device.as_str()).unwrap_or_default();
        match (stored, wanted) {
            (stored, Some(wanted)) => {
                changes.extend(memory_change(stored, wanted, from));
                changes.extend(row_changes(w, id, &records, Entity::Evidence, patterns)?);
            }
            (Some(stored), None) => removals.push(change(Action::Undo, Row::memory(Some(stored), None), from)),
            (None, None) => {}
        }
    }
    w.put_rows(&changes)?;
    // Links need both memories, so they are written after all memories.
    let mut links = Vec::new();
    let mut seen = BTreeSet::new();
    for id in touched {
        let records = records_about(w, target, id)?;
        let of_pair = |record: &&Record| record.entity == Entity::Relation && seen.insert(record.key.clone());
        let records: Vec<Record> = records.iter().filter(of_pair).cloned().collect();
        links.extend(row_changes(w, id, &records, Entity::Relation, patterns)?);
    }
    w.put_rows(&links)?;
    w.put_rows(&removals)?;
    written.rows = changes.len() + links.len() + removals.len();
    Ok(written)
}

fn records_about(w: &Writer<'_>, target: &SyncTarget, id: &MemoryId) -> Result<Vec<Record>, SyncError> {
    w.sync_records_about(target.id, id)?.iter().map(|json| read_record(json)).collect()
}

fn memory_change(stored: Option<Memory>, wanted: &Memory, from: &str) -> Option<RowChange> {
    let Some(stored) = stored else {
        return Some(change(Action::Add, Row::memory(None, Some(wanted.clone())), from));
    };
    let after = Memory { usage: stored.usage.clone(), ..wanted.clone() };
    if memory_row(after.clone()) == memory_row(stored.clone()) {
        return None;
    }
    let action = action_of(&stored, &after);
    Some(change(action, Row::memory(Some(stored), Some(after)), from))
}

/// Returns the name under which the history records this difference.
fn action_of(before: &Memory, after: &Memory) -> Action {
    if before.status != after.status {
        return match after.status {
            Status::Active => Action::Restore,
            Status::Superseded => Action::Supersede,
            Status::Forgotten => Action::Forget,
            Status::Expired => Action::Expire,
            Status::Pending => Action::Conflict,
        };
    }
    if before.namespace != after.namespace {
        return Action::Move;
    }
    match (before.pinned, after.pinned) {
        (false, true) => Action::Pin,
        (true, false) => Action::Unpin,
        _ => Action::Update,
    }
}

/// Returns the changes that make the evidence or the links of a memory match their records.
fn row_changes(
    w: &Writer<'_>,
    id: &MemoryId,
    records: &[Record],
    entity: Entity,
    patterns: &NamespacePatterns,
) -> Result<Vec<RowChange>, SyncError> {
    let mut rows = rows_of(w, id, patterns)?;
    let mut changes = Vec::new();
    for record in records.iter().filter(|record| record.entity == entity) {
        let Some(version) = record.current() else { continue };
        let from = version.stamp.device.as_str();
        let stored = rows.remove(&record.key);
        match (stored, &version.state) {
            (None, Row::Evidence { memory, after: Some(piece), .. }) => {
                changes.push(change(Action::Evidence, Row::new_evidence(memory.clone(), piece), from));
            }
            (Some(Row::Evidence { memory, after: before, .. }), Row::Evidence { after, .. }) if before != *after => {
                let action = if after.is_some() { Action::Evidence } else { Action::Undo };
                changes.push(change(action, Row::Evidence { memory, before, after: after.clone() }, from));
            }
            (None, Row::Relation { after: Some(link), .. })
                if w.find(&link.from)?.is_some() && w.find(&link.to)?.is_some() =>
            {
                changes.push(change(Action::Relate, Row::new_relation(link.clone()), from));
            }
            (Some(Row::Relation { after: before, .. }), Row::Relation { after, .. }) if before != *after => {
                let action = if after.is_some() { Action::Relate } else { Action::Unrelate };
                changes.push(change(action, Row::Relation { before, after: after.clone() }, from));
            }
            _ => {}
        }
    }
    Ok(changes)
}

fn tombstone_change(
    w: &Writer<'_>,
    id: &MemoryId,
    records: &[Record],
    patterns: &NamespacePatterns,
) -> Result<Option<RowChange>, SyncError> {
    let of_id = |record: &&Record| record.entity == Entity::Tombstone && record.memory == *id;
    let Some(version) = records.iter().find(of_id).and_then(Record::current) else { return Ok(None) };
    let admitted = |tombstone: &Tombstone| patterns.admits(&tombstone.namespace);
    let Row::Tombstone { after, .. } = &version.state else { return Ok(None) };
    let before = w.tombstone_of(id)?;
    // A rejection in a namespace that is not synchronised belongs to this machine alone.
    if before == *after
        || before.as_ref().is_some_and(|one| !admitted(one))
        || after.as_ref().is_some_and(|one| !admitted(one))
    {
        return Ok(None);
    }
    let action = if is_none(&version.state) { Action::Admit } else { Action::Reject };
    Ok(Some(change(action, Row::Tombstone { before, after: after.clone() }, &version.stamp.device)))
}

fn change(action: Action, row: Row, from: &str) -> RowChange {
    RowChange::new(action, row, Some(format!("from {from}")))
}
