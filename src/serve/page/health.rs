//! The state of the database and of background work: stored memories, waiting and failed jobs, and costs.

use serde_json::{Value, json};

use super::visit::{Reply, Visit};
use crate::api::{ApiError, JobStatus, Memories};

/// Number of days for which the cost is shown.
const DAYS: u32 = 30;

/// Shows the state and, if the URL requests it, whether pages of the file are damaged.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
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
            "last_success": health.last_success, "last_failure": health.last_failure, "halted": health.halted,
            "failed": ([failed_jobs, failed_windows].concat()), "spending": spending,
            "can_write": memories.can_write(), "flaws": flaws,
        }),
    ))
}

/// Makes all failed jobs due again.
pub(super) fn retry(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    memories.retry(None)?;
    let back = visit.back("/health");
    let joint = if back.contains('?') { '&' } else { '?' };
    Ok(Reply::SeeOther(format!("{back}{joint}done=retried")))
}
