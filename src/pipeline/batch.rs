//! Requests that are gathered and answered together in batches of the provider.
//!
//! Every pack asks as it would ask a model. Once all packs wait, their requests are submitted; when a batch is over, its
//! replies are stored and each pack continues. What is then asked again, such as repairs, waits for the next round. What
//! reached the provider is known from the database at any point, see [`crate::store::Stage`].
//!
//! A few requests are sent directly, at the full price: as many as [`FEW`], since they are worth cents, and the first
//! one of a run, which shows what the server does not accept before a day is spent on it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::PipelineError;
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Budget, Client, Cost, LlmError, Reply, Request, Reservation};
use crate::store::{Store, StoreError};

/// Windows that wait at the same time at most, for the memory that they take.
pub(super) const MOST_WAITING: usize = 10_000;
/// As many questions are not worth a batch.
pub(super) const FEW: usize = 4;
/// How often a question is put in a batch that does not answer it.
pub(super) const MAX_ROUNDS: u32 = 2;

/// What a question gets.
pub(super) enum Given {
    /// A reply, which is in the ledger.
    Reply(Reply, Cost),
    /// The word to ask directly.
    Direct,
    /// Nothing, for a reason that is its own.
    Failed(LlmError),
    /// Nothing, for a reason that others will meet too.
    Refused(LlmError),
    /// Nothing yet: it is left to a later run.
    Left,
}

/// Why windows are left to a later run.
pub(super) enum Left {
    /// The person asked not to wait.
    NotWaiting,
    /// The person interrupted the run.
    Interrupted,
    /// The provider could not be asked.
    Fault(LlmError),
}

/// A question under way.
pub(super) struct Waiter<'a> {
    pub(super) request: Request,
    pub(super) senders: Vec<oneshot::Sender<Given>>,
    /// Batches that it was in.
    pub(super) rounds: u32,
    pub(super) reservation: Option<Reservation<'a>>,
}

#[derive(Default)]
pub(super) struct State<'a> {
    /// Questions by hash.
    pub(super) waiters: HashMap<String, Waiter<'a>>,
    /// Those of them that are in no batch, in the order in which they came.
    pub(super) pending: Vec<String>,
    /// Windows under way.
    pub(super) in_flight: usize,
    /// Whether no more windows will begin.
    pub(super) all_begun: bool,
    /// Why nothing more is submitted.
    pub(super) left: Option<Left>,
}

impl State<'_> {
    fn waiting(&self) -> usize {
        self.waiters.values().map(|waiter| waiter.senders.len()).sum()
    }

    /// Whether every window waits and no other can begin.
    fn is_gathered(&self) -> bool {
        let waiting = self.waiting();
        waiting > 0 && waiting >= self.in_flight && (self.all_begun || self.in_flight >= MOST_WAITING)
    }
}

/// What batches came to in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct BatchCounts {
    /// Batches that were submitted.
    pub submitted: u64,
    /// Requests in them.
    pub requests: u64,
    /// Batches of this or an earlier run that came back.
    pub collected: u64,
    /// Answers in them.
    pub answered: u64,
    /// Requests that came back without an answer and are asked again.
    pub asked_again: u64,
    /// Requests that came back without an answer for good.
    pub failed: u64,
    /// Lines of answers that could not be read.
    pub broken_lines: u64,
    /// Requests that wait with the provider as the run ends.
    pub waiting: u64,
}

