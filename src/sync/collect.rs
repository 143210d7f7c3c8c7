//! Collects the changes of this database since the last synchronisation, as records.

use std::collections::{BTreeMap, BTreeSet};

use super::error::SyncError;
use super::record::{
    NamespacePatterns, Record, Stamp, Version, is_none, key_of, memory_key, read_record, stored, to_json,
};
use crate::changeset::Row;
use crate::consolidate::compare::key::spellings;
use crate::memory::{Memory, MemoryId, Usage};
use crate::store::{SyncTarget, Writer};

/// Number of records in one item.
const ITEM: usize = 1000;

/// The origin of changes that are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A person or a run made the changes.
    Local,
    /// The synchronisation made the changes, because statements of two machines contradict each other.
    Synchronisation,
}

/// Compares memories with their records, and adds the differences to the outbox. Returns the number of records.
pub(super) fn collect(
    w: &Writer<'_>,
    target: &mut SyncTarget,
    patterns: &NamespacePatterns,
    origin: Origin,
) -> Result<usize, SyncError> {
    let ids = w.memories_to_collect(target.id, target.collected)?;
    let seq = target.used + 1;
    let mut out = Out { w, target, patterns, origin, seq, records: Vec::new(), sent: 0 };
    for id in &ids {
        out.collect_memory(id)?;
    }
    out.flush()?;
    let sent = out.sent;
    target.collected = Some(w.last_change()?);
    Ok(sent)
}

/// The records of the item that is being filled.
struct Out<'a, 'w> {
    w: &'a Writer<'w>,
    target: &'a mut SyncTarget,
    patterns: &'a NamespacePatterns,
    origin: Origin,
    seq: u64,
    records: Vec<Record>,
    sent: usize,
}

impl Out<'_, '_> {
    fn collect_memory(&mut self, id: &MemoryId) -> Result<(), SyncError> {
        let known = self.w.sync_records_about(self.target.id, id)?;
        let known: Vec<Record> = known.iter().map(|json| read_record(json)).collect::<Result<_, _>>()?;
        let mut known: BTreeMap<String, Record> = known.into_iter().map(|one| (one.key.clone(), one)).collect();
        let mut rows = rows_of(self.w, id, self.patterns)?;
        let keys: BTreeSet<String> = known.keys().chain(rows.keys()).cloned().collect();
        for key in keys {
            self.collect_row(known.remove(&key), rows.remove(&key))?;
        }
        self.w.clean_sync_records(self.target.id, id)?;
        Ok(())
    }

    fn collect_row(&mut self, known: Option<Record>, row: Option<Row>) -> Result<(), SyncError> {
        let Some(record) = known.or_else(|| row.as_ref().and_then(Record::of)) else { return Ok(()) };
        if record.erased {
            // An erased row that a person imports again stays on this machine.
            if row.is_none() {
                self.send(record)?;
            }
            return Ok(());
        }
        let shown = record.current().map(|version| &version.state).filter(|state| self.patterns.admits_row(state));
        let row = match (row, shown) {
            (None, None) => return Ok(()),
            (Some(row), Some(shown)) if row == *shown => return Ok(()),
            (Some(row), _) => row,
            (None, Some(shown)) if is_none(shown) || self.is_unattached(shown)? => return Ok(()),
            (None, Some(shown)) => without_state(shown),
        };
        let version = self.version(&record, row)?;
        let mut vector = record.vector;
        vector.insert(self.target.device.clone(), self.seq);
        let record = Record { vector, versions: vec![version], ..record };
        self.w.put_sync_record(self.target.id, &stored(&record)?, false)?;
        self.send(record)
    }

