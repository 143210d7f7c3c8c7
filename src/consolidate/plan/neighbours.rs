//! Finds the stored memories that a candidate is compared with.

use std::collections::{BTreeSet, HashMap};

use crate::memory::{Memory, MemoryId, Namespace, Status};
use crate::store::{Around, Database, Filter, Fingerprint, Likeness, Order, StoreError};
use crate::text::language::{COMPARED, detect};

use super::CandidateContext;
use crate::consolidate::compare::ended::shared_words;
use crate::consolidate::compare::key::spellings;
use crate::consolidate::compare::view::View;
use crate::consolidate::{IncomingClaim, Known, Rejected};

/// Maximum number of active and pending memories that a candidate is compared with. The memory that should be replaced
/// is the closest by words in only half of the cases, but among the ten closest in nine out of ten.
pub(crate) const MAX_NEIGHBOURS: usize = 20;

/// Maximum number of past memories that a candidate is compared with.
const MAX_PAST: usize = 10;

/// Maximum number of forgotten memories that a candidate is compared with, since it may repeat one of them.
const MAX_FORGOTTEN: usize = 5;

/// Finds, for each candidate, the related memories in its own namespace: memories with the same words, attribute,
/// subject, evidence or shared words, the memory that the extractor says it replaces, and past and rejected memories.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn gather(db: &Database, incoming: Vec<IncomingClaim>) -> Result<Vec<CandidateContext>, StoreError> {
    let mut foreign = Foreign::default();
    let one = |incoming| match settled(db, &incoming)? {
        Some(memory) => decided(db, memory, incoming),
        None => surround(db, incoming, &mut foreign),
    };
    db.at_once(|_| incoming.into_iter().map(one).collect())
}

/// Like [`gather`], but ignores the results of identical earlier candidates.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn gather_afresh(db: &Database, incoming: Vec<IncomingClaim>) -> Result<Vec<CandidateContext>, StoreError> {
    let mut foreign = Foreign::default();
    db.at_once(|db| incoming.into_iter().map(|incoming| surround(db, incoming, &mut foreign)).collect())
}

/// Returns a candidate that is compared only with the memory that previously resulted from it.
fn decided(db: &Database, memory: Memory, incoming: IncomingClaim) -> Result<CandidateContext, StoreError> {
    let (settled, evidence) = (Some(memory.id.clone()), db.evidence(&memory.id)?);
    let known = vec![Known { evidence, memory, fresh: false }];
    let id = incoming.id.clone().unwrap_or_default();
    Ok(CandidateContext { id, known, rejected: Vec::new(), settled, incoming })
}

/// Minimum share of the shorter claim's words that a known claim must have in common with a new one to be listed with
/// it.
const NEAR_OVERLAP: f64 = 0.4;

/// The same share for a new claim with words that express a change.
const NEAR_OVERLAP_OF_CHANGE: f64 = 0.3;

/// Returns at most `limit` active memories in the same namespace that are about the same topic as `incoming`, closest
/// first, except for `own`. The words alone do not show whether `incoming` replaces any of them.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn near(
    db: &Database,
    incoming: &IncomingClaim,
    own: &MemoryId,
    limit: usize,
) -> Result<Vec<Memory>, StoreError> {
    let claim = &incoming.candidate.claim;
    let likeness = Likeness {
        namespace: &incoming.namespace,
        text: &claim.content,
        key: claim.key.as_deref(),
        subject: claim.subject.as_deref(),
    };
    let view = View::of(claim, &[]);
    let says_change = view.features.cue.is_some() || !view.changes().is_empty();
    let least = if says_change { NEAR_OVERLAP_OF_CHANGE } else { NEAR_OVERLAP };
    let overlap = |memory: &Memory| shared_words(claim, &memory.claim);
    let neighbours = db.neighbours(&likeness, MAX_NEIGHBOURS)?.into_iter();
    let others = neighbours.filter(|memory| memory.status == Status::Active && memory.id != *own);
    let mut near: Vec<(f64, Memory)> = others.map(|memory| (overlap(&memory), memory)).collect();
    near.retain(|(overlap, _)| *overlap >= least);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(near.into_iter().take(limit).map(|(_, memory)| memory).collect())
}

