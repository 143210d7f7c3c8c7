//! `LongMemEval`: whether the search finds the sessions and turns that answer a question, among many that do not.
//!
//! The turns of a question's haystack are memories of one store, each of its session. The files of all three sizes are
//! read alike: the oracle's haystack holds nothing but what answers. Questions that nothing answers are left out of
//! retrieval, as their authors do, and counted.

mod file;
mod measure;
#[cfg(test)]
mod tests;

pub use file::{Item, Session, Turn, is_longmemeval, read};
pub use measure::{KIND, defined, row};
