//! Reading rows: columns to our types, with an error where a value is none of ours.

use std::str::FromStr;

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::Type;
use serde::de::DeserializeOwned;

use crate::memory::{Claim, Memory, MemoryId, Usage};

/// Column order is what [`memory_from_row`] reads; change both together.
pub(super) const MEMORY_COLUMNS: &str = "m.id, m.type, m.category, m.title, m.content, m.summary, m.subject, m.key, \
    m.value, m.structured, m.scope, m.importance, m.confidence, m.tags, m.valid_from, m.valid_to, m.expires_at, \
    m.namespace, m.status, m.pinned, m.source, m.extraction_method, m.deleted_at, m.created_at, m.updated_at, \
    u.access_count, u.last_accessed_at, u.tier, u.promotion_count, u.last_promoted_at";
/// How many columns that are; what a query adds comes after them.
pub(super) const MEMORY_WIDTH: usize = 30;
/// What the columns are read from.
pub(super) const MEMORY_TABLES: &str = "memories m JOIN memory_usage u ON u.memory_id = m.id";

pub(super) fn memory_from_row(row: &Row<'_>) -> rusqlite::Result<Memory> {
    Ok(Memory {
        id: MemoryId::from_stored(row.get::<_, String>(0)?),
        claim: claim_from_row(row)?,
        namespace: spelled(row, 17)?,
        status: spelled(row, 18)?,
        pinned: row.get(19)?,
        source: row.get(20)?,
        extraction_method: spelled(row, 21)?,
        deleted_at: time_or_none(row, 22)?,
        created_at: time(row, 23)?,
        updated_at: time(row, 24)?,
        usage: Usage {
            access_count: row.get(25)?,
            last_accessed_at: time_or_none(row, 26)?,
            tier: spelled(row, 27)?,
            promotion_count: row.get(28)?,
            last_promoted_at: time_or_none(row, 29)?,
        },
    })
}

fn claim_from_row(row: &Row<'_>) -> rusqlite::Result<Claim> {
    Ok(Claim {
        memory_type: spelled(row, 1)?,
        category: row.get(2)?,
        title: row.get(3)?,
        content: row.get(4)?,
        summary: row.get(5)?,
        subject: row.get(6)?,
        key: row.get(7)?,
        value: row.get(8)?,
        structured: row.get::<_, Option<String>>(9)?.map(|text| json(&text, 9)).transpose()?,
        scope: spelled(row, 10)?,
        importance: row.get(11)?,
        confidence: row.get(12)?,
        tags: json(row.get_ref(13)?.as_str()?, 13)?,
        valid_from: time_or_none(row, 14)?,
        valid_to: time_or_none(row, 15)?,
        expires_at: time_or_none(row, 16)?,
    })
}

/// Returns the value of ours that is spelled in a column.
pub(super) fn spelled<T>(row: &Row<'_>, index: usize) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    row.get_ref(index)?.as_str()?.parse().map_err(|error: T::Err| unreadable(index, error))
}

/// Returns the value that stands as JSON in `text`, the text of column `index`.
pub(super) fn json<T: DeserializeOwned>(text: &str, index: usize) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| unreadable(index, error))
}

pub(super) fn time(row: &Row<'_>, index: usize) -> rusqlite::Result<Timestamp> {
    Timestamp::from_millisecond(row.get(index)?).map_err(|error| unreadable(index, error))
}

pub(super) fn time_or_none(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Timestamp>> {
    let at: Option<i64> = row.get(index)?;
    at.map(|at| Timestamp::from_millisecond(at).map_err(|error| unreadable(index, error))).transpose()
}

fn unreadable(index: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}

/// Cuts what the database does not keep of a time.
pub(super) fn whole_milliseconds(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}
