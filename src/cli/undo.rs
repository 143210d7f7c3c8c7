//! `undo`: reverts a run, with or without the changes that build on it.

use crate::api::{Entity, HistoryEntry, LastChange, LaterChanges, Memories, Run, RunId, UndoReport};
use crate::memory::{MemoryId, Status};
use anyhow::{anyhow, bail};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{CHANGED, DIM, Printer, ask, can_ask, counted, minute, one_line, text_of};

/// Number of memories that are listed for each later run.
const NAMED: usize = 5;

/// Undo a run, or the last change
///
/// Restores every memory to its exact state before the run. `last` is the most recent change: a run, or a manual
/// change such as `remember` or `memory update`. An erasure cannot be undone, so `last` is refused after one. Tasks
/// that the run or an import recorded are removed from the work ledger. If a later run has changed a memory again,
/// you are asked whether to keep that memory or to undo the later run too. Later manual changes are kept. The next
/// `run` does not read the logs again; with --redo, the next `run` on the same logs applies the same candidates
/// again, without calling a model. For an import and other commands that read no logs, --redo makes the changes of
/// an undone run again immediately. If the last run is already undone, `undo last --redo` refers to that run. Exits
/// 1 when there is no database yet.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought undo last\n  afterthought undo 3fa2c1d9 --with-later\n  afterthought undo 3fa2c1d9 --keep --dry-run"
)]
pub(crate) struct UndoArgs {
    /// Id of a run, a unique prefix or suffix of it, the id of a manual change, or `last`
    run: Option<String>,
    #[command(flatten)]
    later: Later,
    /// Show what would be undone, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Let the next `run` apply the same candidates again, or redo an undone import
    #[arg(long)]
    redo: bool,
}

/// How to treat changes that built on the run.
#[derive(Debug, clap::Args)]
struct Later {
    /// Keep memories that later runs have changed
    #[arg(long)]
    keep: bool,
    /// Undo the later runs as well, newest first
    #[arg(long, conflicts_with = "keep")]
    with_later: bool,
}

impl UndoArgs {
    /// Whether the command writes the changes instead of only showing them.
    pub(crate) fn writes(&self) -> bool {
        !self.dry_run
    }
}

pub(crate) fn run(args: &UndoArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.writable_memories()? else { return Ok(ExitStatus::NoMatch) };
    let out = context.out;
    let Some(named) = &args.run else {
        bail!("which run? `afterthought undo last` reverts {}; `afterthought runs list` lists all", last(&memories)?);
    };
    let is_last = named.trim().eq_ignore_ascii_case("last");
    let undone_before = if is_last && args.redo { memories.last_undone()? } else { None };
    let run = if let Some(run) = undone_before {
        // A person who repeats `undo last` with `--redo` wants to redo that run, not to undo the run before it.
        run
    } else if is_last {
        // A run that changed nothing has nothing to undo, so the person means the change before that run.
        match memories.newest_change()? {
            LastChange::Run(run) => *run,
            LastChange::ByHand { changeset, at, .. } => {
                if !out.is_json() {
                    out.note(format_args!("the last change was made by hand at {}, not by a run", minute(at)));
                }
                return undo_by_hand(&changeset, args.dry_run, &memories, out);
            }
            LastChange::Erasure { at, before } => bail!(after_erasure(at, before.as_deref())),
        }
    } else if memories.change_by_hand(named.trim())?.is_some() {
        return undo_by_hand(named.trim(), args.dry_run, &memories, out);
    } else {
        find_run(named, &memories)?
    };
    if args.redo && !run.has_windows() {
        return redo(&run, args.dry_run, &memories, out);
    }
    // Later runs are read before anything is written, since the person may have to choose what happens to their
    // changes.
    let later = memories.built_upon(&run.id)?;
    let Some(runs) = choose(args, &run, &later, &memories, out)? else {
        out.note("nothing was undone");
        return Ok(ExitStatus::Success);
    };
    if !out.is_json() {
        let verb = if args.dry_run { "this would undo" } else { "undoing" };
        out.note(format_args!("{verb} {}", run_line(&run)));
    }
    let (undone, reopened) =
        if args.dry_run { memories.would_undo(&runs, args.redo)? } else { memories.undo(&runs, args.redo)? };
    let is_undone = |entry: &HistoryEntry| entry.run.as_ref().is_some_and(|run| runs.contains(run));
    let forgotten =
        if out.is_json() { 0 } else { forgotten_again(&undone, args.dry_run.then_some(&is_undone), &memories)? };
    print_counts(&undone, &runs, forgotten, args.dry_run, out)?;
    if out.is_json() {
        return Ok(exit_status(&undone));
    }
    if args.dry_run {
        print_affected(&undone, is_undone, &memories, out)?;
    }
    if reopened > 0 {
        let (windows, verb) = (counted(reopened, "window"), if args.dry_run { "would store" } else { "stores" });
        out.note(format_args!("the next `run` {verb} the memories from {windows} again, without asking a model"));
    } else if !args.dry_run && !args.redo && !undone.removed.is_empty() {
        let id = run.id.short();
        if run.has_windows() {
            out.note(format_args!(
                "{DIM}later runs leave these memories out; `afterthought undo {id} --redo` makes the next `run` store them again{DIM:#}"
            ));
        } else {
            out.note(format_args!("{DIM}`afterthought undo {id} --redo` redoes it{DIM:#}"));
        }
    }
    Ok(exit_status(&undone))
}

