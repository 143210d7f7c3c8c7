//! A plan in a file, which a person can review before it is applied.
//!
//! ```text
//! {
//!   "afterthought_plan": 1, "id": …, "database": …, "made_at": …, "seen": 812,
//!   "changes": [
//!     {"decision": "add", …},          one change per line, in order
//!     {"decision": "contradict", …}
//!   ],
//!   "ledger": {…}                      windows and transcripts that were read
//! }
//! ```
//!
//! A person may remove any line of `changes`, with or without the comma before or after it. Everything in `ledger`
//! counts as read once the plan is applied, including the removed lines, so the next run does not propose them again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::consolidate::plan::apply::{Applied, read_targets, write_change};
use crate::consolidate::plan::neighbours::gather;
use crate::consolidate::plan::rows::threatens_pinned;
use crate::consolidate::plan::{Answers, Stage, draft};
use crate::consolidate::{Change, Decision, Plan, merge_projects};
use crate::memory::{MemoryId, Namespace};
use crate::store::{Database, PlanLedger, RunId, Store, StoreError, Writer};

/// The version of the file format; it is increased when an older program could not apply the file correctly.
pub(crate) const VERSION: u32 = 1;

/// The command name of the runs that apply saved plans.
pub(crate) const APPLY: &str = "apply";

/// A plan with everything needed to apply it later to the database for which it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPlan {
    /// Version of the file format; see `VERSION`.
    #[serde(rename = "afterthought_plan")]
    pub version: u32,
    /// Identifies this plan.
    pub id: String,
    /// The database for which the plan was made; see `Database::identity`.
    pub database: String,
    /// Time at which the plan was made.
    pub made_at: Timestamp,
    /// Number of the last database change that the plan takes into account.
    pub seen: i64,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The conversations and windows that were read to make the plan.
    #[serde(default)]
    pub ledger: PlanLedger,
}

/// Reasons why a saved plan was not applied; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum SavedPlanError {
    /// The text is not a plan, or only part of one.
    #[error(
        "it is not a complete plan (line {line}, column {column}); when editing, remove only whole lines of \"changes\", or save it again with `runs plan --out`"
    )]
    Damaged {
        /// 1-based line at which reading failed.
        line: usize,
        /// 1-based column at which reading failed.
        column: usize,
    },
    /// A newer program wrote the file.
    #[error(
        "it has plan version {found}, but this program supports only versions up to {VERSION}; update afterthought"
    )]
    TooNew {
        /// Version of the file.
        found: u32,
    },
    /// The plan belongs to another database.
    #[error("it was made for another database; select that database with --db, or plan again")]
    OtherDatabase,
    /// The plan has already been applied.
    #[error("it has already been applied, by run {run}")]
    Applied {
        /// The run.
        run: RunId,
    },
    /// A project in the plan has been moved to another namespace in the meantime.
    #[error("{namespace} belonged to a different project when the plan was made; plan again")]
    Moved {
        /// The namespace.
        namespace: Namespace,
    },
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SavedPlan {
    /// Returns a plan of `changes` with a new id.
    #[must_use]
    pub(crate) fn new(
        database: String,
        seen: i64,
        changes: Vec<Change>,
        ledger: PlanLedger,
        made_at: Timestamp,
    ) -> Self {
        let id = uuid::Uuid::now_v7().to_string();
        Self { version: VERSION, id, database, made_at, seen, changes, ledger }
    }

    /// Returns the arguments of the run that applies the plan; they ensure that the same plan is applied only once.
    #[must_use]
    pub(crate) fn arguments(&self) -> serde_json::Value {
        serde_json::json!({ "plan": self.id })
    }

    /// Returns the text of the file, which is JSON, with each change on a separate line.
    #[must_use]
    pub(crate) fn to_text(&self) -> String {
        let changes: Vec<String> = self.changes.iter().map(|change| format!("    {}", spell(change))).collect();
        format!(
            "{{\n  \"afterthought_plan\": {},\n  \"id\": {},\n  \"database\": {},\n  \"made_at\": {},\n  \"seen\": {},\n  \
             \"changes\": [\n{}\n  ],\n  \"ledger\": {}\n}}\n",
            self.version,
            spell(&self.id),
            spell(&self.database),
            spell(&self.made_at),
            self.seen,
            changes.join(",\n"),
            spell(&self.ledger),
        )
    }

    /// Reads the text of a file from which whole lines of `changes` may have been removed.
    ///
    /// # Errors
    /// [`SavedPlanError::Damaged`] or [`SavedPlanError::TooNew`].
    pub fn parse(text: &str) -> Result<Self, SavedPlanError> {
        let damaged = |error: serde_json::Error| SavedPlanError::Damaged { line: error.line(), column: error.column() };
        let text = without_stray_commas(text);
        // The version is checked first: a newer plan may not parse, and "damaged" would be the wrong advice.
        let version: Versioned = serde_json::from_str(&text).map_err(damaged)?;
        if version.version > VERSION {
            return Err(SavedPlanError::TooNew { found: version.version });
        }
        serde_json::from_str(&text).map_err(damaged)
    }
}

