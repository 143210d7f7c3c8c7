//! Tables for synchronising with other machines: targets, records of rows, and items that wait to be sent. The module
//! `sync` defines their meaning.

use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::{Connection, Row as SqlRow, params};

use super::file::path::with_suffix;
use super::file::seal::mark_unsealed;
use super::memories::evidence;
use super::writer::{Mark, Stale};
use super::{Database, Store, StoreError, Writer};
use crate::changeset::{Entity, Row, RowChange};
use crate::memory::{Evidence, Memory, MemoryId, Namespace};
use crate::store::row::{from_row, spelled, to_json};
use crate::text::normalise::normalised_hash;

/// Prefix of the id of every changeset that a synchronisation wrote.
pub(super) const SYNCED: &str = "sync-";

/// A folder or repository that this database is synchronised with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyncTarget {
    pub(crate) id: i64,
    /// A path, or the address of a repository.
    pub(crate) address: String,
    /// Patterns of the namespaces that are synchronised.
    pub(crate) namespaces: Vec<String>,
    /// Whether the target is synchronised without a command.
    pub(crate) automatic: bool,
    /// Path of the file with the key for the items in the target; `None` if it is not encrypted.
    pub(crate) key: Option<String>,
    /// Name of this database's log in the target.
    pub(crate) device: String,
    /// Number of the last item of this log, and its hash.
    pub(crate) seq: u64,
    pub(crate) hash: String,
    /// The highest number that was assigned to an item, whether or not it was sent.
    pub(crate) used: u64,
    /// The highest logical time known to this database.
    pub(crate) lamport: u64,
    /// The last change whose memories were compared with their records; `None` if all have to be compared.
    pub(crate) collected: Option<i64>,
    /// Whether the log has to be replaced by a snapshot, because its items may contain erased text.
    pub(crate) rewrite: bool,
    pub(crate) synced_at: Option<Timestamp>,
    pub(crate) error: Option<String>,
}

/// The last item of a log that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyncPlace {
    pub(crate) device: String,
    pub(crate) seq: u64,
    pub(crate) hash: String,
}

/// A record as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredRecord {
    pub(crate) key: String,
    pub(crate) entity: Entity,
    pub(crate) memory: MemoryId,
    pub(crate) other: Option<MemoryId>,
    /// The whole record as JSON.
    pub(crate) json: String,
}

impl Database {
    /// Returns the path of the file with `ending` appended; `None` for an in-memory store.
    pub(crate) fn path_beside(&self, ending: &str) -> Option<PathBuf> {
        (self.path.as_os_str() != ":memory:").then(|| with_suffix(&self.path, ending))
    }

