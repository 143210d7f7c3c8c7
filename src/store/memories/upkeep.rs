//! Expiry, purging, tiers and the other writes of maintenance.

use jiff::{SignedDuration, Timestamp};
use rusqlite::params;
use serde::Serialize;

use crate::changeset::{Action, Row};
use crate::guard::{CleanText, Redacted};
use crate::memory::{Memory, MemoryId, Status, Tier, Usage};
use crate::store::memories::row;
use crate::store::{Database, Filter, Order, RunId, Store, StoreError, Writer};

/// The result of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Purged {
    /// Memories that were deleted, sorted by id.
    pub memories: Vec<MemoryId>,
    /// Number of windows whose candidates were cleared because they may contain the same statements.
    pub windows: usize,
    /// Number of model replies that were deleted because of their age.
    pub replies: usize,
}

impl Writer<'_> {
    /// Removes one memory from every table, its texts from the history, and the candidates that it may have come from.
    /// Only the fact that the memory existed is kept, together with its tombstone, which contains only hashes.
    pub(in crate::store) fn purge(&self, id: &MemoryId) -> Result<usize, StoreError> {
        // Waiting memories are indexed first; otherwise, a waiting memory would be indexed after its removal.
        self.file_waiting()?;
        self.bump(id)?;
        self.read(|conn| {
            let windows = conn
                .prepare_cached(
                    "UPDATE windows SET candidates = '[]', dropped = '[]'
                     WHERE applied_at IS NOT NULL AND candidates <> '[]' AND transcript_id IN (
                        SELECT t.id FROM transcripts t JOIN evidence e ON e.transcript = t.key WHERE e.memory_id = ?1)",
                )?
                .execute([id.as_str()])?;
            conn.prepare_cached(
                "UPDATE history SET before = NULL, after = NULL, reason = NULL WHERE memory_id = ?1 OR other_id = ?1",
            )?
            .execute([id.as_str()])?;
            // A request that showed the memory is rendered again, which is simpler than tracking such requests.
            crate::store::ledger::close_requests_showing(conn, id.as_str())?;
            conn.prepare_cached("UPDATE tombstones SET reason = NULL WHERE memory_id = ?1")?.execute([id.as_str()])?;
            crate::store::sync::forget_purged(conn, id)?;
            row::delete_memory(conn, id)?;
            Ok(windows)
        })
    }
}

impl Store {
    /// Expires the active memories whose lifetime has ended, except pinned memories, and returns them sorted by id.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn expire(&self, run: Option<&RunId>, now: Timestamp) -> Result<Vec<MemoryId>, StoreError> {
        self.write(run, now, |w| {
            let over = Filter { pinned: Some(false), expired_at: Some(now), ..Filter::default() };
            let ids: Vec<_> = w.list(&over, Order::Id, usize::MAX, 0)?.into_iter().map(|memory| memory.id).collect();
            for id in &ids {
                w.set_status(id, Status::Expired, Action::Expire, Some("its lifetime has ended".into()))?;
            }
            Ok(ids)
        })
    }

    /// Permanently deletes memories that were forgotten at least `days` ago, and model replies that are at least as
    /// old.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn purge(&self, days: u32, now: Timestamp) -> Result<Purged, StoreError> {
        let age = SignedDuration::from_hours(24 * i64::from(days));
        let cutoff = now.checked_sub(age).unwrap_or(Timestamp::MIN);
        // Only a purge justifies the extra writes that overwrite every freed byte.
        self.conn.pragma_update(None, "secure_delete", "ON")?;
        let purged = self.purge_before(cutoff, now);
        self.conn.pragma_update(None, "secure_delete", "FAST")?;
        // The error is returned only at this point, so that the setting is restored in that case as well.
        let purged = purged?;
        if !purged.memories.is_empty() {
            // The samples of SQLite's query planner may contain keys of purged rows.
            self.forget_samples()?;
            self.optimise()?;
        }
        Ok(purged)
    }

    fn purge_before(&self, cutoff: Timestamp, now: Timestamp) -> Result<Purged, StoreError> {
        self.write(None, now, |w| {
            let mut purged = Purged { memories: w.forgotten_before(cutoff)?, ..Purged::default() };
            for id in &purged.memories {
                purged.windows += w.purge(id)?;
            }
            w.read(|conn| {
                let before = [cutoff.as_millisecond()];
                purged.replies =
                    conn.execute("DELETE FROM requests WHERE text IS NOT NULL AND answered_at <= ?1", before)?;
                conn.execute(
                    "DELETE FROM requests WHERE text IS NULL AND (state <> 'asked' OR batch IS NULL) AND created_at <= ?1",
                    before,
                )?;
                let detail = format!("{} memories, {} replies", purged.memories.len(), purged.replies);
                conn.execute(
                    "INSERT INTO audit (at, action, detail) VALUES (?1, 'purge', ?2)",
                    params![w.now.as_millisecond(), detail],
                )?;
                Ok::<_, StoreError>(purged)
            })
        })
    }

    /// Optimises the index, updates the planner's statistics, and checkpoints the WAL.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn optimise(&self) -> Result<(), StoreError> {
        self.read(|conn| {
            let merging = rusqlite::Transaction::new_unchecked(conn, rusqlite::TransactionBehavior::Immediate)?;
            crate::store::index::words::merge(&merging)?;
            merging.commit()?;
            conn.execute_batch("PRAGMA optimize;")?;
            // Readers in other processes may prevent the checkpoint; in that case, it happens once they have finished.
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
            Ok(())
        })
    }
}

