//! Erasing what came of some conversations, as if they had never been read.
//!
//! What rests on them alone goes, with its history; what rests on others, too, lives on without them. The change is one
//! transaction, and the file is written anew after it, so that nothing is left in its freed parts: see [`Store::seal`].
//! The conversations are withdrawn: no later run reads them, unless that is asked for.

mod find;
mod ledger;
mod memories;
mod seal;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use rusqlite::params;
use serde::Serialize;

pub use find::{Conversation, Scope};
pub use seal::Sealed;

use super::row::to_json;
use super::{Store, StoreError, Writer};
use crate::memory::MemoryId;

/// What was erased, or would be; memories by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Erased {
    /// The conversations, by key.
    pub conversations: Vec<Conversation>,
    /// Memories that are gone: they rested on these conversations alone.
    pub memories: Vec<MemoryId>,
    /// Memories that live on without these conversations.
    pub kept: Vec<MemoryId>,
    /// Those of the kept ones that say again what they said before these conversations.
    pub reverted: Vec<MemoryId>,
    /// Those of the kept ones whose words come from these conversations and from others: a person should look at them.
    pub mixed: Vec<MemoryId>,
    /// Memories that hold again, since what had taken their place is gone.
    pub restored: Vec<MemoryId>,
    /// Pieces of evidence that are gone from memories that live on.
    pub evidence: usize,
    /// Windows that are gone from the ledger.
    pub windows: usize,
    /// Replies of models that are gone; all, since a reply does not tell what it is about.
    pub replies: usize,
}

impl Erased {
    /// Whether there is nothing to erase.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.conversations.is_empty() && self.memories.is_empty()
    }
}

/// How a change ends that is only looked at.
enum Ended {
    Seen(Box<Erased>),
    Failed(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl Store {
    /// Returns what [`Store::erase`] would do, and changes nothing.
    ///
    /// # Errors
    /// As for [`Store::erase`].
    pub fn would_erase(&self, scope: &Scope, now: Timestamp) -> Result<Erased, StoreError> {
        let looked = self.write(None, now, |w| match w.erase(scope) {
            Ok(erased) => Err::<(), _>(Ended::Seen(Box::new(erased))),
            Err(error) => Err(Ended::Failed(error)),
        });
        match looked {
            Err(Ended::Seen(erased)) => Ok(*erased),
            Err(Ended::Failed(error)) => Err(error),
            Ok(()) => Ok(Erased::default()),
        }
    }

    /// Erases what came of the conversations of `scope`, in one transaction. It cannot be undone; [`Store::seal`] is to follow.
    ///
    /// # Errors
    /// [`StoreError::RunInProgress`] while a run is going, which might write down again what is erased; else [`StoreError`]
    /// if the file cannot be written.
    pub fn erase(&self, scope: &Scope, now: Timestamp) -> Result<Erased, StoreError> {
        // A byte that is freed within a page is not reached by writing the file anew.
        self.conn.pragma_update(None, "secure_delete", "ON")?;
        let erased = self.write(None, now, |w| w.erase(scope));
        self.conn.pragma_update(None, "secure_delete", "FAST")?;
        erased
    }
}

impl Writer<'_> {
    fn erase(&self, scope: &Scope) -> Result<Erased, StoreError> {
        if let Some(run) = self.runs(usize::MAX)?.into_iter().find(|run| run.is_alive(self.now)) {
            return Err(StoreError::RunInProgress { id: run.id.to_string() });
        }
        let mut erased = Erased { conversations: self.conversations_in(scope)?, ..Erased::default() };
        let keys: Vec<&str> = erased.conversations.iter().map(|one| one.key.as_str()).collect();
        let keys = to_json(&keys)?;
        let (alone, others) = self.resting_on_any(&keys, scope)?;
        if erased.conversations.is_empty() && alone.is_empty() {
            return Ok(erased);
        }
        let held = self.held_down_by(&alone)?;
        for id in &others {
            self.take_from(id, &keys, &mut erased)?;
        }
        for id in &alone {
            self.purge(id)?;
        }
        erased.restored = self.let_hold_again(held)?;
        (erased.memories, erased.kept) = (alone, others);
        self.erase_ledger(&keys, scope, &mut erased)?;
        self.note_erasure(&erased)?;
        Ok(erased)
    }

    /// Writes down that something was erased and how much, and that the file has yet to be written anew.
    fn note_erasure(&self, erased: &Erased) -> Result<(), StoreError> {
        let detail = format!("{} conversations, {} memories", erased.conversations.len(), erased.memories.len());
        let now = self.now.as_millisecond();
        self.read(|conn| {
            conn.execute("INSERT INTO audit (at, action, detail) VALUES (?1, 'erase', ?2)", params![now, detail])?;
            conn.execute("INSERT INTO unsealed (at) VALUES (?1)", [now])?;
            Ok(())
        })
    }
}
