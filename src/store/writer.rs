//! Changing memories: one transaction, every change with its before and after.

use std::ops::Deref;
use std::sync::LazyLock;

use jiff::Timestamp;
use rusqlite::{ToSql, Transaction, TransactionBehavior, params};
use serde::Serialize;

use super::history::Entity;
use super::runs::RunId;
use super::{Database, Store, StoreError};
use crate::fault::point;
use crate::memory::{MemoryId, Namespace};

/// A transaction that is being written; also reads, and sees what it has written itself.
#[derive(Debug)]
pub struct Writer<'a> {
    pub(super) db: &'a Database,
    pub(super) run: Option<&'a RunId>,
    pub(super) now: Timestamp,
}

impl Deref for Writer<'_> {
    type Target = Database;
    fn deref(&self) -> &Database {
        self.db
    }
}

/// One line of history, before it is written.
pub(super) struct Change<'c> {
    pub(super) action: &'c str,
    pub(super) entity: Entity,
    pub(super) memory: &'c MemoryId,
    pub(super) other: Option<&'c MemoryId>,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) reason: Option<&'c str>,
}

/// One line of history about what is new, before it is written.
pub(super) struct New<'n> {
    pub(super) memory: &'n str,
    pub(super) action: &'n str,
    pub(super) entity: &'n str,
    pub(super) after: &'n str,
    pub(super) reason: Option<&'n str>,
}

impl New<'_> {
    fn values(&self) -> [&dyn ToSql; 5] {
        [&self.memory, &self.action, &self.entity, &self.after, &self.reason]
    }
}

/// Lines of history that one statement writes.
const NOTED_AT_ONCE: usize = 16;
static ONE_NOTE: LazyLock<String> = LazyLock::new(|| notes(1));
static MANY_NOTES: LazyLock<String> = LazyLock::new(|| notes(NOTED_AT_ONCE));

/// Returns the statement that writes so many lines of history about what is new.
fn notes(count: usize) -> String {
    let line = |at: usize| {
        let [memory, action, entity, after, reason] = std::array::from_fn(|place| at * 5 + 3 + place);
        format!("(?1, ?{memory}, NULL, ?2, ?{action}, ?{entity}, NULL, ?{after}, ?{reason})")
    };
    let lines: Vec<String> = (0..count).map(line).collect();
    let columns = "run_id, memory_id, other_id, at, action, entity, before, after, reason";
    format!("INSERT INTO history ({columns}) VALUES {}", lines.join(", "))
}

impl Store {
    /// Runs `change` in one transaction and returns its result; nothing of it is kept where that is an error.
    ///
    /// Waits up to ten seconds for other writers. `run` is named in the history of every change.
    ///
    /// # Errors
    /// What `change` returns, or [`StoreError`] where the transaction cannot begin or end.
    pub fn write<T, E>(
        &self,
        run: Option<&RunId>,
        now: Timestamp,
        change: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let name = |error: rusqlite::Error| StoreError::from(error).at(&self.db.path);
        let transaction = Transaction::new_unchecked(&self.db.conn, TransactionBehavior::Immediate).map_err(name)?;
        point("write.begin");
        // What a write left behind that came to nothing.
        self.db.unfiled.borrow_mut().clear();
        let written = change(&Writer { db: &self.db, run, now: super::row::whole_milliseconds(now) });
        let written = written.inspect_err(|_| self.db.unfiled.borrow_mut().clear())?;
        self.db.file_waiting()?;
        super::word_index::settle(&self.db.conn).map_err(|error| error.at(&self.db.path))?;
        point("write.commit");
        transaction.commit().map_err(name)?;
        point("write.done");
        Ok(written)
    }
}

impl Writer<'_> {
    /// Returns when this write takes place, as it stands in the history.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Writes one line of history and moves the revision of the memory's namespace on.
    pub(super) fn record(&self, change: &Change<'_>) -> Result<(), StoreError> {
        self.note(change)?;
        self.bump(change.memory)
    }

    /// Writes one line of history about what is no change of the namespace.
    pub(super) fn note(&self, change: &Change<'_>) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT INTO history (run_id, memory_id, other_id, at, action, entity, before, after, reason)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                self.run.map(RunId::as_str),
                change.memory.as_str(),
                change.other.map(MemoryId::as_str),
                self.now.as_millisecond(),
                change.action,
                change.entity.as_str(),
                change.before,
                change.after,
                change.reason,
            ])?;
            Ok(())
        })
    }

    /// Writes lines of history about what is new, in their order.
    pub(super) fn note_new(&self, new: &[New<'_>]) -> Result<(), StoreError> {
        self.read(|conn| {
            let (run, at) = (self.run.map(RunId::as_str), self.now.as_millisecond());
            for some in new.chunks(NOTED_AT_ONCE) {
                // Of many at once, each costs half.
                let steps = if some.len() == NOTED_AT_ONCE { NOTED_AT_ONCE } else { 1 };
                for some in some.chunks(steps) {
                    let mut values: Vec<&dyn ToSql> = vec![&run, &at];
                    some.iter().for_each(|new| values.extend(new.values()));
                    conn.prepare_cached(if steps > 1 { &MANY_NOTES } else { &ONE_NOTE })?.execute(&values[..])?;
                }
            }
            Ok(())
        })
    }

    /// Moves the revision of a namespace on by so many changes.
    pub(super) fn moved_on(&self, namespace: &str, changes: i64) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT INTO revisions (namespace, revision) VALUES (?1, ?2)
                 ON CONFLICT (namespace) DO UPDATE SET revision = revision + ?2",
            )?
            .execute(params![namespace, changes])?;
            Ok(())
        })
    }

    /// Moves the revision of the namespace on in which the memory lies, if there is such a memory.
    pub(super) fn bump(&self, id: &MemoryId) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT INTO revisions (namespace, revision) SELECT namespace, 1 FROM memories WHERE id = ?1
                 ON CONFLICT (namespace) DO UPDATE SET revision = revision + 1",
            )?
            .execute([id.as_str()])?;
            Ok(())
        })
    }
}

impl Database {
    /// Returns a number that has grown whenever anything in exactly this namespace has changed; 0 before the first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn revision(&self, namespace: &Namespace) -> Result<i64, StoreError> {
        self.read(|conn| {
            let found = conn
                .prepare_cached("SELECT revision FROM revisions WHERE namespace = ?1")?
                .query_row([namespace.to_string()], |row| row.get(0));
            Ok(rusqlite::OptionalExtension::optional(found)?.unwrap_or(0))
        })
    }
}

/// Spells a value of ours for the history or a JSON column.
pub(super) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::bad("a value to be written"))
}
