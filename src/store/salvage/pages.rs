//! The pages of a file as they are on disk, with those of the log beside it that were committed.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Size of every page of our files, in bytes.
pub(super) const SIZE: usize = 4_096;
/// Bytes before the tree of the first page.
pub(super) const FILE_HEADER: usize = 100;
/// Bytes at the start of a log, and before each page in it.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A file whose pages can be had by number, from 1.
pub(super) struct Pages {
    file: File,
    log: Option<File>,
    /// Where the newest version of a page stands in the log.
    logged: HashMap<u32, u64>,
    count: u32,
}

impl Pages {
    /// Opens a file, and the log that belongs to it.
    pub(super) fn open(path: &Path, log: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let bytes = file.seek(SeekFrom::End(0))?;
        let mut count = u32::try_from(bytes.div_ceil(SIZE as u64)).unwrap_or(u32::MAX);
        let (log, mut logged) = (File::open(log).ok(), HashMap::new());
        if let Some(log) = &log {
            let committed = read_log(log)?;
            logged = committed.0;
            count = committed.1.unwrap_or(count);
        }
        Ok(Self { file, log, logged, count })
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Returns a page; one that the disk does not give is `None`, as is one beyond the end.
    pub(super) fn page(&self, number: u32) -> Option<Vec<u8>> {
        if number == 0 || number > self.count {
            return None;
        }
        let mut bytes = vec![0; SIZE];
        let (mut from, at) = match (self.logged.get(&number), &self.log) {
            (Some(at), Some(log)) => (log, *at),
            _ => (&self.file, u64::from(number - 1) * SIZE as u64),
        };
        from.seek(SeekFrom::Start(at)).ok()?;
        from.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Returns the version of the schema, if the first page is whole enough to tell.
    pub(super) fn schema_version(&self) -> Option<i64> {
        self.head(60)
    }

    /// Returns what tells our files from those of other programs, if the first page is whole enough to tell.
    pub(super) fn application_id(&self) -> Option<i64> {
        self.head(68)
    }

    fn head(&self, at: usize) -> Option<i64> {
        let first = self.page(1)?;
        first.starts_with(b"SQLite format 3\0").then(|| i64::from(number_at(&first, at)))
    }

    /// Returns the pages that are free; `None` if that cannot be told. What stands on them was removed.
    pub(super) fn free(&self) -> Option<HashSet<u32>> {
        let first = self.page(1).filter(|first| first.starts_with(b"SQLite format 3\0"))?;
        let (mut trunk, wanted) = (number_at(&first, 32), number_at(&first, 36) as usize);
        let mut free = HashSet::new();
        while trunk != 0 {
            let page = self.page(trunk)?;
            let leaves = number_at(&page, 4) as usize;
            if leaves > SIZE / 4 - 2 || !free.insert(trunk) {
                return None;
            }
            for leaf in 0..leaves {
                let number = number_at(&page, 8 + 4 * leaf);
                if number > self.count || !free.insert(number) {
                    return None;
                }
            }
            trunk = number_at(&page, 0);
        }
        (free.len() == wanted).then_some(free)
    }
}

/// Returns where the committed pages of a log stand, and how many pages the file has after them.
fn read_log(mut log: &File) -> io::Result<(HashMap<u32, u64>, Option<u32>)> {
    let mut header = [0; LOG_HEADER];
    log.seek(SeekFrom::Start(0))?;
    let (mut committed, mut count) = (HashMap::new(), None);
    if log.read_exact(&mut header).is_err() || number_at(&header, 8) as usize != SIZE {
        return Ok((committed, count));
    }
    let is_big = match number_at(&header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return Ok((committed, count)),
    };
    let mut sum = summed((0, 0), &header[..24], is_big);
    if sum != (number_at(&header, 24), number_at(&header, 28)) {
        return Ok((committed, count));
    }
    let (mut waiting, mut at) = (HashMap::new(), LOG_HEADER as u64);
    let mut frame = vec![0; FRAME_HEADER + SIZE];
    // Whatever is behind the first frame that is not whole was never committed.
    while log.read_exact(&mut frame).is_ok() && frame[8..16] == header[16..24] {
        sum = summed(summed(sum, &frame[..8], is_big), &frame[FRAME_HEADER..], is_big);
        if sum != (number_at(&frame, 16), number_at(&frame, 20)) {
            break;
        }
        waiting.insert(number_at(&frame, 0), at + FRAME_HEADER as u64);
        let pages = number_at(&frame, 4);
        if pages > 0 {
            committed.extend(waiting.drain());
            count = Some(pages);
        }
        at += frame.len() as u64;
    }
    Ok((committed, count))
}

/// The sum that SQLite keeps over a log.
fn summed((mut one, mut two): (u32, u32), bytes: &[u8], is_big: bool) -> (u32, u32) {
    let word = |at: usize| {
        let bytes: [u8; 4] = bytes[at..at + 4].try_into().expect("four bytes");
        if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for at in (0..bytes.len() - bytes.len() % 8).step_by(8) {
        one = one.wrapping_add(word(at)).wrapping_add(two);
        two = two.wrapping_add(word(at + 4)).wrapping_add(one);
    }
    (one, two)
}

/// Returns a number of four bytes, 0 where there is none.
pub(super) fn number_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_be_bytes(bytes.try_into().expect("four bytes")))
}
