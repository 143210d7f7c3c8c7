//! Finds literals in a text in one pass. The table is built in less than a millisecond, unlike an automaton of the same
//! literals.

use std::borrow::Cow;
use std::ops::Range;

/// Literals of at least two bytes, each with a value. The case of ASCII letters is ignored, except in exact literals.
pub(super) struct HintTable<T> {
    /// One bit for each hash of the first three bytes of a literal. Most positions of a text fail this test.
    gate: Box<[u64; 1 << GATE_BITS >> 6]>,
    /// The first bytes of the literals, ordered by a shorter hash.
    heads: Vec<Head>,
    /// The position in `heads` at which each hash begins.
    slots: Vec<usize>,
    literals: Vec<Literal<T>>,
}

/// The first four bytes of a literal, or fewer if it is shorter.
struct Head {
    bytes: u32,
    /// The bits in which a text must agree.
    mask: u32,
    literal: usize,
}

struct Literal<T> {
    text: Cow<'static, str>,
    is_exact: bool,
    value: T,
}

/// A literal that was found.
pub(super) struct Hit<T> {
    pub range: Range<usize>,
    pub value: T,
}

const GATE_BITS: u32 = 17;
const SLOT_BITS: u32 = 12;

/// Mask without the bit that distinguishes capitals from lower-case letters.
const FOLD: u32 = 0xdfdf_dfdf;

/// Returns a hash of the first three of four bytes.
const fn hash(four: u32) -> u32 {
    (four & FOLD & 0xff_ffff).wrapping_mul(0x9e37_79b1)
}

const fn top(hash: u32, bits: u32) -> usize {
    (hash >> (32 - bits)) as usize
}

/// Returns up to four bytes as a number.
fn four(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

impl<T: Copy> HintTable<T> {
    /// Builds the table from literals, each with a flag for whether its case counts.
    pub(super) fn new(literals: impl Iterator<Item = (Cow<'static, str>, bool, T)>) -> Self {
        let literals: Vec<Literal<T>> =
            literals.map(|(text, is_exact, value)| Literal { text, is_exact, value }).collect();
        let mut gate = Box::new([0; 1 << GATE_BITS >> 6]);
        let mut hashed: Vec<(usize, usize)> = Vec::with_capacity(literals.len());
        for (literal, Literal { text, .. }) in literals.iter().enumerate() {
            let bytes = four(text.as_bytes());
            // Any third byte may follow a literal of two.
            let thirds = if text.len() == 2 { 0..=u32::from(u8::MAX) } else { 0..=0 };
            for hash in thirds.map(|third| hash(bytes | third << 16)) {
                let bit = top(hash, GATE_BITS);
                gate[bit >> 6] |= 1 << (bit & 63);
                hashed.push((top(hash, SLOT_BITS), literal));
            }
        }
        hashed.sort_unstable();
        hashed.dedup();
        let mut slots = vec![0; (1 << SLOT_BITS) + 1];
        hashed.iter().for_each(|(slot, _)| slots[slot + 1] += 1);
        (1..slots.len()).for_each(|slot| slots[slot] += slots[slot - 1]);
        let head = |(_, literal): (usize, usize)| {
            let Literal { text, is_exact, .. } = &literals[literal];
            let mask = u32::MAX >> (32 - 8 * text.len().min(4)) & if *is_exact { u32::MAX } else { FOLD };
            Head { bytes: four(text.as_bytes()) & mask, mask, literal }
        };
        let heads = hashed.into_iter().map(head).collect();
        Self { gate, heads, slots, literals }
    }

    /// Returns every occurrence of every literal, in the order of their starts.
    pub(super) fn find<'h>(&'h self, text: &'h str) -> impl Iterator<Item = Hit<T>> + 'h {
        let bytes = text.as_bytes();
        // The four bytes before each position; after the end, zeros follow.
        let mut rest = bytes.iter().skip(3).copied().chain([0; 3]).enumerate();
        let mut window = four(bytes) << 8;
        let next = move || {
            rest.find_map(|(start, byte)| {
                window = window >> 8 | u32::from(byte) << 24;
                self.passes(window).then_some((start, window))
            })
        };
        std::iter::from_fn(next).flat_map(move |(start, four)| self.at(text, start, four))
    }

    #[inline]
    fn passes(&self, four: u32) -> bool {
        let bit = top(hash(four), GATE_BITS);
        self.gate[bit >> 6] >> (bit & 63) & 1 == 1
    }

    fn at<'h>(&'h self, text: &'h str, start: usize, four: u32) -> impl Iterator<Item = Hit<T>> + 'h {
        let slot = top(hash(four), SLOT_BITS);
        let heads = &self.heads[self.slots[slot]..self.slots[slot + 1]];
        heads.iter().filter(move |head| four & head.mask == head.bytes).filter_map(move |head| {
            let Literal { text: own, is_exact, value } = &self.literals[head.literal];
            let found = text.as_bytes().get(start..start + own.len())?;
            let is_same = if *is_exact { found == own.as_bytes() } else { found.eq_ignore_ascii_case(own.as_bytes()) };
            is_same.then(|| Hit { range: start..start + own.len(), value: *value })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, usize)> {
        let literals = [("pass", false), ("password", false), ("MT", true), ("пароль", false), ("0/", true)];
        let literals = literals.into_iter().enumerate().map(|(at, (text, is_exact))| (text.into(), is_exact, at));
        HintTable::new(literals).find(text).map(|hit| (hit.range.start, hit.value)).collect()
    }

    #[test]
    fn literals_are_found_wherever_they_stand() {
        assert_eq!(found("a PassWord, pass"), [(2, 0), (2, 1), (12, 0)]);
        assert_eq!(found("MT mt 10/ пароль"), [(0, 2), (7, 4), (10, 3)]);
        assert_eq!(found("xMT"), [(1, 2)]);
        assert_eq!(found("0/"), [(0, 4)]);
        for text in ["", "M", "pas", "MX", "/0"] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
