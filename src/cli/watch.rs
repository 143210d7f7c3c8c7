//! `watch`: sessions are extracted once they have come to rest, and memories are kept in order.

use std::path::PathBuf;
use std::time::Duration;

use afterthought::lifecycle::{self, Rules};
use afterthought::serve::hook::{Fault, Scan, Shift, Until, WATCH_LEASE, Worked, lower_priority, scan, work_off};
use afterthought::store::{Job, Leased, Store};
use anyhow::{bail, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use transcripts::known::{self, KNOWN};
use transcripts::{Found, discover};

use super::args::{Context, machine, now};
use super::exit::ExitStatus;
use super::jobs::{Extraction, FILES, tell};
use super::printer::counted;
use super::run::{Asking, runtime};

/// Pause between two signs of life.
const TICK: Duration = Duration::from_secs(15);
/// Pause between two looks at the folders, and between two rounds of maintenance.
const ROUND: SignedDuration = SignedDuration::from_mins(1);
/// Pause between two rounds in which all memories are looked through.
const WHOLE: SignedDuration = SignedDuration::from_hours(1);
/// Pause before another process is asked again whether it is done.
const BUSY: Duration = Duration::from_secs(5);

/// Watch log folders and extract finished sessions
///
/// Watches the folders of all known programs, or those given, and runs maintenance, until interrupted. One Ctrl-C finishes
/// the work in progress; a second one stops at once. Where no limit is set, at most $1.00 is spent a day.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought log watch --from claude-code --max-cost-per-day 0.50\n  afterthought log watch ~/chats --extractor rules"
)]
pub struct WatchArgs {
    /// Folders to watch [default: those of all known programs]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Watch only this program, see `log list`
    #[arg(long, value_name = "NAME")]
    from: Vec<String>,
    /// Minutes without a change after which a session is finished
    #[arg(long, value_name = "N", default_value_t = 10)]
    idle: u32,
    /// Ignore logs unchanged for more than this many days
    #[arg(long, value_name = "N", default_value_t = 14)]
    max_age: u32,
    /// Extract this many logs at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    at_a_time: usize,
    /// Include logs of sub-agents
    #[arg(long)]
    subagents: bool,
    /// Stop when every finished session is extracted
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    asking: Asking,
}

pub fn run(args: &WatchArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    for folder in &args.folders {
        ensure!(folder.is_dir(), "{}: there is no such folder; check the path", folder.display());
    }
    args.from.iter().filter(|name| *name != "all").try_for_each(|name| known::by_name(name).map(drop))?;
    ensure!(args.folders.is_empty() || args.from.is_empty(), "name folders, or programs with --from, not both");
    lower_priority();
    let store = context.store()?;
    let owner = uuid::Uuid::now_v7().to_string();
    if let Leased::Other { pid } = store.lease(WATCH_LEASE, &owner, now())? {
        bail!("process {pid} watches this database already; stop that one first");
    }
    let outcome = runtime()?.block_on(watch(args, context, &store, &owner));
    store.end_lease(WATCH_LEASE, &owner)?;
    outcome
}

async fn watch(args: &WatchArgs, context: &Context<'_>, store: &Store, owner: &str) -> anyhow::Result<ExitStatus> {
    let cancel = CancellationToken::new();
    stop_on_signals(cancel.clone());
    let extraction = Extraction::new(context, &args.asking, args.at_a_time, cancel.clone());
    let rules = Rules::from(&context.settings()?.memory);
    let mut rounds = Rounds { args, context, owner, next: Timestamp::MIN, next_whole: Timestamp::MIN, rules };
    let mut total = Worked::default();
    if !args.once {
        context.out.note("watching; Ctrl-C ends it");
    }
    loop {
        let mut report = |job: &Job, fault: Option<&Fault>| tell(context, job, fault);
        let mut tick = |store: &Store| rounds.tick(store);
        let shift = Shift {
            store,
            at_a_time: args.at_a_time,
            until: if args.once { Until::NothingIn(SignedDuration::ZERO) } else { Until::Cancelled },
            cancel: cancel.clone(),
            every: Some((TICK, &mut tick)),
            report: &mut report,
        };
        let worked = work_off(shift, |job| extraction.of(job)).await?;
        total = Worked { done: total.done + worked.done, left: total.left + worked.left, busy: worked.busy };
        if cancel.is_cancelled() || (args.once && worked.busy.is_none()) {
            break;
        }
        // A worker that a hook has started is at it, and ends soon now that somebody watches.
        tokio::time::sleep(BUSY).await;
        rounds.tick(store);
    }
    let done = counted(total.done, "log");
    context.out.note(format_args!("{done} extracted, {} left", total.left));
    Ok(if args.once && total.left > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}

/// What is done from time to time.
struct Rounds<'a> {
    args: &'a WatchArgs,
    context: &'a Context<'a>,
    owner: &'a str,
    next: Timestamp,
    next_whole: Timestamp,
    rules: Rules,
}

impl Rounds<'_> {
    fn tick(&mut self, store: &Store) {
        let now = now();
        if let Err(error) = store.lease(WATCH_LEASE, self.owner, now) {
            self.context.out.warn(format_args!("cannot say that this process watches: {error}"));
        }
        if now < self.next {
            return;
        }
        self.next = now + ROUND;
        let terms = Scan {
            idle: SignedDuration::from_mins(i64::from(self.args.idle)),
            max_age: SignedDuration::from_hours(24 * i64::from(self.args.max_age)),
            subagents: self.args.subagents,
        };
        match scan(store, self.logs(), &terms, now) {
            Ok(0) => {}
            Ok(count) => self.context.out.detail(format_args!("{} came to rest", counted(count, "log"))),
            Err(error) => self.context.out.warn(format_args!("the folders could not be looked at: {error}")),
        }
        // All is looked through once an hour; in between, what is over.
        let is_whole = now >= self.next_whole;
        let maintained = if is_whole { lifecycle::maintain } else { lifecycle::tick };
        match maintained(store, &self.rules, now) {
            Ok(report) if report.done.is_empty() => {}
            Ok(report) => self.context.out.detail(format_args!("maintained: {}", json!(report.done.counts()))),
            // Another process may hold the file for long; there is a next time.
            Err(error) => self.context.out.warn(format_args!("memories could not be kept in order: {error}")),
        }
        if is_whole {
            self.next_whole = now + WHOLE;
        }
    }

    /// Returns every log in the folders, with the program that keeps it.
    fn logs(&self) -> Vec<(String, Found)> {
        if !self.args.folders.is_empty() {
            // A folder that is empty, or gone, has no logs.
            let found =
                self.args.folders.iter().flat_map(|folder| discover(std::slice::from_ref(folder)).unwrap_or_default());
            return found.map(|found| (FILES.to_owned(), Found { named: false, ..found })).collect();
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

/// Lets the first signal finish what is under way, and the second end the process.
fn stop_on_signals(cancel: CancellationToken) {
    tokio::spawn(async move {
        signalled().await;
        cancel.cancel();
        signalled().await;
        #[expect(clippy::exit, reason = "somebody asked twice")]
        std::process::exit(130);
    });
}

#[cfg(unix)]
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        // Without handlers a signal ends the process, which loses nothing.
        _ => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
