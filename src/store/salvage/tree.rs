//! The trees in which SQLite keeps tables and indexes, read as far as their pages can be.

use std::collections::HashSet;

use rusqlite::types::Value;

use super::pages::{FILE_HEADER, Pages, SIZE, number_at};
use super::record::{values, varint};

/// Deepest tree that is followed; ours have four levels at most.
const DEEPEST: usize = 20;

/// What a tree holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rows by number.
    Table,
    /// Rows by their first columns: an index, or a table without numbers.
    Index,
}

/// One row: its number, where it has one, and its values as they are stored.
pub(super) type Row = (Option<i64>, Vec<Value>);

/// Reads trees, and remembers which pages it has seen.
pub(super) struct Reader<'p> {
    pages: &'p Pages,
    /// Pages to which any tree has led.
    seen: HashSet<u32>,
    /// Pages of the tree that is being read. A page may be claimed by two trees where one of them is damaged.
    own: HashSet<u32>,
}

/// A page of a tree whose head makes sense.
struct Node {
    bytes: Vec<u8>,
    is_leaf: bool,
    cells: Vec<usize>,
    /// Of an inner page, the last below it.
    last: u32,
}

/// A tree that is being read.
struct Walk<'w> {
    kind: Kind,
    take: &'w mut dyn FnMut(Row) -> bool,
    /// Pages that could not be read, or not wholly.
    damaged: usize,
}

/// Numbers that may stand below a page: more than the first, at most the second.
type Range = (Option<i64>, Option<i64>);

impl<'p> Reader<'p> {
    pub(super) fn new(pages: &'p Pages) -> Self {
        Self { pages, seen: HashSet::new(), own: HashSet::new() }
    }

    /// Returns the pages below `limit` that no tree has led to.
    pub(super) fn unseen(&self) -> Vec<u32> {
        (2..=self.pages.count()).filter(|number| !self.seen.contains(number)).collect()
    }

    /// Gives each row of the tree to `take`, in order, which says whether it is a row of this tree. Returns how many pages
    /// could not be read, or not wholly.
    pub(super) fn walk(&mut self, root: u32, kind: Kind, take: &mut dyn FnMut(Row) -> bool) -> usize {
        self.own.clear();
        let mut walk = Walk { kind, take, damaged: 0 };
        self.below(root, (None, None), 0, &mut walk);
        walk.damaged
    }

    /// Returns the rows of a leaf that hangs on nothing, if every one of them can be read.
    pub(super) fn stray(&mut self, number: u32, kind: Kind) -> Option<Vec<Row>> {
        let node =
            node(self.pages.page(number)?, number, kind).filter(|node| node.is_leaf && !node.cells.is_empty())?;
        let rows: Option<Vec<Row>> = node.cells.iter().map(|at| self.row(&node, *at, kind)).collect();
        let rows = rows?;
        let is_ascending = rows.windows(2).all(|pair| kind == Kind::Index || pair[0].0 < pair[1].0);
        is_ascending.then_some(rows)
    }

    fn below(&mut self, number: u32, range: Range, depth: usize, walk: &mut Walk<'_>) {
        let kind = walk.kind;
        self.seen.insert(number);
        // A page that hangs in two places of a tree is what it says it is in one of them at most.
        if depth > DEEPEST || !self.own.insert(number) {
            walk.damaged += 1;
            return;
        }
        let Some(node) = self.pages.page(number).and_then(|bytes| node(bytes, number, kind)) else {
            walk.damaged += 1;
            return;
        };
        let (mut low, mut is_whole) = (range.0, true);
        for at in &node.cells {
            if !node.is_leaf {
                let high = (kind == Kind::Table).then(|| varint(&node.bytes, at + 4)).flatten();
                let high = high.map_or(range.1, |(key, _)| Some(key.cast_signed()));
                self.below(number_at(&node.bytes, *at), (low, high), depth + 1, walk);
                low = high;
            }
            if node.is_leaf || kind == Kind::Index {
                let row = self.row(&node, *at, kind).filter(|row| fits(row.0, (low, range.1)));
                low = row.as_ref().and_then(|row| row.0).or(low);
                is_whole &= row.is_some_and(|row| (walk.take)(row));
            }
        }
        if !node.is_leaf {
            self.below(node.last, (low, range.1), depth + 1, walk);
        }
        walk.damaged += usize::from(!is_whole);
    }

    /// Returns the row that stands at `at`.
    fn row(&mut self, node: &Node, mut at: usize, kind: Kind) -> Option<Row> {
        at += if node.is_leaf { 0 } else { 4 };
        let (length, size) = varint(&node.bytes, at)?;
        at += size;
        let number = match kind {
            Kind::Table => {
                let (number, size) = varint(&node.bytes, at)?;
                at += size;
                Some(number.cast_signed())
            }
            Kind::Index => None,
        };
        let record = self.record(&node.bytes, at, usize::try_from(length).ok()?, kind)?;
        Some((number, values(&record)?))
    }

    /// Returns a record, of which all that has no room on its page stands on others.
    fn record(&mut self, bytes: &[u8], at: usize, length: usize, kind: Kind) -> Option<Vec<u8>> {
        let least = (SIZE - 12) * 32 / 255 - 23;
        let most = if kind == Kind::Table { SIZE - 35 } else { (SIZE - 12) * 64 / 255 - 23 };
        if length > self.pages.count() as usize * SIZE {
            return None;
        }
        let here = if length <= most {
            length
        } else {
            let kept = least + (length - least) % (SIZE - 4);
            if kept <= most { kept } else { least }
        };
        let mut record = bytes.get(at..at + here)?.to_vec();
        let mut next = if length > here { number_at(bytes, at + here) } else { 0 };
        while record.len() < length {
            let page = self.pages.page(next)?;
            self.seen.insert(next);
            let more = (length - record.len()).min(SIZE - 4);
            record.extend_from_slice(&page[4..4 + more]);
            next = number_at(&page, 0);
        }
        (next == 0).then_some(record)
    }
}

fn fits(number: Option<i64>, (low, high): Range) -> bool {
    number.is_none_or(|number| low.is_none_or(|low| number > low) && high.is_none_or(|high| number <= high))
}

/// Returns a page as a part of a tree of this kind, if that is what it is.
fn node(bytes: Vec<u8>, number: u32, kind: Kind) -> Option<Node> {
    let head = if number == 1 { FILE_HEADER } else { 0 };
    let is_leaf = match (bytes[head], kind) {
        (0x0d, Kind::Table) | (0x0a, Kind::Index) => true,
        (0x05, Kind::Table) | (0x02, Kind::Index) => false,
        _ => return None,
    };
    let begin = head + if is_leaf { 8 } else { 12 };
    let count = usize::from(u16::from_be_bytes([bytes[head + 3], bytes[head + 4]]));
    let pointers = bytes.get(begin..begin + 2 * count)?;
    let cells: Vec<usize> =
        pointers.chunks_exact(2).map(|pair| usize::from(u16::from_be_bytes([pair[0], pair[1]]))).collect();
    let is_sound = cells.iter().all(|at| (begin + 2 * count..SIZE - 3).contains(at));
    let last = if is_leaf { 0 } else { number_at(&bytes, head + 8) };
    is_sound.then_some(Node { bytes, is_leaf, cells, last })
}
