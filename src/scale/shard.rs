//! Shards: database files that workers check out of a log, change, and append to it.
//!
//! An item of a shard's log contains the blocks of the file that changed, and a snapshot contains all blocks. A file that
//! the cache contains in a known state gets only the items that it lacks.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use transcripts::hex;

use super::{MAX_ITEM, ScaleError};
use crate::private;
use crate::sync::{AppendOutcome, ChangeLog as _, LogItem, PostgresLog};

/// Size of a block in bytes.
const BLOCK: usize = 4096;
/// Number of bytes of a block's hash that are kept.
const HASH: usize = 16;
/// First bytes of an item.
const MARK: &[u8] = b"afterthought shard 1\n";
/// Number of items after which a snapshot replaces them.
const ITEMS_BEFORE_SNAPSHOT: u64 = 64;

/// Whether a commit appends the changes, or replaces the log with a snapshot, so that erased text leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Changes,
    Whole,
}

/// The outcome of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    /// The log contains the state of the file.
    Done,
    /// Another worker has appended to the log, so nothing was written.
    Moved,
}

/// A known state of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    shard: String,
    seq: u64,
    hash: String,
    /// Number of the last snapshot.
    snapshot: u64,
}

/// Reads a known state and the hashes of the blocks, which follow its line.
fn read_state(note: &Path) -> Option<(State, Vec<[u8; HASH]>)> {
    let content = fs::read(note).ok()?;
    let end = content.iter().position(|byte| *byte == b'\n')?;
    let state = serde_json::from_slice(&content[..end]).ok()?;
    Some((state, content[end + 1..].as_chunks().0.to_vec()))
}

/// A folder with files of shards, which one process uses.
pub(crate) struct ShardCache {
    folder: PathBuf,
    /// Locked as long as the process uses the folder.
    _lock: File,
}

/// A shard that is checked out.
pub(crate) struct Checkout {
    /// The database file; it may not exist yet.
    pub path: PathBuf,
    state: State,
    blocks: Vec<[u8; HASH]>,
}

