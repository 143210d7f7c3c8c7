//! Inserts new memories, one at a time or many at once.
//!
//! Half of the work does not involve the file: splitting texts into words, serialising rows, and hashing. If there are
//! many memories, other processors prepare them a few parts ahead of the writing thread:
//!
//! ```text
//! other threads   make and prepare part 1, part 2, … ─┐  a limited number of parts ahead
//! this thread     write part 1, part 2, …  ◀──────────┘  prepares a part instead of waiting
//! ```

use std::collections::BTreeMap;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rusqlite::ToSql;
use rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE;

use crate::changeset::{Action, Entity, evidence_as_stored, memory_as_stored};
use crate::guard::{Redacted, Suspicion, reason_to_wait};
use crate::memory::{Evidence, Memory, Status};
use crate::store::index::letters;
use crate::store::index::near::filed;
use crate::store::index::search::entry;
use crate::store::index::words::{Entry, PUT_WAITING, put_new};
use crate::store::memories::evidence::{INSERT_PIECE, fill_row as fill_piece, place};
use crate::store::memories::row::{INSERT_MEMORY, INSERT_USAGE, Spelled, fill_row, fill_usage};
use crate::store::row::to_json;
use crate::store::terms::Stems;
use crate::store::{RunId, StoreError, Writer};

/// A memory to be written, with its evidence.
pub(crate) type CleanMemory = (Redacted<Memory>, Redacted<Vec<Evidence>>);

/// Number of memories in one part.
// A part is large enough that threads rarely compete for the lock, but small enough to divide a few hundred memories.
const PART: usize = 128;
/// Maximum number of parts that are prepared ahead of the writer.
// The limit bounds memory use, because each part contains several copies of all texts of its memories.
const AHEAD: usize = 32;
/// Maximum number of threads that prepare parts, in addition to the writer; further threads would only wait for the
/// writer.
const HELPERS: usize = 3;

impl Writer<'_> {
    /// Writes a new memory and its evidence.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if a memory with this ID exists.
    pub fn insert(&self, memory: &Redacted<Memory>, evidence: &Redacted<Vec<Evidence>>) -> Result<(), StoreError> {
        let fresh = Fresh::of(memory, evidence, &mut self.stems.borrow_mut())?;
        self.write_fresh(&[fresh], Action::Add, None)
    }

    /// Writes a new memory for each of `items`, in order, with the same result as [`Writer::insert`], but faster for
    /// many memories. `make` is called once for each item, in any order and on any thread.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if a memory with one of the IDs exists. The memories before it are already written, so
    /// the caller should roll back the transaction.
    pub fn insert_all<T: Sync>(&self, items: &[T], make: impl Fn(&T) -> CleanMemory + Sync) -> Result<(), StoreError> {
        let parts: Vec<&[T]> = items.chunks(PART).collect();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // Starting a thread for a single part would take more time than it saves.
        let helpers = (processors - 1).min(HELPERS).min(parts.len() / 2);
        let prepare = |part: &[T], stems: &mut Stems| -> Result<Vec<Fresh>, StoreError> {
            let fresh = |item| {
                let (memory, evidence) = make(item);
                Fresh::of(&memory, &evidence, stems)
            };
            part.iter().map(fresh).collect()
        };
        let desk = Desk::new(parts.len());
        std::thread::scope(|scope| {
            // Dropping this value closes the desk, even after an error, so that the threads in the scope can end.
            let _closing = Closing { desk: &desk, in_any_case: true };
            for _ in 0..helpers {
                scope.spawn(|| {
                    let _closing = Closing { desk: &desk, in_any_case: false };
                    let mut stems = Stems::new();
                    while let Some(at) = desk.next() {
                        desk.put(at, prepare(parts[at], &mut stems));
                    }
                });
            }
            for at in 0..parts.len() {
                let fresh = loop {
                    match desk.look(at) {
                        Look::Ready(fresh) => break fresh?,
                        Look::Prepare(which) => desk.put(which, prepare(parts[which], &mut self.stems.borrow_mut())),
                        // A helper has panicked; the panic is resumed when the scope ends.
                        Look::Closed => return Ok(()),
                    }
                };
                self.write_fresh(&fresh, Action::Add, None)?;
            }
            Ok(())
        })
    }

    /// Writes history entries about new rows, in order.
    pub(in crate::store) fn note_new(&self, new: &[New<'_>]) -> Result<(), StoreError> {
        let changeset = self.changeset()?;
        self.read(|conn| {
            let (run, at) = (self.run.map(RunId::as_str), self.now.as_millisecond());
            for some in new.chunks(NOTED_AT_ONCE) {
                // Writing many entries at a time halves the time for each entry.
                let steps = if some.len() == NOTED_AT_ONCE { NOTED_AT_ONCE } else { 1 };
                for some in some.chunks(steps) {
                    let mut values: Vec<&dyn ToSql> = vec![&run, &at, &changeset];
                    some.iter().for_each(|new| values.extend(new.values()));
                    conn.prepare_cached(if steps > 1 { &MANY_NOTES } else { &ONE_NOTE })?.execute(&values[..])?;
                }
            }
            Ok(())
        })
    }

    pub(in crate::store) fn write_fresh(
        &self,
        all: &[Fresh],
        action: Action,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut changes: BTreeMap<&str, i64> = BTreeMap::new();
        let mut history = Vec::with_capacity(all.len() * 2);
        self.read(|conn| {
            let (mut row, mut usage) = (conn.prepare_cached(INSERT_MEMORY)?, conn.prepare_cached(INSERT_USAGE)?);
            let (mut piece, mut waiting) = (conn.prepare_cached(INSERT_PIECE)?, conn.prepare_cached(PUT_WAITING)?);
            for fresh in all {
                let Fresh { memory, spelled, evidence, entry, .. } = fresh;
                fill_row(&mut row, memory, spelled).map_err(|error| named(error, memory))?;
                // The row number is read before the next insert, because evidence and usage have separate row numbers.
                let seq = conn.last_insert_rowid();
                for FreshPiece { piece: of, messages, .. } in evidence {
                    fill_piece(&mut piece, &memory.id, of, messages)?;
                }
                // The usage is written after the evidence, because each piece of evidence would otherwise change the
                // row again.
                fill_usage(&mut usage, memory, fresh.confirmed_at())?;
                put_new(conn, &mut waiting, seq, &spelled.namespace, entry)?;
                letters::put(conn, seq, &entry.letters)?;
                *changes.entry(&spelled.namespace).or_default() += 1;
                history.extend(fresh.history(action, reason));
                // The entry is only queued, because FTS5 writes out its data whenever another table is written.
                self.file_new(seq, &fresh.near);
            }
            Ok(())
        })?;
        self.note_new(&history)?;
        changes.iter().try_for_each(|(namespace, changes)| self.moved_on(namespace, *changes))?;
        self.file_if_many()
    }
}

