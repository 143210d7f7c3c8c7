//! The first half of a run: extracts every new window, with a bounded number of requests in flight.

use std::cell::{Cell, RefCell};
use std::pin::pin;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;
use transcripts::{Message, content_hash};

use super::batch::MAX_WAITING;
use super::model::PackModel;
use super::summary::Tally;
use super::windows::{Job, packs};
use super::{CachedModel, Event, Extractor, MAX_KNOWN, Pipeline, PipelineError, ReadEvent};
use crate::extract::{DropReason, Dropped, Extraction, Outcome, Spent, Task, llm, offline, window};
use crate::guard::{DROPPED_MARKER, Guard, Redact as _, is_pasted};
use crate::lifecycle::minor_expiry;
use crate::llm::Complete;
use crate::memory::{Audience, Candidate, Memory, Namespace, Status};
use crate::store::{Claimed, Finished, KnownLine, Likeness, RequestId, WindowId, WindowKey};
use crate::text::normalise::normalised;

/// Extracts every new window from `reader`, and writes the results to the ledger.
///
/// With batches, packs that wait for a reply are set aside and continued in later rounds. After a cancellation, no new
/// window is started. Windows in flight are finished, and the summary reports that windows remain.
pub(super) async fn extract_all<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&CachedModel<'_, C>>,
    reader: Receiver<ReadEvent>,
    cancel: CancellationToken,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    let halted = || model.and_then(CachedModel::halted);
    // Records whether the stream ended normally, because a cancellation after the last window interrupts nothing.
    let at_end = Cell::new(false);
    let end = stream::once(async { at_end.set(true) }).filter_map(|()| std::future::ready(None));
    let packs = packs(pipeline, reader, tally)
        .chain(end)
        .take_until(cancel.clone().cancelled_owned())
        .take_while(|_| std::future::ready(halted().is_none()));
    let (mut packs, jobs) = (pin!(packs), pipeline.options.jobs);
    let queue = model.and_then(|model| model.queue.as_ref());
    let report = |text: &str| (tally.borrow_mut().watch)(&Event::Batch(text));
    loop {
        let begun = Cell::new(0);
        let mut waiting: Vec<ClaimedWindows> = packs
            .as_mut()
            .take(MAX_WAITING)
            .map(|pack| {
                begun.set(begun.get() + 1);
                async move {
                    let claimed = ClaimedWindows::claim(pipeline, pack?, tally)?;
                    extract_claimed(pipeline, model, claimed, tally).await
                }
            })
            .buffer_unordered(jobs)
            .try_filter_map(|pack| std::future::ready(Ok(pack)))
            .try_collect()
            .await?;
        while let Some(queue) = queue.filter(|_| !waiting.is_empty()) {
            if !queue.advance(halted(), &cancel, &report).await? {
                break;
            }
            let (later, ready) = waiting.into_iter().partition(|pack| queue.awaits_any(&pack.unanswered));
            waiting = later;
            let rounds = stream::iter::<Vec<ClaimedWindows>>(ready)
                .map(|pack| extract_claimed(pipeline, model, pack, tally))
                .buffer_unordered(jobs)
                .try_filter_map(|pack| std::future::ready(Ok(pack)));
            waiting.extend(rounds.try_collect::<Vec<_>>().await?);
        }
        for pack in waiting {
            pack.leave(pipeline, tally)?;
        }
        // If there are fewer packs than requested, the stream has ended.
        if begun.get() < MAX_WAITING {
            break;
        }
    }
    tally.borrow_mut().summary.interrupted = cancel.is_cancelled() && !at_end.get();
    Ok(())
}

