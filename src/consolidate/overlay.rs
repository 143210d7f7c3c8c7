//! Memories as they would be after changes that are not written yet. No other code simulates the store.

use std::collections::{BTreeMap, BTreeSet};

use super::Known;
use crate::changeset::{Row, RowChange};
use crate::memory::{MemoryId, RelationType, Status};

/// A relation, without its reason.
pub(super) type Link = (MemoryId, RelationType, MemoryId);

/// Memories as they would be after changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Overlay {
    /// Active memories.
    pub(super) active: BTreeMap<MemoryId, Known>,
    /// Memories of any other status.
    pub(super) past: BTreeMap<MemoryId, Known>,
    pub(super) links: BTreeSet<Link>,
}

impl Overlay {
    pub(super) fn get(&self, id: &MemoryId) -> Option<&Known> {
        self.active.get(id).or_else(|| self.past.get(id))
    }

    pub(super) fn len(&self) -> usize {
        self.active.len() + self.past.len()
    }

    pub(super) fn insert(&mut self, known: Known) {
        let is_active = known.memory.status == Status::Active;
        let (own, other) =
            if is_active { (&mut self.active, &mut self.past) } else { (&mut self.past, &mut self.active) };
        // A change of status moves the memory to the other map, so that it is never in both.
        other.remove(&known.memory.id);
        own.insert(known.memory.id.clone(), known);
    }

    fn remove(&mut self, id: &MemoryId) -> Option<Known> {
        self.active.remove(id).or_else(|| self.past.remove(id))
    }

    /// Applies a change; a change of an unknown memory has no effect.
    pub(super) fn apply(&mut self, change: &RowChange) {
        match &change.row {
            Row::Memory { before, after: Some(memory) } => {
                let known = self.remove(&memory.id);
                // An update of an unknown memory is ignored; otherwise, the memory would appear without its evidence.
                if known.is_some() || before.is_none() {
                    let evidence = known.map(|known| known.evidence).unwrap_or_default();
                    self.insert(Known { memory: (**memory).clone(), evidence, fresh: true });
                }
            }
            Row::Memory { before, after: None } => {
                before.iter().for_each(|memory| drop(self.remove(&memory.id)));
            }
            Row::Evidence { memory, before, after } => {
                let known = self.active.get_mut(memory).or_else(|| self.past.get_mut(memory));
                if let Some(known) = known {
                    known.evidence.retain(|piece| Some(piece) != before.as_ref());
                    known.evidence.extend(after.clone());
                    known.fresh = true;
                }
            }
            Row::Relation { before, after } => {
                let link = |one: &crate::memory::Relation| (one.from.clone(), one.relation_type, one.to.clone());
                if let Some(relation) = before {
                    self.links.remove(&link(relation));
                }
                self.links.extend(after.iter().map(link));
            }
            // Rejected values are looked up in the store; no plan creates or removes a rejection.
            Row::Tombstone { .. } => {}
        }
    }
}
