//! `check` and `repair`: whether the database is whole, and mending it.

use afterthought::store::{Flaw, FlawKind};

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::printer::{ADDED, DIM, Printer, REMOVED};

/// Check the database: pages, links, indexes, and the history against the rows
///
/// Reads only. Exits 3 where something is amiss; `repair` mends what can be mended.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {}

/// Mend the database: make its indexes anew and put aside what hangs on nothing
///
/// A copy is made first, beside the database. What memories say is never changed; rows that hang on nothing are written to a
/// file before they are taken out. Exits 3 where something is left.
#[derive(Debug, clap::Args)]
pub struct RepairArgs {}

pub fn run(_: &CheckArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(_) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    // Opened for writing, so that a file of an earlier version is brought up to date first.
    let checked = context.store()?.check()?;
    if context.out.is_json() {
        context.out.json(&checked)?;
    } else {
        tell(&checked.flaws, context.out)?;
        let (memories, lines) = (checked.memories, checked.history);
        context.out.line(format_args!("{DIM}looked at {memories} memories and {lines} lines of history{DIM:#}"))?;
    }
    Ok(if checked.flaws.is_empty() { ExitStatus::Success } else { ExitStatus::Failures })
}

pub fn repair(_: &RepairArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(_) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let repaired = context.store()?.repair(now())?;
    if context.out.is_json() {
        context.out.json(&repaired)?;
    } else {
        context.out.note(format_args!("{DIM}{} holds it as it was{DIM:#}", repaired.backup.display()));
        if let Some(path) = &repaired.put_aside {
            context.out.line(format_args!("{} rows that hung on nothing are in {}", repaired.rows, path.display()))?;
        } else if repaired.rows > 0 {
            context.out.line(format_args!("{} rows that hung on nothing are in that copy alone", repaired.rows))?;
        }
        tell(&repaired.left.flaws, context.out)?;
    }
    Ok(if repaired.left.flaws.is_empty() { ExitStatus::Success } else { ExitStatus::Failures })
}

fn tell(flaws: &[Flaw], out: &Printer) -> anyhow::Result<()> {
    for flaw in flaws {
        let remedy = match flaw.kind {
            FlawKind::Damaged => "`afterthought restore-backup FILE` takes a copy back",
            FlawKind::History => "`afterthought history ID` tells what was done",
            FlawKind::Dangling
            | FlawKind::Uncounted
            | FlawKind::WordIndex
            | FlawKind::NearIndex
            | FlawKind::Vectors => "`afterthought repair` mends it",
        };
        out.line(format_args!("{REMOVED}✗{REMOVED:#} {} ({}); {remedy}", flaw.what, flaw.count))?;
    }
    if flaws.is_empty() {
        out.line(format_args!("{ADDED}✓{ADDED:#} everything is whole"))?;
    }
    Ok(())
}
