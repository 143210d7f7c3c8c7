//! Tests that many memories inserted at once are written in the same way as memories inserted one by one.

use super::testing::snapshot;
use super::testing::{clean, day, memory_in, quote};
use super::{CleanMemory, Filter, HistoryEntry, Store, StoreError};
use crate::memory::{Evidence, Memory};

const TEXTS: &[&str] = &[
    "The team deploys the billing service to Fly.io every Friday, never on a holiday.",
    "用户把数据库部署在东京的服务器上",
    "Die Nutzerin trinkt Tee und nicht Kaffee, seit sie in der Königstraße wohnt.",
    "The engine is written in C++ and reads `.env` at std::sync.",
    "Ana said: it is what it is 🎉",
    "",
];

fn all(count: usize) -> Vec<(Memory, Vec<Evidence>)> {
    let one = |at: usize| {
        let namespace = ["project/shop", "global", "project/shop/api"][at % 3].parse().unwrap();
        let text = format!("{} Number {}.", TEXTS[at % TEXTS.len()], at % 97);
        let mut memory = memory_in(&namespace, &format!("Title {}", at % 13), &text);
        memory.claim.tags = vec![format!("tag{}", at % 5), "all".into()];
        if at.is_multiple_of(4) {
            (memory.claim.subject, memory.claim.key) = (Some("billing".into()), Some("user.drink".into()));
            memory.claim.value = Some("tea & <cake>".into());
        }
        let evidence = [quote(&text), quote("the same words twice"), quote("the same words twice")];
        (memory, evidence[..at % 4].to_vec())
    };
    (0..count).map(one).collect()
}

fn new((memory, evidence): &(Memory, Vec<Evidence>)) -> CleanMemory {
    (clean(memory.clone()), clean(evidence.clone()))
}

/// Returns the whole content of a file, including append-only tables.
fn told(store: &Store, all: &[(Memory, Vec<Evidence>)]) -> Vec<String> {
    // Each file and each changeset has a different ID.
    let mut told: Vec<String> = snapshot(store).into_iter().filter(|line| !line.starts_with("identity ")).collect();
    for (memory, _) in all {
        let history = store.history(&memory.id).unwrap().into_iter();
        told.extend(history.map(|entry| format!("{:?}", HistoryEntry { changeset: None, ..entry })));
        told.push(format!("{} {}", memory.namespace, store.revision(&memory.namespace).unwrap()));
    }
    told
}

#[test]
fn many_at_once_are_written_as_one_by_one() {
    // There are enough memories for several threads to prepare them, and for a segment within the transaction.
    let all = all(1_300);
    let (single, many) = (Store::in_memory().unwrap(), Store::in_memory().unwrap());
    single
        .write::<_, StoreError>(None, day(0), |w| {
            all.iter().map(new).try_for_each(|(memory, evidence)| w.insert(&memory, &evidence))
        })
        .unwrap();
    many.write::<_, StoreError>(None, day(0), |w| w.insert_all(&all, new)).unwrap();
    let (expected, found) = (told(&single, &all), told(&many, &all));
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected, found);
    }
    assert_eq!(single.count(&Filter::default()).unwrap(), all.len());
}

#[test]
fn one_that_is_there_lets_nothing_be_written() {
    let store = Store::in_memory().unwrap();
    let mut all = all(700);
    all[650].0.id = all[3].0.id.clone();
    let written = store.write::<_, StoreError>(None, day(0), |w| w.insert_all(&all, new));
    assert!(matches!(&written, Err(StoreError::Exists { id }) if *id == all[3].0.id.to_string()), "{written:?}");
    assert_eq!(store.count(&Filter::default()).unwrap(), 0);
    all[650].0.id = crate::memory::MemoryId::new();
    store.write::<_, StoreError>(None, day(0), |w| w.insert_all(&all, new)).unwrap();
    assert_eq!(store.count(&Filter::default()).unwrap(), 700);
}

#[test]
fn none_and_one_are_written_too() {
    let store = Store::in_memory().unwrap();
    for count in [0, 1] {
        store.write::<_, StoreError>(None, day(0), |w| w.insert_all(&all(count), new)).unwrap();
        assert_eq!(store.count(&Filter::default()).unwrap(), count);
    }
}

#[test]
fn a_panic_while_memories_are_prepared_ends_the_write() {
    let store = Store::in_memory().unwrap();
    let all = all(1_300);
    let panics = |one: &(Memory, Vec<Evidence>)| {
        assert!(one.0.id != all[900].0.id, "on purpose");
        new(one)
    };
    let write = || store.write::<_, StoreError>(None, day(0), |w| w.insert_all(&all, panics));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).is_err());
    assert_eq!(store.count(&Filter::default()).unwrap(), 0);
}
