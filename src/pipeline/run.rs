//! One run from its first file to its summary.

use std::cell::RefCell;
use std::pin::pin;

use futures::future::{self, Either};
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::Pipeline;
use super::consolidate::consolidate_windows;
use super::extract::extract_all;
use super::summary::Tally;
use super::{CachedModel, Event, HEARTBEAT, PipelineError, ReadEvent, Summary, keep_alive, read};
use crate::llm::Complete;
use crate::store::{PlanLedger, RunId, RunStatus};

/// Reads, extracts, consolidates and writes; goes on with an interrupted run of the same command and `arguments`.
///
/// What fails on the way is in the summary. Cancelling starts no new window, finishes those in flight, and writes what
/// is there.
///
/// # Errors
/// [`PipelineError`] if nothing can be read or the database cannot be written; the ledger keeps what was finished.
pub async fn run<C: Complete>(
    pipeline: Pipeline<'_, C>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Summary, PipelineError> {
    let model = pipeline.model();
    go(pipeline, model, arguments, cancel, watch).await
}

/// What a plan came to.
#[derive(Debug)]
pub struct Planned {
    /// Counts and costs; no run is named, since none is left.
    pub summary: Summary,
    /// Number of the last change of the database that the plan knows of.
    pub seen: i64,
    /// What was read for it, which counts as read where the plan is applied.
    pub ledger: PlanLedger,
}

/// Does what [`run`] does to a copy of the memories, which is dropped: the changes are told as [`Event::Settled`].
///
/// Replies of a model are kept in the ledger, so that the run that follows does not pay for them again.
///
/// # Errors
/// As [`run`].
pub async fn plan<C: Complete>(
    pipeline: Pipeline<'_, C>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Planned, PipelineError> {
    let model = pipeline.model();
    let copy = pipeline.store.copy_in_memory()?;
    let seen = copy.last_change()?;
    let summary = go(Pipeline { store: &copy, ..pipeline }, model, arguments, cancel, watch).await?;
    let run = summary.run.clone().map(RunId::from_stored);
    let ledger = run.map(|run| copy.plan_ledger(&run)).transpose()?.unwrap_or_default();
    Ok(Planned { summary: Summary { run: None, ..summary }, seen, ledger })
}

async fn go<C: Complete>(
    mut pipeline: Pipeline<'_, C>,
    model: Option<CachedModel<'_, C>>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Summary, PipelineError> {
    pipeline.look_up_projects()?;
    let reader = read::start(
        &pipeline.options.sources,
        &pipeline.options.selection,
        pipeline.finished()?,
        pipeline.guard.clone(),
    )?;
    if let Some(queue) = model.as_ref().and_then(|model| model.queue.as_ref()) {
        queue.check().await?;
    }
    let run = pipeline.store.begin_run("run", arguments, Timestamp::now())?;
    tracing::info!(run = run.id.as_str(), extractor = pipeline.extractor.label(), "a run begins");
    pipeline.owner = run.id.as_str().to_owned();
    pipeline.started_at = run.started_at;
    let tally = RefCell::new(Tally::new(begin(&pipeline), watch));
    tally.borrow_mut().summary.run = Some(pipeline.owner.clone());
    let work = async {
        extract(&pipeline, model.as_ref(), reader, cancel, &tally).await?;
        consolidate_windows(&pipeline, model.as_ref(), &run.id, &tally).await
    };
    let outcome = keep_alive(pipeline.store, &run.id, HEARTBEAT, work).await;
    let mut summary = tally.into_inner().summary;
    close(&pipeline, model.as_ref(), &mut summary);
    finish(&pipeline, &run.id, &outcome, &summary)?;
    outcome.map(|()| summary)
}

/// Extracts every new window, and where questions are gathered, sees to it that they are answered.
async fn extract<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&CachedModel<'_, C>>,
    reader: Receiver<ReadEvent>,
    cancel: CancellationToken,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    let work = extract_all(pipeline, model, reader, cancel.clone(), tally);
    let Some((model, queue)) = model.and_then(|model| Some((model, model.queue.as_ref()?))) else {
        return work.await;
    };
    queue.begin(&pipeline.owner).await?;
    let tell = |text: &str| (tally.borrow_mut().watch)(&Event::Batch(text));
    let outcome = match future::select(pin!(work), pin!(queue.drive(|| model.halted(), &cancel, &tell))).await {
        Either::Left((done, _)) => done,
        Either::Right((Err(error), _)) => Err(error),
    };
    let (counts, unclaimed) = queue.counts();
    let mut tally = tally.borrow_mut();
    tally.summary.batches = counts;
    tally.summary.spend(unclaimed);
    tally.summary.interrupted |= cancel.is_cancelled() && tally.summary.windows.in_batch > 0;
    outcome
}

fn begin<C: Complete>(pipeline: &Pipeline<'_, C>) -> Summary {
    Summary { extractor: pipeline.extractor.label(), ..Summary::default() }
}

/// Adds what is known only at the end: the cost, and why the model was not asked to the end.
fn close<C: Complete>(pipeline: &Pipeline<'_, C>, model: Option<&CachedModel<'_, C>>, summary: &mut Summary) {
    summary.cost = pipeline.budget.spent_cost();
    let fault = model.and_then(|model| model.halted().or_else(|| model.queue.as_ref()?.fault()));
    if let Some(error) = fault {
        summary.halted = Some(error.to_string());
    }
}

fn finish<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    run: &RunId,
    outcome: &Result<(), PipelineError>,
    summary: &Summary,
) -> Result<(), PipelineError> {
    let status = if outcome.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
    tell_end(run, status, summary);
    let value = serde_json::to_value(summary).expect("a summary holds nothing that JSON cannot");
    Ok(pipeline.store.finish_run(run, status, &value, Timestamp::now())?)
}

/// Counts only: at this level, nothing that was said stands in the diagnostics.
fn tell_end(run: &RunId, status: RunStatus, summary: &Summary) {
    tracing::info!(
        run = run.as_str(),
        ?status,
        windows = summary.windows.total,
        failed = summary.windows.failed,
        candidates = summary.candidates,
        calls = summary.llm_calls,
        "a run ended"
    );
}
