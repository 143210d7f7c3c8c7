//! Tests that jobs are claimed once, finished only by their holder, and retried after a pause.

use super::*;
use crate::store::testing::day;

fn request(path: &str, watermark: i64) -> JobRequest {
    JobRequest {
        kind: EXTRACT.into(),
        key: path.into(),
        agent: "claude-code".into(),
        path: path.into(),
        project: None,
        watermark,
        not_before: day(1),
    }
}

fn after(minutes: i64) -> Timestamp {
    day(1) + SignedDuration::from_mins(minutes)
}

fn only(store: &Store) -> Job {
    let jobs = store.jobs().unwrap();
    assert_eq!(jobs.len(), 1);
    jobs.into_iter().next().unwrap()
}

#[test]
fn a_job_is_claimed_by_one_and_done_once() {
    let store = Store::in_memory().unwrap();
    assert_eq!(store.enqueue(&request("a", 5), day(1)).unwrap(), EnqueueOutcome::Waiting);
    let held = store.claim_job(after(0)).unwrap().unwrap();
    assert_eq!((held.job.status, held.job.attempts), (JobStatus::Running, 1));
    assert_eq!(store.claim_job(after(1)).unwrap(), None, "it is held");
    assert!(store.finish_job(&held, JobEnd::Done, after(1)).unwrap());
    assert_eq!(only(&store).status, JobStatus::Done);
    assert_eq!(store.enqueue(&request("a", 5), after(2)).unwrap(), EnqueueOutcome::UpToDate);
    assert_eq!(store.extracted_until("a").unwrap(), Some(5));
    assert_eq!(store.enqueue(&request("a", 6), after(2)).unwrap(), EnqueueOutcome::Waiting, "it grew");
    assert!(store.claim_job(after(2)).unwrap().is_some());
}

#[test]
fn a_job_that_is_given_up_waits_for_its_log_to_grow() {
    let store = Store::in_memory().unwrap();
    store.enqueue(&request("a", 5), day(1)).unwrap();
    let id = only(&store).id;
    assert!(store.cancel_job(id, after(0)).unwrap());
    assert!(!store.cancel_job(id, after(0)).unwrap(), "it does not wait any more");
    assert_eq!((only(&store).status, store.claim_job(after(1)).unwrap()), (JobStatus::Done, None));
    assert_eq!(store.enqueue(&request("a", 5), after(2)).unwrap(), EnqueueOutcome::UpToDate);
    assert_eq!(store.enqueue(&request("a", 6), after(2)).unwrap(), EnqueueOutcome::Waiting);
    let held = store.claim_job(after(2)).unwrap().unwrap();
    assert!(!store.cancel_job(id, after(2)).unwrap(), "who works on it ends it");
    assert!(store.finish_job(&held, JobEnd::Done, after(3)).unwrap());
}

#[test]
fn a_job_waits_for_its_time_and_the_oldest_comes_first() {
    let store = Store::in_memory().unwrap();
    let later = JobRequest { not_before: after(10), ..request("later", 1) };
    store.enqueue(&later, day(1)).unwrap();
    store.enqueue(&JobRequest { not_before: after(3), ..request("soon", 1) }, day(1)).unwrap();
    assert_eq!(store.claim_job(after(2)).unwrap(), None);
    assert_eq!(store.next_job_at(day(1)).unwrap(), Some(after(3)));
    let held = store.claim_job(after(30)).unwrap().unwrap();
    assert_eq!(held.job.path, "soon");
    store.finish_job(&held, JobEnd::Done, after(30)).unwrap();
    // The job of a conversation that continues is postponed.
    store.enqueue(&JobRequest { not_before: after(40), watermark: 2, ..later }, after(30)).unwrap();
    assert_eq!(store.claim_job(after(39)).unwrap(), None);
    assert_eq!(store.claim_job(after(40)).unwrap().unwrap().job.path, "later");
}

#[test]
fn a_log_that_grows_meanwhile_is_due_again() {
    let store = Store::in_memory().unwrap();
    store.enqueue(&request("a", 5), day(1)).unwrap();
    let held = store.claim_job(after(0)).unwrap().unwrap();
    store.enqueue(&request("a", 6), after(0)).unwrap();
    assert_eq!(only(&store).status, JobStatus::Running, "it stays with its holder");
    store.finish_job(&held, JobEnd::Done, after(1)).unwrap();
    assert_eq!(only(&store).status, JobStatus::Waiting);
    assert_eq!(store.extracted_until("a").unwrap(), Some(5));
}