fn surround(db: &Database, incoming: IncomingClaim, foreign: &mut Foreign) -> Result<CandidateContext, StoreError> {
    let claim = &incoming.candidate.claim;
    // Memories that a person wrote or imported keep the original spelling of their key.
    let keys = claim.key.as_deref().map(spellings).unwrap_or_default();
    let around = Around { namespace: &incoming.namespace, claim, keys: &keys };
    let (mut memories, forgotten) = db.around_and_forgotten(&around, MAX_NEIGHBOURS, MAX_FORGOTTEN)?;
    memories.extend(db.past(&incoming.namespace, &claim.content, &keys, MAX_PAST)?);
    // Forgotten memories must be included; otherwise, the same fact would be learnt again in different words.
    memories.extend(forgotten);
    memories.extend(foreign.to(db, &incoming)?);
    memories.extend(replaced(db, &incoming)?);
    if let Some(piece) = incoming.candidate.evidence.first() {
        memories.extend(db.resting_on(&incoming.namespace, piece)?);
    }
    let mut seen = BTreeSet::new();
    // The lookups overlap, and the first to find a memory determines its place, so that the closest come first.
    memories.retain(|memory| seen.insert(memory.id.clone()));
    let mut evidence = db.evidence_of(&memories)?;
    let known = memories.into_iter().map(|memory| {
        let evidence = evidence.remove(&memory.id).unwrap_or_default();
        Known { memory, evidence, fresh: false }
    });
    let known = known.collect();
    let rejected = rejected(db, &incoming, keys.first().map(String::as_str))?;
    let id = incoming.id.clone().unwrap_or_default();
    Ok(CandidateContext { id, known, rejected, settled: None, incoming })
}

/// Returns the memory that previously resulted from exactly the same candidate, if it still exists.
fn settled(db: &Database, incoming: &IncomingClaim) -> Result<Option<Memory>, StoreError> {
    let candidate = &incoming.candidate;
    let Some(print) = Fingerprint::of(&candidate.claim.content, &candidate.evidence) else { return Ok(None) };
    let Some(id) = db.settled(&incoming.namespace, &print)? else { return Ok(None) };
    db.find(&id)
}

/// Returns the memory that the extractor names, if the memory is in the candidate's own namespace.
fn replaced(db: &Database, incoming: &IncomingClaim) -> Result<Option<Memory>, StoreError> {
    let Some(id) = &incoming.candidate.replaces else { return Ok(None) };
    // An extractor may name any id that it was shown, but a candidate never changes a memory in another namespace.
    Ok(db.find(id)?.filter(|memory| memory.namespace == incoming.namespace))
}

/// Returns rejected values with the same words or with the same value of the attribute.
fn rejected(db: &Database, incoming: &IncomingClaim, key: Option<&str>) -> Result<Vec<Rejected>, StoreError> {
    let claim = &incoming.candidate.claim;
    let mut rejected = Vec::new();
    if db.rejected(&incoming.namespace, &claim.content, None)?.is_some() {
        rejected.push(Rejected { content: claim.content.clone(), key: None, value: None });
    }
    let Some(attribute) = key.zip(claim.value.as_deref()) else { return Ok(rejected) };
    if let Some(tombstone) = db.rejected(&incoming.namespace, "", Some(attribute))? {
        // The tombstone contains no words, but until the memory is purged, its content shows whether the value was
        // affirmed.
        let content = db.find(&tombstone.memory)?.map(|memory| memory.claim.content).unwrap_or_default();
        rejected.push(Rejected { content, key: tombstone.key, value: claim.value.clone() });
    }
    Ok(rejected)
}

/// Maximum number of active memories in a small namespace.
pub(in crate::consolidate) const SMALL: usize = 30;

/// Memories in a language other than the candidate's. Since such memories share hardly any words with the candidate,
/// all of them are considered in a small namespace.
#[derive(Debug, Default)]
struct Foreign {
    /// The memories of the examined namespaces that are small.
    small: HashMap<Namespace, Vec<Memory>>,
}

impl Foreign {
    /// Returns the memories in other languages in the namespace of `incoming`, if the namespace is small.
    fn to(&mut self, db: &Database, incoming: &IncomingClaim) -> Result<Vec<Memory>, StoreError> {
        let Some(own) = detect(&incoming.candidate.claim.content, COMPARED) else { return Ok(Vec::new()) };
        if !self.small.contains_key(&incoming.namespace) {
            let small = if db.holds_more_than(&incoming.namespace, SMALL)? {
                Vec::new()
            } else {
                db.list(&Filter::exactly(std::slice::from_ref(&incoming.namespace)), Order::Id, SMALL, 0)?
            };
            self.small.insert(incoming.namespace.clone(), small);
        }
        let foreign = |memory: &&Memory| detect(&memory.claim.content, COMPARED).is_some_and(|theirs| theirs != own);
        Ok(self.small[&incoming.namespace].iter().filter(foreign).cloned().collect())
    }
}
