//! `LoCoMo`: how much of the answers to its questions is left in the memories.
//!
//! No judge and no retrieval: the memories that rest on a question's evidence turns are given, and the answer counts as
//! kept if enough of its content words stand in them. The turns themselves are the ceiling of this measure, and the facts
//! that come with the file are what another extractor made of the same turns.

pub mod context;
mod corrections;
mod dates;
mod file;
mod measure;
pub mod observed;
mod row;
mod words;

pub use corrections::{Corrections, Mended};
pub(super) use dates::{Open, open_date};
pub use file::{Question, Sample, Turn, is_locomo, read};
pub use measure::{Kept, Retention, measure, run_sample};
pub use row::{KIND, defined};
pub(super) use words::content_words;
