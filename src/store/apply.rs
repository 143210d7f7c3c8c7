//! Applies row changes: the only code that changes memories, evidence, relations and tombstones.
//!
//! Each change adds a line to the history, increases the revision of its namespaces, and updates the indexes.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use rusqlite::params;
use serde::Serialize;

use super::RunId;
use super::memories::insert::Fresh;
use super::memories::{evidence, relations, review, row};
use super::writer::{Mark, Stale};
use super::{Store, StoreError, Writer};
use crate::changeset::{Action, Changeset, Row, RowChange, RowKey, relation_key};
use crate::guard::CleanText;
use crate::memory::{Claim, Evidence, Memory, MemoryId, Tier, Usage};
use crate::store::row::to_json;

/// The relation of a change to the stored state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The stored state equals the `before` side.
    Applies,
    /// The stored state already equals the `after` side.
    IsDone,
    /// The stored state equals neither side.
    Conflicts,
}

/// The result of applying a changeset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Applied {
    /// Changes that were written.
    pub written: usize,
    /// Changes that were left out because the stored state equals neither side of the change.
    pub conflicts: Vec<RowChange>,
}

impl Store {
    /// Applies a changeset in one transaction, using the changeset's ID. Changes that are already present are not
    /// written again.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn apply(&self, changeset: &Changeset) -> Result<Applied, StoreError> {
        let run = changeset.run.clone().map(RunId::from_stored);
        self.write(run.as_ref(), changeset.at, |writer| {
            let applied = writer.begin_changeset(&changeset.id).and_then(|()| writer.apply(&changeset.changes))?;
            Ok(applied)
        })
    }
}

