//! How warm a memory is, and its place in the hierarchy that follows. Pure: the time comes from the caller.
//!
//! One number rules both: the uses of a memory, half of them forgotten for every thirty days since the last. On the day
//! of a use it is their count, so what is kept and what is computed never disagree about a memory in use.

use jiff::Timestamp;
use serde::Serialize;

use super::decay::days_between;
use crate::memory::{Tier, Usage};

/// Days without a use after which a memory is half as warm.
pub const COOLING_HALF_LIFE_DAYS: f64 = 30.0;
/// Warmth from which a memory is warm.
pub const WARM: f64 = 3.0;
/// Warmth from which it is hot.
pub const HOT: f64 = 10.0;
/// Warmth from which a memory rises to each tier, the highest first. Nothing rises to `l0`, which is for what is pinned.
pub const RISES: [(Tier, f64); 3] = [(Tier::L1, HOT), (Tier::L2, 6.0), (Tier::L3, WARM)];
/// Share of that warmth below which it sinks again.
pub const SINKS_BELOW: f64 = 0.5;

/// How much a memory is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Heat {
    /// Warmth below 3.
    Cold,
    /// Warmth from 3.
    Warm,
    /// Warmth from 10.
    Hot,
}

impl Heat {
    /// Every heat, the coldest first.
    pub const ALL: [Self; 3] = [Self::Cold, Self::Warm, Self::Hot];

    /// Returns the spelling used in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Hot => "hot",
        }
    }
}

/// Returns how warm a memory is at `now`: `uses × 0.5 ^ (whole days since the last use / 30)`.
#[must_use]
pub(crate) fn warmth(usage: &Usage, now: Timestamp) -> f64 {
    let idle = usage.last_accessed_at.map_or(0.0, |at| days_between(at, now).floor());
    f64::from(usage.access_count) * 0.5_f64.powf(idle / COOLING_HALF_LIFE_DAYS)
}

/// Returns how hot a memory is at `now`.
#[must_use]
pub fn heat(usage: &Usage, now: Timestamp) -> Heat {
    match warmth(usage, now) {
        warmth if warmth >= HOT => Heat::Hot,
        warmth if warmth >= WARM => Heat::Warm,
        _ => Heat::Cold,
    }
}

/// Returns the tier of a memory that is not pinned: it rises as soon as it is warm enough, and sinks, one tier after the
/// other, only once it has cooled to half of that. What comes of it is where it stays at the same warmth.
#[must_use]
pub(crate) fn tier_at(current: Tier, warmth: f64) -> Tier {
    // What was always loaded because it was pinned begins to sink from the tier below.
    let mut tier = current.max(Tier::L1);
    while let Some((_, rises)) = RISES.iter().find(|(one, _)| *one == tier)
        && warmth < rises * SINKS_BELOW
    {
        tier = below(tier);
    }
    RISES.iter().find(|(_, rises)| warmth >= *rises).map_or(tier, |(risen, _)| tier.min(*risen))
}

const fn below(tier: Tier) -> Tier {
    match tier {
        Tier::L0 => Tier::L1,
        Tier::L1 => Tier::L2,
        Tier::L2 => Tier::L3,
        Tier::L3 | Tier::L4 => Tier::L4,
    }
}
