//! From a batch that is over to answers in the ledger.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::drive::Tell;
use super::recover::Left;
use super::{Given, MAX_ROUNDS, Queue};
use crate::extract::Spent;
use crate::fault::point;
use crate::llm::batch::{BatchStatus, RemoteBatch, Row, RowAnswer, read_rows};
use crate::llm::{Cost, LlmError, Reply};
use crate::pipeline::PipelineError;
use crate::store::{Batch, BatchRequest, RowOutcome, Stage, StoreError};

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
