//! Asking a model how candidates relate to known memories: many in one call, several calls side by side.

mod reply;
mod sheet;

use futures::{StreamExt, stream};

use crate::consolidate::plan::{Answers, Question, Surrounded};
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, LlmError, Reply};

use self::sheet::Sheet;

/// Candidates in one call at most.
pub const MAX_CANDIDATES: usize = 40;

/// Memories that one call shows at most, unless one candidate alone is held against more.
pub const MAX_MEMORIES: usize = 200;

/// Calls that are under way at a time.
const SIDE_BY_SIDE: usize = 4;

/// What a model answered about all questions.
#[derive(Debug, Default)]
pub struct Asked {
    /// What it named, by index of the candidate. A candidate that it left out is not among them.
    pub answers: Answers,
    /// What it cost.
    pub spent: Spent,
    /// Calls that gave nothing usable.
    pub failed: u64,
}

/// Asks `model` about all `questions`, at most [`MAX_CANDIDATES`] in a call, and returns what it said.
///
/// A call that fails or cannot be read is counted and leaves its questions without answer; after an error that the
/// next call would meet too, no more are begun.
pub async fn ask<C: Complete>(cases: &[Surrounded], questions: &[Question], guard: &Guard, model: &C) -> Asked {
    let sheets = Sheet::fill(cases, questions);
    let count = sheets.len();
    let (mut asked, mut done) = (Asked::default(), 0);
    let calls = sheets.into_iter().map(|sheet| async move {
        let outcome = model.complete(&sheet.request(guard)).await;
        (sheet, outcome)
    });
    let mut calls = stream::iter(calls).buffered(SIDE_BY_SIDE);
    while let Some((sheet, outcome)) = calls.next().await {
        done += 1;
        match outcome {
            Ok((reply, cost)) => asked.take(&sheet, &reply, cost),
            Err(error) => {
                asked.failed += 1;
                if is_lasting(&error) {
                    break;
                }
            }
        }
    }
    asked.failed += u64::try_from(count - done).unwrap_or(u64::MAX);
    asked
}

impl Asked {
    fn take(&mut self, sheet: &Sheet<'_>, reply: &Reply, cost: Cost) {
        match cost {
            Cost::Call => {
                self.spent += Spent {
                    calls: 1,
                    prompt_tokens: reply.prompt_tokens,
                    completion_tokens: reply.completion_tokens,
                    ..Spent::default()
                };
            }
            Cost::Cached => self.spent.cached += 1,
        }
        let found = if reply.finish == Finish::Refusal { Answers::new() } else { sheet.read(&reply.text) };
        self.failed += u64::from(found.is_empty());
        self.answers.extend(found);
    }
}

const fn is_lasting(error: &LlmError) -> bool {
    match error {
        LlmError::Permanent { .. } | LlmError::Budget { .. } | LlmError::Cassette { .. } => true,
        LlmError::Transient { .. } | LlmError::TooLong { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } => {
            false
        }
    }
}
