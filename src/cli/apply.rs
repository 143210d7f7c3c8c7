//! `apply`: applies a plan that was saved and reviewed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::api::{Change, Decision, PlanOutcome, ReviewedChange, RunId, SavedPlan, SavedPlanError};
use crate::config::Partial;
use anyhow::Context as _;
use serde_json::json;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{CHANGED, DIM, Printer, can_ask, counted, is_yes};
use super::report;

/// Apply a saved plan
///
/// Writes all changes in the file in one transaction. Delete the lines of changes that you do not want; later runs do
/// not propose these changes again. If a memory has changed since the plan was made, the rules decide again what to do
/// with it, and the output shows the new decision. On a terminal, the command shows the changes and asks first.
/// Applying a plan a second time changes nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought runs plan ~/.claude/projects --out plan.json\n  afterthought runs apply plan.json"
)]
pub(crate) struct ApplyArgs {
    /// Plan saved by `runs plan --out`
    file: PathBuf,
    /// Show what would be written, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Apply without asking
    #[arg(long)]
    yes: bool,
}

impl ApplyArgs {
    /// Whether the command writes the changes instead of only showing them.
    pub(crate) fn writes(&self) -> bool {
        !self.dry_run
    }
}

pub(crate) fn run(args: &ApplyArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let plan = read(&args.file)?;
    // A missing database is created here, because the plan names its own database, which gives a better error.
    let memories = context.memories_with(Partial::default())?;
    // Repeating the command is not an error, so scripts may apply a plan without checking first.
    if let Some(run) = memories.applied_by(&plan)? {
        return known(&run, out);
    }
    // With --json a question would end up between the lines that a program parses.
    let asks = !args.yes && !out.is_json() && can_ask();
    if args.dry_run || asks {
        // The plan is actually applied to a copy: only this shows which changes would be decided again.
        let copy = memories.copy_in_memory()?;
        let tried = copy.apply_plan(&plan).with_context(|| cannot(&args.file))?;
        print_changes(&tried, true, out)?;
        if args.dry_run {
            return Ok(ExitStatus::Success);
        }
        if !is_yes("Apply?")? {
            out.note("nothing was written");
            return Ok(ExitStatus::Success);
        }
    }
    match memories.apply_plan(&plan) {
        Ok(done) => {
            // If a question was asked, the changes were already shown before it.
            if !asks {
                print_changes(&done, false, out)?;
            }
            hint(&done, out);
        }
        // Another process applied the plan after the check above.
        Err(SavedPlanError::Applied { run }) => return known(&run, out),
        Err(error) => return Err(error).with_context(|| cannot(&args.file)),
    }
    Ok(ExitStatus::Success)
}

fn read(path: &Path) -> anyhow::Result<SavedPlan> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {}; give a file saved by `runs plan --out`", path.display()))?;
    SavedPlan::parse(&text).with_context(|| cannot(path))
}

fn cannot(path: &Path) -> String {
    format!("cannot apply {}", path.display())
}

fn known(run: &RunId, out: &Printer) -> anyhow::Result<ExitStatus> {
    if out.is_json() {
        out.json(&json!({ "run": run, "applied_before": true }))?;
    } else {
        let id = run.short();
        out.note(format_args!(
            "nothing to do: run {id} has already applied this plan; `afterthought undo {id}` reverts it"
        ));
    }
    Ok(ExitStatus::Success)
}

fn print_changes(outcome: &PlanOutcome, is_dry: bool, out: &Printer) -> anyhow::Result<()> {
    let PlanOutcome { run, done, summary } = outcome;
    for reviewed in &done.changes {
        print_change(reviewed, out)?;
    }
    if out.is_json() {
        let mut value = summary.clone();
        value["run"] = json!((!is_dry).then_some(run));
        return Ok(out.json(&value)?);
    }
    let count = |decision| done.applied.counts.get(&decision).copied().unwrap_or(0);
    report::print_decisions(out, count, is_dry);
    Ok(())
}

fn print_change(reviewed: &ReviewedChange, out: &Printer) -> anyhow::Result<()> {
    let ReviewedChange { change, instead_of } = reviewed;
    if out.is_json() {
        let mut value = report::as_json(change);
        if let Some(before) = instead_of {
            value["instead_of"] =
                json!({ "decision": before.decision, "target": before.target, "reason": before.reason });
        }
        return Ok(out.json(&value)?);
    }
    // A skip changes nothing, unless it replaces a decision that was reviewed.
    if change.decision == Decision::Skip && instead_of.is_none() && !out.is_verbose() {
        return Ok(());
    }
    for line in report::lines(change) {
        out.line(line)?;
    }
    if let Some(before) = instead_of {
        out.line(format_args!(
            "  {CHANGED}decided again, since the memory has changed: {} instead of {}{CHANGED:#}",
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

fn hint(PlanOutcome { run, done, .. }: &PlanOutcome, out: &Printer) {
    let again = done.decided_again();
    if again > 0 {
        let rows = counted(again, "change");
        out.note(format_args!("{rows} decided again, because memories have changed since the plan was made"));
    }
    out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", run.short()));
}

/// Saves a plan atomically, in a file that only this user can read.
pub(crate) fn save(path: &Path, plan: &SavedPlan, out: &Printer) -> anyhow::Result<()> {
    let unwritable = || format!("cannot save the plan as {}; check the folder and its permissions", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A temporary file is readable only by this user from the start.
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(unwritable)?;
    file.write_all(plan.to_text().as_bytes()).with_context(unwritable)?;
    // Renaming ensures that an interrupted save never leaves an incomplete plan that could be applied.
    file.persist(path).with_context(unwritable)?;
    out.note(format_args!(
        "{} saved in {}; `afterthought runs apply {}` applies {}",
        counted(plan.changes.len(), "change"),
        path.display(),
        path.display(),
        if plan.changes.len() == 1 { "it" } else { "them" },
    ));
    Ok(())
}
