//! How well memories are found: the turns of `LoCoMo` conversations as memories, asked for by its questions.
//!
//! ```text
//! LoCoMo file ─▶ turns as memories ─▶ Store ─▶ arms: bare FTS5, the search, the search without each of its parts
//!             └▶ questions with the turns that answer them ─────────┴▶ Row: recall at 5, 10, 20, MRR, tokens
//! ```
//!
//! Each conversation is a namespace of one store, so that what is measured is what a person's search does. An arm is
//! anything that returns turns for a question, best first; all of them answer the same questions in the same run.

mod arms;
mod bare;
mod meanings;
mod measure;
mod row;
mod turns;

pub use arms::{Ablation, ablations, searched};
pub use bare::Bare;
pub use meanings::Meanings;
pub use measure::{Answered, Gain, Row, measure};
pub use row::{KIND, defined, rows};
pub use turns::{Asked, Turns};

use super::EvalError;

/// Returns the ids of turns for a question, best first; at least the first [`DEPTH`] that are found.
pub type Arm<'a> = Box<dyn FnMut(&Asked) -> Result<Vec<String>, EvalError> + 'a>;

/// How many turns an arm returns at most.
pub const DEPTH: usize = 50;
