//! The certainty that a claim is no longer true, and what limits it: circumstances, lists and introductions.

use std::collections::BTreeSet;

use super::features::Features;
use super::view::View;
use crate::text::tokens::is_listed;

/// How certain it is that the known claim is no longer true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// The phrase says more or less than the known claim states, so a person has to decide.
    Likely,
    /// The phrase names exactly what the known claim states.
    Certain,
}

/// Returns whether a clause is about different circumstances from `known`, and whether it limits the change to special
/// circumstances.
pub(super) fn surroundings(clause: &Features, known: &Features) -> (bool, bool) {
    // A statement about a project usually means the backend anyway, and a time of day is a value.
    const NOT_NARROWER: &[&str] = &["backend", "morning", "evening", "weekend"];
    let narrowing = |features: &Features| -> BTreeSet<&'static str> {
        features.settings.iter().copied().filter(|setting| !NOT_NARROWER.contains(setting)).collect()
    };
    let (ours, theirs) = (narrowing(clause), narrowing(known));
    let are_others = !ours.is_empty() && !theirs.is_empty() && ours.is_disjoint(&theirs);
    (are_others, !ours.is_subset(&theirs) || (clause.except && !known.except))
}

/// Whether a claim lists several things.
pub(in crate::consolidate) fn is_list(known: &View<'_>) -> bool {
    let text = known.claim.content.trim_end_matches(['.', '"', '”', '“', '»']);
    [", ", " and ", " und ", " y ", " et ", "、"].iter().any(|joint| text.contains(joint))
}

/// Whether a word only introduces a statement, as in "the user said".
pub(super) fn is_frame(word: &str) -> bool {
    const FRAME: &str = "user user's team said says standing instruction nutzer sagte usuario dijo 用户 团队 户说";
    is_listed(FRAME, word)
}
