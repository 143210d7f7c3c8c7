//! The brief of the next conversation: each line with the reason for including it, and the omitted memories.

use serde_json::{Value, json};

use super::visit::{Reply, Visit, namespaces, values_of};
use crate::api::brief::{BriefRequest, Counting, LeftOut, Shown, Standing};
use crate::api::{ApiError, Memories};
use crate::memory::Namespace;

/// Maximum number of omitted memories that are listed.
const MAX_LEFT_OUT: usize = 30;

/// Shows the brief that a conversation in the project given in the URL would start with.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let places = namespaces(memories)?;
    let first = places.iter().find_map(|one| one["namespace"].as_str()?.starts_with("project/").then_some(one));
    let first = first.and_then(|one| one["namespace"].as_str()?.parse().ok());
    let namespace = visit.asked_as::<Namespace>("namespace").or(first).unwrap_or_else(Namespace::global);
    let mut asked = vec![namespace.clone(), Namespace::global()];
    asked.dedup();
    let query = visit.asked("q").map(str::to_owned);
    let settings = &memories.config().memory;
    let request = BriefRequest { counting: Counting::Estimated, ..BriefRequest::of(settings, asked, query) };
    let brief = memories.brief(&request)?;
    let mut left_out = Vec::new();
    for one in brief.left_out.iter().take(MAX_LEFT_OUT) {
        let memory = memories.get_memory(&one.id)?;
        left_out.extend(memory.map(|memory| excluded(one, &values_of(&memory))));
    }
    Ok(Reply::Page(
        "brief",
        json!({
            "namespaces": places, "namespace": namespace.to_string(), "q": visit.asked("q").unwrap_or_default(),
            "shown": brief.shown.iter().map(included).collect::<Vec<_>>(), "left_out": left_out,
            "left_out_total": brief.left_out.len(), "tokens": brief.tokens, "max_tokens": request.max_tokens,
            "text": brief.text,
        }),
    ))
}

fn included(shown: &Shown) -> Value {
    json!({"memory": values_of(&shown.memory), "section": shown.section.as_str(), "tokens": shown.tokens,
        "total": shown.standing.total, "parts": parts(&shown.standing)})
}

fn excluded(left_out: &LeftOut, memory: &Value) -> Value {
    json!({"memory": memory, "because": left_out.because.as_str(), "total": left_out.standing.total})
}

fn parts(standing: &Standing) -> Vec<Value> {
    let part = |name: &str, value: f64| json!({"name": name, "value": value});
    let fit = standing.to_the_point.map(|fit| part("relevance", fit));
    let others = [
        part("importance", standing.importance),
        part("confidence", standing.confidence),
        part("recency", standing.recency),
        part("tier", standing.tier),
    ];
    fit.into_iter().chain(others).collect()
}
