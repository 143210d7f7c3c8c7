//! `inbox`: what waits for a person, and what becomes of it.

use afterthought::memory::MemoryId;
use afterthought::store::{RunId, RunStatus, Store, StoreError, Waiting};
use anyhow::bail;
use serde_json::json;

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::inspect::resolve_all;
use super::list::Selection;
use super::printer::{BOLD, CHANGED, DIM, one_line};

/// Review pending memories
///
/// Instructions to agents, open conflicts and changes of pinned memories wait here. Pending memories are neither recalled nor
/// put into a brief. Rejected memories are not learnt again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought inbox\n  afterthought inbox accept 3fa2c1d9\n  afterthought inbox reject --all --yes"
)]
pub struct InboxArgs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List pending memories, oldest first
    ///
    /// Exits 1 when there are none.
    #[command(after_help = "Example:\n  afterthought inbox list --namespace project/shop")]
    List(ListArgs),
    /// Accept pending memories
    ///
    /// Memories that they contradict or refine are superseded.
    #[command(after_help = "Example:\n  afterthought inbox accept 3fa2c1d9")]
    Accept(JudgeArgs),
    /// Reject pending memories, so that they are not learnt again
    #[command(after_help = "Example:\n  afterthought inbox reject --all --yes")]
    Reject(JudgeArgs),
}

#[derive(Debug, Default, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, clap::Args)]
struct JudgeArgs {
    /// Ids of memories, or unique starts of them
    ids: Vec<String>,
    /// Every pending memory, within --namespace if given
    #[arg(long = "all", conflicts_with = "ids")]
    every: bool,
    /// Confirm --all
    #[arg(long, requires = "every")]
    yes: bool,
    /// Reason, for the history
    #[arg(long)]
    reason: Option<String>,
}

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Accept,
    Reject,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
        }
    }
}

pub fn run(args: &InboxArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match &args.command {
        None => list(&ListArgs::default(), context),
        Some(Command::List(args)) => list(args, context),
        Some(Command::Accept(args)) => judge(args, Verdict::Accept, context),
        Some(Command::Reject(args)) => judge(args, Verdict::Reject, context),
    }
}

fn list(args: &ListArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let waiting = store.waiting(&args.selection.filter(context)?)?;
    for one in &waiting {
        tell(one, &store, context)?;
    }
    if waiting.is_empty() {
        context.out.note("nothing waits for you");
    } else {
        context.out.note(format_args!("{DIM}`afterthought inbox accept ID` or `reject ID` decides{DIM:#}"));
    }
    Ok(if waiting.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}

fn tell(one: &Waiting, store: &Store, context: &Context<'_>) -> anyhow::Result<()> {
    let (out, memory) = (context.out, &one.memory);
    if out.is_json() {
        return Ok(out.json(one)?);
    }
    let claim = &memory.claim;
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}  {DIM}{}/{} · {} · {}{DIM:#}",
        one_line(&claim.content, 300),
        claim.memory_type,
        claim.category,
        memory.namespace,
        store.short_id(&memory.id)?
    ))?;
    out.line(format_args!("  {CHANGED}{}{CHANGED:#}", one.reason.as_deref().unwrap_or("the reason was not kept")))?;
    for known in &one.replaces {
        out.line(format_args!("  in place of: {}", one_line(&known.claim.content, 200)))?;
    }
    for piece in one.evidence.iter().take(2) {
        let who = piece.speaker.as_ref().map_or_else(String::new, |name| format!("{name}: "));
        out.line(format_args!(
            "  {DIM}{who}“{}” — {}{DIM:#}",
            one_line(&piece.quote, 200),
            one_line(&piece.transcript, 80)
        ))?;
    }
    Ok(())
}

fn judge(args: &JudgeArgs, verdict: Verdict, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let store = context.store()?;
    let ids = if args.every { every(args, context, &store)? } else { resolve_all(&store, &args.ids)? };
    if ids.is_empty() && !args.every {
        bail!("nothing says what to {}; give ids from `afterthought inbox list`, or --all", verdict.word());
    }
    if ids.is_empty() {
        context.out.note("nothing waits for you");
        return Ok(ExitStatus::NoMatch);
    }
    let arguments = json!({ "ids": ids, "verdict": verdict.word() });
    let run = store.begin_run("inbox", &arguments, now())?.id;
    let outcome = write(&store, &run, &ids, verdict, args.reason.as_deref());
    let status = if outcome.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
    store.finish_run(&run, status, &json!({ "judged": ids.len() }), now())?;
    let superseded = outcome?;
    for id in &ids {
        let memory = store.memory(id)?;
        if context.out.is_json() {
            context.out.json(&memory)?;
        } else {
            let content = one_line(&memory.claim.content, 160);
            context.out.line(format_args!("{}ed {} {content}", verdict.word(), store.short_id(id)?))?;
        }
    }
    if superseded > 0 {
        context.out.note(format_args!("superseded by that: {superseded}"));
    }
    context.out.note(format_args!("{DIM}`afterthought undo {}` takes it back{DIM:#}", store.short_run_id(&run)?));
    Ok(ExitStatus::Success)
}

/// Judges all in one transaction; returns how many memories were superseded by what was accepted.
fn write(
    store: &Store,
    run: &RunId,
    ids: &[MemoryId],
    verdict: Verdict,
    reason: Option<&str>,
) -> Result<usize, StoreError> {
    store.write(Some(run), now(), |writer| {
        ids.iter().try_fold(0, |superseded, id| {
            Ok(superseded
                + match verdict {
                    Verdict::Accept => writer.accept(id)?.len(),
                    Verdict::Reject => {
                        writer.reject(id, reason)?;
                        0
                    }
                })
        })
    })
}

fn every(args: &JudgeArgs, context: &Context<'_>, store: &Store) -> anyhow::Result<Vec<MemoryId>> {
    let waiting = store.waiting(&Selection::default().filter(context)?)?;
    if !args.yes && !waiting.is_empty() {
        let count = waiting.len();
        bail!("that would judge all {count} that wait; look at `afterthought inbox list`, then add --yes");
    }
    Ok(waiting.into_iter().map(|one| one.memory.id).collect())
}