    /// Returns whether the row is missing only because a memory that it belongs to is missing or was moved.
    fn is_unattached(&self, row: &Row) -> Result<bool, SyncError> {
        if matches!(row, Row::Memory { .. } | Row::Tombstone { .. }) {
            return Ok(false);
        }
        let Some((memory, other)) = row.memories() else { return Ok(true) };
        for id in std::iter::once(memory).chain(other) {
            if !self.w.find(id)?.is_some_and(|memory| self.patterns.admits(&memory.namespace)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn version(&mut self, record: &Record, state: Row) -> Result<Version, SyncError> {
        if self.records.is_empty() {
            self.target.lamport += 1;
        }
        let stamp = Stamp { lamport: self.target.lamport, device: self.target.device.clone(), seq: self.seq };
        let derived = self.origin == Origin::Synchronisation;
        let mut version = Version { stamp, derived, said: None, knew: BTreeMap::new(), state };
        let former = record.current();
        if let Some(memory) = version.memory() {
            match former.filter(|former| former.memory().is_some_and(|former| says_the_same(former, memory))) {
                Some(former) => {
                    version.said = Some(former.said().clone());
                    version.knew.clone_from(&former.knew);
                }
                None => version.knew = self.knows(memory)?,
            }
        }
        Ok(version)
    }

    /// Returns the memories that a statement about `memory` takes into account.
    fn knows(&self, memory: &Memory) -> Result<BTreeMap<MemoryId, Stamp>, SyncError> {
        let mut knew = BTreeMap::new();
        for id in rivals(self.w, memory)? {
            let key = memory_key(&id);
            let Some(json) = self.w.sync_record(self.target.id, &key)? else { continue };
            if let Some(version) = read_record(&json)?.current() {
                knew.insert(id, version.said().clone());
            }
        }
        Ok(knew)
    }

    fn send(&mut self, record: Record) -> Result<(), SyncError> {
        self.records.push(record);
        self.sent += 1;
        if self.records.len() >= ITEM { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), SyncError> {
        if !self.records.is_empty() {
            self.w.put_sync_outbox(self.target.id, self.seq, &to_json(&self.records)?)?;
            self.records.clear();
            self.target.used = self.seq;
            self.seq += 1;
        }
        Ok(())
    }
}

/// Returns the other memories about the same attribute as `memory`, and those with the same words.
pub(super) fn rivals(w: &Writer<'_>, memory: &Memory) -> Result<BTreeSet<MemoryId>, SyncError> {
    let mut found = BTreeSet::new();
    for key in memory.claim.key.as_deref().map(spellings).unwrap_or_default() {
        found.extend(w.by_key(&memory.namespace, &key)?.into_iter().map(|one| one.id));
    }
    found.extend(w.with_same_words(&memory.namespace, &memory.claim.content)?);
    found.remove(&memory.id);
    Ok(found)
}

/// Returns the rows that belong to a memory and may be sent, by key.
pub(super) fn rows_of(
    w: &Writer<'_>,
    id: &MemoryId,
    patterns: &NamespacePatterns,
) -> Result<BTreeMap<String, Row>, SyncError> {
    let mut rows = Vec::new();
    if let Some(memory) = w.find(id)?.filter(|memory| patterns.admits(&memory.namespace)) {
        rows.extend(w.evidence(id)?.iter().map(|piece| Row::new_evidence(id.clone(), piece)));
        for relation in w.relations(id)? {
            let other = if relation.from == *id { &relation.to } else { &relation.from };
            // The text of a link may quote the memory at its other end.
            if w.find(other)?.is_some_and(|memory| patterns.admits(&memory.namespace)) {
                rows.push(Row::new_relation(relation));
            }
        }
        rows.push(memory_row(memory));
    }
    if let Some(tombstone) = w.tombstone_of(id)?.filter(|tombstone| patterns.admits(&tombstone.namespace)) {
        rows.push(Row::Tombstone { before: None, after: Some(tombstone) });
    }
    Ok(rows.into_iter().filter_map(|row| Some((key_of(&row)?, row))).collect())
}

/// Returns a memory in the form in which it is sent: without its uses, which each machine counts for itself.
pub(super) fn memory_row(memory: Memory) -> Row {
    Row::memory(None, Some(Memory { usage: Usage::default(), ..memory }))
}

/// Returns whether two states of a memory make the same statement.
pub(super) fn says_the_same(a: &Memory, b: &Memory) -> bool {
    let statement = |memory: &Memory| {
        let claim = &memory.claim;
        (memory.status, memory.namespace.clone(), claim.content.clone(), claim.key.clone(), claim.value.clone())
    };
    statement(a) == statement(b)
}

/// Returns the row as a change that removes it.
fn without_state(row: &Row) -> Row {
    match row {
        Row::Memory { .. } => Row::Memory { before: None, after: None },
        Row::Evidence { memory, .. } => Row::Evidence { memory: memory.clone(), before: None, after: None },
        Row::Relation { .. } => Row::Relation { before: None, after: None },
        Row::Tombstone { .. } => Row::Tombstone { before: None, after: None },
    }
}
