//! Cutting text into the words that are indexed and searched; both sides go through here, so that they agree.
//!
//! Runs of letters and digits are words, which by itself would lose two kinds of text. Writing without
//! spaces (Chinese, Japanese, Thai, also Korean) is cut here into single characters and overlapping pairs. Names with
//! signs in them (`C++`, `.env`, `bun-sqlite`) are indexed as their parts and once more as one made-up word of letters
//! and digits, `zqcz2bzz2bz` for `c++`; an emoji becomes such a word by itself.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::normal::trimmed;

/// Longest name with signs that is indexed whole, in characters; longer ones are found by their parts.
const MAX_SIGNED_CHARS: usize = 64;
/// Most terms of a query that are looked up; the first ones are.
const MAX_TERMS: usize = 48;
/// Longest part of a query that is looked at, in characters.
const MAX_QUERY_CHARS: usize = 4_000;
/// Words that tell little and are left out of a query that has others; in order.
pub const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does", "for",
    "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "she", "should", "so", "that", "the", "their", "them", "they", "this", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

/// Bytes of the longest of them.
const LONGEST_STOP: usize = 6;

/// Whether a word, in lower case, is one of [`STOP_WORDS`].
pub(super) fn is_stop(word: &str) -> bool {
    word.len() <= LONGEST_STOP && STOP_WORDS.binary_search(&word).is_ok()
}

/// What a text is cut into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// A word; its other forms mean the same.
    Word(&'t str),
    /// A word that tells little; it counts for the length alone.
    Stop(&'t str),
    /// Characters of writing without spaces, or a made-up word: as they are or not at all.
    Exact(String),
}

/// Calls `take` with what a [`folded`] text is cut into, in no order that matters.
pub(super) fn pieces<'t>(folded: &'t str, mut take: impl FnMut(Piece<'t>)) {
    for chunk in folded.split_whitespace().map(trimmed).map(owned_by_none) {
        split_runs(chunk, |run| match run {
            Run::Word(word) if is_stop(word) => take(Piece::Stop(word)),
            Run::Word(word) => take(Piece::Word(word)),
            Run::Unspaced(characters) => {
                pairs(characters).chain(singles(characters)).for_each(|part| take(Piece::Exact(part.to_owned())));
            }
        });
        signed_words(chunk).into_iter().for_each(|word| take(Piece::Exact(word)));
    }
}

/// Something that a query looks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Sought {
    /// A word in any of its forms.
    Word(String),
    /// See [`Piece::Exact`].
    Exact(String),
}

/// What a query looks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// Any of these is a hit; each once.
    pub(super) sought: Vec<Sought>,
    /// The query's own words in lower case, for telling which of them a memory holds.
    pub(super) words: Vec<String>,
}

impl Query {
    /// Reads any text as a query; there is no syntax in it.
    pub(super) fn of(text: &str) -> Self {
        let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
        let text = folded(&text);
        let chunks = text.split_whitespace().map(trimmed).map(owned_by_none);
        let mut query = Self::default();
        let mut seen = HashSet::new();
        for chunk in chunks.filter(|chunk| !is_stop(chunk)) {
            let sought = sought_by(chunk);
            if !sought.is_empty() {
                query.words.push(chunk.to_owned());
            }
            query.sought.extend(sought.into_iter().filter(|sought| seen.insert(sought.clone())));
        }
        query.sought.truncate(MAX_TERMS);
        query.words.truncate(MAX_TERMS);
        query
    }
}

/// Takes the ending off that says that something is somebody's.
fn owned_by_none(chunk: &str) -> &str {
    chunk.strip_suffix("'s").or_else(|| chunk.strip_suffix("’s")).unwrap_or(chunk)
}

/// Returns the text in which searching is done: NFKC, lower case, without control characters.
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        // What the general way comes to, in one step a byte.
        let plain = |byte: u8| if byte.is_ascii_control() { ' ' } else { char::from(byte.to_ascii_lowercase()) };
        return text.bytes().map(plain).collect();
    }
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.nfkc().flat_map(char::to_lowercase).map(visible).collect()
}

/// Returns what a chunk looks for: its words and its made-up words.
fn sought_by(chunk: &str) -> Vec<Sought> {
    let signed = signed_words(chunk);
    let mut sought = Vec::new();
    split_runs(chunk, |run| match run {
        // The lone letter of `c++` stands in too many texts to be looked for, as does a word that tells little.
        Run::Word(word) if !signed.is_empty() && is_lean(word) => {}
        Run::Word(word) => sought.push(Sought::Word(word.to_owned())),
        Run::Unspaced(characters) => {
            sought.extend(pairs_or_single(characters).map(|part| Sought::Exact(part.to_owned())));
        }
    });
    sought.extend(signed.into_iter().map(Sought::Exact));
    sought
}