/// Makes the changes of an undone run again.
fn redo(run: &Run, is_dry: bool, memories: &Memories, out: &Printer) -> anyhow::Result<ExitStatus> {
    let (again, redone) = memories.redo(run, is_dry)?;
    if !out.is_json() {
        out.note(format_args!("{} {}", if is_dry { "this would redo" } else { "redoing" }, run_line(run)));
    }
    print_counts(&redone, std::slice::from_ref(&again), 0, is_dry, out)?;
    if !is_dry && !out.is_json() {
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", again.short()));
    }
    Ok(exit_status(&redone))
}

/// Undoes a change that was made by hand.
fn undo_by_hand(changeset: &str, is_dry: bool, memories: &Memories, out: &Printer) -> anyhow::Result<ExitStatus> {
    let planned = memories.undo_by_hand(changeset, true)?;
    let is_own = |entry: &HistoryEntry| entry.changeset.as_deref() == Some(changeset);
    let forgotten = if out.is_json() { 0 } else { forgotten_again(&planned, Some(&is_own), memories)? };
    if !out.is_json() {
        // This is printed before the change, because the text of a removed memory is gone afterwards.
        print_affected(&planned, is_own, memories, out)?;
    }
    let undone = if is_dry { planned } else { memories.undo_by_hand(changeset, false)? };
    print_counts(&undone, &[], forgotten, is_dry, out)?;
    Ok(exit_status(&undone))
}

/// Returns the description of the change that `undo last` reverts.
fn last(memories: &Memories) -> anyhow::Result<String> {
    Ok(match memories.newest_change()? {
        LastChange::Run(run) => run_line(&run),
        LastChange::ByHand { at, .. } => format!("the change that was made by hand at {}", minute(at)),
        LastChange::Erasure { .. } => "nothing, because the last change was an erasure".to_owned(),
    })
}

/// Returns why `undo last` does nothing after an erasure, and how to undo the change before it.
fn after_erasure(at: Timestamp, before: Option<&LastChange>) -> String {
    let erased = format!("the last change was an erasure at {}, which cannot be undone", minute(at));
    match before {
        Some(LastChange::Run(run)) => {
            let id = run.id.short();
            format!("{erased}; `afterthought undo {id}` undoes the change before it: {}", run_line(run))
        }
        Some(LastChange::ByHand { changeset, at, .. }) => format!(
            "{erased}; `afterthought undo {changeset}` undoes the change before it, which was made by hand at {}",
            minute(*at)
        ),
        Some(LastChange::Erasure { .. }) | None => format!("{erased}; there is no earlier change to undo"),
    }
}

