//! Reviews what was stored: the details of a memory, the inbox, undo, statistics, maintenance and the audit log.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::{ApiError, Author, Memories};
use crate::lifecycle::{self, Census, Report, Rules, Upkeep};
use crate::memory::{Evidence, Memory, MemoryId, Relation, RelationType, Status, string_enum};
use crate::store::{
    AdviceOutcome, AuditAction, Filter, Health, HistoryEntry, LastChange, LaterChanges, Run, RunId, RunStatus, Stats,
    Store, StoreError, UndoReport, Waiting,
};

/// A memory with its evidence, links and history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryDetails {
    /// The memory in its current state.
    pub memory: Memory,
    /// The quotes that the memory is based on.
    pub evidence: Vec<Evidence>,
    /// Links between the memory and other accessible memories that are not forgotten.
    pub relations: Vec<Relation>,
    /// Every change, oldest first.
    pub history: Vec<HistoryEntry>,
    /// How often the memory helped when it was shown after a failed command.
    pub advice: AdviceOutcome,
}

impl MemoryDetails {
    /// Returns the memories that this memory was derived from or replaced, oldest link first.
    pub(crate) fn consolidated_from(&self) -> Vec<&MemoryId> {
        let is_ground = |kind| matches!(kind, RelationType::DerivedFrom | RelationType::Supersedes);
        let mut grounds: Vec<&MemoryId> = Vec::new();
        for link in self.relations.iter().filter(|link| link.from == self.memory.id && is_ground(link.relation_type)) {
            // A memory may be linked to another by both types of relation.
            if !grounds.contains(&&link.to) {
                grounds.push(&link.to);
            }
        }
        grounds
    }

    /// Returns when this memory was last compared with another and merged with it, confirmed or derived; `None` if that
    /// never happened.
    pub(crate) fn last_consolidated_at(&self) -> Option<Timestamp> {
        let is_own = |entry: &&HistoryEntry| entry.memory == self.memory.id && !entry.undone;
        let changed = self.history.iter().filter(is_own).filter(|entry| entry.action.is_consolidation());
        let grounds = self.consolidated_from();
        let linked = self.relations.iter().filter(|link| link.from == self.memory.id && grounds.contains(&&link.to));
        changed.map(|entry| entry.at).chain(linked.map(|link| link.created_at)).max()
    }
}

string_enum!(
    /// A person's decision about pending memories.
    Verdict, "a verdict", {
    /// The memories become active; memories that they contradict or refine are superseded.
    Accept = "accept",
    /// The memories are forgotten, and are not learnt again.
    Reject = "reject",
});

/// The outcome of [`Memories::judge`].
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The run that can be undone.
    pub run: RunId,
    /// The memories that were judged, in their new state.
    pub memories: Vec<Memory>,
    /// Number of memories that the accepted memories superseded.
    pub superseded: usize,
}

/// Counts of a database.
#[derive(Debug, Serialize)]
pub struct Statistics {
    /// Rows of each kind.
    #[serde(flatten)]
    pub stats: Stats,
    /// Active memories by tier and heat, and those that fade or expire soon.
    #[serde(flatten)]
    pub census: Census,
    /// Backlog and failures.
    pub health: Health,
}

/// The extent of maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// All memories.
    Full,
    /// Only expired, recently used and forgotten memories, which are found quickly.
    Expired,
}

impl Memories {
    /// Returns a memory with its evidence, links and history.
    ///
    /// # Errors
    /// [`ApiError`] if the memory does not exist.
    pub fn details(&self, id: &str) -> Result<MemoryDetails, ApiError> {
        let memory = self.resolve(id)?;
        let store = self.ledger("show the history of a memory")?;
        let mut relations = Vec::new();
        for relation in store.relations(&memory.id)? {
            let other = if relation.from == memory.id { &relation.to } else { &relation.from };
            if self.shows_link_to(other)?.is_some() {
                relations.push(relation);
            }
        }
        let mut history = Vec::new();
        for entry in store.history(&memory.id)? {
            let other = if entry.memory == memory.id { entry.other.as_ref() } else { Some(&entry.memory) };
            // If access is not limited, links to purged memories are part of the history.
            let is_visible = match other.filter(|_| self.namespaces.is_some()) {
                Some(other) => self.get_memory(other)?.is_some(),
                None => true,
            };
            if is_visible {
                history.push(entry);
            }
        }
        let advice = store.advice(std::slice::from_ref(&memory.id))?.remove(&memory.id).unwrap_or_default();
        Ok(MemoryDetails { evidence: store.evidence(&memory.id)?, memory, relations, history, advice })
    }

