//! Undoes runs: applies the inverse of their changes, in reverse order.
//!
//! The caller first determines the later changes that build on the run (see [`Database::built_upon`]), and may undo the
//! later runs together with it. Otherwise, memories that were changed after the run are kept and reported, together
//! with the memories that the run linked to them. Undoing half of a replacement would leave both memories active, or
//! neither. The windows of the run stay applied, so that the next run does not silently repeat the same changes. To
//! apply the same candidates again, call [`Store::reopen_windows`], and then apply the windows.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rusqlite::params;
use serde::Serialize;
use serde_json::Value;

use crate::changeset::{Entity, RowChange};
use crate::memory::{MemoryId, Relation};
use crate::store::history::HistoryEntry;
use crate::store::writer::{Mark, Stale};
use crate::store::{Database, Store, StoreError, Writer};
use crate::store::{Run, RunId, RunStatus};

/// The result of an undo for each memory, sorted by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UndoReport {
    /// Memories that are restored to their state before the run.
    pub restored: Vec<MemoryId>,
    /// Memories that the run had added and that are now deleted.
    pub removed: Vec<MemoryId>,
    /// Memories that were left unchanged.
    pub kept: Vec<Kept>,
    /// Number of tasks that are removed from the work ledger, or restored to their version before the run.
    pub tasks: usize,
}

impl UndoReport {
    /// Whether nothing was undone, because every memory was changed later.
    pub(crate) fn keeps_all(&self) -> bool {
        self.restored.is_empty() && self.removed.is_empty() && self.tasks == 0 && !self.kept.is_empty()
    }
}

/// A memory that an undo left unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The memory.
    pub memory: MemoryId,
    /// The reason why the memory was kept.
    pub because: KeepReason,
}

/// Reasons why an undo left a memory unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// The memory was changed again after the run.
    #[error("it was changed after the run")]
    ChangedSince,
    /// The run linked the memory to a memory that has changed since.
    #[error("the run linked it to a memory that was changed after the run")]
    LinkedToChanged,
    /// The memory was purged together with its history.
    #[error("it was purged after the run")]
    Purged,
}

/// Later changes that build on a run: changes to memories that the run had changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LaterChanges {
    /// The later run; `None` for changes by hand or by maintenance.
    pub run: Option<RunId>,
    /// The memories of the earlier run that the later run has changed, sorted by id.
    pub memories: Vec<MemoryId>,
}

/// The last change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LastChange {
    /// A run made the change.
    Run(Box<Run>),
    /// The change was made by hand: by a person's command or an agent's tool.
    ByHand {
        /// The id of its changeset.
        changeset: String,
        /// Time of the change.
        at: Timestamp,
        /// The memory that the changeset changed, or one of these memories.
        memory: MemoryId,
    },
    /// Conversations or memories were erased, which cannot be undone.
    Erasure {
        /// Time of the erasure.
        at: Timestamp,
        /// The last change before it that can be undone.
        before: Option<Box<Self>>,
    },
}

/// The memories that each run has changed.
type Builders = BTreeMap<Option<RunId>, BTreeSet<MemoryId>>;

impl Store {
    /// Reverses, in one transaction, every change of a run that no later change builds on.
    ///
    /// A second undo of the same run reverses the changes that were kept the first time, unless something still
    /// prevents it. A run does not count as undone if all its changes are kept.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::RunInProgress`], or [`StoreError::RunUndone`] if nothing is left.
    pub fn undo_run(&self, run: &RunId, now: Timestamp) -> Result<UndoReport, StoreError> {
        self.undo_runs(std::slice::from_ref(run), now)
    }

    /// Reverses every change of several runs as if they were one run, the last change first, in the same way as
    /// [`Store::undo_run`].
    ///
    /// # Errors
    /// The same errors as [`Store::undo_run`]; [`StoreError::RunUndone`] refers to the first of the runs.
    pub(crate) fn undo_runs(&self, runs: &[RunId], now: Timestamp) -> Result<UndoReport, StoreError> {
        self.write(None, now, |w| {
            let entries = w.entries_of(runs, now)?;
            if let Some(first) = runs.first().filter(|_| entries.is_empty())
                // A run that changed nothing also has no entries, and may be undone once.
                && w.run(first.as_str())?.status == RunStatus::Undone
            {
                return Err(StoreError::RunUndone { id: first.to_string() });
            }
            // Kept memories are determined in the undo's transaction, so that no other change can build on the run in
            // the meantime.
            let kept = kept(w, runs, &entries)?;
            // A run does not count as undone if none of its changes are reversed.
            let reversed: Vec<&RunId> = runs.iter().filter(|run| !is_kept(run, &entries, &kept)).collect();
            let mut undone = w.reverse_all(&entries, kept)?;
            let left: Vec<MemoryId> = undone.kept.iter().map(|kept| kept.memory.clone()).collect();
            for run in reversed {
                w.forget_merges(run)?;
                undone.tasks += w.undo_tasks(run)?;
                // If the records were kept, the same candidates would still count as resolved by a decision that was
                // undone.
                w.forget_settled(run, &left)?;
                let sql = "UPDATE runs SET status = 'undone', finished_at = ifnull(finished_at, ?2) WHERE id = ?1";
                w.execute(sql, params![run.as_str(), w.now.as_millisecond()])?;
            }
            Ok(undone)
        })
    }
}

