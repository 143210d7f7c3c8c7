//! Runs with their changes, the form that undoes a run, and the state of the database and of background work: stored
//! memories, waiting and failed jobs, and costs.

use serde_json::{Map, Value, json};

use crate::api::{ApiError, HistoryEntry, JobStatus, Memories, Run, RunId};
use crate::memory::{MemoryId, short};

use super::change::entry;
use super::visit::{Reply, Visit, values_of};

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
    let is_undone = run.status.as_str() == "undone";
    let (mut changes, mut kept, mut last) = (Vec::new(), Vec::new(), None);
    for change in all.iter().take(MAX_CHANGES) {
        // Consecutive changes of one memory show its name only once.
        let is_first = last != Some(&change.memory);
        let memory = if is_first { memories.get_memory(&change.memory)? } else { None };
        let memory = memory.as_ref().map(values_of);
        kept.extend(memory.clone().filter(|memory| is_undone && !change.undone && !kept.contains(memory)));
        let name = is_first.then(|| name_in(&all, &change.memory));
        last = Some(&change.memory);
        changes.push(json!({"entry": entry(change, visit.language), "memory": memory, "name": name}));
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
    Ok(Reply::Page(
        "run",
        json!({
            "run": values(&run, visit), "changes": changes, "total": all.len(), "later": later,
            "can_undo": !is_undone && !all.is_empty(), "counts": counts(&run), "failed": failed,
            "kept": kept,
        }),
    ))
}

/// Returns the text that a memory has in the changes of a run; an undone run has removed the memory itself.
fn name_in(changes: &[HistoryEntry], memory: &MemoryId) -> String {
    let of_memory = changes.iter().filter(|change| change.memory == *memory);
    let mut texts = of_memory.filter_map(|change| {
        let content = |side: &Option<Value>| Some(side.as_ref()?.get("content")?.as_str()?.to_owned());
        content(&change.after).or_else(|| content(&change.before))
    });
    texts.next().unwrap_or_else(|| short(memory.as_str()).to_owned())
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
    let done = match report.kept.is_empty() {
        true => "undone",
        false if report.keeps_all() => "undone_nothing",
        false => "undone_partly",
    };
    Ok(visit.done(&format!("/runs/{}", run.id), done))
}

fn values(run: &Run, visit: &Visit) -> Value {
    let mut values = json!(run);
    let what = run.description();
    values["what"] = json!(visit.language.text(&format!("command.{what}")).unwrap_or(&what));
    let count = |pointer: &str| run.summary.as_ref().and_then(|summary| summary.pointer(pointer)?.as_u64());
    values["logs"] = json!(count("/transcripts"));
    values["added"] = json!(decisions(run).map(added));
    values["failed"] = json!(count("/windows/failed"));
    values["calls"] = json!(count("/llm_calls"));
    values["cost"] = json!(run.summary.as_ref().and_then(|summary| summary.pointer("/cost")?.as_f64()));
    values
}

fn decisions(run: &Run) -> Option<&Map<String, Value>> {
    run.summary.as_ref()?.get("decisions")?.as_object()
}

/// Returns the number of new memories. A memory that contradicts an older one is new as well.
fn added(decisions: &Map<String, Value>) -> u64 {
    ["add", "contradict"].iter().filter_map(|name| decisions.get(*name)?.as_u64()).sum()
}

/// Returns the decisions of the run, each with the number of times that it was made. The new memories come first.
fn counts(run: &Run) -> Vec<Value> {
    let Some(decisions) = decisions(run) else { return Vec::new() };
    let others = decisions.iter().filter(|(name, _)| *name != "add");
    let others = others.map(|(name, count)| json!({"name": name, "count": count}));
    [json!({"name": "add", "count": added(decisions)})].into_iter().chain(others).collect()
}

/// Number of days for which the cost is shown.
const DAYS: u32 = 30;

/// Shows the state and, if the URL requests it, whether pages of the file are damaged.
pub(super) fn health(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let flaws = visit.asked("check").map(|_| memories.check_pages()).transpose()?;
    let flaws = flaws.map(|flaws| flaws.into_iter().map(|flaw| flaw.what).collect::<Vec<_>>());
    let (stats, health) = memories.counts()?;
    let failed_jobs: Vec<Value> = memories
        .jobs()?
        .iter()
        .filter(|job| job.status == JobStatus::Failed)
        .map(|job| json!({"path": job.path, "attempts": job.attempts, "error": job.error, "at": job.updated_at}))
        .collect();
    let failed_windows: Vec<Value> = memories
        .failed_windows()?
        .iter()
        .map(|window| json!({"path": window.origin, "attempts": window.attempts, "error": window.error, "at": window.finished_at}))
        .collect();
    let spending: Vec<Value> = memories
        .spending(DAYS)?
        .iter()
        .map(|day| {
            json!({"day": day.spent.day.to_string(), "model": day.spent.model, "calls": day.spent.calls,
                "tokens": day.spent.prompt_tokens + day.spent.completion_tokens, "cost": day.cost})
        })
        .collect();
    let last_failure = health.last_failure.filter(|_| health.last_failure > health.last_success);
    let rows = |counts: &std::collections::BTreeMap<String, usize>| {
        let mut rows: Vec<_> = counts.iter().collect();
        rows.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        rows.into_iter().map(|(name, count)| json!({"name": name, "count": count})).collect::<Vec<_>>()
    };
    Ok(Reply::Page(
        "health",
        json!({
            "file": memories.config().db.value.display().to_string(), "kilobytes": stats.bytes / 1_000,
            "cards": [
                {"name": "memories", "count": stats.memories}, {"name": "quotes", "count": stats.evidence},
                {"name": "conversations", "count": stats.transcripts}, {"name": "runs", "count": stats.runs},
                {"name": "waiting", "count": health.backlog()},
                {"name": "failures", "count": health.failures(), "is_bad": health.failures() > 0},
            ],
            "tables": [
                {"name": "status", "rows": rows(&stats.by_status)}, {"name": "kind", "rows": rows(&stats.by_type)},
                {"name": "category", "rows": rows(&stats.by_category)},
            ],
            "last_success": health.last_success, "last_failure": last_failure, "halted": health.halted,
            "failed": ([failed_jobs, failed_windows].concat()), "spending": spending,
            "can_write": memories.can_write(), "flaws": flaws,
        }),
    ))
}

/// Returns all failed jobs to the queue.
pub(super) fn retry(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    memories.retry(None)?;
    Ok(visit.done("/health", "retried"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_that_contradicts_another_is_counted_as_added() {
        for (decisions, expected) in
            [(json!({"contradict": 1}), 1), (json!({"add": 2, "contradict": 1, "skip": 4}), 3), (json!({}), 0)]
        {
            assert_eq!(added(decisions.as_object().unwrap()), expected, "{decisions}");
        }
    }
}
