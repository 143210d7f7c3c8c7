//! The search page: memories and tasks, and the reason for the position of each.

use serde_json::{Map, Value, json};

use super::visit::{Reply, Visit, categories, namespaces, values_of};
use crate::api::{
    ApiError, Found, FoundTask, Highlight, Memories, Order, SearchRequest, WEIGHT_CONFIDENCE, WEIGHT_IMPORTANCE,
    WEIGHT_RECENCY, WEIGHT_RELEVANCE, WEIGHT_USE,
};
use crate::memory::{MemoryType, Status};

/// The fields of the filter.
const FILTERS: [&str; 8] = ["namespace", "kind", "category", "tag", "status", "speaker", "from", "to"];
/// Number of memories on a page.
const ON_PAGE: usize = 20;
/// Maximum number of tasks next to the memories.
const MAX_TASKS: usize = 5;

/// Shows the results of a search, or the last changed memories if the query is empty.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let (text, filter) = (visit.asked("q").unwrap_or_default(), visit.filter());
    let page = visit.asked_as::<usize>("page").unwrap_or(1).clamp(1, 10_000);
    let offset = (page - 1) * ON_PAGE;
    // One result more than is shown indicates whether there is a next page.
    let (mut found, tasks, total): (Vec<Value>, Vec<FoundTask>, Option<usize>) = if text.is_empty() {
        let listed = memories.list_memories(filter.clone(), Order::Updated, ON_PAGE + 1, offset)?;
        let listed = listed.iter().map(|memory| json!({"memory": values_of(memory)})).collect();
        (listed, Vec::new(), Some(memories.count_memories(filter.clone())?))
    } else {
        let request = SearchRequest {
            text: text.to_owned(),
            filter: filter.clone(),
            limit: ON_PAGE + 1,
            offset,
            ..SearchRequest::default()
        };
        let found = memories.search(&request)?.found;
        let tasks = if page == 1 { memories.search_tasks(text, &filter, MAX_TASKS)? } else { Vec::new() };
        (found.iter().map(hit).collect(), tasks, None)
    };
    let has_next = found.len() > ON_PAGE;
    found.truncate(ON_PAGE);
    let asked: Map<String, Value> =
        FILTERS.map(|name| (name.to_owned(), json!(visit.asked(name)))).into_iter().collect();
    Ok(Reply::Page(
        "search",
        json!({
            "q": text, "found": found, "tasks": tasks.iter().map(task).collect::<Vec<_>>(), "total": total,
            "page": page, "has_next": has_next, "is_filtered": asked.values().any(|value| !value.is_null()),
            "namespaces": namespaces(memories)?, "categories": categories(memories),
            "kinds": MemoryType::ALL, "statuses": Status::ALL,
            "asked": asked,
        }),
    ))
}

fn hit(found: &Found) -> Value {
    let score = &found.score;
    let part = |name: &str, value: f64, weight: f64| json!({"name": name, "value": value, "weight": weight});
    json!({
        "memory": values_of(&found.memory),
        "segments": segments(&found.highlight),
        "quote": found.quote.as_ref().map(segments),
        "matched": found.matched,
        "said_at": found.said_at,
        "total": score.total,
        "parts": [
            part("relevance", score.relevance, WEIGHT_RELEVANCE),
            part("importance", score.importance, WEIGHT_IMPORTANCE),
            part("confidence", score.confidence, WEIGHT_CONFIDENCE),
            part("recency", score.recency, WEIGHT_RECENCY),
            part("usage", score.usage, WEIGHT_USE),
        ],
        "fit": {
            "words": found.fit.words, "neighbours": found.fit.neighbours, "speaker": found.fit.speaker,
            "date": found.fit.date, "channels": found.fit.channels,
        },
    })
}

fn task(found: &FoundTask) -> Value {
    json!({
        "goal": found.goal, "outcome": found.outcome.as_str(), "reason": found.reason, "ended_at": found.ended_at,
        "files": found.files, "report": found.report.as_ref().map(|report| &report.text), "matched": found.matched,
        "total": found.score.total, "namespace": found.namespace.to_string(),
    })
}

/// Splits a text at its marks.
fn segments(highlight: &Highlight) -> Vec<Value> {
    let (mut segments, mut at) = (Vec::new(), 0);
    for mark in &highlight.marks {
        segments.push(json!({"text": highlight.text.get(at..mark.start)}));
        segments.push(json!({"text": highlight.text.get(mark.clone()), "marked": true}));
        at = mark.end;
    }
    segments.push(json!({"text": highlight.text.get(at..)}));
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_its_marks() {
        let highlight = Highlight { text: "茶 and tea".to_owned(), marks: vec![0..3, 8..11] };
        let texts = segments(&highlight);
        assert_eq!(
            texts,
            [
                json!({"text": ""}),
                json!({"text": "茶", "marked": true}),
                json!({"text": " and "}),
                json!({"text": "tea", "marked": true}),
                json!({"text": ""})
            ]
        );
    }
}
