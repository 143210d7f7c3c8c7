//! One suite for every log, and the faults of folders.

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;

use super::*;
use crate::sync::files::{FileLog, LOGS, hash_of};
use crate::sync::folder::Folder;
use crate::sync::git::tests::{bare, log_in};

/// A log in memory, which shows that the contract does not depend on files.
#[derive(Default)]
struct MemoryLog(BTreeMap<String, Vec<(bool, LogItem)>>);

impl MemoryLog {
    fn put(&mut self, name: &str, expected: u64, seq: u64, is_snapshot: bool, bytes: &[u8]) -> AppendOutcome {
        let items = self.0.entry(name.to_owned()).or_default();
        if items.last().map_or(0, |(_, item)| item.seq) != expected {
            return AppendOutcome::Moved;
        }
        if is_snapshot {
            items.clear();
        }
        let item = LogItem { seq, hash: hash_of(bytes), bytes: bytes.to_vec() };
        items.push((is_snapshot, item.clone()));
        AppendOutcome::Done(item)
    }
}

impl ChangeLog for MemoryLog {
    fn heads(&mut self) -> Result<Vec<Head>, LogError> {
        let heads = self.0.iter().filter_map(|(name, items)| {
            let (_, LogItem { seq, hash, .. }) = items.last()?;
            let snapshot = items.iter().find(|(is_snapshot, _)| *is_snapshot).map(|(_, item)| item.seq);
            Some(Head { name: name.clone(), seq: *seq, hash: hash.clone(), snapshot, forked: None })
        });
        Ok(heads.collect())
    }

    fn append(&mut self, name: &str, expected: u64, items: &[Vec<u8>]) -> Result<AppendOutcome, LogError> {
        let mut done = AppendOutcome::Moved;
        for (bytes, before) in items.iter().zip(expected..) {
            done = self.put(name, before, before + 1, false, bytes);
        }
        Ok(done)
    }

    fn read_since(&mut self, name: &str, seq: u64) -> Result<Vec<LogItem>, LogError> {
        let items = self.0.get(name).into_iter().flatten();
        Ok(items.filter(|(_, item)| item.seq > seq).map(|(_, item)| item.clone()).collect())
    }

    fn put_snapshot(&mut self, name: &str, expected: u64, seq: u64, bytes: &[u8]) -> Result<AppendOutcome, LogError> {
        Ok(self.put(name, expected, seq, true, bytes))
    }

    fn get_snapshot(&mut self, name: &str) -> Result<Option<LogItem>, LogError> {
        let found = self.0.get(name).into_iter().flatten().find(|(is_snapshot, _)| *is_snapshot);
        Ok(found.map(|(_, item)| item.clone()))
    }
}

fn folder() -> (TempDir, FileLog<Folder>) {
    let folder = TempDir::new().unwrap();
    let log = Folder::new(folder.path());
    log.create().unwrap();
    (folder, FileLog::new(log))
}

fn append(log: &mut dyn ChangeLog, name: &str, expected: u64, text: &str) -> AppendOutcome {
    log.append(name, expected, &[text.as_bytes().to_vec()]).unwrap()
}

/// The suite that every implementor passes.
pub(in crate::sync) fn obeys_the_contract(log: &mut dyn ChangeLog) {
    let texts = |items: Vec<LogItem>| items.into_iter().map(|item| item.bytes).collect::<Vec<_>>();
    assert_eq!((log.heads().unwrap(), log.get_snapshot("a").unwrap()), (vec![], None));
    let AppendOutcome::Done(first) = append(log, "a", 0, "one") else { panic!("an empty log takes an item") };
    assert_eq!((first.seq, first.hash.as_str()), (1, hash_of(b"one").as_str()));
    assert_eq!(append(log, "a", 0, "another"), AppendOutcome::Moved);
    assert_eq!(append(log, "a", 2, "another"), AppendOutcome::Moved);
    append(log, "a", 1, "two");
    append(log, "b", 0, "of b");
    let two = [b"one of c".to_vec(), b"two of c".to_vec()];
    assert!(
        matches!(log.append("c", 0, &two).unwrap(), AppendOutcome::Done(item) if item.seq == 2 && item.bytes == two[1])
    );
    assert_eq!(texts(log.read_since("c", 0).unwrap()), two);
    assert_eq!(texts(log.read_since("a", 0).unwrap()), [b"one", b"two"]);
    assert_eq!(texts(log.read_since("a", 1).unwrap()), [b"two"]);
    assert_eq!(log.read_since("a", 2).unwrap(), []);
    let heads = log.heads().unwrap();
    let ends: Vec<_> = heads.iter().map(|head| (head.name.as_str(), head.seq, head.snapshot)).collect();
    assert_eq!(ends, [("a", 2, None), ("b", 1, None), ("c", 2, None)]);
    assert_eq!(log.put_snapshot("a", 1, 5, b"all").unwrap(), AppendOutcome::Moved);
    assert!(matches!(log.put_snapshot("a", 2, 5, b"all").unwrap(), AppendOutcome::Done(item) if item.seq == 5));
    append(log, "a", 5, "six");
    assert_eq!(log.get_snapshot("a").unwrap().unwrap().bytes, b"all");
    assert_eq!(texts(log.read_since("a", 5).unwrap()), [b"six"]);
    let heads = log.heads().unwrap();
    assert_eq!((heads[0].seq, heads[0].snapshot, heads[0].hash.as_str()), (6, Some(5), hash_of(b"six").as_str()));
}

