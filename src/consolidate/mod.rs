//! Turns candidates into changes: decides which candidates are new, which are known, and which replace a memory.
//!
//! ```text
//! Incoming ─▶ neighbours ─▶ decide ─┬─ settled ─────────────▶ Plan ─▶ apply (one transaction)
//!                                   └─ grey ─▶ model names ──┘
//! ```
//!
//! Rules decide first. Pairs that the rules cannot decide are the grey zone. A model may name how two claims relate,
//! and the same rules then determine the result. Without a model, a trained classifier may find
//! that one claim makes the other untrue; otherwise, the cautious choice is to keep both memories and link them.

pub(crate) mod ask;
pub mod compare;
pub(crate) mod decide;
mod moving;
mod overlay;
pub mod pass;
pub mod plan;
mod restoring;

pub(crate) use moving::MoveReport;
pub use moving::merge_projects;
pub use plan::apply::{Applied, apply, consolidate, settle_by_rules};
pub(crate) use plan::apply::{ApplyError, apply_within, settle_by_rules_among};
pub(crate) use plan::neighbours::near;
pub(crate) use plan::rows::supported;
pub(crate) use plan::{APPLY, applied_by};
pub use plan::{AppliedPlan, ReviewedChange, SavedPlan, SavedPlanError, apply_saved};
pub(crate) use restoring::restore;
pub use restoring::{Restored, RivalPolicy};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::changeset::{Action, RowChange};
use crate::memory::{Audience, Candidate, Claim, Evidence, ExtractionMethod, Memory, MemoryId, Namespace, Usage};

/// The decision about an incoming candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Nothing similar is stored: the candidate becomes a new memory.
    Add,
    /// The statement is already stored from the same words: nothing changes.
    Skip,
    /// Each contains part of the same information: the target takes the richer wording.
    Merge,
    /// The candidate says the same as the target in more detail: a new memory replaces the target.
    Refine,
    /// Both cannot be true: the claim that is true later replaces the other, or both wait for a person.
    Contradict,
    /// The statement is already stored from other words: the target gains evidence and confidence.
    Support,
}

impl Decision {
    /// Every decision, in the order in which they are counted and printed.
    pub(crate) const ALL: &[Self] =
        &[Self::Add, Self::Skip, Self::Merge, Self::Refine, Self::Contradict, Self::Support];

    /// Returns the spelling used in JSON and on the command line.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        self.action().as_str()
    }

    /// Returns the word used for the decision in the history.
    #[must_use]
    pub(crate) const fn action(self) -> Action {
        match self {
            Self::Add => Action::Add,
            Self::Skip => Action::Skip,
            Self::Merge => Action::Merge,
            Self::Refine => Action::Refine,
            Self::Contradict => Action::Contradict,
            Self::Support => Action::Support,
        }
    }
}

/// The reason why two claims contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Conflict {
    /// The facts have changed.
    Changed,
    /// The older claim was never true.
    Corrected,
    /// The contradiction is not resolved: both memories are kept and linked, and the incoming one waits in the inbox.
    Conflict,
}

impl Conflict {
    /// Returns the spelling used in JSON and as the reason of a relation.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Corrected => "corrected",
            Self::Conflict => "conflict",
        }
    }
}

/// A candidate with the namespace in which it would be stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncomingClaim {
    /// The proposed memory.
    pub candidate: Candidate,
    /// The namespace that the candidate belongs to.
    pub namespace: Namespace,
    /// The origin of the candidate, stored as the memory's `source`.
    pub source: String,
    /// The way in which the candidate was obtained.
    pub method: ExtractionMethod,
    /// The id of the memory if the candidate becomes a new one; by default, an id is assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MemoryId>,
    /// The past of an imported memory, which a new memory takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<ImportedState>,
    /// Whether the candidate waits for review by a person, whatever it says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
    /// Whether the candidate was written before, so that it only concerns what is new beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_later: bool,
}

/// The parts of an imported memory that do not depend on what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedState {
    /// Time at which the memory was learnt.
    pub created_at: Timestamp,
    /// Time of the memory's last change.
    pub updated_at: Timestamp,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// The number and times of the memory's uses.
    pub usage: Usage,
}

impl IncomingClaim {
    /// Returns the claim of a stored memory as if it arrived in `namespace`.
    pub(crate) fn of(memory: &Memory, evidence: Vec<Evidence>, namespace: &Namespace) -> Self {
        Self {
            candidate: Candidate::new(memory.claim.clone(), Audience::Project, evidence),
            namespace: namespace.clone(),
            source: memory.source.clone(),
            method: memory.extraction_method,
            id: None,
            past: None,
            needs_review: false,
            is_later: false,
        }
    }
}

