//! The timeline: memories by the day on which they were learnt, and facts whose value changed.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::visit::{Reply, Visit, namespaces, values_of};
use crate::api::{ApiError, Filter, Memories, Order};
use crate::memory::{Memory, Status};

/// Number of memories on a page.
const ON_PAGE: usize = 60;
/// Number of replaced facts whose history is shown.
const MAX_REPLACED: usize = 200;

/// Shows the memories of any status, the last learnt first.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let page = visit.asked_as::<usize>("page").unwrap_or(1).clamp(1, 10_000);
    let filter = Filter { statuses: Vec::new(), ..visit.filter() };
    let mut listed = memories.list_memories(filter.clone(), Order::Created, ON_PAGE + 1, (page - 1) * ON_PAGE)?;
    let has_next = listed.len() > ON_PAGE;
    listed.truncate(ON_PAGE);
    let mut days: Vec<(String, Vec<Value>)> = Vec::new();
    for memory in &listed {
        let day = memory.created_at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string();
        let values = json!({"memory": values_of(memory)});
        match days.last_mut().filter(|(last, _)| *last == day) {
            Some((_, rows)) => rows.push(values),
            None => days.push((day, vec![values])),
        }
    }
    let days: Vec<Value> = days.into_iter().map(|(day, rows)| json!({"day": day, "rows": rows})).collect();
    Ok(Reply::Page(
        "timeline",
        json!({
            "days": days, "changed": if page == 1 { changed_facts(memories, &filter)? } else { Vec::new() },
            "namespaces": namespaces(memories)?, "namespace": visit.asked("namespace"), "page": page, "has_next": has_next,
        }),
    ))
}

/// Returns the attributes whose value changed, with all their values in the order of time.
fn changed_facts(memories: &Memories, filter: &Filter) -> Result<Vec<Value>, ApiError> {
    let with = |status, limit| {
        memories.list_memories(Filter { statuses: vec![status], ..filter.clone() }, Order::Updated, limit, 0)
    };
    let mut facts: BTreeMap<(String, String), Vec<Memory>> = BTreeMap::new();
    let place = |memory: &Memory| Some((memory.namespace.to_string(), memory.claim.key.clone()?));
    for memory in with(Status::Superseded, MAX_REPLACED)? {
        if let Some(place) = place(&memory) {
            facts.entry(place).or_default().push(memory);
        }
    }
    for memory in with(Status::Active, if facts.is_empty() { 0 } else { usize::MAX >> 1 })? {
        if let Some(values) = place(&memory).and_then(|place| facts.get_mut(&place)) {
            values.push(memory);
        }
    }
    let mut facts: Vec<_> = facts.into_iter().filter(|(_, values)| values.len() > 1).collect();
    for (_, values) in &mut facts {
        values.sort_by(|a, b| a.claim.valid_from.cmp(&b.claim.valid_from).then_with(|| a.id.cmp(&b.id)));
    }
    let values = |(place, memories): ((String, String), Vec<Memory>)| json!({"namespace": place.0, "key": place.1, "values": memories.iter().map(values_of).collect::<Vec<_>>()});
    Ok(facts.into_iter().map(values).collect())
}
