//! Queued jobs: session logs that wait for extraction, and the worker process that extracts them.

use std::collections::HashMap;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt as _};
use futures::{FutureExt as _, select_biased};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use transcripts::Found;

use super::read::{Stamp, path_key};
use crate::store::{ClaimedJob, EXTRACT, EnqueueOutcome, Job, JobEnd, JobRequest, LeaseOutcome, Store, StoreError};

/// Returns the job for a log, due at `not_before`; `None` if the file does not exist.
pub(crate) fn request_for(
    agent: &str,
    log: &Path,
    project: Option<&Path>,
    not_before: Timestamp,
) -> Option<JobRequest> {
    let changed = log.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?;
    // A job stores its path as text, so a path that is not UTF-8 gets no job.
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

/// Returns whether neither a job nor a run has read the log in its current state.
pub(crate) fn is_unread(store: &Store, log: &Path, stamp: &Stamp) -> Result<bool, StoreError> {
    let key = path_key(log);
    let changed = stamp.changed_at().map_or(0, Timestamp::as_millisecond);
    let is_done = store.extracted_until(&key)?.is_some_and(|until| until >= changed);
    Ok(!is_done && !store.was_read(&key, &stamp.text())?)
}

/// Returns whether a log belongs to a sub-agent.
pub(crate) fn is_subagents(agent: &str, log: &Path) -> bool {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let folder = log.parent().and_then(Path::file_name).unwrap_or_default();
    agent == "claude-code" && (name.starts_with("agent-") || folder == "subagents")
}

/// The criteria for logs that a scan queues.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    /// Minimum time for which a log must have been unchanged.
    pub idle: SignedDuration,
    /// Maximum time for which a log may have been unchanged; older logs are extracted only by `run`.
    pub max_age: SignedDuration,
    /// Whether logs of sub-agents are also queued.
    pub subagents: bool,
}

/// Queues the logs that no longer change and whose current state has not been extracted, and returns the number of
/// queued logs. `logs` contains each log with the name of the program that writes it.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or written.
pub(crate) fn scan(
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
        // A changing log would be read repeatedly, and an old log does not belong to a current session.
        let is_wanted =
            (scan.idle..scan.max_age).contains(&age) && (scan.subagents || !is_subagents(&agent, &log.path));
        if !is_wanted || !is_unread(store, &log.path, &stamp)? {
            continue;
        }
        if let Some(request) = request_for(&agent, &log.path, None, now) {
            waiting += usize::from(store.enqueue(&request, now)? == EnqueueOutcome::Waiting);
        }
    }
    Ok(waiting)
}

/// The name of the worker's lease.
pub(crate) const WORKER_LEASE: &str = "worker";
/// The name of the watcher's lease.
pub(crate) const WATCH_LEASE: &str = "watch";
/// A worker keeps running if a job becomes due within this time, which is slightly longer than the time for which a
/// conversation must be idle.
pub(crate) const LINGER: SignedDuration = SignedDuration::from_mins(11);
/// Pause between two checks for due jobs.
const PAUSE: Duration = Duration::from_millis(1_500);
/// Interval between two heartbeats.
// Each lease lasts for several heartbeats, so that a late heartbeat does no harm.
const HEARTBEAT: SignedDuration = SignedDuration::from_secs(15);

/// Reasons why a job was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The job failed. The reason contains no text from the conversation.
    Failed(String),
    /// The job cannot run before this time; the text is the reason.
    Later(Timestamp, String),
    /// Nothing is extracted from the log in its current state; the text is the reason.
    LeftOut(String),
}

/// The condition under which a worker ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerEnd {
    /// No remaining job becomes due within this time, or a watching process takes over.
    NothingIn(SignedDuration),
    /// The worker is cancelled.
    Cancelled,
}

/// An interval, and an action that is repeated at this interval.
pub(crate) type Every<'a> = (Duration, &'a mut dyn FnMut());

/// The options of a worker.
pub(crate) struct WorkerOptions<'a> {
    /// Number of jobs processed at the same time.
    pub at_a_time: usize,
    /// The condition under which the worker ends.
    pub until: WorkerEnd,
    /// After a cancellation, no more jobs are started, and the worker ends when the jobs in progress are finished.
    pub cancel: CancellationToken,
    /// An action that is repeated between jobs; it is also executed once at the beginning.
    pub every: Option<Every<'a>>,
    /// A callback for the outcome of each job; `None` means success.
    pub report: &'a mut dyn FnMut(&Job, Option<&Fault>),
}

/// The result of one run of the worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WorkerReport {
    /// Jobs that were done.
    pub done: usize,
    /// Jobs that failed or were postponed.
    pub left: usize,
    /// The id of the process that was already working, if any; nothing was done in that case.
    pub busy: Option<u32>,
}

