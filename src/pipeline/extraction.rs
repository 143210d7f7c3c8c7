//! The first half of a run: every new window of every conversation, a bounded number of requests at a time.

use std::cell::{Cell, RefCell};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::cut::{Job, packs};
use super::restated::drop_restated;
use super::setup::Pipeline;
use super::sift::{drop_personal, mark_pasted};
use super::tally::Tally;
use super::{Event, Extractor, Ledgered, MAX_KNOWN, PipelineError, ReadEvent};
use crate::extract::{Extraction, Outcome, Spent, Task, llm, rules, window};
use crate::llm::Complete;
use crate::memory::{Audience, Memory, Namespace, Status};
use crate::store::{Claimed, Finished, KnownLine, Likeness, WindowId, WindowKey};
use crate::transcript::content_hash;

/// How long a window stays with the process that claimed it; longer than all the retries of a call.
const LEASE: SignedDuration = SignedDuration::from_mins(30);

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
    let outcome = packs(pipeline, reader, tally)
        .chain(end)
        .take_until(cancel.clone().cancelled_owned())
        .take_while(|_| std::future::ready(!halted()))
        .map(|pack| async { extract_to_ledger(pipeline, model, pack?, tally).await })
        .buffer_unordered(pipeline.options.jobs)
        .try_collect()
        .await;
    tally.borrow_mut().summary.interrupted = cancel.is_cancelled() && !came_to_the_end.get();
    outcome
}

/// A window that this run holds.
struct Held {
    id: WindowId,
    job: Job,
}

/// Claims the windows of a pack, extracts them, and writes the results to the ledger at once.
async fn extract_to_ledger<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    pack: Vec<Job>,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    let held: Vec<Held> =
        pack.into_iter().filter_map(|job| claim(pipeline, job, tally).transpose()).collect::<Result<_, _>>()?;
    let ids: Vec<WindowId> = held.iter().map(|one| one.id).collect();
    // Known before the request is sent, so that the same is asked should this process die meanwhile.
    pipeline.store.remember_pack(&ids, &pipeline.owner)?;
    let extractions = extract(pipeline, model, &held, tally).await;
    for id in &ids {
        tally.borrow_mut().under_way.remove(id);
    }
    let candidates: Vec<_> =
        extractions.iter().map(|extraction| pipeline.guard.redact(extraction.candidates.clone()).0).collect();
    let finished = extractions.iter().zip(&candidates).zip(ids).map(|((extraction, candidates), id)| {
        let Extraction { outcome, dropped, spent, error, useless, .. } = extraction;
        let lacks = !useless.is_empty();
        let (outcome, spent, error) = (*outcome, *spent, error.as_deref());
        (id, Finished { outcome, candidates, dropped, spent, error, lacks })
    });
    let finished: Vec<_> = finished.collect();
    let written = pipeline.store.finish_windows(&finished, &pipeline.owner, Timestamp::now())?;
    if let Some(model) = model {
        extractions.iter().for_each(|extraction| model.forget(&extraction.useless));
    }
    for ((one, (_, finished)), is_written) in held.iter().zip(&finished).zip(written) {
        // What another process took while this one stood still is finished by the other.
        if is_written && finished.outcome != Outcome::Failed && !finished.lacks {
            pipeline.note(tally.borrow_mut().files.one_less(one.job.file));
        }
    }
    Ok(())
}

/// Returns the window if it is this run's to extract, and tallies it if not.
fn claim<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    job: Job,
    tally: &RefCell<Tally<'_>>,
) -> Result<Option<Held>, PipelineError> {
    let (now, messages) = (Timestamp::now(), job.messages());
    let key = WindowKey {
        transcript: job.row,
        extractor: pipeline.extractor.kind().to_owned(),
        start: job.span.start,
        len: messages.len(),
        content_hash: content_hash(messages),
    };
    let claimed = pipeline.store.claim_window(&key, &pipeline.owner, now + LEASE, now)?;
    let mut tally = tally.borrow_mut();
    match claimed {
        Claimed::Yes(id) if tally.under_way.insert(id) => return Ok(Some(Held { id, job })),
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

/// Extracts the windows of a pack, and tallies how each ended.
async fn extract<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&Ledgered<'_, C>>,
    held: &[Held],
    tally: &RefCell<Tally<'_>>,
) -> Vec<Extraction> {
    if held.iter().all(|one| !window::has_human_signal(one.job.messages())) {
        tally.borrow_mut().summary.windows.no_signal += held.len() as u64;
        return held.iter().map(|_| nothing()).collect();
    }
    let known = known_memories(pipeline, held);
    let tasks: Vec<Task<'_>> = held
        .iter()
        .map(|one| Task {
            transcript: &one.job.transcript,
            span: one.job.span,
            known: &known,
            instructions: pipeline.options.instructions.as_deref(),
            categories: &pipeline.options.categories,
        })
        .collect();
    let mut extractions = match (pipeline.extractor, model) {
        (Extractor::Llm(_), Some(model)) => llm::extract(model, pipeline.guard, &tasks).await,
        (Extractor::Llm(_) | Extractor::Rules, _) => tasks.iter().map(rules::extract).collect(),
    };
    for (one, extraction) in held.iter().zip(&mut extractions) {
        if pipeline.options.namespace.is_some() {
            // Where one namespace was asked for, nothing goes to another.
            extraction.candidates.iter_mut().for_each(|candidate| candidate.audience = Audience::Project);
        }
        mark_pasted(&mut extraction.candidates, one.job.messages());
        if !extraction.candidates.is_empty() {
            drop_restated(extraction, &known_context(pipeline, &one.job));
        }
        drop_personal(extraction, pipeline.guard);
        tally.borrow_mut().extracted(&one.job, extraction);
    }
    extractions
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
fn known_memories<C: Complete>(pipeline: &Pipeline<'_, C>, held: &[Held]) -> Vec<Memory> {
    let Some(first) = held.first().filter(|_| matches!(pipeline.extractor, Extractor::Llm(_))) else {
        return Vec::new();
    };
    let text: String = held
        .iter()
        .flat_map(|one| one.job.messages())
        .filter(|message| message.is_human())
        .flat_map(|message| [message.text.as_str(), "\n"])
        .collect();
    // The place of one is that of all.
    let mut spaces: Vec<&Namespace> = vec![&first.job.place.project, &first.job.place.user];
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