/// Returns the run whose id begins or ends with `part`.
fn find_run(part: &str, memories: &Memories) -> anyhow::Result<Run> {
    memories.run(part).map_err(|error| match memories.resolve(part) {
        Ok(memory) => anyhow!(
            "{part} is a memory, not a run; `afterthought memory history {part}` lists its changes with their runs, and \
             `afterthought memory forget {part}` removes it: {}",
            one_line(&memory.claim.content, 80)
        ),
        Err(_) => error.into(),
    })
}

const fn exit_status(undone: &UndoReport) -> ExitStatus {
    // If memories are kept, the run is only partly undone.
    if undone.kept.is_empty() { ExitStatus::Success } else { ExitStatus::Failures }
}

/// Returns the runs to undo, newest first; `None` if the person declines.
fn choose(
    args: &UndoArgs,
    run: &Run,
    later: &[LaterChanges],
    memories: &Memories,
    out: &Printer,
) -> anyhow::Result<Option<Vec<RunId>>> {
    let alone = || Some(vec![run.id.clone()]);
    let with_later = || {
        let mut runs: Vec<RunId> = later.iter().filter_map(|one| one.run.clone()).chain([run.id.clone()]).collect();
        // Run ids are UUIDv7 and sort by start. The newest comes first, since each run builds on the ones before.
        runs.sort_by(|a, b| b.cmp(a));
        Some(runs)
    };
    // Changes by hand are always kept, so if there are only these, no question is needed.
    if args.later.keep || later.iter().all(|one| one.run.is_none()) {
        return Ok(alone());
    }
    if args.later.with_later {
        return Ok(with_later());
    }
    for one in later {
        out.warn(named(one, memories)?);
    }
    // Neither answer is a safe default, so without a person nothing is undone.
    if !can_ask() || args.dry_run {
        bail!(
            "later runs have changed memories of run {}, so nothing was undone; pass --keep to keep those memories, \
             or --with-later to undo the later runs, too",
            run.id.short()
        );
    }
    let question = "Keep those memories as they are [k], undo the later runs, too [l], or do nothing [N]?";
    Ok(match ask(question)?.as_str() {
        "k" | "keep" => alone(),
        "l" | "later" => with_later(),
        _ => None,
    })
}

/// Returns the id, the time and the command of a run.
fn run_line(run: &Run) -> String {
    let at = run.started_at.strftime("%Y-%m-%d %H:%M");
    format!("run {} of {at} ({})", run.id.short(), one_line(&run.description(), 80))
}

/// Returns a line about a later run and the memories that it changed.
fn named(one: &LaterChanges, memories: &Memories) -> anyhow::Result<String> {
    let who = match &one.run {
        Some(id) => {
            format!("by {}", run_line(&memories.run(id.as_str())?))
        }
        None => "by hand".to_owned(),
    };
    let mut said = Vec::new();
    for id in one.memories.iter().take(NAMED) {
        said.push(format!("{} {CHANGED}{}{CHANGED:#}", id.short(), text_of(memories, id, 80)?));
    }
    if one.memories.len() > NAMED {
        said.push(format!("and {} more", one.memories.len() - NAMED));
    }
    Ok(format!("later changed {who}: {}", said.join("; ")))
}