/// Extracts claimed windows and immediately writes the results to the ledger. Returns the windows if this run still
/// expects a reply for them.
async fn extract_claimed<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&CachedModel<'_, C>>,
    mut claimed: ClaimedWindows,
    tally: &RefCell<Tally<'_>>,
) -> Result<Option<ClaimedWindows>, PipelineError> {
    // Stored replies are read without a pause, so the run must renew its heartbeat in the meantime.
    tokio::task::yield_now().await;
    if claimed.ids.is_empty() {
        return Ok(None);
    }
    let asking = model.map(|model| PackModel {
        model,
        store: pipeline.store,
        windows: claimed.with_context(),
        known: &claimed.known,
        root: Cell::new(claimed.request),
        unanswered: RefCell::default(),
    });
    let extractions = extract(pipeline, asking.as_ref(), &claimed, tally).await;
    if let Some(PackModel { root, unanswered, .. }) = asking
        && !unanswered.borrow().is_empty()
    {
        let (request, unanswered) = (root.get(), unanswered.into_inner());
        claimed.request = request;
        claimed.unanswered = unanswered;
        // The cost is counted only when the windows are finished or given up, because the next round reads the same
        // replies again.
        claimed.spent = Spent::default();
        extractions.iter().for_each(|extraction| claimed.spent += extraction.spent);
        let queue = model.and_then(|model| model.queue.as_ref());
        if queue.is_some_and(|queue| queue.awaits_any(&claimed.unanswered)) {
            return Ok(Some(claimed));
        }
        claimed.leave(pipeline, tally)?;
        return Ok(None);
    }
    write(pipeline, model, &claimed, &extractions, tally)?;
    Ok(None)
}

/// Writes the results of windows to the ledger, and tallies the outcome of each.
fn write<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&CachedModel<'_, C>>,
    claimed: &ClaimedWindows,
    extractions: &[Extraction],
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    for ((id, job), extraction) in claimed.ids.iter().zip(&claimed.jobs).zip(extractions) {
        let mut tally = tally.borrow_mut();
        tally.under_way.remove(id);
        tally.extracted(job, extraction);
    }
    // The model may repeat a secret in a form that was not redacted in the request.
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
        // Replies are deleted only after the windows are written; otherwise a killed run would pay for them again.
        extractions.iter().for_each(|extraction| model.forget(&extraction.useless));
    }
    // If another process claimed windows while this one was suspended, the other process finishes them.
    for ((job, (_, finished)), _) in claimed.jobs.iter().zip(&finished).zip(written).filter(|(_, is_ours)| *is_ours) {
        // A failed or incomplete window keeps its log unfinished, so that the next run opens the log again.
        if finished.outcome != Outcome::Failed && !finished.lacks {
            pipeline.note(tally.borrow_mut().files.one_less(job.file));
        }
    }
    Ok(())
}

/// Extracts the windows of a pack, and discards candidates that must not or need not be stored.
async fn extract<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&PackModel<'_, '_, C>>,
    claimed: &ClaimedWindows,
    tally: &RefCell<Tally<'_>>,
) -> Vec<Extraction> {
    if claimed.are_silent() {
        tally.borrow_mut().summary.windows.no_signal += claimed.jobs.len() as u64;
        return claimed.jobs.iter().map(|_| Extraction::without_calls(Vec::new())).collect();
    }
    let tasks: Vec<Task<'_>> = claimed.jobs.iter().map(|job| task(pipeline, job, &claimed.known)).collect();
    let mut extractions = match (pipeline.extractor, model) {
        (Extractor::Llm(_), Some(model)) => llm::extract(model, pipeline.guard, &tasks).await,
        (Extractor::Llm(_) | Extractor::Rules, _) => tasks.iter().map(offline::extract).collect(),
    };
    for (job, extraction) in claimed.jobs.iter().zip(&mut extractions) {
        if pipeline.options.namespace.is_some() {
            // If the user specified one namespace, nothing is written to any other namespace.
            extraction.candidates.iter_mut().for_each(|candidate| candidate.audience = Audience::Project);
        }
        mark_pasted(&mut extraction.candidates, job.messages());
        if job.transcript.is_among_people() {
            expire_minor_details(&mut extraction.candidates);
        } else if job.transcript.shipped_by.is_some() {
            // A conversation among people has its own namespace, in which nothing applies to the user.
            extraction.candidates.iter_mut().for_each(|candidate| candidate.is_shipped = true);
        }
        if !extraction.candidates.is_empty() {
            drop_restated(extraction, &known_context(pipeline, job));
        }
        drop_personal(extraction, pipeline.guard);
    }
    extractions
}

