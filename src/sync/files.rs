//! A log whose items are files, in any place where files can be listed, read and added.
//!
//! Each item is a file `LOG/NUMBER-HASH.change` or `LOG/NUMBER-HASH.snapshot` that is never changed. The hash shows
//! whether a file has arrived completely.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use transcripts::hex;

use super::log::{AppendOutcome, ChangeLog, Head, LogError, LogItem};

/// Name of the folder with the logs, inside the place that the user chose.
pub(crate) const LOGS: &str = "afterthought-log";
/// Maximum size of a file that is read, in bytes. Anybody who can write to the target could place a larger one there.
pub(crate) const MAX_FILE: u64 = 256 << 20;
/// Number of attempts to write while other machines write.
const ATTEMPTS: u32 = 20;

/// The outcome of an attempt to write files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    Done,
    /// Another machine wrote at the same time, so nothing was written. The caller looks at the log again.
    Raced,
}

/// A place that contains a folder with files for each log.
pub(crate) trait Files {
    /// Looks at the place again, and returns the names of the logs.
    fn logs(&mut self) -> Result<Vec<String>, LogError>;

    /// Returns the names of the files of a log, sorted; none if there is no such log.
    fn names(&mut self, log: &str) -> Result<Vec<String>, LogError>;

    /// Returns the contents of files, in order, each `None` if the file is no longer there.
    fn read(&mut self, log: &str, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, LogError>;

    /// Writes the new files, and then deletes the old ones.
    fn put(&mut self, log: &str, new: &[(String, &[u8])], old: &[String]) -> Result<PutOutcome, LogError>;

    /// Returns the name of a file in messages.
    fn shown(&self, log: &str, name: &str) -> String;

    /// Returns, once, messages about the place.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A log in files.
#[derive(Debug)]
pub(crate) struct FileLog<F> {
    files: F,
    notes: BTreeSet<String>,
}

/// A file of a log, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    seq: u64,
    is_snapshot: bool,
    hash: String,
}

impl Entry {
    fn parse(name: &str) -> Option<Self> {
        let (stem, ending) = name.split_once('.')?;
        let is_snapshot = match ending {
            "change" => false,
            "snapshot" => true,
            _ => return None,
        };
        let (seq, hash) = stem.split_once('-')?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (is_hash && seq.len() == 8).then_some(())?;
        Some(Self { seq: seq.parse().ok()?, is_snapshot, hash: hash.to_owned() })
    }

    fn name(&self) -> String {
        format!("{:08}-{}.{}", self.seq, self.hash, if self.is_snapshot { "snapshot" } else { "change" })
    }
}

impl<F: Files> FileLog<F> {
    pub(crate) const fn new(files: F) -> Self {
        Self { files, notes: BTreeSet::new() }
    }

    /// Returns the files of a log, sorted by number, with snapshots before changes of the same number.
    fn entries(&mut self, name: &str) -> Result<Vec<Entry>, LogError> {
        let mut found = Vec::new();
        for file in self.files.names(name)? {
            match Entry::parse(&file) {
                Some(entry) => found.push(entry),
                // Temporary files of this and other programs begin with a dot or a tilde.
                None if file.starts_with(['.', '~']) => {}
                None => {
                    self.notes.insert(format!("ignored {}: not a file of this log", self.files.shown(name, &file)));
                }
            }
        }
        found.sort();
        // Files before a snapshot may still be there because their deletion has not arrived.
        let snapshot = found.iter().filter(|entry| entry.is_snapshot).map(|entry| entry.seq).max().unwrap_or(0);
        found.retain(|entry| entry.seq >= snapshot);
        Ok(found)
    }

    /// Returns the items of consecutive files, up to the first one that has not arrived.
    fn read(&mut self, name: &str, entries: &[Entry]) -> Result<Vec<LogItem>, LogError> {
        let names: Vec<String> = entries.iter().map(Entry::name).collect();
        let mut items = Vec::new();
        for (entry, bytes) in entries.iter().zip(self.files.read(name, &names)?) {
            // Another machine may have replaced the file with a snapshot in the meantime.
            let Some(bytes) = bytes else { break };
            if hash_of(&bytes) != entry.hash {
                self.notes.insert(format!(
                    "waiting for {}: it has not arrived completely; if this does not change, delete the file, and run \
                     `afterthought db sync now --whole` on the machine {name}",
                    self.files.shown(name, &entry.name())
                ));
                break;
            }
            items.push(LogItem { seq: entry.seq, hash: entry.hash.clone(), bytes });
        }
        Ok(items)
    }

