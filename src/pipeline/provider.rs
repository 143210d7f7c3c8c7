//! Submits batches to the provider, collects their replies, and recovers batches that a process left behind.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::PipelineError;
use super::batch::Tell;
use super::batch::{FEW, Given, Left, MAX_ROUNDS, Queue};
use crate::extract::Spent;
use crate::fault::point;
use crate::llm::batch::{BatchStatus, MAX_BYTES, MAX_REQUESTS, RemoteBatch, Row, RowAnswer, read_rows};
use crate::llm::{Cost, LlmError, Reply};
use crate::store::{Batch, BatchRequest, RowOutcome, Stage, StoreError};

/// How often a batch is submitted whose answer was lost, where the provider then does not list it.
const MAX_CREATIONS: u32 = 3;
/// Time for a batch to show up in the provider's list.
const LISTED_AFTER: Duration = Duration::from_secs(2);

/// A question with the line that asks it.
struct Line {
    key: String,
    prompt_tokens: u64,
    text: String,
}

impl Queue<'_> {
    /// Submits what is pending, as far as the budget allows: each question is reserved at its worst case in a batch.
    /// What does not fit beside those that are out waits for them.
    pub(super) async fn submit_pending(&self, tell: Tell<'_>) -> Result<Option<Left>, PipelineError> {
        if self.state.borrow().pending.len() <= FEW {
            return Ok(None);
        }
        let mut lines = self.reserved_lines().await;
        while !lines.is_empty() {
            let rest = lines.split_off(first_file(&lines));
            match self.submit(&lines, tell).await? {
                Ok(()) => {}
                Err(error @ LlmError::Transient { .. }) => return Ok(Some(Left::Fault(error))),
                Err(error) => {
                    let keys = lines.iter().chain(&rest).map(|line| &line.key);
                    keys.for_each(|key| self.give(key, || Given::Refused(error.clone())));
                    return Ok(None);
                }
            }
            lines = rest;
        }
        Ok(None)
    }

    /// Takes from the pending questions those that the budget allows.
    async fn reserved_lines(&self) -> Vec<Line> {
        let pending = std::mem::take(&mut self.state.borrow_mut().pending);
        let mut lines = Vec::new();
        for key in pending {
            // Counting tokens takes long, and the run has to say meanwhile that it is alive.
            tokio::task::yield_now().await;
            let reserved = self.reserved_line(&key);
            match reserved {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => self.state.borrow_mut().pending.push(key),
                Err(error) => self.give(&key, || Given::Refused(error.clone())),
            }
        }
        lines
    }

    fn reserved_line(&self, key: &str) -> Result<Option<Line>, LlmError> {
        let mut state = self.state.borrow_mut();
        let Some(waiter) = state.waiters.get_mut(key) else { return Ok(None) };
        let prompt_tokens = waiter.request.prompt_tokens();
        let completion_tokens = u64::from(waiter.request.max_completion_tokens);
        let Some(reservation) = self.budget.reserve_in_batch(prompt_tokens, completion_tokens)? else {
            return Ok(None);
        };
        waiter.reservation = Some(reservation);
        let text = self.client().batch_line(key, &waiter.request);
        Ok(Some(Line { key: key.to_owned(), prompt_tokens, text }))
    }

    /// Submits one file. The inner error says why the provider did not take it; a transient one, that it may have.
    async fn submit(&self, lines: &[Line], tell: Tell<'_>) -> Result<Result<(), LlmError>, PipelineError> {
        let mut batch = self.new_batch();
        let requests: Vec<BatchRequest> = lines
            .iter()
            .map(|line| BatchRequest { key: line.key.clone(), prompt_tokens: line.prompt_tokens })
            .collect();
        let taken: HashSet<String> = self.store.plan_batch(&batch, &requests, Timestamp::now())?.into_iter().collect();
        point("batch.planned");
        self.free_but(lines, &taken);
        if taken.is_empty() {
            self.store.drop_batch(&batch)?;
            return Ok(Ok(()));
        }
        let ours = lines.iter().filter(|line| taken.contains(&line.key));
        let content: String = ours.map(|line| line.text.as_str()).collect();
        let name = format!("afterthought-{}.jsonl", batch.id);
        match self.client().upload_batch(&name, content.as_bytes()).await {
            Ok(file) => batch.input_file = Some(file),
            Err(error) => {
                self.store.drop_batch(&batch)?;
                return Ok(Err(error));
            }
        }
        point("batch.uploaded");
        batch.stage = Stage::Creating;
        if !self.store.batch_is(&batch, Timestamp::now())? {
            // Another process took this one for dead and has freed the questions.
            return Ok(Ok(()));
        }
        let remote = match self.created(&batch).await {
            Ok(remote) => remote,
            Err(error) => {
                if !matches!(error, LlmError::Transient { .. }) {
                    self.store.drop_batch(&batch)?;
                }
                return Ok(Err(error));
            }
        };
        point("batch.submitted");
        tell(&format!("batch {} submitted with {} requests", remote.id, taken.len()));
        self.is_submitted(batch, remote)?;
        self.count(|counts| {
            counts.submitted += 1;
            counts.requests += taken.len() as u64;
        });
        for key in &taken {
            if let Some(waiter) = self.state.borrow_mut().waiters.get_mut(key) {
                waiter.rounds += 1;
            }
        }
        Ok(Ok(()))
    }

    /// Notes that the provider has taken a batch.
    pub(super) fn is_submitted(&self, batch: Batch, remote: RemoteBatch) -> Result<(), PipelineError> {
        let status = remote.status.as_str().to_owned();
        let batch = Batch { stage: Stage::Submitted, remote_id: Some(remote.id), remote_status: Some(status), ..batch };
        if !self.store.batch_is(&batch, Timestamp::now())? {
            tracing::warn!("batch {} went to another process while it was submitted", batch.id);
        }
        Ok(())
    }

    /// Submits a batch once: where the answer is lost, the provider's list tells whether it was taken.
    async fn created(&self, batch: &Batch) -> Result<RemoteBatch, LlmError> {
        let file = batch.input_file.as_deref().unwrap_or_default();
        let mut creations = 1;
        loop {
            let error = match self.client().create_batch(&batch.id, file).await {
                Err(error @ LlmError::Transient { .. }) => error,
                outcome => return outcome,
            };
            tokio::time::sleep(LISTED_AFTER).await;
            match self.client().find_batch(&batch.id, file).await {
                Ok(Some(found)) => return Ok(found),
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

    /// Frees what was reserved for questions that another process has submitted meanwhile.
    fn free_but(&self, lines: &[Line], taken: &HashSet<String>) {
        let mut state = self.state.borrow_mut();
        for line in lines.iter().filter(|line| !taken.contains(&line.key)) {
            if let Some(waiter) = state.waiters.get_mut(&line.key) {
                drop(waiter.reservation.take());
            }
        }
    }
}

/// Returns how many lines the first file takes.
fn first_file(lines: &[Line]) -> usize {
    let mut bytes = 0;
    let fits = lines.iter().take(MAX_REQUESTS).take_while(|line| {
        bytes += line.text.len();
        bytes <= MAX_BYTES
    });
    fits.count().max(1)
}

/// Wait before the second look at a batch; it grows by half from one to the next.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Longest wait between two looks.
const LONGEST_WAIT: Duration = Duration::from_mins(2);
/// Looks in a row that may fail before the batch is left to a later run.
const MAX_FAILED_LOOKS: u32 = 5;

/// What one look has shown.
enum Look {
    /// Something is there for those who wait.
    News,
    /// Nothing yet.
    Nothing,
}

impl Queue<'_> {
    /// Waits until anything comes back; returns why it does not wait, if so.
    pub(super) async fn collect(
        &self,
        cancel: &CancellationToken,
        tell: Tell<'_>,
    ) -> Result<Option<Left>, PipelineError> {
        let (mut wait, mut failed) = (FIRST_WAIT, 0);
        loop {
            match self.look(tell).await? {
                Ok(Look::News) => return Ok(None),
                Ok(Look::Nothing) => failed = 0,
                Err(LlmError::Transient { .. }) if self.batching.waits && failed < MAX_FAILED_LOOKS => failed += 1,
                Err(error) => return Ok(Some(Left::Fault(error))),
            }
            if !self.batching.waits {
                return Ok(Some(Left::NotWaiting));
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = cancel.cancelled() => return Ok(Some(Left::Interrupted)),
            }
            wait = (wait * 3 / 2).min(LONGEST_WAIT);
        }
    }

    /// Looks once at every batch that anybody waits for.
    async fn look(&self, tell: Tell<'_>) -> Result<Result<Look, LlmError>, PipelineError> {
        if self.give_what_others_brought()? {
            return Ok(Ok(Look::News));
        }
        let mut look = Look::Nothing;
        for batch in self.open_here()? {
            let requests = self.store.batch_requests(&batch.id)?;
            let is_awaited = requests.iter().any(|request| self.state.borrow().waiters.contains_key(&request.key));
            if !is_awaited {
                continue;
            }
            let Some(remote_id) = batch.remote_id.clone().filter(|_| batch.stage == Stage::Submitted) else {
                self.recover(batch).await?;
                continue;
            };
            match self.client().batch(&remote_id).await {
                Ok(remote) if remote.status.is_over() => {
                    if let Err(error) = self.take_in(&batch, &requests, &remote, tell).await? {
                        return Ok(Err(error));
                    }
                    look = Look::News;
                }
                Ok(remote) => self.note_status(batch, remote.status)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(look))
    }

    /// Gives the answers that are in the ledger by now, and has those questions asked again that no batch holds; `true`
    /// if there are any, or if nobody waits.
    fn give_what_others_brought(&self) -> Result<bool, StoreError> {
        let pending: HashSet<String> = self.state.borrow().pending.iter().cloned().collect();
        let out: HashSet<String> =
            self.state.borrow().waiters.keys().filter(|key| !pending.contains(*key)).cloned().collect();
        if out.is_empty() {
            return Ok(true);
        }
        let mut is_there = HashSet::new();
        for batch in self.store.open_batches()? {
            is_there.extend(self.store.batch_requests(&batch.id)?.into_iter().map(|request| request.key));
        }
        let mut any = false;
        for key in out.difference(&is_there) {
            any = true;
            match self.store.reply(key)? {
                Some(reply) => self.give(key, || Given::Reply(reply.clone(), Cost::Cached)),
                None => self.again(key, "another process has given its batch up"),
            }
        }
        Ok(any)
    }

    fn note_status(&self, batch: Batch, status: BatchStatus) -> Result<(), StoreError> {
        if batch.remote_status.as_deref() == Some(status.as_str()) {
            return Ok(());
        }
        let stage_at = batch.stage_at;
        self.store.batch_is(&Batch { remote_status: Some(status.as_str().to_owned()), ..batch }, stage_at)?;
        Ok(())
    }

    /// Keeps what a batch has brought and gives it to those who wait. The inner error says why it could not be read;
    /// it stays open then.
    async fn take_in(
        &self,
        batch: &Batch,
        requests: &[BatchRequest],
        remote: &RemoteBatch,
        tell: Tell<'_>,
    ) -> Result<Result<(), LlmError>, PipelineError> {
        let rows = match self.rows(remote).await {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        let answers = self.answers(requests, rows);
        let outcomes: Vec<(String, RowOutcome)> = answers
            .iter()
            .map(|(key, answer)| {
                let outcome = match answer {
                    RowAnswer::Reply(reply) => {
                        RowOutcome::Answered(self.guard.redact(reply.text.clone()).0, reply.clone())
                    }
                    RowAnswer::Again(_) | RowAnswer::Failed(_) => RowOutcome::Failed,
                };
                (key.clone(), outcome)
            })
            .collect();
        point("batch.fetched");
        if !self.store.end_batch(&batch.id, remote.status.as_str(), &outcomes, Timestamp::now())? {
            // Another process was quicker; what it has kept is given out by the next look.
            return Ok(Ok(()));
        }
        point("batch.ended");
        let answered = outcomes.iter().filter(|(_, outcome)| matches!(outcome, RowOutcome::Answered(..))).count();
        self.count(|counts| {
            counts.collected += 1;
            counts.answered += answered as u64;
        });
        let state = remote.status.as_str();
        tell(&format!("batch {} is {state}: {answered} of {} answered", remote.id, requests.len()));
        if remote.status == BatchStatus::Failed {
            let error = self.client().not_taken(remote);
            requests.iter().for_each(|request| self.give(&request.key, || Given::Refused(error.clone())));
            return Ok(Ok(()));
        }
        let replies: HashMap<String, RowOutcome> = outcomes.into_iter().collect();
        for (key, answer) in &answers {
            match (replies.get(key), answer) {
                (Some(RowOutcome::Answered(text, reply)), _) => {
                    self.give_reply(key, &Reply { text: text.as_str().to_owned(), ..reply.clone() });
                }
                (_, RowAnswer::Failed(error)) => {
                    self.count(|counts| counts.failed += 1);
                    self.give(key, || Given::Failed(error.clone()));
                }
                (_, RowAnswer::Again(reason)) if remote.status != BatchStatus::Cancelled => self.again(key, reason),
                _ => self.give_up(key, "its batch was cancelled at the provider"),
            }
        }
        Ok(Ok(()))
    }

    /// Returns the rows of both files of a batch.
    async fn rows(&self, remote: &RemoteBatch) -> Result<Vec<Row>, LlmError> {
        let mut all = Vec::new();
        for file in [&remote.output_file_id, &remote.error_file_id].into_iter().flatten() {
            let (rows, broken) = read_rows(&self.client().batch_file(file).await?);
            self.count(|counts| counts.broken_lines += broken as u64);
            all.extend(rows);
        }
        Ok(all)
    }

    /// Returns one answer a request: of several rows the first, and without any the word to ask again.
    fn answers(&self, requests: &[BatchRequest], rows: Vec<Row>) -> Vec<(String, RowAnswer)> {
        let mut by_key: HashMap<String, Row> = HashMap::with_capacity(rows.len());
        for row in rows {
            by_key.entry(row.key.clone()).or_insert(row);
        }
        let (reader, state) = (self.client().row_reader(), self.state.borrow());
        let answer = |request: &BatchRequest| {
            let Some(row) = by_key.get(&request.key) else {
                return RowAnswer::Again("its batch ended without it".to_owned());
            };
            let asked = state.waiters.get(&request.key).map(|waiter| &waiter.request);
            reader.read(row, asked, request.prompt_tokens)
        };
        requests.iter().map(|request| (request.key.clone(), answer(request))).collect()
    }

    /// Gives a reply that was paid for now: the first who asked has made the call.
    fn give_reply(&self, key: &str, reply: &Reply) {
        let reservation = self.state.borrow_mut().waiters.get_mut(key).map(|waiter| waiter.reservation.take());
        if reservation.is_none() {
            let mut unclaimed = self.unclaimed.get();
            unclaimed += Spent {
                calls: 1,
                cached: 0,
                prompt_tokens: reply.prompt_tokens,
                completion_tokens: reply.completion_tokens,
            };
            self.unclaimed.set(unclaimed);
        }
        match reservation.flatten() {
            Some(reservation) => reservation.settle(reply.prompt_tokens, reply.completion_tokens),
            None => self.budget.charge_in_batch(reply.prompt_tokens, reply.completion_tokens),
        }
        let mut cost = Cost::Call;
        self.give(key, || Given::Reply(reply.clone(), std::mem::replace(&mut cost, Cost::Cached)));
    }

    /// Has a question put in the next batch, unless it was in enough of them.
    fn again(&self, key: &str, reason: &str) {
        {
            let mut state = self.state.borrow_mut();
            let Some(waiter) = state.waiters.get_mut(key) else { return };
            if waiter.rounds < MAX_ROUNDS {
                // Free for others until it is submitted again.
                drop(waiter.reservation.take());
                waiter.rounds = waiter.rounds.max(1);
                state.pending.push(key.to_owned());
                self.count(|counts| counts.asked_again += 1);
                return;
            }
        }
        self.give_up(key, reason);
    }

    fn give_up(&self, key: &str, reason: &str) {
        let rounds = self.state.borrow().waiters.get(key).map_or(1, |waiter| waiter.rounds.max(1));
        let error = LlmError::Transient {
            endpoint: self.client().address().to_owned(),
            reason: reason.to_owned(),
            attempts: rounds,
        };
        self.count(|counts| counts.failed += 1);
        self.give(key, || Given::Failed(error.clone()));
    }
}

/// How long a request to submit may still be under way after its sender has ended.
const LATE: SignedDuration = SignedDuration::from_secs(10);
/// Pause between two looks at the provider's list.
const PAUSE: Duration = Duration::from_secs(1);

impl Queue<'_> {
    /// Makes sure that the provider has batches, before anything is begun.
    ///
    /// # Errors
    /// [`PipelineError::Model`] if it has none or cannot be asked.
    pub(super) async fn check(&self) -> Result<(), PipelineError> {
        Ok(self.client().check_batches().await?)
    }

    /// Begins for the run `owner`: finds out what became of batches whose processes ended while they were submitted.
    ///
    /// # Errors
    /// [`PipelineError::Model`] if the provider cannot be asked; no window was begun then.
    pub(super) async fn begin(&self, owner: &str) -> Result<(), PipelineError> {
        // Set once; a run begins once.
        self.owner.get_or_init(|| owner.to_owned());
        for batch in self.open_here()? {
            self.recover(batch).await?;
        }
        Ok(())
    }

    /// Returns the open batches of this server.
    pub(super) fn open_here(&self) -> Result<Vec<Batch>, PipelineError> {
        let mut open = self.store.open_batches()?;
        open.retain(|batch| batch.endpoint == self.client().address());
        Ok(open)
    }

    /// Finds out what became of a batch that nobody is submitting any more; leaves every other as it is.
    pub(super) async fn recover(&self, batch: Batch) -> Result<(), PipelineError> {
        if batch.stage == Stage::Submitted || self.is_in_good_hands(&batch)? {
            return Ok(());
        }
        if !self.store.take_batch_over(&batch, self.owner())? {
            return Ok(());
        }
        let batch = Batch { owner: self.owner().to_owned(), ..batch };
        let Some(file) = batch.input_file.clone().filter(|_| batch.stage == Stage::Creating) else {
            return Ok(self.store.drop_batch(&batch)?);
        };
        let begun = Instant::now();
        loop {
            // Looked at before the list: what is not listed after this time was not taken. Waiting as long here is enough
            // whatever the clock says.
            let is_late = Timestamp::now().duration_since(batch.stage_at) > LATE
                || SignedDuration::try_from(begun.elapsed()).is_ok_and(|waited| waited > LATE);
            let found = self.client().find_batch(&batch.id, &file).await.map_err(PipelineError::Model)?;
            match found {
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
            Err(StoreError::UnknownRun { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod submit_tests {
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
