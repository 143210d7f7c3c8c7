//! Pairs of everyday claims in six languages: pairs that are both true, and pairs on the same topic.

use super::testing::{incoming, known, now};
use crate::consolidate::Decision;
use crate::consolidate::decide::decide;

/// Claims that are both true, however similar their words: about a different thing, person, number or time, or with the
/// same words in a different order.
pub(in crate::consolidate) const APART: &str = include_str!("apart.txt");

/// Claims on the same topic, with the decision before the colon.
const ALIKE: &str = include_str!("alike.txt");

/// Returns the lines of a table without its comments.
pub(in crate::consolidate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn decided(line: &str) -> Decision {
    let (old, new) = line.split_once("##").unwrap();
    decide(&incoming(new.trim()), &[known("k", old.trim())], &[], now()).ruling.decision
}

#[test]
fn what_holds_beside_what_is_known_is_neither_joined_nor_retires_it() {
    let wrong: Vec<_> = lines(APART).filter(|line| decided(line) != Decision::Add).collect();
    assert!(lines(APART).count() > 200 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_order_ends_no_other_order_about_the_same_thing() {
    for (old, new) in [
        ("Always run pnpm typecheck before pushing", "Never run npm install; use pnpm instead."),
        ("Always run make lint before pushing", "Never run make deploy; use make release instead."),
    ] {
        let pair = format!("order | The user's standing instruction: \"{old}\" ## category=convention | {new}");
        assert_eq!(decided(&pair), Decision::Add, "{pair}");
    }
}

#[test]
fn what_is_of_one_matter_is_settled_without_a_model() {
    let wrong: Vec<_> = lines(ALIKE)
        .filter(|line| {
            let (right, pair) = line.split_once(": ").unwrap();
            decided(pair).as_str() != right
        })
        .collect();
    assert!(lines(ALIKE).count() > 30 && wrong.is_empty(), "{wrong:#?}");
}
