//! What a case asks a model, whether a server answers or a recording.

use std::cell::Cell;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::llm::{Complete, Cost, LlmError, Reply, Request};

/// What a model was asked. A recorded reply counts as the call that it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Requests that were answered.
    pub calls: u64,
    /// Requests that were not.
    pub failed_calls: u64,
    /// `o200k_base` tokens of all requests that were answered, schemas included.
    pub prompt_tokens: u64,
    /// Tokens of the answers, as the server counts them.
    pub completion_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed_calls += other.failed_calls;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// Passes requests on, and counts them.
#[derive(Debug)]
pub struct Meter<'a, C> {
    inner: &'a C,
    used: Cell<Usage>,
}

impl<'a, C> Meter<'a, C> {
    /// Returns a meter in front of `inner` that has counted nothing.
    pub const fn new(inner: &'a C) -> Self {
        let used = Usage { calls: 0, failed_calls: 0, prompt_tokens: 0, completion_tokens: 0 };
        Self { inner, used: Cell::new(used) }
    }

    /// Returns what was counted so far.
    pub const fn used(&self) -> Usage {
        self.used.get()
    }
}

impl<C: Complete> Complete for Meter<'_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let answer = self.inner.complete(request).await;
        let mut used = self.used.get();
        match &answer {
            Ok((reply, _)) => {
                used += Usage {
                    calls: 1,
                    failed_calls: 0,
                    prompt_tokens: request.prompt_tokens(),
                    completion_tokens: reply.completion_tokens,
                };
            }
            Err(_) => used.failed_calls += 1,
        }
        self.used.set(used);
        answer
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}
