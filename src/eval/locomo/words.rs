//! Content words, by which an answer is looked for in a text.

use std::collections::BTreeSet;

use crate::eval::text::normal;

/// Words that carry no answer.
const STOP_WORDS: &[&str] = &[
    "a",
    "an",
    "the",
    "and",
    "or",
    "but",
    "nor",
    "if",
    "because",
    "while",
    "until",
    "of",
    "to",
    "in",
    "on",
    "at",
    "by",
    "for",
    "from",
    "with",
    "about",
    "as",
    "into",
    "through",
    "during",
    "before",
    "after",
    "between",
    "against",
    "above",
    "below",
    "under",
    "over",
    "up",
    "down",
    "out",
    "off",
    "again",
    "further",
    "once",
    "is",
    "are",
    "was",
    "were",
    "be",
    "been",
    "being",
    "am",
    "do",
    "does",
    "did",
    "doing",
    "has",
    "have",
    "had",
    "having",
    "will",
    "would",
    "can",
    "could",
    "should",
    "may",
    "might",
    "must",
    "it",
    "its",
    "itself",
    "this",
    "that",
    "these",
    "those",
    "he",
    "she",
    "they",
    "them",
    "his",
    "her",
    "hers",
    "their",
    "theirs",
    "him",
    "himself",
    "herself",
    "themselves",
    "i",
    "me",
    "my",
    "myself",
    "we",
    "us",
    "our",
    "ours",
    "you",
    "your",
    "yours",
    "not",
    "no",
    "only",
    "so",
    "than",
    "then",
    "there",
    "here",
    "what",
    "which",
    "who",
    "whom",
    "when",
    "where",
    "why",
    "how",
    "also",
    "some",
    "any",
    "all",
    "both",
    "each",
    "few",
    "more",
    "most",
    "other",
    "own",
    "same",
    "such",
    "too",
    "very",
    "just",
    "now",
    "s",
    "t",
    "re",
    "ve",
    "ll",
    "d",
    "m",
];

/// Small numbers, which people write in words as well.
const NUMBERS: &[(&str, &str)] = &[
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
];

/// Returns the stems of the content words of `text`; numbers count, and small ones in words are the same as in digits.
pub(in crate::eval) fn content_words(text: &str) -> BTreeSet<String> {
    normal(text)
        .split(|one: char| !one.is_alphanumeric())
        .filter(|word| !word.is_empty() && !STOP_WORDS.contains(word))
        .map(|word| {
            NUMBERS
                .iter()
                .find(|(name, _)| *name == word)
                .map_or_else(|| stem(word), |(_, digits)| (*digits).to_owned())
        })
        .collect()
}

/// Takes the ends of words off that mostly mark number, tense and kind.
fn stem(word: &str) -> String {
    const ENDS: &[(&str, &str)] = &[
        ("ies", "y"),
        ("ied", "y"),
        ("ings", ""),
        ("ing", ""),
        ("ness", ""),
        ("edly", ""),
        ("ed", ""),
        ("ers", ""),
        ("er", ""),
        ("ly", ""),
        ("es", ""),
        ("s", ""),
    ];
    if word.chars().any(|one| one.is_ascii_digit()) {
        return word.to_owned();
    }
    let cut = ENDS.iter().find_map(|(end, instead)| {
        let head = word.strip_suffix(end)?;
        // "bus" and "red" are no plurals and pasts.
        (head.chars().count() >= 3 && !(*end == "s" && head.ends_with('s'))).then(|| format!("{head}{instead}"))
    });
    let stem = cut.unwrap_or_else(|| word.to_owned());
    undoubled(stem.strip_suffix('e').filter(|head| head.len() >= 3).unwrap_or(&stem)).to_owned()
}

/// Returns "plan" for "plann", which is left of "planning".
fn undoubled(stem: &str) -> &str {
    let mut last = stem.chars().rev();
    match (last.next(), last.next()) {
        (Some(one), Some(other)) if one == other && one.is_ascii_alphabetic() && stem.len() > 3 => {
            &stem[..stem.len() - 1]
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_are_one() {
        let table = [
            ("dancing", "dance"),
            ("studies", "study"),
            ("planned", "planning"),
            ("agencies", "agency"),
            ("camped", "camping"),
            ("loves", "love"),
            ("classes", "class"),
            ("Two", "2"),
        ];
        for (one, other) in table {
            assert_eq!(content_words(one), content_words(other), "{one} {other}");
        }
        for (one, other) in [("red", "r"), ("bus", "bu"), ("2023", "202"), ("king", "k")] {
            assert_ne!(content_words(one), content_words(other), "{one} {other}");
        }
        let said: Vec<_> = content_words("What did she do at the 3 LGBTQ+ events?").into_iter().collect();
        assert_eq!(said, ["3", "event", "lgbtq"]);
    }
}