/// Time for which a file must have been unused for the clock to be considered wrong; this matters because permanent
/// deletion cannot be undone.
const UNUSED: SignedDuration = SignedDuration::from_hours(400 * 24);
/// Time that must elapse on a clock that is considered wrong before it is trusted.
const DOUBT: SignedDuration = SignedDuration::from_hours(24);

impl crate::store::Database {
    /// Returns whether memories that are due at `now` may be deleted permanently. Deletion is refused if the last use
    /// of the file, ignoring the last day, was more than 400 days ago. In this case, the clock is probably wrong, and
    /// the user has a day to correct it.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn believes(&self, now: Timestamp) -> Result<bool, StoreError> {
        let before = |span| now.checked_sub(span).unwrap_or(Timestamp::MIN).as_millisecond();
        self.read(|conn| {
            let last: Option<i64> = conn
                .prepare_cached(
                    "SELECT max(at) FROM (
                        SELECT max(started_at) AS at FROM runs WHERE started_at <= ?1
                        UNION ALL SELECT max(at) FROM audit WHERE at <= ?1
                        UNION ALL SELECT * FROM (SELECT at FROM history WHERE at <= ?1 ORDER BY id DESC LIMIT 1))",
                )?
                .query_row([before(DOUBT)], |row| row.get(0))?;
            Ok(last.is_none_or(|last| last >= before(UNUSED)))
        })
    }

    /// Returns the memories that were forgotten up to `cutoff`, sorted by id.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn forgotten_before(&self, cutoff: Timestamp) -> Result<Vec<MemoryId>, StoreError> {
        let sql = "SELECT id FROM memories WHERE status = 'forgotten' AND deleted_at <= ?1 ORDER BY id";
        self.query_all(sql, [cutoff.as_millisecond()], |row| row.get(0))
    }
}

impl Database {
    /// Returns whether a person restored the memory or undid `action` on it, so that it must be kept.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn is_wanted(&self, id: &MemoryId, action: Action) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM history WHERE memory_id = ?1
                AND (action = 'restore' AND undone = 0 OR action = ?2 AND undone = 1))";
        self.query_only(sql, [id.as_str(), action.as_str()], |row| row.get(0))
    }

    /// Returns the active memories of one namespace that have the same normalised text, in groups.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn same_words(&self) -> Result<Vec<Vec<MemoryId>>, StoreError> {
        // Only the index is read; the query returns the few hashes that occur several times.
        let sql = "WITH several AS MATERIALIZED (
                    SELECT content_hash, namespace FROM memories INDEXED BY memories_by_hash
                    GROUP BY content_hash, namespace HAVING count(*) > 1)
                SELECT json_group_array(m.id) FROM several s
                JOIN memories m ON m.content_hash = s.content_hash AND m.namespace = s.namespace
                WHERE m.status = 'active' GROUP BY m.content_hash, m.namespace HAVING count(*) > 1
                ORDER BY min(m.id)";
        self.query_all(sql, (), |row| crate::store::row::json(row.get_ref(0)?.as_str()?, 0))
    }

    /// Returns the number of model replies stored up to `cutoff`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn replies_before(&self, cutoff: Timestamp) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM requests WHERE text IS NOT NULL AND answered_at <= ?1";
        self.query_only(sql, [cutoff.as_millisecond()], |row| row.get(0))
    }
}

impl Writer<'_> {
    /// Moves a memory to another tier, and returns whether it was in a different tier.
    ///
    /// The history records a move, and it can be undone, but it does not change the content of the memory: `updated_at`
    /// stays the same, no plan becomes stale, and earlier changes can still be undone.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub(crate) fn set_tier(
        &self,
        id: &MemoryId,
        tier: Tier,
        action: Action,
        reason: Option<CleanText<'_>>,
    ) -> Result<bool, StoreError> {
        let before = self.memory(id)?;
        if before.usage.tier == tier {
            return Ok(false);
        }
        let mut usage = Usage { tier, ..before.usage.clone() };
        // Smaller numbers are higher tiers: `l0` is the top.
        if tier < before.usage.tier {
            usage.promotion_count += 1;
            usage.last_promoted_at = Some(self.now);
        }
        let after = Memory { usage, ..before.clone() };
        self.write_one(action, Row::memory(Some(before), Some(after)), reason)?;
        Ok(true)
    }

    /// Writes the tier of a memory, if the memory exists.
    pub(in crate::store) fn put_place(&self, id: &MemoryId, usage: &Usage) -> Result<(), StoreError> {
        let sql = "UPDATE memory_usage SET tier = ?2, promotion_count = ?3, last_promoted_at = ?4 WHERE memory_id = ?1";
        let promoted_at = usage.last_promoted_at.map(Timestamp::as_millisecond);
        let values = params![id.as_str(), usage.tier.as_str(), usage.promotion_count, promoted_at];
        self.execute(sql, values).map(drop)
    }

    /// Copies the evidence of another memory to a memory, and returns the number of new pieces.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub(crate) fn take_over_evidence(&self, id: &MemoryId, from: &MemoryId) -> Result<usize, StoreError> {
        let evidence = Redacted::from_stored(self.evidence(from)?);
        self.add_evidence(id, &evidence)
    }
}

impl Store {
    /// Deletes the times at which memories were read, found or shown at least `days` ago, but keeps the counts.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn forget_accesses(&self, days: u32, now: Timestamp) -> Result<usize, StoreError> {
        let cutoff = now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN);
        let sql = "DELETE FROM access_log WHERE at <= ?1";
        self.execute(sql, [cutoff.as_millisecond()])
    }
}
