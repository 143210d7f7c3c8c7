//! One thing that a pass does.

use jiff::Timestamp;

use crate::changeset::{Action, Rows};
use crate::consolidate::Known;
use crate::memory::{Evidence, Memory, MemoryId, RelationType};

/// The kinds of steps, in the order in which they are printed.
pub const STEPS: &[Action] = &[
    Action::TaskClosed,
    Action::Duplicate,
    Action::Refined,
    Action::Contradicted,
    Action::Conflict,
    Action::Listed,
    Action::Derived,
    Action::Recounted,
    Action::Linked,
];

/// One thing that a pass does: a step, in words for people, and the rows that it changes.
#[derive(Debug, Clone, PartialEq)]
pub struct PassChange {
    /// What is done.
    pub action: Action,
    /// Why, in a few words.
    pub reason: String,
    /// What the memory says that it is about.
    pub about: String,
    /// What the other memory says, or what the memory said before.
    pub beside: Option<String>,
    pub(super) rows: Rows,
}

impl PassChange {
    pub(super) fn new(action: Action, reason: impl Into<String>, about: &str, now: Timestamp) -> Self {
        let reason = reason.into();
        let rows = Rows::new(action, reason.clone(), now);
        Self { action, reason, about: about.to_owned(), beside: None, rows }
    }

    pub(super) fn make(&mut self, memory: Memory, evidence: &[Evidence]) {
        self.rows.make(memory, evidence, Some(&self.reason));
    }

    pub(super) fn change(&mut self, before: &Known, after: Memory) {
        self.rows.change(&before.memory, after);
    }

    pub(super) fn gain(&mut self, id: &MemoryId, evidence: &[Evidence]) {
        self.rows.gain(id, evidence);
    }

    pub(super) fn link(&mut self, from: &MemoryId, relation_type: RelationType, to: &MemoryId) {
        self.rows.link(from, relation_type, to, None);
    }
}
