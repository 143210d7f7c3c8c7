//! `maintain`: what has to be done from time to time.

use afterthought::store::{Filter, Store};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::args::{Context, now};
use super::exit::ExitStatus;

/// Expire what has run out, purge what was forgotten long ago, and tidy the file
#[derive(Debug, clap::Args)]
pub struct MaintainArgs {
    /// Purge what was forgotten more than this many days ago
    #[arg(long, value_name = "N", default_value_t = 30)]
    days: u32,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &MaintainArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (store, now) = (context.store()?, now());
    let (expired, purged) = if args.dry_run {
        (due(&store, now)?, forgotten(&store, args.days, now)?)
    } else {
        let expired = store.expire(None, now)?;
        let purged = store.purge(args.days, now)?;
        store.optimise()?;
        (expired.len(), purged.memories.len())
    };
    if context.out.is_json() {
        context.out.json(&json!({"expired": expired, "purged": purged, "dry_run": args.dry_run}))?;
    } else {
        let would = if args.dry_run { "would be " } else { "" };
        context.out.line(format_args!("{expired} memories {would}expired, {purged} {would}purged"))?;
    }
    Ok(ExitStatus::Success)
}

fn due(store: &Store, now: Timestamp) -> anyhow::Result<usize> {
    let active = store.count(&Filter::default())?;
    Ok(active - store.count(&Filter { unexpired_at: Some(now), ..Filter::default() })?)
}

fn forgotten(store: &Store, days: u32, now: Timestamp) -> anyhow::Result<usize> {
    Ok(store.forgotten_before(now - SignedDuration::from_hours(24 * i64::from(days)))?.len())
}
