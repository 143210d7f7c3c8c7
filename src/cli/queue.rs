//! Commands for a queue that many workers share: `run --queue`, `serve worker`, `serve http --shards`, `runs queue
//! --queue`, `runs retry --queue`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::api::{
    Fault, JobKind, JobOutcome, QueueProgress, QueueWorker, RunRequest, ShardFiles, WorkQueue, WorkerStatistics,
};
use crate::config::Config;
use crate::serve::MemoryPool;
use crate::serve::probes::{self, CountedQueue, ProbedWorker};

use super::args::Context;
use super::exit::ExitStatus;
use super::model::{ModelArgs, runtime, stop_on_interrupt};
use super::printer::{BOLD, counted, one_line};

/// Take jobs from a queue and extract memories into shards
///
/// The queue is in a PostgreSQL database, in which `run --queue` added the logs. Any number of workers may run, on any
/// number of machines that have the logs at the same paths, or that can read the object storage that contains them.
/// One worker at a time works on a namespace. If a worker ends, another one continues its job, and no finished window is
/// paid for again. The password comes from PGPASSWORD or a password file. Runs until it is interrupted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought serve worker --queue postgres://ana@db/memories\n  afterthought serve worker --queue postgres:///memories --once --tokens-per-minute 200000\n  afterthought serve worker --queue postgres:///memories --addr 127.0.0.1:9100"
)]
pub(crate) struct WorkerArgs {
    /// Address of the PostgreSQL database, e.g. postgres://user@host/database
    #[arg(long, value_name = "ADDRESS")]
    queue: String,
    /// Exit when no job is left
    #[arg(long)]
    once: bool,
    /// Exit after this many jobs
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Send at most this many tokens a minute to a model, together with all other workers [default: no limit]
    #[arg(long, value_name = "N")]
    tokens_per_minute: Option<u64>,
    /// Folder for the files of shards [default: shards, in the state folder of this program]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Seconds after which another worker continues the job of a worker that does not respond
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    lease: u64,
    /// Serve /healthz, /readyz and /metrics, for orchestrators and Prometheus, at this address, e.g. 127.0.0.1:9100;
    /// port 0 selects a free port, which is printed [default: none]
    #[arg(long, value_name = "IP:PORT")]
    addr: Option<SocketAddr>,
    #[command(flatten)]
    model: ModelArgs,
}

/// Options that show the state of a shared queue.
#[derive(Debug, clap::Args)]
pub(crate) struct QueueState {
    /// Show the state of the queue in this PostgreSQL database
    #[arg(long, value_name = "ADDRESS", conflicts_with = "all")]
    queue: Option<String>,
    /// Write the database of each namespace to this folder
    #[arg(long, value_name = "DIR", requires = "queue")]
    save: Option<PathBuf>,
}

/// Options for serving shards.
#[derive(Debug, clap::Args)]
pub(crate) struct ServedShards {
    /// Serve the shards of the queue in this PostgreSQL database, for reading only; requests name a namespace, as in
    /// /mcp?namespace=team/ana
    #[arg(long, value_name = "ADDRESS", conflicts_with = "project")]
    shards: Option<String>,
    /// Keep copies of at most this many shards
    #[arg(long, value_name = "N", requires = "shards", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    /// Folder for the copies [default: shard-copies, in the state folder of this program]
    #[arg(long, value_name = "DIR", requires = "shards")]
    cache: Option<PathBuf>,
}

impl ServedShards {
    /// Returns the memories of the shards, if they are to be served.
    pub(crate) fn pool(&self, context: &Context<'_>) -> anyhow::Result<Option<MemoryPool>> {
        let Some(address) = &self.shards else { return Ok(None) };
        let folder = match &self.cache {
            Some(folder) => folder.clone(),
            None => context.global.folders()?.state.join("shard-copies"),
        };
        let files = ShardFiles::open(address, &folder)?;
        Ok(Some(MemoryPool::of_shards(context.settings()?, files, self.keep as usize)))
    }
}

/// Maximum number of faults that are shown.
const FAULTS: i64 = 20;
/// Maximum length of a fault, in characters.
const FAULT_LENGTH: usize = 160;

/// Returns the queue at an address, for the page.
pub(crate) fn shown(address: &str) -> anyhow::Result<Mutex<CountedQueue>> {
    Ok(Mutex::new(CountedQueue::new(WorkQueue::at(address)?, FAULTS)))
}

pub(crate) fn fill(
    address: &str,
    config: &Config,
    request: RunRequest,
    max_cost: Option<f64>,
    context: &Context<'_>,
) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let mut queue = WorkQueue::open(address)?;
    if let Some(max_cost) = max_cost {
        queue.limit(max_cost)?;
    }
    let mut warn = |text: &str| out.warn(text);
    let work = runtime()?.block_on(queue.fill(config, request, &mut warn))?;
    work.failed.iter().for_each(|failed| out.error_text(failed));
    out.show(&work, format_args!("{} read, {} queued", counted(work.logs, "log"), counted(work.jobs, "job")))?;
    Ok(if work.failed.is_empty() { ExitStatus::Success } else { ExitStatus::Failures })
}

