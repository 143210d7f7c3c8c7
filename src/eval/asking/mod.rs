//! How well what is kept comes back: cases that hold a store and ask it, through the search and the brief that people use.
//!
//! ```text
//! *-recall.jsonl ─▶ memories ─▶ a store each ─▶ Retriever ─▶ which of them came, and in which order ┐
//! *-brief.jsonl ──▶ memories ─▶ a store each ─▶ brief ─────▶ which of them it holds                 ├▶ Row
//! *-qa.jsonl ─────▶ memories, or a conversation that is extracted ─▶ Retriever ─▶ parts of the answer ┘
//! ```
//!
//! No model judges: a memory is known by its id in the case, a part of an answer by its pattern. A case tells what must
//! come and what must not; how alike texts are decides nothing.

mod brief;
mod file;
mod form;
mod home;
mod measure;
mod qa;
mod recall;
mod retriever;
#[cfg(test)]
mod tests;

pub use file::{Cases, Line, Placed, files, read};
pub use form::{BriefCase, Kept, QaCase, Query, Question, RecallCase, Situation, schemas};
pub use home::{Home, keep};
pub use measure::{Kind, measures};
pub use retriever::{Asked, Retriever};

use super::rows::Row;
use super::{EvalError, RunOptions, Subject};
use crate::llm::Complete;

/// Runs a case and returns a row for each question, without its suite.
///
/// Conversations of question cases are extracted by `subject`. One that cannot be run has rows with an error, which count
/// for nothing.
///
/// # Errors
/// [`EvalError`] if a store cannot be made.
pub async fn run<C: Complete>(
    placed: &Placed,
    retriever: &Retriever<'_>,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Vec<Row>, EvalError> {
    match &placed.case {
        Line::Recall(case) => recall::run(placed, case, retriever).await,
        Line::Brief(case) => brief::run(placed, case, retriever),
        Line::Qa(case) => qa::run(placed, case, retriever, subject, options).await,
    }
}
