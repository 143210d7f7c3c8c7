//! How confidence fades. Pure: the time comes from the caller, and nothing that is kept is changed by it.
//!
//! What is kept is the confidence at the last confirmation. What it is worth now follows from that and from the time
//! since, so it does not matter how often anybody looks, and a use or a confirmation brings it back in full.

use jiff::Timestamp;

use crate::memory::{Memory, MemoryType};
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

/// What fades, and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certainty {
    /// What is kept, 0–1.
    pub confidence: f64,
    /// The type of the memory.
    pub memory_type: MemoryType,
    /// Whether a person pinned it.
    pub pinned: bool,
    /// How often it was used.
    pub access_count: u32,
    /// When it was last used, confirmed or changed.
    pub last_sure: Timestamp,
}

impl Certainty {
    /// Returns what the confidence is worth at `now`; see `confidence_at`.
    #[must_use]
    pub fn at(&self, half_lives: &HalfLives, now: Timestamp) -> f64 {
        let half_life = half_lives.of(self.memory_type);
        if self.pinned || half_life <= 0.0 {
            return self.confidence;
        }
        let slowed = 1.0 + f64::from(self.access_count.min(FULL_USE)) / f64::from(FULL_USE);
        self.confidence * 0.5_f64.powf(days_between(self.last_sure, now) / (half_life * slowed))
    }
}

impl From<&Memory> for Certainty {
    /// Of a memory alone it is not known when its evidence was said; its last change and use tell.
    fn from(memory: &Memory) -> Self {
        let used = memory.usage.last_accessed_at;
        Self {
            confidence: memory.claim.confidence,
            memory_type: memory.claim.memory_type,
            pinned: memory.pinned,
            access_count: memory.usage.access_count,
            last_sure: used.map_or(memory.updated_at, |used| used.max(memory.updated_at)),
        }
    }
}

/// Returns when a memory was last used, confirmed or changed: from there on it fades.
#[must_use]
pub(crate) fn last_sure(memory: &Outline) -> Timestamp {
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
pub(crate) fn confidence_at(memory: &Outline, half_lives: &HalfLives, now: Timestamp) -> f64 {
    let certainty = Certainty {
        confidence: memory.confidence,
        memory_type: memory.memory_type,
        pinned: memory.pinned,
        access_count: memory.usage.access_count,
        last_sure: last_sure(memory),
    };
    certainty.at(half_lives, now)
}

/// Returns the days from `from` to `to`, none if that is later.
#[must_use]
pub(crate) fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0) / 86_400.0
}
