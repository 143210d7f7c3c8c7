//! The queue of session logs that wait for extraction.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use transcripts::Found;

use super::read::{Stamp, path_key};
use crate::store::{EXTRACT, Enqueued, JobRequest, Store, StoreError};

/// Returns the job of a log, due at `not_before`; `None` where there is no such file.
#[must_use]
pub fn request_for(agent: &str, log: &Path, project: Option<&Path>, not_before: Timestamp) -> Option<JobRequest> {
    let changed = log.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?;
    Some(JobRequest {
        kind: EXTRACT.to_owned(),
        key: path_key(log),
        agent: agent.to_owned(),
        path: log.to_str()?.to_owned(),
        project: project.and_then(Path::to_str).map(str::to_owned),
        watermark: Timestamp::try_from(changed).ok()?.as_millisecond(),
        not_before,
    })
}

/// Whether neither a job nor a run has read the log as it is now.
pub(crate) fn is_unread(store: &Store, log: &Path, stamp: &Stamp) -> Result<bool, StoreError> {
    let key = path_key(log);
    let changed = stamp.changed_at().map_or(0, Timestamp::as_millisecond);
    let is_done = store.extracted_until(&key)?.is_some_and(|until| until >= changed);
    Ok(!is_done && !store.was_read(&key, &stamp.text())?)
}

/// Whether a log is that of a sub-agent.
#[must_use]
pub fn is_subagents(agent: &str, log: &Path) -> bool {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let folder = log.parent().and_then(Path::file_name).unwrap_or_default();
    agent == "claude-code" && (name.starts_with("agent-") || folder == "subagents")
}

/// The logs that a scan takes.
#[derive(Debug, Clone)]
pub struct Scan {
    /// How long a log must have been still.
    pub idle: SignedDuration,
    /// Logs that have been still for longer are left to `run`.
    pub max_age: SignedDuration,
    /// Whether logs of sub-agents are taken, too.
    pub subagents: bool,
}

/// Queues the logs that no longer change and are not extracted as they are now, and returns how many.
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
            (scan.idle..scan.max_age).contains(&age) && (scan.subagents || !is_subagents(&agent, &log.path));
        if !is_wanted || !is_unread(store, &log.path, &stamp)? {
            continue;
        }
        if let Some(request) = request_for(&agent, &log.path, None, now) {
            waiting += usize::from(store.enqueue(&request, now)? == Enqueued::Waiting);
        }
    }
    Ok(waiting)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::store::{JobEnd, JobStatus};

    #[test]
    fn logs_of_subagents_are_told_by_their_names() {
        let is = |path: &str| is_subagents("claude-code", Path::new(path));
        assert!(is("/p/agent-a1b2.jsonl") && is("/p/5f0c/subagents/x.jsonl"));
        assert!(!is("/p/5f0c2a9e.jsonl") && !is_subagents("codex", Path::new("/p/agent-a.jsonl")));
    }

    #[test]
    fn a_log_that_is_not_there_is_no_work() {
        assert_eq!(request_for("codex", Path::new("/none/such.jsonl"), None, Timestamp::UNIX_EPOCH), None);
        assert_eq!(request_for("codex", &std::env::temp_dir(), None, Timestamp::UNIX_EPOCH), None);
    }

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
