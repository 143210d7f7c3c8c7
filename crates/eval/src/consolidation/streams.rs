//! Scores the memories at the end of a stream.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::Placed;
use crate::results::Row;
use crate::vocabulary::{Kind, RelationType, Status, StreamFault};

use super::cases::{Event, Stream};

/// Represents a distractor among the events that a memory is based on.
pub const DISTRACTOR: &str = "(distractor)";

/// A memory at the end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalMemory {
    /// Status of the memory.
    pub status: Status,
    /// The events on which the memory is based, and [`DISTRACTOR`] if it is based on a distractor.
    pub events: BTreeSet<String>,
}

/// The outcome of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamOutcome {
    /// Every memory.
    pub memories: Vec<FinalMemory>,
    /// Relations between the memories, by their indices in `memories`.
    pub links: BTreeSet<(usize, RelationType, usize)>,
    /// Actions of a person that could not be carried out.
    pub failed_acts: Vec<String>,
    /// Number of memories that a second run of the stream added.
    pub growth: u64,
}

/// A fault together with the event, relation or action that it concerns.
pub(super) type StreamFinding = (StreamFault, String);
type Groups = Vec<BTreeSet<String>>;

/// Returns the row of a stream, without suite, repetition and cost.
pub fn score_stream(placed: &Placed<Stream>, outcome: &StreamOutcome) -> Row {
    let stream = &placed.case;
    let (faults, is_exact) = faults_of(stream, outcome);
    let mut row = Row { phenomena: stream.phenomenon.clone(), ..placed.row(Kind::Stream) };
    let events = stream.events.iter().filter(|event| event.id().is_some()).count() as u64;
    let is_event = |id: &str| stream.events.iter().any(|event| event.id() == Some(id));
    // A set, because one event may have several faults but counts as misplaced only once.
    let misplaced: BTreeSet<&String> = faults.iter().map(|(_, id)| id).filter(|id| is_event(id)).collect();
    let lost = faults.iter().filter(|(fault, _)| *fault == StreamFault::Lost).count() as u64;
    row.ratio("streams", u64::from(is_exact), 1);
    row.ratio("misplaced", misplaced.len() as u64, events);
    row.ratio("lost events", lost, 1);
    row.ratio("growth", outcome.growth, 1);
    let texts: Vec<(String, String)> = stream.events.iter().filter_map(Event::text).collect();
    let found = |status: Status| {
        let groups = outcome.memories.iter().filter(|memory| memory.status == status);
        groups.map(|memory| memory.events.iter().cloned().collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let expected = describe(&stream.active, &stream.waiting);
    let why = format!("expected {expected}, got {}", describe(&found(Status::Active), &found(Status::Pending)));
    for (fault, id) in &faults {
        let text = texts.iter().find(|(event, _)| event == id).map_or(id, |(_, text)| text);
        row.fault(fault.as_str(), &format!("{id} {}", fault.as_str()), text, &why);
    }
    if !is_exact && faults.is_empty() {
        row.fault("another memory", "another memory", "", &why);
    }
    if outcome.growth > 0 {
        let why = format!("a second run of the same stream adds {} memories", outcome.growth);
        row.fault("grows", "grows", "", &why);
    }
    row
}

/// Returns groups of events as text: first the active groups, then the groups in the inbox.
fn describe(active: &[Vec<String>], waiting: &[Vec<String>]) -> String {
    let joined = |groups: &[Vec<String>]| {
        let mut groups: Vec<String> = groups.iter().map(|group| group.join("+")).collect();
        groups.sort();
        groups.join(" ")
    };
    if waiting.is_empty() { joined(active) } else { format!("{} | waiting: {}", joined(active), joined(waiting)) }
}

/// Returns the faults, and whether the stream ends exactly as it should.
pub(super) fn faults_of(stream: &Stream, outcome: &StreamOutcome) -> (Vec<StreamFinding>, bool) {
    let parts: BTreeSet<&str> = stream.events.iter().filter_map(id_of_parts).collect();
    let (active, waiting) = (outcome.groups(Status::Active), outcome.groups(Status::Pending));
    let mut faults = Vec::new();
    for id in stream.events.iter().filter_map(Event::id) {
        let found = if parts.contains(id) {
            faults_of_parts(id, stream, &active)
        } else {
            faults_of_event(id, stream, &active, &waiting, &parts)
        };
        faults.extend(found.into_iter().map(|fault| (fault, id.to_owned())));
    }
    for (from, relation, to) in &stream.links {
        if !outcome.is_linked(from, *relation, to) {
            faults.push((StreamFault::Unlinked, format!("{from} {relation} {to}")));
        }
    }
    faults.extend(outcome.failed_acts.iter().map(|act| (StreamFault::Act, act.clone())));
    // Only this comparison detects memories that are not based on any event, or on the same events as another memory.
    let same = without(&parts, &active) == without(&parts, &sets(&stream.active))
        && sorted(&waiting) == sorted(&sets(&stream.waiting));
    let is_exact = same && faults.is_empty();
    (faults, is_exact)
}

fn id_of_parts(event: &Event) -> Option<&str> {
    match event {
        Event::Memory(arriving) if arriving.parts => Some(&arriving.memory.id),
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

/// Returns the groups without the events in `parts`. An event with several parts may be in several memories, which are
/// identified by their other events.
fn without(parts: &BTreeSet<&str>, groups: &Groups) -> Groups {
    let others = |group: &BTreeSet<String>| -> BTreeSet<String> {
        group.iter().filter(|id| !parts.contains(id.as_str())).cloned().collect()
    };
    let mut rest: Groups = groups
        .iter()
        .map(|group| (group, others(group)))
        // A memory that is based only on events in `parts` is left out. A memory that is not based on any event
        // remains, because it is a fault.
        .filter(|(group, rest)| group.is_empty() || !rest.is_empty())
        .map(|(_, rest)| rest)
        .collect();
    rest.sort();
    rest
}

fn faults_of_parts(id: &str, stream: &Stream, active: &Groups) -> Vec<StreamFault> {
    let wanted = stream.active.iter().flatten().any(|event| event == id);
    match (wanted, active.iter().any(|group| group.contains(id))) {
        (true, false) => vec![StreamFault::Lost],
        (false, true) if stream.gone.iter().any(|event| event == id) => vec![StreamFault::Alive],
        _ => Vec::new(),
    }
}

fn faults_of_event(
    id: &str,
    stream: &Stream,
    active: &Groups,
    waiting: &Groups,
    parts: &BTreeSet<&str>,
) -> Vec<StreamFault> {
    let has = |group: &&BTreeSet<String>| group.contains(id);
    let (is_active, is_waiting) = (active.iter().any(|group| has(&group)), waiting.iter().any(|group| has(&group)));
    let wanted = sets(&stream.active).into_iter().find(|group| group.contains(id));
    let should_wait = stream.waiting.iter().flatten().any(|event| event == id);
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
    // A wrongly dropped event is reported only as lost, and not also as separated from its group.
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

impl StreamOutcome {
    fn groups(&self, status: Status) -> Groups {
        self.memories.iter().filter(|memory| memory.status == status).map(|memory| memory.events.clone()).collect()
    }

    /// Returns whether a memory based on `from` has the relation to a memory based on `to`. A chain of replacements
    /// counts as one replacement.
    fn is_linked(&self, from: &str, relation: RelationType, to: &str) -> bool {
        let resting = |event: &str| -> BTreeSet<usize> {
            let holds = |(_, memory): &(usize, &FinalMemory)| memory.events.contains(event);
            self.memories.iter().enumerate().filter(holds).map(|(place, _)| place).collect()
        };
        let mut next: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (one, name, other) in &self.links {
            if *name == relation {
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
                // Only replacement is transitive: a memory that supports a supporting memory does not thereby support
                // the first one.
                if relation == RelationType::Supersedes && seen.insert(*reached) {
                    open.insert(*reached);
                }
            }
        }
        false
    }
}
