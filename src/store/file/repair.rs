//! Repairs a file: rebuilds derived rows, and copies readable rows out of a damaged file.
//!
//! SQLite stops at the first unreadable page of a table. For this reason, a damaged table is read in ranges of row
//! numbers, first from both ends and then by bisection, and every row that SQLite can read is copied to a new file.
//! Rows below an unreadable inner page are lost, unless the history contains them. A file whose header or list of
//! tables is unreadable cannot be opened at all and needs a backup.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row as SqlRow, Transaction, TransactionBehavior};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::backup::{copy_bytes, set_aside};
use super::check::Checked;
use super::copy_pages;
use super::path::{create_private, with_suffix};
use super::restored::restore_from_history;
use super::schema::{APPLICATION_ID, BUSY_TIMEOUT, check_ours, known_version, make_version, schema_version};
use super::table_copy::TableReader;
use crate::fault::point;
use crate::private;
use crate::store::index::near::fill_near;
use crate::store::index::words::{fill as fill_words, fill_letters};
use crate::store::row::{count, query_all};
use crate::store::{Store, StoreError};

/// Prefixes of the names of tables that are rebuilt from other tables.
const DERIVED: [&str; 3] = ["search_", "memory_near", "memory_counts"];
/// Result of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Repaired {
    /// A copy of the file, made before the repair.
    pub backup: PathBuf,
    /// The file with the removed orphaned rows, one JSON line each. `None` if there were no such rows, or if the
    /// database is encrypted; in the latter case, the rows are only in the copy.
    pub put_aside: Option<PathBuf>,
    /// Number of orphaned rows that were removed.
    pub rows: usize,
    /// Tables that could not be read completely, sorted by name.
    pub lost: Vec<Loss>,
    /// Flaws that remain.
    pub left: Checked,
}

/// A table that could not be read completely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Loss {
    /// The table.
    pub table: String,
    /// Number of rows that were read.
    pub kept: usize,
    /// Number of rows that were restored from the history.
    pub restored: usize,
}

impl Store {
    /// Copies the file, rebuilds its indexes, drops vectors that do not belong to their memory, and removes orphaned
    /// rows. The text of a memory is never changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be copied or written; in this case, the file is unchanged.
    pub(crate) fn repair(&self, now: Timestamp) -> Result<Repaired, StoreError> {
        // The copy is made first, so that the file can be restored if a later step fails.
        let backup = set_aside(&self.path, &self.keys, now)?;
        let aside = with_suffix(&backup, ".put-aside.jsonl");
        // An unencrypted file of rows next to an encrypted database would defeat the encryption.
        let aside = (!self.is_encrypted()?).then_some(aside);
        let rows = self.rebuild(aside.as_deref()).map_err(|error| error.at(&self.path))?;
        let left = self.check()?;
        Ok(Repaired { backup, put_aside: aside.filter(|_| rows > 0), rows, lost: Vec::new(), left })
    }

    /// Repairs the file at `path` as [`Store::repair`] does. If its pages are damaged, the readable rows are copied to
    /// a new file, which replaces the old file; the damaged file is kept next to it with its log. No other process
    /// should use the file during the repair.
    ///
    /// # Errors
    /// [`StoreError`] if the file is not a memory database, is of a newer version, is too damaged to be opened, or
    /// cannot be written; in this case, the file is unchanged.
    pub(crate) fn repair_file(path: &Path, now: Timestamp) -> Result<Repaired, StoreError> {
        let opened = Self::open(path).and_then(|store| {
            // An encrypted file can be read completely or not at all, so nothing can be recovered from its pages.
            let is_damaged = !store.is_encrypted()? && store.pages_are_damaged()?;
            Ok((store, is_damaged))
        });
        let repaired = match opened {
            Ok((store, false)) => store.repair(now),
            Ok((store, true)) => {
                drop(store);
                return copy_readable_rows(path, now);
            }
            Err(error) => Err(error),
        };
        match repaired {
            Err(
                // A damaged page may cause any of these errors, for example in a migration that reads the page, or in
                // an index that is rebuilt from rows, two of which have the same key.
                StoreError::Corrupt { .. }
                | StoreError::Migration { .. }
                | StoreError::BadRecord { .. }
                | StoreError::Sqlite(_),
            ) => copy_readable_rows(path, now),
            repaired => repaired,
        }
    }

