//! Calls under way, at most so many at a time, and the first one that was not answered.

use std::sync::Mutex;

use tokio::sync::Semaphore;

use crate::llm::{Complete, Cost, LlmError, Reply, Request};

/// Passes requests on, at most so many at a time.
#[derive(Debug)]
pub struct InFlight<C> {
    inner: C,
    places: Semaphore,
    refused: Mutex<Option<String>>,
}

impl<C: Complete> InFlight<C> {
    /// Returns `inner` with at most `limit` calls under way.
    pub fn new(inner: C, limit: usize) -> Self {
        Self { inner, places: Semaphore::new(limit.max(1)), refused: Mutex::default() }
    }

    /// Returns why a call was refused before it was made, if one was: a limit was reached, or the recording lacks it.
    /// Whatever was decided without it says nothing about the model.
    pub fn refused(&self) -> Option<String> {
        self.refused.lock().ok()?.clone()
    }
}

impl<C: Complete> Complete for InFlight<C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        // The semaphore is never closed; without a place the call is made all the same.
        let _place = self.places.acquire().await;
        let answer = self.inner.complete(request).await;
        if let Err(error @ (LlmError::Budget { .. } | LlmError::NotRecorded { .. })) = &answer
            && let Ok(mut refused) = self.refused.lock()
        {
            refused.get_or_insert_with(|| error.to_string());
        }
        answer
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures::future::join_all;

    use super::*;
    use crate::guard::Guard;
    use crate::llm::{Finish, ReplySchema};

    /// Counts how many calls are under way at a time, and refuses the last.
    struct Counted(Cell<u32>, Cell<u32>, Cell<u32>);

    impl Complete for Counted {
        async fn complete(&self, _: &Request) -> Result<(Reply, Cost), LlmError> {
            let (Self(now, most, left), pause) = (self, tokio::task::yield_now());
            now.set(now.get() + 1);
            most.set(most.get().max(now.get()));
            pause.await;
            now.set(now.get() - 1);
            left.set(left.get() - 1);
            if left.get() == 0 {
                return Err(LlmError::Budget { limit: "3 tokens".to_owned() });
            }
            let (text, model) = ("{}".to_owned(), "m".to_owned());
            Ok((Reply { text, finish: Finish::Stop, prompt_tokens: 1, completion_tokens: 1, model }, Cost::Call))
        }

        fn model(&self) -> &'static str {
            "m"
        }
    }

    #[tokio::test]
    async fn no_more_calls_are_under_way_than_allowed_and_a_refusal_is_told() {
        let model = InFlight::new(Counted(Cell::new(0), Cell::new(0), Cell::new(8)), 3);
        let request = Request {
            system: Guard::default().redact(String::new()).0,
            turns: Vec::new(),
            schema: ReplySchema { name: "any".into(), schema: serde_json::json!({}) },
            max_completion_tokens: 1,
        };
        assert_eq!(model.refused(), None);
        let answers = join_all((0..8).map(|_| model.complete(&request))).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 7);
        assert_eq!(model.inner.1.get(), 3);
        assert!(model.refused().is_some_and(|why| why.contains("3 tokens")));
    }
}
