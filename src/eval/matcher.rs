//! The regular expressions of a case, compiled.

use std::path::Path;

use regex::{Regex, RegexBuilder};

use super::EvalError;
use super::case::{Case, Forbidden, ForbiddenKind, Gold, Importance};
use super::consolidation::Moment;
use super::text::{normal, normal_pattern};
use crate::memory::MemoryType;

/// A case as it is scored: every pattern compiled.
#[derive(Debug)]
pub struct Rules {
    /// What should be remembered.
    pub golds: Vec<GoldRule>,
    /// What must not be.
    pub forbidden: Vec<ForbiddenRule>,
}

/// A gold memory with its patterns.
#[derive(Debug)]
pub struct GoldRule {
    /// Its id in the case.
    pub id: String,
    /// What should be remembered, for people.
    pub text: String,
    /// Every type that is right; none: any is.
    pub types: Vec<MemoryType>,
    /// How much it matters.
    pub importance: Importance,
    /// Whether it may be left out.
    pub optional: bool,
    /// The day, month or instant that a memory must name, where one matters.
    pub date: Option<Moment>,
    pub(super) all: Vec<Regex>,
    none: Vec<Regex>,
    snippets: Vec<String>,
}

/// How a text stands to a gold memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It says it.
    Yes,
    /// It says it wrongly.
    Distorted,
    /// It does not say it.
    No,
}

/// Something that must not be remembered, with its patterns.
#[derive(Debug)]
pub struct ForbiddenRule {
    /// Its id in the case.
    pub id: String,
    /// Why it must not be kept.
    pub kind: ForbiddenKind,
    /// For people.
    pub why: String,
    all: Vec<Regex>,
    unless: Vec<Regex>,
}

impl Rules {
    /// Compiles the patterns of `case`, which stands in `file`.
    ///
    /// # Errors
    /// [`EvalError::Form`] naming file, entry and field of a pattern that is none, or of an entry that can match nothing
    /// or everything.
    pub fn new(case: &Case, file: &Path) -> Result<Self, EvalError> {
        if let Some(gold) = case.memories.iter().find(|gold| gold.types.is_empty()) {
            let (place, reason) = (format!("{}.type: ", gold.id), "no type is named".to_owned());
            return Err(EvalError::Form { path: file.to_owned(), place, reason });
        }
        Self::of(case, file)
    }

    /// Compiles the patterns of a case whose memories may be of any type where it names none.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn of(case: &Case, file: &Path) -> Result<Self, EvalError> {
        let fail = |place: String, reason: String| EvalError::Form { path: file.to_owned(), place, reason };
        let mut ids = std::collections::BTreeSet::new();
        for id in case.memories.iter().map(|gold| &gold.id).chain(case.forbidden.iter().map(|one| &one.id)) {
            if !ids.insert(id) {
                return Err(fail(format!("{id}: "), "two entries have this id".to_owned()));
            }
        }
        if case.logs.is_empty() {
            return Err(fail("logs: ".to_owned(), "no log is named".to_owned()));
        }
        let golds = case.memories.iter().map(|gold| GoldRule::new(gold).map_err(|(place, why)| fail(place, why)));
        let forbidden =
            case.forbidden.iter().map(|one| ForbiddenRule::new(one).map_err(|(place, why)| fail(place, why)));
        Ok(Self { golds: golds.collect::<Result<_, _>>()?, forbidden: forbidden.collect::<Result<_, _>>()? })
    }
}

impl GoldRule {
    fn new(gold: &Gold) -> Result<Self, (String, String)> {
        Ok(Self {
            id: gold.id.clone(),
            text: gold.text.clone(),
            types: gold.types.clone(),
            importance: gold.importance,
            optional: gold.optional,
            all: required(&gold.id, &gold.all)?,
            none: compiled(&gold.id, "none", &gold.none)?,
            date: gold.date,
            snippets: gold.evidence.iter().map(|snippet| normal(snippet)).collect(),
        })
    }

    /// Returns how `text`, which is normalised, stands to this memory.
    pub(super) fn matches(&self, text: &str) -> Match {
        if !self.all.iter().all(|pattern| pattern.is_match(text)) {
            Match::No
        } else if self.none.iter().any(|pattern| pattern.is_match(text)) {
            Match::Distorted
        } else {
            Match::Yes
        }
    }

    /// Whether a part of it stands in `text`, which is normalised.
    pub(super) fn touches(&self, text: &str) -> bool {
        self.all.iter().any(|pattern| pattern.is_match(text))
    }

    /// Whether `message`, which is normalised, holds a piece of its evidence.
    pub(super) fn rests_on(&self, message: &str) -> bool {
        self.snippets.iter().any(|snippet| message.contains(snippet.as_str()))
    }

    /// Returns the pieces of evidence that stand in none of `messages`.
    pub(super) fn unfound<'a>(&'a self, messages: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let found = |snippet: &String| messages.iter().any(|message| message.contains(snippet.as_str()));
        self.snippets.iter().filter(move |snippet| !found(snippet)).map(String::as_str)
    }

    /// Whether its case tells on what it rests.
    pub(super) fn has_evidence(&self) -> bool {
        !self.snippets.is_empty()
    }
}

impl ForbiddenRule {
    fn new(one: &Forbidden) -> Result<Self, (String, String)> {
        Ok(Self {
            id: one.id.clone(),
            kind: one.kind,
            why: one.why.clone(),
            all: required(&one.id, &one.all)?,
            unless: compiled(&one.id, "unless", &one.unless)?,
        })
    }

    /// Whether `text`, which is normalised, says what must not be kept.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.all.iter().all(|pattern| pattern.is_match(text))
            && !self.unless.iter().any(|pattern| pattern.is_match(text))
    }
}

fn required(id: &str, patterns: &[String]) -> Result<Vec<Regex>, (String, String)> {
    if patterns.is_empty() {
        return Err((format!("{id}.all: "), "no pattern is given, so everything would match".to_owned()));
    }
    compiled(id, "all", patterns)
}

/// Compiles `patterns` as they stand in `field` of the entry `id`; else tells the place and what is wrong there.
pub(super) fn compiled(id: &str, field: &str, patterns: &[String]) -> Result<Vec<Regex>, (String, String)> {
    let compile = |(at, pattern): (usize, &String)| {
        let place = format!("{id}.{field}[{at}]: ");
        let regex = RegexBuilder::new(&normal_pattern(pattern)).case_insensitive(true).multi_line(true).build();
        let regex =
            regex.map_err(|error| (place.clone(), format!("{pattern:?} is no pattern: {}", last_line(&error))))?;
        if regex.is_match("") {
            return Err((place, format!("{pattern:?} matches everything")));
        }
        Ok(regex)
    };
    patterns.iter().enumerate().map(compile).collect()
}

/// The parser draws the place over several lines and tells the reason on the last.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
}
