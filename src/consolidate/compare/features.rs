//! What the guards look at in a claim: who, how many, which names, whether, and when.

use std::collections::BTreeSet;

use super::cues::{Heard, hear};
use super::figures::{Figure, figure, leading_unit};
use super::text::{Script, Word, normalise, words};
use super::tokens::{Tongue, tokens_of, tongue_of};

/// What a text says, in a shape that can be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Features {
    /// The normalised text, see [`normalise`].
    pub text: String,
    /// Content words, folded; without grammar, cues, numbers and dates.
    pub tokens: BTreeSet<String>,
    /// Whether the claim is turned round.
    pub polarity: Polarity,
    /// Numbers with their units, versions and dates.
    pub figures: BTreeSet<String>,
    /// Names of people, places, products, files and code.
    pub entities: BTreeSet<String>,
    /// People named by what they are to the user.
    pub people: BTreeSet<&'static str>,
    /// Surroundings such as `staging` or `weekend`.
    pub settings: BTreeSet<&'static str>,
    /// Whether it happened once or is usually so.
    pub time: TimeScope,
    /// Whether it is intended, not yet so.
    pub planned: bool,
    /// Whether it names an exception.
    pub except: bool,
    /// Whether it says of itself that it stands beside others: `also`.
    pub also: bool,
    /// Whether its words say that something changed or was wrong.
    pub cue: Option<Turn>,
}

/// Whether a claim is turned round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Polarity {
    /// It is so.
    #[default]
    Positive,
    /// It is not so.
    Negative,
    /// Several negations: which way it points is not known.
    Mixed,
}

/// Whether something happened once or is usually so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimeScope {
    /// The words do not say.
    #[default]
    Unstated,
    /// Once.
    Once,
    /// Usually or always.
    Habit,
}

/// What the words say about what was known before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The world moved on.
    Changed,
    /// It was never so.
    Corrected,
}

impl Features {
    /// Returns the features of `text`; only its first 2,000 characters are looked at word by word.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let words = words(text);
        let heard = hear(&words);
        let mut features = Self {
            text: normalise(text),
            polarity: polarity(heard.negations),
            time: time_scope(&heard),
            planned: heard.planned,
            except: heard.except,
            also: heard.also,
            cue: turn(&heard),
            figures: heard.figures.iter().map(|figure| (*figure).to_owned()).collect(),
            people: heard.people,
            settings: heard.settings,
            ..Self::default()
        };
        let tongue = tongue_of(&words);
        let german = tongue == Tongue::German;
        features.entities =
            words.iter().filter(|word| is_entity(word, german)).map(|word| word.text.to_lowercase()).collect();
        features.take_tokens(&heard.rest, tongue);
        features
    }

    /// Sorts what is left of the text into figures and content words.
    fn take_tokens(&mut self, rest: &str, tongue: Tongue) {
        let (mut tokens, mut number) = (Vec::new(), None::<String>);
        for mut word in words(rest) {
            let unit = number.take().map(|digits| (leading_unit(&mut word), digits));
            if let Some((unit, digits)) = unit {
                self.figures.insert(format!("{digits}{}", unit.unwrap_or_default()));
            }
            match figure(&word.text, tongue) {
                Some(Figure::Bare(digits)) => number = Some(digits),
                Some(Figure::Whole(figure)) => {
                    self.figures.insert(figure);
                }
                None => tokens_of(&word, tongue, &mut tokens),
            }
        }
        self.figures.extend(number);
        self.tokens = tokens.into_iter().collect();
    }
}

fn polarity(negations: usize) -> Polarity {
    match negations {
        0 => Polarity::Positive,
        1 => Polarity::Negative,
        _ => Polarity::Mixed,
    }
}

/// A habit that names today is a habit; something that happened once is none.
fn time_scope(heard: &Heard) -> TimeScope {
    match (heard.habit, heard.once) {
        (true, _) => TimeScope::Habit,
        (false, true) => TimeScope::Once,
        (false, false) => TimeScope::Unstated,
    }
}

