//! `HaluMem`: memories of long dialogues beside the points that should be remembered, updated and kept out.
//!
//! ```text
//! user ─▶ sessions as logs ─▶ pipeline ─▶ memories ─▶ extraction: points said, interference accepted
//!                                                  ├▶ update: said and the old one gone, or stale, or left out
//!                                                  └▶ questions: evidence and answer in what is found
//!      └▶ points as memories ─▶ search ─▶ evidence found, interference found
//! ```
//!
//! The set gives texts and no patterns, so that a point counts as said where a memory has most of its words and all of its
//! numbers: a lower bound, not to be held beside figures of a judge.

mod file;
mod measure;
mod retrieval;
#[cfg(test)]
mod tests;

pub use file::{Dialogue, Point, Question, User, is_halumem, read};
pub use measure::{KIND, QUESTIONS, defined, rows, run_user};
pub use retrieval::{RETRIEVAL, defined as retrieval_defined, retrieval};
