//! What two runs of the same cases tell of each other.
//!
//! ```text
//! Results A ─▶ Tally ┐  the same cases  ┌▶ paired bootstrap ──▶ interval, least effect that would show
//!                    ├─────────────────▶├▶ randomisation test ─▶ p, and p among all measures
//! Results B ─▶ Tally ┘                  └▶ flips: cases that changed, and what came and went in them
//! ```
//!
//! Cases are drawn, not memories: what is found in one conversation hangs together. Both runs are drawn alike, so that
//! what is hard for both does not widen the interval.

mod flips;
mod paired;
mod sides;

use std::collections::BTreeSet;

use serde::Serialize;

pub use flips::{Flip, Moved, Way, flips};
pub use paired::{Difference, Verdict as Sure, differences};

use super::EvalError;
use super::rows::{Manifest, Results, Spent};
use super::tally::{CaseTally, Tally};

/// What two runs tell of each other; the second is held against the first.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// What was run first.
    pub a: Manifest,
    /// What was run then.
    pub b: Manifest,
    /// The suites that both have.
    pub suites: Vec<Compared>,
    /// Suites that one of them has alone.
    pub alone: Vec<String>,
}

/// One suite and kind in both runs.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The suite.
    pub suite: String,
    /// The kind of its cases.
    pub kind: String,
    /// Cases that both have run.
    pub cases: usize,
    /// Cases that one of them has not run.
    pub left_out: Vec<String>,
    /// Whether the cases were changed between the two.
    pub changed: bool,
    /// Each measure.
    pub measures: Vec<Difference>,
    /// What the cases have cost in each.
    pub cost: [Spent; 2],
    /// Cases that changed either way, those that got worse first.
    pub flips: Vec<Flip>,
}

/// Compares `b` with `a`.
///
/// # Errors
/// [`EvalError::Failed`] if they have no case in common.
pub fn compare(a: &Results, b: &Results) -> Result<Comparison, EvalError> {
    let (first, second) = (Tally::all(a), Tally::all(b));
    let mut suites = Vec::new();
    for tally in &first {
        if let Some(other) = second.iter().find(|other| is_same(tally, other)) {
            suites.extend(compared(tally, other, [a, b]));
        }
    }
    if suites.is_empty() {
        return Err(EvalError::Failed(
            "the two have no case in common; compare two runs of the same suite, see `suites` in both files".to_owned(),
        ));
    }
    let alone = |ones: &[Tally], others: &[Tally]| -> Vec<String> {
        let lonely = ones.iter().filter(|one| !others.iter().any(|other| is_same(one, other)));
        lonely.map(|one| format!("{} ({})", one.suite, one.kind)).collect()
    };
    let mut lonely = alone(&first, &second);
    lonely.extend(alone(&second, &first));
    Ok(Comparison { a: a.manifest.clone(), b: b.manifest.clone(), suites, alone: lonely })
}

fn is_same(one: &Tally, other: &Tally) -> bool {
    one.suite == other.suite && one.kind == other.kind
}

fn compared(a: &Tally, b: &Tally, results: [&Results; 2]) -> Option<Compared> {
    let pairs: Vec<(&CaseTally, &CaseTally)> =
        a.cases.iter().filter_map(|one| Some((one, b.cases.iter().find(|other| other.case == one.case)?))).collect();
    if pairs.is_empty() {
        return None;
    }
    let both: BTreeSet<&str> = pairs.iter().map(|(one, _)| one.case.as_str()).collect();
    let named = |tally: &Tally| -> Vec<String> {
        let run = tally.cases.iter().map(|case| case.case.clone());
        run.chain(tally.failed.iter().map(|(case, _)| case.clone())).collect()
    };
    let mut left_out: Vec<String> = named(a).into_iter().chain(named(b)).collect();
    left_out.retain(|case| !both.contains(case.as_str()));
    left_out.sort();
    left_out.dedup();
    let content = |results: &Results| {
        results.manifest.suites.iter().find(|suite| suite.name == a.suite).map(|suite| suite.content.clone())
    };
    Some(Compared {
        suite: a.suite.clone(),
        kind: a.kind.clone(),
        cases: pairs.len(),
        left_out,
        changed: content(results[0]) != content(results[1]),
        measures: differences(a, b, &pairs),
        cost: results.map(|results| cost(results, a, &both)),
        flips: flips(a, b, results),
    })
}