impl ShardCache {
    /// Returns the first folder below `root` that no other process uses.
    pub(crate) fn open(root: &Path) -> Result<Self, ScaleError> {
        for number in 1.. {
            let folder = root.join(number.to_string());
            let path = folder.join("lock");
            let opened = private::create_folder(&folder).and_then(|()| private::append(&path));
            let lock = opened.map_err(|source| ScaleError::File { path: path.clone(), source })?;
            match lock.try_lock() {
                Ok(()) => return Ok(Self { folder, _lock: lock }),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(source)) => return Err(ScaleError::File { path, source }),
            }
        }
        unreachable!("one of the numbers is always free")
    }

    fn path(&self, shard: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", &hex(&Sha256::digest(shard.as_bytes()))[..32]))
    }

    /// Updates the file of a shard to the state of its log.
    pub(crate) fn check_out(&self, log: &mut PostgresLog, shard: &str) -> Result<Checkout, ScaleError> {
        let (path, note) = (self.path(shard, "db"), self.path(shard, "state"));
        let at = |source| ScaleError::File { path: path.clone(), source };
        // A file that was changed after its state was recorded is in an unknown state.
        let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        let known = read_state(&note).filter(|_| modified(&path) <= modified(&note));
        // While the file may change, its state is unknown.
        remove(&note).map_err(at)?;
        let head = log.head(shard)?;
        let (seq, snapshot) = head.as_ref().map_or((0, 0), |head| (head.seq, head.snapshot.unwrap_or(0)));
        let known = known.filter(|(known, _)| {
            let is_end = || head.as_ref().is_some_and(|head| head.seq == known.seq && head.hash == known.hash);
            known.shard == shard && path.exists() && ((snapshot <= known.seq && known.seq < seq) || is_end())
        });
        // Readers leave an empty write-ahead log and its index behind.
        for ending in ["db-wal", "db-shm"] {
            remove(&path.with_extension(ending)).map_err(at)?;
        }
        let mut out = if let Some((state, blocks)) = known {
            Checkout { path, state, blocks }
        } else {
            remove(&path).map_err(at)?;
            let state = State { shard: shard.to_owned(), seq: 0, hash: String::new(), snapshot: 0 };
            let mut out = Checkout { path, blocks: Vec::new(), state };
            if snapshot > 0 {
                let item = log.get_snapshot(shard)?;
                let item = item.filter(|item| item.seq == snapshot);
                out.apply(
                    &item.ok_or(ScaleError::Damaged { shard: shard.to_owned(), what: "its snapshot is missing" })?,
                )?;
                out.state.snapshot = snapshot;
            }
            out
        };
        if out.state.seq < seq {
            for item in log.read_since(shard, out.state.seq)? {
                out.apply(&item)?;
            }
        }
        if head.is_some_and(|head| (head.seq, head.hash) != (out.state.seq, out.state.hash.clone())) {
            // The log may have been replaced by a snapshot in the meantime, and the next attempt reads it.
            return Err(ScaleError::Damaged { shard: shard.to_owned(), what: "an item is missing" });
        }
        Ok(out)
    }

    /// Updates the file of a shard that is only read, and returns its path. The file must be closed.
    pub(crate) fn check_out_to_read(&self, log: &mut PostgresLog, shard: &str) -> Result<PathBuf, ScaleError> {
        let out = self.check_out(log, shard)?;
        self.note(&out.state, &out.blocks)?;
        Ok(out.path)
    }

    /// Removes the file of a shard.
    pub(crate) fn forget(&self, shard: &str) -> Result<(), ScaleError> {
        let at = |path: PathBuf| remove(&path).map_err(|source| ScaleError::File { path, source });
        ["state", "draft", "db", "db-wal", "db-shm"].into_iter().try_for_each(|ending| at(self.path(shard, ending)))
    }

    /// Removes the files of all shards.
    pub(crate) fn clear(&self) -> Result<(), ScaleError> {
        let at = |source| ScaleError::File { path: self.folder.clone(), source };
        for entry in fs::read_dir(&self.folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            if path.extension().is_some() {
                remove(&path).map_err(at)?;
            }
        }
        Ok(())
    }

    /// Appends the changes of the file to the log, unless another worker has appended to it. The file must be closed.
    pub(crate) fn commit(
        &self,
        log: &mut PostgresLog,
        out: &Checkout,
        extent: Extent,
    ) -> Result<CommitOutcome, ScaleError> {
        let shard = out.state.shard.clone();
        let at = |source| ScaleError::File { path: out.path.clone(), source };
        let wal = out.path.with_extension("db-wal");
        if fs::metadata(&wal).is_ok_and(|data| data.len() > 0) {
            return Err(at(io::Error::other("it is still open")));
        }
        let seq = out.state.seq;
        let is_whole = extent == Extent::Whole || seq + 1 - out.state.snapshot > ITEMS_BEFORE_SNAPSHOT;
        let known: &[[u8; HASH]] = if is_whole { &[] } else { &out.blocks };
        let Difference { bytes, blocks, changed } = difference(&out.path, known).map_err(at)?;
        let mut state = out.state.clone();
        if changed > 0 || blocks.len() != known.len() {
            if bytes.len() > MAX_ITEM {
                return Err(ScaleError::TooLarge { shard });
            }
            let appended = if is_whole {
                log.put_snapshot(&shard, seq, seq + 1, &bytes)?
            } else {
                log.append(&shard, seq, &[bytes])?
            };
            let AppendOutcome::Done(last) = appended else { return Ok(CommitOutcome::Moved) };
            (state.seq, state.hash) = (last.seq, last.hash);
            if is_whole {
                state.snapshot = last.seq;
            }
        }
        // The file is synced first: after a power failure, the note must not describe a state that the file has lost.
        match private::options().write(true).open(&out.path) {
            Ok(file) => file.sync_all().map_err(at)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(at(error)),
        }
        self.note(&state, &blocks)?;
        Ok(CommitOutcome::Done)
    }

    /// Records that the file of a shard is in this state.
    fn note(&self, state: &State, blocks: &[[u8; HASH]]) -> Result<(), ScaleError> {
        let (note, draft) = (self.path(&state.shard, "state"), self.path(&state.shard, "draft"));
        let mut content = serde_json::to_vec(state).unwrap_or_default();
        content.push(b'\n');
        content.extend_from_slice(blocks.as_flattened());
        // A file that was not written completely would describe blocks that the database does not have.
        let opened = private::options().write(true).create(true).truncate(true).open(&draft);
        let written = opened.and_then(|mut file| file.write_all(&content)).and_then(|()| fs::rename(&draft, &note));
        written.map_err(|source| ScaleError::File { path: note, source })
    }
}

