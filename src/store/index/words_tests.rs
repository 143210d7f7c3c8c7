//! Tests that the results of the word index do not depend on the layout of its segments.

use super::words::{flush, merge, tidy};
use crate::changeset::Action;
use crate::memory::{Memory, Namespace, Status};
use crate::store::testing::{clean, day, insert, memory_in, write};
use crate::store::{Filter, NamespaceSubtree, Store};

const WORDS: &[&str] =
    &["tea", "coffee", "deploy", "server", "monday", "garden", "parser", "linter", "berlin", "porto", "部署", "C++"];
const SPACES: &[&str] = &["global", "project/shop", "project/shop/api"];

/// Returns memories in three namespaces, whose words recur in many different combinations.
fn memories(count: usize) -> Vec<Memory> {
    let word = |at: usize| WORDS[at % WORDS.len()];
    (0..count)
        .map(|at| {
            let namespace: Namespace = SPACES[at % SPACES.len()].parse().unwrap();
            let words = [word(at), word(at * at), word(at / 3), "note", if at % 2 == 0 { "even" } else { "odd" }];
            memory_in(&namespace, &format!("n{at}"), &words[..3 + at % 3].join(" "))
        })
        .collect()
}

fn filters() -> Vec<Filter> {
    let shop: Namespace = "project/shop".parse().unwrap();
    vec![
        Filter::default(),
        Filter::exactly(std::slice::from_ref(&shop)),
        Filter { namespaces: vec![NamespaceSubtree::Under(shop)], ..Filter::default() },
        Filter { statuses: vec![Status::Forgotten], ..Filter::default() },
    ]
}

/// Returns the results of every query, with their scores if `with_scores` is set.
fn found(store: &Store, with_scores: bool) -> Vec<Vec<String>> {
    let queries = ["tea", "coffee deploy", "部署 monday", "C++ garden parser note", "even", "berlin porto odd linter"];
    let each = |(query, filter): (&str, Filter)| {
        let hits = store.search_candidates(query, &filter, 500).unwrap();
        let mut lines: Vec<String> = hits
            .iter()
            .map(
                |hit| {
                    if with_scores { format!("{} {:.4}", hit.memory.id, hit.bm25) } else { hit.memory.id.to_string() }
                },
            )
            .collect();
        lines.sort();
        lines
    };
    filters().into_iter().flat_map(|filter| queries.map(|query| (query, filter.clone()))).map(each).collect()
}

#[test]
fn segments_and_their_merging_change_nothing() {
    let store = Store::in_memory().unwrap();
    let all = memories(90);
    let mut before = Vec::new();
    for (number, part) in all.chunks(30).enumerate() {
        part.iter().for_each(|memory| insert(&store, memory));
        before = found(&store, true);
        flush(&store.conn).unwrap();
        assert_eq!(found(&store, true), before, "after {number} segments");
    }
    merge(&store.conn).unwrap();
    assert_eq!(found(&store, true), before);
    let segments: i64 = store.conn.query_row("SELECT count(*) FROM search_segments", (), |row| row.get(0)).unwrap();
    assert_eq!(segments, 1);
    assert!(before.iter().filter(|found| found.is_empty()).count() < before.len() / 2, "the queries find something");
}

#[test]
fn changes_hold_wherever_the_memory_lies() {
    let store = Store::in_memory().unwrap();
    let mut all = memories(60);
    all.iter().for_each(|memory| insert(&store, memory));
    flush(&store.conn).unwrap();
    all[3].claim.content = "A garden in Porto, with coffee.".into();
    all[4].claim.key = Some("user.berlin".into());
    all[7].namespace = "project/shop".parse().unwrap();
    all[8].status = Status::Forgotten;
    for memory in &all[..9] {
        write(&store, |w| w.update(&clean(memory.clone()), Action::Update, None));
    }
    let gone = all.split_off(50);
    for memory in &gone {
        write(&store, |w| w.set_status(&memory.id, Status::Forgotten, Action::Forget, None));
    }
    store.purge(0, day(1)).unwrap();
    let plain = Store::in_memory().unwrap();
    for memory in &all {
        insert(&plain, &store.memory(&memory.id).unwrap());
    }
    let expected = found(&plain, false);
    assert_eq!(found(&store, false), expected);
    flush(&store.conn).unwrap();
    assert_eq!(found(&store, false), expected);
    merge(&store.conn).unwrap();
    assert_eq!(found(&store, false), expected);
    store.optimise().unwrap();
    assert_eq!(found(&store, false), expected);
}

#[test]
fn many_memories_become_segments_by_themselves() {
    let store = Store::in_memory().unwrap();
    let all = memories(2_100);
    store
        .write::<_, crate::store::StoreError>(None, day(0), |w| {
            all.iter().try_for_each(|memory| w.insert(&clean(memory.clone()), &clean(Vec::new())))
        })
        .unwrap();
    let count = |table: &str| -> i64 {
        store.conn.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).unwrap()
    };
    assert_eq!((count("search_segments"), count("search_recent"), count("search_docs")), (1, 0, 2_100));
    assert_eq!(store.search_candidates("tea", &Filter::default(), 5_000).unwrap().len(), {
        all.iter().filter(|memory| memory.claim.content.contains("tea")).count()
    });
}

#[test]
fn many_small_segments_become_one_without_what_is_void() {
    let store = Store::in_memory().unwrap();
    let all = memories(64);
    for part in all.chunks(8) {
        part.iter().for_each(|memory| insert(&store, memory));
        flush(&store.conn).unwrap();
    }
    write(&store, |w| w.set_status(&all[0].id, Status::Forgotten, Action::Forget, None));
    store.purge(0, day(9)).unwrap();
    let count = |sql: &str| -> i64 { store.conn.query_row(sql, (), |row| row.get(0)).unwrap() };
    let before = found(&store, false);
    for memory in &all[1..9] {
        write(&store, |w| w.set_namespace(&memory.id, &"project/moved".parse().unwrap(), "moved".into()));
        flush(&store.conn).unwrap();
    }
    tidy(&store.conn).unwrap();
    assert_eq!(count("SELECT count(*) FROM search_segments"), 1);
    assert_eq!(count("SELECT sum(docs) FROM search_segments"), 63, "what is void has no number");
    assert_eq!(count("SELECT count(*) FROM search_docs"), 63);
    assert_eq!(count("SELECT count(*) FROM search_places"), 4, "one stretch a namespace");
    assert_eq!(found(&store, false)[0], before[0]);
}

#[test]
fn what_scores_the_same_comes_in_the_order_in_which_it_was_learnt() {
    let store = Store::in_memory().unwrap();
    let all: Vec<Memory> = (0..60)
        .map(|at| memory_in(&SPACES[2 - at % 3].parse().unwrap(), "", "The garden is full of snails."))
        .collect();
    for part in all.chunks(20) {
        part.iter().for_each(|memory| insert(&store, memory));
        flush(&store.conn).unwrap();
    }
    let hits = store.search_candidates("snails", &Filter::default(), 10).unwrap();
    let ids: Vec<_> = hits.iter().map(|hit| &hit.memory.id).collect();
    assert_eq!(ids, all[..10].iter().map(|memory| &memory.id).collect::<Vec<_>>());
}
