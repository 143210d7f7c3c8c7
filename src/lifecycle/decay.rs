//! The confidence of a memory over time, how much it is used (its warmth), and its tier.
//!
//! The functions are pure: the caller passes the time, and no stored value is changed.

use jiff::Timestamp;

pub(crate) use crate::memory::fading::{Certainty, HalfLives, days_between};
use crate::memory::{Memory, Tier, Usage, string_enum};
use crate::store::Outline;

/// Returns when a memory was last used, confirmed or changed; it fades from then on.
pub(crate) fn last_sure(memory: &Outline) -> Timestamp {
    let later = memory.usage.last_accessed_at.max(memory.confirmed_at);
    later.map_or(memory.updated_at, |at| at.max(memory.updated_at))
}

/// Returns the remaining confidence of a memory at `now`, as far as it can be determined without its evidence.
pub(crate) fn confidence_now(memory: &Memory, now: Timestamp) -> f64 {
    Certainty::from(memory).at(&HalfLives::default(), now)
}

/// Returns the remaining confidence of a memory at `now`; see [`Certainty::at`].
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

/// Days without a use after which a memory is half as warm.
pub(crate) const COOLING_HALF_LIFE_DAYS: f64 = 30.0;
/// Minimum warmth of a memory that counts as warm.
// This constant and the next have the values of the Base Coat specification.
pub(crate) const WARM: f64 = 3.0;
/// Minimum warmth of a memory that counts as hot.
pub(crate) const HOT: f64 = 10.0;
/// The warmth at which a memory rises to each tier, with the highest tier first. No memory rises to `l0`, which is
/// reserved for pinned memories.
pub(crate) const RISES: [(Tier, f64); 3] = [(Tier::L1, HOT), (Tier::L2, 6.0), (Tier::L3, WARM)];
/// Share of a tier's warmth; a memory whose warmth is below this share falls to a lower tier again.
// The share is well below 1, because a memory near the threshold would otherwise move up and down in every run.
pub(crate) const SINKS_BELOW: f64 = 0.5;

string_enum!(
    /// The intensity with which a memory is used.
    Heat, "a heat", {
    /// Warmth below 3.
    Cold = "cold",
    /// Warmth from 3.
    Warm = "warm",
    /// Warmth from 10.
    Hot = "hot",
});

/// Returns how warm a memory is at `now`: `uses × 0.5 ^ (whole days since the last use / 30)`.
pub(crate) fn warmth(usage: &Usage, now: Timestamp) -> f64 {
    // Only whole days count, so that the warmth, and thus the tier, does not change within a day.
    let idle = usage.last_accessed_at.map_or(0.0, |at| days_between(at, now).floor());
    f64::from(usage.access_count) * 0.5_f64.powf(idle / COOLING_HALF_LIFE_DAYS)
}

/// Returns how hot a memory is at `now`.
pub(crate) fn heat(usage: &Usage, now: Timestamp) -> Heat {
    match warmth(usage, now) {
        warmth if warmth >= HOT => Heat::Hot,
        warmth if warmth >= WARM => Heat::Warm,
        _ => Heat::Cold,
    }
}

/// Returns the tier of a memory that is not pinned. The memory rises as soon as it is warm enough, and falls, one tier
/// after the other, only once it has cooled to half of that. The result is stable: if the warmth does not change, the
/// memory stays in that tier.
pub(crate) fn tier_at(current: Tier, warmth: f64) -> Tier {
    // A memory that was always loaded because it was pinned starts from the next lower tier.
    let mut tier = current.max(Tier::L1);
    // This is repeated until the tier is stable, so that a second run at the same time has nothing to do.
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