#[test]
fn attempts_pause_longer_each_time_and_then_end() {
    let store = Store::in_memory().unwrap();
    store.enqueue(&request("a", 5), day(1)).unwrap();
    let mut now = day(1);
    for pause in RETRY_AFTER {
        let held = store.claim_job(now).unwrap().unwrap();
        store.finish_job(&held, JobEnd::Failed("no server"), now).unwrap();
        store.enqueue(&request("a", 5), now).unwrap();
        assert_eq!(only(&store).not_before, now + pause, "asking again does not hurry it");
        assert_eq!(store.claim_job(now + pause - SignedDuration::from_secs(1)).unwrap(), None);
        now += pause;
    }
    let held = store.claim_job(now).unwrap().unwrap();
    store.finish_job(&held, JobEnd::Failed("no server"), now).unwrap();
    let job = only(&store);
    assert_eq!((job.status, job.attempts, job.error.as_deref()), (JobStatus::Failed, 4, Some("no server")));
    assert_eq!(store.enqueue(&request("a", 5), now).unwrap(), EnqueueOutcome::UpToDate, "nothing new to try");
    assert_eq!(store.enqueue(&request("a", 6), now).unwrap(), EnqueueOutcome::Waiting, "it grew");
    assert_eq!(only(&store).attempts, 0);
}

#[test]
fn failed_jobs_are_tried_again_when_asked() {
    let store = Store::in_memory().unwrap();
    store.enqueue(&request("a", 5), day(1)).unwrap();
    let held = store.claim_job(day(1)).unwrap().unwrap();
    store.finish_job(&held, JobEnd::Failed("no server"), day(1)).unwrap();
    assert_eq!(store.claim_job(after(1)).unwrap(), None);
    assert_eq!(store.retry_jobs(Some(held.job.id + 1), after(1)).unwrap(), 0);
    assert_eq!(store.retry_jobs(None, after(1)).unwrap(), 1);
    assert!(store.claim_job(after(1)).unwrap().is_some());
    assert_eq!(store.retry_jobs(None, after(1)).unwrap(), 0, "one that runs is left alone");
}

#[test]
fn what_is_put_off_costs_no_attempt() {
    let store = Store::in_memory().unwrap();
    store.enqueue(&request("a", 5), day(1)).unwrap();
    let held = store.claim_job(day(1)).unwrap().unwrap();
    store.finish_job(&held, JobEnd::Deferred(after(60), "the day's money is spent"), day(1)).unwrap();
    let job = only(&store);
    assert_eq!((job.attempts, job.not_before, job.status), (0, after(60), JobStatus::Waiting));
}

#[test]
fn a_lease_that_ran_out_lets_another_in_and_the_first_can_write_nothing() {
    let store = Store::in_memory().unwrap();
    store.enqueue(&request("a", 5), day(1)).unwrap();
    let lost = store.claim_job(after(0)).unwrap().unwrap();
    assert!(store.job_heartbeat(&lost, after(1)).unwrap());
    assert_eq!(store.claim_job(after(2)).unwrap(), None, "it gave a sign of life");
    let held = store.claim_job(after(4)).unwrap().unwrap();
    assert!(!store.job_heartbeat(&lost, after(4)).unwrap());
    assert!(!store.finish_job(&lost, JobEnd::Done, after(4)).unwrap());
    assert_eq!(store.extracted_until("a").unwrap(), None);
    assert!(store.finish_job(&held, JobEnd::Done, after(4)).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn the_job_of_a_process_that_has_ended_is_due_at_once() {
    let store = Store::in_memory().unwrap();
    store.enqueue(&request("a", 5), day(1)).unwrap();
    store.claim_job(after(0)).unwrap().unwrap();
    // No process has an id this large.
    store.give_jobs_to(4_194_999);
    assert!(store.claim_job(after(0)).unwrap().is_some());
}

#[test]
fn many_workers_share_jobs_without_taking_one_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    let store = Store::open(&path).unwrap();
    for number in 0..40 {
        store.enqueue(&request(&format!("{number}"), 1), day(1)).unwrap();
    }
    let work = || {
        let store = Store::open(&path).unwrap();
        let mut done = Vec::new();
        while let Some(held) = store.claim_job(after(0)).unwrap() {
            assert!(store.finish_job(&held, JobEnd::Done, after(0)).unwrap());
            done.push(held.job.id);
        }
        done
    };
    let mut done: Vec<i64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    done.sort_unstable();
    done.dedup();
    assert_eq!(done.len(), 40);
}
