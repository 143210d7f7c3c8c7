//! Stores memories in one SQLite file, with everything that is needed to explain, repeat and reverse changes.
//!
//! [`Store`] opens the file and changes it. All reading methods are on [`Database`]; both [`Store`] and [`Writer`]
//! dereference to it, so that the same methods work inside and outside a write. A write is one transaction. For each
//! change in a write, the history records the state before and after, with the run that made the change. Methods wait
//! only for the file, and a write must not wait for a model: callers first make the request and then write.
//!
//! Times are stored in whole milliseconds, importance and confidence with six decimals. Finer values are rounded when
//! written, so that values read back equal those in the history.

mod apply;
mod audit;
mod error;
mod file;
mod history;
mod index;
mod ledger;
mod memories;
mod projects;
mod row;
mod stats;
mod sync;
mod tasks;
mod terms;
mod usage;
mod writer;

use std::cell::RefCell;
use std::ops::Deref;
use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::guard::{Guard, Redact, Redacted};
use crate::memory::MemoryId;

pub use crate::text::normalise::normalised_hash;
pub use crate::text::tokens::STOP_WORDS;
pub use apply::Applied;
pub use audit::AuditChannel;
pub(crate) use audit::{AuditAction, AuditEntry, AuditLog};
pub(crate) use error::KeyPlace;
pub use error::StoreError;
pub(crate) use file::backup::{Backup, Restored};
pub(crate) use file::check::Checked;
pub use file::check::{Flaw, FlawKind};
pub(crate) use file::cipher::Conversion;
pub use file::erase::Erased;
pub(crate) use file::keys::{KeyHome, key_given};
pub(crate) use file::repair::{Loss, Repaired};
pub use file::scope::Scope;
pub use file::seal::RewriteOutcome;
pub use history::HistoryEntry;
pub(crate) use history::decided::{Fingerprint, HashPair};
pub(crate) use history::plan_ledger::PlanLedger;
pub use history::undo::UndoReport;
pub(crate) use history::undo::{LastChange, LaterChanges};
pub(crate) use index::near::Around;
pub(crate) use index::near_words::{concepts, near_words};
pub(crate) use index::ranking::{Neighbour, Ranked, Seq};
pub(crate) use index::search::{Likeness, WordHit};
pub(crate) use index::vectors::{Coverage, MissingVector};
pub use index::vectors::{NewVector, VectorModel};
pub use ledger::{
    AdviceOutcome, ClaimedJob, EXTRACT, EnqueueOutcome, Health, Job, JobEnd, JobRequest, JobStatus, LeaseOutcome, Run,
    RunId, RunStatus, Stage,
};
pub(crate) use ledger::{
    Batch, BatchReply, BatchRequest, Claimed, DoneWindow, FailedCommand, FailedWindow, FileOutcome, FileRead, Finished,
    HookFiring, KnownLine, PendingWindow, RequestClaim, RequestId, RequestPart, SeenTranscript, Spent, Step,
    StoredRequest, TranscriptId, UnfinishedWindow, WindowId, WindowKey, days_before,
};
pub(crate) use memories::brief_rows::{BriefGroup, BriefRow, stepped};
pub use memories::filter::{Filter, NamespaceSubtree, Order};
pub(crate) use memories::insert::CleanMemory;
pub(crate) use memories::outlines::Outline;
pub(crate) use memories::overview::{AGES, MemoryStatistics, USES};
pub(crate) use memories::review::PROMOTED_BY;
pub use memories::review::Waiting;
pub(crate) use projects::{Alias, Placement, Project};
pub(crate) use stats::Stats;
pub(crate) use sync::{StoredRecord, SyncPlace, SyncTarget};
pub(crate) use tasks::{FactKind, LogTasks, further_words, stored_words, word_number};
pub use writer::Writer;

/// An open file, with all methods that only read.
#[derive(Debug)]
pub struct Database {
    conn: Connection,
    /// The path of the file, for use in messages; `:memory:` for an in-memory store.
    path: PathBuf,
    /// Sources of keys for opening the file, or a copy of it, again.
    keys: file::keys::Keys,
    /// Words known to be common, so that their claims need not be counted again.
    common: RefCell<index::near_words::CommonWords>,
    /// Cached terms of words that occurred before.
    stems: RefCell<terms::Stems>,
    /// Cached compressed vectors.
    vectors: RefCell<index::codes::VectorCache>,
    /// New memories that are not yet in the index of near claims: their rows and their words. The list is used only
    /// within a transaction.
    unfiled: RefCell<Vec<(i64, String)>>,
    /// The guard that removes secrets from everything that is written.
    guard: RefCell<Guard>,
    /// Uses of memories that could not be counted yet, because another process was writing.
    uncounted: RefCell<Vec<(MemoryId, Timestamp)>>,
}

/// The memories of one file. A store is a single connection, which can be sent to another thread. Each thread may have
/// a separate store.
#[derive(Debug)]
pub struct Store {
    db: Database,
}

impl Deref for Store {
    type Target = Database;
    fn deref(&self) -> &Database {
        &self.db
    }
}

impl Store {
    /// Sets the guard that redacts all written data.
    pub(crate) fn set_guard(&self, guard: Guard) {
        self.db.guard.replace(guard);
    }
}

impl Database {
    /// Removes the secrets from a value that will be written.
    pub(crate) fn redact<T: Redact>(&self, value: T) -> Redacted<T> {
        self.guard.borrow().redact(value).0
    }

    /// Returns the guard that redacts all written data.
    pub(crate) fn guard(&self) -> Guard {
        self.guard.borrow().clone()
    }

    fn new(conn: Connection, path: PathBuf, keys: file::keys::Keys) -> Self {
        memories::filter::define_functions(&conn).expect("functions can be added to an open connection");
        Self {
            conn,
            path,
            keys,
            common: RefCell::default(),
            stems: RefCell::default(),
            vectors: RefCell::default(),
            unfiled: RefCell::default(),
            guard: RefCell::default(),
            uncounted: RefCell::default(),
        }
    }

    /// Runs `read`, and adds the path of the file to any error.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        read(&self.conn).map_err(|error| error.at(&self.path))
    }

    /// Returns every row that `sql` finds.
    fn query_all<T>(
        &self,
        sql: &str,
        values: impl Params,
        from_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.read(|conn| row::query_all(conn, sql, values, from_row))
    }

    /// Returns the first row that `sql` finds.
    fn query_one<T>(
        &self,
        sql: &str,
        values: impl Params,
        from_row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row(values, from_row).optional()?))
    }

    /// Returns the only row that `sql` finds.
    fn query_only<T>(
        &self,
        sql: &str,
        values: impl Params,
        from_row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row(values, from_row)?))
    }

    /// Returns whether the file has this table, which a file of an earlier version may lack.
    fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        self.read(|conn| Ok(conn.table_exists(None, name)?))
    }

    /// Executes one statement and returns the number of rows that it changed.
    fn execute(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        self.read(|conn| Ok(conn.prepare_cached(sql)?.execute(values)?))
    }
}

#[cfg(test)]
mod concurrency_tests;
#[cfg(test)]
mod inserting_tests;
#[cfg(test)]
mod laws_tests;
#[cfg(test)]
mod project_tests;
#[cfg(test)]
pub(crate) use laws_tests::{Act, World, any_act, cases};
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod story_tests;
#[cfg(test)]
mod undo_tests;
#[cfg(test)]
mod work_tests;