    /// Writes items with consecutive numbers from `seq` if the log ends with the number `expected`.
    fn put(
        &mut self,
        name: &str,
        (expected, seq): (u64, u64),
        is_snapshot: bool,
        items: &[Vec<u8>],
    ) -> Result<AppendOutcome, LogError> {
        let entries = items.iter().zip(seq..).map(|(bytes, seq)| Entry { seq, is_snapshot, hash: hash_of(bytes) });
        let entries: Vec<Entry> = entries.collect();
        let new: Vec<(String, &[u8])> =
            entries.iter().zip(items).map(|(entry, bytes)| (entry.name(), bytes.as_slice())).collect();
        for attempt in 0..ATTEMPTS {
            if self.entries(name)?.iter().map(|entry| entry.seq).max().unwrap_or(0) != expected {
                return Ok(AppendOutcome::Moved);
            }
            let mut old = if is_snapshot { self.files.names(name)? } else { Vec::new() };
            old.retain(|file| Entry::parse(file).is_some_and(|entry| entry.seq < seq));
            match self.files.put(name, &new, &old)? {
                PutOutcome::Done => {
                    let (last, bytes) = entries.into_iter().zip(items).next_back().ok_or(LogError::Busy)?;
                    let item = LogItem { seq: last.seq, hash: last.hash, bytes: bytes.clone() };
                    return Ok(AppendOutcome::Done(item));
                }
                // Machines that wait for different times are unlikely to collide again.
                PutOutcome::Raced => std::thread::sleep(pause(attempt)),
            }
        }
        Err(LogError::Busy)
    }
}

/// Returns a random time that grows with the number of attempts.
fn pause(attempt: u32) -> Duration {
    let random = u64::from(uuid::Uuid::now_v7().as_bytes()[15]);
    Duration::from_millis(random * u64::from(attempt + 1) / 8)
}

impl<F: Files> ChangeLog for FileLog<F> {
    fn heads(&mut self) -> Result<Vec<Head>, LogError> {
        let mut heads = Vec::new();
        for name in self.files.logs()?.into_iter().filter(|name| !name.starts_with('.')) {
            let entries = self.entries(&name)?;
            let mut by_seq: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
            for entry in &entries {
                by_seq.entry(entry.seq).or_default().insert(&entry.hash);
            }
            let forked = by_seq.iter().find(|(_, hashes)| hashes.len() > 1).map(|(seq, _)| *seq);
            let snapshot = entries.iter().find(|entry| entry.is_snapshot).map(|entry| entry.seq);
            if let Some(Entry { seq, hash, .. }) = entries.last() {
                heads.push(Head { name: name.clone(), seq: *seq, hash: hash.clone(), snapshot, forked });
            }
        }
        heads.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(heads)
    }

    fn append(&mut self, name: &str, expected: u64, items: &[Vec<u8>]) -> Result<AppendOutcome, LogError> {
        self.put(name, (expected, expected + 1), false, items)
    }

    fn read_since(&mut self, name: &str, seq: u64) -> Result<Vec<LogItem>, LogError> {
        let (mut found, mut next) = (Vec::new(), seq + 1);
        let entries = self.entries(name)?;
        let last = entries.last().map_or(seq, |entry| entry.seq);
        while next <= last {
            let mut these = entries.iter().filter(|entry| entry.seq == next);
            let (Some(entry), None) = (these.next(), these.next()) else { break };
            found.push(entry.clone());
            next += 1;
        }
        if next <= last && !entries.iter().any(|entry| entry.seq == next) {
            self.notes.insert(format!(
                "waiting for change {next} of the machine {name}; if it does not arrive, run \
                 `afterthought db sync now --whole` there"
            ));
        }
        self.read(name, &found)
    }

    fn put_snapshot(&mut self, name: &str, expected: u64, seq: u64, bytes: &[u8]) -> Result<AppendOutcome, LogError> {
        self.put(name, (expected, seq), true, &[bytes.to_vec()])
    }

    fn get_snapshot(&mut self, name: &str) -> Result<Option<LogItem>, LogError> {
        let entry = self.entries(name)?.into_iter().find(|entry| entry.is_snapshot);
        entry.map_or(Ok(None), |entry| Ok(self.read(name, &[entry])?.pop()))
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.notes.extend(self.files.take_notes());
        std::mem::take(&mut self.notes).into_iter().collect()
    }
}

pub(crate) fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
