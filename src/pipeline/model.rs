//! Places the store in front of a model: a request is stored before it is sent, sent by only one process, and paid for
//! only once.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::time::Duration;

use futures::future::{self, Either};
use jiff::Timestamp;
use uuid::Uuid;

use super::batch::{BatchQueue, Batching, Outcome};
use crate::fault::point;
use crate::guard::Guard;
use crate::llm::{Answered, Budget, Budgeted, Complete, Cost, LlmError, Rendered, Reply, Request};
use crate::memory::Memory;
use crate::store::{RequestClaim, RequestId, RequestPart, Store, StoredRequest, WindowId};

/// Number of consecutive transient failures after which the server is considered to be down.
const DOWN_AFTER: u32 = 3;
/// Minimum and maximum interval between checks of whether another process has the reply.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Interval between renewals of the claim on a request that is being sent.
// The lease of one minute spans four renewals, so that a late renewal does no harm.
const RENEW: Duration = Duration::from_secs(15);

/// Answers from the store if possible; otherwise calls the model and stores the reply.
///
/// Once the model has failed in a way that would also affect the next request, the model is not called again.
pub(crate) struct CachedModel<'a, C> {
    inner: Budgeted<'a, &'a C>,
    store: &'a Store,
    guard: &'a Guard,
    failures: Cell<u32>,
    halted: RefCell<Option<LlmError>>,
    /// The queue in which requests about windows are gathered, if batches are used.
    pub(super) queue: Option<BatchQueue<'a>>,
}

impl<'a, C: Complete> CachedModel<'a, C> {
    /// Returns a model that uses the stored requests of `store` and the cost limit of `budget` before it calls `inner`.
    pub(crate) const fn new(inner: &'a C, store: &'a Store, guard: &'a Guard, budget: &'a Budget) -> Self {
        Self {
            inner: Budgeted::new(inner, budget),
            store,
            guard,
            failures: Cell::new(0),
            halted: RefCell::new(None),
            queue: None,
        }
    }

    /// Sends requests about windows in batches.
    pub(super) fn in_batches(self, inner: &'a C, budget: &'a Budget, batching: Batching<'a>) -> Self {
        let queue = BatchQueue::new(batching, self.store, self.guard, budget, inner.model());
        Self { queue: Some(queue), ..self }
    }

    /// Returns the reason if the model is no longer called.
    pub(crate) fn halted(&self) -> Option<LlmError> {
        self.halted.borrow().clone()
    }

    /// Deletes replies that could not be used, so that the requests are sent again.
    pub(crate) fn forget(&self, keys: &[String]) {
        if let Err(error) = self.store.forget_replies(keys) {
            tracing::warn!(
                "an unusable reply could not be deleted, so the next run will not send its request again: {error}"
            );
        }
    }

    /// Records a failure, and whether it would also affect the next request.
    fn note(&self, error: LlmError) -> LlmError {
        let lasting = match &error {
            LlmError::Transient { .. } => {
                self.failures.set(self.failures.get() + 1);
                self.failures.get() >= DOWN_AFTER
            }
            // An invalid API key or an exhausted budget would affect every further request.
            LlmError::Permanent { .. } | LlmError::Budget { .. } => true,
            // These errors affect only one request, so the next request may succeed.
            LlmError::TooLong { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } | LlmError::Cassette { .. } => {
                false
            }
        };
        if lasting {
            self.halted.borrow_mut().get_or_insert(error.clone());
        }
        error
    }

    /// Returns the reply that is stored under `key`.
    fn stored_reply(&self, key: &str) -> Option<Reply> {
        self.store.reply(key).unwrap_or_else(|error| {
            tracing::warn!("the store cannot be read, so the request is sent to the model: {error}");
            None
        })
    }

    /// Sends a request, unless another process receives the reply first.
    async fn ask(&self, key: &str, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let owner = Uuid::now_v7().to_string();
        let mut pause = LOOK.0;
        loop {
            match self.store.claim_request(key, request, &owner, Timestamp::now()) {
                Ok(RequestClaim::Mine) => break,
                Ok(RequestClaim::Answered(reply)) => return Ok((reply, Cost::Cached)),
                Ok(RequestClaim::InBatch) => return Err(LlmError::InBatch),
                Ok(RequestClaim::Other) => tokio::time::sleep(pause).await,
                // The reply is useful even if the request could not be stored.
                Err(error) => {
                    tracing::warn!("a request could not be stored, and is sent anyway: {error}");
                    break;
                }
            }
            pause = (pause * 2).min(LOOK.1);
        }
        // The claim has a separate owner for each task, because two tasks of one run must not send the same request.
        let claim = SendingClaim { store: self.store, key, owner };
        // The error is checked after waiting for the claim, because another task may have failed in the meantime.
        if let Some(error) = self.halted() {
            return Err(error);
        }
        let (reply, cost) = claim.during(self.inner.complete(request)).await.map_err(|error| self.note(error))?;
        // A single success shows that the server is available again.
        self.failures.set(0);
        Ok((self.keep(key, reply), cost))
    }

