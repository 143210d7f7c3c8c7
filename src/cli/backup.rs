//! `backup` and `restore-backup`: whole copies of the database.

use std::path::PathBuf;

use afterthought::store::{Deed, Store};

use super::args::{Context, note_count, now};
use super::exit::ExitStatus;
use super::printer::{DIM, counted, size};

/// Back up the database to a file
///
/// Other processes can go on using the database. The backup is readable by you only, and --db can open it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db backup memories-2027-01-31.db")]
pub struct BackupArgs {
    /// File to write; it must not exist
    file: PathBuf,
}

/// Replace the database with a backup
///
/// The current database is copied beside itself first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought db restore memories-2027-01-31.db")]
pub struct RestoreBackupArgs {
    /// Backup made by `db backup`
    file: PathBuf,
}

pub fn run(args: &BackupArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(_) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let (store, audit) = (context.store()?, context.audit()?);
    let made = store.backup(&args.file, now())?;
    note_count(audit, Deed::Backup, made.memories)?;
    if context.out.is_json() {
        context.out.json(&made)?;
    } else {
        context.out.line(format_args!(
            "{}: {}, {}",
            made.path.display(),
            counted(made.memories, "memory"),
            size(made.bytes)
        ))?;
    }
    Ok(ExitStatus::Success)
}

pub fn restore(args: &RestoreBackupArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let path = context.settings()?.db.value;
    let audit = context.audit()?;
    let restored = Store::restore_backup(&path, &args.file, now())?;
    note_count(audit, Deed::RestoreBackup, restored.memories)?;
    if context.out.is_json() {
        context.out.json(&restored)?;
    } else {
        context.out.line(format_args!("restored {} to {}", counted(restored.memories, "memory"), path.display()))?;
        if let Some(former) = &restored.former {
            context.out.note(format_args!("{DIM}the previous database is {}{DIM:#}", former.display()));
        }
    }
    Ok(ExitStatus::Success)
}
