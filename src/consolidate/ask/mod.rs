//! Asking a model how candidates relate to known memories: many in one call, several calls side by side.

mod reply;
mod sheet;

use futures::{StreamExt, stream};

use crate::consolidate::plan::{Answers, Question, Surrounded};
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, LlmError, Reply};

use self::sheet::Sheet;

/// Candidates in one call at most, but for a last few.
pub const MAX_CANDIDATES: usize = 150;

/// Candidates that join a full call if they are the last, since a call of their own would show most memories again.
pub const MAX_REST: usize = 15;

/// Memories that one call shows at most, unless one candidate alone is held against more.
pub const MAX_MEMORIES: usize = 300;

/// Calls that one sheet takes at most when it has to be asked in parts.
const MAX_CALLS_A_SHEET: usize = 8;

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

/// Asks `model` about all `questions`, at most [`MAX_CANDIDATES`] in a call and up to [`MAX_REST`] more in the last, and returns what it said.
///
/// What is too long for the model is asked in halves, and of an answer that was cut off the rest is asked for again. A
/// call that fails or cannot be read is counted and leaves its questions without answer; after an error that the next
/// call would meet too, no more are begun.
pub async fn ask<C: Complete>(cases: &[Surrounded], questions: &[Question], guard: &Guard, model: &C) -> Asked {
    let sheets = Sheet::fill(cases, questions);
    let count = sheets.len();
    let (mut asked, mut done) = (Asked::default(), 0);
    let calls = sheets.into_iter().map(|sheet| fill_in(sheet, guard, model));
    let mut calls = stream::iter(calls).buffered(SIDE_BY_SIDE);
    while let Some((of_sheet, goes_on)) = calls.next().await {
        done += 1;
        asked.add(of_sheet);
        if !goes_on {
            break;
        }
    }
    asked.failed += u64::try_from(count - done).unwrap_or(u64::MAX);
    asked
}

/// Returns what is said about one sheet, in as many calls as it takes, and whether further sheets are worth asking.
async fn fill_in<C: Complete>(sheet: Sheet<'_>, guard: &Guard, model: &C) -> (Asked, bool) {
    let (mut asked, mut open) = (Asked::default(), vec![sheet]);
    for _ in 0..MAX_CALLS_A_SHEET {
        let Some(sheet) = open.pop() else { break };
        match model.complete(&sheet.request(guard)).await {
            Ok((reply, cost)) => {
                let is_cut = reply.finish == Finish::Length;
                asked.take(&sheet, &reply, cost);
                open.extend(is_cut.then(|| sheet.unanswered(&asked.answers)).flatten());
            }
            Err(LlmError::TooLong { .. }) if sheet.halves().is_some() => {
                open.extend(sheet.halves().into_iter().flatten());
            }
            Err(error) => {
                asked.failed += 1;
                if is_lasting(&error) {
                    asked.failed += u64::try_from(open.len()).unwrap_or(u64::MAX);
                    return (asked, false);
                }
            }
        }
    }
    asked.failed += u64::try_from(open.len()).unwrap_or(u64::MAX);
    (asked, true)
}

impl Asked {
    fn add(&mut self, other: Self) {
        self.answers.extend(other.answers);
        self.spent += other.spent;
        self.failed += other.failed;
    }

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
