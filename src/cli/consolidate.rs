//! `consolidate`: runs a full pass over all memories.

use crate::api::pass::{Event, PassChange, Report};
use crate::api::{Action, ConsolidationOptions, FullSummary, RunId};
use crate::memory::Namespace;
use anyhow::ensure;
use indicatif::ProgressBar;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::args::{Context, no_memories};
use super::exit::ExitStatus;
use super::model::{ModelArgs, runtime, stop_on_interrupt};
use super::printer::{ADDED, BOLD, CHANGED, DIM, Printer, counted, one_line, set_message};

/// Maximum length of a memory's text that is printed, in characters.
const SHOWN: usize = 140;

/// Merge and link memories, and resolve contradictions
///
/// Compares all memories of each namespace. A model, if configured, decides unclear cases.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought db consolidate --dry-run\n  afterthought db consolidate --namespace project/shop --extractor rules\n  afterthought db consolidate --max-cost 0.10"
)]
pub(crate) struct ConsolidateArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Show what would change, but write no memories
    #[arg(long)]
    dry_run: bool,
    /// Reapply changes that `undo` reverted
    #[arg(long)]
    again: bool,
    /// Add a job for each namespace to the queue in this PostgreSQL database instead
    #[cfg(feature = "scale")]
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["dry_run", "again"])]
    queue: Option<String>,
}

impl ConsolidateArgs {
    /// Whether the command writes the changes instead of only showing them.
    pub(crate) fn writes(&self) -> bool {
        #[cfg(feature = "scale")]
        if self.queue.is_some() {
            return false;
        }
        !self.dry_run
    }
}

pub(crate) fn run(args: &ConsolidateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    #[cfg(feature = "scale")]
    if let Some(address) = &args.queue {
        return super::queue::add_to_all(address, crate::api::JobKind::Consolidate, context);
    }
    ensure!(args.model.jobs != Some(0), "--jobs 0 would do nothing; give at least 1");
    let config = context.global.settings(args.model.settings())?;
    let path = &config.db.value;
    // This is checked before a model is chosen, which may contact a server; opening would create an empty database.
    if !path.exists() {
        context.out.note(no_memories(path));
        return Ok(ExitStatus::NoMatch);
    }
    let runtime = runtime()?;
    let model = runtime.block_on(args.model.choose(&config, context.out))?;
    let memories = context.memories_with(args.model.settings())?;
    let (out, cancel) = (context.out, CancellationToken::new());
    let bar = out.progress();
    let mut watch = |event: &Event<'_>| follow(event, &bar, out, args.dry_run);
    let work = async {
        stop_on_interrupt(cancel.clone(), args.model.grace);
        let options = ConsolidationOptions {
            namespace: context.global.namespace.clone(),
            dry_run: args.dry_run,
            again: args.again,
            cancel: cancel.clone(),
        };
        memories.consolidate_with(&model, options, &mut watch).await
    };
    let summary = runtime.block_on(work);
    bar.finish_and_clear();
    // The spinner is cleared first, since it would otherwise stay on the line of the error.
    let summary = summary?;
    print_summary(&summary, args.dry_run, out)?;
    let is_whole = !summary.interrupted && summary.total.failed_calls == 0 && summary.halted.is_none();
    Ok(if is_whole { ExitStatus::Success } else { ExitStatus::Failures })
}

fn follow(event: &Event<'_>, bar: &ProgressBar, out: &Printer, dry_run: bool) {
    match event {
        Event::LookedUp(namespace, done, all) => {
            set_message(bar, &format!("{namespace}: {done} of {all} memories looked up"));
        }
        Event::Step(namespace, step) => set_message(bar, &format!("{namespace}: {step}")),
        Event::Did(namespace, changes) => bar.suspend(|| {
            for change in *changes {
                if dry_run {
                    // A closed pipe must not end the pass; printing the summary reports the error again.
                    show(change, namespace, out).ok();
                } else {
                    out.detail(format_args!(
                        "{}: {} ({})",
                        change.action.as_str(),
                        one_line(&change.about, SHOWN),
                        change.reason
                    ));
                }
            }
        }),
        Event::Held(_, what) => bar.suspend(|| out.note(format_args!("not changed: {}", one_line(what, SHOWN)))),
    }
}

