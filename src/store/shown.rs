//! What was put in front of a model.

use jiff::Timestamp;

use super::{Database, StoreError};
use crate::memory::MemoryId;
use crate::store::row::time;

impl Database {
    /// Returns what was last put in front of a model at once, in that order, and when; `None` if nothing was yet, or none
    /// of it is there any more.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn last_shown(&self) -> Result<Option<(Timestamp, Vec<MemoryId>)>, StoreError> {
        self.read(|conn| {
            let sql = "SELECT memory_id, at FROM access_log WHERE kind = 'prompt'
                AND at = (SELECT max(at) FROM access_log WHERE kind = 'prompt') ORDER BY id";
            let mut statement = conn.prepare_cached(sql)?;
            let rows =
                statement.query_map((), |row| Ok((MemoryId::from_stored(row.get::<_, String>(0)?), time(row, 1)?)))?;
            let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
            Ok(rows.first().map(|(_, at)| *at).map(|at| (at, rows.into_iter().map(|(id, _)| id).collect())))
        })
    }
}