fn task<'a, C: Complete>(pipeline: &'a Pipeline<'_, C>, job: &'a Job, known: &'a [Memory]) -> Task<'a> {
    let is_meant = |project: &Namespace| *project == job.namespaces.project;
    let instructions = pipeline.options.instructions.as_ref().filter(|one| one.project.as_ref().is_none_or(is_meant));
    Task {
        transcript: &job.transcript,
        span: job.span,
        known,
        instructions: instructions.map(|instructions| instructions.text.as_str()),
        categories: &pipeline.options.categories,
    }
}

/// Returns the memories closest to the windows of a pack, considering only memories that were stored when the run
/// began. Memories learnt during the run must not affect its requests; otherwise, an interrupted run would send
/// different requests from an uninterrupted run.
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
    // A pack never mixes namespaces.
    let mut spaces: Vec<&Namespace> = vec![&first.namespaces.project, &first.namespaces.user];
    // Without a project, or with a forced namespace, both namespaces are the same, and memories would be shown twice.
    spaces.dedup();
    let found = spaces.into_iter().flat_map(|namespace| {
        // Without similar memories, the request is only slightly worse; a later write reports a damaged file.
        let likeness = Likeness { namespace, text: &text, key: None, subject: None };
        pipeline.store.neighbours(&likeness, MAX_KNOWN).unwrap_or_default()
    });
    // Memories that wait for review are not shown to a model.
    let recalled = found.filter(|memory| memory.status == Status::Active);
    let mut known: Vec<Memory> =
        recalled.filter(|memory| memory.created_at < pipeline.started_at).take(MAX_KNOWN).collect();
    let given = pipeline.options.known.iter().filter(|memory| known.iter().all(|one| one.id != memory.id));
    let given: Vec<Memory> = given.take(MAX_KNOWN).cloned().collect();
    known.extend(given);
    known
}

/// Returns the lines of context that agents read at every start in the folder of the conversation.
fn known_context<C: Complete>(pipeline: &Pipeline<'_, C>, job: &Job) -> Vec<KnownLine> {
    let mut spaces: Vec<&Namespace> = vec![&job.namespaces.project, &job.namespaces.user];
    // Without a project, both namespaces are `global`.
    spaces.dedup();
    // Without these lines, their content would be learnt again. A damaged file is reported when the result is written.
    spaces.into_iter().flat_map(|namespace| pipeline.store.known_context(namespace).unwrap_or_default()).collect()
}

impl Tally<'_> {
    /// Counts the outcome of a window.
    fn extracted(&mut self, job: &Job, extraction: &Extraction) {
        self.summary.count(extraction.outcome, extraction.spent);
        for dropped in &extraction.dropped {
            *self.summary.dropped.entry(dropped.reason).or_default() += 1;
        }
        if extraction.outcome == Outcome::Failed || extraction.error.is_some() {
            let place = format!("{} messages {}–{}", job.transcript.key(), job.span.start + 1, job.span.end);
            self.fail(place, extraction.error.as_deref().unwrap_or("no part of the reply could be used"));
        } else if extraction.candidates.is_empty() {
            let (log, from, to) = (&job.transcript.origin, job.span.start + 1, job.span.end);
            (self.watch)(&Event::Detail(&format!("{log}: no memories in messages {from}–{to}")));
        }
        (self.watch)(&Event::Window(&self.summary));
    }
}

/// Time for which a window is reserved for the process that claimed it, which is longer than all retries of a call.
/// Later, another process may claim a window whose request waits in a batch, but the stored request prevents a second
/// submission.
const LEASE: SignedDuration = SignedDuration::from_mins(30);

