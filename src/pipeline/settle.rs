//! The second half of a run: what was extracted is consolidated in the order in which it was said, and written.

use std::cell::RefCell;

use jiff::Timestamp;

use super::setup::Pipeline;
use super::tally::Tally;
use super::{Event, Ledgered, PipelineError, Place};
use crate::consolidate::{ApplyError, Incoming, Plan, apply_within, consolidate};
use crate::llm::Complete;
use crate::memory::{Candidate, ExtractionMethod};
use crate::store::{PendingWindow, RunId, StoreError, WindowId};

/// Candidates that are consolidated together: enough for one question about many pairs, few enough for one transaction.
const BATCH: usize = 200;
/// Plans that are made again because another process wrote in between, before giving up.
const MAX_REPLANS: usize = 8;

/// Consolidates and writes every finished window of the ledger that has not been written.
pub(super) async fn settle_ledger<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    run: &RunId,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    loop {
        let batch = next_batch(pipeline)?;
        if batch.is_empty() {
            return Ok(());
        }
        let windows: Vec<WindowId> = batch.iter().map(|window| window.id).collect();
        let incoming: Vec<Incoming> = batch.into_iter().flat_map(incoming_of).collect();
        settle_batch(pipeline, model, run, &windows, incoming, tally).await?;
    }
}

/// Returns the next finished windows with at most [`BATCH`] candidates together, or one window with more.
fn next_batch<C: Complete>(pipeline: &Pipeline<'_, C>) -> Result<Vec<PendingWindow>, PipelineError> {
    let mut count = 0;
    let mut pending = pipeline.store.pending_windows(BATCH)?;
    let fits = pending.iter().take_while(|window| {
        count += window.candidates.len();
        count <= BATCH
    });
    let fitting = fits.count().max(1);
    pending.truncate(fitting);
    Ok(pending)
}

fn incoming_of(window: PendingWindow) -> Vec<Incoming> {
    let place = Place::of_project(window.namespace);
    window.candidates.into_iter().map(|candidate| incoming(candidate, &place, &window.transcript)).collect()
}

fn incoming(candidate: Candidate, place: &Place, transcript: &str) -> Incoming {
    let namespace = place.for_audience(candidate.audience).clone();
    Incoming { candidate, namespace, source: transcript.to_owned(), method: ExtractionMethod::Auto }
}

async fn settle_batch<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    run: &RunId,
    windows: &[WindowId],
    incoming: Vec<Incoming>,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    for _ in 0..MAX_REPLANS {
        let (plan, spent) =
            consolidate(pipeline.store, pipeline.guard, model, incoming.clone(), Timestamp::now()).await?;
        let mut told = tally.borrow_mut();
        told.summary.relation_calls += spent.calls;
        told.summary.spend(spent);
        drop(told);
        // A replanned batch asks the same questions, which the ledger answers.
        let written = pipeline.store.write(Some(run), Timestamp::now(), |writer| {
            // Another process may have settled the same windows meanwhile.
            if writer.mark_windows_applied(windows)? < windows.len() {
                return Err(Taken::Windows);
            }
            apply_within(writer, pipeline.guard, &plan).map_err(Taken::from)
        });
        match written {
            Ok(_) => {
                tracing::info!(windows = windows.len(), changes = plan.changes.len(), "a batch is written");
                tally.borrow_mut().settled(&plan);
                return Ok(());
            }
            Err(Taken::Windows) => return Ok(()),
            Err(Taken::Plan(ApplyError::Stale { .. })) => {}
            Err(Taken::Plan(ApplyError::Store(error))) => return Err(error.into()),
        }
    }
    Err(PipelineError::Contended { attempts: MAX_REPLANS })
}

/// Why a batch was not written.
enum Taken {
    /// Some of its windows were settled by another process; what is left comes with the next batch.
    Windows,
    /// The plan cannot be written.
    Plan(ApplyError),
}

impl From<ApplyError> for Taken {
    fn from(error: ApplyError) -> Self {
        Self::Plan(error)
    }
}

impl From<StoreError> for Taken {
    fn from(error: StoreError) -> Self {
        Self::Plan(error.into())
    }
}

impl Tally<'_> {
    /// Counts what became of a batch, and tells it.
    fn settled(&mut self, plan: &Plan) {
        self.summary.candidates += plan.changes.len() as u64;
        for change in &plan.changes {
            self.summary.waiting += u64::from(change.pending);
            *self.summary.decisions.entry(change.decision).or_default() += 1;
        }
        if plan.failed_calls > 0 {
            let why = "the cautious choice was made: both memories are kept and linked";
            let what = if plan.failed_calls == 1 { "question" } else { "questions" };
            self.fail(format!("{} {what} about memories that are hard to tell apart", plan.failed_calls), why);
        }
        (self.watch)(&Event::Settled(plan));
    }
}
