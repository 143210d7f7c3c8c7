//! Reads commits, trees and files from a git repository, loose and packed. Git itself is never run, because a
//! repository from somebody else could make git run arbitrary commands.
//!
//! Anything that cannot be read, such as a repository with SHA-256 or a damaged pack, is treated as missing, because
//! information from a repository is only a hint.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::bufread::ZlibDecoder;

/// Maximum size of an object that is read, in bytes.
const MAX_OBJECT: u64 = 4 << 20;
/// Maximum length of a chain of deltas; git itself creates chains of at most 50.
const MAX_CHAIN: usize = 256;
/// Maximum number of trees and commits that are kept in memory.
const MAX_KEPT: usize = 20_000;
/// Maximum number of alternate object folders, which belong to other repositories.
const MAX_ALTERNATES: usize = 8;
const ID_BYTES: usize = 20;

/// The id of an object.
pub(super) type Id = [u8; ID_BYTES];

/// Returns the id with these 40 digits.
pub(super) fn id_of(hex: &str) -> Option<Id> {
    let mut id = [0; ID_BYTES];
    if hex.len() != 2 * ID_BYTES || !hex.is_ascii() {
        return None;
    }
    for (place, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(id)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

/// A commit.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) tree: Id,
    pub(super) parents: Vec<Id>,
    /// Commit time, in seconds since 1970.
    pub(super) at: i64,
    /// The author with the time, and the first line of the message, which remain the same after a rebase.
    pub(super) mark: String,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) id: Id,
    pub(super) is_tree: bool,
    /// Whether the entry is a regular file, rather than a link or another repository.
    pub(super) is_file: bool,
}

/// The objects of a repository.
#[derive(Debug)]
pub(super) struct Objects {
    folders: Vec<PathBuf>,
    packs: Vec<Pack>,
    trees: RefCell<HashMap<Id, Rc<Vec<Entry>>>>,
}

impl Objects {
    /// Opens the objects of the repository in this folder.
    pub(super) fn open(common: &Path) -> Self {
        let mut folders = vec![common.join("objects")];
        let mut place = 0;
        while place < folders.len() && folders.len() < MAX_ALTERNATES {
            let others = super::git::read(&folders[place].join("info/alternates")).unwrap_or_default();
            let others = others.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let others: Vec<PathBuf> = others.map(|line| folders[place].join(line)).collect();
            let is_near = |folder: &PathBuf| !super::git::is_share(folder) && !folders.contains(folder);
            let others: Vec<PathBuf> = others.into_iter().filter(is_near).collect();
            folders.extend(others);
            place += 1;
        }
        let mut packs = Vec::new();
        for folder in &folders {
            let files = fs::read_dir(folder.join("pack")).into_iter().flatten().flatten();
            let mut indexes: Vec<PathBuf> = files.map(|file| file.path()).collect();
            indexes.retain(|path| path.extension().is_some_and(|end| end == "idx"));
            indexes.sort();
            packs.extend(indexes.iter().filter_map(|path| Pack::open(path)));
        }
        Self { folders, packs, trees: RefCell::default() }
    }

    /// Returns the commit with this id.
    pub(super) fn commit(&self, id: &Id) -> Option<Commit> {
        let (kind, data) = self.read(id)?;
        if kind != Kind::Commit {
            return None;
        }
        let text = String::from_utf8_lossy(&data);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        Some(Commit {
            tree: fields(head, "tree ").next().and_then(id_of)?,
            parents: fields(head, "parent ").filter_map(id_of).collect(),
            at: fields(head, "committer ").next()?.rsplit(' ').nth(1)?.parse().ok()?,
            mark: format!("{}\n{}", fields(head, "author ").next()?, message.lines().next().unwrap_or_default()),
        })
    }

