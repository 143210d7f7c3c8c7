//! `search`: ranks memories against a query.

use anyhow::ensure;
use transcripts::TimeSource;

use crate::api::{Found, FoundTask, Memories, Order, SearchRequest, SearchResults, Weights};

use crate::memory::Status;

use super::args::Context;
use super::exit::ExitStatus;
use super::list::{Selection, in_project_of_folder, order};
use super::printer::{BOLD, DIM, Printer, day, one_line, words_only};
use super::work::{print_freshness, print_task};

/// Search memories and tasks
///
/// Any text is a valid query. The results include tasks of the work ledger, unless a filter applies only to memories.
/// In the folder of a project, searches the project's memories and the global ones. Superseded, expired and forgotten
/// memories are left out. Exits 1 when nothing is found.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought search \"deploy target\" --type semantic --explain\n  afterthought search \"what did Ana say in March?\" --since 6mo --sort created\n  afterthought search \"C++\" --namespace project/engine --exact-namespace"
)]
pub(crate) struct SearchArgs {
    /// Words or a question to search for
    #[arg(required = true)]
    query: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Show at most this many memories
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Skip this many results
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Sort by this value instead of relevance
    #[arg(long, value_name = "BY", value_parser = order())]
    sort: Option<Order>,
    /// Vector weight: 0 (only words) to 1 (only vectors)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    hybrid_weight: Option<f64>,
    /// Minimum share of query words in a memory, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true)]
    min_match: f64,
    /// Also show up to N preferences, instructions and pinned memories, whatever the query
    #[arg(long, value_name = "N", default_value_t = 0)]
    standing: usize,
    /// Search all projects, not only this folder's project
    #[arg(long)]
    everywhere: bool,
    /// Show the relations of each memory
    #[arg(long)]
    related: bool,
    /// Show how each score is calculated
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(args: &SearchArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let (out, request) = (context.out, args.request(&memories, context)?);
    let SearchResults { mut found, mut standing, fallback } = memories.search(&request)?;
    found.iter_mut().chain(&mut standing).for_each(|hit| hit.memory.usage.tier = hit.memory.tier());
    // Orders and pages apply only to memories, not to tasks.
    let is_ranked = args.sort.is_none() && args.offset == 0 && args.min_match <= 0.0;
    let tasks = if is_ranked { memories.search_tasks(&request.text, &request.filter, args.limit)? } else { Vec::new() };
    let (mut found, mut tasks) = foremost(found, tasks, args.limit);
    if is_ranked {
        memories.judge_results(&mut found, &mut tasks)?;
    }
    let is_by_words = found.first().is_some_and(|hit| hit.fit.channels.is_empty());
    if is_by_words && fallback.is_none() && args.hybrid_weight.is_some_and(|weight| weight > 0.0) {
        out.warn("no vectors are configured, so the search used only words; see `[embedding]` in the settings");
    }
    if let Some(error) = fallback {
        out.warn(words_only(error));
    }
    let mut tasks = tasks.iter().peekable();
    for hit in &found {
        while let Some(task) = tasks.next_if(|task| task.score.total > hit.score.total) {
            print_found_task(task, args, out)?;
        }
        print(hit, args, out)?;
    }
    let mut any = !found.is_empty() || !standing.is_empty();
    for task in tasks {
        any = true;
        print_found_task(task, args, out)?;
    }
    if !standing.is_empty() && !out.is_json() {
        out.line(format_args!("{BOLD}standing memories, shown for every query{BOLD:#}"))?;
    }
    for hit in &standing {
        if out.is_json() {
            out.json(&Marked { standing: true, hit })?;
        } else {
            print(hit, args, out)?;
        }
    }
    if !any {
        let hint = match args.matches_elsewhere(&memories, &request, context)? {
            0 => "no memory matches; try other words, or `afterthought memory list`".to_owned(),
            1 => "no memory of this project matches, but one elsewhere does; add --everywhere".to_owned(),
            _ => "no memory of this project matches, but some elsewhere do; add --everywhere".to_owned(),
        };
        return context.nothing_in(&memories, &hint);
    }
    // The last connection to close removes temporary files beside the database, which a read-only connection cannot do.
    drop(memories.into_writable());
    Ok(ExitStatus::Success)
}

impl SearchArgs {
    fn request(&self, memories: &Memories, context: &Context<'_>) -> anyhow::Result<SearchRequest> {
        let text = self.query.join(" ");
        ensure!(!text.trim().is_empty(), "the query is empty; give some words");
        let share = self.min_match;
        ensure!((0.0..=1.0).contains(&share), "--min-match {share} is out of range; use 0 to 1");
        ensure!(self.limit > 0, "--limit 0 would show nothing; give at least 1");
        let filter = self.selection.filter(context)?;
        Ok(SearchRequest {
            text,
            filter: if self.everywhere { filter } else { in_project_of_folder(filter, memories, context.out)? },
            limit: self.limit,
            offset: self.offset,
            order: self.sort,
            hybrid_weight: self.hybrid_weight,
            min_match: self.min_match,
            standing: self.standing,
            related: self.related,
        })
    }

