//! Commands that extract queued logs: `runs work`, and `log watch`, which also queues them and runs maintenance.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::api::{
    Fault, Job, LINGER, LeaseOutcome, Maintenance, Memories, NAMED_FILES, Scan, WATCH_LEASE, Worker, WorkerEnd,
    WorkerEvent, WorkerOptions, WorkerReport, lower_priority,
};
use crate::config::{Config, Partial};
use crate::serve::hook::HookLog;
use anyhow::{bail, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use transcripts::known::{self, KNOWN};
use transcripts::{Found, discover};

use super::args::{Context, machine, must_be_folder, now};
use super::embed::catch_up;
use super::exit::ExitStatus;
use super::model::{ModelArgs, report_reason, runtime, stop_on_interrupt};
use super::printer::{counted, one_line, spelled};
use super::sync::start_in_background;

/// Interval between renewals of the lease.
// Several renewals fit into each lease, so that a late renewal does not lose it.
const TICK: Duration = Duration::from_secs(15);
/// Interval between scans of the folders, and between rounds of maintenance.
// Comparing names, sizes and times of ten thousand files takes only a few hundredths of a second.
const ROUND: SignedDuration = SignedDuration::from_mins(1);
/// Interval between rounds of full maintenance.
const FULL: SignedDuration = SignedDuration::from_hours(1);
/// Interval between checks of whether another process has finished.
const BUSY: Duration = Duration::from_secs(5);

/// Process the queued logs that are due
///
/// Does nothing while another process is working on the queue.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs work --max-cost 0.50")]
pub(crate) struct WorkArgs {
    /// Process this many logs at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    at_a_time: usize,
    /// Wait for sessions that are about to finish, at low priority
    #[arg(long, hide = true)]
    detached: bool,
    #[command(flatten)]
    model: ModelArgs,
}

/// Watch log folders, and extract memories from finished sessions
///
/// Watches the given folders, or those of all known programs, and runs maintenance, until it is interrupted. After the
/// first Ctrl-C, the command finishes the work in progress; a second Ctrl-C stops it at once. If no limit is set,
/// spends at most $1.00 a day.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought log watch --from claude-code --max-cost-per-day 0.50\n  afterthought log watch ~/chats --extractor rules"
)]
pub(crate) struct WatchArgs {
    /// Folders to watch [default: those of all known programs]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Watch only the logs of this program (see `log list`)
    #[arg(long, value_name = "NAME")]
    from: Vec<String>,
    /// Minutes of inactivity that end a session
    #[arg(long, value_name = "N", default_value_t = 10)]
    idle: u32,
    /// Ignore logs unchanged for more than N days
    #[arg(long, value_name = "N", default_value_t = 14)]
    max_age: u32,
    /// Process this many logs at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    at_a_time: usize,
    /// Include logs of sub-agents
    #[arg(long)]
    subagents: bool,
    /// Exit when all finished sessions have been processed
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    model: ModelArgs,
}