/// Windows that this run has claimed, in the order of their pack.
#[derive(Default)]
struct ClaimedWindows {
    ids: Vec<WindowId>,
    jobs: Vec<Job>,
    /// The stored request for exactly these windows.
    request: Option<RequestId>,
    /// The memories that are shown to the model with them.
    known: Vec<Memory>,
    /// Requests for the windows whose replies are delivered with a batch.
    unanswered: Vec<String>,
    /// Cost of the last round.
    spent: Spent,
}

impl ClaimedWindows {
    /// Claims the windows of a pack, and tallies the windows that this run does not extract.
    fn claim<C: Complete>(
        pipeline: &Pipeline<'_, C>,
        pack: Vec<Job>,
        tally: &RefCell<Tally<'_>>,
    ) -> Result<Self, PipelineError> {
        let mut claimed = Self::default();
        // A stored request applies only to the windows that it was rendered for, so all windows of the pack must refer
        // to it.
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
            // The reply also covers other windows, or is delivered with a batch, and only runs that use batches collect
            // it.
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
                // Another log has the same text; if its extraction fails, a later run finds this log unfinished.
                Claimed::Yes(_) => tally.summary.windows.known += 1,
                Claimed::AlreadyDone => {
                    tally.summary.windows.known += 1;
                    pipeline.note(tally.files.one_less(job.file));
                }
                Claimed::HeldByOther { .. } => tally.summary.windows.held += 1,
            }
        }
        let mut known = None;
        match stored {
            Some((root, open)) if open.windows == claimed.ids.len() => {
                claimed.request = Some(root);
                known = open.known;
            }
            // Some windows of the request no longer exist, so it cannot be used for the others.
            Some((root, _)) if !claimed.ids.is_empty() => pipeline.store.close_request(root)?,
            Some(_) | None => {}
        }
        claimed.known = known.unwrap_or_else(|| known_memories(pipeline, &claimed.jobs));
        Ok(claimed)
    }

    /// Returns whether no person says anything in these windows, so that no request is needed.
    fn are_silent(&self) -> bool {
        self.jobs.iter().all(|job| !window::has_human_signal(job.messages()))
    }

    /// Returns the windows in the form that a request stores.
    fn with_context(&self) -> Vec<(WindowId, usize)> {
        let context = |job: &Job| job.span.start - job.span.context_start;
        self.ids.iter().copied().zip(self.jobs.iter().map(context)).collect()
    }

    /// Releases the windows without a result, so that a later run uses the reply that the windows wait for.
    fn leave<C: Complete>(self, pipeline: &Pipeline<'_, C>, tally: &RefCell<Tally<'_>>) -> Result<(), PipelineError> {
        let mut tally = tally.borrow_mut();
        tally.summary.spend(self.spent);
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

/// Marks candidates whose evidence consists of text that the writer pasted from elsewhere.
fn mark_pasted(candidates: &mut [Candidate], messages: &[Message]) {
    for candidate in candidates {
        let evidence = &candidate.evidence;
        candidate.is_pasted = !evidence.is_empty()
            && evidence.iter().all(|piece| {
                let said = messages.iter().find(|message| piece.messages.first() == Some(&message.id));
                said.is_some_and(|message| is_pasted(&message.text, &piece.quote))
            });
    }
}

/// Sets an expiry time for minor details of a conversation among people. A claim that replaces a known memory is not a
/// minor detail, and without the time of a statement no expiry is set.
fn expire_minor_details(candidates: &mut [Candidate]) {
    for candidate in candidates.iter_mut().filter(|candidate| candidate.replaces.is_none()) {
        let said = candidate.evidence.iter().filter_map(|piece| piece.said_at).map(|time| time.at).max();
        if let Some(at) = said.and_then(|said| minor_expiry(&candidate.claim, said)) {
            candidate.claim.expires_at = Some(at);
        }
    }
}

/// Drops candidates with personal data that must not be stored in any form.
fn drop_personal(extraction: &mut Extraction, guard: &Guard) {
    extraction.candidates.retain(|candidate| {
        // The marker appears only in redacted text, so a redacted copy is searched.
        let (mut candidate, mut holds) = (guard.redact(candidate.clone()).0.into_inner(), false);
        candidate.edit_texts(&mut |text| holds |= text.contains(DROPPED_MARKER));
        if holds {
            let detail = "it contains personal data that the settings exclude".to_owned();
            extraction.dropped.push(Dropped { reason: DropReason::Secret, detail });
        }
        !holds
    });
}

/// Minimum length of a quote in bytes; a shorter quote appears in too many lines by chance.
const MIN_QUOTE_BYTES: usize = 8;
/// Minimum percentage of a line that a quote must cover to count as a repetition of the line.
const MIN_SHARE: usize = 60;

/// Drops the candidates whose quotes all appear in one known line.
fn drop_restated(extraction: &mut Extraction, lines: &[KnownLine]) {
    if lines.is_empty() {
        return;
    }
    let plain: Vec<(String, &str)> = lines.iter().map(|line| (normalised(&line.text), line.origin.as_str())).collect();
    let before = extraction.candidates.len();
    let dropped = &mut extraction.dropped;
    extraction.candidates.retain(|candidate| {
        let origin = restated(candidate, &plain);
        dropped.extend(origin.map(|origin| Dropped {
            reason: DropReason::KnownContext,
            detail: format!("it only repeats {}", origin.rsplit('/').next().unwrap_or_default()),
        }));
        origin.is_none()
    });
    if before > 0 && extraction.candidates.is_empty() && extraction.outcome == Outcome::Ok {
        extraction.outcome = Outcome::OkEmpty;
    }
}

fn restated<'l>(candidate: &Candidate, lines: &[(String, &'l str)]) -> Option<&'l str> {
    let mut origins = candidate.evidence.iter().map(|evidence| {
        let quote = normalised(&evidence.quote);
        let repeats =
            |line: &str| line.contains(&quote) || quote.contains(line) && line.len() * 100 >= quote.len() * MIN_SHARE;
        let found = lines.iter().find(|(line, _)| quote.len() >= MIN_QUOTE_BYTES && repeats(line));
        found.map(|(_, origin)| *origin)
    });
    // A candidate without evidence repeats nothing.
    let first = origins.next()??;
    origins.all(|origin| origin.is_some()).then_some(first)
}

