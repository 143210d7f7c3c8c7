//! How far ways of matching agree with the patterns of a case.

use super::judge::{Judge, Judged};
use super::{Likeness, Vectors, share, verdicts, words};
use crate::eval::draft::Draft;
use crate::eval::matcher::{Match, Rules};
use crate::eval::rows::{Better, Defined, Row, RowUnit};
use crate::eval::{EvalError, Prediction};
use crate::llm::Complete;

/// Kind of the rows.
pub const AGREEMENT: &str = "agreement";
/// Least share of a fact's words that a memory has for the two to be held against each other: all others are far apart.
const NEAR: f64 = 0.3;

/// Returns what the rows measure.
#[must_use]
pub fn defined(with_cosine: bool, with_judge: bool) -> Vec<Defined> {
    let mut names: Vec<&str> = Likeness::OWN.iter().map(|one| one.name()).collect();
    names.extend(with_cosine.then_some(Likeness::Cosine.name()));
    names.extend(with_judge.then_some("judge"));
    let of = |name: &str| {
        let measure = |what: &str, about: &str, better| {
            Defined::new(AGREEMENT, &format!("{name} {what}"), about, better, RowUnit::Share)
        };
        [
            measure(
                "agrees",
                "pairs of a fact and a memory near it of which it says what the patterns say",
                Better::Higher,
            ),
            measure("right", "memories that say the fact by the patterns and are taken to", Better::Higher),
            measure("distorted", "memories that distort it by the patterns and are taken to say it", Better::Lower),
        ]
    };
    names.into_iter().flat_map(of).collect()
}

/// Holds every way of matching against the patterns of a case, on the pairs of a fact and a memory that are near.
///
/// # Errors
/// [`EvalError::Embed`] if the model that makes vectors fails.
pub async fn agreement<C: Complete>(
    case: &str,
    rules: &Rules,
    predictions: &[Prediction],
    vectors: Option<&Vectors<'_>>,
    judge: Option<&Judge<'_, C>>,
) -> Result<Row, EvalError> {
    let mut draft = Draft::of(Row { kind: AGREEMENT.to_owned(), case: case.to_owned(), ..Row::default() });
    let mut near = Vec::new();
    for gold in &rules.golds {
        let wanted = words(&gold.text);
        for memory in predictions {
            let said = gold.matches(&memory.searched);
            if said != Match::No || share(&wanted, &words(&memory.content)) >= NEAR {
                near.push((gold.text.as_str(), memory.content.as_str(), said));
            }
        }
    }
    for (fact, text, said) in &near {
        for (name, accepts) in verdicts(fact, text, vectors).await? {
            count(name, accepts, *said, &mut draft);
        }
    }
    if let Some(judge) = judge {
        let pairs: Vec<(&str, &str)> = near.iter().map(|(fact, text, _)| (*fact, *text)).collect();
        for (verdict, (_, _, said)) in judge.judge(&pairs).await.into_iter().zip(&near) {
            if let Some(verdict) = verdict {
                count("judge", verdict == Judged::Says, *said, &mut draft);
            }
        }
    }
    Ok(draft.done())
}

fn count(name: &str, accepts: bool, said: Match, draft: &mut Draft) {
    draft.yes(&format!("{name} agrees"), accepts == (said == Match::Yes));
    match said {
        Match::Yes => draft.yes(&format!("{name} right"), accepts),
        Match::Distorted => draft.yes(&format!("{name} distorted"), accepts),
        Match::No => {}
    }
}
