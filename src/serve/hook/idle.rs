//! Logs that have come to rest in the folders that are watched.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::Agent;
use super::logs::{is_new, is_subagents, request_for};
use crate::pipeline::Stamp;
use crate::store::{Enqueued, Store, StoreError};
use transcripts::Found;

/// Which logs are taken.
#[derive(Debug, Clone)]
pub struct Scan {
    /// How long a log must have been still.
    pub idle: SignedDuration,
    /// Logs that have been still for longer are left to `run`.
    pub max_age: SignedDuration,
    /// Whether logs of sub-agents are taken, too.
    pub subagents: bool,
}

/// Puts the logs in line that have come to rest and are not extracted as they are now; returns how many that are.
/// `logs` come with the name of the program that keeps them.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or written.
pub fn scan(
    store: &Store,
    logs: impl IntoIterator<Item = (String, Found)>,
    scan: &Scan,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let mut waiting = 0;
    for (agent, log) in logs {
        let Some(stamp) = Stamp::of(&log.path) else { continue };
        let Some(changed) = stamp.changed_at() else { continue };
        let age = now.duration_since(changed);
        let is_wanted =
            (scan.idle..scan.max_age).contains(&age) && (scan.subagents || !is_of_subagent(&agent, &log.path));
        if !is_wanted || !is_new(store, &log.path, &stamp)? {
            continue;
        }
        if let Some(request) = request_for(&agent, &log.path, None, now) {
            waiting += usize::from(store.enqueue(&request, now)? == Enqueued::Waiting);
        }
    }
    Ok(waiting)
}

fn is_of_subagent(agent: &str, log: &Path) -> bool {
    agent.parse::<Agent>().is_ok_and(|agent| is_subagents(agent, log))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::store::{JobEnd, JobStatus};

    #[test]
    fn a_log_is_taken_once_it_has_come_to_rest_and_again_when_it_grew() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.jsonl");
        let store = Store::in_memory().unwrap();
        let terms =
            Scan { idle: SignedDuration::from_mins(10), max_age: SignedDuration::from_hours(24), subagents: false };
        let set = |text: &str, minutes: u64| {
            fs::write(&log, text).unwrap();
            let at = std::time::SystemTime::now() - std::time::Duration::from_secs(minutes * 60);
            fs::File::options().write(true).open(&log).unwrap().set_modified(at).unwrap();
        };
        let look = || {
            let logs = vec![("claude-code".to_owned(), Found { path: log.clone(), named: false })];
            scan(&store, logs, &terms, Timestamp::now()).unwrap()
        };
        set("a", 5);
        assert_eq!(look(), 0, "it may go on");
        set("a", 60 * 30);
        assert_eq!(look(), 0, "of long ago");
        set("a", 15);
        assert_eq!(look(), 1);
        let held = store.claim_job(Timestamp::now()).unwrap().unwrap();
        store.finish_job(&held, JobEnd::Done, Timestamp::now()).unwrap();
        assert_eq!(look(), 0, "it is done");
        set("ab", 11);
        assert_eq!(look(), 1);
        assert_eq!(store.jobs().unwrap()[0].status, JobStatus::Waiting);
        fs::rename(&log, folder.path().join("agent-a.jsonl")).unwrap();
        let logs = vec![("claude-code".to_owned(), Found { path: folder.path().join("agent-a.jsonl"), named: false })];
        assert_eq!(scan(&store, logs, &terms, Timestamp::now()).unwrap(), 0, "of a sub-agent");
    }
}
