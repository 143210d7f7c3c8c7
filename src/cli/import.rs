//! `import`: memories from a file.

use std::path::PathBuf;

use afterthought::consolidate::{self, Decision, Incoming};
use afterthought::exchange::{Imported, import_as_is, parse_line};
use afterthought::guard::Guard;
use afterthought::ingest::{Records, Sink, open};
use afterthought::memory::{Audience, Candidate, MemoryId, Namespace, Status};
use afterthought::store::Store;
use serde_json::json;

use super::args::{Context, now};
use super::exit::ExitStatus;

/// Import memories from JSONL: an export of ours, or objects with at least "content"
///
/// Importing a file again changes nothing. Secrets are taken out. With --consolidate each memory is settled with what
/// is known, and one line a memory says how.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  afterthought export --all > memories.jsonl\n  afterthought --db other.db import memories.jsonl"
)]
pub struct ImportArgs {
    /// File of one memory a line, or - for standard input
    file: PathBuf,
    /// Settle each memory with what is known, instead of taking it as it is
    #[arg(long)]
    consolidate: bool,
}

pub fn run(args: &ImportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let namespace = context.settings()?.namespace.value.unwrap_or_else(Namespace::global);
    let (memories, failed) = read(args, &namespace, context)?;
    let (store, guard) = (context.store()?, Guard::default());
    if args.consolidate {
        settle(&store, &guard, memories, context)?;
    } else {
        let counts = import_as_is(&store, &guard, memories, now())?;
        if context.out.is_json() {
            context.out.json(&json!({"added": counts.added, "known": counts.known, "failed": failed}))?;
        } else {
            context
                .out
                .line(format_args!("{} added, {} known already, {failed} failed", counts.added, counts.known))?;
        }
    }
    Ok(if failed > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}

/// Reads the file; a bad line is told and counted.
fn read(args: &ImportArgs, namespace: &Namespace, context: &Context<'_>) -> anyhow::Result<(Vec<Imported>, usize)> {
    let mut ignore = |_| {};
    let mut sink = Sink::new(&mut ignore);
    let mut records = Records::lines(open(&args.file)?);
    let (mut memories, mut failed) = (Vec::new(), 0);
    while let Some(record) = records.next(&mut sink)? {
        match parse_line(&record.text, record.number, namespace, now()) {
            Ok(imported) => memories.push(imported),
            Err(error) => {
                failed += 1;
                context.out.warn(format_args!("{}: {error}", args.file.display()));
            }
        }
    }
    for skipped in &sink.skipped {
        context.out.warn(format_args!("{}:{}: {}", args.file.display(), skipped.record, skipped.reason));
    }
    Ok((memories, failed + sink.skipped.len()))
}

fn settle(store: &Store, guard: &Guard, memories: Vec<Imported>, context: &Context<'_>) -> anyhow::Result<()> {
    // What was superseded or forgotten where it comes from must not come to life here.
    let (alive, ended): (Vec<_>, Vec<_>) =
        memories.into_iter().partition(|imported| imported.memory.status == Status::Active);
    for Imported { memory, .. } in &ended {
        let reason = format!("it is {} in the file", memory.status);
        tell(context, &memory.claim.content, Decision::Skip, None, &reason)?;
    }
    let incoming = alive.into_iter().map(|imported| Incoming {
        candidate: Candidate {
            claim: imported.memory.claim,
            audience: Audience::Project,
            evidence: imported.evidence,
            replaces: None,
        },
        namespace: imported.memory.namespace,
        source: imported.memory.source,
        method: imported.memory.extraction_method,
    });
    let plan = consolidate::settle_by_rules(store, guard, &incoming.collect::<Vec<_>>(), None, now())?;
    for change in &plan.changes {
        let text = &change.incoming.candidate.claim.content;
        tell(context, text, change.decision, change.target.as_ref(), &change.reason)?;
    }
    Ok(())
}

/// Tells how one memory of the file was settled.
fn tell(
    context: &Context<'_>,
    content: &str,
    decision: Decision,
    target: Option<&MemoryId>,
    reason: &str,
) -> anyhow::Result<()> {
    if context.out.is_json() {
        let value = json!({"incoming": content, "decision": decision, "target": target, "reason": reason});
        return Ok(context.out.json(&value)?);
    }
    let line = super::printer::one_line(content, 120);
    Ok(context.out.line(format_args!("{:<10} {line} ({reason})", decision.as_str()))?)
}
