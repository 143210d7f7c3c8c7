//! Active memories as needed for the selection of a brief, read only from an index.
//!
//! Memories that differ only in the time of their last use, confirmation or change form a group. The best memories of a
//! group are its latest, so reading a few rows of each group is enough to find the best of all memories.

use jiff::Timestamp;
use rusqlite::{Row, params};

use crate::memory::{BLOCKER, MemoryId, MemoryType, Namespace, Tier};
use crate::store::row::{rows, spelled, time};
use crate::store::{Database, StoreError};

/// Number of steps between 0 and 1 for importance and confidence.
const STEPS: f64 = 20.0;

/// Everything that determines how a brief rates a memory, except the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BriefGroup {
    code: i64,
    expires: bool,
    /// The index of the memory's section among all sections.
    pub section: usize,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// The type of the memory.
    pub memory_type: MemoryType,
    /// Importance, 0–1, rounded down to a step.
    pub importance: f64,
    /// Confidence, 0–1, rounded down to a step.
    pub confidence: f64,
    /// The place of the memory in the hierarchy.
    pub tier: Tier,
    /// Number of times that the memory was used, where 10 means 10 or more.
    pub access_count: u32,
}

/// A memory of a group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BriefRow {
    /// Id of the memory.
    pub id: MemoryId,
    /// The group of the memory.
    pub group: BriefGroup,
    /// Time of the last use, confirmation or change.
    pub last_sure: Timestamp,
}

impl BriefGroup {
    /// Reads the digits of the number that the schema computes.
    pub(crate) fn from_code(code: i64) -> Self {
        let mut rest = code;
        let mut digit = |base: i64| {
            let digit = u32::try_from(rest % base).unwrap_or_default();
            rest /= base;
            digit
        };
        let (access_count, tier, confidence, importance) = (digit(11), digit(5), digit(21), digit(21));
        let (expires, memory_type, pinned, section) = (digit(2) == 1, digit(3), digit(2) == 1, digit(3));
        let (memory_type, tier) = (MemoryType::ALL[memory_type as usize], Tier::ALL[tier as usize]);
        let (importance, confidence) = (f64::from(importance) / STEPS, f64::from(confidence) / STEPS);
        let section = section as usize;
        Self { code, expires, section, pinned, memory_type, importance, confidence, tier, access_count }
    }
}

/// Rounds down to a step, in the same way as the schema for importance and confidence.
pub(crate) fn stepped(value: f64) -> f64 {
    // Without the small addition, 0.15 would be rounded down to the step below.
    (value * STEPS + 1e-6).floor() / STEPS
}

impl Database {
    /// Returns the groups of the active memories of a namespace.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn brief_groups(&self, namespace: &Namespace) -> Result<Vec<BriefGroup>, StoreError> {
        // The index makes it possible to jump from one group to the next; `DISTINCT` would read all of its rows.
        let sql = "WITH RECURSIVE found (code) AS (
                SELECT min(brief_group) FROM memory_usage INDEXED BY memory_usage_for_briefs WHERE namespace = ?1
                UNION ALL
                SELECT (SELECT min(brief_group) FROM memory_usage INDEXED BY memory_usage_for_briefs
                    WHERE namespace = ?1 AND brief_group > found.code)
                FROM found WHERE found.code IS NOT NULL)
            SELECT code FROM found WHERE code IS NOT NULL";
        self.query_all(sql, [namespace.to_string()], |row| row.get(0).map(BriefGroup::from_code))
    }

    /// Returns memories of a group that have not expired at `now`, latest first and then by id.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn brief_rows(
        &self,
        namespace: &Namespace,
        group: &BriefGroup,
        now: Timestamp,
        (limit, offset): (usize, usize),
    ) -> Result<Vec<BriefRow>, StoreError> {
        // Only a group of expiring memories requires more than the index.
        let sql = if group.expires {
            "SELECT u.memory_id, u.last_sure_at FROM memory_usage u INDEXED BY memory_usage_for_briefs
             CROSS JOIN memories m ON m.id = u.memory_id
             WHERE u.namespace = ?1 AND u.brief_group = ?2 AND m.expires_at > ?5
             ORDER BY u.last_sure_at DESC, u.memory_id LIMIT ?3 OFFSET ?4"
        } else {
            "SELECT memory_id, last_sure_at FROM memory_usage INDEXED BY memory_usage_for_briefs
             WHERE namespace = ?1 AND brief_group = ?2 AND ?5 IS NOT NULL
             ORDER BY last_sure_at DESC, memory_id LIMIT ?3 OFFSET ?4"
        };
        let values = params![namespace.to_string(), group.code, rows(limit), rows(offset), now.as_millisecond()];
        self.query_all(sql, values, |row| brief_row(row, *group))
    }

    /// Returns the most important active blockers, at most `limit`, and as many open tasks of a namespace, each with its
    /// type. Those that have expired at `now` are left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn open_work(
        &self,
        namespace: &Namespace,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(MemoryId, MemoryType)>, StoreError> {
        let sql = "SELECT id, type FROM memories INDEXED BY memories_open_work
            WHERE namespace = ?1 AND category = ?2 AND status = 'active' AND category IN ('blocker', 'task')
                AND (expires_at IS NULL OR expires_at > ?3)
            ORDER BY importance DESC, updated_at DESC, id DESC LIMIT ?4";
        let mut open = Vec::new();
        for category in [BLOCKER, "task"] {
            let values = params![namespace.to_string(), category, now.as_millisecond(), rows(limit)];
            open.extend(self.query_all(sql, values, |row| {
                Ok((MemoryId::from_stored(row.get::<_, String>(0)?), spelled(row, 1)?))
            })?);
        }
        Ok(open)
    }

    /// Returns the active memories among these; expired memories are not left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn brief_rows_of<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i MemoryId>,
    ) -> Result<Vec<BriefRow>, StoreError> {
        let sql = "SELECT memory_id, last_sure_at, brief_group FROM memory_usage
            WHERE memory_id = ?1 AND namespace IS NOT NULL";
        let found = ids
            .into_iter()
            .map(|id| self.query_one(sql, [id.as_str()], |row| brief_row(row, BriefGroup::from_code(row.get(2)?))));
        Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

fn brief_row(row: &Row<'_>, group: BriefGroup) -> rusqlite::Result<BriefRow> {
    Ok(BriefRow { id: row.get(0)?, group, last_sure: time(row, 1)? })
}
