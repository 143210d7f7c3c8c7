//! What is read of the store to find claims that may say the same: rows by one respect each.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, params};

use super::memories::rows as limit_of;
use super::near::Around;
use super::near_words::Name;
use super::row::to_json;
use super::row::{MEMORY_COLUMNS, MEMORY_WIDTH, memory_from_row};
use super::{StoreError, normalised_hash};
use crate::memory::{Memory, Namespace};

/// Which memories are filed under a word, the first of them.
pub(super) fn holding(conn: &Connection, word: Name, limit: usize) -> Result<Vec<i64>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT rowid FROM memory_near WHERE memory_near MATCH ?1 LIMIT ?2")?;
    let found = statement.query_map(params![word.to_string(), limit_of(limit)], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// What says the same, the first learnt first.
pub(super) fn same_words(conn: &Connection, around: &Around<'_>, limit: usize) -> Result<Vec<i64>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq FROM memories WHERE content_hash = ?1 AND namespace = ?2 AND status IN ('active', 'pending')
         ORDER BY created_at, id LIMIT ?3",
    )?;
    let values = params![normalised_hash(&around.claim.content), around.namespace.to_string(), limit_of(limit)];
    let found = statement.query_map(values, |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Which of `close` are forgotten ones of the namespace, at most so many, in their order.
pub(super) fn forgotten_of(
    conn: &Connection,
    namespace: &Namespace,
    close: &[i64],
    most: usize,
) -> Result<Vec<i64>, StoreError> {
    let namespace = namespace.to_string();
    let any = "SELECT EXISTS (SELECT 1 FROM memories WHERE namespace = ?1 AND status = 'forgotten')";
    if !conn.prepare_cached(any)?.query_row([&namespace], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT m.seq FROM json_each(?1) wanted CROSS JOIN memories m ON m.seq = wanted.value
         WHERE m.namespace = ?2 AND m.status = 'forgotten' ORDER BY wanted.id LIMIT ?3",
    )?;
    let values = params![to_json(&close)?, namespace, limit_of(most)];
    let found = statement.query_map(values, |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// What holds now before what waits, the last changed first.
pub(super) fn same_key(conn: &Connection, around: &Around<'_>, limit: usize) -> Result<Vec<i64>, StoreError> {
    let sql = format!(
        "SELECT m.seq FROM memories m WHERE {} AND m.namespace = ?2 AND m.status = ?3
         ORDER BY m.updated_at DESC, m.id DESC LIMIT ?4",
        of_key("?1"),
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let namespace = around.namespace.to_string();
    let mut same = Vec::new();
    for status in ["active", "pending"] {
        for key in around.keys {
            let values = params![key, namespace, status, limit_of(limit)];
            let found = statement.query_map(values, |row| row.get(0))?;
            same.extend(found.collect::<Result<Vec<i64>, _>>()?);
        }
    }
    Ok(same)
}

/// Which of the memories are active; those that are neither active nor pending are missing.
pub(super) fn statuses(
    conn: &Connection,
    namespace: &Namespace,
    lists: &[Vec<i64>],
) -> Result<HashMap<i64, bool>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT m.seq, m.status = 'active' FROM json_each(?1) wanted CROSS JOIN memories m ON m.seq = wanted.value
         WHERE m.namespace = ?2 AND m.status IN ('active', 'pending')",
    )?;
    let wanted: Vec<&i64> = lists.iter().flatten().collect();
    let found =
        statement.query_map(params![to_json(&wanted)?, namespace.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the memories in these rows, in their order.
pub(super) fn load(conn: &Connection, chosen: &[i64]) -> Result<Vec<Memory>, StoreError> {
    let sql = format!(
        "SELECT {MEMORY_COLUMNS}, m.seq FROM json_each(?1) wanted CROSS JOIN memories m ON m.seq = wanted.value
         JOIN memory_usage u ON u.memory_id = m.id"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement
        .query_map([to_json(&chosen)?], |row| Ok((row.get::<_, i64>(MEMORY_WIDTH)?, memory_from_row(row)?)))?;
    let mut found = found.collect::<Result<BTreeMap<i64, Memory>, _>>()?;
    Ok(chosen.iter().filter_map(|seq| found.remove(seq)).collect())
}

/// Returns the condition that the attribute of `m` is `value` but for case and marks, in the words of its index.
pub(super) fn of_key(value: &str) -> String {
    let plain = |key: &str| format!("replace(replace(replace(lower({key}), '-', '_'), ' ', '_'), '/', '_')");
    format!("m.key IS NOT NULL AND {} = {}", plain("m.key"), plain(value))
}
