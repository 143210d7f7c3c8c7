//! Tests of the cost and the changes of a second run: on the same logs, on logs that have grown or were edited, and
//! after a plan or an undo.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::collections::BTreeSet;
use std::time::Duration;

use super::world::{FACTS, Fact, Server, World, spoken};

/// Small windows, so that a few messages fill several windows.
const RUN: &[&str] = &["run", "logs", "--window-tokens", "600", "--json"];
const PLAN: &[&str] = &["runs", "plan", "logs", "--window-tokens", "600", "--json"];

fn server() -> Server {
    Server::start(Duration::from_millis(5))
}

/// Two sessions; the later session moves a service that the earlier session mentions.
fn two_sessions(server: &Server) -> World {
    let world = World::new(Some(server));
    world.session("early", 2, &FACTS[..5]);
    world.session("late", 9, &[FACTS[5], FACTS[6], ("amber", 4999), FACTS[7]]);
    world
}

fn summary(printed: &str) -> serde_json::Value {
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

#[test]
fn the_second_run_asks_nothing_and_changes_nothing() {
    let server = server();
    let world = two_sessions(&server);
    let first = summary(&world.good(RUN));
    assert_eq!(first["windows"]["total"], server.windows(), "{first:#}");
    let (export, changes, asked) = (world.export(), world.changes(), server.count());
    assert_eq!(export.lines().count(), 9, "{export}");
    assert_eq!(world.active().len(), 8);
    let second = summary(&world.good(RUN));
    assert_eq!((world.export(), world.changes(), server.count()), (export, changes, asked));
    assert_eq!(second["windows"]["known"], second["windows"]["total"]);
}

#[test]
fn a_grown_log_costs_only_its_new_messages() {
    let server = server();
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS[..5]);
    world.good(RUN);
    let (before, asked) = (world.export(), server.count());
    world.append("talk", 2, 5, &FACTS[5..]);
    world.good(RUN);
    let new = server.asked().split_off(asked);
    let extracted: BTreeSet<String> = new.iter().flat_map(|asked| asked.facts.clone()).collect();
    assert_eq!(extracted, FACTS[5..].iter().map(|&fact| spoken(fact)).collect());
    let first = new.iter().find(|asked| asked.facts.contains(&spoken(FACTS[5]))).unwrap();
    assert_eq!(first.context.last(), Some(&spoken(FACTS[4])));
    let after = world.export();
    assert_eq!(after.lines().count(), 8);
    for line in before.lines() {
        assert!(after.lines().any(|one| one == line), "{line}");
    }
}

#[test]
fn an_edited_message_is_read_again_with_its_window_alone() {
    let server = server();
    let world = World::new(Some(&server));
    let mut facts = FACTS;
    world.session("talk", 2, &facts);
    world.good(RUN);
    let asked = server.count();
    facts[2] = ("cedar", 6999);
    world.session("talk", 2, &facts);
    world.good(RUN);
    let new = server.asked().split_off(asked);
    let new: Vec<_> = new.into_iter().filter(|asked| !asked.facts.is_empty()).collect();
    assert_eq!(new.len(), 1, "{:?}", new.iter().map(|asked| &asked.facts).collect::<Vec<_>>());
    assert!(new[0].facts.contains(&spoken(facts[2])));
    let known: BTreeSet<String> = facts.iter().map(|&fact| spoken(fact)).collect();
    let active: Vec<String> = world.active().iter().map(|one| one.trim_end_matches('.').to_lowercase()).collect();
    for fact in known {
        assert_eq!(active.iter().filter(|one| **one == fact).count(), 1, "{fact}: {active:#?}");
    }
    let (export, asked) = (world.export(), server.count());
    world.good(RUN);
    assert_eq!((world.export(), server.count()), (export, asked));
}

#[test]
fn a_message_put_in_between_costs_the_windows_around_it_and_doubles_nothing() {
    let server = server();
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS[..7]);
    world.good(RUN);
    let (mut facts, asked) = (FACTS[..7].to_vec(), server.windows());
    facts.insert(2, FACTS[7]);
    world.session("talk", 2, &facts);
    world.good(RUN);
    assert!(server.windows() - asked <= 2, "{}", server.windows() - asked);
    let mut wanted: Vec<String> = facts.iter().map(|&fact| spoken(fact).replacen("the", "The", 1) + ".").collect();
    wanted.sort();
    assert_eq!(world.active(), wanted);
}

#[test]
fn a_plan_writes_no_memory_and_pays_for_the_run_after_it() {
    let server = server();
    let world = two_sessions(&server);
    let planned = summary(&world.good(PLAN));
    assert_eq!((world.export(), world.changes()), (String::new(), 0));
    let asked = server.count();
    let done = summary(&world.good(RUN));
    assert_eq!(server.count(), asked);
    assert_eq!(done["decisions"], planned["decisions"]);
    assert_eq!(world.active().len(), 8);
}

#[test]
fn an_undo_brings_back_what_was_and_stays_undone() {
    let server = server();
    let world = World::new(Some(&server));
    world.session("early", 2, &FACTS[..5]);
    world.good(RUN);
    let before = world.export();
    world.session("late", 9, &[FACTS[5], ("amber", 4999)]);
    world.good(RUN);
    let asked = server.count();
    world.good(&["undo", "last"]);
    assert_eq!(world.export(), before);
    world.good(RUN);
    assert_eq!((world.export(), server.count()), (before, asked));
}

#[test]
fn an_undo_with_redo_is_settled_by_the_next_run_without_a_request() {
    let server = server();
    let world = two_sessions(&server);
    world.good(RUN);
    let (after, asked) = (world.memories(), server.count());
    let id = world.good(&["runs", "list", "--json"]).lines().next().unwrap().to_owned();
    let id = serde_json::from_str::<serde_json::Value>(&id).unwrap()["id"].as_str().unwrap().to_owned();
    world.good(&["undo", &id]);
    world.good(&["undo", &id, "--redo"]);
    assert_eq!(world.export(), "");
    world.good(RUN);
    assert_eq!((world.memories(), server.count()), (after, asked));
}

#[test]
fn the_order_in_which_files_are_read_does_not_matter() {
    let server = server();
    let world = two_sessions(&server);
    world.good(RUN);
    let together = world.active();
    for order in [["logs/early.jsonl", "logs/late.jsonl"], ["logs/late.jsonl", "logs/early.jsonl"]] {
        world.forget();
        for file in order {
            world.good(&["run", file, "--window-tokens", "600"]);
        }
        assert_eq!(world.active(), together, "{order:?}");
    }
}

#[test]
fn a_plan_of_more_than_one_batch_pays_for_the_run_after_it() {
    let server = server();
    let world = World::new(Some(&server));
    let name = |index: u32| -> &'static str { format!("svc{}x", 1_000 + index).leak() };
    for day in 0..5 {
        let facts: Vec<Fact> =
            (0..50).map(|index| (name((day * 50 + index) % 125), 4_000 + day * 50 + index)).collect();
        world.session(&format!("day{day}"), 2 + day, &facts);
    }
    let planned = summary(&world.good(&["runs", "plan", "logs", "--json"]));
    let asked = server.count();
    let done = summary(&world.good(&["run", "logs", "--json"]));
    assert_eq!(server.count() - asked, 0);
    assert_eq!(done["decisions"], planned["decisions"]);
    // Each of the 125 values has changed once.
    assert_eq!(world.active().len(), 125);
}
