//! `show`, `why` and `history`: the details of one memory.

use serde_json::{Value, json};
use transcripts::TimeSource;

use crate::api::{
    AdviceOutcome, Entity, HistoryEntry, Memories, MemoryDetails, Profile, confidence_now, differences, heat,
    on_one_line, without_marks,
};
use crate::memory::{Evidence, Memory, Namespace, Status};

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::list::project_of_folder;
use super::printer::{ADDED, BOLD, DIM, Printer, REMOVED, counted, day, one_line};

/// The memory that a command shows.
#[derive(Debug, clap::Args)]
pub(crate) struct OneMemory {
    /// Id of a memory, or a unique prefix or suffix of it
    id: String,
}

/// Returns the details of the memory `id`, or `None` if there is no database.
fn details(id: &str, context: &Context<'_>) -> anyhow::Result<Option<(Memories, MemoryDetails)>> {
    let Some(memories) = context.existing_memories()? else { return Ok(None) };
    let details = memories.details(id)?;
    Ok(Some((memories, MemoryDetails { memory: details.memory.printed_at(now()), ..details })))
}

pub(crate) fn show(args: &OneMemory, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (memories, details) = match details(&args.id, context) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(ExitStatus::NoMatch),
        Err(error) => return show_task(&args.id, context)?.ok_or(error),
    };
    let out = context.out;
    if out.is_json() {
        let mut value = serde_json::to_value(&details.memory)?;
        value["heat"] = heat(&details.memory.usage, now()).as_str().into();
        value["consolidated_from"] = json!(details.consolidated_from());
        value["last_consolidated_at"] = json!(details.last_consolidated_at());
        value["evidence"] = serde_json::to_value(&details.evidence)?;
        value["relations"] = serde_json::to_value(&details.relations)?;
        out.json(&value)?;
        note_use(memories, &details.memory);
        return Ok(ExitStatus::Success);
    }
    out.line(format_args!("{BOLD}{}{BOLD:#}", one_line(&details.memory.claim.title, 400)))?;
    out.line(barred(&details.memory.claim.content))?;
    out.fields(12, fields(&details.memory))?;
    out.fields(12, [("consolidated", details.last_consolidated_at().map(|at| at.to_string()))])?;
    print_evidence(&details.evidence, out)?;
    print_relations(&details, &memories, out)?;
    note_use(memories, &details.memory);
    Ok(ExitStatus::Success)
}

/// Prints the task with this id; returns `None` if there is none. A search prints the ids of tasks beside those of
/// memories.
fn show_task(id: &str, context: &Context<'_>) -> anyhow::Result<Option<ExitStatus>> {
    let (out, Some(memories)) = (context.out, context.memories_if_any()?) else { return Ok(None) };
    let Some(task) = memories.task(id)? else { return Ok(None) };
    if out.is_json() {
        out.json(&task)?;
        return Ok(Some(ExitStatus::Success));
    }
    let record = &task.record;
    out.line(format_args!("{BOLD}{}{BOLD:#}", one_line(&record.goal, 400)))?;
    let changed = record.files.iter().filter(|file| file.edited > 0 || file.created || file.deleted);
    let changed: Vec<&str> = changed.map(|file| file.path.as_str()).collect();
    let fields = [
        ("id", Some(task.id.clone())),
        ("outcome", Some(format!("{} ({})", record.outcome, record.reason))),
        ("namespace", Some(task.namespace.to_string())),
        ("branch", record.branch.clone()),
        ("ended", record.ended_at.map(|at| at.to_string())),
        ("changed", (!changed.is_empty()).then(|| changed.join(", "))),
        ("report", record.report.as_ref().map(|report| one_line(&report.text, 400))),
        ("log", Some(task.transcript.clone())),
    ];
    out.fields(12, fields)?;
    Ok(Some(ExitStatus::Success))
}

/// Counts the opening of a memory by a person. If the file cannot be written, the use is not counted, but the command
/// succeeds.
fn note_use(memories: Memories, memory: &Memory) {
    if let Ok(memories) = memories.into_writable() {
        memories.note_use(std::slice::from_ref(&memory.id));
    }
}

