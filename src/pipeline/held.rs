//! The windows of a pack that this run holds: how they are claimed, and given back without a result.

use std::cell::RefCell;

use jiff::{SignedDuration, Timestamp};

use super::cut::Job;
use super::setup::Pipeline;
use super::tally::Tally;
use super::{Extractor, PipelineError};
use crate::extract::window;
use crate::llm::Complete;
use crate::memory::Memory;
use crate::store::{Claimed, KeptPack, StoreError, WindowId, WindowKey};
use transcripts::content_hash;

/// How long a window stays with the process that claimed it; longer than all the retries of a call.
const LEASE: SignedDuration = SignedDuration::from_mins(30);

/// How long it stays so where it may wait for a batch; a process that ends before gives its windows back at once.
const BATCH_LEASE: SignedDuration = SignedDuration::from_hours(72);

/// Windows that this run holds, in the order of their pack. The lists are of the same length.
#[derive(Default)]
pub(super) struct Held {
    pub(super) ids: Vec<WindowId>,
    pub(super) keys: Vec<WindowKey>,
    pub(super) jobs: Vec<Job>,
}

/// What makes the request of a pack the one that an earlier run has paid for.
#[derive(Default)]
pub(super) struct Former {
    /// The memories that it showed.
    pub(super) known: Option<Vec<Memory>>,
    /// The first request, by hash, with the hash of its frame.
    pub(super) first: Option<(String, String)>,
}

impl Held {
    /// Claims the windows of a pack, and tallies those that are not this run's to extract.
    pub(super) fn claim<C: Complete>(
        pipeline: &Pipeline<'_, C>,
        pack: Vec<Job>,
        tally: &RefCell<Tally<'_>>,
    ) -> Result<Self, PipelineError> {
        let mut held = Self::default();
        for job in pack {
            let key = key(pipeline, &job);
            if let Some(id) = claim(pipeline, &key, &job, tally)? {
                held.ids.push(id);
                held.keys.push(key);
                held.jobs.push(job);
            }
        }
        Ok(held)
    }

    /// Whether nobody says anything in them, so that they cost no request.
    pub(super) fn are_silent(&self) -> bool {
        self.jobs.iter().all(|job| !window::has_human_signal(job.messages()))
    }

    /// Returns what an earlier run has kept of their request, or `None` if they are to be left alone, since some of them
    /// wait for an answer that is about others, too.
    pub(super) fn former<C: Complete>(&self, pipeline: &Pipeline<'_, C>) -> Result<Option<Former>, StoreError> {
        if matches!(pipeline.extractor, Extractor::Rules) {
            return Ok(Some(Former::default()));
        }
        Ok(match pipeline.store.batch_pack(&self.keys)? {
            KeptPack::Same(kept) => Some(Former { known: Some(kept.known), first: kept.first }),
            KeptPack::Nothing => Some(Former::default()),
            KeptPack::Parted => None,
        })
    }

    /// Notes what is about to be asked, so that the same is asked should this process die meanwhile.
    pub(super) fn remember<C: Complete>(
        &self,
        pipeline: &Pipeline<'_, C>,
        known: &[Memory],
    ) -> Result<(), PipelineError> {
        pipeline.store.remember_pack(&self.ids, &pipeline.owner)?;
        if pipeline.asks_in_batches() && !self.are_silent() {
            let contexts: Vec<usize> = self.jobs.iter().map(|job| job.span.start - job.span.context_start).collect();
            pipeline.store.keep_batch_windows(&self.keys, &contexts, known)?;
        }
        Ok(())
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

/// Returns the window if it is this run's to extract, and tallies it if not.
fn claim<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    key: &WindowKey,
    job: &Job,
    tally: &RefCell<Tally<'_>>,
) -> Result<Option<WindowId>, PipelineError> {
    let asks_directly = matches!(pipeline.extractor, Extractor::Llm(_)) && !pipeline.asks_in_batches();
    if asks_directly && pipeline.store.batch_window(key)?.is_some_and(|kept| kept.is_waiting) {
        tally.borrow_mut().summary.windows.in_batch += 1;
        return Ok(None);
    }
    let (now, lease) = (Timestamp::now(), if pipeline.asks_in_batches() { BATCH_LEASE } else { LEASE });
    let claimed = pipeline.store.claim_window(key, &pipeline.owner, now + lease, now)?;
    let mut tally = tally.borrow_mut();
    match claimed {
        Claimed::Yes(id) if tally.under_way.insert(id) => return Ok(Some(id)),
        // Another log holds the same words. Should their reading fail, a later run finds this log unfinished.
        Claimed::Yes(_) => tally.summary.windows.known += 1,
        Claimed::AlreadyDone => {
            tally.summary.windows.known += 1;
            pipeline.note(tally.files.one_less(job.file));
        }
        Claimed::HeldByOther { .. } => tally.summary.windows.held += 1,
    }
    Ok(None)
}
