//! One thing that a pass does, and writing it.

use jiff::Timestamp;
use serde::Serialize;

use crate::guard::Guard;
use crate::memory::{Evidence, Memory, MemoryId, Relation, RelationType};
use crate::store::{StoreError, Writer};

/// What kind of thing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A task whose time is over was closed, or one that was said to be done.
    TaskClosed,
    /// Of two memories that say the same, one was kept with the evidence of both.
    Duplicate,
    /// A memory gave way to one that says it in more detail.
    Refined,
    /// Of two that cannot both hold, the one that holds later was kept.
    Contradicted,
    /// Of two that cannot both hold, the one that arrived later went to the inbox.
    Conflict,
    /// Values of one attribute were joined into a list.
    Listed,
    /// A memory was derived from episodes that repeat.
    Derived,
    /// A derived memory was brought up to date.
    Recounted,
    /// Memories of one matter were linked.
    Linked,
}

impl Step {
    /// Every kind, in the order in which they are printed.
    pub const ALL: &[Self] = &[
        Self::TaskClosed,
        Self::Duplicate,
        Self::Refined,
        Self::Contradicted,
        Self::Conflict,
        Self::Listed,
        Self::Derived,
        Self::Recounted,
        Self::Linked,
    ];

    /// Returns the spelling used in JSON and in the history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskClosed => "task_closed",
            Self::Duplicate => "duplicate",
            Self::Refined => "refined",
            Self::Contradicted => "contradicted",
            Self::Conflict => "conflict",
            Self::Listed => "listed",
            Self::Derived => "derived",
            Self::Recounted => "recounted",
            Self::Linked => "linked",
        }
    }
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    /// Its kind.
    pub step: Step,
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
    pub(super) fn new(step: Step, reason: impl Into<String>, about: &str) -> Self {
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
            writer.update(&guard.redact(memory.clone()).0, self.step.as_str(), Some(&reason))?;
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
