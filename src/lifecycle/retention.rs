//! The rules of retention: when a memory expires, is retired, or moves to another tier.
//!
//! The functions are pure: the caller passes the time.

use jiff::{Timestamp, ToSpan as _};
use serde::Serialize;

use crate::changeset::Action;
use crate::config::MemorySettings;
use crate::lifecycle::decay::{HalfLives, confidence_at, days_between, last_sure, tier_at, warmth};
use crate::memory::{Claim, MemoryId, MemoryType, Scope, Status, Tier};
use crate::store::Outline;

/// The numbers that maintenance uses. Days of 0 mean never, except for [`Rules::purge_days`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The half-lives by which confidence fades.
    pub half_lives: HalfLives,
    /// Minimum confidence, after fading, for a memory to be recalled.
    pub min_confidence: f64,
    /// Maximum number of active memories per namespace; 0 means no limit.
    pub max_memories: usize,
    /// Days without use or confirmation after which an unimportant memory is retired.
    pub auto_delete_days: u32,
    /// Importance below which a memory counts as unimportant.
    pub auto_delete_below: f64,
    /// Days after which a superseded memory is retired.
    pub superseded_days: u32,
    /// Days after which the less valuable of two memories with the same words is retired.
    pub duplicate_days: u32,
    /// Days after which expired short-term memories are retired.
    pub expired_days: u32,
    /// Days after which forgotten or retired memories are deleted permanently.
    pub purge_days: u32,
}

impl From<&MemorySettings> for Rules {
    fn from(settings: &MemorySettings) -> Self {
        let retention = &settings.retention;
        Self {
            half_lives: HalfLives::default(),
            min_confidence: 0.05,
            max_memories: retention.max_memories_per_namespace.value,
            auto_delete_days: retention.auto_delete_after_days.value,
            auto_delete_below: retention.auto_delete_min_importance.value,
            superseded_days: retention.superseded_days.value,
            duplicate_days: 7,
            expired_days: 30,
            purge_days: retention.purge_days.value,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::from(&MemorySettings::default())
    }
}

/// Maximum importance of a minor detail. Among memories that a model extracts from public conversations among people,
/// judges call half of those with at most this importance worthless, and one in seven of the others.
const MAX_MINOR_IMPORTANCE: f64 = 0.3;
/// Days after which a minor detail expires; our own choice.
const MINOR_DAYS: i64 = 90;

/// Returns the time at which a detail that people mention to each other at `said` expires; `None` if it is not a minor
/// detail, or if it states a rule, an attribute or its own expiry.
pub(crate) fn minor_expiry(claim: &Claim, said: Timestamp) -> Option<Timestamp> {
    let lasts = claim.importance > MAX_MINOR_IMPORTANCE
        || claim.memory_type == MemoryType::Procedural
        || claim.key.is_some()
        || claim.expires_at.is_some();
    if lasts { None } else { said.checked_add((MINOR_DAYS * 24).hours()).ok() }
}

/// Weight of the importance in the value of a memory when there are too many; the remaining weight is that of its
/// confidence.
pub(crate) const WORTH_IMPORTANCE: f64 = 0.6;

/// An action of maintenance on a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// The lifetime of the memory has ended, so it is no longer recalled.
    Expire,
    /// The confidence of the memory has fallen too low, so it is no longer recalled.
    Fade,
    /// The memory is superseded by another with the same words.
    Unite {
        /// The other memory.
        into: MemoryId,
    },
    /// The memory is retired; it can be restored until it is purged.
    Retire {
        /// The reason.
        because: RetirementReason,
    },
    /// The memory is used more, so it is loaded more readily.
    Promote {
        /// New tier of the memory.
        to: Tier,
    },
    /// The memory is used less, so it is loaded less readily.
    Demote {
        /// New tier of the memory.
        to: Tier,
    },
}

/// Reasons for retiring a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetirementReason {
    /// The memory matters too little, and nobody has used or confirmed it for a long time.
    Age,
    /// The namespace of the memory contains too many memories, and this memory is the least valuable.
    Count,
    /// Another memory replaced it long ago.
    Superseded,
    /// The memory expired long ago.
    Expired,
}