/// Prints what was undone. `forgotten` is the number of the restored memories that are forgotten again; JSON does not
/// contain it.
fn print_counts(
    undone: &UndoReport,
    runs: &[RunId],
    forgotten: usize,
    is_dry: bool,
    out: &Printer,
) -> anyhow::Result<()> {
    if out.is_json() {
        let (removed, restored, kept) = (&undone.removed, &undone.restored, &undone.kept);
        let runs = if undone.keeps_all() { &[] } else { runs };
        let value = json!({ "runs": runs, "restored": restored, "removed": removed, "kept": kept, "tasks": undone.tasks, "dry_run": is_dry });
        return Ok(out.json(&value)?);
    }
    let would = if is_dry { "would be " } else { "" };
    let (removed, restored) = (undone.removed.len(), undone.restored.len() - forgotten);
    if !undone.keeps_all() {
        let again = if forgotten > 0 { format!(", {forgotten} forgotten again") } else { String::new() };
        out.line(format_args!("{} {would}removed, {restored} restored{again}", counted(removed, "memory")))?;
    }
    if undone.tasks > 0 {
        out.line(format_args!("{} {would}undone in the work ledger", counted(undone.tasks, "task")))?;
    }
    if runs.len() > 1 && !undone.keeps_all() {
        let ids: Vec<&str> = runs.iter().map(RunId::short).collect();
        out.line(format_args!("{} runs {would}undone: {}", runs.len(), ids.join(", ")))?;
    }
    for kept in &undone.kept {
        out.line(format_args!("kept {}: {}", kept.memory.short(), kept.because))?;
    }
    if undone.keeps_all() {
        out.note(format_args!(
            "nothing {}, because every memory was changed later; `afterthought memory history ID` lists the \
             changes, and `afterthought memory forget ID` removes a memory",
            if is_dry { "would be undone" } else { "was undone" }
        ));
    }
    Ok(())
}

/// Prints a line for each memory that an undo of the entries `is_undone` would remove or restore.
fn print_affected(
    undone: &UndoReport,
    is_undone: impl Fn(&HistoryEntry) -> bool,
    memories: &Memories,
    out: &Printer,
) -> anyhow::Result<()> {
    for id in &undone.removed {
        out.line(format_args!("remove {} {}", id.short(), text_of(memories, id, 160)?))?;
    }
    for id in &undone.restored {
        let before = former_state(id, &is_undone, memories)?;
        let verb = if before.as_ref().is_some_and(is_forgotten) { "forget" } else { "restore" };
        let text = before.and_then(|memory| Some(one_line(memory.get("content")?.as_str()?, 160)));
        let text = text.map_or_else(|| text_of(memories, id, 160), Ok)?;
        out.line(format_args!("{verb} {} {text}", id.short()))?;
    }
    Ok(())
}

/// Returns a memory as it was before all of the entries `is_undone`, which are not undone yet.
fn former_state(
    id: &MemoryId,
    is_undone: impl Fn(&HistoryEntry) -> bool,
    memories: &Memories,
) -> anyhow::Result<Option<Value>> {
    let history = memories.details(id.as_str())?.history;
    let is_own = |entry: &HistoryEntry| entry.memory == *id && entry.entity == Entity::Memory && !entry.undone;
    // The first of the entries contains the memory as it was before all of them.
    Ok(history.into_iter().find(|entry| is_own(entry) && is_undone(entry)).and_then(|entry| entry.before))
}

fn is_forgotten(memory: &Value) -> bool {
    memory.get("status").and_then(Value::as_str) == Some(Status::Forgotten.as_str())
}

/// Returns how many of the restored memories are forgotten again, because they were active only through the undone
/// change. Before the undo, `is_undone` selects the entries that it would reverse.
fn forgotten_again(
    undone: &UndoReport,
    is_undone: Option<&dyn Fn(&HistoryEntry) -> bool>,
    memories: &Memories,
) -> anyhow::Result<usize> {
    let mut count = 0;
    for id in &undone.restored {
        count += usize::from(match is_undone {
            Some(is_undone) => former_state(id, is_undone, memories)?.as_ref().is_some_and(is_forgotten),
            None => memories.get_memory(id)?.is_some_and(|memory| memory.status == Status::Forgotten),
        });
    }
    Ok(count)
}
