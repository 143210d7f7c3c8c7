//! Merges memories that state the same thing, and resolves contradictions between memories.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;

use super::acts::{Outcome, act};
use super::field::Field;
use super::judge::{
    Doubt, Said, Views, by_names, is_one_attribute, is_one_matter, is_part_of, is_same_both_ways, judge, to_ask,
};
use super::{lists, reflect};
use crate::consolidate::compare::key::own_key;
use crate::consolidate::decide::named::Named;
use crate::consolidate::pass::field::Around;
use crate::consolidate::pass::field::PassChange;
use crate::consolidate::plan::Answer;
use crate::consolidate::{Decision, Known, Ruling};
use crate::memory::{MemoryId, RelationType};

/// Types of links that show that the relation of two memories is already decided.
const SETTLED: &[RelationType] =
    &[RelationType::Supersedes, RelationType::Contradicts, RelationType::Refines, RelationType::DerivedFrom];

/// The results of comparing all memories with each other.
#[derive(Debug, Default)]
pub(super) struct Swept {
    pub(super) changes: Vec<PassChange>,
    /// Pairs that the rules cannot decide and about which no model was asked.
    pub(super) doubts: Vec<Doubt>,
    /// Changes that were not made because a memory is pinned.
    pub(super) held: Vec<String>,
}

/// Compares each active memory with the earlier memories that are close to it, starting with the oldest.
///
/// Two memories are merged only if each memory that one of them replaced may be merged with each memory that the other
/// replaced. If A is similar to B and B to C, A and C need not be the same.
pub(super) fn sweep(
    field: &mut Field,
    around: &Around,
    quiet: &mut Quiet,
    said: Option<&Said>,
    now: Timestamp,
) -> Swept {
    let mut swept = Swept::default();
    let before = field.active.clone();
    let mut views = Views::of(&before);
    // The oldest memory comes first, and each is compared with earlier memories as if it were new.
    let order = field.in_order();
    let places: HashMap<&MemoryId, usize> = order.iter().enumerate().map(|(place, id)| (id, place)).collect();
    for (at, id) in order.iter().enumerate() {
        // The memory may already have been replaced earlier in this sweep.
        let Some(memory) = field.active.get(id) else { continue };
        let earlier = around.of(id).filter(|other| places.get(other).is_some_and(|place| *place < at));
        let earlier = earlier.filter_map(|other| field.active.get(other));
        let others: Vec<&Known> = earlier.filter(|other| is_open(field, memory, other)).collect();
        if others.is_empty() || quiet.knows(field, memory, &others) {
            continue;
        }
        let (memory, others) = (memory.clone(), others.into_iter().cloned().collect::<Vec<_>>());
        if views.are_apart(&memory, &others) || settle(field, &memory, others.clone(), said, now, &mut swept) {
            quiet.note(field, &memory, &others);
        }
    }
    swept
}

/// Memories that were compared with others without a result. The record is kept from round to round, and these memories
/// are not compared again until one of them changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Quiet(HashMap<MemoryId, u64>);

impl Quiet {
    fn knows(&self, field: &Field, memory: &Known, others: &[&Known]) -> bool {
        self.0.get(&memory.memory.id) == Some(&fingerprint(field, memory, others.iter().copied()))
    }

    fn note(&mut self, field: &Field, memory: &Known, others: &[Known]) {
        self.0.insert(memory.memory.id.clone(), fingerprint(field, memory, others.iter()));
    }
}

/// A hash of everything that the rules examine.
fn fingerprint<'k>(field: &Field, memory: &'k Known, others: impl Iterator<Item = &'k Known>) -> u64 {
    // This hash differs between versions of Rust, but it exists only during one pass.
    let mut hasher = DefaultHasher::new();
    for known in std::iter::once(memory).chain(others) {
        let (id, claim) = (&known.memory.id, &known.memory.claim);
        (id.as_str(), field.hash(id), known.evidence.len(), claim.confidence.to_bits()).hash(&mut hasher);
        (&claim.subject, claim.valid_from, claim.valid_to, known.memory.pinned).hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether the relation of two memories is still undecided and may be decided here.
fn is_open(field: &Field, a: &Known, b: &Known) -> bool {
    let (one, other) = (&a.memory.id, &b.memory.id);
    !field.is_joined(one, other, SETTLED)
        && !field.was_taken_back(one, other, SETTLED)
        && !field.were_parted(one, other)
        && field.said_of(one, other).is_none()
        && !have_other_keys(a, b)
        && !lists::is_for_lists(a, b)
        && !reflect::is_for_reflection(a, b)
}

/// Whether both memories have keys that were given by hand, and these differ: each such key identifies one memory.
fn have_other_keys(a: &Known, b: &Known) -> bool {
    let key = |known: &'_ Known| own_key(&known.memory.claim, known.memory.extraction_method).map(str::to_owned);
    key(a).zip(key(b)).is_some_and(|(one, other)| one != other)
}

/// Decides how one memory relates to others. Returns whether nothing changed, and nothing would change the next time.
fn settle(
    field: &mut Field,
    memory: &Known,
    mut others: Vec<Known>,
    said: Option<&Said>,
    now: Timestamp,
    swept: &mut Swept,
) -> bool {
    if let Some(answer) = said.and_then(|said| said.get(&memory.memory.id)) {
        follow(field, memory, &others, answer, now, swept);
        return false;
    }
    while !others.is_empty() {
        let verdict = judge(memory, &others, now);
        let ids = said.map(|_| to_ask(memory, &verdict, &others)).unwrap_or_default();
        if !ids.is_empty() {
            swept.doubts.push((memory.memory.id.clone(), ids));
            return false;
        }
        let ruling = verdict.ruling;
        let outcome = if is_safe(field, memory, &ruling) { act(field, memory, &ruling, now) } else { Outcome::Refused };
        match outcome {
            Outcome::Refused => others.retain(|other| Some(&other.memory.id) != ruling.target.as_ref()),
            Outcome::Nothing => return true,
            outcome @ (Outcome::Done(_) | Outcome::Held(_)) => {
                note(field, outcome, swept);
                return false;
            }
        }
    }
    true
}

/// Applies the consequences of an answer, as far as they are allowed.
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
        Outcome::Done(change) => {
            field.apply(&change);
            swept.changes.push(*change);
        }
        Outcome::Held(what) => swept.held.push(what),
        Outcome::Refused | Outcome::Nothing => {}
    }
}

/// Whether it is safe to apply the rules' decision about the words. A model's answer needs no such check.
///
/// A part is kept or removed together with the whole, so both must be about the same thing. Values are joined and
/// claims are retired only if a common attribute, a common subject or all words of one claim show that the topic is the
/// same.
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
