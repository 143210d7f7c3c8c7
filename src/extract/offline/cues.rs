//! Cue tables, one file for each language.
//!
//! A table consists of sections of patterns, one per line:
//!
//! - `[veto]`: sentences that are never kept;
//! - `[amends]`: sentences that retract something said before;
//! - `[withdraws]`: the beginning of a message that retracts the previous message;
//! - `[shifts]`: changes of the topic;
//! - `[lead]`: meaningless words at the start of a sentence;
//! - `[moves]`, `[corrects]`, `[changes]`: new values for a day or a number;
//! - `[ends]`: statements that something is no longer true;
//! - `[plays]`, `[lends]`, `[goes]`, `[earnest]`: the beginning, the continuation and the end of words that a person
//!   speaks in a role or for somebody else.
//!
//! Tables of languages without clause rules also have `[manner]`, words about how the assistant should answer, and a
//! section for each kind of explicit statement. A line that begins with `not` in such a section excludes sentences.
//!
//! `#` begins a comment. Patterns ignore case, and `@name` in a pattern is replaced with the words that `name = …`
//! defines in the same table.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::memory::MemoryType;
use crate::text::language::Language;

/// The patterns of a language.
pub(super) struct Table {
    vetoes: RegexSet,
    cues: RegexSet,
    kinds: Vec<Kind>,
    exceptions: RegexSet,
    excepted: Vec<Kind>,
    manner: RegexSet,
    amends: RegexSet,
    withdraws: RegexSet,
    shifts: RegexSet,
    moves: RegexSet,
    corrects: RegexSet,
    changes: RegexSet,
    ends: RegexSet,
    plays: RegexSet,
    lends: RegexSet,
    goes: RegexSet,
    earnest: RegexSet,
    lead: Regex,
}

static ENGLISH: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("cues/english.txt")));
static CHINESE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("cues/chinese.txt")));
static SPANISH: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("cues/spanish.txt")));
static GERMAN: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("cues/german.txt")));

/// Returns the table of `tongue`, which is parsed only once.
pub(super) fn of(tongue: Language) -> &'static Table {
    match tongue {
        Language::Chinese => &CHINESE,
        Language::Spanish => &SPANISH,
        Language::German => &GERMAN,
        _ => &ENGLISH,
    }
}

impl Table {
    /// Returns the table of `tongue`.
    pub(super) fn of(tongue: Language) -> &'static Self {
        of(tongue)
    }

    fn read(text: &str) -> Self {
        let sections = sections(text);
        let set = |name: &str| {
            let lines = sections.iter().filter(|line| line.section == name);
            compiled(lines.map(|line| &line.pattern))
        };
        let of_kinds = |is_exception: bool| {
            let lines = sections.iter().filter(move |line| line.is_exception == is_exception);
            lines.filter_map(|line| Some((Kind::named(&line.section)?, &line.pattern))).unzip()
        };
        let (kinds, cues): (Vec<Kind>, Vec<&String>) = of_kinds(false);
        let (excepted, exceptions): (Vec<Kind>, Vec<&String>) = of_kinds(true);
        let lead: Vec<&str> =
            sections.iter().filter(|line| line.section == "lead").map(|line| line.pattern.as_str()).collect();
        Self {
            vetoes: set("veto"),
            cues: compiled(cues),
            kinds,
            exceptions: compiled(exceptions),
            excepted,
            manner: set("manner"),
            amends: set("amends"),
            withdraws: set("withdraws"),
            shifts: set("shifts"),
            moves: set("moves"),
            corrects: set("corrects"),
            changes: set("changes"),
            ends: set("ends"),
            plays: set("plays"),
            lends: set("lends"),
            goes: set("goes"),
            earnest: set("earnest"),
            lead: Regex::new(&format!("^(?:{})", lead.join("|"))).expect("the tables are constants"),
        }
    }

    /// Returns the kind of the first cue in `sentence`.
    pub(super) fn cue(&self, sentence: &str) -> Option<Kind> {
        let found = self.cues.matches(sentence);
        if !found.matched_any() {
            return None;
        }
        let not = self.exceptions.matches(sentence);
        let is_allowed = |kind: Kind| !not.iter().any(|at| self.excepted[at] == kind);
        found.iter().find(|&at| is_allowed(self.kinds[at])).map(|at| self.kinds[at])
    }

    /// Whether `sentence` is not a serious and lasting statement of its speaker.
    pub(super) fn forbids(&self, sentence: &str) -> bool {
        self.vetoes.is_match(sentence)
    }

    /// Whether `sentence` is about how the assistant should answer.
    pub(super) fn is_manner(&self, sentence: &str) -> bool {
        self.manner.is_match(sentence)
    }

    /// Whether `sentence` retracts something said before.
    pub(super) fn amends(&self, sentence: &str) -> bool {
        self.amends.is_match(sentence)
    }

    /// Whether `message` begins by retracting the previous message, whatever its content.
    pub(super) fn withdraws(&self, message: &str) -> bool {
        self.withdraws.is_match(message)
    }

    /// Whether `sentence` changes the topic.
    pub(super) fn shifts(&self, sentence: &str) -> bool {
        self.shifts.is_match(sentence)
    }

    /// Whether the verb of `sentence` says that a day was changed.
    pub(super) fn moves(&self, sentence: &str) -> bool {
        self.moves.is_match(sentence)
    }

    /// Whether `sentence` begins with a correction of what was just said.
    pub(super) fn corrects(&self, sentence: &str) -> bool {
        self.corrects.is_match(sentence)
    }

    /// Whether `sentence` may state a new value for something that was different before.
    pub(super) fn changes(&self, sentence: &str) -> bool {
        self.changes.is_match(sentence)
    }

    /// Whether `sentence` says that something is not true, or no longer true.
    pub(super) fn ends(&self, sentence: &str) -> bool {
        self.ends.is_match(sentence)
    }

    /// Whether a game or a story begins with `sentence`.
    pub(super) fn plays(&self, sentence: &str) -> bool {
        self.plays.is_match(sentence)
    }

    /// Whether `sentence` is followed by somebody else's words or invented words.
    pub(super) fn lends(&self, sentence: &str) -> bool {
        self.lends.is_match(sentence)
    }

    /// Whether `message` continues somebody else's words or invented words.
    pub(super) fn goes_on(&self, message: &str) -> bool {
        self.goes.is_match(message)
    }

    /// Whether the person speaks for themselves again from `sentence` on.
    pub(super) fn is_earnest(&self, sentence: &str) -> bool {
        self.earnest.is_match(sentence)
    }

    /// Returns `sentence` without the leading words that have no meaning.
    pub(super) fn without_lead<'t>(&self, sentence: &'t str) -> &'t str {
        let rest = &sentence[self.lead.find(sentence).map_or(0, |found| found.end())..];
        if rest.is_empty() { sentence } else { rest }
    }
}

