//! `run` and `plan`: the main job.

mod estimate;
mod job;
mod model;
mod shared;

use super::args::Context;
use super::exit::ExitStatus;
use job::{Mode, start};
pub(in crate::cli) use job::{guard_of, runtime, stop_on_interrupt};
pub(in crate::cli) use model::{Tape, exchange, model_settings};
use shared::Shared;
pub(in crate::cli) use shared::price;

/// Turn conversation logs into memories
///
/// Reads files, folders, patterns, or - for standard input. Work that an earlier run has finished is not repeated; what
/// was interrupted or failed is taken up again. One Ctrl-C starts no new window, finishes those under way and writes
/// what is there; exits 3 if windows were left. A second one ends at once.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought run --from claude-code --since 30d --estimate\n  afterthought run --from claude-code --from codex\n  afterthought run 'meetings/**/*.vtt' --extractor rules\n  afterthought run export/conversations.json --max-cost 0.50"
)]
pub struct RunArgs {
    #[command(flatten)]
    shared: Shared,
    /// Show what would change, as `plan` does
    #[arg(long)]
    dry_run: bool,
    /// Tell what would be sent and what it would cost; send and write nothing
    #[arg(long, conflicts_with_all = ["dry_run", "record", "replay"])]
    estimate: bool,
}

/// Show what `run` would change, as a diff, and write no memory
///
/// Replies of a model are kept in the ledger, so that the run that follows does not pay for them again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought plan ~/.claude/projects")]
pub struct PlanArgs {
    #[command(flatten)]
    shared: Shared,
}

pub fn run(args: &RunArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if args.estimate {
        return estimate::start(&args.shared, context);
    }
    start(&args.shared, if args.dry_run { Mode::Plan } else { Mode::Write }, context)
}

pub fn plan(args: &PlanArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    start(&args.shared, Mode::Plan, context)
}
