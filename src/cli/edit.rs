//! `update`, `pin`, `restore` and `relate`: change memories by hand.

use crate::api::{Author, MemoryChange, Restored, RivalPolicy};
use crate::memory::{Memory, MemoryId, MemoryType, RelationType, Scope, Status, Structured};

use super::args::{Context, expires, now};
use super::exit::ExitStatus;
use super::printer::one_line;
use super::remember::StructuredArg;

/// Edit a memory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory update 3fa2c1d9 --importance 0.9 --tag deploy")]
pub(crate) struct UpdateArgs {
    /// Id of a memory, or a unique prefix or suffix of it
    id: String,
    /// New text
    #[arg(long)]
    content: Option<String>,
    /// New title; a derived title changes with the content
    #[arg(long)]
    title: Option<String>,
    /// New summary; an empty one removes it. By default, it is removed when the content changes
    #[arg(long)]
    summary: Option<String>,
    /// New value; by default, it changes with the content
    #[arg(long)]
    value: Option<String>,
    /// New category
    #[arg(long)]
    category: Option<String>,
    /// New subject
    #[arg(long)]
    subject: Option<String>,
    /// New importance, 0 to 1 (or 2 to 10)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    importance: Option<f64>,
    /// New tag; replaces all current tags; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Option<Vec<String>>,
    /// New expiry time, e.g. 2h, 7d or 2027-01-31
    #[arg(long, value_name = "TIME", value_parser = expires)]
    expires: Option<jiff::Timestamp>,
    /// New lifetime: short_term, or long_term (no expiry)
    #[arg(long, value_name = "SCOPE")]
    scope: Option<Scope>,
    /// New type: semantic, episodic or procedural
    #[arg(long = "type", value_name = "TYPE")]
    memory_type: Option<MemoryType>,
    /// New structured parts, as a JSON object: an episode, procedure, pattern, blocker or profile
    #[arg(long, value_name = "JSON", value_parser = StructuredArg)]
    structured: Option<Structured>,
    /// New confidence, from 0 to 1
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    confidence: Option<f64>,
}

/// Pin memories, so that only you can change them
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory pin 3fa2c1d9")]
pub(crate) struct PinArgs {
    /// Ids of memories, or unique prefixes or suffixes of them
    #[arg(required = true)]
    ids: Vec<String>,
    /// Unpin the memories
    #[arg(long)]
    off: bool,
}

/// Restore forgotten, superseded, expired or pending memories
///
/// Memories that replaced or contradict a restored memory are superseded. If such a memory is pinned, the restored
/// memory waits in the inbox instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory restore 3fa2c1d9")]
pub(crate) struct RestoreArgs {
    /// Ids of memories, or unique prefixes or suffixes of them
    #[arg(required = true)]
    ids: Vec<String>,
    /// Leave memories that contradict the restored ones active
    #[arg(long)]
    keep_both: bool,
}

/// Link two memories
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory relate 3fa2c1d9 supports 91bc04de")]
pub(crate) struct RelateArgs {
    /// Id of the first memory
    from: String,
    /// supports, contradicts, refines, supersedes, derived_from or related
    relation: RelationType,
    /// Id of the second memory
    to: String,
    /// Reason, recorded with the link
    #[arg(long)]
    reason: Option<String>,
    /// Remove the link; a memory that no other memory supersedes is active again
    #[arg(long)]
    off: bool,
}

pub(crate) fn update(args: &UpdateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let change = MemoryChange {
        content: args.content.clone(),
        title: args.title.clone(),
        summary: args.summary.clone(),
        value: args.value.clone(),
        category: args.category.clone(),
        subject: args.subject.clone(),
        importance: args.importance,
        tags: args.tags.clone(),
        expires_at: args.expires,
        scope: args.scope,
        memory_type: args.memory_type,
        structured: args.structured.clone(),
        confidence: args.confidence,
    };
    let memories = context.memories()?;
    let (memory, is_changed) = memories.update_memory(&args.id, &change, Author::Person)?;
    if memory.status != Status::Active {
        let (id, status) = (memory.id.short(), memory.status);
        context.out.note(format_args!("{id} is still {status}; `afterthought memory restore {id}` makes it active"));
    }
    report(context, &[memory], if is_changed { "updated" } else { "unchanged" })
}

pub(crate) fn pin(args: &PinArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories()?;
    let pinned = memories.pin(&args.ids, !args.off)?;
    report(context, &pinned, if args.off { "unpinned" } else { "pinned" })
}

pub(crate) fn restore(args: &RestoreArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let rivals = if args.keep_both { RivalPolicy::Keep } else { RivalPolicy::Retire };
    let memories = context.memories()?;
    let restored = memories.restore(&args.ids, rivals, Author::Person)?;
    for (memory, restored) in &restored {
        warn_of_rivals(&memory.id, restored, args.keep_both, context);
    }
    let restored: Vec<Memory> = restored.into_iter().map(|(memory, _)| memory).collect();
    report(context, &restored, "restored")
}

fn warn_of_rivals(id: &MemoryId, restored: &Restored, keep_both: bool, context: &Context<'_>) {
    for rival in &restored.rivals {
        let what = one_line(&rival.claim.content, 120);
        let (id, other) = (id.short(), rival.id.short());
        context.out.warn(match (restored.waits, keep_both) {
            (true, _) => format!(
                "{id} waits in the inbox, because {other} is pinned and contradicts it: {what}; `afterthought inbox \
                 accept {id}` replaces {other}"
            ),
            (false, true) => {
                format!("{other}, which replaced or contradicts the restored memory, is kept as well: {what}")
            }
            (false, false) => format!(
                "{other}, which replaced or contradicts the restored memory, is now superseded: {what}; to keep both, \
                 use --keep-both"
            ),
        });
    }
}

pub(crate) fn relate(args: &RelateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories()?;
    // Both ids are resolved first, since both must be unique before either memory is changed.
    let (from, former) = (memories.resolve(&args.from)?.id, memories.resolve(&args.to)?);
    let to = &former.id;
    let word = if args.off {
        if memories.unrelate(from.as_str(), args.relation, to.as_str())? { "unlinked" } else { "unchanged" }
    } else {
        let reason = args.reason.as_deref();
        let (_, is_new) = memories.relate(from.as_str(), args.relation, to.as_str(), reason, Author::Person)?;
        if is_new { "linked" } else { "unchanged" }
    };
    // Both memories are read again, so that their state after the change is printed.
    let both = [memories.get_memory(&from)?, memories.get_memory(to)?];
    let both: Vec<Memory> = both.into_iter().flatten().collect();
    let status = report(context, &both, word)?;
    let is_active_again = |memory: &&Memory| memory.id == *to && memory.status != former.status;
    if args.off
        && let Some(memory) = both.iter().find(is_active_again)
    {
        context.out.note(format_args!("{} is active again, because no other memory supersedes it", memory.id.short()));
    }
    Ok(status)
}

/// Prints the outcome for each memory; returns exit code 1 if there is none.
pub(super) fn report(context: &Context<'_>, changed: &[Memory], word: &str) -> anyhow::Result<ExitStatus> {
    for memory in changed {
        let (id, text) = (memory.id.short(), one_line(&memory.claim.content, 160));
        context.out.show(&memory.clone().printed_at(now()), format_args!("{word} {id} {text}"))?;
    }
    Ok(if changed.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}
