//! Asking a model what the rules are not certain of, in rounds: an answer may bring up another question.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Answers, Question, Stage, Surrounded, draft};
use crate::consolidate::Plan;
use crate::consolidate::ask::ask;
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::Complete;
use crate::memory::MemoryId;

/// Rounds of questions at most.
const MAX_ROUNDS: usize = 3;

/// How close a memory must be that only an answer brought up, to be worth another question.
const CLOSE: f64 = 0.5;

/// Decides on candidates with what surrounds them; touches no store, so that it can wait for a model.
///
/// The model is asked about all that the rules are not certain of, first as if every such candidate were new, so that
/// one round finds nearly all pairs. What stays without answer is settled by the rules.
pub async fn settle<C: Complete>(
    cases: &[Surrounded],
    guard: &Guard,
    model: Option<&C>,
    now: Timestamp,
) -> (Plan, Spent) {
    let (mut answers, mut spent, mut failed_calls) = (Answers::new(), Spent::default(), 0);
    let mut asked_before = BTreeSet::new();
    if let Some(model) = model {
        for round in 0..MAX_ROUNDS {
            let (_, questions) = draft(cases, &answers, Stage::Asking, now);
            let questions: Vec<Question> = questions
                .into_iter()
                .filter(|question| round == 0 || question.closeness >= CLOSE)
                .filter_map(|question| unasked(question, &mut asked_before))
                .collect();
            if questions.is_empty() {
                break;
            }
            let asked = ask(cases, &questions, guard, model).await;
            spent += asked.spent;
            failed_calls += asked.failed;
            if asked.answers.is_empty() {
                break;
            }
            for (index, answer) in asked.answers {
                let known = answers.entry(index).or_default();
                known.about.extend(answer.about);
                known.named.extend(answer.named);
            }
        }
    }
    let (changes, _) = draft(cases, &answers, Stage::Last, now);
    (Plan { changes, failed_calls, ..Plan::default() }, spent)
}

/// Leaves out of a question what was asked already, answered or not.
fn unasked(question: Question, before: &mut BTreeSet<(usize, MemoryId)>) -> Option<Question> {
    let index = question.index;
    let known: Vec<_> =
        question.known.into_iter().filter(|known| before.insert((index, known.memory.id.clone()))).collect();
    (!known.is_empty()).then_some(Question { known, ..question })
}
