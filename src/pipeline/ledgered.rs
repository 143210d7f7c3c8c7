//! A model behind the ledger: no question is paid for twice, and none is sent that the budget does not allow.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;

use super::batch::{Batching, Given, Queue};
use super::turn::Turn;
use crate::fault::point;
use crate::guard::Guard;
use crate::llm::{Budget, Budgeted, Complete, Cost, LlmError, Reply, Request};
use crate::store::{Store, WindowKey};

/// Transient failures in a row after which the server is taken to be down.
const DOWN_AFTER: u32 = 3;

/// Answers from the store where it can, and keeps what it had to ask for.
///
/// Once the model has failed in a way that the next request would meet too, it is not asked again.
pub struct Ledgered<'a, C> {
    inner: Budgeted<'a, &'a C>,
    store: &'a Store,
    guard: &'a Guard,
    failures: Cell<u32>,
    halted: RefCell<Option<LlmError>>,
    /// Where questions about windows are gathered, if they are.
    pub(super) queue: Option<Queue<'a>>,
}

impl<'a, C: Complete> Ledgered<'a, C> {
    /// Puts the ledger of `store` and `budget` in front of `inner`.
    pub const fn new(inner: &'a C, store: &'a Store, guard: &'a Guard, budget: &'a Budget) -> Self {
        Self {
            inner: Budgeted::new(inner, budget),
            store,
            guard,
            failures: Cell::new(0),
            halted: RefCell::new(None),
            queue: None,
        }
    }

    /// Has questions about windows answered in batches.
    pub(super) fn in_batches(self, inner: &'a C, budget: &'a Budget, batching: Batching<'a>) -> Self {
        let queue = Queue::new(batching, self.store, self.guard, budget, inner.model());
        Self { queue: Some(queue), ..self }
    }

    /// Returns why the model is not asked any more, if so.
    pub fn halted(&self) -> Option<LlmError> {
        self.halted.borrow().clone()
    }

    /// Forgets replies that were of no use, so that the questions are asked again.
    pub fn forget(&self, keys: &[String]) {
        if let Err(error) = self.store.forget_replies(keys) {
            tracing::warn!("a useless reply stays in the ledger, so the next run will not ask again: {error}");
        }
    }

    /// Returns the model as the windows of one pack ask it.
    ///
    /// Of an earlier run, `first` is the request that the pack asked first, by hash, with the hash of its frame.
    pub(super) fn about<'m>(&'m self, windows: &'m [WindowKey], first: Option<(String, String)>) -> Asking<'m, 'a, C> {
        Asking { model: self, windows, first: Cell::new(first), is_left: Cell::new(false) }
    }

    /// Notes a failure, and whether the next request would meet it too.
    fn note(&self, error: LlmError) -> LlmError {
        let lasting = match &error {
            LlmError::Transient { .. } => {
                self.failures.set(self.failures.get() + 1);
                self.failures.get() >= DOWN_AFTER
            }
            LlmError::Permanent { .. } | LlmError::Budget { .. } => true,
            LlmError::TooLong { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } | LlmError::Cassette { .. } => {
                false
            }
        };
        if lasting {
            self.halted.borrow_mut().get_or_insert(error.clone());
        }
        error
    }

    /// Returns the reply that is kept under `key`.
    fn kept(&self, key: &str) -> Option<Reply> {
        self.store.reply(key).unwrap_or_else(|error| {
            tracing::warn!("the ledger cannot be read, so the model is asked: {error}");
            None
        })
    }

    /// Asks, unless another process did meanwhile.
    async fn ask(&self, key: &str, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let turn = Turn::wait(self.store, key).await;
        if let Some(reply) = self.kept(key) {
            return Ok((reply, Cost::Cached));
        }
        let answer = match self.halted() {
            Some(error) => return Err(error),
            None => turn.during(self.inner.complete(request)).await,
        };
        let (reply, cost) = answer.map_err(|error| self.note(error))?;
        self.failures.set(0);
        Ok((self.keep(key, reply), cost))
    }

    /// Asks about windows: in a batch, unless the word comes back to ask directly.
    async fn ask_about(&self, windows: &[WindowKey], key: &str, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let Some(queue) = self.queue.as_ref().filter(|_| self.halted().is_none()) else {
            return self.ask(key, request).await;
        };
        let noted = self.store.batch_windows_ask(windows, key, &request.frame(self.model()));
        let given = match noted {
            Ok(()) => queue.ask(key, request).await,
            Err(error) => Err(error),
        };
        match given {
            Ok(Given::Reply(reply, cost)) => Ok((reply, cost)),
            Ok(Given::Direct) => self.ask(key, request).await,
            Ok(Given::Failed(error)) => Err(error),
            Ok(Given::Refused(error)) => Err(self.note(error)),
            Ok(Given::Left) => Err(LlmError::InBatch),
            Err(error) => {
                tracing::warn!("the ledger cannot be used, so what it is about is left to a later run: {error}");
                Err(LlmError::InBatch)
            }
        }
    }

    /// Whether the request with this hash was paid for, be its answer here or on its way.
    fn is_paid(&self, key: &str) -> bool {
        self.kept(key).is_some() || self.store.batch_of(key).is_ok_and(|batch| batch.is_some())
    }

    /// Keeps a reply, redacted. A reply that cannot be kept is still used, since it is paid for.
    fn keep(&self, key: &str, reply: Reply) -> Reply {
        let (text, _) = self.guard.redact(reply.text.clone());
        point("reply.received");
        if let Err(error) = self.store.save_reply(key, &text, &reply, Timestamp::now()) {
            tracing::warn!("a reply was used but could not be kept for later runs: {error}");
        }
        point("reply.kept");
        Reply { text: text.into_inner(), ..reply }
    }
}

impl<C: Complete> Complete for Ledgered<'_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let key = request.key(self.inner.model());
        match self.kept(&key) {
            Some(reply) => Ok((reply, Cost::Cached)),
            None => self.ask(&key, request).await,
        }
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}

/// A model as the windows of one pack ask it.
pub(super) struct Asking<'m, 'a, C> {
    model: &'m Ledgered<'a, C>,
    windows: &'m [WindowKey],
    /// The first request of an earlier run, until this run has asked its own.
    first: Cell<Option<(String, String)>>,
    is_left: Cell<bool>,
}

impl<C: Complete> Asking<'_, '_, C> {
    /// Returns the hash under which a request is looked up: its own, or that of the request in its place which an
    /// earlier run has paid for.
    fn key(&self, request: &Request) -> String {
        let model = self.model.model();
        match self.first.take() {
            Some((first, frame)) if frame == request.frame(model) && self.model.is_paid(&first) => first,
            _ => request.key(model),
        }
    }

    /// Whether an answer is left to a later run, and so the windows.
    pub(super) const fn is_left(&self) -> bool {
        self.is_left.get()
    }
}

impl<C: Complete> Complete for Asking<'_, '_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let key = self.key(request);
        let answer = match self.model.kept(&key) {
            Some(reply) => Ok((reply, Cost::Cached)),
            None => self.model.ask_about(self.windows, &key, request).await,
        };
        if matches!(answer, Err(LlmError::InBatch)) {
            self.is_left.set(true);
        }
        answer
    }

    fn model(&self) -> &str {
        self.model.model()
    }
}
