//! Compiles the regular expressions of a case.

use regex::{Regex, RegexBuilder};

use crate::case::{Case, Forbidden, ForbiddenKind, Gold, Importance, Moment};
use crate::text::{normalize, normalize_pattern};
use crate::vocabulary::MemoryType;

/// The gold and forbidden memories of a case with compiled patterns.
#[derive(Debug)]
pub struct Patterns {
    /// What should be remembered.
    pub golds: Vec<GoldPatterns>,
    pub(crate) forbidden: Vec<ForbiddenPatterns>,
}

/// A gold memory with its patterns.
#[derive(Debug)]
pub struct GoldPatterns {
    pub(crate) id: String,
    /// What should be remembered, for people.
    pub text: String,
    /// Every correct type; none: any type is correct.
    pub(crate) types: Vec<MemoryType>,
    pub(crate) importance: Importance,
    pub(crate) optional: bool,
    pub(crate) date: Option<Moment>,
    pub(crate) all: Vec<Regex>,
    none: Vec<Regex>,
    evidence: Vec<String>,
}

/// Relation of a text to a gold memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// The text states it.
    Stated,
    /// The text states it wrongly.
    Distorted,
    /// The text does not state it.
    Absent,
}

/// A forbidden memory with its patterns.
#[derive(Debug)]
pub(crate) struct ForbiddenPatterns {
    pub(crate) id: String,
    pub(crate) kind: ForbiddenKind,
    all: Vec<Regex>,
    unless: Vec<Regex>,
}

/// A place in a case, such as `m1.all[0]: `, and what is wrong there.
pub(crate) type PatternFault = (String, String);

impl Patterns {
    /// Compiles the patterns of `case`. An entry that could match nothing or everything is a fault.
    pub(crate) fn compile(case: &Case) -> Result<Self, PatternFault> {
        let mut ids = std::collections::BTreeSet::new();
        let entries = case.memories.iter().map(|gold| &gold.id).chain(case.forbidden.iter().map(|one| &one.id));
        for id in entries {
            if id.is_empty() {
                return Err(("id: ".to_owned(), "missing".to_owned()));
            }
            if !ids.insert(id) {
                return Err((format!("{id}: "), "two entries have this id".to_owned()));
            }
        }
        if case.logs.is_empty() {
            return Err(("logs: ".to_owned(), "no log is named".to_owned()));
        }
        Ok(Self {
            golds: case.memories.iter().map(GoldPatterns::new).collect::<Result<_, _>>()?,
            forbidden: case.forbidden.iter().map(ForbiddenPatterns::new).collect::<Result<_, _>>()?,
        })
    }
}

impl GoldPatterns {
    fn new(gold: &Gold) -> Result<Self, PatternFault> {
        Ok(Self {
            id: gold.id.clone(),
            text: gold.text.clone(),
            types: gold.types.clone(),
            importance: gold.importance,
            optional: gold.optional,
            all: required(&gold.id, &gold.all)?,
            none: compile(&gold.id, "none", &gold.none)?,
            date: gold.date,
            evidence: gold.evidence.iter().map(|piece| normalize(piece)).collect(),
        })
    }

    /// Compares a normalised text with this memory.
    pub(crate) fn compare(&self, text: &str) -> Match {
        if !self.all.iter().all(|pattern| pattern.is_match(text)) {
            Match::Absent
        } else if self.none.iter().any(|pattern| pattern.is_match(text)) {
            Match::Distorted
        } else {
            Match::Stated
        }
    }

    /// Returns whether a normalised text contains a part of this memory.
    pub(crate) fn touches(&self, text: &str) -> bool {
        self.all.iter().any(|pattern| pattern.is_match(text))
    }

    /// Returns whether a normalised message contains a part of the evidence.
    pub(crate) fn rests_on(&self, message: &str) -> bool {
        self.evidence.iter().any(|piece| message.contains(piece.as_str()))
    }

    /// Returns the parts of the evidence that stand in none of the normalised `messages`.
    pub(crate) fn missing_evidence<'a>(&'a self, messages: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let found = |piece: &String| messages.iter().any(|message| message.contains(piece.as_str()));
        self.evidence.iter().filter(move |piece| !found(piece)).map(String::as_str)
    }

    pub(crate) const fn has_evidence(&self) -> bool {
        !self.evidence.is_empty()
    }
}

impl ForbiddenPatterns {
    fn new(one: &Forbidden) -> Result<Self, PatternFault> {
        Ok(Self {
            id: one.id.clone(),
            kind: one.kind,
            all: required(&one.id, &one.all)?,
            unless: compile(&one.id, "unless", &one.unless)?,
        })
    }

    /// Returns whether a normalised text states what must not be kept.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.all.iter().all(|pattern| pattern.is_match(text))
            && !self.unless.iter().any(|pattern| pattern.is_match(text))
    }
}

fn required(id: &str, patterns: &[String]) -> Result<Vec<Regex>, PatternFault> {
    if patterns.is_empty() {
        return Err((format!("{id}.all: "), "no pattern is given, so everything would match".to_owned()));
    }
    compile(id, "all", patterns)
}

/// Compiles `patterns` of `field` of the entry `id`.
pub(crate) fn compile(id: &str, field: &str, patterns: &[String]) -> Result<Vec<Regex>, PatternFault> {
    let compile = |(at, pattern): (usize, &String)| {
        let place = format!("{id}.{field}[{at}]: ");
        let regex = RegexBuilder::new(&normalize_pattern(pattern)).case_insensitive(true).multi_line(true).build();
        let regex =
            regex.map_err(|error| (place.clone(), format!("{pattern:?} is no pattern: {}", last_line(&error))))?;
        if regex.is_match("") {
            return Err((place, format!("{pattern:?} matches everything")));
        }
        Ok(regex)
    };
    patterns.iter().enumerate().map(compile).collect()
}

/// The regex parser draws the place over several lines and states the reason on the last.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
}