/// Returns the names and values of the fields of a memory.
fn fields(memory: &Memory) -> [(&'static str, Option<String>); 17] {
    let claim = &memory.claim;
    let structured = claim.structured.as_ref().and_then(|parts| serde_json::to_string(parts).ok());
    [
        ("id", Some(memory.id.to_string())),
        ("kind", Some(format!("{}/{} · {}", claim.memory_type, claim.category, claim.scope))),
        ("namespace", Some(memory.namespace.to_string())),
        ("status", Some(format!("{}{}", memory.status, if memory.pinned { " · pinned" } else { "" }))),
        ("importance", Some(format!("{:.2}", claim.importance))),
        ("confidence", Some(format!("{:.2} now, {:.2} when stored", confidence_now(memory, now()), claim.confidence))),
        ("subject", claim.subject.clone()),
        ("attribute", claim.key.as_ref().map(|key| format!("{key} = {}", claim.value.as_deref().unwrap_or("?")))),
        ("tags", (!claim.tags.is_empty()).then(|| claim.tags.join(", "))),
        ("details", structured),
        ("valid from", claim.valid_from.map(|at| at.to_string())),
        ("valid until", claim.valid_to.map(|at| at.to_string())),
        ("expires", claim.expires_at.map(|at| at.to_string())),
        ("source", Some(format!("{} · {}", memory.source, memory.extraction_method))),
        ("stored", Some(memory.created_at.to_string())),
        ("changed", Some(memory.updated_at.to_string())),
        (
            "used",
            Some(format!(
                "{} · recent use: {} · tier: {} (l0 is pinned; l1 is used most, l4 least)",
                counted(memory.usage.access_count, "time"),
                heat(&memory.usage, now()).as_str(),
                memory.tier()
            )),
        ),
    ]
}

/// Returns a text of several lines, with a bar before each line after the first, so that none of them looks like one of
/// the program's own.
fn barred(text: &str) -> String {
    without_marks(text).lines().collect::<Vec<_>>().join("\n│ ")
}

fn print_evidence(evidence: &[Evidence], out: &Printer) -> anyhow::Result<()> {
    for piece in evidence {
        let speaker = piece.speaker.as_deref().unwrap_or("user");
        let when = piece.said_at.map_or_else(String::new, |time| match time.source {
            TimeSource::File => format!(", file dated {}", time.civil().date()),
            TimeSource::Log | TimeSource::Derived => format!(", {}", time.civil().strftime("%Y-%m-%d %H:%M")),
        });
        out.line(format_args!("  “{}”", barred(&piece.quote)))?;
        let origin = format!("{speaker}{when} · {} message {}", piece.transcript, piece.messages.join(", "));
        out.line(format_args!("  {DIM}{}{DIM:#}", on_one_line(&origin)))?;
    }
    Ok(())
}

fn print_relations(details: &MemoryDetails, memories: &Memories, out: &Printer) -> anyhow::Result<()> {
    for relation in &details.relations {
        let outgoing = relation.from == details.memory.id;
        let other = if outgoing { &relation.to } else { &relation.from };
        let memory = memories.get_memory(other)?;
        let content = memory.as_ref().map(|memory| one_line(&memory.claim.content, 120)).unwrap_or_default();
        let status = memory.map(|memory| memory.status_at(now())).filter(|status| *status != Status::Active);
        let status = status.map_or_else(String::new, |status| format!(" · {status}"));
        let verb = if outgoing {
            format!("{} ", relation.relation_type)
        } else {
            format!("← {} by ", relation.relation_type)
        };
        let reason = relation.reason.as_ref().map_or_else(String::new, |reason| format!(" ({})", on_one_line(reason)));
        out.line(format_args!("  {verb}{} {content}{DIM}{status}{reason}{DIM:#}", other.short()))?;
    }
    Ok(())
}

pub(crate) fn why(args: &OneMemory, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some((memories, details)) = details(&args.id, context)? else { return Ok(ExitStatus::NoMatch) };
    let out = context.out;
    if out.is_json() {
        out.json(&json!({
            "id": details.memory.id,
            "content": details.memory.claim.content,
            "evidence": details.evidence,
            "relations": details.relations,
            "decisions": details.history,
            "advice": details.advice,
        }))?;
        return Ok(ExitStatus::Success);
    }
    out.line(format_args!("{BOLD}{}{BOLD:#}", barred(&details.memory.claim.content)))?;
    if details.memory.status != Status::Active {
        out.line(format_args!("  {BOLD}{}{BOLD:#}: this memory is not recalled", details.memory.status))?;
    }
    if details.evidence.is_empty() {
        out.line(format_args!(
            "  {} on {}, without a transcript",
            details.memory.extraction_method,
            day(details.memory.created_at)
        ))?;
    }
    print_evidence(&details.evidence, out)?;
    print_relations(&details, &memories, out)?;
    let AdviceOutcome { helped, failed } = details.advice;
    if helped + failed > 0 {
        let after = format!(
            "the command then succeeded {}, and failed again {}",
            counted(helped, "time"),
            counted(failed, "time")
        );
        out.line(format_args!("  shown after a failure: {after}"))?;
    }
    // An entry without a reason explains nothing, and the links are listed above; `memory history` prints everything.
    let explains = |entry: &&HistoryEntry| entry.reason.is_some() && entry.entity != Entity::Relation;
    for entry in details.history.iter().filter(explains) {
        let reason = on_one_line(entry.reason.as_deref().unwrap_or_default());
        out.line(format_args!("  {DIM}{} {}: {reason}{DIM:#}", day(entry.at), entry.action))?;
    }
    Ok(ExitStatus::Success)
}

pub(crate) fn history(args: &OneMemory, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some((_, details)) = details(&args.id, context)? else { return Ok(ExitStatus::NoMatch) };
    let out = context.out;
    for entry in &details.history {
        if out.is_json() {
            out.json(entry)?;
            continue;
        }
        let run = match &entry.run {
            Some(run) => format!(" · run {}", run.short()),
            None => String::new(),
        };
        let reason = entry.reason.as_ref().map_or_else(String::new, |reason| format!(" · {}", on_one_line(reason)));
        let undone = if entry.undone { " · undone" } else { "" };
        out.line(format_args!(
            "{DIM}{}{DIM:#} {BOLD}{}{BOLD:#} {}{DIM}{run}{reason}{undone}{DIM:#}",
            entry.at, entry.action, entry.entity
        ))?;
        for (name, before, after) in differences(entry) {
            if let Some(before) = before.as_ref().and_then(spell) {
                out.line(format_args!("  {REMOVED}- {name}: {before}{REMOVED:#}"))?;
            }
            if let Some(after) = after.as_ref().and_then(spell) {
                out.line(format_args!("  {ADDED}+ {name}: {after}{ADDED:#}"))?;
            }
        }
    }
    Ok(ExitStatus::Success)
}

fn spell(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(one_line(text, 300)),
        other => Some(other.to_string()),
    }
}

