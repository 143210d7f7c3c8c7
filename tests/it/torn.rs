//! Tests of a write-ahead log that a power failure has truncated or changed. Reading must yield the state at some
//! earlier moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use afterthought::guard::Guard;
use afterthought::memory::{Claim, ExtractionMethod, Memory, MemoryType, Namespace};
use afterthought::store::{Filter, Order, Store, StoreError};
use jiff::Timestamp;

use super::world::Chance;

/// Number of writes that are only in the log.
const WRITES: usize = 4;
/// The log is truncated at every multiple of this many bytes.
const STEP: usize = 512;

fn remember(store: &Store, number: usize) {
    let claim = Claim::new(MemoryType::Semantic, "fact", "Note", format!("Service {number} listens on port {number}."));
    let memory = Memory::new(claim, Namespace::global(), "x", ExtractionMethod::Manual, Timestamp::UNIX_EPOCH);
    let (clean, none) = (Guard::default().redact(memory).0, Guard::default().redact(Vec::new()).0);
    store.write::<_, StoreError>(None, Timestamp::UNIX_EPOCH, |w| w.insert(&clean, &none)).unwrap();
}

/// A file and its log, as they were while a process was using them.
struct Live {
    folder: tempfile::TempDir,
    file: Vec<u8>,
    log: Vec<u8>,
}

impl Live {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("live.db");
        drop(Store::open(&path).unwrap());
        let store = Store::open(&path).unwrap();
        (0..WRITES).for_each(|number| remember(&store, number));
        let (file, log) = (fs::read(&path).unwrap(), fs::read(beside(&path)).unwrap());
        assert!(log.len() > WRITES * 4_096, "{}", log.len());
        Self { folder, file, log }
    }

    fn torn(&self) -> PathBuf {
        self.folder.path().join("torn.db")
    }

    /// Opens the file with this log, and returns the number of complete writes, which must be the earliest writes.
    fn opened_with(&self, log: &[u8], of: &str) -> usize {
        let path = self.torn();
        for ending in ["", "-wal", "-shm"] {
            fs::remove_file(format!("{}{ending}", path.display())).ok();
        }
        fs::write(&path, &self.file).unwrap();
        fs::write(beside(&path), log).unwrap();
        let store = Store::open(&path).unwrap_or_else(|error| panic!("{of}: {error}"));
        let checked = store.check().unwrap();
        assert_eq!(checked.flaws, [], "{of}");
        let found = store.list(&Filter::default(), Order::Id, usize::MAX, 0).unwrap();
        let found: BTreeSet<String> = found.into_iter().map(|memory| memory.claim.content).collect();
        let expected = (0..found.len()).map(|number| format!("Service {number} listens on port {number}."));
        assert_eq!(found, expected.collect(), "{of}");
        found.len()
    }
}

fn beside(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

#[test]
fn a_log_that_is_cut_anywhere_holds_what_was_written_before() {
    let live = Live::new();
    let mut before = 0;
    let mut seen = BTreeSet::new();
    for end in (0..=live.log.len()).step_by(STEP) {
        let found = live.opened_with(&live.log[..end], &format!("cut at {end}"));
        assert!(found >= before, "a longer log holds no less: {found} at {end}");
        before = found;
        if seen.insert(found) {
            let store = Store::open(live.torn()).unwrap();
            remember(&store, 99);
            assert_eq!(store.check().unwrap().flaws, [], "it goes on after {found}");
        }
    }
    seen.insert(live.opened_with(&live.log, "whole"));
    assert_eq!(seen, (0..=WRITES).collect(), "every write was the last one once");
}

#[test]
fn a_log_that_is_changed_anywhere_is_taken_up_to_there() {
    let live = Live::new();
    let mut chance = Chance(21);
    for round in 0..40 {
        let mut log = live.log.clone();
        let at = usize::try_from(chance.below(log.len() as u64)).unwrap();
        let length = 1 + usize::try_from(chance.below(600)).unwrap();
        let end = (at + length).min(log.len());
        for byte in &mut log[at..end] {
            *byte ^= 1 + u8::try_from(chance.below(255)).unwrap();
        }
        let found = live.opened_with(&log, &format!("seed 21, round {round}: {at}..{end} changed"));
        assert_eq!(found, live.opened_with(&live.log[..at], "cut there"), "as if it had been cut there");
    }
}

#[test]
fn a_log_without_its_file_or_of_another_changes_nothing() {
    let live = Live::new();
    let other = Live::new();
    // Each log has different salts, so frames of another log are not valid after its header.
    let mixed = [&live.log[..32], &other.log[32..]].concat();
    assert_eq!(live.opened_with(&mixed, "another log"), 0);
    assert_eq!(live.opened_with(&vec![0; 8_192], "zeros"), 0);
}