fn is_lean(word: &str) -> bool {
    word.chars().nth(1).is_none() || is_stop(word)
}

/// A row of characters of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run<'t> {
    /// Letters and digits.
    Word(&'t str),
    /// Writing without spaces.
    Unspaced(&'t str),
}

/// Calls `take` with the runs of a chunk, in their order.
pub(super) fn split_runs<'t>(chunk: &'t str, mut take: impl FnMut(Run<'t>)) {
    if !chunk.is_empty() && chunk.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return take(Run::Word(chunk));
    }
    // Where the present run began, and whether it is of writing without spaces.
    let mut open: Option<(usize, bool)> = None;
    let mut end = |open: &mut Option<(usize, bool)>, at: usize| match open.take() {
        Some((from, true)) => take(Run::Unspaced(&chunk[from..at])),
        Some((from, false)) => take(Run::Word(&chunk[from..at])),
        None => {}
    };
    for (at, character) in chunk.char_indices() {
        let kind = if is_unspaced(character) {
            Some(true)
        } else if character.is_alphanumeric() {
            Some(false)
        } else if open.is_some() && is_combining_mark(character) {
            // On a character without spaces it begins a word of its own.
            Some(false)
        } else {
            None
        };
        if open.map(|(_, unspaced)| unspaced) != kind {
            end(&mut open, at);
            open = kind.map(|unspaced| (at, unspaced));
        }
    }
    end(&mut open, chunk.len());
}

/// Returns each two neighbouring characters.
pub(super) fn pairs(characters: &str) -> impl Iterator<Item = &str> {
    let (starts, seconds) = (characters.char_indices(), characters.char_indices().skip(1));
    starts.zip(seconds).map(|((from, _), (at, second))| &characters[from..at + second.len_utf8()])
}

fn singles(characters: &str) -> impl Iterator<Item = &str> {
    characters.char_indices().map(|(at, character)| &characters[at..at + character.len_utf8()])
}

/// Returns each two neighbouring characters, or the only one.
pub(super) fn pairs_or_single(characters: &str) -> impl Iterator<Item = &str> {
    let single = characters.chars().nth(1).is_none().then_some(characters);
    single.into_iter().chain(pairs(characters))
}

/// Returns the made-up words for a chunk with signs in it: the whole, its parts that have signs, and its emoji.
pub(super) fn signed_words(chunk: &str) -> Vec<String> {
    let mut words = Vec::new();
    if chunk.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return words;
    }
    let parts = chunk.split(|c: char| is_unspaced(c) || is_part_border(c)).map(trimmed);
    let unspaced = chunk.contains(is_unspaced);
    for part in (!unspaced).then_some(chunk).into_iter().chain(parts) {
        if is_signed(part) && part.chars().count() <= MAX_SIGNED_CHARS {
            let word = spelled_out(part);
            if !words.contains(&word) && words.len() < MAX_TERMS {
                words.push(word);
            }
        }
    }
    for symbol in chunk.chars().filter(|c| is_symbol(*c)) {
        let word = spelled_out(symbol.encode_utf8(&mut [0; 4]));
        if !words.contains(&word) && words.len() < MAX_TERMS {
            words.push(word);
        }
    }
    words
}

fn is_signed(part: &str) -> bool {
    let sign = |c: char| !c.is_alphanumeric() && !is_combining_mark(c);
    part.contains(sign) && part.contains(char::is_alphanumeric)
}

fn is_symbol(c: char) -> bool {
    let joiner = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
    let punctuation = matches!(c, '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}');
    !c.is_ascii() && !c.is_alphanumeric() && !is_combining_mark(c) && !joiner && !punctuation
}

const fn is_part_border(c: char) -> bool {
    matches!(
        c,
        '/' | ',' | ';' | ':' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '"' | '\'' | '|' | '=' | '\\' | '&'
    )
}

fn spelled_out(part: &str) -> String {
    use std::fmt::Write as _;
    let mut word = String::from("zq");
    for c in part.chars() {
        if c.is_alphanumeric() || is_combining_mark(c) {
            word.push(c);
        } else {
            write!(word, "z{:x}z", u32::from(c)).expect("writing to a String cannot fail");
        }
    }
    word
}

/// Whether the character belongs to writing that sets no spaces between words, or glues particles to them.
const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Thai, Lao, Burmese, Khmer
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' // Hangul
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // Kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' // Han
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_that_tell_little_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop(word)) && !is_stop("deploy"));
    }

    proptest! {
        #[test]
        fn plain_text_is_folded_as_any_other(text in "[\\x00-\\x7f]{0,60}") {
            let any = folded(&format!("{text}é"));
            prop_assert_eq!(folded(&text) + "é", any);
        }
    }
}