pub(crate) fn profile(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let namespaces = match context.settings()?.namespace() {
        Some(namespace) => vec![namespace],
        None => [Some(Namespace::global()), project_of_folder(&memories)?].into_iter().flatten().collect(),
    };
    let mut is_empty = true;
    for namespace in &namespaces {
        let profile = memories.profile(namespace)?;
        is_empty &= profile.fields.is_empty();
        print_profile(&profile, context)?;
    }
    Ok(if is_empty { context.out.nothing("no memory here is part of a profile") } else { ExitStatus::Success })
}

fn print_profile(profile: &Profile, context: &Context<'_>) -> anyhow::Result<()> {
    let out = context.out;
    if out.is_json() {
        return Ok(out.json(profile)?);
    }
    if profile.fields.is_empty() {
        return Ok(());
    }
    out.line(format_args!("{BOLD}{}{BOLD:#}", profile.namespace))?;
    for (name, values) in &profile.fields {
        for one in values {
            let value = one.value.as_str().map_or_else(|| one.value.to_string(), str::to_owned);
            out.line(format_args!(
                "  {}: {}  {DIM}{}{DIM:#}",
                on_one_line(name),
                one_line(&value, 200),
                one.memory.short()
            ))?;
            for piece in one.evidence.iter().take(1) {
                out.line(format_args!("    {DIM}“{}”{DIM:#}", one_line(&piece.quote, 160)))?;
            }
        }
    }
    Ok(())
}
