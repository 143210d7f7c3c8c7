//! `forget`: forgets single memories, which can be restored, or erases conversations and everything that is based on
//! them.

use crate::api::{Author, Erased, Erasure, ErasureScope, Memories, Order, RewriteOutcome};
use crate::memory::Memory;
use anyhow::bail;
use jiff::{Timestamp, Zoned};
use serde_json::json;

use super::args::{Context, End, moment};
use super::edit::report;
use super::exit::ExitStatus;
use super::list::{Selection, in_project_of_folder};
use super::printer::{CHANGED, DIM, Printer, REMOVED, counted, day, one_line, text_of};

/// Forget memories, or erase conversations and their memories
///
/// Memories selected by id or filter are no longer recalled, and are not learnt again. `memory restore` restores
/// forgotten memories until `db maintain` purges them after 30 days. In a project, filters select the same memories as
/// in `memory list`: those of the project, its team and the user.
///
/// With --session, --source, --project or --before, everything that is based only on those conversations is erased from
/// the database, its indexes, history, caches and write-ahead log. Memories that also have other evidence are kept,
/// without the erased part. Without --yes, the command only shows what would be erased. Erasing cannot be undone. Later
/// runs do not read the conversations again, except with `run --reread-erased`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought memory forget 3fa2c1d9\n  afterthought memory forget --category task --yes\n  afterthought memory forget --before 2y --dry-run\n  afterthought memory forget --project shop --yes\n  afterthought memory forget --source ~/old/logs --yes"
)]
pub(crate) struct ForgetArgs {
    /// Ids of memories, or unique prefixes or suffixes of them
    ids: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Forget memories of all projects that match the filters, not just of this one
    #[arg(long)]
    everywhere: bool,
    /// Erase the conversation with this key or session id
    #[arg(long, value_name = "ID", conflicts_with_all = ["ids", "source", "project", "before"])]
    session: Option<String>,
    /// Erase a project, by its name, folder or namespace
    #[arg(long, value_name = "PROJECT", conflicts_with_all = ["ids", "source", "before"])]
    project: Option<String>,
    /// Erase conversations older than this time, e.g. 1y
    #[arg(long, value_name = "TIME", value_parser = before, conflicts_with_all = ["ids", "source"])]
    before: Option<Timestamp>,
    /// Reason, recorded in the history
    #[arg(long)]
    reason: Option<String>,
    /// Show what would happen, but change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Forget or erase, rather than only show the effect
    #[arg(long)]
    yes: bool,
}

fn before(text: &str) -> Result<Timestamp, String> {
    moment(text, End::Since, &Zoned::now())
}

pub(crate) fn run(args: &ForgetArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories()?;
    if let Some(scope) = scope(args, &memories)? {
        // An erasure covers whole conversations; ignoring a narrower filter would erase more than requested.
        if args.selection.has_filters() {
            bail!(
                "--session, --source, --project and --before erase conversations as a whole; leave out the other filters"
            );
        }
        return erase(args, &scope, &memories, context);
    }
    let ids: Vec<String> = if args.ids.is_empty() {
        selected(args, context, &memories)?.into_iter().map(|memory| memory.id.to_string()).collect()
    } else {
        args.ids.clone()
    };
    if ids.is_empty() {
        return context.nothing_in(&memories, "no memory matches these filters; nothing was forgotten");
    }
    if args.dry_run {
        // Ids are resolved even for a dry run, so that a mistyped id is an error in both cases.
        let named = ids.iter().map(|id| memories.resolve(id)).collect::<Result<Vec<_>, _>>()?;
        return report(context, &named, "would be forgotten");
    }
    let forgotten = memories.forget(&ids, args.reason.as_deref(), Author::Person)?;
    report(context, &forgotten, "forgotten")
}

fn selected(args: &ForgetArgs, context: &Context<'_>, memories: &Memories) -> anyhow::Result<Vec<Memory>> {
    // An empty filter matches everything, so a bare `memory forget` must not mean all memories.
    if args.selection.is_empty() && context.global.namespace.is_none() {
        bail!("no memory is selected; give ids, or filters such as --category task");
    }
    // Half of `usize::MAX`, since SQLite's LIMIT is a signed 64-bit number.
    let filter = args.selection.filter(context)?;
    let filter = if args.everywhere { filter } else { in_project_of_folder(filter, memories, context.out)? };
    let found = memories.list_memories(filter, Order::Id, usize::MAX >> 1, 0)?;
    if !args.yes && !args.dry_run && !found.is_empty() {
        bail!(
            "this would forget {}; check with `memory list` and the same filters, then add --yes",
            counted(found.len(), "memory")
        );
    }
    Ok(found)
}

