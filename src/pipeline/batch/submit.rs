//! From pending questions to a batch that the provider has taken.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;

use super::drive::Tell;
use super::recover::Left;
use super::{FEW, Given, Queue};
use crate::fault::point;
use crate::llm::LlmError;
use crate::llm::batch::{MAX_BYTES, MAX_REQUESTS, RemoteBatch};
use crate::pipeline::PipelineError;
use crate::store::{Batch, BatchRequest, Stage};

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
