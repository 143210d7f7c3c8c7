//! Runs: the changes of each run, and the form that undoes a run.

use serde_json::{Value, json};

use super::change::entry;
use super::visit::{Reply, Visit, values_of};
use crate::api::{ApiError, Memories, Run, RunId};

/// Number of runs on the page.
const SHOWN: usize = 50;
/// Maximum number of changes shown on the page of a run.
const MAX_CHANGES: usize = 200;

/// Shows the last runs, newest first.
pub(super) fn list(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let runs: Vec<Value> = memories.runs(SHOWN)?.iter().map(|run| values(run, visit)).collect();
    Ok(Reply::Page("runs", json!({"runs": runs})))
}

/// Shows the changes of a run.
pub(super) fn show(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let run = memories.run(id)?;
    let all = memories.changes_of(&run.id)?;
    let (mut changes, mut last) = (Vec::new(), None);
    for change in all.iter().take(MAX_CHANGES) {
        // Consecutive changes of one memory show its name only once.
        let memory = if last == Some(&change.memory) { None } else { memories.get_memory(&change.memory)? };
        last = Some(&change.memory);
        changes.push(json!({"entry": entry(change, visit.language), "memory": memory.as_ref().map(values_of)}));
    }
    let later = memories.built_upon(&run.id)?;
    let later: Vec<&RunId> = later.iter().filter_map(|changes| changes.run.as_ref()).collect();
    let failed: Vec<Value> = memories
        .failed_windows()?
        .iter()
        .filter(|window| {
            window.finished_at.is_some_and(|at| at >= run.started_at && run.finished_at.is_none_or(|end| at <= end))
        })
        .map(|window| json!({"path": window.origin, "attempts": window.attempts, "error": window.error}))
        .collect();
    let is_undone = run.status.as_str() == "undone";
    Ok(Reply::Page(
        "run",
        json!({
            "run": values(&run, visit), "changes": changes, "total": all.len(), "later": later,
            "can_undo": !is_undone && !all.is_empty(), "counts": counts(&run), "failed": failed,
        }),
    ))
}

/// Undoes a run, together with the later runs that built on it if the form requests this.
pub(super) fn undo(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let run = memories.run(id)?;
    let mut runs = vec![run.id.clone()];
    if visit.sent("with_later").is_some() {
        runs.extend(memories.built_upon(&run.id)?.into_iter().filter_map(|later| later.run));
        // Ids sort by start. The newest comes first, because each run builds on the previous runs.
        runs.sort_by(|a, b| b.cmp(a));
    }
    let (report, _) = memories.undo(&runs, false)?;
    let done = if report.kept.is_empty() { "undone" } else { "undone_partly" };
    Ok(visit.done(&format!("/runs/{}", run.id), done))
}

fn values(run: &Run, visit: &Visit) -> Value {
    let mut values = json!(run);
    let what = run.description();
    values["what"] = json!(visit.language.text(&format!("command.{what}")).unwrap_or(&what));
    let count = |pointer: &str| run.summary.as_ref().and_then(|summary| summary.pointer(pointer)?.as_u64());
    values["logs"] = json!(count("/transcripts"));
    // A memory that contradicts an older one is new as well.
    values["added"] = json!(count("/decisions/add").map(|added| added + count("/decisions/contradict").unwrap_or(0)));
    values["calls"] = json!(count("/llm_calls"));
    values["cost"] = json!(run.summary.as_ref().and_then(|summary| summary.pointer("/cost")?.as_f64()));
    values
}

/// Returns the decisions of the run, each with the number of times that it was made.
fn counts(run: &Run) -> Vec<Value> {
    let decisions = run.summary.as_ref().and_then(|summary| summary.get("decisions")?.as_object());
    decisions.into_iter().flatten().map(|(name, count)| json!({"name": name, "count": count})).collect()
}
