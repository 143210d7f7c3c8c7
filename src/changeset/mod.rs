//! Changesets, the only form in which memories change: the states of rows before and after each change, with the
//! reason.
//!
//! Every write produces a [`Changeset`]. A changeset contains the full rows, so it can be printed, saved, applied to
//! another file, and inverted. Applying a changeset twice has the same effect as applying it once, because each
//! [`RowChange`] first compares the stored row with its states before and after.

mod action;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use transcripts::MessageTime;

use crate::guard::Redact;
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Relation, RelationType, Status, string_enum};

pub use action::Action;

/// Version of the serialised form, increased whenever an older program could not apply a changeset correctly.
pub const VERSION: u32 = 1;

/// The changes of one write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changeset {
    /// Version of the serialised form; see [`VERSION`].
    pub version: u32,
    /// A `UUIDv7`, or the id of the run if the changeset was written before changesets had ids.
    pub id: String,
    /// The run that made the changeset; `None` if the changeset was made outside a run.
    pub run: Option<String>,
    /// Time at which the changeset was made.
    pub at: Timestamp,
    /// The changes, in order.
    pub changes: Vec<RowChange>,
}

impl Changeset {
    /// Returns an empty changeset with a new id.
    pub(crate) fn new(run: Option<String>, at: Timestamp) -> Self {
        Self { version: VERSION, id: uuid::Uuid::now_v7().to_string(), run, at, changes: Vec::new() }
    }

    /// Returns the changeset that reverts this one: the inverse of each change, in reverse order.
    #[must_use]
    pub fn inverse(&self, at: Timestamp) -> Self {
        // The order is reversed, since a later change may depend on an earlier one: a relation needs its memories.
        let changes = self.changes.iter().rev().map(RowChange::inverse).collect();
        Self { changes, ..Self::new(None, at) }
    }
}

/// One row before and after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowChange {
    /// What was done.
    pub action: Action,
    /// The row.
    #[serde(flatten)]
    pub row: Row,
    /// The reason for the change, in a few words.
    pub reason: Option<String>,
}

/// A row of the memory state. A state is `None` if the row does not exist; both are `None` once the row has been
/// purged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entity", rename_all = "lowercase")]
pub enum Row {
    /// A memory.
    Memory {
        /// State before the change.
        before: Option<Box<Memory>>,
        /// State after the change.
        after: Option<Box<Memory>>,
    },
    /// A piece of evidence.
    Evidence {
        /// The memory that is based on the evidence.
        memory: MemoryId,
        /// State before the change.
        before: Option<Evidence>,
        /// State after the change.
        after: Option<Evidence>,
    },
    /// A relation between two memories.
    Relation {
        /// State before the change.
        before: Option<Relation>,
        /// State after the change.
        after: Option<Relation>,
    },
    /// A rejected value.
    Tombstone {
        /// State before the change.
        before: Option<Tombstone>,
        /// State after the change.
        after: Option<Tombstone>,
    },
}

/// A value that was rejected in a namespace, so that it is not learnt again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The memory whose value was rejected.
    pub memory: MemoryId,
    /// The namespace in which the value must not be learnt again.
    pub namespace: Namespace,
    /// Hash of the rejected content; see [`crate::text::normalise::normalised_hash`].
    pub content_hash: String,
    /// Attribute of the memory.
    pub key: Option<String>,
    /// Hash of the attribute's value, because the text of a rejected value is not kept.
    pub value_hash: Option<String>,
    /// The reason for the rejection, in a few words.
    pub reason: Option<String>,
    /// Time of the rejection.
    pub at: Timestamp,
}

string_enum!(
    /// The kind of a row.
    Entity, "an entity", {
    /// The memory itself.
    Memory = "memory",
    /// A quote that the memory is based on.
    Evidence = "evidence",
    /// A relation from the memory to another memory.
    Relation = "relation",
    /// The record that the value of the memory was rejected.
    Tombstone = "tombstone",
});

impl Row {
    /// Returns the change of a memory.
    pub(crate) fn memory(before: Option<Memory>, after: Option<Memory>) -> Self {
        // Only the new state is rounded: `before` was read from the store, with which both states are compared later.
        Self::Memory { before: before.map(Box::new), after: after.map(|memory| Box::new(memory_as_stored(&memory))) }
    }

    /// Returns a change that adds a piece of evidence.
    pub(crate) fn new_evidence(memory: MemoryId, piece: &Evidence) -> Self {
        Self::Evidence { memory, before: None, after: Some(evidence_as_stored(piece)) }
    }

