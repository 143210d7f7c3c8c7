//! The confidence of a memory over time: the stored confidence, and what remains of it at a given time.

use jiff::Timestamp;

use super::{Memory, MemoryType};

/// Number of uses at which a memory fades half as fast; with as many recent uses it is hot.
const FULL_USE: u32 = 10;

/// Days after which the confidence of a memory that is neither used nor confirmed has halved, by type; 0 means never.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfLives {
    /// For semantic memories.
    pub semantic: f64,
    /// For episodic memories.
    pub episodic: f64,
    /// For procedural memories.
    pub procedural: f64,
}

impl Default for HalfLives {
    fn default() -> Self {
        Self { semantic: 180.0, episodic: 30.0, procedural: 365.0 }
    }
}

impl HalfLives {
    /// Returns the days for a type.
    pub(crate) const fn of(&self, memory_type: MemoryType) -> f64 {
        match memory_type {
            MemoryType::Semantic => self.semantic,
            MemoryType::Episodic => self.episodic,
            MemoryType::Procedural => self.procedural,
        }
    }
}

/// The values that determine how confidence fades.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Certainty {
    /// The stored confidence, 0–1.
    pub confidence: f64,
    /// The type of the memory.
    pub memory_type: MemoryType,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// Number of times the memory was used.
    pub access_count: u32,
    /// Time at which the memory was last used, confirmed or changed.
    pub last_sure: Timestamp,
}

impl Certainty {
    /// Returns the remaining confidence at `now`; between 0 and the stored confidence:
    ///
    /// ```text
    /// confidence × 0.5 ^ (days / (half-life of the type × (1 + min(uses, 10) / 10)))
    /// ```
    ///
    /// The days are counted from the last use, confirmation or change. A pinned memory does not fade, nor does a memory
    /// whose type has no half-life.
    pub(crate) fn at(&self, half_lives: &HalfLives, now: Timestamp) -> f64 {
        let half_life = half_lives.of(self.memory_type);
        // 0 means never; without this check, the exponent would divide by zero.
        if self.pinned || half_life <= 0.0 {
            return self.confidence;
        }
        // A memory fades at most half as fast: use suggests that it is true, but does not prove it.
        let slowed = 1.0 + f64::from(self.access_count.min(FULL_USE)) / f64::from(FULL_USE);
        self.confidence * 0.5_f64.powf(days_between(self.last_sure, now) / (half_life * slowed))
    }
}

impl From<&Memory> for Certainty {
    /// Without its evidence, it is unknown when the memory was stated, so only its last change and use count.
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

/// Returns the days from `from` to `to`, or 0 if `from` is later.
pub(crate) fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    // Clocks differ between machines; a time in the future counts as the present, not as a negative age.
    to.duration_since(from).as_secs_f64().max(0.0) / 86_400.0
}
