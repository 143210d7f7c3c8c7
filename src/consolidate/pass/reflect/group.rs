//! Episodes that are of one matter.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::Offset;

use super::super::around::Around;
use super::super::field::{Field, said_at, said_hash};
use super::super::judge::view;
use crate::consolidate::Known;
use crate::consolidate::compare::features::Polarity;
use crate::consolidate::compare::view::View;
use crate::consolidate::compare::view::Words;
use crate::memory::{MemoryId, MemoryType, RelationType, Status, Structured};
use crate::store::HashPair;
use crate::text::normalise::normalised_hash;

/// Episodes, on as many days, from which something is derived.
pub(in super::super) const MIN_EPISODES: usize = 3;

/// Shared content words over those of the shorter episode from which two are of one matter.
const MIN_OVERLAP: f64 = 0.6;

/// The same, for episodes of one subject.
const MIN_OVERLAP_SAME_SUBJECT: f64 = 0.5;

/// Members of a group that a new one is compared with at most.
const MAX_COMPARED: usize = 30;

/// Episodes of one matter.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Group {
    /// What was derived from them, whatever has become of it since.
    pub(in super::super) derived: Option<MemoryId>,
    pub(in super::super) episodes: Vec<MemoryId>,
}

impl Group {
    pub(super) fn members<'f>(&'f self, field: &'f Field) -> impl Iterator<Item = &'f Known> {
        self.episodes.iter().filter_map(|id| field.get(id))
    }

    /// Returns the episodes that count, by time: those that are active, or whose time was over.
    pub(super) fn counted<'f>(&'f self, field: &'f Field) -> Vec<&'f Known> {
        let counts = |known: &&Known| matches!(known.memory.status, Status::Active | Status::Expired);
        let mut counted: Vec<&Known> = self.members(field).filter(counts).collect();
        counted.sort_by_key(|known| (said_at(known), known.memory.id.clone()));
        counted
    }

    /// Whether they happened often enough, on different days.
    pub(super) fn repeats(&self, field: &Field) -> bool {
        self.counted(field).into_iter().map(day).collect::<BTreeSet<_>>().len() >= MIN_EPISODES
    }

    /// Returns what stands for it where it was asked about.
    pub(in super::super) fn hash(&self, field: &Field) -> HashPair {
        let hashes: BTreeSet<String> = self.members(field).map(said_hash).collect();
        let all: Vec<String> = hashes.into_iter().collect();
        HashPair::new(normalised_hash(&all.join(" ")), "episodes")
    }
}

/// Returns the day of an episode, by the clock by which it was told.
pub(super) fn day(known: &Known) -> Date {
    let offset = known.evidence.first().and_then(|piece| piece.said_at?.offset_seconds).unwrap_or(0);
    Offset::from_seconds(offset).unwrap_or(Offset::UTC).to_datetime(said_at(known)).date()
}

/// Sorts the episodes of a namespace: to what was derived from their like before, and by matter.
pub(in super::super) fn groups(field: &Field, around: &Around) -> Vec<Group> {
    let mut groups = known_groups(field);
    let mut place: BTreeMap<MemoryId, usize> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        place.extend(group.episodes.iter().map(|id| (id.clone(), index)));
    }
    for id in field.in_order() {
        let Some(episode) = field.active.get(&id).filter(|known| is_episode(known)) else { continue };
        if place.contains_key(&id) {
            continue;
        }
        let close: BTreeSet<usize> = around.of(&id).filter_map(|other| place.get(other).copied()).collect();
        let own = view(episode);
        let fits = |index: &usize| {
            groups[*index].members(field).take(MAX_COMPARED).all(|other| is_one_matter((episode, &own), other))
        };
        let index = close.into_iter().find(fits).unwrap_or_else(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        groups[index].episodes.push(id.clone());
        place.insert(id, index);
    }
    groups
}

/// Returns the groups from which something was derived, what a person took back included.
fn known_groups(field: &Field) -> Vec<Group> {
    let mut groups: BTreeMap<&MemoryId, Vec<MemoryId>> = BTreeMap::new();
    for (from, kind, to) in field.links.iter().chain(&field.taken_back) {
        let is_episode = field.get(to).is_some_and(is_episode);
        if *kind == RelationType::DerivedFrom && is_episode {
            groups.entry(from).or_default().push(to.clone());
        }
    }
    let known = groups.into_iter().map(|(id, episodes)| Group { derived: Some(id.clone()), episodes });
    known.collect()
}

fn is_episode(known: &Known) -> bool {
    known.memory.claim.memory_type == MemoryType::Episodic
}

fn is_one_matter((a, one): (&Known, &View<'_>), b: &Known) -> bool {
    let other = view(b);
    let words = Words::of(one, &other);
    let same_subject = one.subject.is_some() && one.subject == other.subject;
    let enough = if same_subject { MIN_OVERLAP_SAME_SUBJECT } else { MIN_OVERLAP };
    words.shared >= 2
        && words.overlap() >= enough
        && one.features.people == other.features.people
        && one.features.polarity == other.features.polarity
        && one.features.polarity != Polarity::Mixed
        && one.features.planned == other.features.planned
        && one.features.settings == other.features.settings
        && one.about == other.about
        && one.speakers == other.speakers
        && ends_alike(a, b)
}

/// Whether the two ended alike, as far as that is known.
fn ends_alike(a: &Known, b: &Known) -> bool {
    let outcome = |known: &Known| match &known.memory.claim.structured {
        Some(Structured::Episode(episode)) => Some(episode.outcome),
        _ => None,
    };
    outcome(a).zip(outcome(b)).is_none_or(|(a, b)| a == b)
}
