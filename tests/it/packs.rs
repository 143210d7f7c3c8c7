//! Tests of short sessions that share a request: only similar sessions are combined, the request is paid for once, and
//! no session affects another.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::Value;

use super::world::{Asked, FACTS, Fact, Server, World, spoken};

/// A pack has room for four one-message sessions.
const RUN: &[&str] = &["run", "logs", "--window-tokens", "1400", "--jobs", "2", "--json"];
/// No step takes longer than this, even on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);

/// Writes a one-message session for each fact, named after the service.
fn sessions(world: &World, facts: &[Fact]) {
    for (day, fact) in (1..).zip(facts) {
        world.session(fact.0, day, &[*fact]);
    }
}

fn told(printed: &str) -> Value {
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

/// Returns the requests about windows, starting with request `begin`.
fn asked(server: &Server, begin: usize) -> Vec<Asked> {
    server.asked().split_off(begin).into_iter().filter(|one| !one.facts.is_empty()).collect()
}

fn facts_of(asked: &[Asked]) -> Vec<Vec<String>> {
    asked.iter().map(|one| one.facts.clone()).collect()
}

fn spoken_all(facts: &[Fact]) -> Vec<String> {
    facts.iter().map(|&fact| spoken(fact)).collect()
}

#[test]
fn short_sessions_share_a_request_and_keep_their_evidence() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    sessions(&world, &FACTS);
    let estimate = told(&world.good(&[RUN, &["--estimate"]].concat()));
    let summary = told(&world.good(RUN));
    let asked = asked(&server, 0);
    // Both requests are in flight at once, so they may arrive in any order.
    let mut packs = facts_of(&asked);
    packs.sort();
    assert_eq!(packs, [spoken_all(&FACTS[..4]), spoken_all(&FACTS[4..])]);
    assert_eq!((&estimate["llm_calls"], &estimate["windows"]["new"]), (&2.into(), &8.into()));
    assert_eq!((&summary["llm_calls"], &summary["windows"]["ok"]), (&3.into(), &8.into()), "{summary:#}");
    assert_eq!(summary["relation_calls"], 1, "one asks how the eight facts relate: {summary:#}");
    assert_eq!((&summary["prompt_tokens"], &summary["completion_tokens"]), (&300.into(), &30.into()), "counted once");
    for (name, _) in FACTS {
        let sql = format!("SELECT transcript || ' ' || message FROM evidence WHERE quote LIKE '%called {name} %'");
        let evidence = world.look(&sql, |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(evidence, [format!("claude-code:{name} {name}-0-user")]);
    }
    let spent = world.look("SELECT count(*) FROM windows WHERE spent ->> '$.calls' > 0", |row| row.get::<_, u64>(0));
    assert_eq!(spent.unwrap(), [2]);
    let begin = server.count();
    world.good(RUN);
    assert_eq!(server.count(), begin);
}

#[test]
fn two_projects_never_share_a_request() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    sessions(&world, &FACTS);
    let garden: Vec<&str> = FACTS.iter().step_by(2).map(|fact| fact.0).collect();
    for name in &garden {
        let path = world.path("logs").join(format!("{name}.jsonl"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("/home/ana/shop", "/home/ana/garden")).unwrap();
    }
    world.good(RUN);
    let asked = asked(&server, 0);
    assert_eq!(asked.len(), 2);
    for one in &asked {
        let is_garden = one.body.contains("/home/ana/garden");
        assert!(is_garden != one.body.contains("/home/ana/shop"), "{}", one.body);
        let names: Vec<bool> = one.facts.iter().map(|fact| garden.iter().any(|name| fact.contains(*name))).collect();
        assert_eq!(names, [is_garden; 4], "{:?}", one.facts);
    }
}

#[test]
fn a_second_run_costs_its_new_sessions_only() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    sessions(&world, &FACTS[..5]);
    world.good(RUN);
    let begin = server.count();
    world.session("ginger", 12, &FACTS[6..7]);
    world.append(FACTS[1].0, 2, 1, &FACTS[7..8]);
    world.good(RUN);
    let asked = asked(&server, begin);
    assert_eq!(facts_of(&asked), [spoken_all(&[FACTS[7], FACTS[6]])]);
    assert_eq!(asked[0].context, [spoken(FACTS[1])], "what was read is shown and not read again");
}

#[test]
fn one_session_that_the_model_declines_costs_its_neighbours_nothing() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    sessions(&world, &FACTS[..4]);
    server.set(|manner| manner.declines = vec![spoken(FACTS[1])]);
    let output = world.done(RUN);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("claude-code:basil messages 1–2: the model declined"), "{told}");
    let wanted = |facts: &[usize]| facts.iter().map(|&fact| spoken(FACTS[fact])).collect::<Vec<_>>();
    let tree = [wanted(&[0, 1, 2, 3]), wanted(&[0, 1]), wanted(&[0]), wanted(&[1]), wanted(&[2, 3])];
    assert_eq!(facts_of(&asked(&server, 0)), tree);
    assert_eq!(world.active().len(), 3);
    server.set(|manner| manner.declines.clear());
    let begin = server.count();
    world.session("elder", 9, &FACTS[4..5]);
    world.good(RUN);
    assert_eq!(world.active().len(), 5);
    // Both requests are in flight at once, so they may arrive in any order.
    let mut again = facts_of(&asked(&server, begin));
    again.sort();
    assert_eq!(again, [wanted(&[1]), wanted(&[4])], "what failed is asked about alone");
}

#[test]
fn a_pack_that_was_killed_is_asked_for_again_as_it_was() {
    let server = Server::start(Duration::from_millis(400));
    let world = World::new(Some(&server));
    sessions(&world, &FACTS);
    let first = spoken_all(&FACTS[..4]);
    // The first pack is split into halves, because the model refuses the whole pack.
    server.set(|manner| manner.declines = vec![first[0].clone(), first[3].clone()]);
    let mut child = world.command(RUN).spawn().unwrap();
    let is_second_half = |one: &Asked| one.facts == first[2..];
    let begun = std::time::Instant::now();
    while !server.asked().iter().any(is_second_half) {
        assert!(begun.elapsed() < LIMIT, "{:#?}", facts_of(&server.asked()));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = world.look("SELECT count(*) FROM windows WHERE status = 'done'", |row| row.get::<_, u64>(0)).unwrap();
    assert_eq!(done, [4], "the other pack is finished, and nothing of this one");
    // A new session would fit in the pack that is being filled again, and precedes the other sessions of this pack.
    world.session("aaa", 20, &[("aaa", 1000)]);
    let (begin, kept) = (server.count(), world.replies().len());
    server.set(|manner| manner.delay = Duration::ZERO);
    let summary = told(&world.good(RUN));
    let again = asked(&server, begin);
    let news: BTreeSet<Vec<String>> = facts_of(&again).into_iter().collect();
    assert_eq!(news, BTreeSet::from([first[2..].to_vec(), vec![spoken(("aaa", 1000))]]));
    assert_eq!((kept, &summary["cached_replies"]), (3, &2.into()), "the whole, its first half; and the other pack");
    assert_eq!(world.active().len(), 9);
}
