//! Replies and limits that the workers of a queue share.
//!
//! A reply is stored where all workers find it before it is used. If the worker dies, the next one does not send the
//! request again.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{Complete, Cost, LlmError, Price, Reply, Request};
use crate::fault::point;
use crate::guard::Guard;

/// A call that a worker is about to make.
#[derive(Debug, Clone)]
pub(crate) struct PlannedCall {
    /// A random name.
    pub id: String,
    /// The model.
    pub model: String,
    /// Maximum number of tokens.
    pub tokens: u64,
    /// Maximum cost in US dollars; `None` if the price is not known.
    pub cost: Option<f64>,
    /// When it was made, or planned.
    pub begun: Instant,
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Admission {
    /// The call may be made now.
    Granted,
    /// The call may be tried again after this time.
    After(Duration),
}

/// The place where workers share replies and limits.
pub(crate) trait ReplyStore: Debug + Send + Sync {
    /// Returns the reply to the request with this key.
    fn find(&self, key: &str) -> Result<Option<Reply>, LlmError>;

    /// Counts the worst-case cost of a call towards the limits, if they allow it.
    fn admit(&self, call: &PlannedCall) -> Result<Admission, LlmError>;

    /// Stores a reply, and replaces the worst-case cost of the call with its actual cost.
    fn keep(&self, call: &PlannedCall, key: &str, reply: &Reply, cost: f64) -> Result<(), LlmError>;

    /// Removes the worst-case cost of a call that failed.
    fn release(&self, call: &PlannedCall);
}

/// A source of replies that first looks in the replies that all workers share.
#[derive(Debug)]
pub struct SharedSource<C> {
    inner: C,
    replies: Arc<dyn ReplyStore>,
    price: Option<Price>,
    guard: Guard,
}

impl<C: Complete> SharedSource<C> {
    pub(crate) fn new(inner: C, replies: Arc<dyn ReplyStore>, price: Option<Price>, guard: Guard) -> Self {
        Self { inner, replies, price, guard }
    }

    pub(super) async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let model = self.inner.model().to_owned();
        let key = request.key(&model);
        if let Some(reply) = self.replies.find(&key)? {
            return Ok((reply, Cost::Cached));
        }
        let (prompt, completion) = (request.prompt_tokens(), u64::from(request.max_completion_tokens));
        let cost = self.price.map(|price| price.cost(prompt, completion));
        let (id, begun) = (Uuid::now_v7().to_string(), Instant::now());
        let call = PlannedCall { id, model, tokens: prompt + completion, cost, begun };
        while let Admission::After(time) = self.replies.admit(&call)? {
            tokio::time::sleep(time).await;
        }
        let call = PlannedCall { begun: Instant::now(), ..call };
        // A source may contain another shared source, so the future must be on the heap.
        match Box::pin(self.inner.complete(request)).await {
            Ok((reply, cost)) => {
                let text = self.guard.redact(reply.text.clone()).0.into_inner();
                let reply = Reply { text, ..reply };
                let price = self.price.filter(|_| cost == Cost::Call);
                let paid = price.map_or(0.0, |price| price.cost(reply.prompt_tokens, reply.completion_tokens));
                point("shared.received");
                self.replies.keep(&call, &key, &reply, paid)?;
                point("shared.kept");
                Ok((reply, cost))
            }
            Err(error) => {
                self.replies.release(&call);
                Err(error)
            }
        }
    }

    pub(super) fn model(&self) -> &str {
        self.inner.model()
    }
}
