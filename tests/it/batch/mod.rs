//! Tests of runs that use batches: the result is the same as without batches, even after failures, and no request is
//! paid for twice.

mod server;

use std::collections::BTreeSet;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use super::world::{Fact, MANY_FACTS as FACTS, World, signal, spoken};
use server::{BatchServer, Fault, Point, asked_about};

const PLAIN: &[&str] = &["run", "logs", "--window-tokens", "600"];
const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--batch-api"];
/// Fault points in a run that uses batches.
pub const PLACES: [&str; 6] =
    ["request.rendered", "batch.planned", "batch.uploaded", "batch.submitted", "batch.fetched", "batch.ended"];
const DETACH: &[&str] = &["run", "logs", "--window-tokens", "600", "--batch-api", "--no-wait"];

/// Two sessions of several windows each; the second session moves services that the first mentions.
fn world() -> (BatchServer, World, Vec<String>) {
    let server = BatchServer::start();
    let world = World::at(&server.base_url);
    world.session("first", 2, &FACTS[..8]);
    world.session("second", 5, &[FACTS[8], ("basil", 5999), FACTS[9], FACTS[10], ("amber", 4999), FACTS[11]]);
    world.good(PLAIN);
    let wanted = world.memories();
    world.forget();
    server.forget();
    (server, world, wanted)
}

