//! The first half of a run: every new window of every conversation, a bounded number at a time.

use std::cell::{Cell, RefCell};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::batch::{MOST_WAITING, Queue};
use super::cut::{Job, jobs};
use super::ledgered::Asking;
use super::restated::drop_restated;
use super::setup::Pipeline;
use super::tally::Tally;
use super::{Event, Extractor, Ledgered, MAX_KNOWN, PipelineError, ReadEvent};
use crate::extract::{self, Extraction, Outcome, Spent, Task, rules, window};
use crate::guard::Redacted;
use crate::llm::Complete;
use crate::memory::{Audience, Candidate, Memory, Namespace};
use crate::store::{BatchWindow, Claimed, Finished, KnownLine, Likeness, StoreError, WindowKey};
use crate::transcript::content_hash;

/// How long a window stays with the process that claimed it; longer than all the retries of a call.
const LEASE: SignedDuration = SignedDuration::from_mins(30);

/// How long it stays so where it may wait for a batch; a process that ends before gives its windows back at once.
const BATCH_LEASE: SignedDuration = SignedDuration::from_hours(72);

/// Extracts every new window that `reader` brings, and writes the results to the ledger.
///
/// Cancelling starts no new window; those in flight are finished, and the summary says that windows were left.
pub(super) async fn extract_all<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    reader: Receiver<ReadEvent>,
    cancel: CancellationToken,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    let halted = || model.and_then(Ledgered::halted).is_some();
    let came_to_the_end = Cell::new(false);
    let end = stream::once(async { came_to_the_end.set(true) }).filter_map(|()| std::future::ready(None));
    let queue = model.and_then(|model| model.queue.as_ref());
    let no_more = stream::once(async { queue.map(Queue::no_more) }).filter_map(|_| std::future::ready(None));
    let outcome = jobs(pipeline, reader, tally)
        .chain(end)
        .take_until(cancel.clone().cancelled_owned())
        .take_while(|_| std::future::ready(!halted()))
        .chain(no_more)
        .map(|job| {
            let working = queue.map(Queue::working);
            async move {
                let done = extract_to_ledger(pipeline, model, job?, tally).await;
                drop(working);
                done
            }
        })
        .buffer_unordered(if queue.is_some() { MOST_WAITING } else { pipeline.options.jobs })
        .try_collect()
        .await;
    tally.borrow_mut().summary.interrupted = cancel.is_cancelled() && !came_to_the_end.get();
    outcome
}

/// Claims a window, extracts it, and writes the result to the ledger.
async fn extract_to_ledger<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    job: Job,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    let (now, messages) = (Timestamp::now(), job.messages());
    let key = WindowKey {
        transcript: job.row,
        extractor: pipeline.extractor.kind().to_owned(),
        start: job.span.start,
        len: messages.len(),
        content_hash: content_hash(messages),
    };
    let kept = kept_for_batch(pipeline, &key)?;
    if kept.as_ref().is_some_and(|kept| kept.is_waiting) && !pipeline.asks_in_batches() {
        tally.borrow_mut().summary.windows.in_batch += 1;
        return Ok(());
    }
    let lease = if pipeline.asks_in_batches() { BATCH_LEASE } else { LEASE };
    let window = match pipeline.store.claim_window(&key, &pipeline.owner, now + lease, now)? {
        Claimed::Yes(window) => window,
        Claimed::AlreadyDone => {
            tally.borrow_mut().summary.windows.known += 1;
            pipeline.note(tally.borrow_mut().files.one_less(job.file));
            return Ok(());
        }
        Claimed::HeldByOther { .. } => {
            tally.borrow_mut().summary.windows.held += 1;
            return Ok(());
        }
    };
    if !tally.borrow_mut().under_way.insert(window) {
        // Another log holds the same words. Should their reading fail, a later run finds this log unfinished.
        tally.borrow_mut().summary.windows.known += 1;
        return Ok(());
    }
    let (known, first) = match kept {
        Some(kept) => (kept.known, kept.first),
        None => (known_memories(pipeline, &job), None),
    };
    if pipeline.asks_in_batches() {
        pipeline.store.keep_batch_window(&key, job.span.start - job.span.context_start, &known)?;
    }
    let asking = model.map(|model| model.about(&key, first));
    let (extraction, candidates) = extract_one(pipeline, asking.as_ref(), &job, &known, tally).await;
    tally.borrow_mut().under_way.remove(&window);
    if asking.is_some_and(|asking| asking.is_left()) {
        let mut tally = tally.borrow_mut();
        tally.summary.spend(extraction.spent);
        tally.summary.windows.in_batch += 1;
        return Ok(pipeline.store.release_window(window, &pipeline.owner)?);
    }
    tally.borrow_mut().extracted(&job, &extraction);
    let finished = Finished {
        outcome: extraction.outcome,
        candidates: &candidates,
        dropped: &extraction.dropped,
        spent: extraction.spent,
        error: extraction.error.as_deref(),
    };
    match pipeline.store.finish_window(window, &pipeline.owner, &finished, Timestamp::now()) {
        // Another process took the window while this one stood still; its result is the one that counts.
        Err(StoreError::NotOwner { .. }) => return Ok(()),
        done => done?,
    }
    if matches!(pipeline.extractor, Extractor::Llm(_)) {
        pipeline.store.drop_batch_window(&key)?;
    }
    if extraction.outcome != Outcome::Failed {
        pipeline.note(tally.borrow_mut().files.one_less(job.file));
    }
    Ok(())
}

