//! Tests of runs that are ended at every fault point or at a random moment, alone or in parallel. The final result is
//! always the same.
//!
//! The suite runs a short part of these tests. The command for all of them is
//! `AFTERTHOUGHT_KILLS=500 cargo test --test it campaign -- --nocapture`.

use std::collections::BTreeMap;
use std::process::Child;
use std::time::{Duration, Instant};

use afterthought::fault::POINTS;

use super::world::{Asked, Chance, MANY_FACTS as FACTS, Server, World, kills_wanted};

const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--jobs", "4"];
/// Maximum number of calls that a process may have in flight.
const JOBS: usize = 4;
/// Fault points that these runs do not reach; see `places` and `packs`.
pub const ELSEWHERE: &[&str] = &[
    "request.rendered",
    "batch.planned",
    "batch.uploaded",
    "batch.submitted",
    "batch.fetched",
    "batch.ended",
    "vectors.asked",
    "vectors.kept",
    "seal.begin",
    "seal.written",
    "seal.done",
    "copy.begin",
    "copy.made",
    "copy.placed",
    "restore.begin",
    "restore.placed",
    "repair.begin",
    "repair.filled",
    "repair.placed",
    "export.page",
];

fn world(server: &Server) -> World {
    let world = World::new(Some(server));
    world.session("first", 2, &FACTS[..3]);
    world.session("second", 5, &[FACTS[6], ("basil", 5999), FACTS[7]]);
    world.session("third", 9, &[FACTS[11], ("amber", 4999), FACTS[12]]);
    world
}

fn is_whole() -> bool {
    std::env::var_os("AFTERTHOUGHT_KILLS").is_some()
}

/// The counts of the campaign.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    by_point: BTreeMap<&'static str, usize>,
    rounds: usize,
    requests: usize,
    asked_again_in_flight: usize,
}

/// The result of an uninterrupted run, and the data that is compared with it.
struct Campaign {
    server: Server,
    world: World,
    wanted: Vec<String>,
    windows: usize,
    tally: Tally,
}

impl Campaign {
    fn new() -> Self {
        let server = Server::start(Duration::from_millis(10));
        let world = world(&server);
        world.good(RUN);
        let (wanted, windows) = (world.memories(), server.windows());
        assert!(windows >= 6 && wanted.len() >= 8, "{windows} windows, {wanted:?}");
        Self { server, world, wanted, windows, tally: Tally::default() }
    }

    /// Starts a new round with an empty store.
    fn begin(&mut self) -> usize {
        self.world.forget();
        self.tally.rounds += 1;
        self.server.count()
    }

    /// Checks that no request since `from` repeats a request whose reply was already stored in `kept`, so that nothing
    /// is paid for twice.
    fn assert_unpaid(&self, from: usize, kept: &[String]) {
        for asked in self.server.asked().split_off(from) {
            let is_window = !asked.facts.is_empty();
            assert!(!(is_window && kept.contains(&asked.reply)), "{:?} was paid before", asked.facts);
        }
    }

    /// Completes the run, and compares the result with that of the uninterrupted run.
    fn end(&mut self, begun: usize, killed: usize) {
        let (from, kept) = (self.server.count(), self.world.replies());
        self.world.good(RUN);
        self.assert_unpaid(from, &kept);
        assert_eq!(self.world.memories(), self.wanted, "round {}", self.tally.rounds);
        let asked: Vec<Asked> =
            self.server.asked().split_off(begun).into_iter().filter(|one| !one.facts.is_empty()).collect();
        assert!(asked.len() >= self.windows, "nothing is lost");
        let again = asked.len() - self.windows;
        assert!(again <= JOBS * killed, "{again} windows asked again after {killed} kills");
        let checked = self.world.done(&["db", "check"]);
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
        let left =
            self.world.look("SELECT count(*) FROM windows WHERE status <> 'done' OR applied_at IS NULL", |row| {
                row.get::<_, i64>(0)
            });
        assert_eq!(left.unwrap(), [0]);
        self.tally.kills += killed;
        self.tally.requests += asked.len();
        self.tally.asked_again_in_flight += again;
    }

    /// Waits until `count` requests have been received in total, or until no process is left to send any.
    fn wait(&self, count: usize, children: &mut [Child]) {
        let limit = Instant::now() + Duration::from_secs(20);
        let lives = |child: &mut Child| child.try_wait().unwrap().is_none();
        while self.server.count() < count && children.iter_mut().any(lives) && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// Ends `processes` parallel processes at `point`, when they reach it for the `time`-th time.
    fn at_point(&mut self, point: &'static str, time: u64, processes: usize) {
        let begun = self.begin();
        let fault = format!("{point}:{time}");
        let children: Vec<Child> = (0..processes)
            .map(|_| self.world.command(RUN).env("AFTERTHOUGHT_FAULT", &fault).spawn().unwrap())
            .collect();
        let ended: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let killed = ended.iter().filter(|output| output.status.code().is_none()).count();
        *self.tally.by_point.entry(point).or_default() += killed;
        self.end(begun, killed);
    }

    /// Kills `processes` parallel processes at a random moment, several times.
    fn at_any_moment(&mut self, processes: usize, chance: &mut Chance) {
        let (begun, mut killed) = (self.begin(), 0);
        for _ in 0..3 {
            let (from, kept) = (self.server.count(), self.world.replies());
            let mut children: Vec<Child> = (0..processes).map(|_| self.world.command(RUN).spawn().unwrap()).collect();
            // The moment may be before the first request, or after any number of requests.
            self.wait(from + usize::try_from(chance.below(self.windows as u64 + 4)).unwrap(), &mut children);
            for child in &mut children {
                std::thread::sleep(Duration::from_millis(chance.below(60)));
                killed += usize::from(child.try_wait().unwrap().is_none());
                child.kill().unwrap();
                child.wait().unwrap();
            }
            self.assert_unpaid(from, &kept);
        }
        self.end(begun, killed);
    }

    fn told(&self, what: &str, begun: Instant) -> String {
        format!("{what}: {:?} in {:.0} s", self.tally, begun.elapsed().as_secs_f64())
    }
}

#[test]
fn a_run_that_ends_at_a_named_place_comes_to_the_same_end() {
    let (begun, mut campaign) = (Instant::now(), Campaign::new());
    let times: &[u64] = if is_whole() { &[1, 2, 3, 5, 8] } else { &[1] };
    let processes: &[usize] = if is_whole() { &[1, 4] } else { &[1] };
    for point in POINTS.iter().copied().filter(|point| !ELSEWHERE.contains(point)) {
        for &time in times {
            for &processes in processes {
                campaign.at_point(point, time, processes);
            }
        }
        assert!(campaign.tally.by_point[point] > 0, "{point} is never met");
    }
    eprintln!("{}", campaign.told("named places", begun));
}

#[test]
fn one_process_that_is_killed_at_any_moment_comes_to_the_same_end() {
    let (begun, mut campaign, mut chance) = (Instant::now(), Campaign::new(), Chance(11));
    while campaign.tally.kills < kills_wanted(6) {
        campaign.at_any_moment(1, &mut chance);
    }
    eprintln!("{}", campaign.told("1 process, seed 11", begun));
}

#[test]
fn four_processes_that_are_killed_at_any_moment_come_to_the_same_end() {
    let (begun, mut campaign, mut chance) = (Instant::now(), Campaign::new(), Chance(12));
    while campaign.tally.kills < kills_wanted(12) {
        campaign.at_any_moment(4, &mut chance);
    }
    eprintln!("{}", campaign.told("4 processes, seed 12", begun));
}
