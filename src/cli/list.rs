//! `list`: lists memories by their properties, and defines the filters that other commands share.

use crate::api::{
    Filter, Memories, NamespaceSet, NamespaceSubtree, Order, Query, is_in_repository, unit_confidence, unit_importance,
};
use crate::memory::{Memory, MemoryType, Namespace, Scope, Status};

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::{Timestamp, Zoned};

use super::args::{Context, End, moment, now};
use super::exit::ExitStatus;
use super::printer::{DIM, Printer, day, one_line};

/// List memories, most recently changed first
///
/// In the folder of a project, lists the project's memories and the global ones. Exits 1 when there are no memories.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought memory list --category preference\n  afterthought memory list --namespace project/shop --since 2w"
)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    selection: Selection,
    /// Show at most this many memories
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Skip this many results
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Sort by this value
    #[arg(long, value_name = "BY", value_parser = order(), default_value_t = Order::Updated)]
    sort: Order,
    /// Reverse the order
    #[arg(long)]
    reverse: bool,
    /// List memories of all projects, not just this one
    #[arg(long)]
    everywhere: bool,
}

/// Parses the property that a list is sorted by, greatest or latest first.
pub(super) fn order() -> impl TypedValueParser<Value = Order> {
    let names = PossibleValuesParser::new(["updated", "created", "importance", "used", "confidence"]);
    names.try_map(|name| name.parse::<Order>())
}

/// Filters that select memories.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Selection {
    /// Type: semantic, episodic or procedural
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<MemoryType>,
    /// Category, e.g. preference
    #[arg(long = "category", value_name = "NAME")]
    categories: Vec<String>,
    /// Tag; if repeated, all tags must be present
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Subject
    #[arg(long, value_name = "TAG")]
    subject: Option<String>,
    /// Source shown by `memory show`, or conversation key
    #[arg(long, value_name = "KEY")]
    source: Option<String>,
    /// Minimum importance, 0 to 1 (or 2 to 10)
    #[arg(long, value_name = "N", value_parser = importance, allow_negative_numbers = true)]
    min_importance: Option<f64>,
    /// Maximum importance, on the same scale
    #[arg(long, value_name = "N", value_parser = importance, allow_negative_numbers = true)]
    max_importance: Option<f64>,
    /// Minimum current confidence, 0 to 1
    #[arg(long, value_name = "N", value_parser = confidence, allow_negative_numbers = true)]
    min_confidence: Option<f64>,
    /// Scope: long_term or short_term
    #[arg(long, value_name = "SCOPE")]
    scope: Option<Scope>,
    /// Only pinned memories
    #[arg(long)]
    pinned: bool,
    /// Learnt since this time, e.g. 2027-01-31 or 2w
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Timestamp>,
    /// Learnt before this time; a date includes that day
    #[arg(long, value_name = "TIME", value_parser = until)]
    until: Option<Timestamp>,
    /// Exclude namespaces nested in the given one
    #[arg(long)]
    exact_namespace: bool,
    /// Status: superseded, forgotten, expired or pending
    #[arg(long = "status", value_name = "STATUS")]
    statuses: Vec<Status>,
    /// Select memories with any status
    #[arg(long, conflicts_with = "statuses")]
    all: bool,
}

