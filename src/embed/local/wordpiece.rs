//! Cutting a text into the pieces that BERT models know, as their own tokenizer does.
//!
//! Control characters go, Chinese characters stand alone, accents and case go where the model knows none, words end at
//! blanks and at every punctuation mark, and each word is cut into the longest pieces from its start.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

/// A longer word is not cut but unknown.
const LONGEST_WORD: usize = 100;
/// What stands before a piece that goes on with a word.
const GOES_ON: &str = "##";

static CONTROL: LazyLock<Regex> = LazyLock::new(|| category(r"[\p{C}\u{fffd}]"));
static ACCENT: LazyLock<Regex> = LazyLock::new(|| category(r"\p{Mn}"));
static PUNCTUATION: LazyLock<Regex> = LazyLock::new(|| category(r"\p{P}"));

fn category(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a category of characters")
}

/// The pieces that one model knows.
#[derive(Debug)]
pub(super) struct WordPiece {
    pieces: HashMap<String, u32>,
    lower_case: bool,
    begin: u32,
    end: u32,
    unknown: u32,
}

impl WordPiece {
    /// Returns the cutter for a vocabulary; `Err` names what it lacks.
    pub(super) fn new(pieces: HashMap<String, u32>, lower_case: bool) -> Result<Self, String> {
        let special =
            |name: &str| pieces.get(name).copied().ok_or_else(|| format!("the vocabulary has no {name}, as BERT's do"));
        let (begin, end, unknown) = (special("[CLS]")?, special("[SEP]")?, special("[UNK]")?);
        Ok(Self { pieces, lower_case, begin, end, unknown })
    }

    /// Returns the numbers of at most `longest` pieces, with those of beginning and end.
    pub(super) fn cut(&self, text: &str, longest: usize) -> Vec<u32> {
        let mut found = vec![self.begin];
        let most = longest.saturating_sub(1).max(1);
        for word in self.words(text) {
            if found.len() >= most {
                break;
            }
            self.cut_word(&word, &mut found);
        }
        found.truncate(most);
        found.push(self.end);
        found
    }

    fn words(&self, text: &str) -> Vec<String> {
        let text = self.normal(text);
        let mut words = Vec::new();
        for run in text.split_whitespace() {
            let mut word = String::new();
            for character in run.chars() {
                if is_punctuation(character) {
                    words.push(std::mem::take(&mut word));
                    words.push(character.to_string());
                } else {
                    word.push(character);
                }
            }
            words.push(word);
        }
        words.retain(|word| !word.is_empty());
        words
    }

    fn normal(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for character in text.chars() {
            if character.is_whitespace() {
                clean.push(' ');
            } else if is_chinese(character) {
                clean.extend([' ', character, ' ']);
            } else if !is_in(character, char::is_control, &CONTROL) {
                clean.push(character);
            }
        }
        if !self.lower_case {
            return clean;
        }
        let bare: String = clean.nfd().filter(|character| !is_in(*character, |_| false, &ACCENT)).collect();
        bare.to_lowercase()
    }

    fn cut_word(&self, word: &str, found: &mut Vec<u32>) {
        let before = found.len();
        let mut rest = word;
        let mut key = String::new();
        if word.chars().nth(LONGEST_WORD).is_some() {
            rest = "";
            found.push(self.unknown);
        }
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| {
                key.clear();
                key.push_str(if rest.len() < word.len() { GOES_ON } else { "" });
                key.push_str(&rest[..end]);
                self.pieces.get(&key).map(|number| (end, *number))
            });
            let Some((end, number)) = longest else {
                found.truncate(before);
                found.push(self.unknown);
                return;
            };
            found.push(number);
            rest = &rest[end..];
        }
    }
}

/// Whether a character is of a kind; few of those that matter are not ASCII, and looking those up takes longer.
fn is_in(character: char, ascii: impl Fn(char) -> bool, other: &Regex) -> bool {
    if character.is_ascii() { ascii(character) } else { other.is_match(character.encode_utf8(&mut [0; 4])) }
}

fn is_punctuation(character: char) -> bool {
    is_in(character, |c| c.is_ascii_punctuation(), &PUNCTUATION)
}

/// Whether a character is of the blocks that BERT takes for Chinese; Japanese and Korean scripts are not among them.
fn is_chinese(character: char) -> bool {
    matches!(
        u32::from(character),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0xF900..=0xFAFF
            | 0x2_F800..=0x2_FA1F
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cutter(lower_case: bool) -> WordPiece {
        let known = [
            "[CLS]", "[SEP]", "[UNK]", "the", "user", "drink", "##s", "tea", ".", "cafe", "关", "Tea", "c", "+",
            "zero", "##width",
        ];
        let pieces = (0..).zip(known).map(|(number, piece)| (piece.to_owned(), number)).collect();
        WordPiece::new(pieces, lower_case).unwrap()
    }

    #[test]
    fn texts_are_cut_as_the_model_was_taught() {
        let rows: [(&str, &[u32]); 11] = [
            ("", &[]),
            (" \t\n", &[]),
            ("The user drinks tea.", &[3, 4, 5, 6, 7, 8]),
            ("CAFÉ cafe\u{301}", &[9, 9]),
            ("关关tea", &[10, 10, 7]),
            ("c++", &[12, 13, 13]),
            ("zero\u{200b}width", &[14, 15]),
            ("tea\u{0}\ttea", &[7, 7]),
            ("drinkable tea", &[2, 7]),
            ("🙂", &[2]),
            ("tea。tea", &[7, 2, 7]),
        ];
        for (text, expected) in rows {
            let whole = [&[0], expected, &[1]].concat();
            assert_eq!(cutter(true).cut(text, 64), whole, "{text:?}");
        }
        assert_eq!(cutter(false).cut("Tea tea THE", 64), [0, 11, 7, 2, 1]);
        assert_eq!(cutter(true).cut(&"s".repeat(101), 64), [0, 2, 1]);
    }

    #[test]
    fn what_is_too_long_keeps_its_beginning_and_its_end_mark() {
        assert_eq!(cutter(true).cut("the user drinks tea.", 4), [0, 3, 4, 1]);
        assert_eq!(cutter(true).cut("drinks", 3), [0, 5, 1]);
        assert_eq!(cutter(true).cut("tea", 0), [0, 1]);
    }

    #[test]
    fn a_vocabulary_without_its_marks_is_refused() {
        let error = WordPiece::new([("tea".to_owned(), 0)].into(), true).unwrap_err();
        assert_eq!(error, "the vocabulary has no [CLS], as BERT's do");
    }
}
