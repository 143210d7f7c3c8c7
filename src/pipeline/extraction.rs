//! The first half of a run: every new window of every conversation, a bounded number of requests at a time.

use std::cell::{Cell, RefCell};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::batch::{MOST_WAITING, Queue};
use super::cut::{Job, packs};
use super::held::ClaimedWindows;
use super::ledgered::PackModel;
use super::restated::drop_restated;
use super::setup::Pipeline;
use super::sift::{drop_personal, mark_pasted};
use super::tally::Tally;
use super::{Event, Extractor, Ledgered, MAX_KNOWN, PipelineError, ReadEvent};
use crate::extract::{Extraction, Outcome, Spent, Task, llm, rules};
use crate::llm::Complete;
use crate::memory::{Audience, Memory, Namespace, Status};
use crate::store::{Finished, KnownLine, Likeness};

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
    let outcome = packs(pipeline, reader, tally)
        .chain(end)
        .take_until(cancel.clone().cancelled_owned())
        .take_while(|_| std::future::ready(!halted()))
        .chain(no_more)
        .map(|pack| {
            let working = queue.map(Queue::working);
            async move {
                let done = extract_to_ledger(pipeline, model, pack?, tally).await;
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

/// Claims the windows of a pack, extracts them, and writes the results to the ledger at once.
async fn extract_to_ledger<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    pack: Vec<Job>,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    let claimed = ClaimedWindows::claim(pipeline, pack, tally)?;
    if claimed.ids.is_empty() {
        return Ok(());
    }
    let shown = claimed.request.as_ref().and_then(|(_, open)| open.known.clone());
    let known = shown.unwrap_or_else(|| known_memories(pipeline, &claimed.jobs));
    let asking = model.map(|model| PackModel {
        model,
        store: pipeline.store,
        windows: claimed.with_context(),
        known: &known,
        root: Cell::new(claimed.request.as_ref().map(|(root, _)| *root)),
        is_left: Cell::new(false),
    });
    let extractions = extract(pipeline, asking.as_ref(), &claimed, &known, tally).await;
    if asking.is_some_and(|asking| asking.is_left.get()) {
        extractions.iter().for_each(|extraction| tally.borrow_mut().summary.spend(extraction.spent));
        return claimed.leave(pipeline, tally);
    }
    write(pipeline, model, &claimed, &extractions, tally)
}

/// Writes to the ledger what came of windows, and tallies how each ended.
fn write<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    claimed: &ClaimedWindows,
    extractions: &[Extraction],
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    for ((id, job), extraction) in claimed.ids.iter().zip(&claimed.jobs).zip(extractions) {
        let mut tally = tally.borrow_mut();
        tally.under_way.remove(id);
        tally.extracted(job, extraction);
    }
    let candidates: Vec<_> =
        extractions.iter().map(|extraction| pipeline.guard.redact(extraction.candidates.clone()).0).collect();
    let finished = extractions.iter().zip(&candidates).zip(&claimed.ids).map(|((extraction, candidates), id)| {
        let Extraction { outcome, dropped, spent, error, useless, .. } = extraction;
        let lacks = !useless.is_empty();
        let (outcome, spent, error) = (*outcome, *spent, error.as_deref());
        (*id, Finished { outcome, candidates, dropped, spent, error, lacks })
    });
    let finished: Vec<_> = finished.collect();
    let written = pipeline.store.finish_windows(&finished, &pipeline.owner, Timestamp::now())?;
    if let Some(model) = model {
        extractions.iter().for_each(|extraction| model.forget(&extraction.useless));
    }
    // What another process took while this one stood still is finished by the other.
    for ((job, (_, finished)), _) in claimed.jobs.iter().zip(&finished).zip(written).filter(|(_, is_ours)| *is_ours) {
        if finished.outcome != Outcome::Failed && !finished.lacks {
            pipeline.note(tally.borrow_mut().files.one_less(job.file));
        }
    }
    Ok(())
}

/// Extracts the windows of a pack, and leaves out what need not be learnt.
async fn extract<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&PackModel<'_, '_, C>>,
    claimed: &ClaimedWindows,
    known: &[Memory],
    tally: &RefCell<Tally<'_>>,
) -> Vec<Extraction> {
    if claimed.are_silent() {
        tally.borrow_mut().summary.windows.no_signal += claimed.jobs.len() as u64;
        return claimed.jobs.iter().map(|_| nothing()).collect();
    }
    let task = |job| task(pipeline, job, known);
    let tasks: Vec<Task<'_>> = claimed.jobs.iter().map(task).collect();
    let mut extractions = match (pipeline.extractor, model) {
        (Extractor::Llm(_), Some(model)) => llm::extract(model, pipeline.guard, &tasks).await,
        (Extractor::Llm(_) | Extractor::Rules, _) => tasks.iter().map(rules::extract).collect(),
    };
    for (job, extraction) in claimed.jobs.iter().zip(&mut extractions) {
        if pipeline.options.namespace.is_some() {
            // Where one namespace was asked for, nothing goes to another.
            extraction.candidates.iter_mut().for_each(|candidate| candidate.audience = Audience::Project);
        }
        mark_pasted(&mut extraction.candidates, job.messages());
        if !extraction.candidates.is_empty() {
            drop_restated(extraction, &known_context(pipeline, job));
        }
        drop_personal(extraction, pipeline.guard);
    }
    extractions
}

fn task<'a, C: Complete>(pipeline: &'a Pipeline<'_, C>, job: &'a Job, known: &'a [Memory]) -> Task<'a> {
    Task {
        transcript: &job.transcript,
        span: job.span,
        known,
        instructions: pipeline.options.instructions.as_deref(),
        categories: &pipeline.options.categories,
    }
}

const fn nothing() -> Extraction {
    Extraction {
        outcome: Outcome::OkEmpty,
        candidates: Vec::new(),
        dropped: Vec::new(),
        spent: Spent { calls: 0, cached: 0, prompt_tokens: 0, completion_tokens: 0 },
        error: None,
        useless: Vec::new(),
    }
}

/// Returns the memories closest to the windows of a pack, of those that were there when the run began: what the run itself learns
/// must not change its questions, or a run that was interrupted would ask others than one that was not.
fn known_memories<C: Complete>(pipeline: &Pipeline<'_, C>, jobs: &[Job]) -> Vec<Memory> {
    let Some(first) = jobs.first().filter(|_| matches!(pipeline.extractor, Extractor::Llm(_))) else {
        return Vec::new();
    };
    let text: String = jobs
        .iter()
        .flat_map(Job::messages)
        .filter(|message| message.is_human())
        .flat_map(|message| [message.text.as_str(), "\n"])
        .collect();
    // The place of one is that of all.
    let mut spaces: Vec<&Namespace> = vec![&first.place.project, &first.place.user];
    spaces.dedup();
    let found = spaces.into_iter().flat_map(|namespace| {
        // Without neighbours the question is only a little worse; a broken file shows when the result is written.
        let likeness = Likeness { namespace, text: &text, key: None, subject: None };
        pipeline.store.neighbours(&likeness, MAX_KNOWN).unwrap_or_default()
    });
    // What waits for a person is shown to no model.
    let recalled = found.filter(|memory| memory.status == Status::Active);
    recalled.filter(|memory| memory.created_at < pipeline.started_at).take(MAX_KNOWN).collect()
}

/// Returns what agents are told at every start where the conversation was claimed.
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
