//! Provider batches: gathers requests, submits them, collects the replies, and recovers interrupted submissions.
//!
//! Extraction with batches proceeds in rounds. A round extracts each pack of windows as far as the stored replies
//! allow. A request without a reply is gathered here, and its pack is set aside. [`BatchQueue::advance`] submits the
//! gathered requests and waits until the state of a request changes. The next round continues the packs that received
//! replies, using the stored requests and replies. The progress of a batch at the provider is written to the database
//! before each step; see [`crate::store::Stage`].
//!
//! A few requests are sent directly, at full price. The last [`FEW`] of a run cost only cents. The first shows whether
//! the server accepts such requests, before the run waits for a batch for up to a day.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::PipelineError;
use crate::extract::Spent;
use crate::fault::point;
use crate::guard::Guard;
use crate::llm::batch::{MAX_BYTES, MAX_REQUESTS, RowAnswer};
use crate::llm::remote_batch::{BatchStatus, RemoteBatch, Row, read_rows};
use crate::llm::{Budget, Client, Cost, LlmError, Reply, Request, Reservation};
use crate::store::{Batch, BatchReply, BatchRequest, Stage, Store, StoreError, WindowId};

/// Maximum number of packs of windows that wait at the same time, which limits memory use.
pub(super) const MAX_WAITING: usize = 10_000;
/// Maximum number of remaining requests that are sent directly rather than in a batch.
const FEW: usize = 4;
/// Maximum number of batches that a request is part of.
const MAX_ROUNDS: u32 = 2;
/// Maximum number of submissions of a batch if the responses are lost and the provider does not list the batch.
const MAX_CREATIONS: u32 = 3;
/// Time to wait for a batch to appear in the provider's list.
const LISTED_AFTER: Duration = Duration::from_secs(2);
/// Delay before the second status check of a batch; the delay grows by half after each check.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Maximum delay between two status checks.
const LONGEST_WAIT: Duration = Duration::from_mins(2);
/// Number of consecutive status checks that may fail before the batch is left to a later run.
const MAX_FAILED_LOOKS: u32 = 5;
/// Maximum time for which a submission may still be in progress after the process that sent it has ended.
const LATE: SignedDuration = SignedDuration::from_secs(10);
/// Pause between two requests for the provider's list.
const PAUSE: Duration = Duration::from_secs(1);

/// Options for using batches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batching<'a> {
    /// The client of the server that answers the requests.
    pub client: &'a Client,
    /// Whether the run waits for the replies or leaves them to a later run.
    pub waits: bool,
}

/// Counts of the batches of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct BatchCounts {
    /// Batches that were submitted.
    pub submitted: u64,
    /// Requests in the submitted batches.
    pub requests: u64,
    /// Batches, submitted by this or an earlier run, whose results were collected.
    pub collected: u64,
    /// Replies in the collected batches.
    pub answered: u64,
    /// Requests that were returned without a reply and are sent again.
    pub asked_again: u64,
    /// Requests that were returned without a reply and are not sent again.
    pub failed: u64,
    /// Lines of reply files that could not be read.
    pub broken_lines: u64,
    /// Requests that the provider still has when the run ends.
    pub waiting: u64,
}

impl BatchCounts {
    /// Returns whether all counts are zero.
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The outcome of a gathered request that is not answered in a batch.
#[derive(Clone)]
pub(super) enum Outcome {
    /// The request is sent directly.
    Direct,
    /// The request failed for a reason that affects only this request.
    Failed(LlmError),
    /// The request failed for a reason that also affects other requests.
    Refused(LlmError),
}

/// Reasons why a run stops submitting and collecting.
enum Stop {
    /// The user chose not to wait.
    NotWaiting,
    /// The user interrupted the run.
    Interrupted,
    /// The provider could not be reached.
    Fault(LlmError),
}

/// A gathered request without a reply.
struct Waiting<'a> {
    request: Request,
    /// Number of batches that contained the request.
    rounds: u32,
    reservation: Option<Reservation<'a>>,
}

