//! How the active memories stand: how warm, where in the hierarchy, how near their end.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::decay::confidence_at;
use super::rules::Rules;
use super::tier::heat;
use crate::memory::Tier;
use crate::store::{Database, Filter, StoreError};

/// Days within which an end counts as near.
pub const NEAR_DAYS: i64 = 7;

/// Counts of active memories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Census {
    /// By tier.
    pub by_tier: BTreeMap<&'static str, usize>,
    /// By heat.
    pub by_heat: BTreeMap<&'static str, usize>,
    /// Pinned ones.
    pub pinned: usize,
    /// Those that expire within a week.
    pub near_expiry: usize,
    /// Those that are half as sure as they were, or less.
    pub fading: usize,
}

/// Returns how the active memories stand at `now`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn census(store: &Database, rules: &Rules, now: Timestamp) -> Result<Census, StoreError> {
    let soon = now + SignedDuration::from_hours(24 * NEAR_DAYS);
    let mut census = Census::default();
    for memory in store.outlines(&Filter::default())? {
        let tier = if memory.pinned { Tier::L0 } else { memory.usage.tier };
        *census.by_tier.entry(tier.as_str()).or_default() += 1;
        *census.by_heat.entry(heat(&memory.usage, now).as_str()).or_default() += 1;
        census.pinned += usize::from(memory.pinned);
        census.near_expiry += usize::from(!memory.pinned && memory.expires_at.is_some_and(|at| at <= soon));
        let is_fading = confidence_at(&memory, &rules.half_lives, now) <= memory.confidence / 2.0;
        census.fading += usize::from(is_fading && memory.confidence > 0.0);
    }
    Ok(census)
}
