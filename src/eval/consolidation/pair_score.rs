//! What was right and what went wrong with a pair.

use serde::Serialize;

use super::counts::Counts;
use super::form::Pair;
use super::similar;
use crate::consolidate::{Conflict, Decision};
use crate::memory::Status;

/// A memory when all is done.
#[derive(Debug, Clone, PartialEq)]
pub struct After {
    /// Its status.
    pub status: Status,
    /// What it says.
    pub content: String,
    /// Whether it is the very memory that was known.
    pub is_known: bool,
    /// Whether it rests on the words of the known one.
    pub rests_on_known: bool,
    /// Whether it rests on the words of the incoming one.
    pub rests_on_incoming: bool,
}

/// What became of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Fate {
    /// What was decided.
    pub decision: Decision,
    /// Why both cannot hold.
    pub conflict: Option<Conflict>,
    /// Whether the incoming one was taken as the older.
    pub late: bool,
    /// Whether it waits for a person.
    pub waits: bool,
    /// Whether the decision is about a memory other than the known one.
    pub elsewhere: bool,
    /// Whether the known one was among those looked at; `None` where it may not be.
    pub found: Option<bool>,
    /// Every memory of the case.
    pub after: Vec<After>,
}

/// What can go wrong with a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairFault {
    /// The decision is none of those that are right.
    Decision,
    /// It contradicts, but for another reason.
    Why,
    /// It contradicts, but the other way round in time.
    Late,
    /// A hard case was joined.
    FalseMerge,
    /// What holds was retired.
    WrongRetirement,
    /// A contradiction was not seen.
    MissedContradiction,
    /// The known claim should be recalled, and no memory says it.
    LostKnown,
    /// The incoming claim should be recalled or wait, and no memory says it.
    LostIncoming,
    /// A detail that only one of the two says is in no memory.
    LostDetail,
}

impl PairFault {
    /// Returns it as people read it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "wrong decision",
            Self::Why => "wrong reason",
            Self::Late => "wrong order in time",
            Self::FalseMerge => "false merge",
            Self::WrongRetirement => "wrongly retired",
            Self::MissedContradiction => "missed contradiction",
            Self::LostKnown => "known fact lost",
            Self::LostIncoming => "incoming fact lost",
            Self::LostDetail => "detail lost",
        }
    }
}

/// Returns what went wrong, in the order of [`PairFault`], and what is counted.
#[must_use]
pub fn score(pair: &Pair, fate: &Fate) -> (Vec<PairFault>, Counts) {
    let judged = Judged::new(pair, fate);
    let checks: &[(PairFault, bool)] = &[
        (PairFault::Decision, !judged.accepted),
        (PairFault::Why, judged.is_why_right() == Some(false)),
        (PairFault::Late, judged.is_late_right() == Some(false)),
        (PairFault::FalseMerge, pair.hard.is_some() && !judged.accepted && is_joining(fate.decision)),
        (PairFault::WrongRetirement, judged.retires_wrongly()),
        (PairFault::MissedContradiction, judged.misses()),
        (PairFault::LostKnown, judged.loses_known() && !judged.is_only_detail()),
        (PairFault::LostIncoming, judged.loses_incoming() && !judged.is_only_detail()),
        (PairFault::LostDetail, (judged.loses_known() || judged.loses_incoming()) && judged.is_only_detail()),
    ];
    let faults: Vec<PairFault> = checks.iter().filter(|(_, wrong)| *wrong).map(|(fault, _)| *fault).collect();
    let counts = judged.counts(&faults);
    (faults, counts)
}

const fn is_joining(decision: Decision) -> bool {
    match decision {
        Decision::Skip | Decision::Support | Decision::Merge | Decision::Refine => true,
        Decision::Add | Decision::Contradict => false,
    }
}

struct Judged<'a> {
    pair: &'a Pair,
    fate: &'a Fate,
    /// Whether the decision is one that is right, about the right memory.
    accepted: bool,
    /// What is taken as right when it is asked what must be recalled.
    wanted: Decision,
}

impl<'a> Judged<'a> {
    fn new(pair: &'a Pair, fate: &'a Fate) -> Self {
        let listed = fate.decision == pair.expect || pair.accepted.contains(&fate.decision);
        let accepted = listed && (!fate.elsewhere || fate.decision == Decision::Add);
        Self { pair, fate, accepted, wanted: if accepted { fate.decision } else { pair.expect } }
    }

