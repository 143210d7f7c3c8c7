//! Commands on the database as a whole: backup, check, repair, maintenance, audit log and encryption.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::api::{
    ApiError, AuditChannel, AuditEntry, Conversion, Flaw, FlawKind, KeyHome, Loss, Maintenance, Memories, Report,
    StoreError, Upkeep,
};
use crate::memory::MemoryId;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::args::{Context, time};
use super::exit::ExitStatus;
use super::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, can_ask, counted, is_yes, size, text_of};
use crate::config::Partial;

/// Back up the database to a file
///
/// Other processes can continue to use the database. Only you can read the backup. To use a backup, pass its path to
/// --db.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db backup memories-2027-01-31.db")]
pub(crate) struct BackupArgs {
    /// Backup file to create; it must not exist yet
    file: PathBuf,
}

/// Replace the database with a backup
///
/// Before it replaces the current database, the command copies it to a file in the same folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db restore memories-2027-01-31.db")]
pub(crate) struct RestoreBackupArgs {
    /// Backup made by `db backup`
    file: PathBuf,
    /// Replace the database without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn backup(args: &BackupArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.writable_memories()? else { return Ok(ExitStatus::NoMatch) };
    let made = memories.backup(&args.file)?;
    let (path, memories, size) = (made.path.display(), counted(made.memories, "memory"), size(made.bytes));
    context.out.show(&made, format_args!("{path}: {memories}, {size}"))?;
    Ok(ExitStatus::Success)
}

pub(crate) fn restore(args: &RestoreBackupArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = context.settings()?;
    let path = &config.db.value;
    // A script is not asked, because its author chose this command; the previous database is kept in any case.
    if path.exists() && !args.yes && can_ask() && !is_yes(&format!("Replace {} with this backup?", path.display()))? {
        return Ok(context.out.nothing("nothing was restored"));
    }
    let restored = Memories::restore_backup(&config, &args.file)?;
    let memories = counted(restored.memories, "memory");
    context.out.show(&restored, format_args!("restored {memories} to {}", path.display()))?;
    if let Some(former) = restored.former.as_ref().filter(|_| !context.out.is_json()) {
        context.out.note(format_args!("{DIM}the previous database is {}{DIM:#}", former.display()));
    }
    Ok(ExitStatus::Success)
}

pub(crate) fn check(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    // The database is opened for writing, so that a file of an earlier version is migrated first.
    let Some(memories) = context.writable_memories()? else { return Ok(ExitStatus::NoMatch) };
    let checked = memories.check()?;
    if !context.out.is_json() {
        print_flaws(&checked.flaws, context.out)?;
    }
    let (memories, lines) = (counted(checked.memories, "memory"), counted(checked.history, "history entry"));
    context.out.show(&checked, format_args!("{DIM}checked {memories} and {lines}{DIM:#}"))?;
    Ok(if checked.flaws.is_empty() { ExitStatus::Success } else { ExitStatus::Failures })
}

pub(crate) fn repair(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = context.settings()?;
    if !config.db.value.exists() {
        // This call only prints the message about the missing file.
        return Ok(context.existing_memories()?.map_or(ExitStatus::NoMatch, |_| ExitStatus::Success));
    }
    // A repair needs no open connection, since opening a file with damaged pages may fail.
    let repaired = Memories::repair(&config)?;
    if context.out.is_json() {
        context.out.json(&repaired)?;
    } else {
        context.out.note(format_args!("{DIM}the previous database is {}{DIM:#}", repaired.backup.display()));
        if let Some(path) = &repaired.put_aside {
            context.out.line(format_args!("{} moved to {}", counted(repaired.rows, "orphaned row"), path.display()))?;
        } else if repaired.rows > 0 {
            context.out.line(format_args!(
                "{} removed; the previous database still contains them",
                counted(repaired.rows, "orphaned row")
            ))?;
        }
        for loss in &repaired.lost {
            context.out.line(format_args!("{REMOVED}✗{REMOVED:#} {}", loss_line(loss)))?;
        }
        print_flaws(&repaired.left.flaws, context.out)?;
    }
    let is_whole = repaired.left.flaws.is_empty() && repaired.lost.is_empty();
    Ok(if is_whole { ExitStatus::Success } else { ExitStatus::Failures })
}

