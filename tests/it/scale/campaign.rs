//! Workers that are killed at named places and at any moment, while the server restarts. The result is always the one of
//! a run on one machine, and no finished window is asked again.
//!
//! The suite runs a short part of these tests. The command for all of them is
//! `AFTERTHOUGHT_KILLS=300 cargo test --features scale --test it scale::campaign -- --nocapture`.

use std::time::Instant;

use afterthought::fault::WORKING;

use super::super::world::{Chance, kills_wanted};
use super::*;

/// Notes when each reply was stored, because replies are deleted when their job ends.
const NOTE_REPLIES: &str = "
    CREATE TABLE kept (reply text, stored_at timestamptz);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO kept VALUES (NEW.reply, clock_timestamp()); RETURN NEW; END $$;
    CREATE TRIGGER note AFTER INSERT ON afterthought.replies FOR EACH ROW EXECUTE FUNCTION note();";

/// A request may be on its way while another worker stores its reply, but not for longer.
const ON_ITS_WAY: Duration = Duration::from_millis(250);

impl Crew {
    fn database(&self) -> &str {
        self.address.trim_start_matches("postgres:///").split('?').next().unwrap()
    }

    /// Checks that no request about a window was sent after its reply had been stored; returns the number of requests
    /// that were sent again while no reply was stored.
    fn assert_unpaid(&self, server: &server::Server, from: usize) -> usize {
        let asked = self.model.asked().split_off(from);
        let rows = server.rows(
            self.database(),
            "SELECT extract(epoch FROM stored_at)::text || ' ' || (reply::json ->> 'text') FROM kept",
        );
        let kept: Vec<(f64, &str)> =
            rows.iter().map(|row| row.split_once(' ').unwrap()).map(|(at, text)| (at.parse().unwrap(), text)).collect();
        let (mut again, mut seen) = (0, BTreeSet::new());
        for one in asked.iter().filter(|one| !one.facts.is_empty()) {
            let at = (one.at - ON_ITS_WAY).duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
            let paid = kept.iter().any(|(stored, text)| *stored < at && *text == one.reply);
            assert!(!paid, "{:?} was paid before", one.facts);
            again += usize::from(!seen.insert(one.body.clone()));
        }
        again
    }
}

#[test]
fn a_worker_that_ends_at_a_named_place_is_continued() {
    let Some(server) = server::shared() else { return };
    let begun = Instant::now();
    let wanted = Crew::new(server, 2, Duration::ZERO).on_one_machine();
    let inner = ["run.begun", "request.rendered", "reply.kept", "window.finished", "write.commit", "run.finish"];
    let times: &[usize] = if std::env::var_os("AFTERTHOUGHT_KILLS").is_some() { &[1, 2, 3] } else { &[1] };
    let mut reached = 0;
    for point in WORKING.iter().chain(&inner) {
        for time in times {
            let crew = Crew::new(server, 2, Duration::from_millis(5));
            crew.fill();
            assert!(server.psql(crew.database(), NOTE_REPLIES));
            let ended = crew.worker(Some(&format!("{point}:{time}"))).wait_with_output().unwrap();
            // Ends that are not exits are those of the fault.
            reached += usize::from(ended.status.code().is_none());
            assert!(*time > 1 || ended.status.code().is_none() || *point == "request.rendered", "{point} is never met");
            crew.work(2);
            assert_eq!(crew.in_shards(), wanted, "{point}:{time}");
            crew.assert_unpaid(server, 0);
            assert_eq!(crew.progress()["done"].as_i64(), Some(4), "{point}:{time}");
        }
    }
    eprintln!("{reached} workers ended at {} named places in {:?}", WORKING.len() + inner.len(), begun.elapsed());
}

#[test]
fn four_workers_that_are_killed_while_the_server_restarts_come_to_the_same_end() {
    let Some(mut server) = server::Server::start() else { return };
    let (begun, wanted_kills, mut chance) = (Instant::now(), kills_wanted(8), Chance(13));
    let restarts_wanted = if wanted_kills > 100 { 10 } else { 2 };
    let (mut kills, mut restarts, mut rounds, mut again, mut requests) = (0, 0, 0, 0, 0);
    while kills < wanted_kills || restarts < restarts_wanted {
        rounds += 1;
        let crew = Crew::new(&server, 6, Duration::from_millis(40));
        let wanted = crew.on_one_machine();
        let from = crew.model.count();
        crew.fill();
        assert!(server.psql(crew.database(), NOTE_REPLIES));
        let mut workers: Vec<Child> = (0..4).map(|_| crew.worker(None)).collect();
        let (mut round_kills, mut round_restarts) = (0, 0);
        while workers.iter_mut().any(|worker| worker.try_wait().unwrap().is_none()) {
            std::thread::sleep(Duration::from_millis(20 + chance.below(200)));
            let victim = usize::try_from(chance.below(4)).unwrap();
            if round_kills < 10 && workers[victim].try_wait().unwrap().is_none() {
                workers[victim].kill().unwrap();
                workers[victim].wait().unwrap();
                round_kills += 1;
                workers[victim] = crew.worker(None);
            }
            if round_restarts < 1 && chance.below(4) == 0 {
                server.restart(Duration::from_millis(chance.below(400)));
                round_restarts += 1;
            }
        }
        for worker in workers {
            let ended = worker.wait_with_output().unwrap();
            assert!(ended.status.success(), "{ended:?}");
        }
        let progress = crew.progress();
        assert_eq!((progress["done"].as_i64(), progress["failed"].as_i64()), (Some(12), Some(0)), "{progress}");
        assert_eq!(crew.in_shards(), wanted, "round {rounds}");
        again += crew.assert_unpaid(&server, from);
        requests += crew.model.count() - from;
        kills += round_kills;
        restarts += round_restarts;
    }
    assert!(again <= 4 * kills, "{again} windows asked again after {kills} kills");
    eprintln!(
        "{rounds} rounds, {kills} kills, {restarts} restarts, {requests} requests, {again} of them sent again because \
         their worker was killed before it had the reply, in {:?}",
        begun.elapsed()
    );
}
