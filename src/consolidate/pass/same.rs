//! What says the same becomes one memory; of what cannot both hold, one is kept.

use std::collections::HashMap;

use jiff::Timestamp;

use super::acts::{Outcome, act};
use super::around::Around;
use super::deed::Deed;
use super::field::{Field, said_hash};
use super::judge::{
    Doubt, Said, by_names, is_one_attribute, is_one_matter, is_part_of, is_same_both_ways, judge, to_ask,
};
use super::{lists, reflect};
use crate::consolidate::decide::named::Named;
use crate::consolidate::plan::Answer;
use crate::consolidate::{Decision, Known, Ruling};
use crate::memory::{MemoryId, RelationType};
use crate::store::HashPair;

/// Links that say that somebody has settled what two memories are to each other.
const SETTLED: &[RelationType] =
    &[RelationType::Supersedes, RelationType::Contradicts, RelationType::Refines, RelationType::DerivedFrom];

/// What setting all memories against each other came to.
#[derive(Debug, Default)]
pub(super) struct Swept {
    pub(super) deeds: Vec<Deed>,
    /// What the rules leave open and nobody was asked about.
    pub(super) doubts: Vec<Doubt>,
    /// Changes that were not made because a memory is pinned.
    pub(super) held: Vec<String>,
}

/// Sets each active memory, in the order in which they held, against those before it that are close.
///
/// Two memories become one only if each of all that gave way to either before may be one with each of the other's: what
/// A has in common with B, and B with C, does not make one of A and C.
pub(super) fn sweep(field: &mut Field, around: &Around, said: Option<&Said>, now: Timestamp) -> Swept {
    let mut swept = Swept::default();
    let order = field.in_order();
    let places: HashMap<&MemoryId, usize> = order.iter().enumerate().map(|(place, id)| (id, place)).collect();
    for (at, id) in order.iter().enumerate() {
        let Some(memory) = field.active.get(id).cloned() else { continue };
        let earlier = around.of(id).filter(|other| places.get(other).is_some_and(|place| *place < at));
        let earlier = earlier.filter_map(|other| field.active.get(other));
        let others: Vec<Known> = earlier.filter(|other| is_open(field, &memory, other)).cloned().collect();
        if !others.is_empty() {
            settle(field, &memory, others, said, now, &mut swept);
        }
    }
    swept
}

/// Whether it is not settled yet what two memories are to each other, and is to be settled here.
fn is_open(field: &Field, a: &Known, b: &Known) -> bool {
    let (one, other) = (&a.memory.id, &b.memory.id);
    !field.is_joined(one, other, SETTLED)
        && !field.was_taken_back(one, other, SETTLED)
        && !field.were_parted(one, other)
        && !field.judged.contains_key(&HashPair::new(said_hash(a), said_hash(b)))
        && !lists::is_for_lists(a, b)
        && !reflect::is_for_reflection(a, b)
}

fn settle(
    field: &mut Field,
    memory: &Known,
    mut others: Vec<Known>,
    said: Option<&Said>,
    now: Timestamp,
    swept: &mut Swept,
) {
    if let Some(answer) = said.and_then(|said| said.get(&memory.memory.id)) {
        return follow(field, memory, &others, answer, now, swept);
    }
    while !others.is_empty() {
        let verdict = judge(memory, &others, now);
        let ids = said.map(|_| to_ask(memory, &verdict, &others)).unwrap_or_default();
        if !ids.is_empty() {
            return swept.doubts.push((memory.memory.id.clone(), ids));
        }
        let ruling = verdict.ruling;
        let outcome = if is_safe(field, memory, &ruling) { act(field, memory, &ruling, now) } else { Outcome::Refused };
        match outcome {
            Outcome::Refused => others.retain(|other| Some(&other.memory.id) != ruling.target.as_ref()),
            outcome => return note(field, outcome, swept),
        }
    }
}

/// Does what follows from an answer, of which as much is left as may be done.
fn follow(field: &mut Field, memory: &Known, others: &[Known], answer: &Answer, now: Timestamp, swept: &mut Swept) {
    let find = |id: &MemoryId| others.iter().find(|other| other.memory.id == *id);
    let mut named: Vec<(&Known, &Named)> =
        answer.named.iter().filter_map(|(id, named)| Some((find(id)?, named))).collect();
    while !named.is_empty() {
        let ruling = by_names(memory, &named, now);
        match act(field, memory, &ruling, now) {
            Outcome::Refused => named.retain(|(other, _)| Some(&other.memory.id) != ruling.target.as_ref()),
            outcome => return note(field, outcome, swept),
        }
    }
}

fn note(field: &mut Field, outcome: Outcome, swept: &mut Swept) {
    match outcome {
        Outcome::Done(deed) => {
            field.apply(&deed);
            swept.deeds.push(*deed);
        }
        Outcome::Held(what) => swept.held.push(what),
        Outcome::Refused | Outcome::Nothing => {}
    }
}

/// Whether it is safe to do what the rules make of the words. What a model says needs no such proof.
///
/// A part goes with the whole, and is gone when that is: so both speak of one thing. Values are joined and claims retired
/// only where one attribute, one subject or all the words of one say that it is the same matter.
fn is_safe(field: &Field, memory: &Known, ruling: &Ruling) -> bool {
    let targets: Vec<&Known> = ruling.target.iter().chain(&ruling.also).filter_map(|id| field.active.get(id)).collect();
    let Some(target) = targets.first() else { return true };
    match ruling.decision {
        Decision::Add => true,
        Decision::Skip | Decision::Support => is_same_both_ways(memory, target) || is_part_of(memory, target),
        Decision::Refine => is_part_of(target, memory),
        Decision::Merge => is_one_attribute(memory, target),
        Decision::Contradict => targets.iter().all(|target| is_one_matter(memory, target)),
    }
}
