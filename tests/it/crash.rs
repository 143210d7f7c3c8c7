//! Tests of runs that are killed, interrupted, run in parallel, or rejected by the server: nothing is lost, duplicated
//! or paid for twice.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::collections::BTreeSet;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use super::world::{Chance, MANY_FACTS as FACTS, Server, World, kills_wanted, signal, spoken};

/// Number of calls in flight.
const JOBS: usize = 4;
const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--jobs", "4"];

/// No step takes longer than this, even on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);

/// Three sessions of ten windows; the later sessions move services that the earlier sessions mention.
fn world(server: Option<&Server>) -> World {
    let world = World::new(server);
    world.session("first", 2, &FACTS[..6]);
    world.session("second", 5, &[FACTS[6], ("basil", 5999), FACTS[7], FACTS[8], FACTS[9], FACTS[10]]);
    world.session("third", 9, &[FACTS[11], ("amber", 4999), FACTS[12], ("basil", 5202), FACTS[13], ("iris", 12999)]);
    world
}

/// Kills a process; returns `false` if the process had already ended.
fn kill(mut child: Child) -> bool {
    let is_late = child.try_wait().unwrap().is_some();
    child.kill().unwrap();
    child.wait().unwrap();
    !is_late
}

/// Waits until a process handles the signals that ask it to end.
fn wait_for_handler(child: &Child) {
    /// The bits of SIGINT and SIGTERM in a mask of signals.
    const BOTH: u64 = 1 << 1 | 1 << 14;
    if !cfg!(target_os = "linux") {
        // The handler is installed right after the database is opened.
        std::thread::sleep(Duration::from_secs(2));
        return;
    }
    let handles = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & BOTH == BOTH
    };
    let begun = Instant::now();
    while !handles() {
        assert!(begun.elapsed() < LIMIT, "no handler is installed");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn end(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn killed_at_any_moment_a_run_comes_to_the_same_end_and_pays_nothing_twice() {
    let server = Server::start(Duration::from_millis(15));
    let world = world(Some(&server));
    world.good(RUN);
    let (wanted, requests, windows) = (world.memories(), server.count(), server.windows());
    assert!(windows >= 9, "{windows}");
    let (mut chance, mut kills, mut round) = (Chance(1), 0, 0);
    while kills < kills_wanted(25) {
        round += 1;
        world.forget();
        let (begun, mut killed) = (server.count(), 0);
        for attempt in 0..4 {
            let (before, paid) = (server.count(), replies(&world));
            let child = world.command(RUN).spawn().unwrap();
            // The first attempts kill the process right after a request has been received; later attempts do so at any
            // moment.
            if attempt == 0 {
                server.wait_for(before + 1 + (round - 1) % requests, LIMIT);
            } else {
                server.wait_for(before + 1, Duration::from_millis(chance.below(400)));
                std::thread::sleep(Duration::from_millis(chance.below(90)));
            }
            killed += usize::from(kill(child));
            assert_new(&server, before, &paid);
        }
        let (before, paid) = (server.count(), replies(&world));
        world.good(RUN);
        assert_new(&server, before, &paid);
        let asked = server.count() - begun;
        assert!(asked <= requests + JOBS * killed, "{asked} requests, {killed} kills, round {round}");
        assert_eq!(world.memories(), wanted, "round {round}");
        kills += killed;
    }
    eprintln!("{kills} kills in {round} rounds");
}

/// Returns the stored answers about windows.
fn replies(world: &World) -> BTreeSet<String> {
    world.replies().into_iter().filter(|text| text.contains("memories")).collect()
}

/// Checks that every request since `before` is new, compared both with the answers stored then and with the other
/// requests.
fn assert_new(server: &Server, before: usize, paid: &BTreeSet<String>) {
    let mut seen = BTreeSet::new();
    for asked in server.asked().split_off(before) {
        assert!(!paid.contains(&asked.reply), "{:?} was paid before", asked.facts);
        assert!(seen.insert(asked.body), "{:?} was asked twice at a time", asked.facts);
    }
}

#[test]
fn killed_at_any_moment_the_rules_come_to_the_same_end() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let run = &["run", fixtures, "--trusted", "--extractor", "rules"];
    let world = World::new(None);
    let begun = Instant::now();
    world.good(run);
    let length = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let wanted = world.memories();
    let (mut chance, mut kills) = (Chance(2), 0);
    while kills < kills_wanted(8) {
        world.forget();
        for _ in 0..4 {
            let child = world.command(run).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(chance.below(length)));
            kills += usize::from(kill(child));
        }
        world.good(run);
        assert_eq!(world.memories(), wanted);
    }
    eprintln!("{kills} kills");
}

