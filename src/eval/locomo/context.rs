//! What retrieval brings for each question, and whether the answer can be read off it: from turns, and from memories.

use std::collections::BTreeSet;

use super::file::{Question, Sample};
use super::measure::LEAST_SHARE;
use super::words::content_words;
use crate::eval::draft::{Draft, fitting, number};
use crate::eval::recall::{Ablation, Asked, Turns, searched};
use crate::eval::rows::{Better, Defined, Row, RowUnit};
use crate::eval::{EvalError, Ran, keep};
use crate::search::search;
use crate::store::{Filter, Store};

/// Kind of the rows.
pub const KIND: &str = "locomo";
/// Tokens of a context.
const TOKENS: usize = 400;
/// Places that the measures look at.
const PLACES: usize = 10;
/// Memories among which a context is taken.
const MOST: usize = 50;

/// Returns what the rows measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    let share = |name, about| Defined::new(KIND, name, about, Better::Higher, RowUnit::Share);
    let fault = |name, about| Defined::new(KIND, name, about, Better::Lower, RowUnit::Share);
    vec![
        share("turns recall@10", "turns that answer, among the first 10 turns found"),
        share("turns MRR", "one divided by the place of the first turn that answers"),
        share("turns complete", "answers that stand in the first 400 tokens of turns"),
        share("memories recall@10", "turns that answer, on which the first 10 memories found rest"),
        share("memories complete", "answers that stand in the first 400 tokens of memories"),
        share("kept", "answers that stand in the memories that rest on the turns that answer"),
        share("complete of kept", "of those, the share whose context of memories is complete"),
        fault("turns trap", "questions about what nobody said whose wrong answer stands in the turns found"),
        fault("memories trap", "the same, in the memories found"),
    ]
}

/// Asks every question of `sample` of its turns, and of the memories that `ran` made of them.
///
/// Questions of category 5 have no answer: of them the wrong one is looked for, and nothing else is measured.
///
/// # Errors
/// [`EvalError`] if a store cannot be used.
pub fn rows(sample: &Sample, ran: &Ran) -> Result<Vec<Row>, EvalError> {
    let turns = Turns::of(std::slice::from_ref(sample))?;
    let store = Store::in_memory()?;
    keep(&store, &ran.predictions, turns.now)?;
    let mut rows = Vec::new();
    for (index, question) in sample.asked.iter().chain(&sample.adversarial).enumerate() {
        let mut draft = Draft::of(Row {
            kind: KIND.to_owned(),
            case: format!("{}/{index}", sample.id),
            split: sample.id.clone(),
            phenomena: vec![category(question.category).to_owned()],
            about: question.question.clone(),
            ..Row::default()
        });
        ask(question, (&turns, &store), ran, &mut draft)?;
        rows.push(draft.done());
    }
    Ok(rows)
}

fn ask(question: &Question, (turns, store): (&Turns, &Store), ran: &Ran, draft: &mut Draft) -> Result<(), EvalError> {
    let Some((namespace, said)) = turns.said.first() else { return Ok(()) };
    let unique = |id: &String| format!("{namespace} {id}");
    let asked = Asked {
        namespace: namespace.clone(),
        sample: 0,
        question: question.question.clone(),
        category: question.category,
        gold: question.evidence.iter().map(unique).collect(),
    };
    let found = searched(turns, &asked, &Ablation::default(), &[])?;
    draft.answered();
    let text_of = |id: &String| said.iter().find(|(turn, _)| turn == id).map_or("", |(_, text)| text.as_str());
    let texts: Vec<&str> = found.iter().map(text_of).collect();
    let of_turns = texts[..fitting(&texts, TOKENS)].join("\n");
    let memories = search(store, &question.question, &Filter::default(), MOST, turns.now)?;
    let texts: Vec<&str> = memories.iter().map(|found| found.memory.claim.content.as_str()).collect();
    let of_memories = texts[..fitting(&texts, TOKENS)].join("\n");
    if question.category == 5 {
        if !question.answer.is_empty() {
            draft.yes("turns trap", stands(&question.answer, &of_turns));
            draft.yes("memories trap", stands(&question.answer, &of_memories));
        }
        return Ok(());
    }
    let right = found.iter().take(PLACES).filter(|id| asked.gold.contains(*id)).count();
    let all = number(asked.gold.len().max(1));
    draft.mean("turns recall@10", number(right) / all);
    let first = found.iter().position(|id| asked.gold.contains(id));
    draft.mean("turns MRR", first.map_or(0.0, |place| 1.0 / number(place + 1)));
    let mut rested = BTreeSet::new();
    for found in memories.iter().take(PLACES) {
        rested.extend(store.evidence(&found.memory.id)?.iter().flat_map(|piece| turns_of(&piece.messages)));
    }
    draft.mean("memories recall@10", number(question.evidence.intersection(&rested).count()) / all);
    if question.answer.is_empty() {
        return Ok(());
    }
    let is_kept = stands(&question.answer, &resting(question, ran));
    let complete = stands(&question.answer, &of_memories);
    draft.yes("turns complete", stands(&question.answer, &of_turns));
    draft.yes("memories complete", complete);
    draft.yes("kept", is_kept);
    if is_kept {
        draft.yes("complete of kept", complete);
    }
    if !complete {
        let why = if is_kept { "a memory holds it and did not come" } else { "no memory of these turns holds it" };
        draft.fault("incomplete", &question.question, &question.answer, why);
    }
    Ok(())
}

/// Returns the texts of the memories that rest on the evidence of `question`.
fn resting(question: &Question, ran: &Ran) -> String {
    let rests = |one: &&crate::eval::Prediction| {
        one.evidence.iter().flat_map(|cited| turns_of(&cited.messages)).any(|id| question.evidence.contains(&id))
    };
    ran.predictions.iter().filter(rests).map(|one| one.content.as_str()).collect::<Vec<_>>().join("\n")
}

/// A photo is a message of its own beside its turn.
fn turns_of(messages: &[String]) -> impl Iterator<Item = String> {
    messages.iter().map(|id| id.split('/').next().unwrap_or(id).to_owned())
}

/// Whether enough of the answer's content words stand in `text`.
fn stands(answer: &str, text: &str) -> bool {
    let (wanted, there) = (content_words(answer), content_words(text));
    let found = wanted.iter().filter(|word| there.contains(*word)).count();
    !wanted.is_empty() && found * 100 >= wanted.len() * LEAST_SHARE
}

const fn category(number: u64) -> &'static str {
    match number {
        1 => "1 multi-hop",
        2 => "2 temporal",
        3 => "3 open-domain",
        4 => "4 single-hop",
        _ => "5 adversarial",
    }
}