#[derive(Default)]
struct State<'a> {
    /// Requests without a reply, by key.
    waiting: HashMap<String, Waiting<'a>>,
    /// The waiting requests that are not in a batch, in the order in which they were gathered.
    pending: Vec<String>,
    outcomes: HashMap<String, Outcome>,
    /// Requests that this run has paid for, each with the window that its cost is attributed to.
    paid: HashMap<String, Option<WindowId>>,
    /// Requests that are in batches of other servers.
    elsewhere: HashSet<String>,
    /// The reason why no further requests are submitted.
    stop: Option<Stop>,
    /// Whether a request has been sent directly, to find out whether the server accepts such requests.
    is_sounded: bool,
    counts: BatchCounts,
    /// Cost of replies that no window of this run has used.
    unclaimed: Spent,
}

/// The requests of one run that are answered in batches.
pub(super) struct BatchQueue<'a> {
    batching: Batching<'a>,
    store: &'a Store,
    guard: &'a Guard,
    budget: &'a Budget,
    model: &'a str,
    /// The id of the run.
    owner: OnceCell<String>,
    state: RefCell<State<'a>>,
}

/// Callback that reports events of batches.
pub(super) type Report<'t> = &'t dyn Fn(&str);

/// A request and its line in the input file of a batch.
struct Line {
    key: String,
    prompt_tokens: u64,
    text: String,
}

/// Operations for extraction.
impl<'a> BatchQueue<'a> {
    pub(super) fn new(
        batching: Batching<'a>,
        store: &'a Store,
        guard: &'a Guard,
        budget: &'a Budget,
        model: &'a str,
    ) -> Self {
        Self { batching, store, guard, budget, model, owner: OnceCell::new(), state: RefCell::default() }
    }

    /// Checks that the provider supports batches, before anything else is done.
    pub(super) async fn check(&self) -> Result<(), LlmError> {
        self.client().check_batches().await
    }

    /// Prepares the queue for the run `owner`, and recovers batches whose process ended during submission.
    ///
    /// # Errors
    /// [`PipelineError::Model`] if the provider cannot be reached; no window has been started in that case.
    pub(super) async fn begin(&self, owner: &str) -> Result<(), PipelineError> {
        self.owner.get_or_init(|| owner.to_owned());
        for batch in self.open_here()? {
            self.recover(batch).await?;
        }
        Ok(())
    }

    /// Gathers a request that has no stored reply. Returns the outcome if the request is not answered in a batch.
    pub(super) fn ask(&self, key: &str, request: &Request) -> Result<Option<Outcome>, StoreError> {
        let mut state = self.state.borrow_mut();
        // A pack repeats its requests in every round, so their outcomes must be kept.
        if let Some(outcome) = state.outcomes.get(key) {
            return Ok(Some(outcome.clone()));
        }
        // After a stop, nothing further is submitted, so the windows are left to a later run.
        if state.stop.is_some() || state.waiting.contains_key(key) {
            return Ok(None);
        }
        match self.store.batch_of(key)? {
            // Only the server that has the batch can return the reply.
            Some(batch) if batch.endpoint != self.client().address() => {
                let is_new = state.elsewhere.insert(key.to_owned());
                state.counts.waiting += u64::from(is_new);
                return Ok(None);
            }
            Some(_) => {}
            None => state.pending.push(key.to_owned()),
        }
        state.waiting.insert(key.to_owned(), Waiting { request: request.clone(), rounds: 0, reservation: None });
        Ok(None)
    }

    /// Records the outcome of a request that was sent directly, for the next round of its pack, whose first window is
    /// `window`.
    pub(super) fn sent_directly(&self, key: &str, window: Option<WindowId>, error: Option<&LlmError>) {
        let mut state = self.state.borrow_mut();
        let outcome = state.outcomes.remove(key);
        match error {
            None => drop(state.paid.insert(key.to_owned(), window)),
            // Another process has added the request to a batch in the meantime.
            Some(LlmError::InBatch) => drop(outcome),
            Some(error) => drop(state.outcomes.insert(key.to_owned(), Outcome::Failed(error.clone()))),
        }
    }