    /// Returns a change that adds a relation.
    pub(crate) fn new_relation(relation: Relation) -> Self {
        let created_at = time_as_stored(relation.created_at);
        Self::Relation { before: None, after: Some(Relation { created_at, ..relation }) }
    }

    /// Returns the kind of the row.
    pub(crate) const fn entity(&self) -> Entity {
        match self {
            Self::Memory { .. } => Entity::Memory,
            Self::Evidence { .. } => Entity::Evidence,
            Self::Relation { .. } => Entity::Relation,
            Self::Tombstone { .. } => Entity::Tombstone,
        }
    }

    /// Returns the memory that the row belongs to and, for a relation, the memory at its other end.
    ///
    /// Returns `None` if both sides are `None`: nothing is known about a purged row.
    pub(crate) fn memories(&self) -> Option<(&MemoryId, Option<&MemoryId>)> {
        match self {
            Self::Memory { before, after } => after.as_ref().or(before.as_ref()).map(|memory| (&memory.id, None)),
            // If both states are missing, the row was purged and nothing is known about it.
            Self::Evidence { memory, before, after } => (before.is_some() || after.is_some()).then_some((memory, None)),
            Self::Relation { before, after } => {
                after.as_ref().or(before.as_ref()).map(|relation| (&relation.from, Some(&relation.to)))
            }
            Self::Tombstone { before, after } => after.as_ref().or(before.as_ref()).map(|note| (&note.memory, None)),
        }
    }

    /// Returns the identity of the row; `None` for a purged row.
    pub(crate) fn key(&self) -> Option<RowKey<'_>> {
        match self {
            Self::Memory { before, after } => {
                let memory = after.as_ref().or(before.as_ref())?;
                Some((Entity::Memory, [memory.id.as_str(), "", "", ""]))
            }
            Self::Evidence { memory, before, after } => evidence_key(memory, after.as_ref().or(before.as_ref())?),
            Self::Relation { before, after } => relation_key(after.as_ref().or(before.as_ref())?),
            Self::Tombstone { before, after } => {
                let note = after.as_ref().or(before.as_ref())?;
                Some((Entity::Tombstone, [note.memory.as_str(), "", "", ""]))
            }
        }
    }

    /// Whether the row is this memory or a piece of its evidence.
    pub(crate) fn belongs_to(&self, id: &MemoryId) -> bool {
        matches!(self, Self::Memory { .. } | Self::Evidence { .. })
            && self.memories().is_some_and(|(memory, _)| memory == id)
    }

    /// Whether the change adds a piece of evidence to this memory.
    pub(crate) fn is_new_evidence_of(&self, id: &MemoryId) -> bool {
        matches!(self, Self::Evidence { memory, before: None, after: Some(_) } if memory == id)
    }

    fn inverse(&self) -> Self {
        match self.clone() {
            Self::Memory { before, after } => Self::Memory { before: after, after: before },
            Self::Evidence { memory, before, after } => Self::Evidence { memory, before: after, after: before },
            Self::Relation { before, after } => Self::Relation { before: after, after: before },
            Self::Tombstone { before, after } => Self::Tombstone { before: after, after: before },
        }
    }
}

/// The identity of a row.
pub(crate) type RowKey<'r> = (Entity, [&'r str; 4]);

/// Returns the identity of a piece of evidence, which its transcript, message and quote determine.
#[expect(clippy::unnecessary_wraps, reason = "the keys of other rows are optional")]
pub(crate) fn evidence_key<'r>(memory: &'r MemoryId, piece: &'r Evidence) -> Option<RowKey<'r>> {
    // The first message is enough: a quote in several messages is identified by the message in which it begins.
    let message = piece.messages.first().map_or("", String::as_str);
    Some((Entity::Evidence, [memory.as_str(), &piece.transcript, message, &piece.quote]))
}

/// Returns the identity of a relation; two memories have at most one relation of each type.
#[expect(clippy::unnecessary_wraps, reason = "the keys of other rows are optional")]
pub(crate) fn relation_key(relation: &Relation) -> Option<RowKey<'_>> {
    Some((Entity::Relation, [relation.from.as_str(), relation.to.as_str(), relation.relation_type.as_str(), ""]))
}

impl RowChange {
    /// Returns a change.
    pub(crate) fn new(action: Action, row: Row, reason: Option<impl Into<String>>) -> Self {
        Self { action, row, reason: reason.map(Into::into) }
    }

