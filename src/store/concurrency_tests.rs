//! Tests of several connections to one file, each on a separate thread.

use std::path::PathBuf;
use std::sync::Barrier;

use super::testing::{clean, day, insert, memory, shop, transcript};
use super::{Claimed, Filter, Store, StoreError, WindowKey};

const fn is_send<T: Send>() {}
const _: () = is_send::<Store>();

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    (folder, path)
}

#[test]
fn writers_wait_for_each_other_and_nothing_is_lost() {
    let (_folder, path) = file();
    Store::open(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path).unwrap();
                for number in 0..25 {
                    insert(&store, &memory("Count", &format!("Thread {thread} counts to {number}.")));
                }
            });
        }
    });
    let store = Store::open(&path).unwrap();
    assert_eq!(store.count(&Filter::default()).unwrap(), 100);
    assert_eq!(store.revision(&shop()).unwrap(), 100);
}

#[test]
fn a_reader_sees_no_half_written_change() {
    let (_folder, path) = file();
    let (writer, reader) = (Store::open(&path).unwrap(), Store::open_read_only(&path).unwrap());
    let tea = memory("Tea", "The user drinks tea.");
    let failed = writer.write(None, day(0), |w| {
        w.insert(&clean(tea.clone()), &clean(Vec::new()))?;
        assert_eq!(reader.count(&Filter::default())?, 0);
        Err::<(), _>(StoreError::UnknownMemory { id: "x".into() })
    });
    assert!(matches!(failed, Err(StoreError::UnknownMemory { .. })));
    assert_eq!(writer.count(&Filter::default()).unwrap(), 0, "what fails leaves nothing");
    assert_eq!(writer.history(&tea.id).unwrap(), []);
}

#[test]
fn of_many_that_claim_a_window_exactly_one_wins() {
    let (_folder, path) = file();
    let store = Store::open(&path).unwrap();
    let id = store.transcript_seen(&clean(transcript("talk")), &shop(), None, day(0)).unwrap();
    for round in 0..20 {
        let key =
            WindowKey { transcript: id, extractor: "rules:1".into(), start: round, len: 1, content_hash: "h".into() };
        let barrier = Barrier::new(4);
        let claims: Vec<Claimed> = std::thread::scope(|scope| {
            let claiming: Vec<_> = (0..4)
                .map(|thread| {
                    let (path, key, barrier) = (&path, &key, &barrier);
                    scope.spawn(move || {
                        let store = Store::open(path).unwrap();
                        barrier.wait();
                        store.claim_window(key, &format!("worker {thread}"), day(1), day(0)).unwrap()
                    })
                })
                .collect();
            claiming.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let held = claims.iter().filter(|claim| **claim == Claimed::HeldByOther { until: day(1) }).count();
        assert_eq!((held, claims.len()), (3, 4), "{claims:?}");
    }
}