#[derive(Deserialize)]
struct Versioned {
    #[serde(rename = "afterthought_plan")]
    version: u32,
}

/// Serialises a value of this program.
fn spell(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plan contains only values that JSON can represent")
}

/// Replaces superfluous commas outside strings, which remain when a line is removed, with spaces. Every other character
/// keeps its position.
fn without_stray_commas(text: &str) -> String {
    // Processing bytes is sufficient: the byte of a comma or quote never occurs within a multi-byte UTF-8 character.
    let mut out: Vec<u8> = text.as_bytes().to_vec();
    let (mut in_string, mut escaped, mut last, mut last_at) = (false, false, b'[', 0);
    for (index, byte) in text.bytes().enumerate() {
        if in_string {
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        match byte {
            b',' if matches!(last, b'[' | b',') => {
                out[index] = b' ';
                continue;
            }
            // The comma is replaced, not removed, so that lines and columns in error messages match the file.
            b']' if last == b',' => out[last_at] = b' ',
            b'"' => in_string = true,
            _ => {}
        }
        (last, last_at) = (byte, index);
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// The outcome of applying a saved plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AppliedPlan {
    /// The changes that were written.
    pub applied: Applied,
    /// The outcome of each change in the file, in order.
    pub changes: Vec<ReviewedChange>,
    /// Number of windows that are finished by applying the plan.
    pub windows: usize,
}

/// A change of a saved plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewedChange {
    /// The change that was made.
    pub change: Change,
    /// The reviewed change, if memories that it affects have changed since and led to a different decision.
    pub instead_of: Option<Box<Change>>,
}

/// Applies a plan in one transaction, as `run`, which must be a run of `APPLY` with `SavedPlan::arguments`.
///
/// A change is written as it was reviewed, unless a memory that it affects, or a similar one, has changed since the
/// plan was made or was removed from the file. Only such a change is decided again, by the rules. If only similar
/// memories have changed and the rules cannot decide, the reviewed change is kept. A pinned memory is not changed.
///
/// # Errors
/// [`SavedPlanError`]; nothing has been written in that case.
pub fn apply_saved(
    store: &Store,
    plan: &SavedPlan,
    run: &RunId,
    now: Timestamp,
) -> Result<AppliedPlan, SavedPlanError> {
    store.write(Some(run), now, |writer| apply_saved_within(writer, plan))
}

/// Returns the run that has applied the plan, even if the process was killed before it could report this.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn applied_by(db: &Database, plan: &SavedPlan) -> Result<Option<RunId>, StoreError> {
    for run in db.runs_of(APPLY, &plan.arguments())? {
        // The history is used instead of the run's status, because the process may have died right after the commit.
        if db.history_of_run(&run.id)?.iter().any(|entry| !entry.undone) {
            return Ok(Some(run.id));
        }
    }
    Ok(None)
}

