//! Scores consolidation: pairs with the right decision, and streams with the right memories at the end.
//!
//! ```text
//! *-pairs.jsonl ───▶ Pair ───▶ the program decides and applies ─▶ PairOutcome ───▶ Row
//! *-streams.jsonl ─▶ Stream ─▶ the program decides and applies ─▶ StreamOutcome ─▶ Row
//! ```
//!
//! Each case is run in a separate store, alone or among invented distractors.

mod cases;
mod controls;
mod pairs;
mod streams;

pub use cases::{Act, Again, Arriving, Event, Pair, Stream};
pub use controls::{ComparedMemory, decide_by_similarity, distractors};
pub use pairs::{MemoryAfter, PairOutcome, score_pair};
pub use streams::{DISTRACTOR, FinalMemory, StreamOutcome, score_stream};

#[cfg(test)]
mod tests;
