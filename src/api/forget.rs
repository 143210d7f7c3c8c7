//! Forgets, restores and erases memories.

use std::path::PathBuf;

use jiff::Timestamp;

use super::draft::refuse_orders;
use super::{ApiError, Author, Memories};
use crate::consolidate::{self, Restored, RivalPolicy};
use crate::memory::{Memory, MemoryId, Status};
use crate::store::{AuditAction, Erased, Filter, Order, RewriteOutcome, StoreError, Writer};

const FORGET: &str = "forget memories reversibly";
const ERASE: &str = "erase conversations";

/// The outcome of [`Memories::erase`].
#[derive(Debug, Clone, PartialEq)]
pub struct Erasure {
    /// The erased conversations and memories.
    pub erased: Erased,
    /// Whether the file was rewritten.
    pub sealed: RewriteOutcome,
    /// Backups from updates that were removed because they still contained erased text.
    pub removed: Vec<PathBuf>,
}

impl Memories {
    /// Deletes memories by id, so that they are neither recalled nor learnt again, and returns their number. Deleted
    /// memories can be restored until maintenance purges them.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be written; ids from other namespaces are skipped.
    pub fn delete_memories(&self, ids: &[MemoryId]) -> Result<usize, ApiError> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(self.get_memory(id)?.map(|memory| memory.id));
        }
        let audit = self.audit()?;
        let deleted = self.storage.delete_batch(&found)?;
        self.record(audit, Author::Person, AuditAction::Forget, &found)?;
        Ok(deleted)
    }

    /// Forgets either all of the memories or none, and returns them in their new state.
    ///
    /// # Errors
    /// [`ApiError`] if a memory does not exist, or if the author is an agent and a memory is pinned, or not pending where
    /// a person reviews what agents store.
    pub fn forget(
        &self,
        ids: &[impl AsRef<str>],
        reason: Option<&str>,
        author: Author,
    ) -> Result<Vec<Memory>, ApiError> {
        // All memories are looked up before any is forgotten, so that nothing changes if one is refused.
        let memories = ids.iter().map(|id| self.editable(id.as_ref(), author)).collect::<Result<Vec<_>, _>>()?;
        if memories.iter().any(|memory| memory.status != Status::Pending) {
            self.refuse_unreviewed(author)?;
        }
        self.forget_all(&memories, reason, author)?;
        let store = self.ledger(FORGET)?;
        Ok(memories.iter().map(|memory| store.memory(&memory.id)).collect::<Result<_, _>>()?)
    }

    /// Forgets every memory that passes `filter`, except pinned ones if the author is an agent, and returns the
    /// memories as they were before. With `preview`, nothing is written.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read or written.
    pub(crate) fn forget_where(
        &self,
        filter: Filter,
        reason: Option<&str>,
        author: Author,
        preview: bool,
    ) -> Result<Vec<Memory>, ApiError> {
        // An agent cannot forget pinned memories, so a filter leaves them out instead of failing.
        let pinned = if author == Author::Agent { Some(false) } else { filter.pinned };
        let filter = self.confined(Filter { pinned, ..filter })?;
        // SQLite's `LIMIT` is signed, so `usize::MAX` would not fit.
        let mut found = self.ledger(FORGET)?.list(&filter, Order::Id, usize::MAX >> 1, 0)?;
        found.retain(|memory| self.acts_as_person(author) || !memory.namespace.is_team());
        if self.refuse_unreviewed(author).is_err() {
            found.retain(|memory| memory.status == Status::Pending);
        }
        if !preview {
            self.forget_all(&found, reason, author)?;
        }
        Ok(found)
    }

    fn forget_all(&self, memories: &[Memory], reason: Option<&str>, author: Author) -> Result<(), ApiError> {
        self.check_maintainer(memories.iter().map(|memory| &memory.namespace), author)?;
        let audit = self.audit()?;
        let only = if let [memory] = memories { Some(&memory.id) } else { None };
        let _span = self.span("delete_memory", only);
        let (reason, _) = self.guard.redact(reason.map(str::to_owned));
        let forget = |writer: &Writer<'_>| {
            memories.iter().try_for_each(|memory| writer.forget(&memory.id, reason.text()).map(drop))
        };
        self.ledger(FORGET)?.write::<_, StoreError>(None, Timestamp::now(), forget)?;
        let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
        self.record(audit, author, AuditAction::Forget, &ids)
    }

    /// Returns what [`Memories::erase`] would erase.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub fn would_erase(&self, scope: &crate::store::Scope) -> Result<Erased, ApiError> {
        Ok(self.ledger(ERASE)?.would_erase(scope, Timestamp::now())?)
    }

    /// Permanently erases everything that is based only on certain conversations: from the tables, the indexes, the
    /// history, the caches and the write-ahead log.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub fn erase(&self, scope: &crate::store::Scope) -> Result<Erasure, ApiError> {
        let (store, audit, now) = (self.ledger(ERASE)?, self.audit()?, Timestamp::now());
        let erased = store.erase(scope, now)?;
        if let Some(mut log) = audit {
            log.erased(erased.conversations.len(), &erased.memories, now)?;
        }
        // Backups from updates may contain erased text; a person who made backups must delete them.
        let removed = store.remove_automatic_backups()?;
        Ok(Erasure { erased, sealed: store.seal()?, removed })
    }

    /// Returns the backups beside the database, which may still contain erased text.
    ///
    /// # Errors
    /// [`ApiError`] if their folder cannot be read.
    pub fn backups(&self) -> Result<Vec<PathBuf>, ApiError> {
        Ok(self.ledger("find backups")?.backups()?)
    }

    /// Makes all of the memories active again, or none of them. An agent can restore only forgotten memories that do
    /// not read like instructions.
    ///
    /// # Errors
    /// [`ApiError`] if a memory does not exist, or if the author may not restore it.
    pub fn restore(
        &self,
        ids: &[impl AsRef<str>],
        rivals: RivalPolicy,
        author: Author,
    ) -> Result<Vec<(Memory, Restored)>, ApiError> {
        let memories = ids.iter().map(|id| self.resolve(id.as_ref())).collect::<Result<Vec<_>, _>>()?;
        self.refuse_unreviewed(author)?;
        for memory in memories.iter().filter(|_| author == Author::Agent) {
            if !matches!(memory.status, Status::Forgotten | Status::Active) {
                let remedy = "an agent can restore only memories that were forgotten";
                return Err(ApiError::NotNow { id: memory.id.to_string(), status: memory.status, remedy });
            }
            refuse_orders(&memory.claim, None)?;
        }
        self.check_maintainer(memories.iter().map(|memory| &memory.namespace), author)?;
        let store = self.ledger("restore memories")?;
        let audit = self.audit()?;
        let ids: Vec<MemoryId> = memories.into_iter().map(|memory| memory.id).collect();
        let restored = store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            ids.iter().map(|id| consolidate::restore(writer, id, rivals, author)).collect::<Result<Vec<_>, _>>()
        })?;
        self.record(audit, author, AuditAction::Restore, &ids)?;
        ids.iter().zip(restored).map(|(id, restored)| Ok((store.memory(id)?, restored))).collect()
    }
}
