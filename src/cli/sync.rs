//! The `db sync` commands, which synchronise the memories of several machines.

use std::path::{Path, PathBuf};

use crate::api::{Memories, SyncPolicy, SyncReport, SyncStatus, lower_priority};
use crate::config::Partial;
use crate::memory::Namespace;

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::hook::{BACKGROUND_SYNC, start};
use super::printer::{ADDED, BOLD, DIM, REMOVED, counted};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SyncCommand {
    Add(AddArgs),
    Now(NowArgs),
    /// Show targets, shared namespaces, machines and the last synchronisation
    #[command(after_help = "Example:\n  afterthought db sync status")]
    Status,
    Remove(RemoveArgs),
    Key(KeyArgs),
}

/// Share memories through a folder, a git repository or object storage
///
/// The folder may be on a network drive, or one that Syncthing, Dropbox or iCloud copies to your machines. A repository
/// is given by an address that git understands, or by the path of a bare repository; git writes to its branch
/// afterthought/log with your credentials. Object storage is given by an address such as s3://bucket/prefix, takes its
/// credentials from the environment, and needs a build with the feature `scale`. Run the same command on each machine.
/// Only the namespaces that you name are ever written to the target. With --key, everything in the target is encrypted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought db sync add ~/Sync/memories --namespace 'project/*'\n  afterthought db sync add git@example.com:me/memories.git --namespace global\n  afterthought db sync add ~/Sync/memories --namespace global --key ~/sync.key"
)]
pub(crate) struct AddArgs {
    /// Folder, repository or object storage that all machines can reach
    target: String,
    /// Share this namespace; a trailing `/*` includes everything below it
    #[arg(long, value_name = "NAME", required = true)]
    namespace: Vec<Namespace>,
    /// This machine's name in the target [default: host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Encrypt with this key file, which all machines need
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Synchronise only with `db sync now`, not automatically
    #[arg(long)]
    manual: bool,
}

/// Send and receive changes
///
/// If two machines changed the same memory at the same time, one of the changes wins on all machines, and the other
/// stays in the history. Statements that contradict each other are added to the inbox. Exits 3 when something could not
/// be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db sync now")]
pub(crate) struct NowArgs {
    /// Send all memories again, and replace this machine's files
    #[arg(long)]
    whole: bool,
    /// Synchronise quietly with the targets that are synchronised automatically
    #[arg(long, hide = true, conflicts_with = "whole")]
    background: bool,
}

/// Stop sharing memories through a folder, repository or object storage
///
/// Memories stay on this machine, and the files stay in the target.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db sync remove ~/Sync/memories")]
pub(crate) struct RemoveArgs {
    /// Folder or repository that was added
    target: String,
}

/// Write a key that encrypts shared memories
///
/// The key file has the format of the encryption tool age, and only you can read it. Copy it to your other machines
/// over a secure channel, and pass it to `db sync add --key`. Anyone who has the key can read and change what you
/// share; without it, nobody can read the target.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db sync key ~/.ssh/sync.key")]
pub(crate) struct KeyArgs {
    /// File to create
    file: PathBuf,
    /// Add a new key to an existing file; older keys only decrypt
    #[arg(long)]
    rotate: bool,
}

pub(crate) fn run(command: &SyncCommand, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match command {
        SyncCommand::Add(args) => add(args, context),
        SyncCommand::Now(args) => synchronise(args, context),
        SyncCommand::Status => status(context),
        SyncCommand::Remove(args) => remove(args, context),
        SyncCommand::Key(args) => create_key(args, context),
    }
}

fn add(args: &AddArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories_with(Partial::default())?;
    let policy = if args.manual { SyncPolicy::OnRequest } else { SyncPolicy::Automatic };
    let machine = args.name.as_deref().map_or_else(host_name, str::to_owned);
    let notes = memories.add_sync(&args.target, &args.namespace, &machine, policy, args.key.as_deref())?;
    let names: Vec<String> = args.namespace.iter().map(ToString::to_string).collect();
    context.out.line(format_args!("{} will be shared through {}", names.join(", "), args.target))?;
    notes.iter().for_each(|note| context.out.warn(note));
    context.out.note("`afterthought db sync now` sends and receives changes");
    Ok(ExitStatus::Success)
}