impl Act {
    /// Returns the action's name in the history.
    pub(crate) const fn action(&self) -> Action {
        match self {
            Self::Expire => Action::Expire,
            Self::Fade => Action::Fade,
            Self::Unite { .. } => Action::Unite,
            Self::Retire { .. } => Action::Retire,
            Self::Promote { .. } => Action::Promote,
            Self::Demote { .. } => Action::Demote,
        }
    }

    /// Returns the reason for the action, in a few words.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Expire => "its lifetime has ended",
            Self::Fade => "nobody has used or confirmed it for a long time",
            Self::Unite { .. } => "another memory has the same words",
            Self::Retire { because: RetirementReason::Age } => {
                "it matters little, and nobody has used or confirmed it for a long time"
            }
            Self::Retire { because: RetirementReason::Count } => {
                "its namespace has too many memories, and this one is the least valuable"
            }
            Self::Retire { because: RetirementReason::Superseded } => "another memory replaced it long ago",
            Self::Retire { because: RetirementReason::Expired } => "it expired long ago",
            Self::Promote { .. } => "it is used more",
            Self::Demote { .. } => "it is used less",
        }
    }

    /// Whether the memory is no longer recalled after the action.
    pub(crate) const fn takes_away(&self) -> bool {
        !matches!(self, Self::Promote { .. } | Self::Demote { .. })
    }
}

/// Returns the action that the passing of time alone requires for a memory at `now`; `None` for pinned, forgotten and
/// pending memories.
pub(crate) fn due(memory: &Outline, rules: &Rules, now: Timestamp) -> Option<Act> {
    if memory.pinned {
        return None;
    }
    match memory.status {
        Status::Active => of_active(memory, rules, now),
        Status::Superseded if is_past(rules.superseded_days, memory.updated_at, now) => {
            Some(Act::Retire { because: RetirementReason::Superseded })
        }
        // Only short-term memories are retired: a long-term memory that has faded can still be restored.
        Status::Expired if memory.scope == Scope::ShortTerm && is_past(rules.expired_days, memory.updated_at, now) => {
            Some(Act::Retire { because: RetirementReason::Expired })
        }
        Status::Superseded | Status::Expired | Status::Forgotten | Status::Pending => None,
    }
}

fn of_active(memory: &Outline, rules: &Rules, now: Timestamp) -> Option<Act> {
    // The expiry is checked first, because an expiry that was set explains the action better than fading does.
    if memory.expires_at.is_some_and(|at| at <= now) {
        return Some(Act::Expire);
    }
    if confidence_at(memory, &rules.half_lives, now) < rules.min_confidence {
        return Some(Act::Fade);
    }
    let is_unimportant = memory.importance < rules.auto_delete_below;
    // The days are counted from the last use or confirmation, so that unimportant but used memories remain.
    (is_unimportant && is_past(rules.auto_delete_days, last_sure(memory), now))
        .then_some(Act::Retire { because: RetirementReason::Age })
}

/// Returns the action that moves a memory in the hierarchy at `now`; `None` if it does not move.
pub(crate) fn moves(memory: &Outline, now: Timestamp) -> Option<Act> {
    if memory.pinned || memory.status != Status::Active {
        return None;
    }
    let (from, to) = (memory.usage.tier, tier_at(memory.usage.tier, warmth(&memory.usage, now)));
    match to.cmp(&from) {
        std::cmp::Ordering::Less => Some(Act::Promote { to }),
        std::cmp::Ordering::Greater => Some(Act::Demote { to }),
        std::cmp::Ordering::Equal => None,
    }
}

/// Returns the value of a memory at `now`, 0–1, which decides which memories are removed when there are too many. The
/// value is `0.6 importance + 0.4 confidence`, with the faded confidence.
pub(crate) fn worth(memory: &Outline, rules: &Rules, now: Timestamp) -> f64 {
    WORTH_IMPORTANCE * memory.importance + (1.0 - WORTH_IMPORTANCE) * confidence_at(memory, &rules.half_lives, now)
}

/// Whether `days` have passed since `from`; never if `days` is 0.
pub(super) fn is_past(days: u32, from: Timestamp, now: Timestamp) -> bool {
    days > 0 && days_between(from, now) >= f64::from(days)
}