    fn rebuild(&self, aside: Option<&Path>) -> Result<usize, StoreError> {
        let conn = &self.conn;
        let file = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        // SQLite's own indexes are rebuilt first, because the statements below use them.
        file.execute_batch("REINDEX")?;
        let rows = take_out_orphans(&file, aside)?;
        file.execute_batch(
            "INSERT OR IGNORE INTO memory_usage (memory_id, confirmed_at)
             SELECT id, (SELECT max(said_at) FROM evidence e WHERE e.memory_id = m.id) FROM memories m;
             UPDATE memory_usage SET (namespace, traits, changed_at) =
                (SELECT namespace, traits, changed_at FROM memory_traits WHERE id = memory_id);
             DELETE FROM memory_counts;
             INSERT INTO memory_counts SELECT * FROM memory_counts_anew;
             DELETE FROM search_recent; DELETE FROM search_docs; DELETE FROM search_segments;
             DELETE FROM search_places; DELETE FROM search_postings; DELETE FROM search_letters;
             INSERT INTO memory_near (memory_near) VALUES ('delete-all');
             DELETE FROM vectors WHERE seq IN (SELECT v.seq FROM vectors v JOIN vector_models k ON k.id = v.model_id
                 JOIN memories m ON m.seq = v.seq WHERE length(v.vector) <> 4 * k.dimension
                 OR length(v.code) <> 4 + (k.dimension + 7) / 8 OR v.namespace <> m.namespace
                 OR m.status = 'forgotten');",
        )?;
        // The index is filled in the same transaction as the deletes, so that readers never see an empty index.
        fill_words(&file)?;
        fill_letters(&file)?;
        fill_near(&file)?;
        file.commit()?;
        Ok(rows)
    }
}

/// Copies the readable rows of the file at `path` to a new file, which replaces it.
fn copy_readable_rows(path: &Path, now: Timestamp) -> Result<Repaired, StoreError> {
    // The file is opened before anything is written: a file that SQLite cannot open remains unchanged.
    open_damaged(path).map(drop).map_err(|error| error.at(path))?;
    // The bytes are copied while no connection is open: closing the copied file would release a connection's locks.
    let backup = copy_bytes(path, now)?;
    point("repair.begin");
    // The file is opened again, because the connection above was closed before the bytes were copied.
    let damaged = open_damaged(path).map_err(|error| error.at(path))?;
    let fresh = with_suffix(path, &format!(".{}.new", uuid::Uuid::now_v7()));
    let remove = |path: &Path| {
        for ending in ["", "-wal", "-shm"] {
            // Which of the three files exist depends on SQLite's progress; a leftover file does no harm.
            fs::remove_file(with_suffix(path, ending)).ok();
        }
    };
    let aside = with_suffix(&backup, ".put-aside.jsonl");
    let copied = copy_into(&damaged, &fresh, &aside, now).map_err(|error| error.at(path)).inspect_err(|_| {
        remove(&backup);
        remove(&fresh);
    });
    // The connection is closed first, so that none of its locks prevents overwriting the file.
    drop(damaged);
    let (lost, rows) = copied?;
    point("repair.filled");
    let placed = put_in_place(&fresh, path).map_err(|error| error.at(path));
    point("repair.placed");
    remove(&fresh);
    placed?;
    let left = Store::open(path)?.check()?;
    Ok(Repaired { backup, put_aside: (rows > 0).then_some(aside), rows, lost, left })
}

fn open_damaged(path: &Path) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // Closing the connection must not write the log to damaged pages.
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    check_ours(&conn, path)?;
    Ok(conn)
}

