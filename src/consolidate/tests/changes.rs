//! Tests with statements, and later statements that end or change them, in five languages.

use super::plain::lines;
use super::testing::{incoming, known, now};
use crate::consolidate::Decision;
use crate::consolidate::decide::decide;

/// Pairs of statements, with what becomes of the first.
pub(in crate::consolidate) const CHANGES: &str = include_str!("changes.txt");

/// Returns what the rules do with the first statement after the second was made.
fn outcome(first: &str, second: &str) -> &'static str {
    let verdict = decide(&incoming(second), &[known("k", first)], &[], now());
    match verdict.ruling {
        ruling if ruling.decision != Decision::Contradict || ruling.born_superseded => "holds",
        ruling if ruling.pending => "open",
        _ => "over",
    }
}

#[test]
fn a_change_of_mind_retires_what_it_names_and_nothing_else() {
    let mut wrong = Vec::new();
    for line in lines(CHANGES) {
        let (expected, pair) = line.split_once(" | ").unwrap();
        let (first, second) = pair.split_once(" ## ").unwrap();
        let found = outcome(first, second);
        if found != expected {
            wrong.push(format!("{found} instead of {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
