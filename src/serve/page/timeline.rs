//! The timeline: memories by the day on which they were said, and facts whose values changed.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use transcripts::TimeSource;

use super::visit::{Reply, Visit, namespaces, values_of};
use crate::api::{ApiError, Filter, Memories, Order};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Status};

/// Number of memories on a page.
const ON_PAGE: usize = 60;
/// Number of replaced memories whose attributes are shown.
const MAX_REPLACED: usize = 60;

/// Shows the memories of any status, the most recently said first.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let page = visit.asked_as::<usize>("page").unwrap_or(1).clamp(1, 10_000);
    let filter = Filter { statuses: Vec::new(), ..visit.filter() };
    let mut listed = memories.list_by_time_said(filter.clone(), ON_PAGE + 1, (page - 1) * ON_PAGE)?;
    let has_next = listed.len() > ON_PAGE;
    listed.truncate(ON_PAGE);
    let evidence = memories.evidence_of(&listed.iter().map(|(memory, _)| memory.clone()).collect::<Vec<_>>())?;
    let mut days: Vec<(String, Vec<Value>)> = Vec::new();
    for (memory, said_at) in &listed {
        let times = evidence.get(&memory.id).into_iter().flatten().filter_map(|piece| piece.said_at);
        let is_file_date = times.max_by_key(|time| time.at).is_some_and(|time| time.source == TimeSource::File);
        let day = said_at.unwrap_or(memory.created_at).to_zoned(TimeZone::system()).date().to_string();
        let values = json!({"memory": values_of(memory), "said_at": said_at, "is_file_date": is_file_date});
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

/// Returns the attributes whose value changed, with all their values in chronological order.
fn changed_facts(memories: &Memories, filter: &Filter) -> Result<Vec<Value>, ApiError> {
    let replaced = Filter { statuses: vec![Status::Superseded], ..filter.clone() };
    let mut facts: BTreeMap<(Namespace, String), Vec<Memory>> = BTreeMap::new();
    for memory in memories.list_memories(replaced, Order::Updated, MAX_REPLACED, 0)? {
        if let Some(key) = memory.claim.key.clone() {
            facts.entry((memory.namespace.clone(), key)).or_default().push(memory);
        }
    }
    let mut shown = Vec::new();
    for ((namespace, key), mut values) in facts {
        values
            .extend(memories.current_values(&namespace, &key)?.into_iter().filter(|one| one.status == Status::Active));
        let evidence = memories.evidence_of(&values)?;
        let since = |memory: &Memory| memory.claim.valid_from.or_else(|| said(&evidence, memory).min());
        values.sort_by(|a, b| since(a).cmp(&since(b)).then_with(|| a.id.cmp(&b.id)));
        let step = |memory: &Memory| json!({"memory": values_of(memory), "since": since(memory), "until": memory.claim.valid_to});
        let steps: Vec<Value> = values.iter().map(step).collect();
        if steps.len() > 1 {
            shown.push(json!({"namespace": namespace.to_string(), "key": key, "steps": steps}));
        }
    }
    Ok(shown)
}

/// Returns the time at which a memory was said, if its quotes have times.
fn said<'e>(evidence: &'e HashMap<MemoryId, Vec<Evidence>>, memory: &Memory) -> impl Iterator<Item = Timestamp> + 'e {
    evidence.get(&memory.id).into_iter().flatten().filter_map(|piece| piece.said_at).map(|said| said.at)
}
