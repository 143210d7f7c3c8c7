//! `SQLite` files that other programs write: opened for reading alone, so that their owners never notice.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::ingest::IngestError;

/// The first bytes of every `SQLite` file.
pub const MAGIC: &str = "SQLite format 3\0";

/// A database that is only read.
pub struct Database {
    connection: Connection,
    path: PathBuf,
    /// Where the copy lives, if one had to be made; removed with it.
    _copy: Option<TempDir>,
}

impl std::ops::Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// Opens the database at `path`, immutable: no lock is taken and no file is made beside it.
///
/// Changes that its owner has not yet moved out of the write-ahead log would be missed that way, so where there is
/// such a log, database and log are copied to a private temporary folder and the copy is opened.
///
/// # Errors
/// [`IngestError::Database`].
pub fn open(path: &Path) -> Result<Database, IngestError> {
    let failed = |reason: String| IngestError::Database { path: path.to_owned(), reason };
    let log = with_ending(path, "-wal");
    let has_log = std::fs::metadata(&log).is_ok_and(|data| data.len() > 0);
    if !has_log {
        let connection = connect(path, true).map_err(|error| failed(error.to_string()))?;
        return Ok(Database { connection, path: path.to_owned(), _copy: None });
    }
    let copied = || -> std::io::Result<(TempDir, PathBuf)> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("copy.db");
        std::fs::copy(path, &target)?;
        std::fs::copy(&log, with_ending(&target, "-wal"))?;
        Ok((folder, target))
    };
    let (folder, target) = copied().map_err(|error| failed(error.to_string()))?;
    let connection = connect(&target, false).map_err(|error| failed(error.to_string()))?;
    Ok(Database { connection, path: path.to_owned(), _copy: Some(folder) })
}

/// Returns the names of the tables in the database at `path`; none if it cannot be read.
#[must_use]
pub fn tables(path: &Path) -> Vec<String> {
    let listed = |database: &Connection| -> rusqlite::Result<Vec<String>> {
        database
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    let found = connect(path, true).and_then(|database| listed(&database)).unwrap_or_default();
    if !found.is_empty() {
        return found;
    }
    // Of a young database even the tables may stand in the log alone.
    open(path).ok().and_then(|database| listed(&database).ok()).unwrap_or_default()
}

impl Database {
    /// Returns the names of the columns of `table`; none if there is no such table.
    #[must_use]
    pub fn columns(&self, table: &str) -> Vec<String> {
        let listed = || -> rusqlite::Result<Vec<String>> {
            self.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?
                .query_map([table], |row| row.get(0))?
                .collect()
        };
        listed().unwrap_or_default()
    }

    /// Returns an error that names the database and what was wrong with it.
    pub fn error(&self, reason: impl std::fmt::Display) -> IngestError {
        IngestError::Database { path: self.path.clone(), reason: reason.to_string() }
    }
}

fn connect(path: &Path, is_immutable: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = if is_immutable {
        let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        Connection::open_with_flags(
            format!("file:{escaped}?mode=ro&immutable=1"),
            flags | OpenFlags::SQLITE_OPEN_READ_ONLY,
        )?
    } else {
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?
    };
    // The file is somebody else's: nothing in its schema may run code, and damaged pages must not be believed.
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;")?;
    Ok(connection)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_in_use_is_read_with_its_log_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sta te?#1.db");
        let owner = Connection::open(&path).unwrap();
        owner
            .execute_batch(
                "PRAGMA journal_mode = WAL; CREATE TABLE chat (id, words); INSERT INTO chat VALUES (1, 'hi');",
            )
            .unwrap();
        let listing = || {
            let mut names: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let before = listing();
        assert_eq!(tables(&path), ["chat"]);
        let database = super::open(&path).unwrap();
        assert_eq!(database.columns("chat"), ["id", "words"]);
        let words: String = database.query_row("SELECT words FROM chat", [], |row| row.get(0)).unwrap();
        assert_eq!((words.as_str(), listing()), ("hi", before));
        assert!(database.execute("DELETE FROM chat", []).is_err());
    }

    #[test]
    fn a_file_that_is_no_database_has_no_tables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        std::fs::write(&path, format!("{MAGIC}and then nonsense")).unwrap();
        assert_eq!(tables(&path), Vec::<String>::new());
        assert!(tables(&folder.path().join("none.db")).is_empty());
        assert!(!folder.path().join("none.db").exists());
    }
}
