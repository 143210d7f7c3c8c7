//! Tests with many writers in one namespace at the same time.

use crate::consolidate::settle_by_rules;
use crate::memory::Status;
use crate::store::Store;

use super::scripted::with_status;
use super::testing::{incoming, now};

const WRITERS: usize = 4;
const EACH: usize = 12;

#[test]
fn nobody_is_turned_away_for_what_others_write_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    let store = Store::open(&path).unwrap();
    std::thread::scope(|threads| {
        for writer in 0..WRITERS {
            let path = &path;
            threads.spawn(move || {
                let store = Store::open(path).unwrap();
                for number in 0..EACH {
                    let fact =
                        format!("said=2026-01-10 | Writer {writer} keeps parcel {number}00 in shelf {writer}{number}.");
                    settle_by_rules(&store, &[incoming(&fact)], None, now()).unwrap();
                }
            });
        }
    });
    assert_eq!(with_status(&store, Status::Active).len(), WRITERS * EACH);
}