/// Returns the conversations to erase, if the arguments specify any.
fn scope(args: &ForgetArgs, memories: &Memories) -> anyhow::Result<Option<ErasureScope>> {
    if let Some(text) = &args.project {
        return Ok(Some(ErasureScope::Project(memories.project(text)?.namespace)));
    }
    let session = args.session.clone().map(ErasureScope::Session);
    // `--source` is a filter of `memory list` as well; combined with ids, it does not start an erasure.
    let source = args.selection.source().filter(|_| args.ids.is_empty());
    let source = source.map(|text| ErasureScope::Source(text.to_owned()));
    Ok(session.or(source).or(args.before.map(ErasureScope::Before)))
}

fn erase(
    args: &ForgetArgs,
    scope: &ErasureScope,
    memories: &Memories,
    context: &Context<'_>,
) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    // The erasure is planned first, so that the effect is shown before anything irreversible happens.
    let planned = memories.would_erase(scope)?;
    if planned.is_nothing() {
        out.note("there is no such conversation; `afterthought memory why ID` lists the conversations behind a memory");
        return Ok(ExitStatus::NoMatch);
    }
    if !args.yes {
        print_erased(&planned, None, memories, out)?;
        if args.dry_run {
            return Ok(ExitStatus::Success);
        }
        bail!("nothing was erased; add --yes to erase this permanently");
    }
    let Erasure { erased, sealed, removed } = memories.erase(scope)?;
    print_erased(&erased, Some(sealed), memories, out)?;
    for path in removed {
        out.note(format_args!(
            "removed {}, a copy from before an update, which also contained the erased text",
            path.display()
        ));
    }
    Ok(ExitStatus::Success)
}

/// Prints what was erased or, if `sealed` is `None`, what would be erased.
fn print_erased(
    erased: &Erased,
    sealed: Option<RewriteOutcome>,
    memories: &Memories,
    out: &Printer,
) -> anyhow::Result<()> {
    // Backups are separate files that an erasure does not reach, so the person has to remove them.
    let backups = memories.backups()?;
    if out.is_json() {
        return Ok(out.json(&json!({
            "dry_run": sealed.is_none(), "erased": erased, "sealed": sealed, "backups": backups,
        }))?);
    }
    let would = if sealed.is_none() { "would be " } else { "" };
    for one in &erased.conversations {
        let title = one.title.as_deref().map(|title| format!(" {}", one_line(title, 60))).unwrap_or_default();
        let at = one.started_at.map(day).unwrap_or_default();
        // A title is text from the conversation; after the erasure it must not be printed again.
        let title = if sealed.is_none() { title } else { String::new() };
        out.line(format_args!("{REMOVED}- {}{REMOVED:#}{title} {DIM}{at}{DIM:#}", one.key))?;
    }
    let groups = [
        (&erased.memories, REMOVED, "would be erased", true),
        (&erased.restored, CHANGED, "is active again, because its replacement is erased", false),
        (&erased.reverted, CHANGED, "returns to its earlier wording", false),
        (
            &erased.mixed,
            CHANGED,
            "is kept, but its wording comes partly from the erased conversations; check it",
            false,
        ),
    ];
    for (ids, style, what, only_before) in groups {
        if only_before && sealed.is_some() {
            continue;
        }
        for id in ids {
            let said = text_of(memories, id, 100)?;
            out.line(format_args!("{style}{}{style:#} {said} {DIM}{what}{DIM:#}", id.short()))?;
        }
    }
    out.line(format_args!(
        "{}, {} and {} {would}erased; {} kept because of other evidence, {} restored",
        counted(erased.conversations.len(), "conversation"),
        counted(erased.memories.len(), "memory"),
        counted(erased.windows, "window"),
        counted(erased.kept.len(), "memory"),
        erased.restored.len(),
    ))?;
    let then = if sealed.is_none() { "an erasure cannot be undone" } else { "this cannot be undone" };
    out.note(then);
    print_remainders(sealed, &backups, out);
    Ok(())
}

fn print_remainders(sealed: Option<RewriteOutcome>, backups: &[std::path::PathBuf], out: &Printer) {
    if sealed == Some(RewriteOutcome::Waiting) {
        out.warn(
            "another process is using the file, so freed parts of it may still contain erased text; after that \
             process exits, run `afterthought db maintain` to rewrite the file",
        );
    }
    for path in backups {
        out.note(format_args!(
            "{} may still contain the erased text: make a new backup and remove this one",
            path.display()
        ));
    }
    out.note("logs, saved plans and recorded exchanges are your own files and are not changed");
}
