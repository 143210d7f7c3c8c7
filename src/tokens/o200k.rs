//! The byte pair encoding `o200k_base`.
//!
//! `o200k_base.bin` is the table of tiktoken (MIT, © OpenAI) in another form: each token, in the order of rank, as one
//! byte of length and its bytes. The program reads tokens where the file is embedded, so only an index is allocated.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

static TOKENS: &[u8] = include_bytes!("o200k_base.bin");
static TABLE: LazyLock<Table> = LazyLock::new(Table::new);
static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::new);

/// Calls `each` with the number of bytes of each token of `text`.
pub(super) fn encode(text: &str, mut each: impl FnMut(usize)) {
    let (table, classes) = (&*TABLE, &*CLASSES);
    let (mut merge, mut start) = (Merge::default(), 0);
    while start < text.len() {
        let end = classes.piece_end(text, start);
        let piece = &text.as_bytes()[start..end];
        if table.rank(piece).is_some() {
            each(piece.len());
        } else {
            merge.run(table, piece, &mut each);
        }
        start = end;
    }
}

/// Rank of a token: its position in [`TOKENS`] in the upper bits, its length in the lower eight.
type Rank = u32;

/// A hash index of [`TOKENS`] with open addressing. 0 is an empty slot.
struct Table(Vec<Rank>);

impl Table {
    /// Two fifths of the slots are used.
    const BITS: u32 = 19;

    fn new() -> Self {
        let mut slots = vec![0; 1 << Self::BITS];
        let mut at = 0;
        while let Some(&length) = TOKENS.get(at) {
            let position = u32::try_from(at + 1).expect("the table has 1.5 MB");
            let mut slot = Self::slot(&TOKENS[at + 1..][..length.into()]);
            while slots[slot] != 0 {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = position << 8 | u32::from(length);
            at += 1 + usize::from(length);
        }
        Self(slots)
    }

    fn slot(bytes: &[u8]) -> usize {
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let mix = |hash: u64, word: u64| (hash.rotate_left(26) ^ word).wrapping_mul(FACTOR);
        let (words, rest) = bytes.as_chunks::<8>();
        let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        (mix(hash, rest) >> (64 - Self::BITS)) as usize
    }

    fn rank(&self, bytes: &[u8]) -> Option<Rank> {
        let mut slot = Self::slot(bytes);
        loop {
            let rank = self.0[slot];
            if rank == 0 {
                return None;
            }
            let (position, length) = ((rank >> 8) as usize, (rank & 0xff) as usize);
            if length == bytes.len() && TOKENS[position..][..length] == *bytes {
                return Some(rank);
            }
            slot = (slot + 1) % self.0.len();
        }
    }
}

/// A part of a piece that is one token.
#[derive(Clone, Copy)]
struct Part {
    /// Start of the part before this one.
    before: u32,
    end: u32,
    /// Rank of this part joined with the next one.
    joined: Option<Rank>,
}

/// Merges the bytes of pieces into tokens. The buffers are kept for the next piece.
#[derive(Default)]
struct Merge {
    /// Parts by their start.
    parts: Vec<Part>,
    /// Ranks and starts of parts that can be joined with the next one, including some that have changed since.
    queue: BinaryHeap<Reverse<(Rank, u32)>>,
}

impl Merge {
    /// Joins the two neighbours of lowest rank until no two neighbours are a token.
    fn run(&mut self, table: &Table, piece: &[u8], each: &mut impl FnMut(usize)) {
        let length = u32::try_from(piece.len()).expect("a text has less than 4 GB");
        self.parts.clear();
        self.parts.extend((0..length).map(|at| Part { before: at.wrapping_sub(1), end: at + 1, joined: None }));
        for at in 0..length {
            self.join(table, piece, at);
        }
        while let Some(Reverse((rank, start))) = self.queue.pop() {
            let Part { before, end: middle, joined } = self.parts[start as usize];
            if joined != Some(rank) {
                continue;
            }
            let end = self.parts[middle as usize].end;
            self.parts[middle as usize].joined = None;
            self.parts[start as usize].end = end;
            if let Some(next) = self.parts.get_mut(end as usize) {
                next.before = start;
            }
            self.join(table, piece, start);
            if start > 0 {
                self.join(table, piece, before);
            }
        }
        let mut start = 0;
        while start < piece.len() {
            let end = self.parts[start].end as usize;
            each(end - start);
            start = end;
        }
    }

