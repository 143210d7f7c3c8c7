//! `search`: ranked recall.

use afterthought::recall::{Found, Search};
use afterthought::store::{AccessKind, Store};

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::list::Selection;
use super::printer::{BOLD, DIM, Printer, day, one_line, short};

/// Search memories by words
///
/// Any text is safe. Superseded, expired and forgotten memories are left out. Exits 1 when nothing is found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought search \"deploy target\" --type semantic --explain")]
pub struct SearchArgs {
    /// Words to look for
    #[arg(required = true)]
    query: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Return at most this many memories
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Show each part of the score
    #[arg(long)]
    explain: bool,
}

pub fn run(args: &SearchArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let filter = args.selection.filter(context)?;
    let (query, now) = (args.query.join(" "), now());
    let channels = super::embed::channels(context, &store, &query, &filter, args.limit);
    let search = Search { limit: args.limit, channels: &channels, ..Search::new(&query, &filter, now) };
    let found = search.run(&store)?;
    for hit in &found {
        print(hit, args, context.out)?;
    }
    // The last connection to close tidies up beside the file, which one for reading cannot.
    drop(store);
    note_use(context, &found)?;
    Ok(if found.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}

fn print(hit: &Found, args: &SearchArgs, out: &Printer) -> anyhow::Result<()> {
    if out.is_json() {
        return Ok(out.json(hit)?);
    }
    let memory = &hit.memory;
    let kind = format!("{}/{}", memory.claim.memory_type, memory.claim.category);
    out.line(format_args!("{BOLD}{:.2}{BOLD:#} {}", hit.score.total, one_line(&memory.claim.content, 300)))?;
    let (id, learnt) = (short(&memory.id), day(memory.created_at));
    out.line(format_args!("     {DIM}{kind} · {} · learnt {learnt} · {id}{DIM:#}", memory.namespace))?;
    if args.explain {
        let score = &hit.score;
        out.line(format_args!(
            "     {DIM}relevance {:.2} · importance {:.2} · confidence {:.2} · recency {:.2} · use {:.2} (weighted parts){DIM:#}",
            score.relevance, score.importance, score.confidence, score.recency, score.usage,
        ))?;
    }
    Ok(())
}

/// Counts the use of what was found. A file that cannot be written is searched all the same.
fn note_use(context: &Context<'_>, found: &[Found]) -> anyhow::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = found.iter().map(|hit| hit.memory.id.clone()).collect();
    if let Ok(store) = Store::open(&context.settings()?.db.value) {
        // Best effort: the search itself is done.
        let _ = store.record_access(&ids, AccessKind::Search, now());
    }
    Ok(())
}
