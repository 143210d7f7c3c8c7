//! Cue tables, one file for each language.
//!
//! Tables of languages without clause rules also have `veto`, `manner` and cues of explicit statements.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::memory::MemoryType;
use crate::text::language::Language;
use crate::text::pattern_set::{AtStart, PatternSet, Patterns};

/// The patterns of a language.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Sentences that are not serious and lasting statements of their speaker.
    #[serde(default)]
    pub(super) veto: Patterns,
    #[serde(default)]
    cues: Cues,
    /// Sentences that do not belong to a kind, although one of its cues matches.
    #[serde(default)]
    exceptions: Cues,
    /// Sentences about how the assistant should answer.
    #[serde(default)]
    pub(super) manner: Patterns,
    /// Sentences that retract something said before.
    pub(super) amends: Patterns,
    /// Messages that begin by retracting the previous message, whatever its content.
    pub(super) withdraws: Patterns,
    /// Sentences that change the topic.
    pub(super) shifts: Patterns,
    /// Sentences whose verb says that a day was changed.
    pub(super) moves: Patterns,
    /// Sentences that begin with a correction of what was just said.
    pub(super) corrects: Patterns,
    /// Sentences that may state a new value for something that was different before.
    pub(super) changes: Patterns,
    /// Sentences that say that something is not true, or no longer true.
    pub(super) ends: Patterns,
    /// Sentences with which a game or a story begins.
    pub(super) plays: Patterns,
    /// Sentences that are followed by somebody else's words or invented words.
    pub(super) lends: Patterns,
    /// Messages that continue somebody else's words or invented words.
    pub(super) goes: Patterns,
    /// Sentences after which the person speaks for themselves again.
    pub(super) earnest: Patterns,
    /// Meaningless words at the start of a sentence.
    lead: AtStart,
}

static ENGLISH: LazyLock<Table> = LazyLock::new(|| read(include_str!("cues/english.toml")));
static CHINESE: LazyLock<Table> = LazyLock::new(|| read(include_str!("cues/chinese.toml")));
static SPANISH: LazyLock<Table> = LazyLock::new(|| read(include_str!("cues/spanish.toml")));
static GERMAN: LazyLock<Table> = LazyLock::new(|| read(include_str!("cues/german.toml")));

fn read(table: &str) -> Table {
    toml::from_str(table).expect("the tables are constants")
}

impl Table {
    /// Returns the table of a language.
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::Chinese => &CHINESE,
            Language::Spanish => &SPANISH,
            Language::German => &GERMAN,
            _ => &ENGLISH,
        }
    }

    /// Returns the kind of the first cue in `sentence`.
    pub(super) fn cue(&self, sentence: &str) -> Option<Kind> {
        let mut found = self.cues.matching(sentence).peekable();
        found.peek()?;
        let not: Vec<Kind> = self.exceptions.matching(sentence).collect();
        found.find(|kind| !not.contains(kind))
    }

    /// Returns `sentence` without meaningless words at its start.
    pub(super) fn without_lead<'t>(&self, sentence: &'t str) -> &'t str {
        let rest = &sentence[self.lead.find(sentence).map_or(0, |found| found.end())..];
        if rest.is_empty() { sentence } else { rest }
    }
}

/// Patterns of kinds of statements, in the order in which they are tried.
#[derive(Default, Deserialize)]
#[serde(from = "Vec<(Kind, String)>")]
struct Cues {
    kinds: Vec<Kind>,
    patterns: PatternSet,
}

impl From<Vec<(Kind, String)>> for Cues {
    fn from(cues: Vec<(Kind, String)>) -> Self {
        let (kinds, patterns): (_, Vec<String>) =
            cues.into_iter().map(|(kind, text)| (kind, format!("(?i){text}"))).unzip();
        Self { kinds, patterns: PatternSet::new(patterns) }
    }
}

impl Cues {
    fn matching(&self, sentence: &str) -> impl Iterator<Item = Kind> {
        let candidates = self.patterns.candidates(sentence);
        candidates.filter(move |(_, pattern)| pattern.is_match(sentence)).map(|(at, _)| self.kinds[at])
    }
}

/// The subject of an explicit statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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

impl Kind {
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
    fn every_table_is_read_and_no_pattern_matches_nothing() {
        for language in [Language::English, Language::Chinese, Language::Spanish, Language::German] {
            let table = Table::of(language);
            let sets = [
                &table.veto,
                &table.manner,
                &table.amends,
                &table.withdraws,
                &table.shifts,
                &table.moves,
                &table.corrects,
                &table.changes,
                &table.ends,
                &table.plays,
                &table.lends,
                &table.goes,
                &table.earnest,
            ];
            assert!(sets.iter().all(|patterns| !patterns.is_match("")), "{language:?}");
            assert!(table.cue("").is_none() && table.lead.find("").is_none(), "{language:?}");
        }
    }

    #[test]
    fn an_unknown_section_is_a_fault() {
        assert!(toml::from_str::<Table>(&format!("{}\nveot = []", include_str!("cues/chinese.toml"))).is_err());
    }
}
