//! Cases that changed either way, and what came and went in them.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::eval::rows::{Better, Found, Results, Row};
use crate::eval::tally::{CaseTally, Tally};

/// How close two values are the same.
const SAME: f64 = 1e-12;

/// A case that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flip {
    /// The case.
    pub case: String,
    /// Which way.
    pub way: Way,
    /// The measures that changed in it.
    pub measures: Vec<Moved>,
    /// What was wrong in the first run and is not in the second.
    pub mended: Vec<String>,
    /// What is wrong in the second run and was not in the first.
    pub broken: Vec<String>,
}

/// Which way a case changed, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// No measure got better.
    Worse,
    /// Some got better and some worse.
    Mixed,
    /// No measure got worse.
    Better,
}

/// A measure that changed in a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// Its name.
    pub name: String,
    /// Its value in the first run.
    pub a: Option<f64>,
    /// Its value in the second.
    pub b: Option<f64>,
    /// Whether it got better; `None` where one of the two has nothing to tell.
    pub is_better: Option<bool>,
}

/// Returns the cases of both tallies that changed, those that got worse first.
#[must_use]
pub fn flips(a: &Tally, b: &Tally, results: [&Results; 2]) -> Vec<Flip> {
    let mut found: Vec<Flip> = a
        .cases
        .iter()
        .filter_map(|one| flip(a, b, one, b.cases.iter().find(|other| other.case == one.case)?, results))
        .collect();
    found.sort_by_key(|flip| flip.way);
    found
}

fn flip(a: &Tally, b: &Tally, one: &CaseTally, other: &CaseTally, results: [&Results; 2]) -> Option<Flip> {
    let (before, after) = (a.over(&[one]), b.over(&[other]));
    let mut measures = Vec::new();
    for (at, measure) in a.measures.iter().enumerate().filter(|(_, measure)| measure.harmonic_of.is_none()) {
        let Some(place) = b.measures.iter().position(|own| own.name == measure.name) else { continue };
        let (one, other) = (before[at], after[place]);
        let is_same = one == other || one.zip(other).is_some_and(|(one, other)| (one - other).abs() < SAME);
        if !is_same {
            let is_better = one.zip(other).map(|(one, other)| (other > one) == (measure.better == Better::Higher));
            measures.push(Moved { name: measure.name.clone(), a: one, b: other, is_better });
        }
    }
    let [was, is] = results.map(|results| faults(results, a, &one.case));
    let texts = |ones: &[&Found], others: &[&Found]| -> Vec<String> {
        let known: BTreeSet<(&str, &str)> =
            others.iter().map(|found| (found.what.as_str(), found.id.as_str())).collect();
        let new = ones.iter().filter(|found| !known.contains(&(found.what.as_str(), found.id.as_str())));
        new.map(|found| format!("{}: {}", found.what, found.text)).collect()
    };
    let (mended, broken) = (texts(&was, &is), texts(&is, &was));
    let (mut better, mut worse) = (!mended.is_empty(), !broken.is_empty());
    for moved in &measures {
        better |= moved.is_better == Some(true);
        worse |= moved.is_better == Some(false);
    }
    let way = match (better, worse) {
        (true, false) => Way::Better,
        (false, true) => Way::Worse,
        (true, true) => Way::Mixed,
        (false, false) => return None,
    };
    Some(Flip { case: one.case.clone(), way, measures, mended, broken })
}

/// Returns what went wrong in a case and counts, of the first run of it.
fn faults<'r>(results: &'r Results, tally: &Tally, case: &str) -> Vec<&'r Found> {
    let is_it = |row: &&Row| row.suite == tally.suite && row.kind == tally.kind && row.case == case;
    let row = results.rows.iter().find(is_it);
    row.into_iter().flat_map(|row| &row.findings).filter(|found| found.counts).collect()
}
