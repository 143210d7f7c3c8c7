//! `search`: ranked recall.

use afterthought::search::{self, Found, Search, Weights};
use afterthought::store::{AccessKind, Database, Filter, Store};

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::list::{By, Selection};
use super::printer::{BOLD, DIM, Printer, day, one_line};

/// Search memories
///
/// Any text is a safe query. Superseded, expired and forgotten memories are left out. Exits 1 when nothing is found.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought search \"deploy target\" --type semantic --explain\n  afterthought search \"what did Ana say in March?\" --since 6mo --sort created\n  afterthought search \"C++\" --namespace project/engine --exact"
)]
pub struct SearchArgs {
    /// Words to look for
    #[arg(required = true)]
    query: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Show at most this many memories
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Skip this many first
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Sort by this instead of by relevance
    #[arg(long, value_enum, value_name = "BY")]
    sort: Option<By>,
    /// Add up to N instructions, preferences and pinned memories
    #[arg(long, value_name = "N", default_value_t = 0)]
    standing: usize,
    /// Show the relations of each memory
    #[arg(long)]
    related: bool,
    /// Show how each score is made up
    #[arg(long)]
    explain: bool,
}

pub fn run(args: &SearchArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let (filter, query, now) = (args.selection.filter(context)?, args.query.join(" "), now());
    let channels = super::embed::channels(context, &store, &query, &filter, args.limit.saturating_add(args.offset));
    let search = Search {
        limit: args.limit,
        channels: &channels,
        offset: args.offset,
        order: args.sort.map(By::order),
        with_beside: true,
        with_related: args.related,
        ..Search::new(&query, &filter, now)
    };
    let mut found = search.run(&store)?;
    for hit in &found {
        print(hit, args, &store, context.out)?;
    }
    let standing = if args.standing > 0 { standing(&store, args, &query, &filter, &found)? } else { Vec::new() };
    if !standing.is_empty() && !context.out.is_json() {
        context.out.line(format_args!("{BOLD}always{BOLD:#}"))?;
    }
    for hit in &standing {
        if context.out.is_json() {
            context.out.json(&Marked { standing: true, hit })?;
        } else {
            print(hit, args, &store, context.out)?;
        }
    }
    found.extend(standing);
    // The last connection to close tidies up beside the file, which one for reading cannot.
    drop(store);
    note_use(context, &found)?;
    if found.is_empty() {
        return Ok(context.out.nothing("no memory matches; try other words, or `afterthought memory list`"));
    }
    Ok(ExitStatus::Success)
}

/// What was not found but holds whatever is asked, as JSON.
#[derive(serde::Serialize)]
struct Marked<'a> {
    standing: bool,
    #[serde(flatten)]
    hit: &'a Found,
}

/// Returns what holds whatever is asked and was not found anyway.
fn standing(
    store: &Store,
    args: &SearchArgs,
    query: &str,
    filter: &Filter,
    found: &[Found],
) -> anyhow::Result<Vec<Found>> {
    let most = args.standing.saturating_add(found.len());
    let mut standing = search::standing(store, query, filter, most, now())?;
    standing.retain(|one| found.iter().all(|hit| hit.memory.id != one.memory.id));
    standing.truncate(args.standing);
    Ok(standing)
}

fn print(hit: &Found, args: &SearchArgs, store: &Database, out: &Printer) -> anyhow::Result<()> {
    if out.is_json() {
        return Ok(out.json(hit)?);
    }
    let memory = &hit.memory;
    let kind = format!("{}/{}", memory.claim.memory_type, memory.claim.category);
    out.line(format_args!("{BOLD}{:.2}{BOLD:#} {}", hit.score.total, one_line(&memory.claim.content, 300)))?;
    let (id, learnt) = (store.short_id(&memory.id)?, day(memory.created_at));
    out.line(format_args!("     {DIM}{kind} · {} · learnt {learnt} · {id}{DIM:#}", memory.namespace))?;
    if let Some(quote) = &hit.quote {
        out.line(format_args!("     {DIM}it rests on: “{}”{DIM:#}", one_line(&quote.text, 200)))?;
    }
    if hit.fit.neighbours > 0.0 && hit.fit.own(&Weights::default()) <= 0.0 {
        out.line(format_args!("     {DIM}learnt next to one that fits{DIM:#}"))?;
    }
    if args.explain {
        explain(hit, out)?;
    }
    for related in &hit.related {
        let direction = if related.outward { "→" } else { "←" };
        let says = one_line(&related.memory.claim.content, 200);
        out.line(format_args!(
            "     {direction} {} {says} {DIM}{}{DIM:#}",
            related.relation,
            store.short_id(&related.memory.id)?
        ))?;
    }
    Ok(())
}

fn explain(hit: &Found, out: &Printer) -> anyhow::Result<()> {
    let (score, fit, weights) = (&hit.score, &hit.fit, Weights::default());
    out.line(format_args!(
        "     {DIM}relevance {:.2} · importance {:.2} · confidence {:.2} · recency {:.2} · use {:.2} (weighted parts){DIM:#}",
        score.relevance, score.importance, score.confidence, score.recency, score.usage,
    ))?;
    let channels: Vec<String> = fit.channels.iter().map(|(name, value)| format!(" and {name} {value:.2}")).collect();
    let channels = channels.concat();
    out.line(format_args!(
        "     {DIM}fit {:.2} = words {:.2}{channels} + {} × neighbours {:.2} + {} × speaker {:.2} + {} × date {:.2}{DIM:#}",
        fit.total, fit.words, weights.neighbours, fit.neighbours, weights.speaker, fit.speaker, weights.date, fit.date,
    ))?;
    let words = hit.matched.join(", ");
    let words = if words.is_empty() { "none of its own".to_owned() } else { words };
    out.line(format_args!("     {DIM}words: {words}{DIM:#}"))?;
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