/// A memory that an incoming candidate is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The memory, of any status.
    pub memory: Memory,
    /// Evidence for the memory.
    pub evidence: Vec<Evidence>,
    /// Whether the plan in progress would create or change the memory.
    pub fresh: bool,
}

/// A value that a person rejected, and that must not be learnt again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The rejected content; empty if it is no longer known.
    pub content: String,
    /// Attribute of the rejected memory.
    pub key: Option<String>,
    /// The attribute's value.
    pub value: Option<String>,
}

/// The decision about one candidate, before ids and wording are determined.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ruling {
    /// The decision.
    pub decision: Decision,
    /// For [`Decision::Contradict`]: the kind of conflict.
    pub conflict: Option<Conflict>,
    /// The known memory that the decision is about.
    pub target: Option<MemoryId>,
    /// Further known memories that the candidate replaces.
    pub also: Vec<MemoryId>,
    /// A memory on the same topic, to which the new memory is linked.
    pub related: Option<MemoryId>,
    /// For [`Decision::Merge`]: the merged claim of the target.
    pub merged: Option<Claim>,
    /// For [`Decision::Contradict`]: the part of the target that is still true, to be kept as a separate memory.
    pub rest: Option<Claim>,
    /// Whether the incoming claim is the older of the two.
    pub born_superseded: bool,
    /// Whether the new memory waits in the inbox.
    pub pending: bool,
    /// A short reason.
    pub reason: String,
}

/// A list of changes that can be printed, reviewed, applied in one transaction, and undone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// One change for each incoming candidate, in order.
    pub changes: Vec<Change>,
    /// Revision of each namespace when its memories were read. A plan is stale if one of the revisions has changed.
    #[serde(default)]
    pub revisions: Vec<(Namespace, i64)>,
    /// Model calls that failed; their candidates were decided by the cautious choice.
    #[serde(default)]
    pub failed_calls: u64,
}

/// The author of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A person, whose decision is final.
    Person,
    /// An agent, which may have been manipulated. Text that reads like an instruction is reviewed by a person first,
    /// and pinned memories are not changed.
    Agent,
}

impl Author {
    /// Returns the words that name the author of a change in the history.
    pub(crate) const fn by(self) -> &'static str {
        match self {
            Self::Person => "by hand",
            Self::Agent => "by an agent",
        }
    }
}

/// The change that results from one incoming candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The candidate.
    pub incoming: IncomingClaim,
    /// The decision.
    pub decision: Decision,
    /// For [`Decision::Contradict`]: the kind of conflict.
    pub conflict: Option<Conflict>,
    /// The known memory that the decision is about; `None` for [`Decision::Add`], and for a skipped value that was
    /// rejected before.
    pub target: Option<MemoryId>,
    /// Further known memories that are replaced.
    #[serde(default)]
    pub also: Vec<MemoryId>,
    /// A memory on the same topic, to which the new memory is linked as `related`.
    #[serde(default)]
    pub related: Option<MemoryId>,
    /// The id of the new memory; `None` if none is created.
    pub new_id: Option<MemoryId>,
    /// For [`Decision::Merge`]: the merged claim of the target.
    pub merged: Option<Claim>,
    /// For [`Decision::Contradict`]: the part of the target that is still true, kept as a separate memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// Whether the incoming claim is older by valid time, so that it is stored as superseded from the start.
    pub born_superseded: bool,
    /// Whether the memory waits in the inbox instead of being active, because of an open conflict or a pinned target.
    pub pending: bool,
    /// A short reason for people to read.
    pub reason: String,
    /// The content of the target when the plan was made, for people who review it.
    #[serde(default)]
    pub before: Option<String>,
    /// The time from which the incoming claim is true, as determined by the rules.
    #[serde(default)]
    pub holds_from: Option<Timestamp>,
    /// The rows that the change writes.
    #[serde(default)]
    pub rows: Vec<RowChange>,
}

impl Change {
    /// Returns a change that contains only a decision.
    pub(crate) fn of(incoming: IncomingClaim, decision: Decision, reason: impl Into<String>) -> Self {
        Self {
            incoming,
            decision,
            conflict: None,
            target: None,
            also: Vec::new(),
            related: None,
            new_id: None,
            merged: None,
            rest: None,
            born_superseded: false,
            pending: false,
            reason: reason.into(),
            before: None,
            holds_from: None,
            rows: Vec::new(),
        }
    }
}

/// The part of a partially contradicted memory that is still true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// The id of the memory.
    pub id: MemoryId,
    /// Claim of the memory, in the words of the contradicted memory.
    pub claim: Claim,
}

#[cfg(test)]
mod tests;