fn turn(heard: &Heard) -> Option<Turn> {
    match (heard.corrected, heard.changed, heard.actually) {
        (true, _, _) | (false, false, true) => Some(Turn::Corrected),
        (false, true, _) => Some(Turn::Changed),
        (false, false, false) => None,
    }
}

/// Whether a word is a name. German writes every noun with a capital, so there a capital does not make one.
fn is_entity(word: &Word, german: bool) -> bool {
    match word.script {
        Script::Katakana => word.text.chars().count() > 1 && !word.text.starts_with("ユーザ"),
        Script::Han | Script::Hangul => false,
        Script::Spaced => {
            let (mut upper, mut lower, mut joined, mut digit) = (0, 0, false, false);
            for (index, c) in word.text.chars().enumerate() {
                upper += usize::from(c.is_uppercase());
                lower += usize::from(c.is_lowercase());
                digit |= c.is_numeric();
                joined |= matches!(c, '.' | '/' | '_' | '@' | ':' | '\\' | '#' | '+') && (index > 0 || c != '$');
            }
            let letters = upper + lower > 0;
            let inner_capital = upper > 0 && word.text.chars().skip(1).any(char::is_uppercase);
            let starts_high = upper > 0 && !word.first && !german && word.text != "I";
            letters
                && !is_cue_like(&word.text)
                && (inner_capital || starts_high || joined || (digit && !is_measure(&word.text)))
        }
    }
}

/// Capitalised words that are no names: days, months and the languages' own terms are figures already.
fn is_cue_like(text: &str) -> bool {
    let word = [Word { text: text.to_owned(), script: Script::Spaced, first: false }];
    !hear(&word).figures.is_empty()
}

fn is_measure(text: &str) -> bool {
    figure(text, Tongue::English).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(items: &[&str]) -> BTreeSet<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn figures_are_spelled_one_way() {
        assert_eq!(Features::of("The limit is 8 GB").figures, set(&["8gb"]));
        assert_eq!(Features::of("The limit is 8GB").figures, set(&["8gb"]));
        assert_eq!(Features::of("缓存 30 分钟过期").figures, Features::of("expires after 30 minutes").figures);
        assert_eq!(Features::of("two cats").figures, Features::of("2 cats").figures);
        assert_eq!(Features::of("runs on v1.95").figures, set(&["1.95"]));
        assert_eq!(Features::of("released 2024-05-01").figures, set(&["2024-05-01"]));
        assert_ne!(Features::of("100 ms").figures, Features::of("100 s").figures);
    }

    #[test]
    fn names_are_found_with_and_without_capitals_to_help() {
        assert_eq!(Features::of("The user deploys to Fly.io from GitHub").entities, set(&["fly.io", "github"]));
        assert_eq!(Features::of("用户用 Postgres 和 src/main.rs").entities, set(&["postgres", "src/main.rs"]));
        assert_eq!(Features::of("ユーザーはベルリンに住む").entities, set(&["ベルリン"]));
        assert_eq!(Features::of("Der Nutzer trinkt Kaffee").entities, set(&[]));
        assert_eq!(Features::of("Meets on Friday").entities, set(&[]));
    }

    #[test]
    fn opposite_claims_share_their_content_words() {
        let pairs = [
            ("The user likes coffee.", "The user dislikes coffee."),
            ("The user drinks coffee.", "The user does not drink coffee."),
            ("用户喜欢咖啡", "用户讨厌咖啡"),
            ("Dark mode is enabled", "Dark mode is disabled"),
        ];
        for (a, b) in pairs {
            let (a, b) = (Features::of(a), Features::of(b));
            assert_eq!((a.tokens, a.polarity, b.polarity), (b.tokens, Polarity::Positive, Polarity::Negative));
        }
    }
}
