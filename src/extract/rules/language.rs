//! What a language brings: its cues, its vetoes, and how its sentences are turned to the third person.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use regex::{Match, Regex, RegexSet};

use super::{chinese, english};
use crate::text::language::{Language as NaturalLanguage, detect_read};
use crate::text::relative::Dated;

/// What a clause does, and with that how it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Likes `v`, perhaps `over` something.
    Preference,
    /// Dislikes `v`.
    Dislike,
    /// Asks for `v` in general; only where `v` is known by name.
    Wish,
    /// Uses `v`; only where `v` is known by name.
    Habit,
    /// Decided for `v`, perhaps instead of `old`.
    Decision,
    /// Decided for `v`, in words that also serve for the moment; only where `v` is known by name.
    NamedDecision,
    /// Went from `old` to `v`.
    Switch,
    /// The project has `v`, for the attribute that `what` names or `v` belongs to.
    ProjectFact,
    /// States `v` about the project in words that leave no doubt that it lasts; nothing need be known by name.
    Declared,
    /// The speaker's own attribute, under this key.
    SelfFact(&'static str),
    /// Did `v` on a day that is named; only in conversations among people.
    Event,
    /// A standing instruction: `do`, perhaps `when`.
    Standing,
    /// Asks to remember `rest`.
    Remember,
    /// Mentions `rest`; kept only where `rest` is something by itself.
    Mention,
}

/// How a clause is recognised.
#[derive(Debug)]
pub(super) struct Cue {
    /// Pattern from the start of the clause, with the named groups that the act reads.
    pub(super) pattern: &'static str,
    /// What it then does.
    pub(super) act: Act,
    /// How sure that is, 0–1.
    pub(super) confidence: f64,
}

/// Returns a cue; `confidence` is in hundredths.
pub(super) const fn cue(act: Act, confidence: u8, pattern: &'static str) -> Cue {
    Cue { pattern, act, confidence: confidence as f64 / 100.0 }
}

/// Everything that the rules know of one language.
pub(super) struct Language {
    /// Patterns; a sentence that any of them matches is never kept.
    pub(super) vetoes: &'static [&'static str],
    /// Pattern of a request that is kept only where `lasting` stands in it too.
    pub(super) tasks: &'static str,
    /// Pattern of words that make a request a lasting one.
    pub(super) lasting: &'static str,
    /// Patterns that only a standing instruction may match.
    pub(super) conditions: &'static [&'static str],
    /// Words before a statement that say nothing.
    pub(super) lead_in: &'static str,
    /// Where one clause ends and the next, with its own subject, begins; the group `next` is the latter's start.
    pub(super) clause_break: &'static str,
    /// Cues; the first that matches decides.
    pub(super) cues: &'static [Cue],
    /// Patterns of the words that cut a captured value short.
    pub(super) value_end: &'static str,
    /// Patterns of a value that says nothing by itself.
    pub(super) empty_value: &'static str,
    /// Pattern of what the facts of a project are told of.
    pub(super) subject: &'static str,
    /// Pattern of what may follow such a word without pointing outside the project.
    pub(super) own_ground: &'static str,
    /// Pattern of words that point outside the sentence.
    pub(super) pointing: &'static str,
    /// Pattern of a clause about the work on a project.
    pub(super) about_project: &'static str,
    /// Parts of a project that have attributes of their own, each with its name in a key.
    pub(super) parts: &'static [(&'static str, &'static str)],
    /// Pattern of a problem statement.
    pub(super) problem: &'static str,
    /// Pattern of a confirmed fix, with the fix as `do` where it is named.
    pub(super) fixed: &'static str,
    /// Pattern of a failed attempt, with what was tried as `do`.
    pub(super) failed: &'static str,
    /// Pattern of an assistant's proposal, with what it proposes as `v`.
    pub(super) proposal: &'static str,
    /// Turns "we" and "our" of a household to "I" and "my".
    pub(super) alone: fn(&str) -> String,
    /// Puts a sentence about a failure in the past tense, where that is safe.
    pub(super) past: fn(&str) -> Option<String>,
    /// Pattern of a plain yes.
    pub(super) yes: &'static str,
    /// Puts absolute dates in place of relative ones.
    pub(super) dates: fn(&str, Option<DateTime>) -> Dated,
    /// Turns a clause to the third person; `None` where that is not safe.
    pub(super) third_person: fn(&str, Option<&str>) -> Option<String>,
    /// How things are said.
    pub(super) phrases: Phrases,
}

