//! What an extractor makes of a conversation beside the facts that come with the file.

use std::collections::BTreeSet;

use super::dates::{Open, open_date};
use super::file::Sample;
use crate::eval::assign::pairs;
use crate::eval::draft::{Draft, number};
use crate::eval::matchers::{Likeness, numbers_agree, share, words};
use crate::eval::rows::{Better, Defined, Row, RowUnit};
use crate::eval::{Prediction, Ran};

/// Kind of the rows.
pub const KIND: &str = "locomo-observations";

/// Returns what the rows measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    let share = |name, about| Defined::new(KIND, name, about, Better::Higher, RowUnit::Share);
    let fault = |name, about| Defined::new(KIND, name, about, Better::Lower, RowUnit::Share);
    let f1 = Defined {
        harmonic_of: Some(["recall".to_owned(), "precision".to_owned()]),
        ..share("F1", "of recall and precision; the facts are no complete list, so it is a lower bound")
    };
    vec![
        share("recall", "facts that a memory resting on the same turns, or those beside them, says in like words"),
        share("precision", "memories that are paired with a fact, one to one"),
        f1,
        share("evidence", "turns with a fact on which a memory rests"),
        fault("open dates", "memories that leave a day, week or month open"),
        fault("open dates of facts", "the same, of the facts"),
    ]
}

/// Compares the memories of a conversation with its facts.
#[must_use]
pub fn row(sample: &Sample, ran: &Ran) -> Row {
    let mut draft =
        Draft::of(Row { kind: KIND.to_owned(), case: sample.id.clone(), split: sample.id.clone(), ..Row::default() });
    let memories: Vec<(BTreeSet<String>, &Prediction)> =
        ran.predictions.iter().map(|one| (near(&turns(one)), one)).collect();
    let says = |(turns, one): &(BTreeSet<String>, &Prediction), fact: &str, evidence: &BTreeSet<String>| {
        !turns.is_disjoint(evidence) && is_like(fact, &one.content)
    };
    let choices: Vec<Vec<usize>> = memories
        .iter()
        .map(|memory| {
            let facts = sample.observations.iter().enumerate();
            facts.filter(|(_, (fact, evidence))| says(memory, fact, evidence)).map(|(at, _)| at).collect()
        })
        .collect();
    let said: BTreeSet<usize> = choices.iter().flatten().copied().collect();
    let paired = pairs(&choices, sample.observations.len()).into_iter().flatten().count();
    draft.add("recall", number(said.len()), number(sample.observations.len()));
    draft.add("precision", number(paired), number(memories.len()));
    let wanted: BTreeSet<&String> = sample.observations.iter().flat_map(|(_, evidence)| evidence).collect();
    let rested: BTreeSet<String> = ran.predictions.iter().flat_map(turns).collect();
    let covered = wanted.iter().filter(|turn| rested.contains(**turn)).count();
    draft.add("evidence", number(covered), number(wanted.len()));
    let open = |text: &str| open_date(text) == Open::Hard;
    let vague = ran.predictions.iter().filter(|one| open(&one.content)).count();
    draft.add("open dates", number(vague), number(memories.len()));
    let vague = sample.observations.iter().filter(|(fact, _)| open(fact)).count();
    draft.add("open dates of facts", number(vague), number(sample.observations.len()));
    draft.done()
}

/// Whether a memory says a fact in like words. A memory may say several facts, so that its own words may go beyond them.
fn is_like(fact: &str, text: &str) -> bool {
    let is_alike = share(&words(fact), &words(text)) >= Likeness::Content.least()
        || Likeness::TokenF1.of(fact, text) >= Likeness::TokenF1.least();
    is_alike && numbers_agree(fact, text)
}

fn turns(prediction: &Prediction) -> BTreeSet<String> {
    let ids = prediction.evidence.iter().flat_map(|cited| &cited.messages);
    ids.map(|id| id.split('/').next().unwrap_or(id).to_owned()).collect()
}

/// Returns `turns` with those just before and after each.
fn near(turns: &BTreeSet<String>) -> BTreeSet<String> {
    let mut near = turns.clone();
    for (session, turn) in turns.iter().filter_map(|id| id.strip_prefix('D')?.split_once(':')) {
        if let Ok(turn) = turn.parse::<u32>() {
            near.extend([turn.saturating_sub(1), turn + 1].map(|turn| format!("D{session}:{turn}")));
        }
    }
    near
}