    /// Returns the number of results among all memories, at most two, if the folder alone limits the search to a project.
    fn matches_elsewhere(
        &self,
        memories: &Memories,
        request: &SearchRequest,
        context: &Context<'_>,
    ) -> anyhow::Result<usize> {
        let filter = self.selection.filter(context)?;
        if self.everywhere || filter == request.filter {
            return Ok(0);
        }
        let everywhere = SearchRequest { filter, limit: 2, offset: 0, ..request.clone() };
        Ok(memories.search(&everywhere)?.found.len())
    }
}

/// Returns the best memories and tasks, at most `limit` in total.
fn foremost(mut found: Vec<Found>, mut tasks: Vec<FoundTask>, limit: usize) -> (Vec<Found>, Vec<FoundTask>) {
    while found.len() + tasks.len() > limit {
        let weakest = tasks.last().map_or(f64::INFINITY, |task| task.score.total);
        if found.last().is_some_and(|hit| hit.score.total < weakest) { drop(found.pop()) } else { drop(tasks.pop()) }
    }
    (found, tasks)
}

fn print_found_task(task: &FoundTask, args: &SearchArgs, out: &Printer) -> anyhow::Result<()> {
    if out.is_json() { Ok(out.json(task)?) } else { print_task(task, args.explain, out) }
}

/// A memory that is returned for any query, and marked as such in JSON.
#[derive(serde::Serialize)]
struct Marked<'a> {
    standing: bool,
    #[serde(flatten)]
    hit: &'a Found,
}

fn print(hit: &Found, args: &SearchArgs, out: &Printer) -> anyhow::Result<()> {
    if out.is_json() {
        return Ok(out.json(hit)?);
    }
    let memory = &hit.memory;
    let kind = format!("{}/{}", memory.claim.memory_type, memory.claim.category);
    out.line(format_args!("{BOLD}{:.2}{BOLD:#} {}", hit.score.total, one_line(&memory.claim.content, 300)))?;
    // A person wants to know when the memory was said; the time of reading is shown only if that is unknown.
    let said = if hit.said_source == Some(TimeSource::File) { "file dated" } else { "said" };
    let when =
        hit.said_at.map_or_else(|| format!("stored {}", day(memory.created_at)), |at| format!("{said} {}", day(at)));
    let status = match memory.status {
        Status::Active => String::new(),
        status => format!("{status} · "),
    };
    let id = memory.id.short();
    out.line(format_args!("     {DIM}{status}{kind} · {} · {when} · {id}{DIM:#}", memory.namespace))?;
    print_freshness(&hit.freshness, out)?;
    if let Some(quote) = &hit.quote {
        out.line(format_args!("     {DIM}evidence: “{}”{DIM:#}", one_line(&quote.text, 200)))?;
    }
    if hit.match_share <= 0.0 && hit.fit.channels.is_empty() && hit.fit.words > 0.0 {
        out.line(format_args!(
            "     {DIM}contains no word of the query, but the title of its conversation does{DIM:#}"
        ))?;
    }
    // A hit of this kind does not match any word of the query, so without this note it would look like an error.
    if hit.fit.neighbours > 0.0 && hit.fit.own(&Weights::default()) <= 0.0 {
        out.line(format_args!(
            "     {DIM}contains no word of the query, but was said just before or after a result{DIM:#}"
        ))?;
    }
    // The score is relative to the best result, so even a poor match can have a high score.
    let is_found_by_words = hit.fit.channels.values().all(|score| *score <= 0.0) && hit.fit.words > 0.0;
    if is_found_by_words && hit.match_share > 0.0 && hit.match_share < 0.5 {
        let share = (hit.match_share * 100.0).round();
        out.line(format_args!("     {DIM}contains only {share}% of the words of the query{DIM:#}"))?;
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
            related.memory.id.short()
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
        "     {DIM}fit {:.2} = words {:.2}{channels} + {} × neighbours {:.2} + {} × conversation {:.2} + {} × speaker {:.2} + {} × date {:.2}{DIM:#}",
        fit.total,
        fit.words,
        weights.neighbours,
        fit.neighbours,
        weights.conversation,
        fit.conversation,
        weights.speaker,
        fit.speaker,
        weights.date,
        fit.date,
    ))?;
    let words = hit.matched.join(", ");
    let words = if words.is_empty() { "none in this memory".to_owned() } else { words };
    out.line(format_args!("     {DIM}words: {words}{DIM:#}"))?;
    Ok(())
}
