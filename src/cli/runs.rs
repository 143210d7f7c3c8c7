//! Lists runs, and shows one.

use afterthought::store::{Run, StoreError};

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{BOLD, CHANGED, DIM, one_line};

/// List runs, newest first
///
/// Exits 1 when there are none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs list -n 5")]
pub struct RunsArgs {
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub fn list(args: &RunsArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let runs = store.runs(args.limit)?;
    if context.out.is_json() {
        for run in &runs {
            context.out.json(run)?;
        }
    } else {
        let rows = runs.iter().map(|run| {
            let count = |pointer: &str| {
                run.summary.as_ref().and_then(|summary| summary.pointer(pointer)?.as_u64()).unwrap_or(0).to_string()
            };
            Ok([
                store.short_run_id(&run.id)?,
                run.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
                run.status.as_str().to_owned(),
                count("/transcripts"),
                count("/decisions/add"),
                count("/llm_calls"),
                what(run),
            ])
        });
        let rows = rows.collect::<Result<_, StoreError>>()?;
        let header = ["run", "started", "status", "logs", "added", "calls", "read"];
        context.out.table(header, rows)?;
    }
    if runs.is_empty() {
        return Ok(context.out.nothing("no runs yet; `afterthought run PATH` reads conversation logs"));
    }
    Ok(ExitStatus::Success)
}

/// Show a run and every change it made
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought runs show last\n  afterthought runs show 3fa2c1d9")]
pub struct ShowRunArgs {
    /// Id of a run, a unique start of it, or `last`
    run: String,
}

pub fn show(args: &ShowRunArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let (run, out) = (store.run(&args.run)?, context.out);
    let changes = store.history_of_run(&run.id)?;
    if out.is_json() {
        let mut value = serde_json::to_value(&run)?;
        value["changes"] = serde_json::to_value(&changes)?;
        out.json(&value)?;
        return Ok(ExitStatus::Success);
    }
    out.line(format_args!("{BOLD}{}{BOLD:#}", what(&run)))?;
    let ended = run.finished_at.map(|at| format!("{at:.0}"));
    let fields = [
        ("id", Some(run.id.as_str().to_owned())),
        ("command", Some(run.command.clone())),
        ("status", Some(run.status.as_str().to_owned())),
        ("started", Some(format!("{:.0}", run.started_at))),
        ("finished", ended),
    ];
    for (name, value) in fields.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        out.line(format_args!("{DIM}{name:>10}{DIM:#}  {value}"))?;
    }
    for (name, value) in run.summary.iter().filter_map(serde_json::Value::as_object).flatten() {
        if value.as_u64().is_some_and(|count| count > 0) {
            out.line(format_args!("{DIM}{:>10}{DIM:#}  {value}", name.replace('_', " ")))?;
        }
    }
    for change in &changes {
        let content = store.find(&change.memory)?.map(|memory| one_line(&memory.claim.content, 160));
        let reason = change.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        out.line(format_args!(
            "{CHANGED}{:<10}{CHANGED:#} {} {}{DIM}{reason}{DIM:#}",
            change.action,
            store.short_id(&change.memory)?,
            content.as_deref().unwrap_or("no longer stored"),
        ))?;
    }
    Ok(ExitStatus::Success)
}

/// Returns what a run was about: what it read, or its command.
pub fn what(run: &Run) -> String {
    let named = ["from", "paths"].into_iter().filter_map(|name| run.arguments.get(name)?.as_array());
    let paths: Vec<&str> = named.flatten().filter_map(serde_json::Value::as_str).collect();
    let of = |name: &str| run.arguments.get(name).and_then(|value| value.as_str());
    match of("from").zip(of("into")) {
        Some((from, into)) => format!("{from} merged into {into}"),
        None if paths.is_empty() => run.command.clone(),
        None if run.command == "run" => paths.join(" "),
        None => format!("{} {}", run.command, paths.join(" ")),
    }
}
