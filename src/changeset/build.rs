//! Builds the row changes of one decision.

use jiff::Timestamp;

use super::{Action, Row, RowChange};
use crate::memory::{Evidence, Memory, MemoryId, Relation, RelationType};

/// The row changes of one decision, in the order in which they are applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rows {
    action: Action,
    reason: String,
    now: Timestamp,
    changes: Vec<RowChange>,
}

impl Rows {
    pub(crate) const fn new(action: Action, reason: String, now: Timestamp) -> Self {
        Self { action, reason, now, changes: Vec::new() }
    }

    /// Makes a memory that rests on this evidence; `reason` is why it was made.
    pub(crate) fn make(&mut self, memory: Memory, evidence: &[Evidence], reason: Option<&str>) {
        let id = memory.id.clone();
        self.changes.push(RowChange::new(Action::Add, Row::memory(None, Some(memory)), reason));
        self.gain(&id, evidence);
    }

    /// Changes a memory, unless nothing of it is different.
    pub(crate) fn change(&mut self, before: &Memory, after: Memory) {
        let row = Row::memory(Some(before.clone()), Some(Memory { updated_at: self.now, ..after }));
        let is_change = match &row {
            Row::Memory { after: Some(after), .. } => {
                Memory { updated_at: before.updated_at, usage: before.usage.clone(), ..(**after).clone() } != *before
            }
            _ => false,
        };
        if is_change {
            self.changes.push(RowChange::new(self.action, row, Some(self.reason.as_str())));
        }
    }

    /// Adds evidence to a memory.
    pub(crate) fn gain(&mut self, id: &MemoryId, evidence: &[Evidence]) {
        let change = |piece| RowChange::new(Action::Evidence, Row::new_evidence(id.clone(), piece), None::<&str>);
        self.changes.extend(evidence.iter().map(change));
    }

    /// Links two memories; `reason` is that of the decision unless another one is given.
    pub(crate) fn link(&mut self, from: &MemoryId, relation_type: RelationType, to: &MemoryId, reason: Option<&str>) {
        let reason = reason.unwrap_or(&self.reason).to_owned();
        let relation = Relation {
            from: from.clone(),
            to: to.clone(),
            relation_type,
            reason: Some(reason.clone()),
            created_at: self.now,
        };
        self.changes.push(RowChange::new(Action::Relate, Row::new_relation(relation), Some(reason)));
    }

    pub(crate) fn changes(&self) -> &[RowChange] {
        &self.changes
    }

    pub(crate) fn into_changes(self) -> Vec<RowChange> {
        self.changes
    }
}