/// Describes a table that could not be read completely.
fn loss_line(loss: &Loss) -> String {
    let Loss { table, kept, restored } = loss;
    let restored = if *restored > 0 { format!(", {restored} restored from the history") } else { String::new() };
    format!("{table}: only partly readable; {} kept{restored}", counted(*kept, "row"))
}

fn print_flaws(flaws: &[Flaw], out: &Printer) -> anyhow::Result<()> {
    for flaw in flaws {
        let remedy = match flaw.kind {
            FlawKind::Damaged => {
                "`afterthought db repair` saves readable data, `afterthought db restore FILE` restores a backup"
            }
            FlawKind::History => "see `afterthought memory history ID`",
            FlawKind::Dangling
            | FlawKind::Uncounted
            | FlawKind::WordIndex
            | FlawKind::NearIndex
            | FlawKind::Counts
            | FlawKind::Vectors => "`afterthought db repair` fixes it",
        };
        out.line(format_args!("{REMOVED}✗{REMOVED:#} {} ({}); {remedy}", flaw.what, flaw.count))?;
    }
    if flaws.is_empty() {
        out.line(format_args!("{ADDED}✓{ADDED:#} no faults found"))?;
    }
    Ok(())
}

/// Interval between full passes of repeated maintenance; passes in between only expire and purge.
const FULL_EVERY: Duration = Duration::from_hours(1);

/// Run scheduled maintenance, such as expiring old memories
///
/// Never changes pinned memories. `undo` can revert all changes as one run, except the purge of memories that were
/// forgotten or retired more than 30 days ago.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought db maintain --dry-run\n  afterthought db maintain --every 60s")]
pub(crate) struct MaintainArgs {
    /// Purge memories forgotten over N days ago [default: 30]
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// Show what would be done and why, but change nothing
    #[arg(long)]
    dry_run: bool,
    /// Repeat maintenance at this interval, e.g. 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = pause, conflicts_with = "dry_run")]
    every: Option<Duration>,
    /// Add a job for each namespace to the queue in this PostgreSQL database instead
    #[cfg(feature = "scale")]
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["dry_run", "every", "days"])]
    queue: Option<String>,
}

pub(crate) fn maintain(args: &MaintainArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    #[cfg(feature = "scale")]
    if let Some(address) = &args.queue {
        return super::queue::add_to_all(address, crate::api::JobKind::Maintain, context);
    }
    // A service may be started before the first log is read.
    let (memories, out) = (context.memories_with(Partial::default())?, context.out);
    if args.dry_run {
        let due = memories.maintenance_due(args.days)?;
        print_maintenance(&Report { run: None, done: due }, Tense::Would, &memories, out)?;
        return Ok(ExitStatus::Success);
    }
    let report = memories.maintain(Maintenance::Full, args.days)?;
    // Purged text stays in freed pages until the file is rewritten.
    memories.compact()?;
    print_maintenance(&report, Tense::Did, &memories, out)?;
    if let Some(every) = args.every {
        repeat_maintenance(every, args.days, &memories, out)?;
    }
    Ok(ExitStatus::Success)
}

/// Runs maintenance repeatedly until the process ends; each round is one transaction.
fn repeat_maintenance(every: Duration, days: Option<u32>, memories: &Memories, out: &Printer) -> anyhow::Result<()> {
    let mut last_full = Instant::now();
    loop {
        std::thread::sleep(every);
        // Full passes are hourly if the pause is 60 s, and more frequent if it is shorter: every 5 min for a pause of 5
        // s.
        let is_full = last_full.elapsed() >= FULL_EVERY.min(every * 60);
        match memories.maintain(if is_full { Maintenance::Full } else { Maintenance::Expired }, days) {
            Ok(report) if report.done.is_empty() => {}
            Ok(report) => print_maintenance(&report, Tense::Did, memories, out)?,
            // Another process may lock the file for a long time; the next round tries again.
            Err(error) => out.warn(error),
        }
        // The time is updated even after an error: a full pass over a locked file would only fail again immediately.
        last_full = if is_full { Instant::now() } else { last_full };
    }
}

