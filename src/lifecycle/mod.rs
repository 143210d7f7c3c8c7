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

pub(crate) use maintain::{Census, NEAR_DAYS, census, plan, tick};
pub use maintain::{Report, Upkeep, maintain};
pub(crate) use retention::minor_expiry;
pub use retention::{Act, Rules};

#[cfg(test)]
mod tests;