    /// Returns the cost of a stored reply for `window`. The cost counts as paid if this run paid for the reply and
    /// `window` is the first to use it.
    pub(super) fn cost(&self, key: &str, window: Option<WindowId>) -> Cost {
        match self.state.borrow_mut().paid.get_mut(key) {
            Some(owner) if owner.is_none() || *owner == window => {
                *owner = window;
                Cost::Call
            }
            Some(_) | None => Cost::Cached,
        }
    }

    /// Returns whether this run still expects a reply to at least one of these requests.
    pub(super) fn awaits_any(&self, keys: &[String]) -> bool {
        let state = self.state.borrow();
        keys.iter().any(|key| state.waiting.contains_key(key))
    }

    /// Returns the counts of this run, and the cost of replies that no window of this run has used.
    pub(super) fn counts(&self) -> (BatchCounts, Spent) {
        let state = self.state.borrow();
        (state.counts, state.unclaimed)
    }

    /// Returns the error that stopped submission, if there was one.
    pub(super) fn fault(&self) -> Option<LlmError> {
        match &self.state.borrow().stop {
            Some(Stop::Fault(error)) => Some(error.clone()),
            Some(Stop::Interrupted | Stop::NotWaiting) | None => None,
        }
    }

    /// Submits the gathered requests and waits until the state of at least one request changes. Returns `false` if this
    /// run receives no further replies.
    ///
    /// # Errors
    /// [`PipelineError::Store`] if the database cannot be used.
    pub(super) async fn advance(
        &self,
        halted: Option<LlmError>,
        cancel: &CancellationToken,
        report: Report<'_>,
    ) -> Result<bool, PipelineError> {
        if let Some(error) = halted
            && self.refuse_pending(&error)
        {
            return Ok(true);
        }
        let stop = if cancel.is_cancelled() {
            Some(Stop::Interrupted)
        } else if self.grant_direct() {
            return Ok(true);
        } else {
            match self.submit_pending(report).await? {
                None => self.collect(cancel, report).await?,
                stop => stop,
            }
        };
        let Some(stop) = stop else { return Ok(true) };
        let mut state = self.state.borrow_mut();
        let pending = std::mem::take(&mut state.pending).len();
        let waiting = std::mem::take(&mut state.waiting).len();
        // Pending requests were never submitted, so they do not count as waiting at the provider.
        state.counts.waiting += waiting.saturating_sub(pending) as u64;
        if !matches!(stop, Stop::NotWaiting) {
            // Even if this run does not wait, it may submit later windows.
            state.stop.get_or_insert(stop);
        }
        Ok(false)
    }

    fn client(&self) -> &'a Client {
        self.batching.client
    }

    fn owner(&self) -> &str {
        self.owner.get().map_or("", String::as_str)
    }

    /// Ends a request that was not answered in a batch, and releases its reserved budget.
    fn end(&self, key: &str, outcome: Outcome) {
        let mut state = self.state.borrow_mut();
        if state.waiting.remove(key).is_some() {
            state.outcomes.insert(key.to_owned(), outcome);
        }
    }

    fn refuse_pending(&self, error: &LlmError) -> bool {
        let pending = std::mem::take(&mut self.state.borrow_mut().pending);
        pending.iter().for_each(|key| self.end(key, Outcome::Refused(error.clone())));
        !pending.is_empty()
    }

    /// Allows the first request of the run, or the last few, to be sent directly; returns whether there are such
    /// requests.
    fn grant_direct(&self) -> bool {
        let granted: Vec<String> = {
            let mut state = self.state.borrow_mut();
            // A direct request would have to wait for budget that batches have reserved, perhaps for a day.
            let may_spend = !self.budget.is_limited() || state.waiting.values().all(|one| one.reservation.is_none());
            let count = match state.pending.len() {
                _ if !may_spend => 0,
                few if few <= FEW => few,
                _ if !state.is_sounded => 1,
                _ => 0,
            };
            state.is_sounded |= count > 0;
            state.pending.drain(..count).collect()
        };
        granted.iter().for_each(|key| self.end(key, Outcome::Direct));
        !granted.is_empty()
    }
}