/// Creates a file with the schema version of the damaged file, copies every readable row, and migrates the new file.
/// Returns the tables that were not read completely, and the number of removed orphaned rows.
fn copy_into(
    damaged: &Connection,
    fresh: &Path,
    aside: &Path,
    now: Timestamp,
) -> Result<(Vec<Loss>, usize), StoreError> {
    let version = schema_version(damaged)?;
    // The header may be damaged as well; in that case, the newest schema is the best guess.
    let version = if (1..=known_version()).contains(&version) { version } else { known_version() };
    create_private(fresh)?;
    let mut conn = Connection::open_with_flags(fresh, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    make_version(&mut conn, fresh, version)?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    // Rows are copied in any order, and the rows that they refer to may be lost.
    conn.execute_batch("PRAGMA foreign_keys = OFF")?;
    let file = conn.transaction()?;
    // Triggers would change rows that should be copied unchanged.
    let triggers = drop_triggers(&file)?;
    let mut lost = Vec::new();
    for (table, has_row_numbers) in tables(&file)? {
        // Migrations insert rows, which would collide with the rows of the damaged file.
        file.execute_batch(&format!("DELETE FROM \"{table}\""))?;
        let mut copying = TableReader::new(damaged, &file, &table)?;
        if has_row_numbers {
            copying.by_ranges()?;
        } else {
            copying.by_key()?;
        }
        let (is_damaged, kept) = (copying.is_damaged, copying.kept);
        if is_damaged {
            lost.push(Loss { table, kept, restored: 0 });
        }
    }
    if drop_unreadable_history(&file)? && lost.iter().all(|loss| loss.table != "history") {
        let kept = count(&file, "history")?;
        lost.push(Loss { table: "history".to_owned(), kept, restored: 0 });
    }
    file.execute_batch(&triggers)?;
    file.commit()?;
    make_version(&mut conn, fresh, known_version())?;
    drop(conn);
    let store = Store::open(fresh)?;
    // The rows are restored after the migration, because this step writes to the tables of the current schema.
    let restored = restore_from_history(&store, lost.iter().all(|loss| loss.table != "history"), now)?;
    for loss in &mut lost {
        match loss.table.as_str() {
            "memories" => loss.restored = restored.memories,
            "evidence" => loss.restored = restored.evidence,
            _ => {}
        }
    }
    Ok((lost, store.rebuild(Some(aside))?))
}

/// Deletes entries of the history that are not JSON, and returns whether there were any.
fn drop_unreadable_history(conn: &Connection) -> Result<bool, StoreError> {
    // SQLite keeps no checksums, so a page of long text that was overwritten is read without an error.
    let deleted = conn.execute(
        "DELETE FROM history WHERE NOT (json_valid(coalesce(before, '{}')) AND json_valid(coalesce(after, '{}')))",
        (),
    )?;
    Ok(deleted > 0)
}

/// Returns the tables to copy, and whether their rows have numbers.
fn tables(conn: &Connection) -> Result<Vec<(String, bool)>, StoreError> {
    // `DERIVED` also covers the tables behind virtual tables.
    let sql = "SELECT name, wr = 0 FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut found = query_all(conn, sql, (), |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    found.retain(|(name, _)| !DERIVED.iter().any(|begin| name.starts_with(begin)));
    Ok(found)
}

/// Drops the triggers, and returns the statements that recreate them.
fn drop_triggers(conn: &Connection) -> Result<String, StoreError> {
    let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name";
    let triggers: Vec<(String, String)> = query_all(conn, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut created = String::new();
    for (name, sql) in triggers {
        conn.execute_batch(&format!("DROP TRIGGER \"{name}\""))?;
        created += &sql;
        created.push_str(";\n");
    }
    Ok(created)
}

/// Overwrites the pages of the damaged file with the pages of the new file in one step, so that other processes never
/// see a mixture. If the damaged file is no longer a database, it is replaced.
fn put_in_place(fresh: &Path, path: &Path) -> Result<(), StoreError> {
    let written = || -> rusqlite::Result<()> {
        let from = Connection::open_with_flags(fresh, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut to = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        to.busy_timeout(BUSY_TIMEOUT)?;
        copy_pages(&from, &mut to)
    };
    match written().map_err(|error| StoreError::from(error).at(path)) {
        Err(StoreError::NotADatabase { .. } | StoreError::Corrupt { .. }) => {
            // The old log is moved first, because SQLite would replay it into the new file, which it does not belong
            // to.
            let moved = ["-wal", "-shm"]
                .into_iter()
                .map(|ending| with_suffix(path, ending))
                .filter(|beside| beside.exists())
                .try_for_each(fs::remove_file)
                .and_then(|()| fs::rename(fresh, path));
            moved.map_err(|source| StoreError::Unwritable { path: path.to_owned(), source: Box::new(source) })
        }
        written => written,
    }
}

/// Writes orphaned rows to a file, if a file is given, and then deletes them.
fn take_out_orphans(conn: &Connection, aside: Option<&Path>) -> Result<usize, StoreError> {
    let mut count = 0;
    // Removing a row may orphan other rows that refer to it.
    loop {
        let dangling: Vec<(String, Option<i64>)> =
            query_all(conn, "PRAGMA foreign_key_check", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
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
        // If orphaned rows matched no condition of `lacking`, this loop would be endless.
        if count == before {
            return Ok(count);
        }
    }
}

/// Returns the condition for orphaned rows in a table without row numbers.
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
        // The rows are synced to disk before they are deleted, so that a crash in between loses no data.
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
    let mut file = private::append(path)?;
    file.write_all(lines.as_bytes())?;
    // The file is synced before the rows are removed from the database.
    file.sync_all()
}

fn values(row: &SqlRow<'_>, names: &[String]) -> Result<Value, StoreError> {
    let mut map = Map::new();
    for (index, name) in names.iter().enumerate() {
        let value = match row.get_ref(index)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            // The readable part of a damaged row is saved, rather than nothing.
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            ValueRef::Blob(bytes) => json!({ "blob": transcripts::hex(bytes) }),
        };
        map.insert(name.clone(), value);
    }
    Ok(Value::Object(map))
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
