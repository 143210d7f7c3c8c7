//! Minimal versions of failures that random histories found.

use crate::consolidate::decide::named::{Named, resolve};
use crate::consolidate::{Decision, Known};

use super::testing::{incoming, known, now};

#[test]
fn a_name_in_another_script_may_be_the_same_name_and_one_in_the_same_script_is_not() {
    let japanese = known("a", "key=user.residence; value=Lyon | ユーザーはリヨンに住んでいる。");
    let friend = known("b", "key=user.residence; value=Lyon | The user lives in Lyon with Bob.");
    let other = known("c", "key=user.residence; value=Riga | ユーザーはリガに住んでいる。");
    let decided = |known: &Known, text: &str| {
        let candidate = incoming(&format!("key=user.residence; value=Lyon | {text}"));
        resolve(&candidate, &[(known, &Named::Duplicate)], now()).decision
    };
    assert_eq!(decided(&japanese, "The user lives in Lyon."), Decision::Support);
    assert_eq!(decided(&friend, "The user lives in Lyon with Eva."), Decision::Add);
    assert_eq!(decided(&other, "The user lives in Lyon."), Decision::Add);
}
