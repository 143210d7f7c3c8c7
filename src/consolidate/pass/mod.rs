//! Performs a full pass, which compares the memories in a namespace with each other long after they were learnt.
//!
//! ```text
//! Field (active memories) ─▶ tasks ─▶ same ─▶ lists ─▶ reflect ─▶ links ─▶ changes ─▶ one transaction
//!        ▲                              (model)          (model)                        │
//!        └───────────────── another round until nothing is left to do ◀─────────────────┘
//! ```
//!
//! Every step is a function from the memories of a namespace to changes, and each step sees the changes of earlier
//! ones. Nothing is written until all steps are done, and only if nobody has changed the namespace in the meantime.
//! Otherwise, the namespace is read and processed again.

mod acts;
mod field;
mod judge;
mod links;
mod lists;
mod namespace;
mod reflect;
mod same;
mod tasks;

use std::cell::Cell;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::changeset::Action;
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::Complete;
use crate::memory::Namespace;
use crate::store::{RunId, Store};

pub(crate) use field::PassChange;
pub use namespace::pass_over;

/// Maximum number of calls by a pass for each active memory.
// A proportional limit keeps the cost of a pass predictable; further pairs wait for the next pass.
pub(crate) const MAX_CALLS_PER_MEMORY: f64 = 0.15;

/// Number of calls always available to a pass, so that one pass suffices for a small file.
pub(crate) const MIN_CALLS: u64 = 4;

/// The parameters of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a, C> {
    /// The store with the memories.
    pub store: &'a Store,
    /// The guard that redacts secrets.
    pub guard: &'a Guard,
    /// The model that is consulted if the rules cannot decide.
    pub model: Option<&'a C>,
    /// The run to which the changes belong.
    pub run: Option<&'a RunId>,
    /// The current time.
    pub now: Timestamp,
    /// The number of calls left for the whole pass.
    pub allowance: &'a Allowance,
    /// The treatment of changes that were undone.
    pub taken_back: UndonePolicy,
}

/// The treatment of changes that were undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndonePolicy {
    /// Changes that were undone are not made again.
    Stays,
    /// Changes that were undone are made again like any other change.
    Again,
}

impl<C: Complete> Terms<'_, C> {
    /// Returns the name of the judge, for the mark of a finished pass.
    fn judge(&self) -> String {
        self.model.map_or_else(|| RULES.to_owned(), |model| model.model().to_owned())
    }
}

/// Name of the rules, which is recorded when a pass is finished. After a change of this name, all memories are examined
/// again.
const RULES: &str = "rules-1";

/// The number of calls that may still be made.
#[derive(Debug)]
pub struct Allowance(Cell<u64>);

impl Allowance {
    /// Returns the allowance for `memories` active memories: at least `MIN_CALLS`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    pub fn of(memories: usize) -> Self {
        Self(Cell::new(((memories as f64 * MAX_CALLS_PER_MEMORY) as u64).max(MIN_CALLS)))
    }

    /// Takes up to `wanted` calls, and returns how many were available.
    fn take(&self, wanted: usize) -> usize {
        let given = self.0.get().min(wanted as u64);
        self.0.set(self.0.get() - given);
        usize::try_from(given).unwrap_or(wanted)
    }
}

/// The results of a pass in one or several namespaces.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Number of active memories at the beginning.
    pub memories: usize,
    /// Number of active memories at the end.
    pub active: usize,
    /// The changes made, by kind.
    pub steps: BTreeMap<Action, u64>,
    /// Changes that were not made because a memory is pinned.
    pub held_by_pins: u64,
    /// Pairs and groups that a model was asked about.
    pub asked: u64,
    /// Pairs and groups that are left to a later pass because no calls remained.
    pub not_asked: u64,
    /// Calls without a usable reply.
    pub failed_calls: u64,
    /// The cost in calls and tokens.
    #[serde(skip)]
    pub spent: Spent,
    /// Whether the last round found nothing more to do.
    #[serde(skip)]
    pub is_settled: bool,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.memories += other.memories;
        self.active += other.active;
        for (step, count) in other.steps {
            *self.steps.entry(step).or_default() += count;
        }
        self.held_by_pins += other.held_by_pins;
        self.asked += other.asked;
        self.not_asked += other.not_asked;
        self.failed_calls += other.failed_calls;
        self.spent += other.spent;
        self.is_settled &= other.is_settled;
    }
}

/// Progress of a pass, for display.
#[derive(Debug)]
pub enum Event<'a> {
    /// The neighbours of some memories were looked up: the number so far, and the total.
    LookedUp(&'a Namespace, usize, usize),
    /// A step begins.
    Step(&'a Namespace, &'static str),
    /// Changes were written.
    Did(&'a Namespace, &'a [PassChange]),
    /// A change was not made because a memory is pinned; contains a short description.
    Held(&'a Namespace, &'a str),
}