pub(crate) fn run(args: &WorkArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if args.detached {
        // A detached worker runs at the same time as an interactive agent and must not slow it down.
        lower_priority();
        // Memories from prompts wait for their vectors.
        catch_up(context);
    }
    let memories = context.memories_with(Partial::default())?;
    let cancel = CancellationToken::new();
    // A detached worker lingers for a while, which avoids starting a process after every turn. A person who runs the
    // command expects it to end.
    let until = WorkerEnd::NothingIn(if args.detached { LINGER } else { SignedDuration::ZERO });
    let worked = runtime()?.block_on(async {
        stop_on_interrupt(cancel.clone(), args.model.grace);
        work(&memories, &args.model, args.at_a_time, until, cancel, &mut || {}, context).await
    });
    if let Err(error) = &worked
        && args.detached
    {
        // Nobody reads the standard error of a detached worker.
        HookLog::beside(&memories.config().db.value).note("worker", &spelled(error), now());
    }
    // The error is returned after the log entry above, which is the only record of a failure when detached.
    let worked = worked?;
    if worked.busy.is_none()
        && let Err(error) = memories.maintain(Maintenance::Full, None)
    {
        context.out.warn(format_args!("cannot run maintenance: {error}"));
    }
    if worked.busy.is_none() {
        start_in_background(&memories, context);
    }
    if let Some(pid) = worked.busy {
        context.out.note(format_args!("process {pid} is working on the queue"));
    } else {
        let WorkerReport { done, left, .. } = worked;
        let line = format_args!("{} extracted, {left} left", counted(done, "log"));
        context.out.show(&json!({"done": done, "left": left}), line)?;
    }
    Ok(if worked.left > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}

/// Extracts the logs that are due, and calls `tick` regularly.
async fn work(
    memories: &Memories,
    model: &ModelArgs,
    at_a_time: usize,
    until: WorkerEnd,
    cancel: CancellationToken,
    tick: &mut dyn FnMut(),
    context: &Context<'_>,
) -> anyhow::Result<WorkerReport> {
    let settings = |folder: Option<&Path>| settings_in(folder, model, context).map_err(|error| spelled(&error));
    let report = |event: WorkerEvent<'_>| match event {
        WorkerEvent::Model(model) => report_reason(model, context.out),
        WorkerEvent::Detail(text) => context.out.detail(text),
    };
    let worker = Worker {
        settings: &settings,
        options: model.options(),
        at_a_time,
        cancel: cancel.clone(),
        report: &report,
        slices: RefCell::new(HashMap::new()),
    };
    let mut report_end = |job: &Job, fault: Option<&Fault>| print_end(context, job, fault);
    let shift = WorkerOptions { at_a_time, until, cancel, every: Some((TICK, tick)), report: &mut report_end };
    let extract = async |job: Job| {
        let outcome = worker.extract(&job).await;
        outcome.unwrap_or_else(|error| Err(Fault::Failed(spelled(&error.into()))))
    };
    Ok(memories.work_off(shift, extract).await?)
}

fn settings_in(folder: Option<&Path>, model: &ModelArgs, context: &Context<'_>) -> anyhow::Result<Config> {
    match folder {
        // Each log is extracted under the settings of its own project, not those of the folder in which the watcher
        // runs.
        Some(folder) => context.global.settings_at(folder, model.settings()),
        None => context.global.settings(model.settings()),
    }
}

/// Prints how a job ended.
fn print_end(context: &Context<'_>, job: &Job, fault: Option<&Fault>) {
    match fault {
        None => context.out.note(format_args!("extracted {}", job.path)),
        Some(Fault::Failed(why)) => context.out.error_text(&format!("{}: {}", job.path, one_line(why, 300))),
        Some(Fault::Later(until, why)) => {
            context.out.note(format_args!("{} is postponed until {until:.0}: {}", job.path, one_line(why, 300)));
        }
        Some(Fault::LeftOut(why)) => context.out.note(format_args!("{} is not extracted: {why}", job.path)),
    }
}

pub(crate) fn watch(args: &WatchArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    for folder in &args.folders {
        must_be_folder("", folder)?;
    }
    args.from.iter().filter(|name| *name != "all").try_for_each(|name| known::by_name(name).map(drop))?;
    ensure!(args.folders.is_empty() || args.from.is_empty(), "give either folders or --from, not both");
    // It runs all day, so it must not compete with interactive programs.
    lower_priority();
    let memories = context.memories_with(Partial::default())?;
    // A process id may be reused after a crash, so a lease is identified by a random owner.
    let owner = uuid::Uuid::now_v7().to_string();
    if let LeaseOutcome::Other { pid } = memories.lease(WATCH_LEASE, &owner)? {
        bail!("process {pid} is already running `log watch` for this database; stop it first");
    }
    let outcome = runtime()?.block_on(watch_logs(args, context, &memories, &owner));
    // The lease is released even after a failure, so that the next watcher need not check whether this process is
    // alive.
    memories.end_lease(WATCH_LEASE, &owner)?;
    outcome
}

