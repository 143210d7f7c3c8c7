//! `runs` and `undo`: what was done, and its reversal.

use afterthought::store::{StoreError, Undone};

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::printer::{DIM, counted, short, tail};

/// List what was run, newest first
#[derive(Debug, clap::Args)]
pub struct RunsArgs {
    /// Return at most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Take back everything that a run changed
///
/// A memory that was changed again since is named and left as it is. The logs are not read again by the next `run`;
/// with --redo their windows wait for it once more, and no model is asked.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// Id of the run, its start or end of at least four characters, or `last`
    run: String,
    /// Let the next `run` apply the same candidates afresh
    #[arg(long)]
    redo: bool,
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
            let named = ["from", "paths"].into_iter().filter_map(|name| run.arguments.get(name)?.as_array());
            let paths: Vec<&str> = named.flatten().filter_map(serde_json::Value::as_str).collect();
            let of = |name: &str| run.arguments.get(name).and_then(|value| value.as_str());
            let what = match of("from").zip(of("into")) {
                Some((from, into)) => format!("{from} merged into {into}"),
                None if paths.is_empty() => run.command.clone(),
                None => paths.join(" "),
            };
            [
                tail(id).to_owned(),
                run.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
                run.status.as_str().to_owned(),
                count("/transcripts"),
                count("/decisions/add"),
                count("/llm_calls"),
                what,
            ]
        });
        let header = ["run", "started", "status", "conversations", "added", "calls", "read"];
        context.out.table(header, rows.collect())?;
    }
    Ok(if runs.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}

pub fn undo(args: &UndoArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let store = context.store()?;
    let run = store.run(&args.run)?;
    let undone = match store.undo_run(&run.id, now()) {
        // Whoever took it back first may still want it to be learnt afresh.
        Err(StoreError::RunUndone { .. }) if args.redo => Undone::default(),
        undone => undone?,
    };
    let reopened = if args.redo { store.reopen_windows(&run.id)? } else { 0 };
    if context.out.is_json() {
        context.out.json(&undone)?;
    } else {
        let (removed, restored) = (undone.removed.len(), undone.restored.len());
        context.out.line(format_args!("{removed} memories removed, {restored} restored as they were"))?;
        for kept in &undone.kept {
            context.out.line(format_args!("left {}: {}", short(&kept.memory), kept.because))?;
        }
        if reopened > 0 {
            let windows = counted(reopened as u64, "window");
            context.out.note(format_args!("what was learnt from {windows} waits for the next `run`"));
        } else if !args.redo && removed > 0 && run.command == "run" {
            let id = tail(run.id.as_str());
            context.out.note(format_args!(
                "{DIM}the logs are not read again; `afterthought undo {id} --redo` lets the next run learn it afresh{DIM:#}"
            ));
        }
    }
    Ok(if undone.kept.is_empty() { ExitStatus::Success } else { ExitStatus::Failures })
}
