//! A model behind the ledger: no question is paid for twice, and none is sent that the budget does not allow.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;

use crate::guard::Guard;
use crate::llm::{Budget, Budgeted, Complete, Cost, LlmError, Reply, Request};
use crate::store::Store;

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
}

impl<'a, C: Complete> Ledgered<'a, C> {
    /// Puts the ledger of `store` and `budget` in front of `inner`.
    pub const fn new(inner: &'a C, store: &'a Store, guard: &'a Guard, budget: &'a Budget) -> Self {
        Self { inner: Budgeted::new(inner, budget), store, guard, failures: Cell::new(0), halted: RefCell::new(None) }
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

    /// Notes a failure, and whether the next request would meet it too.
    fn note(&self, error: LlmError) -> LlmError {
        let lasting = match &error {
            LlmError::Transient { .. } => {
                self.failures.set(self.failures.get() + 1);
                self.failures.get() >= DOWN_AFTER
            }
            LlmError::Permanent { .. } | LlmError::Budget { .. } => true,
            LlmError::TooLong { .. } | LlmError::NotRecorded { .. } | LlmError::Cassette { .. } => false,
        };
        if lasting {
            self.halted.borrow_mut().get_or_insert(error.clone());
        }
        error
    }

    async fn ask(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        if let Some(error) = self.halted() {
            return Err(error);
        }
        let answer = self.inner.complete(request).await?;
        self.failures.set(0);
        Ok(answer)
    }

    /// Keeps a reply, redacted. A reply that cannot be kept is still used, since it is paid for.
    fn keep(&self, key: &str, reply: Reply) -> Reply {
        let (text, _) = self.guard.redact(reply.text.clone());
        if let Err(error) = self.store.save_reply(key, &text, &reply, Timestamp::now()) {
            tracing::warn!("a reply was used but could not be kept for later runs: {error}");
        }
        Reply { text: text.into_inner(), ..reply }
    }
}

impl<C: Complete> Complete for Ledgered<'_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let key = request.key(self.inner.model());
        let known = self.store.reply(&key);
        match known {
            Ok(Some(reply)) => return Ok((reply, Cost::Cached)),
            Ok(None) => {}
            Err(error) => tracing::warn!("the ledger cannot be read, so the model is asked: {error}"),
        }
        let (reply, cost) = self.ask(request).await.map_err(|error| self.note(error))?;
        Ok((self.keep(&key, reply), cost))
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}
