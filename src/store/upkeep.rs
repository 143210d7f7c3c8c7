//! What maintenance reads and writes besides what everybody does.

use jiff::{SignedDuration, Timestamp};
use rusqlite::params;

use super::{Database, Store, StoreError, Writer};
use crate::changeset::{Action, Row};
use crate::guard::Redacted;
use crate::memory::{Memory, MemoryId, Tier, Usage};

impl Database {
    /// Whether a person restored the memory, or took back that `action` was done to it: it is to stay.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn is_wanted(&self, id: &MemoryId, action: Action) -> Result<bool, StoreError> {
        self.read(|conn| {
            let sql = "SELECT EXISTS (SELECT 1 FROM history WHERE memory_id = ?1
                AND (action = 'restore' AND undone = 0 OR action = ?2 AND undone = 1))";
            Ok(conn.prepare_cached(sql)?.query_row([id.as_str(), action.as_str()], |row| row.get(0))?)
        })
    }

    /// Returns the active memories of one namespace that have the same normalised words, those that are alike together.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn same_words(&self) -> Result<Vec<Vec<MemoryId>>, StoreError> {
        self.read(|conn| {
            // The index alone tells what is there several times; most of that is not there at all.
            let sql = "WITH several AS MATERIALIZED (
                    SELECT content_hash, namespace FROM memories INDEXED BY memories_by_hash
                    GROUP BY content_hash, namespace HAVING count(*) > 1)
                SELECT json_group_array(m.id) FROM several s
                JOIN memories m ON m.content_hash = s.content_hash AND m.namespace = s.namespace
                WHERE m.status = 'active' GROUP BY m.content_hash, m.namespace HAVING count(*) > 1
                ORDER BY min(m.id)";
            let mut statement = conn.prepare_cached(sql)?;
            let found = statement.query_map((), |row| super::row::json(row.get_ref(0)?.as_str()?, 0))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns how many replies of models were kept up to `cutoff`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn replies_before(&self, cutoff: Timestamp) -> Result<usize, StoreError> {
        self.read(|conn| {
            let sql = "SELECT count(*) FROM requests WHERE text IS NOT NULL AND answered_at <= ?1";
            Ok(conn.prepare_cached(sql)?.query_row([cutoff.as_millisecond()], |row| row.get(0))?)
        })
    }
}

impl Writer<'_> {
    /// Moves a memory to another place in the hierarchy, and returns whether it was elsewhere.
    ///
    /// A move is in the history and can be undone, and is no change of what the memory says: it does not become newer,
    /// no plan becomes stale by it, and it does not stand in the way of undoing what came before.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if it is not there.
    pub fn set_tier(
        &self,
        id: &MemoryId,
        tier: Tier,
        action: Action,
        reason: Option<&str>,
    ) -> Result<bool, StoreError> {
        let before = self.memory(id)?;
        if before.usage.tier == tier {
            return Ok(false);
        }
        let mut usage = Usage { tier, ..before.usage.clone() };
        if tier < before.usage.tier {
            usage.promotion_count += 1;
            usage.last_promoted_at = Some(self.now);
        }
        let after = Memory { usage, ..before.clone() };
        self.write_one(action, Row::memory(Some(before), Some(after)), reason)?;
        Ok(true)
    }

    /// Writes the place of a memory in the hierarchy, if the memory is there.
    pub(super) fn put_place(&self, id: &MemoryId, usage: &Usage) -> Result<(), StoreError> {
        self.read(|conn| {
            let sql =
                "UPDATE memory_usage SET tier = ?2, promotion_count = ?3, last_promoted_at = ?4 WHERE memory_id = ?1";
            let promoted_at = usage.last_promoted_at.map(Timestamp::as_millisecond);
            let values = params![id.as_str(), usage.tier.as_str(), usage.promotion_count, promoted_at];
            conn.prepare_cached(sql)?.execute(values)?;
            Ok(())
        })
    }

    /// Lets a memory rest on what another one rests on, too, and returns how many pieces were new to it.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if it is not there.
    pub fn take_over_evidence(&self, id: &MemoryId, from: &MemoryId) -> Result<usize, StoreError> {
        let evidence = Redacted::from_stored(self.evidence(from)?);
        self.add_evidence(id, &evidence)
    }
}

impl Store {
    /// Forgets when memories were read, found or shown `days` ago or longer; how often they were used is kept.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn forget_accesses(&self, days: u32, now: Timestamp) -> Result<usize, StoreError> {
        let cutoff = now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN);
        self.read(|conn| {
            let sql = "DELETE FROM access_log WHERE at <= ?1";
            Ok(conn.prepare_cached(sql)?.execute([cutoff.as_millisecond()])?)
        })
    }
}