/// Sentence frames of a language; `{who}` and `{x}` are filled in.
pub(super) struct Phrases {
    pub(super) user: &'static str,
    pub(super) said: &'static str,
    pub(super) standing: &'static str,
    pub(super) wish: &'static str,
    pub(super) decided: &'static str,
    pub(super) agreed: &'static str,
    pub(super) solved: &'static str,
    pub(super) solved_by: &'static str,
    pub(super) solved_with: &'static str,
    pub(super) error: &'static str,
    pub(super) problem: &'static str,
    pub(super) unwanted: &'static str,
    pub(super) over: &'static str,
    pub(super) called: &'static str,
    pub(super) assistant: &'static str,
    pub(super) tried: &'static str,
    pub(super) stop: &'static str,
}

/// A language with its patterns compiled.
pub(super) struct Compiled {
    pub(super) language: &'static Language,
    pub(super) vetoes: RegexSet,
    tasks: Regex,
    lasting: Regex,
    pub(super) conditions: RegexSet,
    pub(super) lead_in: Regex,
    pub(super) clause_break: Regex,
    pub(super) cues: Vec<(Regex, &'static Cue)>,
    pub(super) value_end: Regex,
    pub(super) empty_value: Regex,
    own_ground: Regex,
    pub(super) subject: Regex,
    pointing: Regex,
    pub(super) about_project: Regex,
    pub(super) parts: Vec<(Regex, &'static str)>,
    pub(super) problem: Regex,
    pub(super) fixed: Regex,
    pub(super) failed: Regex,
    pub(super) proposal: Regex,
    pub(super) yes: Regex,
}

static ENGLISH: LazyLock<Compiled> = LazyLock::new(|| Compiled::new(&english::ENGLISH));
static CHINESE: LazyLock<Compiled> = LazyLock::new(|| Compiled::new(&chinese::CHINESE));

/// Returns the language of `sentence`, as far as it is one whose clauses are read.
pub(super) fn of(sentence: &str) -> Option<&'static Compiled> {
    match detect_read(sentence, None)? {
        NaturalLanguage::Chinese => Some(&CHINESE),
        NaturalLanguage::English => Some(&ENGLISH),
        _ => None,
    }
}

impl Compiled {
    fn new(language: &'static Language) -> Self {
        let set = |patterns: &[&str]| {
            RegexSet::new(patterns.iter().map(|pattern| format!("(?i){pattern}"))).expect("the patterns are constants")
        };
        Self {
            vetoes: set(language.vetoes),
            tasks: anywhere(language.tasks),
            lasting: anywhere(language.lasting),
            conditions: set(language.conditions),
            lead_in: anchored(language.lead_in),
            clause_break: anywhere(language.clause_break),
            cues: language.cues.iter().map(|cue| (anchored(cue.pattern), cue)).collect(),
            value_end: anywhere(language.value_end),
            empty_value: anchored(language.empty_value),
            own_ground: anywhere(language.own_ground),
            subject: anywhere(language.subject),
            pointing: anywhere(language.pointing),
            about_project: anywhere(language.about_project),
            parts: language.parts.iter().map(|&(pattern, name)| (anywhere(pattern), name)).collect(),
            problem: anywhere(language.problem),
            fixed: anywhere(language.fixed),
            failed: anchored(language.failed),
            proposal: anywhere(language.proposal),
            yes: anchored(language.yes),
            language,
        }
    }

    /// Returns the first word of `text` that points outside of it; "this project" does not.
    pub(super) fn pointing<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        self.pointing.find_iter(text).find(|found| !self.own_ground.is_match(&text[found.end()..]))
    }

    /// Returns `clause` as its speaker alone would say it: what "we both like", "I like".
    pub(super) fn alone(&self, clause: &str) -> String {
        (self.language.alone)(clause)
    }

    /// Whether `text` is none of the speaker's own statements.
    pub(super) fn forbids(&self, text: &str) -> bool {
        self.vetoes.is_match(text) || (self.tasks.is_match(text) && !self.lasting.is_match(text))
    }

    /// Whether `text` points outside of itself.
    pub(super) fn points(&self, text: &str) -> bool {
        self.pointing(text).is_some()
    }
}

/// Compiles `pattern` for the start of a text, in any capitals; `(?-i:…)` makes capitals count.
fn anchored(pattern: &str) -> Regex {
    anywhere(&format!("^(?:{pattern})"))
}

fn anywhere(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("the patterns are constants")
}