    /// Returns the targets in the order in which they were added.
    pub(crate) fn sync_targets(&self) -> Result<Vec<SyncTarget>, StoreError> {
        if !self.has_table("sync_targets")? {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, address, namespaces, device, seq, hash, used, lamport, collected, rewrite,
                synced_at, error, automatic, key FROM sync_targets ORDER BY id";
        self.query_all(sql, (), target_from_row)
    }

    /// Returns the last applied item of each other log.
    pub(crate) fn sync_peers(&self, target: i64) -> Result<Vec<SyncPlace>, StoreError> {
        let read = |row: &SqlRow<'_>| Ok(SyncPlace { device: row.get(0)?, seq: row.get(1)?, hash: row.get(2)? });
        self.query_all("SELECT device, seq, hash FROM sync_peers WHERE target = ?1 ORDER BY device", [target], read)
    }

    /// Returns the record with this key.
    pub(crate) fn sync_record(&self, target: i64, key: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT record FROM sync_records WHERE target = ?1 AND key = ?2";
        self.query_one(sql, params![target, key], |row| row.get(0))
    }

    /// Returns the records of a memory, its evidence, its links in both directions and its rejection.
    pub(crate) fn sync_records_about(&self, target: i64, id: &MemoryId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT record FROM sync_records WHERE target = ?1 AND memory_id = ?2
             UNION ALL SELECT record FROM sync_records WHERE target = ?1 AND other_id = ?2 AND memory_id <> ?2";
        self.query_all(sql, params![target, id.as_str()], |row| row.get(0))
    }

    /// Returns all records of a target, sorted by key.
    pub(crate) fn sync_records(&self, target: i64) -> Result<Vec<String>, StoreError> {
        self.query_all("SELECT record FROM sync_records WHERE target = ?1 ORDER BY key", [target], |row| row.get(0))
    }

    /// Returns the items that wait to be sent, in order.
    pub(crate) fn sync_outbox(&self, target: i64) -> Result<Vec<(u64, String)>, StoreError> {
        let sql = "SELECT seq, records FROM sync_outbox WHERE target = ?1 ORDER BY seq";
        self.query_all(sql, [target], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Returns the memories that changed after the history entry `since`, and those with dirty records; without
    /// `since`, all memories.
    pub(crate) fn memories_to_collect(&self, target: i64, since: Option<i64>) -> Result<Vec<MemoryId>, StoreError> {
        let all = "SELECT id FROM memories UNION SELECT memory_id FROM tombstones
             UNION SELECT memory_id FROM sync_records WHERE target = ?1 AND ?2 IS NULL";
        let some = "SELECT memory_id FROM history WHERE id > ?2
             UNION SELECT other_id FROM history WHERE id > ?2 AND other_id IS NOT NULL
             UNION SELECT memory_id FROM sync_records WHERE target = ?1 AND dirty = 1";
        let sql = if since.is_some() { some } else { all };
        self.query_all(sql, params![target, since], |row| row.get(0))
    }

    /// Returns the namespaces of the memories that changed after the history entry `since`, or of all memories without
    /// `since`, each with their number.
    pub(crate) fn changed_by_namespace(&self, since: Option<i64>) -> Result<Vec<(Namespace, usize)>, StoreError> {
        // Moves between tiers are not shared.
        let some = "id IN (SELECT memory_id FROM history WHERE id > ?1 AND action NOT IN ('promote', 'demote'))";
        let changed = if since.is_some() { some } else { "?1 IS NULL" };
        let sql =
            format!("SELECT namespace, count(*) FROM memories WHERE {changed} GROUP BY namespace ORDER BY namespace");
        self.query_all(&sql, [since], |row| Ok((spelled(row, 0)?, row.get(1)?)))
    }

    /// Returns the ids of active memories of a namespace with the same words.
    pub(crate) fn with_same_words(&self, namespace: &Namespace, content: &str) -> Result<Vec<MemoryId>, StoreError> {
        // Without the plus sign, SQLite would use the index by namespace and read all memories of the namespace.
        let sql =
            "SELECT id FROM memories WHERE content_hash = ?1 AND namespace = ?2 AND +status = 'active' ORDER BY id";
        let values = params![normalised_hash(content), namespace.to_string()];
        self.query_all(sql, values, |row| row.get(0))
    }
}

impl Writer<'_> {
    /// Adds a target, and returns its id.
    pub(crate) fn add_sync_target(&self, target: &SyncTarget) -> Result<i64, StoreError> {
        let values = params![target.address, to_json(&target.namespaces)?, target.device];
        let sql = "INSERT INTO sync_targets (address, namespaces, device) VALUES (?1, ?2, ?3) RETURNING id";
        let id = self.query_only(sql, values, |row| row.get(0))?;
        self.put_sync_target(&SyncTarget { id, ..target.clone() })?;
        Ok(id)
    }

    /// Writes the settings and the state of a target.
    pub(crate) fn put_sync_target(&self, target: &SyncTarget) -> Result<(), StoreError> {
        self.execute(
            "UPDATE sync_targets SET namespaces = ?2, device = ?3, seq = ?4, hash = ?5, used = ?6, lamport = ?7,
                collected = ?8, rewrite = ?9, synced_at = ?10, error = ?11, automatic = ?12, key = ?13 WHERE id = ?1",
            params![
                target.id,
                to_json(&target.namespaces)?,
                target.device,
                target.seq,
                target.hash,
                target.used,
                target.lamport,
                target.collected,
                target.rewrite,
                target.synced_at.map(Timestamp::as_millisecond),
                target.error,
                target.automatic,
                target.key,
            ],
        )
        .map(drop)
    }

    /// Changes the address of a target.
    #[cfg(test)]
    pub(crate) fn move_sync_target(&self, id: i64, address: &str) -> Result<(), StoreError> {
        self.execute("UPDATE sync_targets SET address = ?2 WHERE id = ?1", params![id, address]).map(drop)
    }

    /// Removes a target with its records; memories stay.
    pub(crate) fn remove_sync_target(&self, id: i64) -> Result<(), StoreError> {
        self.execute("DELETE FROM sync_targets WHERE id = ?1", [id]).map(drop)
    }

    /// Records the last applied item of another log.
    pub(crate) fn put_sync_peer(&self, target: i64, place: &SyncPlace) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO sync_peers (target, device, seq, hash) VALUES (?1, ?2, ?3, ?4)";
        self.execute(sql, params![target, place.device, place.seq, place.hash]).map(drop)
    }

    /// Writes a record, which then counts as matching its row unless `dirty`.
    pub(crate) fn put_sync_record(&self, target: i64, record: &StoredRecord, dirty: bool) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO sync_records (target, key, entity, memory_id, other_id, record, dirty)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (target, key) DO UPDATE SET record = ?6, dirty = ?7",
            params![
                target,
                record.key,
                record.entity.as_str(),
                record.memory.as_str(),
                record.other.as_ref().map(MemoryId::as_str),
                record.json,
                dirty,
            ],
        )
        .map(drop)
    }

    /// Marks the records of a memory as matching their rows.
    pub(crate) fn clean_sync_records(&self, target: i64, id: &MemoryId) -> Result<(), StoreError> {
        let sql = "UPDATE sync_records SET dirty = 0 WHERE target = ?1 AND memory_id = ?2 AND +dirty = 1";
        self.execute(sql, params![target, id.as_str()]).map(drop)
    }

    /// Adds an item to be sent.
    pub(crate) fn put_sync_outbox(&self, target: i64, seq: u64, records: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO sync_outbox (target, seq, records) VALUES (?1, ?2, ?3)";
        self.execute(sql, params![target, seq, records]).map(drop)
    }

    /// Removes the items up to `seq`, which have reached the target.
    pub(crate) fn clear_sync_outbox(&self, target: i64, seq: u64) -> Result<(), StoreError> {
        self.execute("DELETE FROM sync_outbox WHERE target = ?1 AND seq <= ?2", params![target, seq]).map(drop)
    }

    /// Assigns an id to the changeset of this write that marks it as a synchronisation.
    pub(crate) fn begin_sync(&self) -> Result<(), StoreError> {
        self.begin_changeset(&format!("{SYNCED}{}", uuid::Uuid::now_v7()))
    }

    /// Writes rows without comparing them with their former states, which the caller has read in this write.
    pub(crate) fn put_rows(&self, changes: &[RowChange]) -> Result<(), StoreError> {
        let (mut stale, mut rest) = (Stale::default(), changes);
        while !rest.is_empty() {
            rest = &rest[self.write_next(rest, &mut stale)?..];
        }
        self.index_stale(&stale)
    }

    /// Records in the history a state of a memory that another machine had and that another change replaced.
    pub(crate) fn note_replaced(&self, kept: &Memory, replaced: &Memory, reason: &str) -> Result<(), StoreError> {
        let boxed = |memory: &Memory| Some(Box::new(memory.clone()));
        // Two entries, so that replaying the history ends in the current state.
        for (before, after) in [(kept, replaced), (replaced, kept)] {
            let row = Row::Memory { before: boxed(before), after: boxed(after) };
            self.note(&RowChange::new(crate::changeset::Action::Update, row, Some(reason)), Mark::Undone)?;
        }
        Ok(())
    }

    /// Removes a memory with its texts because another machine erased it; returns whether it existed.
    pub(crate) fn erase_synced(&self, id: &MemoryId) -> Result<bool, StoreError> {
        if self.find(id)?.is_none() {
            return Ok(false);
        }
        self.purge(id)?;
        self.read(|conn| mark_unsealed(conn, self.now))?;
        Ok(true)
    }

    /// Removes a piece of evidence with its text, and the texts in the history of its memory.
    pub(crate) fn erase_synced_evidence(&self, id: &MemoryId, piece: &Evidence) -> Result<(), StoreError> {
        self.read(|conn| {
            evidence::delete_row(conn, id, piece)?;
            conn.prepare_cached(
                "UPDATE history SET before = NULL, after = NULL, reason = NULL WHERE memory_id = ?1 OR other_id = ?1",
            )?
            .execute([id.as_str()])?;
            mark_unsealed(conn, self.now)
        })?;
        self.bump(id)?;
        self.index(id)
    }
}

