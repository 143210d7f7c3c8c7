//! Short ids: as much of the start of an id as no other id in the file shares.

use super::{Database, RunId, StoreError};
use crate::memory::MemoryId;

/// Shortest id that is shown. The first characters of a `UUIDv7` are its time, so ids of one moment need more.
const LEAST: usize = 8;

impl Database {
    /// Returns the start of a memory's id that no other memory's id shares, of at least eight characters.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn short_id(&self, id: &MemoryId) -> Result<String, StoreError> {
        self.shortest("memories", id.as_str())
    }

    /// Returns the start of a run's id that no other run's id shares, of at least eight characters.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn short_run_id(&self, id: &RunId) -> Result<String, StoreError> {
        self.shortest("runs", id.as_str())
    }

    fn shortest(&self, table: &str, id: &str) -> Result<String, StoreError> {
        let neighbours =
            format!("SELECT (SELECT max(id) FROM {table} WHERE id < ?1), (SELECT min(id) FROM {table} WHERE id > ?1)");
        let [before, after]: [Option<String>; 2] = self.read(|conn| {
            let mut statement = conn.prepare_cached(&neighbours)?;
            Ok(statement.query_row([id], |row| Ok([row.get(0)?, row.get(1)?]))?)
        })?;
        // Ids are sorted, so no other shares more than one of the two neighbours does.
        let shared = [before, after].into_iter().flatten().map(|other| shared_start(&other, id)).max();
        let wanted = LEAST.max(shared.unwrap_or(0) + 1);
        // A hyphen at the end would look like a part of the sentence.
        let end = if id.as_bytes().get(wanted - 1) == Some(&b'-') { wanted + 1 } else { wanted };
        Ok(id.get(..end).unwrap_or(id).to_owned())
    }
}

fn shared_start(left: &str, right: &str) -> usize {
    left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count()
}
