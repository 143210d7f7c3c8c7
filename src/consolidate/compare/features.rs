//! Features of a claim used in comparisons: polarity, numbers, names, people, time, and words that express a change.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::lexicon::{Cue, cues};
use super::tokens::{is_stop_word, language_of, tokens_of};
use crate::text::language::Language;
use crate::text::normalise::comparable;
use crate::text::number;
use crate::text::recent::RecentResults;
use crate::text::script::Script;
use crate::text::tokens::{Word, words};

/// The content of a text in a comparable form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// The normalised text; see `comparable`.
    pub text: String,
    /// Content words in normalised form, without function words, cues, numbers and dates.
    pub tokens: BTreeSet<String>,
    /// Whether the claim is negated.
    pub polarity: Polarity,
    /// Numbers with their units, versions and dates.
    pub figures: BTreeSet<String>,
    /// Names of people, places, products, files and code.
    pub entities: BTreeSet<String>,
    /// People identified by their relation to the user.
    pub people: BTreeSet<&'static str>,
    /// Circumstances such as `staging` or `weekend`.
    pub settings: BTreeSet<&'static str>,
    /// Whether the claim is about a single event or about what is usually the case.
    pub time: TimeScope,
    /// Whether the claim is intended but not yet true.
    pub planned: bool,
    /// Whether the claim mentions an exception.
    pub except: bool,
    /// Whether a word such as `also` indicates that the thing exists alongside others.
    pub also: bool,
    /// Whether words say that something changed or was wrong.
    pub cue: Option<Turn>,
}

/// Whether a claim is negated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Polarity {
    /// Not negated.
    #[default]
    Positive,
    /// Negated.
    Negative,
    /// The claim contains several negations, whose combined meaning is unknown.
    Mixed,
}

/// Whether something happened once or is usually the case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TimeScope {
    /// The words do not state it.
    #[default]
    Unstated,
    /// Once.
    Once,
    /// Usually or always.
    Habit,
}

/// A statement about earlier knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The facts have changed.
    Changed,
    /// The earlier statement was never true.
    Corrected,
}

impl Features {
    /// Returns the features of `text`; only its first 2,000 characters are examined word by word.
    #[must_use]
    pub(crate) fn of(text: &str) -> Arc<Self> {
        thread_local!(static RECENT: RecentResults<Arc<Features>> = RecentResults::default());
        RECENT.with(|recent| recent.get(text, || Arc::new(Self::examine(text))))
    }

    fn examine(text: &str) -> Self {
        let words = words(text);
        let heard = hear(&words);
        let mut features = Self {
            text: comparable(text),
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
        let language = language_of(text);
        let german = language == Some(Language::German);
        let is_name = |(index, word): &(usize, &Word)| {
            is_entity(word, german) || language != Some(Language::Spanish) && is_label(word, words.get(index + 1))
        };
        features.entities =
            words.iter().enumerate().filter(is_name).map(|(_, word)| word.text.to_lowercase()).collect();
        features.take_tokens(&heard.rest, words.last(), language);
        features
    }

    /// Sorts the rest of the text, which ended with `last`, into figures and content words.
    fn take_tokens(&mut self, rest: &str, last: Option<&Word>, language: Option<Language>) {
        let (mut tokens, mut number) = (Vec::new(), None::<String>);
        let mut words = words(rest).into_iter().peekable();
        while let Some(mut word) = words.next() {
            // The rest lacks cues and days, so its last word may not be the last word of the text.
            let ends = words.peek().is_none() && last.is_some_and(|last| last.text.to_lowercase() == word.text);
            let unit = number.take().map(|digits| (leading_unit(&mut word), digits));
            if let Some((unit, digits)) = unit {
                self.figures.insert(format!("{digits}{}", unit.unwrap_or_default()));
            }
            match figure(&word.text, language.unwrap_or(Language::English)) {
                Some(Figure::Bare(digits)) => number = Some(digits),
                Some(Figure::Whole(figure)) => {
                    self.figures.insert(figure);
                }
                None => tokens_of(&word, language, ends, &mut tokens),
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
        // Two negations may cancel each other or be independent; words alone do not show which.
        _ => Polarity::Mixed,
    }
}

/// Returns the time scope. A habit that mentions today is still a habit, but a single event is not.
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

/// Whether a word is a name. German capitalises every noun, so a capital letter does not identify a name there.
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
            // The first word of a sentence is always capitalised, and so is `I`.
            let starts_high = upper > 0 && !word.first && !german && word.text != "I";
            letters
                && (inner_capital || starts_high || joined || (digit && !is_measure(&word.text)))
                && !is_cue_like(&word.text)
        }
    }
}

