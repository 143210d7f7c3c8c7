//! The inbox: pending memories next to the memories that they would replace.

use serde_json::{Value, json};

use super::memory::evidence;
use super::visit::{Reply, Visit, values_of};
use crate::api::{ApiError, Memories, Verdict, Waiting};

/// Number of pending memories on the page; further memories appear as these are reviewed.
const SHOWN: usize = 50;

/// Shows pending memories, the oldest first.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let waiting = memories.inbox(visit.filter())?;
    let shown: Vec<Value> = waiting.iter().take(SHOWN).map(|waiting| values(waiting, visit)).collect();
    Ok(Reply::Page("inbox", json!({"pending": shown, "total": waiting.len()})))
}

fn values(waiting: &Waiting, visit: &Visit) -> Value {
    json!({
        "memory": values_of(&waiting.memory), "reason": waiting.reason.as_deref().map(|reason| visit.language.reason(reason)),
        "evidence": waiting.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "replaces": waiting.replaces.iter().map(values_of).collect::<Vec<_>>(),
    })
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
