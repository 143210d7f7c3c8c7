//! Projects: a project's memories and rules, and facts from the logs of its coding sessions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::language::Language;
use super::visit::{Reply, Visit, values_of};
use crate::api::{ApiError, Filter, Memories, Order};
use crate::memory::{MemoryType, Namespace, Remedy, Task, TaskOutcome};

/// Maximum number of rows of each list.
const SHOWN: usize = 30;

/// Shows all projects.
pub(super) fn list(memories: &Memories) -> Result<Reply, ApiError> {
    let mut projects = memories.projects()?;
    projects.retain(|project| project.merged_into.is_none());
    projects.sort_by(|a, b| b.memories.cmp(&a.memories).then_with(|| a.name.cmp(&b.name)));
    Ok(Reply::Page("projects", json!({"projects": projects})))
}

/// Shows one project.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let Some(namespace) = visit.asked_as::<Namespace>("namespace") else { return Ok(Reply::NotFound) };
    let within = Filter::exactly(std::slice::from_ref(&namespace));
    let of_types = |types: &[MemoryType]| -> Result<Vec<Value>, ApiError> {
        let mut listed = Vec::new();
        for one in types {
            // An index contains the memories of one type in order, whereas those of several types would have to be
            // sorted.
            let filter = Filter { types: vec![*one], ..within.clone() };
            listed.extend(memories.list_memories(filter, Order::Importance, SHOWN, 0)?);
        }
        listed.sort_by(|a, b| b.claim.importance.total_cmp(&a.claim.importance).then(b.updated_at.cmp(&a.updated_at)));
        Ok(listed.iter().take(SHOWN).map(|memory| json!({"memory": values_of(memory)})).collect())
    };
    let tasks = memories.tasks(&within)?;
    let name = memories.projects()?.into_iter().find(|project| project.namespace == namespace);
    let any_status = Filter { statuses: Vec::new(), ..within.clone() };
    if name.is_none() && tasks.is_empty() && memories.count_memories(any_status)? == 0 {
        return Ok(Reply::NotFound);
    }
    Ok(Reply::Page(
        "project",
        json!({
            "namespace": namespace.to_string(),
            "name": name.map_or_else(|| namespace.to_string(), |project| project.name),
            "rules": of_types(&[MemoryType::Procedural])?,
            "known": of_types(&[MemoryType::Semantic, MemoryType::Episodic])?,
            "known_total": memories.count_memories(within)?,
            "open": open_tasks(&tasks), "files": files(&tasks), "errors": errors(&tasks), "tasks": tasks.len(),
        }),
    ))
}

/// Shows the tasks that touched a file.
pub(super) fn file(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let (Some(namespace), Some(path)) = (visit.asked_as::<Namespace>("namespace"), visit.asked("path")) else {
        return Ok(Reply::NotFound);
    };
    let mut usages = memories.blame(path, None, &Filter::exactly(std::slice::from_ref(&namespace)))?;
    for usage in &mut usages {
        usage.did = in_words(&usage.did, visit.language);
    }
    Ok(Reply::Page("file", json!({"path": path, "namespace": namespace.to_string(), "usages": usages})))
}

/// Translates the actions on a file, such as `edited 2 times, read`.
fn in_words(did: &str, language: Language) -> String {
    let action = |part: &str| {
        let (verb, rest) = part.split_once(' ').unwrap_or((part, ""));
        let Some(verb) = language.text(&format!("usage.{verb}")) else { return part.to_owned() };
        match rest.strip_suffix(" times") {
            Some(count) => format!("{verb} ×{count}"),
            None => format!("{verb} {}", rest.trim_start_matches("to ")).trim_end().to_owned(),
        }
    };
    let actions: Vec<String> = did.split(", ").map(action).collect();
    actions.join(language.text("word.separator").unwrap_or(", "))
}

/// Returns the unfinished tasks, the latest first.
fn open_tasks(tasks: &[Task]) -> Vec<Value> {
    let mut open: Vec<&Task> = tasks.iter().filter(|task| task.record.outcome != TaskOutcome::Done).collect();
    open.sort_by(|a, b| b.record.ended_at.cmp(&a.record.ended_at).then_with(|| a.id.cmp(&b.id)));
    let values = |task: &&Task| {
        let record = &task.record;
        json!({"goal": record.goal, "outcome": record.outcome.as_str(), "ended_at": record.ended_at,
            "report": record.report.as_ref().map(|report| &report.text)})
    };
    open.iter().take(SHOWN).map(values).collect()
}

/// Returns the files that tasks changed, starting with those changed by the most tasks.
fn files(tasks: &[Task]) -> Vec<Value> {
    let mut files: BTreeMap<&str, (usize, Option<Timestamp>)> = BTreeMap::new();
    for task in tasks {
        for file in task.record.files.iter().filter(|file| file.is_changed()) {
            let (count, last) = files.entry(&file.path).or_default();
            *count += 1;
            *last = (*last).max(task.record.ended_at);
        }
    }
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let values = |(path, (tasks, last)): &(&str, (usize, Option<Timestamp>))| json!({"path": path, "tasks": tasks, "last": last});
    files.iter().take(SHOWN).map(values).collect()
}

/// An error that recurs in several tasks.
#[derive(Default)]
struct Recurrence<'a> {
    line: &'a str,
    count: u32,
    last: Option<Timestamp>,
    remedy: Option<&'a Remedy>,
}

/// Returns the errors of commands, the most frequent first, each with its latest remedy.
fn errors(tasks: &[Task]) -> Vec<Value> {
    let mut errors: BTreeMap<&str, Recurrence<'_>> = BTreeMap::new();
    for task in tasks {
        for error in &task.record.errors {
            let known = errors.entry(&error.signature).or_default();
            known.count += error.count;
            if known.line.is_empty() || known.last <= task.record.ended_at {
                (known.line, known.last) = (&error.line, task.record.ended_at);
                known.remedy = error.cleared.as_ref().or(known.remedy);
            }
        }
    }
    let mut errors: Vec<_> = errors.into_values().collect();
    errors.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| b.last.cmp(&a.last)).then_with(|| a.line.cmp(b.line)));
    let values = |error: &Recurrence<'_>| json!({"line": error.line, "count": error.count, "last": error.last, "remedy": error.remedy});
    errors.iter().take(SHOWN).map(values).collect()
}