    /// Returns the entries of a tree.
    pub(super) fn tree(&self, id: &Id) -> Option<Rc<Vec<Entry>>> {
        if let Some(known) = self.trees.borrow().get(id) {
            return Some(Rc::clone(known));
        }
        let (kind, data) = self.read(id)?;
        if kind != Kind::Tree {
            return None;
        }
        let (mut entries, mut rest) = (Vec::new(), &data[..]);
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            let (mode, name) = std::str::from_utf8(&rest[..end]).ok()?.split_once(' ')?;
            let id: Id = rest.get(end + 1..=end + ID_BYTES)?.try_into().ok()?;
            entries.push(Entry {
                name: name.to_owned(),
                id,
                is_tree: mode == "40000",
                is_file: mode.starts_with("100"),
            });
            rest = &rest[end + 1 + ID_BYTES..];
        }
        let entries = Rc::new(entries);
        let mut trees = self.trees.borrow_mut();
        if trees.len() < MAX_KEPT {
            trees.insert(*id, Rc::clone(&entries));
        }
        Some(entries)
    }

    /// Returns the entry of a path in a tree.
    pub(super) fn entry(&self, tree: &Id, path: &str) -> Option<Entry> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let entry = self.tree(tree)?.iter().find(|entry| entry.name == first)?.clone();
        match rest {
            "" => Some(entry),
            rest if entry.is_tree => self.entry(&entry.id, rest),
            _ => None,
        }
    }

    /// Returns the content of a file.
    pub(super) fn blob(&self, id: &Id) -> Option<Vec<u8>> {
        self.read(id).filter(|(kind, _)| *kind == Kind::Blob).map(|(_, data)| data)
    }

    /// Returns the only commit whose id begins with these digits.
    pub(super) fn commit_with_prefix(&self, digits: &str) -> Option<Id> {
        let mut found: Vec<Id> = self.packs.iter().flat_map(|pack| pack.with_prefix(digits)).collect();
        let (folder, rest) = digits.split_at_checked(2)?;
        for objects in &self.folders {
            let names = fs::read_dir(objects.join(folder)).into_iter().flatten().flatten();
            let names = names.filter_map(|file| file.file_name().into_string().ok());
            found.extend(
                names.filter(|name| name.starts_with(rest)).filter_map(|name| id_of(&format!("{folder}{name}"))),
            );
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|id| self.commit(id).is_some());
        (found.len() == 1).then(|| found[0])
    }

    fn read(&self, id: &Id) -> Option<(Kind, Vec<u8>)> {
        self.packs.iter().find_map(|pack| pack.offset_of(id).map(|at| (pack, at))).map_or_else(
            || self.folders.iter().find_map(|folder| loose(folder, id)),
            |(pack, at)| self.packed(pack, at),
        )
    }

    /// Reads an object from a pack, and the objects that it is stored as a difference from.
    fn packed(&self, pack: &Pack, at: u64) -> Option<(Kind, Vec<u8>)> {
        let mut deltas = Vec::new();
        let mut at = at;
        let (kind, mut data) = loop {
            match pack.entry(at)? {
                (Base::None(kind), data) => break (kind, data),
                (Base::Offset(base), delta) => {
                    deltas.push(delta);
                    at = base;
                }
                (Base::Id(base), delta) => {
                    deltas.push(delta);
                    match pack.offset_of(&base) {
                        Some(base) => at = base,
                        None => break self.read(&base)?,
                    }
                }
            }
            if deltas.len() > MAX_CHAIN {
                return None;
            }
        };
        for delta in deltas.iter().rev() {
            data = applied(&data, delta)?;
        }
        Some((kind, data))
    }
}

/// Returns the values of those header lines of a commit that begin with `name`.
fn fields<'t>(head: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    head.lines().filter_map(move |line| line.strip_prefix(name))
}