/// Returns an error with the ID of the memory if the memory's row already exists.
fn named(error: rusqlite::Error, memory: &Memory) -> StoreError {
    let is_there = error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_CONSTRAINT_UNIQUE);
    if is_there { StoreError::Exists { id: memory.id.to_string() } } else { error.into() }
}

/// Distributes parts to the helpers and collects the prepared parts.
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
    parts: usize,
}

#[derive(Default)]
struct State {
    /// The first part that no thread has started.
    next: usize,
    /// The part to be written next.
    wanted: usize,
    ready: BTreeMap<usize, Result<Vec<Fresh>, StoreError>>,
    closed: bool,
}

/// The next step of the writing thread.
enum Look {
    Ready(Result<Vec<Fresh>, StoreError>),
    Prepare(usize),
    Closed,
}

impl Desk {
    fn new(parts: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), parts }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave the state half-changed, because each method changes the state in single steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next part to prepare, as soon as it is not too far ahead.
    fn next(&self) -> Option<usize> {
        let mut state = self.state();
        loop {
            if state.closed || state.next >= self.parts {
                return None;
            }
            if let Some(at) = self.taken(&mut state) {
                return Some(at);
            }
            state = self.wait(state);
        }
    }

    /// Returns the part to be written, or another step for the writer.
    fn look(&self, wanted: usize) -> Look {
        let mut state = self.state();
        state.wanted = wanted;
        // A helper may be waiting because it was too far ahead of the writer.
        self.changed.notify_all();
        loop {
            if let Some(fresh) = state.ready.remove(&wanted) {
                return Look::Ready(fresh);
            }
            // The writer prepares a part instead of waiting. Without helpers, the writer must prepare all parts.
            if let Some(at) = self.taken(&mut state) {
                return Look::Prepare(at);
            }
            if state.closed {
                return Look::Closed;
            }
            state = self.wait(state);
        }
    }

    fn taken(&self, state: &mut State) -> Option<usize> {
        let at = state.next;
        (at < self.parts.min(state.wanted + AHEAD)).then(|| {
            state.next += 1;
            at
        })
    }

    fn put(&self, at: usize, fresh: Result<Vec<Fresh>, StoreError>) {
        self.state().ready.insert(at, fresh);
        self.changed.notify_all();
    }
}

/// Closes the desk when a thread ends, so that no other thread waits for it.
struct Closing<'d> {
    desk: &'d Desk,
    /// Whether the desk is closed in any case; otherwise, it is closed only if the thread panics.
    in_any_case: bool,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if self.in_any_case || std::thread::panicking() {
            self.desk.state().closed = true;
            self.desk.changed.notify_all();
        }
    }
}