#[cfg(test)]
mod restated_tests {
    use super::*;
    use crate::extract::Spent;
    use crate::memory::{Audience, Claim, Evidence, MemoryType};

    fn evidence(quote: &str) -> Evidence {
        let (transcript, message) = ("t".to_owned(), "1".to_owned());
        Evidence {
            transcript,
            messages: vec![message],
            quote: quote.to_owned(),
            speaker: None,
            said_at: None,
            content_hash: String::new(),
        }
    }

    fn extraction(quotes: &[&str]) -> Extraction {
        let candidates = quotes.iter().map(|quote| Candidate {
            claim: Claim::new(MemoryType::Semantic, "convention", "t", *quote),
            audience: Audience::Project,
            evidence: vec![evidence(quote)],
            replaces: None,
            is_pasted: false,
            is_shipped: false,
            updates_only: false,
        });
        Extraction {
            outcome: Outcome::Ok,
            candidates: candidates.collect(),
            dropped: Vec::new(),
            spent: Spent::default(),
            error: None,
            useless: Vec::new(),
        }
    }

    #[test]
    fn what_an_agent_is_told_anyway_is_not_learnt_from_its_repetition() {
        let lines = [KnownLine { origin: "AGENTS.md".into(), text: "Use tabs, never spaces.".into() }];
        for (quote, stays) in [
            ("use tabs, never spaces", false),
            ("Remember: use tabs, never spaces!", false),
            ("We use spaces now", true),
            ("tabs", true),
            ("Use tabs, never spaces. And from today on we deploy on Fridays, to Fly.io only", true),
        ] {
            let mut one = extraction(&[quote]);
            drop_restated(&mut one, &lines);
            assert_eq!(one.candidates.len() == 1, stays, "{quote}");
            assert_eq!(one.outcome == Outcome::Ok, stays, "{quote}");
            assert_eq!(one.dropped.len(), usize::from(!stays), "{quote}");
        }
    }
}
