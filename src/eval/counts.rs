//! What is counted, and the measures that follow from the counts.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::case::{ForbiddenKind, Importance};
use super::meter::Usage;
use super::rows::{Better, Defined, Formula, Ratio, RowUnit, harmonic};

/// What was counted over one or more cases. Counts add up; measures do not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

    fn recall_of(&self, wanted: &[Importance]) -> Ratio {
        let of = |counts: &BTreeMap<Importance, u64>| wanted.iter().filter_map(|one| counts.get(one)).sum::<u64>();
        Ratio::of(of(&self.recalled), of(&self.required))
    }

    /// Returns the memories that count for or against precision.
    #[must_use]
    pub const fn counted(&self) -> u64 {
        self.right + self.unlisted + self.duplicates + self.distorted + self.forbidden
    }
}

/// Kind of the rows of conversations that were read.
pub const KIND: &str = "extraction";

/// A measure: a share, or a number for each case.
pub struct Measure {
    /// Its name, for people and in JSON.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// How it follows from counts.
    pub formula: Formula<Counts>,
}

impl Measure {
    /// Returns its value for `counts`; `None` where there is nothing to tell of.
    #[must_use]
    pub fn of(&self, counts: &Counts) -> Option<f64> {
        let named = |name: &str| MEASURES.iter().find(|one| one.name == name)?.of(counts);
        match self.formula {
            Formula::Ratio(ratio) => ratio(counts).value(RowUnit::Share),
            Formula::Harmonic([one, other]) => harmonic(named(one), named(other)),
        }
    }

    /// Returns what files of results tell of it.
    #[must_use]
    pub fn defined(&self) -> Defined {
        let (better, unit) = match self.unit {
            Unit::Share => (Better::Higher, RowUnit::Share),
            Unit::Number => (Better::Lower, RowUnit::Number),
        };
        let harmonic_of = match self.formula {
            Formula::Ratio(_) => None,
            Formula::Harmonic(names) => Some(names.map(str::to_owned)),
        };
        Defined { harmonic_of, ..Defined::new(KIND, self.name, self.about, better, unit) }
    }
}

/// What the numbers of a measure are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share of one, the more the better.
    Share,
    /// A number, the less the better.
    Number,
}

const fn share(name: &'static str, about: &'static str, of: fn(&Counts) -> Ratio) -> Measure {
    Measure { name, about, unit: Unit::Share, formula: Formula::Ratio(of) }
}

/// Every measure, in the order in which it is told.
pub const MEASURES: &[Measure] = &[
    share("recall", "required memories that are there", |counts| {
        counts.recall_of(&[Importance::High, Importance::Medium, Importance::Low])
    }),
    share("recall high", "those of high importance", |counts| counts.recall_of(&[Importance::High])),
    share("recall medium", "those of medium importance", |counts| counts.recall_of(&[Importance::Medium])),
    share("recall low", "those of low importance", |counts| counts.recall_of(&[Importance::Low])),
    share("precision", "memories that are right, all unlisted ones taken as wrong", |counts| {
        Ratio::of(counts.right, counts.counted())
    }),
    share("precision judged", "the same, with the verdicts on unlisted ones", |counts| {
        Ratio::of(counts.right + counts.unlisted_kept, counts.counted())
    }),
    Measure {
        name: "F1",
        about: "of recall and precision",
        unit: Unit::Share,
        formula: Formula::Harmonic(["recall", "precision"]),
    },
    share("type", "types that are right", |counts| Ratio::of(counts.type_right, counts.typed)),
    share("evidence", "memories that cite the right message", |counts| {
        Ratio::of(counts.evidence_right, counts.evidenced)
    }),
    share("quotes", "quotes that stand in the message cited", |counts| Ratio::of(counts.quotes_found, counts.quotes)),
    share("language", "memories in the language of the case", |counts| Ratio::of(counts.in_language, counts.memories)),
    Measure {
        name: "forbidden",
        about: "forbidden memories a case",
        unit: Unit::Number,
        formula: Formula::Ratio(|counts| Ratio::of(counts.forbidden, counts.cases)),
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
