//! Reasons for which words that mention a change do not show that a known claim is no longer true.

use super::another::is_other_label;
use super::certainty::surroundings;
use super::features::{TimeScope, WEEKDAYS};
use super::marks::{Clause, Mark, clauses, is_generic, relatives};
use super::outdated::{ANOTHER_VALUE, Comparison, ENDED};
use super::topic::{Term, stated, weight};
use super::view::View;
use crate::text::date::written;
use crate::text::tokens::is_listed;

/// Whether `incoming` supposes, plans, asks, reports, refuses or denies the change that it mentions.
pub(super) fn is_supposed(incoming: &View<'_>) -> bool {
    let text = stated(&incoming.claim.content);
    let is_unmoved = |clause: &Clause| clause.is_negated && clause.marks.iter().all(|mark| *mark == Mark::Moved);
    clauses(text).iter().any(|clause| clause.around.contains(&Mark::Unreal) || clause.is_marked() && is_unmoved(clause))
}

/// Whether the change that `incoming` mentions, for the reason `why`, may concern somebody or something other than
/// `known`, or only a part or a case of it.
pub(super) fn may_be_elsewhere(incoming: &View<'_>, known: &View<'_>, why: &str) -> bool {
    let comparison = Comparison::of(incoming, known);
    let (are_others, _) = surroundings(&incoming.features, &known.features);
    let has = |mark: Mark| comparison.own().any(|clause| clause.marks.contains(&mark));
    are_others
        || has(Mark::Doubtful)
        || mentions_other_people(incoming, known)
        || comparison.names_another()
        || comparison.has_another_in_its_place(&[])
        || comparison.clauses.iter().any(|clause| comparison.leaves_another(clause))
        || is_order_for_a_case(&comparison)
        || is_one_day(incoming, known)
        || why == ENDED && is_about_more(&comparison)
        || why == ANOTHER_VALUE && has(Mark::Beside)
        || why == ANOTHER_VALUE && keeps_its_numbers(&comparison)
}

/// Whether a value that `incoming` leaves behind may be that of another thing, or only of a case, than in `known`.
pub(super) fn may_be_left_elsewhere(incoming: &View<'_>, known: &View<'_>) -> bool {
    let comparison = Comparison::of(incoming, known);
    mentions_other_people(incoming, known)
        || is_other_label(incoming, known)
        || is_order_for_a_case(&comparison)
        || comparison.has_another_in_its_place(&[])
}

/// Whether `incoming` mentions a relative, friend or colleague whom `known` does not mention.
fn mentions_other_people(incoming: &View<'_>, known: &View<'_>) -> bool {
    let theirs = relatives(&known.claim.content);
    relatives(&incoming.claim.content).iter().any(|person| !theirs.contains(person))
}

/// Whether an order to the assistant names, before what changes, something that the known claim does not mention, as in
/// "In letters to the bank, the assistant should use …".
fn is_order_for_a_case(comparison: &Comparison<'_, '_>) -> bool {
    const ASSISTANTS: &str = "assistant assistent asistente";
    let text = &comparison.incoming.features.text;
    let is_order = text.split(' ').any(|word| is_listed(ASSISTANTS, word)) || text.contains("助手");
    is_order && comparison.own().any(|clause| comparison.has_own_words(before_change(clause)))
}

/// Returns the text of a clause before it mentions a change.
fn before_change(clause: &Clause) -> &str {
    if clause.is_marked() { &clause.lead } else { &clause.text }
}

/// Whether the known claim is about what happens regularly and the new one about a single day.
fn is_one_day(incoming: &View<'_>, known: &View<'_>) -> bool {
    let text = stated(&incoming.claim.content);
    let is_single = written(text).iter().any(|date| date.meanings.iter().all(|days| days.first == days.last));
    let is_lasting = clauses(text).iter().any(|clause| clause.marks.contains(&Mark::Since));
    let is_regular = known.features.time == TimeScope::Habit
        || known.features.figures.iter().any(|figure| WEEKDAYS.contains(&figure.as_str()));
    is_regular && is_single && !is_lasting
}

/// Whether the new claim has words of its own, and leaves more than one word of the known claim unmentioned.
fn is_about_more(comparison: &Comparison<'_, '_>) -> bool {
    let own = |terms: &[Term]| weight(terms, |term| !term.is_shared && !is_generic(&term.text));
    own(&comparison.ours) > 0 && own(&comparison.theirs) > 1
}

/// Whether the known claim gives a number, and the new one has all its other words and no number in its place.
fn keeps_its_numbers(comparison: &Comparison<'_, '_>) -> bool {
    let (ours, theirs) = (&comparison.incoming.features.figures, &comparison.known.features.figures);
    let is_whole = comparison.theirs.iter().all(|term| term.is_shared);
    is_whole && !theirs.is_empty() && !ours.iter().any(|figure| !theirs.contains(figure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Claim, MemoryType};

    fn claim(text: &str) -> Claim {
        Claim::new(MemoryType::Semantic, "fact", "title", text)
    }

    #[test]
    fn a_change_that_is_not_a_fact_is_recognised() {
        for text in [
            "The club looked into replacing the old piano and decided against it.",
            "The baker claims that the mill was sold.",
            "The studio has not moved from Hill Street.",
            "Der Verein erwog, die Halle zu wechseln, und entschied sich dagegen.",
            "Si llueve, la feria se traslada al pabellón.",
            "若报名不足，夏令营就取消。",
        ] {
            assert!(is_supposed(&View::of(&claim(text), &[])), "{text}");
        }
        for text in ["The club replaced the old piano.", "Der Verein zog in die Halle um.", "夏令营取消了。"] {
            assert!(!is_supposed(&View::of(&claim(text), &[])), "{text}");
        }
    }

    #[test]
    fn a_change_elsewhere_differs_from_one_of_the_known_thing() {
        let elsewhere = |known: &str, incoming: &str| {
            let (known, incoming) = (claim(known), claim(incoming));
            may_be_elsewhere(&View::of(&incoming, &[]), &View::of(&known, &[]), ENDED)
        };
        assert!(elsewhere("The user rows at the lake club.", "The user's neighbour quit the lake club."));
        assert!(elsewhere("Release 4 of the reader needs Qt.", "Release 5 of the reader dropped Qt."));
        assert!(elsewhere(
            "The choir rehearses every Monday.",
            "The rehearsal of the choir on 2026-03-02 was cancelled."
        ));
        assert!(!elsewhere("The user rows at the lake club.", "The user quit the lake club."));
    }
}