/// Returns what `cases` of a suite have cost, and what was asked for all of its cases together.
fn cost(results: &Results, tally: &Tally, cases: &BTreeSet<&str>) -> Spent {
    let own = results.rows.iter().filter(|row| row.suite == tally.suite && row.kind == tally.kind);
    let own = own.filter(|row| cases.contains(row.case.as_str())).map(|row| row.cost);
    let shared = results.shared.iter().filter(|shared| shared.suite == tally.suite).map(|shared| shared.cost);
    own.chain(shared).fold(Spent { money: Some(0.0), ..Spent::default() }, Spent::plus)
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::results;
    use super::*;

    #[test]
    fn a_run_that_finds_more_everywhere_is_surely_better() {
        let names: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
        let with = |right: u64| {
            let cases: Vec<_> = names.iter().map(|name| (name.as_str(), [right, 4], [right, right + 1], 0)).collect();
            results(&cases)
        };
        let (worse, better) = (with(1), with(3));
        let found = compare(&worse, &better).unwrap();
        let [suite] = &found.suites[..] else { panic!("one suite") };
        let recall = &suite.measures[0];
        assert_eq!((recall.a, recall.b, recall.difference), (Some(0.25), Some(0.75), Some(0.5)));
        assert_eq!(recall.verdict, Sure::Better);
        // Ten cases, all the same way: 2 of the 1,024 assignments are as extreme.
        assert!((recall.p.unwrap() - 2.0 / 1024.0).abs() < 1e-9, "{recall:?}");
        assert!(recall.p_of_all >= recall.p);
        assert_eq!(suite.measures[3].verdict, Sure::Same);
        assert_eq!(suite.flips.len(), 10);
        let back = compare(&better, &worse).unwrap();
        assert_eq!(back.suites[0].measures[0].verdict, Sure::Worse);
    }

    #[test]
    fn more_memories_of_the_same_precision_are_no_difference() {
        let names: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
        // One memory of one case is wrong in the first run; the second finds twice as many, and all of them right.
        let with = |count: u64, wrong: u64| {
            let one = |(n, name): (u64, &String)| (name.clone(), [count - if n == 0 { wrong } else { 0 }, count]);
            let each: Vec<_> = (0_u64..).zip(&names).map(one).collect();
            let each: Vec<_> = each.iter().map(|(name, precision)| (name.as_str(), [1, 1], *precision, 0)).collect();
            results(&each)
        };
        let found = compare(&with(10, 1), &with(20, 0)).unwrap();
        let precision = &found.suites[0].measures[1];
        assert_eq!((precision.a, precision.b), (Some(0.99), Some(1.0)));
        assert_eq!((precision.p, precision.verdict), (Some(1.0), Sure::Unclear), "{precision:?}");
    }

    #[test]
    fn a_run_is_the_same_as_itself() {
        let one = results(&[("a", [1, 2], [1, 2], 1), ("b", [2, 2], [2, 3], 0)]);
        let found = compare(&one, &one).unwrap();
        let suite = &found.suites[0];
        assert!(suite.measures.iter().all(|one| one.verdict == Sure::Same && one.p == Some(1.0)), "{suite:?}");
        assert_eq!((suite.flips.len(), suite.left_out.len(), suite.changed), (0, 0, false));
    }

    #[test]
    fn cases_that_only_one_has_run_are_left_out_and_told() {
        let (one, other) =
            (results(&[("a", [1, 2], [1, 1], 0), ("b", [0, 2], [0, 1], 0)]), results(&[("b", [2, 2], [1, 1], 0)]));
        let found = compare(&one, &other).unwrap();
        assert_eq!((found.suites[0].cases, &found.suites[0].left_out[..]), (1, &["a".to_owned()][..]));
        assert_eq!(found.suites[0].measures[0].interval, None, "one case has no interval");
        assert!(compare(&one, &results(&[("z", [1, 1], [1, 1], 0)])).is_err());
    }
}
