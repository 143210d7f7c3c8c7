//! Making a plan: each candidate is set against what is stored and against what earlier candidates became.

pub mod apply;
mod lines;
pub mod neighbours;
mod rounds;
pub(super) mod rows;
mod saved;
mod working;

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use crate::guard::{Suspicion, suspicion};
use crate::memory::{ExtractionMethod, MemoryId};

use self::working::Working;
use crate::consolidate::decide::asks::Ask;
use crate::consolidate::decide::named::Named;
use crate::consolidate::decide::order::When;
use crate::consolidate::decide::{decide, decided_before};
use crate::consolidate::{Change, Decision, Incoming, Known, Rejected, Rest, Ruling};

pub use lines::{DiffLine, Sign};
pub use rounds::settle;
pub use saved::{APPLY, AppliedPlan, Reviewed, SavedPlan, SavedPlanError, VERSION, applied_by, apply_saved};

/// A candidate with the memories that come into question.
#[derive(Debug, Clone, PartialEq)]
pub struct Surrounded {
    /// The candidate.
    pub incoming: Incoming,
    /// Id that a memory made of it gets.
    pub id: MemoryId,
    /// Stored memories of its namespace that come into question.
    pub known: Vec<Known>,
    /// Values that were rejected in its namespace.
    pub rejected: Vec<Rejected>,
    /// What the very same candidate led to before.
    pub settled: Option<MemoryId>,
}

/// What a model said, by index of the candidate.
pub type Answers = HashMap<usize, Answer>;

/// What a model said about one candidate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The known memories that it was asked about.
    pub about: BTreeSet<MemoryId>,
    /// The relations that it named; to all others the candidate has none.
    pub named: Vec<(MemoryId, Named)>,
}

/// A candidate that a model is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Index of the candidate.
    pub index: usize,
    /// The known memories that it may have to do with, as they are when its turn comes, the closest first.
    pub known: Vec<Known>,
    /// How close the first of them is, see [`Ask::closeness`].
    pub closeness: f64,
    /// Whether the rules leave it open, and not only ask to make sure.
    pub open: bool,
}

/// What a draft is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Finding questions: what is not answered is kept apart for now, so that later candidates are held against it.
    Asking,
    /// The plan itself: what is not answered is settled by the rules.
    Last,
}

/// Decides on `cases` in order and returns the changes with the questions that are not answered.
///
/// Each candidate sees what the ones before it became, so that duplicates within a batch collapse and a chain of
/// replacements ends with one active memory.
#[must_use]
pub fn draft(cases: &[Surrounded], answers: &Answers, stage: Stage, now: Timestamp) -> (Vec<Change>, Vec<Question>) {
    let mut working = Working::default();
    let (mut changes, mut questions) = (Vec::with_capacity(cases.len()), Vec::new());
    for (index, case) in cases.iter().enumerate() {
        let known = working.around(case);
        let suspicion = suspicion_of(&case.incoming);
        let before = case.settled.as_ref().and_then(|id| known.iter().find(|known| known.memory.id == *id));
        let verdict = before.map_or_else(|| decide(&case.incoming, &known, &case.rejected, now), decided_before);
        // An order is not put before a model, not even as one of two texts to compare.
        let asks = if suspicion.is_none() { verdict.asks } else { Vec::new() };
        let answer = answers.get(&index);
        let open: Vec<&Ask> =
            asks.iter().filter(|ask| answer.is_none_or(|answer| !answer.about.contains(&ask.id))).collect();
        if let Some(first) = open.first() {
            let known = asked_about(&known, &open);
            questions.push(Question { index, closeness: first.closeness, open: verdict.open, known });
        }
        let ruling = match answer {
            Some(answer) if !asks.is_empty() => working.answered(case, &known, answer, now),
            None if !asks.is_empty() && stage == Stage::Asking => Ruling::new(Decision::Add, "not asked yet"),
            Some(_) | None => verdict.ruling,
        };
        let ruling = match suspicion {
            Some(why) => held_back(ruling, why),
            None => ruling,
        };
        let mut change = Change::new(case, ruling, &known, now);
        let targets: Vec<Known> =
            known.into_iter().filter(|known| change.targets().any(|id| *id == known.memory.id)).collect();
        change.rows = rows::rows(&change, &targets, now);
        working.apply(&change, targets);
        working.note_absorbed(&case.id, &change);
        changes.push(change);
    }
    (changes, questions)
}

/// What a person writes by hand is theirs to say.
fn suspicion_of(incoming: &Incoming) -> Option<Suspicion> {
    let by_hand = incoming.method == ExtractionMethod::Manual;
    if by_hand { None } else { suspicion(&incoming.candidate) }
}

/// Lets what would be made, or put in another's place, wait for a person instead.
fn held_back(ruling: Ruling, why: Suspicion) -> Ruling {
    match ruling.decision {
        Decision::Skip | Decision::Support => ruling,
        Decision::Add | Decision::Merge | Decision::Refine | Decision::Contradict => {
            Ruling { pending: true, reason: format!("{}; {}", why.reason(), ruling.reason), ..ruling }
        }
    }
}

fn asked_about(known: &[Known], asks: &[&Ask]) -> Vec<Known> {
    let find = |ask: &&Ask| known.iter().find(|known| known.memory.id == ask.id).cloned();
    asks.iter().filter_map(find).collect()
}

impl Change {
    fn new(case: &Surrounded, ruling: Ruling, known: &[Known], now: Timestamp) -> Self {
        let makes = match ruling.decision {
            Decision::Add | Decision::Refine | Decision::Contradict => true,
            Decision::Merge => ruling.pending,
            Decision::Skip | Decision::Support => false,
        };
        let before = known.iter().find(|known| Some(&known.memory.id) == ruling.target.as_ref());
        let candidate = &case.incoming.candidate;
        Self {
            incoming: case.incoming.clone(),
            decision: ruling.decision,
            conflict: ruling.conflict,
            target: ruling.target,
            also: ruling.also,
            related: ruling.related,
            new_id: makes.then(|| case.id.clone()),
            merged: ruling.merged,
            rest: ruling.rest.map(|claim| Rest { id: MemoryId::new(), claim }),
            born_superseded: ruling.born_superseded,
            pending: ruling.pending,
            reason: ruling.reason,
            before: before.map(|known| known.memory.claim.content.clone()),
            holds_from: When::of(&candidate.claim, &candidate.evidence, now).at,
            rows: Vec::new(),
        }
    }

    /// Returns the memories that the change is about, target first.
    pub fn targets(&self) -> impl Iterator<Item = &MemoryId> {
        self.target.iter().chain(&self.also)
    }
}
