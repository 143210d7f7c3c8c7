//! Whether a person said before that a candidate is not to be learnt.

use crate::consolidate::compare::features::{Features, Polarity};
use crate::consolidate::compare::key::{Values, canonical, compare};
use crate::consolidate::{Known, Rejected};
use crate::memory::Status;
use crate::text::normalise::comparable;

use super::case::Case;

/// What ends a clause; a comma does not, as "not, under any circumstances, with Acme" is one.
const CLAUSE_ENDS: [char; 10] = ['.', ';', ':', '!', '?', '。', '；', '：', '！', '？'];

/// Whether the same words, or the same value of the same attribute told the same way, were rejected or forgotten.
pub(super) fn is_rejected(case: &Case<'_>, known: &[Known], rejected: &[Rejected]) -> bool {
    let forgotten = known
        .iter()
        .filter(|known| known.memory.status == Status::Forgotten && known.memory.namespace == case.incoming.namespace)
        .map(|known| &known.memory.claim);
    rejected.iter().any(|value| says(case, &value.content, value.key.as_deref(), value.value.as_deref()))
        || forgotten.into_iter().any(|claim| says(case, &claim.content, claim.key.as_deref(), claim.value.as_deref()))
}

fn says(case: &Case<'_>, content: &str, key: Option<&str>, value: Option<&str>) -> bool {
    let claim = case.view.claim;
    let text = comparable(content);
    if !text.is_empty() && text == case.view.features.text {
        return true;
    }
    let same_value = case.view.key.is_some()
        && key.map(canonical) == case.view.key
        && compare(claim.value.as_deref(), value) == Some(Values::Equal);
    same_value && (text.is_empty() || turn(content, value) == turn(&claim.content, claim.value.as_deref()))
}

/// Whether a text affirms or denies a value: what it denies beside it, "never on Fly: on Hetzner", is another matter.
fn turn(content: &str, value: Option<&str>) -> Polarity {
    let whole = Features::of(content).polarity;
    let Some(value) = value.map(comparable).filter(|value| !value.is_empty()) else { return whole };
    let clauses = content.split(CLAUSE_ENDS).filter(|clause| comparable(clause).contains(&value));
    let turns: Vec<Polarity> = clauses.map(|clause| Features::of(clause).polarity).collect();
    match turns.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => *first,
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_denied_by_its_own_clause_alone() {
        let table = [
            ("No, the shop was never on Fly: it is deployed on Hetzner.", "Hetzner", Polarity::Positive),
            ("No, the shop was never on Fly: it is deployed on Hetzner.", "Fly", Polarity::Negative),
            ("The shop is not deployed on Hetzner. It is on Fly.", "hetzner", Polarity::Negative),
            ("The user does not, under any circumstances, work with Acme.", "Acme", Polarity::Negative),
            ("商店不在 Fly 上；它部署在 Hetzner 上。", "Hetzner", Polarity::Positive),
            ("It is on Hetzner. It is not on Hetzner.", "Hetzner", Polarity::Negative),
            ("It is not on Fly.", "Hetzner", Polarity::Negative),
        ];
        for (content, value, expected) in table {
            assert_eq!(turn(content, Some(value)), expected, "{value} in {content}");
        }
        assert_eq!(turn("It is not on Fly.", None), Polarity::Negative);
    }
}