/// Reads an object that is stored in a separate file.
fn loose(folder: &Path, id: &Id) -> Option<(Kind, Vec<u8>)> {
    let name = transcripts::hex(id);
    let file = File::open(folder.join(&name[..2]).join(&name[2..])).ok()?;
    let mut data = Vec::new();
    ZlibDecoder::new(BufReader::new(file)).take(MAX_OBJECT).read_to_end(&mut data).ok()?;
    let end = data.iter().position(|byte| *byte == 0)?;
    let kind = match data[..end].split(|byte| *byte == b' ').next()? {
        b"commit" => Kind::Commit,
        b"tree" => Kind::Tree,
        b"blob" => Kind::Blob,
        _ => Kind::Tag,
    };
    let length = std::str::from_utf8(&data[..end]).ok()?.split(' ').nth(1)?.parse::<usize>().ok()?;
    data.drain(..=end);
    // An object that is cut off at the limit is incomplete.
    (data.len() == length).then_some((kind, data))
}

/// The base of an entry in a pack that is stored as a difference.
enum Base {
    None(Kind),
    Offset(u64),
    Id(Id),
}

/// A pack with its index, in version 2.
#[derive(Debug)]
struct Pack {
    index: RefCell<File>,
    data: RefCell<File>,
    /// For each first byte, the number of ids that begin with this byte or a smaller one.
    fanout: Vec<u32>,
}

/// Position of the ids in an index: after the signature, the version and the fan-out table.
const IDS_AT: u64 = 8 + 4 * 256;

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

fn read_at(file: &RefCell<File>, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut file = file.borrow_mut();
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut data = vec![0; length];
    file.read_exact(&mut data).ok()?;
    Some(data)
}

impl Pack {
    fn open(path: &Path) -> Option<Self> {
        let index = RefCell::new(File::open(path).ok()?);
        let data = RefCell::new(File::open(path.with_extension("pack")).ok()?);
        let head = read_at(&index, 0, usize::try_from(IDS_AT).ok()?)?;
        let fanout: Vec<u32> = head[8..].chunks_exact(4).map(number).collect();
        (head.starts_with(&[0xff, b't', b'O', b'c', 0, 0, 0, 2]) && fanout.is_sorted()).then_some(Self {
            index,
            data,
            fanout,
        })
    }

    fn count(&self) -> u32 {
        self.fanout[255]
    }

    fn id_at(&self, place: u32) -> Option<Id> {
        read_at(&self.index, IDS_AT + u64::from(place) * ID_BYTES as u64, ID_BYTES)?.try_into().ok()
    }