/// A memory that is about to be written.
#[derive(Debug)]
pub(in crate::store) struct Fresh {
    pub(in crate::store) memory: Memory,
    pub(in crate::store) spelled: Spelled,
    /// The whole row as JSON, for the history.
    pub(in crate::store) json: String,
    /// The evidence of the memory, without duplicates.
    pub(in crate::store) evidence: Vec<FreshPiece>,
    /// The memory's entry in the word index.
    pub(in crate::store) entry: Entry,
    /// The index words with which other claims find the memory.
    pub(in crate::store) near: String,
}

/// A piece of evidence that is about to be written.
#[derive(Debug)]
pub(in crate::store) struct FreshPiece {
    pub(in crate::store) piece: Evidence,
    /// The messages that contain the quote.
    pub(in crate::store) messages: String,
    /// The whole row as JSON, for the history.
    pub(in crate::store) json: String,
}

impl Fresh {
    pub(in crate::store) fn of(memory: &Memory, evidence: &[Evidence], stems: &mut Stems) -> Result<Self, StoreError> {
        let memory = memory_as_stored(memory);
        let mut pieces: Vec<FreshPiece> = Vec::with_capacity(evidence.len());
        for (at, piece) in evidence.iter().enumerate() {
            if !evidence[..at].iter().any(|before| place(before) == place(piece)) {
                let piece = evidence_as_stored(piece);
                pieces.push(FreshPiece { messages: to_json(&piece.messages)?, json: to_json(&piece)?, piece });
            }
        }
        let quotes: Vec<&str> = pieces.iter().map(|fresh| fresh.piece.quote.as_str()).collect();
        Ok(Self {
            spelled: Spelled::of(&memory)?,
            json: to_json(&memory)?,
            entry: entry(&memory, &quotes, stems),
            near: filed(&memory.namespace, &memory.claim),
            evidence: pieces,
            memory,
        })
    }

    /// Returns when the memory was last stated in its evidence, if this time is known.
    pub(in crate::store) fn confirmed_at(&self) -> Option<Timestamp> {
        self.evidence.iter().filter_map(|fresh| fresh.piece.said_at).map(|said| said.at).max()
    }

    /// Returns why the memory waits for review.
    fn suspicion(&self) -> Suspicion {
        let evidence: Vec<Evidence> = self.evidence.iter().map(|fresh| fresh.piece.clone()).collect();
        reason_to_wait(&self.memory.claim, &evidence)
    }

    /// Returns the history entries of the new memory, which record the action that added it and the reason.
    pub(in crate::store) fn history<'n>(
        &'n self,
        action: Action,
        reason: Option<&'n str>,
    ) -> impl Iterator<Item = New<'n>> {
        let memory = self.memory.id.as_str();
        // Imports write many memories for one reason, but each memory that waits has its own.
        let reason = reason.or_else(|| (self.memory.status == Status::Pending).then(|| self.suspicion().reason()));
        let add = New { memory, action: action.as_str(), entity: Entity::Memory.as_str(), after: &self.json, reason };
        let piece = move |fresh: &'n FreshPiece| New {
            memory,
            action: Action::Evidence.as_str(),
            entity: Entity::Evidence.as_str(),
            after: &fresh.json,
            reason: None,
        };
        std::iter::once(add).chain(self.evidence.iter().map(piece))
    }
}

/// One history entry about a new row, before it is written.
pub(in crate::store) struct New<'n> {
    pub(in crate::store) memory: &'n str,
    pub(in crate::store) action: &'n str,
    pub(in crate::store) entity: &'n str,
    pub(in crate::store) after: &'n str,
    pub(in crate::store) reason: Option<&'n str>,
}

impl New<'_> {
    fn values(&self) -> [&dyn ToSql; 5] {
        [&self.memory, &self.action, &self.entity, &self.after, &self.reason]
    }
}

/// Number of history entries that one statement writes.
const NOTED_AT_ONCE: usize = 16;
static ONE_NOTE: LazyLock<String> = LazyLock::new(|| notes(1));
static MANY_NOTES: LazyLock<String> = LazyLock::new(|| notes(NOTED_AT_ONCE));

/// Returns the statement that writes `count` history entries about new rows.
fn notes(count: usize) -> String {
    let line = |at: usize| {
        let [memory, action, entity, after, reason] = std::array::from_fn(|place| at * 5 + 4 + place);
        format!("(?1, ?{memory}, NULL, ?2, ?{action}, ?{entity}, NULL, ?{after}, ?{reason}, ?3)")
    };
    let lines: Vec<String> = (0..count).map(line).collect();
    let columns = "run_id, memory_id, other_id, at, action, entity, before, after, reason, changeset";
    format!("INSERT INTO history ({columns}) VALUES {}", lines.join(", "))
}
