//! `SQLite` files of other programs, which are opened read-only so that the programs that own them are not affected.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, ToSql};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;

use crate::{IngestError, Input, MAX_RECORD_BYTES, Sink, json};

/// The first bytes of every `SQLite` file.
pub(crate) const MAGIC: &str = "SQLite format 3\0";
/// Length of the header of a write-ahead log.
// SQLite's file format defines this length.
// The header contains two random numbers that change each time the log is restarted.
const LOG_HEAD_BYTES: u64 = 32;
/// Number of attempts to copy a database and its log, after which the owner is assumed to be writing continuously.
const COPY_ATTEMPTS: usize = 5;

/// A read-only database.
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
    /// The folder of the copy, if a copy had to be made; it is removed together with this value.
    _copy: Option<TempDir>,
}

impl std::ops::Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// Opens the database at `path` as immutable: no lock is taken and no file is created next to it.
///
/// Changes that the owner has not yet moved out of the write-ahead log would not be visible. If there is such a log,
/// the database and the log are therefore copied to a private temporary folder, and the copy is opened.
///
/// # Errors
/// [`IngestError::Database`] if the database cannot be opened or copied.
pub(crate) fn open(path: &Path) -> Result<Database, IngestError> {
    let failed = |reason: String| IngestError::Database { path: path.to_owned(), reason };
    let copy = copy_with_log(path, || ()).map_err(|error| failed(error.to_string()))?;
    let connection = match &copy {
        Some((_, copy)) => connect(copy, false),
        None => connect(path, true),
    };
    let connection = connection.map_err(|error| failed(error.to_string()))?;
    Ok(Database { connection, path: path.to_owned(), _copy: copy.map(|(folder, _)| folder) })
}

/// Copies the database and its log; `None` if there is no log. `between` runs between the two copies.
///
/// If the owner moves the log into the database and restarts the log in the meantime, the two copies do not match. Each
/// restart writes a different header, so a changed header shows that the copies do not match.
fn copy_with_log(path: &Path, mut between: impl FnMut()) -> io::Result<Option<(TempDir, PathBuf)>> {
    let log = with_ending(path, "-wal");
    for _ in 0..COPY_ATTEMPTS {
        let Some(head) = log_head(&log)? else { return Ok(None) };
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("copy.db");
        // The database is copied before its log, so that changes that move from the log to the database in the meantime
        // are read twice rather than lost.
        std::fs::copy(path, &target)?;
        between();
        let copied = std::fs::copy(&log, with_ending(&target, "-wal"));
        if copied.is_ok() && log_head(&log)?.as_ref() == Some(&head) {
            return Ok(Some((folder, target)));
        }
    }
    Err(io::Error::other("another program keeps writing to it"))
}