/// Submission of batches.
impl BatchQueue<'_> {
    /// Submits the pending requests as far as the budget allows, and reserves the maximum cost of each. Requests that
    /// exceed the remaining budget wait until the submitted requests have been answered.
    async fn submit_pending(&self, report: Report<'_>) -> Result<Option<Stop>, PipelineError> {
        if self.state.borrow().pending.len() <= FEW {
            return Ok(None);
        }
        let mut lines = self.reserved_lines().await;
        while !lines.is_empty() {
            // Providers limit the number of requests and bytes in a file, so one round may need several batches.
            let rest = lines.split_off(first_file(&lines));
            match self.submit(&lines, report).await? {
                Ok(()) => {}
                Err(error @ LlmError::Transient { .. }) => return Ok(Some(Stop::Fault(error))),
                Err(error) => {
                    let unsent = lines.iter().chain(&rest);
                    unsent.for_each(|line| self.end(&line.key, Outcome::Refused(error.clone())));
                    return Ok(None);
                }
            }
            lines = rest;
        }
        Ok(None)
    }

    /// Returns the pending requests that the budget allows, and removes them from the list of pending requests.
    async fn reserved_lines(&self) -> Vec<Line> {
        let pending = std::mem::take(&mut self.state.borrow_mut().pending);
        let mut lines = Vec::new();
        for key in pending {
            // Counting tokens takes a long time, and the run must renew its heartbeat in the meantime.
            tokio::task::yield_now().await;
            let reserved = self.reserved_line(&key);
            match reserved {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => self.state.borrow_mut().pending.push(key),
                Err(error) => self.end(&key, Outcome::Refused(error)),
            }
        }
        lines
    }

    fn reserved_line(&self, key: &str) -> Result<Option<Line>, LlmError> {
        let mut state = self.state.borrow_mut();
        let Some(waiting) = state.waiting.get_mut(key) else { return Ok(None) };
        let prompt_tokens = waiting.request.prompt_tokens();
        let completion_tokens = u64::from(waiting.request.max_completion_tokens);
        let Some(reservation) = self.budget.reserve_in_batch(prompt_tokens, completion_tokens)? else {
            return Ok(None);
        };
        waiting.reservation = Some(reservation);
        let text = self.client().batch_line(key, &waiting.request);
        Ok(Some(Line { key: key.to_owned(), prompt_tokens, text }))
    }

    /// Submits one file. The inner error is the reason why the provider did not accept the file; after a transient
    /// error, the provider may have accepted it.
    async fn submit(&self, lines: &[Line], report: Report<'_>) -> Result<Result<(), LlmError>, PipelineError> {
        let mut batch = self.new_batch();
        let requests: Vec<BatchRequest> = lines
            .iter()
            .map(|line| BatchRequest { key: line.key.clone(), prompt_tokens: line.prompt_tokens })
            .collect();
        // The batch is recorded before the upload, so that no other process sends any of its requests.
        let taken: HashSet<String> = self.store.plan_batch(&batch, &requests, Timestamp::now())?.into_iter().collect();
        point("batch.planned");
        let (ours, others): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| taken.contains(&line.key));
        for line in others {
            // Another process has submitted the request in the meantime.
            if let Some(waiting) = self.state.borrow_mut().waiting.get_mut(&line.key) {
                waiting.reservation = None;
            }
        }
        if ours.is_empty() {
            self.store.drop_batch(&batch)?;
            return Ok(Ok(()));
        }
        let content: String = ours.iter().map(|line| line.text.as_str()).collect();
        let name = format!("afterthought-{}.jsonl", batch.id);
        match self.client().upload_batch(&name, content.as_bytes()).await {
            Ok(file) => batch.input_file = Some(file),
            Err(error) => {
                // Nothing has been submitted yet, so the requests are released for another attempt.
                self.store.drop_batch(&batch)?;
                return Ok(Err(error));
            }
        }
        point("batch.uploaded");
        // The stage is recorded before the call, so that recovery looks for the batch if the process dies.
        batch.stage = Stage::Creating;
        if !self.store.batch_is(&batch, Timestamp::now())? {
            // Another process assumed that this process had ended, and has released the requests.
            return Ok(Ok(()));
        }
        let remote = match self.created(&batch, &content).await {
            Ok(remote) => remote,
            Err(error) => {
                // After a transient error, the provider may have accepted the batch, so the next run checks its list.
                if !matches!(error, LlmError::Transient { .. }) {
                    self.store.drop_batch(&batch)?;
                }
                return Ok(Err(error));
            }
        };
        point("batch.submitted");
        report(&format!("batch {} submitted with {} requests", remote.id, ours.len()));
        self.is_submitted(batch, remote)?;
        let mut state = self.state.borrow_mut();
        state.counts.submitted += 1;
        state.counts.requests += ours.len() as u64;
        for line in ours {
            if let Some(waiting) = state.waiting.get_mut(&line.key) {
                waiting.rounds += 1;
            }
        }
        Ok(Ok(()))
    }

    /// Records that the provider has accepted a batch.
    fn is_submitted(&self, batch: Batch, remote: RemoteBatch) -> Result<(), PipelineError> {
        let status = remote.status.as_str().to_owned();
        let batch = Batch { stage: Stage::Submitted, remote_id: Some(remote.id), remote_status: Some(status), ..batch };
        if !self.store.batch_is(&batch, Timestamp::now())? {
            tracing::warn!("another process took over batch {} while it was being submitted", batch.id);
        }
        Ok(())
    }

    /// Submits a batch exactly once: if the response is lost, the provider's list shows whether the batch was accepted.
    async fn created(&self, batch: &Batch, content: &str) -> Result<RemoteBatch, LlmError> {
        let file = batch.input_file.as_deref().unwrap_or_default();
        let mut creations = 1;
        loop {
            let error = match self.client().create_batch(&batch.id, file, content).await {
                Err(error @ LlmError::Transient { .. }) => error,
                outcome => return outcome,
            };
            // The list may lag behind the submission, so an immediate check could miss an accepted batch.
            tokio::time::sleep(LISTED_AFTER).await;
            // If the ids cannot be read, batches can still be distinguished, but less reliably.
            let known = self.known_ids().unwrap_or_default();
            match self.client().find_batch(&batch.id, file, &known).await {
                Ok(Some(found)) => return Ok(found),
                // A batch that is not listed was not accepted, so a second submission does not cause a second charge.
                Ok(None) if creations < MAX_CREATIONS => creations += 1,
                Ok(None) | Err(_) => return Err(error),
            }
        }
    }

    fn new_batch(&self) -> Batch {
        let now = Timestamp::now();
        Batch {
            id: uuid::Uuid::now_v7().to_string(),
            owner: self.owner().to_owned(),
            endpoint: self.client().address().to_owned(),
            model: self.model.to_owned(),
            stage: Stage::Planned,
            stage_at: now,
            input_file: None,
            remote_id: None,
            remote_status: None,
            created_at: now,
            waiting: 0,
        }
    }
}