#[test]
fn what_is_said_again_in_the_same_words_after_it_had_changed_holds_again() {
    let server = Server::start(Duration::from_millis(1));
    let sessions = [("first", 2, 5202), ("second", 5, 5999), ("third", 9, 5202)];
    let (at_once, in_turn) = (World::new(Some(&server)), World::new(Some(&server)));
    for (name, day, price) in sessions {
        at_once.session(name, day, &[("basil", price)]);
        in_turn.session(name, day, &[("basil", price)]);
        in_turn.good(RUN);
    }
    at_once.good(RUN);
    for world in [at_once, in_turn] {
        let active = world.active();
        assert!(matches!(&active[..], [one] if one.contains("5202")), "{active:?}");
    }
}

#[test]
fn two_processes_share_the_windows_and_the_result() {
    let server = Server::start(Duration::from_millis(40));
    let world = world(Some(&server));
    world.good(RUN);
    let (wanted, windows) = (world.memories(), server.windows());
    for _ in 0..2 {
        world.forget();
        let before = server.count();
        let both = [RUN, &["run", "logs/first.jsonl", "logs", "--window-tokens", "600"]];
        let children = both.map(|arguments| world.command(arguments).spawn().unwrap());
        for output in children.map(end) {
            assert!(output.status.success(), "{output:?}");
        }
        world.good(RUN);
        let asked = server.asked().split_off(before);
        let bodies: BTreeSet<&String> = asked.iter().map(|asked| &asked.body).collect();
        assert_eq!(bodies.len(), asked.len(), "a question was paid for twice: {asked:#?}");
        let asked: Vec<Vec<String>> =
            asked.into_iter().map(|asked| asked.facts).filter(|facts| !facts.is_empty()).collect();
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), windows);
        assert_eq!(asked.len(), windows, "{asked:#?}");
        assert_eq!(world.memories(), wanted);
    }
}

#[test]
fn windows_of_a_killed_process_are_free_for_another_command() {
    let server = Server::start(Duration::from_millis(300));
    let world = world(Some(&server));
    let child = world.command(RUN).spawn().unwrap();
    assert!(server.wait_for(JOBS, LIMIT));
    assert!(kill(child));
    server.set(|manner| manner.delay = Duration::ZERO);
    let printed = world.good(&["run", "logs/first.jsonl", "--window-tokens", "600", "--json"]);
    assert!(printed.contains("\"held\":0"), "{printed}");
    assert_eq!(world.active().len(), 6);
}

#[test]
fn an_interrupt_finishes_what_is_in_flight_and_leaves_the_rest_to_the_next_run() {
    let server = Server::start(Duration::from_millis(10));
    let world = world(Some(&server));
    world.good(RUN);
    let (wanted, before) = (world.memories(), server.count());
    world.forget();
    server.set(|manner| manner.delay = Duration::from_millis(500));
    let child = world.command(RUN).spawn().unwrap();
    assert!(server.wait_for(before + JOBS, LIMIT));
    signal(&child, "INT");
    let output = end(child);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stderr).contains("interrupted"), "{output:?}");
    let asked = server.asked().split_off(before);
    let said: Vec<&String> = asked.iter().flat_map(|asked| &asked.facts).collect();
    assert_eq!(asked.iter().filter(|asked| !asked.facts.is_empty()).count(), JOBS);
    assert_eq!(world.export().lines().count(), said.len());
    server.set(|manner| manner.delay = Duration::ZERO);
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
}

#[test]
fn an_interrupt_before_the_end_of_the_first_file_says_what_is_kept() {
    let world = World::new(None);
    let facts: Vec<_> = FACTS.iter().cycle().take(60_000).copied().collect();
    world.session("large", 2, &facts);
    for name in ["INT", "TERM"] {
        let child = world.command(&["run", "logs", "--extractor", "rules"]).spawn().unwrap();
        while !world.database().exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        wait_for_handler(&child);
        signal(&child, name);
        let output = end(child);
        world.forget();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let printed = text(&output.stderr);
        assert!(printed.contains("interrupted: ") && printed.contains("the same command continues"), "{printed}");
    }
}