pub(crate) fn add_to_all(address: &str, kind: JobKind, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let added = WorkQueue::open(address)?.add_to_all(kind, context.global.namespace.as_ref())?;
    context.out.show(&json!({"jobs": added}), format_args!("{} queued", counted(added, "job")))?;
    Ok(context.out.unless_empty(added == 0, "the queue contains no namespace yet"))
}

pub(crate) fn retry(address: &str, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let due = WorkQueue::open(address)?.retry()?;
    context.out.show(&json!({"jobs": due}), format_args!("{} due again", counted(due, "job")))?;
    Ok(context.out.unless_empty(due == 0, "nothing has failed"))
}

impl QueueState {
    /// Shows the state of a shared queue, if one is specified.
    pub(crate) fn show(&self, context: &Context<'_>) -> anyhow::Result<Option<ExitStatus>> {
        let (Some(address), out) = (&self.queue, context.out) else { return Ok(None) };
        let mut queue = WorkQueue::open(address)?;
        if let Some(folder) = &self.save {
            for (namespace, file) in queue.save_shards(folder)? {
                out.show(
                    &json!({"namespace": namespace, "file": file}),
                    format_args!("{namespace}: {}", file.display()),
                )?;
            }
            return Ok(Some(ExitStatus::Success));
        }
        let progress = queue.progress(FAULTS)?;
        if out.is_json() {
            out.json(&progress)?;
        } else {
            let QueueProgress { waiting, running, done, failed, namespaces, spent, max_cost, faults, .. } = &progress;
            out.line(format_args!(
                "{BOLD}{done} done{BOLD:#}, {running} running, {waiting} waiting, {failed} failed, in {}",
                counted(*namespaces, "namespace")
            ))?;
            match max_cost {
                Some(limit) => out.line(format_args!("${spent:.4} of ${limit} spent"))?,
                None => out.line(format_args!("${spent:.4} spent, no limit"))?,
            }
            out.table(
                ["job", "status", "tries", "namespace", "log", "why"],
                faults.iter().map(|fault| {
                    let why = one_line(&fault.error, FAULT_LENGTH);
                    let (job, tries) = (fault.job.to_string(), fault.attempts.to_string());
                    [job, fault.status.clone(), tries, fault.namespace.clone(), fault.log.clone(), why]
                }),
            )?;
        }
        let QueueProgress { waiting, running, done, failed, .. } = progress;
        Ok(Some(out.unless_empty(waiting + running + done + failed == 0, "the queue is empty")))
    }
}

pub(crate) fn work(args: &WorkerArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    ensure!(args.model.jobs != Some(0), "--jobs 0 would do nothing; give at least 1");
    let (out, cancel, runtime) = (context.out, CancellationToken::new(), runtime()?);
    let config = context.global.settings(args.model.settings())?;
    let cache = match &args.cache {
        Some(folder) => folder.clone(),
        None => context.global.folders()?.state.join("shards"),
    };
    runtime.block_on(async { stop_on_interrupt(cancel.clone(), args.model.grace) });
    let report = |JobOutcome { what, fault }: JobOutcome<'_>| match fault {
        None => out.note(format_args!("done {what}")),
        Some(Fault::LeftOut(why)) => out.note(format_args!("{what} is left out: {}", one_line(why, FAULT_LENGTH))),
        Some(Fault::Failed(why)) => out.error_text(&format!("{what}: {}", one_line(why, FAULT_LENGTH))),
        Some(Fault::Later(until, why)) => {
            out.note(format_args!("{what} is postponed until {until:.0}: {}", one_line(why, FAULT_LENGTH)));
        }
    };
    let metrics = Arc::new(WorkerStatistics::new());
    if let Some(address) = args.addr {
        let probes = ProbedWorker::new(Arc::clone(&metrics), cancel.clone(), WorkQueue::at(&args.queue)?);
        let address = probes::start(address, probes)?;
        out.note(format_args!("http://{address}/metrics"));
    }
    let worker = QueueWorker {
        address: &args.queue,
        cache: &cache,
        config,
        options: args.model.options(),
        lease: Duration::from_secs(args.lease),
        tokens_per_minute: args.tokens_per_minute,
        is_once: args.once,
        limit: args.limit,
        cancel,
        report: &report,
        metrics,
    };
    let (done, left) = worker.work(&runtime)?;
    out.show(&json!({"done": done, "left": left}), format_args!("{} done, {left} left", counted(done, "job")))?;
    Ok(if left > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}
