//! Whether a stream ends as it should, and what is not where it should be.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::counts::Counts;
use super::form::{Event, Stream};
use crate::memory::{RelationType, Status};

/// Stands for a distractor among the events that a memory rests on.
pub const DISTRACTOR: &str = "(distractor)";

/// A memory when all is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its status.
    pub status: Status,
    /// The events that it rests on, and [`DISTRACTOR`] if it rests on one.
    pub events: BTreeSet<String>,
}

/// How a stream ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// Every memory.
    pub memories: Vec<Left>,
    /// Links between them, by their place in `memories`.
    pub links: BTreeSet<(usize, &'static str, usize)>,
    /// What a person could not do.
    pub failed_acts: Vec<String>,
}

/// What can be wrong with an event in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamFault {
    /// It should be recalled or wait, and no memory rests on it.
    Lost,
    /// It should be gone or wait, and is recalled.
    Alive,
    /// It should be recalled or gone, and waits in the inbox.
    Waiting,
    /// It shares a memory with an event of another one.
    Merged,
    /// It is apart from an event with which it should share a memory.
    Apart,
    /// A link is not there.
    Unlinked,
    /// A person's act could not be done.
    Act,
}

impl StreamFault {
    /// Returns it as people read it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Alive => "wrongly alive",
            Self::Waiting => "wrongly waiting",
            Self::Merged => "wrongly merged",
            Self::Apart => "wrongly apart",
            Self::Unlinked => "not linked",
            Self::Act => "not done",
        }
    }
}

/// A fault with the event that it befell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Misplaced {
    /// What is wrong.
    pub fault: StreamFault,
    /// The event, the link, or the act.
    pub event: String,
}

type Groups = Vec<BTreeSet<String>>;

/// Returns what is wrong with `end`, and what is counted.
#[must_use]
pub fn score(stream: &Stream, end: &End) -> (Vec<Misplaced>, Counts) {
    let ids: Vec<&str> = stream.events.iter().filter_map(Event::id).collect();
    let parts: BTreeSet<&str> = stream.events.iter().filter_map(in_parts).collect();
    let (active, waiting) = (end.groups(Status::Active), end.groups(Status::Pending));
    let mut faults = Vec::new();
    for id in &ids {
        let found = if parts.contains(id) {
            of_parts(id, stream, &active)
        } else {
            Place { id, stream }.faults(&active, &waiting, &parts)
        };
        faults.extend(found.into_iter().map(|fault| Misplaced { fault, event: (*id).to_owned() }));
    }
    let events: BTreeSet<&String> = faults.iter().map(|one| &one.event).collect();
    let misplaced = events.len() as u64;
    for (from, relation, to) in &stream.links {
        if !end.is_linked(from, *relation, to) {
            faults.push(Misplaced { fault: StreamFault::Unlinked, event: format!("{from} {relation} {to}") });
        }
    }
    faults.extend(end.failed_acts.iter().map(|act| Misplaced { fault: StreamFault::Act, event: act.clone() }));
    // Memories that rest on no event, or on the same ones as another, are seen here alone.
    let same = without(&parts, &active) == without(&parts, &sets(&stream.active))
        && sorted(&waiting) == sorted(&sets(&stream.waiting));
    let mut counts = Counts {
        streams: 1,
        streams_exact: u64::from(same && faults.is_empty()),
        events: ids.len() as u64,
        misplaced,
        ..Counts::default()
    };
    faults.iter().for_each(|one| *counts.stream_faults.entry(one.fault).or_default() += 1);
    (faults, counts)
}

fn in_parts(event: &Event) -> Option<&str> {
    match event {
        Event::Memory(arriving) if arriving.parts => Some(&arriving.id),
        Event::Memory(_) | Event::Again(_) | Event::Act(_) => None,
    }
}

fn sets(groups: &[Vec<String>]) -> Groups {
    groups.iter().map(|group| group.iter().cloned().collect()).collect()
}

fn sorted(groups: &Groups) -> Groups {
    let mut sorted = groups.clone();
    sorted.sort();
    sorted
}

