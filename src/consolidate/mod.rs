//! From candidates to changes: what is new, what is known, what takes the place of what.

mod cues;
pub mod features;
pub mod key;
pub mod text;

use serde::{Deserialize, Serialize};

use crate::memory::{Candidate, Claim, MemoryId, Namespace};

/// What is done with an incoming candidate. One vocabulary everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Nothing like it is known: a new memory.
    Add,
    /// It is known, from the same words: nothing changes.
    Skip,
    /// Both say part of one thing: the target takes the richer wording.
    Merge,
    /// It says the target in more detail: a new memory takes the target's place.
    Refine,
    /// Both cannot hold: the one that holds later takes the other's place, or both wait for a person.
    Contradict,
    /// It is known, from other words: the target gains evidence and confidence.
    Support,
}

/// Why two claims that cannot both hold came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conflict {
    /// The world moved on.
    Changed,
    /// The older one was never so.
    Corrected,
    /// Not resolved: both are kept, linked, and the incoming one waits in the inbox.
    Conflict,
}

/// A candidate with the place where it would be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// What is proposed.
    pub candidate: Candidate,
    /// Where it belongs.
    pub namespace: Namespace,
    /// Where it came from, stored as the memory's `source`.
    pub source: String,
}

/// A list of changes that can be printed, reviewed, applied in one transaction, and undone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// One change for each incoming candidate, in order.
    pub changes: Vec<Change>,
}

/// What becomes of one incoming candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The candidate.
    pub incoming: Incoming,
    /// What is done with it.
    pub decision: Decision,
    /// For [`Decision::Contradict`]: why.
    pub conflict: Option<Conflict>,
    /// The known memory that the decision is about; `None` for [`Decision::Add`] only.
    pub target: Option<MemoryId>,
    /// Id that a new memory gets; `None` where none is made.
    pub new_id: Option<MemoryId>,
    /// For [`Decision::Merge`]: what the target says afterwards.
    pub merged: Option<Claim>,
    /// Whether the incoming claim is the older one by valid time, and is kept as superseded from the start.
    pub born_superseded: bool,
    /// Whether it waits in the inbox instead of being active: an open conflict, or a pinned target.
    pub pending: bool,
    /// Why, in a few words, for people.
    pub reason: String,
}
