//! What is counted; `measures` tells what follows from it.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::case::{ForbiddenKind, Importance};
use super::meter::Usage;
use super::rows::Ratio;

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
    /// Memories that leave a day, week or month open.
    pub open_dates: u64,
    /// Memories whose gold tells a date.
    pub dated: u64,
    /// Those of them that tell it too.
    pub date_right: u64,
    /// Memories whose gold tells how important they are.
    pub weighed: u64,
    /// Those of them whose importance is of that kind.
    pub weighed_right: u64,
    /// Two for each pair of memories of unlike importance.
    pub order_pairs: u64,
    /// Two for each of them in the right order, and one for equals.
    pub order_right: u64,
    /// Required gold memories that some memory says, recalled or superseded.
    pub extracted: u64,
    /// Those of them that only a superseded memory says.
    pub lost: u64,
    /// Memories that others took the place of, in runs that tell what they said.
    pub retired: u64,
    /// Those of them that say something required which no recalled memory says.
    pub wrongly_retired: u64,
    /// Active memories before the logs were read a second time, where they were.
    pub before_again: u64,
    /// Memories that came of reading them again.
    pub grown: u64,
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
    fn plain_mut(&mut self) -> [&mut u64; 32] {
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
            &mut self.open_dates,
            &mut self.dated,
            &mut self.date_right,
            &mut self.weighed,
            &mut self.weighed_right,
            &mut self.order_pairs,
            &mut self.order_right,
            &mut self.extracted,
            &mut self.lost,
            &mut self.retired,
            &mut self.wrongly_retired,
            &mut self.before_again,
            &mut self.grown,
        ]
    }

    /// Returns the counts that are one number each, in the order of [`Self::plain_mut`].
    const fn plain(&self) -> [u64; 32] {
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
            self.open_dates,
            self.dated,
            self.date_right,
            self.weighed,
            self.weighed_right,
            self.order_pairs,
            self.order_right,
            self.extracted,
            self.lost,
            self.retired,
            self.wrongly_retired,
            self.before_again,
            self.grown,
        ]
    }

    /// Returns the sum of `all`.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|counts| sum += counts);
        sum
    }

    pub(super) fn recall_of(&self, wanted: &[Importance]) -> Ratio {
        let of = |counts: &BTreeMap<Importance, u64>| wanted.iter().filter_map(|one| counts.get(one)).sum::<u64>();
        Ratio::of(of(&self.recalled), of(&self.required))
    }

    pub(super) fn weighted(&self) -> Ratio {
        let of = |counts: &BTreeMap<Importance, u64>| counts.iter().map(|(one, count)| one.weight() * count).sum();
        Ratio::of(of(&self.recalled), of(&self.required))
    }

    /// Returns the memories that count for or against precision.
    #[must_use]
    pub const fn counted(&self) -> u64 {
        self.right + self.unlisted + self.duplicates + self.distorted + self.forbidden
    }
}

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
