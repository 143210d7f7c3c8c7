//! Round after round: gather, ask the few directly, submit the many, wait for what comes back.

use tokio_util::sync::CancellationToken;

use super::recover::Left;
use super::{FEW, Given, Queue};
use crate::llm::{Client, LlmError};
use crate::pipeline::PipelineError;

/// How batches are used.
#[derive(Debug, Clone, Copy)]
pub struct Batching<'a> {
    /// The server that answers them.
    pub client: &'a Client,
    /// Whether the run waits for the answers, or leaves them to a later one.
    pub waits: bool,
}

/// What a run tells about its batches.
pub(in crate::pipeline) type Tell<'t> = &'t dyn Fn(&str);

impl Queue<'_> {
    /// Gathers, submits and collects for as long as anybody asks; never ends by itself.
    ///
    /// # Errors
    /// [`PipelineError::Store`] if the database cannot be used.
    pub(in crate::pipeline) async fn drive(
        &self,
        halted: impl Fn() -> Option<LlmError>,
        cancel: &CancellationToken,
        tell: Tell<'_>,
    ) -> Result<std::convert::Infallible, PipelineError> {
        loop {
            self.gathered().await;
            if let Some(error) = halted() {
                self.give_pending(|| Given::Refused(error.clone()));
            }
            if cancel.is_cancelled() {
                self.leave(Left::Interrupted);
            }
            if self.give_directly() {
                continue;
            }
            let left = match self.submit_pending(tell).await? {
                None => self.collect(cancel, tell).await?,
                left => left,
            };
            match left {
                None => {}
                // The next windows may still be submitted.
                Some(Left::NotWaiting) => self.give_all(|| Given::Left),
                Some(left) => self.leave(left),
            }
        }
    }

    /// Waits until every window waits.
    async fn gathered(&self) {
        loop {
            // Made before the look at the state, so that no change between the two is missed.
            let changed = self.changed.notified();
            if self.state.borrow().is_gathered() {
                return;
            }
            changed.await;
        }
    }

    /// Has the first question of the run, or the last few, asked directly; returns whether there are any.
    fn give_directly(&self) -> bool {
        let (count, pending) = {
            let state = self.state.borrow();
            let may_spend = !self.budget.is_limited() || state.waiters.values().all(|one| one.reservation.is_none());
            let count = match state.pending.len() {
                // Those who ask directly would wait for what is reserved, and what is reserved for them.
                _ if !may_spend => 0,
                few if few <= FEW => few,
                _ if !self.is_sounded.get() => 1,
                _ => 0,
            };
            (count, state.pending.iter().take(count).cloned().collect::<Vec<_>>())
        };
        self.state.borrow_mut().pending.drain(..count);
        for key in &pending {
            self.give(key, || Given::Direct);
        }
        if count > 0 {
            self.is_sounded.set(true);
        }
        count > 0
    }

    /// Gives up for this run; what is with the provider stays there.
    fn leave(&self, left: Left) {
        self.state.borrow_mut().left.get_or_insert(left);
        self.give_all(|| Given::Left);
    }

    /// Returns why nothing more was submitted, where that is a fault.
    pub(in crate::pipeline) fn fault(&self) -> Option<LlmError> {
        match &self.state.borrow().left {
            Some(Left::Fault(error)) => Some(error.clone()),
            Some(Left::Interrupted | Left::NotWaiting) | None => None,
        }
    }

    fn give_all(&self, mut given: impl FnMut() -> Given) {
        let keys: Vec<String> = {
            let mut state = self.state.borrow_mut();
            let pending = std::mem::take(&mut state.pending).len();
            let out = state.waiters.len() - pending.min(state.waiters.len());
            self.count(|counts| counts.waiting += out as u64);
            state.waiters.keys().cloned().collect()
        };
        for key in keys {
            self.give(&key, &mut given);
        }
    }

    pub(super) fn give_pending(&self, mut given: impl FnMut() -> Given) {
        let keys = std::mem::take(&mut self.state.borrow_mut().pending);
        for key in keys {
            self.give(&key, &mut given);
        }
    }
}
