//! `export`: memories for other programs, or for people.

use afterthought::exchange::{exported, markdown};
use afterthought::fault::point;
use afterthought::store::{Deed, Order};

use super::args::{Context, note_count};
use super::exit::ExitStatus;
use super::list::Selection;

/// Export memories with their sources and relations, oldest first
///
/// Exits 1 when there are none.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought export --all > memories.jsonl\n  afterthought export --format markdown --namespace project/shop"
)]
pub struct ExportArgs {
    /// Format
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Jsonl,
    Markdown,
}

/// Memories that are read at a time; the rest stays in the file.
const PAGE: usize = 500;

pub fn run(args: &ExportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let filter = args.selection.filter(context)?;
    let audit = context.audit()?;
    let (mut offset, mut collected) = (0, Vec::new());
    loop {
        let page = store.list(&filter, Order::Id, PAGE, offset)?;
        offset += page.len();
        let last = page.len() < PAGE;
        point("export.page");
        for memory in page {
            let memory = exported(&store, memory)?;
            match args.format {
                Format::Jsonl => context.out.json(&memory)?,
                Format::Markdown => collected.push(memory),
            }
        }
        if last {
            break;
        }
    }
    if !collected.is_empty() {
        context.out.line(markdown(&collected).trim_end())?;
    }
    note_count(audit, Deed::Export, offset)?;
    if offset == 0 {
        return Ok(context.out.nothing("no memory matches; try fewer filters, or --all for every status"));
    }
    Ok(ExitStatus::Success)
}
