//! Commands on runs, on the queue of logs, and on batches of requests.

use std::collections::BTreeSet;

use crate::api::{FailedWindow, Job, JobStatus};
use anyhow::bail;
use serde_json::json;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{BOLD, CHANGED, DIM, counted, minute, one_line};

const NO_RUNS: &str = "no runs yet; `afterthought run PATH` reads conversation logs";

/// List runs, newest first
///
/// Exits 1 when there are no runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs list -n 5")]
pub(crate) struct RunsArgs {
    /// Show at most this many runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub(crate) fn list(args: &RunsArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let runs = memories.runs(args.limit)?;
    context.out.list(&runs, ["run", "started", "status", "logs", "added", "calls", "read"], |run| {
        let count =
            |pointer: &str| run.summary.as_ref().and_then(|summary| summary.pointer(pointer)?.as_u64()).unwrap_or(0);
        [
            run.id.short().to_owned(),
            minute(run.started_at),
            match count("/windows/failed") {
                0 => run.status.as_str().to_owned(),
                failed => format!("{}, {} failed", run.status.as_str(), counted(failed, "window")),
            },
            count("/transcripts").to_string(),
            // A memory that contradicts an older one is new as well, and an undo removes it like the others.
            (count("/decisions/add") + count("/decisions/contradict")).to_string(),
            count("/llm_calls").to_string(),
            run.description(),
        ]
    })?;
    Ok(context.out.unless_empty(runs.is_empty(), NO_RUNS))
}

/// Show a run and every change it made
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought runs show last\n  afterthought runs show 3fa2c1d9")]
pub(crate) struct ShowRunArgs {
    /// Id of a run, a unique prefix or suffix of it, or `last`
    run: String,
}

pub(crate) fn show(args: &ShowRunArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let out = context.out;
    if args.run == "last" && memories.runs(1)?.is_empty() {
        return Ok(out.nothing(NO_RUNS));
    }
    let run = memories.run(&args.run)?;
    let changes = memories.changes_of(&run.id)?;
    if out.is_json() {
        let mut value = serde_json::to_value(&run)?;
        value["changes"] = serde_json::to_value(&changes)?;
        out.json(&value)?;
        return Ok(ExitStatus::Success);
    }
    out.line(format_args!("{BOLD}{}{BOLD:#}", run.description()))?;
    let fields = [
        ("id", Some(run.id.as_str().to_owned())),
        ("command", Some(run.command.clone())),
        ("status", Some(run.status.as_str().to_owned())),
        ("started", Some(format!("{:.0}", run.started_at))),
        ("finished", run.finished_at.map(|at| format!("{at:.0}"))),
    ];
    out.fields(10, fields)?;
    for (name, value) in run.summary.iter().filter_map(serde_json::Value::as_object).flatten() {
        if value.as_u64().is_some_and(|count| count > 0) {
            out.line(format_args!("{DIM}{:>10}{DIM:#}  {value}", name.replace('_', " ")))?;
        }
    }
    let mut gone = BTreeSet::new();
    for change in &changes {
        let Some(memory) = memories.get_memory(&change.memory)? else {
            gone.insert(&change.memory);
            continue;
        };
        let reason = change.reason.as_ref().map(|reason| format!(" ({})", one_line(reason, 160))).unwrap_or_default();
        out.line(format_args!(
            "{CHANGED}{:<10}{CHANGED:#} {} {}{DIM}{reason}{DIM:#}",
            change.action,
            change.memory.short(),
            one_line(&memory.claim.content, 160),
        ))?;
    }
    if !gone.is_empty() {
        let count = counted(gone.len(), "memory");
        out.note(format_args!("the run also changed {count} that the database no longer contains"));
    }
    Ok(ExitStatus::Success)
}

/// List pending and failed logs and windows
///
/// Logs are queued by hooks and by `log watch`. Exits 1 when the queue is empty.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs queue --all")]
pub(crate) struct QueueArgs {
    /// Include finished logs
    #[arg(long)]
    all: bool,
    #[cfg(feature = "scale")]
    #[command(flatten)]
    shared: super::queue::QueueState,
}

/// Retry failed logs and windows
///
/// Failed logs return to the queue at once. Failed windows are retried by the next run on their logs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought runs retry\n  afterthought runs retry 12")]
pub(crate) struct RetryArgs {
    /// Number of a log in `runs queue` [default: everything that failed]
    #[arg(value_name = "NUMBER")]
    id: Option<i64>,
    /// Retry the failed jobs of the queue in this PostgreSQL database
    #[cfg(feature = "scale")]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "id")]
    queue: Option<String>,
}

/// Remove a log from the queue until it grows again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs cancel 12")]
pub(crate) struct CancelArgs {
    /// Number of a log in `runs queue`
    #[arg(value_name = "NUMBER")]
    id: i64,
}

