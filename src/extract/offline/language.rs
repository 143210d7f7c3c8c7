//! The clause rules of English and Chinese: cues, vetoes, and sentence frames.
//!
//! A cue is a pattern that is matched at the start of a clause. Its named groups capture the content of the clause: `v`
//! is the value, `over` is a less preferred value, `old` is a replaced value, and `do` and `when` are an instruction
//! and its condition.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use regex::{Captures, Match};
use serde::Deserialize;

use super::grammar;
use crate::text::language::{Language, detect_read};
use crate::text::pattern_set::{Anywhere, AtStart, PatternSet, Patterns, at_start};
use crate::text::relative::{self, Dated};

/// The function of a clause, which determines how it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Act {
    /// The speaker likes `v`, possibly more than `over`.
    Preference,
    /// The speaker dislikes `v`.
    Dislike,
    /// The speaker asks for `v` in general; recognised only if `v` is a known name.
    Wish,
    /// The speaker uses `v`; recognised only if `v` is a known name.
    Habit,
    /// The speaker decided in favour of `v`, possibly instead of `old`.
    Decision,
    /// The speaker decided in favour of `v`, in words that may also concern only the moment; recognised only if `v` is
    /// a known name.
    NamedDecision,
    /// The speaker changed from `old` to `v`.
    Switch,
    /// The project has `v`, as the value of the attribute that `what` names or that `v` belongs to.
    ProjectFact,
    /// The clause states `v` about the project in words that are clearly meant to last, even if `v` is not a known
    /// name.
    Declared,
    /// A standing instruction: `do`, and optionally `when`.
    Standing,
    /// The speaker asks to remember `rest`.
    Remember,
    /// The clause mentions `rest`, which is kept only if it is meaningful on its own.
    Mention,
    /// The speaker's own attribute, under this key.
    #[serde(untagged)]
    SelfFact(String),
}

/// How a clause is recognised: the act that a matching clause represents, the confidence that it does, in hundredths,
/// and a pattern from the start of the clause, with the named groups that the act reads.
#[derive(Debug, Deserialize)]
pub(super) struct Cue(pub(super) Act, u8, String);

impl Cue {
    /// Returns the confidence that a matching clause represents the act, from 0 to 1.
    pub(super) fn confidence(&self) -> f64 {
        f64::from(self.1) / 100.0
    }
}

/// The clause rules of one language. The files in `rules/` contain the patterns, which ignore case; `(?-i:…)` makes
/// case significant.
#[derive(Deserialize)]
pub(super) struct LanguageRules {
    #[serde(skip)]
    is_chinese: bool,
    /// Patterns of sentences that are never kept.
    vetoes: Patterns,
    /// Pattern of a request to put `rest` into a file that every later session of an agent reads.
    recorded: AtStart,
    /// Pattern of a request that is kept only if `lasting` matches it, too.
    tasks: Anywhere,
    /// Pattern of words about how the assistant should answer.
    manner: Anywhere,
    /// Pattern of words that make a request permanent.
    lasting: Anywhere,
    /// Pattern of words that make a request lasting even in the description of a task, in which "always" is about the
    /// task.
    abiding: Anywhere,
    /// Patterns that only a standing instruction may match.
    conditions: Patterns,
    /// Pattern of words for imagined situations, which only a standing instruction may contain outside a reason.
    imagined: Option<Anywhere>,
    /// Pattern of a word before a reason.
    reason: Anywhere,
    /// Filler words before a statement.
    pub(super) lead_in: AtStart,
    /// Pattern of the boundary between a clause and the next clause with its own subject. The group `next` is the start
    /// of the next clause.
    pub(super) clause_break: Anywhere,
    /// Cues; the first one that matches is used.
    cues: Cues,
    /// Patterns of words at which a captured value ends.
    pub(super) value_end: Anywhere,
    /// Patterns of values that are not meaningful on their own.
    pub(super) empty_value: AtStart,
    /// Pattern of the subject of a fact about the project.
    pub(super) subject: Anywhere,
    /// Pattern of words that may follow a word like "this" without referring to something outside the project.
    own_ground: Anywhere,
    /// Pattern of words that refer to something outside the sentence.
    pointing: Anywhere,
    /// Pattern of a clause about the work on a project.
    pub(super) about_project: Anywhere,
    /// Parts of a project that have their own attributes, each with its name in a key.
    pub(super) parts: Vec<(Anywhere, String)>,
    /// Pattern of an assistant's proposal, with the proposed action as `v`.
    pub(super) proposal: Anywhere,
    /// Pattern of a plain yes.
    pub(super) yes: AtStart,
    /// The sentence frames of the language.
    pub(super) phrases: Phrases,
}

/// Sentence frames of a language, in which `{who}` and `{x}` are filled in.
#[derive(Deserialize)]
pub(super) struct Phrases {
    pub(super) user: String,
    pub(super) said: String,
    pub(super) standing: String,
    pub(super) wish: String,
    pub(super) decided: String,
    pub(super) agreed: String,
    pub(super) unwanted: String,
    pub(super) over: String,
    pub(super) called: String,
    pub(super) stop: String,
}

