//! `LoCoMo`: how much of the answers to its questions is left in the memories.
//!
//! No judge and no retrieval: the memories that rest on a question's evidence turns are given, and the answer counts as
//! kept if enough of its content words stand in them. The turns themselves are the ceiling of this measure, and the facts
//! that come with the file are what another extractor made of the same turns.

mod dates;
mod file;
mod measure;
mod row;
mod words;

pub use file::{Question, Sample, Turn, is_locomo, read};
pub use measure::{Kept, Retention, measure, run_sample};
pub use row::{KIND, defined};