/// Whether the first word of a sentence is a single letter that names something, as in `C is used`, rather than an
/// article.
fn is_label(word: &Word, next: Option<&Word>) -> bool {
    let is_letter = word.text.len() == 1 && word.text.starts_with(|c: char| c.is_ascii_uppercase());
    is_letter && word.text != "I" && next.is_some_and(|next| is_stop_word(&next.text.to_lowercase()))
}

/// Whether a capitalised word is not a name; days, months and the languages' own terms are already figures.
fn is_cue_like(text: &str) -> bool {
    let word = [Word { text: text.to_owned(), script: Script::Spaced, first: false }];
    !hear(&word).figures.is_empty()
}

fn is_measure(text: &str) -> bool {
    figure(text, Language::English).is_some()
}

/// The cues found in a text, and the remaining words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each cue is present or absent independently")]
struct Heard {
    /// Number of cues that negate the claim.
    negations: usize,
    /// Whether `Once` was found.
    once: bool,
    /// Whether `Habit` was found.
    habit: bool,
    /// Whether `Except` was found.
    except: bool,
    /// Whether `Planned` was found.
    planned: bool,
    /// Whether `Changed` or `Ended` was found.
    changed: bool,
    /// Whether `Corrected` was found.
    corrected: bool,
    /// Whether `Actually` was found.
    actually: bool,
    /// Whether `Also` was found.
    also: bool,
    /// People identified by their relation to the user.
    people: BTreeSet<&'static str>,
    /// Circumstances that were mentioned.
    settings: BTreeSet<&'static str>,
    /// Numbers and days that are written as words.
    figures: BTreeSet<&'static str>,
    /// The text without the cues that work like function words; the words are separated by spaces.
    rest: String,
}

/// The compiled table: one automaton, and the cue for each pattern of the automaton.
struct Ear {
    automaton: AhoCorasick,
    cues: Vec<Cue>,
}

static EAR: LazyLock<Ear> = LazyLock::new(|| {
    let (cues, patterns): (_, Vec<String>) = cues().map(|(cue, text)| (cue, pattern(&text))).unzip();
    let automaton = AhoCorasick::builder()
        // The longest cue wins: `not only` must not be recognised as `not`.
        .match_kind(MatchKind::LeftmostLongest)
        .build(&patterns)
        .expect("the table is far below the automaton's size limit");
    Ear { automaton, cues }
});

/// Words of scripts with spaces are matched whole, Han and kana inside a run of characters, and Korean at the beginning
/// of a word.
fn pattern(cue: &str) -> String {
    let run = words(cue);
    match run.first().map(|word| word.script) {
        // The cue is surrounded by two spaces, since each word of the text has a space on either side.
        Some(Script::Han | Script::Katakana) => run.into_iter().map(|word| word.text).collect::<Vec<_>>().join("  "),
        Some(Script::Hangul) if needs_whole_word(cue) => wrap(cue),
        Some(Script::Hangul) => cue.split(' ').collect::<Vec<_>>().join("  "),
        Some(Script::Spaced) | None => cue.split(' ').map(wrap).collect(),
    }
}

