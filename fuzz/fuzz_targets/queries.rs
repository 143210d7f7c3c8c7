//! Search queries from people and agents: any text is a valid query.
#![no_main]

use std::collections::BTreeSet;

use afterthought::memory::Namespace;
use afterthought::search::Search;
use afterthought::store::{Filter, Store};
use afterthought_fuzz::{now, remember};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static STORE: Store = {
        let store = Store::in_memory().unwrap();
        for content in ["The user drinks tea.", "C++ builds with bun-sqlite in a:b.", "用户关注数据库。", "Sie mag Äpfel \u{1f600}."] {
            remember(&store, &Namespace::global(), content);
        }
        store
    };
}

fuzz_target!(|bytes: &[u8]| {
    let query = String::from_utf8_lossy(bytes);
    let filter = Filter::default();
    let limit = 1 + bytes.len() % 4;
    STORE.with(|store| {
        let search = Search { limit, with_related: true, with_beside: bytes.len() % 2 == 0, ..Search::new(&query, &filter, now()) };
        let found = search.run(store).unwrap();
        assert!(found.len() <= limit);
        let ids: BTreeSet<_> = found.iter().map(|one| one.memory.id.clone()).collect();
        assert_eq!(ids.len(), found.len(), "a memory comes once");
        for one in &found {
            for shown in std::iter::once(&one.highlight).chain(&one.quote) {
                let mut end = 0;
                for mark in &shown.marks {
                    assert!(mark.start >= end && shown.text.get(mark.clone()).is_some_and(|text| !text.is_empty()));
                    end = mark.end;
                }
            }
        }
        let scores: Vec<f64> = found.iter().map(|one| one.score.total).collect();
        assert!(scores.iter().all(|score| score.is_finite()) && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    });
});
