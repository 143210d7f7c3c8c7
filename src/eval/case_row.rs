//! The row of a conversation that was read.

use std::collections::BTreeMap;

use super::case_report::{CaseReport, Entry, Missed};
use super::measures::{KIND, MEASURES};
use super::prediction::Cited;
use super::rows::{Confusion, Formula, Found, Quoted, Row, Spent};
use super::said::{holding, label, said};
use super::score::Standing;
use super::suite::Loaded;
use transcripts::Transcript;

/// Returns the row of `report`, without its suite, repeat, money and time.
///
/// `case` is what was run, where it could be read, and `transcripts` what was said in it.
#[must_use]
pub fn case_row(report: &CaseReport, case: Option<&Loaded>, transcripts: &[Transcript]) -> Row {
    let mut row = Row {
        kind: KIND.to_owned(),
        case: report.case.clone(),
        split: report.split.clone(),
        language: Some(report.language.clone()).filter(|language| !language.is_empty()),
        format: Some(report.format.clone()).filter(|format| !format.is_empty()),
        phenomena: report.phenomena.clone(),
        about: report.about.clone(),
        error: report.error.clone(),
        ..Row::default()
    };
    let Some(counts) = &report.counts else { return row };
    row.cost = Spent::of(counts.usage);
    row.measures = MEASURES
        .iter()
        .filter_map(|measure| match measure.formula {
            Formula::Ratio(ratio) => Some((measure.name.to_owned(), ratio(counts))),
            Formula::Harmonic(_) => None,
        })
        .collect();
    row.findings = report.missed.iter().map(|gold| missed(gold, case, transcripts)).collect();
    let mut wrong: Vec<&Entry> = report.memories.iter().filter(|entry| entry.complaint().is_some()).collect();
    wrong.sort_by_key(|entry| entry.standing);
    row.findings.extend(wrong.into_iter().map(|entry| unwanted(entry, case, transcripts)));
    row.findings.sort_by_key(|found| !found.counts);
    if let Some(case) = case {
        row.confusion = types(&report.memories, case);
    }
    row.said = said(transcripts, &row.findings);
    row
}

fn missed(gold: &Missed, case: Option<&Loaded>, transcripts: &[Transcript]) -> Found {
    let whole = case.and_then(|case| case.case.memories.iter().find(|one| one.id == gold.id));
    let evidence = whole.into_iter().flat_map(|whole| &whole.evidence);
    Found {
        what: "missed".to_owned(),
        id: gold.id.clone(),
        text: gold.text.clone(),
        why: format!("of {} importance", gold.importance),
        counts: true,
        evidence: evidence.map(|quote| Quoted { message: holding(transcripts, quote), quote: quote.clone() }).collect(),
    }
}

fn unwanted(entry: &Entry, case: Option<&Loaded>, transcripts: &[Transcript]) -> Found {
    let why = entry.complaint().unwrap_or_default();
    let what = match entry.standing {
        Standing::Forbidden => "forbidden",
        Standing::Distorted => "distorted",
        Standing::Unlisted => "unlisted",
        Standing::Duplicate => "duplicate",
        Standing::Right | Standing::Optional => "detail",
    };
    Found {
        what: what.to_owned(),
        id: entry.content.clone(),
        text: entry.content.clone(),
        why: match case.map(|case| reasons(entry, case)).filter(|reasons| !reasons.is_empty()) {
            Some(reasons) => format!("{why}: {reasons}"),
            None => why,
        },
        counts: !matches!(entry.standing, Standing::Right | Standing::Optional),
        evidence: entry.evidence.iter().map(|cited| quoted(cited, transcripts)).collect(),
    }
}

/// Returns why an entry is forbidden, or what it distorts, in the words of the case.
fn reasons(entry: &Entry, case: &Loaded) -> String {
    let ids: Vec<&str> = entry.forbidden.iter().filter_map(|one| one.split(' ').next()).collect();
    let forbidden = case.case.forbidden.iter().filter(|one| ids.contains(&one.id.as_str()));
    let distorted = case.case.memories.iter().filter(|one| entry.distorts.contains(&one.id));
    let said: Vec<&str> = match entry.standing {
        Standing::Forbidden => forbidden.map(|one| one.why.as_str()).filter(|why| !why.is_empty()).collect(),
        Standing::Distorted => distorted.map(|one| one.text.as_str()).collect(),
        Standing::Unlisted | Standing::Duplicate | Standing::Right | Standing::Optional => Vec::new(),
    };
    said.join("; ")
}

fn quoted(cited: &Cited, transcripts: &[Transcript]) -> Quoted {
    let message = cited.messages.first().map(|id| label(transcripts, &cited.transcript, id));
    Quoted { message, quote: cited.quote.clone() }
}

/// Returns which types memories have that say something gold, beside those that they should have.
fn types(entries: &[Entry], case: &Loaded) -> Vec<Confusion> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.type_right.is_some()) {
        let golds = case.rules.golds.iter().filter(|gold| entry.golds.contains(&gold.id));
        let right: Vec<_> = golds.flat_map(|gold| &gold.types).collect();
        let expected = right.iter().find(|one| ***one == entry.memory_type).or_else(|| right.first());
        if let Some(expected) = expected {
            *counts.entry((expected.to_string(), entry.memory_type.to_string())).or_default() += 1;
        }
    }
    let each = counts.into_iter();
    each.map(|((expected, got), count)| Confusion { of: "type".to_owned(), expected, got, count }).collect()
}
