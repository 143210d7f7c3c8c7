//! Mending a file: what follows from other parts of it is made anew, what cannot be mended is put aside, never lost.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::backup::set_aside;
use super::check::Checked;
use super::near_index::fill_near;
use super::salvage::{Loss, salvage};
use super::word_index::fill as fill_words;
use super::{Store, StoreError};

/// What a repair has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// A copy of the file as it was before.
    pub backup: PathBuf,
    /// Rows that hung on nothing and were put aside, one a line of JSON; `None` if there were none, and where the file is
    /// encrypted: they are in the copy alone, then.
    pub put_aside: Option<PathBuf>,
    /// How many rows were put aside.
    pub rows: usize,
    /// Where pages were damaged: the tables of which not everything could be read, by name.
    pub lost: Vec<Loss>,
    /// What is still amiss.
    pub left: Checked,
}

impl Store {
    /// Copies the file, makes its indexes anew, drops vectors that are not of their memory, and puts rows aside that hang on
    /// nothing. What a memory says is never changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be copied or written; it is as it was, then.
    pub fn repair(&self, now: Timestamp) -> Result<Repaired, StoreError> {
        let backup = set_aside(&self.path, &self.keys, now)?;
        let mut aside = backup.clone().into_os_string();
        aside.push(".put-aside.jsonl");
        let aside = PathBuf::from(aside);
        let aside = (!self.is_encrypted()?).then_some(aside);
        let rows = self.mend(aside.as_deref()).map_err(|error| error.at(&self.path))?;
        let left = self.check()?;
        Ok(Repaired { backup, put_aside: aside.filter(|_| rows > 0), rows, lost: Vec::new(), left })
    }

    /// Does what [`Store::repair`] does with the file at `path`; where its pages are damaged, what can be read is put
    /// into a new file in its place, and the damaged one is kept beside it with the log that belongs to it. Other processes
    /// should not be at the file then.
    ///
    /// # Errors
    /// [`StoreError`] if the file is none of ours, of a newer version, or cannot be written; it is as it was, then.
    pub fn repair_file(path: &Path, now: Timestamp) -> Result<Repaired, StoreError> {
        let opened = Self::open(path).and_then(|store| {
            // The pages of an encrypted file can be read whole or not at all.
            let is_damaged = !store.is_encrypted()? && store.pages_are_damaged()?;
            Ok((store, is_damaged))
        });
        match opened {
            Ok((store, false)) => store.repair(now),
            Ok((store, true)) => {
                drop(store);
                salvage(path, now)
            }
            Err(
                error @ (StoreError::Corrupt { .. }
                | StoreError::NotADatabase { .. }
                | StoreError::Migration { .. }
                | StoreError::BadRecord { .. }
                | StoreError::Sqlite(_)),
            ) => salvage(path, now).map_err(|second| match second {
                // What is no file of ours at all is told as it was found.
                StoreError::NotADatabase { .. } => error,
                second => second,
            }),
            Err(error) => Err(error),
        }
    }

    pub(super) fn mend(&self, aside: Option<&Path>) -> Result<usize, StoreError> {
        let conn = &self.conn;
        let file = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        // Indexes of SQLite itself first: what follows reads through them.
        file.execute_batch("REINDEX")?;
        let rows = put_aside_dangling(&file, aside)?;
        file.execute_batch(
            "INSERT OR IGNORE INTO memory_usage (memory_id, confirmed_at)
             SELECT id, (SELECT max(said_at) FROM evidence e WHERE e.memory_id = m.id) FROM memories m;
             DELETE FROM search_recent; DELETE FROM search_docs; DELETE FROM search_segments;
             DELETE FROM search_places; DELETE FROM search_postings;
             INSERT INTO memory_near (memory_near) VALUES ('delete-all');
             DELETE FROM vectors WHERE seq IN (SELECT v.seq FROM vectors v JOIN vector_models k ON k.id = v.model_id
                 JOIN memories m ON m.seq = v.seq WHERE length(v.vector) <> 4 * k.dimension
                 OR length(v.code) <> 4 + (k.dimension + 7) / 8 OR v.namespace <> m.namespace
                 OR m.status = 'forgotten');",
        )?;
        fill_words(&file)?;
        fill_near(&file)?;
        file.commit()?;
        Ok(rows)
    }
}

/// Writes rows that hang on nothing into a file, if one is given, and removes them once they are there.
fn put_aside_dangling(conn: &Connection, aside: Option<&Path>) -> Result<usize, StoreError> {
    let mut count = 0;
    // What is removed may leave others without their row.
    loop {
        let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
        let dangling = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?)))?;
        let dangling: Vec<(String, Option<i64>)> = dangling.collect::<Result<_, _>>()?;
        if dangling.is_empty() {
            return Ok(count);
        }
        let before = count;
        for (table, row) in dangling {
            count += match row {
                Some(row) => move_row(conn, aside, &table, &format!("rowid = {row}"))?,
                None => move_row(conn, aside, &table, lacking(&table))?,
            };
        }
        if count == before {
            return Ok(count);
        }
    }
}

/// Which rows of a table without numbers hang on nothing.
fn lacking(table: &str) -> &'static str {
    match table {
        "relations" => "from_id NOT IN (SELECT id FROM memories) OR to_id NOT IN (SELECT id FROM memories)",
        "memory_usage" | "settled" => "memory_id NOT IN (SELECT id FROM memories)",
        "project_paths" => "project NOT IN (SELECT id FROM projects)",
        _ => "0",
    }
}

fn move_row(conn: &Connection, aside: Option<&Path>, table: &str, condition: &str) -> Result<usize, StoreError> {
    if let Some(aside) = aside {
        copy_rows(conn, aside, table, condition)?;
    }
    Ok(conn.execute(&format!("DELETE FROM \"{table}\" WHERE {condition}"), ())?)
}

fn copy_rows(conn: &Connection, aside: &Path, table: &str, condition: &str) -> Result<(), StoreError> {
    let mut statement = conn.prepare(&format!("SELECT * FROM \"{table}\" WHERE {condition}"))?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = statement.query(())?;
    let mut lines = String::new();
    while let Some(row) = rows.next()? {
        lines += &json!({"table": table, "row": values(row, &names)?}).to_string();
        lines.push('\n');
    }
    append(aside, &lines).map_err(|source| StoreError::Unwritable { path: aside.to_owned(), source: Box::new(source) })
}

fn append(path: &Path, lines: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(lines.as_bytes())?;
    file.sync_all()
}

fn values(row: &Row<'_>, names: &[String]) -> Result<Value, StoreError> {
    let mut map = Map::new();
    for (index, name) in names.iter().enumerate() {
        let value = match row.get_ref(index)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            ValueRef::Blob(bytes) => json!({ "blob": transcripts::hex(bytes) }),
        };
        map.insert(name.clone(), value);
    }
    Ok(Value::Object(map))
}