/// Korean cues of one syllable often occur inside other words, but the negations that end a verb do not.
fn needs_whole_word(cue: &str) -> bool {
    cue.chars().count() == 1 && !matches!(cue, "않" | "없" | "못")
}

fn wrap(word: &str) -> String {
    format!(" {word} ")
}

/// Returns the cues found in `words`.
fn hear(words: &[Word]) -> Heard {
    let text: String = words.iter().map(|word| wrap(&word.text.to_lowercase())).collect();
    let text = &without_contrast(&text);
    let (mut heard, mut end, mut given) = (Heard::default(), 0, false);
    for found in EAR.automaton.find_iter(text) {
        let cue = &EAR.cues[found.pattern().as_usize()];
        heard.rest.push_str(&text[end..found.start()]);
        heard.rest.push(' ');
        // A negation in the reason does not negate the claim: `left, because nobody came`.
        given |= *cue == Cue::Reason && found.start() > 0;
        // Other cues in the reason still count, because a reason often states when or why something changed.
        if !(given && matches!(cue, Cue::Negate | Cue::Never)) {
            heard.note(cue, &text[found.start()..found.end()]);
        }
        end = found.end();
    }
    heard.rest.push_str(&text[end..]);
    heard
}

/// Removes the first word of `not X but Y`, which negates X rather than the claim.
fn without_contrast(text: &str) -> String {
    const PAIRS: &[(&str, &str)] = &[
        (" is  not ", " but "),
        (" ist  nicht ", " sondern "),
        (" nicht ", " sondern "),
        (" no  es ", " sino "),
        ("不是", "而是"),
        ("不是", ",是"),
        ("ではなく", ""),
        ("じゃなく", ""),
        ("이 아니라", ""),
        ("가 아니라", ""),
    ];
    let mut text = text.to_owned();
    for (denial, turn) in PAIRS {
        // Without the second half, the word is a plain negation and must be kept.
        if let Some(at) = text.find(denial).filter(|at| text[at + denial.len()..].contains(turn)) {
            text.replace_range(at..at + denial.len(), "  ");
        }
    }
    text
}

impl Heard {
    fn note(&mut self, cue: &'static Cue, found: &str) {
        match cue {
            Cue::Neutral => self.rest.push_str(found),
            Cue::Negate => self.negations += 1,
            Cue::Never => {
                self.negations += 1;
                self.habit = true;
            }
            Cue::Against(word) => {
                self.negations += 1;
                self.rest.push_str(word);
            }
            Cue::Means(word) => self.rest.push_str(word),
            Cue::Once => self.once = true,
            Cue::Habit => self.habit = true,
            Cue::Except => self.except = true,
            Cue::Planned => self.planned = true,
            Cue::Changed => self.changed = true,
            Cue::Ended => {
                self.changed = true;
                // "Not" and "anymore" are one negation in two places.
                let is_second_half = found.trim() == "anymore" && self.negations > 0;
                self.negations += usize::from(!is_second_half);
            }
            Cue::Corrected => self.corrected = true,
            Cue::Actually => self.actually = true,
            Cue::Person(name) => {
                self.people.insert(name);
                // `妈妈` and `母亲` are replaced by the same name.
                self.rest.push(' ');
                self.rest.push_str(name);
            }
            Cue::Setting(name) => {
                self.settings.insert(name);
                self.rest.push_str(found);
            }
            Cue::Reason => {}
            Cue::Also => self.also = true,
            // If the figure has a unit, the unit follows in the text.
            Cue::Figure(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.rest.push(' ');
                self.rest.push_str(name);
            }
            Cue::Figure(name) => {
                self.figures.insert(name);
            }
        }
        self.rest.push(' ');
    }
}

/// A number as it appears in a text.
enum Figure {
    /// A figure without a unit; the next word may be the unit.
    Bare(String),
    /// A figure with its unit, or a date.
    Whole(String),
}