fn apply_saved_within(writer: &Writer<'_>, plan: &SavedPlan) -> Result<AppliedPlan, SavedPlanError> {
    if writer.identity()? != plan.database {
        return Err(SavedPlanError::OtherDatabase);
    }
    if let Some(run) = applied_by(writer, plan)? {
        return Err(SavedPlanError::Applied { run });
    }
    if let Some(namespace) = writer.taken_by_another(&plan.ledger)? {
        return Err(SavedPlanError::Moved { namespace });
    }
    // The changed memories are read before anything is written, so that the plan's own changes are not included.
    let touched = writer.changed_since(plan.seen)?;
    // Projects are merged before the changes are applied, because the changes refer to the merged project.
    for (from, into) in plan.ledger.merges() {
        if writer.merged_into(from)? != writer.merged_into(into)? {
            merge_projects(writer, from, into)?;
        }
    }
    let mut done = AppliedPlan { windows: writer.take_over(&plan.ledger)?, ..AppliedPlan::default() };
    for change in &plan.changes {
        let reviewed = review(writer, change, &touched)?;
        *done.applied.counts.entry(reviewed.change.decision).or_default() += 1;
        write_change(writer, &reviewed.change, &mut done.applied)?;
        done.changes.push(reviewed);
    }
    Ok(done)
}

/// Returns the outcome of a change in the file in the current state of the store.
fn review(writer: &Writer<'_>, change: &Change, touched: &BTreeSet<MemoryId>) -> Result<ReviewedChange, StoreError> {
    let mut change = change.clone();
    // Anyone may have edited the file in the meantime, so its text is redacted like any other input.
    change.incoming.candidate = writer.redact(change.incoming.candidate).into_inner();
    change.incoming.namespace = writer.merged_into(&change.incoming.namespace)?;
    Ok(match decided_again(writer, &change, touched)? {
        // The decision is the same, but applied to the current memories.
        Some(again) if is_same(&change, &again) => {
            ReviewedChange { change: Change { rows: again.rows, ..change }, instead_of: None }
        }
        Some(again) => ReviewedChange { change: again, instead_of: Some(Box::new(change)) },
        None => ReviewedChange { change, instead_of: None },
    })
}

/// Returns the new decision if the change is no longer valid; `None` if the change is still valid.
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
    // The id from the file is kept if it is not in use, since later changes in the file may refer to it.
    if let Some(id) = &change.new_id
        && writer.find(id)?.is_none()
    {
        case.id = id.clone();
    }
    let (changes, questions) = draft(&cases, &Answers::new(), Stage::Last, writer.now());
    // The reviewed decision may come from a model's answer, which uncertain rules must not override.
    if !its_own && questions.iter().any(|question| question.open) {
        return Ok(None);
    }
    Ok(changes.into_iter().next())
}

/// Whether a memory that the change refers to has changed since the decision, or can no longer be changed by it.
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

/// Whether two changes have the same effect, regardless of their reasons.
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

impl Plan {
    /// Returns the number of times that each decision was made, including decisions with a count of zero.
    #[must_use]
    pub(crate) fn counts(&self) -> BTreeMap<Decision, usize> {
        let mut counts: BTreeMap<Decision, usize> = Decision::ALL.iter().map(|decision| (*decision, 0)).collect();
        for change in &self.changes {
            *counts.entry(change.decision).or_default() += 1;
        }
        counts
    }

    /// Whether applying the plan would write anything.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.iter().all(|change| change.decision == Decision::Skip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_that_a_removed_line_leaves_are_no_damage() {
        let clean = |text: &str| serde_json::from_str::<serde_json::Value>(&without_stray_commas(text)).unwrap();
        assert_eq!(clean("[\n 1,\n]"), serde_json::json!([1]));
        assert_eq!(clean("[\n ,\n 1,\n , 2,, 3]"), serde_json::json!([1, 2, 3]));
        assert_eq!(clean("[\n ,\n]"), serde_json::json!([]));
        assert_eq!(clean(r#"{"a":[",]","\",]",","]}"#), serde_json::json!({"a": [",]", "\",]", ","]}));
    }

    #[test]
    fn a_plan_comes_back_as_it_was_and_a_part_of_one_is_an_error() {
        let plan = SavedPlan::new("d".into(), 7, Vec::new(), PlanLedger::default(), Timestamp::UNIX_EPOCH);
        let text = plan.to_text();
        assert_eq!(SavedPlan::parse(&text).unwrap(), plan);
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        for broken in [&text[..text.len() / 2], "", "[]", "{}", "no plan"] {
            assert!(matches!(SavedPlan::parse(broken), Err(SavedPlanError::Damaged { .. })), "{broken}");
        }
        let newer = text.replace("\"afterthought_plan\": 1", "\"afterthought_plan\": 2");
        assert!(matches!(SavedPlan::parse(&newer), Err(SavedPlanError::TooNew { found: 2 })));
    }
}
