//! Writing new memories, one or many at once.
//!
//! Half of the work is to tell what is to be written: to cut texts into words, to spell rows, to hash. That needs no
//! file, so of many memories it is done on the other processors, some ahead of the one that writes:
//!
//! ```text
//! other threads   make and prepare part 1, part 2, … ─┐  at most so many parts ahead
//! this thread     write part 1, part 2, …  ◀──────────┘  prepares a part itself rather than wait
//! ```

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE;

use super::evidence::{INSERT_PIECE, fill_row as fill_piece};
use super::fresh::{Fresh, FreshPiece};
use super::index::words::{PUT_WAITING, put_new};
use super::row::{INSERT_MEMORY, INSERT_USAGE, fill_row, fill_usage};
use super::terms::Stems;
use super::{StoreError, Writer};
use crate::changeset::Action;
use crate::guard::Redacted;
use crate::memory::{Evidence, Memory};

/// A memory to be written, with what it rests on.
pub type CleanMemory = (Redacted<Memory>, Redacted<Vec<Evidence>>);

/// Memories of one part.
const PART: usize = 128;
/// Parts that are ready before they can be written, at most.
const AHEAD: usize = 32;
/// Threads that prepare beside the one that writes, at most; more would wait for it.
const HELPERS: usize = 3;

impl Writer<'_> {
    /// Writes a new memory and the words it rests on.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if its id is taken.
    pub fn insert(&self, memory: &Redacted<Memory>, evidence: &Redacted<Vec<Evidence>>) -> Result<(), StoreError> {
        self.insert_because(memory, evidence, None)
    }

    /// Writes a new memory as [`Writer::insert`] does, with `reason` in its history.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if its id is taken.
    pub fn insert_because(
        &self,
        memory: &Redacted<Memory>,
        evidence: &Redacted<Vec<Evidence>>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let fresh = Fresh::of(memory, evidence, &mut self.stems.borrow_mut())?;
        self.write_fresh(&[fresh], Action::Add, reason)
    }

    /// Writes a new memory for each of `items`, in their order and as [`Writer::insert`] does, in less time where there
    /// are many. `make` is called once for each, in any order and on any thread.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if an id is taken; those before it are written, so the transaction should come to nothing.
    pub fn insert_all<T: Sync>(&self, items: &[T], make: impl Fn(&T) -> CleanMemory + Sync) -> Result<(), StoreError> {
        let parts: Vec<&[T]> = items.chunks(PART).collect();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
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
                        // A helper has panicked, which goes on when the scope ends.
                        Look::Closed => return Ok(()),
                    }
                };
                self.write_fresh(&fresh, Action::Add, None)?;
            }
            Ok(())
        })
    }

    pub(super) fn write_fresh(&self, all: &[Fresh], action: Action, reason: Option<&str>) -> Result<(), StoreError> {
        let mut changes: BTreeMap<&str, i64> = BTreeMap::new();
        let mut history = Vec::with_capacity(all.len() * 2);
        self.read(|conn| {
            let (mut row, mut usage) = (conn.prepare_cached(INSERT_MEMORY)?, conn.prepare_cached(INSERT_USAGE)?);
            let (mut piece, mut waiting) = (conn.prepare_cached(INSERT_PIECE)?, conn.prepare_cached(PUT_WAITING)?);
            for fresh in all {
                let Fresh { memory, spelled, evidence, entry, .. } = fresh;
                fill_row(&mut row, memory, spelled).map_err(|error| named(error, memory))?;
                let seq = conn.last_insert_rowid();
                for FreshPiece { piece: of, messages, .. } in evidence {
                    fill_piece(&mut piece, &memory.id, of, messages)?;
                }
                // After the evidence, which would else change the row again, piece by piece.
                fill_usage(&mut usage, memory, fresh.confirmed_at())?;
                put_new(conn, &mut waiting, seq, &spelled.namespace, entry)?;
                *changes.entry(&spelled.namespace).or_default() += 1;
                history.extend(fresh.history(action, reason));
                self.file_new(seq, &fresh.near);
            }
            Ok(())
        })?;
        self.note_new(&history)?;
        changes.iter().try_for_each(|(namespace, changes)| self.moved_on(namespace, *changes))?;
        self.file_if_many()
    }
}

/// Says of a row that is there already which memory that is.
fn named(error: rusqlite::Error, memory: &Memory) -> StoreError {
    let is_there = error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_CONSTRAINT_UNIQUE);
    if is_there { StoreError::Exists { id: memory.id.to_string() } } else { error.into() }
}

/// Where parts are taken from and laid down.
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
    parts: usize,
}

#[derive(Default)]
struct State {
    /// The first that nobody has taken.
    next: usize,
    /// The one that is to be written next.
    wanted: usize,
    ready: BTreeMap<usize, Result<Vec<Fresh>, StoreError>>,
    closed: bool,
}

/// What the thread that writes is to do.
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

    /// Returns the part that is to be written, or another thing to do meanwhile.
    fn look(&self, wanted: usize) -> Look {
        let mut state = self.state();
        state.wanted = wanted;
        self.changed.notify_all();
        loop {
            if let Some(fresh) = state.ready.remove(&wanted) {
                return Look::Ready(fresh);
            }
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

/// Lets nobody wait for a thread that is gone.
struct Closing<'d> {
    desk: &'d Desk,
    /// Otherwise only where the thread panics.
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