/// Returns the unit of a figure in its canonical spelling: `:` for a time of day, `-` for a date, and nothing for a
/// bare number.
pub(super) fn unit(figure: &str) -> &str {
    let rest = figure.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    match rest.chars().next() {
        Some(':') => ":",
        Some('-' | '/') => "-",
        _ => rest,
    }
}

/// The days of the week, as figures.
pub(super) const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Whether both sets contain a figure of one kind that the other set lacks.
pub(super) fn differ_in_kind(a: &BTreeSet<String>, b: &BTreeSet<String>, kind: fn(&str) -> &str) -> bool {
    a.difference(b).any(|x| b.difference(a).any(|y| kind(x) == kind(y)))
}

/// Whether a figure states an amount, a duration or a time, and is not merely the number of a thing.
pub(super) fn is_measured(figure: &str) -> bool {
    let unit = unit(figure);
    !unit.is_empty() && !number::LABELS.contains(&unit)
}

/// Removes the unit from the beginning of the word after a number. In scripts without spaces, the word continues after
/// the unit.
fn leading_unit(word: &mut Word) -> Option<&'static str> {
    let lower = word.text.to_lowercase();
    let (unit, length) = match word.script {
        Script::Spaced => (number::unit(&lower)?, lower.len()),
        Script::Han | Script::Katakana | Script::Hangul => number::leading_wide_unit(&lower)?,
    };
    lower[length..].clone_into(&mut word.text);
    Some(unit.name)
}

/// Returns the canonical spelling of a number, version or date.
fn figure(text: &str, language: Language) -> Option<Figure> {
    if !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let lower = ungrouped(&text.to_lowercase(), language);
    if let Some((sign, digits)) = currency(&lower) {
        return is_number(digits).then(|| Figure::Whole(format!("{digits}{sign}")));
    }
    let plain = lower.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(&lower);
    if is_number(plain) {
        // `3.0` and `3` are the same number; a version such as `3.0.1` keeps its parts.
        return Some(Figure::Bare(plain.trim_end_matches(".0").to_owned()));
    }
    let split = plain.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (digits, suffix) = plain.split_at(split);
    if digits.is_empty() {
        return None;
    }
    let unit = number::unit(suffix.trim_start_matches('-'))?;
    Some(Figure::Whole(format!("{digits}{}", unit.name)))
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '/' | ':'))
}

fn currency(text: &str) -> Option<(&'static str, &str)> {
    [('$', "usd"), ('€', "eur"), ('£', "gbp"), ('¥', "cny")]
        .iter()
        .find_map(|(sign, name)| text.strip_prefix(*sign).map(|digits| (*name, digits)))
}