async fn watch_logs(
    args: &WatchArgs,
    context: &Context<'_>,
    memories: &Memories,
    owner: &str,
) -> anyhow::Result<ExitStatus> {
    let cancel = CancellationToken::new();
    stop_on_interrupt(cancel.clone(), args.model.grace);
    let mut rounds = Rounds { args, context, memories, owner, next: Timestamp::MIN, next_full: Timestamp::MIN };
    let mut total = WorkerReport::default();
    if !args.once {
        context.out.note("watching; press Ctrl-C to stop");
    }
    loop {
        // The worker calls `tick` throughout, so one call of `work` also renews the lease, scans the folders and runs
        // maintenance.
        let until = if args.once { WorkerEnd::NothingIn(SignedDuration::ZERO) } else { WorkerEnd::Cancelled };
        let mut tick = || rounds.tick();
        let worked = work(memories, &args.model, args.at_a_time, until, cancel.clone(), &mut tick, context).await?;
        total = WorkerReport { done: total.done + worked.done, left: total.left + worked.left, busy: worked.busy };
        if cancel.is_cancelled() || (args.once && worked.busy.is_none()) {
            break;
        }
        // A worker that a hook has started is still busy; it ends soon, since this process is now watching.
        tokio::time::sleep(BUSY).await;
        rounds.tick();
    }
    let done = counted(total.done, "log");
    context.out.note(format_args!("{done} extracted, {} left", total.left));
    Ok(if args.once && total.left > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}

/// Periodic work of `log watch`: the lease, scans of the folders, and maintenance.
struct Rounds<'a> {
    args: &'a WatchArgs,
    context: &'a Context<'a>,
    memories: &'a Memories,
    owner: &'a str,
    next: Timestamp,
    next_full: Timestamp,
}

impl Rounds<'_> {
    fn tick(&mut self) {
        let (now, out, memories) = (now(), self.context.out, self.memories);
        // A missed renewal is retried at the next tick, long before another watcher would try to take over.
        if let Err(error) = memories.lease(WATCH_LEASE, self.owner) {
            out.warn(format_args!("cannot renew the lease of this process: {error}"));
        }
        if now < self.next {
            return;
        }
        // The time is set before the work starts, so that a failing scan is retried in the next round and not at every
        // tick.
        self.next = now + ROUND;
        let scan = Scan {
            idle: SignedDuration::from_mins(i64::from(self.args.idle)),
            max_age: SignedDuration::from_hours(24 * i64::from(self.args.max_age)),
            subagents: self.args.subagents,
        };
        match memories.queue_finished(self.logs(), &scan) {
            Ok(0) => {}
            Ok(count) => out.detail(format_args!("{} queued", counted(count, "finished log"))),
            Err(error) => out.warn(format_args!("cannot scan the folders: {error}")),
        }
        // Once an hour all memories are checked; in between, only those that have expired.
        let is_full = now >= self.next_full;
        match memories.maintain(if is_full { Maintenance::Full } else { Maintenance::Expired }, None) {
            Ok(report) if report.done.is_empty() => {}
            Ok(report) => out.detail(format_args!("maintained: {}", json!(report.done.counts()))),
            // Another process may lock the file for long; the next round tries again.
            Err(error) => out.warn(format_args!("cannot run maintenance: {error}")),
        }
        if is_full {
            start_in_background(memories, self.context);
            self.next_full = now + FULL;
        }
    }

    /// Returns every log in the folders, with the program that keeps it.
    fn logs(&self) -> Vec<(String, Found)> {
        if !self.args.folders.is_empty() {
            // A folder that is missing or empty has no logs; logs may appear later.
            let found =
                self.args.folders.iter().flat_map(|folder| discover(std::slice::from_ref(folder)).unwrap_or_default());
            // These files were not specified individually, so files of unknown format are ignored without an error.
            return found.map(|found| (NAMED_FILES.to_owned(), Found { named: false, ..found })).collect();
        }
        let wanted =
            |name: &str| self.args.from.is_empty() || self.args.from.iter().any(|one| one == name || one == "all");
        let known = KNOWN.iter().filter(|known| wanted(known.name));
        known
            .flat_map(|known| {
                let folders = known.folders(&machine(), &[]);
                folders.into_iter().flat_map(|folder| folder.files()).map(|found| (known.name.to_owned(), found))
            })
            .collect()
    }
}