#[test]
fn every_log_obeys_the_contract() {
    obeys_the_contract(&mut MemoryLog::default());
    obeys_the_contract(&mut folder().1);
    let folder = TempDir::new().unwrap();
    obeys_the_contract(&mut log_in(&bare(&folder), &folder, "clone"));
    #[cfg(feature = "scale")]
    if let Some(server) = crate::postgresql::testing::shared() {
        use crate::sync::postgres::{LogPlace, PostgresLog};
        let address = server.database();
        for place in [LogPlace::Machines, LogPlace::Shards] {
            obeys_the_contract(&mut PostgresLog::new(&address, place, std::time::Duration::ZERO).unwrap());
        }
    }
}

#[test]
fn a_snapshot_leaves_no_byte_of_the_items_before_it() {
    let (folder, mut log) = folder();
    append(&mut log, "a", 0, "secret");
    log.put_snapshot("a", 1, 2, b"rest").unwrap();
    let files: Vec<_> = fs::read_dir(folder.path().join(LOGS).join("a")).unwrap().collect();
    assert_eq!(files.len(), 1);
}

#[test]
fn incomplete_files_are_waited_for_and_foreign_files_are_ignored() {
    let (folder, mut log) = folder();
    for (expected, text) in [(0, "one"), (1, "two"), (2, "three")] {
        append(&mut log, "a", expected, text);
    }
    let logs = folder.path().join(LOGS).join("a");
    let name = |seq: u64, text: &str| logs.join(format!("{seq:08}-{}.change", hash_of(text.as_bytes())));
    fs::write(name(2, "two"), "tw").unwrap();
    fs::write(logs.join("00000001-x.sync-conflict-20270101-120000.change"), "one").unwrap();
    fs::write(logs.join(".syncthing.00000009.tmp"), "half").unwrap();
    assert_eq!(log.read_since("a", 0).unwrap().len(), 1);
    let notes = log.take_notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("ignored") && notes[0].contains("sync-conflict"), "{notes:?}");
    assert!(notes[1].starts_with("waiting for") && notes[1].contains("has not arrived completely"), "{notes:?}");
    fs::remove_file(name(2, "two")).unwrap();
    assert_eq!(log.read_since("a", 0).unwrap().len(), 1);
    assert!(log.take_notes().iter().any(|note| note.contains("waiting for change 2 of the machine a")));
    fs::write(name(2, "two"), "two").unwrap();
    assert_eq!(log.read_since("a", 0).unwrap().len(), 3);
    // Two machines that use one name write different items with one number.
    fs::write(name(2, "other"), "other").unwrap();
    assert_eq!(log.heads().unwrap()[0].forked, Some(2));
    assert_eq!(log.read_since("a", 0).unwrap().len(), 1);
}

#[test]
fn a_folder_that_is_gone_is_not_created_anew() {
    let (folder, mut log) = folder();
    fs::remove_dir_all(folder.path().join(LOGS)).unwrap();
    let error = log.append("a", 0, &[b"one".to_vec()]).unwrap_err().to_string();
    assert!(error.contains("check that the drive") && error.contains("db sync add"), "{error}");
    assert!(log.heads().is_err() && !folder.path().join(LOGS).exists());
}