    /// Updates how the part at `start` can be joined with the next one.
    fn join(&mut self, table: &Table, piece: &[u8], start: u32) {
        let middle = self.parts[start as usize].end as usize;
        let joined = self.parts.get(middle).and_then(|next| table.rank(&piece[start as usize..next.end as usize]));
        self.parts[start as usize].joined = joined;
        self.queue.extend(joined.map(|rank| Reverse((rank, start))));
    }
}

const UPPER: u8 = 1;
const LOWER: u8 = 2;
/// Letters without case, and marks.
const CASELESS: u8 = 4;
const MARK: u8 = 8;
const NUMBER: u8 = 16;
const SPACE: u8 = 32;
const LINE_END: u8 = 64;

/// Classes of all characters. Only the pages of characters that have a class are resident.
struct Classes(Vec<u8>);

impl Classes {
    fn new() -> Self {
        let mut classes = vec![0; char::MAX as usize + 1];
        for (class, pattern) in [
            (UPPER, r"[\p{Lu}\p{Lt}]"),
            (LOWER, r"\p{Ll}"),
            (CASELESS, r"[\p{Lm}\p{Lo}\p{M}]"),
            (MARK, r"\p{M}"),
            (NUMBER, r"\p{N}"),
            (SPACE, r"\s"),
            (LINE_END, r"[\r\n]"),
        ] {
            let pattern = regex_syntax::parse(pattern).expect("the pattern is a constant");
            let HirKind::Class(Class::Unicode(ranges)) = pattern.kind() else { unreachable!("the pattern is a class") };
            for range in ranges.ranges() {
                classes[range.start() as usize..=range.end() as usize].iter_mut().for_each(|entry| *entry |= class);
            }
        }
        Self(classes)
    }

    fn of(&self, letter: char) -> u8 {
        self.0[letter as usize]
    }

    /// Returns the end of the characters from `start` on whose classes are accepted.
    fn run(&self, text: &str, start: usize, accepted: impl Fn(u8) -> bool) -> usize {
        let rest = &text[start..];
        start + rest.find(|letter| !accepted(self.of(letter))).unwrap_or(rest.len())
    }

    /// Returns the end of the piece that begins at `start`. Tokens never extend over the end of a piece.
    ///
    /// The pieces are those of this expression, where `U` is `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and `L` is
    /// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`:
    ///
    /// ```text
    /// [^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    /// |[^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    /// |\p{N}{1,3}
    /// | ?[^\s\p{L}\p{N}]+[\r\n/]*
    /// |\s*[\r\n]+
    /// |\s+(?!\S)
    /// |\s+
    /// ```
    fn piece_end(&self, text: &str, start: usize) -> usize {
        let first = text[start..].chars().next().expect("the piece has a character");
        let class = self.of(first);
        let second = start + first.len_utf8();
        if class & NUMBER != 0 {
            let numbers = text[second..].chars().take(2).take_while(|letter| self.of(*letter) & NUMBER != 0);
            return second + numbers.map(char::len_utf8).sum::<usize>();
        }
        let is_prefix = class & LINE_END == 0 && (class & MARK != 0 || class & (UPPER | LOWER | CASELESS) == 0);
        let starts = [is_prefix.then_some(second), Some(start)];
        let starts = || starts.into_iter().flatten();
        let word = starts()
            .find_map(|start| self.lower(text, start))
            .or_else(|| starts().find_map(|start| self.upper(text, start)));
        if let Some(end) = word {
            return end + contraction(&text[end..]);
        }
        let symbols = if first == ' ' { second } else { start };
        let end = self.run(text, symbols, |class| {
            class & (UPPER | LOWER | NUMBER | SPACE) == 0 && (class & CASELESS == 0 || class & MARK != 0)
        });
        if end > symbols {
            let rest = &text[end..];
            return end + rest.find(|letter| !matches!(letter, '\r' | '\n' | '/')).unwrap_or(rest.len());
        }
        let end = self.run(text, start, |class| class & SPACE != 0);
        let spaces = &text[start..end];
        if let Some(last) = spaces.rfind(['\r', '\n']) {
            return start + last + 1;
        }
        // The last space belongs to the word that follows.
        match spaces.char_indices().next_back() {
            Some((last, _)) if last > 0 && end < text.len() => start + last,
            _ => end,
        }
    }

    /// Returns the end of `U*L+` at `start`.
    fn lower(&self, text: &str, start: usize) -> Option<usize> {
        let middle = self.run(text, start, |class| class & (UPPER | CASELESS) != 0);
        let end = self.run(text, middle, |class| class & (LOWER | CASELESS) != 0);
        if end > middle {
            return Some(end);
        }
        let last = text[start..middle].char_indices().rfind(|(_, letter)| self.of(*letter) & CASELESS != 0);
        last.map(|(at, letter)| start + at + letter.len_utf8())
    }

