//! What is counted over cases, and the measures that follow.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use super::stream_score::StreamFault;
use crate::eval::rows::{Better, Defined, Ratio, RowUnit};

/// What was counted over one or more cases. Counts add up; measures do not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Pairs.
    pub pairs: u64,
    /// Those with a right decision.
    pub right: u64,
    /// Those in which nothing at all went wrong.
    pub exact: u64,
    /// Contradictions that were seen.
    pub reasons: u64,
    /// Those of them with the right reason.
    pub reasons_right: u64,
    /// Contradictions that were seen and of which one holds.
    pub orders: u64,
    /// Those of them in which the right one does.
    pub orders_right: u64,
    /// Hard pairs.
    pub hard: u64,
    /// Those of them that were joined.
    pub false_merges: u64,
    /// Those of them in which a memory was retired that holds.
    pub hard_retired: u64,
    /// Pairs in which a memory was retired that holds.
    pub wrong_retirements: u64,
    /// Pairs that contradict each other.
    pub contradictions: u64,
    /// Those of them that were not seen as such.
    pub missed: u64,
    /// Claims that should be recalled and are in no memory.
    pub lost: u64,
    /// Pairs in which a detail is in no memory any more.
    pub lost_details: u64,
    /// Pairs whose known memory should be looked at.
    pub to_find: u64,
    /// Those in which it was.
    pub found: u64,
    /// Streams.
    pub streams: u64,
    /// Those that end exactly as they should.
    pub streams_exact: u64,
    /// Events of streams.
    pub events: u64,
    /// Those of them that are not where they should be.
    pub misplaced: u64,
    /// Memories that a second run of the same streams made.
    pub growth: u64,
    /// Memories that it changed.
    pub changed_again: u64,
    /// Memories that were settled.
    pub incoming: u64,
    /// Distractors that are no longer recalled.
    pub distractors_retired: u64,
    /// What was decided, by what should have been.
    pub confusion: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// Faults of streams by kind.
    pub stream_faults: BTreeMap<StreamFault, u64>,
}

impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        for (expected, decided) in &other.confusion {
            let row = self.confusion.entry(expected).or_default();
            decided.iter().for_each(|(decision, count)| *row.entry(decision).or_default() += count);
        }
        for (fault, count) in &other.stream_faults {
            *self.stream_faults.entry(*fault).or_default() += count;
        }
        for (own, more) in self.plain_mut().into_iter().zip(other.plain()) {
            *own += more;
        }
    }
}

impl Counts {
    fn plain_mut(&mut self) -> [&mut u64; 25] {
        [
            &mut self.pairs,
            &mut self.right,
            &mut self.exact,
            &mut self.reasons,
            &mut self.reasons_right,
            &mut self.orders,
            &mut self.orders_right,
            &mut self.hard,
            &mut self.false_merges,
            &mut self.hard_retired,
            &mut self.wrong_retirements,
            &mut self.contradictions,
            &mut self.missed,
            &mut self.lost,
            &mut self.lost_details,
            &mut self.to_find,
            &mut self.found,
            &mut self.streams,
            &mut self.streams_exact,
            &mut self.events,
            &mut self.misplaced,
            &mut self.growth,
            &mut self.changed_again,
            &mut self.incoming,
            &mut self.distractors_retired,
        ]
    }

    /// Returns the counts that are one number each, in the order of [`Self::plain_mut`].
    fn plain(&self) -> [u64; 25] {
        self.clone().plain_mut().map(|count| *count)
    }

    /// Returns the sum of `all`.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|counts| sum += counts);
        sum
    }
}

/// Which values of a measure are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Good {
    /// A share of one, the more the better.
    High,
    /// A share of one, the less the better.
    Low,
    /// A count, the less the better.
    None,
}

/// Kind of the rows of pairs.
pub const PAIR: &str = "pair";
/// Kind of the rows of streams.
pub const STREAM: &str = "stream";

/// A measure.
pub struct Measure {
    /// Its name, for people and in JSON.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Which values are good.
    pub good: Good,
    /// Kind of the cases that it measures.
    pub kind: &'static str,
    /// How it follows from counts.
    pub ratio: fn(&Counts) -> Ratio,
}

