//! Which documents of a segment hold a term, in a few bytes each. Pure.
//!
//! ```text
//! list  = blocks of 128 postings, then the table of blocks, then the number of postings (4 bytes)
//! block = postings; the first one's document is told from the start of the segment, the others' from the one before
//! table = for each block: its first document, its first byte (4 bytes each)
//! ```

use std::ops::Range;
use std::sync::LazyLock;

/// Postings of one block.
const BLOCK: usize = 128;
/// Lengths up to which each has a code of its own.
const EXACT: u32 = 64;
/// Codes for each doubling of longer ones.
const STEPS: f64 = 16.0;

/// That a document holds a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posting {
    /// The document, counted from the first of the segment.
    pub(super) document: u32,
    /// How much the term weighs in it, in half units.
    pub(super) weight: u8,
    /// How long it is, as [`length_code`] tells it.
    pub(super) length: u8,
}

/// Returns the postings as bytes; they are in the order of their documents.
pub(super) fn packed(postings: &[Posting]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(postings.len() * 3 + 12);
    let mut table = Vec::new();
    for block in postings.chunks(BLOCK) {
        let mut before = 0;
        table.push((block[0].document, u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
        for posting in block {
            put(posting.document - before, &mut bytes);
            bytes.extend([posting.weight, posting.length]);
            before = posting.document;
        }
    }
    for (document, start) in &table {
        bytes.extend(document.to_le_bytes());
        bytes.extend(start.to_le_bytes());
    }
    bytes.extend(u32::try_from(postings.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes
}

/// Calls `take` with the postings of the documents in `wanted`, in order. What is no list is none.
pub(super) fn unpacked(bytes: &[u8], wanted: &Range<u32>, mut take: impl FnMut(Posting)) {
    let Some((rest, count)) = bytes.split_last_chunk::<4>() else { return };
    let count = u32::from_le_bytes(*count) as usize;
    let blocks = count.div_ceil(BLOCK);
    let Some(table_at) = rest.len().checked_sub(blocks * 8) else { return };
    let (postings, table) = rest.split_at(table_at);
    let entry = |block: usize, part: usize| {
        let at = block * 8 + part * 4;
        table.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
    };
    // The last block that may hold the first one wanted.
    let (mut first, mut after) = (0, blocks);
    while after - first > 1 {
        let middle = usize::midpoint(first, after);
        if entry(middle, 0) <= wanted.start {
            first = middle;
        } else {
            after = middle;
        }
    }
    for block in first..blocks {
        if entry(block, 0) >= wanted.end {
            return;
        }
        let end = if block + 1 < blocks { entry(block + 1, 1) as usize } else { postings.len() };
        let mut left = postings.get(entry(block, 1) as usize..end).unwrap_or_default();
        let mut document = 0;
        while let Some(step) = get(&mut left) {
            document += step;
            let [weight, length, rest @ ..] = left else { return };
            if document >= wanted.end {
                return;
            }
            if document >= wanted.start {
                take(Posting { document, weight: *weight, length: *length });
            }
            left = rest;
        }
    }
}

fn put(mut value: u32, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

fn get(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The length that each code stands for, ascending.
static LENGTHS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let beyond = |code: u32| f64::from(EXACT) * 2_f64.powf(f64::from(code - EXACT) / STEPS);
    (0..=u32::from(u8::MAX)).map(|code| if code <= EXACT { f64::from(code) } else { beyond(code) }).collect()
});

/// Returns a length in one byte: exact to 64 words, then up to 5 % too long.
pub(super) fn length_code(length: u32) -> u8 {
    let code = LENGTHS.partition_point(|known| *known < f64::from(length));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Returns the length that a code stands for.
pub(super) fn length_of(code: u8) -> f64 {
    LENGTHS[usize::from(code)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], wanted: &Range<u32>) -> Vec<Posting> {
        let mut all = Vec::new();
        unpacked(bytes, wanted, |posting| all.push(posting));
        all
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(
            documents in proptest::collection::btree_set(0_u32..200_000, 1..600), from in 0_u32..200_000, len in 0_u32..200_000,
        ) {
            let postings: Vec<Posting> = documents
                .iter()
                .map(|document| Posting { document: *document, weight: document.to_le_bytes()[0], length: document.to_le_bytes()[1] })
                .collect();
            let bytes = packed(&postings);
            prop_assert_eq!(&all(&bytes, &(0..u32::MAX)), &postings);
            let wanted = from..from + len;
            let expected: Vec<Posting> =
                postings.iter().copied().filter(|posting| wanted.contains(&posting.document)).collect();
            prop_assert_eq!(all(&bytes, &wanted), expected);
        }

        #[test]
        fn damaged_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            all(&bytes, &(0..u32::MAX));
        }
    }

    #[test]
    fn lengths_are_kept_within_five_percent() {
        for length in (0..64).chain([65, 66, 70, 100, 500, 4_000, 100_000]) {
            let kept = length_of(length_code(length));
            assert!((kept - f64::from(length)).abs() <= 0.05 * f64::from(length), "{length} became {kept}");
        }
        assert_eq!(length_code(u32::MAX), u8::MAX);
    }
}
