//! `import --consolidate`: memories that another extractor made, settled with what is known.

use afterthought::config::Config;
use afterthought::consolidate::{Change, Decision, Incoming, SavedPlan};
use afterthought::exchange::Imported;
use afterthought::llm::Source;
use afterthought::memory::{Audience, Candidate, Status};
use afterthought::pipeline::{self, Arrival, CachedModel, Settled, settle_imported};
use afterthought::store::{PlanLedger, RunStatus, Store};
use serde_json::json;

use super::Job;
use crate::cli::apply;
use crate::cli::args::now;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{DIM, Printer, counted, one_line};
use crate::cli::run::{model_settings, reachable, runtime, source};

/// What became of one memory of the files.
enum Outcome {
    /// It is retired in the file itself.
    Ended { content: String, status: Status },
    /// It was settled, as the change with this place says.
    Settled(usize),
}

pub(super) fn settle(job: &mut Job<'_>, config: &Config) -> anyhow::Result<ExitStatus> {
    let (mut outcomes, mut arrivals) = (Vec::new(), Vec::new());
    for imported in std::mem::take(&mut job.gathered) {
        // What was superseded or forgotten where it comes from must not come to life here.
        if imported.memory.status == Status::Active {
            outcomes.push(Outcome::Settled(arrivals.len()));
            arrivals.push(arrival(imported));
        } else {
            let content = job.guard.redact(imported.memory.claim.content).0.into_inner();
            outcomes.push(Outcome::Ended { content, status: imported.memory.status });
        }
    }
    let runtime = runtime()?;
    let replays = job.args.asking.replay.is_some();
    let settings =
        if replays { model_settings(config)? } else { runtime.block_on(reachable(config, job.context.out))? };
    let with_model = pipeline::choose(config.extractor.value, settings.is_some() || replays)?;
    let source = if with_model { Some(source(&job.args.asking, config, settings, &job.guard)?) } else { None };
    let (settled, fault) = runtime.block_on(written(job, config, source.as_ref(), arrivals))?;
    tell(&outcomes, &settled, job.context.out)?;
    Ok(told_trouble(&settled, fault.as_deref(), job.context.out))
}

fn arrival(imported: Imported) -> Arrival {
    let Imported { memory, has_id, evidence, .. } = imported;
    let candidate =
        Candidate { claim: memory.claim, audience: Audience::Project, evidence, replaces: None, is_pasted: false };
    let incoming =
        Incoming { candidate, namespace: memory.namespace, source: memory.source, method: memory.extraction_method };
    Arrival { incoming, id: has_id.then_some(memory.id), at: memory.created_at }
}

/// Settles, in a copy where nothing is to be written; returns why the model was not asked to the end, too.
async fn written(
    job: &Job<'_>,
    config: &Config,
    source: Option<&Source<'_>>,
    arrivals: Vec<Arrival>,
) -> anyhow::Result<(Settled, Option<String>)> {
    let label = source.map_or(String::new(), |source| afterthought::llm::Complete::model(source).to_owned());
    let budget = job.args.asking.budget(config, &label, &job.store)?;
    // Answers are kept where they are found again, also those to a dry run.
    let model = source.map(|source| CachedModel::new(source, &job.store, &job.guard, &budget));
    let copy = if job.args.dry_run { Some(job.store.copy_in_memory()?) } else { None };
    let store = copy.as_ref().unwrap_or(&job.store);
    let seen = store.last_change()?;
    let settled = as_run(job, store, model.as_ref(), arrivals).await?;
    if let Some(path) = &job.args.out {
        let changes = settled.changes.iter().map(|(_, change)| change.clone()).collect();
        let plan = SavedPlan::new(store.identity()?, seen, changes, PlanLedger::default(), now());
        apply::save(path, &plan, job.context.out)?;
    }
    let fault = model.and_then(|model| model.halted()).map(|error| error.to_string());
    Ok((settled, fault))
}