/// Processes due jobs with `work`, unless another process is already working.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or written. Claimed jobs are available again when their lease ends.
pub(crate) async fn work_off<F: Future<Output = Result<(), Fault>>>(
    store: &Store,
    mut shift: WorkerOptions<'_>,
    work: impl Fn(Job) -> F,
) -> Result<WorkerReport, StoreError> {
    let owner = uuid::Uuid::now_v7().to_string();
    if let LeaseOutcome::Other { pid } = store.lease(WORKER_LEASE, &owner, Timestamp::now())? {
        return Ok(WorkerReport { busy: Some(pid), ..WorkerReport::default() });
    }
    let worked = go(store, &mut shift, &owner, work).await;
    // The lease is released even if the work failed, so that the next worker need not wait for the lease to expire.
    let ended = store.end_lease(WORKER_LEASE, &owner);
    let worked = worked?;
    ended?;
    Ok(worked)
}

async fn go<F: Future<Output = Result<(), Fault>>>(
    store: &Store,
    shift: &mut WorkerOptions<'_>,
    owner: &str,
    work: impl Fn(Job) -> F,
) -> Result<WorkerReport, StoreError> {
    let mut worked = WorkerReport::default();
    let mut held: HashMap<i64, ClaimedJob> = HashMap::new();
    let mut running = FuturesUnordered::new();
    // The check for due jobs does not see jobs that a dead worker has claimed.
    store.release_jobs_of_the_dead(Timestamp::now())?;
    let (mut alive_at, mut next) = (Timestamp::now(), tokio::time::Instant::now());
    loop {
        if let Some((every, act)) = &mut shift.every
            && tokio::time::Instant::now() >= next
            && !shift.cancel.is_cancelled()
        {
            act();
            next = tokio::time::Instant::now() + *every;
        }
        while held.len() < shift.at_a_time.max(1) && !shift.cancel.is_cancelled() {
            // Unlike claiming, the check takes no lock that other processes would wait for.
            let now = Timestamp::now();
            let is_due = store.next_job_at(now)?.is_some_and(|at| at <= now);
            let Some(job) = (if is_due { store.claim_job(now)? } else { None }) else { break };
            let (id, task) = (job.job.id, work(job.job.clone()));
            held.insert(id, job);
            running.push(async move { (id, task.await) });
        }
        // Due jobs are checked last, so that a job that became due in the meantime is still processed.
        if held.is_empty() && is_over(store, shift)? {
            return Ok(worked);
        }
        let cancel = shift.cancel.clone();
        let mut pause = pin!(tokio::time::sleep(PAUSE).fuse());
        let mut cancelled = pin!(
            async {
                // Jobs in progress are awaited as before.
                if cancel.is_cancelled() { futures::future::pending().await } else { cancel.cancelled().await }
            }
            .fuse()
        );
        // The order matters: an ended job is completed even if the pause ends or a signal arrives at the same moment.
        let ended = select_biased! {
            ended = running.select_next_some() => Some(ended),
            () = cancelled => None,
            () = pause => None,
        };
        if let Some((id, outcome)) = ended
            && let Some(job) = held.remove(&id)
        {
            finish(store, shift, &job, &outcome, &mut worked)?;
        }
        let now = Timestamp::now();
        if now.duration_since(alive_at) >= HEARTBEAT {
            alive_at = now;
            // While this process works, no other worker starts; if this process dies, the lease expires.
            store.lease(WORKER_LEASE, owner, now)?;
            for job in held.values() {
                store.job_heartbeat(job, now)?;
            }
        }
    }
}

fn is_over(store: &Store, shift: &WorkerOptions<'_>) -> Result<bool, StoreError> {
    if shift.cancel.is_cancelled() {
        return Ok(true);
    }
    let now = Timestamp::now();
    Ok(match shift.until {
        WorkerEnd::Cancelled => false,
        WorkerEnd::NothingIn(time) => {
            // `watch` may process jobs in this process, which must not end because of its own lease.
            let watcher = store.lease_holder(WATCH_LEASE, now)?.filter(|pid| *pid != std::process::id());
            watcher.is_some() || store.next_job_at(now)?.is_none_or(|at| at > now + time)
        }
    })
}

fn finish(
    store: &Store,
    shift: &mut WorkerOptions<'_>,
    job: &ClaimedJob,
    outcome: &Result<(), Fault>,
    worked: &mut WorkerReport,
) -> Result<(), StoreError> {
    let end = match outcome {
        Ok(()) => {
            worked.done += 1;
            JobEnd::Done
        }
        Err(Fault::LeftOut(_)) => JobEnd::Done,
        Err(Fault::Failed(why)) => {
            worked.left += 1;
            JobEnd::Failed(why)
        }
        Err(Fault::Later(until, why)) => {
            worked.left += 1;
            JobEnd::Deferred(*until, why)
        }
    };
    store.finish_job(job, end, Timestamp::now())?;
    (shift.report)(&job.job, outcome.as_ref().err());
    Ok(())
}

