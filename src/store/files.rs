//! The logs that were read to their end, so that a later run need not open them.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::{Database, Store, StoreError};
use crate::fault::point;
use crate::memory::ParseError;
use crate::store::row::spelled;

/// What came of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOutcome {
    /// It was read.
    Read,
    /// It is of no known format.
    PassedOver,
    /// It is a dataset that nobody named.
    Dataset,
}

impl FileOutcome {
    const ALL: [Self; 3] = [Self::Read, Self::PassedOver, Self::Dataset];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::PassedOver => "passed_over",
            Self::Dataset => "dataset",
        }
    }
}

impl std::str::FromStr for FileOutcome {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "the outcome of a file",
            allowed: "read, passed_over or dataset",
        })
    }
}

/// A log that was read to its end, with all its windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// Hash of its path.
    pub path: String,
    /// What it was like, so that a change shows.
    pub stamp: String,
    /// What came of it.
    pub outcome: FileOutcome,
    /// Conversations in it.
    pub transcripts: u64,
    /// Messages in them.
    pub messages: u64,
    /// Windows of them, all of which are finished.
    pub windows: u64,
    /// Records in it that could not be used.
    pub skipped_records: u64,
}

impl Database {
    /// Returns the logs that this extractor has finished, by the hash of their path; `signature` stands for everything
    /// else that the outcome depends on.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn files_read(&self, extractor: &str, signature: &str) -> Result<HashMap<String, FileRead>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT path, stamp, outcome, transcripts, messages, windows, skipped_records FROM files
                 WHERE extractor = ?1 AND signature = ?2 ORDER BY path",
            )?;
            let found = statement.query_map((extractor, signature), file_from_row)?;
            Ok(found.map(|file| file.map(|file| (file.path.clone(), file))).collect::<Result<_, _>>()?)
        })
    }

    /// Returns the stamps under which any extractor has finished logs, with the number of conversations, by the hash of
    /// their path; none in a database of a version that did not note them.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn stamps_of_files(&self) -> Result<HashMap<String, HashMap<String, u64>>, StoreError> {
        self.read(|conn| {
            if !conn.table_exists(None, "files")? {
                return Ok(HashMap::new());
            }
            let mut stamps: HashMap<String, HashMap<String, u64>> = HashMap::new();
            let mut statement =
                conn.prepare_cached("SELECT path, stamp, transcripts FROM files ORDER BY path, extractor")?;
            let found = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            for row in found {
                let (path, stamp, transcripts) = row?;
                stamps.entry(path).or_default().insert(stamp, transcripts);
            }
            Ok(stamps)
        })
    }
}

impl Store {
    /// Notes that a log was read to its end.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn file_read(
        &self,
        extractor: &str,
        signature: &str,
        file: &FileRead,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO files (path, extractor, stamp, signature, outcome, transcripts, messages, windows,
                 skipped_records, read_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                file.path,
                extractor,
                file.stamp,
                signature,
                file.outcome.as_str(),
                file.transcripts,
                file.messages,
                file.windows,
                file.skipped_records,
                now.as_millisecond(),
            ])?;
            point("file.noted");
            Ok(())
        })
    }
}

fn file_from_row(row: &Row<'_>) -> rusqlite::Result<FileRead> {
    Ok(FileRead {
        path: row.get(0)?,
        stamp: row.get(1)?,
        outcome: spelled(row, 2)?,
        transcripts: row.get(3)?,
        messages: row.get(4)?,
        windows: row.get(5)?,
        skipped_records: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_known_under_the_extractor_and_the_signature_that_finished_it() {
        let store = Store::in_memory().unwrap();
        let file = |stamp: &str| FileRead {
            path: "p".into(),
            stamp: stamp.into(),
            outcome: FileOutcome::Read,
            transcripts: 1,
            messages: 2,
            windows: 3,
            skipped_records: 0,
        };
        store.file_read("rules-1", "s", &file("a"), Timestamp::UNIX_EPOCH).unwrap();
        store.file_read("rules-1", "s", &file("b"), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(store.files_read("rules-1", "s").unwrap(), HashMap::from([("p".to_owned(), file("b"))]));
        assert!(
            store.files_read("llm", "s").unwrap().is_empty() && store.files_read("rules-1", "t").unwrap().is_empty()
        );
        store.file_read("llm", "s", &file("c"), Timestamp::UNIX_EPOCH).unwrap();
        let stamps = HashMap::from([("b".to_owned(), 1), ("c".to_owned(), 1)]);
        assert_eq!(store.stamps_of_files().unwrap()["p"], stamps);
    }
}
