//! Invariants that must be true after every step.

use std::collections::{BTreeMap, BTreeSet};

use afterthought::changeset::{Entity, Tombstone};
use afterthought::consolidate::compare::key::canonical;
use afterthought::memory::{Evidence, Memory, Namespace, Relation, RelationType, Status};
use afterthought::store::normalised_hash;

use super::played::Machine;
use super::rows::State;
use super::steps::{Run, Step};

/// Returns whether the step is an action of a person, which may do things that no other step may do.
fn is_by_person(step: &Step) -> bool {
    match step {
        Step::Run(run) | Step::ThereAndBack(run) => matches!(run, Run::Accept(_) | Run::Reject(_)),
        Step::Undo(_)
        | Step::Forget(_)
        | Step::Restore(_)
        | Step::Pin(_)
        | Step::Unpin(_)
        | Step::Reword(..)
        | Step::Purge { .. } => true,
        Step::Remember(_) | Step::Export | Step::Import { .. } | Step::ImportLines { .. } => false,
    }
}

/// Checks all invariants after `step`, given the rows before it; returns the current rows.
pub fn check(machine: &Machine, before: &State, step: &Step) -> State {
    let state = State::of(&machine.store, &machine.raw);
    let wrong = [
        lost(machine, &state),
        unlinked(machine, &state),
        circular(&state),
        strayed(machine, &state),
        revived(before, &state, step),
        touched(before, &state, step),
        forged(machine, &state),
    ];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "after {step:?}: {wrong:#?}\n{}", machine.story());
    state
}

fn resting<'a>(state: &'a State, piece: &Evidence) -> Vec<&'a Memory> {
    let same = |other: &Evidence| {
        (&other.transcript, &other.messages, &other.quote) == (&piece.transcript, &piece.messages, &piece.quote)
    };
    let found = state.evidence.iter().filter(|(_, other)| same(other));
    found.map(|((id, ..), _)| &state.memories[id]).collect()
}

/// Checks that every accepted fact is evidence of some memory and that, unless somebody removed it, the resulting
/// memory is accounted for.
fn lost(machine: &Machine, state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    for taken in &machine.taken {
        let memories = resting(state, &taken.piece);
        if memories.is_empty() {
            wrong.push(format!("nothing rests on {:?}", taken.piece));
        } else if !memories.iter().any(|memory| is_accounted_for(machine, state, memory)) {
            wrong.push(format!("nothing is left of {:?}", taken.piece));
        }
    }
    wrong
}

/// Returns whether a memory is active, was removed by a person or expired, or has a successor for which this is true.
fn is_accounted_for(machine: &Machine, state: &State, memory: &Memory) -> bool {
    let (mut open, mut seen) = (vec![memory.id.as_str()], BTreeSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id.to_owned()) {
            continue;
        }
        let memory = &state.memories[id];
        if memory.status != Status::Superseded || was_rejected(machine, memory) {
            return true;
        }
        open.extend(successors(state, id));
    }
    false
}

fn successors<'a>(state: &'a State, id: &str) -> Vec<&'a str> {
    let found = state
        .relations
        .values()
        .filter(|link| link.relation_type == RelationType::Supersedes && link.to.as_str() == id);
    found.map(|link| link.from.as_str()).collect()
}

/// Checks that every superseded memory has a successor, unless the successor was forgotten and purged, or conflicted
/// with a rejection in the project that its project was merged into.
fn unlinked(machine: &Machine, state: &State) -> Vec<String> {
    let superseded = state.memories.values().filter(|memory| memory.status == Status::Superseded);
    let alone = superseded.filter(|memory| successors(state, memory.id.as_str()).is_empty());
    let alone = alone.filter(|memory| !machine.bereft.contains(&memory.id) && !was_rejected(machine, memory));
    alone.map(|memory| format!("{} is superseded by nothing", memory.id)).collect()
}

fn was_rejected(machine: &Machine, memory: &Memory) -> bool {
    let history = machine.store.history(&memory.id).unwrap();
    let last = history.iter().rfind(|entry| entry.entity == Entity::Memory && !entry.undone);
    last.is_some_and(|entry| entry.reason.as_deref() == Some("rejected before"))
}