/// Lowers the priority of this process, where the system allows it.
pub(crate) fn lower_priority() {
    #[cfg(unix)]
    // A worker that is not allowed to lower its priority still works.
    rustix::process::nice(10).ok();
}

#[cfg(test)]
mod queue_tests {
    use std::fs;

    use super::*;
    use crate::store::JobStatus;

    #[test]
    fn logs_of_subagents_are_recognised_by_their_names() {
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

#[cfg(test)]
mod worker_tests {
    use std::cell::RefCell;

    use super::*;
    use crate::store::JobStatus;

    fn enqueue(store: &Store, path: &str) {
        let request = JobRequest {
            kind: EXTRACT.into(),
            key: path.into(),
            agent: "codex".into(),
            path: path.into(),
            project: None,
            watermark: 1,
            not_before: Timestamp::UNIX_EPOCH,
        };
        store.enqueue(&request, Timestamp::now()).unwrap();
    }

    fn shift(report: &mut dyn FnMut(&Job, Option<&Fault>)) -> WorkerOptions<'_> {
        let until = WorkerEnd::NothingIn(SignedDuration::ZERO);
        WorkerOptions { at_a_time: 2, until, cancel: CancellationToken::new(), every: None, report }
    }

    #[tokio::test]
    async fn what_waits_is_worked_off_several_at_a_time() {
        let store = Store::in_memory().unwrap();
        ["a", "b", "c", "bad"].iter().for_each(|path| enqueue(&store, path));
        let (now, most) = (RefCell::new(0), RefCell::new(0));
        let work = |job: Job| {
            let (now, most) = (&now, &most);
            async move {
                *now.borrow_mut() += 1;
                most.replace_with(|most| (*most).max(*now.borrow()));
                tokio::time::sleep(Duration::from_millis(5)).await;
                *now.borrow_mut() -= 1;
                if job.path == "bad" { Err(Fault::Failed("no".into())) } else { Ok(()) }
            }
        };
        let worked = work_off(&store, shift(&mut |_, _| {}), work).await.unwrap();
        assert_eq!(worked, WorkerReport { done: 3, left: 1, busy: None });
        assert_eq!(*most.borrow(), 2);
        let jobs = store.jobs().unwrap();
        assert_eq!(jobs.iter().filter(|job| job.status == JobStatus::Done).count(), 3);
        assert_eq!(store.lease_holder(WORKER_LEASE, Timestamp::now()).unwrap(), None, "given back");
    }

    #[tokio::test]
    async fn a_second_worker_leaves_the_work_to_the_first() {
        let store = Store::in_memory().unwrap();
        enqueue(&store, "a");
        store.lease(WORKER_LEASE, "other", Timestamp::now()).unwrap();
        let worked = work_off(&store, shift(&mut |_, _| {}), |_| async { Ok(()) }).await.unwrap();
        assert_eq!(worked, WorkerReport { busy: Some(std::process::id()), ..WorkerReport::default() });
        assert_eq!(store.jobs().unwrap()[0].status, JobStatus::Waiting);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_a_dead_worker_held_is_taken_up_at_once() {
        let store = Store::in_memory().unwrap();
        enqueue(&store, "a");
        store.claim_job(Timestamp::now()).unwrap().unwrap();
        let worked = work_off(&store, shift(&mut |_, _| {}), |_| async { Ok(()) }).await.unwrap();
        assert_eq!(worked.done, 0, "this process lives");
        store.give_jobs_to(4_194_999);
        let worked = work_off(&store, shift(&mut |_, _| {}), |_| async { Ok(()) }).await.unwrap();
        assert_eq!(worked.done, 1);
    }

    #[tokio::test]
    async fn a_cancelled_worker_finishes_what_is_under_way_and_takes_on_no_more() {
        let store = Store::in_memory().unwrap();
        ["a", "b", "c"].iter().for_each(|path| enqueue(&store, path));
        let cancel = CancellationToken::new();
        let work = |_: Job| {
            let cancel = cancel.clone();
            async move {
                cancel.cancel();
                tokio::time::sleep(Duration::from_millis(5)).await;
                Ok(())
            }
        };
        let mut report = |_: &Job, _: Option<&Fault>| {};
        let shift = WorkerOptions { until: WorkerEnd::Cancelled, cancel: cancel.clone(), ..shift(&mut report) };
        let worked = work_off(&store, shift, work).await.unwrap();
        assert!((1..=2).contains(&worked.done), "{worked:?}");
        assert!(store.jobs().unwrap().iter().all(|job| job.status != JobStatus::Running));
    }
}