impl Selection {
    /// Returns the message for a selection without memories.
    pub(crate) const fn no_match(&self) -> &'static str {
        if self.all {
            "no memory matches; try fewer filters"
        } else {
            "no memory matches; try fewer filters, or --all for every status"
        }
    }

    /// Returns the filter, limited to the namespace of the global option `--namespace` and the namespaces below it.
    pub(crate) fn filter(&self, context: &Context<'_>) -> anyhow::Result<Filter> {
        let namespace = context.settings()?.namespace();
        // A project may have namespaces below it, which are also meant when people refer to the project.
        let within = if self.exact_namespace { NamespaceSubtree::Exactly } else { NamespaceSubtree::Under };
        let statuses = match (self.all, self.statuses.is_empty()) {
            (true, _) => Vec::new(),
            // An empty list means every status to the library, so the default has to be explicit.
            (false, true) => vec![Status::Active],
            // Until the next maintenance, memories that have expired are still marked as active.
            (false, false) if self.statuses == [Status::Expired] => vec![Status::Expired, Status::Active],
            (false, false) => self.statuses.clone(),
        };
        Ok(Filter {
            namespaces: namespace.into_iter().map(within).collect(),
            types: self.types.clone(),
            categories: self.categories.clone(),
            tags: self.tags.clone(),
            subject: self.subject.clone(),
            source: self.source.clone(),
            min_importance: self.min_importance,
            max_importance: self.max_importance,
            min_confidence: self.min_confidence,
            scopes: self.scope.into_iter().collect(),
            pinned: self.pinned.then_some(true),
            created_from: self.since,
            created_before: self.until,
            expired_at: (self.statuses == [Status::Expired]).then(now),
            unexpired_at: (statuses == [Status::Active]).then(now),
            statuses,
            ..Filter::default()
        })
    }

    /// Returns the source to select, if one is given.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Whether any filter except the source restricts the selection beyond the default of active memories.
    pub(crate) fn has_filters(&self) -> bool {
        !Self { source: None, ..self.clone() }.is_empty()
    }

    /// Whether any filter restricts the selection beyond the default of active memories.
    pub(crate) fn is_empty(&self) -> bool {
        Self { exact_namespace: false, ..self.clone() } == Self::default()
    }
}

/// Returns `filter`, restricted to the project of the working directory, its team and the global namespace if no
/// namespace is given and the folder belongs to a project. A note on standard error reports this.
pub(crate) fn in_project_of_folder(filter: Filter, memories: &Memories, out: &Printer) -> anyhow::Result<Filter> {
    if !filter.namespaces.is_empty() {
        return Ok(filter);
    }
    let Some(FolderScope { project, reach, is_known }) = reach_of_folder(memories)? else { return Ok(filter) };
    if is_known {
        let names: Vec<String> = reach.as_slice().iter().map(ToString::to_string).collect();
        out.note(format_args!("only memories of {}; --everywhere covers all projects", names.join(" and ")));
    } else {
        let is_elsewhere =
            |one: &Namespace| !one.parts().starts_with(project.parts()) && !reach.as_slice().contains(one);
        let has_others = memories.namespaces_in_use()?.iter().any(is_elsewhere);
        let others = if has_others { ", but others do; --everywhere covers them" } else { "" };
        out.note(format_args!("this project has no memories yet{others}"));
    }
    let others = reach.as_slice().iter().skip(1).cloned().map(NamespaceSubtree::Exactly);
    let namespaces = std::iter::once(NamespaceSubtree::Under(project)).chain(others).collect();
    Ok(Filter { namespaces, ..filter })
}

/// The namespaces that commands in a folder read.
pub(crate) struct FolderScope {
    pub(crate) project: Namespace,
    /// The project, its team and the global namespace.
    pub(crate) reach: NamespaceSet,
    /// Whether the project has memories, or a log of it was read.
    is_known: bool,
}

/// Returns what commands in the working directory read; `None` if the folder is in no repository and belongs to no project
/// of which a log was read.
pub(crate) fn reach_of_folder(memories: &Memories) -> anyhow::Result<Option<FolderScope>> {
    let folder = std::env::current_dir().context("cannot read the working directory")?;
    let Some(folder) = folder.to_str() else { return Ok(None) };
    let Some(project) = memories.known_namespace_of(folder)? else { return Ok(None) };
    // Every folder has a namespace; outside of repositories, it is used by default only if a log of the project was read.
    let is_known = memories.projects()?.iter().any(|known| known.namespace == project);
    // A new clone must not show the memories of other projects, because agents call these commands, too.
    if !is_known && !is_in_repository(folder) {
        return Ok(None);
    }
    Ok(Some(FolderScope { reach: memories.reach_of(project.clone())?, project, is_known }))
}

