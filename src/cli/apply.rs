//! `apply`: a plan that was saved and reviewed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use afterthought::consolidate::{
    APPLY, AppliedPlan, Change, Decision, Reviewed, SavedPlan, SavedPlanError, applied_by, apply_saved,
};
use afterthought::store::{RunId, RunStatus, Store};
use anyhow::Context as _;
use serde_json::json;

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::printer::{CHANGED, DIM, Printer, counted};
use super::question::{can_ask, is_yes};
use super::report;

/// Apply a saved plan
///
/// Writes each change of the file in one transaction. Delete the lines of changes that you do not want; they are not proposed
/// again. A change to a memory that has changed since is decided again by the rules and reported. On a terminal, the changes
/// are shown and you are asked first. Applying a plan twice changes nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought runs plan ~/.claude/projects --out plan.json\n  afterthought runs apply plan.json"
)]
pub struct ApplyArgs {
    /// Plan that `runs plan --out` has saved
    file: PathBuf,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Apply without asking
    #[arg(long)]
    yes: bool,
}

impl ApplyArgs {
    /// Whether it writes, rather than to tell what it would.
    pub fn writes(&self) -> bool {
        !self.dry_run
    }
}

pub fn run(args: &ApplyArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let plan = read(&args.file)?;
    let store = context.store()?;
    if let Some(run) = applied_by(&store, &plan)? {
        return known(&run, &store, out);
    }
    let asks = !args.yes && !out.is_json() && can_ask();
    if args.dry_run || asks {
        let copy = store.copy_in_memory()?;
        let (_, done) = write(&copy, &plan).with_context(|| cannot(&args.file))?;
        print_changes(&done, None, &copy, out)?;
        if args.dry_run {
            return Ok(ExitStatus::Success);
        }
        if !is_yes("Apply?")? {
            out.note("nothing was written");
            return Ok(ExitStatus::Success);
        }
    }
    match write(&store, &plan) {
        Ok((run, done)) if asks => hint(&run, &done, &store, out)?,
        Ok((run, done)) => {
            print_changes(&done, Some(&run), &store, out)?;
            hint(&run, &done, &store, out)?;
        }
        Err(SavedPlanError::Applied { run }) => return known(&run, &store, out),
        Err(error) => return Err(error).with_context(|| cannot(&args.file)),
    }
    Ok(ExitStatus::Success)
}

fn read(path: &Path) -> anyhow::Result<SavedPlan> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {}; give a file that `plan --out` has saved", path.display()))?;
    SavedPlan::parse(&text).with_context(|| cannot(path))
}

fn cannot(path: &Path) -> String {
    format!("cannot apply {}", path.display())
}

/// Applies the plan as a run of its own.
fn write(store: &Store, plan: &SavedPlan) -> Result<(RunId, AppliedPlan), SavedPlanError> {
    let run = store.begin_run(APPLY, &plan.arguments(), now())?.id;
    let done = apply_saved(store, plan, &run, now());
    let (status, summary) = match &done {
        Ok(done) => (RunStatus::Finished, summary(done)),
        Err(_) => (RunStatus::Failed, json!({})),
    };
    store.finish_run(&run, status, &summary, now())?;
    Ok((run, done?))
}

fn summary(done: &AppliedPlan) -> serde_json::Value {
    json!({
        "decisions": done.applied.counts,
        "waiting": done.changes.iter().filter(|reviewed| reviewed.change.pending).count(),
        "decided_again": again(done),
        "windows": done.windows,
    })
}

fn again(done: &AppliedPlan) -> usize {
    done.changes.iter().filter(|reviewed| reviewed.instead_of.is_some()).count()
}

fn known(run: &RunId, store: &Store, out: &Printer) -> anyhow::Result<ExitStatus> {
    if out.is_json() {
        out.json(&json!({ "run": run, "applied_before": true }))?;
    } else {
        let id = store.short_run_id(run)?;
        out.note(format_args!("nothing to do: run {id} has applied this plan; `afterthought undo {id}` reverts it"));
    }
    Ok(ExitStatus::Success)
}

fn print_changes(done: &AppliedPlan, run: Option<&RunId>, store: &Store, out: &Printer) -> anyhow::Result<()> {
    for reviewed in &done.changes {
        print_change(reviewed, store, out)?;
    }
    if out.is_json() {
        let mut value = summary(done);
        value["run"] = json!(run);
        return Ok(out.json(&value)?);
    }
    let count = |decision| done.applied.counts.get(&decision).copied().unwrap_or(0);
    report::print_decisions(out, count, run.is_none());
    Ok(())
}

fn print_change(reviewed: &Reviewed, store: &Store, out: &Printer) -> anyhow::Result<()> {
    let Reviewed { change, instead_of } = reviewed;
    if out.is_json() {
        let mut value = report::as_json(change);
        if let Some(before) = instead_of {
            value["instead_of"] =
                json!({ "decision": before.decision, "target": before.target, "reason": before.reason });
        }
        return Ok(out.json(&value)?);
    }
    if change.decision == Decision::Skip && instead_of.is_none() && !out.is_verbose() {
        return Ok(());
    }
    for line in report::lines(change, store) {
        out.line(line)?;
    }
    if let Some(before) = instead_of {
        out.line(format_args!(
            "  {CHANGED}decided again, since what it is about has changed: {} instead of {}{CHANGED:#}",
            spelled(change),
            spelled(before)
        ))?;
    }
    Ok(())
}

fn spelled(change: &Change) -> String {
    let waits = if change.pending { ", to the inbox" } else { "" };
    format!("{} ({}{waits})", change.decision.as_str(), change.reason)
}

fn hint(run: &RunId, done: &AppliedPlan, store: &Store, out: &Printer) -> anyhow::Result<()> {
    if again(done) > 0 {
        let rows = counted(again(done), "change");
        out.note(format_args!("{rows} decided again, since memories have changed after the plan was made"));
    }
    out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", store.short_run_id(run)?));
    Ok(())
}

/// Saves a plan where only this user can read it, whole or not at all.
pub fn save(path: &Path, plan: &SavedPlan, out: &Printer) -> anyhow::Result<()> {
    let unwritable = || format!("cannot save the plan as {}; check the folder and its permissions", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Such a file is private from its first byte.
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(unwritable)?;
    file.write_all(plan.to_text().as_bytes()).with_context(unwritable)?;
    file.persist(path).with_context(unwritable)?;
    out.note(format_args!(
        "{} saved in {}; `afterthought runs apply {}` does {}",
        counted(plan.changes.len(), "change"),
        path.display(),
        path.display(),
        if plan.changes.len() == 1 { "it" } else { "them" },
    ));
    Ok(())
}