/// Prints a change that would be made.
fn show(change: &PassChange, namespace: &Namespace, out: &Printer) -> std::io::Result<()> {
    let (name, reason) = (change.action.as_str(), &change.reason);
    if out.is_json() {
        let value = json!({
            "namespace": namespace, "step": name, "about": change.about, "beside": change.beside, "reason": reason,
        });
        return out.json(&value);
    }
    let style = match change.action {
        Action::Derived | Action::Listed | Action::Linked => ADDED,
        _ => CHANGED,
    };
    let about = one_line(&change.about, SHOWN);
    out.line(format_args!("{style}{name:<12}{style:#} {about} {DIM}({reason}; {namespace}){DIM:#}"))?;
    match &change.beside {
        Some(beside) => out.line(format_args!("{:<12} {DIM}{}{DIM:#}", "", one_line(beside, SHOWN))),
        None => Ok(()),
    }
}

fn print_summary(summary: &FullSummary, dry_run: bool, out: &Printer) -> anyhow::Result<()> {
    if out.is_json() {
        return Ok(out.json(summary)?);
    }
    let rows = summary.namespaces.iter().filter(|one| !one.report.steps.is_empty());
    let rows = rows.map(|one| {
        let count = |steps: &[Action]| steps.iter().map(|step| done(&one.report, *step)).sum::<u64>().to_string();
        [
            one.namespace.to_string(),
            one.report.memories.to_string(),
            one.report.active.to_string(),
            count(&[Action::Duplicate, Action::Refined]),
            count(&[Action::Contradicted]),
            count(&[Action::Conflict]),
            count(&[Action::Listed]),
            count(&[Action::Derived, Action::Recounted]),
            count(&[Action::TaskClosed]),
            count(&[Action::Linked]),
        ]
    });
    let header =
        ["namespace", "before", "after", "merged", "resolved", "to inbox", "lists", "derived", "closed", "links"];
    out.table(header, rows)?;
    let total = &summary.total;
    let changes: u64 = total.steps.values().sum();
    let would = if dry_run { "would be " } else { "" };
    out.line(format_args!(
        "{BOLD}{}{BOLD:#} {would}made in {}: {} before, {} after; {}, {} answered by stored replies",
        counted(changes, "change"),
        counted(summary.namespaces.len(), "namespace"),
        counted(total.memories, "memory"),
        total.active,
        counted(summary.llm_calls, "call"),
        summary.cached_replies,
    ))?;
    if let Some(cost) = summary.cost.filter(|cost| *cost > 0.0) {
        out.line(format_args!("${cost:.4} with {}", summary.extractor))?;
    }
    warn(summary, out);
    if let Some(run) = summary.run.as_deref().filter(|_| changes > 0) {
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", RunId::from_stored(run).short()));
    }
    Ok(())
}

fn warn(summary: &FullSummary, out: &Printer) {
    let total = &summary.total;
    if let Some(why) = &summary.halted {
        out.warn(format_args!("no further requests were sent: {why}"));
    }
    if total.failed_calls > 0 {
        let calls = counted(total.failed_calls, "call");
        out.warn(format_args!("{calls} failed; the memories concerned stay separate, and the next pass asks again"));
    }
    if total.not_asked > 0 {
        out.note(format_args!("{} left for the next pass, to limit the cost", counted(total.not_asked, "question")));
    }
    if summary.interrupted {
        out.warn("interrupted; the other namespaces are left for the next pass");
    }
}

fn done(report: &Report, step: Action) -> u64 {
    report.steps.get(&step).copied().unwrap_or(0)
}