fn compiled<'t>(patterns: impl IntoIterator<Item = &'t String>) -> RegexSet {
    RegexSet::new(patterns).expect("the tables are constants")
}

/// A pattern of a table.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    section: String,
    is_exception: bool,
    pattern: String,
}

/// Returns the patterns of `text` in order.
fn sections(text: &str) -> Vec<Line> {
    let mut section = String::new();
    let mut words: Vec<(String, String)> = Vec::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')).filter(|name| is_name(name))
        {
            name.clone_into(&mut section);
        } else if let Some((name, value)) = line.split_once(" = ").filter(|(name, _)| is_name(name)) {
            words.push((format!("@{name}"), format!("(?:{})", filled(value, &words))));
        } else {
            let exception = line.strip_prefix("not ");
            let pattern = format!("(?i){}", filled(exception.unwrap_or(line), &words));
            found.push(Line { section: section.clone(), is_exception: exception.is_some(), pattern });
        }
    }
    found
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn filled(pattern: &str, words: &[(String, String)]) -> String {
    // Longer names are replaced first, so that `@months` is not taken for `@month`.
    let mut words: Vec<_> = words.iter().collect();
    words.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    words.iter().fold(pattern.to_owned(), |pattern, (name, value)| pattern.replace(name.as_str(), value))
}

/// The subject of an explicit statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The statement says what must always or never be done.
    Rule,
    /// The statement says what must be remembered.
    Note,
    /// The statement says what was decided or agreed.
    Decision,
    /// The statement says who the speaker is, where they live and work, or what they must not eat.
    Own,
    /// The statement says what somebody likes or dislikes.
    Taste,
}

/// How statements of a kind are stored.
pub(super) struct Shelf {
    pub(super) memory_type: MemoryType,
    pub(super) category: &'static str,
    pub(super) importance: f64,
    /// Whether the statement is about its speaker.
    pub(super) is_personal: bool,
}

/// Names of the sections of a table.
const NAMES: &[(&str, Kind)] = &[
    ("rule", Kind::Rule),
    ("note", Kind::Note),
    ("decision", Kind::Decision),
    ("own", Kind::Own),
    ("taste", Kind::Taste),
];

impl Kind {
    /// Returns the kind whose section has this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
    }

    /// Returns how statements of this kind are stored.
    pub(super) fn shelf(self) -> Shelf {
        let shelf =
            |memory_type, category, importance, is_personal| Shelf { memory_type, category, importance, is_personal };
        match self {
            Self::Rule => shelf(MemoryType::Procedural, "convention", 0.8, false),
            Self::Note => shelf(MemoryType::Semantic, "note", 0.8, false),
            Self::Decision => shelf(MemoryType::Semantic, "decision", 0.8, false),
            Self::Own => shelf(MemoryType::Semantic, "fact", 0.7, true),
            Self::Taste => shelf(MemoryType::Semantic, "preference", 0.7, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_compiles_and_each_of_its_sections_is_known() {
        for text in [
            include_str!("cues/english.txt"),
            include_str!("cues/chinese.txt"),
            include_str!("cues/spanish.txt"),
            include_str!("cues/german.txt"),
        ] {
            for Line { section, pattern, .. } in sections(text) {
                let known = [
                    "veto",
                    "manner",
                    "amends",
                    "withdraws",
                    "lead",
                    "shifts",
                    "moves",
                    "corrects",
                    "changes",
                    "ends",
                    "plays",
                    "lends",
                    "goes",
                    "earnest",
                ]
                .contains(&section.as_str());
                assert!(known || Kind::named(&section).is_some(), "[{section}]");
                assert!(Regex::new(&pattern).is_ok_and(|pattern| !pattern.is_match("")), "[{section}] {pattern}");
            }
        }
    }

    #[test]
    fn names_stand_for_words_and_comments_for_nothing() {
        let table = "# animals\npet = cat|dog\npets = @pets?\n[people]\nmy @pet\n";
        let pattern = "(?i)my (?:cat|dog)".to_owned();
        assert_eq!(sections(table), [Line { section: "people".into(), is_exception: false, pattern }]);
    }
}
