//! The queue of many workers: how many jobs wait, are in progress and have ended, and the last faults.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::visit::Reply;
use crate::api::QueueProgress;
use crate::serve::probes::CountedQueue;

/// Shows the state of the queue or, if it does not answer, why not.
pub(super) fn show(queue: &Mutex<CountedQueue>) -> Reply {
    let progress = queue.lock().unwrap_or_else(PoisonError::into_inner).progress();
    let values = match &progress {
        Ok(progress) => values(progress, Timestamp::now()),
        Err(error) => json!({"unanswered": error.to_string()}),
    };
    Reply::Page("queue", values)
}

fn values(progress: &QueueProgress, now: Timestamp) -> Value {
    let QueueProgress { waiting, running, done, failed, namespaces, silent, .. } = *progress;
    let age = progress.due_since.map(|since| age((now.as_second() - since.as_second()).max(0) / 60));
    let dollars = |amount: f64| format!("{amount:.4}");
    json!({
        "cards": [
            {"name": "jobs_waiting", "count": waiting}, {"name": "jobs_running", "count": running},
            {"name": "jobs_done", "count": done}, {"name": "jobs_failed", "count": failed, "is_bad": failed > 0},
            {"name": "namespaces", "count": namespaces},
        ],
        "due_since": progress.due_since, "age": age, "silent": silent, "spent": dollars(progress.spent),
        "max_cost": progress.max_cost.map(dollars), "faults": progress.faults,
    })
}

/// Returns an age in the largest unit in which it is at least 2.
fn age(minutes: i64) -> Value {
    let (noun, count) = match minutes {
        0..120 => ("minute", minutes),
        120..2_880 => ("hour", minutes / 60),
        _ => ("day", minutes / 1_440),
    };
    json!({"noun": noun, "count": count})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit_that_fits_it() {
        let shown = [0, 1, 119, 120, 2_879, 2_880, 100_000].map(|minutes| {
            let age = age(minutes);
            format!("{} {}", age["count"], age["noun"].as_str().unwrap())
        });
        assert_eq!(shown, ["0 minute", "1 minute", "119 minute", "2 hour", "47 hour", "2 day", "69 day"]);
    }
}