fn synchronise(args: &NowArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (memories, out) = (context.memories()?, context.out);
    if args.background {
        // An agent may be working at the same time.
        lower_priority();
        memories.sync_automatically()?;
        return Ok(ExitStatus::Success);
    }
    let reports = memories.sync(args.whole)?;
    if reports.is_empty() {
        return Ok(
            out.nothing("nothing is shared yet; `afterthought db sync add FOLDER --namespace NAME` adds a folder")
        );
    }
    let mut status = ExitStatus::Success;
    for report in reports {
        match report {
            Ok(report) => {
                out.show(&report, summary(&report))?;
                report.notes.iter().for_each(|note| out.note(format_args!("{DIM}{note}{DIM:#}")));
                report.problems.iter().for_each(|problem| out.warn(problem));
                if !report.problems.is_empty() {
                    status = ExitStatus::Failures;
                }
            }
            Err(error) => {
                out.error(&error.into());
                status = ExitStatus::Error;
            }
        }
    }
    Ok(status)
}

fn summary(report: &SyncReport) -> String {
    let (sent, received) = (counted(report.sent, "change"), counted(report.received, "change"));
    let mut parts = vec![format!("{}: {sent} sent", report.address), format!("{received} received")];
    if report.conflicts > 0 {
        parts.push(format!("{} in the inbox", counted(report.conflicts, "conflict")));
    }
    if report.erased > 0 {
        parts.push(format!("{} erased", counted(report.erased, "memory")));
    }
    parts.join(", ")
}

fn status(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let targets = memories.sync_status()?;
    if targets.is_empty() {
        return Ok(context.out.nothing("nothing is shared with other machines"));
    }
    for target in &targets {
        if context.out.is_json() {
            context.out.json(target)?;
            continue;
        }
        let SyncStatus { address, namespaces, automatic, key, machine, machines, waiting, changed, synced_at, error } =
            target;
        context.out.line(format_args!("{BOLD}{address}{BOLD:#} {}", namespaces.join(", ")))?;
        let others = if machines.is_empty() { "no other machine yet".to_owned() } else { machines.join(", ") };
        context.out.line(format_args!("  this machine is {machine}; others: {others}"))?;
        let last = synced_at.map_or_else(|| "never".to_owned(), |at| format!("{at:.0}"));
        let schedule = if *automatic { "automatic" } else { "only on request" };
        let waiting = match (*waiting, *changed) {
            (0, 0) => "nothing to send".to_owned(),
            (0, changed) => format!("{} to send", counted(changed, "memory")),
            (waiting, _) => format!("{} to send", counted(waiting, "item")),
        };
        context.out.line(format_args!("  {ADDED}last synchronised{ADDED:#} {last}; {waiting}; {schedule}"))?;
        if let Some(key) = key {
            context.out.line(format_args!("  encrypted with the key in {key}"))?;
        }
        if let Some(error) = error {
            context.out.line(format_args!("  {REMOVED}✗{REMOVED:#} {error}"))?;
        }
    }
    Ok(ExitStatus::Success)
}

fn remove(args: &RemoveArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    context.memories()?.remove_sync(&args.target)?;
    context.out.line(format_args!("{} is no longer used; its files were not changed", args.target))?;
    Ok(ExitStatus::Success)
}

fn create_key(args: &KeyArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let file = args.file.display();
    Memories::create_sync_key(&args.file, args.rotate)?;
    context.out.line(format_args!("{file} now contains a new key"))?;
    context.out.note(format_args!(
        "copy it to your other machines, and run `afterthought db sync add` with `--key {file}` on each; keep a copy in a \
         safe place"
    ));
    Ok(ExitStatus::Success)
}

/// Starts a synchronisation in the background if one is due for any target. Nothing waits for it, and `db sync status`
/// shows what failed.
pub(crate) fn start_in_background(memories: &Memories, context: &Context<'_>) {
    let database: &Path = &memories.config().db.value;
    let started = match memories.wants_sync(now()) {
        Ok(true) => start(context.global, database, BACKGROUND_SYNC).map_err(Into::into),
        Ok(false) => return,
        Err(error) => Err(anyhow::Error::from(error)),
    };
    if let Err(error) = started {
        context.out.warn(format_args!("cannot synchronise; `afterthought db sync now` does it later: {error}"));
    }
}

/// Returns the host name of this machine, or `machine` if it cannot be determined.
fn host_name() -> String {
    let variable = ["HOSTNAME", "COMPUTERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let file = || std::fs::read_to_string("/etc/hostname").ok();
    variable.or_else(file).map_or_else(|| "machine".to_owned(), |name| name.trim().to_owned())
}