/// The same sessions, with a server that uses Anthropic's protocol.
fn anthropic() -> (BatchServer, World, Vec<String>) {
    let server = BatchServer::start();
    server.set(|manner| manner.is_anthropic = true);
    let world = World::at_anthropic(&server.base_url);
    world.session("first", 2, &FACTS[..8]);
    world.session("second", 5, &[FACTS[8], ("basil", 5999), FACTS[9], FACTS[10], ("amber", 4999), FACTS[11]]);
    world.good(PLAIN);
    let wanted = world.memories();
    assert!(wanted.len() > 5, "{wanted:?}");
    world.forget();
    server.forget();
    (server, world, wanted)
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that no request was answered twice, so that none was paid for twice.
fn assert_paid_once(server: &BatchServer) {
    let answered = server.answered();
    let mut seen = BTreeSet::new();
    for body in &answered {
        assert!(seen.insert(body), "asked twice: {body}");
    }
}

fn open_batches(world: &World) -> usize {
    world.look("SELECT count(*) FROM batches WHERE stage <> 'ended'", |row| row.get(0)).unwrap()[0]
}

fn summary(printed: &str) -> Value {
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

#[test]
fn one_batch_holds_every_window_and_comes_to_the_same_end() {
    let (server, world, wanted) = world();
    let printed = world.good(&[RUN, &["--json", "--jobs", "1", "--price", "1,1"]].concat());
    assert_eq!(world.memories(), wanted);
    let batches = server.batches();
    assert_eq!(batches.len(), 1);
    let lines = batches[0].lines.len();
    assert!(lines >= 5, "{lines}");
    // One request about windows is sent directly first; the request about memories that are hard to distinguish comes
    // afterwards.
    let about_windows = server.direct().iter().filter(|body| !body.to_string().contains("<questions>")).count();
    assert_eq!(about_windows, 1);
    assert_paid_once(&server);
    let summary = summary(&printed);
    assert_eq!(summary["batches"]["submitted"], 1);
    assert_eq!(summary["batches"]["answered"], lines);
    assert_eq!(summary["llm_calls"], lines + server.direct().len());
    assert_eq!(summary["windows"]["ok"], lines + 1);
    assert_eq!(summary["windows"]["in_batch"], 0);
    assert_eq!(open_batches(&world), 0);
    let left =
        world.look("SELECT count(*) FROM requests WHERE body IS NOT NULL", |row| row.get::<_, usize>(0)).unwrap();
    assert_eq!(left, [0]);
}

#[test]
fn a_batch_costs_what_the_vendor_asks_for_it() {
    let (server, world, _) = world();
    let model = &["--model", "gpt-5-mini", "--price", "100,100", "--json"];
    let printed = world.good(&[RUN, model].concat());
    let (direct, lines) = (server.direct().len(), server.batches()[0].lines.len());
    // Each answer uses 110 tokens.
    #[expect(clippy::cast_precision_loss, reason = "a few calls")]
    let cost = (direct as f64 + 0.5 * lines as f64) * 110.0 / 1e6 * 100.0;
    let told = summary(&printed)["cost"].as_f64().unwrap();
    assert!((told - cost).abs() < 1e-9, "{told} for {cost}");
}

#[test]
fn nothing_new_makes_no_batch() {
    let (server, world, wanted) = world();
    world.good(RUN);
    let before = server.calls();
    world.good(RUN);
    assert_eq!(server.calls().split_off(before.len()), ["GET /v1/batches"]);
    assert_eq!(world.memories(), wanted);
}

#[test]
fn killed_at_any_boundary_a_run_submits_nothing_twice() {
    let points = [
        Point::FileComes,
        Point::FileTaken,
        Point::BatchComes,
        Point::BatchTaken,
        Point::BatchLate,
        Point::Look,
        Point::Download,
    ];
    let (server, world, wanted) = world();
    for point in points {
        world.forget();
        server.forget();
        server.set(|manner| manner.hang = Some(point));
        let mut child = world.command(RUN).spawn().unwrap();
        server.wait_for_hang();
        child.kill().unwrap();
        child.wait().unwrap();
        server.set(|manner| manner.hang = None);
        world.good(RUN);
        assert_eq!(world.memories(), wanted, "{point:?}");
        assert_eq!(server.batches().len(), 1, "{point:?}");
        assert_paid_once(&server);
    }
}

#[test]
fn batches_of_anthropic_are_submitted_once_wherever_a_run_is_killed() {
    let (server, world, wanted) = anthropic();
    for point in [Point::BatchComes, Point::BatchTaken, Point::BatchLate, Point::Look, Point::Download] {
        world.forget();
        server.forget();
        server.set(|manner| manner.hang = Some(point));
        let mut child = world.command(RUN).spawn().unwrap();
        server.wait_for_hang();
        child.kill().unwrap();
        child.wait().unwrap();
        server.set(|manner| manner.hang = None);
        world.good(RUN);
        assert_eq!(world.memories(), wanted, "{point:?}");
        assert_eq!(server.batches().len(), 1, "{point:?}");
        assert_paid_once(&server);
    }
}

#[test]
fn a_batch_of_anthropic_is_taken_up_days_later_and_missing_results_are_asked_again() {
    let (server, world, wanted) = anthropic();
    let faults = [("basil", Fault::Error("expired")), ("amber", Fault::Missing)];
    server.set(|manner| {
        manner.looks = 2;
        manner.faults = faults.map(|(word, fault)| (word.to_owned(), fault, 1)).into();
    });
    let output = world.done(DETACH);
    assert_eq!((output.status.code(), server.batches().len(), open_batches(&world)), (Some(3), 1, 1), "{output:?}");
    assert!(world.good(&["runs", "batches"]).contains("batch_0"));
    let mut rounds = 0;
    while world.done(DETACH).status.code() != Some(0) {
        rounds += 1;
        assert!(rounds < 12, "{:?}", server.calls());
    }
    assert_eq!(world.memories(), wanted);
    assert_paid_once(&server);
}

#[test]
fn a_request_of_a_batch_that_anthropic_refuses_fails_its_window_alone() {
    let (server, world, wanted) = anthropic();
    let text = format!("{}. Then", spoken(FACTS[6]));
    server.set(|manner| manner.faults = vec![(text, Fault::Status(400, "no"), 1)]);
    let output = world.done(&[RUN, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let printed = summary(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&printed["windows"]["failed"], &printed["batches"]["failed"]), (&1.into(), &1.into()));
    assert!(world.done(RUN).status.success());
    assert_eq!(world.memories(), wanted);
    assert_paid_once(&server);
}

#[test]
fn a_run_that_ends_at_a_named_place_submits_nothing_twice() {
    let (server, world, wanted) = world();
    for place in PLACES {
        world.forget();
        server.forget();
        let ended = world.command(RUN).env("AFTERTHOUGHT_FAULT", place).output().unwrap();
        assert_eq!(ended.status.code(), None, "{place} is met: {ended:?}");
        world.good(RUN);
        assert_eq!(world.memories(), wanted, "{place}");
        assert_eq!(server.batches().len(), 1, "{place}");
        assert_paid_once(&server);
        assert_eq!(open_batches(&world), 0, "{place}");
        assert_eq!(world.done(&["db", "check"]).status.code(), Some(0), "{place}");
    }
}

#[test]
fn killed_at_any_moment_a_run_comes_to_the_same_end() {
    let (server, world, wanted) = world();
    let mut kills = 0;
    for round in 0..3 {
        world.forget();
        server.forget();
        for attempt in 0..4 {
            let mut child = world.command(RUN).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(120 + 97 * attempt + 31 * round));
            kills += usize::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
        }
        world.good(RUN);
        assert_eq!(world.memories(), wanted, "round {round}");
        let batches = server.batches();
        let lines: Vec<&Value> = batches.iter().flat_map(|batch| &batch.lines).collect();
        let keys: BTreeSet<&str> = lines.iter().map(|line| line["custom_id"].as_str().unwrap()).collect();
        assert_eq!(keys.len(), lines.len(), "round {round}");
    }
    assert!(kills > 5, "{kills}");
}

#[test]
fn what_is_left_to_the_provider_is_taken_up_days_later() {
    let (server, world, wanted) = world();
    server.set(|manner| manner.looks = 3);
    let output = world.done(DETACH);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(err(&output).contains("waiting for batches of the provider"), "{output:?}");
    assert_eq!((server.batches().len(), open_batches(&world)), (1, 1));
    let listed = world.good(&["runs", "batches"]);
    assert!(listed.contains("batch_0"), "{listed}");
    assert!(world.good(&["status"]).contains("outstanding in batches"));
    assert!(world.good(&["status", "--check"]).contains("run --batch-api"));

    // The known memories have changed in the meantime, which must not change the stored requests.
    world.good(&["remember", "The service called hazel is down on Mondays.", "--namespace", "user/default"]);
    // A run without batches does not process these windows.
    let direct = server.direct().len();
    let plain = world.done(PLAIN);
    assert_eq!(plain.status.code(), Some(3), "{plain:?}");
    assert_eq!(server.direct().len(), direct);

    while world.done(DETACH).status.code() != Some(0) {}
    assert_eq!(server.batches().len(), 1);
    assert_paid_once(&server);
    let told: Vec<String> = world.memories().into_iter().filter(|one| !one.contains("on Mondays")).collect();
    assert_eq!(told.len(), wanted.len());
    assert_eq!(world.done(&["runs", "batches"]).status.code(), Some(1));
}

#[test]
fn sessions_that_share_a_request_share_its_answer_days_later() {
    let server = BatchServer::start();
    let world = World::at(&server.base_url);
    for (day, fact) in (1..).zip(FACTS) {
        world.session(fact.0, day, &[fact]);
    }
    // A pack has room for two one-message sessions, and there are more waiting packs than jobs.
    let run = |more: &[&'static str]| {
        [&["run", "logs", "--window-tokens", "700", "--jobs", "1", "--batch-api"], more].concat()
    };
    assert_eq!(world.done(&run(&["--no-wait"])).status.code(), Some(3));
    let lines = server.batches()[0].lines.len();
    assert!((5..FACTS.len() - 1).contains(&lines), "{lines}");
    world.good(&["remember", "The service called hazel is down on Mondays.", "--namespace", "user/default"]);
    // If a session is processed without the other sessions in its pack, it waits for the answer to the whole pack.
    let alone = ["run", "logs/nettle.jsonl", "--window-tokens", "700", "--batch-api"];
    assert_eq!(world.done(&alone).status.code(), Some(3));
    world.good(&run(&[]));
    assert_eq!(server.batches().len(), 1);
    assert_paid_once(&server);
    let facts: Vec<String> = server.answered().iter().flat_map(|body| asked_about(body)).collect();
    for fact in FACTS {
        assert_eq!(facts.iter().filter(|one| **one == spoken(fact)).count(), 1, "{fact:?}");
        assert!(world.memories().iter().any(|one| one.contains(fact.0)), "{fact:?}");
    }
}

#[test]
fn what_was_asked_is_answered_as_it_was_asked() {
    let (server, world, wanted) = world();
    assert_eq!(world.done(DETACH).status.code(), Some(3));
    std::fs::write(world.path("wishes.md"), "Keep ports.").unwrap();
    world.good(&[RUN, &["--instructions", "wishes.md"]].concat());
    assert_eq!(server.batches().len(), 1);
    assert!(server.answered().iter().all(|body| !body.contains("Keep ports.")));
    assert_eq!(world.memories(), wanted);
}

#[test]
fn a_session_that_grew_meanwhile_is_asked_about_what_is_new_only() {
    const THIRD: [Fact; 3] = [("olive", 18418), ("pepper", 19519), ("quince", 20620)];
    const MORE: [Fact; 2] = [FACTS[12], FACTS[13]];
    let (server, world, _) = world();
    // The last window of the session has room for another message, which must not be added to it any more.
    world.session("third", 9, &THIRD);
    assert_eq!(world.done(DETACH).status.code(), Some(3));
    world.append("third", 9, 3, &MORE);
    world.good(RUN);
    assert_paid_once(&server);
    let facts: Vec<String> = server.answered().iter().flat_map(|body| asked_about(body)).collect();
    for fact in THIRD.into_iter().chain(MORE) {
        assert_eq!(facts.iter().filter(|one| **one == spoken(fact)).count(), 1, "{fact:?}");
    }
}

#[test]
fn rows_without_an_answer_are_asked_once_more() {
    let faults = [
        Fault::Missing,
        Fault::Error("batch_expired"),
        Fault::Status(500, "boom"),
        Fault::Status(429, "slow down"),
        Fault::Status(400, "'temperature' does not support 0.3"),
        Fault::Malformed,
        Fault::Twice,
    ];
    let (server, world, wanted) = world();
    for fault in faults {
        world.forget();
        server.forget();
        server.set(|manner| manner.faults = vec![(format!("{}. Then", spoken(FACTS[6])), fault, 1)]);
        let printed = world.good(&[RUN, &["--json"]].concat());
        assert_eq!(world.memories(), wanted, "{fault:?}");
        let counts = &summary(&printed)["batches"];
        assert_eq!(counts["asked_again"], u64::from(!matches!(fault, Fault::Twice)), "{fault:?}");
        assert_eq!(counts["broken_lines"], u64::from(matches!(fault, Fault::Malformed)), "{fault:?}");
    }
}

#[test]
fn a_row_that_is_refused_fails_its_window_alone() {
    let (server, world, wanted) = world();
    let text = format!("{}. Then", spoken(FACTS[6]));
    server.set(|manner| manner.faults = vec![(text, Fault::Status(400, "no"), 1)]);
    let output = world.done(&[RUN, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let told = summary(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&told["windows"]["failed"], &told["batches"]["failed"]), (&1.into(), &1.into()));
    let output = world.done(RUN);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(world.memories(), wanted);
    assert_paid_once(&server);
}

#[test]
fn what_an_expired_batch_has_is_used_and_the_rest_asked_again() {
    let (server, world, wanted) = world();
    server.set(|manner| {
        manner.ending = "expired";
        manner.faults = vec![("service called".to_owned(), Fault::Error("batch_expired"), 6)];
    });
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
    assert_eq!(server.batches().len(), 2);
    assert_eq!(server.batches()[1].lines.len(), 6);
    assert_paid_once(&server);
}

#[test]
fn what_expires_twice_is_left_to_the_next_run() {
    let (server, world, wanted) = world();
    server.set(|manner| {
        manner.ending = "expired";
        manner.faults = vec![("service called".to_owned(), Fault::Error("batch_expired"), 12)];
    });
    let output = world.done(RUN);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    server.set(|manner| manner.ending = "completed");
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
    assert_paid_once(&server);
}

#[test]
fn a_batch_that_was_cancelled_gives_what_it_has() {
    let (server, world, wanted) = world();
    server.set(|manner| {
        manner.ending = "cancelled";
        manner.faults = vec![("service called".to_owned(), Fault::Error("batch_cancelled"), 5)];
    });
    let output = world.done(RUN);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(err(&output).contains("cancelled at the provider"), "{output:?}");
    assert_eq!(server.batches().len(), 1);
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
    assert_paid_once(&server);
}

#[test]
fn two_processes_share_batches_and_apply_them_once() {
    let (server, world, wanted) = world();
    for _ in 0..3 {
        world.forget();
        server.forget();
        let both = [RUN, &["run", "logs/first.jsonl", "logs", "--window-tokens", "600", "--batch-api"]];
        let children = both.map(|arguments| world.command(arguments).spawn().unwrap());
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        world.good(RUN);
        assert_eq!(world.memories(), wanted);
        assert_paid_once(&server);
    }
}

#[test]
fn two_processes_may_wait_for_one_batch() {
    let (server, world, wanted) = world();
    server.set(|manner| manner.looks = 5);
    assert_eq!(world.done(DETACH).status.code(), Some(3));
    let both = [RUN, &["run", "logs", "logs/first.jsonl", "--window-tokens", "600", "--batch-api"]];
    let children = both.map(|arguments| world.command(arguments).spawn().unwrap());
    for child in children {
        child.wait_with_output().unwrap();
    }
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
    assert_eq!(server.batches().len(), 1);
    assert_paid_once(&server);
}

#[test]
fn an_interrupt_leaves_the_batch_to_the_next_run() {
    let (server, world, wanted) = world();
    server.set(|manner| manner.looks = 1_000);
    let child = world.command(RUN).spawn().unwrap();
    server.wait_for_call("GET /v1/batches/", 2);
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    server.set(|manner| manner.looks = 0);
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
    assert_eq!(server.batches().len(), 1);
    assert_paid_once(&server);
}

#[test]
fn a_server_without_batches_is_named_before_anything_is_begun() {
    let (server, world, _) = world();
    server.set(|manner| manner.has_batches = false);
    let output = world.done(RUN);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(err(&output).contains("no batch API; run without --batch-api"), "{output:?}");
    assert_eq!(server.direct().len(), 0);
    let begun =
        world.look("SELECT (SELECT count(*) FROM windows) + (SELECT count(*) FROM runs)", |row| row.get::<_, usize>(0));
    assert_eq!(begun.unwrap(), [0]);
}

#[test]
fn limits_hold_before_a_batch_is_submitted() {
    let (server, world, _) = world();
    let output = world.done(&[RUN, &["--max-tokens", "100"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(err(&output).contains("the limit of 100 tokens has been reached"), "{output:?}");
    assert_eq!((server.batches().len(), server.direct().len(), open_batches(&world)), (0, 0, 0));
}

#[test]
fn no_secret_goes_up_and_no_key_is_kept() {
    let (server, world, _) = world();
    let said = concat!("ghp_", "Zk3vQ9xW7rT2yU8iO4pA6sD1fG5hJ0kLmN3b");
    let key = concat!("sk-", "proj-", "abcdef0123456789abcdef0123456789ABCDEF");
    let path = world.path("logs").join("first.jsonl");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("Then the build", &format!("My token is {said}. Then the build"));
    std::fs::write(&path, text).unwrap();
    let output = world.command(RUN).env("OPENAI_API_KEY", key).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(server.headers().iter().all(|head| head.contains(key)));
    for file in server.files() {
        assert!(!file.contains(said) && !file.contains(key));
    }
    for end in ["", "-wal"] {
        let bytes = std::fs::read(world.path(&format!("memories.db{end}"))).unwrap_or_default();
        let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!holds(said) && !holds(key), "{end}");
    }
}

#[test]
fn a_batch_can_be_given_up() {
    let (server, world, wanted) = world();
    assert_eq!(world.done(DETACH).status.code(), Some(3));
    world.good(&["runs", "batches", "--give-up", "batch_0"]);
    assert_eq!(open_batches(&world), 0);
    world.good(RUN);
    assert_eq!(world.memories(), wanted);
    assert_eq!(server.batches().len(), 2);
    let output = world.done(&["runs", "batches", "--give-up", "batch_9"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
