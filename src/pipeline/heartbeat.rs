//! A sign of life while calls are in flight, so that no other process takes the run for dead.

use std::pin::pin;
use std::time::Duration;

use futures::future::{self, Either};
use jiff::Timestamp;

use crate::store::{RunId, Store};

/// Time between two signs; a run counts as dead after a minute without one.
pub(super) const EVERY: Duration = Duration::from_secs(15);

/// Returns what `work` comes to; meanwhile says `every` so often that `run` is alive.
pub(super) async fn during<T>(store: &Store, run: &RunId, every: Duration, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        match future::select(work.as_mut(), pin!(tokio::time::sleep(every))).await {
            Either::Left((done, _)) => return done,
            Either::Right(((), _)) => {
                if let Err(error) = store.heartbeat(run, Timestamp::now()) {
                    tracing::warn!("could not say that the run is alive: {error}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_run_that_waits_for_a_call_stays_alive() {
        let store = Store::in_memory().unwrap();
        let long_ago = Timestamp::now() - jiff::SignedDuration::from_mins(2);
        let run = store.begin_run("run", &json!([]), long_ago).unwrap();
        assert!(!store.run("last").unwrap().is_alive(Timestamp::now()));
        let call = tokio::time::sleep(Duration::from_millis(50));
        during(&store, &run.id, Duration::from_millis(5), call).await;
        assert!(store.run("last").unwrap().is_alive(Timestamp::now()));
    }
}
