//! Derives a memory from repeated episodes.
//!
//! Without a model, the memory is a sentence that all episodes contain. With a model, the memory is the model's
//! statement, provided that every name and number in it appears in the episodes. The number of episodes and their dates
//! are counted here, and updated when further episodes are added.

mod model;
mod statement;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::acts::{all_evidence, new_evidence};
use super::field::Field;
use super::judge::NONE;
use super::lists::SOURCE;
use crate::changeset::Action;
use crate::consolidate::Known;
use crate::consolidate::pass::field::PassChange;
use crate::guard::suspicion;
use crate::memory::{
    self, Audience, Candidate, Claim, ExtractionMethod, Memory, MemoryType, RelationType, Scope, Status, Structured,
};

pub(super) use crate::consolidate::pass::reflect::model::{Group, MIN_EPISODES, groups};
pub(super) use model::{MAX_GROUPS, Pattern, Patterns, ask_about};
pub(super) use statement::Span;

/// Maximum confidence of a derived memory.
// A generalisation is never as certain as a literal statement.
const MAX_CONFIDENCE: f64 = 0.9;

/// Whether one memory is an episode and the other was derived from episodes; such a pair is never merged.
pub(super) fn is_for_reflection(a: &Known, b: &Known) -> bool {
    let is_derived = |known: &Known| {
        known.memory.source == SOURCE && matches!(known.memory.claim.structured, Some(Structured::Pattern { .. }))
    };
    let is_episode = |known: &Known| known.memory.claim.memory_type == MemoryType::Episodic;
    (is_derived(a) && is_episode(b)) || (is_derived(b) && is_episode(a))
}

/// Returns the groups of episodes from which a memory may be derived, but has not been derived yet.
pub(super) fn undecided(field: &Field, groups: &[Group]) -> Vec<Group> {
    let open = groups.iter().filter(|group| group.derived.is_none() && group.repeats(field));
    open.filter(|group| !field.judged.contains_key(&group.hash(field))).cloned().collect()
}

/// Derives memories from what `groups` have in common, updates earlier derived memories, and returns the changes.
pub(super) fn reflect(field: &mut Field, groups: &[Group], said: &Patterns, now: Timestamp) -> Vec<PassChange> {
    let mut changes = Vec::new();
    for group in groups {
        let change = match &group.derived {
            Some(_) => recount(field, group, now),
            None if group.repeats(field) => derive(field, group, said, now),
            None => None,
        };
        if let Some(change) = change {
            field.apply(&change);
            changes.push(change);
        }
    }
    changes
}

fn derive(field: &Field, group: &Group, said: &Patterns, now: Timestamp) -> Option<PassChange> {
    let episodes = group.counted(field);
    let texts: Vec<&str> = episodes.iter().map(|known| known.memory.claim.content.as_str()).collect();
    let hash = group.hash(field);
    let answer = said.get(&hash);
    // If a model found nothing in common, the answer is accepted, now and in later passes.
    if answer.is_some_and(Option::is_none) || field.judged.get(&hash).is_some_and(|relation| relation == NONE) {
        return None;
    }
    let named = answer.and_then(Option::as_ref).filter(|pattern| model::is_grounded(pattern, &texts)).cloned();
    let pattern = named.or_else(|| statement::shared(&texts).map(Pattern::of))?;
    let content = Span::of(&episodes)?.after(&pattern.statement)?;
    let claim = claim(&pattern, content, &episodes);
    // Another group may have produced exactly the same sentence.
    let is_known = field.active.values().any(|known| known.memory.claim.content == claim.content);
    let evidence = all_evidence(&episodes);
    let candidate = Candidate::new(claim, Audience::Project, evidence);
    if is_known || suspicion(&candidate).is_some() {
        return None;
    }
    let Candidate { claim, evidence, .. } = candidate;
    let memory = Memory::new(claim, field.namespace.clone(), SOURCE, ExtractionMethod::Auto, now);
    let mut change =
        PassChange::new(Action::Derived, format!("{} episodes", episodes.len()), &memory.claim.content, now);
    let id = memory.id.clone();
    change.make(memory, &evidence);
    for known in &episodes {
        change.link(&id, RelationType::DerivedFrom, &known.memory.id);
    }
    Some(change)
}

