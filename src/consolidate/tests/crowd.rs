//! Tests with one attribute among many: its value is found, whatever surrounds it.

use std::cell::Cell;
use std::collections::HashMap;

use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, LlmError, Reply, Request};
use crate::memory::Status;
use crate::store::{Filter, Store};

use super::testing::{incoming, known, now};
use crate::consolidate::decide::decide;
use crate::consolidate::{IncomingClaim, apply, consolidate};

/// A model that answers that each candidate changes the first listed memory about the same service.
#[derive(Default)]
struct Contradicting {
    asked: Cell<usize>,
}

fn number(line: &str) -> usize {
    line.split([':', ' ']).next().unwrap().parse().unwrap()
}

impl Complete for Contradicting {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        self.asked.set(self.asked.get() + 1);
        let is_numbered = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
        let (memories, questions) = request.turns[0].text.split_once("<questions>").expect("a request asks");
        let (memories, questions) = (memories.lines().filter(is_numbered), questions.lines().filter(is_numbered));
        let service = |line: &str| Some(line.split_once("service called ")?.1.split(' ').next()?.to_owned());
        let services: HashMap<usize, String> =
            memories.filter_map(|line| Some((number(line), service(line)?))).collect();
        let entries = questions.filter_map(|line| {
            let (new, against) = line.split_once(": ")?;
            let own = services.get(&number(new));
            let mut against = against.split(',').map(number);
            let entry = |relation: &str, to: String| {
                format!(r#"{{"memory":{},"relation":"{relation}","to":{to},"why":"changed","rest":""}}"#, number(new))
            };
            let same = against.find(|to| services.get(to) == own);
            Some(same.map_or_else(|| entry("unrelated", "null".into()), |to| entry("contradicts", to.to_string())))
        });
        let text = format!(r#"{{"relations":[{}]}}"#, entries.collect::<Vec<_>>().join(","));
        let (model, finish) = ("contradicting".into(), Finish::Stop);
        Ok((Reply { text, finish, prompt_tokens: 1, completion_tokens: 1, model }, Cost::Call))
    }

    fn model(&self) -> &'static str {
        "contradicting"
    }
}

fn learn(store: &Store, model: Option<&Contradicting>, lines: &[String]) {
    let incoming: Vec<IncomingClaim> = lines.iter().map(|line| incoming(line)).collect();
    let guard = Guard::default();
    let planned = consolidate(store, &guard, model, incoming, now());
    let plan = futures::executor::block_on(planned).unwrap().0;
    apply(store, &plan, None, now()).unwrap();
}

/// Returns the values of the active memories whose key contains `part`, sorted.
fn active(store: &Store, part: &str) -> Vec<String> {
    let memories = store.list(&Filter::default(), crate::store::Order::Id, 10_000, 0).unwrap().into_iter();
    let keyed = memories.filter(|memory| memory.status == Status::Active);
    let keyed = keyed.filter(|memory| memory.claim.key.as_deref().is_some_and(|key| key.contains(part)));
    let mut values: Vec<String> = keyed.filter_map(|memory| memory.claim.value).collect();
    values.sort();
    values
}

/// Returns statements about the ports of `count` services, starting with number `first`.
fn ports(key_end: &str, day: u32, first: u32, count: u32) -> Vec<String> {
    let line = |at: u32| {
        let (name, port) = (format!("svc{}x", 1_000 + at), first + at);
        format!(
            "said=2026-03-{day:02}; subject={name}; key=project.{name}{key_end}; value={port} | \
             The service called {name} listens on port {port}."
        )
    };
    (0..count).map(line).collect()
}

#[test]
fn each_attribute_ends_with_its_later_value_in_batches_of_any_size() {
    // A port has one value, so the rules recognise the change; a made-up attribute is open, so only the model does.
    for (key_end, model) in
        [(".port", None), (".port", Some(Contradicting::default())), ("_port", Some(Contradicting::default()))]
    {
        for batch in [250, 200] {
            let store = Store::in_memory().unwrap();
            let lines = [ports(key_end, 2, 4_000, 125), ports(key_end, 5, 5_000, 125)].concat();
            for lines in lines.chunks(batch) {
                learn(&store, model.as_ref(), lines);
            }
            let later: Vec<String> = (5_000..5_125).map(|port| port.to_string()).collect();
            assert_eq!(active(&store, "project."), later, "{key_end} in batches of {batch}");
        }
        assert!(model.is_none_or(|model| model.asked.get() > 0), "{key_end}");
    }
}

#[test]
fn one_attribute_is_found_among_hundreds_of_alike_ones() {
    let store = Store::in_memory().unwrap();
    learn(&store, None, &ports(".port", 2, 4_000, 500));
    learn(&store, None, &ports(".port", 5, 9_000, 1));
    assert_eq!((active(&store, "svc1000x"), active(&store, "svc").len()), (vec!["9000".to_owned()], 500));
}

#[test]
fn a_long_past_of_an_attribute_does_not_hide_what_holds_now() {
    // The last value comes first, so that every other value is in the past from the beginning.
    let said = |day: u32| {
        format!(
            "said=2026-01-{day:02}; key=project.port; value={} | The project listens on port {}.",
            4_000 + day,
            4_000 + day
        )
    };
    let lines: Vec<String> = [28].into_iter().chain(1..28).map(said).collect();
    for batch in [28, 5, 1] {
        let store = Store::in_memory().unwrap();
        for lines in lines.chunks(batch) {
            learn(&store, None, lines);
        }
        assert_eq!(active(&store, "project.port"), ["4028"], "in batches of {batch}");
    }
}

#[test]
fn a_full_inbox_does_not_hide_what_holds_now() {
    let said = |value: u32, day: u32| {
        format!("said=2026-01-{day:02}; key=project.port; value={value} | The project listens on port {value}.")
    };
    let store = Store::in_memory().unwrap();
    // The words differ, so that only the key leads to this memory.
    let first = "said=2026-01-10; key=project.port; value=4000 | Requests come in at 4000.";
    learn(&store, None, &[first.to_owned()]);
    for value in 4_001..4_041 {
        learn(&store, None, &[said(value, 10)]);
    }
    assert_eq!(active(&store, "project.port"), ["4000"]);
    learn(&store, None, &[said(5_000, 20)]);
    assert_eq!(active(&store, "project.port"), ["5000"]);
}

#[test]
fn a_question_names_the_same_attribute_before_alike_words() {
    let alike = ["Acme", "Initech", "Globex", "Hooli", "Umbrella", "Stark"];
    let mut all: Vec<_> = alike
        .iter()
        .map(|word| known(word, &format!("Every pull request of the team gets reviewed with care before {word}ing.")))
        .collect();
    all.push(known("same", "key=project.review_style; value=pairs | Reviews are done in pairs."));
    let new = "key=project.review_style; value=alone | Every pull request of the team gets reviewed with care before merging.";
    let verdict = decide(&incoming(new), &all, &[], now());
    assert!(verdict.open);
    assert_eq!((verdict.asks.len(), verdict.asks[0].id.as_str()), (7, "same"));
}
