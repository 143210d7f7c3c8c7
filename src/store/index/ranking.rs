//! The data that ranking needs about many memories, by row number, so that few rows need to be read in full.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use crate::memory::{Memory, MemoryId, MemoryType};
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::memories::row::{MEMORY_COLUMNS, MEMORY_TABLES, MEMORY_WIDTH, memory_from_row};
use crate::store::row::{from_row, query_all, to_json};
use crate::store::{Database, StoreError};

/// Maximum number of pieces of evidence that are read to find a piece that belongs to another memory.
const PASSED_OVER: i64 = 4;
/// Maximum number of places in conversations that are used for one memory.
const PLACES: usize = 4;

/// The row of a memory; valid only in the store that it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub(in crate::store) i64);

/// The data of a memory that ranking needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    /// Row of the memory in the store.
    pub seq: Seq,
    /// The ID of the memory.
    pub id: MemoryId,
    /// The content of the memory.
    pub content: String,
    /// Importance, 0–1.
    pub importance: f64,
    /// Confidence, 0–1.
    pub confidence: f64,
    /// Time of the memory's last change.
    pub updated_at: Timestamp,
    /// Time at which the memory was learnt.
    pub created_at: Timestamp,
    /// Time from which the memory is true.
    pub valid_from: Option<Timestamp>,
    /// Time at which the memory ceased to be true.
    pub valid_to: Option<Timestamp>,
    /// Number of times that the memory was recalled.
    pub access_count: u32,
    /// Time at which the memory was last recalled.
    pub last_accessed_at: Option<Timestamp>,
    /// Time at which the memory's content was last stated, according to its evidence.
    pub confirmed_at: Option<Timestamp>,
    /// The type of the memory.
    pub memory_type: MemoryType,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// The places in conversations where the memory was learnt, in order.
    pub said: Vec<Said>,
}

/// A place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// The transcript of the conversation.
    pub transcript: String,
    piece: i64,
    /// The person or agent who spoke.
    pub speaker: Option<String>,
    /// Time of the statement.
    pub at: Option<Timestamp>,
}

/// A memory that was learnt immediately before or after another in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Neighbour {
    /// Row of the memory.
    pub(crate) seq: Seq,
    /// Whether it comes after the other memory and somebody else said it.
    pub(crate) is_reply: bool,
}

impl Database {
    /// Returns the data that ranking needs about the rows that pass `filter`, in no particular order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn ranked_rows(&self, rows: &[Seq], filter: &Filter) -> Result<Vec<Ranked>, StoreError> {
        let clauses = Clauses::of(filter);
        let sql = format!(
            "SELECT m.seq, m.id, m.content, m.importance, m.confidence, m.updated_at, m.created_at, m.valid_from,
             m.valid_to, u.access_count, u.last_accessed_at, u.confirmed_at, m.type, m.pinned
             FROM json_each(?) wanted CROSS JOIN memories m ON m.seq = wanted.value
             JOIN memory_usage u ON u.memory_id = m.id WHERE {}",
            clauses.sql()
        );
        let wanted = Value::from(spelled(rows)?);
        self.read(|conn| {
            let values = params_from_iter(std::iter::once(wanted).chain(clauses.values));
            let mut found: Vec<Ranked> = query_all(conn, &sql, values, |row| {
                from_row!(row, 1 => Ranked {
                    id, content, importance, confidence, updated_at, created_at, valid_from, valid_to, access_count,
                    last_accessed_at, confirmed_at, memory_type, pinned, seq: Seq(row.get(0)?), said: Vec::new()
                })
            })?;
            said(conn, &mut found)?;
            Ok(found)
        })
    }

    /// Returns the rows of the memories with these ids; unknown ids are left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn rows_of(&self, ids: &[&MemoryId]) -> Result<HashMap<MemoryId, Seq>, StoreError> {
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let sql = "SELECT m.id, m.seq FROM json_each(?1) wanted CROSS JOIN memories m ON m.id = wanted.value";
        let found = self.query_all(sql, [to_json(&ids)?], |row| Ok((row.get(0)?, Seq(row.get(1)?))))?;
        Ok(found.into_iter().collect())
    }

    /// Returns the memories that were learnt immediately before and after this memory in its conversations, sorted by row
    /// and without duplicates. The memories of a conversation are ordered by the time of the statement and then by the
    /// time when they were learnt.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn beside(&self, memory: &Ranked) -> Result<Vec<Neighbour>, StoreError> {
        self.read(|conn| {
            let mut beside = Vec::new();
            for said in &memory.said {
                for (queries, is_after) in [(BEFORE, false), (AFTER, true)] {
                    let nearest = nearest(conn, said, &memory.id, queries)?;
                    beside.extend(nearest.map(|(seq, speaker)| Neighbour {
                        seq,
                        is_reply: is_after && speaker.is_some() && said.speaker.is_some() && speaker != said.speaker,
                    }));
                }
            }
            // A reply comes before the same memory in another role, so that it is kept.
            beside.sort_unstable_by_key(|one| (one.seq, !one.is_reply));
            beside.dedup_by_key(|one| one.seq);
            Ok(beside)
        })
    }

    /// Returns the memories in these rows, in the given order; rows that do not exist are left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn in_rows(&self, rows: &[Seq]) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| load(conn, &rows.iter().map(|row| row.0).collect::<Vec<_>>()))
    }
}

