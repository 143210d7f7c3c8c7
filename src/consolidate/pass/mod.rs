//! A full pass: the memories of a namespace are compared with each other, long after they were learnt.
//!
//! ```text
//! Field (all that is active) ─▶ tasks ─▶ same ─▶ lists ─▶ reflect ─▶ links ─▶ changes ─▶ one transaction
//!        ▲                              (model)          (model)                        │
//!        └───────────────── another round, until one finds nothing to do ◀──────────────┘
//! ```
//!
//! Every step is a function from the field to changes; what an earlier step did, the next one sees. Nothing is written
//! before all of them are done, and only if nobody changed the namespace meanwhile: then it is read and done again.

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

/// Calls that a pass makes at most for each active memory.
// A limit in proportion keeps the cost of a pass predictable; pairs beyond it wait for the next one.
pub(crate) const MAX_CALLS_PER_MEMORY: f64 = 0.15;

/// Calls that a pass may make however few memories there are, so that one pass is enough for a small file.
pub(crate) const MIN_CALLS: u64 = 4;

/// What a pass works with.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a, C> {
    /// Where the memories are.
    pub store: &'a Store,
    /// What takes secrets out.
    pub guard: &'a Guard,
    /// The model that is asked where the rules do not decide.
    pub model: Option<&'a C>,
    /// The run that the changes belong to.
    pub run: Option<&'a RunId>,
    /// The present.
    pub now: Timestamp,
    /// Calls that are left to the whole pass.
    pub allowance: &'a Allowance,
    /// What is done with what an undo took back.
    pub taken_back: UndonePolicy,
}

/// What is done with what an undo took back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndonePolicy {
    /// It is not done again.
    Stays,
    /// It is done again like anything else.
    Again,
}

impl<C: Complete> Terms<'_, C> {
    /// Returns the name of who judges, for the mark of a finished pass.
    fn judge(&self) -> String {
        self.model.map_or_else(|| RULES.to_owned(), |model| model.model().to_owned())
    }
}

/// The name of the rules in the mark of a finished pass; another version of them looks at everything again.
const RULES: &str = "rules-1";

/// Calls that may still be made.
#[derive(Debug)]
pub struct Allowance(Cell<u64>);

impl Allowance {
    /// Returns what `memories` active memories allow for: `MIN_CALLS` at least.
    #[must_use]
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    pub fn of(memories: usize) -> Self {
        Self(Cell::new(((memories as f64 * MAX_CALLS_PER_MEMORY) as u64).max(MIN_CALLS)))
    }

    /// Takes at most `wanted` calls, and returns how many it has.
    fn take(&self, wanted: usize) -> usize {
        let given = self.0.get().min(wanted as u64);
        self.0.set(self.0.get() - given);
        usize::try_from(given).unwrap_or(wanted)
    }
}

/// The results of a pass, in one namespace or in several.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Active memories when it began.
    pub memories: usize,
    /// Active memories when it ended.
    pub active: usize,
    /// What was done, by kind.
    pub steps: BTreeMap<Action, u64>,
    /// Changes that were not made because a memory is pinned.
    pub held_by_pins: u64,
    /// Pairs and groups that a model was asked about.
    pub asked: u64,
    /// Pairs and groups that are left to a later pass, since no calls were left to this one.
    pub not_asked: u64,
    /// Calls that gave nothing usable.
    pub failed_calls: u64,
    /// Calls and tokens.
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
    /// The neighbours of some memories were looked up: how many so far, and of how many.
    LookedUp(&'a Namespace, usize, usize),
    /// A step begins.
    Step(&'a Namespace, &'static str),
    /// Changes were written.
    Did(&'a Namespace, &'a [PassChange]),
    /// A change was not made because a memory is pinned; in a few words.
    Held(&'a Namespace, &'a str),
}
