//! The queue: one worker a namespace, leases, and the speed of claims.

use std::collections::BTreeSet;
use std::time::Instant;

use super::*;
use crate::postgresql::testing::shared;

const LEASE: Duration = Duration::from_mins(1);

fn queue(address: &str, name: &str) -> Queue {
    Queue::new(address, name, Duration::ZERO).unwrap()
}

fn job(shard: &str, log: &str, position: i64) -> NewJob {
    let (shard, log, stamp) = (shard.to_owned(), log.to_owned(), "1".to_owned());
    NewJob { kind: JobKind::Extract, shard, log, stamp, is_forced: true, position }
}

fn log_of(job: Option<QueuedJob>) -> Option<String> {
    job.map(|job| job.log)
}

#[test]
fn each_namespace_has_one_worker_and_its_jobs_keep_their_order() {
    let Some(server) = shared() else { return };
    let address = server.database();
    let (mut one, mut other) = (queue(&address, "one"), queue(&address, "other"));
    assert_eq!((log_of(one.claim(LEASE).unwrap()), one.is_open().unwrap()), (None, false));
    let jobs = [job("a", "late", 9), job("a", "early", 1), job("b", "only", 5)];
    assert_eq!((one.add(&jobs).unwrap(), one.add(&jobs).unwrap()), (3, 0));
    let first = one.claim(LEASE).unwrap().unwrap();
    assert_eq!(first.log, "early");
    let second = other.claim(LEASE).unwrap().unwrap();
    assert_eq!((second.log.as_str(), log_of(one.claim(LEASE).unwrap())), ("only", None));
    assert!(one.renew("a", LEASE).unwrap() && !other.renew("a", LEASE).unwrap());
    // Only the worker with the lease can end the job.
    other.end(&first, &JobEnd::Done).unwrap();
    assert_eq!(log_of(other.claim(LEASE).unwrap()), None);
    one.end(&first, &JobEnd::Done).unwrap();
    assert_eq!(log_of(other.claim(LEASE).unwrap()).as_deref(), Some("late"));
    assert_eq!(other.progress(5).unwrap().running, 2);
}

#[test]
fn a_log_is_known_in_the_namespace_and_state_in_which_it_was_added() {
    let Some(server) = shared() else { return };
    let mut queue = queue(&server.database(), "one");
    let of_project = NewJob { is_forced: false, ..job("project/shop", "b", 1) };
    queue.add(&[job("team/a", "a", 1), of_project]).unwrap();
    let mut known = |log: &str, stamp: &str, forced: Option<&str>| {
        queue.known(&[(log, stamp), ("none", "1")], forced).unwrap().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(known("a", "1", Some("team/a")), ["a"]);
    assert_eq!(known("b", "1", None), ["b"]);
    for (log, stamp, forced) in
        [("a", "2", Some("team/a")), ("a", "1", Some("team/b")), ("a", "1", None), ("b", "1", Some("team/a"))]
    {
        assert!(known(log, stamp, forced).is_empty(), "{log} {stamp} {forced:?}");
    }
}

#[test]
fn the_job_of_a_dead_worker_is_continued_and_a_failing_job_is_given_up() {
    let Some(server) = shared() else { return };
    let address = server.database();
    let (mut dead, mut alive) = (queue(&address, "dead"), queue(&address, "alive"));
    dead.add(&[job("a", "first", 1), job("a", "next", 2)]).unwrap();
    let lost = dead.claim(Duration::from_millis(300)).unwrap().unwrap();
    assert!(alive.claim(LEASE).unwrap().is_none());
    std::thread::sleep(Duration::from_millis(400));
    let mut job = alive.claim(LEASE).unwrap().unwrap();
    assert_eq!(job.id, lost.id);
    dead.end(&lost, &JobEnd::Done).unwrap();
    assert_eq!(alive.progress(5).unwrap().done, 0, "the lease is lost");
    for _ in 0..MAX_FAILURES {
        alive.end(&job, &JobEnd::Failed("no".to_owned())).unwrap();
        assert!(alive.claim(LEASE).unwrap().is_none_or(|next| next.log == "next"), "it waits, or is given up");
        if alive.progress(5).unwrap().failed > 0 {
            break;
        }
        alive.retry_waits();
        job = alive.claim(LEASE).unwrap().unwrap();
    }
    let progress = alive.progress(5).unwrap();
    assert_eq!((progress.failed, progress.faults[0].error.as_str()), (1, "no"));
    assert_eq!(progress.running, 1, "the next job of the namespace goes on");
    assert_eq!(alive.retry().unwrap(), 1);
    assert_eq!(alive.progress(5).unwrap().failed, 0);
}

impl Queue {
    /// Lets the waits of jobs be over, without forgetting their attempts.
    fn retry_waits(&mut self) {
        let sql = "UPDATE afterthought.jobs SET run_at = now() WHERE status = 'waiting'";
        self.connection.with(|client| client.execute(sql, &[])).unwrap();
        let sql = "UPDATE afterthought.shards SET free_at = now() WHERE worker IS NULL AND free_at IS NOT NULL";
        self.connection.with(|client| client.execute(sql, &[])).unwrap();
    }
}

/// Claims and ends jobs for some time in several threads, and returns the number of claims a second.
fn claims_a_second(address: &str, threads: usize, seconds: f64) -> f64 {
    let begun = Instant::now();
    let ids: Vec<i64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn(move || {
                    let (mut queue, mut ids) = (queue(address, &format!("w{number}")), Vec::new());
                    while begun.elapsed().as_secs_f64() < seconds {
                        let Some(job) = queue.claim(LEASE).unwrap() else { continue };
                        queue.end(&job, &JobEnd::Done).unwrap();
                        ids.push(job.id);
                    }
                    ids
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let elapsed = begun.elapsed().as_secs_f64();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "no job is claimed twice");
    #[expect(clippy::cast_precision_loss, reason = "few jobs are claimed")]
    let count = ids.len() as f64;
    count / elapsed
}

#[test]
fn claims_are_as_fast_in_a_long_queue_as_in_a_short_one() {
    let Some(server) = shared() else { return };
    let is_measured = std::env::var_os("AFTERTHOUGHT_MEASURE").is_some();
    let (jobs, shards, seconds) = if is_measured { (1_000_000, 50_000, 10.0) } else { (2_000, 200, 1.0) };
    let address = server.database();
    let mut filler = queue(&address, "filler");
    let begun = Instant::now();
    for start in (0..jobs).step_by(10_000) {
        let batch = (start..(start + 10_000).min(jobs))
            .map(|number| job(&format!("team/{}", number % shards), &format!("/logs/{number}.jsonl"), number));
        filler.add(&batch.collect::<Vec<_>>()).unwrap();
    }
    let filled = begun.elapsed();
    let rates: Vec<f64> = (0..3).map(|_| claims_a_second(&address, 4, seconds)).collect();
    eprintln!("{jobs} jobs in {shards} namespaces added in {filled:?}; claims and ends a second, in turn: {rates:.0?}");
    assert!(rates.iter().all(|rate| *rate > if is_measured { 1_000.0 } else { 20.0 }), "{rates:?}");
}