fn claim(pattern: &Pattern, content: String, episodes: &[&Known]) -> Claim {
    let claims: Vec<&Claim> = episodes.iter().map(|known| &known.memory.claim).collect();
    let common = |field: fn(&Claim) -> &Option<String>| {
        let first = field(claims.first()?).clone()?;
        claims.iter().all(|claim| field(claim).as_ref() == Some(&first)).then_some(first)
    };
    let confidence = claims.iter().map(|claim| claim.confidence).fold(1.0, f64::min).min(MAX_CONFIDENCE);
    let tags = claims.first().map(|claim| claim.tags.clone()).unwrap_or_default();
    let category = if pattern.memory_type == MemoryType::Procedural { "workflow" } else { "pattern" };
    Claim {
        subject: common(|claim| &claim.subject),
        structured: Some(Structured::Pattern { pattern: memory::Pattern::of(&pattern.statement) }),
        scope: Scope::LongTerm,
        importance: claims.iter().map(|claim| claim.importance).fold(0.0, f64::max),
        confidence,
        tags: tags.into_iter().filter(|tag| claims.iter().all(|claim| claim.tags.contains(tag))).collect(),
        valid_from: episodes.iter().map(|known| super::field::said_at(known)).min(),
        ..Claim::new(pattern.memory_type, category, pattern.title.clone(), content)
    }
}

/// Updates the count, the last day and the evidence of a derived memory.
fn recount(field: &Field, group: &Group, now: Timestamp) -> Option<PassChange> {
    let derived = field.active.get(group.derived.as_ref()?).filter(|known| !known.memory.pinned)?;
    let id = &derived.memory.id;
    let episodes = group.counted(field);
    let is_forgotten = |known: &&Known| known.memory.status == Status::Forgotten;
    let is_broken = group.members(field).any(|known| is_forgotten(&known)) || episodes.len() < MIN_EPISODES;
    let content = &derived.memory.claim.content;
    if is_broken {
        let mut change =
            PassChange::new(Action::Recounted, "an episode on which it is based no longer exists", content, now);
        change.change(derived, Memory { status: Status::Expired, ..derived.memory.clone() });
        return Some(change);
    }
    let is_new = |known: &&&Known| !field.is_joined(id, &known.memory.id, &[RelationType::DerivedFrom]);
    let new: Vec<&Known> = episodes.iter().filter(is_new).copied().collect();
    // A person may have reworded the memory; the person's words are kept.
    let recounted = Span::of(&episodes)?.instead_of_old(content).unwrap_or_else(|| content.clone());
    if new.is_empty() && recounted == *content {
        return None;
    }
    let mut change = PassChange::new(Action::Recounted, format!("{} episodes", episodes.len()), &recounted, now);
    change.beside = Some(content.clone());
    let valid_from = episodes.iter().map(|known| super::field::said_at(known)).min();
    let claim = Claim { content: recounted, valid_from, ..derived.memory.claim.clone() };
    change.change(derived, Memory { claim, ..derived.memory.clone() });
    let evidence: Vec<_> = new.iter().flat_map(|known| known.evidence.iter().cloned()).collect();
    change.gain(id, &new_evidence(&evidence, &derived.evidence));
    for known in new {
        change.link(id, RelationType::DerivedFrom, &known.memory.id);
    }
    Some(change)
}

/// Returns, in stored form, whether each group that the model was asked about had a result.
pub(super) fn judgements(said: &Patterns) -> BTreeMap<crate::store::HashPair, String> {
    said.iter()
        .map(|(hash, pattern)| (hash.clone(), if pattern.is_some() { "pattern" } else { NONE }.to_owned()))
        .collect()
}