impl BatchCounts {
    /// Whether there was anything to count.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The questions of one run.
pub(super) struct Queue<'a> {
    pub(super) batching: Batching<'a>,
    pub(super) store: &'a Store,
    pub(super) guard: &'a Guard,
    pub(super) budget: &'a Budget,
    pub(super) model: &'a str,
    /// The run.
    pub(super) owner: OnceCell<String>,
    pub(super) state: RefCell<State<'a>>,
    pub(super) changed: Notify,
    /// Whether a question was asked directly, so that the server's ways are known.
    pub(super) is_sounded: Cell<bool>,
    pub(super) counts: Cell<BatchCounts>,
    /// What answers have cost that no window of this run has asked for.
    pub(super) unclaimed: Cell<Spent>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(
        batching: Batching<'a>,
        store: &'a Store,
        guard: &'a Guard,
        budget: &'a Budget,
        model: &'a str,
    ) -> Self {
        Self {
            batching,
            store,
            guard,
            budget,
            model,
            owner: OnceCell::new(),
            state: RefCell::default(),
            changed: Notify::new(),
            is_sounded: Cell::new(false),
            counts: Cell::default(),
            unclaimed: Cell::default(),
        }
    }

    /// Returns what the question with this hash gets, in the end.
    pub(super) async fn ask(&self, key: &str, request: &Request) -> Result<Given, StoreError> {
        if self.state.borrow().left.is_some() {
            return Ok(Given::Left);
        }
        let batch = self.store.batch_of(key)?;
        if batch.as_ref().is_some_and(|batch| batch.endpoint != self.client().address()) {
            // Only its own server can be asked for it.
            self.count(|counts| counts.waiting += 1);
            return Ok(Given::Left);
        }
        let is_out = batch.is_some();
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.state.borrow_mut();
            let is_new = !state.waiters.contains_key(key);
            let fresh = || Waiter { request: request.clone(), senders: Vec::new(), rounds: 0, reservation: None };
            state.waiters.entry(key.to_owned()).or_insert_with(fresh).senders.push(sender);
            if is_new && !is_out {
                state.pending.push(key.to_owned());
            }
        }
        self.changed.notify_waiters();
        // Nobody answers any more once the run is over.
        Ok(answer.await.unwrap_or(Given::Left))
    }

    /// Counts a window as under way until what is returned is dropped.
    pub(super) fn working(&self) -> Working<'_, 'a> {
        self.state.borrow_mut().in_flight += 1;
        Working { queue: self }
    }

    /// Notes that no more windows will begin.
    pub(super) fn no_more(&self) {
        self.state.borrow_mut().all_begun = true;
        self.changed.notify_waiters();
    }

    /// Returns what batches have come to, and what answers have cost that no window has asked for.
    pub(super) fn counts(&self) -> (BatchCounts, Spent) {
        (self.counts.get(), self.unclaimed.get())
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut BatchCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    pub(super) fn client(&self) -> &'a Client {
        self.batching.client
    }

    pub(super) fn owner(&self) -> &str {
        self.owner.get().map_or("", String::as_str)
    }

    /// Gives everybody who has asked this question the same; what was reserved for it is free again.
    pub(super) fn give(&self, key: &str, mut given: impl FnMut() -> Given) {
        let waiter = self.state.borrow_mut().waiters.remove(key);
        for sender in waiter.into_iter().flat_map(|waiter| waiter.senders) {
            // A window that does not wait any more needs nothing.
            drop(sender.send(given()));
        }
    }
}

/// A window under way.
pub(super) struct Working<'q, 'a> {
    queue: &'q Queue<'a>,
}

impl Drop for Working<'_, '_> {
    fn drop(&mut self) {
        self.queue.state.borrow_mut().in_flight -= 1;
        self.queue.changed.notify_waiters();
    }
}

/// How batches are used.
#[derive(Debug, Clone, Copy)]
pub struct Batching<'a> {
    /// The server that answers them.
    pub client: &'a Client,
    /// Whether the run waits for the answers, or leaves them to a later one.
    pub waits: bool,
}

/// What a run tells about its batches.
pub(super) type Tell<'t> = &'t dyn Fn(&str);

impl Queue<'_> {
    /// Gathers, submits and collects for as long as anybody asks; never ends by itself.
    ///
    /// # Errors
    /// [`PipelineError::Store`] if the database cannot be used.
    pub(super) async fn drive(
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
    pub(super) fn fault(&self) -> Option<LlmError> {
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
