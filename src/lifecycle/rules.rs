//! The numbers by which maintenance goes.

use super::decay::HalfLives;
use crate::config::MemorySettings;

/// The numbers by which maintenance goes. Days of 0 mean never, but for [`Rules::purge_days`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// How fast confidence fades.
    pub half_lives: HalfLives,
    /// Confidence, as far as it has faded, below which a memory is no longer recalled.
    pub min_confidence: f64,
    /// Most active memories of one namespace; 0 for any number.
    pub max_memories: usize,
    /// Days without use or confirmation after which what matters too little is given up.
    pub auto_delete_days: u32,
    /// Importance below which it is.
    pub auto_delete_below: f64,
    /// Days after which what was superseded is given up.
    pub superseded_days: u32,
    /// Days after which of two memories with the same words the one worth less gives way.
    pub duplicate_days: u32,
    /// Days after which short-term memories that are over are given up.
    pub expired_days: u32,
    /// Days after which what was forgotten or given up is gone for good.
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
