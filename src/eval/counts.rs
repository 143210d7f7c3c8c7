//! What is counted, and the measures that follow from the counts.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use super::case::{ForbiddenKind, Importance};
use super::meter::Usage;

/// What was counted over one or more cases. Counts add up; measures do not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Cases that were run and scored.
    pub cases: u64,
    /// Gold memories that must be there, by importance.
    pub required: BTreeMap<Importance, u64>,
    /// Those of them that are there.
    pub recalled: BTreeMap<Importance, u64>,
    /// Active memories.
    pub memories: u64,
    /// Memories that say something required.
    pub right: u64,
    /// Memories that say only what may be left out; they count for nothing.
    pub optional: u64,
    /// Memories that say no gold memory.
    pub unlisted: u64,
    /// Those of them that an independent reader would keep.
    pub unlisted_kept: u64,
    /// Those of them that nobody has judged.
    pub unlisted_unjudged: u64,
    /// Memories that say only what another says already.
    pub duplicates: u64,
    /// Memories that say a gold memory wrongly.
    pub distorted: u64,
    /// Memories that say what must not be kept.
    pub forbidden: u64,
    /// What they say, by kind; a memory may be forbidden for several reasons.
    pub forbidden_kinds: BTreeMap<ForbiddenKind, u64>,
    /// Memories with a gold type.
    pub typed: u64,
    /// Those of them whose type is among the gold ones.
    pub type_right: u64,
    /// Memories with gold evidence.
    pub evidenced: u64,
    /// Those of them that cite a message which holds a piece of it.
    pub evidence_right: u64,
    /// Quotes of all active memories.
    pub quotes: u64,
    /// Those of them that stand word for word in the message that they are cited from.
    pub quotes_found: u64,
    /// Active memories in the language of their case.
    pub in_language: u64,
    /// Memories that others took the place of.
    pub superseded: u64,
    /// Memories that wait for a person.
    pub pending: u64,
    /// What the model was asked.
    pub usage: Usage,
}

impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        for (own, more) in [(&mut self.required, &other.required), (&mut self.recalled, &other.recalled)] {
            more.iter().for_each(|(&importance, count)| *own.entry(importance).or_default() += count);
        }
        for (&kind, count) in &other.forbidden_kinds {
            *self.forbidden_kinds.entry(kind).or_default() += count;
        }
        self.usage += other.usage;
        for (own, more) in self.plain_mut().into_iter().zip(other.plain()) {
            *own += more;
        }
    }
}

impl Counts {
    /// Returns the counts that are one number each, to be changed.
    fn plain_mut(&mut self) -> [&mut u64; 19] {
        [
            &mut self.cases,
            &mut self.memories,
            &mut self.right,
            &mut self.optional,
            &mut self.unlisted,
            &mut self.unlisted_kept,
            &mut self.unlisted_unjudged,
            &mut self.duplicates,
            &mut self.distorted,
            &mut self.forbidden,
            &mut self.typed,
            &mut self.type_right,
            &mut self.evidenced,
            &mut self.evidence_right,
            &mut self.quotes,
            &mut self.quotes_found,
            &mut self.in_language,
            &mut self.superseded,
            &mut self.pending,
        ]
    }

    /// Returns the counts that are one number each, in the order of [`Self::plain_mut`].
    const fn plain(&self) -> [u64; 19] {
        [
            self.cases,
            self.memories,
            self.right,
            self.optional,
            self.unlisted,
            self.unlisted_kept,
            self.unlisted_unjudged,
            self.duplicates,
            self.distorted,
            self.forbidden,
            self.typed,
            self.type_right,
            self.evidenced,
            self.evidence_right,
            self.quotes,
            self.quotes_found,
            self.in_language,
            self.superseded,
            self.pending,
        ]
    }

    /// Returns the sum of `all`.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|counts| sum += counts);
        sum
    }

    fn recall_of(&self, wanted: &[Importance]) -> Option<f64> {
        let of = |counts: &BTreeMap<Importance, u64>| wanted.iter().filter_map(|one| counts.get(one)).sum::<u64>();
        ratio(of(&self.recalled), of(&self.required))
    }

    fn recall(&self) -> Option<f64> {
        self.recall_of(&[Importance::High, Importance::Medium, Importance::Low])
    }

    /// Returns the memories that count for or against precision.
    #[must_use]
    pub const fn counted(&self) -> u64 {
        self.right + self.unlisted + self.duplicates + self.distorted + self.forbidden
    }

    fn precision(&self) -> Option<f64> {
        ratio(self.right, self.counted())
    }

    fn judged_precision(&self) -> Option<f64> {
        ratio(self.right + self.unlisted_kept, self.counted())
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of memories are far below 2^52")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn harmonic(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    let (one, other) = (one?, other?);
    Some(if one + other == 0.0 { 0.0 } else { 2.0 * one * other / (one + other) })
}

/// A measure: a share, or a number for each case.
pub struct Measure {
    /// Its name, for people and in JSON.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// How it follows from counts; `None` where there is nothing to tell of.
    pub of: fn(&Counts) -> Option<f64>,
}

/// What the numbers of a measure are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share of one, the more the better.
    Share,
    /// A number, the less the better.
    Number,
}

const fn share(name: &'static str, about: &'static str, of: fn(&Counts) -> Option<f64>) -> Measure {
    Measure { name, about, unit: Unit::Share, of }
}

/// Every measure, in the order in which it is told.
pub const MEASURES: &[Measure] = &[
    share("recall", "required memories that are there", Counts::recall),
    share("recall high", "those of high importance", |counts| counts.recall_of(&[Importance::High])),
    share("recall medium", "those of medium importance", |counts| counts.recall_of(&[Importance::Medium])),
    share("recall low", "those of low importance", |counts| counts.recall_of(&[Importance::Low])),
    share("precision", "memories that are right, all unlisted ones taken as wrong", Counts::precision),
    share("precision judged", "the same, with the verdicts on unlisted ones", Counts::judged_precision),
    share("F1", "of recall and precision", |counts| harmonic(counts.recall(), counts.precision())),
    share("type", "types that are right", |counts| ratio(counts.type_right, counts.typed)),
    share("evidence", "memories that cite the right message", |counts| ratio(counts.evidence_right, counts.evidenced)),
    share("quotes", "quotes that stand in the message cited", |counts| ratio(counts.quotes_found, counts.quotes)),
    share("language", "memories in the language of the case", |counts| ratio(counts.in_language, counts.memories)),
    Measure {
        name: "forbidden",
        about: "forbidden memories a case",
        unit: Unit::Number,
        of: |counts| ratio(counts.forbidden, counts.cases),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_added_to_its_own() {
        let mut one = Counts::default();
        (1..).zip(one.plain_mut()).for_each(|(number, count)| *count = number);
        one.required.insert(Importance::High, 3);
        one.forbidden_kinds.insert(ForbiddenKind::Secret, 2);
        one.usage.calls = 5;
        let twice = Counts::sum([&one, &one]);
        let doubled: Vec<u64> = one.plain().iter().map(|count| 2 * count).collect();
        assert_eq!(twice.plain().to_vec(), doubled);
        assert_eq!((twice.required[&Importance::High], twice.forbidden_kinds[&ForbiddenKind::Secret]), (6, 4));
        assert_eq!(twice.usage.calls, 10);
    }
}
