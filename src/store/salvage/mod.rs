//! Saving what can be read of a file with damaged pages: page by page, row by row, into a new file.
//!
//! SQLite gives up a table at its first page that makes no sense. Here each tree is followed as far as it goes, what is
//! below such a page is looked for among the pages that hang on nothing, and each row is held against its table before
//! it is taken. Pages that are free are never read: what stands there was removed. Indexes are made anew; before that
//! they tell how many rows there were.

mod fill;
mod pages;
mod reconcile;
mod record;
mod tables;
#[cfg(test)]
mod tests;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;

use super::backup::copy_bytes;
use super::open::{APPLICATION_ID, known_version, make_version};
use super::place::{create_private, with_suffix};
use super::repair::Repaired;
use super::{Store, StoreError};
use crate::fault::point;
use pages::Pages;
use reconcile::Brought;
use tables::Roots;
use tree::Reader;

/// What became of one table of which not everything could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The table.
    pub table: String,
    /// Rows that were read.
    pub kept: usize,
    /// Rows that were not, and that nothing else in the file tells; `None` where an index that would tell how many they
    /// are is damaged, too, or there is none.
    pub lost: Option<usize>,
    /// Pages that could not be read, or not wholly.
    pub pages: usize,
    /// Rows that were not read and that the history told.
    pub restored: usize,
}

/// Puts what can be read of the file at `path` into a new one in its place. The damaged one is kept beside it.
pub(super) fn salvage(path: &Path, now: Timestamp) -> Result<Repaired, StoreError> {
    let kept = copy_bytes(path, now)?;
    point("repair.begin");
    let fresh = with_suffix(path, &format!(".{}.new", uuid::Uuid::now_v7()));
    let remove = |path: &Path| {
        for ending in ["", "-wal", "-shm"] {
            fs::remove_file(with_suffix(path, ending)).ok();
        }
    };
    let read = into(&kept, &fresh, now).inspect_err(|_| {
        // The file is as it was, and needs no copy.
        remove(&kept);
        remove(&fresh);
    });
    let (lost, (rows, aside)) = read?;
    point("repair.filled");
    let placed = put_in_place(&fresh, path).map_err(|error| error.at(path));
    point("repair.placed");
    remove(&fresh);
    placed?;
    let left = Store::open(path)?.check()?;
    let put_aside = (rows > 0).then_some(aside);
    Ok(Repaired { backup: kept, put_aside, rows, lost, left })
}

/// Rows that hung on nothing, and where they are now.
type Aside = (usize, PathBuf);

fn into(damaged: &Path, fresh: &Path, now: Timestamp) -> Result<(Vec<Loss>, Aside), StoreError> {
    let unreadable = |source: std::io::Error| StoreError::Unwritable { path: damaged.into(), source: Box::new(source) };
    let pages = Pages::open(damaged, &with_suffix(damaged, "-wal")).map_err(unreadable)?;
    let mut reader = Reader::new(&pages);
    let roots = Roots::read(&pages, &mut reader);
    let is_ours = pages.application_id().map_or_else(
        || ["memories", "history", "windows", "leases", "search_docs"].iter().any(|name| roots.of(name).is_some()),
        |id| id == APPLICATION_ID,
    );
    if !is_ours {
        return Err(StoreError::NotADatabase { path: damaged.to_owned() });
    }
    create_private(fresh)?;
    let lost = filled(fresh, &pages, &roots, reader).map_err(|error| error.at(fresh))?;
    let store = Store::open(fresh)?;
    let brought = reconcile::reconcile(&store, is_whole(&lost, "history"), now)?;
    let mut aside = damaged.as_os_str().to_owned();
    aside.push(".put-aside.jsonl");
    let aside = PathBuf::from(aside);
    let rows = store.mend(Some(&aside)).map_err(|error| error.at(fresh))?;
    Ok((told(lost, brought), (rows, aside)))
}

/// Makes a file of the damaged one's version, with every row that can be read, and brings it up to date.
fn filled(fresh: &Path, pages: &Pages, roots: &Roots, reader: Reader<'_>) -> Result<Vec<Loss>, StoreError> {
    let version = pages.schema_version().filter(|version| (1..=known_version()).contains(version));
    let mut conn = Connection::open_with_flags(fresh, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let version = version.unwrap_or_else(known_version);
    make_version(&mut conn, fresh, version)?;
    // Rows come in any order, and some have lost what they hang on.
    conn.execute_batch("PRAGMA foreign_keys = OFF")?;
    let tables = tables::tables_of(&conn, version)?;
    let file = conn.transaction()?;
    let triggers = without_triggers(&file)?;
    for table in tables.iter().filter(|table| !table.is_derived()) {
        file.execute_batch(&format!("DELETE FROM \"{}\"", table.name))?;
    }
    let lost = fill::fill(&file, pages, roots, reader, &tables)?;
    file.execute_batch(&triggers)?;
    file.commit()?;
    make_version(&mut conn, fresh, known_version())?;
    Ok(lost)
}

/// Removes the triggers, and returns what makes them again.
fn without_triggers(conn: &Connection) -> Result<String, StoreError> {
    let mut statement = conn.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")?;
    let triggers: Vec<(String, String)> =
        statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut made = String::new();
    for (name, sql) in triggers {
        conn.execute_batch(&format!("DROP TRIGGER \"{name}\""))?;
        made += &sql;
        made.push_str(";\n");
    }
    Ok(made)
}

fn is_whole(lost: &[Loss], table: &str) -> bool {
    lost.iter().any(|loss| loss.table == table && loss.pages == 0)
}

/// Returns the tables of which something could not be read, with what the history brought back.
fn told(lost: Vec<Loss>, brought: Brought) -> Vec<Loss> {
    let mut damaged: Vec<Loss> = lost.into_iter().filter(|loss| loss.pages > 0).collect();
    for (table, restored) in [("memories", brought.memories), ("evidence", brought.evidence)] {
        if let Some(loss) = damaged.iter_mut().find(|loss| loss.table == table) {
            loss.restored = restored;
            // What the history tells is one of those that could not be read.
            loss.lost = loss.lost.map(|lost| lost.saturating_sub(restored));
        }
    }
    damaged
}

/// Writes the pages of the new file over those of the damaged one, so that others see all of it or nothing; where that
/// one is no database any more, the new file takes its place.
fn put_in_place(fresh: &Path, path: &Path) -> Result<(), StoreError> {
    let written = || -> rusqlite::Result<()> {
        let from = Connection::open_with_flags(fresh, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut to = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        to.busy_timeout(super::open::BUSY_TIMEOUT)?;
        let backup = rusqlite::backup::Backup::new(&from, &mut to)?;
        backup.run_to_completion(i32::MAX, std::time::Duration::from_millis(20), None)
    };
    match written().map_err(|error| StoreError::from(error).at(path)) {
        Err(StoreError::NotADatabase { .. } | StoreError::Corrupt { .. }) => {
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
