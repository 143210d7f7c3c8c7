//! A model of which is noted what it answered about one window, so that an answer without use is not kept.

use std::cell::{Cell, RefCell};

use super::Ledgered;
use crate::llm::{Complete, Cost, LlmError, Reply, Request};

/// Asks the ledger's model, and notes the answers.
pub(super) struct Noted<'m, 'a, C> {
    inner: &'m Ledgered<'a, C>,
    keys: RefCell<Vec<String>>,
    has_failed: Cell<bool>,
}

impl<'m, 'a, C: Complete> Noted<'m, 'a, C> {
    pub(super) const fn new(inner: &'m Ledgered<'a, C>) -> Self {
        Self { inner, keys: RefCell::new(Vec::new()), has_failed: Cell::new(false) }
    }

    /// Lets the next run ask again about a window that failed for what was answered.
    ///
    /// Where a question got no answer at all, that is the reason, and the other answers stay paid for.
    pub(super) fn forget(self) {
        if !self.has_failed.get() {
            self.inner.forget(&self.keys.into_inner());
        }
    }
}

impl<C: Complete> Complete for Noted<'_, '_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let answer = self.inner.complete(request).await;
        match &answer {
            Ok(_) => self.keys.borrow_mut().push(request.key(self.model())),
            Err(LlmError::TooLong { .. }) => {}
            Err(_) => self.has_failed.set(true),
        }
        answer
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}
