//! How alike two texts are. Likeness proposes what may say the same; whether it does is never decided by it.

use std::collections::BTreeSet;

use crate::eval::locomo::content_words;
use crate::eval::text::normal;

/// A way of telling how alike two texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Likeness {
    /// The same but for case, width, quotes and spaces.
    Exact,
    /// Harmonic mean of the shares of content words that each has of the other's.
    TokenF1,
    /// Share of the gold text's content words.
    Content,
    /// Edits between the sorted words.
    Fuzzy,
    /// Cosine of the sentence vectors, where a model is configured.
    Cosine,
}

impl Likeness {
    /// Those that need no model.
    pub const OWN: [Self; 4] = [Self::Exact, Self::TokenF1, Self::Content, Self::Fuzzy];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TokenF1 => "token-f1",
            Self::Content => "content",
            Self::Fuzzy => "fuzzy",
            Self::Cosine => "cosine",
        }
    }

    /// Returns from which likeness on a text is taken to say the same: measured on paraphrases and neighbours of facts.
    #[must_use]
    pub const fn least(self) -> f64 {
        match self {
            Self::Exact => 1.0,
            Self::TokenF1 => 0.5,
            Self::Content => 0.67,
            Self::Fuzzy => 0.6,
            Self::Cosine => 0.75,
        }
    }

    /// Returns how alike `text` is to `gold`, from 0 to 1; 0 for [`Self::Cosine`], which needs vectors.
    #[must_use]
    pub fn of(self, gold: &str, text: &str) -> f64 {
        match self {
            Self::Exact => f64::from(u8::from(normal(gold) == normal(text))),
            Self::TokenF1 => token_f1(&words(gold), &words(text)),
            Self::Content => share(&words(gold), &words(text)),
            Self::Fuzzy => strsim::normalized_levenshtein(&sorted(gold), &sorted(text)),
            Self::Cosine => 0.0,
        }
    }
}

/// Returns the content words of `text`; where no spaces part them, as in Chinese, its pairs of letters.
#[must_use]
pub fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for word in content_words(text) {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() > 2 && letters.iter().any(|letter| is_unspaced(*letter)) {
            words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            words.insert(word);
        }
    }
    words
}

const fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// Returns which share of the words of `gold` stands in `text`; 0 where it has none.
#[must_use]
pub fn share(gold: &BTreeSet<String>, text: &BTreeSet<String>) -> f64 {
    let found = u32::try_from(gold.intersection(text).count()).unwrap_or(u32::MAX);
    f64::from(found) / f64::from(u32::try_from(gold.len().max(1)).unwrap_or(u32::MAX))
}

fn token_f1(gold: &BTreeSet<String>, text: &BTreeSet<String>) -> f64 {
    let (recall, precision) = (share(gold, text), share(text, gold));
    if recall + precision == 0.0 { 0.0 } else { 2.0 * recall * precision / (recall + precision) }
}

fn sorted(text: &str) -> String {
    words(text).into_iter().collect::<Vec<_>>().join(" ")
}

/// Whether every number of `gold` stands in `text`: a likeness does not see that 15 is not 50.
#[must_use]
pub fn numbers_agree(gold: &str, text: &str) -> bool {
    let digits = |text: &str| -> BTreeSet<String> {
        let text = normal(text);
        let parts = text.split(|one: char| !one.is_ascii_digit()).filter(|part| !part.is_empty());
        parts.map(|part| part.trim_start_matches('0').to_owned()).collect()
    };
    digits(gold).is_subset(&digits(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paraphrases_are_alike_and_so_are_contradictions() {
        let gold = "Ana moved from Lyon to Porto in March.";
        for (text, alike) in [
            ("In March Ana moved to Porto from Lyon.", true),
            ("Ana moved from Porto to Lyon in March.", true),
            ("Ben keeps bees.", false),
        ] {
            for likeness in [Likeness::TokenF1, Likeness::Content, Likeness::Fuzzy] {
                assert_eq!(likeness.of(gold, text) >= likeness.least(), alike, "{} {text}", likeness.name());
            }
            assert!(Likeness::Exact.of(gold, text) < 1.0);
        }
        assert!(Likeness::Exact.of("Use “tabs”", "use \"TABS\"") >= 1.0);
        assert!(Likeness::TokenF1.of("用户住在杭州滨江区", "用户现在住在杭州滨江") > 0.5);
        assert!(Likeness::TokenF1.of("用户住在杭州滨江区", "日志平台换成了新的") < 0.1);
    }

    #[test]
    fn another_number_is_another_fact() {
        assert!(numbers_agree("The limit is 15 MB.", "15 MB is the limit, since 2026."));
        assert!(!numbers_agree("The limit is 15 MB.", "The limit is 50 MB."));
        assert!(numbers_agree("on 2026-03-09", "on 9/3/2026"));
    }
}
