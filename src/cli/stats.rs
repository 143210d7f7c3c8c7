//! `stats`: how much there is of what.

use std::collections::BTreeMap;

use afterthought::lifecycle::{self, Census, NEAR_DAYS, Rules};
use afterthought::store::{Health, Stats};

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::health::{self, Spending};
use super::printer::{BOLD, DIM, counted};

/// Show how much there is of what
#[derive(Debug, clap::Args)]
pub struct StatsArgs {}

pub fn run(_: &StatsArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let (stats, out) = (store.stats()?, context.out);
    let config = context.settings()?;
    let census = lifecycle::census(&store, &Rules::from(&config.memory), now())?;
    let (health, spending) = (store.health()?, health::spending(&store, &config)?);
    if out.is_json() {
        out.json(&All { stats: &stats, census: &census, health: &health, spending })?;
        return Ok(ExitStatus::Success);
    }
    out.line(format_args!("{BOLD}{} memories{BOLD:#}", stats.memories))?;
    let groups = [
        ("status", &stats.by_status),
        ("type", &stats.by_type),
        ("category", &stats.by_category),
        ("namespace", &stats.by_namespace),
        ("windows", &stats.windows),
    ];
    for (name, counts) in groups.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        out.line(format_args!("{DIM}{name:>10}{DIM:#}  {}", spell(counts)))?;
    }
    for (name, counts) in [("tier", &census.by_tier), ("heat", &census.by_heat)] {
        if !counts.is_empty() {
            out.line(format_args!("{DIM}{name:>10}{DIM:#}  {}", spell(counts)))?;
        }
    }
    if census.near_expiry + census.fading > 0 {
        let (near, fading) = (census.near_expiry, census.fading);
        out.line(format_args!(
            "{near} expire within {NEAR_DAYS} days, {fading} are half as sure as they were, or less"
        ))?;
    }
    let size = stats.bytes / 1024;
    out.line(format_args!(
        "{} quotes, {} relations, {} conversations, {} kept replies, {} runs, {size} KiB",
        stats.evidence, stats.relations, stats.transcripts, stats.replies, stats.runs,
    ))?;
    health::print(&health, spending, context, now())?;
    if let Some(waiting) = stats.by_status.get("pending") {
        out.line(format_args!("{waiting} waiting for you; see `afterthought inbox list`"))?;
    }
    if stats.batch_requests > 0 {
        let waiting = counted(stats.batch_requests as u64, "request");
        out.line(format_args!("{waiting} out in batches; `afterthought batches` lists them"))?;
    }
    Ok(ExitStatus::Success)
}

/// All that is counted.
#[derive(serde::Serialize)]
struct All<'a> {
    #[serde(flatten)]
    stats: &'a Stats,
    #[serde(flatten)]
    census: &'a Census,
    health: &'a Health,
    spending: Spending,
}

/// Returns the counts, greatest first.
fn spell<K: Ord + std::fmt::Display>(counts: &BTreeMap<K, usize>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(" · ")
}