/// Returns the first bytes of a write-ahead log, which change each time that the log is restarted; `None` if the log is
/// empty or does not exist.
fn log_head(log: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    match std::fs::File::open(log) {
        Ok(file) => file.take(LOG_HEAD_BYTES).read_to_end(&mut head)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok((!head.is_empty()).then_some(head))
}

/// Opens `input` as a database.
///
/// # Errors
/// The same errors as [`of`], and [`IngestError::Database`] if the input is not a database.
pub(crate) fn required(input: &Input) -> Result<Database, IngestError> {
    let reason = || "it is not a SQLite database".to_owned();
    of(input)?.ok_or_else(|| IngestError::Database { path: input.path.clone(), reason: reason() })
}

/// Opens `input` as a database; `None` if it is not a database.
///
/// # Errors
/// [`IngestError::Database`] if the database cannot be opened, or if it has no path because it is in an archive or on
/// standard input.
pub(crate) fn of(input: &Input) -> Result<Option<Database>, IngestError> {
    if !input.head().starts_with(MAGIC) {
        return Ok(None);
    }
    if input.is_in_archive() || input.path == Path::new("-") {
        let reason = "a database must be a separate file, not part of an archive or standard input".to_owned();
        return Err(IngestError::Database { path: input.path.clone(), reason });
    }
    open(&input.path).map(Some)
}

/// Returns the names of the tables in the database at `path`; an empty list if it cannot be read.
pub(crate) fn tables(path: &Path) -> Vec<String> {
    names(path, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
}

/// Returns the columns of all tables in the database at `path`, each as `table.column`; an empty list if it cannot be
/// read.
pub(crate) fn all_columns(path: &Path) -> Vec<String> {
    names(
        path,
        "SELECT t.name || '.' || c.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' ORDER BY t.name, c.cid",
    )
}

/// Returns the names that `sql` lists.
fn names(path: &Path, sql: &str) -> Vec<String> {
    let listed = |database: &Connection| -> rusqlite::Result<Vec<String>> {
        database.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    let found = connect(path, true).and_then(|database| listed(&database)).unwrap_or_default();
    if !found.is_empty() {
        return found;
    }
    // The log may be the only place where the tables of a new database exist.
    open(path).ok().and_then(|database| listed(&database).ok()).unwrap_or_default()
}

impl Database {
    /// Returns the names of the columns of `table`; an empty list if there is no such table.
    pub(crate) fn columns(&self, table: &str) -> Vec<String> {
        let listed = || -> rusqlite::Result<Vec<String>> {
            self.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?
                .query_map([table], |row| row.get(0))?
                .collect()
        };
        listed().unwrap_or_default()
    }

    /// Returns an error with the path of the database and the reason.
    pub(crate) fn error(&self, reason: impl std::fmt::Display) -> IngestError {
        IngestError::Database { path: self.path.clone(), reason: reason.to_string() }
    }

    /// Checks that `table` has all of `columns`, so that a changed layout causes an error instead of an empty log.
    ///
    /// # Errors
    /// [`IngestError::Database`] with the name of the missing table or column.
    pub(crate) fn require(&self, table: &str, columns: &[&str]) -> Result<(), IngestError> {
        let there = self.columns(table);
        let Some(missing) = columns.iter().find(|column| !there.iter().any(|name| name == *column)) else {
            return Ok(());
        };
        let lack = if there.is_empty() {
            format!("there is no table {table}")
        } else {
            format!("the table {table} has no column {missing}")
        };
        Err(self.error(format_args!("{lack}; it was written by an unsupported version of the program")))
    }

    /// Returns `columns` for use in a statement, with `NULL` for each column that `table` lacks.
    ///
    /// Programs add columns over time, so a database of an older version lacks some of the columns that are read.
    pub(crate) fn or_null(&self, table: &str, columns: &[&str]) -> String {
        let there = self.columns(table);
        let listed = columns.iter().map(|column| if there.iter().any(|name| name == column) { column } else { "NULL" });
        listed.collect::<Vec<_>>().join(", ")
    }

    /// Runs `sql` and passes each row to `take`.
    ///
    /// # Errors
    /// [`IngestError::Database`], for example if a page is damaged, or the first error from `take`.
    pub(crate) fn each(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        mut take: impl FnMut(&Row<'_>) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let mut statement = self.prepare_cached(sql).map_err(|error| self.error(error))?;
        let mut rows = statement.query(values).map_err(|error| self.error(error))?;
        while let Some(row) = rows.next().map_err(|error| self.error(error))? {
            take(row)?;
        }
        Ok(())
    }

    /// Reports the number of rows of `table` whose `key` refers to a missing row of `parent`.
    ///
    /// # Errors
    /// [`IngestError::Database`] if the database cannot be read.
    pub(crate) fn report_orphans(
        &self,
        [table, key, parent]: [&str; 3],
        reason: &str,
        sink: &mut Sink<'_>,
    ) -> Result<(), IngestError> {
        // NULLs are excluded, because `NOT IN` a list that contains a NULL is never true.
        let sql = format!(
            "SELECT min(rowid), count(*) FROM {table}
             WHERE {key} IS NULL OR {key} NOT IN (SELECT id FROM {parent} WHERE id IS NOT NULL)"
        );
        self.each(&sql, &[], |row| {
            if let Some(count) = text(row, 1).filter(|count| count != "0") {
                sink.skip(record_number(row, 0), format!("{count} {reason}"));
            }
            Ok(())
        })
    }
}

/// Returns the text in a column, regardless of its storage type; `None` if the column has no text, or if the text
/// exceeds the maximum size of a record.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() <= MAX_RECORD_BYTES => {
            Some(String::from_utf8_lossy(bytes).into_owned()).filter(|text| !text.is_empty())
        }
        ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => None,
    }
}

/// Returns the bytes in a column, even if they are stored as text.
pub(crate) fn bytes<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    row.get_ref(column).ok()?.as_bytes().ok()
}

/// Returns the integer in a column as the number of a record; 0 if the column has none.
pub(crate) fn record_number(row: &Row<'_>, column: usize) -> usize {
    row.get::<_, i64>(column).ok().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

/// Parses the JSON in a column; also returns whether it had to be repaired.
///
/// # Errors
/// The reason why the JSON cannot be used, without quoting any of its text.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<(T, bool), String> {
    let size = row.get_ref(column).ok().and_then(|value| value.as_bytes().ok()).map_or(0, <[u8]>::len);
    if size > MAX_RECORD_BYTES {
        return Err(format!("record of {} MiB is over the limit of {} MiB", size >> 20, MAX_RECORD_BYTES >> 20));
    }
    let text = text(row, column).ok_or("a row without a value")?;
    json::parse(&text).map_err(|error| json::reason(&text, &error))
}

