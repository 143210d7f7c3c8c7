//! The windows that this run has claimed, and the stored request that they wait for.

use std::cell::RefCell;

use jiff::{SignedDuration, Timestamp};

use super::cut::Job;
use super::setup::Pipeline;
use super::tally::Tally;
use super::PipelineError;
use crate::extract::window;
use crate::llm::Complete;
use crate::store::{Claimed, OpenRequest, RequestId, WindowId, WindowKey};
use transcripts::content_hash;

/// How long a window stays with the process that claimed it; longer than all the retries of a call. A window whose
/// request waits in a batch may be claimed by another process then: the request says that it is not to be sent again.
const LEASE: SignedDuration = SignedDuration::from_mins(30);

/// Windows that this run has claimed, in the order of their pack.
#[derive(Default)]
pub(super) struct ClaimedWindows {
    pub(super) ids: Vec<WindowId>,
    pub(super) jobs: Vec<Job>,
    /// The stored request about exactly these windows.
    pub(super) request: Option<(RequestId, OpenRequest)>,
}

impl ClaimedWindows {
    /// Claims the windows of a pack, and tallies those that are not this run's to extract.
    pub(super) fn claim<C: Complete>(
        pipeline: &Pipeline<'_, C>,
        pack: Vec<Job>,
        tally: &RefCell<Tally<'_>>,
    ) -> Result<Self, PipelineError> {
        let mut claimed = Self::default();
        let stored = match pack.first().and_then(Job::stored) {
            Some(root) if pack.iter().all(|job| job.stored() == Some(root)) => {
                pipeline.store.open_request(root)?.map(|open| (root, open))
            }
            _ => None,
        };
        if let Some((_, open)) = &stored
            && open.is_out
            && (!pipeline.asks_in_batches() || open.windows != pack.len())
        {
            // The answer is about other windows, too, or comes with a batch, which only a run with batches takes.
            tally.borrow_mut().summary.windows.in_batch += pack.len() as u64;
            return Ok(claimed);
        }
        let keys: Vec<WindowKey> = pack.iter().map(|job| key(pipeline, job)).collect();
        let now = Timestamp::now();
        let outcomes = pipeline.store.claim_windows(&keys, &pipeline.owner, now + LEASE, now)?;
        for (job, outcome) in pack.into_iter().zip(outcomes) {
            let mut tally = tally.borrow_mut();
            match outcome {
                Claimed::Yes(id) if tally.under_way.insert(id) => {
                    claimed.ids.push(id);
                    claimed.jobs.push(job);
                }
                // Another log holds the same words. Should their reading fail, a later run finds this log unfinished.
                Claimed::Yes(_) => tally.summary.windows.known += 1,
                Claimed::AlreadyDone => {
                    tally.summary.windows.known += 1;
                    pipeline.note(tally.files.one_less(job.file));
                }
                Claimed::HeldByOther { .. } => tally.summary.windows.held += 1,
            }
        }
        claimed.request = match stored {
            Some((root, open)) if open.windows == claimed.ids.len() => Some((root, open)),
            Some((root, _)) if !claimed.ids.is_empty() => {
                // Not all of its windows are there any more, so it is of no use for the others.
                pipeline.store.close_request(root)?;
                None
            }
            Some(_) | None => None,
        };
        Ok(claimed)
    }

    /// Whether nobody says anything in them, so that they cost no request.
    pub(super) fn are_silent(&self) -> bool {
        self.jobs.iter().all(|job| !window::has_human_signal(job.messages()))
    }

    /// Returns the windows as a request about them is stored.
    pub(super) fn with_context(&self) -> Vec<(WindowId, usize)> {
        let context = |job: &Job| job.span.start - job.span.context_start;
        self.ids.iter().copied().zip(self.jobs.iter().map(context)).collect()
    }

    /// Gives the windows back without a result: a later run takes the answer that they wait for.
    pub(super) fn leave<C: Complete>(
        &self,
        pipeline: &Pipeline<'_, C>,
        tally: &RefCell<Tally<'_>>,
    ) -> Result<(), PipelineError> {
        let mut tally = tally.borrow_mut();
        for id in &self.ids {
            tally.under_way.remove(id);
            tally.summary.windows.in_batch += 1;
            pipeline.store.release_window(*id, &pipeline.owner)?;
        }
        Ok(())
    }
}

fn key<C: Complete>(pipeline: &Pipeline<'_, C>, job: &Job) -> WindowKey {
    let messages = job.messages();
    WindowKey {
        transcript: job.row,
        extractor: pipeline.extractor.kind().to_owned(),
        start: job.span.start,
        len: messages.len(),
        content_hash: content_hash(messages),
    }
}