/// Returns the project of the working directory, if a log of that project was read.
pub(crate) fn project_of_folder(memories: &Memories) -> anyhow::Result<Option<Namespace>> {
    Ok(reach_of_folder(memories)?.filter(|scope| scope.is_known).map(|scope| scope.project))
}

fn importance(text: &str) -> Result<f64, String> {
    let value = text.parse().map_err(|_| "it is not a number; write it like 0.7 or 7".to_owned())?;
    unit_importance(value).map_err(|error| error.to_string())
}

fn confidence(text: &str) -> Result<f64, String> {
    let value = text.parse().map_err(|_| "it is not a number; write it like 0.7".to_owned())?;
    unit_confidence(value).map_err(|error| error.to_string())
}

fn since(text: &str) -> Result<Timestamp, String> {
    moment(text, End::Since, &Zoned::now())
}

fn until(text: &str) -> Result<Timestamp, String> {
    moment(text, End::Until, &Zoned::now())
}

pub(crate) fn run(args: &ListArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(all) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let everywhere = args.selection.filter(context)?;
    let filter =
        if args.everywhere { everywhere.clone() } else { in_project_of_folder(everywhere.clone(), &all, context.out)? };
    let memories = all.query_memories(&Query {
        filter: filter.clone(),
        order: args.sort,
        is_ascending: args.reverse,
        limit: args.limit,
        offset: args.offset,
    })?;
    let memories: Vec<Memory> = memories.into_iter().map(|memory| memory.printed_at(now())).collect();
    if context.out.is_narrow() && !context.out.is_json() {
        for memory in &memories {
            lines(memory, context.out)?;
        }
    } else {
        let header = ["id", "memory", "kind", "namespace", "importance", "status", "since"];
        let said = all.last_said(&memories)?;
        context.out.list(&memories, header, |memory| {
            [
                memory.id.short().to_owned(),
                one_line(&memory.claim.content, 200),
                format!("{}/{}", memory.claim.memory_type, memory.claim.category),
                memory.namespace.to_string(),
                format!("{:.2}", memory.claim.importance),
                memory.status.to_string(),
                // A log may be read years later; when a fact became true or was said is more informative.
                day(memory
                    .claim
                    .valid_from
                    .or_else(|| said.get(&memory.id).map(|said| said.at))
                    .unwrap_or(memory.created_at)),
            ]
        })?;
    }
    if memories.is_empty() {
        if all.count_memories(filter.clone())? > 0 {
            return Ok(context.out.nothing("nothing to list with this --offset and --limit"));
        }
        let hint = if filter != everywhere && all.count_memories(everywhere)? > 0 {
            "no memory of this project, but some elsewhere; add --everywhere"
        } else if args.selection.is_empty() {
            "no memories here; `afterthought run PATH` reads conversation logs"
        } else {
            args.selection.no_match()
        };
        return context.nothing_in(&all, hint);
    }
    if !context.out.is_json() {
        print_rest(&all, filter, memories.len(), context.out)?;
    }
    Ok(ExitStatus::Success)
}

/// Prints a memory on two lines.
pub(super) fn lines(memory: &Memory, out: &Printer) -> anyhow::Result<()> {
    let (claim, id) = (&memory.claim, memory.id.short());
    out.text(one_line(&claim.content, 200))?;
    out.text(format_args!(
        "  {DIM}{id} · {}/{} · {} · {}{DIM:#}",
        claim.memory_type, claim.category, memory.namespace, memory.status
    ))?;
    Ok(())
}

fn print_rest(all: &Memories, filter: Filter, shown: usize, out: &Printer) -> anyhow::Result<()> {
    // The count ignores the limit, since a full page does not show whether there are more memories.
    let total = all.count_memories(filter)?;
    if total > shown {
        out.note(format_args!("{shown} of {total}; --offset and --limit show the rest"));
    }
    Ok(())
}
