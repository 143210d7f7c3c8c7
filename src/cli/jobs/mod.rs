//! `jobs`: what waits to be extracted, and what failed.

mod work;

use afterthought::store::{FailedWindow, Job, JobStatus, Store};
use anyhow::bail;
use serde_json::json;

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::printer::{counted, one_line};
pub use work::WorkArgs;
pub(in crate::cli) use work::{Extraction, FILES, run as work, tell};

/// List logs and windows that wait or failed
///
/// Logs are queued by hooks and by `log watch`. Exits 1 when the queue is empty.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs queue --all")]
pub struct QueueArgs {
    /// Include finished logs
    #[arg(long)]
    all: bool,
}

/// Retry failed logs and windows
///
/// Failed logs become due again; failed windows are tried by the next run over their logs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought runs retry\n  afterthought runs retry 12")]
pub struct RetryArgs {
    /// Number of a log in `runs queue` [default: everything that failed]
    #[arg(value_name = "NUMBER")]
    id: Option<i64>,
}

/// Remove a log from the queue until it grows again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs cancel 12")]
pub struct CancelArgs {
    /// Number of a log in `runs queue`
    #[arg(value_name = "NUMBER")]
    id: i64,
}

pub fn list(args: &QueueArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let mut jobs = store.jobs()?;
    jobs.retain(|job| args.all || job.status != JobStatus::Done);
    let windows = store.failed_windows()?;
    if context.out.is_json() {
        jobs.iter().try_for_each(|job| context.out.json(job))?;
        windows.iter().try_for_each(|window| context.out.json(&window_json(window)))?;
    } else {
        context.out.table(["job", "status", "tries", "due", "log", "why"], jobs.iter().map(row).collect())?;
        if !windows.is_empty() {
            let count = counted(windows.len(), "window");
            context.out.line(format_args!("{count} failed; the next run over their logs tries them again:"))?;
            context.out.table(["tries", "log", "messages", "why"], windows.iter().map(window_row).collect())?;
        }
    }
    if jobs.is_empty() && windows.is_empty() {
        return Ok(context.out.nothing("the queue is empty"));
    }
    Ok(ExitStatus::Success)
}

fn row(job: &Job) -> [String; 6] {
    let due = match job.status {
        JobStatus::Waiting => job.not_before.strftime("%Y-%m-%d %H:%M").to_string(),
        JobStatus::Running => "now".to_owned(),
        JobStatus::Done | JobStatus::Failed => String::new(),
    };
    let why = one_line(job.error.as_deref().unwrap_or_default(), 100);
    [job.id.to_string(), job.status.as_str().to_owned(), job.attempts.to_string(), due, job.path.clone(), why]
}

fn window_row(window: &FailedWindow) -> [String; 4] {
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

pub fn cancel(args: &CancelArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let id = args.id;
    if context.existing()?.is_none() {
        return Ok(ExitStatus::NoMatch);
    }
    if !context.store()?.cancel_job(id, now())? {
        bail!("job {id} neither waits nor failed; see `afterthought runs queue`");
    }
    if context.out.is_json() {
        context.out.json(&json!({"job": id, "cancelled": true}))?;
    } else {
        context.out.line(format_args!("job {id} is given up until its log grows; `run` reads it all the same"))?;
    }
    Ok(ExitStatus::Success)
}

pub fn retry(args: &RetryArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let id = args.id;
    let Some(existing) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    drop(existing);
    let store: Store = context.store()?;
    let due = store.retry_jobs(id, now())?;
    let windows = if id.is_none() { store.reset_failed_windows()? } else { 0 };
    if let Some(id) = id.filter(|_| due == 0) {
        bail!("job {id} is none that failed; see `afterthought runs queue`");
    }
    if context.out.is_json() {
        context.out.json(&json!({"jobs": due, "windows": windows}))?;
    } else {
        let (jobs, windows) = (counted(due, "job"), counted(windows, "window"));
        context.out.line(format_args!("{jobs} due again, {windows} to be tried by the next run over their logs"))?;
    }
    Ok(if due + windows == 0 { ExitStatus::NoMatch } else { ExitStatus::Success })
}
