//! Rows and history of what was salvaged, brought together: what one lacks, the other may still tell.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::Row as SqlRow;

use crate::changeset::{Action, Entity, Row, RowChange};
use crate::memory::{Evidence, Memory, MemoryId, Usage};
use crate::store::row::{json, put_memory, spelled};
use crate::store::writer::Mark;
use crate::store::{Store, StoreError, Writer, evidence};

const ENTRIES: &str = "SELECT entity, before, after FROM history
    WHERE memory_id = ?1 AND entity IN ('memory', 'evidence') ORDER BY id";
const REASON: &str = "the lines between were on a damaged page";

/// What makes a piece of evidence this piece.
type Piece = (String, String, String);

/// What the history tells of a memory.
#[derive(Default)]
struct Told {
    /// Whether any line tells what it was.
    is_known: bool,
    memory: Option<Memory>,
    evidence: BTreeMap<Piece, Evidence>,
}

/// What came back from the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Brought {
    /// Memories whose rows were lost.
    pub(super) memories: usize,
    /// Pieces of evidence whose rows were lost.
    pub(super) evidence: usize,
}

/// Brings back what the history tells and no row holds, where the history could be read whole; else a line of history
/// says how each row that differs is.
pub(super) fn reconcile(store: &Store, is_history_whole: bool, now: Timestamp) -> Result<Brought, StoreError> {
    store.write(None, now, |writer| {
        let mut brought = Brought::default();
        // Not before: rows of others may have the numbers that memories get which are brought back.
        writer.read(|conn| {
            conn.execute_batch(
                "DELETE FROM vectors WHERE seq NOT IN (SELECT seq FROM memories);
                 DELETE FROM vector_failures WHERE seq NOT IN (SELECT seq FROM memories);",
            )?;
            Ok(())
        })?;
        for id in ids(writer)? {
            let told = told(writer, &id)?;
            if told.is_known {
                one(writer, &id, &told, is_history_whole, &mut brought)?;
            }
        }
        Ok(brought)
    })
}

fn ids(writer: &Writer<'_>) -> Result<Vec<MemoryId>, StoreError> {
    writer.read(|conn| {
        let mut statement = conn.prepare("SELECT DISTINCT memory_id FROM history ORDER BY memory_id")?;
        let found = statement.query_map((), |row| row.get::<_, String>(0).map(MemoryId::from_stored))?;
        Ok(found.collect::<Result<_, _>>()?)
    })
}

fn told(writer: &Writer<'_>, id: &MemoryId) -> Result<Told, StoreError> {
    writer.read(|conn| {
        let mut statement = conn.prepare_cached(ENTRIES)?;
        let (mut rows, mut told) = (statement.query([id.as_str()])?, Told::default());
        while let Some(row) = rows.next()? {
            play(&mut told, row)?;
        }
        Ok(told)
    })
}

fn play(told: &mut Told, row: &SqlRow<'_>) -> rusqlite::Result<()> {
    let text = |index: usize| row.get::<_, Option<String>>(index);
    let (before, after) = (text(1)?, text(2)?);
    match spelled::<Entity>(row, 0)? {
        Entity::Memory => {
            told.is_known = before.is_some() || after.is_some();
            told.memory = after.map(|text| json(&text, 2)).transpose()?;
        }
        Entity::Evidence => {
            if let Some(text) = before {
                told.evidence.remove(&piece(&json(&text, 1)?));
            }
            if let Some(text) = after {
                let found: Evidence = json(&text, 2)?;
                told.evidence.insert(piece(&found), found);
            }
        }
        Entity::Relation | Entity::Tombstone => {}
    }
    Ok(())
}

fn one(
    writer: &Writer<'_>,
    id: &MemoryId,
    told: &Told,
    is_history_whole: bool,
    brought: &mut Brought,
) -> Result<(), StoreError> {
    let found = memory(writer, id)?;
    let is_so = match (&found, &told.memory) {
        (Some(found), Some(told)) => without_counts(found) == without_counts(told),
        (found, told) => found.is_none() && told.is_none(),
    };
    match (&told.memory, is_history_whole) {
        _ if is_so => {}
        (Some(told), true) => {
            writer.read(|conn| put_memory(conn, told))?;
            brought.memories += usize::from(found.is_none());
        }
        _ => say(writer, Row::memory(told.memory.clone(), found))?,
    }
    if memory(writer, id)?.is_none() {
        return Ok(());
    }
    let rests: BTreeMap<Piece, Evidence> =
        writer.evidence(id)?.into_iter().map(|found| (piece(&found), found)).collect();
    for (key, told) in &told.evidence {
        if rests.contains_key(key) {
            continue;
        }
        if is_history_whole {
            brought.evidence += usize::from(writer.read(|conn| evidence::insert_row(conn, id, told))?);
        } else {
            say(writer, Row::Evidence { memory: id.clone(), before: Some(told.clone()), after: None })?;
        }
    }
    for (key, found) in &rests {
        if !told.evidence.contains_key(key) {
            say(writer, Row::new_evidence(id.clone(), found))?;
        }
    }
    Ok(())
}

/// Returns a memory, one without counts of its uses included.
fn memory(writer: &Writer<'_>, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
    writer.read(|conn| {
        conn.prepare_cached("INSERT OR IGNORE INTO memory_usage (memory_id) SELECT id FROM memories WHERE id = ?1")?
            .execute([id.as_str()])?;
        Ok(())
    })?;
    writer.find(id)
}

fn say(writer: &Writer<'_>, row: Row) -> Result<(), StoreError> {
    writer.note(&RowChange::new(Action::Repair, row, Some(REASON)), Mark::Done)
}

fn piece(evidence: &Evidence) -> Piece {
    let message = evidence.messages.first().cloned().unwrap_or_default();
    (evidence.transcript.clone(), message, evidence.quote.clone())
}

/// Uses are counted without a line of history.
fn without_counts(memory: &Memory) -> Memory {
    Memory { usage: Usage { access_count: 0, last_accessed_at: None, ..memory.usage.clone() }, ..memory.clone() }
}