/// The first query finds the nearest piece of evidence that was said at the same time and learnt before; the second
/// finds pieces that were said before. `AFTER` is the mirror image of `BEFORE`.
// There are two statements because the index on transcript and time fully covers each of them, but not a combination
// with `OR`.
const BEFORE: [&str; 2] = [
    "SELECT m.seq, m.id, e.speaker FROM evidence e CROSS JOIN memories m ON m.id = e.memory_id
     WHERE e.transcript = ?1 AND ifnull(e.said_at, 0) = ?2 AND e.id < ?3 ORDER BY e.id DESC LIMIT ?4",
    "SELECT m.seq, m.id, e.speaker FROM evidence e CROSS JOIN memories m ON m.id = e.memory_id
     WHERE e.transcript = ?1 AND ifnull(e.said_at, 0) < ?2 AND e.id <> ?3
     ORDER BY ifnull(e.said_at, 0) DESC, e.id DESC LIMIT ?4",
];
const AFTER: [&str; 2] = [
    "SELECT m.seq, m.id, e.speaker FROM evidence e CROSS JOIN memories m ON m.id = e.memory_id
     WHERE e.transcript = ?1 AND ifnull(e.said_at, 0) = ?2 AND e.id > ?3 ORDER BY e.id LIMIT ?4",
    "SELECT m.seq, m.id, e.speaker FROM evidence e CROSS JOIN memories m ON m.id = e.memory_id
     WHERE e.transcript = ?1 AND ifnull(e.said_at, 0) > ?2 AND e.id <> ?3
     ORDER BY ifnull(e.said_at, 0), e.id LIMIT ?4",
];

/// Returns the nearest other memory in one direction of the conversation, with its speaker.
fn nearest(
    conn: &Connection,
    said: &Said,
    own: &MemoryId,
    queries: [&str; 2],
) -> Result<Option<(Seq, Option<String>)>, StoreError> {
    for sql in queries {
        let mut statement = conn.prepare_cached(sql)?;
        let at = said.at.map_or(0, Timestamp::as_millisecond);
        let mut rows = statement.query(params![said.transcript, at, said.piece, PASSED_OVER])?;
        while let Some(row) = rows.next()? {
            if row.get_ref(1)?.as_str().unwrap_or_default() != own.as_str() {
                return Ok(Some((Seq(row.get(0)?), row.get(2)?)));
            }
        }
    }
    Ok(None)
}

/// Adds to each memory the first places where it was learnt.
fn said(conn: &Connection, memories: &mut [Ranked]) -> Result<(), StoreError> {
    let ids: Vec<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    let mut statement = conn.prepare_cached(
        "SELECT w.key, e.transcript, e.id, e.speaker, e.said_at
         FROM json_each(?1) w CROSS JOIN evidence e ON e.memory_id = w.value",
    )?;
    let mut rows = statement.query([to_json(&ids)?])?;
    while let Some(row) = rows.next()? {
        let said = from_row!(row, 1 => Said { transcript, piece, speaker, at })?;
        if let Some(memory) = memories.get_mut(row.get::<_, usize>(0)?) {
            memory.said.push(said);
        }
    }
    for memory in memories {
        // The join returns the places in no particular order.
        memory.said.sort_unstable_by_key(|said| said.piece);
        memory.said.truncate(PLACES);
    }
    Ok(())
}

/// Returns the memories in these rows, in the given order.
pub(super) fn load(conn: &Connection, rows: &[i64]) -> Result<Vec<Memory>, StoreError> {
    let sql = format!(
        "SELECT {MEMORY_COLUMNS}, m.seq FROM json_each(?1) wanted CROSS JOIN {MEMORY_TABLES}
         WHERE m.seq = wanted.value"
    );
    let read = |row: &Row<'_>| Ok((row.get(MEMORY_WIDTH)?, memory_from_row(row)?));
    let mut found: BTreeMap<i64, Memory> = query_all(conn, &sql, [to_json(&rows)?], read)?.into_iter().collect();
    Ok(rows.iter().filter_map(|row| found.remove(row)).collect())
}

fn spelled(rows: &[Seq]) -> Result<String, StoreError> {
    to_json(&rows.iter().map(|row| row.0).collect::<Vec<i64>>())
}