impl Store {
    /// Reverses a changeset that was made by hand, except for memories that have changed since then.
    ///
    /// # Errors
    /// [`StoreError::NothingToUndo`] if the changeset is unknown or already undone.
    pub(crate) fn undo_by_hand(&self, changeset: &str, now: Timestamp) -> Result<UndoReport, StoreError> {
        self.write(None, now, |w| {
            let own = "undone = 0 AND run_id IS NULL AND changeset = (SELECT seq FROM changesets WHERE id = ?1)";
            let entries = w.entries(own, &[&changeset])?;
            let Some(last) = entries.last() else { return Err(StoreError::NothingToUndo) };
            let mut kept = BTreeMap::new();
            for entry in &entries {
                if !changed_by(w, &entry.memory, last.id)?.is_empty() {
                    kept.insert(entry.memory.clone(), KeepReason::ChangedSince);
                }
                if is_purged(entry) {
                    kept.insert(entry.memory.clone(), KeepReason::Purged);
                }
            }
            w.reverse_all(&entries, kept)
        })
    }
}

impl Database {
    /// Returns the last change: the last one that can be undone, or an erasure after it. Moves within the hierarchy, purged
    /// memories and changes from other machines do not count.
    ///
    /// # Errors
    /// [`StoreError::NothingToUndo`] if there is no such change.
    pub(crate) fn newest_change(&self) -> Result<LastChange, StoreError> {
        let before = match self.last_undoable() {
            Ok(change) => Some(change),
            Err(StoreError::NothingToUndo) => None,
            Err(error) => return Err(error),
        };
        let sql = "SELECT max(at) FROM audit WHERE action = 'erase'";
        let erased: Option<i64> = self.query_only(sql, (), |row| row.get(0))?;
        let erased = erased.and_then(|at| Timestamp::from_millisecond(at).ok());
        let changed = match &before {
            Some(LastChange::Run(run)) => Some(self.last_written(run)?),
            Some(LastChange::ByHand { at, .. } | LastChange::Erasure { at, .. }) => Some(*at),
            None => None,
        };
        match (erased, before) {
            (Some(at), before) if changed.is_none_or(|changed| changed <= at) => {
                Ok(LastChange::Erasure { at, before: before.map(Box::new) })
            }
            (_, before) => before.ok_or(StoreError::NothingToUndo),
        }
    }

    /// Returns when a run last wrote something.
    fn last_written(&self, run: &Run) -> Result<Timestamp, StoreError> {
        let sql = "SELECT max(at) FROM changesets WHERE run_id = ?1";
        let at: Option<i64> = self.query_only(sql, [run.id.as_str()], |row| row.get(0))?;
        // A run that recorded only tasks has no changeset.
        Ok(at.and_then(|at| Timestamp::from_millisecond(at).ok()).or(run.finished_at).unwrap_or(run.started_at))
    }

