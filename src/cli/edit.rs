//! `update`, `pin`, `restore` and `relate`: what a person changes by hand.

use afterthought::api::unit_importance;
use afterthought::changeset::Action;
use afterthought::consolidate::{self, Rivals};
use afterthought::guard::Guard;
use afterthought::memory::{MemoryId, Relation, RelationType};
use afterthought::store::{Deed, Store, StoreError};
use anyhow::bail;

use super::args::{Context, note, now, time};
use super::exit::ExitStatus;
use super::inspect::resolve_all;
use super::printer::one_line;

/// Edit a memory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory update 3fa2c1d9 --importance 0.9 --tag deploy")]
pub struct UpdateArgs {
    /// Id of a memory, or a unique start of it
    id: String,
    /// New text
    #[arg(long)]
    content: Option<String>,
    /// New title
    #[arg(long)]
    title: Option<String>,
    /// New category
    #[arg(long)]
    category: Option<String>,
    /// New subject
    #[arg(long)]
    subject: Option<String>,
    /// New importance, 0–1 or 2–10
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    importance: Option<f64>,
    /// New tag, replacing all tags; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Option<Vec<String>>,
    /// Time after which it is no longer recalled, e.g. 2027-01-31
    #[arg(long, value_name = "TIME", value_parser = time)]
    expires: Option<jiff::Timestamp>,
}

/// Pin memories, so that nothing changes them without you
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory pin 3fa2c1d9")]
pub struct PinArgs {
    /// Ids of memories, or unique starts of them
    #[arg(required = true)]
    ids: Vec<String>,
    /// Unpin
    #[arg(long)]
    off: bool,
}

/// Restore forgotten, superseded, expired or pending memories
///
/// Memories that replaced or contradict them are superseded in turn. Where one of those is pinned, the restored memory waits
/// in the inbox instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory restore 3fa2c1d9")]
pub struct RestoreArgs {
    /// Ids of memories, or unique starts of them
    #[arg(required = true)]
    ids: Vec<String>,
    /// Keep the memories that contradict them active
    #[arg(long)]
    keep_both: bool,
}

/// Link two memories
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory relate 3fa2c1d9 supports 91bc04de")]
pub struct RelateArgs {
    /// Id of the memory that relates
    from: String,
    /// supports, contradicts, refines, supersedes, derived_from or related
    relation: RelationType,
    /// Id of the memory it relates to
    to: String,
    /// Reason, for the record
    #[arg(long)]
    reason: Option<String>,
    /// Remove the link
    #[arg(long)]
    off: bool,
}

pub fn update(args: &UpdateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = context.settings()?;
    if let Some(category) = args.category.as_ref().filter(|name| !config.categories.value.contains(name)) {
        bail!("{category:?} is no category; use one of {}", config.categories.value.join(", "));
    }
    let importance = args.importance.map(unit_importance).transpose()?;
    let (store, audit) = (context.store()?, context.audit()?);
    let id = store.resolve(&args.id)?;
    let changed = store.write(None, now(), |writer| {
        let mut memory = writer.memory(&id)?;
        let claim = &mut memory.claim;
        set(&mut claim.content, args.content.clone());
        set(&mut claim.title, args.title.clone());
        set(&mut claim.category, args.category.clone());
        set(&mut claim.importance, importance);
        set(&mut claim.tags, args.tags.clone());
        claim.subject = args.subject.clone().or_else(|| claim.subject.take());
        claim.expires_at = args.expires.or(claim.expires_at);
        let (memory, _) = Guard::default().redact(memory);
        writer.update(&memory, Action::Update, Some("by hand"))
    })?;
    if changed {
        note(audit, Deed::Update, std::slice::from_ref(&id))?;
    }
    report(context, &store, &[id], if changed { "updated" } else { "unchanged" })
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

pub fn pin(args: &PinArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let store = context.store()?;
    let ids = resolve_all(&store, &args.ids)?;
    store.write(None, now(), |writer| ids.iter().try_for_each(|id| writer.set_pinned(id, !args.off).map(drop)))?;
    report(context, &store, &ids, if args.off { "unpinned" } else { "pinned" })
}

pub fn restore(args: &RestoreArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (store, audit) = (context.store()?, context.audit()?);
    let ids = resolve_all(&store, &args.ids)?;
    let rivals = if args.keep_both { Rivals::Keep } else { Rivals::Retire };
    let restored = store.write(None, now(), |writer| {
        ids.iter().map(|id| consolidate::restore(writer, id, rivals)).collect::<Result<Vec<_>, StoreError>>()
    })?;
    note(audit, Deed::Restore, &ids)?;
    for (id, restored) in ids.iter().zip(&restored) {
        for rival in &restored.rivals {
            let what = one_line(&rival.claim.content, 120);
            let (id, other) = (store.short_id(id)?, store.short_id(&rival.id)?);
            context.out.warn(match (restored.waits, args.keep_both) {
                (true, _) => format!(
                    "{id} waits in the inbox, since {other} is pinned and both cannot hold: {what}; `afterthought inbox \
                     accept {id}` puts it in its place"
                ),
                (false, true) => format!("{other}, which had taken its place or contradicts it, stays, too: {what}"),
                (false, false) => format!(
                    "{other}, which had taken its place or contradicts it, is superseded now: {what}; --keep-both would \
                     leave it"
                ),
            });
        }
    }
    report(context, &store, &ids, "restored")
}

pub fn relate(args: &RelateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let store = context.store()?;
    let (from, to) = (store.resolve(&args.from)?, store.resolve(&args.to)?);
    let (reason, _) = Guard::default().redact(args.reason.clone());
    let relation = Relation {
        from: from.clone(),
        to: to.clone(),
        relation_type: args.relation,
        reason: reason.into_inner(),
        created_at: now(),
    };
    let changed = store.write(None, now(), |writer| {
        if args.off { writer.unrelate(&from, args.relation, &to) } else { writer.relate(&relation) }
    })?;
    let word = match (changed, args.off) {
        (true, false) => "linked",
        (true, true) => "unlinked",
        (false, _) => "unchanged",
    };
    report(context, &store, &[from, to], word)
}

/// Tells what became of each memory; exits 1 where there was none.
pub(super) fn report(context: &Context<'_>, store: &Store, ids: &[MemoryId], word: &str) -> anyhow::Result<ExitStatus> {
    for id in ids {
        let memory = match store.memory(id) {
            Ok(memory) => memory,
            Err(StoreError::UnknownMemory { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        if context.out.is_json() {
            context.out.json(&memory)?;
        } else {
            context.out.line(format_args!(
                "{word} {} {}",
                store.short_id(id)?,
                one_line(&memory.claim.content, 160)
            ))?;
        }
    }
    Ok(if ids.is_empty() { ExitStatus::NoMatch } else { ExitStatus::Success })
}
