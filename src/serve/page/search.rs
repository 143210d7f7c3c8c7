//! The search page with the reason for the position of each result, and the brief of the next conversation with the
//! reason for including each line.

use serde_json::{Map, Value, json};
use transcripts::TimeSource;

use crate::api::brief::{BriefRequest, Counting, LeftOut, Shown, Standing};
use crate::api::{
    ApiError, Found, FoundTask, Highlight, Memories, Order, SearchRequest, WEIGHT_CONFIDENCE, WEIGHT_IMPORTANCE,
    WEIGHT_RECENCY, WEIGHT_RELEVANCE, WEIGHT_USE,
};
use crate::memory::{MemoryType, Namespace, Status};

use super::visit::{Reply, Visit, categories, namespaces, values_of};

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
    // One more result than the page shows indicates whether there is a next page.
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
        "is_file_date": found.said_source == Some(TimeSource::File),
        "total": score.total,
        "parts": [
            part("relevance", score.relevance, WEIGHT_RELEVANCE),
            part("importance", score.importance, WEIGHT_IMPORTANCE),
            part("confidence", score.confidence, WEIGHT_CONFIDENCE),
            part("recency", score.recency, WEIGHT_RECENCY),
            part("usage", score.usage, WEIGHT_USE),
        ],
        "fit": {
            "words": found.fit.words, "neighbours": found.fit.neighbours, "conversation": found.fit.conversation,
            "speaker": found.fit.speaker, "date": found.fit.date, "channels": found.fit.channels,
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

/// Maximum number of omitted memories that are listed.
const MAX_LEFT_OUT: usize = 30;

/// Shows the brief that a conversation in the project given in the URL would start with.
pub(super) fn brief(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let places = namespaces(memories)?;
    let first = places.iter().find_map(|one| one["namespace"].as_str()?.starts_with("project/").then_some(one));
    let first = first.and_then(|one| one["namespace"].as_str()?.parse().ok());
    let namespace = visit.asked_as::<Namespace>("namespace").or(first).unwrap_or_else(Namespace::global);
    let asked = memories.reach_of(namespace.clone())?.as_slice().to_vec();
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
