//! What a suite came to, as one object that a program can read.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case_report::{CaseReport, Entry};
use super::counts::Counts;
use super::interval::{Interval, intervals};
use super::measures::MEASURES;
use super::prediction::Cited;
use super::score::Standing;

/// What a suite came to.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What was measured: the model, the rules, or a control.
    pub extractor: String,
    /// All cases.
    pub overall: Group,
    /// The cases of each split.
    pub splits: Vec<Group>,
    /// The cases of each language.
    pub languages: Vec<Group>,
    /// The cases of each format.
    pub formats: Vec<Group>,
    /// The cases of each phenomenon; a case belongs to several.
    pub phenomena: Vec<Group>,
    /// Each case, in the order in which they were found.
    pub cases: Vec<CaseReport>,
    /// Dollars for all, where the price is known.
    pub cost: Option<f64>,
}

/// Some cases together, and what was counted in them.
#[derive(Debug, Serialize)]
pub struct Group<C = Counts> {
    /// What they have in common.
    pub name: String,
    /// What was counted.
    pub counts: C,
    /// What follows from it, in the order in which reports tell the measures.
    pub measures: Vec<Measured>,
}

/// A measure of some cases.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// Its name.
    pub name: &'static str,
    /// Its value; `None` where there is nothing to tell of.
    pub value: Option<f64>,
    /// 95 % interval over cases, where one was drawn.
    pub interval: Option<Interval>,
}

/// A memory that no gold memory matches and nobody has judged.
#[derive(Debug, Serialize)]
pub struct Unlisted<'a> {
    /// `split/id`.
    pub case: &'a str,
    /// Folder of the case, where its `judged.json` belongs.
    pub folder: &'a std::path::Path,
    /// What it says.
    pub content: &'a str,
    /// What it rests on.
    pub evidence: &'a [Cited],
}

impl Report {
    /// Puts the results of `extractor` together.
    #[must_use]
    pub fn new(extractor: String, cases: Vec<CaseReport>, cost: Option<f64>) -> Self {
        let by = |names: fn(&CaseReport) -> Vec<String>| -> Vec<Group> {
            let mut groups: BTreeMap<String, Vec<&Counts>> = BTreeMap::new();
            for case in &cases {
                for name in names(case) {
                    groups.entry(name).or_default().extend(&case.counts);
                }
            }
            groups
                .into_iter()
                .filter(|(_, counts)| !counts.is_empty())
                .map(|(name, counts)| Group::of(name, &counts))
                .collect()
        };
        let all: Vec<&Counts> = cases.iter().filter_map(|case| case.counts.as_ref()).collect();
        Self {
            extractor,
            overall: Group::of("all".to_owned(), &all),
            splits: by(|case| vec![case.split.clone()]),
            languages: by(|case| vec![case.language.clone()]),
            formats: by(|case| vec![case.format.clone()]),
            phenomena: by(|case| case.phenomena.clone()),
            cost,
            cases,
        }
    }

    /// Returns the memories that no gold memory matches and nobody has judged, case by case.
    pub fn unlisted(&self) -> impl Iterator<Item = Unlisted<'_>> {
        self.cases.iter().flat_map(|case| {
            let open = |entry: &&Entry| entry.standing == Standing::Unlisted && entry.verdict.is_none();
            case.memories.iter().filter(open).map(|entry| Unlisted {
                case: &case.case,
                folder: &case.folder,
                content: &entry.content,
                evidence: &entry.evidence,
            })
        })
    }

    /// Returns the cases that could not be run.
    pub fn failed(&self) -> impl Iterator<Item = (&CaseReport, &str)> {
        self.cases.iter().filter_map(|case| Some((case, case.error.as_deref()?)))
    }
}

impl Group {
    fn of(name: String, cases: &[&Counts]) -> Self {
        let counts = Counts::sum(cases.iter().copied());
        let formulas: Vec<_> = MEASURES.iter().map(|measure| |counts: &Counts| measure.of(counts)).collect();
        let measured = MEASURES.iter().zip(intervals(cases, &formulas)).map(|(measure, interval)| Measured {
            name: measure.name,
            value: measure.of(&counts),
            interval,
        });
        Self { name, measures: measured.collect(), counts }
    }

    /// Returns the measure called `name`.
    #[must_use]
    pub fn measure(&self, name: &str) -> Option<&Measured> {
        self.measures.iter().find(|measured| measured.name == name)
    }
}
