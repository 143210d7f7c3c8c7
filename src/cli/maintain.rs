//! `maintain`: what has to be done from time to time.

use std::time::{Duration, Instant};

use afterthought::lifecycle::{self, Report, Rules, Upkeep};
use afterthought::store::{AuditLog, Deed, Store, StoreError};
use jiff::SignedDuration;
use serde_json::json;

use super::args::{Context, note, now};
use super::exit::ExitStatus;
use super::printer::{CHANGED, DIM, Printer, counted, one_line};

/// How often all is looked through where maintenance goes on; in between, only what is over and what is to be purged.
const WHOLE_EVERY: Duration = Duration::from_hours(1);

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
    let settings = context.settings()?.memory;
    let mut rules = Rules::from(&settings);
    rules.purge_days = args.days.unwrap_or(rules.purge_days);
    let (store, out) = (context.store()?, context.out);
    if args.dry_run {
        let due = lifecycle::plan(&store, &rules, now())?;
        tell(&Report { run: None, done: due }, Tense::Would, &store, out)?;
        return Ok(ExitStatus::Success);
    }
    let audit = context.audit()?;
    let report = lifecycle::maintain(&store, &rules, now())?;
    note_purges(audit, &report)?;
    if store.is_unsealed()? {
        store.seal()?;
    }
    store.optimise()?;
    tell(&report, Tense::Did, &store, out)?;
    if let Some(every) = args.every {
        keep_on(every, &rules, &store, context)?;
    }
    Ok(ExitStatus::Success)
}

fn note_purges(audit: Option<AuditLog>, report: &Report) -> Result<(), StoreError> {
    let purges = &report.done.purges;
    if purges.is_empty() { Ok(()) } else { note(audit, Deed::Purge, purges) }
}

/// Does what is due again and again, until the process is ended; each time is one transaction.
fn keep_on(every: Duration, rules: &Rules, store: &Store, context: &Context<'_>) -> anyhow::Result<()> {
    let out = context.out;
    let mut whole = Instant::now();
    loop {
        std::thread::sleep(every);
        let is_whole = whole.elapsed() >= WHOLE_EVERY.min(every * 60);
        let work = if is_whole { lifecycle::maintain } else { lifecycle::tick };
        let audit = context.audit()?;
        match work(store, rules, now()) {
            Ok(report) if report.done.is_empty() => {}
            Ok(report) => {
                note_purges(audit, &report)?;
                tell(&report, Tense::Did, store, out)?;
            }
            // Another process may hold the file for long; there is a next time.
            Err(error) => out.warn(error),
        }
        whole = if is_whole { Instant::now() } else { whole };
    }
}

/// Whether it was done or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    Did,
    Would,
}

fn tell(report: &Report, tense: Tense, store: &Store, out: &Printer) -> anyhow::Result<()> {
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
        let said = store.find(&step.memory)?.map(|memory| one_line(&memory.claim.content, 80)).unwrap_or_default();
        let (act, id) = (step.act.action(), store.short_id(&step.memory)?);
        out.line(format_args!("{CHANGED}{act:>8}{CHANGED:#} {id} {said}"))?;
        out.line(format_args!("         {DIM}{}{DIM:#}", step.act.reason()))?;
    }
    for id in purges.iter().filter(|_| tense == Tense::Would) {
        let said = store.find(id)?.map(|memory| one_line(&memory.claim.content, 80)).unwrap_or_default();
        out.line(format_args!("{CHANGED}   purge{CHANGED:#} {} {said}", store.short_id(id)?))?;
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
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", store.short_run_id(run)?));
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