/// Returns the number of lines that fit in the first file.
fn first_file(lines: &[Line]) -> usize {
    let mut bytes = 0;
    let fits = lines.iter().take(MAX_REQUESTS).take_while(|line| {
        bytes += line.text.len();
        bytes <= MAX_BYTES
    });
    // The result is at least one, so that the caller makes progress even if a line exceeds the limit.
    fits.count().max(1)
}

/// Collection of results.
impl BatchQueue<'_> {
    /// Waits until the state of a request changes. Returns the reason if the wait ends early.
    async fn collect(&self, cancel: &CancellationToken, report: Report<'_>) -> Result<Option<Stop>, PipelineError> {
        let (mut wait, mut failed) = (FIRST_WAIT, 0);
        loop {
            match self.look(report).await? {
                Ok(true) => return Ok(None),
                Ok(false) => failed = 0,
                Err(LlmError::Transient { .. }) if self.batching.waits && failed < MAX_FAILED_LOOKS => failed += 1,
                Err(error) => return Ok(Some(Stop::Fault(error))),
            }
            if !self.batching.waits {
                return Ok(Some(Stop::NotWaiting));
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = cancel.cancelled() => return Ok(Some(Stop::Interrupted)),
            }
            wait = (wait * 3 / 2).min(LONGEST_WAIT);
        }
    }

    /// Checks each batch containing a request from this run once, and returns whether anything has changed.
    async fn look(&self, report: Report<'_>) -> Result<Result<bool, LlmError>, PipelineError> {
        if self.take_from_others()? {
            return Ok(Ok(true));
        }
        let mut is_news = false;
        for batch in self.open_here()? {
            let requests = self.store.batch_requests(&batch.id)?;
            let is_awaited = requests.iter().any(|request| self.state.borrow().waiting.contains_key(&request.key));
            if !is_awaited {
                continue;
            }
            // If the server has assigned no id, the status of the batch cannot be queried; the submitting process may
            // have died.
            let Some(remote_id) = batch.remote_id.clone().filter(|_| batch.stage == Stage::Submitted) else {
                self.recover(batch).await?;
                continue;
            };
            match self.client().batch(&remote_id).await {
                Ok(remote) if remote.status.is_over() => {
                    if let Err(error) = self.take_in(&batch, &requests, &remote, report).await? {
                        return Ok(Err(error));
                    }
                    is_news = true;
                }
                Ok(remote) => self.note_status(batch, remote.status)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(is_news))
    }

    /// Handles requests that are no longer in an open batch: either the reply has been stored in the meantime, or the
    /// request is sent again. Returns whether there are such requests, or whether no requests are submitted at all.
    fn take_from_others(&self) -> Result<bool, StoreError> {
        let out: HashSet<String> = {
            let state = self.state.borrow();
            let pending: HashSet<&String> = state.pending.iter().collect();
            state.waiting.keys().filter(|key| !pending.contains(key)).cloned().collect()
        };
        if out.is_empty() {
            return Ok(true);
        }
        let mut in_batch = HashSet::new();
        for batch in self.store.open_batches()? {
            in_batch.extend(self.store.batch_requests(&batch.id)?.into_iter().map(|request| request.key));
        }
        let mut any = false;
        for key in out.difference(&in_batch) {
            any = true;
            if self.store.reply(key)?.is_some() {
                self.state.borrow_mut().waiting.remove(key);
            } else {
                self.again(key, "another process has abandoned its batch");
            }
        }
        Ok(any)
    }

    fn note_status(&self, batch: Batch, status: BatchStatus) -> Result<(), StoreError> {
        if batch.remote_status.as_deref() == Some(status.as_str()) {
            return Ok(());
        }
        // Only the provider's status changed, so the time of the stage stays the same.
        let stage_at = batch.stage_at;
        self.store.batch_is(&Batch { remote_status: Some(status.as_str().to_owned()), ..batch }, stage_at)?;
        Ok(())
    }

    /// Stores the results of a batch. The inner error is the reason why the results could not be fetched; the batch
    /// then stays open.
    async fn take_in(
        &self,
        batch: &Batch,
        requests: &[BatchRequest],
        remote: &RemoteBatch,
        report: Report<'_>,
    ) -> Result<Result<(), LlmError>, PipelineError> {
        let rows = match self.rows(remote).await {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        let answers = self.answers(requests, rows);
        let mut replies = Vec::new();
        for (key, answer) in &answers {
            if let RowAnswer::Reply(reply) = answer {
                // A reply may repeat a secret, so it is redacted before it is stored.
                let text = self.guard.redact(reply.text.clone()).0;
                replies.push(BatchReply { key: key.clone(), text, reply: reply.clone() });
            }
        }
        point("batch.fetched");
        let status = remote.status.as_str();
        if !self.store.end_batch(&batch.id, status, &replies, Timestamp::now())? {
            // Another process was faster; the next check finds the results that it stored.
            return Ok(Ok(()));
        }
        point("batch.ended");
        // The borrow must end here, because `end` and `pay` below borrow the state again.
        {
            let counts = &mut self.state.borrow_mut().counts;
            counts.collected += 1;
            counts.answered += replies.len() as u64;
        }
        report(&format!("batch {} is {status}: {} of {} answered", remote.id, replies.len(), requests.len()));
        // The provider rejected the whole file, so sending the same requests again would also fail.
        if remote.status == BatchStatus::Failed {
            let error = self.client().not_taken(remote);
            requests.iter().for_each(|request| self.end(&request.key, Outcome::Refused(error.clone())));
            return Ok(Ok(()));
        }
        for (key, answer) in &answers {
            match answer {
                RowAnswer::Reply(reply) => self.pay(key, reply),
                RowAnswer::Failed(error) => self.fail(key, error.clone()),
                RowAnswer::Again(reason) if remote.status != BatchStatus::Cancelled => self.again(key, reason),
                // A person who cancels a batch at the provider does not want its requests to be submitted again.
                RowAnswer::Again(_) => self.give_up(key, "its batch was cancelled at the provider"),
            }
        }
        Ok(Ok(()))
    }

    /// Returns the rows of both files of a batch.
    async fn rows(&self, remote: &RemoteBatch) -> Result<Vec<Row>, LlmError> {
        let mut all = Vec::new();
        for file in [&remote.output_file_id, &remote.error_file_id].into_iter().flatten() {
            let (rows, broken) = read_rows(&self.client().batch_file(file).await?);
            self.state.borrow_mut().counts.broken_lines += broken as u64;
            all.extend(rows);
        }
        Ok(all)
    }

    /// Returns one answer per request: the first of its rows or, if it has no rows, an instruction to send it again.
    fn answers(&self, requests: &[BatchRequest], rows: Vec<Row>) -> Vec<(String, RowAnswer)> {
        let mut by_key: HashMap<String, Row> = HashMap::with_capacity(rows.len());
        for row in rows {
            by_key.entry(row.key.clone()).or_insert(row);
        }
        let (reader, state) = (self.client().row_reader(), self.state.borrow());
        let answer = |request: &BatchRequest| {
            let Some(row) = by_key.get(&request.key) else {
                return RowAnswer::Again("its batch ended without a reply".to_owned());
            };
            let asked = state.waiting.get(&request.key).map(|waiting| &waiting.request);
            reader.read(row, asked, request.prompt_tokens)
        };
        requests.iter().map(|request| (request.key.clone(), answer(request))).collect()
    }

    /// Records that this run has paid for a stored reply.
    fn pay(&self, key: &str, reply: &Reply) {
        let mut state = self.state.borrow_mut();
        let Reply { prompt_tokens, completion_tokens, .. } = *reply;
        let waiting = state.waiting.remove(key);
        if waiting.is_some() {
            state.paid.insert(key.to_owned(), None);
        } else {
            state.unclaimed += Spent::of(reply, Cost::Call);
        }
        match waiting.and_then(|waiting| waiting.reservation) {
            Some(reservation) => reservation.pay(prompt_tokens, completion_tokens),
            None => self.budget.charge_in_batch(prompt_tokens, completion_tokens),
        }
    }

    /// Puts a request in the next batch, unless it has already been in [`MAX_ROUNDS`] batches.
    fn again(&self, key: &str, reason: &str) {
        {
            let mut state = self.state.borrow_mut();
            let Some(waiting) = state.waiting.get_mut(key) else { return };
            if waiting.rounds < MAX_ROUNDS {
                // The reserved budget of the request is released until it is submitted again.
                waiting.reservation = None;
                // A batch from an earlier run also counts as one round.
                waiting.rounds = waiting.rounds.max(1);
                state.pending.push(key.to_owned());
                state.counts.asked_again += 1;
                return;
            }
        }
        self.give_up(key, reason);
    }

    fn give_up(&self, key: &str, reason: &str) {
        let attempts = self.state.borrow().waiting.get(key).map_or(1, |waiting| waiting.rounds.max(1));
        let endpoint = self.client().address().to_owned();
        self.fail(key, LlmError::Transient { endpoint, reason: reason.to_owned(), attempts });
    }

    fn fail(&self, key: &str, error: LlmError) {
        self.state.borrow_mut().counts.failed += 1;
        self.end(key, Outcome::Failed(error));
    }
}

/// Recovery of interrupted submissions.
impl BatchQueue<'_> {
    /// Returns the open batches of this server.
    fn open_here(&self) -> Result<Vec<Batch>, StoreError> {
        let mut open = self.store.open_batches()?;
        open.retain(|batch| batch.endpoint == self.client().address());
        Ok(open)
    }

    /// Returns the ids that the server assigned to the open batches.
    fn known_ids(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.open_here()?.into_iter().filter_map(|batch| batch.remote_id).collect())
    }

    /// Determines the state of a batch whose submitting process has ended; leaves all other batches unchanged.
    async fn recover(&self, batch: Batch) -> Result<(), PipelineError> {
        if batch.stage == Stage::Submitted || self.is_in_good_hands(&batch)? {
            return Ok(());
        }
        // Another process may have started the same recovery; only one of them acquires the batch.
        if !self.store.take_batch_over(&batch, self.owner())? {
            return Ok(());
        }
        let batch = Batch { owner: self.owner().to_owned(), ..batch };
        // The provider can have received the batch only in stage `Creating`; before that, nothing was submitted.
        let Some(file) = batch.input_file.clone().filter(|_| batch.stage == Stage::Creating) else {
            return Ok(self.store.drop_batch(&batch)?);
        };
        let begun = Instant::now();
        loop {
            // The time is checked before the list is requested: if the batch is late and not in the list, it was not
            // accepted.
            let is_late = Timestamp::now().duration_since(batch.stage_at) > LATE
                || SignedDuration::try_from(begun.elapsed()).is_ok_and(|waited| waited > LATE);
            match self.client().find_batch(&batch.id, &file, &self.known_ids()?).await? {
                Some(remote) => return self.is_submitted(batch, remote),
                None if is_late => return Ok(self.store.drop_batch(&batch)?),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn is_in_good_hands(&self, batch: &Batch) -> Result<bool, StoreError> {
        if batch.owner == self.owner() {
            return Ok(false);
        }
        match self.store.run(&batch.owner) {
            Ok(run) => Ok(run.is_alive(Timestamp::now())),
            // A run that is not in the database cannot be alive.
            Err(StoreError::UnknownRun { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: usize) -> Line {
        Line { key: String::new(), prompt_tokens: 0, text: "x".repeat(bytes) }
    }

    #[test]
    fn a_file_keeps_within_both_limits() {
        let many: Vec<Line> = (0..=MAX_REQUESTS).map(|_| line(1)).collect();
        assert_eq!(first_file(&many), MAX_REQUESTS);
        let long = [line(MAX_BYTES / 2), line(MAX_BYTES / 2), line(1)];
        assert_eq!(first_file(&long), 2);
        assert_eq!(first_file(&[line(MAX_BYTES + 1), line(1)]), 1);
    }
}
