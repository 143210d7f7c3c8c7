//! `runs`: what was done.

use afterthought::store::Run;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::tail;

/// List runs, newest first
///
/// Exits 1 when there are none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs list -n 5")]
pub struct RunsArgs {
    /// Return at most this many
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
            let id = run.id.as_str();
            [
                tail(id).to_owned(),
                run.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
                run.status.as_str().to_owned(),
                count("/transcripts"),
                count("/decisions/add"),
                count("/llm_calls"),
                what(run),
            ]
        });
        let header = ["run", "started", "status", "conversations", "added", "calls", "read"];
        context.out.table(header, rows.collect())?;
    }
    Ok(if runs.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
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
