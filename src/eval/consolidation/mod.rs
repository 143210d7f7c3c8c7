//! How good consolidation is: pairs with the decision that is right, and streams with the state that is right in the end.
//!
//! ```text
//! *-pairs.jsonl ───▶ Pair ───▶ a store each ─▶ look around ┐            ┌▶ decisions ─▶ PairFault ┐
//!                                                          ├─▶ settle ──┤                         ├▶ Report
//! *-streams.jsonl ─▶ Stream ─▶ a store each ─▶ look around ┘  (together)└▶ end state ─▶ StreamFault
//! ```
//!
//! Each case lives in a store of its own, alone or among invented distractors. What arrives in all of them is settled
//! together, so that a model is asked about many in one call, as a run of the pipeline asks it.

mod counts;
mod decider;
mod distract;
mod file;
mod form;
mod home;
mod markdown;
mod moment;
mod pair_score;
mod pairs;
mod report;
mod row;
mod run;
mod similar;
mod stream_score;
mod streams;
#[cfg(test)]
mod table;
mod words;

pub use counts::{Counts, Good, MEASURES, Measure, PAIR, STREAM};
pub use decider::Decider;
pub use file::{Cases, Placed, files, read};
pub use form::{Act, Again, Arriving, Deed, Event, Hard, Pair, Said, Stream, schemas};
pub use markdown::markdown;
pub use moment::Moment;
pub use pair_score::PairFault;
pub use report::{Group, PairReport, Report, StreamReport};
pub use row::defined;
pub use run::run;
pub use stream_score::{Misplaced, StreamFault};
