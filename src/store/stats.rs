//! Statistics of a database.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::Serialize;

use super::{Database, StoreError};

/// Counts of everything in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Memories of any status.
    pub memories: usize,
    /// Memories by status.
    pub by_status: BTreeMap<String, usize>,
    /// Active memories by type.
    pub by_type: BTreeMap<String, usize>,
    /// Active memories by category.
    pub by_category: BTreeMap<String, usize>,
    /// Active memories by namespace.
    pub by_namespace: BTreeMap<String, usize>,
    /// Number of pieces of evidence.
    pub evidence: usize,
    /// Number of links between memories.
    pub relations: usize,
    /// Number of conversations that were read.
    pub transcripts: usize,
    /// Windows by status: `claimed`, `done`, `failed`.
    pub windows: BTreeMap<String, usize>,
    /// Number of windows whose candidates wait to be applied.
    pub pending_windows: usize,
    /// Number of stored model replies.
    pub replies: usize,
    /// Number of requests that wait in provider batches.
    pub batch_requests: usize,
    /// Number of runs.
    pub runs: usize,
    /// Size of the file in bytes, without its WAL.
    pub bytes: u64,
}

impl Database {
    /// Returns counts of everything in the file.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let batch_requests = self.open_batches()?.iter().map(|batch| batch.waiting).sum();
        self.read(|conn| {
            Ok(Stats {
                batch_requests,
                memories: count(conn, "memories")?,
                by_status: counts(conn, "status", "memories")?,
                by_type: counts(conn, "type", "memories WHERE status = 'active'")?,
                by_category: counts(conn, "category", "memories WHERE status = 'active'")?,
                by_namespace: counts(conn, "namespace", "memories WHERE status = 'active'")?,
                evidence: count(conn, "evidence")?,
                relations: count(conn, "relations")?,
                transcripts: count(conn, "transcripts")?,
                windows: counts(conn, "status", "windows")?,
                pending_windows: count(conn, "windows WHERE status = 'done' AND applied_at IS NULL")?,
                replies: count(conn, "requests WHERE text IS NOT NULL")?,
                runs: count(conn, "runs")?,
                // The size is read from SQLite, so that it excludes the WAL and also works for in-memory stores.
                bytes: conn.query_row(
                    "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
                    (),
                    |row| row.get(0),
                )?,
            })
        })
    }
}

impl Database {
    /// Returns every namespace that has memories of any status, in alphabetical order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    #[cfg(feature = "serve")]
    pub(crate) fn namespaces(&self) -> Result<Vec<String>, StoreError> {
        // The query jumps from one namespace to the next in the index; `DISTINCT` would read every entry of the index.
        let sql = "
            WITH RECURSIVE spaces (name) AS (
                SELECT min(namespace) FROM memories
                UNION ALL
                SELECT (SELECT min(namespace) FROM memories WHERE namespace > name) FROM spaces WHERE name IS NOT NULL
            )
            SELECT name FROM spaces WHERE name IS NOT NULL";
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?))
    }
}

fn count(conn: &Connection, rows: &str) -> rusqlite::Result<usize> {
    // Table names cannot be bound as values, but all callers pass constants.
    conn.query_row(&format!("SELECT count(*) FROM {rows}"), (), |row| row.get(0))
}

fn counts(conn: &Connection, column: &str, rows: &str) -> rusqlite::Result<BTreeMap<String, usize>> {
    conn.prepare(&format!("SELECT {column}, count(*) FROM {rows} GROUP BY {column}"))?
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
