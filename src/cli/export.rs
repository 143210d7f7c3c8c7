//! `export`: writes memories for other programs, or for people.

use crate::api::{Exported, ExportedTask, Memories, markdown};

use super::args::Context;
use super::exit::ExitStatus;
use super::list::Selection;

/// Export memories with their sources and relations, oldest first
///
/// Exits 1 when there are no memories.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought export --all > memories.jsonl\n  afterthought export --format markdown --namespace project/shop"
)]
pub(crate) struct ExportArgs {
    /// Export the tasks of the work ledger instead of memories, as JSONL
    #[arg(long, conflicts_with_all = ["format"])]
    tasks: bool,
    /// Format
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Not supported; only for the hint in its error
    #[arg(long, hide = true, value_name = "FILE")]
    out: Option<String>,
    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Jsonl,
    Markdown,
}

pub(crate) fn run(args: &ExportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if let Some(file) = &args.out {
        anyhow::bail!("export prints on standard output; redirect it, as in `afterthought export > {file}`");
    }
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    if args.tasks {
        return export_tasks(&memories, context);
    }
    let mut collected = Vec::new();
    let mut print = |memory: Exported| -> anyhow::Result<()> {
        match args.format {
            Format::Jsonl => context.out.json(&memory)?,
            // JSONL is streamed; Markdown is rendered from all memories at once.
            Format::Markdown => collected.push(memory),
        }
        Ok(())
    };
    let count = memories.export(args.selection.filter(context)?, &mut print)?;
    if !collected.is_empty() {
        context.out.line(markdown(&collected).trim_end())?;
    }
    if count == 0 {
        return context.nothing_in(&memories, args.selection.no_match());
    }
    Ok(ExitStatus::Success)
}

fn export_tasks(memories: &Memories, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let namespaces: Vec<_> = context.settings()?.namespace().into_iter().collect();
    let mut print = |task: ExportedTask| -> anyhow::Result<()> { Ok(context.out.json(&task)?) };
    if memories.export_tasks(&namespaces, &mut print)? == 0 {
        return Ok(context
            .out
            .nothing("the work ledger has no task; `afterthought run` reads the logs of coding agents"));
    }
    Ok(ExitStatus::Success)
}