/// Returns the JSON in a column. If the JSON cannot be used, it is reported as `what`, with the number in the first
/// column.
pub(crate) fn parsed(row: &Row<'_>, column: usize, what: &str, sink: &mut Sink<'_>) -> Option<Value> {
    match json::<Value>(row, column) {
        Ok((value, repaired)) => {
            sink.repaired += usize::from(repaired);
            Some(value)
        }
        Err(reason) => {
            sink.skip(record_number(row, 0), format!("{what}: {reason}"));
            None
        }
    }
}

/// Returns the JSON in a column, or null if the column contains no valid JSON.
pub(crate) fn value(row: &Row<'_>, column: usize) -> Value {
    json(row, column).map_or(Value::Null, |(value, _)| value)
}

fn connect(path: &Path, is_immutable: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = if is_immutable {
        // The path is part of a URI, in which these characters have a special meaning.
        let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        Connection::open_with_flags(
            format!("file:{escaped}?mode=ro&immutable=1"),
            flags | OpenFlags::SQLITE_OPEN_READ_ONLY,
        )?
    } else {
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?
    };
    // The file belongs to another program, so nothing in its schema may run code; a view, for example, could run
    // forever. Damaged pages must not be trusted.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
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
    fn a_view_in_the_place_of_a_table_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        let sql = "CREATE TABLE t (id); CREATE VIEW chat AS SELECT id, id AS words FROM t";
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let database = super::open(&path).unwrap();
        let read = database.query_row("SELECT count(words) FROM chat", [], |row| row.get::<_, i64>(0));
        let error = read.unwrap_err().to_string();
        assert!(error.contains("prohibited"), "{error}");
    }

    #[test]
    fn a_database_in_use_is_read_with_its_log_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        // Windows does not allow question marks in names.
        let path = folder.path().join(if cfg!(windows) { "sta te%3f#1.db" } else { "sta te?#1.db" });
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
        assert_eq!(all_columns(&path), ["chat.id", "chat.words"]);
        let database = super::open(&path).unwrap();
        assert_eq!(database.columns("chat"), ["id", "words"]);
        let words: String = database.query_row("SELECT words FROM chat", [], |row| row.get(0)).unwrap();
        assert_eq!((words.as_str(), listing()), ("hi", before));
        assert!(database.execute("DELETE FROM chat", []).is_err());
    }

    #[test]
    fn another_layout_is_reported_by_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE chat (id, words);").unwrap();
        let database = super::open(&path).unwrap();
        let reason = |table, columns: &[&str]| match database.require(table, columns) {
            Err(IngestError::Database { reason, .. }) => reason,
            Ok(()) | Err(_) => String::new(),
        };
        assert_eq!(reason("chat", &["id", "words"]), "");
        assert!(reason("chat", &["id", "said"]).contains("chat has no column said"));
        assert!(reason("talk", &["id"]).contains("no table talk"));
        assert_eq!(database.or_null("chat", &["id", "said"]), "id, NULL");
    }

    #[test]
    fn values_are_read_however_they_are_stored() {
        let database = Connection::open_in_memory().unwrap();
        let read =
            |sql: &str| database.query_row(sql, [], |row| Ok((text(row, 0), json::<Value>(row, 0).ok()))).unwrap();
        assert_eq!(read("SELECT NULL"), (None, None));
        assert_eq!(read("SELECT 7"), (Some("7".to_owned()), Some((7.into(), false))));
        assert_eq!(read("SELECT x'5b5d'"), (Some("[]".to_owned()), Some((serde_json::json!([]), false))));
        assert_eq!(read("SELECT '{\"a\":'"), (Some("{\"a\":".to_owned()), None));
    }

    #[test]
    fn a_log_that_is_begun_anew_between_the_copies_is_copied_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("busy.db");
        let owner = Connection::open(&path).unwrap();
        owner
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE chat (words); INSERT INTO chat VALUES ('first');")
            .unwrap();
        let mut interruptions = 0;
        let copy = copy_with_log(&path, || {
            if interruptions < 2 {
                interruptions += 1;
                let words =
                    format!("PRAGMA wal_checkpoint(RESTART); INSERT INTO chat VALUES ('later {interruptions}');");
                owner.execute_batch(&words).unwrap();
            }
        });
        let (_folder, copy) = copy.unwrap().unwrap();
        let count: i64 =
            connect(&copy, false).unwrap().query_row("SELECT count(*) FROM chat", [], |row| row.get(0)).unwrap();
        assert_eq!((count, interruptions), (3, 2));
        let restless = copy_with_log(&path, || {
            owner.execute_batch("PRAGMA wal_checkpoint(RESTART); INSERT INTO chat VALUES ('again');").unwrap();
        });
        assert!(restless.unwrap_err().to_string().contains("keeps writing"));
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
