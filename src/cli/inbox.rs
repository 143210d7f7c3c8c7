//! `inbox`: lists, accepts and rejects pending memories.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{ApiError, Memories, Verdict, Waiting};
use crate::memory::Namespace;
use anyhow::bail;

use super::args::Context;
use super::edit::report;
use super::exit::ExitStatus;
use super::list::Selection;
use super::printer::{BOLD, CHANGED, DIM, one_line};

/// Review pending memories
///
/// Memories that read like orders to an agent, unresolved conflicts, and changes to pinned memories wait in the inbox.
/// Pending memories are neither recalled nor included in a brief. Rejected memories are not learnt again. Two active
/// memories that `memory relate` marked as contradictory are both recalled until you decide; `memory relate --off`
/// keeps both.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought inbox\n  afterthought inbox accept 3fa2c1d9\n  afterthought inbox reject --all --yes"
)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List pending memories, oldest first
    ///
    /// Exits 1 when there are no pending memories.
    #[command(after_help = "Example:\n  afterthought inbox list --namespace project/shop")]
    List(Selection),
    /// Accept pending memories
    ///
    /// Memories that an accepted memory contradicts or refines are superseded.
    #[command(after_help = "Example:\n  afterthought inbox accept 3fa2c1d9")]
    Accept(JudgeArgs),
    /// Reject pending memories, so that they are not learnt again
    #[command(after_help = "Example:\n  afterthought inbox reject --all --yes")]
    Reject(JudgeArgs),
}

#[derive(Debug, clap::Args)]
struct JudgeArgs {
    /// Ids of memories, or unique prefixes or suffixes of them
    ids: Vec<String>,
    /// Select all pending memories, or all in --namespace
    #[arg(long = "all", conflicts_with = "ids")]
    every: bool,
    /// Confirm --all
    #[arg(long, requires = "every")]
    yes: bool,
    /// Reason, recorded in the history
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(args: &InboxArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match &args.command {
        None => list(&Selection::default(), context),
        Some(Command::List(selection)) => list(selection, context),
        Some(Command::Accept(args)) => judge(args, Verdict::Accept, context),
        Some(Command::Reject(args)) => judge(args, Verdict::Reject, context),
    }
}

fn list(selection: &Selection, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let waiting = memories.inbox(selection.filter(context)?)?;
    let places: BTreeSet<&Namespace> = waiting.iter().map(|one| &one.memory.namespace).collect();
    let others = places.into_iter().map(|place| Ok((place, memories.other_maintainers(place)?)));
    let others: BTreeMap<_, _> = others.collect::<Result<_, ApiError>>()?;
    for one in &waiting {
        print_one(one, others[&one.memory.namespace].as_deref(), context)?;
    }
    if others.values().any(Option::is_none) {
        context.out.note(format_args!(
            "{DIM}`afterthought inbox accept ID` accepts a memory, `afterthought inbox reject ID` rejects it{DIM:#}"
        ));
    }
    Ok(context.out.unless_empty(waiting.is_empty(), "the inbox is empty"))
}

/// Prints a memory; `others` are the maintainers who decide about it, if the person at this machine is none of them.
fn print_one(one: &Waiting, others: Option<&str>, context: &Context<'_>) -> anyhow::Result<()> {
    let (out, memory) = (context.out, &one.memory);
    if out.is_json() {
        return Ok(out.json(one)?);
    }
    let claim = &memory.claim;
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}  {DIM}{}/{} · {} · confidence {:.2} · {}{DIM:#}",
        one_line(&claim.content, 300),
        claim.memory_type,
        claim.category,
        memory.namespace,
        claim.confidence,
        memory.id.short()
    ))?;
    out.line(format_args!("  {CHANGED}{}{CHANGED:#}", one.reason.as_deref().unwrap_or("the reason is unknown")))?;
    for known in &one.replaces {
        let (content, confidence) = (one_line(&known.claim.content, 200), known.claim.confidence);
        out.line(format_args!("  in place of: {content} {DIM}· confidence {confidence:.2}{DIM:#}"))?;
    }
    for piece in one.evidence.iter().take(2) {
        let who = piece.speaker.as_ref().map_or_else(String::new, |name| format!("{name}: "));
        out.line(format_args!(
            "  {DIM}{who}“{}” — {}{DIM:#}",
            one_line(&piece.quote, 200),
            one_line(&piece.transcript, 80)
        ))?;
    }
    if let Some(others) = others {
        out.line(format_args!("  {DIM}only {others} can accept or reject it{DIM:#}"))?;
    }
    Ok(())
}

fn judge(args: &JudgeArgs, verdict: Verdict, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories()?;
    // The shell may expand a variable to nothing, so an absence of ids never means all memories.
    let ids = if args.every { every(args, context, &memories)? } else { args.ids.clone() };
    if ids.is_empty() && !args.every {
        bail!("no memory to {} is selected; give ids from `afterthought inbox list`, or --all", verdict.as_str());
    }
    if ids.is_empty() {
        return Ok(context.out.nothing("the inbox is empty"));
    }
    let judgement = memories.judge(&ids, verdict, args.reason.as_deref())?;
    report(context, &judgement.memories, &format!("{}ed", verdict.as_str()))?;
    if judgement.superseded > 0 {
        context.out.note(format_args!("superseded as a result: {}", judgement.superseded));
    }
    let run = judgement.run.short();
    context.out.note(format_args!("{DIM}`afterthought undo {run}` reverts it{DIM:#}"));
    Ok(ExitStatus::Success)
}

fn every(args: &JudgeArgs, context: &Context<'_>, memories: &Memories) -> anyhow::Result<Vec<String>> {
    // The ids are determined now, because a memory that arrives later has not been seen and must stay pending.
    let waiting = memories.inbox(Selection::default().filter(context)?)?;
    if !args.yes && !waiting.is_empty() {
        let count = waiting.len();
        bail!("this would apply to all {count} pending memories; check `afterthought inbox list`, then add --yes");
    }
    Ok(waiting.into_iter().map(|one| one.memory.id.to_string()).collect())
}