/// Whether a report describes work that was done, or work that would be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    Did,
    Would,
}

fn print_maintenance(report: &Report, tense: Tense, memories: &Memories, out: &Printer) -> anyhow::Result<()> {
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
        let said = text_of(memories, &step.memory, 80)?;
        let (act, id) = (step.act.action(), step.memory.short());
        out.line(format_args!("{CHANGED}{act:>8}{CHANGED:#} {id} {said}"))?;
        out.line(format_args!("         {DIM}{}{DIM:#}", step.act.reason()))?;
    }
    for id in purges.iter().filter(|_| tense == Tense::Would) {
        let said = text_of(memories, id, 80)?;
        out.line(format_args!("{CHANGED}   purge{CHANGED:#} {} {said}", id.short()))?;
        out.line(format_args!("         {DIM}forgotten long ago; this cannot be undone{DIM:#}"))?;
    }
    let would = if tense == Tense::Would { "would be " } else { "" };
    // Expired memories are always reported separately, so the first name is left out of the list below.
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
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", run.short()));
    }
    Ok(())
}

fn past(act: &str) -> String {
    if act.ends_with('e') { format!("{act}d") } else { format!("{act}ed") }
}

/// Parses a pause such as `60s`, of at least one second.
fn pause(text: &str) -> Result<Duration, String> {
    let wrong = || "it is not an interval; write it like 60s, 5m or 1h".to_owned();
    let pause: SignedDuration = text.parse().map_err(|_| wrong())?;
    let pause = Duration::try_from(pause).map_err(|_| wrong())?;
    // A pause near zero would be a busy loop that keeps the database locked.
    if pause < Duration::from_secs(1) { Err(wrong()) } else { Ok(pause) }
}

/// Show the audit log: who changed, exported or erased memories
///
/// The log is kept only if `audit = true` is set. It contains ids and counts, but never the text of a memory. Exits 1
/// when the log is empty.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db audit --since 2027-01-31")]
pub(crate) struct AuditArgs {
    /// Show only entries since this time, e.g. 2027-01-31
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Show only entries about the memory with this (partial) id
    #[arg(long, value_name = "ID")]
    memory: Option<String>,
}

pub(crate) fn audit(args: &AuditArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (config, out) = (context.settings()?, context.out);
    let (mut entries, broken) = Memories::audit_log(&config)?;
    // The log is a separate file, so its entries outlive the memories that they refer to.
    entries.retain(|entry| is_wanted(args, entry));
    entries.iter().try_for_each(|entry| out.show(entry, audit_line(entry)))?;
    if broken > 0 {
        out.warn(format_args!("{} of the audit log cannot be read", counted(broken, "line")));
    }
    let hint = if config.audit.value {
        "no such entry in the audit log"
    } else {
        "no audit log is kept; `audit = true` in your settings, or AFTERTHOUGHT_AUDIT=true, starts one"
    };
    Ok(out.unless_empty(entries.is_empty(), hint))
}

fn is_wanted(args: &AuditArgs, entry: &AuditEntry) -> bool {
    // Ids are time-ordered, so ids of one session begin alike; their ends are easier to distinguish and are accepted,
    // too.
    let is_of = |part: &str| entry.ids.iter().any(|id| id.as_str().starts_with(part) || id.as_str().ends_with(part));
    args.since.is_none_or(|since| entry.at >= since) && args.memory.as_deref().is_none_or(is_of)
}

fn audit_line(entry: &AuditEntry) -> String {
    let through = match entry.through {
        AuditChannel::Command => "by command",
        AuditChannel::Agent => "by an agent",
        AuditChannel::Library => "by a program",
    };
    let did = json!(entry.did);
    let did = did.as_str().unwrap_or_default();
    let count = counted(entry.memories, "memory");
    let conversations = entry.conversations.map(|count| format!(" of {}", counted(count, "conversation")));
    let ids: Vec<_> = entry.ids.iter().take(5).map(MemoryId::short).collect();
    let more = if entry.ids.len() > ids.len() { " …" } else { "" };
    format!(
        "{:.0} {BOLD}{did}{BOLD:#} {count}{} {DIM}user {}, {through}{DIM:#} {}{more}",
        entry.at,
        conversations.unwrap_or_default(),
        entry.who,
        ids.join(" "),
    )
    .trim_end()
    .to_owned()
}

