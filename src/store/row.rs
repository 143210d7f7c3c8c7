//! Reads and writes single columns; the error for a value that cannot be parsed contains the name of the column.

use std::str::FromStr;

use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlResult, Type, ValueRef};
use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{RunId, StoreError};
use crate::changeset::{Action, Entity};
use crate::llm::Finish;
use crate::memory::{
    Candidate, ExtractionMethod, MemoryId, MemoryType, Namespace, RelationType, Scope, Status, Structured, TaskRecord,
    Tier,
};

/// Condition for an id that `?1`, a part of an id, may refer to: the id, or its last eight characters, begins with
/// `?1`, or the id ends with `?1`.
// Ids of the same day begin with the same characters, so only the last eight characters are shown.
pub(super) const ID_HAS_PART: &str = "(substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1 \
     OR substr(id, -8, min(length(?1), 8)) = ?1)";

/// Parses the text of a column.
pub(super) fn spelled<T>(row: &Row<'_>, index: usize) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    row.get_ref(index)?.as_str()?.parse().map_err(|error: T::Err| unreadable(index, error))
}

/// Parses `text`, the JSON text of column `index`.
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

/// Truncates a time to the precision of the database.
pub(super) fn whole_milliseconds(at: Timestamp) -> Timestamp {
    // The fallback is never used, because truncating a valid time to whole milliseconds yields a valid time.
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

/// Serialises a value for the history or a JSON column.
pub(super) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::bad("a value to be written"))
}

/// Converts a number of rows to SQLite's integer type.
pub(super) fn rows(count: usize) -> i64 {
    // SQLite has only signed numbers, and callers pass `usize::MAX` for "all".
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts all rows of a query with `from_row`.
pub(super) fn query_all<T>(
    conn: &Connection,
    sql: &str,
    values: impl Params,
    from_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    Ok(conn.prepare_cached(sql)?.query_map(values, from_row)?.collect::<Result<_, _>>()?)
}

/// Returns the number of rows of `rows`, which is a table with an optional condition.
pub(super) fn count(conn: &Connection, rows: &str) -> rusqlite::Result<usize> {
    conn.query_row(&format!("SELECT count(*) FROM {rows}"), (), |row| row.get(0))
}

/// A value that is stored in one column.
pub(super) trait Column: Sized {
    fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Self>;
}

/// Implements `Column` for the given types, using one function to read them.
macro_rules! columns {
    ($read:path: $($type:ty),+ $(,)?) => {
        $(impl $crate::store::row::Column for $type {
            fn read(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<Self> {
                $read(row, index)
            }
        })+
    };
}

pub(super) use columns;

columns!(Row::get: bool, f64, i64, u32, u64, usize, String, MemoryId, RunId);
columns!(time: Timestamp);
columns!(spelled: Action, Entity, ExtractionMethod, MemoryType, Namespace, RelationType, Scope, Status, Tier);
columns!(from_json: Finish, Structured, TaskRecord, Value, Vec<Candidate>, Vec<String>);

impl<T: Column> Column for Option<T> {
    fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Self> {
        if row.get_ref(index)? == ValueRef::Null { Ok(None) } else { T::read(row, index).map(Some) }
    }
}

fn from_json<T: DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    json(row.get_ref(index)?.as_str()?, index)
}

/// Reads the fields of a struct from consecutive columns, starting at column `$first`, except for
/// fields with a value.
macro_rules! from_row {
    (@ $row:expr, $columns:ident, $value:expr) => { $value };
    (@ $row:expr, $columns:ident) => { $crate::store::row::Column::read($row, $columns.next().unwrap_or_default())? };
    ($row:expr, $first:expr => $type:ident { $($field:ident $(: $value:expr)?),+ $(,)? }) => {{
        let mut columns = $first..;
        Ok::<_, rusqlite::Error>($type { $($field: from_row!(@ $row, columns $(, $value)?)),+ })
    }};
}
pub(super) use from_row;

impl FromSql for MemoryId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        String::column_result(value).map(Self::from_stored)
    }
}

impl FromSql for RunId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        String::column_result(value).map(Self::from_stored)
    }
}
