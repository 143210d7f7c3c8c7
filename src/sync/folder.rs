//! A log in a folder, which may be shared between machines or copied by a program such as Syncthing or Dropbox.
//!
//! Each item is a file `LOG/NUMBER-HASH.change` or `LOG/NUMBER-HASH.snapshot`. Files are written under a temporary
//! name, renamed, and never changed, so that a copying program finds no conflict. The hash shows whether a file has
//! arrived completely.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use transcripts::hex;

use super::log::{AppendOutcome, ChangeLog, Head, LogError, LogItem};

/// Name of the folder with the logs, inside the folder that the user chose.
pub(crate) const LOGS: &str = "afterthought-log";

/// A folder with logs.
#[derive(Debug)]
pub(crate) struct FolderLog {
    address: String,
    root: PathBuf,
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

impl FolderLog {
    /// Returns the logs in the folder `path`, without touching it.
    pub(crate) fn new(path: &Path) -> Self {
        Self { address: path.display().to_string(), root: path.join(LOGS), notes: BTreeSet::new() }
    }

    /// Creates the folder of the logs.
    pub(crate) fn create(&self) -> Result<(), LogError> {
        fs::create_dir_all(&self.root).map_err(|source| at(&self.root, source))
    }

    /// Returns the files of a log, sorted by number, with snapshots before changes of the same number.
    fn entries(&mut self, name: &str) -> Result<Vec<Entry>, LogError> {
        let folder = self.root.join(name);
        let mut found = Vec::new();
        for entry in list(&folder)? {
            match Entry::parse(&entry) {
                Some(entry) => found.push(entry),
                // Temporary files of this and other programs begin with a dot or a tilde.
                None if entry.starts_with(['.', '~']) => {}
                None => {
                    self.notes.insert(format!("ignored {}: not a file of this log", folder.join(entry).display()));
                }
            }
        }
        found.sort();
        // Files before a snapshot may still be there because their deletion has not arrived.
        let snapshot = found.iter().filter(|entry| entry.is_snapshot).map(|entry| entry.seq).max().unwrap_or(0);
        found.retain(|entry| entry.seq >= snapshot);
        Ok(found)
    }

    fn read(&mut self, name: &str, entry: &Entry) -> Result<Option<LogItem>, LogError> {
        let path = self.root.join(name).join(entry.name());
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            // Another machine may have replaced the file by a snapshot in the meantime.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(at(&path, source)),
        };
        if hash_of(&bytes) != entry.hash {
            self.notes.insert(format!(
                "waiting for {}: it has not arrived completely; if this does not change, delete the file, and run \
                 `afterthought db sync now --whole` on the machine {name}",
                path.display()
            ));
            return Ok(None);
        }
        Ok(Some(LogItem { seq: entry.seq, hash: entry.hash.clone(), bytes }))
    }

    /// Writes the file `entry` if the log ends with the number `expected`.
    fn put(&mut self, name: &str, expected: u64, entry: Entry, bytes: &[u8]) -> Result<AppendOutcome, LogError> {
        // A drive that is not mounted must not be replaced by a folder of the same name.
        if !self.root.is_dir() {
            return Err(LogError::Gone { address: self.address.clone() });
        }
        let before = self.entries(name)?;
        if before.iter().map(|entry| entry.seq).max().unwrap_or(0) != expected {
            return Ok(AppendOutcome::Moved);
        }
        let folder = self.root.join(name);
        fs::create_dir_all(&folder).map_err(|source| at(&folder, source))?;
        let temporary = folder.join(format!(".{}.tmp", uuid::Uuid::now_v7()));
        let written = write_to(&temporary, bytes).and_then(|()| fs::rename(&temporary, folder.join(entry.name())));
        if let Err(source) = written {
            fs::remove_file(&temporary).ok();
            return Err(at(&folder, source));
        }
        Ok(AppendOutcome::Done(LogItem { seq: entry.seq, hash: entry.hash, bytes: bytes.to_vec() }))
    }
}

impl ChangeLog for FolderLog {
    fn heads(&mut self) -> Result<Vec<Head>, LogError> {
        if !self.root.is_dir() {
            return Err(LogError::Gone { address: self.address.clone() });
        }
        let mut heads = Vec::new();
        for name in list(&self.root)?.into_iter().filter(|name| !name.starts_with('.')) {
            if !self.root.join(&name).is_dir() {
                continue;
            }
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

    fn append(&mut self, name: &str, expected: u64, bytes: &[u8]) -> Result<AppendOutcome, LogError> {
        self.put(name, expected, Entry { seq: expected + 1, is_snapshot: false, hash: hash_of(bytes) }, bytes)
    }

    fn read_since(&mut self, name: &str, seq: u64) -> Result<Vec<LogItem>, LogError> {
        let (mut items, mut next) = (Vec::new(), seq + 1);
        let entries = self.entries(name)?;
        let last = entries.last().map_or(seq, |entry| entry.seq);
        while next <= last {
            let mut these = entries.iter().filter(|entry| entry.seq == next);
            let (Some(entry), None) = (these.next(), these.next()) else { break };
            let Some(item) = self.read(name, entry)? else { break };
            items.push(item);
            next += 1;
        }
        if next <= last && !entries.iter().any(|entry| entry.seq == next) {
            self.notes.insert(format!(
                "waiting for change {next} of the machine {name}; if it does not arrive, run \
                 `afterthought db sync now --whole` there"
            ));
        }
        Ok(items)
    }

    fn put_snapshot(&mut self, name: &str, expected: u64, seq: u64, bytes: &[u8]) -> Result<AppendOutcome, LogError> {
        let put = self.put(name, expected, Entry { seq, is_snapshot: true, hash: hash_of(bytes) }, bytes)?;
        if let AppendOutcome::Done(item) = &put {
            let folder = self.root.join(name);
            for file in list(&folder)? {
                if Entry::parse(&file).is_some_and(|entry| entry.seq < item.seq) {
                    let path = folder.join(file);
                    fs::remove_file(&path).map_err(|source| at(&path, source))?;
                }
            }
        }
        Ok(put)
    }

    fn get_snapshot(&mut self, name: &str) -> Result<Option<LogItem>, LogError> {
        let entry = self.entries(name)?.into_iter().find(|entry| entry.is_snapshot);
        entry.map_or(Ok(None), |entry| self.read(name, &entry))
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes).into_iter().collect()
    }
}

/// Returns the names in a folder, sorted; none if the folder does not exist.
fn list(folder: &Path) -> Result<Vec<String>, LogError> {
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(at(folder, source)),
    };
    let names = read.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<Result<_, _>>().map_err(|source| at(folder, source))?;
    names.sort();
    Ok(names)
}

/// Writes a new file completely, including to the disk.
fn write_to(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

pub(crate) fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn at(path: &Path, source: std::io::Error) -> LogError {
    LogError::File { path: path.to_owned(), source }
}
