//! `check` and `repair`: whether the database is whole, and mending it.

use afterthought::store::{Flaw, FlawKind, Loss, Store};

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::printer::{ADDED, DIM, Printer, REMOVED, counted};

/// Check the database: pages, links, indexes, and history
///
/// Reads only. Exits 3 when it finds a fault; `db repair` fixes what can be fixed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db check")]
pub struct CheckArgs {}

/// Repair the database
///
/// Makes a copy beside the database first, then rebuilds the indexes and moves orphaned rows to a file. Where pages are
/// damaged, every readable row goes to a new file, and lost rows are reported by table; close other programs that use the
/// database before that. The text of memories never changes. Exits 3 when a fault remains or a row is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db repair")]
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
        context.out.line(format_args!(
            "{DIM}checked {} and {}{DIM:#}",
            counted(memories, "memory"),
            counted(lines, "history entry")
        ))?;
    }
    Ok(if checked.flaws.is_empty() { ExitStatus::Success } else { ExitStatus::Failures })
}

pub fn repair(_: &RepairArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let path = context.settings()?.db.value;
    if !path.exists() {
        return Ok(context.existing()?.map_or(ExitStatus::NoMatch, |_| ExitStatus::Success));
    }
    let repaired = Store::repair_file(&path, now())?;
    if context.out.is_json() {
        context.out.json(&repaired)?;
    } else {
        context.out.note(format_args!("{DIM}{} holds it as it was{DIM:#}", repaired.backup.display()));
        if let Some(path) = &repaired.put_aside {
            context.out.line(format_args!("{} rows that hung on nothing are in {}", repaired.rows, path.display()))?;
        } else if repaired.rows > 0 {
            context.out.line(format_args!("{} rows that hung on nothing are in that copy alone", repaired.rows))?;
        }
        for loss in &repaired.lost {
            context.out.line(format_args!("{REMOVED}✗{REMOVED:#} {}", loss_line(loss)))?;
        }
        tell(&repaired.left.flaws, context.out)?;
    }
    let is_whole = repaired.left.flaws.is_empty() && repaired.lost.is_empty();
    Ok(if is_whole { ExitStatus::Success } else { ExitStatus::Failures })
}

/// Describes a table that could not be read completely.
fn loss_line(loss: &Loss) -> String {
    let Loss { table, kept, restored } = loss;
    let restored = if *restored > 0 { format!(", {restored} restored from the history") } else { String::new() };
    format!("{table}: not completely readable; {kept} rows kept{restored}")
}

fn tell(flaws: &[Flaw], out: &Printer) -> anyhow::Result<()> {
    for flaw in flaws {
        let remedy = match flaw.kind {
            FlawKind::Damaged => {
                "`afterthought db repair` saves what can be read, `db restore FILE` takes a backup back"
            }
            FlawKind::History => "`afterthought memory history ID` tells what was done",
            FlawKind::Dangling
            | FlawKind::Uncounted
            | FlawKind::WordIndex
            | FlawKind::NearIndex
            | FlawKind::Vectors => "`afterthought db repair` mends it",
        };
        out.line(format_args!("{REMOVED}✗{REMOVED:#} {} ({}); {remedy}", flaw.what, flaw.count))?;
    }
    if flaws.is_empty() {
        out.line(format_args!("{ADDED}✓{ADDED:#} everything is whole"))?;
    }
    Ok(())
}