    fn last_undoable(&self) -> Result<LastChange, StoreError> {
        // An erasure reactivates and rewrites memories, and these changes are part of it.
        let newest = "id = (SELECT max(id) FROM history WHERE undone = 0 AND action NOT IN ('promote', 'demote')
            AND (before IS NOT NULL OR after IS NOT NULL)
            AND NOT (run_id IS NULL AND action IN ('restore', 'withdraw')
                AND at IN (SELECT at FROM audit WHERE action = 'erase'))
            AND NOT EXISTS (SELECT 1 FROM changesets c WHERE c.seq = history.changeset AND c.id GLOB 'sync-*'))";
        let run = match self.last_effective_run() {
            Ok(run) => Some(run),
            Err(StoreError::NothingToUndo) => None,
            Err(error) => return Err(error),
        };
        if let Some(entry) = self.entries(newest, &[])?.pop()
            && let (None, Some(changeset)) = (&entry.run, &entry.changeset)
            // A later run may have recorded only tasks, which leave no history entry.
            && run.as_ref().is_none_or(|run| run.started_at <= entry.at)
        {
            return Ok(LastChange::ByHand { changeset: changeset.clone(), at: entry.at, memory: entry.memory });
        }
        run.map(|run| LastChange::Run(Box::new(run))).ok_or(StoreError::NothingToUndo)
    }

    /// Returns the time of the change by hand with this id.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn change_by_hand(&self, changeset: &str) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT at FROM changesets WHERE run_id IS NULL AND id NOT GLOB 'sync-*' AND id = ?1";
        let at: Option<i64> = self.query_all(sql, [changeset], |row| row.get(0))?.pop();
        Ok(at.and_then(|at| Timestamp::from_millisecond(at).ok()))
    }

    /// Returns the changes that build on a run, directly or indirectly: the runs, newest first, then changes by hand.
    /// Undoing all these runs together reverts them completely, except for memories that were later changed by hand.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn built_upon(&self, run: &RunId) -> Result<Vec<LaterChanges>, StoreError> {
        let (mut all, mut reached) = (Builders::new(), vec![run.clone()]);
        let mut next = 0;
        // The list grows during the loop: a change that builds on a later run also builds on this run.
        while let Some(run) = reached.get(next).cloned() {
            next += 1;
            let entries: Vec<_> = self.history_of_run(&run)?.into_iter().filter(|entry| !entry.undone).collect();
            for (builder, memories) in builders(self, &[run], &entries)? {
                if let Some(builder) = builder.as_ref().filter(|builder| !reached.contains(builder)) {
                    reached.push(builder.clone());
                }
                all.entry(builder).or_default().extend(memories);
            }
        }
        // Later runs may have changed the same memories as this run, but a run does not build on itself.
        all.remove(&Some(run.clone()));
        let mut found: Vec<LaterChanges> = all
            .into_iter()
            .map(|(run, memories)| LaterChanges { run, memories: memories.into_iter().collect() })
            .collect();
        // Run ids sort by time, and `None` comes last in this order.
        found.sort_by(|a, b| b.run.cmp(&a.run));
        Ok(found)
    }

    /// Returns the changes of runs that were not undone, in the order in which they were made.
    fn entries_of(&self, runs: &[RunId], now: Timestamp) -> Result<Vec<HistoryEntry>, StoreError> {
        let mut entries = Vec::new();
        for run in runs {
            if self.run(run.as_str())?.is_alive(now) {
                return Err(StoreError::RunInProgress { id: run.to_string() });
            }
            entries.extend(self.history_of_run(run)?.into_iter().filter(|entry| !entry.undone));
        }
        // Several runs may have changed the same memory, so its changes must be reversed in strict reverse order.
        entries.sort_by_key(|entry| entry.id);
        Ok(entries)
    }
}

/// Returns the other runs that have changed a memory after `runs` first changed it.
fn builders(db: &Database, runs: &[RunId], entries: &[HistoryEntry]) -> Result<Builders, StoreError> {
    let mut first_touch: BTreeMap<&MemoryId, i64> = BTreeMap::new();
    for entry in entries {
        for memory in std::iter::once(&entry.memory).chain(&entry.other) {
            // Entries are in order, so the first entry of a memory is kept; earlier changes do not depend on these
            // runs.
            first_touch.entry(memory).or_insert(entry.id);
        }
    }
    let mut found = Builders::new();
    for (memory, since) in first_touch {
        for builder in changed_by(db, memory, since)? {
            if builder.as_ref().is_none_or(|builder| !runs.contains(builder)) {
                found.entry(builder).or_default().insert(memory.clone());
            }
        }
    }
    Ok(found)
}