    /// Sends a request about windows, or adds it to a batch.
    async fn ask_about_windows(
        &self,
        key: &str,
        request: &Request,
        first: Option<WindowId>,
    ) -> Result<(Reply, Cost), LlmError> {
        let Some(queue) = self.queue.as_ref().filter(|_| self.halted().is_none()) else {
            return self.ask(key, request).await;
        };
        match queue.ask(key, request) {
            Ok(Some(Outcome::Direct)) => {
                let answer = self.ask(key, request).await;
                queue.sent_directly(key, first, answer.as_ref().err());
                answer
            }
            Ok(Some(Outcome::Failed(error))) => Err(error),
            Ok(Some(Outcome::Refused(error))) => Err(self.note(error)),
            Ok(None) => Err(LlmError::InBatch),
            Err(error) => {
                tracing::warn!("the store cannot be used, so these windows are left for a later run: {error}");
                Err(LlmError::InBatch)
            }
        }
    }

    /// Returns whether the request with this hash has been paid for, even if the reply has not arrived yet.
    fn is_paid(&self, key: &str) -> bool {
        self.stored_reply(key).is_some() || self.store.batch_of(key).is_ok_and(|batch| batch.is_some())
    }

    /// Stores a reply after redacting it. A reply that cannot be stored is still used, because it has been paid for.
    fn keep(&self, key: &str, reply: Reply) -> Reply {
        let (text, _) = self.guard.redact(reply.text.clone());
        // From here to the next fault point, the reply has been paid for but is not stored anywhere.
        point("reply.received");
        if let Err(error) = self.store.save_reply(key, &text, &reply, Timestamp::now()) {
            tracing::warn!("a reply was used but could not be stored for later runs: {error}");
        }
        point("reply.kept");
        Reply { text: text.into_inner(), ..reply }
    }
}

impl<C: Complete> Complete for CachedModel<'_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let key = request.key(self.inner.model());
        match self.stored_reply(&key) {
            Some(reply) => Ok((reply, Cost::Cached)),
            None => self.ask(&key, request).await,
        }
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn discard(&self, request: &Request) {
        self.forget(&[request.key(self.inner.model())]);
    }
}

/// The right to send a request, which is released on drop unless the request has been answered.
struct SendingClaim<'a> {
    store: &'a Store,
    key: &'a str,
    owner: String,
}

impl SendingClaim<'_> {
    /// Returns the result of `call`, renewing the claim in the meantime.
    async fn during<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        loop {
            match future::select(call.as_mut(), pin!(tokio::time::sleep(RENEW))).await {
                Either::Left((done, _)) => return done,
                Either::Right(((), _)) => {
                    if let Err(error) = self.store.renew_request(self.key, &self.owner, Timestamp::now()) {
                        tracing::warn!("the claim on a request could not be renewed: {error}");
                    }
                }
            }
        }
    }
}

impl Drop for SendingClaim<'_> {
    fn drop(&mut self) {
        // The claim is also released if an interrupt drops the future; otherwise, other tasks would wait for the lease
        // to expire.
        if let Err(error) = self.store.release_request(self.key, &self.owner) {
            tracing::warn!(
                "the claim on a request could not be released, so other processes wait up to a minute: {error}"
            );
        }
    }
}

/// The model as used for the windows of one pack; each request about these windows is rendered only once across all
/// processes.
pub(super) struct PackModel<'m, 'a, C> {
    pub(super) model: &'m CachedModel<'a, C>,
    /// The store with the windows.
    pub(super) store: &'m Store,
    pub(super) windows: Vec<(WindowId, usize)>,
    pub(super) known: &'m [Memory],
    /// The ID of the first request about these windows, once the request exists.
    pub(super) root: Cell<Option<RequestId>>,
    /// Requests whose replies are delivered with a batch, now or in a later run.
    pub(super) unanswered: RefCell<Vec<String>>,
}