async fn as_run(
    job: &Job<'_>,
    store: &Store,
    model: Option<&CachedModel<'_, Source<'_>>>,
    arrivals: Vec<Arrival>,
) -> anyhow::Result<Settled> {
    let arguments = json!({ "paths": job.args.paths, "consolidate": true });
    let run = store.begin_run("import", &arguments, now())?.id;
    let settled = settle_imported(store, &job.guard, model, arrivals, &run).await;
    let (status, summary) = match &settled {
        Ok(settled) => (RunStatus::Finished, summary(settled)),
        Err(_) => (RunStatus::Failed, json!({})),
    };
    store.finish_run(&run, status, &summary, now())?;
    let settled = settled?;
    if !job.args.dry_run && settled.changes.iter().any(|(_, change)| change.decision != Decision::Skip) {
        job.context
            .out
            .note(format_args!("{DIM}`afterthought undo {}` takes it back{DIM:#}", job.store.short_run_id(&run)?));
    }
    Ok(settled)
}

fn summary(settled: &Settled) -> serde_json::Value {
    let mut decisions: std::collections::BTreeMap<Decision, u64> =
        Decision::ALL.iter().map(|decision| (*decision, 0)).collect();
    for (_, change) in &settled.changes {
        *decisions.entry(change.decision).or_default() += 1;
    }
    let spent = settled.spent;
    json!({
        "decisions": decisions, "llm_calls": spent.calls, "cached_replies": spent.cached,
        "prompt_tokens": spent.prompt_tokens, "completion_tokens": spent.completion_tokens,
        "failed_calls": settled.failed_calls,
    })
}

/// Tells what became of each memory, in the order of the files.
fn tell(outcomes: &[Outcome], settled: &Settled, out: &Printer) -> anyhow::Result<()> {
    let mut by_place: Vec<Option<&Change>> = vec![None; settled.changes.len()];
    for (place, change) in &settled.changes {
        by_place[*place] = Some(change);
    }
    for outcome in outcomes {
        match outcome {
            Outcome::Ended { content, status } => {
                let reason = format!("it is {status} in the file");
                one(content, Decision::Skip, &json!(null), &reason, None, out)?;
            }
            Outcome::Settled(place) => {
                let Some(change) = by_place.get(*place).copied().flatten() else { continue };
                let content = &change.incoming.candidate.claim.content;
                one(content, change.decision, &json!(change.target), &change.reason, Some(change), out)?;
            }
        }
    }
    Ok(())
}

fn one(
    content: &str,
    decision: Decision,
    target: &serde_json::Value,
    reason: &str,
    change: Option<&Change>,
    out: &Printer,
) -> anyhow::Result<()> {
    if !out.is_json() {
        let line = one_line(content, 120);
        let waits = if change.is_some_and(|change| change.pending) { ", waits in the inbox" } else { "" };
        return Ok(out.line(format_args!("{:<10} {line} ({reason}{waits})", decision.as_str()))?);
    }
    let mut value = json!({ "incoming": content, "decision": decision, "target": target, "reason": reason });
    if let Some(change) = change {
        if let Some(conflict) = change.conflict {
            value["conflict"] = json!(conflict);
        }
        for (name, is_so) in [("born_superseded", change.born_superseded), ("pending", change.pending)] {
            if is_so {
                value[name] = json!(true);
            }
        }
    }
    Ok(out.json(&value)?)
}

fn told_trouble(settled: &Settled, fault: Option<&str>, out: &Printer) -> ExitStatus {
    let spent = settled.spent;
    if spent.calls > 0 {
        let tokens = spent.prompt_tokens + spent.completion_tokens;
        out.note(format_args!("{}, {tokens} tokens", counted(spent.calls, "call")));
    }
    if let Some(fault) = fault {
        out.error_text(&format!("the model was not asked to the end: {fault}"));
    }
    if settled.failed_calls > 0 {
        out.error_text(&format!(
            "{} about memories that are hard to tell apart failed: both memories are kept and linked",
            counted(settled.failed_calls, "question")
        ));
    }
    if fault.is_some() || settled.failed_calls > 0 { ExitStatus::Failures } else { ExitStatus::Success }
}
