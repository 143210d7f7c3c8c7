//! The life of a memory over time: confidence fades, tiers change, and expired memories go.
//!
//! ```text
//! outlines ─▶ due (over? faded? given up?) ─┐
//!          ─▶ too many, the same words ─────┼─▶ Upkeep ─▶ one transaction, one run that can be undone
//!          ─▶ moves (warmth, tier) ─────────┘          ─▶ the purge, which cannot
//! ```
//!
//! The formulas and where each of their numbers comes from stand in `docs/reference/lifecycle.md`.

pub mod decay;
mod maintain;
mod retention;
#[cfg(test)]
mod tests;

pub use maintain::{COMMAND, Census, NEAR_DAYS, Report, Step, Upkeep, census, maintain, plan, tick};
pub use retention::{Act, RetirementReason, Rules, WORTH_IMPORTANCE, due, moves, worth};
