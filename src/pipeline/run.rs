//! Executes a run, from the first file to the summary.

use std::cell::RefCell;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::consolidate::consolidate_windows;
use super::extract::extract_all;
use super::summary::{Summary, Tally};
use super::{CachedModel, Event, Extractor, HEARTBEAT, Pipeline, PipelineError, end_run, keep_alive};
use crate::extract::offline::warnings;
use crate::llm::Complete;
use crate::store::{PlanLedger, RunId};

/// Reads, extracts, consolidates and writes; resumes an interrupted run of the same command with the same `arguments`.
///
/// Failures along the way are listed in the summary. After a cancellation, no new window is started. Windows in flight
/// are finished, and the results are written.
///
/// # Errors
/// [`PipelineError`] if nothing can be read or the database cannot be written; finished windows remain in the ledger.
pub async fn run<C: Complete>(
    pipeline: Pipeline<'_, C>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Summary, PipelineError> {
    let model = pipeline.model();
    warn_of_instructions(&pipeline, watch);
    go(pipeline, model, arguments, cancel, watch).instrument(tracing::info_span!("run")).await
}

/// Warns about any of the person's instructions that the offline rules cannot follow.
fn warn_of_instructions<C: Complete>(pipeline: &Pipeline<'_, C>, watch: &mut dyn FnMut(&Event<'_>)) {
    let instructions =
        pipeline.options.instructions.as_ref().filter(|_| matches!(pipeline.extractor, Extractor::Rules));
    for warning in instructions.map(|instructions| warnings(&instructions.text)).unwrap_or_default() {
        watch(&Event::Warning(&warning));
    }
}

/// A plan, with the state of the database that the plan is based on.
#[derive(Debug)]
pub(crate) struct RunPlan {
    /// Counts and costs. There is no run ID, because the run is dropped.
    pub summary: Summary,
    /// Number of the last database change that the plan takes into account.
    pub seen: i64,
    /// The conversations and windows that were read for the plan; they count as read when the plan is applied.
    pub ledger: PlanLedger,
}

/// Performs [`run`] on a copy of the memories, which is dropped; the changes are reported as [`Event::Consolidated`].
///
/// Replies of a model are kept in the ledger, so that a later run does not pay for them again.
///
/// # Errors
/// The same errors as [`run`].
pub(crate) async fn plan<C: Complete>(
    pipeline: Pipeline<'_, C>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<RunPlan, PipelineError> {
    // The model uses the real store, so that replies that were paid for during planning are kept.
    let model = pipeline.model();
    warn_of_instructions(&pipeline, watch);
    let copy = pipeline.store.copy_in_memory()?;
    let seen = copy.last_change()?;
    let summary = go(Pipeline { store: &copy, ..pipeline }, model, arguments, cancel, watch).await?;
    let run = summary.run.clone().map(RunId::from_stored);
    let ledger = run.map(|run| copy.plan_ledger(&run)).transpose()?.unwrap_or_default();
    let ledger = ledger.with_attributions(summary.attributions.clone());
    Ok(RunPlan { summary: Summary { run: None, ..summary }, seen, ledger })
}

async fn go<C: Complete>(
    mut pipeline: Pipeline<'_, C>,
    model: Option<CachedModel<'_, C>>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Summary, PipelineError> {
    let reader = pipeline.start_reading()?;
    let queue = model.as_ref().and_then(|model| model.queue.as_ref());
    // The server is checked before anything is written, so that a run without batch support leaves no trace.
    if let Some(queue) = queue {
        queue.check().await?;
    }
    let run = pipeline.store.begin_run("run", arguments, Timestamp::now())?;
    tracing::info!(run = run.id.as_str(), extractor = pipeline.extractor.label(), "a run begins");
    pipeline.owner = run.id.as_str().to_owned();
    // The start time of the interrupted run is used, so that requests show the same known memories.
    pipeline.started_at = run.started_at;
    let summary =
        Summary { run: Some(pipeline.owner.clone()), extractor: pipeline.extractor.label(), ..Summary::default() };
    let tally = RefCell::new(Tally::new(summary, watch));
    let work = async {
        if let Some(queue) = queue {
            queue.begin(&pipeline.owner).await?;
        }
        extract_all(&pipeline, model.as_ref(), reader, cancel.clone(), &tally).await?;
        consolidate_windows(&pipeline, model.as_ref(), &run.id, &tally).await
    };
    let outcome = keep_alive(pipeline.store, &run.id, HEARTBEAT, work).await;
    let mut summary = tally.into_inner().summary;
    if let Some(queue) = queue {
        let (counts, unclaimed) = queue.counts();
        summary.batches = counts;
        summary.spend(unclaimed);
        summary.interrupted |= cancel.is_cancelled() && summary.windows.in_batch > 0;
    }
    summary.cost = pipeline.budget.spent_cost();
    let fault = model.as_ref().and_then(|model| model.halted().or_else(|| model.queue.as_ref()?.fault()));
    summary.halted = fault.map(|error| error.to_string());
    // Only counts are logged, because diagnostics at this level must not contain any text from conversations.
    tracing::info!(
        run = run.id.as_str(),
        is_finished = outcome.is_ok(),
        windows = summary.windows.total,
        failed = summary.windows.failed,
        candidates = summary.candidates,
        calls = summary.llm_calls,
        "a run ended"
    );
    // The end is recorded after an error as well, so that the run does not look interrupted.
    end_run(pipeline.store, &run.id, outcome.is_ok() && !summary.has_read_nothing(), &summary)?;
    outcome.map(|()| summary)
}
