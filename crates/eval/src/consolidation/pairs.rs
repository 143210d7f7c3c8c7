//! Scores the decision about a pair, and the memories afterwards.

use std::collections::BTreeSet;

use crate::files::Placed;
use crate::results::{Confusion, Row};
use crate::vocabulary::{Conflict, Decision, Kind, PairFault, Status};

use super::cases::{Pair, joins};
use super::controls::word_counts;

/// A memory after the decision was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryAfter {
    /// Status of the memory.
    pub status: Status,
    /// Content of the memory.
    pub content: String,
    /// Whether this is the known memory.
    pub is_known: bool,
    /// Whether the memory quotes the source of the known memory.
    pub rests_on_known: bool,
    /// Whether the memory quotes the source of the incoming memory.
    pub rests_on_incoming: bool,
}

/// The outcome of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PairOutcome {
    /// The decision.
    pub decision: Decision,
    /// The reason given for the decision.
    pub reason: String,
    /// Why both cannot be true.
    pub conflict: Option<Conflict>,
    /// Whether the incoming memory was judged to be the older memory.
    pub late: bool,
    /// Whether the decision waits for a person to confirm it.
    pub waits: bool,
    /// Whether the decision concerns a memory other than the known one.
    pub elsewhere: bool,
    /// Whether the known memory was among the candidates for comparison; `None` if their namespaces differ.
    pub found: Option<bool>,
    /// Every memory of the case.
    pub after: Vec<MemoryAfter>,
}

/// Returns the row of a pair, without suite, repetition and cost.
pub fn score_pair(placed: &Placed<Pair>, outcome: &PairOutcome) -> Row {
    let pair = &placed.case;
    let faults = faults_of(pair, outcome);
    let phenomena = std::iter::once(pair.phenomenon.clone()).chain(pair.hard.map(|hard| hard.to_string()));
    let mut row = Row { phenomena: phenomena.collect(), ..placed.row(Kind::Pair) };
    let judged = Judged::new(pair, outcome);
    let has = |fault: PairFault| u64::from(faults.contains(&fault));
    let hard = u64::from(pair.hard.is_some());
    row.ratio("accuracy", u64::from(judged.accepted), 1);
    row.ratio("all right", u64::from(faults.is_empty()), 1);
    row.checked("reason", judged.is_why_right());
    row.checked("order", judged.is_late_right());
    row.ratio("false merges", has(PairFault::FalseMerge), hard);
    row.ratio("hard retired", hard * has(PairFault::WrongRetirement), hard);
    let contradicts = u64::from(pair.expect == Decision::Contradict);
    row.ratio("missed", has(PairFault::MissedContradiction), contradicts);
    row.ratio("wrong retirements", has(PairFault::WrongRetirement), 1);
    row.ratio("lost facts", has(PairFault::LostKnown) + has(PairFault::LostIncoming), 1);
    row.ratio("lost details", has(PairFault::LostDetail), 1);
    // If the incoming memory should be added, there was no memory to find.
    row.checked("neighbours", outcome.found.filter(|_| pair.expect != Decision::Add));
    row.confusion.push(Confusion {
        of: "decision".to_owned(),
        expected: pair.expect.to_string(),
        got: outcome.decision.to_string(),
        count: 1,
    });
    let elsewhere = if outcome.elsewhere { " of another memory" } else { "" };
    let got = describe(outcome.decision, outcome.conflict, outcome.late, outcome.waits) + elsewhere;
    let why = format!("expected {}, got {got}: {}", expected(pair), outcome.reason);
    for fault in faults.iter().rev() {
        row.fault(fault.as_str(), fault.as_str(), &pair.incoming.content, &why);
    }
    row
}

/// Returns the expected decisions, such as `contradict (changed, late) or add`.
fn expected(pair: &Pair) -> String {
    let mut text = describe(pair.expect, pair.why, pair.late, false);
    for other in &pair.accepted {
        text.push_str(" or ");
        text.push_str(other.as_str());
    }
    text
}

/// Returns a decision with its qualifiers, such as `contradict (changed, late)`.
fn describe(decision: Decision, conflict: Option<Conflict>, late: bool, waits: bool) -> String {
    let marks = [conflict.map(Conflict::as_str), late.then_some("late"), waits.then_some("waits")];
    let marks: Vec<&str> = marks.into_iter().flatten().collect();
    if marks.is_empty() { decision.to_string() } else { format!("{decision} ({})", marks.join(", ")) }
}

/// Returns the faults in the order of [`PairFault`].
pub(super) fn faults_of(pair: &Pair, outcome: &PairOutcome) -> Vec<PairFault> {
    let judged = Judged::new(pair, outcome);
    let loses = judged.loses_known() || judged.loses_incoming();
    let false_merge = pair.hard.is_some() && !judged.accepted && joins(outcome.decision);
    let checks: &[(PairFault, bool)] = &[
        (PairFault::Decision, !judged.accepted),
        (PairFault::Why, judged.is_why_right() == Some(false)),
        (PairFault::Late, judged.is_late_right() == Some(false)),
        (PairFault::FalseMerge, false_merge),
        (PairFault::WrongRetirement, judged.retires_wrongly()),
        (PairFault::MissedContradiction, judged.misses()),
        (PairFault::LostKnown, judged.loses_known() && !judged.is_only_detail()),
        (PairFault::LostIncoming, judged.loses_incoming() && !judged.is_only_detail()),
        (PairFault::LostDetail, loses && judged.is_only_detail()),
    ];
    checks.iter().filter(|(_, wrong)| *wrong).map(|(fault, _)| *fault).collect()
}

