//! Reads and writes the rows of memories.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, Statement, params};

use crate::memory::{Claim, Memory, MemoryId, Usage};
use crate::store::StoreError;
use crate::store::row::{from_row, to_json};
use crate::text::normalise::normalised_hash;

/// [`memory_from_row`] relies on the order of these columns; change both together.
pub(in crate::store) const MEMORY_COLUMNS: &str = "m.id, m.type, m.category, m.title, m.content, m.summary, m.subject, m.key, \
    m.value, m.structured, m.scope, m.importance, m.confidence, m.tags, m.valid_from, m.valid_to, m.expires_at, \
    m.namespace, m.status, m.pinned, m.source, m.extraction_method, m.deleted_at, m.created_at, m.updated_at, \
    u.access_count, u.last_accessed_at, u.tier, u.promotion_count, u.last_promoted_at";
/// Number of these columns; columns that a query adds come after them.
pub(in crate::store) const MEMORY_WIDTH: usize = 30;
/// The tables that contain these columns.
pub(in crate::store) const MEMORY_TABLES: &str = "memories m JOIN memory_usage u ON u.memory_id = m.id";

macro_rules! insert_memory {
    () => {
        "INSERT INTO memories (id, type, category, title, content, summary, subject, key, value, structured, scope,
            importance, confidence, tags, valid_from, valid_to, expires_at, namespace, status, pinned, source,
            extraction_method, content_hash, deleted_at, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
            ?23, ?24, ?25, ?26)"
    };
}
/// Inserts a new memory; executed by [`fill_row`].
pub(in crate::store) const INSERT_MEMORY: &str = insert_memory!();
/// Inserts the usage counts of a memory; executed by [`fill_usage`].
pub(in crate::store) const INSERT_USAGE: &str = "
    INSERT INTO memory_usage (memory_id, access_count, last_accessed_at, tier, promotion_count, last_promoted_at,
        confirmed_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// This is not `INSERT OR REPLACE`, which would first delete the row and all rows that refer to it.
const PUT_MEMORY: &str = concat!(
    insert_memory!(),
    " ON CONFLICT (id) DO UPDATE SET type = ?2, category = ?3, title = ?4, content = ?5, summary = ?6, subject = ?7,
        key = ?8, value = ?9, structured = ?10, scope = ?11, importance = ?12, confidence = ?13, tags = ?14,
        valid_from = ?15, valid_to = ?16, expires_at = ?17, namespace = ?18, status = ?19, pinned = ?20,
        source = ?21, extraction_method = ?22, content_hash = ?23, deleted_at = ?24, created_at = ?25,
        updated_at = ?26"
);
/// This does not change the counts of an existing row, because uses are counted separately and may change at any time.
/// `confirmed_at` is derived from the evidence.
const PUT_USAGE: &str = "
    INSERT INTO memory_usage (memory_id, access_count, last_accessed_at, tier, promotion_count, last_promoted_at,
        confirmed_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (memory_id) DO UPDATE SET tier = ?4, promotion_count = ?5, last_promoted_at = ?6";

pub(in crate::store) fn memory_from_row(row: &Row<'_>) -> rusqlite::Result<Memory> {
    let claim = from_row!(row, 1 => Claim {
        memory_type, category, title, content, summary, subject, key, value, structured, scope, importance,
        confidence, tags, valid_from, valid_to, expires_at
    });
    from_row!(row, 17 => Memory {
        namespace, status, pinned, source, extraction_method, deleted_at, created_at, updated_at, id: row.get(0)?,
        claim: claim?, usage: usage_from_row(row, 25)?
    })
}

/// Reads the usage of a memory from five columns, starting at column `first`.
pub(in crate::store) fn usage_from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    from_row!(row, first => Usage { access_count, last_accessed_at, tier, promotion_count, last_promoted_at })
}

/// The columns of a memory for which the stored form differs from the field.
#[derive(Debug)]
pub(in crate::store) struct Spelled {
    pub(in crate::store) namespace: String,
    structured: Option<String>,
    tags: String,
    content_hash: String,
}

impl Spelled {
    pub(in crate::store) fn of(memory: &Memory) -> Result<Self, StoreError> {
        let claim = &memory.claim;
        Ok(Self {
            namespace: memory.namespace.to_string(),
            structured: claim.structured.as_ref().map(to_json).transpose()?,
            tags: to_json(&claim.tags)?,
            content_hash: normalised_hash(&claim.content),
        })
    }
}

/// Writes a memory exactly as given: a new row, or everything except the ID and the usage counts of an existing row.
pub(in crate::store) fn put_memory(conn: &Connection, memory: &Memory) -> Result<(), StoreError> {
    put_row(conn, memory)?;
    fill_usage(&mut *conn.prepare_cached(PUT_USAGE)?, memory, None)?;
    Ok(())
}

/// Writes a memory exactly as given, except its usage counts.
pub(in crate::store) fn put_row(conn: &Connection, memory: &Memory) -> Result<(), StoreError> {
    fill_row(&mut *conn.prepare_cached(PUT_MEMORY)?, memory, &Spelled::of(memory)?)?;
    Ok(())
}

/// Executes a statement that writes the row of a memory.
pub(in crate::store) fn fill_row(
    statement: &mut Statement<'_>,
    memory: &Memory,
    spelled: &Spelled,
) -> rusqlite::Result<usize> {
    let claim = &memory.claim;
    statement.execute(params![
        memory.id.as_str(),
        claim.memory_type.as_str(),
        claim.category,
        claim.title,
        claim.content,
        claim.summary,
        claim.subject,
        claim.key,
        claim.value,
        spelled.structured,
        claim.scope.as_str(),
        claim.importance,
        claim.confidence,
        spelled.tags,
        ms(claim.valid_from),
        ms(claim.valid_to),
        ms(claim.expires_at),
        spelled.namespace,
        memory.status.as_str(),
        memory.pinned,
        memory.source,
        memory.extraction_method.as_str(),
        spelled.content_hash,
        ms(memory.deleted_at),
        memory.created_at.as_millisecond(),
        memory.updated_at.as_millisecond(),
    ])
}

/// Executes a statement that writes the usage of a memory, and the time at which it was last stated, if this time is
/// known.
pub(in crate::store) fn fill_usage(
    statement: &mut Statement<'_>,
    memory: &Memory,
    confirmed_at: Option<Timestamp>,
) -> rusqlite::Result<usize> {
    let usage = &memory.usage;
    statement.execute(params![
        memory.id.as_str(),
        usage.access_count,
        ms(usage.last_accessed_at),
        usage.tier.as_str(),
        usage.promotion_count,
        ms(usage.last_promoted_at),
        ms(confirmed_at),
    ])
}

/// Removes a memory with all rows that refer to it, but not its history.
pub(in crate::store) fn delete_memory(conn: &Connection, id: &MemoryId) -> Result<bool, StoreError> {
    let seq: Option<i64> = conn
        .prepare_cached("SELECT seq FROM memories WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    if let Some(seq) = seq {
        // The indexes have no foreign key to the memory, so deletions do not cascade to them.
        crate::store::index::words::remove(conn, seq)?;
        conn.prepare_cached("DELETE FROM search_letters WHERE seq = ?1")?.execute([seq])?;
        conn.prepare_cached("DELETE FROM memory_near WHERE rowid = ?1")?.execute([seq])?;
    }
    Ok(conn.prepare_cached("DELETE FROM memories WHERE id = ?1")?.execute([id.as_str()])? > 0)
}

fn ms(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millisecond)
}
