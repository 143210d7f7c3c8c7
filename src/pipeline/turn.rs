//! One process at a time asks one question, so that two that come to it together do not both pay.

use std::pin::pin;
use std::time::Duration;

use futures::future::{self, Either};
use jiff::Timestamp;
use uuid::Uuid;

use crate::store::{Leased, Store};

/// Time between two looks whether the other process has its answer, at first and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Time between two signs of life; a turn that gives none for a minute is free.
const RENEW: Duration = Duration::from_secs(15);

/// The right to ask a question, until this is dropped.
pub(super) struct Turn<'a> {
    store: &'a Store,
    name: String,
    owner: String,
}

impl<'a> Turn<'a> {
    /// Waits until nobody else asks the question with this hash; by then its answer may be kept.
    pub(super) async fn wait(store: &'a Store, key: &str) -> Self {
        let turn = Self { store, name: format!("ask {key}"), owner: Uuid::now_v7().to_string() };
        let mut pause = LOOK.0;
        while !turn.is_mine() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK.1);
        }
        turn
    }

    /// Takes or keeps the turn. A store that cannot be written is no reason not to ask.
    fn is_mine(&self) -> bool {
        match self.store.lease(&self.name, &self.owner, Timestamp::now()) {
            Ok(leased) => leased == Leased::Mine,
            Err(error) => {
                tracing::warn!("other processes cannot be told that a question is being asked: {error}");
                true
            }
        }
    }

    /// Returns what `call` comes to, and keeps the turn meanwhile.
    pub(super) async fn during<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        loop {
            match future::select(call.as_mut(), pin!(tokio::time::sleep(RENEW))).await {
                Either::Left((done, _)) => return done,
                Either::Right(((), _)) => _ = self.is_mine(),
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.store.end_lease(&self.name, &self.owner) {
            tracing::warn!("others wait up to a minute for a question that was asked: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_question_is_asked_by_one_at_a_time_and_others_are_not_held_up() {
        let store = Store::in_memory().unwrap();
        let asking = Cell::new(0);
        let (store, asking) = (&store, &asking);
        let ask = |key| async move {
            let turn = Turn::wait(store, key).await;
            assert_eq!(asking.replace(asking.get() + 1), 0, "two ask at a time");
            turn.during(tokio::time::sleep(Duration::from_millis(30))).await;
            asking.set(asking.get() - 1);
        };
        future::join3(ask("same"), ask("same"), ask("same")).await;
        let _held = Turn::wait(store, "same").await;
        ask("another").await;
    }
}