    /// Returns the first position whose id is not less than this id.
    fn place_of(&self, id: &Id) -> Option<u32> {
        let first = usize::from(id[0]);
        let (mut low, mut high) = (if first == 0 { 0 } else { self.fanout[first - 1] }, self.fanout[first]);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.id_at(middle)? < *id { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    fn offset_of(&self, id: &Id) -> Option<u64> {
        let place = self.place_of(id)?;
        if place >= self.count() || self.id_at(place)? != *id {
            return None;
        }
        let checksums_at = IDS_AT + u64::from(self.count()) * ID_BYTES as u64;
        let offsets_at = checksums_at + u64::from(self.count()) * 4;
        let offset = number(&read_at(&self.index, offsets_at + u64::from(place) * 4, 4)?);
        if offset & 0x8000_0000 == 0 {
            return Some(u64::from(offset));
        }
        // Offsets in packs over 2 GB are in a separate table.
        let large_at = offsets_at + u64::from(self.count()) * 4 + u64::from(offset & 0x7fff_ffff) * 8;
        let bytes = read_at(&self.index, large_at, 8)?;
        Some(u64::from(number(&bytes[..4])) << 32 | u64::from(number(&bytes[4..])))
    }

    fn with_prefix(&self, digits: &str) -> Vec<Id> {
        let Some(first) = id_of(&format!("{digits:0<40}")) else { return Vec::new() };
        let places = self.place_of(&first).into_iter().flat_map(|place| place..self.count());
        let ids = places.map_while(|place| self.id_at(place));
        ids.take_while(|id| transcripts::hex(id).starts_with(digits)).take(4).collect()
    }

    /// Returns the data of the entry at an offset, and the base that the data is a difference from.
    fn entry(&self, at: u64) -> Option<(Base, Vec<u8>)> {
        let mut file = self.data.borrow_mut();
        file.seek(SeekFrom::Start(at)).ok()?;
        let mut input = BufReader::new(&mut *file);
        let mut next = || {
            let mut byte = [0];
            input.read_exact(&mut byte).ok().map(|()| byte[0])
        };
        let mut byte = next()?;
        let kind = byte >> 4 & 7;
        let (mut size, mut shift) = (u64::from(byte & 15), 4);
        while byte & 0x80 != 0 && shift < 60 {
            byte = next()?;
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let base = match kind {
            1 => Base::None(Kind::Commit),
            2 => Base::None(Kind::Tree),
            3 => Base::None(Kind::Blob),
            4 => Base::None(Kind::Tag),
            6 => {
                let mut byte = next()?;
                let mut back = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    back = back.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
                }
                Base::Offset(at.checked_sub(back).filter(|base| *base < at)?)
            }
            7 => {
                let mut id = [0; ID_BYTES];
                input.read_exact(&mut id).ok()?;
                Base::Id(id)
            }
            _ => return None,
        };
        if size > MAX_OBJECT {
            return None;
        }
        let mut data = Vec::with_capacity(usize::try_from(size).ok()?);
        ZlibDecoder::new(input).take(size).read_to_end(&mut data).ok()?;
        (data.len() as u64 == size).then_some((base, data))
    }
}

/// Returns the object that results from applying a difference to a base.
fn applied(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta.iter().copied();
    let mut length = || {
        let (mut size, mut shift) = (0_u64, 0);
        loop {
            let byte = rest.next()?;
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 56 {
                break Some(size);
            }
        }
    };
    let (from, to) = (length()?, length()?);
    if from != base.len() as u64 || to > MAX_OBJECT {
        return None;
    }
    let mut made = Vec::with_capacity(usize::try_from(to).ok()?);
    while let Some(code) = rest.next() {
        if code & 0x80 == 0 {
            // This many new bytes follow.
            let before = made.len();
            made.extend(rest.by_ref().take(usize::from(code)));
            if code == 0 || made.len() - before != usize::from(code) {
                return None;
            }
            continue;
        }
        // A part of the base: its position and size, of which only the non-zero bytes are stored.
        let mut piece = |bits: std::ops::Range<u8>| {
            let mut value = 0_usize;
            for (place, bit) in bits.enumerate() {
                if code >> bit & 1 == 1 {
                    value |= usize::from(rest.next()?) << (8 * place);
                }
            }
            Some(value)
        };
        let (start, size) = (piece(0..4)?, piece(4..7)?);
        let size = if size == 0 { 0x1_0000 } else { size };
        made.extend_from_slice(base.get(start..start.checked_add(size)?)?);
        if made.len() as u64 > to {
            return None;
        }
    }
    (made.len() as u64 == to).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_copies_pieces_and_adds_bytes() {
        // The result for "hello world" is its last five bytes, followed by "!!".
        let delta = [11, 7, 0x91, 6, 5, 2, b'!', b'!'];
        assert_eq!(applied(b"hello world", &delta).as_deref(), Some(&b"world!!"[..]));
        for damaged in [
            &[][..],
            &[11][..],
            &[10, 7, 0x91, 6, 5][..],
            &[11, 7, 0x91, 9, 5][..],
            &[11, 3, 0x91, 6, 5][..],
            &[11, 7, 0][..],
        ] {
            assert_eq!(applied(b"hello world", damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn an_id_has_forty_digits() {
        assert_eq!(id_of(&"0a".repeat(20)), Some([10; 20]));
        assert!(["", "0a", &"zz".repeat(20), &"é".repeat(20)].iter().all(|text| id_of(text).is_none()));
    }
}