#[test]
fn a_request_of_the_system_to_end_finishes_what_is_in_flight() {
    let server = Server::start(Duration::from_millis(500));
    let world = world(Some(&server));
    let child = world.command(RUN).spawn().unwrap();
    assert!(server.wait_for(JOBS, LIMIT));
    signal(&child, "TERM");
    let output = end(child);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let kept = replies(&world);
    let asked: Vec<_> = server.asked().into_iter().filter(|asked| !asked.facts.is_empty()).collect();
    assert_eq!(asked.len(), JOBS, "nothing new is begun");
    assert!(asked.iter().all(|asked| kept.contains(&asked.reply)), "what is paid for is kept");
    assert!(!world.active().is_empty());
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let server = Server::start(Duration::from_secs(30));
    let world = world(Some(&server));
    let child = world.command(RUN).spawn().unwrap();
    assert!(server.wait_for(JOBS, LIMIT));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(200));
    let second = Instant::now();
    signal(&child, "INT");
    let output = end(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("interrupted again"), "{output:?}");
    assert!(second.elapsed() < Duration::from_secs(5), "{:?}", second.elapsed());
}

#[test]
fn calls_that_take_too_long_after_an_interrupt_are_left_to_the_next_run() {
    let server = Server::start(Duration::ZERO);
    let world = world(Some(&server));
    world.good(RUN);
    let wanted = world.memories();
    world.forget();
    let before = server.count();
    server.set(|manner| manner.delay = Duration::from_secs(30));
    let child = world.command(&[RUN, &["--grace", "1"]].concat()).spawn().unwrap();
    assert!(server.wait_for(before + JOBS, LIMIT));
    let begun = Instant::now();
    signal(&child, "TERM");
    let output = end(child);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(text(&output.stderr).contains("not finished within 1 s"), "{output:?}");
    server.set(|manner| manner.delay = Duration::ZERO);
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
}

#[test]
fn a_pipe_in_the_place_of_a_log_is_refused_at_once() {
    let world = World::new(None);
    let pipe = world.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for args in [&["run", "pipe", "--extractor", "rules"][..], &["import", "pipe"]] {
        let mut child = world.command(args).spawn().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() && begun.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(20));
        }
        let is_over = child.try_wait().unwrap().is_some();
        child.kill().ok();
        let output = child.wait_with_output().unwrap();
        assert!(is_over && text(&output.stderr).contains("pass - to read a pipe"), "{args:?} {output:?}");
    }
}

#[test]
fn a_window_that_fails_is_named_and_alone_asked_for_again() {
    let server = Server::start(Duration::ZERO);
    let world = world(Some(&server));
    world.good(RUN);
    let (wanted, windows) = (world.memories(), server.windows());
    world.forget();
    let dahlia = spoken(FACTS[3]);
    server.set(|manner| manner.refuses = Some((format!("{dahlia}. Then"), 500)));
    let output = world.done(RUN);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stderr).contains("claude-code:first messages"), "{output:?}");
    let failed = world.look("SELECT count(*) FROM windows WHERE status = 'failed'", |row| row.get::<_, usize>(0));
    let failed = failed.unwrap()[0];
    assert!(failed > 0 && failed < windows && !world.active().is_empty());
    server.set(|manner| manner.refuses = None);
    let before = server.count();
    world.good(RUN);
    let again = server.asked().split_off(before);
    assert_eq!(again.iter().filter(|asked| !asked.facts.is_empty()).count(), failed);
    assert!(again.iter().any(|asked| asked.facts.contains(&dahlia)));
    assert_eq!(world.memories(), wanted);
}

#[test]
fn a_key_that_is_refused_ends_the_run_after_the_calls_in_flight() {
    let server = Server::start(Duration::from_millis(20));
    let world = world(Some(&server));
    server.set(|manner| manner.refuses = Some((String::new(), 401)));
    let output = world.done(RUN);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("OPENAI_API_KEY"), "{output:?}");
    assert!(server.count() <= JOBS, "{}", server.count());
}

#[test]
fn a_server_that_is_down_is_given_up_after_three_windows() {
    let server = Server::start(Duration::ZERO);
    let world = world(Some(&server));
    server.set(|manner| manner.refuses = Some((String::new(), 503)));
    let output = world.done(&["run", "logs", "--window-tokens", "600", "--jobs", "1"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let bodies: BTreeSet<String> = server.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(bodies.len(), 3);
}
