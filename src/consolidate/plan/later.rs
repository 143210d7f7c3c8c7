//! Applying a saved plan: as it was reviewed, but for what has changed since.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::apply::{Applied, read_targets, write_change};
use super::neighbours::gather;
use super::rows::threatens_pinned;
use super::saved::{APPLY, SavedPlan, SavedPlanError};
use super::{Answers, Stage, draft};
use crate::consolidate::{Change, Decision, merge_projects};
use crate::guard::Guard;
use crate::memory::MemoryId;
use crate::store::{Database, RunId, Store, StoreError, Writer};

/// What became of a saved plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AppliedPlan {
    /// What was written.
    pub applied: Applied,
    /// What became of each change of the file, in its order.
    pub changes: Vec<Reviewed>,
    /// Parts of conversations that count as done by this.
    pub windows: usize,
}

/// A change of a saved plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Reviewed {
    /// What was done.
    pub change: Change,
    /// What had been reviewed, where what it was about has changed since, and another decision follows from that.
    pub instead_of: Option<Box<Change>>,
}

/// Applies a plan in one transaction, as `run`, which must be one of [`APPLY`] with [`SavedPlan::arguments`].
///
/// A change is written as it was reviewed, unless a memory that it is about, or one that speaks of the same, has changed
/// since the plan was made or was taken out of the file. Such a change alone is decided again, by the rules; what they
/// leave open stays as it was reviewed where only its surroundings have changed. A pinned memory stays as it is.
///
/// # Errors
/// [`SavedPlanError`]; nothing is written then.
pub fn apply_saved(
    store: &Store,
    guard: &Guard,
    plan: &SavedPlan,
    run: &RunId,
    now: Timestamp,
) -> Result<AppliedPlan, SavedPlanError> {
    store.write(Some(run), now, |writer| apply_saved_within(writer, guard, plan))
}

/// Returns the run that has applied the plan, be it that the process was killed before it could say so.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn applied_by(db: &Database, plan: &SavedPlan) -> Result<Option<RunId>, StoreError> {
    for run in db.runs_of(APPLY, &plan.arguments())? {
        if db.history_of_run(&run.id)?.iter().any(|entry| !entry.undone) {
            return Ok(Some(run.id));
        }
    }
    Ok(None)
}

fn apply_saved_within(writer: &Writer<'_>, guard: &Guard, plan: &SavedPlan) -> Result<AppliedPlan, SavedPlanError> {
    if writer.identity()? != plan.database {
        return Err(SavedPlanError::OtherDatabase);
    }
    if let Some(run) = applied_by(writer, plan)? {
        return Err(SavedPlanError::Applied { run });
    }
    if let Some(namespace) = writer.taken_by_another(&plan.ledger)? {
        return Err(SavedPlanError::Moved { namespace });
    }
    // Read before anything is written, so that what the plan itself does is none of it.
    let touched = writer.changed_since(plan.seen)?;
    for (from, into) in plan.ledger.merges() {
        if writer.merged_into(from)? != writer.merged_into(into)? {
            merge_projects(writer, guard, from, into)?;
        }
    }
    let mut done = AppliedPlan { windows: writer.take_over(&plan.ledger, guard)?, ..AppliedPlan::default() };
    for change in &plan.changes {
        let reviewed = review(writer, guard, change, &touched)?;
        *done.applied.counts.entry(reviewed.change.decision).or_default() += 1;
        write_change(writer, guard, &reviewed.change, &mut done.applied)?;
        done.changes.push(reviewed);
    }
    Ok(done)
}

/// Returns what is to be done about a change of the file, now.
fn review(
    writer: &Writer<'_>,
    guard: &Guard,
    change: &Change,
    touched: &BTreeSet<MemoryId>,
) -> Result<Reviewed, StoreError> {
    let mut change = change.clone();
    // The file lay about; what stands in it comes from outside.
    change.incoming.candidate = guard.redact(change.incoming.candidate).0.into_inner();
    change.incoming.namespace = writer.merged_into(&change.incoming.namespace)?;
    Ok(match decided_again(writer, &change, touched)? {
        // The same decision, on the memories as they are now.
        Some(again) if is_same(&change, &again) => {
            Reviewed { change: Change { rows: again.rows, ..change }, instead_of: None }
        }
        Some(again) => Reviewed { change: again, instead_of: Some(Box::new(change)) },
        None => Reviewed { change, instead_of: None },
    })
}

/// Returns what follows where the change no longer does; `None` where it stands.
fn decided_again(
    writer: &Writer<'_>,
    change: &Change,
    touched: &BTreeSet<MemoryId>,
) -> Result<Option<Change>, StoreError> {
    let its_own = is_about_changed(writer, change, touched)?;
    if !its_own && touched.is_empty() {
        return Ok(None);
    }
    let mut cases = gather(writer, vec![change.incoming.clone()])?;
    let Some(case) = cases.first_mut() else { return Ok(None) };
    let rejected = change.decision != Decision::Skip && !case.rejected.is_empty();
    if !its_own && !rejected && !case.known.iter().any(|known| touched.contains(&known.memory.id)) {
        return Ok(None);
    }
    if let Some(id) = &change.new_id
        && writer.find(id)?.is_none()
    {
        case.id = id.clone();
    }
    let (changes, questions) = draft(&cases, &Answers::new(), Stage::Last, writer.now());
    if !its_own && questions.iter().any(|question| question.open) {
        return Ok(None);
    }
    Ok(changes.into_iter().next())
}

/// Whether a memory that the change names is another than when it was decided, or cannot be changed by it.
fn is_about_changed(writer: &Writer<'_>, change: &Change, touched: &BTreeSet<MemoryId>) -> Result<bool, StoreError> {
    let named = || change.targets().chain(&change.related);
    if named().any(|id| touched.contains(id)) {
        return Ok(true);
    }
    let targets = read_targets(writer, change)?;
    if targets.len() < change.targets().count() || threatens_pinned(change, &targets) {
        return Ok(true);
    }
    change.new_id.as_ref().map_or(Ok(false), |id| Ok(writer.find(id)?.is_some()))
}

/// Whether two changes come to the same, whatever is said about why.
fn is_same(one: &Change, other: &Change) -> bool {
    let parts = |change: &Change| {
        (
            change.decision,
            change.conflict,
            change.target.clone(),
            change.also.clone(),
            change.related.clone(),
            change.new_id.clone(),
            change.merged.clone(),
            change.born_superseded,
            change.pending,
        )
    };
    parts(one) == parts(other)
}