/// Cues with their patterns compiled.
#[derive(Deserialize)]
#[serde(from = "Vec<Cue>")]
struct Cues {
    cues: Vec<Cue>,
    patterns: PatternSet,
}

impl From<Vec<Cue>> for Cues {
    fn from(cues: Vec<Cue>) -> Self {
        Self { patterns: PatternSet::new(cues.iter().map(|cue| at_start(&cue.2))), cues }
    }
}

static ENGLISH: LazyLock<LanguageRules> = LazyLock::new(|| read(include_str!("rules/english.toml")));
static CHINESE: LazyLock<LanguageRules> =
    LazyLock::new(|| LanguageRules { is_chinese: true, ..read(include_str!("rules/chinese.toml")) });

fn read(rules: &str) -> LanguageRules {
    toml::from_str(rules).expect("the rules are constants")
}

/// Returns the rules for the language of `sentence`, if there are clause rules for that language.
pub(super) fn of(sentence: &str) -> Option<&'static LanguageRules> {
    match detect_read(sentence, None)? {
        Language::Chinese => Some(&CHINESE),
        Language::English => Some(&ENGLISH),
        _ => None,
    }
}

impl LanguageRules {
    /// Returns the first word of `text` that refers to something outside it. "This project" is not such a reference.
    pub(super) fn pointing<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        self.pointing.find_iter(text).find(|found| !self.own_ground.is_match(&text[found.end()..]))
    }

    /// Returns `clause` as a statement of its speaker alone: "we both like" becomes "I like".
    pub(super) fn alone(&self, clause: &str) -> String {
        if self.is_chinese { clause.to_owned() } else { grammar::alone(clause) }
    }

    /// Replaces relative dates in `text` with absolute ones.
    pub(super) fn dated(&self, text: &str, now: Option<DateTime>) -> Dated {
        if self.is_chinese { relative::chinese(text, now) } else { relative::english(text, now) }
    }

    /// Changes `clause` to the third person, or returns `None` if the change is not safe.
    pub(super) fn third_person(&self, clause: &str, speaker: Option<&str>) -> Option<String> {
        if self.is_chinese { chinese_third_person(clause, speaker) } else { grammar::third_person(clause, speaker) }
    }

    /// Returns the part of `text` that it asks to put into a file that every later session reads.
    pub(super) fn recorded<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(self.recorded.captures(text)?.name("rest")?.as_str())
    }

    /// Whether `text` applies only under a condition. What would happen otherwise is a reason, not a condition.
    pub(super) fn is_conditional(&self, text: &str) -> bool {
        let stated = self.reason.find(text).map_or(text, |found| &text[..found.start()]);
        self.conditions.is_match(text) || self.imagined.as_ref().is_some_and(|words| words.is_match(stated))
    }

    /// Returns the cues that `text` begins with, in the order in which they are tried.
    pub(super) fn cues<'t>(&'static self, text: &'t str) -> impl Iterator<Item = (&'static Cue, Captures<'t>)> {
        let candidates = self.cues.patterns.candidates(text);
        candidates.filter_map(move |(place, pattern)| Some((&self.cues.cues[place], pattern.captures(text)?)))
    }

    /// Whether `text` is about how the assistant should answer, which is the same in every project.
    pub(super) fn is_manner(&self, text: &str) -> bool {
        self.manner.is_match(text)
    }

    /// Whether `text` says explicitly that it applies from now on. Such a text is lasting even if it describes a task.
    pub(super) fn is_abiding(&self, text: &str) -> bool {
        self.abiding.is_match(text)
    }

    /// Whether `text` says that it applies more than once.
    pub(super) fn is_lasting(&self, text: &str) -> bool {
        self.lasting.is_match(text) || self.is_abiding(text)
    }

    /// Whether `text` is not a statement of the speaker.
    pub(super) fn forbids(&self, text: &str) -> bool {
        self.vetoes.is_match(text) || (self.tasks.is_match(text) && !self.lasting.is_match(text))
    }

    /// Whether `text` refers to something outside it.
    pub(super) fn points(&self, text: &str) -> bool {
        self.pointing(text).is_some()
    }

    /// Whether the words of the language are written without spaces.
    pub(super) const fn is_chinese(&self) -> bool {
        self.is_chinese
    }
}

/// Converts clauses with 我 and 我们 to clauses about `speaker` or the user, and about the team.
fn chinese_third_person(clause: &str, speaker: Option<&str>) -> Option<String> {
    let who = speaker.unwrap_or("用户");
    if ["你", "您", "自己", "我俩", "自我", "我国"].iter().any(|word| clause.contains(word)) {
        return None;
    }
    let team = clause
        .replace("咱们", "我们")
        .replace("我们团队", "我们")
        .replace("我们家", "我家")
        .replace("我们的", "团队的")
        .replace("我们", "团队");
    Some(team.replace('我', who).replace("这个项目", "项目").replace("本项目", "项目"))
}
