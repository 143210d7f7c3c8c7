//! Questions that are gathered, answered together in batches of the provider, and given back one by one.
//!
//! Every window asks as it would ask a model. Once all windows wait, their questions are submitted; when a batch is
//! over, its answers are kept in the ledger and each window goes on. What is then asked again, such as repairs, waits
//! for the next round. What reached the provider is known from the database at any point, see [`crate::store::Stage`].
//!
//! A few questions are asked directly, at the full price: as many as [`FEW`], since they are worth cents, and the first
//! one of a run, from which is learnt what the server does not take before a day is spent on it.

mod collect;
mod drive;
mod recover;
mod submit;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use tokio::sync::{Notify, oneshot};

use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Budget, Client, Cost, LlmError, Reply, Request, Reservation};
use crate::store::{Store, StoreError};

pub use drive::Batching;
use recover::Left;

/// Windows that wait at the same time at most, for the memory that they take.
pub(super) const MOST_WAITING: usize = 10_000;
/// As many questions are not worth a batch.
const FEW: usize = 4;
/// How often a question is put in a batch that does not answer it.
const MAX_ROUNDS: u32 = 2;

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

/// A question under way.
struct Waiter<'a> {
    request: Request,
    senders: Vec<oneshot::Sender<Given>>,
    /// Batches that it was in.
    rounds: u32,
    reservation: Option<Reservation<'a>>,
}

#[derive(Default)]
struct State<'a> {
    /// Questions by hash.
    waiters: HashMap<String, Waiter<'a>>,
    /// Those of them that are in no batch, in the order in which they came.
    pending: Vec<String>,
    /// Windows under way.
    in_flight: usize,
    /// Whether no more windows will begin.
    all_begun: bool,
    /// Why nothing more is submitted.
    left: Option<Left>,
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
    batching: Batching<'a>,
    store: &'a Store,
    guard: &'a Guard,
    budget: &'a Budget,
    model: &'a str,
    /// The run.
    owner: OnceCell<String>,
    state: RefCell<State<'a>>,
    changed: Notify,
    /// Whether a question was asked directly, so that the server's ways are known.
    is_sounded: Cell<bool>,
    counts: Cell<BatchCounts>,
    /// What answers have cost that no window of this run has asked for.
    unclaimed: Cell<Spent>,
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

    fn count(&self, change: impl FnOnce(&mut BatchCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    fn client(&self) -> &'a Client {
        self.batching.client
    }

    fn owner(&self) -> &str {
        self.owner.get().map_or("", String::as_str)
    }

    /// Gives everybody who has asked this question the same; what was reserved for it is free again.
    fn give(&self, key: &str, mut given: impl FnMut() -> Given) {
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
