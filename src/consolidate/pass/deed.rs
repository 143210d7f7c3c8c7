//! One thing that a pass does, and writing it.

use jiff::Timestamp;

use crate::changeset::Action;
use crate::guard::Guard;
use crate::memory::{Evidence, Memory, MemoryId, Relation, RelationType};
use crate::store::{StoreError, Writer};

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

/// One thing that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    /// Its kind.
    pub step: Action,
    /// Why, in a few words.
    pub reason: String,
    /// What the memory says that it is about.
    pub about: String,
    /// What the other memory says, or what the memory said before.
    pub beside: Option<String>,
    pub(super) made: Option<(Memory, Vec<Evidence>)>,
    /// Memories as they are afterwards.
    pub(super) changed: Vec<Memory>,
    pub(super) gained: Vec<(MemoryId, Vec<Evidence>)>,
    pub(super) relations: Vec<Relation>,
}

impl Deed {
    pub(super) fn new(step: Action, reason: impl Into<String>, about: &str) -> Self {
        Self {
            step,
            reason: reason.into(),
            about: about.to_owned(),
            beside: None,
            made: None,
            changed: Vec::new(),
            gained: Vec::new(),
            relations: Vec::new(),
        }
    }

    pub(super) fn link(&mut self, from: &MemoryId, relation_type: RelationType, to: &MemoryId, now: Timestamp) {
        let reason = Some(self.reason.clone());
        self.relations.push(Relation { from: from.clone(), to: to.clone(), relation_type, reason, created_at: now });
    }

    pub(super) fn write(&self, writer: &Writer<'_>, guard: &Guard) -> Result<(), StoreError> {
        let reason = guard.redact(self.reason.clone()).0.into_inner();
        if let Some((memory, evidence)) = &self.made {
            let (memory, evidence) = (guard.redact(memory.clone()).0, guard.redact(evidence.clone()).0);
            writer.insert_because(&memory, &evidence, Some(&reason))?;
        }
        for memory in &self.changed {
            writer.update(&guard.redact(memory.clone()).0, self.step, Some(&reason))?;
        }
        for (id, evidence) in self.gained.iter().filter(|(_, evidence)| !evidence.is_empty()) {
            writer.add_evidence(id, &guard.redact(evidence.clone()).0)?;
        }
        for relation in &self.relations {
            writer.relate(&Relation { reason: Some(reason.clone()), ..relation.clone() })?;
        }
        Ok(())
    }
}