impl Writer<'_> {
    /// Removes secrets from changes, applies the changes in order and updates the indexes.
    ///
    /// For each row, the stored state is compared with the state before the row's first change and with the state after
    /// its last. A row that is already in the latter state is not written. A row that is in neither state is left out,
    /// and its changes are returned as conflicts.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn apply(&self, changes: &[RowChange]) -> Result<Applied, StoreError> {
        // Changes from a file are redacted as well: a saved plan may have been edited, or written with an older guard.
        let changes = &*self.redact(changes.to_vec());
        let mut last: HashMap<RowKey<'_>, &Row> = HashMap::new();
        // Later changes of a row replace earlier changes, so only the final state of each row remains.
        last.extend(changes.iter().filter_map(|change| Some((change.row.key()?, &change.row))));
        let (mut applied, mut stale) = (Applied::default(), Stale::default());
        let mut standings: HashMap<RowKey<'_>, Standing> = HashMap::new();
        let mut at = 0;
        while let Some(change) = changes.get(at) {
            at += 1;
            let Some(key) = change.row.key() else { continue };
            // The comparison is made at the first change of a row, because later the row is between the two states.
            let standing = match standings.get(&key) {
                Some(standing) => *standing,
                None => self.standing(&change.row, last[&key])?,
            };
            standings.insert(key, standing);
            match standing {
                Standing::IsDone => {}
                Standing::Conflicts => applied.conflicts.push(change.clone()),
                Standing::Applies => {
                    let written = &changes[at - 1..][..self.write_next(&changes[at - 1..], &mut stale)?];
                    standings.extend(written.iter().filter_map(|one| Some((one.row.key()?, Standing::Applies))));
                    at += written.len() - 1;
                    applied.written += written.len();
                }
            }
        }
        // The indexes are updated once at the end, because several changes of a memory need only one new index entry.
        self.index_stale(&stale)?;
        Ok(applied)
    }

    /// Returns whether the memories that `changes` affect are unchanged since the changes were planned.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn fits(&self, changes: &[RowChange]) -> Result<bool, StoreError> {
        let mut seen = BTreeSet::new();
        for change in changes {
            let Row::Memory { before: Some(before), .. } = &change.row else { continue };
            // Only a memory's first change is checked: later changes start from the result of the first.
            if seen.insert(&before.id) && self.standing(&change.row, &change.row)? == Standing::Conflicts {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the first of `changes`, which are not empty. A new memory is written together with the evidence that follows
    /// it, so that it is indexed only once. Returns the number of changes that were written.
    pub(super) fn write_next(&self, changes: &[RowChange], stale: &mut Stale) -> Result<usize, StoreError> {
        let change = &changes[0];
        let Row::Memory { before: None, after: Some(memory) } = &change.row else {
            self.write_row(change, Mark::Done, stale)?;
            return Ok(1);
        };
        let piece = |change: &RowChange| match &change.row {
            Row::Evidence { after, .. } if change.row.is_new_evidence_of(&memory.id) => after.clone(),
            Row::Evidence { .. } | Row::Memory { .. } | Row::Relation { .. } | Row::Tombstone { .. } => None,
        };
        let evidence: Vec<Evidence> = changes[1..].iter().map_while(piece).collect();
        let fresh = Fresh::of(memory, &evidence, &mut self.stems.borrow_mut())?;
        self.write_fresh(&[fresh], change.action, change.reason.as_deref())?;
        Ok(1 + evidence.len())
    }

    /// Writes one change and updates the indexes.
    pub(super) fn write_one(&self, action: Action, row: Row, reason: Option<CleanText<'_>>) -> Result<(), StoreError> {
        let mut stale = Stale::default();
        // Memories and evidence need no redaction here, because they were redacted earlier or come from the store.
        let row = match row {
            Row::Memory { .. } | Row::Evidence { .. } => row,
            Row::Relation { .. } | Row::Tombstone { .. } => self.redact(row).into_inner(),
        };
        self.write_row(&RowChange::new(action, row, reason.as_deref()), Mark::Done, &mut stale)?;
        self.index_stale(&stale)
    }

    /// Compares the stored row with the row before its first change and after its last.
    fn standing(&self, first: &Row, last: &Row) -> Result<Standing, StoreError> {
        let Some((id, other)) = first.memories() else { return Ok(Standing::IsDone) };
        let is_missing = |id: &MemoryId| Ok::<_, StoreError>(self.find(id)?.is_none());
        let (is_before, is_after) = match (first, last) {
            (Row::Memory { before, .. }, Row::Memory { after, .. }) => {
                let found = self.find(id)?;
                let (before, after) = (before.as_deref(), after.as_deref());
                let parts = Parts::of(before, after);
                (parts.are_same(found.as_ref(), before), parts.are_same(found.as_ref(), after))
            }
            (Row::Evidence { before, .. }, Row::Evidence { after, .. }) => {
                // A violated foreign key would abort the whole transaction, whereas a conflict skips only this change.
                if after.is_some() && is_missing(id)? {
                    return Ok(Standing::Conflicts);
                }
                let Some((_, [_, transcript, message, quote])) = first.key() else { return Ok(Standing::Conflicts) };
                let is_there = self.has_evidence(id, transcript, message, quote)?;
                (is_there == before.is_some(), is_there == after.is_some())
            }
            (Row::Relation { before, .. }, Row::Relation { after, .. }) => {
                if after.is_some() && (is_missing(id)? || other.map_or(Ok(false), is_missing)?) {
                    return Ok(Standing::Conflicts);
                }
                let is_there = self.relations(id)?.iter().any(|relation| relation_key(relation) == first.key());
                (is_there == before.is_some(), is_there == after.is_some())
            }
            (Row::Tombstone { before, .. }, Row::Tombstone { after, .. }) => {
                let found = self.tombstone_of(id)?;
                (found == *before, found == *after)
            }
            // Rows of different kinds never have the same key.
            _ => (false, false),
        };
        Ok(match (is_before, is_after) {
            // This case comes first, so that a change to the same value counts as done and is not written twice.
            (_, true) => Standing::IsDone,
            (true, false) => Standing::Applies,
            (false, false) => Standing::Conflicts,
        })
    }

    /// Writes one row, its history entry and the revisions of its namespaces, and records which indexes are stale.
    pub(super) fn write_row(&self, change: &RowChange, mark: Mark, stale: &mut Stale) -> Result<(), StoreError> {
        let Some((id, other)) = change.row.memories() else { return Ok(()) };
        match &change.row {
            Row::Memory { before, after } => self.write_memory(id, before.as_deref(), after.as_deref(), stale)?,
            Row::Evidence { before, after, .. } => {
                self.read(|conn| {
                    before.iter().try_for_each(|piece| evidence::delete_row(conn, id, piece))?;
                    after.iter().try_for_each(|piece| evidence::insert_row(conn, id, piece).map(drop))
                })?;
                stale.words.insert(id.clone());
                self.bump(id)?;
            }
            Row::Relation { before, after } => {
                self.read(|conn| {
                    before.iter().try_for_each(|relation| relations::delete_row(conn, relation))?;
                    after.iter().try_for_each(|relation| relations::insert_row(conn, relation).map(drop))
                })?;
                self.bump(id)?;
                other.map_or(Ok(()), |other| self.bump(other))?;
            }
            Row::Tombstone { before, after } => {
                self.read(|conn| {
                    before.iter().try_for_each(|note| review::delete_tombstone(conn, &note.memory))?;
                    after.iter().try_for_each(|note| review::insert_tombstone(conn, note).map(drop))
                })?;
                self.bump(id)?;
            }
        }
        self.note(change, mark)
    }

    fn write_memory(
        &self,
        id: &MemoryId,
        before: Option<&Memory>,
        after: Option<&Memory>,
        stale: &mut Stale,
    ) -> Result<(), StoreError> {
        let parts = Parts::of(before, after);
        let Some(memory) = after else {
            self.bump(id)?;
            self.file_waiting()?;
            // The row was deleted with its index entries, so a later attempt to index the memory would not find it.
            stale.words.remove(id);
            stale.near.remove(id);
            return self.read(|conn| row::delete_memory(conn, id).map(drop));
        };
        if parts.content {
            // The namespace that the memory leaves has changed as well.
            if before.is_some_and(|before| before.namespace != memory.namespace) {
                self.bump(id)?;
            }
            self.read(|conn| match before {
                Some(_) => row::put_row(conn, memory),
                None => row::put_memory(conn, memory),
            })?;
            self.bump(id)?;
        }
        // `put_memory` has already stored the tier of a new row.
        if parts.place && before.is_some() {
            self.put_place(id, &memory.usage)?;
        }
        let is_elsewhere = before.is_none_or(|before| before.namespace != memory.namespace);
        if is_elsewhere || before.is_none_or(|before| searched(&before.claim) != searched(&memory.claim)) {
            stale.words.insert(id.clone());
        }
        if is_elsewhere || before.is_none_or(|before| compared(&before.claim) != compared(&memory.claim)) {
            stale.near.insert(id.clone());
        }
        Ok(())
    }

    pub(super) fn index_stale(&self, stale: &Stale) -> Result<(), StoreError> {
        for id in stale.words.union(&stale.near) {
            // A later change in the same write may have deleted the memory.
            let Some(memory) = self.find(id)? else { continue };
            if stale.words.contains(id) {
                self.index_words(&memory)?;
            }
            if stale.near.contains(id) {
                self.index_near(&memory)?;
            }
        }
        Ok(())
    }

    /// Writes one history entry.
    pub(super) fn note(&self, change: &RowChange, mark: Mark) -> Result<(), StoreError> {
        let Some((memory, other)) = change.row.memories() else { return Ok(()) };
        let (before, after) = sides(&change.row)?;
        // A reversal belongs to no run: it must not count as a change made by that run.
        let run = self.run.filter(|_| mark == Mark::Done);
        let changeset = self.changeset()?;
        self.execute(
            "INSERT INTO history (run_id, memory_id, other_id, at, action, entity, before, after, reason, undone,
                    changeset)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                run.map(RunId::as_str),
                memory.as_str(),
                other.map(MemoryId::as_str),
                self.now.as_millisecond(),
                change.action.as_str(),
                change.row.entity().as_str(),
                before,
                after,
                change.reason,
                mark == Mark::Undone,
                changeset,
            ],
        )
        .map(drop)
    }
}