pub(crate) fn queue(args: &QueueArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    #[cfg(feature = "scale")]
    if let Some(status) = args.shared.show(context)? {
        return Ok(status);
    }
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let mut jobs = memories.jobs()?;
    // Finished jobs stay in the queue and would hide those that need attention.
    jobs.retain(|job| args.all || job.status != JobStatus::Done);
    let windows = memories.failed_windows()?;
    if context.out.is_json() {
        jobs.iter().try_for_each(|job| context.out.json(job))?;
        windows.iter().try_for_each(|window| context.out.json(&window_json(window)))?;
    } else {
        context.out.table(["job", "status", "tries", "due", "log", "why"], jobs.iter().map(job_row))?;
        if !windows.is_empty() {
            let count = counted(windows.len(), "window");
            context.out.line(format_args!("{count} failed; the next `run` on the same logs retries them:"))?;
            context.out.table(["tries", "log", "messages", "why"], windows.iter().map(window_row))?;
        }
    }
    Ok(context.out.unless_empty(jobs.is_empty() && windows.is_empty(), "the queue is empty"))
}

fn job_row(job: &Job) -> [String; 6] {
    let due = match job.status {
        JobStatus::Waiting => minute(job.not_before),
        JobStatus::Running => "now".to_owned(),
        JobStatus::Done | JobStatus::Failed => String::new(),
    };
    let why = one_line(job.error.as_deref().unwrap_or_default(), 100);
    [job.id.to_string(), job.status.as_str().to_owned(), job.attempts.to_string(), due, job.path.clone(), why]
}

fn window_row(window: &FailedWindow) -> [String; 4] {
    // People count messages from 1, but the stored start is counted from 0.
    let messages = format!("{}–{}", window.start + 1, window.start + window.len);
    let why = one_line(window.error.as_deref().unwrap_or_default(), 100);
    [window.attempts.to_string(), window.origin.clone(), messages, why]
}

fn window_json(window: &FailedWindow) -> serde_json::Value {
    json!({
        "transcript": window.transcript, "origin": window.origin, "start": window.start, "messages": window.len,
        "extractor": window.extractor, "attempts": window.attempts, "error": window.error,
        "failed_at": window.finished_at,
    })
}

pub(crate) fn cancel(args: &CancelArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let id = args.id;
    let Some(memories) = context.writable_memories()? else { return Ok(ExitStatus::NoMatch) };
    if !memories.cancel_job(id)? {
        bail!("job {id} is neither waiting nor failed; see `afterthought runs queue`");
    }
    let line =
        format_args!("job {id} was removed; it returns if its log grows, and `afterthought run` still reads the log");
    context.out.show(&json!({"job": id, "cancelled": true}), line)?;
    Ok(ExitStatus::Success)
}

pub(crate) fn retry(args: &RetryArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    #[cfg(feature = "scale")]
    if let Some(address) = &args.queue {
        return super::queue::retry(address, context);
    }
    let Some(memories) = context.writable_memories()? else { return Ok(ExitStatus::NoMatch) };
    // Windows have no due time: they are tried again when a run reads their log.
    let (due, windows) = memories.retry(args.id)?;
    if let Some(id) = args.id.filter(|_| due == 0) {
        bail!("job {id} has not failed; see `afterthought runs queue`");
    }
    if context.out.is_json() {
        context.out.json(&json!({"jobs": due, "windows": windows}))?;
    } else if due + windows > 0 {
        let (jobs, windows) = (counted(due, "job"), counted(windows, "window"));
        context.out.line(format_args!("{jobs} due again; the next `run` on the same logs retries {windows}"))?;
    }
    Ok(context.out.unless_empty(due + windows == 0, "nothing has failed"))
}

/// List open batches of requests at a provider, oldest first
///
/// To collect the replies of open batches, use `run --batch-api` on the same logs. This command does not contact the
/// provider; it shows the status from the last run. Exits 1 when there are no open batches.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought runs batches\n  afterthought runs batches --give-up batch_6745e1")]
pub(crate) struct BatchesArgs {
    /// Give up a lost batch, and pay for its requests again
    #[arg(long, value_name = "ID")]
    give_up: Option<String>,
}

pub(crate) fn batches(args: &BatchesArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if let Some(id) = &args.give_up {
        return give_up(id, context);
    }
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let open = memories.open_batches()?;
    context.out.list(&open, ["batch", "made", "status", "requests", "model", "server"], |batch| {
        [
            // A batch that has not been submitted yet has no id at the provider.
            batch.remote_id.clone().unwrap_or_else(|| batch.id.clone()),
            minute(batch.created_at),
            batch.remote_status.clone().unwrap_or_else(|| batch.stage.as_str().to_owned()),
            batch.waiting.to_string(),
            batch.model.clone(),
            batch.endpoint.clone(),
        ]
    })?;
    let hint = "no open batches; `afterthought run PATH --batch-api` submits some";
    Ok(context.out.unless_empty(open.is_empty(), hint))
}

fn give_up(id: &str, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(requests) = context.memories()?.give_up_batch(id)? else {
        bail!("no open batch has the id {id}; see `afterthought runs batches`");
    };
    let requests = counted(requests, "request");
    context.out.line(format_args!("gave up {requests}; the next `run` sends them again"))?;
    Ok(ExitStatus::Success)
}
