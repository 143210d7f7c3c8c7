//! Maintenance: what is due is done, in one transaction and as a run that can be undone, but for what goes for good.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::plan::{Step, Upkeep, plan, plan_quickly};
use super::retention::Act;
use super::rules::Rules;
use crate::changeset::Action;
use crate::memory::{MemoryId, Relation, RelationType, Status};
use crate::store::{Database, RunId, RunStatus, Store, StoreError, Writer};

/// What the runs of maintenance are called.
pub const COMMAND: &str = "maintain";
/// Days for which it is kept when a memory was read, found or shown; how often it was used is kept for good.
const LOG_DAYS: u32 = 90;

/// What maintenance did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The run, by which it is undone; `None` where nothing was changed that could be.
    pub run: Option<RunId>,
    /// What was done.
    #[serde(flatten)]
    pub done: Upkeep,
}

/// Does everything that is due at `now`, and returns what that was; a second time at the same `now` does nothing.
///
/// What is pinned is never touched. All is undone by `undo` of the run, but for the purge.
///
/// # Errors
/// [`StoreError`] if the file cannot be written.
pub fn maintain(store: &Store, rules: &Rules, now: Timestamp) -> Result<Report, StoreError> {
    carry_out(store, rules, now, plan)
}

/// Does what is due at `now` and can be told at once however many memories there are: what is over, and what goes for
/// good. For whoever comes every minute; [`maintain`] does the rest once an hour or so.
///
/// # Errors
/// [`StoreError`] if the file cannot be written.
pub fn tick(store: &Store, rules: &Rules, now: Timestamp) -> Result<Report, StoreError> {
    carry_out(store, rules, now, plan_quickly)
}

fn carry_out(
    store: &Store,
    rules: &Rules,
    now: Timestamp,
    plan: impl Fn(&Database, &Rules, Timestamp) -> Result<Upkeep, StoreError>,
) -> Result<Report, StoreError> {
    let mut report = Report { run: None, done: plan(store, rules, now)? };
    if !store.believes(now)? {
        tracing::warn!(
            "the clock says that the file was not used for over 400 days, so nothing goes for good before a day is over; \
             put the clock right if it is wrong"
        );
    }
    // Before anything is given up, so that nothing goes for good that was not foreseen.
    if !report.done.purges.is_empty() || report.done.replies > 0 {
        store.purge(rules.purge_days, now)?;
    }
    if !report.done.steps.is_empty() {
        let run = store.begin_run(COMMAND, &json!({}), now)?.id;
        // What is due is told again, since others may have written meanwhile.
        let done = store.write(Some(&run), now, |w| {
            let due = plan(w, rules, now)?;
            due.steps.iter().try_for_each(|step| take(w, step, now))?;
            Ok::<_, StoreError>(due)
        });
        let status = if done.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
        let summary = done.as_ref().map_or_else(|error| json!({"error": error.to_string()}), |due| json!(due.counts()));
        store.finish_run(&run, status, &summary, now)?;
        (report.run, report.done.steps) = (Some(run), done?.steps);
    }
    store.forget_accesses(LOG_DAYS, now)?;
    Ok(report)
}

fn take(w: &Writer<'_>, step: &Step, now: Timestamp) -> Result<(), StoreError> {
    let (id, reason) = (&step.memory, Some(step.act.reason().into()));
    let word = step.act.action();
    match &step.act {
        Act::Expire | Act::Fade => w.set_status(id, Status::Expired, word, reason).map(drop),
        Act::Retire { .. } => w.set_status(id, Status::Forgotten, word, reason).map(drop),
        Act::Unite { into } => unite(w, id, into, now),
        Act::Promote { to } | Act::Demote { to } => w.set_tier(id, *to, word, reason).map(drop),
    }
}

/// Lets a memory give way to one with the same words, which takes on what it rests on.
fn unite(w: &Writer<'_>, id: &MemoryId, into: &MemoryId, now: Timestamp) -> Result<(), StoreError> {
    let reason = "the same words";
    w.take_over_evidence(into, id)?;
    let relation_type = RelationType::Supersedes;
    let link = Relation {
        from: into.clone(),
        to: id.clone(),
        relation_type,
        reason: Some(reason.to_owned()),
        created_at: now,
    };
    w.relate(&link)?;
    w.set_status(id, Status::Superseded, Action::Unite, Some(reason.into())).map(drop)
}