impl<C: Complete> PackModel<'_, '_, C> {
    /// Returns the request about `part`, rendered and stored now or earlier, with the hash that identifies its reply.
    fn request(&self, part: &str, render: impl FnOnce() -> Rendered) -> (Rendered, String) {
        let stored = self.root.get().map(|root| self.store.stored_request(root, part, self.model.guard));
        let stored = stored.transpose().unwrap_or_else(|error| {
            tracing::warn!("a stored request cannot be read, so it is rendered again: {error}");
            None
        });
        let earlier_key = match stored.flatten() {
            // A request that was paid for under different settings or with a different model still has a valid reply.
            Some(StoredRequest { key, body }) if self.model.is_paid(&key) => match body {
                Some((request, reading)) => return (Rendered { request, reading }, key),
                // The stored form is no longer readable, but the reply has been paid for, so the key is kept.
                None => Some(key),
            },
            Some(StoredRequest { key, body: Some((request, reading)) }) if request.key(self.model.model()) == key => {
                return (Rendered { request, reading }, key);
            }
            // The request was rendered for a different model.
            Some(_) | None => None,
        };
        let rendered = render();
        let key = earlier_key.unwrap_or_else(|| rendered.request.key(self.model.model()));
        let part = RequestPart {
            root: self.root.get(),
            part,
            key: &key,
            request: &rendered.request,
            reading: &rendered.reading,
            windows: &self.windows,
            known: self.known,
        };
        match self.store.keep_request(&part, Timestamp::now()) {
            Ok(root) => self.root.set(root),
            Err(error) => tracing::warn!("a request could not be stored before it is sent: {error}"),
        }
        (rendered, key)
    }
}

impl<C: Complete> Complete for PackModel<'_, '_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        self.model.complete(request).await
    }

    fn model(&self) -> &str {
        self.model.model()
    }

    async fn complete_part(&self, part: &str, render: impl FnOnce() -> Rendered) -> Answered {
        let (rendered, key) = self.request(part, render);
        let first = self.windows.first().map(|(window, _)| *window);
        let answer = match self.model.stored_reply(&key) {
            Some(reply) => {
                // A reply that was paid for in an earlier round of this run is counted in the round that uses it.
                let cost = self.model.queue.as_ref().map_or(Cost::Cached, |queue| queue.cost(&key, first));
                Ok((reply, cost))
            }
            None => self.model.ask_about_windows(&key, &rendered.request, first).await,
        };
        if matches!(answer, Err(LlmError::InBatch)) {
            self.unanswered.borrow_mut().push(key.clone());
        }
        Answered { rendered, key, answer }
    }
}

#[cfg(test)]
mod ledgered_tests {
    use super::*;
    use crate::llm::{Finish, Limits, ReplySchema, Turn, TurnRole};

    /// A model that fails the test if it is called twice at the same time.
    #[derive(Default)]
    struct OneAtATime {
        in_flight: Cell<u32>,
        calls: Cell<u32>,
    }

    impl Complete for OneAtATime {
        async fn complete(&self, _: &Request) -> Result<(Reply, Cost), LlmError> {
            assert_eq!(self.in_flight.replace(self.in_flight.get() + 1), 0, "two ask at a time");
            tokio::time::sleep(Duration::from_millis(30)).await;
            self.in_flight.set(self.in_flight.get() - 1);
            self.calls.set(self.calls.get() + 1);
            let (finish, model) = (Finish::Stop, "m".to_owned());
            Ok((Reply { text: "{}".into(), finish, prompt_tokens: 1, completion_tokens: 1, model }, Cost::Call))
        }

        fn model(&self) -> &'static str {
            "m"
        }
    }

    fn request(guard: &Guard, text: &str) -> Request {
        let redacted = |text: &str| guard.redact(text.to_owned()).0;
        Request {
            system: redacted("Extract facts."),
            turns: vec![Turn { role: TurnRole::User, text: redacted(text) }],
            schema: ReplySchema { name: "facts".into(), schema: serde_json::json!({"type": "object"}) },
            max_completion_tokens: 100,
        }
    }

    #[tokio::test]
    async fn a_request_is_sent_by_one_at_a_time_and_paid_for_once() {
        let (store, guard, model) = (Store::in_memory().unwrap(), Guard::default(), OneAtATime::default());
        let budget = Budget::new(Limits::default(), None, "m").unwrap();
        let models = [(); 3].map(|()| CachedModel::new(&model, &store, &guard, &budget));
        let same = request(&guard, "same");
        let replies = future::join_all(models.iter().map(|model| model.complete(&same))).await;
        assert_eq!(replies.iter().filter(|reply| matches!(reply, Ok((_, Cost::Call)))).count(), 1);
        assert_eq!((replies.iter().filter(|reply| reply.is_ok()).count(), model.calls.get()), (3, 1));
        // A claim on one request does not block another.
        let other = request(&guard, "another");
        store.claim_request("held", &same, "somebody", Timestamp::now()).unwrap();
        assert!(matches!(models[0].complete(&other).await, Ok((_, Cost::Call))));
    }
}