    /// Returns the change that reverts this one.
    #[must_use]
    pub(crate) fn inverse(&self) -> Self {
        Self { action: Action::Undo, row: self.row.inverse(), reason: self.reason.clone() }
    }
}

impl Redact for RowChange {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.reason.edit_texts(edit);
        self.row.edit_texts(edit);
    }
}

impl Redact for Row {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        // Both states are redacted, because the earlier state may come from a change that is not redacted yet.
        match self {
            Self::Memory { before, after } => {
                before.iter_mut().chain(after).for_each(|memory| memory.edit_texts(edit));
            }
            Self::Evidence { before, after, .. } => {
                before.iter_mut().chain(after).for_each(|piece| piece.edit_texts(edit));
            }
            Self::Relation { before, after } => before.iter_mut().chain(after).for_each(|one| one.edit_texts(edit)),
            Self::Tombstone { before, after } => {
                before.iter_mut().chain(after).for_each(|note| note.reason.edit_texts(edit));
            }
        }
    }
}

impl Redact for Relation {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.reason.edit_texts(edit);
    }
}

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

    /// Adds a memory that is based on this evidence; `reason` explains why it was added.
    pub(crate) fn make(&mut self, memory: Memory, evidence: &[Evidence], reason: Option<&str>) {
        let id = memory.id.clone();
        self.changes.push(RowChange::new(Action::Add, Row::memory(None, Some(memory)), reason));
        self.gain(&id, evidence);
    }

    /// Changes a memory, unless `after` equals its current state.
    pub(crate) fn change(&mut self, before: &Memory, after: Memory) {
        let row = Row::memory(Some(before.clone()), Some(Memory { updated_at: self.now, ..after }));
        // `updated_at` always differs, and uses are counted elsewhere, so a change to these alone is not recorded.
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

    /// Supersedes a memory for a reason that is not that of the decision.
    pub(crate) fn supersede(&mut self, memory: &Memory, by: &MemoryId, reason: &str) {
        let after = Memory { status: Status::Superseded, updated_at: self.now, ..memory.clone() };
        let row = Row::memory(Some(memory.clone()), Some(after));
        self.changes.push(RowChange::new(Action::Supersede, row, Some(reason)));
        self.link(by, RelationType::Supersedes, &memory.id, Some(reason));
    }

    /// Adds evidence to a memory.
    pub(crate) fn gain(&mut self, id: &MemoryId, evidence: &[Evidence]) {
        let change = |piece| RowChange::new(Action::Evidence, Row::new_evidence(id.clone(), piece), None::<&str>);
        self.changes.extend(evidence.iter().map(change));
    }

    /// Links two memories; `reason` defaults to that of the decision.
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

/// Returns a memory as it is stored.
pub(crate) fn memory_as_stored(memory: &Memory) -> Memory {
    let mut stored = memory.clone();
    let claim = &mut stored.claim;
    claim.importance = share_as_stored(claim.importance);
    claim.confidence = share_as_stored(claim.confidence);
    for at in [&mut claim.valid_from, &mut claim.valid_to, &mut claim.expires_at, &mut stored.deleted_at] {
        *at = at.map(time_as_stored);
    }
    for at in [&mut stored.usage.last_accessed_at, &mut stored.usage.last_promoted_at] {
        *at = at.map(time_as_stored);
    }
    stored.created_at = time_as_stored(stored.created_at);
    stored.updated_at = time_as_stored(stored.updated_at);
    stored
}

/// Returns a piece of evidence as it is stored.
pub(crate) fn evidence_as_stored(piece: &Evidence) -> Evidence {
    let said_at = piece.said_at.map(|said| MessageTime { at: time_as_stored(said.at), ..said });
    Evidence { said_at, ..piece.clone() }
}

/// Returns a number between 0 and 1, rounded so that reading its JSON form gives the same number.
pub(crate) fn share_as_stored(share: f64) -> f64 {
    // Six decimal places are preserved by JSON and SQLite, so a changeset can be compared with the row by value.
    if share.is_finite() { (share.clamp(0.0, 1.0) * 1e6).round() / 1e6 } else { 0.0 }
}

/// Returns a time in whole milliseconds.
pub(crate) fn time_as_stored(at: Timestamp) -> Timestamp {
    // The database stores milliseconds; finer times would make every applied row differ from its change.
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}
