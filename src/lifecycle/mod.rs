//! What time does to memories: confidence fades, places in the hierarchy change, what is over goes.
//!
//! ```text
//! outlines ─▶ due (over? faded? given up?) ─┐
//!          ─▶ too many, the same words ─────┼─▶ Upkeep ─▶ one transaction, one run that can be undone
//!          ─▶ moves (warmth, tier) ─────────┘          ─▶ the purge, which cannot
//! ```
//!
//! The formulas and where each of their numbers comes from stand in `docs/reference/lifecycle.md`.

mod census;
pub mod decay;
mod maintain;
mod plan;
mod retention;
mod rules;
#[cfg(test)]
mod tests;
pub mod tier;

pub use census::{Census, NEAR_DAYS, census};
pub use maintain::{COMMAND, Report, maintain, tick};
pub use plan::{Step, Upkeep, plan};
pub use retention::{Act, Retired, WORTH_IMPORTANCE, due, moves, worth};
pub use rules::Rules;
