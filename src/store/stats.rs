//! Statistics of a database.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::Serialize;

use super::row::count;
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
            let by_status = counts(conn, "name", "of = 'status'")?;
            // Few windows are claimed or failed, so these have indexes.
            let (windows, claimed) = (count(conn, "windows")?, count(conn, "windows WHERE status = 'claimed'")?);
            let failed = count(conn, "windows WHERE status = 'failed'")?;
            let windows = [("claimed", claimed), ("done", windows - claimed - failed), ("failed", failed)];
            Ok(Stats {
                batch_requests,
                memories: by_status.values().sum(),
                by_status,
                by_type: counts(conn, "name", "of = 'type'")?,
                by_category: counts(conn, "name", "of = 'category'")?,
                by_namespace: counts(conn, "namespace", "of = 'status' AND name = 'active'")?,
                evidence: counts(conn, "of", "of = 'evidence'")?.into_values().sum(),
                relations: count(conn, "relations")?,
                transcripts: count(conn, "transcripts")?,
                windows: windows.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n)).collect(),
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
    pub(crate) fn namespaces(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT namespace FROM memory_counts WHERE of = 'status' ORDER BY 1";
        self.query_all(sql, (), |row| row.get(0))
    }
}

/// Returns the totals of the counts in `memory_counts` that meet a condition, grouped by a column.
fn counts(conn: &Connection, column: &str, condition: &str) -> rusqlite::Result<BTreeMap<String, usize>> {
    conn.prepare_cached(&format!("SELECT {column}, sum(count) FROM memory_counts WHERE {condition} GROUP BY {column}"))?
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