fn circular(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    for kind in [RelationType::Supersedes, RelationType::Refines, RelationType::DerivedFrom] {
        let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for link in state.relations.values().filter(|link| link.relation_type == kind) {
            next.entry(link.from.as_str()).or_default().push(link.to.as_str());
        }
        for start in next.keys() {
            let (mut open, mut seen) = (next[start].clone(), BTreeSet::new());
            while let Some(id) = open.pop() {
                if id == *start {
                    wrong.push(format!("{start} {kind} itself in the end"));
                    break;
                }
                if seen.insert(id) {
                    open.extend(next.get(id).into_iter().flatten());
                }
            }
        }
    }
    wrong
}

/// Checks that links and evidence stay within a namespace, and that both ends of each link exist.
fn strayed(machine: &Machine, state: &State) -> Vec<String> {
    let place = |id: &str| state.memories.get(id).map(|memory| &memory.namespace);
    let is_within =
        |link: &&Relation| place(link.from.as_str()).is_some() && place(link.from.as_str()) == place(link.to.as_str());
    let links = state.relations.values().filter(|link| !is_within(link));
    let mut wrong: Vec<String> = links.map(|link| format!("{link:?} leaves its namespace")).collect();
    for ((id, ..), piece) in &state.evidence {
        let said_in = piece.transcript.trim_start_matches("jsonl:").split("-talk-").next().unwrap_or_default();
        let said_in: Namespace = said_in.parse().unwrap();
        if place(id).is_none_or(|place| machine.lots[place] != machine.lots[&said_in]) {
            wrong.push(format!("{id} of {:?} rests on what was said in {said_in}", place(id).map(ToString::to_string)));
        }
    }
    wrong
}

fn is_known(memory: &Memory) -> bool {
    matches!(memory.status, Status::Active | Status::Pending)
}

/// Checks that memories that a person forgot or rejected do not become active again, unless a person restores them.
fn revived(before: &State, after: &State, step: &Step) -> Vec<String> {
    if matches!(step, Step::Restore(_) | Step::Run(Run::Accept(_)) | Step::ThereAndBack(_)) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (id, memory) in after.memories.iter().filter(|(_, memory)| is_known(memory)) {
        let was = before.memories.get(id);
        if was.is_some_and(|was| is_known(was) && was.namespace == memory.namespace) {
            continue;
        }
        // Undoing the rejection itself restores the memory, and a pinned memory moves with its project.
        let is_wanted = was.is_some_and(|was| was.status == Status::Forgotten) && matches!(step, Step::Undo(_));
        if is_wanted || memory.pinned {
            continue;
        }
        let stays = |note: &&Tombstone| after.tombstones.get(note.memory.as_str()) == Some(note);
        for note in before.tombstones.values().filter(stays).filter(|note| note.namespace == memory.namespace) {
            if is_rejected(note, memory) {
                wrong.push(format!("{id} {:?} is back, which was rejected as {}", memory.claim.content, note.memory));
            }
        }
    }
    wrong
}

fn is_rejected(note: &Tombstone, memory: &Memory) -> bool {
    let key = |key: &Option<String>| key.as_deref().map(canonical);
    let value = memory.claim.value.as_deref().map(normalised_hash);
    let same_value = note.key.is_some() && key(&note.key) == key(&memory.claim.key) && note.value_hash == value;
    note.content_hash == normalised_hash(&memory.claim.content) || (same_value && value.is_some())
}

/// Checks that a pinned memory is not changed, except that its project may be merged into another.
fn touched(before: &State, after: &State, step: &Step) -> Vec<String> {
    if is_by_person(step) {
        return Vec::new();
    }
    let is_merge = matches!(step, Step::Run(Run::Merge { .. }));
    let mut wrong = Vec::new();
    for memory in before.memories.values().filter(|memory| memory.pinned) {
        let mut expected = memory.clone();
        let found = after.memories.get(memory.id.as_str());
        if let Some(found) = found.filter(|_| is_merge) {
            expected.namespace.clone_from(&found.namespace);
        }
        if found != Some(&expected) {
            wrong.push(format!("pinned {memory:?} is now {found:?}"));
        }
    }
    wrong
}

/// Checks that replaying the history from the start yields the current rows.
fn forged(machine: &Machine, state: &State) -> Vec<String> {
    let replayed = State::replayed(&machine.raw).without(&machine.purged);
    let state = state.clone().without(&machine.purged);
    if replayed == state {
        return Vec::new();
    }
    vec![format!("the history tells {replayed:#?}\n\nbut there is {state:#?}")]
}
