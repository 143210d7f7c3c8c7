//! `audit`: the lines of the audit log.

use afterthought::api::{AuditEntry, Deed, Memories, Through};
use afterthought::memory::MemoryId;
use afterthought::store::Store;
use jiff::Timestamp;

use super::args::{Context, time};
use super::exit::ExitStatus;
use super::printer::{BOLD, DIM, counted};

/// Show the audit log: who changed, exported or erased memories, and when
///
/// The log is written when `audit = true` is set. It holds ids and counts, never the text of a memory. Exits 1 when it is
/// empty.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db audit --since 2027-01-31")]
pub struct AuditArgs {
    /// Entries since, e.g. 2027-01-31
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Entries about this memory: its id, or the start of it
    #[arg(long, value_name = "ID")]
    memory: Option<String>,
}

pub fn run(args: &AuditArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (config, out) = (context.settings()?, context.out);
    let (mut entries, broken) = Memories::audit_log(&config)?;
    entries.retain(|entry| is_wanted(args, entry));
    let store = context.existing_or_none()?;
    for entry in &entries {
        if out.is_json() {
            out.json(entry)?;
        } else {
            out.line(line(entry, store.as_ref()))?;
        }
    }
    if broken > 0 {
        out.warn(format_args!("{} of the log cannot be read", counted(broken, "line")));
    }
    if entries.is_empty() && !config.audit.value {
        out.note("no audit log is kept; `audit = true` in your settings, or AFTERTHOUGHT_AUDIT=true, begins one");
    }
    Ok(if entries.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}

fn is_wanted(args: &AuditArgs, entry: &AuditEntry) -> bool {
    let is_of = |part: &str| entry.ids.iter().any(|id| id.as_str().starts_with(part) || id.as_str().ends_with(part));
    args.since.is_none_or(|since| entry.at >= since) && args.memory.as_deref().is_none_or(is_of)
}

fn line(entry: &AuditEntry, store: Option<&Store>) -> String {
    let short = |id: &MemoryId| store.and_then(|store| store.short_id(id).ok()).unwrap_or_else(|| id.to_string());
    let through = match entry.through {
        Through::Command => "by command",
        Through::Agent => "by an agent",
        Through::Library => "by a program",
    };
    let did = match entry.did {
        Deed::Update => "update",
        Deed::Forget => "forget",
        Deed::Restore => "restore",
        Deed::Export => "export",
        Deed::Erase => "erase",
        Deed::Purge => "purge",
        Deed::Undo => "undo",
        Deed::Backup => "backup",
        Deed::RestoreBackup => "restore-backup",
        Deed::Encrypt => "encrypt",
        Deed::Decrypt => "decrypt",
    };
    let count = counted(entry.memories, "memory");
    let conversations = entry.conversations.map(|count| format!(" of {}", counted(count, "conversation")));
    let ids: Vec<_> = entry.ids.iter().take(5).map(short).collect();
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