struct Judged<'a> {
    pair: &'a Pair,
    outcome: &'a PairOutcome,
    /// Whether the decision is right and concerns the right memory.
    accepted: bool,
    /// The decision that determines what must remain.
    wanted: Decision,
}

impl<'a> Judged<'a> {
    fn new(pair: &'a Pair, outcome: &'a PairOutcome) -> Self {
        // Adding is right regardless of the memory compared; every other decision must concern the known memory.
        let listed = outcome.decision == pair.expect || pair.accepted.contains(&outcome.decision);
        let accepted = listed && (!outcome.elsewhere || outcome.decision == Decision::Add);
        Self { pair, outcome, accepted, wanted: if accepted { outcome.decision } else { pair.expect } }
    }

    fn contradicts_as_expected(&self) -> bool {
        self.pair.expect == Decision::Contradict && self.outcome.decision == Decision::Contradict && self.accepted
    }

    fn is_why_right(&self) -> Option<bool> {
        self.contradicts_as_expected().then(|| self.outcome.conflict == self.pair.why)
    }

    /// Returns whether the order of the two memories is right, or `None` if a person has to decide, because then
    /// neither memory counts as the older one.
    fn is_late_right(&self) -> Option<bool> {
        // Until a person has resolved a conflict, neither memory counts as the later one.
        let resolved = self.pair.why != Some(Conflict::Conflict) && !self.outcome.waits;
        (self.contradicts_as_expected() && resolved).then_some(self.outcome.late == self.pair.late)
    }

    fn misses(&self) -> bool {
        self.pair.expect == Decision::Contradict && self.outcome.decision != Decision::Contradict && !self.accepted
    }

    /// Returns whether the known memory should be retired.
    fn known_goes(&self) -> bool {
        self.wanted == Decision::Contradict
            && !self.pair.part
            && !self.pair.late
            && self.pair.why != Some(Conflict::Conflict)
    }

    fn retires_wrongly(&self) -> bool {
        // A contradiction that is waiting for a person has not retired any memory yet.
        let contradicts = self.outcome.decision == Decision::Contradict && !self.outcome.waits;
        if !contradicts {
            return false;
        }
        let incoming_goes = self.wanted == Decision::Contradict && self.pair.late;
        if self.outcome.late {
            !incoming_goes
        } else {
            !self.known_goes() && !self.keeps(&self.pair.known.content) && !self.keeps_rest()
        }
    }

    /// Returns whether an active memory has `content`, or at least all of its words.
    fn keeps(&self, content: &str) -> bool {
        let words: BTreeSet<String> = word_counts(content).into_keys().collect();
        self.outcome.after.iter().filter(|after| after.status == Status::Active).any(|after| {
            let said: BTreeSet<String> = word_counts(&after.content).into_keys().collect();
            after.content == content || words.is_subset(&said)
        })
    }

    /// Returns whether a separate memory states the part of the known memory that is still true.
    fn keeps_rest(&self) -> bool {
        self.pair.part && self.rests(|after| after.rests_on_known && !after.rests_on_incoming, false)
    }

    fn rests(&self, on: fn(&MemoryAfter) -> bool, waiting_counts: bool) -> bool {
        let is_there = |status| status == Status::Active || (waiting_counts && status == Status::Pending);
        self.outcome.after.iter().any(|after| is_there(after.status) && on(after))
    }

    fn loses_known(&self) -> bool {
        if self.known_goes() {
            return false;
        }
        let says_as_much = match self.wanted {
            Decision::Skip | Decision::Support | Decision::Refine => true,
            Decision::Merge => self.accepted,
            Decision::Add | Decision::Contradict => false,
        };
        let still = self.rests(|after| after.is_known, false);
        !(self.keeps_rest()
            || self.keeps(&self.pair.known.content)
            || still && !self.rewords()
            || says_as_much && self.rests(|after| after.rests_on_known, false))
    }

    /// Returns whether the known memory was reworded.
    fn rewords(&self) -> bool {
        self.outcome.after.iter().any(|after| after.is_known && after.content != self.pair.known.content)
    }

    fn loses_incoming(&self) -> bool {
        let must_be_said = match self.wanted {
            Decision::Skip | Decision::Support => false,
            Decision::Add | Decision::Merge | Decision::Refine => true,
            Decision::Contradict => !self.pair.late,
        };
        if !must_be_said {
            return false;
        }
        let own = self.rests(|after| after.rests_on_incoming && !after.rests_on_known, true);
        let taken_up = self.accepted && self.rests(|after| after.rests_on_incoming, true);
        let said = self.outcome.after.iter().any(|after| {
            let is_there = matches!(after.status, Status::Active | Status::Pending);
            is_there && after.content == self.pair.incoming.content
        });
        !(own || taken_up || said || self.keeps(&self.pair.incoming.content))
    }

    /// Returns whether both memories state the same fact, in which case only a detail can be lost.
    const fn is_only_detail(&self) -> bool {
        match self.wanted {
            Decision::Merge | Decision::Refine | Decision::Support | Decision::Skip => true,
            Decision::Add | Decision::Contradict => false,
        }
    }
}
