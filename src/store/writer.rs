//! The write transaction, which is one changeset.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Deref;

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::RunId;
use super::{Database, Store, StoreError, row};
use crate::fault::point;
use crate::memory::{MemoryId, Namespace};

/// A write transaction, which can also read and sees its own writes.
#[derive(Debug)]
pub struct Writer<'a> {
    pub(super) db: &'a Database,
    pub(super) run: Option<&'a RunId>,
    pub(super) now: Timestamp,
    /// The row of the changeset, once the transaction has made a change.
    changeset: Cell<Option<i64>>,
}

impl Deref for Writer<'_> {
    type Target = Database;
    fn deref(&self) -> &Database {
        self.db
    }
}

impl Store {
    /// Runs `change` in one transaction and returns its result; if the result is an error, nothing is written.
    ///
    /// Waits up to ten seconds for other writers. The history entry of every change contains `run`.
    ///
    /// # Errors
    /// The error from `change`, or [`StoreError`] if the transaction cannot begin or end.
    pub fn write<T, E>(
        &self,
        run: Option<&RunId>,
        now: Timestamp,
        change: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let written = self.db.together(|| {
            point("write.begin");
            // A write that panicked may have left entries that belong to rolled-back rows.
            self.db.unfiled.borrow_mut().clear();
            let written = change(&Writer::new(&self.db, run, now));
            let written = written.inspect_err(|_| self.db.unfiled.borrow_mut().clear())?;
            // The waiting memories are indexed before the commit, so that a committed memory is always in both indexes.
            self.db.file_waiting()?;
            super::index::words::flush_if_many(&self.db.conn).map_err(|error| error.at(&self.db.path))?;
            point("write.commit");
            Ok::<T, E>(written)
        })?;
        point("write.done");
        Ok(written)
    }
}

/// A transaction, or a part of the transaction that is already open. It is rolled back unless it is committed.
struct Bracket<'a> {
    conn: &'a Connection,
    is_part: bool,
    is_committed: bool,
}

impl<'a> Bracket<'a> {
    fn begin(conn: &'a Connection) -> rusqlite::Result<Self> {
        let is_part = !conn.is_autocommit();
        // The transaction is immediate, because a transaction that began with a read cannot wait for the lock.
        conn.execute_batch(if is_part { "SAVEPOINT part" } else { "BEGIN IMMEDIATE" })?;
        Ok(Self { conn, is_part, is_committed: false })
    }

    fn commit(mut self) -> rusqlite::Result<()> {
        self.conn.execute_batch(if self.is_part { "RELEASE part" } else { "COMMIT" })?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for Bracket<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            let undo = if self.is_part { "ROLLBACK TO part; RELEASE part" } else { "ROLLBACK" };
            // SQLite has already rolled back after some errors, and a closed file rolls back by itself.
            let _ = self.conn.execute_batch(undo);
        }
    }
}

impl Database {
    /// Runs `change` so that no other process or connection writes between its reads and its writes. If the result is an
    /// error, nothing is written. Within such a call, each further write is a part that is undone alone if it fails.
    ///
    /// Waits up to ten seconds for other writers.
    ///
    /// # Errors
    /// The error from `change`, or [`StoreError`] if the transaction cannot begin or end.
    pub(crate) fn together<T, E: From<StoreError>>(&self, change: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let name = |error: rusqlite::Error| StoreError::from(error).at(&self.path);
        let bracket = Bracket::begin(&self.conn).map_err(name)?;
        // The revision of vectors is rolled back too, so the cache could later be mistaken for current.
        let changed = change().inspect_err(|_| drop(self.vectors.take()))?;
        bracket.commit().map_err(name)?;
        Ok(changed)
    }
}

impl Store {
    /// Runs `change` in a transaction that is rolled back, and returns its result: exactly what the same change would do
    /// now. A file that cannot be written is copied into memory for this purpose.
    ///
    /// Waits up to ten seconds for other writers.
    ///
    /// # Errors
    /// The error from `change`, or [`StoreError`] if the transaction cannot begin.
    pub(crate) fn rehearse<T>(&self, change: impl FnOnce(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.is_read_only() {
            return change(&self.copy_in_memory()?);
        }
        let _bracket = Bracket::begin(&self.db.conn).map_err(|error| StoreError::from(error).at(&self.db.path))?;
        let rehearsed = change(self);
        drop(self.db.vectors.take());
        rehearsed
    }
}

impl<'a> Writer<'a> {
    fn new(db: &'a Database, run: Option<&'a RunId>, now: Timestamp) -> Self {
        // The time is truncated once here, so that the rows, the history and the caller use the same time.
        Self { db, run, now: row::whole_milliseconds(now), changeset: Cell::new(None) }
    }
}

impl Writer<'_> {
    /// Returns the time of this write, as it appears in the history.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn begin_changeset(&self, id: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            let values = params![id, self.run.map(RunId::as_str), self.now.as_millisecond()];
            let seq = conn
                .prepare_cached(
                    // The assignment has no effect, but without it, `RETURNING` returns no row after a conflict.
                    "INSERT INTO changesets (id, run_id, at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (id) DO UPDATE SET id = id RETURNING seq",
                )?
                .query_row(values, |row| row.get(0))?;
            self.changeset.set(Some(seq));
            Ok(())
        })
    }

    /// Returns the row of this write's changeset.
    pub(super) fn changeset(&self) -> Result<i64, StoreError> {
        // The changeset is created late, because most writes to the ledger change no memories and need no changeset.
        if self.changeset.get().is_none() {
            self.begin_changeset(&uuid::Uuid::now_v7().to_string())?;
        }
        Ok(self.changeset.get().unwrap_or_default())
    }

    /// Increases the revision of a namespace by the number `changes`.
    pub(super) fn moved_on(&self, namespace: &str, changes: i64) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO revisions (namespace, revision) VALUES (?1, ?2)
                 ON CONFLICT (namespace) DO UPDATE SET revision = revision + ?2",
            params![namespace, changes],
        )
        .map(drop)
    }

    /// Increases the revision of the memory's namespace, if the memory exists.
    pub(super) fn bump(&self, id: &MemoryId) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO revisions (namespace, revision) SELECT namespace, 1 FROM memories WHERE id = ?1
                 ON CONFLICT (namespace) DO UPDATE SET revision = revision + 1",
            [id.as_str()],
        )
        .map(drop)
    }
}

impl Database {
    /// Returns a number that increases whenever anything in exactly this namespace changes; the number is 0 before the
    /// first change.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn revision(&self, namespace: &Namespace) -> Result<i64, StoreError> {
        self.read(|conn| {
            let found = conn
                .prepare_cached("SELECT revision FROM revisions WHERE namespace = ?1")?
                .query_row([namespace.to_string()], |row| row.get(0));
            Ok(rusqlite::OptionalExtension::optional(found)?.unwrap_or(0))
        })
    }
}

/// Whether a change counts as undone in the history, like a reversal. Neither an undone change nor its reversal
/// prevents undoing earlier changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Done,
    Undone,
}

/// Memories whose index entries are out of date.
#[derive(Debug, Default)]
pub(super) struct Stale {
    /// Memories whose entries in the word index are out of date.
    pub(super) words: BTreeSet<MemoryId>,
    /// Memories whose entries in the index of near claims are out of date.
    pub(super) near: BTreeSet<MemoryId>,
}