    /// Returns the end of `U+L*` at `start`, where `U*L+` does not match.
    fn upper(&self, text: &str, start: usize) -> Option<usize> {
        let end = self.run(text, start, |class| class & (UPPER | CASELESS) != 0);
        (end > start).then_some(end)
    }
}

/// Returns the length of `(?i:'s|'t|'re|'ve|'m|'ll|'d)?` at the beginning of `rest`.
fn contraction(rest: &str) -> usize {
    let Some(rest) = rest.strip_prefix('\'') else { return 0 };
    let mut letters = rest.chars();
    match (
        letters.next().map(|letter| letter.to_ascii_lowercase()),
        letters.next().map(|letter| letter.to_ascii_lowercase()),
    ) {
        // The long s is a form of s, too.
        (Some(letter @ ('s' | 'ſ' | 't' | 'm' | 'd')), _) => 1 + letter.len_utf8(),
        (Some('r' | 'v'), Some('e')) | (Some('l'), Some('l')) => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};
    use transcripts::hex;

    use super::*;

    fn lengths(text: &str) -> Vec<usize> {
        let mut lengths = Vec::new();
        encode(text, |length| lengths.push(length));
        lengths
    }

    fn lengths_of_tiktoken(text: &str) -> Vec<usize> {
        let encoding = tiktoken_rs::o200k_base_singleton();
        let length = |token| encoding.decode_bytes(&[token]).expect("the token is known").len();
        encoding.encode_ordinary(text).into_iter().map(length).collect()
    }

    #[test]
    fn the_table_is_the_published_one() {
        let (mut rest, mut rank, mut lines) = (TOKENS, 0, String::new());
        while let Some((length, tail)) = rest.split_first() {
            let (token, tail) = tail.split_at((*length).into());
            writeln!(lines, "{} {rank}", STANDARD.encode(token)).expect("a string has room");
            rank += 1;
            rest = tail;
        }
        // `expected_hash` of o200k_base in tiktoken.
        assert_eq!(hex(&Sha256::digest(&lines)), "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d");
    }

    #[test]
    fn tokens_of_known_texts_are_those_of_tiktoken() {
        for text in [
            "",
            "fn main() {\n    let x = 1_000_000;\n\n\n    println!(\"{x}\");  \r\n}\t \n  ",
            "HTTPServer camelCase ÉCOLE ǅungla it's IT'S WE'LL ſ'ſ 'Re they'd've o'clock",
            "e\u{301}\u{301} A\u{301}B \u{301}AB !\u{301}x \u{301}\u{301} क्षि ʰA ªB नमस्ते",
            "用户偏好Python并关注A股科技,茅台。  مرحبا بالعالم 한국어 日本語テキスト１２３４٣٤٥½Ⅳ",
            "👩‍👩‍👧‍👦🏳️‍🌈 \u{a0}\u{3000}\u{2028}x\u{85} \u{0}\u{7f}\u{feff} //\n/\n// --- \n\n /path",
            "<|endoftext|> 3f9ca1567bd0e2 d41d8cd98f00b204e9800998ecf8427e",
        ] {
            assert_eq!(lengths(text), lengths_of_tiktoken(text), "{text:?}");
        }
        for unit in ["a", " ", "\n", "=", "ab", "é", "中", "\u{301}", "{}[]", "Aa'", " \n", "\u{1f600}"] {
            let text = unit.repeat(3_000);
            assert_eq!(lengths(&text), lengths_of_tiktoken(&text), "{unit:?}");
        }
    }

    /// Characters at which texts are divided, and some of each class.
    const LETTERS: &str = "  \t\n\r\u{a0}\u{3000}'’sSſtTrReEvVmMlLdD019½ⅣabAZéÉßǅʰªعक中あ한\u{301}\u{20dd}\u{93e}👩\u{200d}\u{fe0f}/.,_+<|$\0\u{feff}\u{e000}";

    proptest! {
        #[test]
        fn tokens_are_those_of_tiktoken(runs in prop::collection::vec((letter(), 1..4_usize), 0..60)) {
            let text: String = runs.into_iter().flat_map(|(letter, count)| std::iter::repeat_n(letter, count)).collect();
            prop_assert_eq!(lengths(&text), lengths_of_tiktoken(&text));
        }
    }

    fn letter() -> impl Strategy<Value = char> {
        prop_oneof![4 => prop::sample::select(LETTERS.chars().collect::<Vec<_>>()), 1 => any::<char>()]
    }

    #[test]
    fn the_time_is_not_quadratic() {
        let started = std::time::Instant::now();
        for unit in ["a", "é", "中", "=", "0", " ", "\n", "\u{301}", "\u{301}A", "aB"] {
            assert!(lengths(&unit.repeat(50_000)).len() > 300);
        }
        assert!(started.elapsed().as_secs() < 20);
    }
}