/// Encrypt the database
///
/// The key is read from AFTERTHOUGHT_DB_KEY, from the file that AFTERTHOUGHT_DB_KEY_FILE names or `db.key` next to your
/// settings, or from the system keyring, in this order. The key is 64 hex digits, or a passphrase of at least 12
/// characters. No other process may use the database. The command writes and checks a new file, puts it in place of the
/// old file, and then overwrites the old file. Needs a build with the feature `encryption`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db encrypt --new-key keyring")]
pub(crate) struct EncryptArgs {
    /// Create a random key and store it in the system `keyring`, in `file` (db.key next to your settings), or in a file
    /// at this path
    #[arg(long, value_name = "WHERE")]
    new_key: Option<String>,
}

pub(crate) fn encrypt(args: &EncryptArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = context.settings()?;
    let path = &config.db.value;
    let mut key_file = None;
    if let Some(text) = &args.new_key {
        // This is checked before a key is generated: otherwise, a failed attempt would leave a key without a database.
        anyhow::ensure!(path.exists(), StoreError::Missing { path: path.clone() });
        let home = key_home(text)?;
        let place = Memories::make_key(&home)?;
        context.out.note(format_args!(
            "the new key is in {place}; keep a copy elsewhere, because the memories are lost without the key"
        ));
        // A key in a file with a non-default name is not found automatically, so later commands need the variable.
        if let KeyHome::File(file) = home
            && Memories::default_key_file().as_ref() != Some(&file)
        {
            let file = std::path::absolute(&file)?;
            context.out.note(format_args!("for later commands, set AFTERTHOUGHT_DB_KEY_FILE={}", file.display()));
            key_file = Some(file);
        }
    }
    let done = Memories::encrypt(&config, key_file.as_deref()).map_err(|error| match error {
        ApiError::Store(error @ StoreError::NoKey { .. }) => {
            anyhow::anyhow!("{error}; create one with `afterthought db encrypt --new-key keyring` or `--new-key file`")
        }
        error => error.into(),
    })?;
    print_converted(done, "encrypted", context)
}

pub(crate) fn decrypt(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    print_converted(Memories::decrypt(&context.settings()?)?, "decrypted", context)
}

fn key_home(text: &str) -> anyhow::Result<KeyHome> {
    Ok(match text {
        "keyring" => KeyHome::Keyring,
        "file" => {
            KeyHome::File(Memories::default_key_file().ok_or_else(|| {
                anyhow::anyhow!("this platform has no settings folder; give a file with --new-key PATH")
            })?)
        }
        path => KeyHome::File(PathBuf::from(path)),
    })
}

fn print_converted(done: Option<Conversion>, word: &str, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let Some(done) = done else {
        return Ok(out.nothing(format_args!("the database is already {word}")));
    };
    let Conversion { path, bytes, memories, key, copies } = &done;
    let (path, memories, size) = (path.display(), counted(*memories, "memory"), size(*bytes));
    out.show(&done, format_args!("{path} is {word}: {memories}, {size}, key from {key}"))?;
    let command = if word == "encrypted" { "encrypt" } else { "decrypt" };
    for copy in copies.iter().filter(|_| !out.is_json()) {
        // Rows that a repair has moved to a file are not a database, so they cannot be converted.
        let remedy = match copy.extension() {
            Some(ending) if ending == "jsonl" => "remove it".to_owned(),
            Some(_) | None => format!("run `afterthought {command} --db {}`, or remove it", copy.display()),
        };
        out.note(format_args!("{DIM}{} was not changed; {remedy}{DIM:#}", copy.display()));
    }
    Ok(ExitStatus::Success)
}
