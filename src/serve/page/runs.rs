//! Runs: what each of them changed, and the form that undoes one.

use serde_json::{Value, json};

use super::change::entry;
use super::visit::{Reply, Visit, values_of};
use crate::api::{ApiError, Memories, Run, RunId};

/// Number of runs on the page.
const SHOWN: usize = 50;
/// Maximum number of changes of a run on its page.
const MAX_CHANGES: usize = 200;

/// Shows the last runs, newest first.
pub(super) fn list(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let runs: Vec<Value> = memories.runs(SHOWN)?.iter().map(|run| values(run, visit)).collect();
    Ok(Reply::Page("runs", json!({"runs": runs})))
}

/// Shows what a run changed.
pub(super) fn show(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let run = memories.run(id)?;
    let all = memories.changes_of(&run.id)?;
    let (mut changes, mut last) = (Vec::new(), None);
    for change in all.iter().take(MAX_CHANGES) {
        // Changes of one memory follow each other, so it is named once.
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

/// Undoes a run, together with the later ones that built on it if the form says so.
pub(super) fn undo(memories: &Memories, visit: &Visit, id: &str) -> Result<Reply, ApiError> {
    let run = memories.run(id)?;
    let mut runs = vec![run.id.clone()];
    if visit.sent("with_later").is_some() {
        runs.extend(memories.built_upon(&run.id)?.into_iter().filter_map(|later| later.run));
        // Ids sort by start. The newest comes first, since each run builds on the ones before.
        runs.sort_by(|a, b| b.cmp(a));
    }
    let (report, _) = memories.undo(&runs, false)?;
    let done = if report.kept.is_empty() { "undone" } else { "undone_partly" };
    Ok(Reply::SeeOther(format!("/runs/{}?done={done}", run.id)))
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

/// Returns what the run decided, and how often.
fn counts(run: &Run) -> Vec<Value> {
    let decisions = run.summary.as_ref().and_then(|summary| summary.get("decisions")?.as_object());
    decisions.into_iter().flatten().map(|(name, count)| json!({"name": name, "count": count})).collect()
}