    /// Returns the memory at the other end of a link, if the link is shown. The links of a forgotten memory are hidden
    /// until it is restored; those of a memory that cannot be accessed are hidden because its existence must not be
    /// revealed.
    pub(super) fn shows_link_to(&self, other: &MemoryId) -> Result<Option<Memory>, ApiError> {
        Ok(self.get_memory(other)?.filter(|memory| memory.status != Status::Forgotten))
    }

    /// Returns the memories in the inbox that pass `filter`, oldest first.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub fn inbox(&self, filter: Filter) -> Result<Vec<Waiting>, ApiError> {
        let filter = self.confined(filter)?;
        Ok(self.ledger("review pending memories")?.waiting(&filter)?)
    }

    /// Accepts or rejects all of the pending memories or none of them, as a run that [`Memories::undo`] reverses.
    ///
    /// # Errors
    /// [`ApiError`] if a memory is not pending, or the memories cannot be written.
    pub fn judge(
        &self,
        ids: &[impl AsRef<str>],
        verdict: Verdict,
        reason: Option<&str>,
    ) -> Result<Judgement, ApiError> {
        let store = self.ledger("review pending memories")?;
        // The reason is stored in the history, which must not contain secrets.
        let (reason, _) = self.guard.redact(reason.map(str::to_owned));
        // A refused judgement leaves no run behind.
        store.together(|| {
            let ids = self.resolve_to_decide(ids)?;
            let arguments = json!({ "ids": ids, "verdict": verdict.as_str() });
            let run = store.begin_run("inbox", &arguments, Timestamp::now())?.id;
            let superseded = store.write::<_, StoreError>(Some(&run), Timestamp::now(), |writer| {
                ids.iter().try_fold(0, |superseded, id| match verdict {
                    Verdict::Accept => Ok(superseded + writer.accept(id)?.len()),
                    Verdict::Reject => writer.reject(id, reason.text()).map(|()| superseded),
                })
            })?;
            store.finish_run(&run, RunStatus::Finished, &json!({ "judged": ids.len() }), Timestamp::now())?;
            let memories = ids.iter().map(|id| store.memory(id)).collect::<Result<_, _>>()?;
            Ok(Judgement { run, memories, superseded })
        })
    }

    /// Returns the run whose id begins or ends with `part`, or the newest run for `last`.
    ///
    /// # Errors
    /// [`ApiError`] if no run matches, or several do.
    pub fn run(&self, part: &str) -> Result<Run, ApiError> {
        Ok(self.ledger("find a run")?.run(part)?)
    }

    /// Returns the last change that has not been undone, by a run or by hand, or an erasure after it.
    ///
    /// # Errors
    /// [`ApiError`] if there is no such change.
    pub(crate) fn newest_change(&self) -> Result<LastChange, ApiError> {
        Ok(self.ledger("find the last change")?.newest_change()?)
    }

    /// Returns the time of the change by hand with this id.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn change_by_hand(&self, changeset: &str) -> Result<Option<Timestamp>, ApiError> {
        Ok(self.ledger("find a change")?.change_by_hand(changeset)?)
    }

    /// Returns the newest run, if it was undone and no later run has changed anything.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn last_undone(&self) -> Result<Option<Run>, ApiError> {
        Ok(self.ledger("find the last run")?.last_undone_run()?)
    }

    /// Reverses a changeset that was made by hand; with `is_dry`, only returns what the reversal would do.
    ///
    /// # Errors
    /// [`ApiError`] if the changeset is already undone, or the database cannot be written.
    pub(crate) fn undo_by_hand(&self, changeset: &str, is_dry: bool) -> Result<UndoReport, ApiError> {
        let (store, now) = (self.ledger("undo a change")?, Timestamp::now());
        if is_dry {
            return Ok(store.rehearse(|store| store.undo_by_hand(changeset, now))?);
        }
        let audit = self.audit()?;
        let undone = store.undo_by_hand(changeset, now)?;
        self.record(audit, Author::Person, AuditAction::Undo, &undone.removed)?;
        Ok(undone)
    }

    /// Returns which later runs changed memories that `run` had changed.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn built_upon(&self, run: &RunId) -> Result<Vec<LaterChanges>, ApiError> {
        Ok(self.ledger("undo a run")?.built_upon(run)?)
    }

    /// Returns what [`Memories::undo`] would do.
    ///
    /// # Errors
    /// As for [`Memories::undo`].
    pub(crate) fn would_undo(&self, runs: &[RunId], redo: bool) -> Result<(UndoReport, usize), ApiError> {
        // The undo is carried out in a copy, so that the preview cannot differ from the actual result. An undo that is
        // rolled back would keep other processes from writing for as long.
        let copy = self.ledger("undo a run")?.copy_in_memory()?;
        Ok((undone_in(&copy, runs, redo)?, reopened_in(&copy, runs, redo)?))
    }

    /// Reverses the changes of runs, newest first, and returns a report. With `redo`, the next run applies the same
    /// candidates again, and the number of windows that wait for that run is returned as well.
    ///
    /// # Errors
    /// [`ApiError`] if a run is unknown, in progress or already undone, or the database cannot be written.
    pub fn undo(&self, runs: &[RunId], redo: bool) -> Result<(UndoReport, usize), ApiError> {
        // The audit log is opened first, so that an action that cannot be recorded there is not performed.
        let (store, audit) = (self.ledger("undo a run")?, self.audit()?);
        let undone = undone_in(store, runs, redo)?;
        self.record(audit, Author::Person, AuditAction::Undo, &undone.removed)?;
        Ok((undone, reopened_in(store, runs, redo)?))
    }

    /// Makes the changes of an undone run again, as a new run; with `is_dry`, only returns what this would do. This does
    /// not apply to runs that read logs, whose memories the next run stores again after [`Memories::undo`] with `redo`.
    ///
    /// # Errors
    /// [`ApiError`] if the run is not undone or cannot be redone, or the database cannot be written.
    pub(crate) fn redo(&self, run: &Run, is_dry: bool) -> Result<(RunId, UndoReport), ApiError> {
        let (store, now) = (self.ledger("redo a run")?, Timestamp::now());
        if is_dry {
            return Ok(store.copy_in_memory()?.redo_run(run, now)?);
        }
        let audit = self.audit()?;
        let redone = store.redo_run(run, now)?;
        self.record(audit, Author::Person, AuditAction::Undo, &redone.1.restored)?;
        Ok(redone)
    }

    /// Returns the undone runs, newest first, whose memories are left out by later runs; each with its number of
    /// windows.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn undone_windows(&self) -> Result<Vec<(RunId, usize)>, ApiError> {
        Ok(self.ledger("look for undone runs")?.undone_windows()?)
    }

    /// Returns the counts of the database.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub fn statistics(&self) -> Result<Statistics, ApiError> {
        let store = self.ledger("count what is stored")?;
        let census = lifecycle::census(store, &Rules::from(&self.config.memory), Timestamp::now())?;
        Ok(Statistics { stats: store.stats()?, census, health: store.health()? })
    }

    /// Returns what [`Memories::maintain`] would do.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    pub fn maintenance_due(&self, purge_days: Option<u32>) -> Result<Upkeep, ApiError> {
        Ok(lifecycle::plan(self.ledger(MAINTAIN)?, &self.rules(purge_days), Timestamp::now())?)
    }

    /// Expires, fades, retires and purges the memories that are due, as a run that [`Memories::undo`] reverses, except
    /// for the purge.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be written.
    pub fn maintain(&self, extent: Maintenance, purge_days: Option<u32>) -> Result<Report, ApiError> {
        let (store, audit, rules) = (self.ledger(MAINTAIN)?, self.audit()?, self.rules(purge_days));
        let report = match extent {
            Maintenance::Full => lifecycle::maintain(store, &rules, Timestamp::now())?,
            Maintenance::Expired => lifecycle::tick(store, &rules, Timestamp::now())?,
        };
        if !report.done.purges.is_empty() {
            self.record(audit, Author::Person, AuditAction::Purge, &report.done.purges)?;
        }
        Ok(report)
    }

    /// Rewrites a file that still contains erased text, and updates the statistics of its indexes.
    ///
    /// # Errors
    /// [`ApiError`] if the file cannot be written.
    pub fn compact(&self) -> Result<(), ApiError> {
        let store = self.ledger(MAINTAIN)?;
        // Sealing rewrites the whole file, so it is done only if erased text may remain.
        if store.is_unsealed()? {
            // Copies made before an update may contain the same text.
            store.remove_automatic_backups()?;
            store.seal()?;
        }
        Ok(store.optimise()?)
    }

    fn rules(&self, purge_days: Option<u32>) -> Rules {
        let rules = Rules::from(&self.config.memory);
        Rules { purge_days: purge_days.unwrap_or(rules.purge_days), ..rules }
    }
}

const MAINTAIN: &str = "run maintenance";

fn undone_in(store: &Store, runs: &[RunId], redo: bool) -> Result<UndoReport, StoreError> {
    match store.undo_runs(runs, Timestamp::now()) {
        // The run may have been undone before; with `redo`, its windows are reopened anyway.
        Err(StoreError::RunUndone { .. }) if redo => Ok(UndoReport::default()),
        undone => undone,
    }
}

fn reopened_in(store: &Store, runs: &[RunId], redo: bool) -> Result<usize, StoreError> {
    runs.iter().filter(|_| redo).try_fold(0, |sum, run| Ok(sum + store.reopen_windows(run)?))
}