impl Measure {
    /// Returns its value for `counts`; `None` where there is nothing to tell of.
    #[must_use]
    pub fn of(&self, counts: &Counts) -> Option<f64> {
        (self.ratio)(counts).value(self.unit())
    }

    const fn unit(&self) -> RowUnit {
        match self.good {
            Good::High | Good::Low => RowUnit::Share,
            Good::None => RowUnit::Count,
        }
    }

    /// Returns what files of results tell of it.
    #[must_use]
    pub fn defined(&self) -> Defined {
        let better = match self.good {
            Good::High => Better::Higher,
            Good::Low | Good::None => Better::Lower,
        };
        Defined::new(self.kind, self.name, self.about, better, self.unit())
    }
}

const fn pair(name: &'static str, good: Good, about: &'static str, ratio: fn(&Counts) -> Ratio) -> Measure {
    Measure { name, about, good, kind: PAIR, ratio }
}

const fn stream(name: &'static str, good: Good, about: &'static str, ratio: fn(&Counts) -> Ratio) -> Measure {
    Measure { name, about, good, kind: STREAM, ratio }
}

/// Every measure, in the order in which it is told.
pub const MEASURES: &[Measure] = &[
    pair("accuracy", Good::High, "pairs with a right decision", |c| Ratio::of(c.right, c.pairs)),
    pair("all right", Good::High, "pairs with a right decision, reason and order, and nothing lost", |c| {
        Ratio::of(c.exact, c.pairs)
    }),
    pair("reason", Good::High, "contradictions seen that are told as changed, corrected or open rightly", |c| {
        Ratio::of(c.reasons_right, c.reasons)
    }),
    pair("order", Good::High, "contradictions seen in which the right one holds", |c| {
        Ratio::of(c.orders_right, c.orders)
    }),
    pair("false merges", Good::Low, "hard pairs that were joined", |c| Ratio::of(c.false_merges, c.hard)),
    pair("hard retired", Good::Low, "hard pairs in which what holds was retired", |c| {
        Ratio::of(c.hard_retired, c.hard)
    }),
    pair("missed", Good::Low, "contradictions that were not seen", |c| Ratio::of(c.missed, c.contradictions)),
    pair("wrong retirements", Good::None, "pairs in which what holds was retired", |c| {
        Ratio::of(c.wrong_retirements, c.pairs)
    }),
    pair("lost facts", Good::None, "claims of pairs that are in no memory", |c| Ratio::of(c.lost, c.pairs)),
    pair("lost details", Good::None, "details of pairs that are in no memory", |c| Ratio::of(c.lost_details, c.pairs)),
    pair("neighbours", Good::High, "known memories among those looked at", |c| Ratio::of(c.found, c.to_find)),
    stream("streams", Good::High, "streams that end exactly as they should", |c| Ratio::of(c.streams_exact, c.streams)),
    stream("misplaced", Good::Low, "events of streams that are not where they should be", |c| {
        Ratio::of(c.misplaced, c.events)
    }),
    stream("lost events", Good::None, "events that should be recalled and are in no memory", |c| {
        Ratio::of(c.stream_faults.get(&StreamFault::Lost).copied().unwrap_or_default(), c.streams)
    }),
    stream("growth", Good::None, "memories that a second run of the same made", |c| Ratio::of(c.growth, c.streams)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_added_to_its_own() {
        let mut one = Counts::default();
        (1..).zip(one.plain_mut()).for_each(|(number, count)| *count = number);
        one.confusion.entry("add").or_default().insert("skip", 3);
        one.stream_faults.insert(StreamFault::Apart, 2);
        let twice = Counts::sum([&one, &one]);
        let doubled: Vec<u64> = one.plain().iter().map(|count| 2 * count).collect();
        assert_eq!(twice.plain().to_vec(), doubled);
        assert_eq!((twice.confusion["add"]["skip"], twice.stream_faults[&StreamFault::Apart]), (6, 4));
    }
}