/// Returns what an earlier run has kept of a window that it asked about in a batch.
fn kept_for_batch<C: Complete>(pipeline: &Pipeline<'_, C>, key: &WindowKey) -> Result<Option<BatchWindow>, StoreError> {
    match pipeline.extractor {
        Extractor::Llm(_) => pipeline.store.batch_window(key),
        Extractor::Rules => Ok(None),
    }
}

/// Extracts one window.
async fn extract_one<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Asking<'_, '_, C>>,
    job: &Job,
    known: &[Memory],
    tally: &RefCell<Tally<'_>>,
) -> (Extraction, Redacted<Vec<Candidate>>) {
    let messages = job.messages();
    if !window::has_human_signal(messages) {
        tally.borrow_mut().summary.windows.no_signal += 1;
        return (nothing(), pipeline.guard.redact(Vec::new()).0);
    }
    let task = Task {
        transcript: &job.transcript,
        span: job.span,
        known,
        instructions: pipeline.options.instructions.as_deref(),
        categories: &pipeline.options.categories,
    };
    let mut extraction = match (pipeline.extractor, model) {
        (Extractor::Llm(_), Some(model)) => extract::llm::extract(model, pipeline.guard, &task).await,
        (Extractor::Llm(_) | Extractor::Rules, _) => rules::extract(&task),
    };
    if pipeline.options.namespace.is_some() {
        // Where one namespace was asked for, nothing goes to another.
        extraction.candidates.iter_mut().for_each(|candidate| candidate.audience = Audience::Project);
    }
    if !extraction.candidates.is_empty() {
        drop_restated(&mut extraction, &known_context(pipeline, job));
    }
    let (candidates, _) = pipeline.guard.redact(extraction.candidates.clone());
    (extraction, candidates)
}

const fn nothing() -> Extraction {
    Extraction {
        outcome: Outcome::OkEmpty,
        candidates: Vec::new(),
        dropped: Vec::new(),
        spent: Spent { calls: 0, cached: 0, prompt_tokens: 0, completion_tokens: 0 },
        error: None,
    }
}

/// Returns the memories closest to a window, of those that were there when the run began: what the run itself learns
/// must not change its questions, or a run that was interrupted would ask others than one that was not.
fn known_memories<C: Complete>(pipeline: &Pipeline<'_, C>, job: &Job) -> Vec<Memory> {
    if matches!(pipeline.extractor, Extractor::Rules) {
        return Vec::new();
    }
    let text: String = job
        .messages()
        .iter()
        .filter(|message| message.is_human())
        .flat_map(|message| [message.text.as_str(), "\n"])
        .collect();
    let mut spaces: Vec<&Namespace> = vec![&job.place.project, &job.place.user];
    spaces.dedup();
    let found = spaces.into_iter().flat_map(|namespace| {
        // Without neighbours the question is only a little worse; a broken file shows when the result is written.
        let likeness = Likeness { namespace, text: &text, key: None, subject: None };
        pipeline.store.neighbours(&likeness, MAX_KNOWN).unwrap_or_default()
    });
    found.filter(|memory| memory.created_at < pipeline.started_at).take(MAX_KNOWN).collect()
}

/// Returns what agents are told at every start where the conversation was held.
fn known_context<C: Complete>(pipeline: &Pipeline<'_, C>, job: &Job) -> Vec<KnownLine> {
    let mut spaces: Vec<&Namespace> = vec![&job.place.project, &job.place.user];
    spaces.dedup();
    // Without them a repetition is learnt once more; a broken file shows when the result is written.
    spaces.into_iter().flat_map(|namespace| pipeline.store.known_context(namespace).unwrap_or_default()).collect()
}

impl Tally<'_> {
    /// Counts what a window came to.
    fn extracted(&mut self, job: &Job, extraction: &Extraction) {
        self.summary.count(extraction.outcome, extraction.spent);
        for dropped in &extraction.dropped {
            *self.summary.dropped.entry(dropped.reason).or_default() += 1;
        }
        if extraction.outcome == Outcome::Failed || extraction.error.is_some() {
            let place = format!("{} messages {}–{}", job.transcript.key(), job.span.start + 1, job.span.end);
            self.fail(place, extraction.error.as_deref().unwrap_or("nothing of the reply could be used"));
        }
        (self.watch)(&Event::Window(&self.summary));
    }
}
