//! Memories that a program stores under its own keys.

use super::draft::{refuse_orders, refuse_pinned};
use super::remember::{forgotten, holder, not_again};
use super::{ApiError, Author, Change, Memories, MemoryChange, MemoryDraft, Remembered, unit_importance};
use crate::consolidate::{Decision, IncomingClaim, RivalPolicy};
use crate::memory::{Claim, Memory, MemoryId, Namespace, Status};
use crate::store::{Store, StoreError};

impl Memories {
    /// Stores a memory under its key. The active memory with this key receives the `given` fields, and keeps its id,
    /// its namespace and all other fields. It is looked up in the namespace of the draft, in the caller's project and
    /// in the global namespace. If there is no such memory, the new memory is stored as by [`Memories::remember`] and
    /// receives the key. It is not compared with memories that have other keys, so that each key has a separate memory.
    ///
    /// # Errors
    /// As for [`Memories::remember`]; [`ApiError::Pinned`] if an agent would change a pinned memory.
    pub(crate) fn upsert(&self, draft: &MemoryDraft, given: &MemoryChange) -> Result<Remembered, ApiError> {
        let _span = self.span("upsert_memory", None);
        let incoming = self.incoming(draft)?;
        let store = self.ledger("replace a memory by its key")?;
        let Some(key) = incoming.candidate.claim.key.clone() else { return self.remember(draft) };
        store.together(|| self.store_under(store, &key, draft, given, incoming))
    }

    fn store_under(
        &self,
        store: &Store,
        key: &str,
        draft: &MemoryDraft,
        given: &MemoryChange,
        incoming: IncomingClaim,
    ) -> Result<Remembered, ApiError> {
        for namespace in [incoming.namespace.clone(), self.home(), Namespace::global()] {
            let known = if self.reaches(&namespace) { active_with_key(store, &namespace, key)? } else { Vec::new() };
            if let Some(known) = known.into_iter().next() {
                let place = (namespace != incoming.namespace).then(|| namespace.to_string());
                let incoming = IncomingClaim { namespace, ..incoming };
                let mut replaced = self.replace(store, draft, given, incoming, known)?;
                if let Some(place) = place {
                    // Otherwise, the memory would seem to have been stored for the audience of the draft.
                    let reason = &mut replaced.change.reason;
                    *reason = format!("{reason}; it stays in {place}, where the key is already used");
                }
                return Ok(replaced);
            }
        }
        let has_no_other_key = |known: &Memory| known.claim.key.as_ref().is_none_or(|own| own == key);
        let remembered = self.remember_among(draft, &has_no_other_key)?;
        let Some(memory) = holder(store, &remembered.change)? else { return Ok(remembered) };
        let memory = if memory.claim.key.is_none() {
            // The memory was stored without a key. It gets the key, so that the next draft with this key refers to it.
            let claim = Claim { key: Some(key.to_owned()), ..given.applied_to(&memory.claim) };
            self.rewrite(store, Memory { claim, ..memory }, "keyed")?.0
        } else {
            memory
        };
        Ok(Remembered { memory: Some(memory), ..remembered })
    }

    /// Stores a memory under its key as [`Memories::upsert`] does, for programs that manage their own texts: the memory
    /// always gets the new text, even if the text was forgotten under the same key.
    ///
    /// # Errors
    /// As for [`Memories::upsert`]; [`ApiError::ForgottenText`] if the text was forgotten under another key or none.
    pub(crate) fn put(&self, draft: &MemoryDraft, given: &MemoryChange) -> Result<Memory, ApiError> {
        self.ledger("replace a memory by its key")?.together(|| self.put_text(draft, given))
    }

    fn put_text(&self, draft: &MemoryDraft, given: &MemoryChange) -> Result<Memory, ApiError> {
        let content = self.incoming(draft)?.candidate.claim.content;
        let is_stored = |memory: &Memory| memory.claim.content == content;
        let mut written = self.upsert(draft, given)?;
        if !written.memory.as_ref().is_some_and(is_stored) {
            if let Some(forgotten) = self.forgotten_under_key(&written.change.incoming)? {
                self.restore(&[forgotten.as_str()], RivalPolicy::Retire, draft.author)?;
            }
            // A known memory that had no key now has the key, so its text is replaced.
            written = self.upsert(draft, given)?;
        }
        let reason = written.change.reason;
        written.memory.filter(is_stored).ok_or(ApiError::ForgottenText { reason })
    }

    fn forgotten_under_key(&self, incoming: &IncomingClaim) -> Result<Option<MemoryId>, ApiError> {
        let (store, claim) = (self.ledger("replace a memory by its key")?, &incoming.candidate.claim);
        let known = forgotten(store, &incoming.namespace, claim)?.filter(|known| known.claim.key == claim.key);
        Ok(known.map(|known| known.id))
    }

    /// Returns the active memory with a key, from the caller's project or the global namespace.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn memory_with_key(&self, key: &str) -> Result<Option<Memory>, ApiError> {
        let store = self.ledger("look up a memory by its key")?;
        for namespace in [self.home(), Namespace::global()].iter().filter(|namespace| self.reaches(namespace)) {
            if let Some(memory) = active_with_key(store, namespace, key)?.into_iter().next() {
                return Ok(Some(memory));
            }
        }
        Ok(None)
    }

    fn replace(
        &self,
        store: &Store,
        draft: &MemoryDraft,
        given: &MemoryChange,
        incoming: IncomingClaim,
        known: Memory,
    ) -> Result<Remembered, ApiError> {
        refuse_pinned(&known, draft.author)?;
        self.refuse_unreviewed(draft.author)?;
        if draft.author == Author::Agent {
            refuse_orders(&incoming.candidate.claim, Some(&known.claim))?;
        }
        // A forgotten text must not return as a new wording of another memory.
        let claim = &incoming.candidate.claim;
        let forgotten =
            if draft.author == Author::Agent { not_again(store, &incoming.namespace, claim, None)? } else { None };
        let before = known.claim.clone();
        let importance = given.importance.map(unit_importance).transpose()?;
        let claim = MemoryChange { importance, ..given.clone() }.applied_to(&before);
        // The same words under the same key are nothing new, so the time from which they are valid does not change
        // either.
        let valid_from = if claim == before { before.valid_from } else { incoming.candidate.claim.valid_from };
        let claim = Claim { valid_from, ..claim };
        let (memory, is_changed) = if forgotten.is_some() {
            (known, false)
        } else {
            let reworded = Memory { claim, source: incoming.source.clone(), ..known };
            self.rewrite(store, reworded, "stored again under the same key")?
        };
        let reason = match forgotten {
            Some(reason) => reason,
            None if is_changed => "the memory with this key has new text".to_owned(),
            None => "already known under this key".to_owned(),
        };
        let decision = if is_changed { Decision::Merge } else { Decision::Skip };
        let change = Change {
            target: Some(memory.id.clone()),
            merged: Some(memory.claim.clone()),
            before: Some(before.content),
            holds_from: memory.claim.valid_from,
            ..Change::of(incoming, decision, reason)
        };
        Ok(Remembered { change, memory: Some(memory), restored: false, updated: Vec::new(), near: Vec::new() })
    }
}

/// Returns the active memories with a key, by id.
fn active_with_key(store: &Store, namespace: &Namespace, key: &str) -> Result<Vec<Memory>, StoreError> {
    let mut memories = store.by_key(namespace, key)?;
    memories.retain(|memory| memory.status == Status::Active);
    memories.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(memories)
}