impl Checkout {
    /// Writes the blocks of an item into the file.
    fn apply(&mut self, item: &LogItem) -> Result<(), ScaleError> {
        let damaged = |what| ScaleError::Damaged { shard: self.state.shard.clone(), what };
        let at = |source| ScaleError::File { path: self.path.clone(), source };
        let content =
            item.bytes.strip_prefix(MARK).ok_or_else(|| damaged("an item was written by a different version"))?;
        let mut content = ZlibDecoder::new(content);
        let mut number = [0; 8];
        content.read_exact(&mut number).map_err(at)?;
        let length = u64::from_be_bytes(number);
        let mut file = private::options().write(true).create(true).truncate(false).open(&self.path).map_err(at)?;
        let count = usize::try_from(length.div_ceil(BLOCK as u64)).map_err(|_| damaged("an item is too large"))?;
        self.blocks.resize(count, [0; HASH]);
        let mut block = [0; BLOCK];
        let mut next = None;
        while read_number(&mut content, &mut number).map_err(at)? {
            let start = u64::from_be_bytes(number);
            let index = usize::try_from(start / BLOCK as u64).ok().filter(|index| *index < count);
            let index = index.ok_or_else(|| damaged("a block is outside the file"))?;
            let size = usize::try_from(length - start).unwrap_or(BLOCK).min(BLOCK);
            content.read_exact(&mut block[..size]).map_err(at)?;
            if next != Some(start) {
                file.seek(SeekFrom::Start(start)).map_err(at)?;
            }
            file.write_all(&block[..size]).map_err(at)?;
            next = Some(start + size as u64);
            self.blocks[index] = hash_of_block(&block[..size]);
        }
        file.set_len(length).map_err(at)?;
        (self.state.seq, self.state.hash) = (item.seq, item.hash.clone());
        Ok(())
    }
}

/// The blocks of a file that differ from known ones, as an item.
struct Difference {
    bytes: Vec<u8>,
    /// Hashes of all blocks.
    blocks: Vec<[u8; HASH]>,
    /// Number of blocks in the item.
    changed: usize,
}

fn difference(path: &Path, known: &[[u8; HASH]]) -> io::Result<Difference> {
    // A job may have found nothing to store, in which case there is no file.
    let content = match fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut encoder = ZlibEncoder::new(MARK.to_vec(), Compression::fast());
    encoder.write_all(&(content.len() as u64).to_be_bytes())?;
    let (mut blocks, mut changed) = (Vec::new(), 0);
    for (index, block) in content.chunks(BLOCK).enumerate() {
        let hash = hash_of_block(block);
        if known.get(index) != Some(&hash) {
            encoder.write_all(&((index * BLOCK) as u64).to_be_bytes())?;
            encoder.write_all(block)?;
            changed += 1;
        }
        blocks.push(hash);
    }
    Ok(Difference { bytes: encoder.finish()?, blocks, changed })
}

fn hash_of_block(block: &[u8]) -> [u8; HASH] {
    let mut hash = [0; HASH];
    hash.copy_from_slice(&Sha256::digest(block)[..HASH]);
    hash
}

/// Reads a number; returns whether there is one.
fn read_number(content: &mut impl io::Read, number: &mut [u8; 8]) -> io::Result<bool> {
    match content.read_exact(number) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "shard_tests.rs"]
mod tests;