    fn contradicts_as_expected(&self) -> bool {
        self.pair.expect == Decision::Contradict && self.fate.decision == Decision::Contradict && self.accepted
    }

    fn is_why_right(&self) -> Option<bool> {
        self.contradicts_as_expected().then(|| self.fate.conflict == self.pair.why)
    }

    /// Where both wait for a person nothing is older.
    fn is_late_right(&self) -> Option<bool> {
        let settled = self.pair.why != Some(Conflict::Conflict) && !self.fate.waits;
        (self.contradicts_as_expected() && settled).then_some(self.fate.late == self.pair.late)
    }

    fn misses(&self) -> bool {
        self.pair.expect == Decision::Contradict && self.fate.decision != Decision::Contradict && !self.accepted
    }

    /// Whether the world moves on from the known one.
    fn known_goes(&self) -> bool {
        self.wanted == Decision::Contradict
            && !self.pair.part
            && !self.pair.late
            && self.pair.why != Some(Conflict::Conflict)
    }

    fn retires_wrongly(&self) -> bool {
        let contradicts = self.fate.decision == Decision::Contradict && !self.fate.waits;
        if !contradicts {
            return false;
        }
        let incoming_goes = self.wanted == Decision::Contradict && self.pair.late;
        if self.fate.late { !incoming_goes } else { !self.known_goes() && !self.keeps(&self.pair.known.content) }
    }

    /// Whether a recalled memory says `content`, or at least all of its words.
    fn keeps(&self, content: &str) -> bool {
        let words = similar::counts(content);
        self.fate.after.iter().filter(|after| after.status == Status::Active).any(|after| {
            let said = similar::counts(&after.content);
            after.content == content || words.keys().all(|word| said.contains_key(word))
        })
    }

    fn rests(&self, on: fn(&After) -> bool, waiting_counts: bool) -> bool {
        let is_there = |status| status == Status::Active || (waiting_counts && status == Status::Pending);
        self.fate.after.iter().any(|after| is_there(after.status) && on(after))
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
        !(self.keeps(&self.pair.known.content)
            || still && !self.rewords()
            || says_as_much && self.rests(|after| after.rests_on_known, false))
    }

    /// Whether the known memory itself says something else now.
    fn rewords(&self) -> bool {
        self.fate.after.iter().any(|after| after.is_known && after.content != self.pair.known.content)
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
        let said = self.fate.after.iter().any(|after| {
            let is_there = matches!(after.status, Status::Active | Status::Pending);
            is_there && after.content == self.pair.incoming.content
        });
        !(own || taken_up || said || self.keeps(&self.pair.incoming.content))
    }

    /// Whether both say the same thing, so that only a detail of one can be lost.
    const fn is_only_detail(&self) -> bool {
        match self.wanted {
            Decision::Merge | Decision::Refine | Decision::Support | Decision::Skip => true,
            Decision::Add | Decision::Contradict => false,
        }
    }

    fn counts(&self, faults: &[PairFault]) -> Counts {
        let (pair, fate) = (self.pair, self.fate);
        let has = |fault| u64::from(faults.contains(&fault));
        let exact = faults.is_empty();
        let mut counts = Counts {
            pairs: 1,
            right: u64::from(self.accepted),
            exact: u64::from(exact),
            reasons: u64::from(self.is_why_right().is_some()),
            reasons_right: u64::from(self.is_why_right() == Some(true)),
            orders: u64::from(self.is_late_right().is_some()),
            orders_right: u64::from(self.is_late_right() == Some(true)),
            hard: u64::from(pair.hard.is_some()),
            false_merges: has(PairFault::FalseMerge),
            wrong_retirements: has(PairFault::WrongRetirement),
            hard_retired: if pair.hard.is_some() { has(PairFault::WrongRetirement) } else { 0 },
            contradictions: u64::from(pair.expect == Decision::Contradict),
            missed: has(PairFault::MissedContradiction),
            lost: has(PairFault::LostKnown) + has(PairFault::LostIncoming),
            lost_details: has(PairFault::LostDetail),
            to_find: u64::from(fate.found.is_some() && pair.expect != Decision::Add),
            found: u64::from(fate.found == Some(true) && pair.expect != Decision::Add),
            ..Counts::default()
        };
        counts.confusion.entry(pair.expect.as_str()).or_default().insert(fate.decision.as_str(), 1);
        counts
    }
}
