//! Keeping memories in one SQLite file, with all that is needed to explain, repeat and reverse what was done.
//!
//! [`Store`] opens the file and changes it; every reading method is on [`Database`], to which both a [`Store`] and a
//! [`Writer`] give way, so that the same reads serve inside and outside a write. A write is one transaction, and each
//! change in it leaves its before and after in the history, with the run that made it. No method waits for anything
//! but the file, and a write must not wait for a model: ask first, write then.
//!
//! Numbers: times are kept in whole milliseconds, importance and confidence in six decimals. What is finer is cut on
//! the way in, so that what is read back compares equal to what the history says.

mod aliases;
mod audit;
mod carried;
mod edits;
mod error;
mod evidence;
mod failures;
mod file;
mod files;
mod filter;
mod fresh;
mod glances;
mod health;
mod history;
mod inbox;
mod index;
mod inserting;
mod job_rows;
mod jobs;
mod known_context;
mod leases;
mod ledger;
mod maintain;
mod memories;
mod near_words;
mod outlines;
mod passes;
mod past;
mod pending;
mod project_list;
mod projects;
mod relations;
mod row;
mod runs;
mod sessions;
mod settled;
mod short_ids;
mod shown;
mod since;
mod spending;
mod stats;
mod terms;
mod tombstones;
mod undo;
mod upkeep;
mod usage;
mod work;
mod writer;

#[cfg(test)]
mod concurrency;
#[cfg(test)]
mod inserting_tests;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod project_tests;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod snapshot;
#[cfg(test)]
mod story;
#[cfg(test)]
mod undo_tests;
#[cfg(test)]
mod work_tests;

use std::cell::RefCell;
use std::ops::Deref;
use std::path::PathBuf;

use rusqlite::Connection;

pub use crate::text::normalise::normalised_hash;
pub use crate::text::tokens::STOP_WORDS;
pub use aliases::Alias;
pub use audit::{AuditEntry, AuditLog, Deed, Through};
pub use carried::Carried;
pub use error::StoreError;
pub use failures::FailedWindow;
pub use file::backup::{Backup, Restored};
pub use file::check::{Checked, Flaw, FlawKind};
pub use file::cipher::{CAN_ENCRYPT, Converted};
pub use file::erase::{Conversation, Erased, Scope, Sealed};
pub use file::keys::{KeyHome, KeyPlace};
pub use file::repair::{Loss, Repaired};
pub use files::{FileOutcome, FileRead};
pub use filter::{Filter, Order, Within};
pub use glances::Glance;
pub use health::Health;
pub use history::HistoryEntry;
pub use inbox::Waiting;
pub use index::concepts::concepts;
pub use index::near::Around;
pub use index::nearest::Near;
pub use index::ranking::{Ranked, Said, Seq};
pub use index::search::{Hit, Likeness};
pub use index::vectors::{Coverage, NewVector, Unembedded, VectorModel};
pub use inserting::CleanMemory;
pub use jobs::{EXTRACT, Enqueued, HeldJob, Job, JobEnd, JobRequest, JobStatus, LEASE, RETRY_AFTER};
pub use known_context::KnownLine;
pub use leases::Leased;
pub use ledger::{SeenTranscript, TranscriptId};
pub use maintain::Purged;
pub use near_words::near_words;
pub use outlines::Outline;
pub use passes::{HashPair, PassMark};
pub use pending::PendingWindow;
pub use project_list::Project;
pub use projects::Placement;
pub use runs::{Run, RunId, RunStatus};
pub use sessions::{FailedCommand, Fired, Step};
pub use settled::Fingerprint;
pub use spending::{Spent, days_before};
pub use stats::Stats;
pub use undo::{BuiltUpon, Kept, KeptBecause, Undone};
pub use usage::AccessKind;
pub use work::{
    Batch, BatchRequest, Claimed, DoneWindow, Finished, OpenRequest, RequestClaim, RequestId, RequestPart, RowOutcome,
    Stage, StoredRequest, UnfinishedWindow, WindowId, WindowKey,
};
pub use writer::{Applied, Writer};

/// An open file, and everything that can be read from it.
#[derive(Debug)]
pub struct Database {
    conn: Connection,
    /// The file, for messages; `:memory:` where there is none.
    path: PathBuf,
    /// Where keys are looked for when it is opened again, or a copy of it.
    keys: file::keys::Keys,
    /// Words that need not be counted again.
    common: RefCell<index::near::CommonWords>,
    /// Terms of words that were met.
    stems: RefCell<terms::Stems>,
    /// Short forms of vectors that were read.
    vectors: RefCell<index::nearest::VectorCache>,
    /// New memories by row that are not in the index of what is near yet, with the words they go under. Only within a
    /// transaction.
    unfiled: RefCell<Vec<(i64, String)>>,
}

/// The memories of one file. One connection: it can be sent to another thread, and each thread may have its own.
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

impl Database {
    fn new(conn: Connection, path: PathBuf, keys: file::keys::Keys) -> Self {
        Self {
            conn,
            path,
            keys,
            common: RefCell::default(),
            stems: RefCell::default(),
            vectors: RefCell::default(),
            unfiled: RefCell::default(),
        }
    }

    /// Names the file in whatever error `read` ends with.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        read(&self.conn).map_err(|error| error.at(&self.path))
    }
}
