//! `run` and `plan`: the main job.

mod asking;
mod estimate;
mod job;
mod model;
mod shared;

use std::path::PathBuf;

use super::args::Context;
use super::exit::ExitStatus;
pub(in crate::cli) use asking::{Asking, price};
use job::{Mode, start};
pub(in crate::cli) use job::{guard_of, runtime, stop_on_interrupt};
pub(in crate::cli) use model::{Tape, exchange, model_settings, reachable, source};
use shared::Shared;
pub(in crate::cli) use shared::patterns;

/// Turn conversation logs into memories
///
/// Reads files, folders, glob patterns, or - for standard input. Work that an earlier run has finished is not repeated;
/// interrupted and failed work is resumed. One Ctrl-C finishes the windows in progress and writes their memories; a second
/// one stops at once. Exits 3 when some work is left or failed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought run --from claude-code --since 30d --estimate\n  afterthought run --from claude-code --from codex\n  afterthought run 'meetings/**/*.vtt' --extractor rules\n  afterthought run export/conversations.json --max-cost 0.50\n  afterthought run --from all --batch-api --no-wait"
)]
pub struct RunArgs {
    #[command(flatten)]
    shared: Shared,
    /// Show what would change, and write no memory
    #[arg(long)]
    dry_run: bool,
    /// Save the plan that --dry-run shows, for `runs apply`
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    out: Option<PathBuf>,
    /// Show what would be sent and what it would cost; send nothing
    #[arg(long, conflicts_with_all = ["dry_run", "record", "replay"])]
    estimate: bool,
    #[command(flatten)]
    batches: Batches,
}

/// Whether questions are gathered.
#[derive(Debug, clap::Args)]
struct Batches {
    /// Send requests in batches, at about half the price, within a day
    #[arg(long, conflicts_with_all = ["dry_run", "record", "replay"])]
    batch_api: bool,
    /// Do not wait for batches; exits 3 while replies are outstanding
    #[arg(long, requires = "batch_api", conflicts_with = "estimate")]
    no_wait: bool,
}

/// Show what `run` would change, as a diff, and write no memory
///
/// Replies of a model are stored, so that the run that follows does not pay for them again. With --out, the plan is saved with
/// one line a change; delete the lines that you do not want, and pass the file to `runs apply`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought runs plan ~/.claude/projects\n  afterthought runs plan ~/.claude/projects --out plan.json"
)]
pub struct PlanArgs {
    #[command(flatten)]
    shared: Shared,
    /// Save the plan, for `runs apply`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl RunArgs {
    /// Whether it writes, rather than to tell what it would.
    pub fn writes(&self) -> bool {
        !self.dry_run && !self.estimate
    }
}

pub fn run(args: &RunArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if args.estimate {
        return estimate::start(&args.shared, args.batches.batch_api, context);
    }
    let mode = match (args.dry_run, args.batches.batch_api) {
        (true, _) => Mode::Plan,
        (false, false) => Mode::Write,
        (false, true) => Mode::Batches { waits: !args.batches.no_wait },
    };
    start(&args.shared, mode, args.out.as_deref(), context)
}

pub fn plan(args: &PlanArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    start(&args.shared, Mode::Plan, args.out.as_deref(), context)
}
