//! Finds the recovery phrases of wallets, which are twelve or more words of the list in BIP-39
//! (<https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki>).

use std::collections::BTreeSet;
use std::ops::Range;

use bip39::Language;

/// Number of words of the shortest phrase.
const MIN_WORDS: usize = 12;

/// Number of words of the longest run that is a phrase, or two of them, rather than the list itself.
const MAX_WORDS: usize = 50;

/// Minimum number of different words of a phrase. Random words rarely occur twice.
const MIN_DIFFERENT: usize = 8;

/// Lengths of the words in the list, in bytes.
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=8;

/// Returns the recovery phrases in `text`.
pub(super) fn recovery_phrases(text: &str) -> Vec<Range<usize>> {
    let (bytes, mut at) = (text.as_bytes(), 0);
    let (mut found, mut words) = (Vec::new(), Vec::new());
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let gap = at + length + gap(&bytes[at + length..]);
        if WORD_BYTES.contains(&length) {
            words.push(at..at + length);
        }
        // Nearly all runs are too short, because sentences contain shorter words, longer ones and punctuation.
        if !WORD_BYTES.contains(&length) || gap == at + length {
            found.extend(phrases(text, &words));
            words.clear();
        }
        at = gap.max(at + length.max(1));
    }
    found.extend(phrases(text, &words));
    found
}

/// Returns the length of what may stand between two words: spaces, line breaks, commas, and the numbers and marks of lists
/// and quotations.
fn gap(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        match &bytes[length..] {
            [b' ' | b'\t' | b'\n' | b'\r' | b'>' | b'|' | b',' | b'.' | b')' | b'"' | b'\'' | b'0'..=b'9', ..] => {
                length += 1;
            }
            [b'\\', b'n' | b'r', ..] => length += 2,
            _ => return length,
        }
    }
}

/// Returns the parts of a run of words that are phrases.
fn phrases(text: &str, words: &[Range<usize>]) -> Vec<Range<usize>> {
    if words.len() < MIN_WORDS {
        return Vec::new();
    }
    let is_listed = |word: &Range<usize>| {
        Language::English.word_list().binary_search(&text[word.clone()].to_ascii_lowercase().as_str()).is_ok()
    };
    let listed: Vec<bool> = words.iter().map(is_listed).collect();
    let runs = listed.chunk_by(|a, b| a == b).scan(0, |start, run| {
        let first = *start;
        *start += run.len();
        Some((first, run))
    });
    let runs = runs.filter(|(_, run)| run[0]).map(|(first, run)| &words[first..first + run.len()]);
    let is_phrase = |run: &&[Range<usize>]| {
        (MIN_WORDS..=MAX_WORDS).contains(&run.len())
            && run.iter().map(|word| &text[word.clone()]).collect::<BTreeSet<_>>().len() >= MIN_DIFFERENT
    };
    runs.filter(is_phrase).map(|run| run[0].start..run[run.len() - 1].end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Guard;

    /// Returns a phrase of the given number of words.
    fn phrase(count: usize, gap: &str) -> String {
        let list = Language::English.word_list();
        (0..count).map(|index| list[(index * 577 + 91) % list.len()]).collect::<Vec<_>>().join(gap)
    }

    #[test]
    fn a_phrase_is_found_wherever_it_stands() {
        for count in [12, 15, 24] {
            for gap in [" ", "\n", "\n> ", "  ", "\\n", "\r\n    ", ", ", "\", \"", "\n3. "] {
                for (before, after) in [("", ""), ("VALUE=", "\n"), ("- [ ] rotating \"", "\" in"), ("见", "。")] {
                    let text = format!("{before}{}{after}", phrase(count, gap));
                    let clean = Guard::default().redact(text.clone()).0.into_inner();
                    assert_eq!(clean, format!("{before}[redacted:recovery-words]{after}"), "{text}");
                }
            }
        }
        let capitals = phrase(12, " ").to_uppercase();
        assert_eq!(recovery_phrases(&capitals).len(), 1);
    }

    #[test]
    fn other_lists_of_words_are_kept() {
        for text in [
            phrase(11, " ").as_str(),
            &phrase(2048, "\n"),
            &"key ".repeat(40),
            "parser lexer token stream buffer reader writer cursor table index column schema query",
            "when you will need this you should ask them first about what they really want from you",
        ] {
            assert!(recovery_phrases(text).is_empty(), "{text}");
        }
    }
}