/// The parts of a memory that a change affects. Counts of uses belong to neither part: they are stored separately and
/// may change at any time.
#[derive(Debug, Clone, Copy)]
struct Parts {
    /// Everything except usage.
    content: bool,
    /// The place in the hierarchy, which depends on usage and therefore changes independently of the content.
    place: bool,
}

impl Parts {
    fn of(before: Option<&Memory>, after: Option<&Memory>) -> Self {
        let (Some(before), Some(after)) = (before, after) else { return Self { content: true, place: true } };
        Self { content: !is_same_content(before, after), place: place(&before.usage) != place(&after.usage) }
    }

    fn are_same(self, found: Option<&Memory>, side: Option<&Memory>) -> bool {
        let (Some(found), Some(side)) = (found, side) else { return found.is_none() && side.is_none() };
        (!self.content || is_same_content(found, side)) && (!self.place || place(&found.usage) == place(&side.usage))
    }
}

fn is_same_content(a: &Memory, b: &Memory) -> bool {
    *a == Memory { usage: a.usage.clone(), ..b.clone() }
}

fn place(usage: &Usage) -> (Tier, u32, Option<Timestamp>) {
    (usage.tier, usage.promotion_count, usage.last_promoted_at)
}

/// The texts that people search.
fn searched(claim: &Claim) -> (&str, &str, &[String], [Option<&str>; 4]) {
    let others = [&claim.summary, &claim.subject, &claim.key, &claim.value].map(Option::as_deref);
    (&claim.title, &claim.content, &claim.tags, others)
}

/// The texts that are compared to find this claim.
fn compared(claim: &Claim) -> (&str, &str, [Option<&str>; 3]) {
    (&claim.title, &claim.content, [claim.subject.as_deref(), claim.key.as_deref(), claim.value.as_deref()])
}

/// Returns the states of a row before and after the change, as JSON.
fn sides(row: &Row) -> Result<(Option<String>, Option<String>), StoreError> {
    fn spell<T: Serialize>(side: Option<&T>) -> Result<Option<String>, StoreError> {
        side.map(to_json).transpose()
    }
    Ok(match row {
        Row::Memory { before, after } => (spell(before.as_ref())?, spell(after.as_ref())?),
        Row::Evidence { before, after, .. } => (spell(before.as_ref())?, spell(after.as_ref())?),
        Row::Relation { before, after } => (spell(before.as_ref())?, spell(after.as_ref())?),
        Row::Tombstone { before, after } => (spell(before.as_ref())?, spell(after.as_ref())?),
    })
}
