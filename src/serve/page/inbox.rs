//! The inbox: pending memories next to the memories that they would replace, and the last decisions.

use serde_json::{Value, json};

use super::memory::{evidence, undoable};
use super::visit::{Reply, Visit, categories, values_of};
use crate::api::{ApiError, Memories, Run, Verdict, Waiting};
use crate::memory::MemoryId;

/// Number of pending memories on the page; further memories appear as these are reviewed.
const SHOWN: usize = 50;
/// Number of runs in which the last decisions are searched for.
const RUNS: usize = 40;
/// Number of decisions that can be undone on the page.
const DECISIONS: usize = 5;

/// Shows pending memories, the oldest first.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let waiting = memories.inbox(visit.filter())?;
    let shown = waiting.iter().take(SHOWN).map(|waiting| values(memories, waiting, visit));
    let runs = memories.runs(RUNS)?;
    let judged = runs.iter().filter(|run| run.command == "inbox" && run.status.as_str() == "finished");
    let decisions = judged.take(DECISIONS).map(|run| decision(memories, run));
    Ok(Reply::Page(
        "inbox",
        json!({
            "pending": shown.collect::<Result<Vec<_>, _>>()?, "total": waiting.len(), "categories": categories(memories),
            "decisions": decisions.collect::<Result<Vec<_>, _>>()?,
        }),
    ))
}

fn values(memories: &Memories, waiting: &Waiting, visit: &Visit) -> Result<Value, ApiError> {
    let history = memories.details(waiting.memory.id.as_str())?.history;
    Ok(json!({
        "memory": values_of(&waiting.memory), "reason": waiting.reason.as_deref().map(|reason| visit.language.reason(reason)),
        "evidence": waiting.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "replaces": waiting.replaces.iter().map(values_of).collect::<Vec<_>>(), "undoable": undoable(&history),
    }))
}

/// Returns the values of a decision that can be undone.
fn decision(memories: &Memories, run: &Run) -> Result<Value, ApiError> {
    let ids = run.arguments["ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut judged = Vec::new();
    for id in ids {
        judged.extend(memories.get_memory(&MemoryId::from_stored(id))?.map(|memory| values_of(&memory)));
    }
    Ok(json!({"run": run.id, "verdict": run.arguments["verdict"], "at": run.finished_at, "memories": judged}))
}

/// Accepts or rejects the memories in the form, as a run that can be undone.
pub(super) fn judge(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let (verdict, done) = match visit.sent("verdict") {
        Some("accept") => (Verdict::Accept, "accepted"),
        Some("reject") => (Verdict::Reject, "rejected"),
        _ => return Ok(Reply::NotFound),
    };
    let ids: Vec<&str> = visit.sent_all("id").collect();
    if ids.is_empty() {
        return Ok(Reply::SeeOther("/inbox?done=none_selected".to_owned()));
    }
    let run = memories.judge(&ids, verdict, None)?.run;
    Ok(Reply::SeeOther(format!("/inbox?done={done}&run={run}")))
}
