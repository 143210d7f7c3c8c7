//! How confidence fades. Pure: the time comes from the caller, and nothing that is kept is changed by it.
//!
//! What is kept is the confidence at the last confirmation. What it is worth now follows from that and from the time
//! since, so it does not matter how often anybody looks, and a use or a confirmation brings it back in full.

use jiff::Timestamp;

use crate::memory::MemoryType;
use crate::store::Outline;

/// Uses from which on a memory fades half as fast; the same number makes it hot.
pub const FULL_USE: u32 = 10;

/// Days after which a memory that is neither used nor confirmed is half as sure, by type; 0 for never.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfLives {
    /// Of what is so.
    pub semantic: f64,
    /// Of what happened.
    pub episodic: f64,
    /// Of how to act.
    pub procedural: f64,
}

impl Default for HalfLives {
    fn default() -> Self {
        Self { semantic: 180.0, episodic: 30.0, procedural: 365.0 }
    }
}

impl HalfLives {
    /// Returns the days for a type.
    #[must_use]
    pub const fn of(&self, memory_type: MemoryType) -> f64 {
        match memory_type {
            MemoryType::Semantic => self.semantic,
            MemoryType::Episodic => self.episodic,
            MemoryType::Procedural => self.procedural,
        }
    }
}

/// Returns when a memory was last used, confirmed or changed: from there on it fades.
#[must_use]
pub fn last_sure(memory: &Outline) -> Timestamp {
    let later = memory.usage.last_accessed_at.max(memory.confirmed_at);
    later.map_or(memory.updated_at, |at| at.max(memory.updated_at))
}

/// Returns what the confidence of a memory is worth at `now`, between 0 and what is kept:
///
/// ```text
/// confidence × 0.5 ^ (days since it was last sure / (half-life of its type × (1 + min(uses, 10) / 10)))
/// ```
///
/// A pinned memory does not fade; nor does one whose type has no half-life.
#[must_use]
pub fn confidence_at(memory: &Outline, half_lives: &HalfLives, now: Timestamp) -> f64 {
    let half_life = half_lives.of(memory.memory_type);
    if memory.pinned || half_life <= 0.0 {
        return memory.confidence;
    }
    let slowed = 1.0 + f64::from(memory.usage.access_count.min(FULL_USE)) / f64::from(FULL_USE);
    memory.confidence * 0.5_f64.powf(days_between(last_sure(memory), now) / (half_life * slowed))
}

/// Returns the days from `from` to `to`, none if that is later.
#[must_use]
pub fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0) / 86_400.0
}