impl Store {
    /// Performs a write that may erase text: if `erases`, freed bytes are overwritten.
    pub(crate) fn write_synced<T, E: From<StoreError>>(
        &self,
        erases: bool,
        now: Timestamp,
        change: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let set = |value: &str| self.conn.pragma_update(None, "secure_delete", value).map_err(StoreError::from);
        set(if erases { "ON" } else { "FAST" })?;
        let written = self.write(None, now, change);
        set("FAST")?;
        written
    }
}

/// Clears the texts of a purged memory from the records, so that the erasure reaches the other machines.
pub(super) fn forget_purged(conn: &Connection, id: &MemoryId) -> Result<(), StoreError> {
    let blanked = conn
        .prepare_cached(
            "UPDATE sync_records SET dirty = 1, record = iif(entity = 'tombstone',
                json_set(record, '$.versions', json('[]')),
                json_set(record, '$.versions', json('[]'), '$.erased', json('true')))
             WHERE memory_id = ?1 OR other_id = ?1",
        )?
        .execute([id.as_str()])?;
    rewrite_if(conn, blanked > 0)
}

/// Clears the texts of a memory from the records after the conversations `keys` were erased from its evidence.
pub(super) fn forget_evidence(conn: &Connection, id: &MemoryId, keys: &str) -> Result<(), StoreError> {
    conn.prepare_cached(
        "UPDATE sync_records SET record = json_set(record, '$.erased', json('true'))
         WHERE memory_id = ?1 AND entity = 'evidence' AND EXISTS (
            SELECT 1 FROM json_each(record, '$.versions') v
            WHERE v.value ->> '$.state.after.transcript' IN (SELECT value FROM json_each(?2)))",
    )?
    .execute(params![id.as_str(), keys])?;
    let blanked = conn
        .prepare_cached(
            "UPDATE sync_records SET dirty = 1, record = json_set(record, '$.versions', json('[]'))
             WHERE memory_id = ?1 OR other_id = ?1",
        )?
        .execute([id.as_str()])?;
    rewrite_if(conn, blanked > 0)
}

/// Marks the logs to be replaced with snapshots, and drops the items that were not sent: both may contain erased text,
/// and a snapshot contains everything else in the items.
fn rewrite_if(conn: &Connection, needed: bool) -> Result<(), StoreError> {
    if needed {
        conn.execute("UPDATE sync_targets SET rewrite = 1", ())?;
        conn.execute("DELETE FROM sync_outbox", ())?;
    }
    Ok(())
}

fn target_from_row(row: &SqlRow<'_>) -> rusqlite::Result<SyncTarget> {
    from_row!(row, 0 => SyncTarget {
        id, address, namespaces, device, seq, hash, used, lamport, collected, rewrite, synced_at, error, automatic,
        key
    })
}
