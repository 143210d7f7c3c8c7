//! `maintain`: scheduled maintenance.

use std::time::{Duration, Instant};

use afterthought::api::{Maintenance, Memories, Report, Upkeep};
use jiff::SignedDuration;
use serde_json::json;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{CHANGED, DIM, Printer, counted, one_line};

/// Time between two full passes where maintenance repeats; in between, only what expired and is to be purged.
const FULL_EVERY: Duration = Duration::from_hours(1);

/// Run scheduled maintenance: expire, fade, retire, promote and purge memories
///
/// Never touches pinned memories. Everything is one run that `undo` takes back, except the purge of memories that were
/// forgotten or retired more than 30 days ago.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought db maintain --dry-run\n  afterthought db maintain --every 60s")]
pub struct MaintainArgs {
    /// Purge what was forgotten more than this many days ago [default: 30]
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// Show what would be done and why, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep running, and repeat after this time, e.g. 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = pause, conflicts_with = "dry_run")]
    every: Option<Duration>,
}

pub fn run(args: &MaintainArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (memories, out) = (context.memories()?, context.out);
    if args.dry_run {
        let due = memories.maintenance_due(args.days)?;
        print_report(&Report { run: None, done: due }, Tense::Would, &memories, out)?;
        return Ok(ExitStatus::Success);
    }
    let report = memories.maintain(Maintenance::Full, args.days)?;
    memories.compact()?;
    print_report(&report, Tense::Did, &memories, out)?;
    if let Some(every) = args.every {
        repeat(every, args.days, &memories, out)?;
    }
    Ok(ExitStatus::Success)
}

/// Does what is due again and again, until the process is ended; each time is one transaction.
fn repeat(every: Duration, days: Option<u32>, memories: &Memories, out: &Printer) -> anyhow::Result<()> {
    let mut last_full = Instant::now();
    loop {
        std::thread::sleep(every);
        let is_full = last_full.elapsed() >= FULL_EVERY.min(every * 60);
        match memories.maintain(if is_full { Maintenance::Full } else { Maintenance::Expired }, days) {
            Ok(report) if report.done.is_empty() => {}
            Ok(report) => print_report(&report, Tense::Did, memories, out)?,
            // Another process may lock the file for long; there is a next time.
            Err(error) => out.warn(error),
        }
        last_full = if is_full { Instant::now() } else { last_full };
    }
}

/// Whether it was done or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    Did,
    Would,
}

fn print_report(report: &Report, tense: Tense, memories: &Memories, out: &Printer) -> anyhow::Result<()> {
    let Upkeep { steps, purges, replies } = &report.done;
    let counts = report.done.counts();
    let count = |act: &str| counts.get(act).copied().unwrap_or(0);
    if out.is_json() {
        let value = json!({
            "run": report.run, "dry_run": tense == Tense::Would, "steps": steps, "expired": count("expire"),
            "faded": count("fade"), "united": count("unite"), "retired": count("retire"),
            "promoted": count("promote"), "demoted": count("demote"), "purged": purges.len(), "replies": replies,
        });
        return Ok(out.json(&value)?);
    }
    for step in steps.iter().filter(|_| tense == Tense::Would || out.is_verbose()) {
        let said =
            memories.get_memory(&step.memory)?.map(|memory| one_line(&memory.claim.content, 80)).unwrap_or_default();
        let (act, id) = (step.act.action(), memories.short_id(&step.memory)?);
        out.line(format_args!("{CHANGED}{act:>8}{CHANGED:#} {id} {said}"))?;
        out.line(format_args!("         {DIM}{}{DIM:#}", step.act.reason()))?;
    }
    for id in purges.iter().filter(|_| tense == Tense::Would) {
        let said = memories.get_memory(id)?.map(|memory| one_line(&memory.claim.content, 80)).unwrap_or_default();
        out.line(format_args!("{CHANGED}   purge{CHANGED:#} {} {said}", memories.short_id(id)?))?;
        out.line(format_args!("         {DIM}forgotten long ago; this cannot be undone{DIM:#}"))?;
    }
    let would = if tense == Tense::Would { "would be " } else { "" };
    let names = ["expire", "fade", "unite", "retire", "promote", "demote"];
    let others = names[1..].iter().filter(|name| count(name) > 0);
    let others: Vec<String> = others.map(|name| format!("{} {would}{}", count(name), past(name))).collect();
    let more = if others.is_empty() { String::new() } else { format!(", {}", others.join(", ")) };
    out.line(format_args!(
        "{} {would}expired{more}, {} {would}purged",
        counted(count("expire"), "memory"),
        purges.len()
    ))?;
    if let Some(run) = &report.run {
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", memories.short_run_id(run)?));
    }
    Ok(())
}

fn past(act: &str) -> String {
    if act.ends_with('e') { format!("{act}d") } else { format!("{act}ed") }
}

/// Reads a pause between two times, such as `60s`, of at least a second.
fn pause(text: &str) -> Result<Duration, String> {
    let wrong = || "it is no time between two; write it like 60s, 5m or 1h".to_owned();
    let pause: SignedDuration = text.parse().map_err(|_| wrong())?;
    let pause = Duration::try_from(pause).map_err(|_| wrong())?;
    if pause < Duration::from_secs(1) { Err(wrong()) } else { Ok(pause) }
}
