//! Restores lost rows from the history.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::recorded::{EvidenceKey, RecordedMemory, evidence_key};
use crate::changeset::{Action, Row, RowChange};
use crate::memory::{Evidence, Memory, MemoryId};
use crate::store::memories::evidence;
use crate::store::memories::row::put_memory;
use crate::store::writer::Mark;
use crate::store::{Store, StoreError, Writer};

const ENTRIES: &str = "SELECT entity, before, after FROM history
    WHERE memory_id = ?1 AND entity IN ('memory', 'evidence') ORDER BY id";
/// Reason for history entries that a repair adds.
const REASON: &str = "the entries in between were on a damaged page";

/// Number of lost rows that were restored from the history.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Restored {
    pub(super) memories: usize,
    pub(super) evidence: usize,
}

/// Restores rows that are in the history but in no table, if the history was read completely. Otherwise adds an entry
/// to the history for each row that differs from it.
pub(super) fn restore_from_history(
    store: &Store,
    is_history_whole: bool,
    now: Timestamp,
) -> Result<Restored, StoreError> {
    store.write(None, now, |writer| {
        let mut restored = Restored::default();
        // A restored memory may receive the row number, and thus the vector, of a lost memory, so such vectors are
        // deleted first.
        writer.read(|conn| {
            conn.execute_batch(
                "DELETE FROM vectors WHERE seq NOT IN (SELECT seq FROM memories);
                 DELETE FROM vector_failures WHERE seq NOT IN (SELECT seq FROM memories);",
            )?;
            Ok(())
        })?;
        let sql = "SELECT DISTINCT memory_id FROM history ORDER BY memory_id";
        let ids: Vec<MemoryId> = writer.query_all(sql, (), |row| row.get(0))?;
        for id in ids {
            let recorded = recorded(writer, &id)?;
            if recorded.is_known {
                restore_memory(writer, &id, &recorded, is_history_whole, &mut restored)?;
            }
        }
        Ok(restored)
    })
}

fn recorded(writer: &Writer<'_>, id: &MemoryId) -> Result<RecordedMemory, StoreError> {
    writer.read(|conn| {
        let mut statement = conn.prepare_cached(ENTRIES)?;
        let (mut rows, mut recorded) = (statement.query([id.as_str()])?, RecordedMemory::default());
        while let Some(row) = rows.next()? {
            recorded.replay(row, 0)?;
        }
        Ok(recorded)
    })
}

fn restore_memory(
    writer: &Writer<'_>,
    id: &MemoryId,
    recorded: &RecordedMemory,
    is_history_whole: bool,
    restored: &mut Restored,
) -> Result<(), StoreError> {
    let found = find(writer, id)?;
    match (&recorded.memory, is_history_whole) {
        // The row agrees with the history, even if part of the history is lost.
        _ if recorded.is_like(found.as_ref()) => {}
        (Some(recorded), true) => {
            writer.read(|conn| put_memory(conn, recorded))?;
            restored.memories += usize::from(found.is_none());
        }
        // If the history lacks entries, the row may be newer: the row is kept, and an entry is added.
        _ => add_entry(writer, Row::memory(recorded.memory.clone(), found))?,
    }
    if find(writer, id)?.is_none() {
        return Ok(());
    }
    let stored: BTreeMap<EvidenceKey, Evidence> =
        writer.evidence(id)?.into_iter().map(|found| (evidence_key(&found), found)).collect();
    for (_, lost) in recorded.evidence.iter().filter(|(key, _)| !stored.contains_key(*key)) {
        if is_history_whole {
            restored.evidence += usize::from(writer.read(|conn| evidence::insert_row(conn, id, lost))?);
        } else {
            add_entry(writer, Row::Evidence { memory: id.clone(), before: Some(lost.clone()), after: None })?;
        }
    }
    for (_, unknown) in stored.iter().filter(|(key, _)| !recorded.evidence.contains_key(*key)) {
        add_entry(writer, Row::new_evidence(id.clone(), unknown))?;
    }
    Ok(())
}

/// Returns a memory, even if its usage counts are lost.
fn find(writer: &Writer<'_>, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
    writer.read(|conn| {
        conn.prepare_cached("INSERT OR IGNORE INTO memory_usage (memory_id) SELECT id FROM memories WHERE id = ?1")?
            .execute([id.as_str()])?;
        Ok(())
    })?;
    writer.find(id)
}

fn add_entry(writer: &Writer<'_>, row: Row) -> Result<(), StoreError> {
    writer.note(&RowChange::new(Action::Repair, row, Some(REASON)), Mark::Done)
}
