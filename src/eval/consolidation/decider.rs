//! What decides: the rules, the rules with a model, or a control.

use std::cell::Cell;

use jiff::Timestamp;

use super::similar;
use crate::consolidate::plan::Surrounded;
use crate::consolidate::plan::settle;
use crate::consolidate::{Change, Decision};
use crate::guard::Guard;
use crate::llm::{Complete, Cost, LlmError, Reply, Request};

/// What is measured.
#[derive(Debug)]
pub enum Decider<'a, C> {
    /// The rules, with a model for what they leave open.
    Model(&'a C),
    /// The rules alone.
    Rules,
    /// Control: everything is new.
    AlwaysNew,
    /// Control: likeness of words decides, but for numbers and negations.
    Likeness,
}

impl<C> Clone for Decider<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Decider<'_, C> {}

/// What was decided about some candidates.
#[derive(Debug, Default)]
pub struct Decided {
    /// One change for each candidate, in order.
    pub changes: Vec<Change>,
    /// Questions that were not answered.
    pub failed_calls: u64,
}

impl<C: Complete> Decider<'_, C> {
    /// Whether each candidate must be settled before the next is looked at.
    #[must_use]
    pub const fn is_control(&self) -> bool {
        match self {
            Self::Model(_) | Self::Rules => false,
            Self::AlwaysNew | Self::Likeness => true,
        }
    }

    /// Returns what becomes of `cases`, all in one question where a model is asked.
    pub async fn decide(&self, cases: &[Surrounded], guard: &Guard, now: Timestamp) -> Decided {
        match self {
            Self::Model(model) => settled(cases, guard, Some(*model), now).await,
            Self::Rules => settled::<C>(cases, guard, None, now).await,
            Self::AlwaysNew => {
                let added = |case| change(case, Decision::Add, "everything is new");
                Decided { changes: cases.iter().map(added).collect(), failed_calls: 0 }
            }
            Self::Likeness => Decided { changes: cases.iter().map(similar::decide).collect(), failed_calls: 0 },
        }
    }
}

async fn settled<C: Complete>(cases: &[Surrounded], guard: &Guard, model: Option<&C>, now: Timestamp) -> Decided {
    let (plan, _) = settle(cases, guard, model, now).await;
    Decided { changes: plan.changes, failed_calls: plan.failed_calls }
}

/// Returns a change of `case` with nothing else set.
pub(super) fn change(case: &Surrounded, decision: Decision, reason: &str) -> Change {
    let makes = match decision {
        Decision::Add | Decision::Refine | Decision::Contradict => true,
        Decision::Skip | Decision::Support | Decision::Merge => false,
    };
    Change {
        incoming: case.incoming.clone(),
        decision,
        conflict: None,
        target: None,
        also: Vec::new(),
        related: None,
        new_id: makes.then(|| case.id.clone()),
        rest: None,
        merged: None,
        born_superseded: false,
        pending: false,
        reason: reason.to_owned(),
        before: None,
        holds_from: None,
        rows: Vec::new(),
    }
}

/// Answers nothing and counts how often it was asked.
#[derive(Debug, Default)]
pub struct Refusing {
    asked: Cell<u64>,
}

impl Refusing {
    /// Returns how often it was asked.
    #[must_use]
    pub const fn asked(&self) -> u64 {
        self.asked.get()
    }
}

impl Complete for Refusing {
    async fn complete(&self, _: &Request) -> Result<(Reply, Cost), LlmError> {
        self.asked.set(self.asked.get() + 1);
        Err(LlmError::InBatch)
    }

    fn model(&self) -> &'static str {
        "none"
    }
}