/// Returns the memories, among those that the runs changed, that must stay unchanged.
fn kept(
    w: &Writer<'_>,
    runs: &[RunId],
    entries: &[HistoryEntry],
) -> Result<BTreeMap<MemoryId, KeepReason>, StoreError> {
    let changed = builders(w, runs, entries)?.into_values().flatten();
    let mut kept: BTreeMap<MemoryId, KeepReason> = changed.map(|memory| (memory, KeepReason::ChangedSince)).collect();
    for entry in entries.iter().filter(|entry| is_purged(entry)) {
        // This reason overrides the other reason, because nothing can be restored once the texts are gone.
        kept.insert(entry.memory.clone(), KeepReason::Purged);
    }
    let held = links_of_moved(w, entries)?;
    let links = entries.iter().filter_map(|entry| Some((&entry.memory, entry.other.as_ref()?)));
    let links: Vec<_> = links.chain(held.iter().map(|link| (&link.from, &link.to))).collect();
    loop {
        let reached = kept.len();
        for (from, to) in &links {
            // Links are followed in both directions until nothing changes, because they form chains in any order.
            for (one, other) in [(*from, *to), (*to, *from)] {
                if kept.contains_key(one) && !kept.contains_key(other) {
                    kept.insert(other.clone(), KeepReason::LinkedToChanged);
                }
            }
        }
        if kept.len() == reached {
            return Ok(kept);
        }
    }
}

/// Whether later changes keep everything that a run changed. An undo of those changes would allow an undo of the run,
/// unless every memory was purged.
fn is_kept(run: &RunId, entries: &[HistoryEntry], kept: &BTreeMap<MemoryId, KeepReason>) -> bool {
    let reasons = entries.iter().filter(|entry| entry.run.as_ref() == Some(run)).map(|entry| kept.get(&entry.memory));
    let reasons: Vec<_> = reasons.collect();
    reasons.iter().all(Option::is_some) && reasons.iter().any(|reason| *reason != Some(&KeepReason::Purged))
}

/// Returns the links of memories that the run moved to another namespace. Linked memories are moved back together, or
/// not at all.
fn links_of_moved(db: &Database, entries: &[HistoryEntry]) -> Result<Vec<Relation>, StoreError> {
    let place = |value: &Option<Value>| value.as_ref().and_then(|value| value.get("namespace").cloned());
    let moved = entries.iter().filter(|entry| {
        let (before, after) = (place(&entry.before), place(&entry.after));
        before.is_some() && after.is_some() && before != after && entry.entity == Entity::Memory
    });
    let links: Vec<_> = moved.map(|entry| db.relations(&entry.memory)).collect::<Result<_, _>>()?;
    Ok(links.into_iter().flatten().collect())
}

/// Returns whether the memory itself was purged. For a link whose other memory was purged, there is nothing left to do.
fn is_purged(entry: &HistoryEntry) -> bool {
    entry.entity == Entity::Memory && entry.before.is_none() && entry.after.is_none()
}

/// Returns the runs, or `None` for changes without a run, that have changed the memory or one of its links after the
/// change `since`. Changes of the memory's tier do not count.
fn changed_by(db: &Database, memory: &MemoryId, since: i64) -> Result<BTreeSet<Option<RunId>>, StoreError> {
    let sql = "SELECT run_id FROM history WHERE memory_id = ?1 AND id > ?2 AND undone = 0
                AND action NOT IN ('promote', 'demote')
             UNION SELECT run_id FROM history WHERE other_id = ?1 AND id > ?2 AND undone = 0";
    Ok(db.query_all(sql, params![memory.as_str(), since], |row| row.get(0))?.into_iter().collect())
}

impl Writer<'_> {
    /// Applies the inverse of each entry in reverse order, except for entries about memories that are kept.
    fn reverse_all(
        &self,
        entries: &[HistoryEntry],
        kept: BTreeMap<MemoryId, KeepReason>,
    ) -> Result<UndoReport, StoreError> {
        let (mut touched, mut stale) = (BTreeSet::new(), Stale::default());
        for entry in entries.iter().rev().filter(|entry| !kept.contains_key(&entry.memory)) {
            let undone = entry.run.as_ref().map_or_else(|| "undo".to_owned(), |run| format!("undo of run {run}"));
            let reason = Some(undone);
            let inverse = RowChange { reason, ..entry.change()?.inverse() };
            self.write_row(&inverse, Mark::Undone, &mut stale)?;
            // Both the entry and its reversal are marked, so neither prevents undoing earlier runs.
            self.execute("UPDATE history SET undone = 1 WHERE id = ?1", [entry.id])?;
            touched.extend(std::iter::once(&entry.memory).chain(&entry.other).cloned());
        }
        self.index_stale(&stale)?;
        let mut undone = UndoReport {
            kept: kept.into_iter().map(|(memory, because)| Kept { memory, because }).collect(),
            ..UndoReport::default()
        };
        for memory in touched {
            let place = if self.find(&memory)?.is_some() { &mut undone.restored } else { &mut undone.removed };
            place.push(memory);
        }
        Ok(undone)
    }
}