/// Events of several parts may stand in several memories; these are told apart by the others.
fn without(parts: &BTreeSet<&str>, groups: &Groups) -> Groups {
    let others = |group: &BTreeSet<String>| -> BTreeSet<String> {
        group.iter().filter(|id| !parts.contains(id.as_str())).cloned().collect()
    };
    let mut rest: Groups = groups
        .iter()
        .map(|group| (group, others(group)))
        .filter(|(group, rest)| group.is_empty() || !rest.is_empty())
        .map(|(_, rest)| rest)
        .collect();
    rest.sort();
    rest
}

fn of_parts(id: &str, stream: &Stream, active: &Groups) -> Vec<StreamFault> {
    let wanted = stream.active.iter().flatten().any(|event| event == id);
    match (wanted, active.iter().any(|group| group.contains(id))) {
        (true, false) => vec![StreamFault::Lost],
        (false, true) if stream.gone.iter().any(|event| event == id) => vec![StreamFault::Alive],
        _ => Vec::new(),
    }
}

/// An event of a stream.
struct Place<'a> {
    id: &'a str,
    stream: &'a Stream,
}

impl Place<'_> {
    fn faults(&self, active: &Groups, waiting: &Groups, parts: &BTreeSet<&str>) -> Vec<StreamFault> {
        let has = |group: &&BTreeSet<String>| group.contains(self.id);
        let (is_active, is_waiting) = (active.iter().any(|group| has(&group)), waiting.iter().any(|group| has(&group)));
        let wanted = sets(&self.stream.active).into_iter().find(|group| group.contains(self.id));
        let should_wait = self.stream.waiting.iter().flatten().any(|event| event == self.id);
        let mut faults = Vec::new();
        if !is_active && !is_waiting && (wanted.is_some() || should_wait) {
            faults.push(StreamFault::Lost);
        }
        if is_active && wanted.is_none() {
            faults.push(StreamFault::Alive);
        }
        if is_waiting && !should_wait {
            faults.push(StreamFault::Waiting);
        }
        let alive: BTreeSet<&String> = active.iter().flatten().collect();
        if let Some(wanted) = wanted.filter(|_| is_active) {
            let own: Vec<&BTreeSet<String>> = active.iter().filter(has).collect();
            let is_strange = |other: &String| !wanted.contains(other) && !parts.contains(other.as_str());
            if own.iter().any(|group| group.iter().any(is_strange)) {
                faults.push(StreamFault::Merged);
            }
            let is_missed = |other: &&String| alive.contains(other) && !parts.contains(other.as_str());
            let apart = own.iter().any(|group| wanted.iter().filter(is_missed).any(|other| !group.contains(other)));
            if apart || own.len() > 1 {
                faults.push(StreamFault::Apart);
            }
        }
        faults
    }
}

impl End {
    fn groups(&self, status: Status) -> Groups {
        self.memories.iter().filter(|memory| memory.status == status).map(|memory| memory.events.clone()).collect()
    }

    /// Whether a memory that rests on `from` has the link to one that rests on `to`; a chain of replacements is one too.
    fn is_linked(&self, from: &str, relation: RelationType, to: &str) -> bool {
        let resting = |event: &str| -> BTreeSet<usize> {
            let holds = |(_, memory): &(usize, &Left)| memory.events.contains(event);
            self.memories.iter().enumerate().filter(holds).map(|(place, _)| place).collect()
        };
        let mut next: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (one, name, other) in &self.links {
            if *name == relation.as_str() {
                next.entry(*one).or_default().insert(*other);
            }
        }
        let (targets, mut open) = (resting(to), resting(from));
        let mut seen = BTreeSet::new();
        while let Some(place) = open.pop_first() {
            for reached in next.get(&place).into_iter().flatten() {
                if targets.contains(reached) {
                    return true;
                }
                if relation == RelationType::Supersedes && seen.insert(*reached) {
                    open.insert(*reached);
                }
            }
        }
        false
    }
}
