//! The life of a memory over time: confidence fades, tiers change, and expired memories are removed.
//!
//! ```text
//! outlines ─▶ expired, faded, unused ─┐
//!          ─▶ too many, same words ───┼─▶ Upkeep ─▶ one transaction and one run, which can be undone
//!          ─▶ tier by warmth ─────────┘          ─▶ the purge, which cannot be undone
//! ```
//!
//! The formulas and the sources of their numbers are in `docs/reference/lifecycle.md`.

pub(crate) mod decay;
mod maintain;
mod retention;

pub(crate) use maintain::{Census, census};
pub use maintain::{NEAR_DAYS, Report, Upkeep, maintain, plan, tick};
pub use retention::{Act, Rules, WORTH_IMPORTANCE, due, moves, worth};

#[cfg(test)]
mod tests;
