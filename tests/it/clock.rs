//! Tests of a clock that was a day or ten years fast and is then corrected: nothing is blocked or lost permanently.

use std::time::Duration;

use afterthought::guard::Guard;
use afterthought::lifecycle::{Rules, maintain};
use afterthought::memory::{Claim, ExtractionMethod, Memory, MemoryType, Namespace, Status};
use afterthought::store::{
    EXTRACT, EnqueueOutcome, Filter, JobEnd, JobRequest, LeaseOutcome, Order, Store, StoreError, Writer,
};
use jiff::{SignedDuration, Timestamp};

use super::world::{MANY_FACTS as FACTS, Server, World};

const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--jobs", "4"];

fn day(days: i64) -> Timestamp {
    Timestamp::from_second(1_772_366_400 + days * 86_400).unwrap()
}

/// Number of days by which a clock may be fast.
const LEAPS: [i64; 3] = [1, 40, 3_653];

fn write<T>(store: &Store, now: Timestamp, change: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>) -> T {
    store.write(None, now, change).unwrap()
}

fn remember(store: &Store, content: &str, expires_at: Option<Timestamp>, now: Timestamp) -> Memory {
    let claim = Claim { expires_at, ..Claim::new(MemoryType::Semantic, "fact", "Note", content) };
    let memory = Memory::new(claim, Namespace::global(), "x", ExtractionMethod::Manual, now);
    let (clean, none) = (Guard::default().redact(memory.clone()).0, Guard::default().redact(Vec::new()).0);
    write(store, now, |w| w.insert(&clean, &none));
    memory
}

fn request(key: &str, not_before: Timestamp) -> JobRequest {
    JobRequest {
        kind: EXTRACT.into(),
        key: key.into(),
        agent: "claude-code".into(),
        path: format!("/logs/{key}.jsonl"),
        project: None,
        not_before,
        watermark: 1,
    }
}

#[test]
fn jobs_and_leases_of_a_clock_that_was_ahead_are_free_again() {
    for leap in LEAPS {
        let store = Store::in_memory().unwrap();
        // These jobs were claimed, postponed after a failure, and queued by processes with a fast clock; this process
        // is still alive.
        for key in ["held", "failed", "waiting"] {
            assert_eq!(store.enqueue(&request(key, day(leap)), day(leap)).unwrap(), EnqueueOutcome::Waiting);
        }
        let held = store.claim_job(day(leap)).unwrap().unwrap();
        let failed = store.claim_job(day(leap)).unwrap().unwrap();
        assert!(store.finish_job(&failed, JobEnd::Failed("down"), day(leap)).unwrap());
        assert_eq!(store.lease("worker", "a", day(leap)).unwrap(), LeaseOutcome::Mine);
        assert!(write(&store, day(leap), |w| w.lease_vectors("a")));

        let now = day(0);
        assert_eq!(store.lease("worker", "b", now).unwrap(), LeaseOutcome::Mine, "{leap}");
        assert_eq!(store.lease_holder("worker", now).unwrap(), Some(std::process::id()));
        assert!(write(&store, now, |w| w.lease_vectors("b")), "{leap}");
        let taken = store.claim_job(now).unwrap().unwrap();
        assert_eq!(taken.job.path, held.job.path, "{leap}");
        assert!(!store.finish_job(&held, JobEnd::Done, now).unwrap(), "who held it before does not end it, too");
        assert!(store.finish_job(&taken, JobEnd::Done, now).unwrap());
        // Waiting jobs are due at once if the clock was years fast, and at their scheduled time if it was a day fast.
        let due = if leap > 8 { now } else { day(leap) + SignedDuration::from_mins(6) };
        for _ in 0..2 {
            assert!(store.next_job_at(now).unwrap().is_some_and(|at| at <= due), "{leap}");
            let taken = store.claim_job(due).unwrap().unwrap();
            assert!(store.finish_job(&taken, JobEnd::Done, due).unwrap());
        }
        assert_eq!(store.claim_job(due).unwrap(), None);
    }
}

#[test]
fn a_holder_whose_clock_is_a_little_ahead_keeps_what_it_holds() {
    let store = Store::in_memory().unwrap();
    let ahead = day(0) + SignedDuration::from_secs(45);
    store.enqueue(&request("held", day(0)), day(0)).unwrap();
    store.claim_job(ahead).unwrap().unwrap();
    assert_eq!(store.lease("worker", "a", ahead).unwrap(), LeaseOutcome::Mine);
    assert_eq!(store.claim_job(day(0)).unwrap(), None);
    assert!(matches!(store.lease("worker", "b", day(0)).unwrap(), LeaseOutcome::Other { .. }));
}

