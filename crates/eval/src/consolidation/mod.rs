//! Scores consolidation: pairs with the right decision, and streams with the right memories at the end.
//!
//! ```text
//! *-pairs.jsonl ───▶ Pair ───▶ the program decides and applies ─▶ PairOutcome ───▶ Row
//! *-streams.jsonl ─▶ Stream ─▶ the program decides and applies ─▶ StreamOutcome ─▶ Row
//! ```
//!
//! Each case has a store of its own, alone or among invented distractors.

mod cases;
mod distractors;
mod pairs;
mod similarity;
mod streams;

pub use cases::{Act, Action, Event, Pair, ProposedMemory, Stream, schemas};
pub use distractors::{Distractor, distractors};
pub use pairs::{MemoryAfter, PAIR, PairOutcome, describe, pair_measures, score_pair};
pub use similarity::{ComparedMemory, decide_by_similarity};
pub use streams::{DISTRACTOR, FinalMemory, STREAM, StreamOutcome, score_stream, stream_measures};

#[cfg(test)]
mod tests;