/// Writes `1,450` as `1450`, and also `1.450` where a point groups digits; changes a decimal comma to a point.
fn ungrouped(text: &str, language: Language) -> String {
    let grouped = |mark: char| {
        let mut groups = text.split(mark);
        let head = groups.next().unwrap_or_default().trim_start_matches(|c: char| !c.is_ascii_digit());
        (1..=3).contains(&head.len())
            && !head.starts_with('0')
            && head.bytes().all(|byte| byte.is_ascii_digit())
            && text.contains(mark)
            && groups.all(|group| {
                let digits = group.trim_end_matches(|c: char| !c.is_ascii_digit());
                digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    // `1.450` is a price in German and a version in English, so the language of the whole text decides how it is read.
    let points_group = matches!(language, Language::Spanish | Language::German);
    if grouped(',') {
        text.replace(',', "")
    } else if points_group && grouped('.') {
        text.replace('.', "")
    } else {
        text.replace(',', ".")
    }
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
            assert_eq!((&a.tokens, a.polarity, b.polarity), (&b.tokens, Polarity::Positive, Polarity::Negative));
        }
    }

    fn heard(text: &str) -> Heard {
        hear(&words(text))
    }

    #[test]
    fn negation_is_heard_in_every_language_and_idioms_are_not() {
        let rows = [
            ("The user does not drink coffee", 1),
            ("The user can't stand coffee", 1),
            ("The user can't stop drinking coffee", 0),
            ("The user no longer drinks coffee", 1),
            ("The user stopped drinking coffee", 1),
            ("The user hates coffee", 1),
            ("The user never drinks coffee", 1),
            ("The user doesn't hate coffee", 2),
            ("The target is not Heroku but Fly.io", 0),
            ("用户不喝咖啡", 1),
            ("用户没有车", 1),
            ("用户觉得这家店不错", 0),
            ("用户讨厌咖啡", 1),
            ("用户别人的车", 0),
            ("不是柏林而是慕尼黑", 0),
            ("ユーザーはコーヒーを飲まない", 1),
            ("ユーザーはコーヒーを飲みません", 1),
            ("ユーザーはテストを書かなければならない", 0),
            ("사용자는 커피를 마시지 않는다", 1),
            ("사용자는 안전 검사를 한다", 0),
            ("El usuario no bebe café", 1),
            ("El usuario ya no bebe café", 1),
            ("Der Nutzer trinkt keinen Kaffee", 1),
            ("Der Nutzer trinkt nicht mehr Kaffee", 1),
        ];
        for (text, negations) in rows {
            assert_eq!(heard(text).negations, negations, "{text}");
        }
    }

    #[test]
    fn scope_plans_people_and_change_are_heard() {
        assert!(heard("用户每天跑步").habit && !heard("用户每天跑步").once);
        assert!(heard("The user skipped lunch yesterday").once);
        assert!(heard("El usuario siempre cena tarde").habit);
        assert!(heard("The user never eats meat").habit);
        assert!(heard("用户打算搬到柏林").planned);
        assert!(heard("Runs tests except on Windows").except);
        assert_eq!(heard("用户的姐姐住在柏林").people, BTreeSet::from(["sister.elder"]));
        assert_eq!(heard("Die Schwester wohnt in Berlin").people, BTreeSet::from(["sister"]));
        assert!(heard("사용자는 이제 서울에 산다").changed);
        assert!(heard("実は東京に住んでいる").actually);
        assert_eq!(heard("Left the club because nobody came").negations, 0);
        assert_eq!(heard("standup on Fridays").figures, heard("周五开会").figures);
    }

    #[test]
    fn every_cue_is_found_where_it_stands_alone() {
        for (cue, text) in cues() {
            let found = EAR.automaton.find(&heard_form(&text)).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(EAR.cues[found.pattern().as_usize()], cue, "{text}");
        }
    }

    fn heard_form(text: &str) -> String {
        words(text).iter().map(|word| wrap(&word.text.to_lowercase())).collect()
    }

    fn spelled(text: &str, language: Language) -> Option<String> {
        figure(text, language).map(|(Figure::Bare(text) | Figure::Whole(text))| text)
    }

    #[test]
    fn numbers_are_read_as_their_language_groups_them() {
        let rows = [
            ("1,450", Language::English, "1450"),
            ("62.000", Language::Spanish, "62000"),
            ("62.000", Language::English, "62.000"),
            ("2,5", Language::German, "2.5"),
            ("1.95", Language::German, "1.95"),
            ("$1,200", Language::English, "1200usd"),
            ("v2.1", Language::English, "2.1"),
            ("15min", Language::English, "15min"),
            ("1,000,000", Language::English, "1000000"),
        ];
        for (text, language, expected) in rows {
            assert_eq!(spelled(text, language).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(spelled("node-18", Language::English), None);
    }

    #[test]
    fn measures_are_told_from_labels() {
        for measured in ["30min", "18:30", "2026-05-08", "40l"] {
            assert!(is_measured(measured), "{measured}");
        }
        for label in ["8080", "3no", "5.2ver"] {
            assert!(!is_measured(label), "{label}");
        }
    }
}