#[test]
fn nothing_goes_for_good_when_a_clock_leaps_ahead_and_the_rest_is_undone() {
    let store = Store::in_memory().unwrap();
    let rules = Rules::default();
    let soon = remember(&store, "The user is in Rome.", Some(day(5)), day(0));
    let kept = remember(&store, "The user drinks tea.", None, day(0));
    let gone = remember(&store, "The user drinks milk.", None, day(0));
    write(&store, day(1), |w| w.forget(&gone.id, None));
    let held = |store: &Store| {
        let any = Filter { statuses: Vec::new(), ..Filter::default() };
        let all = store.list(&any, Order::Id, 9, 0).unwrap();
        all.into_iter().map(|memory| (memory.id, memory.status)).collect::<Vec<_>>()
    };
    let before = held(&store);

    let report = maintain(&store, &rules, day(3_653)).unwrap();
    assert!(report.done.purges.is_empty(), "{report:?}");
    let status = |id| held(&store).into_iter().find(|(found, _)| found == id).map(|(_, status)| status);
    assert_eq!((status(&soon.id), status(&gone.id)), (Some(Status::Expired), Some(Status::Forgotten)));
    // Maintenance runs repeatedly, as in `watch`, while new memories arrive.
    remember(&store, "The user drinks beer.", None, day(3_653));
    let again = maintain(&store, &rules, day(3_653) + SignedDuration::from_hours(20)).unwrap();
    assert!(again.done.purges.is_empty() && status(&gone.id).is_some());
    // The clock is corrected, and the expired memories are restored.
    store.undo_run(&report.run.unwrap(), day(2)).unwrap();
    assert!(maintain(&store, &rules, day(2)).unwrap().done.purges.is_empty());
    assert!(before.iter().all(|one| held(&store).contains(one)), "{:?}", held(&store));
    assert_eq!(status(&kept.id), Some(Status::Active));

    // A clock that proves to be right is trusted a day later.
    maintain(&store, &rules, day(3_660)).unwrap();
    assert_eq!(status(&gone.id), None, "what was forgotten goes for good in the end");
}

#[test]
fn what_is_due_goes_for_good_on_its_day_where_the_file_is_in_use() {
    let store = Store::in_memory().unwrap();
    let rules = Rules::default();
    let gone = remember(&store, "The user drinks milk.", None, day(0));
    write(&store, day(1), |w| w.forget(&gone.id, None));
    assert!(maintain(&store, &rules, day(20)).unwrap().done.purges.is_empty());
    assert_eq!(maintain(&store, &rules, day(200)).unwrap().done.purges, [gone.id]);
}

#[test]
fn a_run_that_ended_while_the_clock_was_ahead_is_taken_up() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("first", 2, &FACTS[..4]);
    world.session("second", 5, &[FACTS[6], ("basil", 5999), FACTS[7]]);
    world.good(RUN);
    let (wanted, windows) = (world.memories(), server.windows());
    for leap in LEAPS {
        world.forget();
        let ended = world.command(RUN).env("AFTERTHOUGHT_FAULT", "reply.kept:2").output().unwrap();
        assert_eq!(ended.status.code(), None);
        let kept = world.replies();
        // The data is changed as if everything had happened with a fast clock, in a process that still appears to be
        // alive.
        let conn = rusqlite::Connection::open(world.database()).unwrap();
        let moved = format!(
            "UPDATE runs SET started_at = started_at + {ms}, heartbeat_at = heartbeat_at + {ms}, pid = {pid};
             UPDATE windows SET lease_until = lease_until + {ms} WHERE lease_until > 0;
             UPDATE requests SET created_at = created_at + {ms}, answered_at = answered_at + {ms},
                 lease_until = lease_until + {ms};
             UPDATE files SET read_at = read_at + {ms};",
            ms = leap * 86_400_000,
            pid = std::process::id(),
        );
        conn.execute_batch(&moved).unwrap();
        drop(conn);
        let from = server.count();
        world.good(RUN);
        assert_eq!(world.memories(), wanted, "{leap}");
        let again = server.asked().split_off(from);
        assert!(again.iter().all(|asked| asked.facts.is_empty() || !kept.contains(&asked.reply)), "{leap}");
        assert!(again.len() <= windows + 1);
        assert_eq!(world.done(&["db", "check"]).status.code(), Some(0));
        // The run that appears to continue blocks nothing.
        world.good(&["db", "maintain"]);
        assert_eq!(
            world.done(&["memory", "forget", "--session", "first", "--dry-run"]).status.code(),
            Some(0),
            "{leap}"
        );
    }
}
